// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Part of core.hpp: a Fourier transform whose additions have one order, whoever executes them: Stockham's, with stages
// of radix 2, 3, 4 and 5. A stage reads one array and writes another; its butterflies can be executed in any order.
#ifndef OPENCV_CUDATRACKING_TLD_CORE_FILTER_FFT_HPP
#define OPENCV_CUDATRACKING_TLD_CORE_FILTER_FFT_HPP

#include "../common/hostdevice.hpp"
#include <type_traits>

namespace cv { namespace cuda { namespace tld {

template <int VALUE> using IntConstant = std::integral_constant<int, VALUE>;

//! Transforms R complex values in place.
CT_HOST_DEVICE void butterfly(IntConstant<2>, float* re, float* im)
{
    const float r = re[1], i = im[1];
    re[1] = re[0] - r;
    im[1] = im[0] - i;
    re[0] = re[0] + r;
    im[0] = im[0] + i;
}
CT_HOST_DEVICE void butterfly(IntConstant<3>, float* re, float* im)
{
    const float sine = 0.866025404f;
    const float sumRe = re[1] + re[2], sumIm = im[1] + im[2];
    const float midRe = re[0] - 0.5f * sumRe, midIm = im[0] - 0.5f * sumIm;
    const float difRe = sine * (re[1] - re[2]), difIm = sine * (im[1] - im[2]);
    re[0] = re[0] + sumRe;
    im[0] = im[0] + sumIm;
    re[1] = midRe + difIm;
    im[1] = midIm - difRe;
    re[2] = midRe - difIm;
    im[2] = midIm + difRe;
}
CT_HOST_DEVICE void butterfly(IntConstant<4>, float* re, float* im)
{
    const float evenRe = re[0] + re[2], evenIm = im[0] + im[2], oddRe = re[1] + re[3], oddIm = im[1] + im[3];
    const float aRe = re[0] - re[2], aIm = im[0] - im[2], bRe = re[1] - re[3], bIm = im[1] - im[3];
    re[0] = evenRe + oddRe;
    im[0] = evenIm + oddIm;
    re[2] = evenRe - oddRe;
    im[2] = evenIm - oddIm;
    re[1] = aRe + bIm;
    im[1] = aIm - bRe;
    re[3] = aRe - bIm;
    im[3] = aIm + bRe;
}
CT_HOST_DEVICE void butterfly(IntConstant<5>, float* re, float* im)
{
    const float cos1 = 0.309016994f, cos2 = -0.809016994f, sin1 = 0.951056516f, sin2 = 0.587785252f;
    const float aRe = re[1] + re[4], aIm = im[1] + im[4], bRe = re[2] + re[3], bIm = im[2] + im[3];
    const float cRe = re[1] - re[4], cIm = im[1] - im[4], dRe = re[2] - re[3], dIm = im[2] - im[3];
    const float e1Re = re[0] + cos1 * aRe + cos2 * bRe, e1Im = im[0] + cos1 * aIm + cos2 * bIm;
    const float e2Re = re[0] + cos2 * aRe + cos1 * bRe, e2Im = im[0] + cos2 * aIm + cos1 * bIm;
    const float f1Re = sin1 * cRe + sin2 * dRe, f1Im = sin1 * cIm + sin2 * dIm;
    const float f2Re = sin2 * cRe - sin1 * dRe, f2Im = sin2 * cIm - sin1 * dIm;
    re[0] = re[0] + aRe + bRe;
    im[0] = im[0] + aIm + bIm;
    re[1] = e1Re + f1Im;
    im[1] = e1Im - f1Re;
    re[4] = e1Re - f1Im;
    im[4] = e1Im + f1Re;
    re[2] = e2Re + f2Im;
    im[2] = e2Im - f2Re;
    re[3] = e2Re - f2Im;
    im[3] = e2Im + f2Re;
}

//! One butterfly of a stage: N / R of them, by number.
template <int N, int R, int STRIDE> struct FftButterfly
{
    int p, q;

    CT_HOST_DEVICE explicit FftButterfly(int number) : p(number / STRIDE), q(number % STRIDE) {}
    //! Returns the index of input r.
    CT_HOST_DEVICE int from(int r) const { return q + STRIDE * p + N / R * r; }
    //! Returns the index of output r.
    CT_HOST_DEVICE int to(int r) const { return q + STRIDE * (R * p + r); }
    //! Returns the part of a turn, in N-ths, by which output r is turned back.
    CT_HOST_DEVICE int turn(int r) const { return p * r * STRIDE; }
};

/** Executes a butterfly. @param cosine,sine of the multiples of a turn / N. @param load,store functors of an index and
two floats, the real and the imaginary part. */
template <int N, int R, int STRIDE, typename Load, typename Store>
CT_HOST_DEVICE void runButterfly(const FftButterfly<N, R, STRIDE>& b, const float* cosine, const float* sine,
                                 const Load& load, const Store& store)
{
    float re[R], im[R];
    for (int r = 0; r < R; ++r)
        load(b.from(r), re[r], im[r]);
    butterfly(IntConstant<R>(), re, im);
    store(b.to(0), re[0], im[0]);
    for (int r = 1; r < R; ++r)
    {
        const float c = cosine[b.turn(r)], s = sine[b.turn(r)];
        store(b.to(r), re[r] * c + im[r] * s, im[r] * c - re[r] * s);
    }
}

//! The stages of a transform of N values, N the product of the radices.
template <int N, int... RADICES> struct FftStages
{
    static const int STAGES = sizeof...(RADICES);

    //! Calls stage(IntConstant of the radix, IntConstant of the stride) in their order.
    template <typename Stage> CT_HOST_DEVICE static void run(const Stage& stage) { runFrom<1, RADICES...>(stage); }

private:
    template <int STRIDE, int R, int... OTHERS, typename Stage> CT_HOST_DEVICE static void runFrom(const Stage& stage)
    {
        stage(IntConstant<R>(), IntConstant<STRIDE>());
        if constexpr (sizeof...(OTHERS) > 0)
            runFrom<STRIDE * R, OTHERS...>(stage);
        else
            static_assert(STRIDE * R == N, "the radices are the factors of N");
    }
};

}}} // namespace cv::cuda::tld

#endif // OPENCV_CUDATRACKING_TLD_CORE_FILTER_FFT_HPP
