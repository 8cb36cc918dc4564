// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// score, for one instruction set (part of src/cpu/fragment_matcher/dft.simd.hpp): vectors of complex values, and
// transforms of 2 to 8 of them.
#ifndef OPENCV_CUDATRACKING_CPU_FRAGMENT_MATCHER_DFT_SMALL_HPP
#define OPENCV_CUDATRACKING_CPU_FRAGMENT_MATCHER_DFT_SMALL_HPP

#include "dft.hpp"
#include "opencv2/core/hal/intrin.hpp"

namespace cv { namespace cuda { namespace fragment_matcher { namespace cpu {
CV_CPU_OPTIMIZATION_NAMESPACE_BEGIN
namespace {

typedef v_float64 Doubles;
const int LANES = VTraits<v_float64>::max_nlanes;
inline Doubles load(const double* from) { return vx_load(from); }
inline Doubles splat(double value) { return vx_setall_f64(value); }

//! Transposes a square matrix of LANES x LANES.
CV_ALWAYS_INLINE void transpose(Doubles (&v)[LANES])
{
    for (int span = 1; span < LANES; span *= 2)
    {
        Doubles shuffled[LANES];
        for (int i = 0; i < LANES / 2; ++i)
            v_zip(v[i], v[i + LANES / 2], shuffled[2 * i], shuffled[2 * i + 1]);
        for (int i = 0; i < LANES; ++i)
            v[i] = shuffled[i];
    }
}

//! Converts bytes to the real or the imaginary parts of two vectors.
inline void expandBytes(const uint8_t* bytes, uint8_t bias, double* parts)
{
    const v_int32 wide = v_reinterpret_as_s32(v_xor(vx_load_expand_q(bytes), vx_setall_u32(bias)));
    v_store(parts, v_cvt_f64(wide));
    v_store(parts + 2 * LANES, v_cvt_f64_high(wide));
}

//! Rounds a vector of parts to the nearest integers, which are in [0, 2^51): adding 2^52 + 2^51 leaves no bits for
//! fractions.
inline v_uint64 roundToIntegers(const double* parts)
{
    const v_uint64 sum = v_reinterpret_as_u64(v_add(load(parts), splat(6755399441055744.)));
    return v_and(sum, vx_setall_u64((uint64_t(1) << 51) - 1));
}
//! Rounds the parts of two vectors.
inline void roundToIntegers(const double* parts, uint64_t* to)
{
    v_store(to, roundToIntegers(parts));
    v_store(to + LANES, roundToIntegers(parts + 2 * LANES));
}
inline void roundToIntegers(const double* parts, uint32_t* to)
{
    v_store(to, v_pack(roundToIntegers(parts), roundToIntegers(parts + 2 * LANES)));
}

const int UNIT = 2 * LANES; // doubles per vector of complex values

struct Complex
{
    Doubles re, im;
};

inline Complex operator+(const Complex& a, const Complex& b) { return {v_add(a.re, b.re), v_add(a.im, b.im)}; }
inline Complex operator-(const Complex& a, const Complex& b) { return {v_sub(a.re, b.re), v_sub(a.im, b.im)}; }
inline Complex addTimes(const Complex& a, double factor, const Complex& b) //!< returns a + factor b
{
    const Doubles f = splat(factor);
    return {v_fma(f, b.re, a.re), v_fma(f, b.im, a.im)};
}
inline Complex plusI(const Complex& a, const Complex& b)
{
    return {v_sub(a.re, b.im), v_add(a.im, b.re)};
} //!< returns a + i b
inline Complex minusI(const Complex& a, const Complex& b)
{
    return {v_add(a.re, b.im), v_sub(a.im, b.re)};
} //!< returns a - i b

// --- transforms of a few values --------------------------------------------------------------------------------------

inline void dft(Complex (&)[1]) {}

CV_ALWAYS_INLINE void dft(Complex (&a)[2])
{
    const Complex sum = a[0] + a[1];
    a[1] = a[0] - a[1];
    a[0] = sum;
}

CV_ALWAYS_INLINE void dft(Complex (&a)[3])
{
    const Complex sum = a[1] + a[2], difference = a[1] - a[2], half = addTimes(a[0], -.5, sum);
    const Doubles s = splat(0.86602540378443864676);
    const Complex turned = {v_mul(s, difference.re), v_mul(s, difference.im)};
    a[0] = a[0] + sum;
    a[1] = minusI(half, turned);
    a[2] = plusI(half, turned);
}

CV_ALWAYS_INLINE void dft(Complex (&a)[4])
{
    const Complex s0 = a[0] + a[2], d0 = a[0] - a[2], s1 = a[1] + a[3], d1 = a[1] - a[3];
    a[0] = s0 + s1;
    a[1] = minusI(d0, d1);
    a[2] = s0 - s1;
    a[3] = plusI(d0, d1);
}

CV_ALWAYS_INLINE void dft(Complex (&a)[5])
{
    const double c1 = 0.30901699437494742410, c2 = -0.80901699437494742410; // cos(2 pi / 5), cos(4 pi / 5)
    const double sin1 = 0.95105651629515357212, sin2 = 0.58778525229247312917;
    const Complex s1 = a[1] + a[4], d1 = a[1] - a[4], s2 = a[2] + a[3], d2 = a[2] - a[3];
    const Complex t1 = addTimes(addTimes(a[0], c1, s1), c2, s2), t2 = addTimes(addTimes(a[0], c2, s1), c1, s2);
    const Doubles f1 = splat(sin1), f2 = splat(sin2);
    const Complex u1 = addTimes({v_mul(f1, d1.re), v_mul(f1, d1.im)}, sin2, d2);
    const Complex u2 = addTimes({v_mul(f2, d1.re), v_mul(f2, d1.im)}, -sin1, d2);
    a[0] = a[0] + s1 + s2;
    a[1] = minusI(t1, u1);
    a[2] = minusI(t2, u2);
    a[3] = plusI(t2, u2);
    a[4] = plusI(t1, u1);
}

CV_ALWAYS_INLINE void dft(Complex (&a)[8])
{
    const double c = 0.70710678118654752440;
    Complex even[4] = {a[0], a[2], a[4], a[6]}, odd[4] = {a[1], a[3], a[5], a[7]};
    dft(even);
    dft(odd);
    const Complex one = minusI(odd[1], odd[1]);   // (1 - i) odd[1], without its factor
    const Complex three = minusI(odd[3], odd[3]); // -i times that: (-1 - i) odd[3]
    a[0] = even[0] + odd[0];
    a[4] = even[0] - odd[0];
    a[1] = addTimes(even[1], c, one);
    a[5] = addTimes(even[1], -c, one);
    a[2] = minusI(even[2], odd[2]);
    a[6] = plusI(even[2], odd[2]);
    const Complex turned = {three.im, three.re}; // -i (x + i y) = y - i x
    a[3] = {v_fma(splat(c), turned.re, even[3].re), v_fma(splat(-c), turned.im, even[3].im)};
    a[7] = {v_fma(splat(-c), turned.re, even[3].re), v_fma(splat(c), turned.im, even[3].im)};
}

} // namespace
CV_CPU_OPTIMIZATION_NAMESPACE_END
}}}} // namespace cv::cuda::fragment_matcher::cpu

#endif // OPENCV_CUDATRACKING_CPU_FRAGMENT_MATCHER_DFT_SMALL_HPP
