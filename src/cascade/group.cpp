// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Stage group on the host: for the CPU backend, and for single images of the CUDA backend with too many candidates for
// its tables. Boxes are compared with those in cells near them: a file may ask for millions of candidates.
#include "../precomp.hpp"
#include "stages.hpp"
#include <algorithm>
#include <map>
#include <numeric>

namespace cv { namespace cuda { namespace cascade {

namespace {

//! Disjoint sets of connected boxes. The root of a set is its lowest index.
class Sets
{
public:
    explicit Sets(int count) : parent_(count) { std::iota(parent_.begin(), parent_.end(), 0); }
    int root(int i)
    {
        while (parent_[i] != i)
            i = parent_[i] = parent_[parent_[i]];
        return i;
    }
    void join(int a, int b)
    {
        a = root(a);
        b = root(b);
        parent_[std::max(a, b)] = std::min(a, b);
    }

private:
    std::vector<int> parent_;
};

//! Numbers of boxes by the cells in which their corners lie: first the row, then the column of a cell.
typedef std::map<std::pair<int, int>, std::vector<int>> Cells;

//! Calls visit(numbers) with each cell of columns left to right in rows top to bottom, until it returns false.
template <typename Visit>
bool visitCells(const Cells& cells, int left, int top, int right, int bottom, const Visit& visit)
{
    for (int row = top; row <= bottom; ++row)
        for (auto cell = cells.lower_bound({row, left});
             cell != cells.end() && cell->first <= std::make_pair(row, right); ++cell)
            if (!visit(cell->second))
                return false;
    return true;
}

//! Boxes of one size, in cells so small that those of a cell are similar.
struct SizeClass
{
    int width, height, side;
    Cells cells;
};

std::vector<SizeClass> sizeClassesOf(const std::vector<Box>& boxes)
{
    std::map<std::pair<int, int>, size_t> found; // by width and height
    for (const Box& box : boxes)
        found.emplace(std::make_pair(box.width, box.height), 0);
    std::vector<SizeClass> classes;
    for (auto& [size, number] : found)
    {
        number = classes.size();
        classes.push_back({size.first, size.second, (size.first + size.second) / 10 + 1, {}});
    }
    for (size_t i = 0; i < boxes.size(); ++i)
    {
        SizeClass& c = classes[found.at({boxes[i].width, boxes[i].height})];
        c.cells[{boxes[i].y / c.side, boxes[i].x / c.side}].push_back(static_cast<int>(i));
    }
    return classes;
}

//! Range of the distances of two sides of similar boxes: of their beginnings, where their ends are within `reach`, too.
struct Offsets
{
    int low, high;

    Offsets(int reach, int difference) : low(-reach - std::min(difference, 0)), high(reach - std::max(difference, 0)) {}
};

/** Assigns each box to a group; groups are numbered in the order of their first boxes. Boxes of a cell are in one
group, so of two cells only one pair of similar boxes is needed. @return number of groups. */
int groupsOf(const std::vector<Box>& boxes, std::vector<int>& group)
{
    const int count = static_cast<int>(boxes.size());
    Sets sets(count);
    const auto joinCells = [&](const std::vector<int>& a, const std::vector<int>& b)
    {
        if (sets.root(a[0]) == sets.root(b[0]))
            return;
        for (const int i : a)
            for (const int j : b)
                if (areSimilar(boxes[i], boxes[j]))
                    return sets.join(i, j);
    };
    const std::vector<SizeClass> classes = sizeClassesOf(boxes);
    for (auto a = classes.begin(); a != classes.end(); ++a)
    {
        for (const auto& cell : a->cells)
            for (const int i : cell.second)
                sets.join(cell.second[0], i);
        const int reach = (a->width + a->height) / 10; // at least that of any pair with a
        for (auto b = a; b != classes.end() && b->width - a->width <= 2 * reach; ++b)
        {
            const Offsets x(reach, b->width - a->width), y(reach, b->height - a->height);
            if (x.low > x.high || y.low > y.high)
                continue;
            const auto cellOf = [&](int at) { return std::max(at, 0) / b->side; };
            for (const auto& [place, numbers] : a->cells)
            {
                const int left = place.second * a->side, top = place.first * a->side, last = a->side - 1;
                visitCells(b->cells, cellOf(left + x.low), cellOf(top + y.low), cellOf(left + last + x.high),
                           cellOf(top + last + y.high),
                           [&, &inA = numbers](const std::vector<int>& inB)
                           {
                               joinCells(inA, inB);
                               return true;
                           });
            }
        }
    }
    group.resize(count);
    int groups = 0;
    for (int i = 0; i < count; ++i)
    {
        const int root = sets.root(i);
        group[i] = root == i ? groups++ : group[root];
    }
    return groups;
}

//! Sums over the candidates of a group.
struct Sum
{
    uint32_t x = 0, y = 0, width = 0, height = 0;
    int count = 0;
    double weight = 0.;

