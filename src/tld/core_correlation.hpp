// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Part of core.hpp: the correlation filter of an object, in the form of STRCF (Li et al., CVPR 2018): it is trained on
// a large surround, a mask makes it 0 outside of the object, and a temporal term keeps it near the filter of the frame
// before.
//
//   core_fft.hpp          Fourier transform of a fixed order
//   core_cells.hpp        samples of an image, the channels of its cells
//   core_correlation.hpp  sizes, tables, model; spectra, answers, training, per element
//
//   channels * factors of their blocks * window -> transforms of pairs of channels -> firstSpectrum(), secondSpectrum()
//   answer:    pairAnswer() of the pairs in their order -> answerAt() -> transform -> the largest value, then PeakSearch
//   training:  solve (wanted(), Projection) -> transform back, 0 outside of TargetCells, transform, constrained() ->
//              solve
//
// Sums over pixels are integers, those of floats have one order, and of libm only the square root is used: both
// backends give the same bits.
#ifndef OPENCV_CUDATRACKING_TLD_CORE_CORRELATION_HPP
#define OPENCV_CUDATRACKING_TLD_CORE_CORRELATION_HPP

#include "core_base.hpp"
#include "core_fft.hpp"

namespace cv { namespace cuda { namespace tld { namespace correlation {

const int GRID = 48; //!< cells per side of the surround, whatever its size in the image: even
//! Factors of GRID, in the order of the stages of its Fourier transform.
typedef FftStages<GRID, 4, 4, 3> Fft;
const double SURROUND = 5.;           //!< side of the surround, in square roots of the target's area
const double SIZE_STEP = 1.02;        //!< ratio of neighbouring sizes
const float SIZE_MARGIN = 1.05f;      //!< of an answer of another size, in answers of the size before
const double ANSWER_SIGMA = 1. / 16.; //!< of the desired answer, in square roots of the target's area
const float MEMORY = 80.f;            //!< weight of the filter of the frame before

const int SIZES = 3; //!< that are compared: smaller, equal, larger
const int CELL = 4;  //!< side of a cell, samples
const int SIDE = GRID * CELL, CELLS = GRID * GRID;
const int ORIENTATIONS = 9;                                                     //!< of gradients without sign
const int HOG_CHANNELS = 3 * ORIENTATIONS + 4, CHANNELS = HOG_CHANNELS + 1 + 8; //!< HOG, gray, corners of colours
const int BLOCKS = 3;                                                           //!< of channels: HOG, gray, colours
const int PAIRS = CHANNELS / 2;          //!< of channels that one complex transform takes
const int COLUMNS = GRID / 2 + 1;        //!< of a spectrum; the others are conjugates of these
const int SPECTRUM = COLUMNS * GRID;     //!< values, by columns
const int FINE = 64, TURN = GRID * FINE; //!< positions of a peak: parts of a cell, and in all
const int PEAK_STEPS = 5;                //!< evaluations of the answer by PeakSearch
const int ROW_PARTS = 8;                 //!< sums in which the rows of a column are added
const float INVERSE = 1.f / CELLS;

struct Complex
{
    float re, im;
};

// --- place -----------------------------------------------------------------------------------------------------------

//! Returns the side of the surround of a target, pixels. @param width,height of the target at scale 1.
CT_HOST_DEVICE double surroundSide(int width, int height, double scale)
{
    return SURROUND * sqrt(static_cast<double>(width) * height) * scale;
}
//! Returns the factor of size i, the smallest first.
CT_HOST_DEVICE double sizeFactor(int i) { return i == 0 ? 1. / SIZE_STEP : (i == 1 ? 1. : SIZE_STEP); }

//! Limits the scale of a filter. @param width,height of the target at scale 1. @param cols,rows of the image.
CT_HOST_DEVICE double limitedScale(double scale, int width, int height, int cols, int rows)
{
    const double least = lesser(1., greater(5. / 32., 8. / lesser(width, height)));
    const double most = greater(1., lesser(static_cast<double>(cols) / width, static_cast<double>(rows) / height));
    return lesser(most, greater(least, scale));
}

//! Cells whose centres are in the target: columns and rows [GRID / 2 - half, GRID / 2 + half).
struct TargetCells
{
    int32_t halfCols, halfRows;

