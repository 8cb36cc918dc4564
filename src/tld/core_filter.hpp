// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Part of core.hpp: sizes, areas, tables and model of an object's correlation filter. It is Staple (Bertinetto et al.,
// CVPR 2016): a filter on HOG, histograms of the object and its surround, and the scale filter of DSST.
//
//   core_filter.hpp           constants that were tuned, areas, tables, model
//   core_filter_fft.hpp       Fourier transform of a fixed order
//   core_filter_features.hpp  samples of an image, HOG, bins of histograms
//   core_filter_answer.hpp    answers of the filter, its training
//   core_filter_rules.hpp     when the filter's box is taken, and when it is trained
//
// Sums over pixels are integers, those of floats have one order, and of libm only the square root is used: both
// backends give the same bits.
#ifndef OPENCV_CUDATRACKING_TLD_CORE_FILTER_HPP
#define OPENCV_CUDATRACKING_TLD_CORE_FILTER_HPP

#include "core_base.hpp"
#include "core_filter_fft.hpp"

namespace cv { namespace cuda { namespace tld {

// --- constants -------------------------------------------------------------------------------------------------------

const int FILTER_GRID = 32; //!< cells per side of the surround, whatever its size in the image: even
//! Factors of FILTER_GRID, in the order of the stages of its Fourier transform.
typedef FftStages<FILTER_GRID, 4, 4, 2> FilterFft;
const int FILTER_SCALES = 17; //!< sizes that the scale filter compares: odd

const double FILTER_INNER = 0.2;       //!< the foreground is smaller than the target by this part of its mean side
const double FILTER_SIGMA = 0.075;     //!< of the desired answer, in sides of the target
const float FILTER_LAMBDA = 1e-3f;     //!< regularization of both filters
const float FILTER_RATE = 0.01f;       //!< part of a frame in the filter's model
const float HISTOGRAM_RATE = 0.04f;    //!< part of a frame in the histograms
const float SCALE_RATE = 0.025f;       //!< part of a frame in the scale filter's model
const float HISTOGRAM_PART = 0.3f;     //!< weight of the histograms in the merged answer
const double FILTER_SCALE_STEP = 1.02; //!< ratio of neighbouring sizes
const double SCALE_SIGMA = 0.25;       //!< of the scale filter's desired answer, in square roots of FILTER_SCALES
const double LEAST_FILTER_SCALE = 5. / 32.;

const double WEAK_CONFIDENCE = 0.08;   //!< least confidence of a weak answer
const double STRONG_CONFIDENCE = 0.10; //!< least confidence of a strong answer
const double STRONG_PART = 0.5;        //!< least confidence of a strong answer, in mean confidences
const double COVER_PART = 0.4;         //!< below: the answer may be of a cover; in mean confidences
const int CONFIDENCES = 10;            //!< confidences whose arithmetic mean is taken; then it is a moving one
const double CONFIDENCE_RATE = 0.1;    //!< part of a confidence in the moving mean
const double FILTER_SAME_AREA = 1.1;   //!< above: the box's size replaces the filter's own
const double FILTER_NEAR = 0.1;        //!< above: another place; in square roots of the last box's area
const double FILTER_SURE_SCORE = 0.5;  //!< from here on the ferns are sure of a box that is not valid
const double FILTER_SUPPORT = 0.5;     //!< above: overlap by which a strong answer supports a box
const double SUPPORT_PART = 0.75;      //!< least confidence of an answer that supports a box, in mean confidences
const double OUTSIDE_PART = 0.2;       //!< above: part of the box outside of the image; then OUTSIDE_SUPPORT
const double OUTSIDE_SUPPORT = 0.6;    //!< takes the place of SUPPORT_PART
const double DOUBTED_SUPPORT = 0.25;   //!< least confidence of a strong answer that supports a box that is not valid

const int FILTER_CELL = 4; //!< side of a cell, pixels
const int FILTER_SIDE = FILTER_GRID * FILTER_CELL, FILTER_CELLS = FILTER_GRID * FILTER_GRID;
const int ORIENTATIONS = 9; //!< of gradients without sign
const int FILTER_CHANNELS = 3 * ORIENTATIONS + 1;
const int FILTER_PAIRS = FILTER_CHANNELS / 2;             //!< of channels that one complex transform takes
const int FILTER_COLUMNS = FILTER_GRID / 2 + 1;           //!< of a spectrum; the others are conjugates of these
const int FILTER_SPECTRUM = FILTER_COLUMNS * FILTER_GRID; //!< by columns
const int COLOUR_LEVELS = 32;                             //!< per channel of histograms
const int HISTOGRAM_BINS = COLOUR_LEVELS * COLOUR_LEVELS * COLOUR_LEVELS; //!< of gray images the first COLOUR_LEVELS
const int LIKELIHOOD_ONE = 1 << 15;
const int SCALE_FREQUENCIES = FILTER_SCALES / 2 + 1; //!< the others are conjugates of these
const int SCALE_CHANNELS = 3 * ORIENTATIONS + 4;
const int SCALE_PIXELS = 512, SCALE_CELLS = SCALE_PIXELS / (FILTER_CELL * FILTER_CELL); //!< largest numbers
const int SCALE_ROWS = SCALE_CHANNELS * SCALE_CELLS; //!< values per size; cell c of channel k is k * SCALE_CELLS + c

// --- areas -----------------------------------------------------------------------------------------------------------

//! Areas around the centre of a filter, pixels of the image.
struct FilterAreas
{
    int32_t targetWidth, targetHeight;
    int32_t width, height;           //!< of the surround, where the object is searched
    int32_t innerWidth, innerHeight; //!< of the foreground
};

//! Returns the side of a surround. @param limit side of the image.
CT_HOST_DEVICE int surroundSide(int target, double mean, int limit)
{
    const int wanted = roundEven(target + mean), side = wanted > limit ? limit - 1 : wanted;
    return greater(2, side - ((side - target) & 1));
}
CT_HOST_DEVICE int innerSide(int target, double mean, int surround)
{
    const int side = greater(2, roundEven(target - mean * FILTER_INNER));
    return side + ((surround - side) & 1);
}
//! @param width,height of the target at scale 1.
CT_HOST_DEVICE FilterAreas filterAreas(int width, int height, double scale, int cols, int rows)
{
    FilterAreas a;
    a.targetWidth = greater(2, roundEven(width * scale));
    a.targetHeight = greater(2, roundEven(height * scale));
    const double mean = (a.targetWidth + a.targetHeight) / 2.;
    a.width = surroundSide(a.targetWidth, mean, cols);
    a.height = surroundSide(a.targetHeight, mean, rows);
    a.innerWidth = innerSide(a.targetWidth, mean, a.width);
    a.innerHeight = innerSide(a.targetHeight, mean, a.height);
    return a;
}
//! Returns the side of the target where the surround has FILTER_SIDE pixels: even, with a border around it.
CT_HOST_DEVICE int normalTarget(int target, int surround)
{
    const int half = roundEven(static_cast<double>(FILTER_SIDE / 2) * target / surround);
    return greater(4, lesser(FILTER_SIDE - 8, 2 * half));
}

//! Returns FILTER_SCALE_STEP to the power of an integer.
CT_HOST_DEVICE double scaleFactor(int power)
{
    double factor = 1.;
    for (int i = 0; i < (power < 0 ? -power : power); ++i)
        factor = power < 0 ? factor / FILTER_SCALE_STEP : factor * FILTER_SCALE_STEP;
    return factor;
}
//! Returns the factor of size i, the largest first.
CT_HOST_DEVICE double sizeFactor(int i) { return scaleFactor(FILTER_SCALES / 2 - i); }

//! Least and largest scale of a filter.
struct ScaleLimits
{
    double least, most;

