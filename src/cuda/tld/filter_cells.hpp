// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Device functions of the correlation filter for a tile of cells: gradients into histograms, bins of pixels.
#ifndef OPENCV_CUDATRACKING_CUDA_TLD_FILTER_CELLS_HPP
#define OPENCV_CUDATRACKING_CUDA_TLD_FILTER_CELLS_HPP

#include "filter_block.hpp"
#include "filter_place.hpp"
#include "filter_samples.hpp"

namespace cv { namespace cuda { namespace tld { namespace gpu {

const int TILE_CELLS = 8, ACROSS = FILTER_GRID / TILE_CELLS, TILES = ACROSS * ACROSS;
static_assert(FILTER_GRID % TILE_CELLS == 0, "whole tiles");
const int TILE_SIDE = TILE_CELLS * FILTER_CELL; //!< samples
//! Samples beyond the tile: a gradient reaches half a cell beyond its own, and differences one sample more.
const int BORDER = FILTER_CELL / 2 + 1, SAMPLES = TILE_SIDE + 2 * BORDER;
//! Words per histogram: odd, so that the same orientation of neighbouring cells is in different banks.
const int HISTOGRAM_STEP = KINDS + 1;

struct LookMemory
{
    SampleMemory<SAMPLES * SAMPLES, 2 * (SAMPLES + 1) * SAMPLES> sampled;
    int histograms[TILE_CELLS * TILE_CELLS * HISTOGRAM_STEP];
    int counts[2][COLOUR_LEVELS]; //!< of gray levels in the foreground and the background
    int parts[2];                 //!< samples of foreground and background
    FilterLook look;
    PlaceMemory place;
    // When the block looks at a size instead of a tile.
    SizePlan sizes[2]; //!< FilterWork::sizePlans
    int64_t energies[SCALE_CELLS];
    float norms[2 * SCALE_CELLS + 8]; //!< (cols + 1) * (rows + 1) with at least two cells along each side
};
static_assert(SAMPLES * SAMPLES >= SCALE_PIXELS && 2 * (SAMPLES + 1) * SAMPLES >= 4 * SCALE_PIXELS &&
                  TILE_CELLS * TILE_CELLS >= SCALE_CELLS,
              "room for a size");

/** Adds the gradients of the tile and its border to histograms. Ends with a barrier. Threads of a warp take the same
sample of different squares of 4 x 4, which lie between the centres of cells, so that few of them add to one cell.
@param x0,y0 first cell of the tile. */
template <int THREADS> __device__ __forceinline__ void addGradients(int x0, int y0, LookMemory& m)
{
    const int squares = TILE_CELLS + 1;
    for (int k = threadIdx.x; k < squares * squares * FILTER_CELL * FILTER_CELL; k += THREADS)
    {
        const int square = k % (squares * squares), phase = k / (squares * squares);
        const int cx = square % squares, cy = square / squares; // the cell to the right and below, in the tile
        const int i = phase % FILTER_CELL, j = phase / FILTER_CELL;
        const int px = cx * FILTER_CELL + i, py = cy * FILTER_CELL + j; // in the tile with half a cell around it
        const int x = x0 * FILTER_CELL + px - FILTER_CELL / 2, y = y0 * FILTER_CELL + py - FILTER_CELL / 2;
        if (x < 0 || x >= FILTER_SIDE || y < 0 || y >= FILTER_SIDE)
            continue;
        const auto at = [&](int column, int row)
        { return static_cast<int>(m.sampled.samples[row * SAMPLES + column]); };
        const int right = at(px + (x < FILTER_SIDE - 1 ? 2 : 1), py + 1), left = at(px + (x > 0 ? 0 : 1), py + 1);
        const int below = at(px + 1, py + (y < FILTER_SIDE - 1 ? 2 : 1)), above = at(px + 1, py + (y > 0 ? 0 : 1));
        const Gradient g = gradientOf(right - left, below - above);
        if (g.magnitude == 0)
            continue;
        // Those of ownWeight(), and the rest of 8.
        const int toLeft = 2 * (FILTER_CELL - i) - 1, toRight = 2 * i + 1;
        const int up = g.magnitude * (2 * (FILTER_CELL - j) - 1), down = g.magnitude * (2 * j + 1);
        int* const cell = m.histograms + (cy * TILE_CELLS + cx) * HISTOGRAM_STEP + g.orientation;
        const int row = TILE_CELLS * HISTOGRAM_STEP;
        if (cx > 0 && cy > 0)
            atomicAdd(cell - row - HISTOGRAM_STEP, up * toLeft);
        if (cx < TILE_CELLS && cy > 0)
            atomicAdd(cell - row, up * toRight);
        if (cx > 0 && cy < TILE_CELLS)
            atomicAdd(cell - HISTOGRAM_STEP, down * toLeft);
        if (cx < TILE_CELLS && cy < TILE_CELLS)
            atomicAdd(cell, down * toRight);
    }
    __syncthreads(); // histograms
}

//! Writes histograms, energies and sums of the samples of the tile's cells.
template <int THREADS>
__device__ __forceinline__ void writeCells(int x0, int y0, const LookMemory& m, FilterWork& work, int place)
{
    const int cells = TILE_CELLS * TILE_CELLS;
    const auto at = [&](int cell) { return (y0 + cell / TILE_CELLS) * FILTER_GRID + x0 + cell % TILE_CELLS; };
    for (int k = threadIdx.x; k < KINDS * cells; k += THREADS)
        work.histograms[place][k / cells][at(k % cells)] = m.histograms[k % cells * HISTOGRAM_STEP + k / cells];
    const int cell = threadIdx.x % cells;
    if (threadIdx.x < cells)
        work.energies[place][at(cell)] = cellEnergy([&](int o) { return m.histograms[cell * HISTOGRAM_STEP + o]; });
    else if (threadIdx.x < 2 * cells)
    {
        const uint8_t* const first = m.sampled.samples + (cell / TILE_CELLS * FILTER_CELL + BORDER) * SAMPLES +
                                     cell % TILE_CELLS * FILTER_CELL + BORDER;
        int sum = 0;
#pragma unroll
        for (int k = 0; k < FILTER_CELL * FILTER_CELL; ++k)
            sum += first[k / FILTER_CELL * SAMPLES + k % FILTER_CELL];
        work.samples[place][at(cell)] = sum;
    }
}

//! Pixels in the middle of a thread's samples, and what the model knows of their bins. Loads take long, so that they
//! begin before their values are needed.
template <int THREADS> struct TilePixels
{
    static const int COUNT = TILE_SIDE * TILE_SIDE / THREADS;
    static_assert(TILE_SIDE * TILE_SIDE % THREADS == 0 && THREADS % 32 == 0, "all threads of a warp have a pixel");
    uint8_t pixels[COUNT][3];
    int bins[COUNT];
    float foreground[COUNT], background[COUNT];

    static __device__ __forceinline__ int columnOf(int x0, int n)
    {
        return x0 * FILTER_CELL + static_cast<int>(threadIdx.x + n * THREADS) % TILE_SIDE;
    }
    static __device__ __forceinline__ int rowOf(int y0, int n)
    {
        return y0 * FILTER_CELL + static_cast<int>(threadIdx.x + n * THREADS) / TILE_SIDE;
    }
    __device__ __forceinline__ void load(const ImageView& image, const SamplePlan& plan, int x0, int y0)
    {
#pragma unroll
        for (int n = 0; n < COUNT; ++n)
        {
            const uint8_t* const pixel = pixelOf(image, plan, columnOf(x0, n), rowOf(y0, n));
            pixels[n][0] = pixel[0];
            pixels[n][1] = image.channels > 1 ? pixel[1] : 0;
            pixels[n][2] = image.channels > 1 ? pixel[2] : 0;
        }
    }
    __device__ __forceinline__ void findBins(bool colour)
    {
#pragma unroll
        for (int n = 0; n < COUNT; ++n)
            bins[n] = binOf(pixels[n], colour);
    }
    __device__ __forceinline__ void load(const FilterModel& model)
    {
#pragma unroll
        for (int n = 0; n < COUNT; ++n)
        {
            foreground[n] = model.foreground[bins[n]];
            background[n] = model.background[bins[n]];
        }
    }
};

template <int THREADS>
__device__ __forceinline__ void writeLikelihoods(const TilePixels<THREADS>& own, bool known, int x0, int y0,
                                                 FilterWork& work, int place)
{
#pragma unroll
    for (int n = 0; n < TilePixels<THREADS>::COUNT; ++n)
        work.likelihoods[place][own.rowOf(y0, n) * FILTER_SIDE + own.columnOf(x0, n)] =
            static_cast<uint16_t>(known ? likelihoodOf(own.foreground[n], own.background[n]) : 0);
}

template <int THREADS>
__device__ __forceinline__ void countBins(const TilePixels<THREADS>& own, bool colour, int x0, int y0, LookMemory& m,
                                          FilterWork& work)
{
#pragma unroll
    for (int n = 0; n < TilePixels<THREADS>::COUNT; ++n)
    {
        const FilterPart part = partOf(m.look.areas, own.columnOf(x0, n), own.rowOf(y0, n));
        const unsigned inner = __ballot_sync(ALL_LANES, part == INNER), outer = __ballot_sync(ALL_LANES, part == OUTER);
        if ((threadIdx.x & 31) == 0)
        {
            atomicAdd(&m.parts[0], __popc(inner));
            atomicAdd(&m.parts[1], __popc(outer));
        }
        if (part == EDGE)
            continue;
        if (colour)
            atomicAdd(part == INNER ? &work.foreground[own.bins[n]] : &work.background[own.bins[n]], 1);
        else
            atomicAdd(&m.counts[part == INNER ? 0 : 1][own.bins[n]], 1);
    }
    __syncthreads(); // counts
    if (threadIdx.x < 2)
        atomicAdd(&work.counts[threadIdx.x], m.parts[threadIdx.x]);
    if (threadIdx.x < 2 * COLOUR_LEVELS && !colour)
    {
        const int bin = threadIdx.x % COLOUR_LEVELS, background = threadIdx.x / COLOUR_LEVELS;
        atomicAdd(background ? &work.background[bin] : &work.foreground[bin], m.counts[background][bin]);
    }
}

}}}} // namespace cv::cuda::tld::gpu

#endif // OPENCV_CUDATRACKING_CUDA_TLD_FILTER_CELLS_HPP