    CT_HOST_DEVICE bool has(int x, int y) const
    {
        return x >= GRID / 2 - halfCols && x < GRID / 2 + halfCols && y >= GRID / 2 - halfRows &&
               y < GRID / 2 + halfRows;
    }
};
//! Returns half the number of cells along a side: at least one.
CT_HOST_DEVICE int halfTarget(int side, int other)
{
    const double half = GRID / (2. * SURROUND) * sqrt(static_cast<double>(side) / other);
    return greater(1, static_cast<int>(lesser(static_cast<double>(GRID / 2), half + 0.5)));
}
//! @param width,height of the target.
CT_HOST_DEVICE TargetCells targetCells(int width, int height)
{
    return {halfTarget(width, height), halfTarget(height, width)};
}

// --- tables ----------------------------------------------------------------------------------------------------------

//! Returns the cosine of a part of a turn, by its series. @param part -1 to 1.
inline double cosineOfTurn(double part)
{
    const double turned = part < 0. ? -part : part, near = turned > 0.5 ? 1. - turned : turned;
    const bool obtuse = near > 0.25;
    const double angle = 6.283185307179586 * (obtuse ? 0.5 - near : near);
    double sum = 0., term = 1.;
    for (int k = 0; k < 24; k += 2)
    {
        sum += term;
        term *= -angle * angle / ((k + 1) * (k + 2));
    }
    return obtuse ? -sum : sum;
}
//! Returns e^-x. @param x 0 or more.
inline double expNegative(double x)
{
    if (x > 64.)
        return 0.;
    double sum = 0., term = 1.;
    for (int k = 0; k < 12; ++k)
    {
        sum += term;
        term *= -(x / 1024.) / (k + 1);
    }
    for (int k = 0; k < 10; ++k)
        sum *= sum;
    return sum;
}

//! Values that are the same for all filters; makeTables() computes them on the host.
struct Tables
{
    float cosine[GRID], sine[GRID]; //!< of the multiples of a turn / GRID
    float window[GRID];             //!< Hann
    float target[GRID];             //!< spectrum of the desired answer along an axis, divided by GRID
    float turn[TURN];               //!< cosines of the multiples of a turn / TURN
};

inline Tables makeTables()
{
    Tables t = {};
    for (int i = 0; i < TURN; ++i)
        t.turn[i] = static_cast<float>(cosineOfTurn(static_cast<double>(i) / TURN));
    // The target has the same area in cells whatever its size, so that all filters have one desired answer.
    const double sigma = GRID / SURROUND * ANSWER_SIGMA;
    for (int i = 0; i < GRID; ++i)
    {
        t.cosine[i] = t.turn[i * FINE];
        t.sine[i] = t.turn[(i * FINE + 3 * TURN / 4) % TURN];
        t.window[i] = static_cast<float>(0.5 - 0.5 * cosineOfTurn(static_cast<double>(i) / (GRID - 1)));
        double sum = 0.;
        for (int k = 0; k < GRID; ++k)
        {
            const int d = k < GRID / 2 ? k : k - GRID;
            sum += expNegative(0.5 * d * d / (sigma * sigma)) * cosineOfTurn(static_cast<double>(i * k % GRID) / GRID);
        }
        t.target[i] = static_cast<float>(sum / GRID);
    }
    return t;
}

//! Spectra of all channels: 384 KB. The model of a filter, and those of an image.
struct Spectra
{
    float re[CHANNELS][SPECTRUM], im[CHANNELS][SPECTRUM];
};

// --- spectra ---------------------------------------------------------------------------------------------------------

//! Returns the block of a channel.
CT_HOST_DEVICE int blockOf(int channel) { return channel < HOG_CHANNELS ? 0 : (channel == HOG_CHANNELS ? 1 : 2); }

const float ENERGY_ONE = 16777216.f;
//! Returns the square of a feature as an integer, so that squares can be added in any order.
CT_HOST_DEVICE int energyOf(float feature) { return static_cast<int>(feature * feature * ENERGY_ONE); }
//! Returns the factor that gives a block a mean square of 1. @param energy sum over its channels and all cells.
CT_HOST_DEVICE float blockFactor(int block, int64_t energy)
{
    const int channels = block == 0 ? HOG_CHANNELS : (block == 1 ? 1 : CHANNELS - HOG_CHANNELS - 1);
    return static_cast<float>(
        sqrt(static_cast<double>(CELLS) * channels * ENERGY_ONE / (static_cast<double>(energy) + 1.)));
}
//! Returns a feature as it is transformed. @param x,y windows at the cell.
CT_HOST_DEVICE float weighted(float feature, float factor, float x, float y) { return feature * (factor * (y * x)); }

//! Returns the row or column of the conjugate value in a spectrum of real values.
CT_HOST_DEVICE int conjugatePlace(int k) { return k == 0 ? 0 : GRID - k; }
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
/* The way back: the conjugate of the spectrum of a + i b is transformed forward, which gives the conjugate of a + i b,
times CELLS. */
CT_HOST_DEVICE Complex joined(const Complex& a, const Complex& b) { return {a.re - b.im, -(a.im + b.re)}; }
//! Returns the value at conjugatePlace().
CT_HOST_DEVICE Complex joinedMirror(const Complex& a, const Complex& b) { return {a.re + b.im, a.im - b.re}; }

// --- answer ----------------------------------------------------------------------------------------------------------

//! Returns the answer of a pair of channels: the conjugate of the model times the spectrum, summed.
CT_HOST_DEVICE Complex pairAnswer(const Complex& modelA, const Complex& a, const Complex& modelB, const Complex& b)
{
    return {(modelA.re * a.re + modelA.im * a.im) + (modelB.re * b.re + modelB.im * b.im),
            (modelA.re * a.im - modelA.im * a.re) + (modelB.re * b.im - modelB.im * b.re)};
}
//! Returns the answer's spectrum divided by CELLS. Its conjugate is transformed forward, which gives the answer.
CT_HOST_DEVICE Complex answerAt(const Complex& sum) { return {sum.re * INVERSE, sum.im * INVERSE}; }

//! Answer of a filter to one size.
struct Answer
{
    float confidence; //!< largest value
    int32_t dx, dy;   //!< its displacement, in cells / FINE
};

//! Returns the index of the cosine of a part of a turn. @param k frequency. @param position in cells / FINE.
CT_HOST_DEVICE int turnOf(int k, int position) { return (k * position % TURN + TURN) % TURN; }
CT_HOST_DEVICE Complex waveOf(int k, int position, const float* turn)
{
    const int i = turnOf(k, position);
    return {turn[i], turn[i < TURN / 4 ? i + 3 * TURN / 4 : i - TURN / 4]};
}
//! Returns the frequency of a row or column.
CT_HOST_DEVICE int frequencyOf(int place) { return place <= GRID / 2 ? place : place - GRID; }

/* The answer between cells, and its derivatives, by trigonometric interpolation. Per column: sums over the rows of
value * wave(dy) * frequency^0, 1, 2. Rows r, r + ROW_PARTS and so on add up to a part, the parts as a binary tree. Then
columns are turned by wave(dx), and add up as a binary tree of 32. */
struct ColumnSums
{
    float re[3], im[3];

