// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Device functions that kernels of the correlation filter share: where it looks, the Fourier transform of a grid, its
// answer.
#ifndef OPENCV_CUDATRACKING_CUDA_TLD_FILTER_BLOCK_HPP
#define OPENCV_CUDATRACKING_CUDA_TLD_FILTER_BLOCK_HPP

#include "block.hpp"

namespace cv { namespace cuda { namespace tld { namespace gpu {

//! Why the filter looks at an image.
enum FilterPass
{
    ASKING,   //!< at the last box and at the second place
    ENDING,   //!< at the box of the frame, to be trained or to verify a box that was found again
    BEGINNING //!< at the user's box
};

const int KINDS = 2 * ORIENTATIONS; //!< of histograms of gradients

//! Returns the state that a pass writes.
__device__ __forceinline__ ObjectState& stateOf(Live& live, FilterPass pass)
{
    return live.states[pass == BEGINNING ? live.current : 1 - live.current];
}
__device__ __forceinline__ const FilterModel& modelOf(const ObjectRecord& object)
{
    return *object.filters[object.live->filter];
}
//! Returns the index of the model that a pass trains. A new one, which is zero, is trained in place.
__device__ __forceinline__ int nextModelOf(const Live& live, FilterPass pass)
{
    return pass == BEGINNING ? live.filter : 1 - live.filter;
}

//! Returns where the filter looks at the image.
__device__ __forceinline__ FilterLook lookOf(const Batch& batch, const FilterState& f)
{
    FilterLook look = {1, f.trains, f.colour, filterAreas(f.width, f.height, f.scale, batch.cols, batch.rows), {}};
    look.plan = planSurround(f.x, f.y, look.areas);
    return look;
}

//! The part of the plan of a size that does not depend on the place. Divisions take long, so it comes before a wait.
struct SizeStep
{
    int size; //!< beyond FILTER_SCALES: none
    SizeSamples samples;

    //! @param f without its centre. @param factor sizeFactor() of the size. @param needed whether samples may be taken.
    __device__ __forceinline__ SizeStep(const FilterState& f, int number, double factor, bool needed)
        : size(number), samples()
    {
        if (needed && size >= 0 && size < FILTER_SCALES)
            samples = sizeSamples(f, factor, scaleCells(f.width, f.height));
    }
    //! Finds where the samples of the size are. @param there whether they are taken.
    __device__ __forceinline__ void plan(FilterWork& work, int place, bool there, const FilterState& f) const
    {
        if (size < 0 || size >= FILTER_SCALES)
            return;
        SizePlan& own = work.sizePlans[size][place];
        own.there = there;
        if (there)
            own.plan = samples.at(f);
    }
};

//! Whether a pass looks at a place, and then whether it trains. @param place 0: at the last box, before or while flow
//! works; 1: at the second place; always 0 unless ASKING.
struct Looks
{
    bool there, trains;

    Looks() = default;
    __device__ __forceinline__ Looks(const ObjectRecord& object, FilterPass pass, int place)
    {
        const FilterLook& look = object.filterWork->places[place];
        const bool first = pass == ASKING && place == 0;
        there = first ? asksFilter(object.live->states[object.live->current]) : look.there != 0;
        trains = !first && look.trains != NOT_TRAINED;
    }
};

//! Zeroes the counts of histograms, a part per block.
__device__ __forceinline__ void clearCounts(FilterWork& work, bool colour, int part, int parts)
{
    const int threads = static_cast<int>(blockDim.x);
    const int words = (colour ? HISTOGRAM_BINS : COLOUR_LEVELS) / 4; // of four counts
    uint4* const foreground = reinterpret_cast<uint4*>(work.foreground);
    uint4* const background = reinterpret_cast<uint4*>(work.background);
    for (int k = part * threads + static_cast<int>(threadIdx.x); k < words; k += parts * threads)
        foreground[k] = background[k] = make_uint4(0, 0, 0, 0);
    if (part == 0 && threadIdx.x < 2)
        work.counts[threadIdx.x] = 0;
}

//! Returns a feature of HOG. @param sum histogram of an orientation, or of two opposite ones.
__device__ __forceinline__ float normalizedFeature(int sum, const float* norms, int across)
{
    return featureOf(static_cast<float>(sum), {{norms[0], norms[1], norms[across], norms[across + 1]}});
}

//! Computes the factor of a block of 2 x 2 cells. @param energyAt functor of a cell, which may be outside of the grid
//! by one.
template <typename EnergyAt> __device__ __forceinline__ float blockNorm(int x, int y, const EnergyAt& energyAt)
{
    return normOf(energyAt(x - 1, y - 1) + energyAt(x, y - 1) + energyAt(x - 1, y) + energyAt(x, y));
}

// --- transforms ------------------------------------------------------------------------------------------------------

//! Values of a grid in shared memory. Rows are one value longer, so that columns are in different banks.
struct GridMemory
{
    static const int STEP = FILTER_GRID + 1;
    float re[FILTER_GRID * STEP], im[FILTER_GRID * STEP];

