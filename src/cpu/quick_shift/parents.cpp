// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Stage parents on the CPU: vectors of pixels search the nearest rings; single pixels search on from there.
#include "../../precomp.hpp"
#include "scratch.hpp"
#include <algorithm>

#include "parents.simd.hpp"
#include "cpu/quick_shift/parents.simd_declarations.hpp"

namespace cv { namespace cuda { namespace quick_shift { namespace cpu {

namespace {

using detail::ceilDiv;

//! Returns dy of a code of RingSearch; dx is the rest.
int codedRow(int code) { return (code + RING_CODE_ROW / 2) >> 16; }

void searchRingsOf(const RingSearch& rings) { CV_CPU_DISPATCH(searchRings, (rings), CV_CPU_DISPATCH_MODES_ALL); }

//! Search of single pixels of an image.
class ParentSearch
{
public:
    ParentSearch(const Features& features, const uint32_t* keys, const Parameters& parameters,
                 std::vector<uint32_t>& cells)
        : features_(features),
          keys_(keys),
          p_(parameters),
          cellCols_(ceilDiv(features.cols, CELL)),
          cellRows_(ceilDiv(features.rows, CELL)),
          best_(cells)
    {
        best_.assign(static_cast<size_t>(cellCols_) * cellRows_, 0);
        parallel_for_(Range(0, cellRows_),
                      [this](const Range& range)
                      {
                          for (int y = range.start * CELL; y < std::min(range.end * CELL, features_.rows); ++y)
                          {
                              const uint32_t* key = keyRow(y);
                              uint32_t* best = best_.data() + static_cast<size_t>(y / CELL) * cellCols_;
                              for (int x = 0; x < features_.cols; ++x)
                                  best[x / CELL] = std::max(best[x / CELL], key[x]);
                          }
                      });
    }

    //! Searches on from the best candidate within MOST_RINGS rings.
    Candidate find(int x, int y, const Candidate& best) const
    {
        Searcher s = {x, y, y * features_.cols + x, keyRow(y)[x], {}, best};
        for (int k = 0; k < features_.channels; ++k)
            s.colour[k] = features_.row(k, y)[x];
        searchCells(s);
        return s.best;
    }

private:
    //! Search of one pixel.
    struct Searcher
    {
        int x, y, index;
        uint32_t key;
        float colour[MAX_CHANNELS];
        Candidate best;
    };

    const uint32_t* keyRow(int y) const { return keys_ + static_cast<size_t>(y) * features_.cols; }

    //! Makes a pixel the best candidate if it is.
    void evaluate(Searcher& s, int x, int y) const
    {
        const int index = y * features_.cols + x;
        if (!isHigher(keyRow(y)[x], index, s.key, s.index, p_.strict))
            return;
        float colour[MAX_CHANNELS];
        for (int k = 0; k < features_.channels; ++k)
            colour[k] = features_.row(k, y)[x];
        const float d =
            squaredDistance(colourDistance(s.colour, colour, features_.channels, p_.weighted ? p_.factors : nullptr),
                            p_.colorWeight, (x - s.x) * (x - s.x) + (y - s.y) * (y - s.y));
        if (isBetter(d, index, s.best))
            s.best = {d, index};
    }

    //! Searches rings of cells around the pixel's own.
    void searchCells(Searcher& s) const
    {
        const int cx = s.x / CELL, cy = s.y / CELL;
        for (int r = 0;; ++r)
        {
            const int gap = r == 0 ? 0 : (r - 1) * CELL + 1; // lower bound on the distance of this ring of cells
            if (gap > p_.searchRadius || static_cast<float>(gap) * static_cast<float>(gap) > s.best.d)
                return;
            const int top = std::max(cy - r, 0), bottom = std::min(cy + r, cellRows_ - 1);
            const int left = std::max(cx - r, 0), right = std::min(cx + r, cellCols_ - 1);
            if (r > 0 && cy - r < 0 && cx - r < 0 && cy + r >= cellRows_ && cx + r >= cellCols_)
                return;
            for (int y = top; y <= bottom; ++y)
            {
                const int step = y == cy - r || y == cy + r ? 1 : std::max(2 * r, 1);
                for (int x = step == 1 ? left : cx - r; x <= right; x += step)
                    if (x >= 0)
                        searchCell(s, x, y);
            }
        }
    }

