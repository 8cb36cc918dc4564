// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Device code that the kernels of FragmentMatcher share: staging of picture and template, sums, search for the minimum.
//
// Staged picture. Byte sums run on four pixels of one channel at a time (vabsdiff4, dp4a), at any x offset. So each row of
// each channel lies in shared memory four times, once for each byte phase p: word k of phase p holds pixels
// 4k+p .. 4k+p+3. A thread's positions are 4 apart, x = p + 4i, so its windows for word j of a template row are the
// consecutive words i+j, and serve several positions from registers. Rows of all phases follow each other
// ((row * 4 + phase) * units, in units of 16 bytes). `units` is odd, so that 8 lanes on consecutive (row, phase) read 16
// bytes each without bank conflicts.
#ifndef OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_DEVICE_HPP
#define OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_DEVICE_HPP

#include "cvconfig.h"
#include "../common/launch.hpp"
#include "../fragment_matcher/stages.hpp"
#include "fragment_matcher_tuning.hpp"

namespace cv { namespace cuda { namespace fragment_matcher { namespace device {

//! Sum of absolute differences of four bytes, added to `sum`. One instruction up to sm_100.
__device__ __forceinline__ uint32_t sad4(uint32_t a, uint32_t b, uint32_t sum)
{
#if __CUDA_ARCH__ < 1200
    uint32_t result;
    asm("vabsdiff4.u32.u32.u32.add %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(sum));
    return result;
#else
    return __dp4a(__vabsdiffu4(a, b), 0x01010101u, sum);
#endif
}

__device__ __forceinline__ uint32_t dot4(uint32_t a, uint32_t b, uint32_t sum) { return __dp4a(a, b, sum); }

//! High and low bytes of the products of the bytes of a and b.
__device__ __forceinline__ void multiply4(uint32_t a, uint32_t b, uint32_t& high, uint32_t& low)
{
    const uint32_t p0 = (a & 0xff) * (b & 0xff), p1 = ((a >> 8) & 0xff) * ((b >> 8) & 0xff);
    const uint32_t p2 = ((a >> 16) & 0xff) * ((b >> 16) & 0xff), p3 = (a >> 24) * (b >> 24);
    const uint32_t p01 = __byte_perm(p0, p1, 0x5410), p23 = __byte_perm(p2, p3, 0x5410);
    low = __byte_perm(p01, p23, 0x6420);
    high = __byte_perm(p01, p23, 0x7531);
}

// --- staging ---------------------------------------------------------------------------------------------------------

/** The WORDS + 1 aligned words that hold the 4 * WORDS bytes from `begin`, which may have any alignment; 0 when not
`wanted`. Bytes outside of [first, end) are 0: no word that reaches beyond is read as one. */
template <int WORDS>
__device__ __forceinline__ void fetchWords(const uint8_t* begin, const uint8_t* first, const uint8_t* end, bool wanted,
                                           uint32_t* raw)
{
    const uint8_t* aligned = begin - (reinterpret_cast<uintptr_t>(begin) & 3);
    const bool inside = wanted && aligned >= first && aligned + 4 * (WORDS + 1) <= end;
#pragma unroll
    for (int k = 0; k <= WORDS; ++k)
        raw[k] = inside ? __ldg(reinterpret_cast<const uint32_t*>(aligned) + k) : 0;
    if (wanted && !inside)
    {
#pragma unroll
        for (int k = 0; k <= WORDS; ++k)
            for (int b = 0; b < 4; ++b)
            {
                const uint8_t* byte = aligned + 4 * k + b;
                if (byte >= first && byte < end)
                    raw[k] |= static_cast<uint32_t>(__ldg(byte)) << (8 * b);
            }
    }
}

//! Eight pixels from fetched words: word 0 (pixels 0..3) and word 1 (pixels 4..7) of each channel.
template <int CHANNELS>
__device__ __forceinline__ void splitChannels(const uint32_t* raw, uint32_t misalignment, int pixelStride,
                                              uint32_t (*planes)[2])
{
    uint32_t w[8] = {};
#pragma unroll
    for (int k = 0; k < (CHANNELS == 1 ? 2 : 8); ++k)
        w[k] = __funnelshift_r(raw[k], raw[k + 1], 8 * misalignment);
#pragma unroll
    for (int h = 0; h < 2; ++h)
    {
        if (CHANNELS == 1)
            planes[0][h] = w[h];
        else if (pixelStride == 3) // b g r b | g r b g | r b g r
        {
            const uint32_t a = w[3 * h], b = w[3 * h + 1], c = w[3 * h + 2];
            planes[0][h] = __byte_perm(__byte_perm(a, b, 0x0630), c, 0x5210);
            planes[1 % CHANNELS][h] = __byte_perm(__byte_perm(a, b, 0x0741), c, 0x6210);
            planes[2 % CHANNELS][h] = __byte_perm(__byte_perm(a, b, 0x0052), c, 0x7410);
        }
        else // b g r x, four times
        {
            const uint32_t bg01 = __byte_perm(w[4 * h], w[4 * h + 1], 0x5140);     // b0 b1 g0 g1
            const uint32_t bg23 = __byte_perm(w[4 * h + 2], w[4 * h + 3], 0x5140); // b2 b3 g2 g3
            planes[0][h] = __byte_perm(bg01, bg23, 0x5410);
            planes[1 % CHANNELS][h] = __byte_perm(bg01, bg23, 0x7632);
            planes[2 % CHANNELS][h] = __byte_perm(__byte_perm(w[4 * h], w[4 * h + 1], 0x0062),
                                                  __byte_perm(w[4 * h + 2], w[4 * h + 3], 0x0062), 0x5410);
        }
    }
}

/** Stages `rows` rows of the picture from (x, y), 16 * units bytes of each phase, for the block. PLANES = 3 stages all
channels, planeWords apart; PLANES = 1 channel `plane` alone. Rows beyond the picture are left as they are. A thread has
several loads on their way before it uses the first: with one wave of blocks nothing else would hide their latency. */
template <int CHANNELS, int PLANES>
__device__ void stagePicture(const ImageView& frame, int x, int y, int rows, int units, int plane, uint32_t* staged,
                             int planeWords)
{
    constexpr int AHEAD = CHANNELS == 1 ? tuning::STAGE_AHEAD_GRAY : tuning::STAGE_AHEAD_COLOR;
    constexpr int RAW = CHANNELS == 1 ? 3 : 9;
    const int groups = 4 * units, stepRows = blockDim.x / groups, stepGroups = blockDim.x - stepRows * groups;
    rows = ::min(rows, frame.rows - y);
    int r = threadIdx.x / groups, k = threadIdx.x - r * groups;
    while (r < rows)
    {
        uint32_t raw[AHEAD][RAW], misalignment[AHEAD];
        uint32_t* word[AHEAD];
#pragma unroll
        for (int a = 0; a < AHEAD; ++a)
        {
            const uint8_t* first = frame.pixel(0, y + r);
            const uint8_t* end = first + frame.cols * frame.pixelStride;
            const uint8_t* begin = first + (x + 4 * k) * frame.pixelStride;
            const bool wanted = r < rows && begin < end;
            if (CHANNELS == 1)
                fetchWords<2>(begin, first, end, wanted, raw[a]);
            else if (frame.pixelStride == 3)
            {
                fetchWords<6>(begin, first, end, wanted, raw[a]);
                raw[a][RAW - 2] = raw[a][RAW - 1] = 0;
            }
            else
                fetchWords<RAW - 1>(begin, first, end, wanted, raw[a]);
            misalignment[a] = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(begin) & 3);
            word[a] = r < rows ? staged + 4 * r * groups + k : nullptr;
            r += stepRows;
            k += stepGroups;
            if (k >= groups)
            {
                k -= groups;
                ++r;
            }
        }
#pragma unroll
        for (int a = 0; a < AHEAD; ++a)
        {
            uint32_t planes[CHANNELS][2];
            splitChannels<CHANNELS>(raw[a], misalignment[a], frame.pixelStride, planes);
            if (word[a] == nullptr)
                break;
#pragma unroll
            for (int c = 0; c < CHANNELS; ++c)
            {
                if (PLANES == 1 && c != plane)
                    continue;
#pragma unroll
                for (int phase = 0; phase < 4; ++phase)
                    word[a][(PLANES == 1 ? 0 : c * planeWords) + phase * groups] =
                        __funnelshift_r(planes[c][0], planes[c][1], 8 * phase);
            }
        }
    }
}

//! Moments of weighted squares and cross terms need q T split into bytes; see multiply4().
template <int METRIC, bool WEIGHTED> struct Traits
{
    static constexpr bool MOMENTS = METRIC == METRIC_ZNCC || (METRIC == METRIC_SSD && WEIGHTED);
    static constexpr bool SPLIT = MOMENTS && WEIGHTED;
    static constexpr int TEMPLATE_PLANES = SPLIT ? 2 : 1; //!< staged words a template word
};

//! Stages rows x words (a multiple of 4) of one template plane and of the weights, 16 bytes a thread and step.
template <bool SPLIT>
__device__ void stageTemplate(const uint32_t* templ, const uint32_t* weights, int pitch, int rows, int words,
                              uint32_t* t, uint32_t* tLow, uint32_t* q)
{
    const int quads = words / 4;
    for (int u = threadIdx.x; u < rows * quads; u += blockDim.x)
    {
        const int r = u / quads, source = r * pitch + 4 * (u - r * quads);
        const uint4 value = __ldg(reinterpret_cast<const uint4*>(templ + source));
        const uint4 weight = __ldg(reinterpret_cast<const uint4*>(weights + source));
        uint4 high = value;
        if (SPLIT)
        {
            uint4 low;
            multiply4(value.x, weight.x, high.x, low.x);
            multiply4(value.y, weight.y, high.y, low.y);
            multiply4(value.z, weight.z, high.z, low.z);
            multiply4(value.w, weight.w, high.w, low.w);
            reinterpret_cast<uint4*>(tLow)[u] = low;
        }
        reinterpret_cast<uint4*>(t)[u] = high;
        reinterpret_cast<uint4*>(q)[u] = weight;
    }
}

// --- sums ------------------------------------------------------------------------------------------------------------

/** Sums of P positions, 4 pixels apart. SAD and unweighted SSD: `sum`. Moments: S(qI), S(qI^2), S(qIT), the last two as
256 * high + low when weighted. Unweighted sums leave the factor 255 out. */
template <int METRIC, bool WEIGHTED, int P> struct Sums
{
    static constexpr bool MOMENTS = Traits<METRIC, WEIGHTED>::MOMENTS, SPLIT = Traits<METRIC, WEIGHTED>::SPLIT;
    static constexpr int WINDOW = (P + 6) / 4 * 4; //!< words that P positions need for 4 template words, rounded up

    uint32_t sum[P], squares[P], squaresLow[P], cross[P], crossLow[P];

    __device__ __forceinline__ void clear()
    {
#pragma unroll
        for (int i = 0; i < P; ++i)
            sum[i] = squares[i] = squaresLow[i] = cross[i] = crossLow[i] = 0;
    }

    __device__ __forceinline__ void add(int i, uint32_t image, uint32_t high, uint32_t low, uint32_t t, uint32_t tLow,
                                        uint32_t q)
    {
        if (METRIC == METRIC_SAD)
            sum[i] = WEIGHTED ? dot4(__vabsdiffu4(image, t), q, sum[i]) : sad4(image, t, sum[i]);
        else if (!MOMENTS)
        {
            const uint32_t difference = __vabsdiffu4(image, t);
            sum[i] = dot4(difference, difference, sum[i]);
        }
        else
        {
            if (METRIC == METRIC_ZNCC)
                sum[i] = WEIGHTED ? dot4(image, q, sum[i]) : sad4(image, 0, sum[i]);
            squares[i] = WEIGHTED ? dot4(high, q, squares[i]) : dot4(image, image, squares[i]);
            cross[i] = dot4(image, t, cross[i]);
            if (WEIGHTED)
            {
                squaresLow[i] = dot4(low, q, squaresLow[i]);
                crossLow[i] = dot4(image, tLow, crossLow[i]);
            }
        }
    }

    __device__ __forceinline__ uint64_t squaresOf(int i) const
    {
        return WEIGHTED ? (static_cast<uint64_t>(squares[i]) << 8) + squaresLow[i] : 255ull * squares[i];
    }
    __device__ __forceinline__ uint64_t crossOf(int i) const
    {
        return WEIGHTED ? (static_cast<uint64_t>(cross[i]) << 8) + crossLow[i] : 255ull * cross[i];
    }
    __device__ __forceinline__ uint64_t imageOf(int i) const { return WEIGHTED ? sum[i] : 255ull * sum[i]; }

    //! Adds `rows` rows of a template, `width` pixels each; steps in words from row to row.
    __device__ __forceinline__ void addRows(const uint32_t* picture, int pictureStep, const uint32_t* t,
                                            const uint32_t* tLow, const uint32_t* q, int step, int rows, int width)
    {
        if (width != 16)
        {
            for (int r = 0; r < rows; ++r, picture += pictureStep, t += step, tLow += step, q += step)
                addRow(picture, t, tLow, q, width);
            return;
        }
#pragma unroll 2
        for (int r = 0; r < rows; ++r, picture += pictureStep, t += step, tLow += step, q += step)
        {
            uint32_t image[WINDOW], high[WINDOW], low[WINDOW];
#pragma unroll
            for (int k = 0; k < WINDOW; k += 4)
                unpack(reinterpret_cast<const uint4*>(picture)[k / 4], image, high, low, k);
            addGroup(image, high, low, t, tLow, q);
        }
    }

    //! Adds one row of a template, `width` pixels. picture: the first word that position 0 needs; all 16-byte aligned.
    __device__ __forceinline__ void addRow(const uint32_t* picture, const uint32_t* t, const uint32_t* tLow,
                                           const uint32_t* q, int width)
    {
        uint32_t image[WINDOW], high[WINDOW], low[WINDOW];
        const uint4* source = reinterpret_cast<const uint4*>(picture);
#pragma unroll
        for (int k = 0; k < WINDOW; k += 4)
            unpack(*source++, image, high, low, k);
        const int groups = width >> 4;
#pragma unroll 2
        for (int g = 0; g < groups; ++g)
        {
            const uint4 next = *source++; // of the next group; LOOK_AHEAD bytes behind the picture can be read
            addGroup(image, high, low, t + 4 * g, SPLIT ? tLow + 4 * g : tLow, q + 4 * g);
#pragma unroll
            for (int k = 0; k + 4 < WINDOW; ++k)
            {
                image[k] = image[k + 4];
                high[k] = high[k + 4];
                low[k] = low[k + 4];
            }
            unpack(next, image, high, low, WINDOW - 4);
        }
        if (width % 16 == 0)
            return;
        const int rest = (width % 16 + 3) / 4;
#pragma unroll
        for (int j = 0; j < 4; ++j) // up to three whole words and one that the weights mask
        {
            if (j >= rest)
                break;
            const uint32_t weight = q[4 * groups + j], value = t[4 * groups + j];
            const uint32_t valueLow = SPLIT ? tLow[4 * groups + j] : 0;
#pragma unroll
            for (int i = 0; i < P; ++i)
                add(i, WEIGHTED ? image[i + j] : image[i + j] & weight, high[i + j], low[i + j], value, valueLow,
                    weight);
        }
    }

private:
    //! Adds four words of a template row.
    __device__ __forceinline__ void addGroup(const uint32_t* image, const uint32_t* high, const uint32_t* low,
                                             const uint32_t* t, const uint32_t* tLow, const uint32_t* q)
    {
        const uint4 t4 = *reinterpret_cast<const uint4*>(t);
        uint4 low4 = {}, q4 = {};
        if (SPLIT)
            low4 = *reinterpret_cast<const uint4*>(tLow);
        if (WEIGHTED)
            q4 = *reinterpret_cast<const uint4*>(q);
#pragma unroll
        for (int i = 0; i < P; ++i)
        {
            add(i, image[i], high[i], low[i], t4.x, low4.x, q4.x);
            add(i, image[i + 1], high[i + 1], low[i + 1], t4.y, low4.y, q4.y);
            add(i, image[i + 2], high[i + 2], low[i + 2], t4.z, low4.z, q4.z);
            add(i, image[i + 3], high[i + 3], low[i + 3], t4.w, low4.w, q4.w);
        }
    }

    static __device__ __forceinline__ void unpack(uint4 w, uint32_t* image, uint32_t* high, uint32_t* low, int k)
    {
        image[k] = w.x;
        image[k + 1] = w.y;
        image[k + 2] = w.z;
        image[k + 3] = w.w;
        if (SPLIT)
        {
#pragma unroll
            for (int m = k; m < k + 4; ++m)
                multiply4(image[m], image[m], high[m], low[m]);
        }
    }
};

//! Folds position i's moments of channel c: S(qIT) terms to `covariance`, S(qI^2) terms to `variance`, modulo 2^64.
//! ZNCC: n_c and v_c. Weighted SSD: S(qIT) and S(qI^2) themselves.
template <int METRIC, bool WEIGHTED, int P>
__device__ __forceinline__ void foldMoments(const Sums<METRIC, WEIGHTED, P>& sums, int i, const TemplateSums& templ,
                                            int c, uint64_t& covariance, uint64_t& variance)
{
    if (METRIC == METRIC_ZNCC)
    {
        const uint64_t image = sums.imageOf(i);
        covariance += templ.W * sums.crossOf(i) - image * templ.qT[c];
        variance += templ.W * sums.squaresOf(i) - image * image;
    }
    else
    {
        covariance += sums.crossOf(i);
        variance += sums.squaresOf(i);
    }
}

//! The value of a position from its folded moments.
template <int METRIC>
__device__ __forceinline__ uint64_t momentsValue(uint64_t covariance, uint64_t variance, const DeviceFragment& fragment)
{
    if (METRIC == METRIC_ZNCC)
        return znccToValue(
            znccScore(static_cast<int64_t>(covariance), static_cast<int64_t>(variance), fragment.variance));
    return fragment.sums.qT2 - 2 * covariance + variance;
}

//! Width of a staged row in odd units of 16 bytes: all words that windows of `window` words at positions up to
//! `positionWords` read for a template of `width` pixels.
CT_HOST_DEVICE int stagedUnits(int positionWords, int window, int width)
{
    const int groups = width / 16, advances = width % 16 != 0 ? groups : groups - 1;
    return ((positionWords + window + 4 * advances) / 4) | 1;
}

//! Bytes behind the staged picture that addRow() may read, and ignores.
const int LOOK_AHEAD = 16;

// --- search for the minimum ------------------------------------------------------------------------------------------

//! A value and its raster index. Nothing found: index = NONE, larger than any.
struct Best
{
    static constexpr int NONE = 0x7fffffff;
    uint64_t value;
    int index;

