// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Density on the CPU: all pairs of one row with one row at or below it. Compiled once per instruction set.
#include "opencv2/core/hal/intrin.hpp"
#include "../../quick_shift/core.hpp"
#ifndef CV_CPU_OPTIMIZATION_DECLARATIONS_ONLY
#include "../../common/for_number.hpp"
#include "weights.hpp"
#endif

namespace cv { namespace cuda { namespace quick_shift {
CV_CPU_OPTIMIZATION_NAMESPACE_BEGIN

/** Adds the weight of each pair (x, x+dx), dx in [dxBegin, dxEnd), to the credits of both pixels.
@param a,b features of the upper and the lower row, one pointer per channel. Readable from min(dxBegin, 0) to cols +
ROW_PADDING; outside of the image the first feature is OUTSIDE, so that such pairs get weight 0 and whole vectors may be
used.
@param factors Parameters::factors, or null if not weighted.
@param creditA,creditB weights are added here modulo 2^32; writable as far as the features are readable.
@param spatial spatial factors from dxBegin on. */
void creditRows(const float* const* a, const float* const* b, int channels, const float* factors, uint32_t* creditA,
                uint32_t* creditB, int cols, int dxBegin, int dxEnd, const float* spatial, float minusRate);

#ifndef CV_CPU_OPTIMIZATION_DECLARATIONS_ONLY

namespace {

// Columns per block, a multiple of all vector lengths: its features and credits stay in the first-level cache.
const int BLOCK_COLS = 512;

template <int CHANNELS, bool WEIGHTED>
void creditOffset(const float* const* a, const float* const* b, const float* factors, uint32_t* creditA,
                  uint32_t* creditB, int begin, int end, int dx, float spatial, float minusRate, int any)
{
    const int channels = CHANNELS == ANY ? any : CHANNELS;
    const PairWeights weights(minusRate, spatial);
    v_float32 factor[CHANNELS == ANY ? MAX_CHANNELS : CHANNELS];
    for (int k = 0; k < channels; ++k)
        factor[k] = vx_setall_f32(WEIGHTED ? factors[k] : 1.f);
    for (int x = begin; x < end; x += VTraits<v_float32>::vlanes())
    {
        v_float32 dc = vx_setzero_f32();
        for (int k = 0; k < channels; ++k)
            dc = addChannel<WEIGHTED>(dc, k, vx_load(a[k] + x), vx_load(b[k] + x + dx), factor[k]);
        const v_uint32 w = weights(dc);
        v_store(creditA + x, v_add(vx_load(creditA + x), w));
        v_store(creditB + x + dx, v_add(vx_load(creditB + x + dx), w));
    }
}

template <int CHANNELS, bool WEIGHTED = false>
void creditBlocks(const float* const* a, const float* const* b, const float* factors, uint32_t* creditA,
                  uint32_t* creditB, int cols, int dxBegin, int dxEnd, const float* spatial, float minusRate, int any)
{
    for (int block = 0; block < cols; block += BLOCK_COLS)
    {
        const int blockEnd = block + BLOCK_COLS < cols ? block + BLOCK_COLS : cols;
        for (int dx = dxBegin; dx < dxEnd; ++dx)
        {
            // Each block starts at its first column, so that whole vectors do not reach into the next block.
            const int end = dx > 0 && cols - dx < blockEnd ? cols - dx : blockEnd;
            creditOffset<CHANNELS, WEIGHTED>(a, b, factors, creditA, creditB, block, end, dx, spatial[dx - dxBegin],
                                             minusRate, any);
        }
    }
}

} // namespace

void creditRows(const float* const* a, const float* const* b, int channels, const float* factors, uint32_t* creditA,
                uint32_t* creditB, int cols, int dxBegin, int dxEnd, const float* spatial, float minusRate)
{
    const auto credit = [&](auto blocks)
    { blocks(a, b, factors, creditA, creditB, cols, dxBegin, dxEnd, spatial, minusRate, channels); };
    if (channels > FEW_CHANNELS)
        factors ? credit(creditBlocks<ANY, true>) : credit(creditBlocks<ANY>);
    else if (channels == 1)
        credit(creditBlocks<1>);
    else
        detail::forNumber<2, 3, 4>(channels, [&](auto n)
                                   { factors ? credit(creditBlocks<n.value, true>) : credit(creditBlocks<n.value>); });
}

#endif // CV_CPU_OPTIMIZATION_DECLARATIONS_ONLY

CV_CPU_OPTIMIZATION_NAMESPACE_END
}}} // namespace cv::cuda::quick_shift
