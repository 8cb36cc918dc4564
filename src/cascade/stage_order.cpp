// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Order in which stages are evaluated. A window must pass all of them, so results do not depend on the order, but the
// number of nodes does. Files order stages as they were trained, with more trees from stage to stage. Which stages
// reject most windows per node is counted once, by the first call that detects, on two images that have what images of
// cameras have: one of discs and rectangles of all sizes that hide each other, one of noise of all scales.
#include "../precomp.hpp"
#include "../common/for_number.hpp"
#include "model.hpp"
#include <algorithm>
#include <numeric>

namespace cv { namespace cuda { namespace cascade {

namespace {

const int SIDE = 256;   //!< side of the images, pixels
const int LARGEST = 64; //!< largest side of a window
const int FIRST_STAGES =
    3; //!< stages that keep their place: they are small, and the first decides which windows are skipped
const int LEAST_STAGES = 6, MOST_STAGES = 64; //!< numbers of stages between which there is something to gain
const int POSITIONS = 12000;                  //!< windows in the image of shapes, and half as many in that of noise
const int MOST_WINDOWS = 1000;                //!< limit of the windows that passed the first stages
const int MOST_NODES = 8000000;               //!< limit of node evaluations
const int LEAST_WINDOWS = 40;                 //!< number of windows below which shares are not known well enough

//! Pseudo-random numbers, equal everywhere.
class Random
{
public:
    uint32_t next()
    {
        state_ ^= state_ << 13;
        state_ ^= state_ >> 17;
        return state_ ^= state_ << 5;
    }
    int below(int limit)
    {
        return static_cast<int>((static_cast<uint64_t>(next()) * static_cast<uint64_t>(limit)) >> 32);
    }

private:
    uint32_t state_ = 0x9E3779B9u;
};

typedef std::vector<uint8_t> Pixels; //!< SIDE x SIDE

/** Draws discs and rectangles in random order, whose radii r from 1 to 100 pixels have a density in proportion to r^-3:
the image looks alike at all scales. */
Pixels makeShapes()
{
    Random random;
    Pixels pixels(SIDE * SIDE, 128);
    for (int k = 0; k < 12000; ++k)
    {
        const double part = (random.next() >> 8) * (1. / (1 << 24));
        const int radius = static_cast<int>(1. / std::sqrt(part * 1e-4 + (1. - part)));
        const int x0 = random.below(SIDE), y0 = random.below(SIDE),
                  flat = std::max(radius * (90 + random.below(256)) / 345, 1);
        const uint8_t gray = static_cast<uint8_t>(random.next() >> 24);
        const bool disc = k % 2 == 0;
        const int high = disc ? radius : flat;
        for (int y = std::max(y0 - high, 0); y <= std::min(y0 + high, SIDE - 1); ++y)
            for (int x = std::max(x0 - radius, 0); x <= std::min(x0 + radius, SIDE - 1); ++x)
                if (!disc || (x - x0) * (x - x0) + (y - y0) * (y - y0) <= radius * radius)
                    pixels[y * SIDE + x] = gray;
    }
    return pixels;
}

//! Adds up noise of all scales, interpolated between random values at distances of 1 to 64 pixels.
Pixels makeNoise()
{
    Random random;
    std::vector<int> sums(SIDE * SIDE);
    for (int distance = 64; distance > 0; distance /= 2)
    {
        const int cols = SIDE / distance + 1;
        std::vector<int> values(cols * cols);
        for (int& value : values)
            value = random.below(256) - 128;
        for (int y = 0; y < SIDE; ++y)
            for (int x = 0; x < SIDE; ++x)
            {
                const int* const at = values.data() + y / distance * cols + x / distance;
                const int right = x % distance, down = y % distance, left = distance - right, up = distance - down;
                sums[y * SIDE + x] +=
                    ((at[0] * left + at[1] * right) * up + (at[cols] * left + at[cols + 1] * right) * down) /
                    (distance * distance);
            }
    }
    Pixels pixels;
    for (int sum : sums)
        pixels.push_back(static_cast<uint8_t>(std::max(0, std::min(128 + sum * 5 / 11, 255))));
    return pixels;
}

//! Integral images of pixels and of their squares.
struct Sums
{
    explicit Sums(const Pixels& image)
    {
        integral(Mat(SIDE, SIDE, CV_8UC1, const_cast<uint8_t*>(image.data())), pixels, squares, CV_32S, CV_64F);
    }
    //! Returns the first element of that of pixels; SIDE + 1 elements are a row.
    const uint32_t* corner() const { return pixels.ptr<uint32_t>(); }

