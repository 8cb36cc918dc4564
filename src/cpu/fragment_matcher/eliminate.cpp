// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// eliminate: scores only the tiles that can hold a peak of SAD, by bounds of all positions (src/fragment_matcher/bounds.hpp). The means of
// blocks of B x B pixels are B * B images, one for each column and row of blocks modulo B, and the bounds are their SAD with the means of
// the fragment, by the kernels that compute every SAD.
#include "../../precomp.hpp"
#include "../../fragment_matcher/bounds.hpp"
#include "eliminate.simd.hpp"
#include "cpu/fragment_matcher/eliminate.simd_declarations.hpp" // made by CMake: CV_CPU_DISPATCH_MODES_ALL

namespace cv { namespace cuda { namespace fragment_matcher { namespace cpu {

namespace {

const int TILE_COLS = ROW_UNIT, TILE_ROWS = 8; // positions that are scored together
// Least sides and pixels of a fragment, and least number of positions: below, bounds cost more than a tenth of a full search.
const int LEAST_SIDE = 48, LEAST_PIXELS = 64 * 64, LEAST_POSITIONS = 64 * 64;
const int WIDE_SIDE = 64; // least side for blocks of 8 x 8 pixels; below: 4 x 4

void computeMeans(const uint8_t* from, size_t step, int rows, int cols, int block, uint8_t* to, size_t phaseStep,
                  Buffer& memory)
{
    CV_CPU_DISPATCH(meansOfRows, (from, step, rows, cols, block, to, phaseStep, memory), CV_CPU_DISPATCH_MODES_ALL);
}

//! Calls body(i, memory) for i = 0 .. count - 1, on all threads if there is a pool.
template <class Body> void forAll(int count, Scratch& memory, ScratchPool* pool, const Body& body)
{
    if (!pool)
    {
        for (int i = 0; i < count; ++i)
            body(i, memory);
        return;
    }
    parallel_for_(Range(0, count),
                  [&](const Range& range)
                  {
                      const ScratchPool::Lease lease(*pool);
                      for (int i = range.start; i < range.end; ++i)
                          body(i, *lease);
                  });
}

//! The means of a fragment as a fragment.
struct MeansOfFragment
{
    Plan plan;
    uint64_t loss = 0; //!< twice the most by which the scaled sums of means exceed the value
    uint64_t scale;    //!< of sums of means to values
    bool any = false;  //!< some block has a weight

    MeansOfFragment(const Plan& of, int block)
    {
        const int width = of.width / block, height = of.height / block, channels = of.channels;
        const int pixels = block * block;
        means_.resize(static_cast<size_t>(width) * height * channels);
        weights_.assign(static_cast<size_t>(width) * height, 1);
        for (int y = 0; y < height; ++y)
            for (int x = 0; x < width; ++x)
            {
                const size_t at = static_cast<size_t>(y) * width + x;
                const size_t first = static_cast<size_t>(block) * (static_cast<size_t>(y) * of.width + x);
                const uint64_t weight = of.weighted ? leastOf(of.q + first, of.width, block) : 1;
                weights_[at] = static_cast<uint8_t>(weight);
                any = any || weight > 0;
                for (int c = 0; c < channels; ++c)
                {
                    const uint8_t* const bytes = &of.bytes[static_cast<size_t>(c) * of.width * of.height + first];
                    const int sum = sumOf(bytes, of.width, block), mean = sum / pixels;
                    means_[at * channels + c] = static_cast<uint8_t>(mean);
                    loss += weight * blockLoss(sum, mean, pixels);
                }
            }
        if (!any)
            return;
        pack({means_.data(), of.weighted ? weights_.data() : nullptr, width, height, channels, TemplateSums()},
             Metric::SAD, plan);
        scale = static_cast<uint64_t>(pixels) * (of.weighted ? plan.unit : 1);
    }

private:
    static int sumOf(const uint8_t* bytes, int step, int block)
    {
        int sum = 0;
        for (int v = 0; v < block; ++v)
            for (int u = 0; u < block; ++u)
                sum += bytes[static_cast<size_t>(v) * step + u];
        return sum;
    }
    static uint8_t leastOf(const uint8_t* weights, int step, int block)
    {
        uint8_t least = 255;
        for (int v = 0; v < block; ++v)
            for (int u = 0; u < block; ++u)
                least = std::min(least, weights[static_cast<size_t>(v) * step + u]);
        return least;
    }

    std::vector<uint8_t> means_, weights_;
};

//! The means of the blocks of an image.
struct MeansOfImage
{
    const uint8_t* data;
    size_t phaseStep, planeStep;
    int block;

