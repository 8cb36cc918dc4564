// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Random cases of FragmentMatcher: generation, execution, and comparison with the oracle.
#ifndef OPENCV_CUDATRACKING_TEST_FRAGMENT_MATCHER_FUZZ_HPP
#define OPENCV_CUDATRACKING_TEST_FRAGMENT_MATCHER_FUZZ_HPP

#include "../common/fuzz_arrays.hpp"
#include "scenes.hpp"

namespace opencv_test { namespace fuzz {

using oracle::FM;
using scenes::Scene;

struct FragmentMatcherCase
{
    struct Edit
    {
        enum Kind
        {
            ADD,
            UPDATE,
            REMOVE
        };
        Kind kind;
        int index;
        Mat templ, weights;
    };
    enum Call // in addition to match()
    {
        FIND = 1,
        CONVERT = 2,
        SCORE_MAP = 4,
        SCORE_MAPS = 8,
        PREDICT = 16,
        AGAIN = 32
    };

    Scene scene;                         //!< after the edits
    std::vector<Mat> templates, weights; //!< before the edits
    Mat source;                          //!< when the fragments are cut: from this image,
    std::vector<Rect> regions;           //!< these regions
    std::vector<Edit> edits;
    bool fragmentsOnHost, areasOnDevice; //!< for the CUDA engine
    int calls, index, depth, radius;
    Rect area;
    uint64 placement;
    double work; //!< pixels x positions x channels
    std::string what;
};

inline double workOf(const Scene& scene, size_t i)
{
    Point origin;
    Size positions;
    const Rect area = scene.areas.empty() ? Rect(Point(), scene.frame.size()) : scene.areas[i];
    const Mat& templ = scene.templates[i];
    if (!oracle::searchWindow(area, scene.frame.size(), templ.size(), origin, positions))
        return 0;
    return static_cast<double>(positions.area()) * static_cast<double>(templ.total()) * std::min(templ.channels(), 3);
}

//! Areas that cost too much become tight ones.
inline double limitWork(RNG& rng, Scene& scene, double limit)
{
    const double each = limit / static_cast<double>(scene.templates.size());
    double total = 0;
    for (size_t i = 0; i < scene.templates.size(); ++i)
    {
        if (workOf(scene, i) > each)
        {
            const Size size = scene.templates[i].size(), frame = scene.frame.size();
            if (scene.areas.empty())
                scene.areas.assign(scene.templates.size(), Rect(Point(), frame));
            const Size more = uniform(rng, Size(0, 0), Size(6, 6));
            scene.areas[i] = Rect(uniform(rng, Point(-3, -3), Point(frame)), size + more);
        }
        total += workOf(scene, i);
    }
    return total;
}

inline FM::Params randomParams(RNG& rng)
{
    const bool subPixel = onceIn(rng, 2);
    const int search = onceIn(rng, 4) ? FM::THREE_STEP : FM::FULL;
    const int distance = onceIn(rng, 2) ? 0 : rng.uniform(1, 12), exclusion = rng.uniform(0, 2);
    const int peaks = onceIn(rng, 2) ? 2 : rng.uniform(1, 17);
    FM::Params params = scenes::makeParams(rng.uniform(0, 3), peaks, exclusion, distance, search, subPixel);
    if (onceIn(rng, 40))
        params.exclusionDistance = 32767;
    if (params.metric == FM::ZNCC && onceIn(rng, 2))
        params.subpixelFit = FM::GAUSSIAN;
    return params;
}

//! A template of the frame's type: cut from it, nearly so, or noise; and its weights.
inline void randomFragment(RNG& rng, const Scene& scene, int maxSide, int weightKind, Mat& templ, Mat& weights)
{
    const Size frame = scene.frame.size();
    const int height = randomSide(rng, maxSide);
    const Size size(randomSide(rng, maxSide), height);
    templ = randomImage(rng, size, scene.frame.type(), 2);
    if (size.width <= frame.width && size.height <= frame.height && !onceIn(rng, 3))
    {
        const Point at = uniform(rng, Point(), Point(frame.width - size.width + 1, frame.height - size.height + 1));
        templ = scene.frame(Rect(at, size)).clone();
        if (onceIn(rng, 3))
            templ += Scalar::all(rng.uniform(1, 9));
    }
    if (onceIn(rng, 15))
        templ.setTo(Scalar::all(rng.uniform(0, 256)));
    weights = scenes::weightsOf(rng, size, weightKind, rng.uniform(0, 4));
}

//! Sizes at which the kernels' shared memory was once a few bytes beyond what blocks have.
inline bool knownShape(RNG& rng, FragmentMatcherCase& c, int& count, int& maxSide, int& weightKind)
{
    if (!onceIn(rng, 50))
        return false;
    const bool colour = onceIn(rng, 2);
    c.scene.params = scenes::makeParams(FM::SAD, rng.uniform(1, 4));
    c.scene.params.maxSearchArea = colour ? Size(31, 71) : Size(233, 183);
    c.scene.frame = colour ? randomImage(rng, Size(55, 238), CV_8UC4) : randomImage(rng, Size(258, 374), CV_8UC1);
    count = colour ? 3 : 5;
    maxSide = colour ? 55 : 63;
    weightKind = colour ? scenes::WEIGHTS_8U : scenes::SOME_WEIGHTS;
    c.areasOnDevice = true;
    return true;
}

//! Half of them around a place where the fragment fits.
inline Rect areaOf(RNG& rng, Size frame, Size fragment)
{
    const int reach = oneOf<int>(rng, {3, 8, 14, 40, 150, 400});
    if (onceIn(rng, 2) || fragment.width > frame.width || fragment.height > frame.height)
        return scenes::randomArea(rng, frame, fragment, reach);
    const Point at = uniform(rng, Point(), Point(frame.width - fragment.width + 1, frame.height - fragment.height + 1));
    const int height = fragment.height + rng.uniform(reach, 2 * reach + 1);
    return Rect(at - uniform(rng, Point(), Point(reach, reach)), Size(fragment.width + 2 * reach, height));
}

inline void randomEdits(RNG& rng, FragmentMatcherCase& c, int maxSide, int weightKind)
{
    Scene& scene = c.scene;
    for (int edits = onceIn(rng, 3) ? rng.uniform(1, 4) : 0; edits > 0; --edits)
    {
        FragmentMatcherCase::Edit edit;
        const int count = static_cast<int>(scene.templates.size());
        edit.kind = static_cast<FragmentMatcherCase::Edit::Kind>(rng.uniform(0, count > 1 ? 3 : 2));
        edit.index = rng.uniform(0, count);
        if (edit.kind != FragmentMatcherCase::Edit::REMOVE)
            randomFragment(rng, scene, maxSide, weightKind, edit.templ, edit.weights);
        if (edit.kind == FragmentMatcherCase::Edit::ADD)
        {
            scene.templates.push_back(edit.templ);
            scene.weights.push_back(edit.weights);
        }
        else if (edit.kind == FragmentMatcherCase::Edit::UPDATE)
        {
            scene.templates[edit.index] = edit.templ;
            scene.weights[edit.index] = edit.weights;
        }
        else
        {
            scene.templates.erase(scene.templates.begin() + edit.index);
            scene.weights.erase(scene.weights.begin() + edit.index);
        }
        c.edits.push_back(edit);
    }
}

inline void randomFragments(RNG& rng, FragmentMatcherCase& c, int count, int maxSide, int weightKind)
{
    Scene& scene = c.scene;
    const bool cut = onceIn(rng, 4);
    if (cut)
        c.source = randomImage(rng, uniform(rng, Size(maxSide, maxSide), Size(maxSide + 40, maxSide + 40)),
                               scene.frame.type());
    for (int i = 0; i < count; ++i)
    {
        Mat templ, weights;
        randomFragment(rng, scene, maxSide, weightKind, templ, weights);
        if (cut)
        {
            const Point at =
                uniform(rng, Point(), Point(c.source.cols - templ.cols + 1, c.source.rows - templ.rows + 1));
            c.regions.push_back(Rect(at, templ.size()));
            templ = c.source(c.regions.back()).clone();
        }
        scene.templates.push_back(templ);
        scene.weights.push_back(weights);
    }
    c.templates = scene.templates;
    if (weightKind != scenes::NO_WEIGHTS)
        c.weights = scene.weights;
}

inline void randomCalls(RNG& rng, FragmentMatcherCase& c)
{
    const Scene& scene = c.scene;
    c.calls = rng.uniform(0, 64);
    c.calls &= rng.uniform(0, 64);
    c.index = rng.uniform(0, static_cast<int>(scene.templates.size()));
    c.area = scene.areas.empty() ? Rect() : scene.areas[c.index];
    c.radius = onceIn(rng, 10) ? 100000 : rng.uniform(0, 40);
    size_t pixels = 0; // of the largest fragment
    for (const Mat& templ : scene.templates)
        pixels = std::max(pixels, templ.total());
    c.depth = CV_32F;
    const size_t most = scene.frame.depth() == CV_16U ? 0u : scene.params.metric == FM::SAD ? 11008u : 43u;
    if (scene.params.metric != FM::ZNCC)
        c.depth = pixels <= most ? oneOf<int>(rng, {CV_32F, CV_32S, CV_64F}) : oneOf<int>(rng, {CV_32F, CV_64F});
}

inline FragmentMatcherCase makeFragmentMatcherCase(int64 seed, int64 number)
{
    RNG rng = rngOf(seed, number);
    FragmentMatcherCase c;
    Scene& scene = c.scene;
    c.placement = mixed(rng.next(), 7);
    c.fragmentsOnHost = onceIn(rng, 3);
    c.areasOnDevice = onceIn(rng, 2);
    int count = onceIn(rng, 20) ? rng.uniform(30, 200) : rng.uniform(1, 12);
    int maxSide = oneOf<int>(rng, {8, 24, 24, 40, 64, 100, 232}), weightKind = rng.uniform(0, 4);
    const double limit = onceIn(rng, 3) ? 2e6 : onceIn(rng, 12) ? 3e8 : 2e7;
    const bool known = knownShape(rng, c, count, maxSide, weightKind);
    if (!known)
    {
        scene.params = randomParams(rng);
        const int levels[] = {256, 256, 8, 2, 1};
        Size size = randomSize(rng);
        if (!onceIn(rng, 5)) // fragments fit into most frames
        {
            const Size least = uniform(rng, Size(20, 20), Size(300, 300));
            size = Size(std::max(size.width, least.width), std::max(size.height, least.height));
            maxSide = std::min(maxSide, std::min(size.width, size.height));
        }
        const std::vector<int> types = scenes::typesOf(scene.params.metric);
        const int levelCount = levels[rng.uniform(0, 5)], blur = rng.uniform(1, 6);
        const int type = types[rng.uniform(0, static_cast<int>(types.size()))];
        scene.frame = randomImage(rng, size, type, blur, levelCount);
    }
    randomFragments(rng, c, count, maxSide, weightKind);
    randomEdits(rng, c, maxSide, weightKind);
    count = static_cast<int>(scene.templates.size());
    if (!onceIn(rng, 5) || known)
        for (const Mat& templ : scene.templates)
            scene.areas.push_back(areaOf(rng, scene.frame.size(), templ.size()));
    c.work = limitWork(rng, scene, limit);
    if (!known && onceIn(rng, 3))
        scene.params.maxSearchArea = uniform(rng, Size(1, 1), Size(300, 300));
    scene.predictions = Mat(count, 1, CV_32SC2);
    for (int i = 0; i < count; ++i)
        scene.predictions.at<Point>(i) =
            onceIn(rng, 9) ? Point(-1, -1)
                           : uniform(rng, Point(-9, -9), Point(scene.frame.cols + 9, scene.frame.rows + 9));
    randomCalls(rng, c);
    c.what = cv::format("frame %d x %d %s, %d fragments up to %d, weights %d, %zu edits, areas %s, calls %d, %s",
                        scene.frame.cols, scene.frame.rows, typeToString(scene.frame.type()).c_str(), count, maxSide,
                        weightKind, c.edits.size(),
                        scene.areas.empty() ? "none" : (c.areasOnDevice ? "on the device" : "on the host"), c.calls,
                        scenes::describe(scene.params).c_str());
    return c;
}

/** Which areas the CUDA engine refuses to search. The CPU engine is given empty ones in their place, and the status is
mended after. */
inline std::vector<bool> areasTooLarge(const FragmentMatcherCase& c)
{
    const Scene& scene = c.scene;
    std::vector<bool> large(scene.templates.size(), false);
    if (!c.areasOnDevice || scene.areas.empty())
        return large;
    const Size frame = scene.frame.size(), limit = scene.params.maxSearchArea;
    for (size_t i = 0; i < large.size(); ++i)
    {
        Point origin;
        Size positions, one(1, 1);
        const Size size = scene.templates[i].size();
        if (!oracle::searchWindow(scene.areas[i], frame, size, origin, positions))
            continue;
        const Size area = positions + size - one;
        large[i] = area.width > limit.width || area.height > limit.height;
    }
    return large;
}

//! Everything of find() or convert() as arrays.
inline void flatten(Arrays& arrays, const std::string& name, const std::vector<scenes::FragmentMatch>& matches)
{
    Mat table(0, 7, CV_64F);
    for (size_t i = 0; i < matches.size(); ++i)
    {
        const scenes::FragmentMatch& m = matches[i];
        for (size_t j = 0; j < std::max<size_t>(m.locations.size(), 1); ++j)
        {
            const bool any = j < m.locations.size();
            const Mat row(Matx<double, 1, 8>(double(i), m.confidence, m.status, any ? m.locations[j].x : -1,
                                             any ? m.locations[j].y : -1, any ? m.refined[j].x : -1,
                                             any ? m.refined[j].y : -1, any ? m.scores[j] : 0));
            table = table.empty() ? row : (vconcat(table, row, table), table);
        }
    }
    arrays.value(name, table);
}

//! One instance with the case's fragments, and all of its calls.
class FragmentMatcherRun
{
public:
    FragmentMatcherRun(const FragmentMatcherCase& given, Arrays& arrays)
        : c(given),
          a(arrays),
          cuda_(arrays.engine() == Engine::CUDA),
          large_(areasTooLarge(given)),
          matcher(FM::create(given.scene.params))
    {}