    //! @param value of the answer's spectrum. @param wave of the row.
    CT_HOST_DEVICE void add(const Complex& value, const Complex& wave, float frequency)
    {
        const float r = value.re * wave.re - value.im * wave.im, i = value.re * wave.im + value.im * wave.re;
        const float r1 = frequency * r, i1 = frequency * i;
        re[0] += r;
        im[0] += i;
        re[1] += r1;
        im[1] += i1;
        re[2] += frequency * r1;
        im[2] += frequency * i1;
    }
};
//! Value and derivatives of the answer, by the angle.
struct Slope
{
    float value, x, y, xx, xy, yy;
};
//! Returns the part of a column. @param wave of the column.
CT_HOST_DEVICE Slope slopeOf(const ColumnSums& sums, const Complex& wave, int column)
{
    const float weight = column == 0 || 2 * column == GRID ? 1.f : 2.f, k = static_cast<float>(column);
    float re[3], im[3];
    for (int p = 0; p < 3; ++p)
    {
        re[p] = weight * (sums.re[p] * wave.re - sums.im[p] * wave.im);
        im[p] = weight * (sums.re[p] * wave.im + sums.im[p] * wave.re);
    }
    return {re[0], -(k * im[0]), -im[1], -(k * (k * re[0])), -(k * re[1]), -re[2]};
}

//! Newton's method on the answer, from the cell of the largest value.
struct PeakSearch
{
    int32_t x, y; //!< where it is evaluated next, in cells / FINE
    int32_t steps;
    Answer best;

