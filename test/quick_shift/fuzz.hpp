// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Random cases of QuickShift: made and run.
#ifndef OPENCV_CUDATRACKING_TEST_QUICK_SHIFT_FUZZ_HPP
#define OPENCV_CUDATRACKING_TEST_QUICK_SHIFT_FUZZ_HPP

#include "../common/fuzz_arrays.hpp"
#include "scenes.hpp"
#include <limits>

namespace opencv_test { namespace fuzz {

using cuda::QuickShift;

struct QuickShiftParams
{
    double sigma, maxDist;
    std::vector<double> scales;
    int searchRadius, tieRule;
    bool normalize;

    void give(QuickShift& q) const
    {
        q.setSigma(sigma);
        q.setMaxDist(maxDist);
        q.setScales(scales);
        q.setSearchRadius(searchRadius);
        q.setTieRule(tieRule);
        q.setNormalizeDensity(normalize);
    }
    int radius() const { return static_cast<int>(std::ceil(3 * sigma)); }
    int search() const
    {
        return searchRadius > 0                            ? searchRadius
               : searchRadius == QuickShift::SEARCH_WINDOW ? radius()
                                                           : static_cast<int>(std::ceil(maxDist));
    }
};

struct QuickShiftCase
{
    enum Way
    {
        IMAGE,
        BATCH,
        TILES,
        TILES_ON_DEVICE //!< by the CUDA engine; results are on the host
    };
    enum Call
    {
        LABELS = 1,
        DENSITY = 2,
        PARENTS = 4,
        DISTANCES = 8,
        SEGMENT = 16,
        HEIGHTS = 32,
        CONTOURS = 64,
        MEAN = 128,
        STATISTICS = 256,
        CONNECT = 512,
        USED = 1024, //!< the instance has computed something else before
        ADJACENCY = 2048,
        COUNTS = 4096
    };