    void giveFragments()
    {
        const bool device = cuda_ && !c.fragmentsOnHost;
        if (c.regions.empty())
            matcher->setFragments(a.list(c.templates, device),
                                  c.weights.empty() ? noArray() : a.list(c.weights, device), a.stream());
        else
            matcher->cutFragments(device ? a.inDevice(c.source) : a.inHost(c.source), c.regions,
                                  c.weights.empty() ? noArray() : a.list(c.weights, device), a.stream());
        for (const FragmentMatcherCase::Edit& edit : c.edits)
        {
            const auto place = [&](const Mat& m) -> const _InputArray& {
                return m.empty() ? static_cast<const _InputArray&>(noArray()) : device ? a.inDevice(m) : a.inHost(m);
            };
            if (edit.kind == FragmentMatcherCase::Edit::ADD)
                matcher->addFragment(place(edit.templ), place(edit.weights), a.stream());
            else if (edit.kind == FragmentMatcherCase::Edit::UPDATE)
                matcher->updateFragment(edit.index, place(edit.templ), place(edit.weights), a.stream());
            else
                matcher->removeFragment(edit.index);
        }
        if (c.scene.params.search == FM::THREE_STEP)
            matcher->setPredictions(a.points(c.scene.predictions, cuda_));
        a.number("fragments", matcher->getFragmentCount());
    }