    //! Returns the blocks that begin in columns block * k + x and rows block * k + y as planes.
    Planes phase(int x, int y) const
    {
        return {data + (static_cast<size_t>(y) * block + x) * phaseStep, block * block * phaseStep, planeStep, 0};
    }
};

MeansOfImage meansOf(const Plan& plan, const Planes& planes, const SearchWindow& window, int block, Scratch& memory,
                     ScratchPool* pool)
{
    const int cols = window.cols + plan.width - 1, rows = window.rows + plan.height - block;
    MeansOfImage means = {nullptr, alignRow(detail::ceilDiv(cols, block)), 0, block};
    const size_t rowStep = block * means.phaseStep;
    means.planeStep = static_cast<size_t>(rows) * rowStep;
    uint8_t* const data = memory.means.get<uint8_t>(means.planeStep * plan.channels + PLANE_PADDING);
    means.data = data;
    const int strip = pool ? 64 : rows, strips = detail::ceilDiv(rows, strip);
    forAll(strips * plan.channels, memory, pool,
           [&](int i, Scratch& own)
           {
               const int c = i / strips, first = i % strips * strip;
               computeMeans(planes.pixel(c, 0, first), planes.step, std::min(strip, rows - first), cols, block,
                            data + c * means.planeStep + first * rowStep, means.phaseStep, own.rows.columns);
           });
    return means;
}

//! The least bounds of a tile, as sums of differences of means.
struct TileBound
{
    uint32_t least = UINT32_MAX;
    int x = 0, y = 0;           //!< position of `least`
    uint32_t open = UINT32_MAX; //!< of positions whose zone does not cover the whole window
};

//! The window, its tiles, and the exclusion rule.
struct Tiles
{
    int cols, rows, distance, exclusion;

