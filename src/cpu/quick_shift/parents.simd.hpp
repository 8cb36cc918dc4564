// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Parent search on the CPU in rings around a vector of pixels. Compiled once per instruction set.
#include "opencv2/core/hal/intrin.hpp"
#include "../../quick_shift/core.hpp"
#ifndef CV_CPU_OPTIMIZATION_DECLARATIONS_ONLY
#include "../../common/for_number.hpp"
#include "colours.hpp"
#endif

namespace cv { namespace cuda { namespace quick_shift {

#ifndef OPENCV_CUDATRACKING_QUICK_SHIFT_RING_SEARCH
#define OPENCV_CUDATRACKING_QUICK_SHIFT_RING_SEARCH

const int RING_CODE_ROW = 65536; //!< the code of a candidate is dy * RING_CODE_ROW + dx; codes ascend in raster order

//! Search of one row of an image. keys and planes point at column 0 of row 0; `rings` columns beyond both ends may be
//! read.
struct RingSearch
{
    const int* keys; //!< keys minus 2^31, so that signed comparisons order them; INT_MIN beyond the image
    size_t keyStride;
    const float* planes[MAX_CHANNELS];
    size_t stride;
    int channels, cols, rows;
    int y;     //!< the row
    int rings; //!< rings to search
    float colorWeight, reach;
    const float* factors; //!< Parameters::factors, or null if not weighted
    bool strict;
    float* d;  //!< out: D of each pixel's best candidate, `reach` without one
    int* code; //!< out: its code, NO_PARENT without one
};

#endif

CV_CPU_OPTIMIZATION_NAMESPACE_BEGIN

//! Searches the rings around all pixels of the row.
void searchRings(const RingSearch& s);

#ifndef CV_CPU_OPTIMIZATION_DECLARATIONS_ONLY

namespace {

template <int CHANNELS, bool WEIGHTED> void searchVector(const RingSearch& s, int x)
{
    const int most = CHANNELS == ANY ? MAX_CHANNELS : CHANNELS, channels = CHANNELS == ANY ? s.channels : CHANNELS;
    const int* ownKeys = s.keys + s.y * s.keyStride + x;
    const v_int32 own = vx_load(ownKeys), none = vx_setall_s32(static_cast<int>(0x80000000u));
    const v_float32 weight = vx_setall_f32(s.colorWeight);
    v_float32 colour[most], factor[most];
    for (int k = 0; k < channels; ++k)
    {
        colour[k] = vx_load(s.planes[k] + s.y * s.stride + x);
        factor[k] = vx_setall_f32(WEIGHTED ? s.factors[k] : 1.f);
    }
    // Masked pixels and lanes beyond the image never need another ring.
    v_float32 best = v_select(v_reinterpret_as_f32(v_eq(own, none)), vx_setall_f32(-1.f), vx_setall_f32(s.reach));
    v_int32 bestCode = vx_setall_s32(NO_PARENT);
    for (int r = 1; r <= s.rings && v_check_any(v_ge(best, vx_setall_f32(static_cast<float>(r * r)))); ++r)
        for (int dy = -r; dy <= r; ++dy)
        {
            if (s.y + dy < 0 || s.y + dy >= s.rows)
                continue;
            const int step = dy == -r || dy == r ? 1 : 2 * r;
            for (int dx = -r; dx <= r; dx += step)
            {
                const v_int32 key = vx_load(ownKeys + dy * static_cast<ptrdiff_t>(s.keyStride) + dx);
                const bool equalToo = !s.strict && (dy < 0 || (dy == 0 && dx < 0));
                const v_float32 higher = v_reinterpret_as_f32(equalToo ? v_ge(key, own) : v_gt(key, own));
                const ptrdiff_t at = (s.y + dy) * static_cast<ptrdiff_t>(s.stride) + x + dx;
                v_float32 dc = vx_setzero_f32();
                for (int k = 0; k < channels; ++k)
                    dc = addChannel<WEIGHTED>(dc, k, colour[k], vx_load(s.planes[k] + at), factor[k]);
                const v_float32 d = multiplyAdd(weight, dc, vx_setall_f32(static_cast<float>(dx * dx + dy * dy)));
                const v_int32 code = vx_setall_s32(dy * RING_CODE_ROW + dx);
                const v_float32 first = v_and(v_eq(d, best), v_reinterpret_as_f32(v_lt(code, bestCode)));
                const v_float32 take = v_and(higher, v_or(v_lt(d, best), first));
                best = v_select(take, d, best);
                bestCode = v_select(v_reinterpret_as_s32(take), code, bestCode);
            }
        }
    v_store(s.d + x, best);
    v_store(s.code + x, bestCode);
}

template <int CHANNELS, bool WEIGHTED = false> void searchRow(const RingSearch& s)
{
    for (int x = 0; x < s.cols; x += VTraits<v_float32>::vlanes())
        searchVector<CHANNELS, WEIGHTED>(s, x);
}

} // namespace

void searchRings(const RingSearch& s)
{
    if (s.channels > FEW_CHANNELS)
        s.factors ? searchRow<ANY, true>(s) : searchRow<ANY>(s);
    else if (s.channels == 1)
        searchRow<1>(s);
    else
        detail::forNumber<2, 3, 4>(s.channels,
                                   [&](auto n) { s.factors ? searchRow<n.value, true>(s) : searchRow<n.value>(s); });
}

#endif // CV_CPU_OPTIMIZATION_DECLARATIONS_ONLY

CV_CPU_OPTIMIZATION_NAMESPACE_END
}}} // namespace cv::cuda::quick_shift