    Mat_<int> pixels;
    Mat_<double> squares;
};

template <typename T> uint32_t sumOver(const Mat_<T>& sums, int x, int y, int width, int height)
{
    return static_cast<uint32_t>(sums(y, x) - sums(y, x + width) - sums(y + height, x) + sums(y + height, x + width));
}

//! A window of one of the images.
struct Window
{
    const uint32_t* sums; //!< the element of the integral image at its corner
    float norm;
};

//! Offset of a position of a window from Window::sums.
int offsetOf(int x, int y) { return y * (SIDE + 1) + x; }

const int BLOCK = 64; //!< windows that are evaluated together

//! Adds the leaves of a tree of one node with a feature of CORNERS corners to the sums of windows.
template <int CORNERS>
void addStump(const HaarFeature& f, float threshold, float leftLeaf, float rightLeaf, const Window* windows, int count,
              double* sums)
{
    int offsets[CORNERS];
    uint32_t weights[CORNERS];
    for (int k = 0; k < CORNERS; ++k)
    {
        offsets[k] = offsetOf(f.corner[k].x, f.corner[k].y);
        weights[k] = static_cast<uint32_t>(f.corner[k].weight);
    }
    for (int i = 0; i < count; ++i)
    {
        uint32_t value = 0; // as haarValue(), whose corners it would look up again for each window
        for (int k = 0; k < CORNERS; ++k)
            value += weights[k] * windows[i].sums[offsets[k]];
        const bool left = haarGoesLeft(static_cast<float>(static_cast<int32_t>(value)), windows[i].norm, threshold);
        sums[i] += static_cast<double>(left ? leftLeaf : rightLeaf);
    }
}

//! Adds the leaves of a tree to the sums of windows.
void addTree(const Model& model, const Tree& tree, const Window* windows, int count, double* sums)
{
    if (tree.nodes == 1 && model.featureType() == HAAR && model.haar[model.nodes[tree.firstNode].feature].exact)
    {
        const Node& node = model.nodes[tree.firstNode];
        const HaarFeature& f = model.haar[node.feature];
        const auto add = [&](auto corners)
        {
            addStump<decltype(corners)::value>(f, node.threshold, model.leaves[~node.left], model.leaves[~node.right],
                                               windows, count, sums);
        };
        if (detail::forNumber<6, 8, 9>(f.corners, add))
            return;
    }
    for (int i = 0; i < count; ++i)
    {
        const auto at = [&](int x, int y) { return windows[i].sums[offsetOf(x, y)]; };
        int n = tree.firstNode;
        while (n >= 0)
        {
            const Node& node = model.nodes[n];
            bool left = false;
            switch (model.featureType())
            {
            case HAAR:
                left = haarGoesLeft(haarValue(model.haar[node.feature], at), windows[i].norm, node.threshold);
                break;
            case LBP:
                left = lbpGoesLeft(model.subsets.data() + static_cast<size_t>(n) * SUBSET_WORDS,
                                   lbpCode(model.lbp[node.feature], at));
                break;
            }
            n = left ? node.left : node.right;
        }
        sums[i] += static_cast<double>(model.leaves[~n]);
    }
}

//! Evaluates a stage of up to BLOCK windows. @param passed out: whether they pass it.
void evaluate(const Model& model, int stage, const Window* windows, int count, char* passed)
{
    const Stage& s = model.stages[stage];
    double sums[BLOCK] = {};
    for (int t = s.firstTree; t < s.firstTree + s.trees; ++t)
        addTree(model, model.trees[t], windows, count, sums);
    for (int i = 0; i < count; ++i)
        passed[i] = !stageFails(sums[i], s);
}

int nodesOf(const Model& model, int stage)
{
    const Stage& s = model.stages[stage];
    int nodes = 0;
    for (int t = s.firstTree; t < s.firstTree + s.trees; ++t)
        nodes += model.trees[t].nodes;
    return nodes;
}

//! Appends windows that pass the first stages. @param positions number of windows that are tried.
void addWindows(const Model& model, const Sums& sums, int positions, size_t most, std::vector<Window>& windows)
{
    const int area = contrastArea(model.width, model.height);
    Random random;
    std::vector<Window> tried;
    for (int first = 0; first < positions && windows.size() < most; first += BLOCK)
    {
        tried.clear();
        for (int i = first; i < std::min(first + BLOCK, positions); ++i)
        {
            const int x = random.below(SIDE + 1 - model.width), y = random.below(SIDE + 1 - model.height);
            Window window = {sums.corner() + offsetOf(x, y), 1.f};
            if (usesNorm(model.featureType()))
            {
                const int64_t contrast =
                    contrastOf(sumOver(sums.pixels, x + 1, y + 1, model.width - 2, model.height - 2),
                               sumOver(sums.squares, x + 1, y + 1, model.width - 2, model.height - 2), area);
                if (contrast < model.leastContrast)
                    continue;
                window.norm = normOf(contrast);
            }
            tried.push_back(window);
        }
        for (int s = 0; s < FIRST_STAGES; ++s)
        {
            char passed[BLOCK];
            evaluate(model, s, tried.data(), static_cast<int>(tried.size()), passed);
            size_t kept = 0;
            for (size_t i = 0; i < tried.size(); ++i)
                if (passed[i])
                    tried[kept++] = tried[i];
            tried.resize(kept);
        }
        tried.resize(std::min(tried.size(), most - windows.size()));
        windows.insert(windows.end(), tried.begin(), tried.end());
    }
}

//! Windows that all stages chosen so far let pass, and which of the others they pass, as far as it was asked.
class Survivors
{
public:
    Survivors(const Model& model, std::vector<Window> windows)
        : model_(model), windows_(std::move(windows)), known_(model.stages.size())
    {}
    int count() const { return static_cast<int>(windows_.size()); }
    /** Counts the windows that a stage rejects, as long as they could be enough for it to be chosen.
    @param isEnough whether a number of rejected windows is.
    @return the number; where it is not enough, an upper bound that is not enough either. */
    template <class IsEnough> int rejected(int stage, const IsEnough& isEnough)
    {
        std::vector<char>& known = known_[stage];
        int bound = static_cast<int>(std::count(known.begin(), known.end(), 0)) + unknown(known);
        while (unknown(known) > 0 && isEnough(bound))
        {
            const int first = static_cast<int>(known.size()), block = std::min(BLOCK, unknown(known));
            known.resize(static_cast<size_t>(first) + block);
            evaluate(model_, stage, windows_.data() + first, block, known.data() + first);
            bound -= block - static_cast<int>(std::count(known.begin() + first, known.end(), 0));
        }
        return bound;
    }
    //! Removes the windows that a stage rejects.
    void choose(int stage)
    {
        rejected(stage, [](int) { return true; });
        const std::vector<char> passed = known_[stage];
        const auto keep = [&](auto& values)
        {
            size_t kept = 0;
            for (size_t i = 0; i < values.size(); ++i)
                if (passed[i])
                    values[kept++] = values[i];
            values.resize(kept, typename std::decay<decltype(values)>::type::value_type());
        };
        for (std::vector<char>& known : known_)
            keep(known);
        keep(windows_);
    }

private:
    int unknown(const std::vector<char>& known) const { return count() - static_cast<int>(known.size()); }

