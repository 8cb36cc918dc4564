// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// The loops of the CPU backend for processors without vectors of doubles. The linker of the test program puts them in
// the place of the vector loops, as the builds that are tested have vectors; results must not change.
#include "fuzz.hpp"

#ifdef CUDATRACKING_WRAPS_LOOPS
#include "../../src/cpu/cascade/classify.hpp"
#include <atomic>

namespace cv { namespace cuda { namespace cascade { namespace cpu { namespace plain {

int lanes();
void blendRows(const uint8_t* row, const int* index, const int16_t* weights, int count, int* out);
void mixRows(const int* upper, const int* lower, int weight, int count, uint8_t* out);
void contrastRow(const int* sums, const int* squares, const int* corners, int area, int64_t least, int vectors,
                 float* norms, uint64_t* with);
void evaluate(const Windows& w, const Stage& stage);
void failedBits(const double* sums, int vectors, double threshold, uint64_t* failed);

#include "../../src/cpu/cascade/classify_plain.hpp"

static std::atomic<bool> used{false};
static std::atomic<int64> calls{0};

//! Returns that there are no loops for narrow models, like narrow.simd.hpp without vectors.
static int vectorOctets() { return 0; }

static bool takeover()
{
    calls += used;
    return used;
}

}}}}} // namespace cv::cuda::cascade::cpu::plain

using namespace cv::cuda::cascade;

// Mangled names of the functions of src/cpu/cascade/classify.hpp, as in CMakeLists.txt.
#define CT_WRAPPED(RESULT, NAME, PARAMETERS, ARGUMENTS, PLAIN)                                                         \
    extern "C" RESULT __real_##NAME PARAMETERS;                                                                        \
    extern "C" RESULT __wrap_##NAME PARAMETERS;                                                                        \
    extern "C" RESULT __wrap_##NAME PARAMETERS                                                                         \
    {                                                                                                                  \
        return cpu::plain::takeover() ? cpu::plain::PLAIN ARGUMENTS : __real_##NAME ARGUMENTS;                         \
    }                                                                                                                  \
    static_assert(true, "for the semicolon")

CT_WRAPPED(int, _ZN2cv4cuda7cascade3cpu7lanesOfEv, (), (), lanes);
CT_WRAPPED(void, _ZN2cv4cuda7cascade3cpu7blendOfEPKhPKiPKsiPi,
           (const uint8_t* row, const int* index, const int16_t* weights, int count, int* out),
           (row, index, weights, count, out), blendRows);
CT_WRAPPED(void, _ZN2cv4cuda7cascade3cpu5mixOfEPKiS4_iiPh,
           (const int* upper, const int* lower, int weight, int count, uint8_t* out),
           (upper, lower, weight, count, out), mixRows);
CT_WRAPPED(void, _ZN2cv4cuda7cascade3cpu13contrastOfRowEPKiS4_S4_iliPfPm,
           (const int* sums, const int* squares, const int* corners, int area, int64_t least, int vectors, float* norms,
            uint64_t* with),
           (sums, squares, corners, area, least, vectors, norms, with), contrastRow);
CT_WRAPPED(void, _ZN2cv4cuda7cascade3cpu13evaluateStageERKNS2_7WindowsERKNS1_5StageE,
           (const cpu::Windows& windows, const Stage& stage), (windows, stage), evaluate);
CT_WRAPPED(void, _ZN2cv4cuda7cascade3cpu8failedOfEPKdidPm,
           (const double* sums, int vectors, double threshold, uint64_t* failed), (sums, vectors, threshold, failed),
           failedBits);

CT_WRAPPED(int, _ZN2cv4cuda7cascade3cpu15octetsPerVectorEv, (), (), vectorOctets);

#endif // CUDATRACKING_WRAPS_LOOPS

namespace opencv_test { namespace {

using cuda::CascadeClassifierEx;

#ifdef CUDATRACKING_WRAPS_LOOPS

//! Lets the CPU backend use the loops without vectors during its lifetime.
class PlainLoops
{
public:
    PlainLoops() { cpu::plain::used = true; }
    ~PlainLoops() { cpu::plain::used = false; }
    PlainLoops(const PlainLoops&) = delete;
    PlainLoops& operator=(const PlainLoops&) = delete;
};

TEST(Cascade_PlainLoops, randomCascades)
{
    const int64 before = cpu::plain::calls;
    for (int64 n = 0; n < 150; ++n)
    {
        const fuzz::CascadeFuzzCase c = fuzz::makeCascadeCase(91, n);
        const fuzz::Outputs vectors = fuzz::runCascade(c, fuzz::Engine::CPU, true);
        const PlainLoops plain;
        ASSERT_TRUE(fuzz::same(vectors, fuzz::runCascade(c, fuzz::Engine::CPU, true))) << c.what;
    }
    EXPECT_GT(cpu::plain::calls - before, 10000);
}

TEST(Cascade_PlainLoops, shippedCascades)
{
    const CascadeScene scene = cascadeScenes()[0];
    for (const std::string& name : shippedCascades())
    {
        SCOPED_TRACE(name);
        const std::string file = requireCascade(name);
        const CascadeCase p = {1.3, 2, Size(), Size()};
        const CascadeResults vectors = detectAll(*CascadeClassifierEx::create(file), scene.image, p);
        const PlainLoops plain;
        ASSERT_NO_FATAL_FAILURE(expectSame(vectors, detectAll(*CascadeClassifierEx::create(file), scene.image, p)));
    }
}

#else

TEST(Cascade_PlainLoops, randomCascades)
{
    throw SkipTestException("needs a static build and a linker that knows --wrap");
}

#endif

}} // namespace opencv_test
