// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// What the correlation filter sees of an image, and the spectra of it.
//
//   filterCells     TILE_CELLS x TILE_CELLS cells of a place per block, or a size of the object: samples, gradients
//                   into histograms by atomics in shared memory, likelihoods or counts of bins
//   filterSpectra   a pair of channels of a place per block: norms, features, transform, product with the model or what
//                   is learned; further blocks sum likelihoods over displaced targets, or learn frequencies of sizes
//
// Cost per place: 23,000 samples with the borders of tiles; 28 transforms; 0.5 MB of model and products, from the L2
// cache. Bound by latency with one object, by instructions with many.
#include "filter_cells.hpp"
#include "filter_sizes.hpp"
#include "filter_steps.hpp"

namespace cv { namespace cuda { namespace tld { namespace gpu {

namespace {

const int THREADS = tuning::FILTER_THREADS, WARPS = THREADS / 32;

// --- cells -----------------------------------------------------------------------------------------------------------

__device__ __forceinline__ void lookAtTile(const Batch& batch, const ObjectRecord& object, const ImageView& image,
                                           FilterPass pass, int place, int tile, LookMemory& m)
{
    FilterWork& work = *object.filterWork;
    const int x0 = tile % ACROSS * TILE_CELLS, y0 = tile / ACROSS * TILE_CELLS;
    if (pass != ASKING || place != 0)
        copyWords(&m.look, &work.places[place], 1);
    else if (threadIdx.x == 0)
    {
        const ObjectState& before = object.live->states[object.live->current];
        m.look.there = asksFilter(before);
        if (m.look.there)
            m.look = lookOf(batch, before.filter);
    }
    if (threadIdx.x < 2 * COLOUR_LEVELS)
        m.counts[threadIdx.x / COLOUR_LEVELS][threadIdx.x % COLOUR_LEVELS] = 0;
    if (threadIdx.x < 2)
        m.parts[threadIdx.x] = 0;
    __syncthreads(); // the place, zeros
    const FilterLook& look = m.look;
    if (!look.there)
        return;
    const bool counts = pass != ASKING && look.trains != NOT_TRAINED, colour = isColour(image) != 0;
    TilePixels own;
    own.load(image, look.plan, x0, y0);
    if (tile == 0 && threadIdx.x == THREADS - 1)
        work.displacements[place] = displacementsOf(look.areas);
    takeSamples<THREADS>(batch, look.plan, x0 * FILTER_CELL - BORDER, y0 * FILTER_CELL - BORDER, SAMPLES, SAMPLES,
                         m.sampled);
    own.findBins(colour);
    if (pass == ASKING)
        own.load(modelOf(object));
    addGradients(x0, y0, m);
    writeCells(x0, y0, m, work, place);
    if (pass == ASKING)
        writeLikelihoods(own, look.colour == isColour(image), x0, y0, work, place);
    else if (counts)
        countBins(own, colour, x0, y0, m, work);
}

//! Returns a feature of a cell of a size.
__device__ __forceinline__ float sizeFeature(int channel, int i, int j, const LookMemory& m)
{
    const int across = m.cells.cols + 1;
    const float* const norms = m.norms + j * across + i;
    const int* const histogram = m.histograms + (j * m.cells.cols + i) * HISTOGRAM_STEP;
    if (channel < KINDS)
        return normalizedFeature(histogram[channel], norms, across);
    if (channel < KINDS + ORIENTATIONS)
        return normalizedFeature(histogram[channel - KINDS] + histogram[channel - ORIENTATIONS], norms, across);
    const int q = channel - KINDS - ORIENTATIONS;
    const float norm = norms[q / 2 * across + q % 2];
    float sum = 0.f;
#pragma unroll
    for (int o = 0; o < KINDS; ++o)
        sum += normalized(static_cast<float>(histogram[o]), norm);
    return sum * TEXTURE_FACTOR;
}

//! Finds where the samples of a size are. Ends with a barrier.
__device__ __forceinline__ void planSizes(const ObjectRecord& object, FilterPass pass, double factor, LookMemory& m)
{
    if (threadIdx.x == 0)
    {
        const Live& live = *object.live;
        FilterWork& work = *object.filterWork;
        const ObjectState& before = live.states[live.current];
        m.cells = scaleCells(before.filter.width, before.filter.height); // the same in all states
        beginEarly();
        m.looks = pass == ASKING ? asksFilter(before) : work.places[0].trains != NOT_TRAINED;
        if (m.looks)
            m.plan = planSize(pass == ASKING ? work.moved : stateOf(*object.live, pass).filter, factor, m.cells);
    }
    else
        beginEarly();
    __syncthreads(); // the plan, zeros
}

__device__ __forceinline__ void lookAtSize(const Batch& batch, const ObjectRecord& object, int size, LookMemory& m)
{
    const int t = threadIdx.x;
    const int cols = m.cells.cols, rows = m.cells.rows, cells = cols * rows;
    const int wide = FILTER_CELL * cols, high = FILTER_CELL * rows;
    takeSamples<THREADS>(batch, m.plan, 0, 0, wide, high, m.sampled);
    static_assert(THREADS >= SCALE_PIXELS, "a sample per thread");
    if (t < wide * high)
    {
        // Threads of a warp take the same sample of different cells, so that few of them add to one cell.
        const int cell = t % cells, phase = t / cells, i = phase % FILTER_CELL, j = phase / FILTER_CELL;
        const int cx = cell % cols, cy = cell / cols, x = FILTER_CELL * cx + i, y = FILTER_CELL * cy + j;
        const uint8_t* const row = m.sampled.samples + y * wide;
        const uint8_t* const above = m.sampled.samples + ::max(0, y - 1) * wide;
        const uint8_t* const below = m.sampled.samples + ::min(high - 1, y + 1) * wide;
        const Gradient g = gradientOf(row[::min(wide - 1, x + 1)] - row[::max(0, x - 1)], below[x] - above[x]);
        const int nx = cx + nearCell(i), ny = cy + nearCell(j), ownX = ownWeight(i), ownY = g.magnitude * ownWeight(j);
        const int otherX = 2 * FILTER_CELL - ownX, otherY = g.magnitude * 2 * FILTER_CELL - ownY;
        const bool besideX = nx >= 0 && nx < cols, besideY = ny >= 0 && ny < rows;
        int* const at = m.histograms + g.orientation;
        atomicAdd(at + cell * HISTOGRAM_STEP, ownX * ownY);
        if (besideX)
            atomicAdd(at + (cy * cols + nx) * HISTOGRAM_STEP, otherX * ownY);
        if (besideY)
            atomicAdd(at + (ny * cols + cx) * HISTOGRAM_STEP, ownX * otherY);
        if (besideX && besideY)
            atomicAdd(at + (ny * cols + nx) * HISTOGRAM_STEP, otherX * otherY);
    }
    __syncthreads(); // histograms
    if (t < cells)
        m.energies[t] = cellEnergy([&](int o) { return m.histograms[t * HISTOGRAM_STEP + o]; });
    __syncthreads(); // energies
    const auto energyAt = [&](int x, int y)
    { return m.energies[::min(rows - 1, ::max(0, y)) * cols + ::min(cols - 1, ::max(0, x))]; };
    if (t < (cols + 1) * (rows + 1))
        m.norms[t] = blockNorm(t % (cols + 1), t / (cols + 1), energyAt);
    __syncthreads(); // norms
    float* const out = object.filterWork->sizeFeatures[size];
    for (int k = t; k < SCALE_ROWS; k += THREADS)
    {
        const int channel = k / SCALE_CELLS, cell = k % SCALE_CELLS;
        out[k] = cell < cells ? sizeFeature(channel, cell % cols, cell / cols, m) : 0.f;
    }
}

//! Bounds registers, so that three blocks run at once. @param first number of the first block: tiles, then sizes.
__global__ void __launch_bounds__(THREADS, 3)
    filterCells(const __grid_constant__ Batch batch, const ImageView image, FilterPass pass, int place, int first)
{
    __shared__ LookMemory m;
    const ObjectRecord& object = batch.objects[blockIdx.y];
    const int part = first + static_cast<int>(blockIdx.x);
    for (int k = threadIdx.x; k < TILE_CELLS * TILE_CELLS * HISTOGRAM_STEP; k += THREADS)
        m.histograms[k] = 0;
    if (part >= TILES)
    {
        planSizes(object, pass, sizeFactor(part - TILES), m);
        if (m.looks)
            lookAtSize(batch, object, part - TILES, m);
        return;
    }
    beginEarly();
    if (pass == ASKING && place == 0) // for the training in this frame
        clearCounts(*object.filterWork, isColour(image) != 0, part, TILES);
    lookAtTile(batch, object, image, pass, place, part, m);
}

// --- spectra ---------------------------------------------------------------------------------------------------------

struct PairMemory
{
    union
    {
        GridMemory grids[2];
        int64_t energies[FILTER_CELLS];
    };
    float norms[(FILTER_GRID + 1) * (FILTER_GRID + 1)];
    GridTables turns;
};
//! Displacements along x that a block sums likelihoods for.
const int STRIP = 32, SUM_STRIPS = FILTER_SIDE / STRIP;
struct StripMemory
{
    int row[WARPS][FILTER_SIDE + 1]; //!< sums over the samples before each
    int sums[FILTER_SIDE][STRIP];    //!< over the samples of a displaced target in a row; then over all rows above, too
    int groups[WARPS][STRIP];
};

//! Computes the norms of all blocks of cells. Begins and ends with a barrier.
__device__ __forceinline__ void normalize(PairMemory& m)
{
    __syncthreads(); // energies
    const auto energyAt = [&](int x, int y)
    {
        const int i = ::min(FILTER_GRID - 1, ::max(0, x)), j = ::min(FILTER_GRID - 1, ::max(0, y));
        return m.energies[j * FILTER_GRID + i];
    };
    const int across = FILTER_GRID + 1;
    for (int k = threadIdx.x; k < across * across; k += THREADS)
        m.norms[k] = blockNorm(k % across, k / across, energyAt);
    __syncthreads(); // norms
}

//! Histograms of two channels, at the cells of a thread.
struct PairCells
{
    static const int COUNT = FILTER_CELLS / THREADS;
    int first[2][COUNT], opposite[2][COUNT]; //!< opposite: 0, or of the other orientation of a channel without sign