    void match(const std::string& name)
    {
        const int n = static_cast<int>(c.scene.templates.size()), K = c.scene.params.peaks;
        const _InputArray &frame = a.in(c.scene.frame), &searchAreas = areas(true);
        const _OutputArray& locations = a.out(name + "locations", Size(K, n), CV_32SC2);
        const _OutputArray& scores = a.out(name + "scores", Size(K, n), CV_32FC1, true);
        const _OutputArray& confidence = a.out(name + "confidence", Size(1, n), CV_32FC1, true);
        const _OutputArray& status = a.out(name + "status", Size(1, n), CV_8UC1, true);
        const _OutputArray& refined = a.out(name + "refined", Size(K, n), CV_32FC2, true);
        matcher->match(frame, searchAreas, locations, scores, confidence, status, refined, a.stream());
    }

    void furtherCalls()
    {
        if (c.calls & FragmentMatcherCase::FIND)
        {
            std::vector<scenes::FragmentMatch> matches;
            matcher->find(a.in(c.scene.frame), areas(true), matches, a.stream());
            flatten(a, "find", mended(matches));
        }
        if (c.calls & FragmentMatcherCase::CONVERT)
            convert();
        if (c.calls & FragmentMatcherCase::SCORE_MAP)
            scoreMap();
        if (c.calls & FragmentMatcherCase::SCORE_MAPS)
        {
            int total = 0;
            for (int i = 0; i < static_cast<int>(c.scene.templates.size()); ++i)
                total += positionsOf(i, c.scene.areas.empty() ? whole() : c.scene.areas[i]).area();
            std::vector<int> offsets;
            matcher->scoreMaps(a.in(c.scene.frame), areas(false), a.out("maps", Size(total, total ? 1 : 0), depth()),
                               offsets, c.depth, a.stream());
            a.value("offsets", columnOf(offsets));
        }
        if (c.calls & FragmentMatcherCase::PREDICT)
            matcher->predictAreas(a.points(c.scene.predictions, cuda_), c.radius, c.scene.frame.size(),
                                  a.out("areas", Size(1, static_cast<int>(c.scene.templates.size())), CV_32SC4),
                                  a.stream());
        if (c.calls & FragmentMatcherCase::AGAIN)
            match("again: ");
    }

