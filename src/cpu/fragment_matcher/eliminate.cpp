// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// eliminate: scores only positions that can be a peak of SAD, by bounds of all of them
// (src/fragment_matcher/bounds.hpp). Groups of positions that remain are compared by blocks of 4, position by position.
#include "../../precomp.hpp"
#include "eliminate.hpp"

namespace cv { namespace cuda { namespace fragment_matcher { namespace cpu {

namespace {

const int CELL_GROUPS = 8;   // columns and rows of groups of which a limit takes at most one place
const int EXTRA_PLACES = 16; // places of a limit beside those that it takes
const int MOST_KEPT = 4;     // at most one of so many positions is scored by itself
// Least sides and pixels of a fragment, and least number of positions: below, bounds cost more than a tenth of a full
// search.
const int LEAST_SIDE = 48, LEAST_PIXELS = 64 * 64, LEAST_POSITIONS = 64 * 64;
const int WIDE_SIDE = 64; // least side for blocks of 8 x 8 pixels; below: 4 x 4

uint64_t sumAt(const Pattern& pattern, const Planes& planes) { return sumOfRows(pattern, planes, 0, pattern.height); }

//! Returns the planes that a pattern of means meets at a position.
Planes at(const MeansOfImage& means, int x, int y)
{
    return means.phase(x % means.block, y % means.block).at(x / means.block, y / means.block);
}

// --- limits ----------------------------------------------------------------------------------------------------------

struct Limits
{
    uint64_t best, peaks; //!< largest values of positions that may be the best, and of those that may be a peak
    Box box;              //!< contains all positions that may be the best
};

//! Chooses the position of the least bound of each square of groups. @return groups, by their bounds.
std::vector<int> leastOfCells(const Groups& groups)
{
    const int countX = detail::ceilDiv(groups.countX(), CELL_GROUPS), countY = groups.countY();
    std::vector<int> cells(static_cast<size_t>(countX) * detail::ceilDiv(countY, CELL_GROUPS), -1);
    for (int y = 0; y < countY; ++y)
        for (int x = 0; x < groups.countX(); ++x)
        {
            const int group = y * groups.countX() + x;
            int& cell = cells[static_cast<size_t>(y / CELL_GROUPS) * countX + x / CELL_GROUPS];
            if (cell < 0 || groups.leasts[group] < groups.leasts[cell])
                cell = group;
        }
    std::sort(cells.begin(), cells.end(),
              [&](int a, int b) { return std::make_pair(groups.leasts[a], a) < std::make_pair(groups.leasts[b], b); });
    return cells;
}

//! Chooses `needed` of the places by their values, each `apart` from those before it and outside the zones of the
//! positions of `box`, unless null. @return the largest value; UINT64_MAX: there are not enough places.
template <typename V>
uint64_t largestOfPlaces(const std::vector<Peak<V>>& places, int needed, int apart, const Box* box,
                         const Groups& groups)
{
    std::vector<const Peak<V>*> chosen;
    for (const Peak<V>& place : places)
    {
        if (static_cast<int>(chosen.size()) == needed)
            break;
        const auto isApart = [&](const Peak<V>* other)
        { return outsideZone(place.x - other->x, place.y - other->y, apart, groups.exclusion); };
        if ((!box || surelyOutside(place.x, place.y, *box, groups.distance, groups.exclusion)) &&
            std::all_of(chosen.begin(), chosen.end(), isApart))
            chosen.push_back(&place);
    }
    if (static_cast<int>(chosen.size()) < needed)
        return UINT64_MAX;
    return chosen.empty() ? 0 : chosen.back()->value;
}

//! Scores places of least bounds: those that a limit takes, and others beside the first.
template <typename V>
std::vector<Peak<V>> scorePlaces(const Scores<V>& scores, const Groups& groups, const Pattern& pattern,
                                 const MeansOfImage& means, int peaks)
{
    std::vector<Peak<V>> places;
    const auto isApart = [&](const Position& at, int distance, size_t count)
    {
        return std::all_of(places.begin(), places.begin() + count,
                           [&](const Peak<V>& place)
                           { return outsideZone(at.x - place.x, at.y - place.y, distance, groups.exclusion); });
    };
    const int apart = distanceOfPlaces(groups.distance), needed = placesNeeded(peaks, groups.exclusion);
    int extra = EXTRA_PLACES;
    for (const int group : leastOfCells(groups))
    {
        const Box box = groups.box(group);
        Position at = {box.left, box.top};
        uint64_t least = UINT64_MAX;
        for (int y = box.top; y <= box.bottom && least > groups.leasts[group]; ++y)
            for (int x = box.left; x <= box.right && least > groups.leasts[group]; ++x)
            {
                const uint64_t sum = sumAt(pattern, fragment_matcher::cpu::at(means, x, y));
                if (sum < least)
                    least = sum, at = {x, y};
            }
        const bool takes = static_cast<int>(places.size()) < needed && isApart(at, apart, places.size());
        if (!takes && (extra == 0 || !isApart(at, groups.distance, std::min<size_t>(places.size(), 1))))
            continue;
        extra -= !takes;
        places.push_back({scores.value(at.x, at.y), at.x, at.y});
    }
    std::sort(places.begin(), places.end(),
              [](const Peak<V>& a, const Peak<V>& b)
              { return std::make_tuple(a.value, a.y, a.x) < std::make_tuple(b.value, b.y, b.x); });
    return places;
}

//! Returns the largest values of positions that may be the best and of those that may be a peak. UINT64_MAX: any.
template <typename V>
Limits limitsOf(const Scores<V>& scores, const Groups& groups, const MeansOfFragment& means, const Pattern& pattern,
                const MeansOfImage& image, int peaks)
{
    const std::vector<Peak<V>> places = scorePlaces(scores, groups, pattern, image, peaks);
    Limits limits = {places[0].value, UINT64_MAX, {INT_MAX, INT_MAX, -1, -1}};
    const uint32_t limit = means.largest(limits.best);
    for (int group = 0; group < static_cast<int>(groups.leasts.size()); ++group)
        if (groups.leasts[group] <= limit)
        {
            const Box box = groups.box(group);
            limits.box = {std::min(limits.box.left, box.left), std::min(limits.box.top, box.top),
                          std::max(limits.box.right, box.right), std::max(limits.box.bottom, box.bottom)};
        }
    if (peaks == 1 || surelyExcluded(groups.whole(), limits.box, groups.distance, groups.exclusion))
    {
        limits.peaks = 0; // there is no peak but the best
        return limits;
    }
    const int apart = distanceOfPlaces(groups.distance);
    const uint64_t outside =
        largestOfPlaces(places, placesNeeded(peaks - 1, groups.exclusion), apart, &limits.box, groups);
    const uint64_t anywhere = largestOfPlaces(places, placesNeeded(peaks, groups.exclusion), apart, nullptr, groups);
    limits.peaks = std::min(outside, anywhere);
    return limits;
}

// --- positions of groups ---------------------------------------------------------------------------------------------

//! A group with the positions that may be a peak: bit GROUP_COLS * row + column.
struct Kept
{
    int group;
    uint64_t limit; //!< largest value
    uint32_t positions;
};

//! Returns the groups that may hold a peak, with all their positions.
std::vector<Kept> keptGroups(const Groups& groups, const MeansOfFragment& means, const Limits& limits)
{
    const uint32_t best = means.largest(limits.best), peaks = means.largest(limits.peaks);
    std::vector<Kept> kept;
    for (int group = 0; group < static_cast<int>(groups.leasts.size()); ++group)
    {
        const uint32_t least = groups.leasts[group];
        if (least > std::max(best, peaks))
            continue;
        const bool excluded = surelyExcluded(groups.box(group), limits.box, groups.distance, groups.exclusion);
        if (least <= best || !excluded)
            kept.push_back({group, excluded ? limits.best : std::max(limits.best, limits.peaks), ~0u});
    }
    return kept;
}

//! Calls body(x, y, bit, kept, memory) for the kept positions of some groups, on all threads if there is a pool.
template <class Body>
void forKept(std::vector<Kept>& kept, const Groups& groups, Scratch& memory, ScratchPool* pool, const Body& body)
{
    forAll(detail::ceilDiv(static_cast<int>(kept.size()), STRIP_GROUPS), memory, pool,
           [&](int i, Scratch& own)
           {
               const size_t end = std::min<size_t>(kept.size(), (i + size_t(1)) * STRIP_GROUPS);
               for (size_t k = static_cast<size_t>(i) * STRIP_GROUPS; k < end; ++k)
               {
                   const Box box = groups.box(kept[k].group);
                   for (int y = box.top; y <= box.bottom; ++y)
                       for (int x = box.left; x <= box.right; ++x)
                       {
                           const uint32_t bit = 1u << (GROUP_COLS * (y - box.top) + x - box.left);
                           if (kept[k].positions & bit)
                               body(x, y, bit, kept[k], own);
                       }
               }
           });
}

//! The bounds by blocks of 4.
struct FineBounds
{
    const MeansOfFragment means;
    const Pattern pattern;
    MeansOfImage image;