    CT_HOST_DEVICE double limited(double scale) const { return lesser(most, greater(least, scale)); }
};
//! @param width,height of the target at scale 1.
CT_HOST_DEVICE ScaleLimits scaleLimits(int width, int height, int cols, int rows)
{
    return {lesser(1., greater(LEAST_FILTER_SCALE, 8. / lesser(width, height))),
            greater(1., lesser(static_cast<double>(cols) / width, static_cast<double>(rows) / height))};
}
//! Limits the scale of a filter whose target has width x height pixels at scale 1.
CT_HOST_DEVICE double limitedScale(double scale, int width, int height, int cols, int rows)
{
    return scaleLimits(width, height, cols, rows).limited(scale);
}

//! Size to which the scale filter samples the target, cells: at most SCALE_CELLS in all.
struct ScaleCells
{
    int32_t cols, rows;
};
CT_HOST_DEVICE ScaleCells scaleCells(int width, int height)
{
    const double factor = lesser(1., sqrt(SCALE_PIXELS / (static_cast<double>(width) * height)));
    const int most = SCALE_PIXELS / (2 * FILTER_CELL); // sides of the longest target, which has two cells across
    const auto cells = [&](int side)
    { return lesser(most, greater(2 * FILTER_CELL, static_cast<int>(side * factor))) / FILTER_CELL; };
    return {cells(width), cells(height)};
}

// --- tables ----------------------------------------------------------------------------------------------------------

//! Values that are the same for all filters; makeFilterTables() computes them on the host.
struct FilterTables
{
    float cosine[FILTER_GRID], sine[FILTER_GRID];               //!< of the multiples of a turn / FILTER_GRID
    float window[FILTER_GRID];                                  //!< Hann
    float scaleCosine[FILTER_SCALES], scaleSine[FILTER_SCALES]; //!< of the multiples of a turn / FILTER_SCALES
    float scaleWindow[FILTER_SCALES];
    float scaleTargetRe[SCALE_FREQUENCIES], scaleTargetIm[SCALE_FREQUENCIES]; //!< spectrum of the desired answer
};

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
inline double cosineOf(int k, int n) { return cosineOfTurn(static_cast<double>(k) / n); }
inline double sineOf(int k, int n) { return cosineOfTurn(static_cast<double>(4 * k - n) / (4 * n)); }
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
//! Rounds to 2^-15.
inline float fixedOf(double value) { return static_cast<float>(roundEven(value * 32768.) / 32768.); }
//! Returns value i of a Hann window of n values.
inline float hannOf(int i, int n) { return fixedOf(0.5 - 0.5 * cosineOf(i, n - 1)); }

inline FilterTables makeFilterTables()
{
    FilterTables t = {};
    for (int i = 0; i < FILTER_GRID; ++i)
    {
        t.cosine[i] = static_cast<float>(cosineOf(i, FILTER_GRID));
        t.sine[i] = static_cast<float>(sineOf(i, FILTER_GRID));
        t.window[i] = hannOf(i, FILTER_GRID);
    }
    const int n = FILTER_SCALES;
    const double sigma = n / sqrt(33.) * SCALE_SIGMA; // Staple's, of 33 sizes
    for (int i = 0; i < n; ++i)
    {
        t.scaleCosine[i] = static_cast<float>(cosineOf(i, n));
        t.scaleSine[i] = static_cast<float>(sineOf(i, n));
        t.scaleWindow[i] = hannOf(i + 1, n + 2);
    }
    for (int f = 0; f < SCALE_FREQUENCIES; ++f)
    {
        double re = 0., im = 0.;
        for (int i = 0; i < n; ++i)
        {
            const int d = i - n / 2;
            const double desired = fixedOf(expNegative(0.5 * d * d / (sigma * sigma)));
            re += desired * cosineOf(i * f % n, n);
            im -= desired * sineOf(i * f % n, n);
        }
        t.scaleTargetRe[f] = static_cast<float>(re);
        t.scaleTargetIm[f] = static_cast<float>(im);
    }
    return t;
}

//! Spectrum of the desired answer of an object's filter, divided by the number of cells: a Gaussian, so that it is the
//! product of a value per row and one per column.
struct FilterTarget
{
    float value[FILTER_GRID];

