// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Features, spectra and bins of an image for the correlation filter.
//
//   filterCells     TILE_CELLS x TILE_CELLS cells of a place per block: samples with a border, gradients into
//                   histograms by atomics in shared memory, features, bins of colours
//   filterSpectra   a pair of channels of a place per block: window, transform
//   sizeCells       a size of an object per block: all its cells
//
// Cost: four look-ups in the table of sums per corner of a sample, 34,000 samples per place with their borders. Bound
// by latency.
#include "filter_steps.hpp"
#include "../../common/launch.hpp"

namespace cv { namespace cuda { namespace tld { namespace gpu {

namespace {

const int TILE_CELLS = 8, TILES = FILTER_GRID / TILE_CELLS;
static_assert(FILTER_GRID % TILE_CELLS == 0, "whole tiles");
const int KINDS = 2 * ORIENTATIONS;
const int CELLS = TILE_CELLS + 2; //!< per side: norms need the neighbours of a cell
//! Samples per side: a gradient reaches half a cell beyond its own, and differences one sample more.
const int BORDER = FILTER_CELL + FILTER_CELL / 2 + 1, SAMPLES = TILE_CELLS * FILTER_CELL + 2 * BORDER;

struct CellMemory
{
    uint8_t samples[SAMPLES * SAMPLES];
    int histograms[CELLS * CELLS][KINDS];
    int64_t energies[CELLS * CELLS];
    float norms[(TILE_CELLS + 1) * (TILE_CELLS + 1)];
    int counts[2]; //!< samples of foreground and background
};

//! Adds a gradient to the 2 x 2 cells around it. @param x,y sample. @param add functor of a cell, along x and y, and
//! the weight.
template <typename Add> __device__ __forceinline__ void spread(int x, int y, const Add& add)
{
    const int i = x % FILTER_CELL, j = y % FILTER_CELL, ownX = ownWeight(i), ownY = ownWeight(j);
    const int cx = x / FILTER_CELL, cy = y / FILTER_CELL, nx = cx + nearCell(i), ny = cy + nearCell(j);
    const int otherX = 2 * FILTER_CELL - ownX, otherY = 2 * FILTER_CELL - ownY;
    add(cx, cy, ownX * ownY);
    add(nx, cy, otherX * ownY);
    add(cx, ny, ownX * otherY);
    add(nx, ny, otherX * otherY);
}

//! Adds the gradients of the tile and its border. Ends with a barrier. @param x0,y0 first cell of the tile.
__device__ __forceinline__ void addGradients(int x0, int y0, CellMemory& m)
{
    const int left = x0 * FILTER_CELL - BORDER, top = y0 * FILTER_CELL - BORDER, side = SAMPLES - 2;
    const auto inside = [](int k) { return ::min(FILTER_SIDE - 1, ::max(0, k)); };
    for (int k = threadIdx.x; k < side * side; k += tuning::THREADS)
    {
        const int x = left + 1 + k % side, y = top + 1 + k / side;
        if (x != inside(x) || y != inside(y))
            continue;
        const auto at = [&](int i, int j)
        { return static_cast<int>(m.samples[(inside(j) - top) * SAMPLES + inside(i) - left]); };
        const Gradient g = gradientOf(at(x + 1, y) - at(x - 1, y), at(x, y + 1) - at(x, y - 1));
        spread(x, y,
               [&](int cx, int cy, int weight)
               {
                   const int i = cx - x0 + 1, j = cy - y0 + 1;
                   if (i >= 0 && i < CELLS && j >= 0 && j < CELLS && g.magnitude > 0)
                       atomicAdd(&m.histograms[j * CELLS + i][g.orientation], g.magnitude * weight);
               });
    }
    __syncthreads(); // histograms
}

//! Computes the factors of all blocks of the tile. Ends with a barrier.
__device__ __forceinline__ void normalize(int x0, int y0, CellMemory& m)
{
    for (int k = threadIdx.x; k < CELLS * CELLS; k += tuning::THREADS)
        m.energies[k] = cellEnergy([&](int o) { return m.histograms[k][o]; });
    __syncthreads(); // energies
    const auto energyAt = [&](int x, int y)
    {
        const int i = ::min(FILTER_GRID - 1, ::max(0, x)) - x0 + 1, j = ::min(FILTER_GRID - 1, ::max(0, y)) - y0 + 1;
        return m.energies[j * CELLS + i];
    };
    const int across = TILE_CELLS + 1;
    for (int k = threadIdx.x; k < across * across; k += tuning::THREADS)
        m.norms[k] = blockNorm(x0 + k % across, y0 + k / across, energyAt);
    __syncthreads(); // norms
}

//! Returns a feature of a cell of the tile.
__device__ __forceinline__ float tileFeature(int channel, int i, int j, const CellMemory& m)
{
    const int across = TILE_CELLS + 1;
    if (channel < 3 * ORIENTATIONS)
    {
        const float* const n = m.norms + j * across + i;
        const CellNorms norms = {{n[0], n[1], n[across], n[across + 1]}};
        return channelOf(m.histograms[(j + 1) * CELLS + i + 1], channel, norms);
    }
    int sum = 0;
    for (int k = 0; k < FILTER_CELL * FILTER_CELL; ++k)
        sum += m.samples[(BORDER + j * FILTER_CELL + k / FILTER_CELL) * SAMPLES + BORDER + i * FILTER_CELL +
                         k % FILTER_CELL];
    return grayFeature(sum);
}

//! Stores the bins of the tile, or counts them. Ends with a barrier.
__device__ __forceinline__ void findBins(const ImageView& image, const SamplePlan& plan, const FilterAreas& areas,
                                         int x0, int y0, uint16_t* bins, FilterWork& work, int* counts)
{
    const int side = TILE_CELLS * FILTER_CELL;
    for (int k = threadIdx.x; k < side * side; k += tuning::THREADS)
    {
        const int i = x0 * FILTER_CELL + k % side, j = y0 * FILTER_CELL + k / side;
        const int bin = binOf(image, plan, i, j);
        bins[j * FILTER_SIDE + i] = static_cast<uint16_t>(bin);
        const FilterPart part = counts ? partOf(areas, i, j) : EDGE;
        if (part == EDGE)
            continue;
        atomicAdd(part == INNER ? &work.foreground[bin] : &work.background[bin], 1);
        atomicAdd(&counts[part == INNER ? 0 : 1], 1);
    }
    __syncthreads(); // counts
    if (counts && threadIdx.x < 2)
        atomicAdd(&work.counts[threadIdx.x], counts[threadIdx.x]);
}

__global__ void __launch_bounds__(tuning::THREADS)
    filterCells(const __grid_constant__ Batch batch, const ImageView image, FilterPass pass)
{
    __shared__ CellMemory m;
    const ObjectRecord& object = batch.objects[blockIdx.y];
    const int place = blockIdx.z, x0 = static_cast<int>(blockIdx.x) % TILES * TILE_CELLS,
              y0 = static_cast<int>(blockIdx.x) / TILES * TILE_CELLS;
    FilterState f;
    double x, y;
    if (!findPlace(object, pass, place, f, x, y))
        return;
    FilterWork& work = *object.filterWork;
    const FilterAreas areas = filterAreas(f.width, f.height, f.scale, batch.cols, batch.rows);
    const SamplePlan plan = planSurround(x, y, areas);
    for (int k = threadIdx.x; k < SAMPLES * SAMPLES; k += tuning::THREADS)
    {
        const int i = x0 * FILTER_CELL - BORDER + k % SAMPLES, j = y0 * FILTER_CELL - BORDER + k / SAMPLES;
        if (i >= 0 && i < FILTER_SIDE && j >= 0 && j < FILTER_SIDE)
            m.samples[k] = static_cast<uint8_t>(sampleAt(batch, plan, i, j));
    }
    for (int k = threadIdx.x; k < CELLS * CELLS * KINDS; k += tuning::THREADS)
        m.histograms[0][k] = 0;
    if (threadIdx.x < 2)
        m.counts[threadIdx.x] = 0;
    __syncthreads(); // samples, zeros
    addGradients(x0, y0, m);
    normalize(x0, y0, m);
    for (int k = threadIdx.x; k < FILTER_CHANNELS * TILE_CELLS * TILE_CELLS; k += tuning::THREADS)
    {
        const int channel = k / (TILE_CELLS * TILE_CELLS), i = k % TILE_CELLS, j = k / TILE_CELLS % TILE_CELLS;
        work.features[place][channel][(y0 + j) * FILTER_GRID + x0 + i] = tileFeature(channel, i, j, m);
    }
    findBins(image, plan, areas, x0, y0, work.bins[place], work, f.trains != NOT_TRAINED ? m.counts : nullptr);
}

__global__ void __launch_bounds__(tuning::THREADS) filterSpectra(const __grid_constant__ Batch batch, FilterPass pass)
{
    __shared__ GridMemory grids[2];
    const ObjectRecord& object = batch.objects[blockIdx.y];
    const int place = blockIdx.z, channel = 2 * static_cast<int>(blockIdx.x);
    FilterState f;
    double x, y;
    if (!findPlace(object, pass, place, f, x, y))
        return;
    FilterWork& work = *object.filterWork;
    const FilterTables& tables = *batch.filterTables;
    GridMemory *from = &grids[0], *to = &grids[1];
    for (int k = threadIdx.x; k < FILTER_CELLS; k += tuning::THREADS)
    {
        const int i = k % FILTER_GRID, j = k / FILTER_GRID, at = j * GridMemory::STEP + i;
        const float weight = tables.window[j] * tables.window[i];
        from->re[at] = work.features[place][channel][k] * weight;
        from->im[at] = work.features[place][channel + 1][k] * weight;
    }
    transformLines<true>(from, to, tables);
    transformLines<false>(from, to, tables);
    for (int k = threadIdx.x; k < FILTER_SPECTRUM; k += tuning::THREADS)
    {
        const int r = k % FILTER_GRID, c = k / FILTER_GRID;
        const int at = r * GridMemory::STEP + c, mirror = conjugatePlace(r) * GridMemory::STEP + conjugatePlace(c);
        const Complex z = {from->re[at], from->im[at]}, other = {from->re[mirror], from->im[mirror]};
        const Complex a = firstSpectrum(z, other), b = secondSpectrum(z, other);
        work.re[place][channel][k] = a.re;
        work.im[place][channel][k] = a.im;
        work.re[place][channel + 1][k] = b.re;
        work.im[place][channel + 1][k] = b.im;
    }
}

struct SizeMemory
{
    uint8_t samples[SCALE_PIXELS];
    int histograms[SCALE_CELLS][KINDS];
    int64_t energies[SCALE_CELLS];
    float norms[2 * SCALE_CELLS + 8]; //!< (cols + 1) * (rows + 1) with at least two cells along each side
};

//! Returns a feature of a cell of a size.
__device__ __forceinline__ float sizeFeature(int channel, int i, int j, int cols, const SizeMemory& m)
{
    const float* const n = m.norms + j * (cols + 1) + i;
    const CellNorms norms = {{n[0], n[1], n[cols + 1], n[cols + 2]}};
    const int* const histogram = m.histograms[j * cols + i];
    if (channel < 3 * ORIENTATIONS)
        return channelOf(histogram, channel, norms);
    float sum = 0.f;
    for (int o = 0; o < KINDS; ++o)
        sum += normalized(static_cast<float>(histogram[o]), norms.n[channel - 3 * ORIENTATIONS]);
    return sum * TEXTURE_FACTOR;
}

__global__ void __launch_bounds__(tuning::THREADS) sizeCells(const __grid_constant__ Batch batch, FilterPass pass)
{
    __shared__ SizeMemory m;
    const ObjectRecord& object = batch.objects[blockIdx.y];
    const int size = blockIdx.x;
    FilterState f;
    if (!findSizes(batch, object, pass, f))
        return;
    const ScaleCells cells = scaleCells(f.width, f.height);
    const int cols = cells.cols, rows = cells.rows, wide = FILTER_CELL * cols, high = FILTER_CELL * rows;
    const SamplePlan plan = planSize(f, size, cells);
    for (int k = threadIdx.x; k < wide * high; k += tuning::THREADS)
        m.samples[k] = static_cast<uint8_t>(sampleAt(batch, plan, k % wide, k / wide));
    for (int k = threadIdx.x; k < SCALE_CELLS * KINDS; k += tuning::THREADS)
        m.histograms[0][k] = 0;
    __syncthreads(); // samples, zeros
    for (int k = threadIdx.x; k < wide * high; k += tuning::THREADS)
    {
        const int x = k % wide, y = k / wide;
        const auto at = [&](int i, int j)
        { return static_cast<int>(m.samples[::min(high - 1, ::max(0, j)) * wide + ::min(wide - 1, ::max(0, i))]); };
        const Gradient g = gradientOf(at(x + 1, y) - at(x - 1, y), at(x, y + 1) - at(x, y - 1));
        spread(x, y,
               [&](int cx, int cy, int weight)
               {
                   if (cx >= 0 && cx < cols && cy >= 0 && cy < rows && g.magnitude > 0)
                       atomicAdd(&m.histograms[cy * cols + cx][g.orientation], g.magnitude * weight);
               });
    }
    __syncthreads(); // histograms
    if (static_cast<int>(threadIdx.x) < cols * rows)
        m.energies[threadIdx.x] = cellEnergy([&](int o) { return m.histograms[threadIdx.x][o]; });
    __syncthreads(); // energies
    const auto energyAt = [&](int x, int y)
    { return m.energies[::min(rows - 1, ::max(0, y)) * cols + ::min(cols - 1, ::max(0, x))]; };
    if (static_cast<int>(threadIdx.x) < (cols + 1) * (rows + 1))
        m.norms[threadIdx.x] =
            blockNorm(static_cast<int>(threadIdx.x) % (cols + 1), static_cast<int>(threadIdx.x) / (cols + 1), energyAt);
    __syncthreads(); // norms
    float* const out = object.filterWork->sizeFeatures[size];
    for (int k = threadIdx.x; k < SCALE_ROWS; k += tuning::THREADS)
    {
        const int channel = k / SCALE_CELLS, cell = k % SCALE_CELLS;
        out[k] = cell < cols * rows ? sizeFeature(channel, cell % cols, cell / cols, cols, m) : 0.f;
    }
}

} // namespace

void lookAround(const Batch& batch, const ImageView& image, FilterPass pass, int places, detail::StreamHandle stream)
{
    detail::launch("tld filter cells", filterCells, dim3(TILES * TILES, batch.count, places), dim3(tuning::THREADS), 0,
                   stream, batch, image, pass);
    detail::launch("tld filter spectra", filterSpectra, dim3(FILTER_PAIRS, batch.count, places), dim3(tuning::THREADS),
                   0, stream, batch, pass);
}

void lookAtSizes(const Batch& batch, FilterPass pass, detail::StreamHandle stream)
{
    detail::launch("tld filter sizes", sizeCells, dim3(FILTER_SCALES, batch.count), dim3(tuning::THREADS), 0, stream,
                   batch, pass);
}

}}}} // namespace cv::cuda::tld::gpu