    QuickShiftParams params, before;
    Way way;
    std::vector<Mat> images, masks; //!< of a batch; no masks: none
    Mat mask, colours, earlier;     //!< colours: for means; earlier: what a used instance computed before
    Size tile;
    int calls, minSize;
    double tau;
    bool thick, labelsOnHost;
    uint64 placement;
    double work; //!< pairs of pixels
    std::string what;
};

inline double logUniform(RNG& rng, double from, double to)
{
    return std::exp(rng.uniform(std::log(from), std::log(to)));
}

inline QuickShiftParams randomQuickShiftParams(RNG& rng, int depth)
{
    QuickShiftParams p;
    p.sigma = onceIn(rng, 4) ? oneOf<double>(rng, {0.2, 0.5, 1., 2., 2.5, 3., 6., 10., 17.})
                             : logUniform(rng, 0.2, onceIn(rng, 5) ? 60. : 8.);
    p.maxDist = onceIn(rng, 4) ? oneOf<double>(rng, {0.5, 1., 4., 10., 20., 100.})
                               : logUniform(rng, 0.4, onceIn(rng, 6) ? 400. : 40.);
    const double unit = depth == CV_16U ? 1. / 257 : depth == CV_32F ? 2.5 : 1.;
    // 8-bit colours are words or floats depending on scale / sigma: around 9.42, and far above.
    double scale = onceIn(rng, 3) ? p.sigma * oneOf<double>(rng, {9., 9.4, 9.43, 9.5, 13.3, 50., 1000.})
                                  : p.sigma * logUniform(rng, 0.001, 4.);
    if (onceIn(rng, 12))
        scale = oneOf<double>(rng, {0., 1e-5, 1., 255., 1e9});
    p.scales.assign(4, std::min(scale * unit, 1e9));
    if (onceIn(rng, 5))
        for (int k = 0; k < 4; ++k)
            p.scales[k] *= oneOf<double>(rng, {0., 0.01, 0.5, 1., 1.});
    p.searchRadius = onceIn(rng, 3)   ? rng.uniform(1, 30)
                     : onceIn(rng, 3) ? int(QuickShift::SEARCH_WINDOW)
                                      : int(QuickShift::SEARCH_MAX_DIST);
    p.tieRule = onceIn(rng, 3) ? QuickShift::STRICT : QuickShift::INDEX;
    p.normalize = onceIn(rng, 4);
    return p;
}

//! Draws one of the depths, then one to four channels.
inline int randomType(RNG& rng, const std::vector<int>& depths)
{
    const int depth = oneOf(rng, depths);
    return CV_MAKETYPE(depth, rng.uniform(1, 5));
}

inline Mat randomColours(RNG& rng, Size size, int type)
{
    const int levels[] = {256, 256, 256, 8, 2, 1};
    const int levelCount = levels[rng.uniform(0, 6)];
    Mat bytes = randomImage(rng, size, CV_MAKETYPE(CV_8U, CV_MAT_CN(type)), rng.uniform(1, 8), levelCount);
    Mat image;
    const int depth = CV_MAT_DEPTH(type);
    bytes.convertTo(image, depth,
                    depth == CV_16U   ? 257.
                    : depth == CV_32F ? 0.37
                                      : 1.,
                    depth == CV_32F && onceIn(rng, 3) ? -40. : 0.);
    if (depth == CV_32F && onceIn(rng, 4))
        for (int i = rng.uniform(1, 9); i > 0; --i)
            image.ptr<float>(rng.uniform(0, image.rows))[rng.uniform(0, image.cols * image.channels())] = oneOf<float>(
                rng, {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), -3e38f, 2e15f});
    return image;
}

//! Returns the most pairs that the density and the parent search of a case visit.
inline double pairsOf(Size size, const QuickShiftParams& p)
{
    const auto window = [&size](int radius)
    { return std::min<double>(2. * radius + 1, size.width) * std::min<double>(2. * radius + 1, size.height); };
    return size.area() * (window(p.radius()) + window(p.search()));
}

inline Mat randomMask(RNG& rng, Size size)
{
    Mat mask(size, CV_8UC1);
    rng.fill(mask, RNG::UNIFORM, 0, oneOf<int>(rng, {2, 5, 40}));
    if (onceIn(rng, 12))
        mask.setTo(0);
    return mask;
}

/** Gives some cases an image, colours, or both, of 5 to 16 channels. Has random numbers of its own, as giveStack().
@param type out: of the images. */
inline void giveBands(RNG rng, int& type, std::vector<double>& scales, int& coloursOfBands)
{
    coloursOfBands = onceIn(rng, 6) ? rng.uniform(5, 17) : 0;
    if (!onceIn(rng, 4))
        return;
    type = CV_MAKETYPE(CV_MAT_DEPTH(type), rng.uniform(5, 17));
    const double first = scales[0];
    const bool equal = std::count(scales.begin(), scales.end(), first) == 4;
    if (equal && onceIn(rng, 2))
        return;
    for (int k = 4; k < 16; ++k)
        scales.push_back(equal ? first : first * oneOf<double>(rng, {0., 0.01, 0.5, 1., 1.}));
}

//! Draws calls on adjacency, and colours and masks of a batch. Has random numbers of its own, so that the other draws
//! do not change.
inline void giveStack(RNG rng, Size size, QuickShiftCase& c)
{
    c.calls |= rng.uniform(0, 4) * QuickShiftCase::ADJACENCY;
    if (c.way != QuickShiftCase::BATCH)
        return;
    vconcat(c.images, c.colours);
    if (onceIn(rng, 2))
        c.colours = randomColours(rng, Size(size.width, size.height * static_cast<int>(c.images.size())),
                                  randomType(rng, {CV_8U, CV_16U, CV_32F}));
    if (!onceIn(rng, 2))
        return;
    for (size_t i = 0; i < c.images.size(); ++i)
        c.masks.push_back(onceIn(rng, 3) ? Mat() : randomMask(rng, size));
}

inline QuickShiftCase makeQuickShiftCase(int64 seed, int64 number)
{
    RNG rng = rngOf(seed + 1000003, number);
    QuickShiftCase c;
    c.placement = mixed(rng.next(), 9);
    int type = randomType(rng, {CV_8U, CV_8U, CV_16U, CV_32F}), coloursOfBands = 0;
    c.params = randomQuickShiftParams(rng, CV_MAT_DEPTH(type));
    giveBands(rngOf(seed + 3000003, number), type, c.params.scales, coloursOfBands);
    const double limit = onceIn(rng, 3) ? 4e5 : onceIn(rng, 12) ? 4e8 : 3e7;
    Size size = randomSize(rng);
    while (pairsOf(size, c.params) > limit && size.area() > 1)
        (size.width > size.height ? size.width : size.height) /= 2;
    c.way = onceIn(rng, 7)    ? QuickShiftCase::BATCH
            : onceIn(rng, 9)  ? QuickShiftCase::TILES
            : onceIn(rng, 12) ? QuickShiftCase::TILES_ON_DEVICE
                              : QuickShiftCase::IMAGE;
    for (int i = c.way == QuickShiftCase::BATCH ? rng.uniform(1, 6) : 1; i > 0; --i)
        c.images.push_back(randomColours(rng, size, type));
    if (c.way != QuickShiftCase::BATCH && onceIn(rng, 4))
        c.mask = randomMask(rng, size);
    c.colours = onceIn(rng, 2) ? c.images[0] : randomColours(rng, size, randomType(rng, {CV_8U, CV_16U, CV_32F}));
    if (coloursOfBands > 0)
        c.colours = randomColours(rng, size, CV_MAKETYPE(c.colours.depth(), coloursOfBands));
    c.tile = uniform(rng, Size(9, 9), Size(150, 150));
    c.calls = rng.uniform(0, 2048);
    if (onceIn(rng, 2))
        c.calls |= rng.uniform(0, 2048);
    c.minSize = oneOf<int>(rng, {1, 2, 5, 20, 1000});
    c.tau = c.params.maxDist * (onceIn(rng, 4) ? 1. : rng.uniform(0.01, 1.));
    c.thick = onceIn(rng, 2);
    c.labelsOnHost = onceIn(rng, 3);
    c.before = randomQuickShiftParams(rng, CV_8U);
    Size earlier = randomSize(rng);
    while (pairsOf(earlier, c.before) > limit && earlier.area() > 1)
        (earlier.width > earlier.height ? earlier.width : earlier.height) /= 2;
    if (c.calls & QuickShiftCase::USED)
        c.earlier = randomColours(rng, earlier, CV_MAKETYPE(CV_8U, rng.uniform(1, 5)));
    c.work = pairsOf(size, c.params);
    giveStack(rngOf(seed + 2000003, number), size, c);
    const char* ways[] = {"image", "batch", "tiles", "tiles by CUDA"};
    c.what =
        cv::format("%zu x %d x %d %s, %s, sigma %.17g, maxDist %.17g, scales %.9g %.9g %.9g %.9g, radius %d, "
                   "rule %d, normalize %d, mask %d, calls %d, tau %.17g",
                   c.images.size(), size.width, size.height, typeToString(type).c_str(), ways[c.way], c.params.sigma,
                   c.params.maxDist, c.params.scales[0], c.params.scales[1], c.params.scales[2], c.params.scales[3],
                   c.params.searchRadius, c.params.tieRule, c.params.normalize, !c.mask.empty(), c.calls, c.tau);
    return c;
}

class QuickShiftRun
{
public:
    QuickShiftRun(const QuickShiftCase& given, Arrays& arrays) : c(given), a(arrays), q(QuickShift::create())
    {
        if (!c.earlier.empty())
        {
            c.before.give(*q);
            q->compute(a.in(c.earlier), noArray(), a.stream());
            q->getLabels(a.out("earlier labels", c.earlier.size(), CV_32SC1, true), a.stream());
        }
        c.params.give(*q);
        rows_ = c.images[0].rows * static_cast<int>(c.images.size());
    }