    explicit FineBounds(const Plan& plan) : means(plan, 4), pattern(patternOf(means.plan)) {}
};

//! Returns the value of a position, or any number above `most`: the sum of the rows so far and bounds of the others
//! exceed it.
uint64_t valueUpTo(uint64_t most, const Pattern& pattern, const Planes& planes, const FineBounds* fine, int x, int y,
                   Buffer& memory)
{
    const int STRIP = 32, BLOCKS = STRIP / 4, strips = detail::ceilDiv(pattern.height, STRIP);
    uint64_t* const rests = memory.get<uint64_t>(strips + 1); // bounds of the strips from each on
    std::fill(rests, rests + strips + 1, uint64_t(0));
    const Planes at = planes.at(x, y);
    const Planes means = fine ? fragment_matcher::cpu::at(fine->image, x, y) : at;
    for (int i = strips - 1; fine && i > 0; --i)
    {
        const int begin = i * BLOCKS, end = std::min(begin + BLOCKS, fine->pattern.height);
        const uint64_t twice = 2 * fine->means.scale * sumOfRows(fine->pattern, means, begin, std::max(begin, end));
        uint64_t loss = 0;
        for (int row = begin; row < end; ++row)
            loss += fine->means.losses[row];
        rests[i] = rests[i + 1] + (twice > loss ? (twice - loss + 1) / 2 : 0);
    }
    uint64_t sum = 0;
    for (int i = 0; i < strips; ++i)
    {
        sum += sumOfRows(pattern, at, i * STRIP, std::min((i + 1) * STRIP, pattern.height));
        if (sum + rests[i + 1] > most)
            return most + 1;
    }
    return sum;
}

//! Scores the kept positions; values of all others are the largest of their type. @param fine null: there are no such
//! bounds.
template <typename V>
void scoreKept(Scores<V>& scores, std::vector<Kept>& kept, const Groups& groups, const FineBounds* fine,
               Scratch& memory, ScratchPool* pool)
{
    const SearchWindow& window = scores.window();
    const size_t stride = alignRow(window.cols);
    const MapView<V> map = {memory.map.get<V>(stride * window.rows), stride, memory.best.get<RowBest<V>>(window.rows)};
    std::fill(map.values, map.values + stride * window.rows, Scores<V>::NOT_SCORED);
    std::fill(map.best, map.best + window.rows, RowBest<V>{Scores<V>::NOT_SCORED, 0});
    const Pattern pattern = patternOf(scores.plan());
    forKept(kept, groups, memory, pool,
            [&](int x, int y, uint32_t, const Kept& own, Scratch& thread)
            {
                const uint64_t value = valueUpTo(own.limit, pattern, scores.planes(), fine, x, y, thread.rows.partial);
                if (value <= own.limit)
                    map.values[y * stride + x] = static_cast<V>(value);
            });
    for (const Kept& of : kept) // from left to right: on equal values the first column is kept
    {
        const Box box = groups.box(of.group);
        for (int y = box.top; y <= box.bottom; ++y)
            for (int x = box.left; x <= box.right; ++x)
                if (map.values[y * stride + x] < map.best[y].value)
                    map.best[y] = {map.values[y * stride + x], x};
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
    const size_t positions = static_cast<size_t>(window.cols) * window.rows;
    if (plan.metric != Metric::SAD || side < LEAST_SIDE ||
        static_cast<int64_t>(plan.width) * plan.height < LEAST_PIXELS || positions < LEAST_POSITIONS)
        return false;
    const int block = side >= WIDE_SIDE ? 8 : 4;
    const MeansOfFragment means(plan, block);
    if (!means.any || means.plan.wide)
        return false;
    const size_t coarseBytes = bytesOfMeans(plan, window, block);
    uint8_t* const data = memory.means.get<uint8_t>(coarseBytes + bytesOfMeans(plan, window, 4));
    const MeansOfImage image = meansOf(plan, scores.planes(), window, block, data, memory, pool);
    Groups groups = {window.cols, window.rows, distance, settings.exclusion, {}};
    findLeasts(means.plan, image, groups, memory, pool);
    const Limits limits = limitsOf(scores, groups, means, patternOf(means.plan), image, settings.peaks);
    std::vector<Kept> kept = keptGroups(groups, means, limits);
    const size_t positionsOfGroup = GROUP_COLS * GROUP_ROWS;
    if (limits.peaks == UINT64_MAX || 2 * kept.size() * positionsOfGroup > positions)
        return false;
    FineBounds fine(plan);
    const bool refines = block > 4 && !fine.means.plan.wide;
    if (refines)
    {
        fine.image = meansOf(plan, scores.planes(), window, 4, data + coarseBytes, memory, pool);
        forKept(kept, groups, memory, pool,
                [&](int x, int y, uint32_t bit, Kept& own, Scratch&)
                {
                    const uint32_t limit = fine.means.largest(own.limit);
                    if (sumAt(fine.pattern, at(fine.image, x, y)) > limit)
                        own.positions &= ~bit;
                });
    }
    size_t count = 0;
    for (const Kept& of : kept)
        for (uint32_t left = of.positions; left != 0; left &= left - 1)
            ++count;
    if (MOST_KEPT * count > positions) // all positions together take less time
        return false;
    scoreKept(scores, kept, groups, refines ? &fine : nullptr, memory, pool);
    return true;
}

template bool eliminate(Scores<uint32_t>&, int, const Settings&, Scratch&, ScratchPool*);
template bool eliminate(Scores<uint64_t>&, int, const Settings&, Scratch&, ScratchPool*);

}}}} // namespace cv::cuda::fragment_matcher::cpu
