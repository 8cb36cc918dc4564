// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Numbers that plans count on, against the CUDA runtime's; limits of other devices, faked.
#include "../fragment_matcher/scenes_cuda.hpp"
#include "faults.hpp"
#include "../cascade/fuzz.hpp"
#include "../fragment_matcher/fuzz_routes.hpp"
#include "../quick_shift/fuzz.hpp"
#include "../tld/fuzz.hpp"
#include "../fragment_matcher/plans.hpp"
#include "../tld/scenes.hpp"
#if defined(HAVE_CUDA) && defined(CUDATRACKING_HAS_PLANS)
#include "../../src/cuda/cascade/classify.hpp"
#include "../../src/cuda/tld/plan.hpp"
#endif

namespace opencv_test { namespace {

using namespace scenes;
using faults::DeviceLimits;
using faults::FakedLimits;
using Common_CudaPlans = OnCuda;
using Common_CudaPlansSanitize = OnCuda;

#if defined(HAVE_CUDA) && defined(CUDATRACKING_HAS_PLANS)

int attributeOf(cudaDeviceAttr attribute)
{
    int value = 0;
    EXPECT_EQ(cudaSuccess, cudaDeviceGetAttribute(&value, attribute, cuda::getDevice()));
    return value;
}

//! A search by matrix instructions that takes much shared memory: one large fragment.
Scene largeScene()
{
    Scene scene;
    scene.params = makeParams(FM::ZNCC, 2);
    scene.frame = randomImage(0x3C6EF372, Size(301, 297), CV_8UC3);
    scene.templates.push_back(scene.frame(Rect(9, 4, 90, 91)).clone());
    return scene;
}

//! Something that moves a little from frame to frame, in images with so many windows that posteriors are copied to
//! shared memory.
struct Moving
{
    tld::Composite composite{Size(640, 480), {Size(48, 40)}};

