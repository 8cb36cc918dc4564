// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Makes and runs random cases of CascadeClassifierEx.
#ifndef OPENCV_CUDATRACKING_TEST_CASCADE_FUZZ_HPP
#define OPENCV_CUDATRACKING_TEST_CASCADE_FUZZ_HPP

#include "../common/fuzz_arrays.hpp"
#include "generate.hpp"

namespace opencv_test { namespace fuzz {

using cuda::CascadeClassifierEx;

struct CascadeParams
{
    CascadeCase sizes; //!< with scale factor and minNeighbors
    bool largest;
    int maxObjects, maxCandidates;

    void give(CascadeClassifierEx& c) const
    {
        c.setScaleFactor(sizes.scaleFactor);
        c.setMinNeighbors(sizes.minNeighbors);
        c.setMinObjectSize(sizes.minSize);
        c.setMaxObjectSize(sizes.maxSize);
        c.setFindLargestObject(largest);
        c.setMaxObjects(maxObjects);
        c.setMaxCandidates(maxCandidates);
    }
};

struct CascadeFuzzCase
{
    enum Call
    {
        TABLES = 1,
        VECTORS = 2, //!< results of the first image in vectors
        PASSES = 4,
        USED = 16,  //!< the instance has detected with another cascade, other parameters and another image before
        CLONE = 32, //!< a clone detects
        AGAIN = 64  //!< tables are filled twice, in the same arrays or in new ones
    };

