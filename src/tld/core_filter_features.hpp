// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Part of core.hpp: what a filter sees of an image: samples of its gray values, their gradients in cells (HOG), bins of
// colours.
#ifndef OPENCV_CUDATRACKING_TLD_CORE_FILTER_FEATURES_HPP
#define OPENCV_CUDATRACKING_TLD_CORE_FILTER_FEATURES_HPP

#include "../common/views.hpp"
#include "core_filter.hpp"
#include "core_patches.hpp"

namespace cv { namespace cuda { namespace tld {

// --- samples ---------------------------------------------------------------------------------------------------------

/** A rectangle of the image as cols x rows samples. A sample is the mean gray value of a square around its centre, as
wide as the distance of samples, but at least a pixel: interpolation where samples are closer than pixels. Positions
outside of the image take its outer pixels. */
struct SamplePlan
{
    int32_t x, y, width, height; //!< the rectangle, 256ths of a pixel
    int32_t cols, rows;
    int32_t halfX, halfY; //!< half of the square's sides, 256ths of a pixel
    double inverse;       //!< 1 / area of a square

    //! Returns where the square of a column or row begins, 256ths of a pixel.
    CT_HOST_DEVICE int left(int i) const { return x + (2 * i + 1) * width / (2 * cols) - halfX; }
    CT_HOST_DEVICE int top(int j) const { return y + (2 * j + 1) * height / (2 * rows) - halfY; }
};

//! Returns pixels as 256ths of a pixel.
CT_HOST_DEVICE int fixedPixels(double pixels) { return roundWithin(pixels * 256., 1 << 28); }
//! Moves the rectangle. All else depends on its size only.
CT_HOST_DEVICE void moveSamples(SamplePlan& plan, double x, double y)
{
    plan.x = fixedPixels(x);
    plan.y = fixedPixels(y);
}
//! @param x,y,width,height the rectangle, pixels.
CT_HOST_DEVICE SamplePlan planSamples(double x, double y, double width, double height, int cols, int rows)
{
    SamplePlan plan = {0, 0, fixedPixels(width), fixedPixels(height), cols, rows, 0, 0, 0.};
    moveSamples(plan, x, y);
    plan.halfX = greater(128, plan.width / (2 * cols));
    plan.halfY = greater(128, plan.height / (2 * rows));
    plan.inverse = 1. / (4. * plan.halfX * plan.halfY);
    return plan;
}
//! Moves the samples of a surround. @param x,y its centre, rounded to half a pixel.
CT_HOST_DEVICE void moveSurround(SamplePlan& plan, double x, double y, const FilterAreas& areas)
{
    moveSamples(plan, floor(x - areas.width / 2. + 0.5), floor(y - areas.height / 2. + 0.5));
}
//! Returns the samples of the surround, which has whole pixels. @param x,y see moveSurround().
CT_HOST_DEVICE SamplePlan planSurround(double x, double y, const FilterAreas& areas)
{
    SamplePlan plan = planSamples(0., 0., areas.width, areas.height, FILTER_SIDE, FILTER_SIDE);
    moveSurround(plan, x, y, areas);
    return plan;
}
//! Samples of the scale filter for a size, wherever the filter is.
struct SizeSamples
{
    double halfWidth, halfHeight; //!< of the target, pixels
    SamplePlan plan;              //!< around the origin

