// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Stages resize and integralImage on the CPU, row by row: a row of the layer is resized, then added to the integral
// images.
#include "../../precomp.hpp"
#include "classify.hpp"
#include <algorithm>

namespace cv { namespace cuda { namespace cascade { namespace cpu {

//! Copies the taps of the region's columns for vector loads, which need a second pixel for each tap.
static void loadTaps(const Work& work, const Layer& layer, const LayerRegion& region, Scratch& scratch)
{
    const Tap* const taps = work.pyramid->taps.data() + layer.columnTaps + region.x;
    const size_t size = static_cast<size_t>(region.cols) + 2 * TILE_COLS; // room for whole vectors
    scratch.tapIndex.assign(size, 0);
    scratch.tapWeights.assign(2 * size, 0);
    for (int x = 0; x < region.cols; ++x)
    {
        const bool last = taps[x].first == work.gray.cols - 1;
        const int weight = last ? 256 : taps[x].weight;
        scratch.tapIndex[x] = taps[x].first - (last ? 1 : 0);
        scratch.tapWeights[2 * x] = static_cast<int16_t>(256 - weight);
        scratch.tapWeights[2 * x + 1] = static_cast<int16_t>(weight);
    }
    for (std::vector<int>& row : scratch.blended)
        row.resize(size);
    for (std::vector<uint8_t>& row : scratch.pixels)
        row.resize(size);
}

//! Resizes rows of a layer, from top to bottom. Keeps blended rows of the image for the next row of the layer.
class RowResizer
{
public:
    RowResizer(const Work& work, const Layer& layer, const LayerRegion& region, Scratch& scratch)
        : work_(work),
          rowTaps_(work.pyramid->taps.data() + layer.rowTaps + region.y),
          cols_(region.cols),
          scratch_(scratch)
    {
        if (layer.cols == work.gray.cols && layer.rows == work.gray.rows)
            original_ = &region;
        loadTaps(work, layer, region, scratch);
    }
    void resize(int y, uint8_t* out)
    {
        if (original_) // all weights are 0
        {
            std::copy_n(work_.gray.row<uint8_t>(original_->y + y) + original_->x, cols_, out);
            return;
        }
        const Tap tap = rowTaps_[y];
        const int second = tap.weight ? tap.first + 1 : tap.first;
        if (rows_[0] != tap.first && rows_[1] == tap.first)
            swap();
        blend(0, tap.first);
        if (second != tap.first)
            blend(1, second);
        mixOf(scratch_.blended[0].data(), scratch_.blended[second != tap.first].data(), tap.weight, cols_, out);
    }

private:
    void swap()
    {
        std::swap(scratch_.blended[0], scratch_.blended[1]);
        std::swap(rows_[0], rows_[1]);
    }
    void blend(int slot, int row)
    {
        if (rows_[slot] == row)
            return;
        blendOf(work_.gray.row<uint8_t>(row), scratch_.tapIndex.data(), scratch_.tapWeights.data(), cols_,
                scratch_.blended[slot].data());
        rows_[slot] = row;
    }