    //! Expected report of an area in device memory that is larger than Params::maxSearchArea.
    void mendStatus(Outputs& outputs) const
    {
        for (auto& output : outputs)
            for (size_t i = 0; i < large_.size(); ++i)
                if (!cuda_ && large_[i] && (output.first == "status" || output.first == "again: status"))
                    output.second.at<uchar>(static_cast<int>(i)) = FM::AREA_TOO_LARGE;
    }

private:
    Rect whole() const { return Rect(Point(), c.scene.frame.size()); }
    int depth() const { return CV_MAKETYPE(c.depth, 1); }

    Size positionsOf(int i, const Rect& area) const
    {
        Point origin;
        Size positions;
        oracle::searchWindow(area, c.scene.frame.size(), c.scene.templates[i].size(), origin, positions);
        return positions;
    }

    //! `limited`: for a call to which Params::maxSearchArea matters.
    const _InputArray& areas(bool limited)
    {
        if (c.scene.areas.empty())
            return noArray();
        std::vector<Rect> list = c.scene.areas;
        for (size_t i = 0; i < list.size(); ++i)
            if (limited && !cuda_ && large_[i])
                list[i] = Rect();
        return a.rects(list, limited && cuda_ && c.areasOnDevice);
    }

    std::vector<scenes::FragmentMatch> mended(std::vector<scenes::FragmentMatch> matches) const
    {
        for (size_t i = 0; i < large_.size() && i < matches.size(); ++i)
            if (!cuda_ && large_[i])
                matches[i].status = FM::AREA_TOO_LARGE;
        return matches;
    }