    __device__ __forceinline__ PairCells(const FilterWork& work, int place, int channel)
    {
#pragma unroll
        for (int c = 0; c < 2; ++c)
        {
            const int own = channel + c;
            const bool isGray = own == FILTER_CHANNELS - 1, isBoth = own >= KINDS && !isGray;
            const int* const from = isGray ? work.samples[place] : work.histograms[place][isBoth ? own - KINDS : own];
#pragma unroll
            for (int n = 0; n < COUNT; ++n)
            {
                first[c][n] = from[threadIdx.x + n * THREADS];
                opposite[c][n] = isBoth ? from[threadIdx.x + n * THREADS + ORIENTATIONS * FILTER_CELLS] : 0;
            }
        }
    }
    __device__ __forceinline__ float feature(int channel, int c, int n, const float* norms) const
    {
        if (channel + c == FILTER_CHANNELS - 1)
            return grayFeature(first[c][n]);
        const int cell = static_cast<int>(threadIdx.x) + n * THREADS, across = FILTER_GRID + 1;
        return normalizedFeature(first[c][n] + opposite[c][n], norms + cell / FILTER_GRID * across + cell % FILTER_GRID,
                                 across);
    }
};
static_assert(FILTER_CELLS % THREADS == 0, "all threads have as many cells");

//! A value of the model of two channels.
struct PairModel
{
    float re[2], im[2];

