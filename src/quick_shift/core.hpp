// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Arithmetic of QuickShift that decides results, written once for both backends. Compiled by g++ and nvcc with
// contraction off: all fused multiply-adds are written out, everything else is a plain IEEE or integer operation.
//
// Weight of a pair: approximates round(2^23 exp(-D/(2 sigma^2))), D = ds + lambda^2 dc, by the same integer on every
// machine.
//   y = fma(dc, -rate, 32), clamped to >= 16      the colour part: 2 (y-32) is its base-2 logarithm, down to 2^-32
//   bits of y: 4 constant, 5 of integer, 18 of fraction; shifted left by 5 they are a float's exponent and mantissa
//   m = 1 + fraction, p(m) ~ 2^(m-1), degree 4    relative error 3.4e-6, none at m = 1 and 2 (equal colours are exact)
//   exponent put back by an integer add            2 exp(-lambda^2 dc/(2 sigma^2))
//   fma(that, spatial[dx,dy], 2)                   a float in [2,4): its bits minus those of 2.0 are the integer
// Sums of integers do not depend on their order. This allows any tiling, symmetry, atomics and number of threads.
#ifndef OPENCV_CUDATRACKING_QUICK_SHIFT_CORE_HPP
#define OPENCV_CUDATRACKING_QUICK_SHIFT_CORE_HPP

#include "../common/hostdevice.hpp"
#include <cmath>
#include <cstdint>
#include <cstring>

