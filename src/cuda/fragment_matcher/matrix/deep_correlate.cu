// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher, SSD and ZNCC of 16 bits by matrix instructions: computes the sums of products of all positions.
//
// Cost for one fragment of w x h pixels, C channels, M positions: 4 C M h 16 ceil((w + 7) / 16) products of bytes, when
// weighted 6 C + 4 or 5 (ZNCC: and 2 C) in place of 4 C, bound by the matrix units; bytes: (128 + w)(rows + h) and the
// bands read per block and product, from cache, and 16 per position for each place value.

#include "band_sums.hpp"
#include "deep_bands.hpp"

namespace cv { namespace cuda { namespace fragment_matcher {

namespace {

using namespace device;
using gpu::DeepPlan;

const int THREADS = tuning::BAND_THREADS;

//! A correlation of bytes: plane of the image, plane of the bands, and the sum that it is added to times 2^shift: 0:
//! S(qIT), 1: S(qI^2), then S(qI) of each channel. Those of one sum and shift follow each other.
struct DeepProduct
{
    int plane, band, sum, shift;

    __device__ __forceinline__ DeepProduct(int index, int channels, bool weighted)
    {
        const int crosses = (weighted ? 6 : 4) * channels, squares = gpu::deepSquareBytes(channels);
        if (index < crosses)
        {
            // Bytes of image and template, 0 is the highest: without weights 00 01 10 11, else 00 01 10 02 11 12.
            const int k = index / channels, c = index - k * channels;
            const int half = weighted ? 0x34 >> k & 1 : k >> 1, byte = weighted ? 0x984 >> (2 * k) & 3 : k & 1;
            plane = half * channels + c;
            band = byte * channels + c;
            sum = 0;
            shift = 8 * ((weighted ? 3 : 2) - half - byte);
            return;
        }
        const int k = index - crosses;
        band = 3 * channels;
        if (k < squares)
        {
            plane = 2 * channels + k;
            sum = 1;
            shift = 8 * (squares - 1 - k);
            return;
        }
        const int c = (k - squares) / 2, half = (k - squares) % 2;
        plane = half * channels + c;
        sum = 2 + c;
        shift = 8 - 8 * half;
    }
    __device__ __forceinline__ bool joins(const DeepProduct& other) const
    {
        return sum == other.sum && shift == other.shift;
    }
};

/** Stores the sums of a warp, times 2^shift, in device memory from `target` on. @param rows, cols positions from the
lane's first on that are in the window. @param begins overwrites what is in memory; else the sums are added to it. */
template <int KC>
__device__ __forceinline__ void storeSums(const BandSums<KC>& sums, int pitch, uint64_t* target, int rows, int cols,
                                          int shift, bool begins)
{
#pragma unroll
    for (int k = 0; k < 2 * BAND_ROWS; ++k)
    {
        if (k / 2 >= rows)
            break;
        if (BAND_COLS / 2 * (k % 2) >= cols)
            continue;
        ulonglong2* const pair =
            reinterpret_cast<ulonglong2*>(target + static_cast<size_t>(k / 2) * pitch + BAND_COLS / 2 * (k % 2));
        ulonglong2 total = {static_cast<uint64_t>(sums.sums[k / 2][k % 2 * 2]) << shift,
                            static_cast<uint64_t>(sums.sums[k / 2][k % 2 * 2 + 1]) << shift};
        if (!begins)
        {
            const ulonglong2 before = *pair;
            total.x += before.x, total.y += before.y;
        }
        *pair = total;
    }
}

template <int KC>
__global__ void __launch_bounds__(THREADS, 2)
    correlateDeepKernel(const int channels, const bool weighted, const __grid_constant__ DeepPlan deep,
                        const BandMemory memory)
{
    extern __shared__ __align__(16) uint32_t shared[];
    const BandPlan& plan = deep.bands;
    const int tileRows = plan.units * BAND_ROWS;
    const SumsTile tile = sumsTileOfBlock(plan, BAND_COLS, tileRows);
    const int e = tile.e, tileX = tile.x, y = tile.y;
    __shared__ gpu::OpenEntry entry;
    detail::letNextKernelBegin(); // all output of prepare is complete, so the next kernel may read it
    loadEntry(memory, e, &entry);
    __syncthreads(); // the entry is complete
    if (entry.status != STATUS_FOUND)
        return;
    const int before = beforeWindow(plan, entry.window.x);
    if (tileX >= entry.window.cols + before || y >= entry.window.rows)
        return;
    const int width = entry.fragment.width, height = entry.fragment.height;
    const int chunks = detail::ceilDiv(detail::ceilDiv(width + 7, 16), KC) * KC;
    const int imageX = entry.window.x - before - plan.region.x + tileX, imageY = entry.window.y - plan.region.y + y;
    const uint32_t* const bands = memory.bands + e * plan.bandsEach;
    const int rowChunks = detail::ceilDiv(height, plan.chunkRows);
    const int partsOfProduct = rowChunks * detail::ceilDiv(chunks, deep.pieceChunks);
    const int steps = partsOfProduct * gpu::deepProducts(channels, weighted, deep.image);
    const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    const int warp = threadIdx.x / 32, part = warp / plan.units, unit = warp - part * plan.units;
    uint64_t* const target = static_cast<uint64_t*>(memory.sums) + e * plan.sumsEach +
                             static_cast<size_t>(y + unit * BAND_ROWS) * plan.sumsPitch + tileX + 8 * g + 2 * t;
    BandSums<KC> sums;
    sums.clear();
    int terms = 0, stored = -1; // stored: the sum of which this block has stored a part
#pragma unroll 1
    for (int step = 0; step < steps; ++step)
    {
        const int index = step / partsOfProduct, inProduct = step - index * partsOfProduct;
        const int piece = inProduct / rowChunks, row = (inProduct - piece * rowChunks) * plan.chunkRows;
        const DeepProduct product(index, channels, weighted);
        const int rows = ::min(plan.chunkRows, detail::ceilDiv(height - row, BAND_ROWS) * BAND_ROWS);
        const int firstChunk = piece * deep.pieceChunks, pieceChunks = ::min(deep.pieceChunks, chunks - firstChunk);
        if (step > 0)
            __syncthreads(); // data staged before have been read
        fetchImageAndBands(
            memory.planes + product.plane * plan.planeBytes, tileRows + rows - 1, plan, imageX + 16 * firstChunk,
            imageY + row, pieceChunks,
            bands + ((static_cast<size_t>(product.band) * plan.bandRows + row) * plan.chunks + firstChunk) * 32, rows,
            shared);
        __pipeline_wait_prior(0);
        __syncthreads(); // image and bands are complete
        const int begin = part * (rows / BAND_ROWS) / plan.parts * BAND_ROWS,
                  end = (part + 1) * (rows / BAND_ROWS) / plan.parts * BAND_ROWS;
        const bool works = end > begin && y + unit * BAND_ROWS < entry.window.rows;
        const int pitch = BAND_COLS / 4 + 4 * pieceChunks;
        const uint32_t* image = shared + (unit * BAND_ROWS + begin) * pitch + 2 * g + t;
        const uint32_t* band = shared + plan.bandsOffset + begin * pieceChunks * 32 + lane;
#pragma unroll 1
        for (int k = 0; works && k < pieceChunks; k += KC)
            sums.add(image + 4 * k, pitch, band + 32 * k, 32 * pieceChunks, end - begin);

        // Sums of a place value are accumulated while they fit 32 bits: a step adds at most `most` terms.
        const int most = 16 * deep.pieceChunks * plan.chunkRows;
        terms += most;
        if (step + 1 < steps && terms + most <= gpu::BAND_TERMS &&
            DeepProduct((step + 1) / partsOfProduct, channels, weighted).joins(product))
            continue;
        mergeParts(sums, plan, shared);
        if (part == 0)
            storeSums(sums, plan.sumsPitch, target + product.sum * static_cast<size_t>(plan.sumsPitch) * plan.sumsRows,
                      entry.window.rows - y - unit * BAND_ROWS, entry.window.cols + before - tileX - 8 * g - 2 * t,
                      product.shift, stored != product.sum);
        stored = product.sum;
        sums.clear();
        terms = 0;
    }
}

} // namespace

namespace gpu {

void correlateDeepBands(const Job& job, const DeepPlan& plan, const DeepMemory& memory)
{
    const BandPlan& bands = plan.bands;
    const auto kernel = bands.group == 2   ? correlateDeepKernel<2>
                        : bands.group == 3 ? correlateDeepKernel<3>
                        : bands.group == 4 ? correlateDeepKernel<4>
                                           : correlateDeepKernel<5>;
    const int64_t tiles =
        static_cast<int64_t>(bands.sumsPitch / BAND_COLS) * detail::ceilDiv(bands.sumsRows, bands.units * BAND_ROWS);
    // Not early: beside blocks of prepare its own would share some multiprocessors and leave others without work.
    detail::launch("correlateDeep", kernel, detail::linearGrid(tiles * job.batch.count, 1), dim3(THREADS),
                   bands.sharedBytes, job.stream, job.batch.channels, job.batch.weighted, plan, memory.bands);
}

} // namespace gpu

}}} // namespace cv::cuda::fragment_matcher