    const Work& work_;
    const Tap* rowTaps_;
    int cols_;
    Scratch& scratch_;
    int rows_[2] = {-1, -1};
    const LayerRegion* original_ = nullptr; //!< the region if the layer has the size of the image; null if not
};

//! Computes the next row of the integral image and, with SQUARES, of that of squares, from the row above.
template <bool SQUARES>
static void addRow(const uint8_t* pixels, int cols, const TableLayout& layout, const int* sumsAbove, int* sums,
                   const int* squaresAbove, int* squares)
{
    const int stride = layout.step == 2 ? 1 : 2; // distance of pairs of columns
    const int odd = layout.step == 2 ? layout.half : 1;
    uint32_t sum = 0, square = 0;
    const auto put = [&](int column, unsigned pixel)
    {
        sum += pixel;
        sums[column] = static_cast<int>(static_cast<uint32_t>(sumsAbove[column]) + sum);
        if (SQUARES)
        {
            square += pixel * pixel;
            squares[column] = static_cast<int>(static_cast<uint32_t>(squaresAbove[column]) + square);
        }
    };
    sums[0] = 0;
    if (SQUARES)
        squares[0] = 0;
    int x = 0;
    for (; x + 1 < cols; x += 2)
    {
        put(x / 2 * stride + odd, pixels[x]);
        put((x / 2 + 1) * stride, pixels[x + 1]);
    }
    if (x < cols)
        put(x / 2 * stride + odd, pixels[x]);
}

/** Computes row y of the integral image of rotated sums: T(X,Y) is the sum of the pixels in the cone above with its tip
at pixel (X-1,Y-1). @param pixels,above rows y - 1 and y - 2 of the pixels; above: null if there is no such row. */
static void addTilted(const uint8_t* pixels, const uint8_t* above, int cols, const TableLayout& layout, int y,
                      int* table)
{
    const auto at = [&](int column, int row) { return static_cast<uint32_t>(table[layout.offset(column, row)]); };
    const auto pixel = [&](int x) { return static_cast<uint32_t>(pixels[x]) + (above ? above[x] : 0u); };
    table[layout.offset(0, y)] = static_cast<int>(at(1, y - 1));
    for (int x = 1; x < cols; ++x)
    {
        const uint32_t twoUp = y > 1 ? at(x, y - 2) : 0u;
        table[layout.offset(x, y)] = static_cast<int>(at(x - 1, y - 1) + at(x + 1, y - 1) - twoUp + pixel(x - 1));
    }
    table[layout.offset(cols, y)] = static_cast<int>(at(cols - 1, y - 1) + pixel(cols - 1));
}

//! Gives integral images their size. Their first rows are 0.
static void makeRoom(const IntegralImages& needed, Scratch& scratch)
{
    const auto resize = [&](auto& table, bool isNeeded, size_t margin)
    {
        if (!isNeeded)
            return;
        table.resize(std::max(table.size(), needed.layout.size() + margin));
        std::fill_n(table.begin(), needed.layout.stride, 0);
    };
    // Vector loads may reach the whole tile, even if the region is smaller.
    resize(scratch.sums, !needed.narrow, 0);
    resize(scratch.squares, needed.squares, 0);
    resize(scratch.tilted, needed.tilted, 0);
    // for octets at the right end of a tile and rows that are written in whole vectors
    resize(scratch.narrowSums, needed.narrow, 2 * TILE_COLS);
}

void integralImage(const Work& work, const Layer& layer, const LayerRegion& region, const IntegralImages& needed,
                   Scratch& scratch)
{
    makeRoom(needed, scratch);
    const TableLayout& layout = needed.layout;
    RowResizer rows(work, layer, region, scratch);
    for (int y = 0; y < region.rows; ++y)
    {
        std::swap(scratch.pixels[0], scratch.pixels[1]);
        uint8_t* const pixels = scratch.pixels[0].data();
        rows.resize(y, pixels);
        const size_t above = static_cast<size_t>(y) * layout.stride, here = above + layout.stride;
        if (needed.squares)
            addRow<true>(pixels, region.cols, layout, &scratch.sums[above], &scratch.sums[here],
                         &scratch.squares[above], &scratch.squares[here]);
        else if (!needed.narrow)
            addRow<false>(pixels, region.cols, layout, &scratch.sums[above], &scratch.sums[here], nullptr, nullptr);
        if (needed.tilted)
            addTilted(pixels, y > 0 ? scratch.pixels[1].data() : nullptr, region.cols, layout, y + 1,
                      scratch.tilted.data());
        if (needed.narrow)
        {
            uint16_t* const sums = scratch.narrowSums.data() + above;
            addRowNarrow(pixels, region.cols, layout.step == 2 ? layout.half : 0, sums, sums + layout.stride);
        }
    }
}

}}}} // namespace cv::cuda::cascade::cpu
