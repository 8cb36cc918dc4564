// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Random cases of FragmentMatcher for the routes of its CUDA backend that general cases seldom take: those by matrix
// instructions need much work, transforms and slices need large fragments in small windows. FragmentMatcher_Fuzz.routes
// counts them.
#ifndef OPENCV_CUDATRACKING_TEST_FRAGMENT_MATCHER_FUZZ_ROUTES_HPP
#define OPENCV_CUDATRACKING_TEST_FRAGMENT_MATCHER_FUZZ_ROUTES_HPP

#include "fuzz.hpp"

namespace opencv_test { namespace fuzz {

//! Route that large windows of a case are to take; all cases also have small windows, except those of slices.
struct Aim
{
    int metric;
    bool weighted, slices = false;
    bool bounded = false;    //!< SAD with elimination
    bool transforms = false; //!< nothing but large windows
    bool deep = false;       //!< 16 bits
};

//! A fragment whose window of `positions` lies in the frame; half of the time its best position is in the last rows.
inline void addAimed(RNG& rng, FragmentMatcherCase& c, Size size, Size positions, int weightKind)
{
    Scene& scene = c.scene;
    const Size area = positions + size - Size(1, 1), room = scene.frame.size() - area;
    const Point at = uniform(rng, Point(), Point(room.width + 1, room.height + 1));
    const int last = positions.height - 1;
    const int y = onceIn(rng, 2) ? std::max(last - rng.uniform(0, 4), 0) : rng.uniform(0, positions.height);
    const Point best(rng.uniform(0, positions.width), y);
    Mat templ = scene.frame(Rect(at + best, size)).clone();
    if (onceIn(rng, 4))
        templ += Scalar::all(rng.uniform(1, 9));
    scene.templates.push_back(templ);
    scene.weights.push_back(scenes::weightsOf(rng, size, weightKind, static_cast<int>(scene.weights.size())));
    scene.areas.push_back(Rect(at, area));
}

//! Two to four sizes in windows of 20 to 52 x 20 to 60 positions each; as many fragments as unweighted SSD needs.
inline void addSmallWindows(RNG& rng, FragmentMatcherCase& c, const Aim& aim, int weightKind)
{
    const int channels = std::min(c.scene.frame.channels(), 3), kinds = rng.uniform(2, 5);
    const bool many = aim.metric == FM::SSD && !aim.weighted;
    std::vector<Size> sizes, windows;
    double each = 0; // products of a round
    for (int k = 0; k < kinds; ++k)
    {
        const int least = many ? 18 : 8, most = many ? 30 : 26;
        sizes.push_back(uniform(rng, Size(least, least), Size(most, most)));
        windows.push_back(uniform(rng, Size(many ? 32 : 20, many ? 32 : 20), Size(53, 61)));
        each += static_cast<double>(sizes[k].area()) * windows[k].area() * channels;
    }
    const int rounds = many ? static_cast<int>(410e6 / each) + 1 : rng.uniform(1, 4);
    for (int i = 0; i < rounds * kinds; ++i)
        addAimed(rng, c, sizes[i % kinds], windows[i % kinds], weightKind);
}

//! Fragments in large windows. The frame has room for them, see aimedFrame().
inline void addLargeWindows(RNG& rng, FragmentMatcherCase& c, const Aim& aim, int weightKind)
{
    const Size frame = c.scene.frame.size();
    const int channels = std::min(c.scene.frame.channels(), 3);
    if (aim.bounded) // 4e9 byte differences, in one window or in some
    {
        const Size size = uniform(rng, Size(64, 64), Size(100, 100));
        const int count = onceIn(rng, 3) ? 2 : 1;
        const double positions = 4.1e9 / size.area() / channels / count;
        const int cols = std::min(frame.width - size.width, static_cast<int>(std::sqrt(positions)) + 1);
        for (int i = 0; i < count; ++i)
            addAimed(rng, c, size, Size(cols, static_cast<int>(positions / cols) + 1), weightKind);
        return;
    }
    if (aim.transforms)
    {
        const Size size = uniform(rng, Size(150, 257), Size(190, 280));
        for (int count = onceIn(rng, 3) ? 2 : 1; count > 0; --count)
        {
            const Size positions = frame - size - uniform(rng, Size(0, 0), Size(9, 9));
            addAimed(rng, c, size - Size(rng.uniform(0, 9), 0), positions, weightKind);
        }
        return;
    }
    const bool unweighted = aim.metric != FM::SAD && !aim.weighted;
    if (unweighted && frame.height > 900) // higher than transforms can be
    {
        const Size size = uniform(rng, Size(40, 40), Size(56, 56));
        return addAimed(rng, c, size, frame - size - uniform(rng, Size(0, 0), Size(9, 9)), weightKind);
    }
    if (unweighted && frame.height < 600) // high fragments, too many for transforms
    {
        for (int i = 0; i < 3; ++i)
        {
            const Size positions = uniform(rng, Size(200, 200), Size(240, 240));
            addAimed(rng, c, uniform(rng, Size(12, 257), Size(26, 280)), positions, weightKind);
        }
        return;
    }
    if (aim.metric == FM::SAD) // wider than slices can be
    {
        const Size positions = uniform(rng, Size(140, 30), Size(180, 150));
        return addAimed(rng, c, uniform(rng, Size(16, 16), Size(30, 30)), positions, weightKind);
    }
    const double terms = aim.weighted ? 120e6 : aim.metric == FM::SSD ? 410e6 : 82e6;
    const int count = onceIn(rng, 3) ? 2 : 1, side = rng.uniform(30, 80);
    const Size size(side, rng.uniform(30, 80));
    // Positions that take so many products, by as many rows as columns or a little less.
    const int cols = std::min(frame.width - size.width,
                              static_cast<int>(std::sqrt(terms / size.area() / channels)) + rng.uniform(1, 40));
    const int rows = std::min(frame.height - size.height, static_cast<int>(terms / size.area() / channels / cols) + 1);
    for (int i = 0; i < count; ++i)
        addAimed(rng, c, size, Size(cols, rows), weightKind);
}

//! One to three large fragments in small windows.
inline void addSlices(RNG& rng, FragmentMatcherCase& c, int weightKind)
{
    for (int count = rng.uniform(1, 4); count > 0; --count)
    {
        const int height = rng.uniform(1, onceIn(rng, 3) ? 70 : 30);
        const Size positions(rng.uniform(1, onceIn(rng, 3) ? 70 : 30), height);
        addAimed(rng, c, uniform(rng, Size(70, 70), Size(130, 130)), positions, weightKind);
    }
}

//! Fragments of 16 bits: mostly small ones, or also large ones and such that are wider than bands in shared memory.
inline void addDeep(RNG& rng, FragmentMatcherCase& c, int weightKind)
{
    const bool small = !onceIn(rng, 6);
    for (int count = rng.uniform(1, 5); count > 0; --count)
    {
        const int kind = small ? 0 : rng.uniform(0, 3);
        const Size size = kind == 0   ? uniform(rng, Size(8, 8), Size(26, 26))
                          : kind == 1 ? uniform(rng, Size(30, 30), Size(90, 90))
                                      : uniform(rng, Size(300, 1), Size(700, 9));
        const Size most = small ? Size(40, 40) : kind == 1 ? Size(150, 100) : Size(53, 61);
        const Size positions = uniform(rng, Size(1, 1), most);
        addAimed(rng, c, size, positions, weightKind);
    }
}

//! A frame with room for the windows of a case.
inline Size aimedFrame(RNG& rng, const Aim& aim)
{
    if (aim.deep)
        return uniform(rng, Size(760, 200), Size(800, 240));
    if (aim.slices)
        return uniform(rng, Size(200, 200), Size(260, 260));
    if (aim.transforms)
        return uniform(rng, Size(390, 430), Size(520, 512));
    if (aim.metric == FM::SAD || aim.weighted)
        return uniform(rng, Size(420, 420), Size(480, 480));
    if (!onceIn(rng, 3))
        return uniform(rng, Size(700, 620), Size(760, 700));
    return onceIn(rng, 2) ? uniform(rng, Size(560, 2190), Size(600, 2230)) // higher than transforms can be
                          : uniform(rng, Size(330, 530), Size(400, 560));
}

//! A frame for SAD with elimination: of every third nothing can be eliminated.
inline Mat boundedFrame(RNG& rng)
{
    const int type = scenes::TYPES[rng.uniform(0, 3)], least = type == CV_8UC1 ? 1310 : 820;
    const Size size = uniform(rng, Size(least, least), Size(least + 40, least + 40));
    return onceIn(rng, 3) ? randomImage(rng, size, type, 3)
                          : scenes::structuredImage(rng, size, type, rng.uniform(0., 4.));
}

inline FragmentMatcherCase makeAimedCase(int64 seed, int64 number, const Aim& aim)
{
    RNG rng = rngOf(seed, number);
    FragmentMatcherCase c;
    Scene& scene = c.scene;
    c.placement = mixed(rng.next(), 7);
    c.fragmentsOnHost = onceIn(rng, 2);
    c.areasOnDevice = false; // on the device, areas have one limit for all
    const bool walks = !aim.bounded && onceIn(rng, 8);
    const bool subPixel = !onceIn(rng, 4);
    const int distance = onceIn(rng, 2) ? 0 : rng.uniform(1, 12), exclusion = rng.uniform(0, 2);
    scene.params = scenes::makeParams(aim.metric, walks ? rng.uniform(2, 5) : rng.uniform(1, 5), exclusion, distance,
                                      walks ? FM::THREE_STEP : FM::FULL, subPixel);
    if (aim.metric == FM::ZNCC && onceIn(rng, 2))
        scene.params.subpixelFit = FM::GAUSSIAN;
    if (aim.bounded)
        scene.frame = boundedFrame(rng);
    else
    {
        const int levels = onceIn(rng, 4) ? 3 : 256, blur = rng.uniform(1, 6);
        const int channels = CV_MAT_CN(scenes::TYPES[rng.uniform(0, 3)]);
        const int type = CV_MAKETYPE(aim.deep ? CV_16U : CV_8U, channels);
        scene.frame = randomImage(rng, aimedFrame(rng, aim), type, blur, levels);
    }
    const int weightKind = aim.weighted ? rng.uniform(1, 4) : scenes::NO_WEIGHTS;
    if (aim.deep)
        addDeep(rng, c, weightKind);
    else if (aim.slices)
        addSlices(rng, c, weightKind);
    else if (!aim.transforms)
        addSmallWindows(rng, c, aim, weightKind);
    if (!aim.slices && !aim.deep)
        addLargeWindows(rng, c, aim, weightKind);
    c.templates = scene.templates;
    if (weightKind != scenes::NO_WEIGHTS)
        c.weights = scene.weights;
    const int count = static_cast<int>(scene.templates.size());
    scene.predictions = Mat(count, 1, CV_32SC2);
    c.work = 0;
    for (int i = 0; i < count; ++i)
    {
        scene.predictions.at<Point>(i) = onceIn(rng, 9) ? Point(-1, -1) : scene.areas[i].tl() + Point(3, 4);
        c.work += workOf(scene, i);
    }
    randomCalls(rng, c);
    c.calls = onceIn(rng, 4) ? 1 << rng.uniform(0, 6) : 0;
    c.what = cv::format("aimed: frame %d x %d %s, %d fragments, weights %d, calls %d, %s", scene.frame.cols,
                        scene.frame.rows, typeToString(scene.frame.type()).c_str(), count, weightKind, c.calls,
                        scenes::describe(scene.params).c_str());
    return c;
}

//! Every eighth case is general; the others are for each route, in turn.
inline FragmentMatcherCase makeRoutedCase(int64 seed, int64 number)
{
    struct Turns
    {
        int count;
        Aim aim;
    };
    const bool weightedBounds = number % 3 == 0;
    const Turns turns[] = {{200, {FM::SSD, false}},
                           {200, {FM::ZNCC, false}},
                           {157, {FM::SSD, true}},
                           {158, {FM::ZNCC, true}},
                           {94, {FM::SAD, false}},
                           {102, {FM::SAD, weightedBounds, false, true}},
                           {27, {FM::SAD, false, true}},
                           {13, {FM::SAD, true, true}},
                           {13, {FM::SSD, false, true}},
                           {23, {FM::ZNCC, false, true}},
                           {13, {FM::ZNCC, true, true}},
                           {105, {FM::SSD, false, false, false, true}},
                           {105, {FM::ZNCC, false, false, false, true}},
                           {125, {FM::SSD, false, false, false, false, true}},
                           {125, {FM::SSD, true, false, false, false, true}},
                           {125, {FM::ZNCC, false, false, false, false, true}},
                           {125, {FM::ZNCC, true, false, false, false, true}}};
    if (number % 8 == 7)
        return makeFragmentMatcherCase(seed, number);
    int turn = static_cast<int>((number - number / 8) * 331 % 1710);
    for (const Turns& these : turns)
    {
        if (turn < these.count)
            return makeAimedCase(seed, number, these.aim);
        turn -= these.count;
    }
    CV_Error(Error::StsInternal, "the turns are fewer than 1710");
}

}} // namespace opencv_test::fuzz

#endif // OPENCV_CUDATRACKING_TEST_FRAGMENT_MATCHER_FUZZ_ROUTES_HPP
