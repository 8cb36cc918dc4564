// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Histograms, features and spectra of what the correlation filter sees of an image.
//
//   filterCells     TILE_CELLS x TILE_CELLS cells of a place per block, or a size of the object: samples, gradients
//                   into histograms by atomics in shared memory, likelihoods or counts of bins
//   filterSpectra   a pair of channels of a place per block, or two: norms, features, transform, product with the model
//                   or what is learned; further blocks sum likelihoods over displaced targets, or learn frequencies of
//                   sizes
//
// Cost per place: 23,000 samples with the borders of tiles; 28 transforms; 0.5 MB of model and products, from the L2
// cache. Bound by latency.
#include "filter_cells.hpp"
#include "filter_sizes.hpp"
#include "filter_steps.hpp"

namespace cv { namespace cuda { namespace tld { namespace gpu {

namespace {

// --- cells -----------------------------------------------------------------------------------------------------------

template <int THREADS>
__device__ __forceinline__ void lookAtTile(const Batch& batch, const ObjectRecord& object, const ImageView& image,
                                           FilterPass pass, int place, int tile, LookMemory& m)
{
    FilterWork& work = *object.filterWork;
    const int x0 = tile % ACROSS * TILE_CELLS, y0 = tile / ACROSS * TILE_CELLS;
    if (findsPlace(batch, pass, place))
    {
        if constexpr (THREADS >= PLACE_THREADS)
        {
            findSecondPlace<THREADS>(batch, object, m.place);
            copyWords(&m.look, &m.place.look, 1);
            if (tile == 0)
                writeSecondPlace(m.place, work);
        }
    }
    else if (pass != ASKING || place != 0)
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
    SamplePlan plan = look.plan;
    plan.cols = plan.rows = FILTER_SIDE; // known to the compiler
    TilePixels<THREADS> own;
    own.load(image, plan, x0, y0);
    takeSamples<THREADS>(batch, plan, x0 * FILTER_CELL - BORDER, y0 * FILTER_CELL - BORDER, SAMPLES, SAMPLES,
                         m.sampled);
    own.findBins(colour);
    if (pass == ASKING)
        own.load(modelOf(object));
    addGradients<THREADS>(x0, y0, m);
    if (tile == 0 && threadIdx.x == THREADS - 1) // beside energies, which other warps compute
        work.displacements[place] = displacementsOf(look.areas);
    writeCells<THREADS>(x0, y0, m, work, place);
    if (pass == ASKING)
        writeLikelihoods(own, look.colour == isColour(image), x0, y0, work, place);
    else if (counts)
        countBins(own, colour, x0, y0, m, work);
}

//! Returns a feature of a cell of a size.
__device__ __forceinline__ float sizeFeature(int channel, int i, int j, int cols, const LookMemory& m)
{
    const int across = cols + 1;
    const float* const norms = m.norms + j * across + i;
    const int* const histogram = m.histograms + (j * cols + i) * HISTOGRAM_STEP;
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

template <int THREADS>
__device__ __forceinline__ void lookAtSize(const Batch& batch, const ObjectRecord& object, FilterPass pass, int place,
                                           int size, LookMemory& m)
{
    const int t = threadIdx.x;
    const FilterWork& work = *object.filterWork;
    const bool decides = pass == ASKING && place == 1;
    copyWords(m.sizes, work.sizePlans[size], decides ? 2 : 1);
    bool second = false;
    if (decides)
    {
        second = takesSecond(work.second, work.answers);
        if (!second && isFew(batch)) // they were taken at the first answer
            return;
    }
    __syncthreads(); // plans, zeros
    const SizePlan& own = m.sizes[second ? 1 : 0];
    if (!own.there)
        return;
    const int wide = own.plan.cols, high = own.plan.rows;
    const int cols = wide / FILTER_CELL, rows = high / FILTER_CELL, cells = cols * rows;
    takeSamples<THREADS>(batch, own.plan, 0, 0, wide, high, m.sampled);
    for (int k = t; k < wide * high; k += THREADS)
    {
        // Threads of a warp take the same sample of different cells, so that few of them add to one cell.
        const int cell = k % cells, phase = k / cells, i = phase % FILTER_CELL, j = phase / FILTER_CELL;
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
        out[k] = cell < cells ? sizeFeature(channel, cell % cols, cell / cols, cols, m) : 0.f;
    }
}

//! @tparam BLOCKS that run at once: bounds registers. @param first number of the first block: tiles, then sizes.
template <int THREADS, int BLOCKS>
__global__ void __launch_bounds__(THREADS, BLOCKS)
    filterCells(const __grid_constant__ Batch batch, const ImageView image, FilterPass pass, int place, int first)
{
    __shared__ LookMemory m;
    const ObjectRecord& object = batch.objects[blockIdx.y];
    const int part = first + static_cast<int>(blockIdx.x);
    letAllBegin(batch, pass, place);
    for (int k = threadIdx.x; k < TILE_CELLS * TILE_CELLS * HISTOGRAM_STEP; k += THREADS)
        m.histograms[k] = 0;
    beginEarly();
    if (part >= TILES)
    {
        lookAtSize<THREADS>(batch, object, pass, place, part - TILES, m);
        return;
    }
    if (pass == ASKING && place == 0) // for the training in this frame
        clearCounts(*object.filterWork, isColour(image) != 0, part, TILES);
    lookAtTile<THREADS>(batch, object, image, pass, place, part, m);
}

// --- spectra ---------------------------------------------------------------------------------------------------------

//! Pairs of channels that a block of filterSpectra processes: one of few objects, by butterflies of all threads; of
//! many objects several, a line per thread.
template <int PAIRS> struct PairMemory
{
    static const bool IS_ONE = PAIRS == 1;
    union
    {
        GridMemory grids[IS_ONE ? 2 : PAIRS]; //!< one: before and after a stage
        int64_t energies[FILTER_CELLS];
    };
    float norms[(FILTER_GRID + 1) * (FILTER_GRID + 1)];
    GridTables turns;
};
//! Displacements along x that a block sums likelihoods for.
const int STRIP = 32, SUM_STRIPS = FILTER_SIDE / STRIP;
template <int WARPS> struct StripMemory
{
    int row[WARPS][FILTER_SIDE + 1]; //!< sums over the samples before each
    int sums[FILTER_SIDE][STRIP];    //!< over the samples of a displaced target in a row; then over all rows above, too
    int groups[WARPS][STRIP];
};

//! Computes the norms of all blocks of cells. Begins and ends with a barrier.
template <int THREADS, typename Memory> __device__ __forceinline__ void normalize(Memory& m)
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
template <int THREADS> struct PairCells
{
    static const int COUNT = FILTER_CELLS / THREADS;
    static_assert(FILTER_CELLS % THREADS == 0, "all threads have as many cells");
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
    //! Writes the features of a pair, times the window.
    __device__ __forceinline__ void write(int channel, const float* norms, const float* window, GridMemory& grid) const
    {
#pragma unroll
        for (int n = 0; n < COUNT; ++n)
        {
            const int k = static_cast<int>(threadIdx.x) + n * THREADS;
            const float weight = window[k / FILTER_GRID] * window[k % FILTER_GRID];
            grid.re[GridMemory::at(k)] = feature(channel, 0, n, norms) * weight;
            grid.im[GridMemory::at(k)] = feature(channel, 1, n, norms) * weight;
        }
    }
};

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

//! Transforms the grids of a block in place, each of their lines by a thread. Begins and ends with a barrier.
template <int PAIRS, int THREADS>
__device__ __forceinline__ void transformGrids(GridMemory* grids, const GridTables& tables)
{
    static_assert(PAIRS * FILTER_GRID <= THREADS, "a thread per line");
    const int pair = static_cast<int>(threadIdx.x) / FILTER_GRID, line = static_cast<int>(threadIdx.x) % FILTER_GRID;
    __syncthreads(); // the values
    if (pair < PAIRS)
        transformLine(grids[pair], line, GridMemory::STEP, tables);
    __syncthreads(); // columns
    if (pair < PAIRS)
        transformLine(grids[pair], line * GridMemory::STEP, 1, tables);
    __syncthreads(); // rows
}

//! @param first number of the block's first pair. @param own,rest values threadIdx.x and threadIdx.x + THREADS of the
//! model, of this pair.
template <int PAIRS, int THREADS>
__device__ __forceinline__ void transformPairs(const Batch& batch, const ObjectRecord& object, FilterPass pass,
                                               int place, bool trains, int first, const PairModel& own,
                                               const PairModel& rest, PairMemory<PAIRS>& m)
{
    FilterWork& work = *object.filterWork;
    const FilterModel& model = modelOf(object);
    PairCells<THREADS> cells(work, place, 2 * first);
#pragma unroll
    for (int n = 0; n < PairCells<THREADS>::COUNT; ++n)
        m.energies[threadIdx.x + n * THREADS] = work.energies[place][threadIdx.x + n * THREADS];
    normalize<THREADS>(m);
    const int pairs = ::min(PAIRS, FILTER_PAIRS - first);
    for (int p = 0; p < pairs; ++p)
    {
        cells.write(2 * (first + p), m.norms, m.turns.window, m.grids[p]);
        if (p + 1 < pairs)
            cells = PairCells<THREADS>(work, place, 2 * (first + p + 1));
    }
    GridMemory *from = &m.grids[0], *to = &m.grids[1];
    if constexpr (PAIRS > 1)
        transformGrids<PAIRS, THREADS>(m.grids, m.turns);
    else
    {
        transformLines<THREADS, true>(from, to, m.turns);
        transformLines<THREADS, false>(from, to, m.turns);
    }
    FilterModel& next = *object.filters[nextModelOf(*object.live, pass)];
    for (int i = threadIdx.x; i < pairs * FILTER_SPECTRUM; i += THREADS)
    {
        const int p = i / FILTER_SPECTRUM, k = i % FILTER_SPECTRUM, channel = 2 * (first + p);
        const PairModel old = i < THREADS ? own : i < 2 * THREADS && PAIRS == 1 ? rest : PairModel(model, channel, k);
        const int r = k % FILTER_GRID, c = k / FILTER_GRID;
        const int at = r * GridMemory::STEP + c, mirror = conjugatePlace(r) * GridMemory::STEP + conjugatePlace(c);
        const GridMemory& grid = from[p];
        const Complex z = {grid.re[at], grid.im[at]}, other = {grid.re[mirror], grid.im[mirror]};
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
template <int WARPS>
__device__ __forceinline__ void sumLikelihoods(FilterWork& work, int place, int strip, StripMemory<WARPS>& m)
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

//! Blocks of pairs come first. @tparam PAIRS per block. @tparam BLOCKS that run at once: bounds registers.
template <int PAIRS, int THREADS, int BLOCKS>
__global__ void __launch_bounds__(THREADS, BLOCKS)
    filterSpectra(const __grid_constant__ Batch batch, FilterPass pass, int place)
{
    __shared__ union
    {
        PairMemory<PAIRS> pairs;
        StripMemory<THREADS / 32> strip;
        SizeSpectrumMemory size;
    } m;
    const ObjectRecord& object = batch.objects[blockIdx.y];
    letAllBegin(batch, pass, place);
    const int LAST = FILTER_SPECTRUM - 1;
    static_assert(THREADS <= FILTER_SPECTRUM, "a value per thread");
    const int blocks = (FILTER_PAIRS + PAIRS - 1) / PAIRS, block = blockIdx.x, other = block - blocks;
    const int first = ::min(block, blocks - 1) * PAIRS;
    const bool late = findsPlace(batch, pass, place);
    Looks looks = {};
    if (!late)
        looks = Looks(object, pass, place); // filterCells writes neither places nor models
    const int t = threadIdx.x;
    const PairModel own(modelOf(object), 2 * first, t), rest(modelOf(object), 2 * first, ::min(t + THREADS, LAST));
    if (other < 0)
        m.pairs.turns.load(*batch.filterTables);
    else if (pass != ASKING)
        m.size.load(*batch.filterTables, other);
    beginEarly();
    if (late)
        looks = Looks(object, pass, place);
    if (!looks.there)
        return;
    if (other < 0)
        transformPairs<PAIRS, THREADS>(batch, object, pass, place, looks.trains, first, own, rest, m.pairs);
    else if (pass == ASKING)
        sumLikelihoods(*object.filterWork, place, other, m.strip);
    else if (looks.trains)
    {
        const SizeModel<THREADS, 1> size(modelOf(object), other, 0);
        __syncthreads(); // tables
        sizeSpectrum<THREADS, 1>(batch, object, pass, other, 0, size, m.size);
    }
}

template <int THREADS, int BLOCKS>
void launchCells(const Batch& batch, const ImageView& image, FilterPass pass, int place, bool early, int first,
                 int count, detail::StreamHandle stream)
{
    detail::launchAs(early, "tld filter cells", filterCells<THREADS, BLOCKS>, dim3(count, batch.count), dim3(THREADS),
                     0, stream, batch, image, pass, place, first);
}
void cells(const Batch& batch, const ImageView& image, FilterPass pass, int place, bool early, int first, int count,
           detail::StreamHandle stream)
{
    const auto launch = isFew(batch) ? &launchCells<tuning::FILTER_THREADS, 2> : &launchCells<tuning::CELLS_THREADS, 5>;
    launch(batch, image, pass, place, early, first, count, stream);
}

template <int PAIRS, int THREADS, int BLOCKS>
void launchSpectra(const Batch& batch, FilterPass pass, int place, int others, detail::StreamHandle stream)
{
    detail::launchEarly("tld filter spectra", filterSpectra<PAIRS, THREADS, BLOCKS>,
                        dim3(detail::ceilDiv(FILTER_PAIRS, PAIRS) + others, batch.count), dim3(THREADS), 0, stream,
                        batch, pass, place);
}
//! @param others number of blocks that process no pairs.
void spectra(const Batch& batch, FilterPass pass, int place, int others, detail::StreamHandle stream)
{
    if (isFew(batch))
        launchSpectra<1, tuning::FILTER_THREADS, 2>(batch, pass, place, others, stream);
    else
        launchSpectra<tuning::SPECTRA_PAIRS, tuning::SPECTRA_THREADS, 3>(batch, pass, place, others, stream);
}

} // namespace

void lookAtPlace(const Batch& batch, const ImageView& image, int place, detail::StreamHandle stream)
{
    cells(batch, image, ASKING, place, place == 1 && !findsPlace(batch, ASKING, place), 0, TILES, stream);
    spectra(batch, ASKING, place, SUM_STRIPS, stream);
}

void lookAtSizes(const Batch& batch, const ImageView& image, int place, detail::StreamHandle stream)
{
    cells(batch, image, ASKING, place, place == 0, TILES, FILTER_SCALES, stream);
}

void lookForTraining(const Batch& batch, const ImageView& image, FilterPass pass, detail::StreamHandle stream)
{
    cells(batch, image, pass, 0, true, 0, TILES + FILTER_SCALES, stream);
    spectra(batch, pass, 0, SCALE_FREQUENCIES, stream);
}

}}}} // namespace cv::cuda::tld::gpu
