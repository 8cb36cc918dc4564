// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher, SSD and ZNCC by matrix instructions: computes the sums of products of all positions.
//
// Cost for one fragment of w x h pixels, C channels, M positions: C M h 16 ceil((w + 7) / 16) products of bytes, when
// weighted 2 C + 3 (ZNCC 3 C + 3) in place of C, bound by the matrix units; bytes: (128 + w)(rows + h) C and the bands
// read per block, from cache, and 4 (weighted: 16 for most of the planes) written per position.

#include "band_sums.hpp"

namespace cv { namespace cuda { namespace fragment_matcher {

namespace {

using namespace device;

const int THREADS = tuning::BAND_THREADS, ROWS = gpu::BAND_ROWS, COLS = gpu::BAND_COLS;

//! A product: plane of the image, plane of the bands, and the group of products whose sums are added.
struct Product
{
    int plane, band, group;

    __device__ __forceinline__ Product(int index, int channels, bool weighted)
    {
        group = 0;
        plane = band = index;
        if (!weighted)
            return;
        group = index / channels; // 0: high bytes of q T, 1: low bytes
        plane = index - group * channels;
        if (group < 2)
            return;
        const int k = index - 2 * channels; // 0 to 2: bytes of squares; then channels
        group = 2 + k;
        plane = k < 3 ? channels + k : k - 3;
        band = 2 * channels;
    }
};

/** Adds the sums of a group to the moments of two neighbouring positions, modulo 2^64, which the results fit. SSD:
S(qIT) and S(qI^2); ZNCC: n_c and v_c, summed over channels. Of ZNCC, S(qI) of a channel must come at once, as it is
squared: 53,824 pixels are less than gpu::BAND_TERMS.
@param begins overwrites what is in memory. */
template <Metric METRIC>
__device__ __forceinline__ void addMoments(ulonglong2* covariances, ulonglong2* variances, uint32_t first,
                                           uint32_t second, int group, const TemplateSums& templ, bool begins)
{
    const uint64_t W = isCorrelation(METRIC) ? templ.W : 1;
    ulonglong2 change;
    if (group < 5)
    {
        const uint64_t factor = W << (group < 2 ? 8 - 8 * group : 32 - 8 * group);
        change = {first * factor, second * factor};
    }
    else
    {
        ulonglong2 squares = *variances;
        squares.x -= static_cast<uint64_t>(first) * first, squares.y -= static_cast<uint64_t>(second) * second;
        *variances = squares;
        const uint64_t factor = ~templ.qT[group - 5] + 1;
        change = {first * factor, second * factor};
    }
    ulonglong2* const to = group < 2 || group >= 5 ? covariances : variances;
    if (!begins)
    {
        const ulonglong2 before = *to;
        change.x += before.x, change.y += before.y;
    }
    *to = change;
}

/** Stores the sums of a warp, at most `rows` rows, in device memory from index `at` on. @param group group of the
products. @param begins overwrites what is in memory; else the sums are added to it. */
template <Metric METRIC, bool WEIGHTED, bool WIDE, int KC>
__device__ __forceinline__ void storeSums(const BandSums<KC>& sums, const BandPlan& plan, void* target, size_t at,
                                          int rows, int group, const TemplateSums& templ, bool begins)
{
#pragma unroll
    for (int k = 0; k < 2 * ROWS; ++k)
    {
        if (k / 2 >= rows)
            break;
        const size_t to = at + static_cast<size_t>(k / 2) * plan.sumsPitch + COLS / 2 * (k % 2);
        const uint32_t first = sums.sums[k / 2][k % 2 * 2], second = sums.sums[k / 2][k % 2 * 2 + 1];
        if (!WIDE)
        {
            *reinterpret_cast<uint2*>(static_cast<uint32_t*>(target) + to) = make_uint2(first, second);
            continue;
        }
        uint64_t* const covariance = static_cast<uint64_t*>(target) + to;
        ulonglong2* const pair = reinterpret_cast<ulonglong2*>(covariance);
        if (WEIGHTED)
        {
            addMoments<METRIC>(pair, reinterpret_cast<ulonglong2*>(covariance + plan.sumsEach / 2), first, second,
                               group, templ, begins);
            continue;
        }
        ulonglong2 total = {first, second};
        if (!begins)
            total.x += pair->x, total.y += pair->y;
        *pair = total;
    }
}

template <int KC, Metric METRIC, bool WEIGHTED, bool WIDE>
__global__ void __launch_bounds__(THREADS, 2)
    correlateBandsKernel(const int channels, const BandPlan plan, const BandMemory memory)
{
    extern __shared__ __align__(16) uint32_t shared[];
    const int tileRows = plan.units * ROWS;
    const SumsTile tile = sumsTileOfBlock(plan, COLS, tileRows);
    const int e = tile.e, tileX = tile.x, y = tile.y;
    __shared__ gpu::OpenEntry entry;
    detail::waitForKernelBefore();
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
    const int steps = rowChunks * (WEIGHTED ? (isCorrelation(METRIC) ? 3 : 2) * channels + 3 : channels);
    const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    const int warp = threadIdx.x / 32, part = warp / plan.units, unit = warp - part * plan.units;
    const size_t at = e * plan.sumsEach + static_cast<size_t>(y + unit * ROWS) * plan.sumsPitch + tileX + 8 * g + 2 * t;
    BandSums<KC> sums;
    sums.clear();
    int terms = 0;
    bool covariances = false, variances = false; // true: memory holds sums of this block
#pragma unroll 1
    for (int step = 0; step < steps; ++step)
    {
        const int index = step / rowChunks, row = (step - index * rowChunks) * plan.chunkRows;
        const Product product(index, channels, WEIGHTED);
        const int rows = ::min(plan.chunkRows, detail::ceilDiv(height - row, ROWS) * ROWS);
        if (step > 0)
            __syncthreads(); // data staged before have been read
        fetchImageAndBands(
            memory.planes + product.plane * plan.planeBytes, tileRows + rows - 1, plan, imageX, imageY + row, chunks,
            bands + (static_cast<size_t>(product.band) * plan.bandRows + row) * plan.chunks * 32, rows, shared);
        __pipeline_wait_prior(0);
        __syncthreads(); // image and bands are complete
        const int begin = part * (rows / ROWS) / plan.parts * ROWS,
                  end = (part + 1) * (rows / ROWS) / plan.parts * ROWS;
        const bool works = end > begin && y + unit * ROWS < entry.window.rows;
        const int pitch = COLS / 4 + 4 * chunks;
        const uint32_t* image = shared + (unit * ROWS + begin) * pitch + 2 * g + t;
        const uint32_t* band = shared + plan.bandsOffset + begin * chunks * 32 + lane;
#pragma unroll 1
        for (int k = 0; works && k < chunks; k += KC)
            sums.add(image + 4 * k, pitch, band + 32 * k, 32 * chunks, end - begin);
        terms += width * ::min(plan.chunkRows, height - row);

        // Sums of a group are accumulated while they fit 32 bits.
        const int next = step + 1, nextRow = next % rowChunks * plan.chunkRows;
        if (next < steps && Product(next / rowChunks, channels, WEIGHTED).group == product.group &&
            (!WIDE || terms + width * ::min(plan.chunkRows, height - nextRow) <= gpu::BAND_TERMS))
            continue;
        mergeParts(sums, plan, shared);
        const bool ofCovariance = product.group < 2 || product.group >= 5;
        if (part == 0)
            storeSums<METRIC, WEIGHTED, WIDE>(sums, plan, memory.sums, at, entry.window.rows - y - unit * ROWS,
                                              product.group, entry.fragment.sums,
                                              ofCovariance ? !covariances : !variances);
        covariances |= product.group < 2;
        variances |= product.group >= 2;
        sums.clear();
        terms = 0;
    }
}

template <Metric METRIC, bool WEIGHTED, bool WIDE>
void launchCorrelate(const gpu::Job& job, const BandPlan& plan, const BandMemory& memory)
{
    const auto kernel = plan.group == 2   ? correlateBandsKernel<2, METRIC, WEIGHTED, WIDE>
                        : plan.group == 3 ? correlateBandsKernel<3, METRIC, WEIGHTED, WIDE>
                        : plan.group == 4 ? correlateBandsKernel<4, METRIC, WEIGHTED, WIDE>
                                          : correlateBandsKernel<5, METRIC, WEIGHTED, WIDE>;
    const int64_t tiles =
        static_cast<int64_t>(plan.sumsPitch / COLS) * detail::ceilDiv(plan.sumsRows, plan.units * ROWS);
    detail::launchEarly("correlateBands", kernel, detail::linearGrid(tiles * job.batch.count, 1), dim3(THREADS),
                        plan.sharedBytes, job.stream, job.batch.channels, plan, memory);
}

} // namespace

namespace gpu {

void correlateBands(const Job& job, const BandPlan& plan, const BandMemory& memory)
{
    if (job.batch.weighted)
        return forProduct(job.settings.metric,
                          [&](auto weighted) { launchCorrelate<weighted.value, true, true>(job, plan, memory); });
    // Without weights, sums of products are the same for all metrics.
    const auto launch =
        plan.wide ? launchCorrelate<Metric::SSD, false, true> : launchCorrelate<Metric::SSD, false, false>;
    launch(job, plan, memory);
}

} // namespace gpu

}}} // namespace cv::cuda::fragment_matcher