    //! Evaluates the pixels of a cell beyond MOST_RINGS rings, unless its best key is too low.
    void searchCell(Searcher& s, int cellX, int cellY) const
    {
        const uint32_t best = best_[static_cast<size_t>(cellY) * cellCols_ + cellX];
        if (best < s.key || (p_.strict && best == s.key))
            return;
        const int left = std::max(cellX * CELL, s.x - p_.searchRadius),
                  top = std::max(cellY * CELL, s.y - p_.searchRadius);
        const int right = std::min({cellX * CELL + CELL, features_.cols, s.x + p_.searchRadius + 1});
        const int bottom = std::min({cellY * CELL + CELL, features_.rows, s.y + p_.searchRadius + 1});
        for (int y = top; y < bottom; ++y)
            for (int x = left; x < right; ++x)
                if (std::max(std::abs(x - s.x), std::abs(y - s.y)) > MOST_RINGS)
                    evaluate(s, x, y);
    }

    const Features& features_;
    const uint32_t* keys_;
    const Parameters& p_;
    int cellCols_, cellRows_;
    std::vector<uint32_t>& best_;
};

//! Converts keys for RingSearch: signed, with a border of INT_MIN to the left and right. @return keys from row to row.
size_t shiftKeys(const Features& features, const uint32_t* keys, std::vector<int>& shifted)
{
    const size_t stride = static_cast<size_t>(features.cols) + 2 * MOST_RINGS + ROW_PADDING;
    shifted.resize(stride * features.rows);
    parallel_for_(Range(0, features.rows),
                  [&](const Range& range)
                  {
                      for (int y = range.start; y < range.end; ++y)
                      {
                          int* row = shifted.data() + y * stride;
                          const uint32_t* key = keys + static_cast<size_t>(y) * features.cols;
                          std::fill(row, row + stride, INT_MIN);
                          for (int x = 0; x < features.cols; ++x)
                              row[MOST_RINGS + x] = static_cast<int>(key[x] ^ 0x80000000u);
                      }
                  });
    return stride;
}

} // namespace

void parents(const Parameters& parameters, const uint32_t* keys, Scratch& scratch, int* parents, float* distances)
{
    const Features& features = scratch.features;
    const int cols = features.cols;
    const ParentSearch search(features, keys, parameters, scratch.cells);
    RingSearch common = {};
    common.keyStride = shiftKeys(features, keys, scratch.shiftedKeys);
    common.keys = scratch.shiftedKeys.data() + MOST_RINGS;
    for (int k = 0; k < features.channels; ++k)
        common.planes[k] = features.row(k, 0);
    common.stride = features.stride;
    common.channels = features.channels;
    common.cols = cols;
    common.rows = features.rows;
    common.rings = std::min(parameters.searchRadius, MOST_RINGS);
    common.colorWeight = parameters.colorWeight;
    common.reach = parameters.reach;
    common.factors = parameters.weighted ? parameters.factors : nullptr;
    common.strict = parameters.strict;
    const auto searchRow = [&](RingSearch& rings, int y)
    {
        rings.y = y;
        searchRingsOf(rings);
        for (int x = 0; x < cols; ++x)
        {
            const int i = y * cols + x, code = rings.code[x];
            const bool masked = keys[i] == 0;
            Candidate best = {masked ? 0.f : rings.d[x], NO_PARENT};
            if (!masked && code != NO_PARENT)
                best.index = i + codedRow(code) * cols + code - codedRow(code) * RING_CODE_ROW;
            // Equal distances still matter: a cell may hold a lower index at the best distance so far.
            const float next = MOST_RINGS + 1.f;
            if (!masked && MOST_RINGS < parameters.searchRadius && next * next <= best.d)
                best = search.find(x, y, best);
            const bool root = best.index == NO_PARENT;
            parents[i] = masked ? -1 : (root ? i : best.index);
            distances[i] = root ? INFINITY : rootOf(best.d);
        }
    };
    parallel_for_(Range(0, features.rows),
                  [&](const Range& range)
                  {
                      const detail::ScratchPool<std::vector<float>>::Lease d(scratch.nearest);
                      const detail::ScratchPool<std::vector<int>>::Lease code(scratch.codes);
                      d->assign(cols + ROW_PADDING, parameters.reach);
                      code->assign(cols + ROW_PADDING, NO_PARENT);
                      RingSearch rings = common;
                      rings.d = d->data();
                      rings.code = code->data();
                      for (int y = range.start; y < range.end; ++y)
                          searchRow(rings, y);
                  });
}

}}}} // namespace cv::cuda::quick_shift::cpu
