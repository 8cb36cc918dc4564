// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Random scenes for FragmentMatcher: the same ones for CPU against oracle and for CUDA against CPU.
#ifndef OPENCV_CUDATRACKING_TEST_FRAGMENT_MATCHER_SCENES_HPP
#define OPENCV_CUDATRACKING_TEST_FRAGMENT_MATCHER_SCENES_HPP

#include "oracle.hpp"

namespace opencv_test { namespace scenes {

using cuda::FragmentMatch;
using oracle::FM;
using oracle::Result;

const int METRICS[] = {FM::SAD, FM::SSD, FM::ZNCC}, TYPES[] = {CV_8UC1, CV_8UC3, CV_8UC4};

//! Returns the types of images that a metric takes.
inline std::vector<int> typesOf(int metric)
{
    std::vector<int> types(std::begin(TYPES), std::end(TYPES));
    if (metric != FM::SAD)
        types.insert(types.end(), {CV_16UC1, CV_16UC3, CV_16UC4});
    return types;
}

//! Returns true if a metric takes fragments of a type and size; sizes of 16 bits have the same limit for all metrics.
inline bool isTaken(int metric, int type, Size size)
{
    const bool deep = CV_MAT_DEPTH(type) == CV_16U;
    return deep ? metric != FM::SAD : metric != FM::ZNCC || size.area() <= 232 * 232;
}

//! Returns the end of the range of a type's values.
inline int endOfValues(int type) { return CV_MAT_DEPTH(type) == CV_8U ? 256 : 65536; }

enum WeightKind
{
    NO_WEIGHTS,
    WEIGHTS_8U,
    WEIGHTS_32F,
    SOME_WEIGHTS //!< every second fragment has none, the others alternate between 8U and 32F
};

struct Scene
{
    Mat frame;
    std::vector<Mat> templates, weights;
    std::vector<Rect> areas;
    Mat predictions;
    FM::Params params;
};

inline Mat randomWeights(RNG& rng, Size size, int type)
{
    Mat weights(size, type);
    rng.fill(weights, RNG::UNIFORM, 0, type == CV_8UC1 ? 256. : 1.);
    for (int i = 0; i < 3; ++i) // holes, full weight, and a value that must round to even
    {
        const Rect part =
            Rect(uniform(rng, Point(), Point(size.width, size.height)), Size(1 + size.width / 3, 1 + size.height / 3)) &
            Rect(Point(), size);
        const double full = type == CV_8UC1 ? 255. : 1., half = type == CV_8UC1 ? 127. : 0.5;
        weights(part).setTo(i == 0 ? 0. : (i == 1 ? full : half));
    }
    weights.row(rng.uniform(0, size.height)).setTo(0.);
    // Never all zero. 1/255 is the smallest float weight that counts.
    weights.col(rng.uniform(0, size.width)).row(rng.uniform(0, size.height)).setTo(type == CV_8UC1 ? 1. : 1.001 / 255.);
    return weights;
}

//! An image with structure of all sizes from a few pixels to a third of its side, as natural images have; noise: in
//! gray values.
inline Mat structuredImage(RNG& rng, Size size, int type, double noise)
{
    Mat sum(size, CV_32FC(CV_MAT_CN(type)), Scalar::all(128));
    for (int cell = std::max(size.width, size.height) / 3; cell >= 4; cell /= 2)
    {
        Mat coarse(size.height / cell + 2, size.width / cell + 2, sum.type()), fine;
        rng.fill(coarse, RNG::UNIFORM, -1., 1.);
        resize(coarse, fine, size, 0, 0, INTER_CUBIC);
        sum += fine * (12. + 40. * cell / size.width);
    }
    Mat grain(size, sum.type()), image;
    rng.fill(grain, RNG::NORMAL, 0., noise);
    Mat(sum + grain).convertTo(image, CV_8U);
    return image;
}

inline Mat weightsOf(RNG& rng, Size size, int kind, int i)
{
    if (kind == NO_WEIGHTS || (kind == SOME_WEIGHTS && i % 2 == 0))
        return Mat();
    const bool bytes = kind == WEIGHTS_8U || (kind == SOME_WEIGHTS && i % 4 == 1);
    return randomWeights(rng, size, bytes ? CV_8UC1 : CV_32FC1);
}

//! An area of one of the kinds that occur: whole frame, around a place, cut by the frame, tight, too small, outside.
inline Rect randomArea(RNG& rng, Size frame, Size fragment, int reach)
{
    const Point at = uniform(rng, Point(-fragment.width, -fragment.height), Point(frame.width, frame.height));
    const int w = fragment.width, h = fragment.height;
    switch (rng.uniform(0, 12))
    {
    case 0:
        return Rect(Point(), frame);
    case 1:
        return Rect(0, 0, w, h);
    case 2:
        return Rect(at.x, at.y, w - 1, h + reach);
    case 3:
        return Rect(frame.width, 0, w + reach, h);
    case 4:
        return Rect(-1000000, -1000000, 2000000, 2000000);
    case 5:
        return Rect();
    case 6:
    {
        const int width = w + rng.uniform(0, 3);
        return Rect(uniform(rng, Point(), Point(3, 3)), Size(width, frame.height));
    }
    default:
        return Rect(at, Size(w, h) + uniform(rng, Size(0, 0), Size(2 * reach, 2 * reach)));
    }
}

inline Scene randomScene(RNG& rng, const FM::Params& params, int type, int weightKind, Size frame = Size(83, 61),
                         int maxSide = 24, int count = 8)
{
    Scene scene;
    scene.params = params;
    const int levels[] = {256, 256, 8, 2, 1};
    const int levelCount = levels[rng.uniform(0, 5)];
    scene.frame = asRoi(randomImage(rng, frame, type, rng.uniform(1, 6), levelCount));
    scene.predictions = Mat(count, 1, CV_32SC2);
    for (int i = 0; i < count; ++i)
    {
        const Size size = uniform(rng, Size(1, 1), Size(maxSide + 1, maxSide + 1));
        const Point at = uniform(rng, Point(), Point(frame.width - size.width + 1, frame.height - size.height + 1));
        Mat templ = scene.frame(Rect(at, size)).clone();
        if (i % 3 == 1) // close to the frame's content, but not equal
            templ += Scalar::all(rng.uniform(1, 9));
        else if (i % 3 == 2)
            rng.fill(templ, RNG::UNIFORM, 0, endOfValues(type));
        scene.templates.push_back(asRoi(templ));
        scene.weights.push_back(asRoi(weightsOf(rng, size, weightKind, i)));
        scene.areas.push_back(randomArea(rng, frame, size, 14));
        scene.predictions.at<Point>(i) = uniform(rng, Point(-9, -9), Point(frame.width + 9, frame.height + 9));
    }
    if (weightKind == NO_WEIGHTS)
        scene.weights.clear();
    return scene;
}

inline Scene randomScene(uint64 seed, const FM::Params& params, int type, int weightKind, Size frame = Size(83, 61),
                         int maxSide = 24, int count = 8)
{
    RNG rng(seed);
    return randomScene(rng, params, type, weightKind, frame, maxSide, count);
}

inline Result expected(const Scene& scene)
{
    const bool predicted = scene.params.search == FM::THREE_STEP;
    return oracle::match(scene.frame, scene.templates, scene.weights, scene.areas,
                         predicted ? scene.predictions : Mat(), scene.params);
}

inline void give(FM& matcher, const Scene& scene)
{
    matcher.setFragments(scene.templates, scene.weights);
    if (scene.params.search == FM::THREE_STEP)
        matcher.setPredictions(scene.predictions);
}

inline Ptr<FM> matcherOf(const Scene& scene)
{
    const Ptr<FM> matcher = FM::create(scene.params);
    give(*matcher, scene);
    return matcher;
}

inline Result run(FM& matcher, const Mat& frame, InputArray areas)
{
    Result result;
    matcher.match(frame, areas, result.locations, result.scores, result.confidence, result.status, result.refined);
    return result;
}

inline Result run(FM& matcher, const Scene& scene)
{
    return scene.areas.empty() ? run(matcher, scene.frame, noArray()) : run(matcher, scene.frame, scene.areas);
}

inline Result runCpu(const Scene& scene) { return run(*matcherOf(scene), scene); }

inline bool same(const Result& expected, const Result& actual)
{
    return sameBits(expected.locations, actual.locations) && sameBits(expected.scores, actual.scores) &&
           sameBits(expected.confidence, actual.confidence) && sameBits(expected.status, actual.status) &&
           sameBits(expected.refined, actual.refined);
}

inline void expectSame(const std::vector<FragmentMatch>& expected, const std::vector<FragmentMatch>& actual)
{
    ASSERT_EQ(expected.size(), actual.size());
    for (size_t i = 0; i < expected.size(); ++i)
    {
        EXPECT_EQ(expected[i].locations, actual[i].locations);
        EXPECT_EQ(expected[i].refined, actual[i].refined);
        EXPECT_EQ(expected[i].scores, actual[i].scores);
        EXPECT_EQ(expected[i].confidence, actual[i].confidence);
        EXPECT_EQ(expected[i].status, actual[i].status);
    }
}

inline void expectSame(const Result& expected, const Result& actual)
{
    EXPECT_TRUE(sameBits(expected.locations, actual.locations)) << "locations";
    EXPECT_TRUE(sameBits(expected.scores, actual.scores)) << "scores";
    EXPECT_TRUE(sameBits(expected.confidence, actual.confidence)) << "confidence";
    EXPECT_TRUE(sameBits(expected.status, actual.status)) << "status";
    EXPECT_TRUE(sameBits(expected.refined, actual.refined)) << "refined";
}

inline std::string describe(const FM::Params& params)
{
    const char *metrics[] = {"SAD", "SSD", "ZNCC"}, *exclusions[] = {"SQUARE", "CROSS"},
               *searches[] = {"FULL", "THREE_STEP"};
    return cv::format("%s %s d=%d K=%d %s subpixel=%d fit=%d", metrics[params.metric], exclusions[params.exclusion],
                      params.exclusionDistance, params.peaks, searches[params.search], params.subpixel,
                      params.subpixelFit);
}

inline FM::Params makeParams(int metric, int peaks = 2, int exclusion = FM::SQUARE, int distance = 0,
                             int search = FM::FULL, bool subpixel = false)
{
    FM::Params params;
    params.metric = metric;
    params.peaks = peaks;
    params.exclusion = exclusion;
    params.exclusionDistance = distance;
    params.search = search;
    params.subpixel = subpixel;
    params.maxSearchArea = Size(32767, 32767); // that of any frame
    return params;
}

//! Params with sub-pixel positions, for ZNCC by a Gaussian.
inline FM::Params gaussianParams(int metric, int peaks = 2, int exclusion = FM::SQUARE, int distance = 0,
                                 int search = FM::FULL)
{
    FM::Params params = makeParams(metric, peaks, exclusion, distance, search, true);
    params.subpixelFit = metric == FM::ZNCC ? FM::GAUSSIAN : FM::PARABOLA;
    return params;
}

//! An image of particles with a diameter of 2.5 pixels at exp(-2) of their brightness, all moved by `shift` in x.
inline Mat particles(uint64 seed, Size size, double shift)
{
    RNG rng(seed);
    Mat_<double> image(size, 0.);
    for (int i = 0; i < size.area() / 20; ++i)
    {
        const double x = rng.uniform(-4., size.width + 4.) + shift, y = rng.uniform(-4., size.height + 4.);
        const double brightness = rng.uniform(100., 220.);
        const Rect near = Rect(cvRound(x) - 4, cvRound(y) - 4, 9, 9) & Rect(Point(), size);
        for (int row = near.y; row < near.br().y; ++row)
            for (int col = near.x; col < near.br().x; ++col)
                image(row, col) +=
                    brightness * std::exp(-8. * ((col - x) * (col - x) + (row - y) * (row - y)) / (2.5 * 2.5));
    }
    Mat bytes;
    image.convertTo(bytes, CV_8U);
    return bytes;
}

//! The option combinations that every metric, weight kind and frame type is run with.
inline std::vector<FM::Params> allOptions(int metric)
{
    std::vector<FM::Params> options;
    for (const int exclusion : {FM::SQUARE, FM::CROSS})
        for (const int search : {FM::FULL, FM::THREE_STEP})
            for (const int peaks : {1, 2, 5, 16})
                for (const int distance : {0, 1, 7})
                    options.push_back(
                        peaks == 5 ? gaussianParams(metric, peaks, exclusion, distance, search)
                                   : makeParams(metric, peaks, exclusion, distance, search, (peaks + distance) % 2));
    return options;
}

//! check(scene) for fragment sides and position counts around the widths of words, vectors, warps and tiles.
template <typename Check> void aroundVectorWidths(uint64 seed, const std::vector<int>& positionCounts, Check check)
{
    RNG rng(seed);
    int round = 0;
    for (const int side : {1, 2, 3, 4, 5, 15, 16, 17, 31, 32, 33, 63, 64, 65})
        for (const int positions : positionCounts)
            for (const int metric : METRICS)
            {
                SCOPED_TRACE(cv::format("side %d positions %d metric %d", side, positions, metric));
                ++round;
                const Size size = round % 2 ? Size(side, 1 + side / 3) : Size(1 + side / 4, side);
                const Size reach = round % 4 < 2 ? Size(positions, 3) : Size(2, positions);
                Scene scene;
                scene.params = round % 5 < 3 ? gaussianParams(metric, 3, FM::SQUARE, 1)
                                             : makeParams(metric, 3, FM::SQUARE, 1, FM::FULL, true);
                const std::vector<int> types = typesOf(metric);
                scene.frame = asRoi(randomImage(rng, size + reach - Size(1, 1), types[round / 3 % types.size()], 3,
                                                round % 5 ? 256 : 3));
                const Point at = uniform(rng, Point(), Point(reach.width, reach.height));
                scene.templates.push_back(asRoi(scene.frame(Rect(at, size)).clone()));
                scene.weights.push_back(asRoi(weightsOf(rng, size, round % 4, 1)));
                check(scene);
                if (testing::Test::HasFailure())
                    return; // one report is enough
            }
}

//! Black and white noise, and the negative of a part of it as the fragment: the largest differences there are. The
//! frame is larger than the fragment by `reach`.
inline Scene negativeScene(RNG& rng, const FM::Params& params, Size size, Size reach, int type)
{
    Scene scene;
    scene.params = params;
    scene.frame = Mat(size + reach, type);
    rng.fill(scene.frame, RNG::UNIFORM, 0, 2);
    scene.frame *= endOfValues(type) - 1;
    scene.templates.push_back(~scene.frame(Rect(Point(2, 1), size)));
    scene.predictions = Mat(1, 1, CV_32SC2, Scalar(3, 2));
    return scene;
}

//! check(scene) for large fragments at contrasts where partial sums of 16, 32 and (ZNCC) 53 bits would wrap.
template <typename Check> void largeSums(uint64 seed, const std::vector<Size>& sizes, const Check& check)
{
    RNG rng(seed);
    for (const Size size : sizes)
        for (const int type : {CV_8UC1, CV_8UC3, CV_16UC1, CV_16UC3})
            for (const int metric : METRICS)
            {
                if (!isTaken(metric, type, size))
                    continue;
                SCOPED_TRACE(cv::format("%d x %d type %d metric %d", size.width, size.height, type, metric));
                Scene scene = negativeScene(rng, makeParams(metric, 2, FM::SQUARE, 1), size, Size(5, 4), type);
                check(scene);
                scene.weights.push_back(Mat(size, CV_8UC1, Scalar(255)));
                check(scene);
                scene.weights[0].setTo(254);
                check(scene);
                scene.weights[0].at<uchar>(7, 7) = 255;
                check(scene);
                if (testing::Test::HasFailure())
                    return;
            }
}

//! Seven areas whose coordinates have sums that do not fit into int.
inline std::vector<Rect> hugeAreas()
{
    const int big = std::numeric_limits<int>::max(), low = std::numeric_limits<int>::min();
    return {Rect(10, 10, big, big), Rect(big, big, big, big), Rect(-100, -100, big, big), Rect(low, low, big, big),
            Rect(20, 0, big, 40),   Rect(low, 0, 5, 5),       Rect(-5, -5, 50, 40)};
}

//! Gives the scene's fragments other content of their size, from `source`. @return where it was taken from.
inline std::vector<Rect> cutFrom(RNG& rng, const Mat& source, Scene& scene)
{
    std::vector<Rect> regions;
    for (Mat& templ : scene.templates)
    {
        const Point at = uniform(rng, Point(), Point(source.cols - templ.cols + 1, source.rows - templ.rows + 1));
        regions.push_back(Rect(at, templ.size()));
        templ = source(regions.back());
    }
    return regions;
}

//! A random single edit of the scene's fragments and of the matcher's: added, updated and removed in turn. `placed`
//! puts a Mat where the matcher has its fragments.
template <typename Placed> void editOne(RNG& rng, int edit, Scene& scene, FM& matcher, Placed placed)
{
    const Scene other = randomScene(rng, scene.params, scene.frame.type(), SOME_WEIGHTS, Size(83, 61), 24, 2);
    const Mat templ = other.templates[1], weights = edit % 2 ? other.weights[1] : Mat();
    const int index = rng.uniform(0, static_cast<int>(scene.templates.size()));
    if (edit % 3 == 0)
    {
        EXPECT_EQ(static_cast<int>(scene.templates.size()), matcher.addFragment(placed(templ), placed(weights)));
        scene.templates.push_back(templ), scene.weights.push_back(weights);
        scene.areas.push_back(other.areas[1]);
    }
    else if (edit % 3 == 1)
    {
        matcher.updateFragment(index, placed(templ), placed(weights));
        scene.templates[index] = templ, scene.weights[index] = weights;
    }
    else
    {
        matcher.removeFragment(index);
        scene.templates.erase(scene.templates.begin() + index);
        scene.weights.erase(scene.weights.begin() + index);
        scene.areas.erase(scene.areas.begin() + index);
    }
}
inline Mat onTheHost(const Mat& mat) { return mat; }

typedef tuple<int, int, int> Combination; // metric, weight kind, frame type

//! Metric x weights x types, as parameters of a test.
inline ::testing::internal::ParamGenerator<Combination> allCombinations()
{
    std::vector<Combination> combinations;
    for (const int metric : METRICS)
        for (const int weights : {NO_WEIGHTS, WEIGHTS_8U, WEIGHTS_32F, SOME_WEIGHTS})
            for (const int type : typesOf(metric))
                combinations.push_back(Combination(metric, weights, type));
    return testing::ValuesIn(combinations);
}

//! Base of suites with a test for each of allCombinations().
class OfCombination : public testing::TestWithParam<Combination>
{
protected:
    //! Returns random numbers, others for each combination.
    RNG numbersOf(uint64 seed) const { return RNG(seed + metric * 131 + weightKind * 17 + type); }

    const int metric = get<0>(GetParam()), weightKind = get<1>(GetParam()), type = get<2>(GetParam());
};

}} // namespace opencv_test::scenes

#endif // OPENCV_CUDATRACKING_TEST_FRAGMENT_MATCHER_SCENES_HPP
