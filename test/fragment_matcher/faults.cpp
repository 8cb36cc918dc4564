// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher when calls into the CUDA runtime or allocations fail, at any point of a method.
#include "scenes_cuda.hpp"
#include "../common/faults_each.hpp"
#include "plans.hpp"

namespace opencv_test { namespace {

using namespace scenes;
using namespace faults;
using cuda::WindowGrid;

//! Routes that small scenes do not take: by matrix instructions, which need more work, and by slices of large
//! fragments.
enum Way
{
    SMALL, //!< none of them
    SLICES_ZNCC,
    FUSED_ZNCC,
    BANDS_ZNCC,
    BANDS_SSD_WEIGHTED,
    TRANSFORMS_ZNCC,
    WAYS
};

//! Returns a scene that takes this route on the device of routesOnCuda.
Scene sceneOf(Way way)
{
    RNG rng(8201 + way);
    Scene scene;
    scene.params = makeParams(way == BANDS_SSD_WEIGHTED ? FM::SSD : FM::ZNCC, 3, FM::SQUARE, 3, FM::FULL, true);
    scene.frame = randomImage(rng, way == BANDS_SSD_WEIGHTED ? Size(640, 540) : Size(350, 380), CV_8UC1);
    const auto add = [&](Size size, Size window)
    {
        const Rect area(Point(3, 2), size + window - Size(1, 1));
        scene.areas.push_back(area);
        scene.templates.push_back(scene.frame(Rect(area.br() - Point(size) - Point(2, 2), size)).clone());
        if (way == BANDS_SSD_WEIGHTED)
            scene.weights.push_back(randomWeights(rng, size, CV_8UC1));
    };
    for (int i = 0; i < 3 && way == FUSED_ZNCC; ++i)
    {
        add(Size(10, 17), Size(40, 48));
        add(Size(22, 23), Size(41, 33));
    }
    if (way == SLICES_ZNCC)
        add(Size(70, 90), Size(21, 23));
    else if (way == BANDS_ZNCC)
        add(Size(40, 40), Size(300, 300));
    for (int i = 0; i < 2 && way == BANDS_SSD_WEIGHTED; ++i)
        add(Size(31, 30), Size(600, 502));
    if (way == TRANSFORMS_ZNCC)
        add(Size(180, 270), Size(160, 105));
    scene.predictions = Mat(static_cast<int>(scene.templates.size()), 1, CV_32SC2, Scalar(60, 50));
    return scene;
}

//! A matcher with fragments, and everything that its methods take.
class Fragments : public Arguments
{
public:
    // Bits of a variant.
    static const int USED = 1;     //!< it has matched smaller fragments before: its memory has to grow
    static const int HOST = 2;     //!< fragments of the host, also for the CUDA engine
    static const int WEIGHTED = 4; //!< fragments with weights
    static const int DEEP = 8;     //!< images of 16 bits
    static const int WAY = 16;     //!< times a Way

    Fragments(Engine engine, int variant)
        : Arguments(engine, 5),
          fromHost(!cuda || (variant & HOST)),
          observed(variant < WAY ? Rect(1, 2, 55, 48) : Rect(0, 0, 344, 375))
    {
        RNG rng(8200);
        if (variant >= WAY)
            scene = sceneOf(static_cast<Way>(variant / WAY));
        else
        {
            scene = randomScene(rng, makeParams(FM::SSD, 2, FM::SQUARE, 3, FM::FULL, true),
                                variant & DEEP ? CV_16UC3 : CV_8UC3, variant & WEIGHTED ? WEIGHTS_8U : NO_WEIGHTS,
                                Size(83, 61), 24, 5);
            scene.areas.assign(5, Rect(3, 2, 60, 50));
        }
        std::vector<Mat> images;
        for (const Mat& templ : scene.templates)
            images.push_back(randomImage(rng, templ.size(), templ.type()));
        others = &list(images, fromHost);
        large = {fromHost ? Engine::CPU : Engine::CUDA, scene.frame(Rect(1, 1, 40, 30))};
        matcher = FM::create(scene.params);
        const int windows = grid.size().area();
        numbers = {engine, Mat(windows, 1, CV_32FC1, Scalar(2.4))};
        pairs = {engine, Mat(windows, 1, CV_32FC2, Scalar(20, 30))};
        boxes = {engine, Mat(windows, 1, CV_32SC4, Scalar(15, 25, 30, 30))};
        status = {engine, Mat(windows, 1, CV_8UC1, Scalar(FM::FOUND))};
        frame = {engine, scene.frame};
        areas = {engine, columnOf(scene.areas)};
        points = {engine, scene.predictions};
        if (variant & USED)
        {
            const std::vector<Mat> small(2, scene.frame(Rect(3, 3, 5, 4)).clone());
            matcher->setFragments(list(small, fromHost), noArray(), stream());
            matcher->match(frame.in(), noArray(), out(0), noArray(), noArray(), noArray(), noArray(), stream());
        }
        matcher->setFragments(list(scene.templates, fromHost),
                              scene.weights.empty() ? noArray() : list(scene.weights, fromHost), stream());
        wait();
    }

