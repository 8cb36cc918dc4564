// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Stage classify on the CPU. The first stages are evaluated on rows of neighbouring windows. When few windows of a row
// are left, they move to a list of the tile, on which the remaining stages are evaluated with gathers.
#include "../../precomp.hpp"
#include "tile.hpp"
#include <algorithm>

namespace cv { namespace cuda { namespace cascade { namespace cpu {

namespace {

const int WORDS = TILE_COLS / 64;
// A row is sparse when less than one in so many of its windows is left, as gathers cost more than loads. For Haar
// stumps, and for trees and LBP; doc/engineering/cascade.md has the measurements.
const int SPARSE_SHARE_STUMPS = 9, SPARSE_SHARE_OTHERS = 4;

int ones(uint64_t bits)
{
    int count = 0;
    for (; bits; bits &= bits - 1)
        ++count;
    return count;
}
int lowestBit(uint64_t bits) { return ones((bits & (~bits + 1)) - 1); }

struct Bits
{
    uint64_t word[WORDS] = {};

    int count() const
    {
        int sum = 0;
        for (uint64_t w : word)
            sum += ones(w);
        return sum;
    }
    template <typename Visit> void each(const Visit& visit) const
    {
        for (int k = 0; k < WORDS; ++k)
            for (uint64_t w = word[k]; w; w &= w - 1)
                visit(64 * k + lowestBit(w));
    }
};

//! Lists the vectors that have at least one window in `alive`. @return their number.
int groupsOf(const Bits& alive, int lanes, int* groups)
{
    int count = 0;
    const uint64_t whole = lanes == 64 ? ~static_cast<uint64_t>(0) : (static_cast<uint64_t>(1) << lanes) - 1;
    for (int i = 0; i < TILE_COLS; i += lanes)
    {
        groups[count] = i;
        count += (alive.word[i / 64] >> (i % 64) & whole) != 0;
    }
    return count;
}

//! Evaluates stages on a row of windows.
class Row
{
public:
    Row(const Tile& tile, Scratch& scratch, int j)
        : tile_(tile), scratch_(scratch), start_(j * tile.layout.step * tile.layout.stride)
    {
        for (int i = 0; i < tile.cols; i += 64)
            all_.word[i / 64] =
                tile.cols - i >= 64 ? ~static_cast<uint64_t>(0) : (static_cast<uint64_t>(1) << (tile.cols - i)) - 1;
    }

    //! Applies contrast, the first stage and the skip rule. @return windows that passed.
    Bits firstStage(bool& carry)
    {
        Bits with = all_, alive;
        if (usesNorm(tile_.model().featureType()))
            with = withContrast();
        const Bits failed = evaluate(with, 0);
        for (int k = 0; k < WORDS; ++k)
        {
            const uint64_t skipped = skippedOf<uint64_t>(failed.word[k], carry);
            alive.word[k] = with.word[k] & ~skipped;
            if (tile_.passes)
            {
                tile_.passes->evaluated += ones(all_.word[k] & ~skipped);
                tile_.passes->contrast += ones(alive.word[k]);
            }
            alive.word[k] &= ~failed.word[k];
        }
        return alive;
    }
    void laterStage(Bits& alive, int stage)
    {
        const Bits failed = evaluate(alive, stage);
        for (int k = 0; k < WORDS; ++k)
            alive.word[k] &= ~failed.word[k];
    }
    int start() const { return start_; }

private:
    Bits withContrast()
    {
        Bits with;
        const Model& model = tile_.model();
        contrastOfRow(scratch_.sums.data() + start_, scratch_.squares.data() + start_, tile_.contrast(),
                      contrastArea(model.width, model.height), model.leastContrast,
                      detail::ceilDiv(tile_.cols, tile_.lanes), scratch_.norms, with.word);
        for (int k = 0; k < WORDS; ++k)
            with.word[k] &= all_.word[k];
        return with;
    }
    Bits evaluate(const Bits& alive, int stage)
    {
        Windows w = {&tile_.prepared,
                     tile_.offsets().data(),
                     scratch_.sums.data() + start_,
                     nullptr,
                     nullptr,
                     scratch_.groups,
                     groupsOf(alive, tile_.lanes, scratch_.groups),
                     scratch_.norms,
                     scratch_.leafSums};
        if (tile_.model().tilted)
            w.tilted = scratch_.tilted.data() + start_;
        const Stage& s = tile_.model().stages[stage];
        Bits failed;
        if (w.vectors == 0)
            return failed;
        evaluateStage(w, s);
        failedOf(scratch_.leafSums, TILE_COLS / tile_.lanes, static_cast<double>(s.threshold), failed.word);
        for (int k = 0; k < WORDS; ++k)
            failed.word[k] &= alive.word[k];
        return failed;
    }

