// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Stage group on the host: for the CPU backend, and for single images of the CUDA backend with too many candidates for
// its tables.
#include "../precomp.hpp"
#include "stages.hpp"
#include <algorithm>
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

/** Assigns each box to a group; groups are numbered in the order of their first boxes. Similar boxes have similar x, so
only boxes with similar x are compared. @return number of groups. */
int groupsOf(const std::vector<Box>& boxes, std::vector<int>& group)
{
    const int count = static_cast<int>(boxes.size());
    std::vector<int> byX(count);
    std::iota(byX.begin(), byX.end(), 0);
    std::stable_sort(byX.begin(), byX.end(), [&](int a, int b) { return boxes[a].x < boxes[b].x; });
    Sets sets(count);
    for (int i = 0; i < count; ++i)
    {
        const Box& a = boxes[byX[i]];
        const int reach = (a.width + a.height) / 10 + 1; // at least the largest delta of areSimilar()
        for (int j = i + 1; j < count && boxes[byX[j]].x - a.x <= reach; ++j)
            if (areSimilar(a, boxes[byX[j]]))
                sets.join(byX[i], byX[j]);
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

//! Appends the groups that have more than minNeighbors candidates and are not part of another such group.
void appendGroups(const std::vector<Sum>& groups, int minNeighbors, const Pyramid& pyramid, Objects& objects)
{
    std::vector<std::pair<Box, const Sum*>> kept;
    for (const Sum& sum : groups)
        if (sum.count > minNeighbors)
            kept.emplace_back(sum.mean(), &sum);
    for (const auto& a : kept)
    {
        const bool part =
            std::any_of(kept.begin(), kept.end(),
                        [&](const std::pair<Box, const Sum*>& b) {
                            return a.second != b.second && isPartOf(a.first, a.second->count, b.first, b.second->count);
                        });
        if (!part)
            append(objects, a.first, a.second->count, a.second->weight, pyramid);
    }
}

} // namespace

void group(const std::vector<Candidate>& candidates, const Pyramid& pyramid, int task, const Settings& settings,
           Objects& objects)
{
    objects = Objects();
    objects.candidates = static_cast<int>(std::min<size_t>(candidates.size(), INT_MAX));
    std::vector<Box> boxes;
    boxes.reserve(candidates.size());
    const std::vector<Grid>& grids = pyramid.grids[task];
    for (const Candidate& c : candidates)
    {
        const auto grid = std::lower_bound(grids.begin(), grids.end(), scaleOf(c.key),
                                           [](const Grid& g, int layer) { return g.layer < layer; });
        boxes.push_back(
            boxOf(xOf(c.key), yOf(c.key), pyramid.layers[grid->layer].factor, grid->boxWidth, grid->boxHeight));
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
