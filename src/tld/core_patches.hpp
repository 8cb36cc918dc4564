// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Part of core.hpp: patches, and their similarity to templates.
#ifndef OPENCV_CUDATRACKING_TLD_CORE_PATCHES_HPP
#define OPENCV_CUDATRACKING_TLD_CORE_PATCHES_HPP

#include "core_base.hpp"

namespace cv { namespace cuda { namespace tld {

// --- patches ---------------------------------------------------------------------------------------------------------

const int PATCH = 15, PATCH_PIXELS = PATCH * PATCH;
const int PATCH_STRIDE = 240; //!< bytes per template; those after its pixels are 0

//! A regular grid of 15 x 15 cells. Positions are 256ths of a pixel.
struct PatchPlan
{
    int x, y, stepX, stepY;
    double inverse; //!< 1 / area of a cell
};

//! Sums of a patch that its NCC with templates needs.
struct PatchStats
{
    int32_t sum;
    int32_t contrast; //!< 225 * (sum of squares) - sum^2, up to 2^30; 0: flat
};

//! Divides the part of a box inside the image into cells. @param box not isOutside().
CT_HOST_DEVICE PatchPlan planPatch(const Box& box, int cols, int rows)
{
    const int x0 = greater(0, roundEven(box.x * 256.)), y0 = greater(0, roundEven(box.y * 256.));
    const int x1 = lesser(cols * 256, roundEven((box.x + box.w) * 256.));
    const int y1 = lesser(rows * 256, roundEven((box.y + box.h) * 256.));
    PatchPlan plan;
    plan.stepX = greater(1, (x1 - x0) / PATCH);
    plan.stepY = greater(1, (y1 - y0) / PATCH);
    // The remainder of the division is split between both ends. The grid is moved inside where its minimal size does
    // not fit.
    plan.x = lesser(cols * 256 - PATCH * plan.stepX, x0 + greater(0, x1 - x0 - PATCH * plan.stepX) / 2);
    plan.y = lesser(rows * 256 - PATCH * plan.stepY, y0 + greater(0, y1 - y0 - PATCH * plan.stepY) / 2);
    plan.inverse = 1. / (static_cast<double>(plan.stepX) * plan.stepY);
    return plan;
}

/** Interpolates a table of sums: 65536 times the sum over the area left of x and above y, in 256ths of a pixel, where a
pixel fills its square evenly. Outside of the image, the nearest of its pixels continue; areas there count as negative.
Modulo 2^48, as the table's 32 bits may have wrapped; the differences of neighbouring entries have not. */
CT_HOST_DEVICE uint64_t cornerSum(const SumTable& t, int x, int y, int cols, int rows)
{
    const int ix = greater(0, lesser(cols - 1, x >> 8)), iy = greater(0, lesser(rows - 1, y >> 8));
    const int64_t fx = x - 256 * ix, fy = y - 256 * iy;
    const uint32_t t00 = t.at(ix, iy), t10 = t.at(ix + 1, iy), t01 = t.at(ix, iy + 1), t11 = t.at(ix + 1, iy + 1);
    return (static_cast<uint64_t>(t00) << 16) + static_cast<uint64_t>(fx * 256 * static_cast<int32_t>(t10 - t00)) +
           static_cast<uint64_t>(fy * 256 * static_cast<int32_t>(t01 - t00)) +
           static_cast<uint64_t>(fx * fy * static_cast<int32_t>(t11 - t10 - t01 + t00));
}
//! Returns the mean of a cell, 0 to 255. @param f00,f10,f01,f11 cornerSum() at its corners. @param inverse of
//! PatchPlan.
CT_HOST_DEVICE int cellOf(uint64_t f00, uint64_t f10, uint64_t f01, uint64_t f11, double inverse)
{
    const int64_t sum = static_cast<int64_t>((f11 - f10 - f01 + f00) << 16) >> 16;
    return 128 + roundEven(static_cast<double>(sum) * inverse);
}
//! Computes the sums of a patch. @param squares sum of the squares of its pixels.
CT_HOST_DEVICE PatchStats statsOf(int sum, int squares)
{
    return {sum, static_cast<int32_t>(static_cast<int64_t>(PATCH_PIXELS) * squares - static_cast<int64_t>(sum) * sum)};
}
inline PatchStats statsOf(const uint8_t* pixels)
{
    int sum = 0, squares = 0;
    for (int i = 0; i < PATCH_PIXELS; ++i)
    {
        sum += pixels[i];
        squares += pixels[i] * pixels[i];
    }
    return statsOf(sum, squares);
}

/** Returns the contrastOf() that a window of w x h pixels needs: its variance must be at least that of the object's
first patch divided by `part`. The variance of the patch is contrast / (225 * 224). @param part 2; 4 for the negatives
of the first training. */
CT_HOST_DEVICE int64_t leastContrast(int32_t contrast, int part, int w, int h)
{
    const double area = static_cast<double>(w) * h;
    return static_cast<int64_t>(ceil(static_cast<double>(contrast) / (part * 50400.) * area * area));
}

//! Returns (NCC + 1) / 2 of two patches; 0 if one is flat. @param dot sum of the products of their pixels.
CT_HOST_DEVICE double similarity(int dot, const PatchStats& a, const PatchStats& b)
{
    if (a.contrast <= 0 || b.contrast <= 0)
        return 0.;
    const int64_t numerator = static_cast<int64_t>(PATCH_PIXELS) * dot - static_cast<int64_t>(a.sum) * b.sum;
    const double variances = static_cast<double>(static_cast<int64_t>(a.contrast) * b.contrast);
    return (static_cast<double>(numerator) / sqrt(variances) + 1.) * 0.5;
}

//! Largest similarities of a patch to the templates; 0 without templates.
struct Similarity
{
    double positive, early, negative; //!< early: to the first half of the positives, rounded up
    int nearest; //!< position of the most similar positive in their order, the first of equals; -1: none
};

CT_HOST_DEVICE int earlyPositives(int positives) { return (positives + 1) / 2; }
//! Returns dN / (dP + dN) with the distances dP = 1 - positive and dN = 1 - negative; 0 without positives, else 1
//! without negatives.
CT_HOST_DEVICE double confidence(double positive, double negative, int positives, int negatives)
{
    if (positives == 0 || negatives == 0)
        return positives == 0 ? 0. : 1.;
    const double dp = 1. - positive, dn = 1. - negative;
    return dp + dn > 0. ? dn / (dn + dp) : 0.;
}
//! Returns the relative similarity.
CT_HOST_DEVICE double relative(const Similarity& s, int positives, int negatives)
{
    return confidence(s.positive, s.negative, positives, negatives);
}
//! Returns the conservative similarity: relative similarity to the first half of the positives.
CT_HOST_DEVICE double conservative(const Similarity& s, int positives, int negatives)
{
    return confidence(s.early, s.negative, positives, negatives);
}

}}} // namespace cv::cuda::tld

#endif // OPENCV_CUDATRACKING_TLD_CORE_PATCHES_HPP
