// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Chooses tiles that fit a device, and lays out their shared memory.
#include "../../precomp.hpp"

#ifdef HAVE_CUDA

#include "plan.hpp"
#include <algorithm>

namespace cv { namespace cuda { namespace cascade {

using gpu::Layout;
using gpu::Shape;
namespace tuning = gpu::tuning;

namespace {

Shape shapeOf(const Model& model, int step, int cols, int rows)
{
    Shape shape = {};
    shape.shift = step - 1;
    shape.cols = cols;
    shape.rows = rows;
    while ((1 << shape.columnBits) < cols)
        ++shape.columnBits;
    shape.patchCols = (cols - 1) * step + model.width;
    shape.patchRows = (rows - 1) * step + model.height;
    shape.patchStep = detail::roundUp(shape.patchCols, 16);
    shape.half = step == 2 ? shape.patchCols / 2 + 1 : 0;
    shape.step = step == 2 ? 2 * shape.half : shape.patchCols + 1;
    shape.words = shape.step * (shape.patchRows + 1);
    return shape;
}

//! Lays out shared memory for windows in pairs with LBP features. @param tables bytes of the integral image.
Layout layoutWithoutPatch(int windows, int tables)
{
    Layout layout = {};
    layout.tables = detail::roundUp(gpu::PairLists::all(windows) * static_cast<int>(sizeof(uint16_t)), 16);
    layout.bytes = layout.tables + detail::roundUp(tables, 16);
    return layout;
}

//! Lays out shared memory for both steps. @param pairs whether windows are in pairs. @param global whether patch and
//! tables are in device memory.
Layout layoutOf(const Model& model, const Shape (&shapes)[2], bool pairs, bool global)
{
    int patch = 0, tables = 0;
    for (const Shape& shape : shapes)
    {
        patch = std::max(patch, shape.patchStep * shape.patchRows);
        tables = std::max(tables, shape.words * 4 * (model.tilted ? 2 : 1));
    }
    const int windows = shapes[0].cols * shapes[0].rows, lists = 2 * windows * static_cast<int>(sizeof(uint16_t));
    if (pairs && !usesNorm(model.featureType()))
        return layoutWithoutPatch(windows, tables);
    Layout layout = {};
    layout.global = global;
    layout.lists = usesNorm(model.featureType()) ? detail::roundUp(windows * 4, 16) : 0; // after the norms
    if (global)
    {
        layout.bytes = layout.lists + detail::roundUp(lists, 16);
        layout.tables = detail::roundUp(patch, 16);
        layout.sliceBytes = layout.tables + detail::roundUp(tables, 16);
        return layout;
    }
    layout.patch = layout.lists;
    layout.tables = layout.patch + detail::roundUp(std::max(patch, lists), 16);
    layout.bytes = layout.tables + detail::roundUp(tables, 16);
    return layout;
}

} // namespace

static TileForm formOf(const Model& model, int cols, int rows, bool pairs, bool global)
{
    TileForm form = {};
    for (int step : {1, 2})
        form.shapes[step - 1] = shapeOf(model, step, cols, rows);
    form.layout = layoutOf(model, form.shapes, pairs, global);
    form.threads = tuning::THREADS;
    return form;
}

void chooseTile(const Model& model, const detail::SharedLimit& shared, PackedModel& packed)
{
    packed.half = {};
    for (const auto& tile : tuning::TILES)
    {
        packed.form = formOf(model, tile[0], tile[1], false, false);
        if (static_cast<size_t>(packed.form.layout.bytes) <= shared.dynamicBytes(gpu::STATIC_BYTES))
            return;
    }
    packed.form = formOf(model, tuning::GLOBAL_TILE[0], tuning::GLOBAL_TILE[1], false, true);
}

bool choosePairTile(const Model& model, const detail::SharedLimit& shared, PackedModel& packed)
{
    for (int blocks = tuning::PAIR_BLOCKS; blocks > 0; --blocks)
        for (const auto& tile : tuning::PAIR_TILES)
        {
            packed.form = formOf(model, tile[0], tile[1], true, false);
            const Shape(&shapes)[2] = packed.form.shapes;
            if (std::max(shapes[0].patchCols, shapes[1].patchCols) > tuning::PAIR_PIXELS ||
                static_cast<size_t>(packed.form.layout.bytes) >
                    shared.dynamicBytesOfEach(blocks, gpu::STATIC_BYTES, gpu::RESERVED_BYTES))
                continue;
            packed.half = {};
            // A row of pairs for each warp. With Haar features halves are slower.
            if (!usesNorm(model.featureType()) && tile[0] == 64 && tile[1] >= 32)
            {
                packed.half = formOf(model, tile[0], tile[1] / 2, true, false);
                packed.half.threads = tuning::THREADS / 2;
            }
            return true;
        }
    return false;
}

}}} // namespace cv::cuda::cascade

#endif // HAVE_CUDA