    void compute()
    {
        const Mat& image = c.images[0];
        if (c.way == QuickShiftCase::BATCH)
            return computeBatch();
        if (c.way == QuickShiftCase::IMAGE)
            return q->compute(a.in(image), c.mask.empty() ? noArray() : a.in(c.mask), a.stream());
        const bool onDevice = c.way == QuickShiftCase::TILES_ON_DEVICE && a.engine() == Engine::CUDA;
        if (a.engine() == Engine::CUDA)
            a.stayOnHost();
        q->computeTiled(a.inHost(image), c.tile, onDevice, c.mask.empty() ? noArray() : a.inHost(c.mask));
    }

    void results()
    {
        const Size size(c.images[0].cols, rows_);
        a.number("number", q->getNumberOfSuperpixels());
        if (c.calls & QuickShiftCase::LABELS)
            q->getLabels(a.out("labels", size, CV_32SC1), a.stream());
        if (c.calls & QuickShiftCase::DENSITY)
            q->getDensity(a.out("density", size, CV_32FC1), a.stream());
        if (c.calls & QuickShiftCase::PARENTS)
            q->getParents(a.out("parents", size, CV_32SC1), a.stream());
        if (c.calls & QuickShiftCase::DISTANCES)
            q->getDistances(a.out("distances", size, CV_32FC1), a.stream());
        if (c.calls & QuickShiftCase::SEGMENT)
        {
            q->segment(c.tau, a.out("segments", size, CV_32SC1), a.stream());
            a.number("segments", q->countSuperpixels(c.tau, a.stream()));
        }
        if (c.calls & QuickShiftCase::HEIGHTS)
        {
            const _OutputArray& heights = a.out("heights", Size(1, 0), CV_32FC1);
            q->getMergeHeights(heights, a.out("counts", Size(1, 0), CV_32SC1, true), a.stream());
        }
        if (c.calls & QuickShiftCase::CONTOURS)
            q->getLabelContourMask(a.out("contours", size, CV_8UC1), c.thick, a.stream());
        if (c.calls & QuickShiftCase::COUNTS)
            q->getSuperpixelCounts(a.out("counts of images", Size(1, static_cast<int>(c.images.size())), CV_32SC1),
                                   a.stream());
        if (c.calls & QuickShiftCase::MEAN)
            q->getMeanColor(a.in(c.colours), a.out("mean", size, c.colours.type()), a.stream());
        ofSuperpixels("");
        if ((c.calls & QuickShiftCase::CONNECT) == 0)
            return;
        a.number("connected", q->enforceConnectivity(c.minSize, a.stream()));
        q->getLabels(a.out("connected labels", size, CV_32SC1), a.stream());
        ofSuperpixels("connected ");
        if (c.way == QuickShiftCase::BATCH) // the number is that of all images
            return;
        a.number("by number", q->applyNumber(3 * c.minSize, 0, a.stream()));
        q->getLabels(a.out("labels by number", size, CV_32SC1), a.stream());
    }

