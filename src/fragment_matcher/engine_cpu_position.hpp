// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Included by engine_cpu.simd.hpp inside the namespace of one instruction set: the value of a single position, for the
// walk. The same integers as the kernels for many positions give, without the positions beside it.
namespace {

//! Sums over one plane: first is the term of the metric; sum and squares are those of the image (ZNCC).
struct PositionSums
{
    uint64_t first, sum, squares;
};

template <int METRIC> struct PositionKernel
{
    uint8_t bias;

    void addByte(PositionSums& sums, uint8_t image, uint32_t t, uint32_t q) const
    {
        const uint32_t i = static_cast<uint8_t>(image ^ bias), difference = i > t ? i - t : t - i;
        sums.first += METRIC == METRIC_SAD ? q * difference : METRIC == METRIC_SSD ? difference * difference : i * t;
        sums.sum += i;
        sums.squares += i * i;
    }

#if CV_SIMD128
    void addVector(v_uint32x4 (&sums)[3], const uint8_t* image, const uint8_t* taps, const v_uint8x16& q) const
    {
        const v_uint8x16 i = v_xor(v_load(image), v_setall_u8(bias)), t = v_load(taps), difference = v_absdiff(i, t);
        if (METRIC == METRIC_SAD)
            sums[0] = v_dotprod_expand(difference, q, sums[0]);
        else if (METRIC == METRIC_SSD)
            sums[0] = v_dotprod_expand(difference, difference, sums[0]);
        else
        {
            sums[0] = v_dotprod_expand(i, t, sums[0]);
            sums[1] = v_dotprod_expand(i, v_setall_u8(1), sums[1]);
            sums[2] = v_dotprod_expand(i, i, sums[2]);
        }
    }
#endif

    //! taps, q: rows without gaps; q null: 1.
    PositionSums operator()(const uint8_t* image, size_t step, const uint8_t* taps, const uint8_t* q, int width,
                            int height) const
    {
        PositionSums total = {0, 0, 0};
#if CV_SIMD128
        const int vectors = width / 16, capacity = 16000; // a lane holds UINT32_MAX / (4 x 255 x 255) products
        v_uint32x4 sums[3] = {v_setzero_u32(), v_setzero_u32(), v_setzero_u32()};
        int pending = 0;
#else
        const int vectors = 0;
#endif
        for (int y = 0; y < height; ++y)
        {
            const uint8_t* const row = image + y * step;
            const size_t at = static_cast<size_t>(y) * width;
#if CV_SIMD128
            for (int x = 0; x < 16 * vectors; x += 16)
                addVector(sums, row + x, taps + at + x, q ? v_load(q + at + x) : v_setall_u8(1));
            pending += vectors;
            if (pending + vectors > capacity || y == height - 1)
            {
                total.first += reduce(sums[0]);
                total.sum += reduce(sums[1]);
                total.squares += reduce(sums[2]);
                pending = 0;
            }
#endif
            for (int x = 16 * vectors; x < width; ++x)
                addByte(total, row[x], taps[at + x], q ? q[at + x] : 1);
        }
        return total;
    }

#if CV_SIMD128
    //! The sum of all lanes, which start anew.
    static uint64_t reduce(v_uint32x4& sums)
    {
        v_uint64x2 low, high;
        v_expand(sums, low, high);
        sums = v_setzero_u32();
        return v_reduce_sum(v_add(low, high));
    }
#endif
};

} // namespace