    void scoreMap()
    {
        const Size positions = positionsOf(c.index, c.area == Rect() ? whole() : c.area);
        matcher->scoreMap(c.index, a.in(c.scene.frame), c.area, a.out("map", positions, depth()), c.depth, a.stream());
    }

    void convert()
    {
        std::vector<scenes::FragmentMatch> matches;
        if (cuda_)
        {
            GpuMat m[5];
            matcher->match(a.in(c.scene.frame), areas(true), m[0], m[1], m[2], m[3], m[4], a.stream());
            matcher->convert(m[0], m[1], m[2], m[3], m[4], matches, a.stream());
        }
        else
        {
            Mat m[5];
            matcher->match(a.in(c.scene.frame), areas(true), m[0], m[1], m[2], m[3], m[4]);
            matcher->convert(m[0], m[1], m[2], m[3], m[4], matches);
        }
        flatten(a, "convert", mended(matches));
    }

    const FragmentMatcherCase& c;
    Arrays& a;
    const bool cuda_;
    const std::vector<bool> large_;

public:
    const Ptr<FM> matcher;
};

inline Outputs runFragmentMatcher(const FragmentMatcherCase& c, Engine engine, bool plain)
{
    Arrays arrays(engine, c.placement, plain);
    FragmentMatcherRun run(c, arrays);
    run.giveFragments();
    run.match("");
    run.furtherCalls();
    Outputs outputs = arrays.collect();
    run.mendStatus(outputs);
    return outputs;
}

//! Results of the oracle under the names of the outputs; not all outputs. For cases of little work.
inline Outputs oracleOf(const FragmentMatcherCase& c)
{
    Scene scene = c.scene;
    const std::vector<bool> large = areasTooLarge(c);
    for (size_t i = 0; i < large.size(); ++i)
        if (large[i])
            scene.areas[i] = Rect();
    oracle::Result r = scenes::expected(scene);
    for (size_t i = 0; i < large.size(); ++i)
        if (large[i])
            r.status.at<uchar>(static_cast<int>(i)) = FM::AREA_TOO_LARGE;
    Outputs outputs = {{"locations", r.locations},
                       {"scores", r.scores},
                       {"confidence", r.confidence},
                       {"status", r.status},
                       {"refined", r.refined}};
    const Mat weights = scene.weights.empty() ? Mat() : scene.weights[c.index];
    const Rect area = c.area == Rect() ? Rect(Point(), scene.frame.size()) : c.area;
    const oracle::Map map = oracle::scoreMap(scene.frame, scene.templates[c.index], weights, area, scene.params.metric);
    Mat values;
    if (!map.costs.empty())
        (c.depth == CV_32F ? columnOf(map.scores) : columnOf(map.costs))
            .reshape(1, map.positions.height)
            .convertTo(values, c.depth);
    outputs.emplace_back("map", values);
    return outputs;
}

}} // namespace opencv_test::fuzz

#endif // OPENCV_CUDATRACKING_TEST_FRAGMENT_MATCHER_FUZZ_HPP