    const Model& model_;
    std::vector<Window> windows_;
    std::vector<std::vector<char>> known_; //!< for each stage, whether windows pass it; empty: not asked yet
};

} // namespace

std::vector<int> orderOfStages(const Model& model)
{
    const int stages = static_cast<int>(model.stages.size());
    std::vector<int> order(stages);
    std::iota(order.begin(), order.end(), 0);
    const size_t most = std::min<size_t>(MOST_WINDOWS, MOST_NODES / model.nodes.size());
    if (stages < LEAST_STAGES || stages > MOST_STAGES || model.tilted || most < static_cast<size_t>(LEAST_WINDOWS) ||
        std::max(model.width, model.height) > LARGEST)
        return order;
    static const Sums shapes(makeShapes()), noise(makeNoise());
    std::vector<Window> windows;
    addWindows(model, shapes, POSITIONS, most * 3 / 4, windows);
    addWindows(model, noise, POSITIONS / 2, most, windows);
    Survivors survivors(model, std::move(windows));
    std::vector<int> nodes;
    for (int s = 0; s < stages; ++s)
        nodes.push_back(nodesOf(model, s));
    for (int place = FIRST_STAGES; place < stages - 1 && survivors.count() >= LEAST_WINDOWS; ++place)
    {
        // The stage that rejects most windows per node.
        int best = place;
        double mostPerNode = -1.;
        for (int i = place; i < stages - 1; ++i)
        {
            const auto perNodeOf = [&](int rejected) { return static_cast<double>(rejected) / nodes[order[i]]; };
            const double perNode = perNodeOf(
                survivors.rejected(order[i], [&](int rejected) { return perNodeOf(rejected) > mostPerNode; }));
            if (perNode > mostPerNode)
            {
                mostPerNode = perNode;
                best = i;
            }
        }
        survivors.choose(order[best]);
        std::rotate(order.begin() + place, order.begin() + best, order.begin() + best + 1);
    }
    return order;
}

}}} // namespace cv::cuda::cascade