    static __device__ __forceinline__ int at(int cell) { return cell / FILTER_GRID * STEP + cell % FILTER_GRID; }
};

//! Tables of a transform, in shared memory.
struct GridTables
{
    float cosine[FILTER_GRID], sine[FILTER_GRID], window[FILTER_GRID];

    //! Copies the values by the first warps of a block. The caller's next barrier completes it.
    __device__ __forceinline__ void load(const FilterTables& tables)
    {
        const int warp = threadIdx.x / FILTER_GRID, k = threadIdx.x % FILTER_GRID;
        if (warp == 0)
            cosine[k] = tables.cosine[k];
        else if (warp == 1)
            sine[k] = tables.sine[k];
        else if (warp == 2)
            window[k] = tables.window[k];
    }
};

//! Transforms all columns or all rows by a block of THREADS. @param from the values, before and after. Begins and ends
//! with a barrier.
template <int THREADS, bool COLUMNS>
__device__ __forceinline__ void transformLines(GridMemory*& from, GridMemory*& to, const GridTables& tables)
{
    __syncthreads(); // the values
    FilterFft::run(
        [&](auto radix, auto stride)
        {
            const int R = decltype(radix)::value, STRIDE = decltype(stride)::value;
            for (int n = threadIdx.x; n < FILTER_GRID / R * FILTER_GRID; n += THREADS)
            {
                const int line = n % FILTER_GRID;
                const FftButterfly<FILTER_GRID, R, STRIDE> b(n / FILTER_GRID);
                const auto at = [&](int k)
                { return COLUMNS ? k * GridMemory::STEP + line : line * GridMemory::STEP + k; };
                runButterfly(
                    b, tables.cosine, tables.sine,
                    [&](int k, float& re, float& im)
                    {
                        re = from->re[at(k)];
                        im = from->im[at(k)];
                    },
                    [&](int k, float re, float im)
                    {
                        to->re[at(k)] = re;
                        to->im[at(k)] = im;
                    });
            }
            __syncthreads(); // all lines
            GridMemory* const done = to;
            to = from;
            from = done;
        });
}

//! Transforms a line of a grid in the registers of a thread. @param first index of its first value. @param step between
//! its values.
__device__ __forceinline__ void transformLine(GridMemory& grid, int first, int step, const GridTables& tables)
{
    float re[2][FILTER_GRID], im[2][FILTER_GRID]; // before and after a stage
#pragma unroll
    for (int k = 0; k < FILTER_GRID; ++k)
    {
        re[0][k] = grid.re[first + k * step];
        im[0][k] = grid.im[first + k * step];
    }
    FilterFft::run(
        [&](auto radix, auto stride)
        {
            const int R = decltype(radix)::value, STRIDE = decltype(stride)::value;
#pragma unroll
            for (int n = 0; n < FILTER_GRID / R; ++n)
                runButterfly(
                    FftButterfly<FILTER_GRID, R, STRIDE>(n), tables.cosine, tables.sine,
                    [&](int k, float& a, float& b)
                    {
                        a = re[0][k];
                        b = im[0][k];
                    },
                    [&](int k, float a, float b)
                    {
                        re[1][k] = a;
                        im[1][k] = b;
                    });
#pragma unroll
            for (int k = 0; k < FILTER_GRID; ++k)
            {
                re[0][k] = re[1][k];
                im[0][k] = im[1][k];
            }
        });
#pragma unroll
    for (int k = 0; k < FILTER_GRID; ++k)
    {
        grid.re[first + k * step] = re[0][k];
        grid.im[first + k * step] = im[0][k];
    }
}

// --- answers ---------------------------------------------------------------------------------------------------------

//! Largest value, of equal ones that of the lowest index.
struct Largest
{
    uint32_t order; //!< orderOf() the value
    int index;      //!< -1: none
};
//! Returns a number that is larger for a larger value, as reductions of integers take one instruction. Both zeros have
//! the same.
__device__ __forceinline__ uint32_t orderOf(float value)
{
    const uint32_t bits = __float_as_uint(value + 0.f);
    return bits >> 31 ? ~bits : bits | 0x80000000u;
}
__device__ __forceinline__ float valueOf(const Largest& largest)
{
    return __uint_as_float(largest.order >> 31 ? largest.order ^ 0x80000000u : ~largest.order);
}
//! Takes a value of a higher index.
__device__ __forceinline__ void take(Largest& largest, float value, int index)
{
    const uint32_t order = orderOf(value);
    largest = order > largest.order ? Largest{order, index} : largest;
}
__device__ __forceinline__ Largest largestOfWarp(const Largest& own)
{
    const uint32_t order = detail::largestOfWarp(own.order);
    const uint32_t index = own.order == order ? static_cast<uint32_t>(own.index) : ~0u;
    return {order, static_cast<int>(detail::leastOfWarp(index))};
}

struct AnswerMemory
{
    GridMemory grids[2];
    GridTables turns; //!< loaded by the caller
    Largest warps[32];
};
//! Returns the largest value of a block of THREADS to all threads. The memory is free again after a barrier.
template <int THREADS> __device__ __forceinline__ Largest largestOfBlock(const Largest& own, Largest* warps)
{
    const Largest largest = largestOfWarp(own);
    if ((threadIdx.x & 31) == 0)
        warps[threadIdx.x >> 5] = largest;
    __syncthreads(); // of all warps
    const int warp = threadIdx.x & 31;
    return largestOfWarp(warp < THREADS / 32 ? warps[warp] : Largest{0, -1});
}

//! Computes the answer from the products of filterSpectra by a block of THREADS. @return the grid whose real parts are
//! the answer. Ends with a barrier.
template <int THREADS>
__device__ __forceinline__ const GridMemory& answerAt(const FilterModel& model, const FilterWork& work, int place,
                                                      AnswerMemory& m)
{
    GridMemory *from = &m.grids[0], *to = &m.grids[1];
    for (int k = threadIdx.x; k < FILTER_SPECTRUM; k += THREADS)
    {
        const float energy = model.energy[k];
        Complex sum = {0.f, 0.f};
#pragma unroll
        for (int channel = 0; channel < FILTER_CHANNELS; ++channel)
        {
            const float2 part = *reinterpret_cast<const float2*>(&work.products[place][channel][k]);
            sum.re += part.x;
            sum.im += part.y;
        }
        const Complex quotient = quotientOf(sum, energy);
        const int r = k % FILTER_GRID, c = k / FILTER_GRID, at = r * GridMemory::STEP + c;
        from->re[at] = quotient.re;
        from->im[at] = quotient.im;
        if (c == 0 || c == FILTER_COLUMNS - 1)
            continue;
        const int mirror = conjugatePlace(r) * GridMemory::STEP + conjugatePlace(c);
        from->re[mirror] = quotient.re;
        from->im[mirror] = -quotient.im;
    }
    transformLines<THREADS, false>(from, to, m.turns);
    transformLines<THREADS, true>(from, to, m.turns);
    return *from;
}

}}}} // namespace cv::cuda::tld::gpu

#endif // OPENCV_CUDATRACKING_CUDA_TLD_FILTER_BLOCK_HPP
