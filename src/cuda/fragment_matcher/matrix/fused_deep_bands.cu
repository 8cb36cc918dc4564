// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher, SSD and ZNCC of 16 bits of many small windows by matrix instructions: score, findPeaks and report of
// a fragment by one block.
//
// A sum of products is four correlations of bytes (with weights six), which a lane adds up in three (four) registers
// per position, one for each place value. Without weights, sums of the image are differences of four elements of tables
// of sums over all rows and columns before an element, in shared memory, exact modulo their width. With weights they
// are correlations of bytes, too, one after the other, added up in a map of all positions.
//
// Cost for N fragments of w x h pixels, C channels, M positions each: 4 C N M h 32 ceil((w + 7) / 32) products of
// bytes, when weighted 6 C + 4 or 5 (ZNCC: and 2 C) in place of 4 C; bytes: each area and fragment once. Bound by
// latency and by the matrix units.

#include "choice.hpp"
#include "deep_device.hpp"
#include "fused_deep_bands.hpp"

namespace cv { namespace cuda { namespace fragment_matcher {

namespace {

using namespace device;
using gpu::FusedDeepBands;

const int THREADS = 32 * tuning::FUSED_DEEP_WARPS;

//! Stores the planes of bytes of an area.
template <bool WEIGHTED, int CHANNELS>
__device__ __forceinline__ void storePlanes(const ByteImageView& frame, const Rect4& area, const FusedDeepBands& plan,
                                            uint32_t* planes)
{
    if (area.width <= 0)
        return;
    for (Steps at((area.width + 3) / 4); at.row < area.height; at.next())
        storePixels<WEIGHTED, CHANNELS>(frame, area, 4 * at.col, at.row, 4 * static_cast<size_t>(plan.planeWords),
                                        reinterpret_cast<uint8_t*>(planes + at.row * plan.pitch + at.col));
}

//! Stores the planes of bytes of a template with weights.
template <int CHANNELS>
__device__ __forceinline__ void storeTemplate(const uint32_t* arena, const DeviceFragment& fragment, uint32_t* templ)
{
    const int step = templateStep(bandChunks(fragment.width));
    const int planeWords = fragment.pitch * fragment.height, bandWords = fragment.height * step;
    for (Steps at(step); at.row < fragment.height; at.next())
    {
        const int k = at.col - 4;
        const bool inside = k >= 0 && k < fragment.pitch;
        const uint32_t* const from = arena + fragment.words + at.row * fragment.pitch + k;
        const auto wordOf = [&](int plane) { return inside ? __ldg(from + plane * planeWords) : 0; };
        uint32_t* const to = templ + at.row * step + at.col;
        const uint32_t weights = wordOf(2 * CHANNELS);
#pragma unroll
        for (int c = 0; c < CHANNELS; ++c)
        {
            const uint32_t high = wordOf(c), low = wordOf(CHANNELS + c);
#pragma unroll
            for (int byte = 0; byte < 3; ++byte)
                to[(byte * CHANNELS + c) * bandWords] = productBytes(high, low, weights, byte);
        }
        to[3 * CHANNELS * bandWords] = weights;
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

//! Positions of a lane, and operands of its warp.
struct Lane
{
    const FusedDeepBands& plan;
    const LanePositions mine;
    const int cols, chunks;
    const uint32_t *planes, *templ; //!< templ: from the lane's first word on
    BandOperands from;

    __device__ __forceinline__ Lane(const FusedDeepBands& thePlan, const Entry& entry, const LaneBlocks& blocks,
                                    const uint32_t* thePlanes, const uint32_t* theTemplate)
        : plan(thePlan),
          mine(entry.window, blocks, thePlan.pitch),
          cols(entry.window.cols),
          chunks(bandChunks(entry.fragment.width)),
          planes(thePlanes),
          from{}
    {
        const int lane = threadIdx.x % 32, before = 8 * (lane % 4) - lane / 4;
        from.pitch = plan.pitch;
        from.step = templateStep(chunks);
        from.height = entry.fragment.height;
        from.shift = 8 * (before & 3);
        templ = theTemplate + 4 + (before >> 2);
    }
    //! Prepares for addPlane() of a chunk of 32 columns. @param band first plane of the template. @param bandStep
    //! planes from one to the next.
    __device__ __forceinline__ void open(int chunk, int plane, int band, int bandStep)
    {
        const uint32_t* const image = planes + plane * plan.planeWords + 8 * chunk;
        const int bandWords = from.height * from.step;
        from.first = image + mine.at[0];
        from.second = image + mine.at[1];
#pragma unroll
        for (int k = 0; k < 3; ++k)
            from.rows[k] = templ + (band + k * bandStep) * bandWords + 8 * chunk;
    }
    //! Calls body(k, index) for the positions in the window, k = 4j + q.
    template <class Body> __device__ __forceinline__ void forPositions(const Body& body) const
    {
#pragma unroll
        for (int k = 0; k < 4 * LANE_ROWS; ++k)
        {
            const int index = mine.indexOf(k);
            if (mine.inside >> k & 1)
                body(k, (index >> 16) * cols + (index & 0xffff));
        }
    }
};

/** Stores S(qIT) of the positions of a warp in `map`, without weights S(IT). Contains a barrier, before which planes
and template have been read. @param works false: the warp has no positions. */
template <bool WEIGHTED, int CHANNELS> __device__ __forceinline__ void correlate(Lane& lane, bool works, uint64_t* map)
{
    constexpr int BYTES = WEIGHTED ? 3 : 2; // of a value of the template
    LaneSums
        sums[4]; // of place values 2^24, which takes weights, 2^16, 2^8 and 1: at most gpu::BAND_TERMS products each
#pragma unroll
    for (int k = 0; k < 4; ++k)
        clear(sums[k]);
#pragma unroll 1
    for (int k = 0; works && k < lane.chunks * CHANNELS; ++k)
    {
        const int chunk = k / CHANNELS, c = k - chunk * CHANNELS;
#pragma unroll
        for (int half = 0; half < 2; ++half) // high and low bytes of the image
        {
            lane.open(chunk, half * CHANNELS + c, c, CHANNELS);
            const int highest = (WEIGHTED ? 0 : 1) + half;
            addPlane<BYTES>(lane.from, sums[highest], sums[highest + 1], sums[WEIGHTED ? highest + 2 : 3]);
        }
    }
    __syncthreads(); // planes and template have been read
    if (!works)
        return;
    lane.forPositions(
        [&](int k, int index)
        {
            uint64_t sum = 0;
#pragma unroll
            for (int s = WEIGHTED ? 0 : 1; s < 4; ++s)
                sum = (sum << 8) + sums[s][k / 4][k % 4];
            map[index] = sum;
        });
}

//! Stores S(qI^2) and, with IMAGE, S(qI) of each channel in maps that follow each other.
template <bool IMAGE, int CHANNELS> __device__ __forceinline__ void sumImage(Lane& lane, uint64_t* map)
{
    constexpr int SQUARES = gpu::deepSquareBytes(CHANNELS);
#pragma unroll 1
    for (int k = 0; k < SQUARES + (IMAGE ? 2 * CHANNELS : 0); ++k)
    {
        const int c = (k - SQUARES) / 2, half = (k - SQUARES) % 2;
        const bool squares = k < SQUARES, begins = squares ? k == 0 : half == 0;
        LaneSums part;
        clear(part);
#pragma unroll 1
        for (int chunk = 0; chunk < lane.chunks; ++chunk)
        {
            lane.open(chunk, squares ? 2 * CHANNELS + k : half * CHANNELS + c, 3 * CHANNELS, 0);
            addPlane<1>(lane.from, part, part, part);
        }
        uint64_t* const to = map + (squares ? 0 : 1 + c) * lane.plan.mapElements;
        lane.forPositions([&](int p, int index) { to[index] = (begins ? 0 : to[index] << 8) + part[p / 4][p % 4]; });
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

//! Replaces S(qIT) of all positions in a map by their values.
template <Metric METRIC, bool WEIGHTED, int CHANNELS>
__device__ __forceinline__ void makeValues(const FusedDeepBands& plan, const Entry& entry,
                                           const Tables<isCorrelation(METRIC), CHANNELS>& tables, uint64_t* map)
{
    constexpr bool IMAGE = isCorrelation(METRIC);
    const DeviceFragment& fragment = entry.fragment;
    const double deviation = IMAGE ? deepDeviation(fragment.sums) : 0.;
#pragma unroll 1
    for (Steps at(entry.window.cols); at.row < entry.window.rows; at.next())
    {
        uint64_t* const value = map + at.row * entry.window.cols + at.col;
        const auto box = [&](const auto* table) { return tables.boxOf(table, at.col, at.row, fragment); };
        const uint64_t* const image = tables.squares + (value - map); // with weights maps are in the tables' place
        DeepSums sums = {*value, WEIGHTED ? *image : box(tables.squares), {}};
#pragma unroll
        for (int c = 0; IMAGE && c < CHANNELS; ++c)
            sums.image[c] = WEIGHTED ? image[(1 + c) * plan.mapElements] : box(tables.image + c * tables.elements);
        *value = valueOf<METRIC, WEIGHTED, CHANNELS>(sums, fragment.sums, deviation);
    }
}

template <Metric METRIC, bool WEIGHTED, int CHANNELS>
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
                   [&](const Rect4& from) { storePlanes<WEIGHTED, CHANNELS>(frame, from, plan, planes); }))
        return;
    const Entry& entry = scratch->entry;
    const DeviceFragment& fragment = entry.fragment;
    const Tables<IMAGE, CHANNELS> tables(plan, planes + plan.sumsAt);
    if (WEIGHTED)
        storeTemplate<CHANNELS>(batch.arena, fragment, templ);
    else
    {
        stageRows<false, 2 * CHANNELS>(batch.arena + fragment.words, fragment.height, fragment.height, fragment.pitch,
                                       templateStep(bandChunks(fragment.width)), templ);
        tables.make(plan, area, planes);
        __pipeline_wait_prior(0);
    }
    __syncthreads(); // tables and template are complete

    const LaneBlocks blocks(entry.window.cols);
    const bool works = static_cast<int>(threadIdx.x / 32) * blocks.groups * LANE_ROWS < entry.window.rows;
    Lane lane(plan, entry, blocks, planes, templ);
    if (WEIGHTED && works)
        sumImage<IMAGE, CHANNELS>(lane, tables.squares);
    correlate<WEIGHTED, CHANNELS>(lane, works, map);
    __syncthreads(); // sums of all positions are complete
    makeValues<METRIC, WEIGHTED, CHANNELS>(plan, entry, tables, map);
    __syncthreads(); // values are complete
    const int count = findPeaksOfMap(settings, map, walked ? walked + blockIdx.x : nullptr, scratch);
    if (threadIdx.x < 32)
        report(out, i, settings, fragment, entry.window, valueScale(METRIC, WEIGHTED), scratch->peaks, count,
               [map, cols = entry.window.cols](int x, int y) { return map[y * cols + x]; });
}

template <Metric METRIC, bool WEIGHTED> void launchFusedDeepBands(const gpu::Job& job, const FusedDeepBands& plan)
{
    const auto kernel = job.batch.channels == 1 ? matchFusedDeepBandsKernel<METRIC, WEIGHTED, 1>
                                                : matchFusedDeepBandsKernel<METRIC, WEIGHTED, 3>;
    detail::launch("matchFusedDeepBands", kernel, dim3(job.batch.count), dim3(32 * plan.warps), plan.sharedBytes,
                   job.stream, job.frame, job.batch, job.settings, plan, job.walked, job.outputs);
}

} // namespace

namespace gpu {

void matchFusedDeepBands(const Job& job, const FusedDeepBands& plan)
{
    forProduct(job.settings.metric,
               [&](auto metric)
               {
                   const auto launch = job.batch.weighted ? launchFusedDeepBands<metric.value, true>
                                                          : launchFusedDeepBands<metric.value, false>;
                   launch(job, plan);
               });
}

} // namespace gpu

}}} // namespace cv::cuda::fragment_matcher
