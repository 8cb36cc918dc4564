// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// The correlation filter: what it sees of an image, its answers, its training.
//
//   lookAtTile      TILE_CELLS x TILE_CELLS cells of one size of a place per block: samples, gradients into histograms
//                   by atomics in shared memory, channels
//   transformPairs  a pair of channels of one size per block: transform; product with the model, or the spectra
//   findAnswers     one size of a place per block: sums over the pairs, transform, the largest value, its peak
//   solve           frequencies per block, one per thread: the filter of all channels
//   constrainPairs  a pair of channels per block: what the constraint adds to the second solution
//
// Cost per place: 76,000 samples with the borders of tiles, 60 transforms, 1.1 MB of channels and 0.6 MB of products, in
// the L2 cache. Bound by latency.
#include "correlation.hpp"
#include "../../common/launch.hpp"
#include "../../common/warp.hpp"

namespace cv { namespace cuda { namespace tld { namespace correlation { namespace gpu {

namespace {

using detail::letNextKernelBegin;
using detail::waitForKernelBefore;

const unsigned ALL = 0xffffffffu;

// --- cells -----------------------------------------------------------------------------------------------------------

//! Threads per block of lookAtTile.
const int CELL_THREADS = 512;
//! Cells of a tile with a border of one, whose histograms normalize those at the edge.
const int HALO = TILE_CELLS + 2;
//! Samples of these: a gradient reaches half a cell beyond its own, and differences one sample more.
const int BORDER = CELL + CELL / 2 + 1, SAMPLED = TILE_CELLS * CELL + 2 * BORDER;
const int KINDS = 2 * ORIENTATIONS;
//! Words per histogram: odd, so that the same orientation of neighbouring cells is in different banks.
const int HISTOGRAM_STEP = KINDS + 1;

struct TileMemory
{
    uint8_t colours[3][SAMPLED * SAMPLED], gray[SAMPLED * SAMPLED];
    int histograms[HALO * HALO * HISTOGRAM_STEP];
    int64_t energies[HALO * HALO];
    float norms[(TILE_CELLS + 1) * (TILE_CELLS + 1)];
    ColourSums sums[TILE_CELLS * TILE_CELLS];
    int grays[TILE_CELLS * TILE_CELLS];
    unsigned long long energy[BLOCKS];
};

//! Takes a sample of each colour.
__device__ __forceinline__ void takeSample(const ImageView& image, const Samples& s, int i, int j, uint8_t* b,
                                           uint8_t* g, uint8_t* r)
{
    const int wide = 2 * s.half, left = s.begin(s.x, i), top = s.begin(s.y, j);
    int64_t sums[3] = {0, 0, 0};
    for (int y = top >> 8; 256 * y < top + wide; ++y)
    {
        const uint8_t* const row = image.row<uint8_t>(::max(0, ::min(image.rows - 1, y)));
        int columns[3] = {0, 0, 0};
        for (int x = left >> 8; 256 * x < left + wide; ++x)
        {
            const uint8_t* const pixel = row + static_cast<size_t>(::max(0, ::min(image.cols - 1, x))) * image.channels;
            const int weight = pixelWeight(x, left, wide);
            columns[0] += weight * __ldg(pixel);
            if (image.channels > 1)
            {
                columns[1] += weight * __ldg(pixel + 1);
                columns[2] += weight * __ldg(pixel + 2);
            }
        }
        const int64_t weight = pixelWeight(y, top, wide);
        for (int c = 0; c < 3; ++c)
            sums[c] += weight * columns[c];
    }
    *b = s.valueOf(sums[0]);
    *g = image.channels > 1 ? s.valueOf(sums[1]) : *b;
    *r = image.channels > 1 ? s.valueOf(sums[2]) : *b;
}

//! Adds the gradients around a tile to histograms. Threads of a warp take the same sample of different squares of 4 x
//! 4, which lie between the centres of cells, so that few of them add to one cell. @param x0,y0 first cell of the tile.
__device__ __forceinline__ void addGradients(int x0, int y0, TileMemory& m)
{
    const int squares = HALO + 1;
    for (int k = threadIdx.x; k < squares * squares * CELL * CELL; k += CELL_THREADS)
    {
        const int square = k % (squares * squares), phase = k / (squares * squares);
        const int cx = square % squares, cy = square / squares; // the cell to the right and below
        const int i = phase % CELL, j = phase / CELL;
        const int px = CELL * cx + i + 1, py = CELL * cy + j + 1; // among the samples
        const int x = CELL * x0 - BORDER + px, y = CELL * y0 - BORDER + py;
        if (x < 0 || x >= SIDE || y < 0 || y >= SIDE)
            continue;
        const uint8_t* const at = m.gray + py * SAMPLED + px; // beyond the grid, samples repeat
        const Gradient g = gradientOf(at[1] - at[-1], at[SAMPLED] - at[-SAMPLED]);
        if (g.magnitude == 0)
            continue;
        // Those of ownWeight(), and the rest of 8.
        const int toLeft = 2 * (CELL - i) - 1, toRight = 2 * i + 1;
        const int up = g.magnitude * (2 * (CELL - j) - 1), down = g.magnitude * (2 * j + 1);
        int* const cell = m.histograms + (cy * HALO + cx) * HISTOGRAM_STEP + g.orientation;
        const int row = HALO * HISTOGRAM_STEP;
        if (cx > 0 && cy > 0)
            atomicAdd(cell - row - HISTOGRAM_STEP, up * toLeft);
        if (cx < HALO && cy > 0)
            atomicAdd(cell - row, up * toRight);
        if (cx > 0 && cy < HALO)
            atomicAdd(cell - HISTOGRAM_STEP, down * toLeft);
        if (cx < HALO && cy < HALO)
            atomicAdd(cell, down * toRight);
    }
}

//! Sums the colours of a cell of the tile over its rows, by four threads.
__device__ __forceinline__ void sumColours(TileMemory& m)
{
    const int cell = threadIdx.x / CELL, row = threadIdx.x % CELL;
    static_assert(TILE_CELLS * TILE_CELLS * CELL <= CELL_THREADS && TILE_CELLS * TILE_CELLS * CELL % 32 == 0,
                  "whole warps");
    if (cell >= TILE_CELLS * TILE_CELLS)
        return;
    ColourSums s = {0, 0, 0, 0, 0, 0, 0};
    uint32_t gray = 0;
    const int first = (cell / TILE_CELLS * CELL + row + BORDER) * SAMPLED + cell % TILE_CELLS * CELL + BORDER;
    for (int i = 0; i < CELL; ++i)
    {
        s.add(m.colours[0][first + i], m.colours[1][first + i], m.colours[2][first + i]);
        gray += m.gray[first + i];
    }
    uint32_t values[8] = {s.b, s.g, s.r, s.bg, s.br, s.gr, s.bgr, gray};
    for (int k = 0; k < 8; ++k)
    {
        values[k] += __shfl_xor_sync(ALL, values[k], 1);
        values[k] += __shfl_xor_sync(ALL, values[k], 2);
    }
    if (row != 0)
        return;
    m.sums[cell] = {values[0], values[1], values[2], values[3], values[4], values[5], values[6]};
    m.grays[cell] = static_cast<int>(values[7]);
}

//! Returns a channel of a cell of the tile.
__device__ __forceinline__ float channelOf(int channel, int x, int y, const TileMemory& m)
{
    const int* const histogram = m.histograms + ((y + 1) * HALO + x + 1) * HISTOGRAM_STEP;
    const float* const norms = m.norms + y * (TILE_CELLS + 1) + x;
    const CellNorms all = {{norms[0], norms[1], norms[TILE_CELLS + 1], norms[TILE_CELLS + 2]}};
    if (channel < KINDS)
        return featureOf(static_cast<float>(histogram[channel]), all);
    if (channel < KINDS + ORIENTATIONS)
        return featureOf(static_cast<float>(histogram[channel - KINDS] + histogram[channel - ORIENTATIONS]), all);
    if (channel < HOG_CHANNELS)
    {
        const int q = channel - KINDS - ORIENTATIONS;
        const float norm = norms[q / 2 * (TILE_CELLS + 1) + q % 2];
        float sum = 0.f;
        for (int o = 0; o < KINDS; ++o)
            sum += normalized(static_cast<float>(histogram[o]), norm);
        return sum * TEXTURE_FACTOR;
    }
    const int cell = y * TILE_CELLS + x;
    return channel == HOG_CHANNELS ? grayFeature(m.grays[cell]) : m.sums[cell].feature(channel - HOG_CHANNELS - 1);
}

__global__ void __launch_bounds__(CELL_THREADS, 2) lookAtTile(const Record* records, const ImageView image, int place)
{
    __shared__ TileMemory m;
    waitForKernelBefore();
    letNextKernelBegin();
    Look& look = records[blockIdx.y].looks[place];
    const int tile = blockIdx.x % TILES, size = blockIdx.x / TILES, use = look.use;
    if (use == NOTHING || (use != ASKS && size != SIZES / 2))
        return;
    const Samples samples = look.place.samples(size);
    const int x0 = tile % TILES_ACROSS * TILE_CELLS, y0 = tile / TILES_ACROSS * TILE_CELLS;
    for (int k = threadIdx.x; k < HALO * HALO * HISTOGRAM_STEP; k += CELL_THREADS)
        m.histograms[k] = 0;
    if (threadIdx.x < BLOCKS)
        m.energy[threadIdx.x] = 0;
    for (int k = threadIdx.x; k < SAMPLED * SAMPLED; k += CELL_THREADS)
    {
        const int i = ::max(0, ::min(SIDE - 1, CELL * x0 - BORDER + k % SAMPLED));
        const int j = ::max(0, ::min(SIDE - 1, CELL * y0 - BORDER + k / SAMPLED));
        takeSample(image, samples, i, j, &m.colours[0][k], &m.colours[1][k], &m.colours[2][k]);
        m.gray[k] = static_cast<uint8_t>(grayOf(m.colours[0][k], m.colours[1][k], m.colours[2][k]));
    }
    __syncthreads(); // samples, zeros
    addGradients(x0, y0, m);
    sumColours(m);
    __syncthreads(); // histograms
    for (int k = threadIdx.x; k < HALO * HALO; k += CELL_THREADS)
    {
        const int* const histogram = m.histograms + k * HISTOGRAM_STEP;
        m.energies[k] = cellEnergy([&](int o) { return histogram[o]; });
    }
    __syncthreads(); // energies
    // Cells outside of the grid have the energy of the nearest one.
    const auto energyAt = [&](int x, int y)
    {
        const int i = ::min(GRID - 1, ::max(0, x0 + x)) - x0 + 1, j = ::min(GRID - 1, ::max(0, y0 + y)) - y0 + 1;
        return m.energies[j * HALO + i];
    };
    for (int k = threadIdx.x; k < (TILE_CELLS + 1) * (TILE_CELLS + 1); k += CELL_THREADS)
    {
        const int x = k % (TILE_CELLS + 1), y = k / (TILE_CELLS + 1);
        m.norms[k] = normOf(energyAt(x - 1, y - 1) + energyAt(x, y - 1) + energyAt(x - 1, y) + energyAt(x, y));
    }
    __syncthreads(); // norms
    for (int k = threadIdx.x; k < CHANNELS * TILE_CELLS * TILE_CELLS; k += CELL_THREADS)
    {
        const int channel = k / (TILE_CELLS * TILE_CELLS), x = k % TILE_CELLS, y = k / TILE_CELLS % TILE_CELLS;
        const float value = channelOf(channel, x, y, m);
        look.channels[size][channel][(y0 + y) * GRID + x0 + x] = value;
        // 64 cells per channel: all lanes of a warp have one channel.
        static_assert(TILE_CELLS * TILE_CELLS % 32 == 0 && CHANNELS * TILE_CELLS * TILE_CELLS % CELL_THREADS == 0,
                      "whole warps");
        const int energy = detail::sumOfWarp(energyOf(value)); // below 32 * 2^24
        if (threadIdx.x % 32 == 0)
            atomicAdd(&m.energy[blockOf(channel)], static_cast<unsigned long long>(energy));
    }
    __syncthreads(); // energy
    if (threadIdx.x < BLOCKS)
        look.energies[size][threadIdx.x][tile] = static_cast<int64_t>(m.energy[threadIdx.x]);
}

// --- transforms ------------------------------------------------------------------------------------------------------

//! Threads per block of kernels with a transform.
const int GRID_THREADS = 384;

//! Values of a grid in shared memory. Rows are one value longer, so that columns are in different banks.
struct GridMemory
{
    static const int STEP = GRID + 1;
    float re[GRID * STEP], im[GRID * STEP];