    //! Where the fragments are.
    const _InputArray& list(const std::vector<Mat>& mats, bool onHost)
    {
        lists_.push_back(mats);
        deviceLists_.emplace_back();
        if (!onHost)
            deviceLists_.back() = uploadRois(mats);
        arrays_.push_back(onHost ? _InputArray(lists_.back()) : _InputArray(deviceLists_.back()));
        return arrays_.back();
    }

    void match() { matcher->match(frame.in(), areas.in(), out(0), out(1), out(2), out(3), out(4), stream()); }

    Outputs given()
    {
        Outputs outputs = Arguments::given();
        outputs.emplace_back("offsets", columnOf(offsets));
        for (const FragmentMatch& found : matches)
        {
            outputs.emplace_back("locations", columnOf(found.locations));
            outputs.emplace_back("scores", columnOf(found.scores));
        }
        return outputs;
    }

    Outputs observe()
    {
        wait();
        Outputs outputs;
        const int count = matcher->getFragmentCount();
        outputs.emplace_back("count", Mat(1, 1, CV_32S, Scalar(count)));
        for (int i = 0; i < count; ++i)
            outputs.emplace_back("width", Mat(1, 1, CV_32S, Scalar(matcher->getFragmentSize(i).width)));
        if (count == 0)
            return outputs;
        const FM::Params params = matcher->getParams();
        FM::Params walk = params;
        walk.search = FM::THREE_STEP;
        for (const bool walks : {false, true})
        {
            if (walks && count != scene.predictions.rows)
                break; // the predictions do not fit
            matcher->setParams(walks ? walk : params);
            Mat m[5];
            matcher->match(frame.in(), std::vector<Rect>(count, observed), m[0], m[1], m[2], m[3], m[4], stream());
            for (const Mat& mat : m)
                outputs.emplace_back("match", mat);
        }
        matcher->setParams(params);
        return outputs;
    }

