// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Part of core.hpp: what a correlation filter sees of an image: samples of its colours, and the channels of cells of 4 x
// 4 samples: HOG (Felzenszwalb et al., PAMI 2010) of gray values, mean gray value, corners of the cube of colours.
#ifndef OPENCV_CUDATRACKING_TLD_CORE_CELLS_HPP
#define OPENCV_CUDATRACKING_TLD_CORE_CELLS_HPP

#include "core_correlation.hpp"

namespace cv { namespace cuda { namespace tld { namespace correlation {

// --- samples ---------------------------------------------------------------------------------------------------------

/** A square of the image as SIDE x SIDE samples. A sample is the mean of a square around its centre, as wide as the
distance of samples, but at least a pixel: interpolation where samples are closer than pixels. Positions outside of the
image take its outer pixels. */
struct Samples
{
    int32_t x, y;   //!< the first corner, 256ths of a pixel
    int32_t step;   //!< distance of samples, 65536ths of a pixel
    int32_t half;   //!< half of the side of a sample's square, 256ths of a pixel
    double inverse; //!< 1 / area of that square

    //! Returns where the square of a column or row begins, 256ths of a pixel. @param corner x or y.
    CT_HOST_DEVICE int begin(int corner, int i) const
    {
        return corner + static_cast<int>((2 * i + 1) * static_cast<int64_t>(step) >> 9) - half;
    }
    //! Returns a sample from the sum of its pixels, weighted by 256ths along both axes.
    CT_HOST_DEVICE uint8_t valueOf(int64_t sum) const
    {
        return static_cast<uint8_t>(roundEven(static_cast<double>(sum) * inverse));
    }
};
//! @param x,y centre, pixels. @param side pixels.
CT_HOST_DEVICE Samples samplesAround(double x, double y, double side)
{
    const int far = 1 << 28;
    Samples s;
    s.x = roundWithin((x - side / 2.) * 256., far);
    s.y = roundWithin((y - side / 2.) * 256., far);
    s.step = roundWithin(side * (65536. / SIDE), far);
    s.half = greater(128, s.step >> 9);
    s.inverse = 1. / (4. * s.half * s.half);
    return s;
}
//! A place where a filter looks at an image.
struct Place
{
    double x, y; //!< centre, pixels
    double side; //!< of the surround of the middle size, pixels

    CT_HOST_DEVICE Samples samples(int size) const { return samplesAround(x, y, side * sizeFactor(size)); }
};
//! @param width,height of the target at scale 1.
CT_HOST_DEVICE Place placeAt(double x, double y, int width, int height, double scale)
{
    return {x, y, surroundSide(width, height, scale)};
}

//! Returns the weight of a pixel in the range of a sample, 256ths. @param begin of the range. @param length of it.
CT_HOST_DEVICE int pixelWeight(int pixel, int begin, int length)
{
    return lesser(begin + length, 256 * pixel + 256) - greater(begin, 256 * pixel);
}

// --- gradients -------------------------------------------------------------------------------------------------------

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
CT_HOST_DEVICE int ownWeight(int i) { return i == 0 || i == CELL - 1 ? 5 : 7; }
CT_HOST_DEVICE int nearCell(int i) { return i < CELL / 2 ? -1 : 1; }

// --- channels --------------------------------------------------------------------------------------------------------

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
//! Returns the mean gray value of a cell. @param sum of its samples.
CT_HOST_DEVICE float grayFeature(int sum) { return static_cast<float>(sum) * (1.f / (255 * CELL * CELL)) - 0.5f; }

//! Sums over the samples of a cell, modulo 2^32: of products of the colours.
struct ColourSums
{
    uint32_t b, g, r, bg, br, gr, bgr;

    CT_HOST_DEVICE void add(uint32_t blue, uint32_t green, uint32_t red)
    {
        b += blue;
        g += green;
        r += red;
        bg += blue * green;
        br += blue * red;
        gr += green * red;
        bgr += blue * green * red;
    }
    //! Returns the mean closeness to a corner of the cube of colours. @param corner bits: blue, green, red.
    CT_HOST_DEVICE float feature(int corner) const
    {
        // The sum of (b or 255 - b) (g or 255 - g) (r or 255 - r), multiplied out. It is below 2^28, whatever wraps.
        const uint32_t all = 255u * 255u * 255u * (CELL * CELL), one = 255u, two = 255u * 255u;
        const bool hasB = (corner & 1) != 0, hasG = (corner & 2) != 0, hasR = (corner & 4) != 0;
        uint32_t sum = bgr;
        if (hasB && hasG && hasR)
            sum = bgr;
        else if (hasB && hasG)
            sum = one * bg - bgr;
        else if (hasB && hasR)
            sum = one * br - bgr;
        else if (hasG && hasR)
            sum = one * gr - bgr;
        else if (hasB)
            sum = two * b - one * (bg + br) + bgr;
        else if (hasG)
            sum = two * g - one * (bg + gr) + bgr;
        else if (hasR)
            sum = two * r - one * (br + gr) + bgr;
        else
            sum = all - two * (b + g + r) + one * (bg + br + gr) - bgr;
        return static_cast<float>(static_cast<int32_t>(sum)) * (1.f / (255.f * 255.f * 255.f * CELL * CELL)) - 0.125f;
    }
};

}}}} // namespace cv::cuda::tld::correlation

#endif // OPENCV_CUDATRACKING_TLD_CORE_CELLS_HPP