    int countX() const { return detail::ceilDiv(cols, TILE_COLS); }
    int countY() const { return detail::ceilDiv(rows, TILE_ROWS); }
    //! Returns true if there may be positions whose zone covers the window.
    bool small() const { return cols < 2 * distance || rows < 2 * distance; }
};

//! Takes a row of bounds of positions x, x + block, ... of row y into those of their tiles.
void takeRow(const uint32_t* sums, int count, int x, int y, int block, const Tiles& tiles, TileBound* bounds)
{
    const int each = TILE_COLS / block;
    const bool open = tiles.small();
    for (int first = 0; first < count; first += each, ++bounds)
    {
        const int end = std::min(first + each, count);
        uint32_t least = UINT32_MAX;
        for (int i = first; i < end; ++i)
            least = std::min(least, sums[i]);
        if (least < bounds->least)
        {
            const int i = static_cast<int>(std::find(sums + first, sums + end, least) - sums);
            bounds->least = least;
            bounds->x = x + block * i;
            bounds->y = y;
        }
        if (!open)
            bounds->open = bounds->least;
        for (int i = first; open && i < end; ++i)
            if (sums[i] < bounds->open &&
                !zoneCoversWindow(x + block * i, y, tiles.cols, tiles.rows, tiles.distance, tiles.exclusion))
                bounds->open = sums[i];
    }
}

std::vector<TileBound> boundsOf(const Plan& plan, const MeansOfImage& means, const Tiles& tiles, Scratch& memory,
                                ScratchPool* pool)
{
    std::vector<TileBound> bounds(static_cast<size_t>(tiles.countX()) * tiles.countY());
    const int block = means.block, strip = pool ? 8 : tiles.countY(); // tiles
    forAll(
        detail::ceilDiv(tiles.countY(), strip), memory, pool,
        [&](int i, Scratch& own)
        {
            const int top = i * strip * TILE_ROWS, bottom = std::min(tiles.rows, top + strip * TILE_ROWS);
            for (int phase = 0; phase < block * block; ++phase)
            {
                const int px = phase % block, py = phase / block;
                const int cols = detail::ceilDiv(tiles.cols - px, block);
                const int rows = detail::ceilDiv(std::max(bottom - top - py, 0), block);
                if (cols <= 0 || rows <= 0)
                    continue;
                const size_t stride = alignRow(cols);
                const MapView<uint32_t> map = {own.terms.get<uint32_t>(stride * rows), stride, nullptr};
                scoreMap(plan, means.phase(px, py).at(0, top / block), rows, cols, map, {nullptr, 0, 0}, 0, own.rows);
                for (int r = 0; r < rows; ++r)
                {
                    const int y = top + py + block * r;
                    takeRow(map.values + r * stride, cols, px, y, block, tiles,
                            &bounds[static_cast<size_t>(y / TILE_ROWS) * tiles.countX()]);
                }
            }
        });
    return bounds;
}

//! Returns the largest sum of a tile that may hold a peak; UINT32_MAX: all may.
template <typename V>
uint32_t limitOf(const Scores<V>& scores, const std::vector<TileBound>& bounds, const MeansOfFragment& means,
                 const Tiles& tiles, int peaks)
{
    const int needed = placesNeeded(peaks, tiles.exclusion), apart = distanceOfPlaces(tiles.distance);
    const auto largest = [&](uint64_t value) { return largestBound(value, means.loss, means.scale, UINT32_MAX); };
    std::vector<const TileBound*> places;
    uint64_t most = 0;
    while (static_cast<int>(places.size()) < needed)
    {
        const TileBound* best = nullptr;
        for (const TileBound& bound : bounds)
            if ((!best || bound.least < best->least) &&
                std::all_of(places.begin(), places.end(),
                            [&](const TileBound* place)
                            { return outsideZone(bound.x - place->x, bound.y - place->y, apart, tiles.exclusion); }))
                best = &bound;
        if (!best)
            return UINT32_MAX;
        places.push_back(best);
        most = std::max<uint64_t>(most, scores.value(best->x, best->y));
        if (places.size() == 1 && std::none_of(bounds.begin(), bounds.end(),
                                               [&](const TileBound& bound) { return bound.open <= largest(most); }))
            break; // there is no second peak
    }
    return largest(most);
}

//! A run of tiles of one row.
struct Run
{
    int tileY, begin, end;
};

//! Scores the runs; values of all other positions are the largest of their type.
template <typename V>
void scoreRuns(Scores<V>& scores, const std::vector<Run>& runs, Scratch& memory, ScratchPool* pool)
{
    const Plan& plan = scores.plan();
    const SearchWindow& window = scores.window();
    const size_t stride = alignRow(window.cols);
    const MapView<V> map = {memory.map.get<V>(stride * window.rows), stride, memory.best.get<RowBest<V>>(window.rows)};
    std::fill(map.values, map.values + stride * window.rows, Scores<V>::NOT_SCORED);
    std::fill(map.best, map.best + window.rows, RowBest<V>{Scores<V>::NOT_SCORED, 0});
    std::vector<RowBest<V>> bests(runs.size() * TILE_ROWS);
    forAll(static_cast<int>(runs.size()), memory, pool,
           [&](int i, Scratch& own)
           {
               const int x = runs[i].begin * TILE_COLS, y = runs[i].tileY * TILE_ROWS;
               const MapView<V> part = {map.values + y * stride + x, stride,
                                        bests.data() + static_cast<size_t>(i) * TILE_ROWS};
               scoreMap(plan, scores.planes().at(x, y), std::min(TILE_ROWS, window.rows - y),
                        std::min(runs[i].end * TILE_COLS, window.cols) - x, part, {nullptr, 0, 0}, 0, own.rows);
           });
    for (size_t i = 0; i < runs.size(); ++i) // from left to right: on equal values the first column is kept
        for (int y = runs[i].tileY * TILE_ROWS, r = 0; r < TILE_ROWS && y + r < window.rows; ++r)
        {
            const RowBest<V>& best = bests[i * TILE_ROWS + r];
            if (best.value < map.best[y + r].value)
                map.best[y + r] = {best.value, best.x + runs[i].begin * TILE_COLS};
        }
    scores.setMap(map);
}

} // namespace

template <typename V>
bool eliminate(Scores<V>& scores, int distance, const Settings& settings, Scratch& memory, ScratchPool* pool)
{
    const Plan& plan = scores.plan();
    const SearchWindow& window = scores.window();
    const int side = std::min(plan.width, plan.height);
    if (plan.metric != Metric::SAD || side < LEAST_SIDE ||
        static_cast<int64_t>(plan.width) * plan.height < LEAST_PIXELS ||
        static_cast<int64_t>(window.cols) * window.rows < LEAST_POSITIONS)
        return false;
    const int block = side >= WIDE_SIDE ? 8 : 4;
    const MeansOfFragment means(plan, block);
    if (!means.any || means.plan.wide)
        return false;
    const Tiles tiles = {window.cols, window.rows, distance, settings.exclusion};
    const std::vector<TileBound> bounds =
        boundsOf(means.plan, meansOf(plan, scores.planes(), window, block, memory, pool), tiles, memory, pool);
    const uint32_t limit = limitOf(scores, bounds, means, tiles, settings.peaks);
    std::vector<Run> runs;
    size_t kept = 0;
    for (int y = 0; y < tiles.countY(); ++y)
        for (int x = 0; x < tiles.countX(); ++x)
        {
            if (bounds[static_cast<size_t>(y) * tiles.countX() + x].least > limit)
                continue;
            ++kept;
            if (!runs.empty() && runs.back().tileY == y && runs.back().end == x)
                ++runs.back().end;
            else
                runs.push_back({y, x, x + 1});
        }
    if (2 * kept > bounds.size()) // all positions together take fewer calls
        return false;
    scoreRuns(scores, runs, memory, pool);
    return true;
}

template bool eliminate(Scores<uint32_t>&, int, const Settings&, Scratch&, ScratchPool*);
template bool eliminate(Scores<uint64_t>&, int, const Settings&, Scratch&, ScratchPool*);

}}}} // namespace cv::cuda::fragment_matcher::cpu