    const bool fromHost;
    const Rect observed; //!< area that observe() searches
    Scene scene;
    const _InputArray* others; //!< images of the templates' sizes
    Ptr<FM> matcher;
    fuzz::Image frame, areas, points, large; //!< large: larger than the fragments
    const WindowGrid grid = WindowGrid::create(Size(83, 61), Size(12, 10), Size(9, 8));
    //! Motion or scores, positions, areas and states of the grid's windows.
    fuzz::Image numbers, pairs, boxes, status;
    std::vector<int> offsets;
    std::vector<FragmentMatch> matches;

private:
    std::deque<std::vector<Mat>> lists_;
    std::deque<std::vector<GpuMat>> deviceLists_;
    std::deque<_InputArray> arrays_;
};

typedef Scenario<Fragments> S;

std::vector<S> edits()
{
    return {
        {"setFragments", EAGER, [](Fragments& f) { f.matcher->setFragments(*f.others, noArray(), f.stream()); }},
        {"cutFragments", EAGER,
         [](Fragments& f)
         { f.matcher->cutFragments(f.frame.in(), std::vector<Rect>(7, Rect(5, 6, 30, 20)), noArray(), f.stream()); }},
        {"addFragment", EAGER, [](Fragments& f) { f.matcher->addFragment(f.large.in(), noArray(), f.stream()); }},
        {"updateFragment, larger", EAGER,
         [](Fragments& f) { f.matcher->updateFragment(2, f.large.in(), noArray(), f.stream()); }},
        {"removeFragment", EAGER, [](Fragments& f) { f.matcher->removeFragment(0); }},
        {"clear", EAGER, [](Fragments& f) { f.matcher->clear(); }},
        {"setPredictions", EAGER, [](Fragments& f) { f.matcher->setPredictions(f.points.in()); }},
        {"setParams", EAGER, [](Fragments& f) { f.matcher->setParams(makeParams(FM::ZNCC, 3)); }},
    };
}

std::vector<S> searches()
{
    return {
        {"match", EAGER | CAPTURED, [](Fragments& f) { f.match(); }},
        {"match, the whole frame", EAGER | CAPTURED,
         [](Fragments& f) {
             f.matcher->match(f.frame.in(), noArray(), f.out(0), f.out(1), noArray(), f.out(3), noArray(), f.stream());
         }},
        {"match, areas on the host", EAGER | CAPTURED,
         [](Fragments& f) {
             f.matcher->match(f.frame.in(), f.scene.areas, f.out(0), f.out(1), f.out(2), f.out(3), f.out(4),
                              f.stream());
         }},
        {"match to the host", EAGER,
         [](Fragments& f) {
             f.matcher->match(f.frame.in(), f.areas.in(), f.host[0], f.host[1], f.host[2], f.host[3], f.host[4],
                              f.stream());
         }},
        {"find", EAGER, [](Fragments& f) { f.matcher->find(f.frame.in(), f.areas.in(), f.matches, f.stream()); }},
        {"scoreMap", EAGER | CAPTURED,
         [](Fragments& f) { f.matcher->scoreMap(1, f.frame.in(), Rect(3, 3, 70, 50), f.out(0), CV_32F, f.stream()); }},
        {"scoreMap to the host", EAGER,
         [](Fragments& f) { f.matcher->scoreMap(1, f.frame.in(), Rect(3, 3, 70, 50), f.host[0], CV_64F, f.stream()); }},
        {"scoreMaps", EAGER | CAPTURED,
         [](Fragments& f)
         { f.matcher->scoreMaps(f.frame.in(), f.scene.areas, f.out(0), f.offsets, CV_32F, f.stream()); }},
        {"predictAreas", EAGER | CAPTURED,
         [](Fragments& f) { f.matcher->predictAreas(f.points.in(), 9, Size(83, 61), f.out(0), f.stream()); }},
        {"predictAreas to the host", EAGER,
         [](Fragments& f) { f.matcher->predictAreas(f.points.in(), 9, Size(83, 61), f.host[0], f.stream()); }},
        {"areas of windows", EAGER | CAPTURED,
         [](Fragments& f) { f.grid.areas(Size(4, 3), f.numbers.in(), f.numbers.in(), f.out(0), f.stream()); }},
        {"field of windows", EAGER | CAPTURED,
         [](Fragments& f)
         {
             f.grid.field(f.boxes.in(), f.pairs.in(), f.numbers.in(), f.numbers.in(), f.status.in(), f.out(0), f.out(1),
                          f.out(2), f.out(3), f.out(4), f.stream());
         }},
        {"a step of tracking", CAPTURED,
         [](Fragments& f)
         {
             std::vector<Rect> regions;
             for (const Mat& templ : f.scene.templates)
                 regions.push_back(Rect(Point(4, 5), templ.size()));
             f.matcher->cutFragments(f.frame.in(), regions, noArray(), f.stream());
             f.match();
         }},
    };
}

TEST(FragmentMatcher_Faults, memoryEdits) { failAll(MEMORY, EAGER, Engine::CPU, 16, edits()); }
TEST(FragmentMatcher_Faults, memorySearches) { failAll(MEMORY, EAGER, Engine::CPU, 16, searches()); }

TEST(FragmentMatcher_Faults, editsOnCuda) { failAll(faults::CUDA, EAGER, Engine::CUDA, 4, edits()); }

TEST(FragmentMatcher_Faults, searchesOnCuda) { failAll(faults::CUDA, EAGER, Engine::CUDA, 8, searches()); }

TEST(FragmentMatcher_Faults, capturesOnCuda)
{
    // Not of fragments on the host: those have to be on the device already.
    failAll(faults::CUDA, CAPTURED, Engine::CUDA, 2, searches());
}

//! Routes that small scenes do not take, also in captures, with scenes as large as they need.
TEST(FragmentMatcher_Faults, routesOnCuda)
{
    requireCuda();
    plans::require();
#ifdef CUDATRACKING_HAS_PLANS
    faults::require(faults::CUDA);
    const char* const routes[WAYS] = {
        "", "SLICES", "FUSED_BANDS ZNCC", "BANDS ZNCC", "BANDS SSD weighted", "TRANSFORMS ZNCC"};
    std::vector<S> match;
    for (const S& scenario : searches())
        if (std::string(scenario.name) == "match, areas on the host" || std::string(scenario.name) == "scoreMaps")
            match.push_back(scenario);
    ASSERT_EQ(2u, match.size());
    for (int way = SMALL + 1; way < WAYS && !HasFailure(); ++way)
    {
        const Scene scene = sceneOf(static_cast<Way>(way));
        // A device on which the route is taken, whatever the real one is; transforms need fast double precision.
        const DeviceLimits limits = {way == TRANSFORMS_ZNCC ? 166912 : 101376, 132};
        const FakedLimits faked(limits);
        int bytes = 0, ratio = 0;
        ASSERT_EQ(cudaSuccess,
                  cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, cuda::getDevice()));
        ASSERT_EQ(cudaSuccess,
                  cudaDeviceGetAttribute(&ratio, cudaDevAttrSingleToDoublePrecisionPerfRatio, cuda::getDevice()));
        if (way == TRANSFORMS_ZNCC && (bytes < limits.sharedBytes || ratio > 4))
            continue; // no transforms on this device
        if (bytes < limits.sharedBytes)
            throw SkipTestException("this device has less shared memory");
        const plans::MatchCall call(scene, limits.sharedBytes, limits.multiprocessors);
        ASSERT_EQ(plans::Routes{routes[way]}, plans::routesOf(call)) << call.describe();
        failAll(faults::CUDA, EAGER, Engine::CUDA, 2, match, way * Fragments::WAY);
        failAll(faults::CUDA, CAPTURED, Engine::CUDA, 2, match, way * Fragments::WAY);
    }
#endif
}

TEST(FragmentMatcher_Faults, memoryOnCuda)
{
    failAll(MEMORY, EAGER, Engine::CUDA, 2, edits());
    failAll(MEMORY, EAGER, Engine::CUDA, 2, searches());
    failAll(MEMORY, CAPTURED, Engine::CUDA, 2, searches());
}

}} // namespace opencv_test