    __device__ __forceinline__ static Best none() { return {~0ull, NONE}; }
    __device__ __forceinline__ bool beatenBy(uint64_t v, int i) const { return v < value || (v == value && i < index); }
    __device__ __forceinline__ void take(uint64_t v, int i)
    {
        if (beatenBy(v, i))
        {
            value = v;
            index = i;
        }
    }
};

__device__ __forceinline__ Best warpBest(Best best)
{
#if __CUDA_ARCH__ >= 800
    const uint32_t high = static_cast<uint32_t>(best.value >> 32), leastHigh = __reduce_min_sync(~0u, high);
    const uint32_t low = high == leastHigh ? static_cast<uint32_t>(best.value) : ~0u,
                   leastLow = __reduce_min_sync(~0u, low);
    const bool least = high == leastHigh && static_cast<uint32_t>(best.value) == leastLow;
    const int index = __reduce_min_sync(~0u, least ? best.index : Best::NONE);
    return {static_cast<uint64_t>(leastHigh) << 32 | leastLow, index};
#else
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2)
    {
        const uint64_t value = __shfl_xor_sync(~0u, best.value, distance);
        best.take(value, __shfl_xor_sync(~0u, best.index, distance));
    }
    return best;
#endif
}

//! The block's best, in all threads. `scratch` holds one Best a warp; barriers inside, also before scratch is written.
__device__ __forceinline__ Best blockBest(Best best, Best* scratch)
{
    best = warpBest(best);
    const int warps = (blockDim.x + 31) / 32;
    __syncthreads(); // scratch may still be read from the last call
    if (threadIdx.x % 32 == 0)
        scratch[threadIdx.x / 32] = best;
    __syncthreads();
    best = threadIdx.x % 32 < warps ? scratch[threadIdx.x % 32] : Best::none();
    return warpBest(best);
}

//! True when (x, y) lies outside the zones of the first `count` peaks.
__device__ __forceinline__ bool allowed(int x, int y, const Best* peaks, int count, int cols, int distance,
                                        int exclusion)
{
    for (int j = 0; j < count; ++j)
    {
        const int py = peaks[j].index / cols, px = peaks[j].index - py * cols;
        if (!outsideZone(x - px, y - py, distance, exclusion))
            return false;
    }
    return true;
}

// --- report ----------------------------------------------------------------------------------------------------------

//! Factor between the sums of kernels and S: unweighted SAD and SSD leave 255 out.
__host__ __device__ __forceinline__ int valueScale(int metric, bool weighted)
{
    return weighted || metric == METRIC_ZNCC ? 1 : 255;
}

/** Writes fragment i's outputs; threads 0 .. settings.peaks - 1 of the block take part. `valueAt(x, y)`: the value of a
position of the window. Entries of peaks beyond `count` need not be set. */
template <typename ValueAt>
__device__ void report(const Outputs& out, int i, const Settings& settings, const DeviceFragment& fragment,
                       const SearchWindow& window, int scale, const Best* peaks, int count, ValueAt valueAt)
{
    const int j = threadIdx.x;
    if (j < settings.peaks)
    {
        const bool found = j < count;
        const int y = found ? peaks[j].index / window.cols : 0, x = found ? peaks[j].index - y * window.cols : 0;
        const Position location = {found ? window.x + x : -1, found ? window.y + y : -1};
        if (out.locations)
            out.locations.row(i)[j] = location;
        if (out.scores)
            out.scores.row(i)[j] = found ? scoreOf(scale * peaks[j].value, settings.metric, fragment.sums.W) : 0.f;
        if (out.refined)
        {
            Offset2 refined = {static_cast<float>(location.x), static_cast<float>(location.y)};
            if (found && settings.subpixel)
            {
                const uint64_t at = scale * peaks[j].value;
                if (x > 0 && x < window.cols - 1)
                    refined.x +=
                        subpixelOffset(scale * valueAt(x - 1, y), at, scale * valueAt(x + 1, y), settings.metric);
                if (y > 0 && y < window.rows - 1)
                    refined.y +=
                        subpixelOffset(scale * valueAt(x, y - 1), at, scale * valueAt(x, y + 1), settings.metric);
            }
            out.refined.row(i)[j] = refined;
        }
    }
    if (j == 0)
    {
        if (out.confidence)
            *out.confidence.row(i) =
                count > 1 ? confidenceOf(scale * peaks[0].value, scale * peaks[1].value, settings.metric) : -1.f;
        if (out.status)
            *out.status.row(i) =
                settings.metric == METRIC_ZNCC && fragment.variance == 0 ? STATUS_FLAT_FRAGMENT : STATUS_FOUND;
    }
}

//! What a block works on.
struct Entry
{
    int i; //!< fragment
    DeviceFragment fragment;
    SearchWindow window;
};

//! Entry e, and the status to report when there is nothing to search.
__device__ __forceinline__ int openEntry(const ImageView& frame, const Batch& batch, int e, Entry& entry)
{
    entry.i = batch.list ? batch.list[batch.first + e] : batch.first + e;
    entry.fragment = batch.fragments[batch.slots[entry.i]];
    Rect4 area = {0, 0, frame.cols, frame.rows};
    if (batch.areas)
        area = *batch.areas.row(entry.i);
    entry.window = searchWindow(area, frame.cols, frame.rows, entry.fragment.width, entry.fragment.height);
    if (entry.window.cols == 0 || entry.fragment.sums.W == 0)
        return STATUS_NO_POSITION;
    const bool tooLarge = entry.window.cols + entry.fragment.width - 1 > batch.limitWidth ||
                          entry.window.rows + entry.fragment.height - 1 > batch.limitHeight;
    return tooLarge ? STATUS_AREA_TOO_LARGE : STATUS_FOUND;
}

}}}} // namespace cv::cuda::fragment_matcher::device

#endif // OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_DEVICE_HPP