    OracleCascade cascade;
    std::string text, otherText; //!< otherText: for USED
    CascadeParams params, before;
    std::vector<Mat> images, masks; //!< masks: none, or one per image, which may be empty
    Mat earlier;
    int calls;
    uint64 placement;
    double work = 0.; //!< cost of the oracle: about the number of pixels that it adds up, in hundreds
    std::string what;
};

//! Adds special weights, leaves and thresholds, which are hard for the parser and the arithmetic.
inline OracleCascade randomCascade(RNG& rng)
{
    const Mat texture = randomImage(rng, Size(60, 50), CV_8UC1, 5);
    const Size small = uniform(rng, Size(3, 3), Size(8, 8));
    OracleCascade c = CascadeGenerator(rng.next(), texture).make(onceIn(rng, 6) ? small : Size());
    if (onceIn(rng, 8)) // weights whose sums are not exact in float
        for (OracleFeature& f : c.features)
            for (float& weight : f.weights)
            {
                const float large = float(1 << rng.uniform(4, 20));
                weight *= large + float(rng.uniform(0, 2));
            }
    if (onceIn(rng, 8)) // leaves that do not fit fixed point
        for (OracleStage& stage : c.stages)
            for (OracleTree& tree : stage.trees)
                for (float& leaf : tree.leaves)
                    leaf *= std::pow(10.f, rng.uniform(-20.f, 20.f));
    if (onceIn(rng, 10))
        c.stages[rng.uniform(0, int(c.stages.size()))].threshold = onceIn(rng, 2) ? -1e30f : 1e30f;
    if (onceIn(rng, 6)) // a sum equal to the threshold
    {
        OracleStage& stage = c.stages[rng.uniform(0, int(c.stages.size()))];
        stage.trees.resize(1);
        stage.trees[0].leaves[0] = stage.threshold - 1e-5f;
    }
    if (onceIn(rng, 8))
    {
        const int most = 256 / std::max(c.window.width, c.window.height);
        c = enlarged(c, rng.uniform(1, std::min(most, 12) + 1));
    }
    return c;
}

inline CascadeParams randomCascadeParams(RNG& rng)
{
    CascadeParams p;
    p.sizes.scaleFactor = onceIn(rng, 3)    ? oneOf<double>(rng, {1.1, 1.2, 1.4, 2., 1.5, 3.})
                          : onceIn(rng, 12) ? rng.uniform(1.01, 1.05)
                                            : rng.uniform(1.05, 2.5);
    p.sizes.minNeighbors = oneOf<int>(rng, {0, 1, 1, 2, 3, 4, 9, -1});
    if (onceIn(rng, 3))
        p.sizes.minSize = uniform(rng, Size(0, 0), Size(60, 60));
    if (onceIn(rng, 3))
        p.sizes.maxSize = uniform(rng, Size(0, 0), Size(120, 120));
    p.largest = onceIn(rng, 4);
    p.maxObjects = oneOf<int>(rng, {1, 2, 7, 31, 32, 33, 256, 256, 1000});
    p.maxCandidates = oneOf<int>(rng, {1, 5, 32, 33, 100, 1000, 8192, 8192, 65536});
    return p;
}

inline Mat randomSceneImage(RNG& rng, Size size)
{
    const int levels[] = {256, 256, 256, 16, 3, 1};
    const int count = levels[rng.uniform(0, 6)], blur = rng.uniform(1, 12);
    return randomImage(rng, size, oneOf<int>(rng, {CV_8UC1, CV_8UC1, CV_8UC3, CV_8UC4}), blur, count);
}

inline double windowsOf(const OracleCascade& c, Size size, const CascadeCase& p)
{
    double windows = 0.;
    for (float s : oracleScales(c.window, size, p))
    {
        const double step = s >= 2 ? 1. : 2.;
        windows += std::max(size.width / s - c.window.width + 1, 0.f) *
                   std::max(size.height / s - c.window.height + 1, 0.f) / (step * step);
    }
    return windows;
}

inline double nodesOf(const OracleCascade& c)
{
    double nodes = 0.;
    for (const OracleStage& stage : c.stages)
        for (const OracleTree& tree : stage.trees)
            nodes += double(tree.nodes.size());
    return nodes;
}

//! Chooses a size, often one at which the window fits once or not at all.
inline Size sizeFor(RNG& rng, Size window)
{
    if (onceIn(rng, 5))
        return window + uniform(rng, Size(-1, -1), Size(4, 4));
    if (onceIn(rng, 3))
        return randomSize(rng);
    const int height = randomSide(rng, 130);
    return Size(randomSide(rng, 130), height);
}

inline void addMasks(RNG& rng, CascadeFuzzCase& c)
{
    for (const Mat& image : c.images)
    {
        c.masks.emplace_back();
        if (image.empty() || onceIn(rng, 4))
            continue;
        c.masks.back() = randomImage(rng, image.size(), CV_8UC1, rng.uniform(1, 20), 2);
        if (onceIn(rng, 8))
            c.masks.back().setTo(0);
    }
}

inline CascadeFuzzCase makeCascadeCase(int64 seed, int64 number)
{
    RNG rng = rngOf(seed + 2000003, number);
    CascadeFuzzCase c;
    c.cascade = randomCascade(rng);
    const OracleCascade other = randomCascade(rng);
    c.text = cascadeText(c.cascade, ".xml");
    c.otherText = cascadeText(other, ".xml");
    c.params = randomCascadeParams(rng);
    c.before = randomCascadeParams(rng);
    c.calls = rng.uniform(0, 128) | CascadeFuzzCase::TABLES;
    const int count = onceIn(rng, 3) ? rng.uniform(2, 6) : 1;
    const double limit = onceIn(rng, 6) ? 2e7 : 4e5;
    for (int i = 0; i < count; ++i)
    {
        Size size = sizeFor(rng, c.cascade.window);
        while (windowsOf(c.cascade, size, c.params.sizes) * nodesOf(c.cascade) > limit && size.area() > 1)
            (size.width > size.height ? size.width : size.height) /= 2;
        c.images.push_back(i > 0 && onceIn(rng, 8) ? Mat() : randomSceneImage(rng, size));
        c.work += windowsOf(c.cascade, size, c.params.sizes) * nodesOf(c.cascade) * c.cascade.window.area() / 100;
    }
    if (onceIn(rng, 3))
        addMasks(rng, c);
    c.earlier = randomSceneImage(rng, uniform(rng, Size(1, 1), Size(150, 150)));
    c.placement = rng.next();
    c.what = cv::format("%s, window %d x %d, %zu stages, %g nodes, %zu images, the first %d x %d %s, %s, largest %d, "
                        "%d objects, %d candidates, %zu masks, calls %d",
                        c.cascade.haar ? "Haar" : "LBP", c.cascade.window.width, c.cascade.window.height,
                        c.cascade.stages.size(), nodesOf(c.cascade), c.images.size(), c.images[0].cols,
                        c.images[0].rows, typeToString(c.images[0].type()).c_str(), c.params.sizes.name().c_str(),
                        c.params.largest, c.params.maxObjects, c.params.maxCandidates, c.masks.size(), c.calls);
    return c;
}

class CascadeRun
{
public:
    CascadeRun(const CascadeFuzzCase& given, Arrays& arrays) : c(given), a(arrays), cascade(cascadeOf(c.text))
    {
        if (c.calls & CascadeFuzzCase::USED)
        {
            load(*cascade, c.otherText);
            c.before.give(*cascade);
            const Size tables(1 + c.before.maxObjects, 1);
            cascade->detectAsync(a.in(c.earlier), a.out("earlier", tables, CV_32SC4), noArray(), noArray(), noArray(),
                                 a.stream());
            load(*cascade, c.text);
        }
        c.params.give(*cascade);
        if (c.calls & CascadeFuzzCase::CLONE)
            cascade = cascade->clone();
    }

