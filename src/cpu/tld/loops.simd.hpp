// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Inner loops of the CPU backend, compiled once per instruction set.
#include "opencv2/core/hal/intrin.hpp"
#include "work.hpp"
#include <algorithm>

namespace cv { namespace cuda { namespace tld { namespace cpu {
CV_CPU_OPTIMIZATION_NAMESPACE_BEGIN

void grayRow(const uint8_t* from, int channels, int cols, uint8_t* to);
void columnSums(const uint32_t* above, uint32_t* row, int count);
void blurRow(const uint8_t* row, int cols, uint16_t* to);
void blurColumns(const uint16_t* const* rows, int cols, uint8_t* to);
void halveRow(const uint8_t* row, int cols, uint16_t* to);
void halveColumns(const uint16_t* const* rows, int cols, uint8_t* to);
void rowCodes(const WindowRow& row, const uint8_t* wanted, Codes* codes);
void dotProducts(const uint8_t* patch, const uint8_t* templates, int count, int* dots);
void blendRows(const uint8_t* pixels, size_t step, const Blend& weights, int rows, int16_t* out);
Change changeOf(const int16_t* here, const int16_t* there, const int16_t* gx, const int16_t* gy, int count);

#ifndef CV_CPU_OPTIMIZATION_DECLARATIONS_ONLY

// --- frames: plain loops, which compilers turn into vectors ----------------------------------------------------------

void grayRow(const uint8_t* from, int channels, int cols, uint8_t* to)
{
    int x = 0;
    const int lanes = VTraits<v_uint8>::vlanes();
    const v_int16 blueGreen = v_reinterpret_as_s16(vx_setall_u32(3735u | 19235u << 16));
    const v_int16 redHalf = v_reinterpret_as_s16(vx_setall_u32(9798u | 16384u << 16)), one = vx_setall_s16(1);
    const auto half = [&](const v_uint16& b, const v_uint16& g, const v_uint16& r)
    {
        v_int16 bg0, bg1, r0, r1;
        v_zip(v_reinterpret_as_s16(b), v_reinterpret_as_s16(g), bg0, bg1);
        v_zip(v_reinterpret_as_s16(r), one, r0, r1);
        const v_int32 low = v_add(v_dotprod(bg0, blueGreen), v_dotprod(r0, redHalf));
        const v_int32 high = v_add(v_dotprod(bg1, blueGreen), v_dotprod(r1, redHalf));
        return v_reinterpret_as_u16(v_pack(v_shr<15>(low), v_shr<15>(high)));
    };
    for (; x <= cols - lanes; x += lanes)
    {
        v_uint8 b, g, r, a;
        if (channels == 3)
            v_load_deinterleave(from + static_cast<size_t>(x) * 3, b, g, r);
        else
            v_load_deinterleave(from + static_cast<size_t>(x) * 4, b, g, r, a);
        v_uint16 b0, b1, g0, g1, r0, r1;
        v_expand(b, b0, b1);
        v_expand(g, g0, g1);
        v_expand(r, r0, r1);
        v_store(to + x, v_pack(half(b0, g0, r0), half(b1, g1, r1)));
    }
    for (; x < cols; ++x)
    {
        const uint8_t* const pixel = from + static_cast<size_t>(x) * channels;
        to[x] = static_cast<uint8_t>(grayOf(pixel[0], pixel[1], pixel[2]));
    }
}

void columnSums(const uint32_t* above, uint32_t* row, int count)
{
    for (int x = 0; x < count; ++x)
        row[x] += above[x];
}

void blurRow(const uint8_t* row, int cols, uint16_t* to)
{
    for (int x = 0; x < cols; ++x)
    {
        uint16_t sum = static_cast<uint16_t>(row[x] * blurTap(0));
        for (int k = 1; k <= BLUR_REACH; ++k)
            sum = static_cast<uint16_t>(sum + static_cast<uint16_t>(row[x - k] + row[x + k]) * blurTap(k));
        to[x] = sum;
    }
}

void blurColumns(const uint16_t* const* rows, int cols, uint8_t* to)
{
    for (int x = 0; x < cols; ++x)
    {
        uint32_t sum = rows[BLUR_REACH][x] * static_cast<uint32_t>(blurTap(0));
        for (int k = 1; k <= BLUR_REACH; ++k)
            sum += (static_cast<uint32_t>(rows[BLUR_REACH - k][x]) + rows[BLUR_REACH + k][x]) *
                   static_cast<uint32_t>(blurTap(k));
        to[x] = static_cast<uint8_t>(blurred(sum));
    }
}

void halveRow(const uint8_t* row, int cols, uint16_t* to)
{
    for (int x = 0; x < cols; ++x)
    {
        const uint8_t* const p = row + 2 * x;
        to[x] = static_cast<uint16_t>(p[-2] + p[2] + 4 * (p[-1] + p[1]) + 6 * p[0]);
    }
}

void halveColumns(const uint16_t* const* rows, int cols, uint8_t* to)
{
    for (int x = 0; x < cols; ++x)
        to[x] =
            static_cast<uint8_t>(halved(rows[0][x] + rows[4][x] + 4u * (rows[1][x] + rows[3][x]) + 6u * rows[2][x]));
}

// --- ferns -----------------------------------------------------------------------------------------------------------

namespace {

const int MOST_LANES = 64;

//! Codes of all windows that begin in one vector of pixels, split into two planes of bytes; their bits are inverted.
struct Planes
{
    uint8_t upper[MAX_TREES][MOST_LANES], lower[MAX_TREES][MOST_LANES];
};

//! Evaluates `count` comparisons for a vector of pixels. A bit is 1 where the first pixel is not brighter.
inline v_uint8 compareAt(const uint8_t* pixels, const int* offsets, int count)
{
    v_uint8 bits = vx_setzero_u8();
    for (int f = 0; f < count; ++f, offsets += 2)
    {
        const v_uint8 first = vx_load(pixels + offsets[0]), second = vx_load(pixels + offsets[1]);
        bits = v_sub_wrap(v_add_wrap(bits, bits), v_eq(v_min(first, second), first));
    }
    return bits;
}

} // namespace

/* Evaluates all pixels of a vector, although windows begin only at some of them: one load serves all neighbours, where
a single window would need a load per pixel that it compares. */
void rowCodes(const WindowRow& row, const uint8_t* wanted, Codes* codes)
{
    const int lanes = VTraits<v_uint8>::vlanes();
    const int above = std::min(row.features, 8), below = row.features - above;
    const uint32_t all = (1u << row.features) - 1;
    Planes planes;
    for (int i = 0; i < row.count;)
    {
        if (!wanted[i])
        {
            ++i;
            continue;
        }
        const int x = row.places[i];
        const int* offsets = row.offsets;
        for (int t = 0; t < row.trees; ++t, offsets += 2 * row.features)
        {
            v_store(planes.upper[t], compareAt(row.pixels + x, offsets, above));
            if (below > 0)
                v_store(planes.lower[t], compareAt(row.pixels + x, offsets + 2 * above, below));
        }
        for (; i < row.count && row.places[i] < x + lanes; ++i)
            for (int t = 0; wanted[i] && t < row.trees; ++t)
            {
                const int lane = row.places[i] - x;
                uint32_t code = planes.upper[t][lane];
                if (below > 0)
                    code = code << below | planes.lower[t][lane];
                codes[i].code[t] = static_cast<uint16_t>(code ^ all);
            }
    }
}

// --- templates -------------------------------------------------------------------------------------------------------

void dotProducts(const uint8_t* patch, const uint8_t* templates, int count, int* dots)
{
    for (int n = 0; n < count; ++n, templates += PATCH_STRIDE)
    {
        int i = 0, dot = 0;
        const int lanes = VTraits<v_uint8>::vlanes();
        v_uint32 sums = vx_setzero_u32();
        for (; i <= PATCH_STRIDE - lanes; i += lanes)
            sums = v_dotprod_expand_fast(vx_load(patch + i), vx_load(templates + i), sums);
        dot = static_cast<int>(v_reduce_sum(sums));
        for (; i < PATCH_STRIDE; ++i)
            dot += patch[i] * templates[i];
        dots[n] = dot;
    }
}

// --- flow ------------------------------------------------------------------------------------------------------------

//! Blends rows of FLOW_LANES pixels from rows of FLOW_LANES + 1 pixels.
void blendRows(const uint8_t* pixels, size_t step, const Blend& w, int rows, int16_t* out)
{
    const v_int16x8 above = v_reinterpret_as_s16(v_setall_u32(static_cast<uint32_t>(w.w00 | w.w10 << 16)));
    const v_int16x8 below = v_reinterpret_as_s16(v_setall_u32(static_cast<uint32_t>(w.w01 | w.w11 << 16)));
    const v_int32x4 half = v_setall_s32(512);
    const auto pairs = [](const uint8_t* p, v_int16x8& low, v_int16x8& high)
    { v_zip(v_reinterpret_as_s16(v_load_expand(p)), v_reinterpret_as_s16(v_load_expand(p + 1)), low, high); };
    for (int part = 0; part < FLOW_LANES; part += 8)
    {
        v_int16x8 low0, high0, low1, high1;
        pairs(pixels + part, low0, high0);
        for (int y = 0; y < rows; ++y, low0 = low1, high0 = high1)
        {
            pairs(pixels + (y + 1) * step + part, low1, high1);
            const v_int32x4 low = v_add(v_add(v_dotprod(low0, above), v_dotprod(low1, below)), half);
            const v_int32x4 high = v_add(v_add(v_dotprod(high0, above), v_dotprod(high1, below)), half);
            v_store(out + y * FLOW_LANES + part, v_pack(v_shr<10>(low), v_shr<10>(high)));
        }
    }
}

//! @param count a multiple of FLOW_LANES.
Change changeOf(const int16_t* here, const int16_t* there, const int16_t* gx, const int16_t* gy, int count)
{
    v_int32x4 x = v_setzero_s32(), y = v_setzero_s32();
    for (int i = 0; i < count; i += 8)
    {
        const v_int16x8 difference = v_sub_wrap(v_load(there + i), v_load(here + i));
        x = v_dotprod(difference, v_load(gx + i), x);
        y = v_dotprod(difference, v_load(gy + i), y);
    }
    return {v_reduce_sum(x), v_reduce_sum(y)};
}

#endif // CV_CPU_OPTIMIZATION_DECLARATIONS_ONLY

CV_CPU_OPTIMIZATION_NAMESPACE_END
}}}} // namespace cv::cuda::tld::cpu