    static __device__ __forceinline__ int at(int cell) { return cell / GRID * STEP + cell % GRID; }
    __device__ __forceinline__ Complex value(int k) const { return {re[k], im[k]}; }
    __device__ __forceinline__ void set(int k, const Complex& value)
    {
        re[k] = value.re;
        im[k] = value.im;
    }
};

//! Cosines and sines of a transform, in shared memory.
struct Turns
{
    float cosine[GRID], sine[GRID];

    //! The caller's next barrier completes it.
    __device__ __forceinline__ void load(const Tables& tables)
    {
        for (int k = threadIdx.x; k < 2 * GRID; k += GRID_THREADS)
            (k < GRID ? cosine : sine)[k % GRID] = k < GRID ? tables.cosine[k] : tables.sine[k - GRID];
    }
};

//! Transforms columns or rows [first, first + count). @param from the values, before and after. Begins and ends with a
//! barrier.
template <bool IN_COLUMNS>
__device__ __forceinline__ void transformLines(GridMemory*& from, GridMemory*& to, const Turns& turns, int first = 0,
                                               int count = GRID)
{
    __syncthreads(); // the values
    Fft::run(
        [&](auto radix, auto stride)
        {
            const int R = decltype(radix)::value, STRIDE = decltype(stride)::value;
            for (int n = threadIdx.x; n < GRID / R * count; n += GRID_THREADS)
            {
                const int line = first + n % count;
                const FftButterfly<GRID, R, STRIDE> b(n / count);
                const auto at = [&](int k)
                { return IN_COLUMNS ? k * GridMemory::STEP + line : line * GridMemory::STEP + k; };
                runButterfly(
                    b, turns.cosine, turns.sine,
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

struct PairMemory
{
    GridMemory grids[2];
    Turns turns;
    float window[GRID], factors[2];
};

//! Places of a value of a spectrum in a grid.
struct SpectrumPlace
{
    int row, column, own, mirror;

    __device__ __forceinline__ explicit SpectrumPlace(int k)
        : row(k % GRID),
          column(k / GRID),
          own(row * GridMemory::STEP + column),
          mirror(conjugatePlace(row) * GridMemory::STEP + conjugatePlace(column))
    {}
    //! Whether the spectrum also has the conjugate value.
    __device__ __forceinline__ bool hasBoth() const { return column == 0 || 2 * column == GRID; }
};

__global__ void __launch_bounds__(GRID_THREADS) transformPairs(const Record* records, const Tables* tables, int place)
{
    __shared__ PairMemory m;
    const int pair = blockIdx.x % PAIRS, size = blockIdx.x / PAIRS, channel = 2 * pair;
    const Record& record = records[blockIdx.y];
    Look& look = record.looks[place];
    m.turns.load(*tables);
    for (int k = threadIdx.x; k < GRID; k += GRID_THREADS)
        m.window[k] = tables->window[k];
    waitForKernelBefore();
    letNextKernelBegin();
    const int use = look.use;
    if (use == NOTHING || (use != ASKS && size != SIZES / 2))
        return;
    if (threadIdx.x < 2)
    {
        const int block = blockOf(channel + static_cast<int>(threadIdx.x));
        int64_t energy = 0;
        for (int t = 0; t < TILES; ++t)
            energy += look.energies[size][block][t];
        m.factors[threadIdx.x] = blockFactor(block, energy);
    }
    __syncthreads(); // factors, tables
    GridMemory *from = &m.grids[0], *to = &m.grids[1];
    for (int k = threadIdx.x; k < CELLS; k += GRID_THREADS)
    {
        const float x = m.window[k % GRID], y = m.window[k / GRID];
        from->set(GridMemory::at(k), {weighted(look.channels[size][channel][k], m.factors[0], x, y),
                                      weighted(look.channels[size][channel + 1][k], m.factors[1], x, y)});
    }
    transformLines<true>(from, to, m.turns);
    transformLines<false>(from, to, m.turns);
    const Spectra& model = *record.models[*record.current];
    for (int k = threadIdx.x; k < SPECTRUM; k += GRID_THREADS)
    {
        const SpectrumPlace at(k);
        const Complex own = from->value(at.own), mirror = from->value(at.mirror);
        const Complex a = firstSpectrum(own, mirror), b = secondSpectrum(own, mirror);
        if (use == ASKS)
        {
            look.products[size][pair][k] = pairAnswer({model.re[channel][k], model.im[channel][k]}, a,
                                                      {model.re[channel + 1][k], model.im[channel + 1][k]}, b);
            continue;
        }
        record.image->re[channel][k] = a.re;
        record.image->im[channel][k] = a.im;
        record.image->re[channel + 1][k] = b.re;
        record.image->im[channel + 1][k] = b.im;
    }
}

// --- answers ---------------------------------------------------------------------------------------------------------

struct AnswerMemory
{
    GridMemory grids[2];
    Turns turns;
    Complex spectrum[SPECTRUM];
    uint32_t orders[32]; //!< of the warps
    int indices[32];
    PeakSearch search;
    int32_t goesOn;
};

//! Returns a number that is larger for a larger value, as reductions of integers take one instruction. Both zeros have
//! the same.
__device__ __forceinline__ uint32_t orderOf(float value)
{
    const uint32_t bits = __float_as_uint(value + 0.f);
    return bits >> 31 ? ~bits : bits | 0x80000000u;
}

//! Returns the cell of the largest value to the first warp, of equal ones the first. Ends with a barrier.
__device__ __forceinline__ int largestCell(const GridMemory& grid, AnswerMemory& m)
{
    uint32_t order = 0;
    int index = CELLS;
    for (int k = threadIdx.x; k < CELLS; k += GRID_THREADS)
    {
        const uint32_t own = orderOf(grid.re[GridMemory::at(k)]);
        if (own > order)
        {
            order = own;
            index = k;
        }
    }
    for (int round = 0; round < 2; ++round)
    {
        const uint32_t largest = detail::largestOfWarp(order);
        index = static_cast<int>(detail::leastOfWarp(order == largest ? static_cast<uint32_t>(index) : ~0u));
        order = largest;
        if (round == 1)
            break;
        if (threadIdx.x % 32 == 0)
        {
            m.orders[threadIdx.x / 32] = order;
            m.indices[threadIdx.x / 32] = index;
        }
        __syncthreads(); // of all warps
        const int lane = threadIdx.x % 32;
        order = lane < GRID_THREADS / 32 ? m.orders[lane] : 0;
        index = lane < GRID_THREADS / 32 ? m.indices[lane] : CELLS;
    }
    __syncthreads(); // read
    return index;
}

__device__ __forceinline__ float shuffled(float value, int distance) { return __shfl_xor_sync(ALL, value, distance); }

//! Sums the rows of a column by ROW_PARTS threads, and writes its slope.
__device__ __forceinline__ void sumColumn(const AnswerMemory& m, const float* turn, Slope* slopes)
{
    const int column = threadIdx.x / ROW_PARTS, part = threadIdx.x % ROW_PARTS;
    ColumnSums s = {};
    if (column < COLUMNS)
        for (int r = part; r < GRID; r += ROW_PARTS)
            s.add(m.spectrum[column * GRID + r], waveOf(frequencyOf(r), m.search.y, turn),
                  static_cast<float>(frequencyOf(r)));
    for (int distance = ROW_PARTS / 2; distance > 0; distance /= 2)
        for (int k = 0; k < 3; ++k)
        {
            s.re[k] += shuffled(s.re[k], distance);
            s.im[k] += shuffled(s.im[k], distance);
        }
    if (part == 0)
        slopes[column] = column < COLUMNS ? slopeOf(s, waveOf(column, m.search.x, turn), column) : Slope{};
}

//! Sums the slopes of the columns by a warp.
__device__ __forceinline__ Slope sumSlopes(const Slope* slopes)
{
    Slope s = slopes[threadIdx.x];
    for (int distance = 16; distance > 0; distance /= 2)
        s = {s.value + shuffled(s.value, distance), s.x + shuffled(s.x, distance),   s.y + shuffled(s.y, distance),
             s.xx + shuffled(s.xx, distance),       s.xy + shuffled(s.xy, distance), s.yy + shuffled(s.yy, distance)};
    return s;
}

__global__ void __launch_bounds__(GRID_THREADS) findAnswers(const Record* records, const Tables* tables, int place)
{
    __shared__ AnswerMemory m;
    Look& look = records[blockIdx.y].looks[place];
    const int size = blockIdx.x;
    m.turns.load(*tables);
    waitForKernelBefore();
    letNextKernelBegin();
    if (look.use != ASKS)
        return;
    GridMemory *from = &m.grids[0], *to = &m.grids[1];
    for (int k = threadIdx.x; k < SPECTRUM; k += GRID_THREADS)
    {
        Complex sum = {0.f, 0.f};
#pragma unroll
        for (int p = 0; p < PAIRS; ++p)
        {
            const Complex part = look.products[size][p][k];
            sum.re += part.re;
            sum.im += part.im;
        }
        const Complex value = answerAt(sum);
        const SpectrumPlace at(k);
        m.spectrum[k] = value;
        from->set(at.own, {value.re, -value.im});
        if (!at.hasBoth())
            from->set(at.mirror, value);
    }
    transformLines<false>(from, to, m.turns);
    transformLines<true>(from, to, m.turns);
    const int cell = largestCell(*from, m);
    Slope* const slopes = reinterpret_cast<Slope*>(m.grids[0].re); // the grids are free now
    static_assert(32 * ROW_PARTS <= GRID_THREADS, "a thread per part of a column");
    if (threadIdx.x == 0)
        m.search.begin(cell);
    do
    {
        __syncthreads(); // where it is evaluated
        if (threadIdx.x < 32 * ROW_PARTS)
            sumColumn(m, tables->turn, slopes);
        __syncthreads(); // slopes
        if (threadIdx.x < 32)
        {
            const Slope slope = sumSlopes(slopes);
            if (threadIdx.x == 0)
                m.goesOn = m.search.move(slope);
        }
        __syncthreads(); // whether it goes on
    }
    while (m.goesOn);
    if (threadIdx.x == 0)
        look.answers[size] = m.search.result();
}

// --- training --------------------------------------------------------------------------------------------------------

//! Threads per block of solve: few, so that many multiprocessors load.
const int SOLVE_THREADS = 64;

//! @param solution 0 or 1.
__global__ void __launch_bounds__(SOLVE_THREADS) solve(const Record* records, const Tables* tables, int solution)
{
    waitForKernelBefore();
    letNextKernelBegin();
    const Record& record = records[blockIdx.y];
    const int use = record.looks[0].use, k = static_cast<int>(blockIdx.x * SOLVE_THREADS + threadIdx.x);
    if ((use != TRAINS && use != BEGINS) || k >= SPECTRUM)
        return;
    const int current = *record.current;
    const Spectra &image = *record.image, &before = *record.models[current];
    const Spectra& added = *record.solution;
    Spectra& out = solution == 0 ? *record.solution : *record.models[1 - current];
    const float memory = use == BEGINS ? 0.f : MEMORY, weight = penaltyOf(solution) + memory;
    const float inverse = 1.f / weight, target = tables->target[k % GRID] * tables->target[k / GRID];
    Projection sums = {0.f, {0.f, 0.f}};
    Complex q[CHANNELS];
#pragma unroll
    for (int c = 0; c < CHANNELS; ++c)
    {
        const Complex x = {image.re[c][k], image.im[c][k]};
        const Complex last = use == BEGINS ? Complex{0.f, 0.f} : Complex{before.re[c][k], before.im[c][k]};
        q[c] = wanted(x, target, last, memory);
        if (solution == 1)
            q[c] = {q[c].re + added.re[c][k], q[c].im + added.im[c][k]};
        sums.add(x, q[c]);
    }
    sums.divide(weight);
#pragma unroll
    for (int c = 0; c < CHANNELS; ++c)
    {
        const Complex own = solved({image.re[c][k], image.im[c][k]}, q[c], sums.sum, inverse);
        out.re[c][k] = own.re;
        out.im[c][k] = own.im;
    }
}

__global__ void __launch_bounds__(GRID_THREADS) constrainPairs(const Record* records, const Tables* tables)
{
    __shared__ PairMemory m;
    const Record& record = records[blockIdx.y];
    m.turns.load(*tables);
    waitForKernelBefore();
    letNextKernelBegin();
    const Look& look = record.looks[0];
    if (look.use != TRAINS && look.use != BEGINS)
        return;
    const TargetCells target = look.target;
    float* const re = record.solution->re[2 * blockIdx.x];
    float* const im = record.solution->im[2 * blockIdx.x];
    GridMemory *from = &m.grids[0], *to = &m.grids[1];
    for (int k = threadIdx.x; k < SPECTRUM; k += GRID_THREADS)
    {
        const SpectrumPlace at(k);
        const Complex a = {re[k], im[k]}, b = {re[k + SPECTRUM], im[k + SPECTRUM]};
        from->set(at.own, joined(a, b));
        if (!at.hasBoth())
            from->set(at.mirror, joinedMirror(a, b));
    }
    // Columns of the target only: what is outside becomes 0.
    const int first = GRID / 2 - target.halfCols, count = 2 * target.halfCols;
    transformLines<false>(from, to, m.turns);
    transformLines<true>(from, to, m.turns, first, count);
    for (int k = threadIdx.x; k < CELLS; k += GRID_THREADS)
    {
        const int at = GridMemory::at(k);
        const Complex value = from->value(at);
        const bool inside = target.has(k % GRID, k / GRID);
        from->set(at, inside ? Complex{value.re * INVERSE, -value.im * INVERSE} : Complex{0.f, 0.f});
        to->set(at, {0.f, 0.f});
    }
    transformLines<true>(from, to, m.turns, first, count);
    transformLines<false>(from, to, m.turns);
    for (int k = threadIdx.x; k < SPECTRUM; k += GRID_THREADS)
    {
        const SpectrumPlace at(k);
        const Complex own = from->value(at.own), mirror = from->value(at.mirror);
        const Complex a = firstSpectrum(own, mirror), b = secondSpectrum(own, mirror);
        re[k] = constrained(re[k], a.re);
        im[k] = constrained(im[k], a.im);
        re[k + SPECTRUM] = constrained(re[k + SPECTRUM], b.re);
        im[k + SPECTRUM] = constrained(im[k + SPECTRUM], b.im);
    }
}

} // namespace

void cells(const Record* records, int count, const ImageView& image, int place, StreamHandle stream)
{
    detail::launch("tld filter cells", lookAtTile, dim3(TILES * SIZES, count), dim3(CELL_THREADS), 0, stream, records,
                   image, place);
}

void spectra(const Record* records, int count, const Tables* tables, int place, StreamHandle stream)
{
    detail::launchEarly("tld filter spectra", transformPairs, dim3(PAIRS * SIZES, count), dim3(GRID_THREADS), 0, stream,
                        records, tables, place);
}

void answers(const Record* records, int count, const Tables* tables, int place, StreamHandle stream)
{
    detail::launchEarly("tld filter answers", findAnswers, dim3(SIZES, count), dim3(GRID_THREADS), 0, stream, records,
                        tables, place);
}

void train(const Record* records, int count, const Tables* tables, StreamHandle stream)
{
    const dim3 blocks(static_cast<unsigned>(detail::ceilDiv(SPECTRUM, SOLVE_THREADS)), count);
    detail::launchEarly("tld filter solution", solve, blocks, dim3(SOLVE_THREADS), 0, stream, records, tables, 0);
    detail::launchEarly("tld filter constraint", constrainPairs, dim3(PAIRS, count), dim3(GRID_THREADS), 0, stream,
                        records, tables);
    detail::launchEarly("tld filter solution", solve, blocks, dim3(SOLVE_THREADS), 0, stream, records, tables, 1);
}

}}}}} // namespace cv::cuda::tld::correlation::gpu