    CT_HOST_DEVICE float at(int row, int column) const { return value[row] * value[column]; }
};
//! @param width,height of the object, pixels.
inline FilterTarget makeFilterTarget(int width, int height, int cols, int rows)
{
    const FilterAreas a = filterAreas(width, height, 1., cols, rows);
    const double area =
        static_cast<double>(normalTarget(a.targetWidth, a.width)) * normalTarget(a.targetHeight, a.height);
    const double sigma = sqrt(area) * FILTER_SIGMA / FILTER_CELL;
    FilterTarget target;
    for (int f = 0; f < FILTER_GRID; ++f)
    {
        double sum = 0.;
        for (int i = 0; i < FILTER_GRID; ++i)
        {
            const int d = i < (FILTER_GRID + 1) / 2 ? i : i - FILTER_GRID;
            sum += fixedOf(expNegative(0.5 * d * d / (sigma * sigma))) * cosineOf(i * f % FILTER_GRID, FILTER_GRID);
        }
        target.value[f] = static_cast<float>(sum / FILTER_GRID);
    }
    return target;
}

// --- model -----------------------------------------------------------------------------------------------------------

//! The learned values of a filter: 460 KB.
struct FilterModel
{
    float re[FILTER_CHANNELS][FILTER_SPECTRUM], im[FILTER_CHANNELS][FILTER_SPECTRUM]; //!< numerators
    float energy[FILTER_SPECTRUM];                                                    //!< denominator
    //! numerators of the scale filter
    float scaleRe[SCALE_FREQUENCIES][SCALE_ROWS], scaleIm[SCALE_FREQUENCIES][SCALE_ROWS];
    float scaleEnergy[SCALE_FREQUENCIES];
    float foreground[HISTOGRAM_BINS], background[HISTOGRAM_BINS]; //!< parts of all pixels
};

//! State of an object's filter from frame to frame. The model is stored apart.
struct FilterState
{
    int32_t width, height; //!< size of the target at scale 1, pixels: that of the user's box
    int32_t started;       //!< there is a model
    int32_t colour;        //!< 1: the histograms are those of colours, 0: of gray values
    double x, y;           //!< centre, pixels
    double scale;
    double confidence;     //!< of the answer in the last frame; 0: it was not asked
    double meanConfidence; //!< of frames in which it was trained
    int32_t confidences;   //!< number of these, at most CONFIDENCES
    int32_t weak, strong;  //!< answer in the last frame
    int32_t supports;      //!< its answer is support in this frame, and the object does not jump
    int32_t denies;        //!< windows do not support its box in this frame, unless that is valid
    int32_t trains;        //!< Training of this frame
};

}}} // namespace cv::cuda::tld

#endif // OPENCV_CUDATRACKING_TLD_CORE_FILTER_HPP
