// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// What the correlation filter sees of an image, and the spectra of it.
//
//   filterCells     TILE_CELLS x TILE_CELLS cells of a place per block, or a size of the object: samples, gradients into
//                   histograms by atomics in shared memory, likelihoods or counts of bins
//   filterSpectra   a pair of channels of a place per block: norms, features, transform, product with the model or what
//                   is learned; further blocks sum likelihoods over displaced targets, or learn frequencies of sizes
//
// Cost per place: 23,000 samples with the borders of tiles, 300 instructions each; 28 transforms; 0.5 MB of model and
// products, from the L2 cache. Bound by latency with one object, by instructions with many.
#include "filter_samples.hpp"
#include "filter_steps.hpp"

namespace cv { namespace cuda { namespace tld { namespace gpu {

namespace {

const int THREADS = tuning::FILTER_THREADS, WARPS = THREADS / 32;

// --- cells -----------------------------------------------------------------------------------------------------------

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
    bool looks, counting, known;
    FilterAreas areas;
    SamplePlan plan;
    // Of a size.
    ScaleCells cells;
    int64_t energies[SCALE_CELLS];
    float norms[2 * SCALE_CELLS + 8]; //!< (cols + 1) * (rows + 1) with at least two cells along each side
};
static_assert(SAMPLES * SAMPLES >= SCALE_PIXELS && 2 * (SAMPLES + 1) * SAMPLES >= 4 * SCALE_PIXELS &&
                  TILE_CELLS * TILE_CELLS >= SCALE_CELLS,
              "room for a size");

/** Adds the gradients of the tile and its border to histograms. Ends with a barrier. Threads of a warp take the same
sample of different squares of 4 x 4, which lie between the centres of cells, so that few of them add to one cell.
@param x0,y0 first cell of the tile. */
__device__ __forceinline__ void addGradients(int x0, int y0, LookMemory& m)
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

//! Computes likelihoods or counts bins.
__device__ __forceinline__ void findBins(const ImageView& image, const FilterModel& model, int x0, int y0,
                                         LookMemory& m, FilterWork& work, int place)
{
    SamplePlan plan = m.plan;
    plan.cols = plan.rows = FILTER_SIDE; // known to the compiler
    const bool colour = isColour(image);
    for (int k = threadIdx.x; k < TILE_SIDE * TILE_SIDE; k += THREADS)
    {
        const int i = x0 * FILTER_CELL + k % TILE_SIDE, j = y0 * FILTER_CELL + k / TILE_SIDE;
        const int bin = binOf(image, plan, i, j);
        if (!m.counting)
        {
            work.likelihoods[place][j * FILTER_SIDE + i] =
                static_cast<uint16_t>(m.known ? likelihoodOf(model.foreground[bin], model.background[bin]) : 0);
            continue;
        }
        const FilterPart part = partOf(m.areas, i, j);
        const unsigned inner = __ballot_sync(ALL_LANES, part == INNER), outer = __ballot_sync(ALL_LANES, part == OUTER);
        if ((threadIdx.x & 31) == 0)
        {
            atomicAdd(&m.parts[0], __popc(inner));
            atomicAdd(&m.parts[1], __popc(outer));
        }
        if (part == EDGE)
            continue;
        if (colour)
            atomicAdd(part == INNER ? &work.foreground[bin] : &work.background[bin], 1);
        else
            atomicAdd(&m.counts[part == INNER ? 0 : 1][bin], 1);
    }
    if (!m.counting)
        return;
    __syncthreads(); // counts
    if (threadIdx.x < 2)
        atomicAdd(&work.counts[threadIdx.x], m.parts[threadIdx.x]);
    if (threadIdx.x < 2 * COLOUR_LEVELS && !colour)
    {
        const int bin = threadIdx.x % COLOUR_LEVELS, background = threadIdx.x / COLOUR_LEVELS;
        atomicAdd(background ? &work.background[bin] : &work.foreground[bin], m.counts[background][bin]);
    }
}

__device__ __forceinline__ void lookAtTile(const Batch& batch, const ObjectRecord& object, const ImageView& image,
                                           FilterPass pass, int place, int tile, LookMemory& m)
{
    FilterWork& work = *object.filterWork;
    const int x0 = tile % ACROSS * TILE_CELLS, y0 = tile / ACROSS * TILE_CELLS;
    if (threadIdx.x == 0)
    {
        FilterState f;
        double x, y;
        m.looks = findPlace(object, pass, place, f, x, y);
        if (m.looks)
        {
            m.areas = filterAreas(f.width, f.height, f.scale, batch.cols, batch.rows);
            m.plan = planSurround(x, y, m.areas);
        }
        m.counting = pass != ASKING && f.trains != NOT_TRAINED;
        m.known = f.colour == isColour(image);
        m.parts[0] = m.parts[1] = 0;
    }
    if (threadIdx.x < 2 * COLOUR_LEVELS)
        m.counts[threadIdx.x / COLOUR_LEVELS][threadIdx.x % COLOUR_LEVELS] = 0;
    __syncthreads(); // the place, zeros
    if (!m.looks)
        return;
    if (tile == 0 && threadIdx.x == THREADS - 1)
        work.displacements[place] = displacementsOf(m.areas);
    takeSamples<THREADS>(batch, m.plan, x0 * FILTER_CELL - BORDER, y0 * FILTER_CELL - BORDER, SAMPLES, SAMPLES,
                         m.sampled);
    addGradients(x0, y0, m);
    writeCells(x0, y0, m, work, place);
    if (pass == ASKING || m.counting)
        findBins(image, modelOf(object), x0, y0, m, work, place);
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

//! @param factor sizeFactor() of the size.
__device__ __forceinline__ void lookAtSize(const Batch& batch, const ObjectRecord& object, FilterPass pass, int size,
                                           double factor, LookMemory& m)
{
    const int t = threadIdx.x;
    if (t == 0)
    {
        m.looks = usesSizes(object, pass);
        if (m.looks)
        {
            const FilterState& f = pass == ASKING ? object.filterWork->moved : stateOf(*object.live, pass).filter;
            m.cells = scaleCells(f.width, f.height);
            m.plan = planSize(f, factor, m.cells);
        }
    }
    __syncthreads(); // the plan, zeros
    if (!m.looks)
        return;
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

//! @param first number of the first block: tiles, then sizes.
__global__ void __launch_bounds__(THREADS)
    filterCells(const __grid_constant__ Batch batch, const ImageView image, FilterPass pass, int place, int first)
{
    __shared__ LookMemory m;
    const ObjectRecord& object = batch.objects[blockIdx.y];
    const int part = first + static_cast<int>(blockIdx.x);
    const double factor = part < TILES ? 1. : sizeFactor(part - TILES);
    for (int k = threadIdx.x; k < TILE_CELLS * TILE_CELLS * HISTOGRAM_STEP; k += THREADS)
        m.histograms[k] = 0;
    beginEarly();
    if (pass == ASKING && part < TILES && place == 0) // of the training in this frame
        clearCounts(*object.filterWork, isColour(image), part, TILES);
    if (part < TILES)
        lookAtTile(batch, object, image, pass, place, part, m);
    else
        lookAtSize(batch, object, pass, part - TILES, factor, m);
}

// --- spectra ---------------------------------------------------------------------------------------------------------

struct PairMemory
{
    GridMemory grids[2];
    float norms[(FILTER_GRID + 1) * (FILTER_GRID + 1)];
};
//! Displacements along x that a block sums likelihoods for.
const int STRIP = 32, SUM_STRIPS = FILTER_SIDE / STRIP;
struct StripMemory
{
    int row[WARPS][FILTER_SIDE + 1]; //!< sums over the samples before each
    int sums[FILTER_SIDE][STRIP];    //!< over the samples of a displaced target in a row; then over all rows above, too
    int groups[WARPS][STRIP];
};

//! Computes the norms of all blocks of cells. Ends with a barrier.
__device__ __forceinline__ void normalize(const int64_t* energies, float* norms)
{
    const auto energyAt = [&](int x, int y)
    {
        const int i = ::min(FILTER_GRID - 1, ::max(0, x)), j = ::min(FILTER_GRID - 1, ::max(0, y));
        return energies[j * FILTER_GRID + i];
    };
    const int across = FILTER_GRID + 1;
    for (int k = threadIdx.x; k < across * across; k += THREADS)
        norms[k] = blockNorm(k % across, k / across, energyAt);
    __syncthreads(); // norms
}

//! Returns a feature of a cell.
__device__ __forceinline__ float featureAt(const FilterWork& work, int place, int channel, int cell, const float* norms)
{
    const auto& histograms = work.histograms[place];
    if (channel == FILTER_CHANNELS - 1)
        return grayFeature(work.samples[place][cell]);
    const int sum = channel < KINDS ? histograms[channel][cell]
                                    : histograms[channel - KINDS][cell] + histograms[channel - ORIENTATIONS][cell];
    const int across = FILTER_GRID + 1;
    return normalizedFeature(sum, norms + cell / FILTER_GRID * across + cell % FILTER_GRID, across);
}

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
    const FilterTables& tables = *batch.filterTables;
    const FilterModel& model = modelOf(object);
    normalize(work.energies[place], m.norms);
    GridMemory *from = &m.grids[0], *to = &m.grids[1];
    for (int k = threadIdx.x; k < FILTER_CELLS; k += THREADS)
    {
        const float weight = tables.window[k / FILTER_GRID] * tables.window[k % FILTER_GRID];
        from->re[GridMemory::at(k)] = featureAt(work, place, channel, k, m.norms) * weight;
        from->im[GridMemory::at(k)] = featureAt(work, place, channel + 1, k, m.norms) * weight;
    }
    transformLines<THREADS, true>(from, to, tables);
    transformLines<THREADS, false>(from, to, tables);
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

__global__ void __launch_bounds__(THREADS)
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
    // filterCells writes neither states nor models.
    FilterState f;
    double x, y;
    const bool looks = findPlace(object, pass, place, f, x, y), trains = pass != ASKING && f.trains != NOT_TRAINED;
    const PairModel own(modelOf(object), channel, threadIdx.x);
    static_assert(THREADS <= FILTER_SPECTRUM, "a value per thread");
    beginEarly();
    if (!looks)
        return;
    if (part < FILTER_PAIRS)
        transformPair(batch, object, pass, place, trains, channel, own, m.pair);
    else if (pass == ASKING)
        sumLikelihoods(*object.filterWork, place, part - FILTER_PAIRS, m.strip);
    else if (trains)
        sizeSpectrum<THREADS>(batch, object, pass, part - FILTER_PAIRS, m.size);
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
