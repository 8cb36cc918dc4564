// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// The arithmetic of QuickShift that decides anything, written once for both engines. Compiled by g++ and nvcc with
// contraction off; every fused multiply-add is written out, everything else is a plain IEEE operation or an integer one.
//
// Weight of a pair. Wanted: round(2^23 exp(-D/(2 sigma^2))), D = ds + lambda^2 dc, the same integer on every machine.
//   y = fma(dc, -rate, 32), clamped to >= 16      the colour part: 2 (y-32) is its base-2 logarithm, down to 2^-32
//   bits of y: 4 constant, 5 of integer, 18 of fraction; shifted left by 5 they are a float's exponent and mantissa
//   m = 1 + fraction, p(m) ~ 2^(m-1), degree 4    relative error 3.4e-6, none at m = 1 and 2 (equal colours are exact)
//   exponent put back by an integer add            2 exp(-lambda^2 dc/(2 sigma^2))
//   fma(that, spatial[dx,dy], 2)                   a float in [2,4): its bits less those of 2.0 are the integer
// Sums of integers do not depend on their order, which is what allows any tiling, symmetry, atomics and thread count.
#ifndef OPENCV_CUDATRACKING_QUICK_SHIFT_CORE_HPP
#define OPENCV_CUDATRACKING_QUICK_SHIFT_CORE_HPP

#include "../common/hostdevice.hpp"
#include <cmath>
#include <cstdint>
#include <cstring>