    void run()
    {
        if (c.calls & CascadeFuzzCase::TABLES)
            tables("");
        if (c.calls & CascadeFuzzCase::AGAIN)
            tables("again ");
        if (c.calls & CascadeFuzzCase::VECTORS)
            vectors();
        if (c.calls & CascadeFuzzCase::PASSES)
        {
            std::vector<double> scales;
            std::vector<Size> layers;
            cascade->getScales(c.images[0].size(), scales, layers);
            Mat passes;
            cascade->countPasses(a.in(c.images[0]), passes, a.stream());
            a.value("passes", passes);
            a.value("scales", columnOf(scales));
            a.value("layers", columnOf(layers));
        }
    }

private:
    static void load(CascadeClassifierEx& cascade, const std::string& text) { cascade.loadBuffer(asRow(text)); }
    bool device() const { return a.engine() == Engine::CUDA; }

    void tables(const std::string& prefix)
    {
        const int n = int(c.images.size()), most = c.params.maxObjects;
        const _InputArray& masks = c.masks.empty() ? noArray() : a.list(c.masks, device());
        const _InputArray& images = n == 1 ? a.in(c.images[0]) : a.list(c.images, device());
        const _OutputArray& objects = a.out(prefix + "objects", Size(1 + most, n), CV_32SC4);
        const _OutputArray& counts = a.out(prefix + "counts", Size(most, n), CV_32SC1, true);
        const _OutputArray& weights = a.out(prefix + "weights", Size(most, n), CV_64FC1, true);
        cascade->detectAsync(images, objects, counts, weights, masks, a.stream());
        if (device())
            a.stream().waitForCompletion(); // for page-locked outputs
        for (int i = 0; i < n; ++i)
        {
            std::vector<Rect> boxes;
            a.number(prefix + "found", cascade->convertDetections(objects, i, boxes, a.stream()));
            a.value(prefix + "boxes", columnOf(boxes));
        }
    }

    void vectors()
    {
        const CascadeCase& p = c.params.sizes;
        const _InputArray& image = a.in(c.images[0]);
        const _InputArray& mask = c.masks.empty() ? noArray() : a.in(c.masks[0]);
        std::vector<Rect> boxes;
        std::vector<int> counts, levels;
        std::vector<double> weights;
        cascade->detectMultiScale(image, boxes, p.scaleFactor, p.minNeighbors, 0, p.minSize, p.maxSize, mask,
                                  a.stream());
        a.value("vector", columnOf(boxes));
        cascade->detectMultiScale(image, boxes, counts, p.scaleFactor, p.minNeighbors, 0, p.minSize, p.maxSize, mask,
                                  a.stream());
        a.value("vector", columnOf(boxes));
        a.value("vector counts", columnOf(counts));
        cascade->detectMultiScale(image, boxes, levels, weights, p.scaleFactor, p.minNeighbors, 0, p.minSize, p.maxSize,
                                  true, mask, a.stream());
        a.value("vector", columnOf(boxes));
        a.value("vector levels", columnOf(levels));
        a.value("vector weights", columnOf(weights));
    }

    const CascadeFuzzCase& c;
    Arrays& a;
    Ptr<CascadeClassifierEx> cascade;
};

inline Outputs runCascade(const CascadeFuzzCase& c, Engine engine, bool plain)
{
    Arrays arrays(engine, c.placement, plain);
    CascadeRun(c, arrays).run();
    return arrays.collect();
}

}} // namespace opencv_test::fuzz

#endif // OPENCV_CUDATRACKING_TEST_CASCADE_FUZZ_HPP