    tld::Placement at(int t) const { return {Point2d(70 + 2 * t, 60 + t), 1., 0., 0., true}; }
    Mat frame(int t) const { return composite.frame(at(t)); }
    Rect box(int t) const { return composite.box(at(t)); }
};

//! The launch with the most shared memory.
faults::Launched largestLaunch()
{
    faults::Launched largest = {};
    for (const faults::Launched& k : faults::launched())
        if (k.staticBytes + k.mostDynamicBytes > largest.staticBytes + largest.mostDynamicBytes)
            largest = k;
    return largest;
}

//! Attributes say the faked limits, plans keep to them, and what does not is refused as the small device would.
TEST_F(Common_CudaPlans, fakedLimitsAreSeen)
{
    faults::require(faults::CUDA);
    for (const DeviceLimits limits : {DeviceLimits{65536, 30}, DeviceLimits{101376, 170}})
    {
        const FakedLimits truth({0, 0}); // whatever the environment says
        const int trueBytes = attributeOf(cudaDevAttrMaxSharedMemoryPerBlockOptin);
        if (trueBytes <= limits.sharedBytes)
            throw SkipTestException("this device has no more shared memory than the limits to be faked");
        faults::clearLaunched();
        const Scene scene = largeScene();
        const Result expected = runCpu(scene);
        // TLD's ferns keep their posteriors in shared memory where there is room: 160 KB.
        const Moving video;
        const tld::TLDParams withFilter = tld::paramsOf("filter 1");
        const auto track = [&](fuzz::Engine engine)
        { return tld::follow(*tld::trackerOn(video, engine, withFilter), video, engine, 1, 4); };
        const std::vector<tld::Step> steps = track(fuzz::Engine::CPU);
        expectSame(expected, runCuda(scene));
        tld::expectSame(steps, track(fuzz::Engine::CUDA));
        const faults::Launched large = largestLaunch();
        ASSERT_TRUE(large.kernel);
        EXPECT_GT(large.staticBytes + large.mostDynamicBytes, static_cast<size_t>(limits.sharedBytes))
            << "no use as a test";

        const int64 before = faults::refusedByLimits();
        const FakedLimits faked(limits);
        EXPECT_EQ(limits.sharedBytes, attributeOf(cudaDevAttrMaxSharedMemoryPerBlockOptin));
        EXPECT_EQ(limits.multiprocessors, attributeOf(cudaDevAttrMultiProcessorCount));
        faults::clearLaunched();
        expectSame(expected, runCuda(scene)); // by other plans
        tld::expectSame(steps, track(fuzz::Engine::CUDA));
        EXPECT_EQ(before, faults::refusedByLimits());
        const faults::Launched small = largestLaunch();
        EXPECT_LE(small.staticBytes + small.mostDynamicBytes, static_cast<size_t>(limits.sharedBytes));

        const int most = limits.sharedBytes - static_cast<int>(large.staticBytes);
        const auto allow = [&](int bytes)
        { return cudaFuncSetAttribute(large.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes); };
        EXPECT_EQ(cudaErrorInvalidValue, allow(most + 1));
        cudaLaunchConfig_t config = {};
        config.gridDim = config.blockDim = dim3(1);
        config.dynamicSmemBytes = most + 1;
        void* none[1] = {};
        EXPECT_EQ(cudaErrorInvalidValue, cudaLaunchKernelExC(&config, large.kernel, none));
        EXPECT_EQ(before + 2, faults::refusedByLimits());
        EXPECT_NE(cudaSuccess, cudaGetLastError()) << "the runtime remembers it, as a true failure";
        EXPECT_EQ(cudaSuccess, allow(most));
        const FakedLimits again({0, 0});
        expectSame(expected, runCuda(scene));
        tld::expectSame(steps, track(fuzz::Engine::CUDA));
    }
}

//! Mangled: the length of each part stands before it.
std::string nameOf(const faults::Launched& launch)
{
    const char* name = "";
    EXPECT_EQ(cudaSuccess, cudaFuncGetName(&name, launch.kernel));
    return name;
}

//! Kernels with dynamic shared memory, and how much static memory plans leave each.
struct Known
{
    const char* kernel;
    size_t staticBytes;
};
const Known KNOWN[] = {{"matchFusedKernel", plans::gpu::ONE_BLOCK_STATIC_BYTES},
                       {"matchFusedBandsKernel", plans::gpu::ONE_BLOCK_STATIC_BYTES},
                       {"matchFusedDeepBandsKernel", plans::gpu::ONE_BLOCK_STATIC_BYTES},
                       {"matchTilesKernel", plans::tuning::TILE_STATIC_BYTES},
                       {"matchSlicesKernel", plans::tuning::SLICE_STATIC_BYTES},
                       {"correlateBandsKernel", plans::gpu::CORRELATE_STATIC_BYTES},
                       {"bandValuesKernel", plans::tuning::TILE_STATIC_BYTES},
                       {"correlateDeepKernel", plans::gpu::CORRELATE_STATIC_BYTES},
                       {"deepValuesKernel", plans::tuning::TILE_STATIC_BYTES},
                       {"multiplyColumnsKernel", 0},
                       {"weighBytes", 0},
                       {"weighPlanes", 0},
                       {"searchNear", 0},
                       {"classifyPairTiles", cv::cuda::cascade::gpu::STATIC_BYTES},
                       {"fernCodes", cv::cuda::tld::gpu::ENCODE_STATIC_BYTES},
                       {"fernPosteriors", cv::cuda::tld::gpu::POSTERIOR_STATIC_BYTES},
                       {"learnNegatives", cv::cuda::tld::gpu::LEARN_NEGATIVES_STATIC_BYTES},
                       {"integrateObjects", 0},
                       {"medianFlow", 0}};

//! The compiler's numbers of static memory are not above those that plans count on, for all kernels that random cases
//! meet.
TEST_F(Common_CudaPlans, staticMemory)
{
    faults::require(faults::CUDA);
    const FakedLimits truth({0, 0});
    faults::clearLaunched();
    for (int64 n = 0; n < 250; ++n)
    {
        const auto run = [&](const auto& make, const auto& call) { call(make(77, n), fuzz::Engine::CUDA, true); };
        run(fuzz::makeRoutedCase, fuzz::runFragmentMatcher);
        if (n % 5 == 0)
            run(fuzz::makeQuickShiftCase, fuzz::runQuickShift);
        if (n % 5 == 1)
            run(fuzz::makeCascadeCase, fuzz::runCascade);
        if (n % 10 == 2)
            run(fuzz::makeTldCase, fuzz::runTld);
    }
    Scene scene = randomScene(77, makeParams(FM::SAD), CV_8UC1, NO_WEIGHTS);
    scene.areas.assign(scene.templates.size(), Rect(0, 0, 40, 40));
    scene.params.maxSearchArea = Size(40, 40);
    const Ptr<FM> matcher = matcherOnDevice(scene);
    const GpuMat frame(scene.frame), areas = uploadAreas(scene.areas);
    runOnDevice(*matcher, frame, areas);
    const size_t limit = static_cast<size_t>(attributeOf(cudaDevAttrMaxSharedMemoryPerBlockOptin));
    std::vector<int> seen(sizeof(KNOWN) / sizeof(KNOWN[0]), 0);
    for (const faults::Launched& k : faults::launched())
    {
        if (k.mostDynamicBytes == 0)
            continue;
        const std::string name = nameOf(k);
        EXPECT_LE(k.staticBytes + k.mostDynamicBytes, limit) << name;
        bool known = false;
        for (size_t i = 0; i < seen.size(); ++i)
        {
            const std::string mangled = std::to_string(std::strlen(KNOWN[i].kernel)) + KNOWN[i].kernel;
            if (name.find(mangled) == std::string::npos)
                continue;
            known = true;
            ++seen[i];
            EXPECT_LE(k.staticBytes, KNOWN[i].staticBytes) << name;
        }
        EXPECT_TRUE(known) << name
                           << " has dynamic shared memory: the table of this test must say what its plan leaves it";
    }
    // Smaller devices have no use for dynamic memory of some of them.
    for (size_t i = 0; i < seen.size() && limit >= 232448; ++i)
        EXPECT_GT(seen[i], 0) << "no case has met " << KNOWN[i].kernel;
}

//! With default parameters TLD's kernels are those of fixed sizes, whether shared memory holds the posteriors or not.
TEST_F(Common_CudaPlans, tldWithoutRoomForPosteriors)
{
    faults::require(faults::CUDA);
    const Moving scene;
    const std::vector<tld::Step> expected =
        tld::follow(*tld::trackerOn(scene, fuzz::Engine::CPU), scene, fuzz::Engine::CPU, 1, 9);
    for (const int bytes : {65536, 101376, 166912})
    {
        const FakedLimits faked({bytes, 46});
        faults::clearLaunched();
        tld::expectSame(expected,
                        tld::follow(*tld::trackerOn(scene, fuzz::Engine::CUDA), scene, fuzz::Engine::CUDA, 1, 9));
        for (const std::string kernel : {"14fernPosteriors", "14learnNegatives"})
        {
            int fixed = 0, any = 0;
            for (const faults::Launched& k : faults::launched())
            {
                const std::string name = nameOf(k);
                fixed += name.find(kernel + "ILi10ELi13E") != std::string::npos;
                any += name.find(kernel + "ILi0ELi0E") != std::string::npos;
            }
            EXPECT_EQ(1, fixed) << kernel << ", " << bytes << " bytes";
            EXPECT_EQ(0, any) << kernel << ", " << bytes << " bytes";
        }
    }
}

//! Two sizes in windows of their own, peaks in the last rows: the map of values lies behind what the threads of both
//! need.
TEST_F(Common_CudaPlansSanitize, severalSizesInOneCall)
{
    const struct
    {
        bool weighted;
        int type;
        Size fragments[2], windows[2];
    } cases[] = {{true, CV_8UC1, {{12, 20}, {12, 21}}, {{40, 48}, {41, 33}}},
                 {false, CV_8UC1, {{10, 17}, {22, 23}}, {{40, 48}, {41, 33}}},
                 {true, CV_8UC3, {{11, 12}, {17, 12}}, {{40, 48}, {41, 33}}},
                 {true, CV_8UC1, {{8, 9}, {11, 15}}, {{32, 41}, {41, 28}}},
                 {false, CV_8UC1, {{22, 23}, {10, 17}}, {{40, 48}, {41, 33}}}};
    for (const auto& c : cases)
    {
        RNG rng(0x71374491);
        Scene scene;
        scene.params = makeParams(FM::ZNCC, 3, FM::SQUARE, 0, FM::FULL, true);
        scene.frame = randomImage(rng, Size(300, 260), c.type);
        for (int i = 0; i < 12; ++i)
        {
            const Size fragment = c.fragments[i % 2], window = c.windows[i % 2], area = window + fragment - Size(1, 1);
            const Point at = uniform(rng, Point(), Point(300 - area.width, 260 - area.height));
            scene.areas.push_back(Rect(at, area));
            const Point best = at + Point(rng.uniform(1, window.width - 1), window.height - 2 - i % 3);
            scene.templates.push_back(scene.frame(Rect(best, fragment)).clone());
            scene.weights.push_back(c.weighted ? randomWeights(rng, fragment, CV_8UC1) : Mat());
        }
        const plans::MatchCall call(scene, 232448, 132);
        ASSERT_EQ(plans::Routes{c.weighted ? "FUSED_BANDS ZNCC weighted" : "FUSED_BANDS ZNCC"}, plans::routesOf(call));
        SCOPED_TRACE(call.describe());
        expectSame(runCpu(scene), runCuda(scene));
    }
}

//! Sizes whose bands and image take all that a block of compute capability 8.6 has, static memory included.
TEST_F(Common_CudaPlansSanitize, allSharedMemoryOfABlock)
{
    faults::require(faults::CUDA);
    const DeviceLimits limits = {101376, 46};
    const FakedLimits faked(limits);
    const int64 refused = faults::refusedByLimits();
    for (const int metric : {FM::SSD, FM::ZNCC})
        for (const Size size : {Size(58, 97), Size(64, 100), Size(73, 104)})
        {
            RNG rng(0x428A2F98);
            Scene scene;
            scene.params = makeParams(metric, 2);
            scene.frame = randomImage(rng, Size(1000, 800), CV_8UC1);
            scene.templates.push_back(scene.frame(Rect(123, 217, size.width, size.height)).clone());
            const plans::MatchCall call(scene, limits.sharedBytes, limits.multiprocessors);
            ASSERT_EQ(plans::Routes{metric == FM::SSD ? "BANDS SSD" : "BANDS ZNCC"}, plans::routesOf(call));
            SCOPED_TRACE(call.describe());
            expectSame(runCpu(scene), runCuda(scene));
        }
    EXPECT_EQ(refused, faults::refusedByLimits());
}

#else

TEST_F(Common_CudaPlans, fakedLimitsAreSeen) { plans::require(); }

#endif

}} // namespace opencv_test
