// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Part of core.hpp: arithmetic of a filter's answers and of its training, per element.
//
//   features * window -> Fourier transforms of pairs of channels -> firstSpectrum(), secondSpectrum()
//   answer:    sum of addAnswer() over channels -> quotientOf() -> Fourier transform -> largest value: the confidence
//              mergedAnswer() of all displacements with likelihoods of the histograms -> the largest one moves the box
//   size:      features per size * scaleWindow -> addFrequency() -> sums over rows in the order of channels, then of
//              cells -> sizeAnswer(): the largest one scales the box
//   training:  learned() of each element of the model
#ifndef OPENCV_CUDATRACKING_TLD_CORE_FILTER_ANSWER_HPP
#define OPENCV_CUDATRACKING_TLD_CORE_FILTER_ANSWER_HPP

#include "core_filter_features.hpp"

namespace cv { namespace cuda { namespace tld {

struct Complex
{
    float re, im;
};

//! Returns the row or column of the conjugate value in a spectrum of real values.
CT_HOST_DEVICE int conjugatePlace(int k) { return k == 0 ? 0 : FILTER_GRID - k; }

//! Returns the spectrum of a from that of a + i b, both real. @param z,mirror the value, and that at conjugatePlace().
CT_HOST_DEVICE Complex firstSpectrum(const Complex& z, const Complex& mirror)
{
    return {0.5f * (z.re + mirror.re), 0.5f * (z.im - mirror.im)};
}
//! Returns the spectrum of b.
CT_HOST_DEVICE Complex secondSpectrum(const Complex& z, const Complex& mirror)
{
    return {0.5f * (z.im + mirror.im), 0.5f * (mirror.re - z.re)};
}

// --- answer ----------------------------------------------------------------------------------------------------------

//! Returns the answer of a channel: the conjugate of its numerator times its spectrum.
CT_HOST_DEVICE Complex answerPart(float modelRe, float modelIm, float re, float im)
{
    return {modelRe * re + modelIm * im, modelRe * im - modelIm * re};
}
//! Adds the answer of a channel. Channels add up in their order.
CT_HOST_DEVICE void addAnswer(Complex& sum, float modelRe, float modelIm, float re, float im)
{
    const Complex part = answerPart(modelRe, modelIm, re, im);
    sum.re += part.re;
    sum.im += part.im;
}
//! Divides by the denominator. The conjugate is transformed forward, which gives FILTER_CELLS times the answer.
CT_HOST_DEVICE Complex quotientOf(const Complex& sum, float energy)
{
    const float all = (energy + FILTER_LAMBDA) * FILTER_CELLS;
    return {sum.re / all, -sum.im / all};
}

//! Result of a filter at a place.
struct FilterAnswer
{
    float confidence; //!< largest value of the answer
    int32_t dx, dy;   //!< displacement of the largest merged answer, pixels of the surround with FILTER_SIDE pixels
};

//! Returns the confidence of an answer: without the sign of zero, which depends on the order of comparisons.
CT_HOST_DEVICE float confidenceOf(float largest) { return largest + 0.f; }

//! Displacements that are compared: -reachX to reachX, and likewise along y, by rows.
struct Displacements
{
    int32_t width, height; //!< of the target in the surround
    int32_t reachX, reachY;
    float inverse; //!< 1 / (area * LIKELIHOOD_ONE)

