// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
// One arithmetic of all radices, lengths and stages.
// FragmentMatcher, SSD and ZNCC of large fragments by Fourier transforms in double precision: arithmetic of the
// transforms. g++ compiles it too.
//
// A transform has three stages, of radices R0, R1 and R2 (mixed-radix, decimation in frequency). All stages are in
// place, so the spectrum stays in the order in which the last one leaves it: products of spectra do not depend on the
// order, and the way back runs the stages transposed and in reverse (decimation in time), from that order to the
// natural one. A thread computes one butterfly per stage. Values lie in shared memory in rows of R2, an odd number of
// values apart, so that eight lanes read different banks in every stage.
//
// The way back is a forward transform too: with real and imaginary part exchanged before and after, it is the inverse,
// except for scale.
#ifndef OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_FFT_HPP
#define OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_FFT_HPP

#include "../common/layout.hpp"
#include <cmath>
#include <vector>

#ifdef __CUDA_ARCH__ // host compilers do not know it
#define CT_UNROLL _Pragma("unroll")
#else
#define CT_UNROLL
#endif

namespace cv { namespace cuda { namespace fragment_matcher { namespace gpu {

struct alignas(16) Complex
{
    double re, im;
};

CT_HOST_DEVICE Complex add(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
CT_HOST_DEVICE Complex subtract(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
CT_HOST_DEVICE Complex multiply(Complex a, Complex b)
{
    return {fma(a.re, b.re, -(a.im * b.im)), fma(a.re, b.im, a.im * b.re)};
}
//! Returns sum + a * conj(b).
CT_HOST_DEVICE Complex addProduct(Complex sum, Complex a, Complex b)
{
    return {fma(a.im, b.im, fma(a.re, b.re, sum.re)), fma(a.im, b.re, fma(-a.re, b.im, sum.im))};
}
//! Returns a + factor * b.
CT_HOST_DEVICE Complex addScaled(Complex a, double factor, Complex b)
{
    return {fma(factor, b.re, a.re), fma(factor, b.im, a.im)};
}
//! Returns -i a.
CT_HOST_DEVICE Complex turned(Complex a) { return {a.im, -a.re}; }
CT_HOST_DEVICE Complex exchanged(Complex a) { return {a.im, a.re}; }

//! Loads a factor. The device's read-only load may move before stores to shared memory, and so all factors of a
//! butterfly are under way at once.
CT_HOST_DEVICE Complex loadFactor(const Complex* factor)
{
#ifdef __CUDA_ARCH__
    const double2 loaded = __ldg(reinterpret_cast<const double2*>(factor));
    return {loaded.x, loaded.y};
#else
    return *factor;
#endif
}

// --- butterflies -----------------------------------------------------------------------------------------------------

//! Returns exp(-2 pi i k / R), for those R and k that square radices need.
template <int R> CT_HOST_DEVICE constexpr Complex constantFactor(int k)
{
    static_assert(R == 8 || R == 9 || R == 16, "a radix that is a product of equal factors");
    constexpr double half = 0.70710678118654752440, c16 = 0.92387953251128675613, s16 = 0.38268343236508977173;
    if (R == 9)
        return k == 1   ? Complex{0.76604444311897803520, -0.64278760968653932632}
               : k == 2 ? Complex{0.17364817766693034885, -0.98480775301220805937}
                        : Complex{-0.93969262078590838405, -0.34202014332566873304}; // k == 4
    const int sixteenths = k * 16 / R;
    return sixteenths == 1   ? Complex{c16, -s16}
           : sixteenths == 2 ? Complex{half, -half}
           : sixteenths == 3 ? Complex{s16, -c16}
           : sixteenths == 6 ? Complex{-half, -half}
                             : Complex{-c16, s16}; // 9
}

//! Returns a exp(-2 pi i k / R).
template <int R> CT_HOST_DEVICE Complex multiplyConstant(Complex a, int k)
{
    if (k == 0)
        return a;
    if (4 * k == R)
        return turned(a);
    return multiply(a, constantFactor<R>(k));
}

template <int R> struct Butterfly;

template <> struct Butterfly<2>
{
    static CT_HOST_DEVICE void run(Complex (&x)[2])
    {
        const Complex first = x[0];
        x[0] = add(first, x[1]);
        x[1] = subtract(first, x[1]);
    }
};

template <> struct Butterfly<3>
{
    static CT_HOST_DEVICE void run(Complex (&x)[3])
    {
        const Complex sum = add(x[1], x[2]), difference = turned(subtract(x[1], x[2]));
        const Complex middle = addScaled(x[0], -0.5, sum);
        constexpr double sine = 0.86602540378443864676; // of a third of a turn
        x[0] = add(x[0], sum);
        x[1] = addScaled(middle, sine, difference);
        x[2] = addScaled(middle, -sine, difference);
    }
};

template <> struct Butterfly<4>
{
    static CT_HOST_DEVICE void run(Complex (&x)[4])
    {
        const Complex a = add(x[0], x[2]), b = subtract(x[0], x[2]);
        const Complex c = add(x[1], x[3]), d = turned(subtract(x[1], x[3]));
        x[0] = add(a, c);
        x[1] = add(b, d);
        x[2] = subtract(a, c);
        x[3] = subtract(b, d);
    }
};

template <> struct Butterfly<5>
{
    static CT_HOST_DEVICE void run(Complex (&x)[5])
    {
        constexpr double c1 = 0.30901699437494742410,
                         c2 = -0.80901699437494742410; // cosines of a fifth of a turn, and of two
        constexpr double s1 = 0.95105651629515357212, s2 = 0.58778525229247312917; // sines
        const Complex sum1 = add(x[1], x[4]), sum2 = add(x[2], x[3]);
        const Complex turned1 = turned(subtract(x[1], x[4])), turned2 = turned(subtract(x[2], x[3]));
        const Complex a1 = addScaled(addScaled(x[0], c1, sum1), c2, sum2);
        const Complex a2 = addScaled(addScaled(x[0], c2, sum1), c1, sum2);
        const Complex b1 = addScaled({s1 * turned1.re, s1 * turned1.im}, s2, turned2);
        const Complex b2 = addScaled({s2 * turned1.re, s2 * turned1.im}, -s1, turned2);
        x[0] = add(x[0], add(sum1, sum2));
        x[1] = add(a1, b1);
        x[2] = add(a2, b2);
        x[3] = subtract(a2, b2);
        x[4] = subtract(a1, b1);
    }
};

/** Radix A * B. COPRIME: A and B have no common divisor, so no factors are needed (Good and Thomas); else there are
factors in between (Cooley and Tukey). */
template <int A, int B, bool COPRIME> struct ProductButterfly
{
    //! Returns the multiple of `of` that is 1 modulo `other`.
    static CT_HOST_DEVICE constexpr int unit(int of, int other)
    {
        int multiple = of;
        while (multiple % other != 1)
            multiple += of;
        return multiple;
    }
    static CT_HOST_DEVICE void run(Complex (&x)[A * B])
    {
        constexpr int unitA = COPRIME ? unit(B, A) : 1, unitB = COPRIME ? unit(A, B) : A;
        Complex y[A * B];
        CT_UNROLL
        for (int b = 0; b < B; ++b)
        {
            Complex part[A];
            CT_UNROLL
            for (int a = 0; a < A; ++a)
                part[a] = x[COPRIME ? (B * a + A * b) % (A * B) : a * B + b];
            Butterfly<A>::run(part);
            CT_UNROLL
            for (int a = 0; a < A; ++a)
                if constexpr (COPRIME)
                    y[b * A + a] = part[a];
                else
                    y[b * A + a] = multiplyConstant<A * B>(part[a], a * b);
        }
        CT_UNROLL
        for (int a = 0; a < A; ++a)
        {
            Complex part[B];
            CT_UNROLL
            for (int b = 0; b < B; ++b)
                part[b] = y[b * A + a];
            Butterfly<B>::run(part);
            CT_UNROLL
            for (int b = 0; b < B; ++b)
                x[(unitA * a + unitB * b) % (A * B)] = part[b];
        }
    }
};

template <> struct Butterfly<6> : ProductButterfly<2, 3, true>
{};
template <> struct Butterfly<8> : ProductButterfly<4, 2, false>
{};
template <> struct Butterfly<9> : ProductButterfly<3, 3, false>
{};
template <> struct Butterfly<10> : ProductButterfly<2, 5, true>
{};
template <> struct Butterfly<12> : ProductButterfly<4, 3, true>
{};
template <> struct Butterfly<15> : ProductButterfly<3, 5, true>
{};
template <> struct Butterfly<16> : ProductButterfly<4, 4, false>
{};

// --- stages ----------------------------------------------------------------------------------------------------------

/** A length that is R0 * R1 * R2, and the stages of its transform. `factors` are those of factorsOf(); `values`, in
shared memory, have LANES transforms side by side.

Forward: first(), a barrier, middle(), a barrier, last(). Back: lastBack(), a barrier, middleBack(), a barrier,
firstBack(). Butterfly j of the first and last ones has the elements j + q * OUTER and LAST * j + q of the natural order
and of the spectrum. */
template <int FIRST_, int MIDDLE_, int LAST_> struct Length
{
    static constexpr int FIRST = FIRST_, MIDDLE = MIDDLE_, LAST = LAST_; //!< radices
    static constexpr int LENGTH = FIRST * MIDDLE * LAST;
    static constexpr int OUTER = MIDDLE * LAST, INNER = FIRST * LAST, ENDS = FIRST * MIDDLE; //!< butterflies per stage
    static constexpr int PITCH = LAST | 1;
    static constexpr int VALUES = ENDS * PITCH; //!< values of a transform in shared memory
    static constexpr int THREADS = OUTER > INNER ? (OUTER > ENDS ? OUTER : ENDS) : (INNER > ENDS ? INNER : ENDS);
    static constexpr int FACTORS = (FIRST - 1) * OUTER + (MIDDLE - 1) * LAST;

    //! Transforms x, elements j + q * OUTER, and stores the results.
    template <int LANES>
    static CT_HOST_DEVICE void first(Complex (&x)[FIRST], int j, const Complex* factors, Complex* values)
    {
        Butterfly<FIRST>::run(x);
        const int at = (j / LAST * PITCH + j % LAST) * LANES;
        values[at] = x[0];
        CT_UNROLL
        for (int q = 1; q < FIRST; ++q)
            values[at + q * MIDDLE * PITCH * LANES] = multiply(x[q], loadFactor(factors + (q - 1) * OUTER + j));
    }
    template <int LANES> static CT_HOST_DEVICE void middle(int j, const Complex* factors, Complex* values)
    {
        const int t = j % LAST;
        factors += (FIRST - 1) * OUTER + t;
        values += (j / LAST * MIDDLE * PITCH + t) * LANES;
        Complex x[MIDDLE];
        CT_UNROLL
        for (int q = 0; q < MIDDLE; ++q)
            x[q] = values[q * PITCH * LANES];
        Butterfly<MIDDLE>::run(x);
        values[0] = x[0];
        CT_UNROLL
        for (int q = 1; q < MIDDLE; ++q)
            values[q * PITCH * LANES] = multiply(x[q], loadFactor(factors + (q - 1) * LAST));
    }
    template <int LANES> static CT_HOST_DEVICE void last(Complex (&x)[LAST], int j, const Complex* values)
    {
        CT_UNROLL
        for (int q = 0; q < LAST; ++q)
            x[q] = values[(j * PITCH + q) * LANES];
        Butterfly<LAST>::run(x);
    }

    template <int LANES> static CT_HOST_DEVICE void lastBack(Complex (&x)[LAST], int j, Complex* values)
    {
        Butterfly<LAST>::run(x);
        CT_UNROLL
        for (int q = 0; q < LAST; ++q)
            values[(j * PITCH + q) * LANES] = x[q];
    }
    template <int LANES> static CT_HOST_DEVICE void middleBack(int j, const Complex* factors, Complex* values)
    {
        const int t = j % LAST;
        factors += (FIRST - 1) * OUTER + t;
        values += (j / LAST * MIDDLE * PITCH + t) * LANES;
        Complex x[MIDDLE];
        x[0] = values[0];
        CT_UNROLL
        for (int q = 1; q < MIDDLE; ++q)
            x[q] = multiply(values[q * PITCH * LANES], loadFactor(factors + (q - 1) * LAST));
        Butterfly<MIDDLE>::run(x);
        CT_UNROLL
        for (int q = 0; q < MIDDLE; ++q)
            values[q * PITCH * LANES] = x[q];
    }
    template <int LANES>
    static CT_HOST_DEVICE void firstBack(Complex (&x)[FIRST], int j, const Complex* factors, const Complex* values)
    {
        const int at = (j / LAST * PITCH + j % LAST) * LANES;
        x[0] = values[at];
        CT_UNROLL
        for (int q = 1; q < FIRST; ++q)
            x[q] = multiply(values[at + q * MIDDLE * PITCH * LANES], loadFactor(factors + (q - 1) * OUTER + j));
        Butterfly<FIRST>::run(x);
    }
};

//! Calls body(length) with that of Lengths which is `length`; returns false if there is none.
template <class... Lengths, class Body> bool forOneOf(int length, const Body& body)
{
    return ((Lengths::LENGTH == length ? (body(Lengths()), true) : false) || ...);
}

//! Calls body(length) with the Length of rows of `length` values; returns false if there is none.
template <class Body> bool forRow(int length, const Body& body)
{
    return forOneOf<Length<8, 6, 8>, Length<8, 8, 8>, Length<8, 8, 10>, Length<8, 8, 12>, Length<8, 9, 12>,
                    Length<8, 10, 12>, Length<8, 8, 16>, Length<8, 9, 15>, Length<8, 12, 12>, Length<8, 10, 16>,
                    Length<8, 12, 16>, Length<8, 16, 16>, Length<9, 15, 16>>(length, body);
}

//! Calls body(length) with the Length of columns of `length` values, whose last radix is small: a thread keeps that
//! many sums.
template <class Body> bool forColumn(int length, const Body& body)
{
    return forOneOf<Length<8, 6, 8>, Length<8, 8, 8>, Length<8, 10, 8>, Length<12, 8, 8>, Length<12, 9, 8>,
                    Length<12, 10, 8>, Length<8, 16, 8>, Length<10, 12, 9>, Length<12, 12, 8>, Length<10, 16, 8>,
                    Length<12, 16, 8>, Length<16, 16, 8>, Length<15, 16, 9>>(length, body);
}

//! Returns the factors of the transforms of rows of `cols` values, then those of columns of `rows` values.
std::vector<Complex> factorsOf(int cols, int rows);

//! The lengths that forRow() and forColumn() know, ascending.
const int TRANSFORM_LENGTHS[] = {384, 512, 640, 768, 864, 960, 1024, 1080, 1152, 1280, 1536, 2048, 2160};

}}}} // namespace cv::cuda::fragment_matcher::gpu

#endif // OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_FFT_HPP