    //! Returns those around the centre of a filter.
    CT_HOST_DEVICE SamplePlan at(const FilterState& f) const
    {
        SamplePlan own = plan;
        moveSamples(own, f.x - halfWidth, f.y - halfHeight);
        return own;
    }
};
//! @param f without its centre. @param factor sizeFactor().
CT_HOST_DEVICE SizeSamples sizeSamples(const FilterState& f, double factor, const ScaleCells& cells)
{
    const double scale = f.scale * factor;
    const double width = greater(2., f.width * scale), height = greater(2., f.height * scale);
    return {width / 2., height / 2.,
            planSamples(-width / 2., -height / 2., width, height, FILTER_CELL * cells.cols, FILTER_CELL * cells.rows)};
}

// --- histograms ------------------------------------------------------------------------------------------------------

//! Whether the histograms of an image are those of colours.
CT_HOST_DEVICE int32_t isColour(const detail::ImageView& image) { return image.channels > 1 ? 1 : 0; }

//! Returns the pixel in the middle of a sample.
CT_HOST_DEVICE const uint8_t* pixelOf(const detail::ImageView& image, const SamplePlan& plan, int i, int j)
{
    const int x = greater(0, lesser(image.cols - 1, (plan.left(i) + plan.halfX) >> 8));
    const int y = greater(0, lesser(image.rows - 1, (plan.top(j) + plan.halfY) >> 8));
    return image.row<uint8_t>(y) + static_cast<size_t>(x) * image.channels;
}
//! Returns the bin of a pixel. @param colour isColour() of its image.
CT_HOST_DEVICE int binOf(const uint8_t* pixel, bool colour)
{
    const int width = 256 / COLOUR_LEVELS;
    return colour ? (pixel[0] / width * COLOUR_LEVELS + pixel[1] / width) * COLOUR_LEVELS + pixel[2] / width
                  : pixel[0] / width;
}

//! Part of a surround.
enum FilterPart
{
    INNER, //!< foreground
    EDGE,  //!< neither
    OUTER  //!< background
};
//! Returns the part that a sample of the surround is in.
CT_HOST_DEVICE FilterPart partOf(const FilterAreas& a, int i, int j)
{
    // Twice the distances from the centre, against the sides of the areas; all times the same.
    const int dx = 2 * i + 1 - FILTER_SIDE, dy = 2 * j + 1 - FILTER_SIDE;
    const int x = (dx < 0 ? -dx : dx) * a.width, y = (dy < 0 ? -dy : dy) * a.height;
    if (x <= FILTER_SIDE * a.innerWidth && y <= FILTER_SIDE * a.innerHeight)
        return INNER;
    return x > FILTER_SIDE * a.targetWidth || y > FILTER_SIDE * a.targetHeight ? OUTER : EDGE;
}

// --- gradients in cells ----------------------------------------------------------------------------------------------

struct Gradient
{
    int magnitude;   //!< 16ths, 0 to 5770
    int orientation; //!< of 2 * ORIENTATIONS
};
//! Returns component `axis` of the direction of an orientation below ORIENTATIONS, times 4096. @param axis 0: x, 1: y.
CT_HOST_DEVICE int directionOf(int orientation, int axis)
{
    const int cosines[ORIENTATIONS] = {4096, 3849, 3138, 2048, 711, -711, -2048, -3138, -3849};
    const int sines[ORIENTATIONS] = {0, 1401, 2633, 3547, 4034, 4034, 3547, 2633, 1401};
    return axis == 0 ? cosines[orientation] : sines[orientation];
}
//! Returns the magnitude of a gradient. @param square dx^2 + dy^2.
CT_HOST_DEVICE int magnitudeOf(int square) { return static_cast<int>(16.f * sqrtf(static_cast<float>(square))); }

/** Returns the orientation whose direction has the largest product with a gradient. Of equal ones the first, in the
order 0, 9, 1, 10 and so on. The directions of a quadrant follow each other, and those of the other quadrants are
mirrored: the orientation is the number of bisectors between them that the gradient is beyond. @param dx,dy differences
of neighbours, -255 to 255. */
CT_HOST_DEVICE Gradient gradientOf(int dx, int dy)
{
    const int x = dx < 0 ? -dx : dx, y = dy < 0 ? -dy : dy;
    int own = 0;
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
    for (int k = 0; 2 * k + 1 < ORIENTATIONS; ++k)
        own +=
            (directionOf(k, 0) - directionOf(k + 1, 0)) * x < (directionOf(k + 1, 1) - directionOf(k, 1)) * y ? 1 : 0;
    const bool left = dx < 0 || (dx == 0 && dy < 0), mirrored = dx < 0 ? dy > 0 : dx > 0 && dy < 0;
    const int half = left ? ORIENTATIONS : 0, whole = 2 * ORIENTATIONS;
    const int orientation = mirrored ? (left ? half : whole) - own : half + own;
    return {magnitudeOf(dx * dx + dy * dy), orientation == whole ? 0 : orientation};
}

/* A gradient adds its magnitude to its orientation in 2 x 2 cells, with weights per axis: ownWeight() for the cell that
the pixel is in, and the rest of 8 for the neighbour that is nearer. A histogram is an integer below 2^23. */
//! @param i position of a pixel in its cell, 0 to 3.
CT_HOST_DEVICE int ownWeight(int i) { return i == 0 || i == FILTER_CELL - 1 ? 5 : 7; }
CT_HOST_DEVICE int nearCell(int i) { return i < FILTER_CELL / 2 ? -1 : 1; }

//! Returns the energy of a cell's histogram. @param at functor of the orientation.
template <typename At> CT_HOST_DEVICE int64_t cellEnergy(const At& at)
{
    int64_t energy = 0;
    for (int o = 0; o < ORIENTATIONS; ++o)
    {
        const int64_t both = at(o) + at(o + ORIENTATIONS);
        energy += both * both;
    }
    return energy;
}
//! Returns the factor that normalizes histograms. @param energy sum over 2 x 2 cells. The constant is the 1e-4 of HOG.
CT_HOST_DEVICE float normOf(int64_t energy) { return 1.f / sqrtf(static_cast<float>(energy + 105)); }

//! Factors of the four blocks of 2 x 2 cells around a cell, by rows.
struct CellNorms
{
    float n[4];
};
CT_HOST_DEVICE float normalized(float sum, float norm) { return lesser(sum * norm, 0.2f); }
//! Returns a feature of a cell. @param sum histogram of an orientation, or of two opposite ones.
CT_HOST_DEVICE float featureOf(float sum, const CellNorms& n)
{
    return 0.5f *
           (normalized(sum, n.n[0]) + normalized(sum, n.n[1]) + normalized(sum, n.n[2]) + normalized(sum, n.n[3]));
}
const float TEXTURE_FACTOR = 0.2357f; //!< of the sums over all orientations of normalized()
//! Returns the gray feature of a cell. @param sum of its samples.
CT_HOST_DEVICE float grayFeature(int sum)
{
    return static_cast<float>(sum) * (1.f / (255 * FILTER_CELL * FILTER_CELL)) - 0.5f;
}

}}} // namespace cv::cuda::tld

#endif // OPENCV_CUDATRACKING_TLD_CORE_FILTER_FEATURES_HPP