    CT_HOST_DEVICE int cols() const { return 2 * reachX + 1; }
    CT_HOST_DEVICE int rows() const { return 2 * reachY + 1; }
};
CT_HOST_DEVICE Displacements displacementsOf(const FilterAreas& a)
{
    Displacements d;
    d.width = normalTarget(a.targetWidth, a.width);
    d.height = normalTarget(a.targetHeight, a.height);
    d.reachX = (FILTER_SIDE - d.width) / 2;
    d.reachY = (FILTER_SIDE - d.height) / 2;
    d.inverse = 1.f / static_cast<float>(d.width * d.height * LIKELIHOOD_ONE);
    return d;
}

//! Returns the likelihood that pixels of a bin are of the object, 0 to LIKELIHOOD_ONE.
CT_HOST_DEVICE int likelihoodOf(float foreground, float background)
{
    const float all = foreground + background;
    return all > 0.f ? roundEven(foreground / all * LIKELIHOOD_ONE) : 0;
}

//! Two columns or rows of an answer, and the weight of the second.
struct Between
{
    int32_t first, second;
    float weight;
};
//! Returns the column or row that is i cells beyond the least displacement. No displacement is the first one.
CT_HOST_DEVICE int placeOfCell(int i) { return (lesser(i, FILTER_GRID - 1) + FILTER_GRID / 2) % FILTER_GRID; }
CT_HOST_DEVICE float weightInCell(int pixels) { return pixels * (1.f / FILTER_CELL); }
//! Returns those around a displacement along an axis.
CT_HOST_DEVICE Between betweenCells(int displacement)
{
    const int x = displacement + FILTER_SIDE / 2, x0 = x / FILTER_CELL;
    return {placeOfCell(x0), placeOfCell(x0 + 1), weightInCell(x % FILTER_CELL)};
}
CT_HOST_DEVICE float interpolated(float first, float second, float weight)
{
    return (1.f - weight) * first + weight * second;
}
//! Returns a row of an answer, interpolated between two columns.
CT_HOST_DEVICE float interpolated(const float* row, const Between& x)
{
    return interpolated(row[x.first], row[x.second], x.weight);
}
//! Returns the answer at a displacement, interpolated between cells. @param answer FILTER_CELLS values.
CT_HOST_DEVICE float interpolated(const float* answer, const Between& x, const Between& y)
{
    return interpolated(interpolated(answer + y.first * FILTER_GRID, x),
                        interpolated(answer + y.second * FILTER_GRID, x), y.weight);
}
//! Returns the merged answer. @param likelihood sum over the displaced target.
CT_HOST_DEVICE float mergedAnswer(float answer, int likelihood, const Displacements& d)
{
    return (1.f - HISTOGRAM_PART) * answer + HISTOGRAM_PART * (static_cast<float>(likelihood) * d.inverse);
}

// --- size ------------------------------------------------------------------------------------------------------------

//! Returns the part of a turn, in FILTER_SCALES-ths, by which frequency f turns size i back.
CT_HOST_DEVICE int sizeTurn(int i, int f) { return i * f % FILTER_SCALES; }
//! Adds a size of a row to a frequency. @param cosine,sine of sizeTurn().
CT_HOST_DEVICE void addFrequency(Complex& sum, float value, float cosine, float sine)
{
    sum.re += value * cosine;
    sum.im -= value * sine;
}
CT_HOST_DEVICE void addScaleAnswer(Complex& sum, float modelRe, float modelIm, float re, float im)
{
    sum.re += modelRe * re - modelIm * im;
    sum.im += modelRe * im + modelIm * re;
}
CT_HOST_DEVICE Complex scaleQuotient(const Complex& sum, float energy)
{
    const float all = energy + FILTER_LAMBDA;
    return {sum.re / all, sum.im / all};
}
//! Returns the answer of size i. @param quotients SCALE_FREQUENCIES results of scaleQuotient(). @param cosine,sine
//! tables of FilterTables for sizes.
CT_HOST_DEVICE float sizeAnswer(const Complex* quotients, int i, const float* cosine, const float* sine)
{
    float sum = quotients[0].re;
    for (int f = 1; f < SCALE_FREQUENCIES; ++f)
    {
        const int turn = sizeTurn(i, f);
        sum += 2.f * (quotients[f].re * cosine[turn] - quotients[f].im * sine[turn]);
    }
    return sum;
}

//! Returns the index of the size of the largest answer, of equal ones the first. @param answers FILTER_SCALES results
//! of sizeAnswer().
CT_HOST_DEVICE int largestSize(const float* answers)
{
    int best = 0;
    float most = answers[0];
    for (int i = 1; i < FILTER_SCALES; ++i)
    {
        best = answers[i] > most ? i : best;
        most = greater(most, answers[i]);
    }
    return best;
}

// --- training --------------------------------------------------------------------------------------------------------

//! Moves a value of the model towards that of the frame. @param rate 1: the model begins.
CT_HOST_DEVICE float learned(float model, float value, float rate) { return (1.f - rate) * model + rate * value; }
CT_HOST_DEVICE float squareOf(float re, float im) { return re * re + im * im; }
//! Returns the part of the pixels in a bin.
CT_HOST_DEVICE float binPart(int count, int all)
{
    return all > 0 ? static_cast<float>(count) / static_cast<float>(all) : 0.f;
}
//! Returns the numerator of the scale filter.
CT_HOST_DEVICE Complex scaleNumerator(float re, float im, int f, const FilterTables& t)
{
    return {t.scaleTargetRe[f] * re + t.scaleTargetIm[f] * im, t.scaleTargetIm[f] * re - t.scaleTargetRe[f] * im};
}

}}} // namespace cv::cuda::tld

#endif // OPENCV_CUDATRACKING_TLD_CORE_FILTER_ANSWER_HPP