    CT_HOST_DEVICE void begin(int cell)
    {
        x = cell % GRID * FINE;
        y = cell / GRID * FINE;
        steps = 0;
        best = {0.f, 0, 0};
    }
    //! Takes the slope at (x, y), and moves. @return whether it goes on.
    CT_HOST_DEVICE bool move(const Slope& s)
    {
        if (steps == 0 || s.value > best.confidence)
            best = {s.value, x, y};
        ++steps;
        const float det = s.yy * s.xx - s.xy * s.xy;
        if (steps == PEAK_STEPS || !(s.yy < 0.f && det > 0.f))
            return false;
        const float unit = TURN / 6.283185307f;
        const float moveX = (s.yy * s.x - s.xy * s.y) / det * unit, moveY = (s.xx * s.y - s.xy * s.x) / det * unit;
        if (!(moveX <= FINE && moveX >= -FINE && moveY <= FINE && moveY >= -FINE))
            return false;
        const int wholeX = roundEven(moveX), wholeY = roundEven(moveY);
        x -= wholeX;
        y -= wholeY;
        return wholeX != 0 || wholeY != 0;
    }
    //! Returns the result, with a displacement of at most half the surround.
    CT_HOST_DEVICE Answer result() const
    {
        return {best.confidence, best.dx > TURN / 2 ? best.dx - TURN : best.dx,
                best.dy > TURN / 2 ? best.dy - TURN : best.dy};
    }
};

//! Returns the size that is taken: another one than the middle one only if its answer is larger by SIZE_MARGIN. Answers
//! of a filter that has seen few frames differ by noise, and it would be trained at the sizes that noise chooses.
//! @param answers SIZES.
CT_HOST_DEVICE int largestSize(const Answer* answers)
{
    const int other = answers[2].confidence > answers[0].confidence ? 2 : 0;
    return answers[other].confidence > SIZE_MARGIN * answers[1].confidence ? other : 1;
}

// --- training --------------------------------------------------------------------------------------------------------

//! Returns what a filter without energy would be. @param target of the frequency. @param before the filter of the frame
//! before. @param memory MEMORY; 0: there is none.
CT_HOST_DEVICE Complex wanted(const Complex& x, float target, const Complex& before, float memory)
{
    return {x.re * target + memory * before.re, x.im * target + memory * before.im};
}

//! Sums over the channels of a frequency, in their order.
struct Projection
{
    float energy;
    Complex sum;

    //! @param q what is wanted.
    CT_HOST_DEVICE void add(const Complex& x, const Complex& q)
    {
        energy += x.re * x.re + x.im * x.im;
        sum.re += x.re * q.re + x.im * q.im;
        sum.im += x.re * q.im - x.im * q.re;
    }
    //! @param weight penalty plus memory.
    CT_HOST_DEVICE void divide(float weight)
    {
        const float all = energy + CELLS * weight;
        sum = {sum.re / all, sum.im / all};
    }
};
//! Returns the filter of a channel. @param sum of Projection. @param inverse 1 / (penalty plus memory).
CT_HOST_DEVICE Complex solved(const Complex& x, const Complex& q, const Complex& sum, float inverse)
{
    return {(q.re - (x.re * sum.re - x.im * sum.im)) * inverse, (q.im - (x.re * sum.im + x.im * sum.re)) * inverse};
}
//! Returns the weight of the constraint that the filter is 0 outside of the target. @param solution 0 or 1.
CT_HOST_DEVICE float penaltyOf(int solution) { return solution == 0 ? 1.f : 0.1f; }
//! Returns what the second solution adds to wanted(). @param first solution. @param inside the same, 0 outside of the
//! target.
CT_HOST_DEVICE float constrained(float first, float inside) { return penaltyOf(1) * inside - (first - inside); }

}}}} // namespace cv::cuda::tld::correlation

#endif // OPENCV_CUDATRACKING_TLD_CORE_CORRELATION_HPP
