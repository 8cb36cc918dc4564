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

//! Lays out shared memory for windows in pairs and both steps.
Layout layoutOf(const Model& model, const Shape (&shapes)[2])
{
    const bool norms = usesNorm(model.featureType());
    const int windows = shapes[0].cols * shapes[0].rows;
    int overlaid = gpu::PairLists::all(windows) * static_cast<int>(sizeof(uint16_t)), tables = 0;
    for (const Shape& shape : shapes)
    {
        overlaid = std::max(overlaid, norms ? shape.patchStep * shape.patchRows : 0);
        tables = std::max(tables, shape.words * 4 * (model.tilted ? 2 : 1));
    }
    Layout layout = {};
    layout.patch = norms ? detail::roundUp(windows * 4, 16) : 0; // after the norms
    layout.tables = layout.patch + detail::roundUp(overlaid, 16);
    layout.bytes = layout.tables + detail::roundUp(tables, 16);
    return layout;
}

//! Returns a form without a layout.
TileForm formOf(const Model& model, int cols, int rows)
{
    return {{shapeOf(model, 1, cols, rows), shapeOf(model, 2, cols, rows)}, {}, tuning::THREADS};
}

TileForm pairFormOf(const Model& model, int cols, int rows)
{
    TileForm form = formOf(model, cols, rows);
    form.layout = layoutOf(model, form.shapes);
    return form;
}

} // namespace

TileForm plainForm(const Model& model) { return formOf(model, 32, tuning::THREADS / 32); }

bool choosePairTile(const Model& model, const detail::SharedLimit& shared, PackedModel& packed)
{
    for (int blocks = tuning::PAIR_BLOCKS; blocks > 0; --blocks)
        for (const auto& tile : tuning::PAIR_TILES)
        {
            packed.form = pairFormOf(model, tile[0], tile[1]);
            const Shape(&shapes)[2] = packed.form.shapes;
            if (std::max(shapes[0].patchCols, shapes[1].patchCols) > tuning::PAIR_PIXELS ||
                static_cast<size_t>(packed.form.layout.bytes) >
                    shared.dynamicBytesOfEach(blocks, gpu::STATIC_BYTES, gpu::RESERVED_BYTES))
                continue;
            packed.half = {};
            // A row of pairs for each warp. With Haar features halves are slower.
            if (!usesNorm(model.featureType()) && tile[0] == 64 && tile[1] >= 32)
            {
                packed.half = pairFormOf(model, tile[0], tile[1] / 2);
                packed.half.threads = tuning::THREADS / 2;
            }
            return true;
        }
    return false;
}

}}} // namespace cv::cuda::cascade

#endif // HAVE_CUDA