namespace cv { namespace cuda { namespace quick_shift {

const int MAX_CHANNELS = 4;
const int MAX_SIDE = 65535; //!< of an image, in pixels
// Pixels of an image, or of all in a stack. Indices are int, also those that threads compute before they see that they lie below
// the image: up to 64 rows, or a block of a linear grid, beyond the last pixel.
const int MAX_PIXELS = 2000000000;
static_assert(MAX_PIXELS <= 0x7fffffff - 64 * (MAX_SIDE + 64), "indices beyond the last pixel fit int");
const int CELL = 8;                  //!< side of the cells whose best key prunes far searches
const int MAX_WINDOW_RADIUS = 1023;  //!< of the density window; 3 sigma
const int MAX_SEARCH_RADIUS = 32767; //!< so that dx^2 + dy^2 fits int
const int WEIGHT_BITS = 23;          //!< fractional bits of a pair's weight
const uint32_t ONE_WEIGHT = 1u << WEIGHT_BITS;
const uint32_t WEIGHT_BIAS =
    0x40000000u;                //!< bits of 2.0f, what weightBits() has on top. Four of them vanish modulo 2^32
const uint32_t MAX_TERMS = 511; //!< so many full weights fit into 32 bits
const float COLOUR_TOP = 32.f, COLOUR_FLOOR = 16.f;
const float OUTSIDE = 1e18f; //!< first feature of a pixel that must not count: its square drives every weight to 0
const float LARGEST_FEATURE = 1e15f; //!< pixels from here on, NaN and infinity are masked

// 2^(m-1) on [1,2]: minimax under p(1) = 1, p(2) = 2, coefficients of m^0 .. m^4.
#define CT_QUICK_SHIFT_EXP2 0x1.050ddp-1f, 0x1.3fa364p-2f, 0x1.553b5ep-3f, -0x1.1f2102p-9f, 0x1.bc31dap-7f

CT_HOST_DEVICE uint32_t floatBits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

CT_HOST_DEVICE float bitsFloat(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

/** a b + c, rounded once, of plain operations. The product of floats is exact in double, and the sum is rounded there first. Rounding it
again is right unless it then lies on a tie between two floats, of which the exact sum may be to either side: there, and where floats have
fewer bits, the sum is rounded to odd, which cannot be taken for a tie (S. Boldo, G. Melquiond: Emulation of a FMA and correctly rounded
sums, 2008). */
CT_HOST_DEVICE float emulatedMultiplyAdd(float a, float b, float c)
{
    const double product = static_cast<double>(a) * b, summand = c, sum = product + summand;
    uint64_t bits;
    memcpy(&bits, &sum, sizeof(bits));
    const bool tie = (bits & 0x1fffffffu) == 0x10000000u, denormal = (bits >> 52 & 0x7ff) < 1023 - 126;
    if (!tie && !denormal)
        return static_cast<float>(sum);
    const double part = sum - product, error = (product - (sum - part)) + (summand - part); // exact
    const bool inexact = error > 0. || error < 0.;                                          // neither for NaN
    if (inexact && !(bits & 1))
        bits += (error > 0.) == (sum > 0.) ? 1 : ~0ull; // away from zero, or to it
    double odd;
    memcpy(&odd, &bits, sizeof(odd));
    return static_cast<float>(odd);
}

//! The C library's fmaf() is right everywhere, and slow where the processor has no such instruction.
CT_HOST_DEVICE float multiplyAdd(float a, float b, float c)
{
#if !defined(__CUDA_ARCH__) && (defined(__x86_64__) || defined(_M_X64)) && !defined(__FMA__) && !defined(__AVX2__)
    return emulatedMultiplyAdd(a, b, c);
#else
    return fmaf(a, b, c);
#endif
}

//! 1 + fraction: (bits & 0x7fffff) | 0x3f800000, on the device in one instruction.
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

//! From the clamped exponent y on, whose bits are shifted: see the top of the file. The result is WEIGHT_BIAS + round(2^23 weight).
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

//! @param dc squared colour distance. @param minusRate see densityRate(). @param spatial exp(-(dx^2+dy^2)/(2 sigma^2)).
CT_HOST_DEVICE uint32_t weightBits(float dc, float minusRate, float spatial)
{
    const float y = multiplyAdd(dc, minusRate, COLOUR_TOP);
    return weightBitsOf(y > COLOUR_FLOOR ? y : COLOUR_FLOOR, spatial);
}

/** Squared distance of two pixels' features, always in this order. The vector loops of the CPU spell the same: a subtraction, a
product, then a subtraction and a fused multiply-add for each further channel. 8-bit CUDA has integers, which are exact.
Differences are scaled, not features: those of large values would have lost what tells them apart.
@param factors on the channels; null: none. */
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

/** The colour factor's slope: lambda^2 log2(e)/(2 sigma^2), halved. For 8-bit images it is rounded so that 16 - 2^23 rate is a
float as long as fitsWords() says so: then the CUDA kernel may add an 8-bit distance in the mantissa of 2^23 and gets 48 - y, which is
all of y in another order, from one fma. Their distances are below 2^18, so multiples of 2^-41 are as good as any; others' are not. */
inline float densityRate(double colorWeight, double sigma, bool bytes)
{
    const double rate = colorWeight * 1.4426950408889634 / (4. * sigma * sigma);
    if (!bytes)
        return static_cast<float>(rate < 1e30 ? rate : 1e30); // no infinity, as equal colours would make it NaN
    float rounded = bitsFloat(floatBits(static_cast<float>(rate)) & ~1u);
    if (rate * 8388608. < 32.)
        rounded = static_cast<float>(std::nearbyint(rate * 2199023255552.) / 2199023255552.); // multiples of 2^-41
    return rounded;
}

/** True when 16 - v, v = 2^23 rate, is a float for an 8-bit image's rate of densityRate(). v < 32: both are multiples of 2^-18, and so are floats
in [-16,16]. Else let 2^e <= v < 2^(e+1). The last bit of v is clear, so v is a multiple of 2^(e-22); so is 16 for e <= 26, and so
are floats up to 2^(e+1). For e = 27 the difference is a multiple of 16 below 2^28, as floats there are, or smaller. From
v = 2^28 on they are multiples of 32, and the 16 would be lost: colours count so much more than places there
(colorScale > 9.4 sigma) that such images become floats. */
inline bool fitsWords(float rate) { return rate < 32.f; }

//! Squared distance in the joint space; ds = dx^2 + dy^2.
CT_HOST_DEVICE float squaredDistance(float dc, float colorWeight, int ds)
{
    return multiplyAdd(colorWeight, dc, static_cast<float>(ds));
}

//! Smallest number of bits to drop so that (2R+1)^2 full weights fit into 32.
inline int keyShift(int radius)
{
    const uint64_t most = static_cast<uint64_t>(2 * radius + 1) * (2 * radius + 1) * ONE_WEIGHT;
    int shift = 0;
    while ((most >> shift) > 0xffffffffull)
        ++shift;
    return shift;
}

//! Everything the stages need to know besides the image. Plain numbers, made by the host, passed by value.
struct Parameters
{
    int radius;                  //!< R of the density window
    int searchRadius;            //!< tR of the parent search
    int shift;                   //!< keyShift(radius)
    float minusRate;             //!< -densityRate()
    float colorWeight;           //!< lambda^2, or of lambda what neither Scales nor `factors` have
    float reach;                 //!< largest D whose square root is <= tau
    bool strict;                 //!< equal densities: nobody's parent (instead of: the lower raster index is higher)
    bool normalize;              //!< divide by the clipped (w-1)(h-1)
    bool weighted;               //!< channels count differently:
    float factors[MAX_CHANNELS]; //!< on differences of features, in [1,2]
};

//! Scales of the channels. If `used`, features are pixel values times `power`, which is exact; else the values themselves.
struct Scales
{
    float power
        [MAX_CHANNELS]; //!< power of two, above scale / 2, so that OUTSIDE stays far enough away; 0: does not count
    float whole[MAX_CHANNELS]; //!< the user's scales, which decide what pixels are masked
    bool used;
};

//! What pixels are compared by: the sum in as many bits as fit, or the normalised density. 0 is kept for masked pixels.
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

CT_HOST_DEVICE float keyDensity(uint32_t key, const Parameters& p)
{
    if (p.normalize)
        return bitsFloat(key);
    return static_cast<float>(key) * bitsFloat(static_cast<uint32_t>(127 + p.shift - WEIGHT_BITS) << 23);
}

//! True when pixel j may be the parent of pixel i.
CT_HOST_DEVICE bool isHigher(uint32_t keyJ, int j, uint32_t keyI, int i, bool strict)
{
    return keyJ > keyI || (!strict && keyJ == keyI && j < i);
}

//! The parent so far: least D, then lowest raster index. Start with {reach, NO_PARENT}: D == reach still counts.
struct Candidate
{
    float d;
    int index;
};

const int NO_PARENT = 0x7fffffff;

CT_HOST_DEVICE bool isBetter(float d, int index, const Candidate& best)
{
    return d < best.d || (d == best.d && index < best.index);
}

//! The square root that both engines write: IEEE, correctly rounded.
CT_HOST_DEVICE float rootOf(float d) { return sqrtf(d); }

//! Largest float whose root is <= tau: comparing squares then decides exactly as comparing the distances written.
inline float reachOf(float tau)
{
    float d = tau * tau;
    while (rootOf(d) > tau)
        d = nextafterf(d, 0.f);
    while (rootOf(nextafterf(d, INFINITY)) <= tau)
        d = nextafterf(d, INFINITY);
    return d;
}

// --- sums over superpixels: integers, so that any order gives the same ------------------------------------------------

//! CV_32F colours are summed as multiples of 1/scale. @param largest bits of the largest finite magnitude.
CT_HOST_DEVICE double fixedScale(uint32_t largest)
{
    const uint64_t exponent = 1023 + 30 + 126 - (largest >> 23); // the largest becomes less than 2^30
    double scale;
    const uint64_t bits = exponent << 52;
    memcpy(&scale, &bits, sizeof(scale));
    return scale;
}

CT_HOST_DEVICE bool isFinite(float value) { return (floatBits(value) & 0x7f800000u) != 0x7f800000u; }

//! NaN and infinity count as 0.
CT_HOST_DEVICE int64_t fixedColour(float value, double scale)
{
    return isFinite(value) ? static_cast<int64_t>(rint(static_cast<double>(value) * scale)) : 0;
}

CT_HOST_DEVICE float meanOf(int64_t sum, int64_t area, double scale)
{
    return static_cast<float>(static_cast<double>(sum) / static_cast<double>(area) / scale);
}

//! For 8 and 16 bit images: rounded half up.
CT_HOST_DEVICE uint32_t roundedMean(int64_t sum, int64_t area)
{
    return static_cast<uint32_t>((2 * sum + area) / (2 * area));
}

//! Pairs of labels in the order in which they are given: the lower label, then the other.
CT_HOST_DEVICE uint64_t adjacentLabels(int a, int b)
{
    const uint32_t low = a < b ? a : b, high = a < b ? b : a;
    return static_cast<uint64_t>(low) << 32 | high;
}

//! Order in which connect() joins pieces: more pixels first, then the lower first pixel.
CT_HOST_DEVICE uint64_t pieceRank(int area, int first)
{
    return static_cast<uint64_t>(area) << 32 | static_cast<uint32_t>(~first);
}

}}} // namespace cv::cuda::quick_shift

#endif // OPENCV_CUDATRACKING_QUICK_SHIFT_CORE_HPP