    __device__ __forceinline__ PairModel(const FilterModel& model, int channel, int k)
    {
#pragma unroll
        for (int c = 0; c < 2; ++c)
        {
            re[c] = model.re[channel + c][k];
            im[c] = model.im[channel + c][k];
        }
    }
};

//! @param own value threadIdx.x of the model.
__device__ __forceinline__ void transformPair(const Batch& batch, const ObjectRecord& object, FilterPass pass,
                                              int place, bool trains, int channel, const PairModel& own, PairMemory& m)
{
    FilterWork& work = *object.filterWork;
    const FilterModel& model = modelOf(object);
    const PairCells cells(work, place, channel);
#pragma unroll
    for (int n = 0; n < PairCells::COUNT; ++n)
        m.energies[threadIdx.x + n * THREADS] = work.energies[place][threadIdx.x + n * THREADS];
    normalize(m);
    GridMemory *from = &m.grids[0], *to = &m.grids[1];
#pragma unroll
    for (int n = 0; n < PairCells::COUNT; ++n)
    {
        const int k = static_cast<int>(threadIdx.x) + n * THREADS;
        const float weight = m.turns.window[k / FILTER_GRID] * m.turns.window[k % FILTER_GRID];
        from->re[GridMemory::at(k)] = cells.feature(channel, 0, n, m.norms) * weight;
        from->im[GridMemory::at(k)] = cells.feature(channel, 1, n, m.norms) * weight;
    }
    transformLines<THREADS, true>(from, to, m.turns);
    transformLines<THREADS, false>(from, to, m.turns);
    FilterModel& next = *object.filters[nextModelOf(*object.live, pass)];
    for (int k = threadIdx.x; k < FILTER_SPECTRUM; k += THREADS)
    {
        const PairModel old = k < THREADS ? own : PairModel(model, channel, k);
        const int r = k % FILTER_GRID, c = k / FILTER_GRID;
        const int at = r * GridMemory::STEP + c, mirror = conjugatePlace(r) * GridMemory::STEP + conjugatePlace(c);
        const Complex z = {from->re[at], from->im[at]}, other = {from->re[mirror], from->im[mirror]};
        const Complex both[2] = {firstSpectrum(z, other), secondSpectrum(z, other)};
        const float desired = trains ? object.filterTarget->at(r, c) : 0.f, rate = work.rates.filter;
#pragma unroll
        for (int n = 0; n < 2; ++n)
        {
            if (!trains)
            {
                work.products[place][channel + n][k] = answerPart(old.re[n], old.im[n], both[n].re, both[n].im);
                continue;
            }
            next.re[channel + n][k] = learned(old.re[n], desired * both[n].re, rate);
            next.im[channel + n][k] = learned(old.im[n], desired * both[n].im, rate);
            work.squares[channel + n][k] = squareOf(both[n].re, both[n].im);
        }
    }
}

//! Sums likelihoods over the target for all displacements along y and STRIP ones along x.
__device__ __forceinline__ void sumLikelihoods(FilterWork& work, int place, int strip, StripMemory& m)
{
    const Displacements d = work.displacements[place];
    const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31, column = strip * STRIP + lane;
    const int ROWS = FILTER_SIDE / WARPS;
    static_assert(FILTER_SIDE % WARPS == 0 && FILTER_SIDE == 4 * 32 && STRIP == 32,
                  "rows of a warp, samples of a lane");
    ushort4 four[ROWS];
#pragma unroll
    for (int n = 0; n < ROWS; ++n)
        four[n] = reinterpret_cast<const ushort4*>(work.likelihoods[place])[(warp * ROWS + n) * 32 + lane];
    int all = 0; // of this group of rows
#pragma unroll
    for (int n = 0; n < ROWS; ++n)
    {
        const int one = four[n].x, two = one + four[n].y, three = two + four[n].z, own = three + four[n].w;
        int sum = own;
#pragma unroll
        for (int k = 1; k < 32; k *= 2)
        {
            const int other = __shfl_up_sync(ALL_LANES, sum, k);
            sum += lane >= k ? other : 0;
        }
        int* const to = m.row[warp] + 4 * lane;
        const int before = sum - own;
        to[0] = before;
        to[1] = before + one;
        to[2] = before + two;
        to[3] = before + three;
        if (lane == 31)
            to[4] = sum;
        __syncwarp(); // sums of the row
        all += column < d.cols() ? m.row[warp][column + d.width] - m.row[warp][column] : 0;
        m.sums[warp * ROWS + n][lane] = all;
        __syncwarp(); // they were read
    }
    m.groups[warp][lane] = all;
    __syncthreads(); // sums of all groups
    int before = 0;
#pragma unroll
    for (int g = 0; g < WARPS; ++g)
        before += g < warp ? m.groups[g][lane] : 0;
#pragma unroll
    for (int n = 0; n < ROWS; ++n)
        m.sums[warp * ROWS + n][lane] += before;
    __syncthreads(); // sums over the rows above
    if (column >= d.cols())
        return;
    for (int j = warp; j < d.rows(); j += WARPS)
        work.targetSums[place][j * d.cols() + column] =
            m.sums[j + d.height - 1][lane] - (j > 0 ? m.sums[j - 1][lane] : 0);
}

__global__ void __launch_bounds__(THREADS, 3)
    filterSpectra(const __grid_constant__ Batch batch, FilterPass pass, int place)
{
    __shared__ union
    {
        PairMemory pair;
        StripMemory strip;
        SizeSpectrumMemory size;
    } m;
    const ObjectRecord& object = batch.objects[blockIdx.y];
    const int part = blockIdx.x, channel = 2 * ::min(part, FILTER_PAIRS - 1);
    const Looks looks(object, pass, place); // filterCells writes neither places nor models
    const PairModel own(modelOf(object), channel, threadIdx.x);
    static_assert(THREADS <= FILTER_SPECTRUM, "a value per thread");
    if (part < FILTER_PAIRS)
        m.pair.turns.load(*batch.filterTables);
    beginEarly();
    if (!looks.there)
        return;
    if (part < FILTER_PAIRS)
        transformPair(batch, object, pass, place, looks.trains, channel, own, m.pair);
    else if (pass == ASKING)
        sumLikelihoods(*object.filterWork, place, part - FILTER_PAIRS, m.strip);
    else if (looks.trains)
        sizeSpectrum<THREADS>(batch, object, pass, part - FILTER_PAIRS,
                              SizeModel<THREADS>(modelOf(object), part - FILTER_PAIRS), m.size);
}

void launchCells(const Batch& batch, const ImageView& image, FilterPass pass, int place, bool early, int first,
                 int count, detail::StreamHandle stream)
{
    detail::launchAs(early, "tld filter cells", filterCells, dim3(count, batch.count), dim3(THREADS), 0, stream, batch,
                     image, pass, place, first);
}

void launchSpectra(const Batch& batch, FilterPass pass, int place, int others, detail::StreamHandle stream)
{
    detail::launchAs(beginsEarly(batch), "tld filter spectra", filterSpectra, dim3(FILTER_PAIRS + others, batch.count),
                     dim3(THREADS), 0, stream, batch, pass, place);
}

} // namespace

void lookAtPlace(const Batch& batch, const ImageView& image, int place, detail::StreamHandle stream)
{
    launchCells(batch, image, ASKING, place, false, 0, TILES, stream);
    launchSpectra(batch, ASKING, place, SUM_STRIPS, stream);
}

void lookAtSizes(const Batch& batch, const ImageView& image, detail::StreamHandle stream)
{
    launchCells(batch, image, ASKING, 0, beginsEarly(batch), TILES, FILTER_SCALES, stream);
}

void lookForTraining(const Batch& batch, const ImageView& image, FilterPass pass, detail::StreamHandle stream)
{
    launchCells(batch, image, pass, 0, beginsEarly(batch), 0, TILES + FILTER_SCALES, stream);
    launchSpectra(batch, pass, 0, SCALE_FREQUENCIES, stream);
}

}}}} // namespace cv::cuda::tld::gpu
