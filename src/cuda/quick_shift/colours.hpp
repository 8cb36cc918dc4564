// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Colours on CUDA: how QuickShift's kernels hold and compare them. For .cu files.
#ifndef OPENCV_CUDATRACKING_CUDA_QUICK_SHIFT_COLOURS_HPP
#define OPENCV_CUDATRACKING_CUDA_QUICK_SHIFT_COLOURS_HPP

#include "plan.hpp"

namespace cv { namespace cuda { namespace quick_shift { namespace gpu {

//! Returns true if an image of so many planes has plane k. Kernels for MAX_CHANNELS planes take any number of them, and 0
//! for those that are missing, which adds exactly nothing to distances.
template <int CHANNELS> __device__ __forceinline__ bool isPlane(int k, int channels)
{
    return CHANNELS <= FEW_CHANNELS || k < channels;
}

//! Returns `start` plus the squared distance of two colours of up to four 8-bit channels.
__device__ __forceinline__ uint32_t squaredByteDistance(uint32_t a, uint32_t b, uint32_t start)
{
    const uint32_t d = __vabsdiffu4(a, b);
    return __dp4a(d, d, start);
}

//! Members of Parameters that the search of images of few channels needs.
struct SearchParameters
{
    int searchRadius;
    float colorWeight, reach;
    bool strict;
    float factors[FEW_CHANNELS];
};

/** Colours of 8-bit channels in a word. Steps 1 to 3 of the search measure distances in multiples of UNIT: an integer
dc, read as a float, is the denormal dc 2^-149, and lambda^2 WEIGHT times that is lambda^2 dc UNIT. The sum, scaled by a
power of two, rounds as in squaredDistance(): ds >= 1, so the sum is no denormal itself. This saves converting dc to
float for each neighbour. Needs -ftz=false. */
struct ByteColours
{
    typedef uint32_t Colour;
    typedef float Weight; //!< factor of squared colour distances: lambda^2 WEIGHT
    static constexpr float UNIT = 0x1p-85f, FROM_UNIT = 0x1p85f, WEIGHT = 0x1p64f;
    const uint32_t* pixels;

    static __device__ __forceinline__ Weight weightOf(const SearchParameters& p) { return p.colorWeight * WEIGHT; }

    __device__ explicit ByteColours(const Features& f, size_t base, int) : pixels(f.words + base) {}
    __device__ Colour load(size_t at) const { return pixels[at]; }
    //! Returns the squared distance, exactly: dp4a adds an integer below 2^23 to the mantissa of 2^23, which is then
    //! subtracted.
    static __device__ float distance(Colour a, Colour b, const SearchParameters&)
    {
        return __uint_as_float(squaredByteDistance(a, b, 0x4b000000u)) - 8388608.f;
    }
    //! Returns squaredDistance() as a multiple of UNIT. @param ds a multiple of UNIT.
    static __device__ __forceinline__ float joint(Colour a, Colour b, Weight weight, float ds)
    {
        return fmaf(weight, __uint_as_float(squaredByteDistance(a, b, 0u)), ds);
    }
};

//! Colours of float planes. @tparam CHANNELS,WEIGHTED as those of Planes in density.cu.
template <int CHANNELS, bool WEIGHTED> struct PlaneColours
{
    struct Colour
    {
        float value[CHANNELS];
    };
    struct Weight
    {
        float all, factor[WEIGHTED ? CHANNELS : 1];
    };
    static constexpr float UNIT = 1.f, FROM_UNIT = 1.f;
    const float* planes;
    size_t plane;
    int channels;

    __device__ PlaneColours(const Features& f, size_t base, int pixels)
        : planes(f.planes + base * f.channels), plane(pixels), channels(f.channels)
    {}
    __device__ Colour load(size_t at) const
    {
        Colour c;
#pragma unroll
        for (int k = 0; k < CHANNELS; ++k)
            c.value[k] = isPlane<CHANNELS>(k, channels) ? planes[k * plane + at] : 0.f;
        return c;
    }
    static __device__ __forceinline__ Weight weightOf(const SearchParameters& p)
    {
        Weight weight = {p.colorWeight};
#pragma unroll
        for (int k = 0; WEIGHTED && k < CHANNELS; ++k)
            weight.factor[k] = p.factors[k];
        return weight;
    }
    //! @param p SearchParameters or Parameters.
    template <typename P> static __device__ float distance(const Colour& a, const Colour& b, const P& p)
    {
        return colourDistance(a.value, b.value, CHANNELS, WEIGHTED ? p.factors : nullptr);
    }
    static __device__ __forceinline__ float joint(const Colour& a, const Colour& b, Weight weight, float ds)
    {
        return fmaf(weight.all, colourDistance(a.value, b.value, CHANNELS, WEIGHTED ? weight.factor : nullptr), ds);
    }
};

}}}} // namespace cv::cuda::quick_shift::gpu

#endif // OPENCV_CUDATRACKING_CUDA_QUICK_SHIFT_COLOURS_HPP