    void add(const Box& box, double boxWeight)
    {
        x += static_cast<uint32_t>(box.x);
        y += static_cast<uint32_t>(box.y);
        width += static_cast<uint32_t>(box.width);
        height += static_cast<uint32_t>(box.height);
        weight = count == 0 ? boxWeight : std::max(weight, boxWeight);
        ++count;
    }
    Box mean() const { return {meanOf(x, count), meanOf(y, count), meanOf(width, count), meanOf(height, count)}; }
};

//! Appends an object, clipped to the image, unless nothing of it lies in the image.
void append(Objects& objects, Box box, int count, double weight, const Pyramid& pyramid)
{
    if (!clip(box, pyramid.cols, pyramid.rows))
        return;
    objects.boxes.push_back(box);
    objects.counts.push_back(count);
    objects.weights.push_back(weight);
}

void keepLargest(Objects& objects)
{
    const auto area = [](const Box& box) { return static_cast<int64_t>(box.width) * box.height; };
    size_t best = 0;
    for (size_t i = 1; i < objects.boxes.size(); ++i)
        if (area(objects.boxes[i]) > area(objects.boxes[best]))
            best = i;
    if (objects.boxes.empty())
        return;
    objects.boxes = {objects.boxes[best]};
    objects.counts = {objects.counts[best]};
    objects.weights = {objects.weights[best]};
}

//! A group that has enough candidates.
struct Kept
{
    Box box;
    const Sum* sum;
};

//! Groups by their sizes, rounded down to powers of two, in cells of these sizes.
class Containers
{
public:
    explicit Containers(const std::vector<Kept>& groups) : groups_(groups)
    {
        for (size_t i = 0; i < groups.size(); ++i)
        {
            const Box& box = groups[i].box;
            const int width = powerBelow(box.width), height = powerBelow(box.height);
            const bool odd = box.width <= 0 || box.height <= 0; // its sums have exceeded 32 bits
            (odd ? odd_ : cells_[{width, height}][{floorDiv(box.y, height), floorDiv(box.x, width)}])
                .push_back(static_cast<int>(i));
        }
    }
    //! Returns whether a group is part of another one.
    bool contain(const Kept& part) const
    {
        const auto isNoContainer = [&](const std::vector<int>& numbers)
        {
            return std::none_of(numbers.begin(), numbers.end(),
                                [&](int i)
                                {
                                    const Kept& other = groups_[i];
                                    return other.sum != part.sum &&
                                           isPartOf(part.box, part.sum->count, other.box, other.sum->count);
                                });
        };
        const Box& a = part.box;
        for (const auto& [size, cells] : cells_)
        {
            const auto [width, height] = size;
            // The largest of these boxes, and by how much parts may exceed it.
            const int w = 2 * width - 1, h = 2 * height - 1, dx = roundEven(w * 0.2), dy = roundEven(h * 0.2);
            if (!visitCells(cells, floorDiv(a.x + a.width - w - dx, width), floorDiv(a.y + a.height - h - dy, height),
                            floorDiv(a.x + dx, width), floorDiv(a.y + dy, height), isNoContainer))
                return true;
        }
        return !isNoContainer(odd_);
    }

private:
    static int floorDiv(int a, int b) { return a >= 0 ? a / b : -((b - 1 - a) / b); }
    static int powerBelow(int value)
    {
        int power = 1;
        while (power <= value / 2)
            power *= 2;
        return power;
    }

    const std::vector<Kept>& groups_;
    std::map<std::pair<int, int>, Cells> cells_; //!< by width and height
    std::vector<int> odd_;
};

//! Appends the groups that have more than minNeighbors candidates and are not part of another such group.
void appendGroups(const std::vector<Sum>& groups, int minNeighbors, const Pyramid& pyramid, Objects& objects)
{
    std::vector<Kept> kept;
    for (const Sum& sum : groups)
        if (sum.count > minNeighbors)
            kept.push_back({sum.mean(), &sum});
    const Containers containers(kept);
    for (const Kept& group : kept)
        if (!containers.contain(group))
            append(objects, group.box, group.sum->count, group.sum->weight, pyramid);
}

} // namespace

void group(const std::vector<Candidate>& candidates, const Pyramid& pyramid, const Settings& settings, Objects& objects)
{
    objects = Objects();
    objects.candidates = static_cast<int>(std::min<size_t>(candidates.size(), INT_MAX));
    std::vector<Box> boxes;
    boxes.reserve(candidates.size());
    for (const Candidate& c : candidates)
    {
        const Grid& grid = pyramid.grids[scaleOf(c.key)];
        boxes.push_back(
            boxOf(xOf(c.key), yOf(c.key), pyramid.layers[scaleOf(c.key)].factor, grid.boxWidth, grid.boxHeight));
    }
    if (settings.minNeighbors <= 0)
    {
        for (size_t i = 0; i < boxes.size(); ++i)
            append(objects, boxes[i], 1, candidates[i].weight, pyramid);
    }
    else
    {
        std::vector<int> numbers;
        std::vector<Sum> groups(groupsOf(boxes, numbers));
        for (size_t i = 0; i < boxes.size(); ++i)
            groups[numbers[i]].add(boxes[i], candidates[i].weight);
        appendGroups(groups, settings.minNeighbors, pyramid, objects);
    }
    if (settings.largest)
        keepLargest(objects);
}

}}} // namespace cv::cuda::cascade
