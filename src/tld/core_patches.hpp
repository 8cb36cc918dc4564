// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// The part of core.hpp on patches, their similarity, and what templates say.
#ifndef OPENCV_CUDATRACKING_TLD_CORE_PATCHES_HPP
#define OPENCV_CUDATRACKING_TLD_CORE_PATCHES_HPP

#include "core_base.hpp"

namespace cv { namespace cuda { namespace tld {

// --- patches ---------------------------------------------------------------------------------------------------------

const int PATCH = 15, PATCH_PIXELS = PATCH * PATCH;
const int PATCH_STRIDE = 240; //!< bytes from template to template; those behind the pixels are 0

//! A box resampled to 15 x 15 pixels by area. Positions are 256ths of a pixel.
struct PatchPlan
{
    int x, y, stepX, stepY;
    double inverse; //!< of the area of a cell
};

struct PatchStats
{
    int32_t sum;
    int32_t contrast; //!< 225 times the sum of squares less the square of the sum; up to 2^30. 0: flat
};

//! Of a box: its part inside of the image. Not for boxes that are outside.
CT_HOST_DEVICE PatchPlan planPatch(const Box& box, int cols, int rows)
{
    const int x0 = greater(0, roundEven(box.x * 256.)), y0 = greater(0, roundEven(box.y * 256.));
    const int x1 = lesser(cols * 256, roundEven((box.x + box.w) * 256.));
    const int y1 = lesser(rows * 256, roundEven((box.y + box.h) * 256.));
    PatchPlan plan;
    plan.stepX = greater(1, (x1 - x0) / PATCH);
    plan.stepY = greater(1, (y1 - y0) / PATCH);
    // What the division leaves is shared by both ends; a sliver at the far border is moved inside.
    plan.x = lesser(cols * 256 - PATCH * plan.stepX, x0 + greater(0, x1 - x0 - PATCH * plan.stepX) / 2);
    plan.y = lesser(rows * 256 - PATCH * plan.stepY, y0 + greater(0, y1 - y0 - PATCH * plan.stepY) / 2);
    plan.inverse = 1. / (static_cast<double>(plan.stepX) * plan.stepY);
    return plan;
}

/** The table of sums between its entries: 65536 times the sum over all left of x and above y, in 256ths of a pixel, where a pixel
covers its square evenly. Modulo 2^48, as the table's 32 bits may have wrapped; the differences it is made of have not. */
CT_HOST_DEVICE uint64_t cornerSum(const SumTable& t, int x, int y, int cols, int rows)
{
    const int ix = x >> 8, iy = y >> 8, jx = lesser(ix + 1, cols), jy = lesser(iy + 1, rows);
    const int64_t fx = x & 255, fy = y & 255;
    const uint32_t t00 = t.at(ix, iy), t10 = t.at(jx, iy), t01 = t.at(ix, jy), t11 = t.at(jx, jy);
    return (static_cast<uint64_t>(t00) << 16) + static_cast<uint64_t>(fx * 256 * static_cast<int32_t>(t10 - t00)) +
           static_cast<uint64_t>(fy * 256 * static_cast<int32_t>(t01 - t00)) +
           static_cast<uint64_t>(fx * fy * static_cast<int32_t>(t11 - t10 - t01 + t00));
}
//! Mean of a cell from its corners; 0 to 255.
CT_HOST_DEVICE int cellOf(uint64_t f00, uint64_t f10, uint64_t f01, uint64_t f11, double inverse)
{
    const int64_t sum = static_cast<int64_t>((f11 - f10 - f01 + f00) << 16) >> 16;
    return 128 + roundEven(static_cast<double>(sum) * inverse);
}
CT_HOST_DEVICE PatchStats statsOf(int sum, int squares)
{
    return {sum, static_cast<int32_t>(static_cast<int64_t>(PATCH_PIXELS) * squares - static_cast<int64_t>(sum) * sum)};
}

//! Of windows: at least half of the contrast of the object's patch, in variances; a quarter for the first negatives.
//! Variance of the patch: contrast / (225 * 224). @param part 2 or 4.
CT_HOST_DEVICE int64_t leastContrast(int32_t contrast, int part, int w, int h)
{
    const double area = static_cast<double>(w) * h;
    return static_cast<int64_t>(ceil(static_cast<double>(contrast) / (part * 50400.) * area * area));
}

//! (NCC + 1) / 2. @param dot sum of products of the pixels.
CT_HOST_DEVICE double similarity(int dot, const PatchStats& a, const PatchStats& b)
{
    if (a.contrast <= 0 || b.contrast <= 0)
        return 0.;
    const int64_t numerator = static_cast<int64_t>(PATCH_PIXELS) * dot - static_cast<int64_t>(a.sum) * b.sum;
    const double variances = static_cast<double>(static_cast<int64_t>(a.contrast) * b.contrast);
    return (static_cast<double>(numerator) / sqrt(variances) + 1.) * 0.5;
}

//! A patch against all templates. Similarities are the largest ones, 0 without templates.
struct Similarity
{
    double positive, early, negative; //!< early: of the first half of positives, rounded up
    int nearest; //!< place of the most similar positive in their order, the first one of equals; -1: none
};

CT_HOST_DEVICE int earlyPositives(int positives) { return (positives + 1) / 2; }
//! Part of the distance to the object and to all else that is the one to all else.
CT_HOST_DEVICE double confidence(double positive, double negative, int positives, int negatives)
{
    if (positives == 0 || negatives == 0)
        return positives == 0 ? 0. : 1.;
    const double dp = 1. - positive, dn = 1. - negative;
    return dp + dn > 0. ? dn / (dn + dp) : 0.;
}
CT_HOST_DEVICE double relative(const Similarity& s, int positives, int negatives)
{
    return confidence(s.positive, s.negative, positives, negatives);
}
CT_HOST_DEVICE double conservative(const Similarity& s, int positives, int negatives)
{
    return confidence(s.early, s.negative, positives, negatives);
}

}}} // namespace cv::cuda::tld

#endif // OPENCV_CUDATRACKING_TLD_CORE_PATCHES_HPP
