// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// eliminate: scores only positions that can be a peak of SAD, by bounds of all of them
// (src/fragment_matcher/bounds.hpp): those of groups of positions first, then those of the positions of the groups that
// remain. The means of blocks of B x B pixels are B * B images, one for each column and row of blocks modulo B, and the
// bounds are their SAD with the means of the fragment, by the kernels that compute every SAD.
#include "../../precomp.hpp"
#include "eliminate.simd.hpp"
#include "cpu/fragment_matcher/eliminate.simd_declarations.hpp" // made by CMake: CV_CPU_DISPATCH_MODES_ALL

namespace cv { namespace cuda { namespace fragment_matcher { namespace cpu {

//! Calls body(byte) for the bytes of a block.
template <class Body> static void forBlock(const uint8_t* bytes, int step, const Body& body)
{
    for (int i = 0; i < BLOCK * BLOCK; ++i)
        body(bytes[static_cast<size_t>(i / BLOCK) * step + i % BLOCK]);
}

MeansOfFragment::MeansOfFragment(const Plan& of)
{
    const int width = of.width / BLOCK, height = of.height / BLOCK, channels = of.channels, pixels = BLOCK * BLOCK;
    means_.resize(static_cast<size_t>(width) * height * channels);
    weights_.assign(static_cast<size_t>(width) * height, of.weighted ? 255 : 1);
    losses.assign(height + 1, 0);
    for (size_t at = 0; at < weights_.size(); ++at)
    {
        const size_t first = BLOCK * (at / width * of.width + at % width);
        uint8_t& weight = weights_[at];
        if (of.weighted)
            forBlock(of.q + first, of.width, [&](uint8_t q) { weight = std::min(weight, q); });
        any = any || weight > 0;
        for (int c = 0; c < channels; ++c)
        {
            int sum = 0;
            forBlock(&of.bytes[static_cast<size_t>(c) * of.width * of.height + first], of.width,
                     [&](uint8_t byte) { sum += byte; });
            means_[at * channels + c] = static_cast<uint8_t>(sum / pixels);
            losses[at / width] += static_cast<uint64_t>(weight) * blockLoss(sum, sum / pixels, pixels);
        }
    }
    for (int y = height; y-- > 0;)
        losses[y] += losses[y + 1];
    if (!any)
        return;
    pack({means_.data(), false, of.weighted ? weights_.data() : nullptr, width, height, channels, {}}, Metric::SAD,
         plan);
    scale = static_cast<uint64_t>(pixels) * (of.weighted ? plan.unit : 1);
}

namespace {

// Columns and rows of groups of which a limit takes at most one place; places beside those that it takes.
const int CELL_GROUPS = 8, EXTRA_PLACES = 16;
const int MOST_KEPT = 4; // at most one of so many groups is scored position by position
// Least sides and pixels of a fragment, and least number of positions: below, bounds cost more than a tenth of a full
// search.
const int LEAST_SIDE = 48, LEAST_PIXELS = 64 * 64, LEAST_POSITIONS = 64 * 64;

// --- bounds ----------------------------------------------------------------------------------------------------------

void computeMeans(const uint8_t* from, size_t step, int rows, int cols, uint8_t* to, size_t phaseStep, Buffer& memory)
{
    CV_CPU_DISPATCH(meansOfRows, (from, step, rows, cols, to, phaseStep, memory), CV_CPU_DISPATCH_MODES_ALL);
}

//! Returns the sum of the differences of rows [begin, end) of a pattern and of the bytes at the origin of `planes`.
uint64_t sumOfRows(const Pattern& pattern, const Planes& planes, int begin, int end)
{
    CV_CPU_DISPATCH(differencesAt, (pattern, planes, begin, end), CV_CPU_DISPATCH_MODES_ALL);
}

//! Computes the means of the blocks under all positions, in memory.means.
MeansOfImage meansOf(const Plan& plan, const Planes& planes, const SearchWindow& window, Scratch& memory,
                     ScratchPool* pool)
{
    const int cols = window.cols + plan.width - 1, rows = window.rows + plan.height - BLOCK;
    const size_t phaseStep = alignRow(detail::ceilDiv(cols, BLOCK)), rowStep = BLOCK * phaseStep;
    const size_t planeStep = rows * rowStep;
    uint8_t* const data = memory.means.get<uint8_t>(plan.channels * planeStep + PLANE_PADDING);
    const int strip = pool ? 64 : rows, strips = detail::ceilDiv(rows, strip);
    forAll(strips * plan.channels, memory, pool,
           [&](int i, Scratch& own)
           {
               const int c = i / strips, first = i % strips * strip;
               computeMeans(planes.pixel(c, 0, first), planes.step, std::min(strip, rows - first), cols,
                            data + c * planeStep + first * rowStep, phaseStep, own.rows.columns);
           });
    return {data, phaseStep, planeStep};
}

//! Returns the pattern of a fragment, or of its means.
Pattern patternOf(const Plan& plan)
{
    Pattern pattern = {plan.width, plan.height, plan.channels, plan.weighted, alignRow(plan.width), {}, {}};
    const auto padded = [&](const uint8_t* from, size_t rows)
    {
        std::vector<uint8_t> bytes(rows * pattern.pitch, 0);
        for (size_t y = 0; y < rows; ++y)
            std::copy_n(from + y * plan.width, plan.width, bytes.data() + y * pattern.pitch);
        return bytes;
    };
    pattern.bytes = padded(plan.bytes.data(), static_cast<size_t>(plan.height) * plan.channels);
    pattern.weights =
        plan.weighted ? padded(plan.q, plan.height) : padded(std::vector<uint8_t>(plan.width, 255).data(), 1);
    return pattern;
}

//! Computes the least bounds of all groups.
void findLeasts(const Plan& plan, const MeansOfImage& means, Groups& groups, Scratch& memory, ScratchPool* pool)
{
    groups.leasts.assign(static_cast<size_t>(groups.countX()) * groups.countY(), UINT32_MAX);
    const int strip = pool ? STRIP_GROUPS : groups.countY();
    forAll(detail::ceilDiv(groups.countY(), strip), memory, pool,
           [&](int i, Scratch& own)
           {
               const int top = i * strip * GROUP_ROWS, bottom = std::min(groups.rows, top + strip * GROUP_ROWS);
               for (int phase = 0; phase < BLOCK * BLOCK; ++phase)
               {
                   const int px = phase % BLOCK, py = phase / BLOCK;
                   const int cols = detail::ceilDiv(groups.cols - px, BLOCK);
                   const int rows = detail::ceilDiv(std::max(bottom - top - py, 0), BLOCK);
                   if (cols <= 0 || rows <= 0)
                       continue;
                   const size_t stride = alignRow(cols);
                   const MapView<uint32_t> map = {own.terms.get<uint32_t>(stride * rows), stride, nullptr};
                   scoreMap(plan, means.at(px, top + py), rows, cols, map, {nullptr, 0, 0}, 0, own.rows);
                   for (int r = 0; r < rows; ++r)
                   {
                       const int y = top + py + BLOCK * r;
                       const uint32_t* const sums = map.values + r * stride;
                       uint32_t* const leasts = &groups.leasts[static_cast<size_t>(y / GROUP_ROWS) * groups.countX()];
                       for (int k = 0; k < cols; ++k)
                           leasts[k] = std::min(leasts[k], sums[k]); // a group has one position of each row and phase
                   }
               }
           });
}

uint64_t sumAt(const Pattern& pattern, const Planes& planes) { return sumOfRows(pattern, planes, 0, pattern.height); }

// --- limits ----------------------------------------------------------------------------------------------------------

struct Limits
{
    uint64_t best, peaks; //!< largest values of positions that may be the best, and of those that may be a peak
    Box box;              //!< contains all positions that may be the best
};

//! Returns the group of the least bound of each square of groups, by their bounds.
std::vector<int> leastOfCells(const Groups& groups)
{
    const int cols = groups.countX(), cellCols = detail::ceilDiv(cols, CELL_GROUPS);
    std::vector<int> cells(static_cast<size_t>(cellCols) * detail::ceilDiv(groups.countY(), CELL_GROUPS), -1);
    for (int group = 0; group < static_cast<int>(groups.leasts.size()); ++group)
    {
        int& cell = cells[static_cast<size_t>(group / cols / CELL_GROUPS) * cellCols + group % cols / CELL_GROUPS];
        if (cell < 0 || groups.leasts[group] < groups.leasts[cell])
            cell = group;
    }
    std::stable_sort(cells.begin(), cells.end(), [&](int a, int b) { return groups.leasts[a] < groups.leasts[b]; });
    return cells;
}

//! Returns true if (x, y) is `distance` apart from all places.
template <typename V> bool isApart(int x, int y, const std::vector<Peak<V>>& places, int distance, const Groups& groups)
{
    return std::all_of(places.begin(), places.end(),
                       [&](const Peak<V>& place)
                       { return outsideZone(x - place.x, y - place.y, distance, groups.exclusion); });
}

//! Chooses `needed` of the places by their values, as far apart as a limit needs them, and outside the zones of the
//! positions of `box`, unless null. @return the largest value; UINT64_MAX: there are not enough places.
template <typename V>
uint64_t largestOfPlaces(const std::vector<Peak<V>>& places, int needed, const Box* box, const Groups& groups)
{
    const int apart = distanceOfPlaces(groups.distance);
    std::vector<Peak<V>> chosen;
    for (const Peak<V>& place : places)
        if (static_cast<int>(chosen.size()) < needed && isApart(place.x, place.y, chosen, apart, groups) &&
            (!box || surelyOutside(place.x, place.y, *box, groups.distance, groups.exclusion)))
            chosen.push_back(place);
    return static_cast<int>(chosen.size()) < needed ? UINT64_MAX : chosen.back().value;
}

//! Scores places of least bounds outside the zones of each other. @return them, by their values.
template <typename V>
std::vector<Peak<V>> scorePlaces(const Scores<V>& scores, const Groups& groups, const Pattern& pattern,
                                 const MeansOfImage& means, int peaks)
{
    const size_t most = 2 * placesNeeded(peaks, groups.exclusion) + EXTRA_PLACES;
    std::vector<Peak<V>> places;
    for (const int group : leastOfCells(groups))
    {
        if (places.size() == most)
            break;
        Position at = {0, 0};
        groups.forPositions(group,
                            [&](int x, int y)
                            {
                                if (sumAt(pattern, means.at(x, y)) == groups.leasts[group])
                                    at = {x, y};
                            });
        if (isApart(at.x, at.y, places, groups.distance, groups))
            places.push_back({scores.value(at.x, at.y), at.x, at.y});
    }
    std::sort(places.begin(), places.end(), [](const Peak<V>& a, const Peak<V>& b) { return a.value < b.value; });
    return places;
}

template <typename V>
Limits limitsOf(const std::vector<Peak<V>>& places, const Groups& groups, const MeansOfFragment& means, int peaks)
{
    Limits limits = {places[0].value, 0, {INT_MAX, INT_MAX, -1, -1}};
    const uint32_t limit = means.largest(limits.best);
    for (int group = 0; group < static_cast<int>(groups.leasts.size()); ++group)
        if (groups.leasts[group] <= limit)
        {
            const Box box = groups.box(group);
            limits.box = {std::min(limits.box.left, box.left), std::min(limits.box.top, box.top),
                          std::max(limits.box.right, box.right), std::max(limits.box.bottom, box.bottom)};
        }
    const Box whole = {0, 0, groups.cols - 1, groups.rows - 1};
    if (peaks > 1 && !surelyExcluded(whole, limits.box, groups.distance, groups.exclusion))
        limits.peaks =
            std::min(largestOfPlaces(places, placesNeeded(peaks, groups.exclusion), nullptr, groups),
                     largestOfPlaces(places, placesNeeded(peaks - 1, groups.exclusion), &limits.box, groups));
    return limits; // otherwise there is no peak but the best
}

// --- positions of groups ---------------------------------------------------------------------------------------------

//! A group that may hold a peak.
struct Kept
{
    int group;
    uint64_t limit; //!< largest value
};

//! Returns the value of a position, or any number above `most`: the sum of the rows so far and the bound of the others
//! exceed it. @param image, pattern of the means.
uint64_t valueUpTo(uint64_t most, const Pattern& fragment, const Planes& planes, const MeansOfFragment& means,
                   const Pattern& pattern, const Planes& image)
{
    const auto rowAt = [&](int y) { return std::min(y / BLOCK, pattern.height); };
    uint64_t sum = 0, rest = sumAt(pattern, image);
    int y = 0;
    for (; y < fragment.height && sum <= most && rest <= means.largest(most - sum, rowAt(y)); y += BLOCK)
    {
        sum += sumOfRows(fragment, planes, y, std::min(y + BLOCK, fragment.height));
        rest -= sumOfRows(pattern, image, rowAt(y), rowAt(y + BLOCK));
    }
    return y < fragment.height ? most + 1 : sum;
}

} // namespace

template <typename V>
bool eliminate(Scores<V>& scores, int distance, const Settings& settings, Scratch& memory, ScratchPool* pool)
{
    const Plan& plan = scores.plan();
    const SearchWindow& window = scores.window();
    const size_t positions = static_cast<size_t>(window.cols) * window.rows, stride = alignRow(window.cols);
    if (plan.metric != Metric::SAD || std::min(plan.width, plan.height) < LEAST_SIDE ||
        static_cast<int64_t>(plan.width) * plan.height < LEAST_PIXELS || positions < LEAST_POSITIONS)
        return false;
    const MeansOfFragment means(plan);
    if (!means.any || means.plan.wide)
        return false;
    const MeansOfImage image = meansOf(plan, scores.planes(), window, memory, pool);
    Groups groups = {window.cols, window.rows, distance, settings.exclusion, {}};
    findLeasts(means.plan, image, groups, memory, pool);
    const Pattern ofMeans = patternOf(means.plan), pattern = patternOf(plan);
    const Limits limits =
        limitsOf(scorePlaces(scores, groups, ofMeans, image, settings.peaks), groups, means, settings.peaks);
    const uint64_t any = std::max(limits.best, limits.peaks);
    const uint32_t best = means.largest(limits.best), most = means.largest(any);
    std::vector<Kept> kept;
    for (int group = 0; group < static_cast<int>(groups.leasts.size()); ++group)
        if (groups.leasts[group] <= most)
        {
            const bool excluded = surelyExcluded(groups.box(group), limits.box, distance, settings.exclusion);
            if (!excluded || groups.leasts[group] <= best)
                kept.push_back({group, excluded ? limits.best : any});
        }
    if (limits.peaks == UINT64_MAX || MOST_KEPT * kept.size() * GROUP_COLS * GROUP_ROWS > positions)
        return false; // all positions together take less time
    const MapView<V> map = {memory.map.get<V>(stride * window.rows), stride, memory.best.get<RowBest<V>>(window.rows)};
    // Values of all other positions are the largest of their type.
    std::fill(map.values, map.values + stride * window.rows, Scores<V>::NOT_SCORED);
    std::fill(map.best, map.best + window.rows, RowBest<V>{Scores<V>::NOT_SCORED, 0});
    const int count = static_cast<int>(kept.size());
    forAll(detail::ceilDiv(count, STRIP_GROUPS), memory, pool,
           [&](int i, Scratch&)
           {
               for (int k = i * STRIP_GROUPS; k < std::min(count, (i + 1) * STRIP_GROUPS); ++k)
                   groups.forPositions(kept[k].group,
                                       [&](int x, int y)
                                       {
                                           const uint64_t limit = kept[k].limit,
                                                          value = valueUpTo(limit, pattern, scores.planes().at(x, y),
                                                                            means, ofMeans, image.at(x, y));
                                           if (value <= limit)
                                               map.values[y * stride + x] = static_cast<V>(value);
                                       });
           });
    for (const Kept& of : kept) // from left to right: on equal values the first column is kept
        groups.forPositions(of.group,
                            [&](int x, int y)
                            {
                                if (map.values[y * stride + x] < map.best[y].value)
                                    map.best[y] = {map.values[y * stride + x], x};
                            });
    scores.setMap(map);
    return true;
}

template bool eliminate(Scores<uint32_t>&, int, const Settings&, Scratch&, ScratchPool*);
template bool eliminate(Scores<uint64_t>&, int, const Settings&, Scratch&, ScratchPool*);

}}}} // namespace cv::cuda::fragment_matcher::cpu