    const Tile& tile_;
    Scratch& scratch_;
    int start_;
    Bits all_;
};

void classifyRow(const Tile& tile, Scratch& scratch, int j, bool& carry)
{
    Row row(tile, scratch, j);
    const int stages = static_cast<int>(tile.model().stages.size());
    Bits alive = row.firstStage(carry);
    int count = alive.count();
    tile.passed(0, count);
    const Model& model = tile.model();
    const int share = model.stumps && model.featureType() == HAAR ? SPARSE_SHARE_STUMPS : SPARSE_SHARE_OTHERS;
    for (int s = 1; s < stages && count > 0; ++s)
    {
        if (count * share < tile.cols)
        {
            alive.each([&](int i) { scratch.arriving[s].push(row.start() + i, j * TILE_COLS + i, scratch.norms[i]); });
            return;
        }
        row.laterStage(alive, s);
        count = alive.count();
        tile.passed(s, count);
    }
    alive.each([&](int i) { addCandidate(tile, i, j, scratch.leafSums[i]); });
}

//! Evaluates the remaining stages on the list of the tile.
void classifyList(const Tile& tile, Scratch& scratch)
{
    Scratch::List& live = scratch.live;
    const int stages = static_cast<int>(tile.model().stages.size());
    live.clear();
    for (int s = 1; s < stages; ++s)
    {
        Scratch::List& arriving = scratch.arriving[s];
        for (int k = 0; k < arriving.count; ++k)
            live.push(arriving.windows[k], arriving.places[k], arriving.norms[k]);
        arriving.clear();
        if (live.count == 0)
            continue;
        const int vectors = detail::ceilDiv(live.count, tile.lanes);
        std::fill(live.windows.begin() + live.count, live.windows.begin() + vectors * tile.lanes, live.windows[0]);
        const Windows w = {&tile.prepared,
                           tile.offsets().data(),
                           scratch.sums.data(),
                           scratch.tilted.data(),
                           live.windows.data(),
                           nullptr,
                           vectors,
                           live.norms.data(),
                           live.leafSums.data()};
        const Stage& stage = tile.model().stages[s];
        evaluateStage(w, stage);
        int left = 0;
        for (int k = 0; k < live.count; ++k)
        {
            live.windows[left] = live.windows[k];
            live.places[left] = live.places[k];
            live.norms[left] = live.norms[k];
            live.leafSums[left] = live.leafSums[k];
            left += !stageFails(live.leafSums[k], stage);
        }
        live.count = left;
        tile.passed(s, left);
    }
    for (int k = 0; k < live.count; ++k)
        addCandidate(tile, live.places[k] % TILE_COLS, live.places[k] / TILE_COLS, live.leafSums[k]);
}

//! Classifies the windows of a tile. The skip rule carries over from the tile to the left.
void classifyTile(const Tile& tile, Scratch& scratch)
{
    const size_t stages = tile.model().stages.size();
    if (scratch.arriving.size() < stages)
        scratch.arriving.resize(stages);
    scratch.live.reserve(TILE_COLS * STRIP_ROWS + 64); // room for whole vectors
    if (tile.passes)
        tile.passes->windows += static_cast<int64_t>(tile.cols) * tile.rows;
    for (int j = 0; j < tile.rows; ++j)
    {
        bool carry = scratch.carry[j] != 0;
        classifyRow(tile, scratch, j, carry);
        scratch.carry[j] = carry;
    }
    classifyList(tile, scratch);
}

} // namespace

void addCandidate(const Tile& tile, int i, int j, double weight)
{
    const Layer& layer = tile.layer;
    const int x = (tile.firstCol + i) * layer.step, y = (tile.firstRow + j) * layer.step;
    const int layerIndex = static_cast<int>(&layer - tile.work.pyramid->layers.data());
    if (tile.work.mask)
    {
        const Box box = boxOf(x, y, layer.factor, boxSide(tile.model().width, layer.factor),
                              boxSide(tile.model().height, layer.factor));
        const ImageView& mask = tile.work.mask;
        if (!mask.row<uint8_t>(centreOf(box.y, box.height, mask.rows))[centreOf(box.x, box.width, mask.cols)])
            return;
    }
    tile.candidates.push_back({keyOf(tile.work.image, layerIndex, x, y), weight});
}

void Scratch::List::reserve(int size)
{
    windows.resize(std::max<size_t>(windows.size(), size));
    places.resize(std::max<size_t>(places.size(), size));
    norms.resize(std::max<size_t>(norms.size(), size));
    leafSums.resize(std::max<size_t>(leafSums.size(), size));
}

void Scratch::List::push(int window, int place, float norm)
{
    if (count == static_cast<int>(windows.size()))
        reserve(2 * count + 64);
    windows[count] = window;
    places[count] = place;
    norms[count] = norm;
    ++count;
}

void classify(const Work& work, int layerIndex, int firstRow, detail::ScratchPool<Scratch>& pool,
              std::vector<Candidate>& candidates, Passes* passes)
{
    const Layer& layer = work.pyramid->layers[layerIndex];
    const Grid& grid = work.pyramid->grids[layerIndex];
    const Prepared& prepared = *work.prepared;
    const Model& model = *prepared.model;
    const IntegralImages needed(layer.step, prepared);
    const int rows = std::min(grid.rows - firstRow, STRIP_ROWS);
    detail::ScratchPool<Scratch>::Lease scratch(pool);
    std::fill_n(scratch->carry, STRIP_ROWS, static_cast<uint8_t>(0));
    for (int firstCol = 0; firstCol < grid.cols; firstCol += TILE_COLS)
    {
        const int cols = std::min(grid.cols - firstCol, TILE_COLS);
        LayerRegion region = {firstCol * layer.step, firstRow * layer.step, 0, 0};
        region.cols = std::min(layer.cols - region.x, (cols - 1) * layer.step + model.width);
        region.rows = std::min(layer.rows - region.y, (rows - 1) * layer.step + model.height);
        integralImage(work, layer, region, needed, *scratch);
        const Tile tile = {work, layer, needed.layout, prepared, firstCol, firstRow,
                           cols, rows,  candidates,    passes,   lanesOf()};
        if (prepared.isNarrow())
            classifyNarrow(tile, *scratch);
        else
            classifyTile(tile, *scratch);
    }
    std::sort(candidates.begin(), candidates.end(),
              [](const Candidate& a, const Candidate& b) { return a.key < b.key; });
}

}}}} // namespace cv::cuda::cascade::cpu
