// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher, SSD and ZNCC of 16 bits of many small windows by matrix instructions: score, findPeaks and report of
// a fragment by one block.
//
// A sum of products is four correlations of bytes, which a lane adds up in three registers per position, one for each
// place value. Sums of the image are differences of four elements of tables of sums over all rows and columns before an
// element, in shared memory, exact modulo their width.
//
// Cost for N fragments of w x h pixels, C channels, M positions each: 4 C N M h 32 ceil((w + 7) / 32) products of
// bytes; bytes: each area and fragment once. Bound by latency and by the matrix units.

#include "choice.hpp"
#include "deep_value.hpp"
#include "fused_deep_bands.hpp"

namespace cv { namespace cuda { namespace fragment_matcher {

namespace {

using namespace device;
using gpu::FusedDeepBands;

const int THREADS = 32 * tuning::FUSED_DEEP_WARPS;

//! Stores the high and the low bytes of an area, plane by plane.
template <int CHANNELS>
__device__ __forceinline__ void storePlanes(const ByteImageView& frame, const Rect4& area, const FusedDeepBands& plan,
                                            uint32_t* planes)
{
    if (area.width <= 0)
        return;
    for (Steps at((area.width + 3) / 4); at.row < area.height; at.next())
    {
        const int count = ::min(4, area.width - 4 * at.col);
        uint32_t high[CHANNELS] = {}, low[CHANNELS] = {};
#pragma unroll
        for (int k = 0; k < 4; ++k)
        {
            if (k >= count)
                break;
            const uint16_t* const pixel =
                reinterpret_cast<const uint16_t*>(frame.pixel(area.x + 4 * at.col + k, area.y + at.row));
#pragma unroll
            for (int c = 0; c < CHANNELS; ++c)
            {
                const uint32_t value = __ldg(pixel + c);
                high[c] |= (value >> 8) << (8 * k);
                low[c] |= (value & 0xff) << (8 * k);
            }
        }
        uint32_t* const to = planes + at.row * plan.pitch + at.col;
#pragma unroll
        for (int c = 0; c < CHANNELS; ++c)
        {
            to[c * plan.planeWords] = high[c];
            to[(CHANNELS + c) * plan.planeWords] = low[c];
        }
    }
}

/** Sums of the area of a block over all rows and columns before an element: of squares over all channels and, with
IMAGE, of each channel. Their first row and column are 0. */
template <bool IMAGE, int CHANNELS> struct Tables
{
    uint64_t* const squares;
    uint32_t* const image; //!< at most 33,025 pixels in a box: fits
    const int pitch, elements;

    __device__ __forceinline__ Tables(const FusedDeepBands& plan, uint32_t* words)
        : squares(reinterpret_cast<uint64_t*>(words)),
          image(words + 2 * plan.tableElements),
          pitch(plan.tablePitch),
          elements(plan.tableElements)
    {}

    //! Makes the tables from planes of bytes. Contains a barrier, and needs one behind it.
    __device__ __forceinline__ void make(const FusedDeepBands& plan, const Rect4& area, const uint32_t* planes) const
    {
        const int tables = IMAGE ? 1 + CHANNELS : 1, rows = area.height + 1;
        const auto valueAt = [&](int x, int y, int c)
        {
            const uint8_t* const high = reinterpret_cast<const uint8_t*>(planes + c * plan.planeWords + y * plan.pitch);
            return static_cast<uint32_t>(high[x]) << 8 | high[4 * CHANNELS * plan.planeWords + x];
        };
#pragma unroll 1
        for (Steps at(area.width); at.row < tables; at.next())
        {
            if (at.row == 0)
                addDown(squares + 1 + at.col, rows,
                        [&](int y)
                        {
                            uint64_t sum = 0;
#pragma unroll
                            for (int c = 0; c < CHANNELS; ++c)
                            {
                                const uint32_t value = valueAt(at.col, y, c);
                                sum += static_cast<uint64_t>(value) * value;
                            }
                            return sum;
                        });
            else
                addDown(image + (at.row - 1) * elements + 1 + at.col, rows,
                        [&](int y) { return valueAt(at.col, y, at.row - 1); });
        }
        __syncthreads(); // sums of columns are complete
#pragma unroll 1
        for (Steps at(rows); at.row < tables; at.next())
        {
            if (at.row == 0)
                addAlong(squares + at.col * pitch, area.width);
            else
                addAlong(image + (at.row - 1) * elements + at.col * pitch, area.width);
        }
    }

    //! Returns the sum over the box of a fragment at a position.
    template <typename T>
    __device__ __forceinline__ T boxOf(const T* table, int x, int y, const DeviceFragment& fragment) const
    {
        const T* const above = table + y * pitch + x;
        const T* const below = above + fragment.height * pitch;
        return below[fragment.width] - below[0] - above[fragment.width] + above[0];
    }

private:
    template <typename T, class ValueAt>
    __device__ __forceinline__ void addDown(T* to, int rows, const ValueAt& valueAt) const
    {
        T sum = 0;
        *to = 0;
#pragma unroll 4
        for (int y = 1; y < rows; ++y)
            to[y * pitch] = sum += valueAt(y - 1);
    }
    template <typename T> __device__ __forceinline__ void addAlong(T* row, int cols) const
    {
        T sum = 0;
        *row = 0;
#pragma unroll 4
        for (int x = 1; x <= cols; ++x)
            row[x] = sum += row[x];
    }
};

//! Stores S(IT) of the positions of a warp in `map`. The planes and the template must not be read any more after the
//! barrier in it. @param works false: the warp has no positions.
template <int CHANNELS>
__device__ __forceinline__ void correlate(const FusedDeepBands& plan, const Entry& entry, const LaneBlocks& lane,
                                          bool works, const uint32_t* planes, const uint32_t* templ, uint64_t* map)
{
    const LanePositions mine(entry.window, lane, plan.pitch);
    LaneSums high, middle, low; // at most gpu::BAND_TERMS products each
    clear(high), clear(middle), clear(low);
    if (works)
    {
        const int chunks = bandChunks(entry.fragment.width), before = 8 * (threadIdx.x % 4) - threadIdx.x % 32 / 4;
        BandOperands from = {};
        from.pitch = plan.pitch;
        from.step = templateStep(chunks);
        from.height = entry.fragment.height;
        from.shift = 8 * (before & 3);
        const int templatePlane = from.height * from.step;
        templ += 4 + (before >> 2);
#pragma unroll 1
        for (int k = 0; k < chunks * CHANNELS; ++k)
        {
            const int chunk = k / CHANNELS, c = k - chunk * CHANNELS;
#pragma unroll
            for (int half = 0; half < 2; ++half) // high and low bytes of the image
            {
                const uint32_t* const plane = planes + (half * CHANNELS + c) * plan.planeWords + 8 * chunk;
                from.first = plane + mine.at[0];
                from.second = plane + mine.at[1];
                from.rows[0] = templ + c * templatePlane + 8 * chunk;
                from.rows[1] = from.rows[0] + CHANNELS * templatePlane;
                addPlane<2>(from, half == 0 ? high : middle, half == 0 ? middle : low, low);
            }
        }
    }
    __syncthreads(); // planes and template have been read
    if (!works)
        return;
#pragma unroll
    for (int k = 0; k < 4 * LANE_ROWS; ++k)
    {
        const int index = mine.indexOf(k), j = k / 4, q = k % 4;
        if (mine.inside >> k & 1)
            map[(index >> 16) * entry.window.cols + (index & 0xffff)] =
                (static_cast<uint64_t>(high[j][q]) << 16) + (static_cast<uint64_t>(middle[j][q]) << 8) + low[j][q];
    }
}

//! Selects peaks greedily from the values of all positions. Ends with a barrier.
__device__ int findPeaksOfMap(const Settings& settings, const uint64_t* map, const Best* walked, LaneScratch* scratch)
{
    const Entry& entry = scratch->entry;
    const int distance = exclusionDistance(settings.exclusionDistance, entry.fragment.width, entry.fragment.height);
    const int cols = entry.window.cols, rows = entry.window.rows;
    int count = 0;
#pragma unroll 1
    while (count < settings.peaks)
    {
        Best best = Best::none();
        if (count == 0 && walked)
            best = *walked;
        else
        {
            for (Steps at(cols); at.row < rows; at.next())
                if (allowed(at.col, at.row, scratch->peaks, count, distance, settings.exclusion))
                    best.take(map[at.row * cols + at.col], at.row * cols + at.col);
            best = bestOfWarps<uint64_t>(best, scratch->warps[count % 2]);
        }
        if (best.index == Best::NONE)
            break;
        const int y = best.index / cols;
        if (threadIdx.x == 0)
            scratch->peaks[count] = {best.value, best.index - y * cols, y};
        ++count;
        __syncthreads(); // the peak is visible
    }
    return count;
}

template <Metric METRIC, int CHANNELS>
__global__ void __launch_bounds__(THREADS, tuning::FUSED_DEEP_BLOCKS)
    matchFusedDeepBandsKernel(const ByteImageView frame, const Batch batch, const Settings settings,
                              const FusedDeepBands plan, const Best* walked, const Outputs out)
{
    constexpr bool IMAGE = isCorrelation(METRIC);
    extern __shared__ __align__(16) unsigned char shared[];
    LaneScratch* const scratch = reinterpret_cast<LaneScratch*>(shared);
    uint32_t* const planes = reinterpret_cast<uint32_t*>(shared + gpu::ONE_BLOCK_SCRATCH_BYTES);
    uint32_t* const templ = planes + plan.templatesAt;
    uint64_t* const map = reinterpret_cast<uint64_t*>(planes);

    int i;
    Rect4 area;
    if (!openBlock(frame, batch, settings, plan, out, scratch, i, area,
                   [&](const Rect4& from) { storePlanes<CHANNELS>(frame, from, plan, planes); }))
        return;
    const Entry& entry = scratch->entry;
    const DeviceFragment& fragment = entry.fragment;
    stageRows<false, 2 * CHANNELS>(batch.arena + fragment.words, fragment.height, fragment.pitch,
                                   templateStep(bandChunks(fragment.width)), templ);
    const Tables<IMAGE, CHANNELS> tables(plan, planes + plan.tablesAt);
    tables.make(plan, area, planes);
    __pipeline_wait_prior(0);
    __syncthreads(); // tables and template are complete

    const LaneBlocks lane(entry.window.cols);
    const bool works = static_cast<int>(threadIdx.x / 32) * lane.groups * LANE_ROWS < entry.window.rows;
    correlate<CHANNELS>(plan, entry, lane, works, planes, templ, map);
    __syncthreads(); // S(IT) of all positions are complete
    const double deviation = IMAGE ? deepDeviation(fragment.sums) : 0.;
    const int cols = entry.window.cols;
#pragma unroll 1
    for (Steps at(cols); at.row < entry.window.rows; at.next())
    {
        uint64_t& value = map[at.row * cols + at.col];
        DeepSums sums = {value, tables.boxOf(tables.squares, at.col, at.row, fragment), {}};
#pragma unroll
        for (int c = 0; IMAGE && c < CHANNELS; ++c)
            sums.image[c] = tables.boxOf(tables.image + c * tables.elements, at.col, at.row, fragment);
        value = valueOf<METRIC, false, CHANNELS>(sums, fragment.sums, deviation);
    }
    __syncthreads(); // values are complete
    const int count = findPeaksOfMap(settings, map, walked ? walked + blockIdx.x : nullptr, scratch);
    if (threadIdx.x < 32)
        report(out, i, settings, fragment, entry.window, valueScale(METRIC, false), scratch->peaks, count,
               [map, cols](int x, int y) { return map[y * cols + x]; });
}

} // namespace

namespace gpu {

void matchFusedDeepBands(const Job& job, const FusedDeepBands& plan)
{
    forProduct(job.settings.metric,
               [&](auto metric)
               {
                   const auto kernel = job.batch.channels == 1 ? matchFusedDeepBandsKernel<metric.value, 1>
                                                               : matchFusedDeepBandsKernel<metric.value, 3>;
                   detail::launch("matchFusedDeepBands", kernel, dim3(job.batch.count), dim3(32 * plan.warps),
                                  plan.sharedBytes, job.stream, job.frame, job.batch, job.settings, plan, job.walked,
                                  job.outputs);
               });
}

} // namespace gpu

}}} // namespace cv::cuda::fragment_matcher