namespace cv { namespace cuda { namespace quick_shift {

const int MAX_CHANNELS = 16;
const int FEW_CHANNELS = 4; //!< images of more channels have code of their own, so that those of few stay as fast
const int MAX_SIDE = 65535; //!< pixels per side of an image
//! Largest number of pixels of an image or of a stack. Indices are int, also those that threads compute before they
//! check whether they lie in the image: up to 64 rows, or a block of a linear grid, beyond the last pixel.
const int MAX_PIXELS = 2000000000;
static_assert(MAX_PIXELS <= 0x7fffffff - 64 * (MAX_SIDE + 64), "indices beyond the last pixel fit int");
const int CELL = 8;                  //!< pixels per side of a cell; its best key prunes the parent search
const int MAX_WINDOW_RADIUS = 1023;  //!< pixels from the centre of the density window to its border, 3 sigma
const int MAX_SEARCH_RADIUS = 32767; //!< pixels; dx^2 + dy^2 fits int
const int WEIGHT_BITS = 23;          //!< fractional bits of a pair's weight
const uint32_t ONE_WEIGHT = 1u << WEIGHT_BITS;
const uint32_t WEIGHT_BIAS =
    0x40000000u;                //!< bits of 2.0f, which weightBits() adds to a weight. Four of them vanish modulo 2^32
const uint32_t MAX_TERMS = 511; //!< number of full weights whose sum fits 32 bits
const float COLOUR_TOP = 32.f, COLOUR_BOTTOM = 16.f;
const float OUTSIDE = 1e18f;         //!< first feature of masked and missing pixels: its square makes all weights 0
const float LARGEST_FEATURE = 1e15f; //!< pixels with a value of this magnitude or more, NaN and infinity are masked

// 2^(m-1) on [1,2]: minimax under p(1) = 1, p(2) = 2, coefficients of m^0 .. m^4.
#define CT_QUICK_SHIFT_EXP2 0x1.050ddp-1f, 0x1.3fa364p-2f, 0x1.553b5ep-3f, -0x1.1f2102p-9f, 0x1.bc31dap-7f

//! Returns the bits of a float.
CT_HOST_DEVICE uint32_t floatBits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

//! Returns the float of these bits.
CT_HOST_DEVICE float bitsFloat(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

//! Returns a b + c, rounded once.
CT_HOST_DEVICE float multiplyAdd(float a, float b, float c) { return fmaf(a, b, c); }

//! Returns the bits of 1 + fraction: (bits & 0x7fffff) | 0x3f800000, on the device by one instruction.
CT_HOST_DEVICE uint32_t mantissaOf(uint32_t bits)
{
#ifdef __CUDA_ARCH__
    uint32_t result;
    asm("lop3.b32 %0, %1, %2, %3, 0xEA;" : "=r"(result) : "r"(bits), "r"(0x007fffffu), "r"(0x3f800000u));
    return result;
#else
    return (bits & 0x007fffffu) | 0x3f800000u;
#endif
}

//! Returns WEIGHT_BIAS + round(2^23 weight), see the top of the file. @param shifted bits of the clamped y, shifted
//! left by 5.
CT_HOST_DEVICE uint32_t weightBitsOf(uint32_t shifted, float spatial)
{
    const float c[5] = {CT_QUICK_SHIFT_EXP2};
    const uint32_t mantissa = mantissaOf(shifted);
    const float m = bitsFloat(mantissa);
    const float p = multiplyAdd(multiplyAdd(multiplyAdd(multiplyAdd(c[4], m, c[3]), m, c[2]), m, c[1]), m, c[0]);
    const float twice = bitsFloat(shifted + (floatBits(p) - mantissa));
    return floatBits(multiplyAdd(twice, spatial, 2.f));
}
CT_HOST_DEVICE uint32_t weightBitsOf(float y, float spatial) { return weightBitsOf(floatBits(y) << 5, spatial); }

//! Returns WEIGHT_BIAS + round(2^23 weight). @param dc squared colour distance. @param minusRate -densityRate().
//! @param spatial exp(-(dx^2+dy^2)/(2 sigma^2)).
CT_HOST_DEVICE uint32_t weightBits(float dc, float minusRate, float spatial)
{
    const float y = multiplyAdd(dc, minusRate, COLOUR_TOP);
    return weightBitsOf(y > COLOUR_BOTTOM ? y : COLOUR_BOTTOM, spatial);
}

/** Returns the squared distance of two colours. The order of operations decides the bits: a product, then a fused
multiply-add per further channel. Vectors of the CPU repeat it in src/cpu/quick_shift/colours.hpp; words of 8-bit
channels on CUDA have integers, which are exact, in src/cuda/quick_shift/colours.hpp. Differences are scaled, not
features: large features would lose digits.
@param factors factor of each channel's difference; null: 1. */
CT_HOST_DEVICE float colourDistance(const float* a, const float* b, int channels, const float* factors)
{
    float dc = 0.f;
    for (int k = 0; k < channels; ++k)
    {
        float d = a[k] - b[k];
        if (factors)
            d = d * factors[k];
        dc = k == 0 ? d * d : multiplyAdd(d, d, dc);
    }
    return dc;
}

/** Returns the slope of the exponent: lambda^2 log2(e)/(4 sigma^2). For 8-bit images it is rounded so that 16 - 2^23
rate is a float if fitsWords(): then the CUDA kernel can add an 8-bit distance to the mantissa of 2^23 and gets 48 - y,
from which y follows exactly, by one fma. Squared distances of 8-bit images are below 2^18, so multiples of 2^-41 are
accurate enough; those of others are not. */
inline float densityRate(double colorWeight, double sigma, bool bytes)
{
    const double rate = colorWeight * 1.4426950408889634 / (4. * sigma * sigma);
    if (!bytes)
        return static_cast<float>(rate < 1e30 ? rate : 1e30); // not infinity, which equal colours would turn into NaN
    float rounded = bitsFloat(floatBits(static_cast<float>(rate)) & ~1u);
    if (rate * 8388608. < 32.)
        rounded = static_cast<float>(std::nearbyint(rate * 2199023255552.) / 2199023255552.); // multiples of 2^-41
    return rounded;
}

/** Returns true if 16 - v, v = 2^23 rate, is a float for densityRate() of an 8-bit image. v < 32: both are multiples of
2^-18, and so are floats in [-16,16]. Else let 2^e <= v < 2^(e+1). The last bit of v is clear, so v is a multiple of
2^(e-22); so is 16 for e <= 26, and so are floats up to 2^(e+1). For e = 27 the difference is a multiple of 16 below
2^28, as floats there are, or smaller. From v = 2^28 on they are multiples of 32, and the 16 would be lost: colours
count so much more than places there (colorScale > 9.4 sigma) that such images become floats. */
inline bool fitsWords(float rate) { return rate < 32.f; }

//! Returns the squared distance D in the joint space of position and colour. @param ds dx^2 + dy^2.
CT_HOST_DEVICE float squaredDistance(float dc, float colorWeight, int ds)
{
    return multiplyAdd(colorWeight, dc, static_cast<float>(ds));
}

//! Returns the smallest number of bits to drop so that the sum of (2R+1)^2 full weights fits 32 bits.
inline int keyShift(int radius)
{
    const uint64_t most = static_cast<uint64_t>(2 * radius + 1) * (2 * radius + 1) * ONE_WEIGHT;
    int shift = 0;
    while ((most >> shift) > 0xffffffffull)
        ++shift;
    return shift;
}

//! Parameters of the stages.
struct Parameters
{
    int radius;        //!< of the density window, R
    int searchRadius;  //!< of the parent search, pixels in x and in y
    int shift;         //!< keyShift(radius)
    float minusRate;   //!< -densityRate()
    float colorWeight; //!< lambda^2, without what Scales::power or `factors` contain of it
    float reach;       //!< largest D of a link, reachOf(maxDist)
    bool strict;       //!< pixels of equal key are no parents; else the one of lower raster index counts as higher
    bool normalize;    //!< divide densities by (w-1)(h-1) of the window, clipped to the image
    bool weighted;     //!< channels have different factors
    float factors[MAX_CHANNELS]; //!< factors of differences of features, in [1,2]
};

//! Scales of the channels. If `used`, features are pixel values times `power`, which is exact; else the values
//! themselves.
struct Scales
{
    float power
        [MAX_CHANNELS]; //!< power of two, above scale / 2, so that OUTSIDE stays far enough away; 0: does not count
    float whole[MAX_CHANNELS]; //!< the user's scales, which decide what pixels are masked
    bool used;
};

//! Returns the key by which pixels are compared: the sum without its lowest bits, or the bits of the normalised
//! density. Never 0.
CT_HOST_DEVICE uint32_t densityKey(uint64_t sum, int x, int y, int cols, int rows, const Parameters& p)
{
    const uint32_t key = static_cast<uint32_t>((sum + ((1ull << p.shift) >> 1)) >> p.shift);
    if (!p.normalize)
        return key;
    const int left = x < p.radius ? x : p.radius, right = cols - 1 - x < p.radius ? cols - 1 - x : p.radius;
    const int up = y < p.radius ? y : p.radius, down = rows - 1 - y < p.radius ? rows - 1 - y : p.radius;
    const int width = left + right > 1 ? left + right : 1, height = up + down > 1 ? up + down : 1;
    const float density = static_cast<float>(key) * bitsFloat(static_cast<uint32_t>(127 + p.shift - WEIGHT_BITS) << 23);
    return floatBits(density / static_cast<float>(width * height));
}

//! Returns the density of a key.
CT_HOST_DEVICE float keyDensity(uint32_t key, const Parameters& p)
{
    if (p.normalize)
        return bitsFloat(key);
    return static_cast<float>(key) * bitsFloat(static_cast<uint32_t>(127 + p.shift - WEIGHT_BITS) << 23);
}

//! Returns true if pixel j may be the parent of pixel i.
CT_HOST_DEVICE bool isHigher(uint32_t keyJ, int j, uint32_t keyI, int i, bool strict)
{
    return keyJ > keyI || (!strict && keyJ == keyI && j < i);
}

//! Candidate for the parent. A search begins with {reach, NO_PARENT}, so that D == reach still counts.
struct Candidate
{
    float d;
    int index;
};

const int NO_PARENT = 0x7fffffff;

//! Returns true if a pixel is a better parent than the candidate: smaller D, then lower raster index.
CT_HOST_DEVICE bool isBetter(float d, int index, const Candidate& best)
{
    return d < best.d || (d == best.d && index < best.index);
}

//! Returns the length of a link: the square root of D, correctly rounded.
CT_HOST_DEVICE float rootOf(float d) { return sqrtf(d); }

//! Returns the largest D whose root is <= tau: comparing D then decides exactly as comparing lengths.
inline float reachOf(float tau)
{
    float d = tau * tau;
    while (rootOf(d) > tau)
        d = nextafterf(d, 0.f);
    while (rootOf(nextafterf(d, INFINITY)) <= tau)
        d = nextafterf(d, INFINITY);
    return d;
}

// --- sums over superpixels: integers, so that their order does not matter --------------------------------------------

//! Returns the scale of CV_32F colours, which are summed as multiples of 1/scale. @param largest bits of the largest
//! finite magnitude.
CT_HOST_DEVICE double fixedScale(uint32_t largest)
{
    const uint64_t exponent = 1023 + 30 + 126 - (largest >> 23); // the largest becomes less than 2^30
    double scale;
    const uint64_t bits = exponent << 52;
    memcpy(&scale, &bits, sizeof(scale));
    return scale;
}

//! Returns true if the value is neither NaN nor infinite.
CT_HOST_DEVICE bool isFinite(float value) { return (floatBits(value) & 0x7f800000u) != 0x7f800000u; }

//! Returns a colour as a multiple of 1/scale. NaN and infinity count as 0.
CT_HOST_DEVICE int64_t fixedColour(float value, double scale)
{
    return isFinite(value) ? static_cast<int64_t>(rint(static_cast<double>(value) * scale)) : 0;
}

//! Returns the mean of a sum of multiples of 1/scale.
CT_HOST_DEVICE float meanOf(int64_t sum, int64_t area, double scale)
{
    return static_cast<float>(static_cast<double>(sum) / static_cast<double>(area) / scale);
}

//! Returns the mean of 8-bit and 16-bit images, rounded half up.
CT_HOST_DEVICE uint32_t roundedMean(int64_t sum, int64_t area)
{
    return static_cast<uint32_t>((2 * sum + area) / (2 * area));
}

//! Returns a code for a pair of labels. Codes ascend by the lower label, then by the other.
CT_HOST_DEVICE uint64_t adjacentLabels(int a, int b)
{
    const uint32_t low = a < b ? a : b, high = a < b ? b : a;
    return static_cast<uint64_t>(low) << 32 | high;
}

//! Returns the rank of a piece: more pixels rank higher, then the lower first pixel.
CT_HOST_DEVICE uint64_t pieceRank(int area, int first)
{
    return static_cast<uint64_t>(area) << 32 | static_cast<uint32_t>(~first);
}

}}} // namespace cv::cuda::quick_shift

#endif // OPENCV_CUDATRACKING_QUICK_SHIFT_CORE_HPP