    const QuickShiftCase& c;
    Arrays& a;
    const Ptr<QuickShift> q;

private:
    void computeBatch()
    {
        std::vector<GpuMat> onDevice;
        std::vector<Mat> onHost;
        const _InputArray& images = a.list(c.images, a.engine() == Engine::CUDA);
        const _InputArray& masks = c.masks.empty() ? noArray() : a.list(c.masks, a.engine() == Engine::CUDA);
        const bool device = a.engine() == Engine::CUDA && !c.labelsOnHost;
        if (device)
            q->computeBatch(images, onDevice, masks, a.stream());
        else
            q->computeBatch(images, onHost, masks, a.stream());
        if (device)
            a.stream().waitForCompletion();
        for (size_t i = 0; i < c.images.size(); ++i)
            a.value(cv::format("labels %zu", i), device ? Mat(onDevice[i]) : onHost[i]);
    }

    //! Outputs that depend on the current labels.
    void ofSuperpixels(const std::string& name)
    {
        if (c.calls & QuickShiftCase::STATISTICS)
            statistics(name);
        if (c.calls & QuickShiftCase::ADJACENCY)
            q->getAdjacency(a.out(name + "pairs", Size(1, 0), CV_32SC2), a.stream());
    }

    void statistics(const std::string& name)
    {
        const int n = q->getNumberOfSuperpixels();
        const _InputArray& colours = a.in(c.colours);
        const _OutputArray& areas = a.out(name + "areas", Size(1, n), CV_32SC1);
        const _OutputArray& means = a.out(name + "means", Size(1, n), CV_MAKETYPE(CV_32F, c.colours.channels()), true);
        const _OutputArray& centroids = a.out(name + "centroids", Size(1, n), CV_32FC2, true);
        const _OutputArray& boxes = a.out(name + "boxes", Size(1, n), CV_32SC4, true);
        q->getStatistics(colours, areas, means, centroids, boxes, a.stream());
    }

    int rows_;
};

inline Outputs runQuickShift(const QuickShiftCase& c, Engine engine, bool plain)
{
    Arrays arrays(engine, c.placement, plain);
    QuickShiftRun run(c, arrays);
    run.compute();
    run.results();
    return arrays.collect();
}

}} // namespace opencv_test::fuzz

#endif // OPENCV_CUDATRACKING_TEST_QUICK_SHIFT_FUZZ_HPP
