// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher, walk: three-step search. One block per fragment; one or three warps for each of the nine points of a
// step. Cost: 8 (log2(radius) + 1) positions of w x h pixels. Bound by latency: a step begins when the last one is
// known.

#include "device.hpp"
#include "stages.hpp"

namespace cv { namespace cuda { namespace fragment_matcher {

namespace {

using namespace device;

//! Points of a step; warps of a block for many fragments, and for few.
const int POINTS = 9, MANY_WARPS = POINTS, FEW_WARPS = 3 * POINTS;

//! Sums of a position, to the definition of the metric: `cross` is S(qIT), and `differences` S itself.
struct WalkSums
{
    uint64_t differences, cross, squares, image[3];
};

//! How values are made: SAD or SSD of differences, or ZNCC; of 16 bits; with weights, which 16 bits always have; bytes
//! from pixel to pixel.
template <Metric METRIC_, bool DEEP_, bool WEIGHTED_, int STRIDE_> struct Kind
{
    static constexpr Metric METRIC = METRIC_;
    static constexpr bool DEEP = DEEP_, WEIGHTED = WEIGHTED_, CORRELATION = isCorrelation(METRIC);
    static constexpr int STRIDE = STRIDE_, CHANNELS = STRIDE == 1 ? 1 : 3; //!< of 8 bits
};

//! Blocks per multiprocessor for many fragments, which limits registers.
template <class K> constexpr int MANY_BLOCKS = K::WEIGHTED ? 3 : 4;

//! The next word or pixel of a thread: it takes every `step`th of `width` columns, row after row.
struct Walker
{
    __device__ Walker(int width, int begin, int step) : row(begin / width), column(begin - row * width), columns(width)
    {
        down = step / width;
        right = step - down * width;
    }
    __device__ __forceinline__ void advance()
    {
        row += down, column += right;
        if (column >= columns)
            column -= columns, ++row;
    }

    int row, column;

private:
    int columns, down, right;
};

//! Parts of WalkSums in 32 bits; products with weights are 256 times the first and the `Low` ones.
struct WordSums
{
    uint32_t products, productsLow; //!< of differences or cross
    uint32_t squares, squaresLow, image[3];
};
//! Most words that a thread adds up in 32 bits: each adds up to 4 * 255 * 255 of each of three channels.
const int MOST_WORDS = 4096;
static_assert(MOST_WORDS * 3ull * 4 * 255 * 255 < 1ull << 32, "32 bits hold the sums");

//! Adds four pixels of a channel. @param weights unweighted: the bits of the fragment's pixels.
template <class K>
__device__ __forceinline__ void addWord(uint32_t image, uint32_t templ, uint32_t weights, int c, WordSums& sums)
{
    if (!K::WEIGHTED)
        image &= weights; // templates end in zeros
    const uint32_t factor = K::CORRELATION ? image : __vabsdiffu4(image, templ);
    if (K::METRIC == Metric::SAD)
    {
        sums.products = K::WEIGHTED ? dot4(factor, weights, sums.products) : sad4(image, templ, sums.products);
        return;
    }
    const uint32_t other = K::CORRELATION ? templ : factor;
    uint32_t high = factor, low = 0;
    if (K::WEIGHTED)
    {
        multiply4(factor, weights, high, low);
        sums.productsLow = dot4(low, other, sums.productsLow);
    }
    sums.products = dot4(high, other, sums.products);
    if (!K::CORRELATION)
        return;
    if (K::WEIGHTED)
        sums.squaresLow = dot4(low, image, sums.squaresLow);
    sums.squares = dot4(high, image, sums.squares);
    sums.image[c] = dot4(image, K::WEIGHTED ? weights : 0x01010101u, sums.image[c]);
}

//! Adds the sums of words.
template <class K> __device__ __forceinline__ void addSums(const WordSums& words, WalkSums& sums)
{
    const auto whole = [](uint32_t high, uint32_t low)
    { return K::WEIGHTED && K::METRIC != Metric::SAD ? (static_cast<uint64_t>(high) << 8) + low : high; };
    (K::CORRELATION ? sums.cross : sums.differences) += whole(words.products, words.productsLow);
    if (!K::CORRELATION)
        return;
    sums.squares += whole(words.squares, words.squaresLow);
#pragma unroll
    for (int c = 0; c < K::CHANNELS; ++c)
        sums.image[c] += words.image[c];
}

/** Adds the thread's share of a position: every `threads`th word of the template from `thread` on. INSIDE: the words of
the image that have a pixel of the position lie in its rows. */
template <class K, bool INSIDE>
__device__ __forceinline__ void addWords(const ByteImageView& frame, const uint32_t* templ,
                                         const DeviceFragment& fragment, int x, int y, int thread, int threads,
                                         WalkSums& sums)
{
    const int pitch = fragment.pitch, height = fragment.height, last = (fragment.width - 1) / 4;
    const size_t planeWords = static_cast<size_t>(pitch) * height;
    const uint32_t lastBits = ~0u >> 8 * (4 * last + 4 - fragment.width);
    const uint8_t* const rows = frame.data + static_cast<size_t>(y) * frame.step;
    Walker at(last + 1, thread, threads);
    while (at.row < height)
    {
        WordSums words = {};
#pragma unroll(INSIDE ? 4 : 1) // loads of several words at once
        for (int k = 0; k < MOST_WORDS && at.row < height; ++k, at.advance())
        {
            const uint32_t* const word = templ + (static_cast<size_t>(at.row) * pitch + at.column);
            const uint8_t* const row = rows + at.row * frame.step;
            const int first = (x + 4 * at.column) * K::STRIDE;
            uint32_t pixels[K::STRIDE + 1], shift;
            if (INSIDE)
            {
                const int before = static_cast<int>(reinterpret_cast<uintptr_t>(row + first) & 3);
                const uint32_t* const from = reinterpret_cast<const uint32_t*>(row + first - before);
#pragma unroll
                for (int j = 0; j <= K::STRIDE; ++j)
                    pixels[j] = __ldg(from + j);
                shift = 8 * before;
            }
            else
                shift = loadPixels<K::STRIDE>(row, first, frame.cols * K::STRIDE, pixels);
            const uint32_t weights =
                K::WEIGHTED ? __ldg(word + K::CHANNELS * planeWords) : (at.column == last ? lastBits : ~0u);
#pragma unroll
            for (int c = 0; c < K::CHANNELS; ++c)
                addWord<K>(planeWord<K::STRIDE>(pixels, 0, shift, c), __ldg(word + c * planeWords), weights, c, words);
        }
        addSums<K>(words, sums);
    }
}

//! Adds the thread's share of any position.
template <class K>
__device__ __forceinline__ void addWords(const ByteImageView& frame, const uint32_t* templ,
                                         const DeviceFragment& fragment, int x, int y, int thread, int threads,
                                         WalkSums& sums)
{
    const int begin = x * K::STRIDE, end = begin + (fragment.width + 3) / 4 * 4 * K::STRIDE;
    if (begin >= 3 && end + 4 <= frame.cols * K::STRIDE)
        addWords<K, true>(frame, templ, fragment, x, y, thread, threads, sums);
    else
        addWords<K, false>(frame, templ, fragment, x, y, thread, threads, sums);
}

//! Adds the thread's share of a position in images of 16 bits, pixel by pixel; weights are 255 if there are none. Sums
//! of 64 bits, terms of at most 255^3; see MAX_DEEP_SAMPLES.
template <class K>
__device__ __forceinline__ void addPixels(const ByteImageView& frame, const uint32_t* templ, int channels,
                                          const DeviceFragment& fragment, int x, int y, int thread, int threads,
                                          WalkSums& sums)
{
    const size_t planeBytes = static_cast<size_t>(fragment.pitch) * fragment.height * 4;
    Walker at(fragment.width, thread, threads);
#pragma unroll 4 // loads of several pixels at once
    for (; at.row < fragment.height; at.advance())
    {
        const uint8_t* const bytes =
            reinterpret_cast<const uint8_t*>(templ) + static_cast<size_t>(at.row) * fragment.pitch * 4 + at.column;
        const uint16_t* const pixel = reinterpret_cast<const uint16_t*>(frame.pixel(x + at.column, y + at.row));
        const uint64_t q = bytes[gpu::templateBytes(channels, true) * planeBytes];
#pragma unroll
        for (int c = 0; c < 3; ++c)
        {
            if (c >= channels)
                break;
            const uint32_t value = pixel[c];
            const uint32_t other = bytes[c * planeBytes] << 8 | bytes[(channels + c) * planeBytes];
            if (K::CORRELATION)
            {
                sums.image[c] += q * value;
                sums.squares += q * value * value;
                sums.cross += q * value * other;
            }
            else
            {
                const uint32_t difference = value - other; // the square of 16 bits is exact modulo 2^32
                sums.differences += q * (difference * difference);
            }
        }
    }
}

//! Returns the sum of a warp: of 27 bits at a time, because one instruction adds up 32 bits.
__device__ __forceinline__ uint64_t sumOfLanes(uint64_t value)
{
#if __CUDA_ARCH__ >= 800
    const auto part = [&](int bits)
    {
        const uint32_t some = static_cast<uint32_t>(value >> bits) & 0x7ffffff;
        return static_cast<uint64_t>(__reduce_add_sync(detail::ALL_LANES, some)) << bits;
    };
    return part(0) + part(27) + part(54);
#else
    return detail::sumOfWarp(value);
#endif
}

//! Adds up the sums of a warp.
template <class K> __device__ __forceinline__ void addLanes(WalkSums& sums)
{
    if (!K::CORRELATION)
    {
        sums.differences = sumOfLanes(sums.differences);
        return;
    }
    sums.cross = sumOfLanes(sums.cross);
    sums.squares = sumOfLanes(sums.squares);
#pragma unroll
    for (int c = 0; c < (K::DEEP ? 3 : K::CHANNELS); ++c)
        sums.image[c] = sumOfLanes(sums.image[c]);
}

//! Returns the sums of a warp's share of a position of the frame.
template <class K>
__device__ __forceinline__ WalkSums sumsOfWarp(const ByteImageView& frame, const Batch& batch, const Entry& entry,
                                               int x, int y, int thread, int threads)
{
    const uint32_t* const templ = batch.arena + entry.fragment.words;
    WalkSums sums = {};
    if constexpr (K::DEEP)
        addPixels<K>(frame, templ, batch.channels, entry.fragment, x, y, thread, threads, sums);
    else
        addWords<K>(frame, templ, entry.fragment, x, y, thread, threads, sums);
    addLanes<K>(sums);
    return sums;
}

//! Returns the value of a position, from the sums of `parts` warps, POINTS apart.
template <class K>
__device__ __forceinline__ uint64_t valueOf(const WalkSums* of, int parts, const Batch& batch,
                                            const DeviceFragment& fragment)
{
    WalkSums sums = of[0];
    for (int k = 1; k < parts; ++k)
    {
        const WalkSums& more = of[k * POINTS];
        sums.differences += more.differences, sums.cross += more.cross, sums.squares += more.squares;
#pragma unroll
        for (int c = 0; c < 3; ++c)
            sums.image[c] += more.image[c];
    }
    if (!K::CORRELATION)
        return K::DEEP && !batch.weighted ? sums.differences / 255 : sums.differences;
    if (K::DEEP)
    {
        const DeepSums deep = {sums.cross, sums.squares, {sums.image[0], sums.image[1], sums.image[2]}};
        return znccToValue(deepZnccScore(deep, fragment.sums, batch.channels, deepDeviation(fragment.sums)));
    }
    const uint64_t q = K::WEIGHTED ? 1 : 255;
    uint64_t n = fragment.sums.W * q * sums.cross, v = fragment.sums.W * q * sums.squares;
#pragma unroll
    for (int c = 0; c < K::CHANNELS; ++c)
    {
        const uint64_t sum = q * sums.image[c];
        n -= sum * fragment.sums.qT[c];
        v -= sum * sum;
    }
    return znccToValue(znccScore(static_cast<int64_t>(n), static_cast<int64_t>(v), fragment.variance));
}

template <class K, int WARPS>
__global__ void __launch_bounds__(32 * WARPS, WARPS == MANY_WARPS ? MANY_BLOCKS<K> : 1)
    walkKernel(const ByteImageView frame, const Batch batch, const Settings settings, const int scale, Best* walked,
               const Outputs out)
{
    __shared__ WalkSums sums[WARPS];
    __shared__ uint64_t values[POINTS];
    __shared__ Best bestOfStep;
    __shared__ Entry entry;
    __shared__ int status;
    const int e = blockIdx.x, warp = threadIdx.x / 32, lane = threadIdx.x % 32, i = fragmentOf(batch, e);
    openEntry(batch, i, areaOf(frame, batch, i), loadFragment(batch, i), &entry, &status);
    __syncthreads(); // the entry is complete
    if (status != STATUS_FOUND)
    {
        if (threadIdx.x == 0)
        {
            if (settings.peaks == 1)
                reportNothing(out, i, 1, status);
            walked[e] = Best::none();
        }
        return;
    }
    const SearchWindow window = entry.window;
    constexpr int PARTS = WARPS / POINTS; // warps per point
    const int point = warp % POINTS, thread = warp / POINTS * 32 + lane;
    const Position prediction = batch.predictions ? *batch.predictions.row(i) : Position{0, 0};
    Position centre = walkStart(window, static_cast<bool>(batch.predictions), prediction);
    const int reach = walkReach(window, centre);
    // step 0 evaluates the neighbours of the result, whose values sub-pixel offsets need
    const int lastStep = reach == 0 || (settings.subpixel && settings.peaks == 1) ? 0 : 1;
    Best best = Best::none();
    for (int step = reach > 0 ? firstStep(reach) : 0;; step /= 2)
    {
        const int spread = step > 0 ? step : 1;
        const auto pointAt = [&](int p, int& x, int& y)
        {
            x = centre.x + (p % 3 - 1) * spread, y = centre.y + (p / 3 - 1) * spread;
            return x >= 0 && x < window.cols && y >= 0 && y < window.rows;
        };
        const bool known = best.index != Best::NONE; // the value in the centre
        int x, y;
        if (pointAt(point, x, y) && !(known && point == POINTS / 2))
        {
            const WalkSums mine = sumsOfWarp<K>(frame, batch, entry, window.x + x, window.y + y, thread, 32 * PARTS);
            if (lane == 0)
                sums[warp] = mine;
        }
        __syncthreads(); // the sums are complete
        if (warp == 0)
        {
            Best own = Best::none(); // of one point per lane
            if (lane < POINTS && pointAt(lane, x, y))
            {
                const uint64_t value =
                    known && lane == POINTS / 2 ? best.value : valueOf<K>(sums + lane, PARTS, batch, entry.fragment);
                values[lane] = value;
                if (step > 0 || lane == POINTS / 2)
                    own = {value, y * window.cols + x};
            }
            own = warpBest<uint64_t>(own);
            if (lane == 0)
                bestOfStep = own;
        }
        __syncthreads(); // the best is known, and the sums have been read
        best = bestOfStep;
        centre = {best.index % window.cols, best.index / window.cols};
        if (step == lastStep)
            break;
    }
    if (threadIdx.x == 0)
        walked[e] = best;
    const Peak<uint64_t> peak = {best.value, centre.x, centre.y};
    if (settings.peaks != 1 || warp > 0)
        return;
    Settings ofMetric = settings;
    ofMetric.metric = K::METRIC; // which is known when this is compiled
    report(out, i, ofMetric, entry.fragment, window, scale, &peak, 1,
           [&](int x, int y) { return values[4 + (x - centre.x) + 3 * (y - centre.y)]; });
}

} // namespace

namespace gpu {

void walk(const ByteImageView& frame, const Batch& batch, const Settings& settings, Best* walked, const Outputs& out,
          StreamHandle stream)
{
    const int scale = valueScale(settings.metric, batch.weighted);
    const bool few = batch.count <= detail::multiprocessors();
    forMetric(settings.metric, batch.weighted, batch.channels,
              [&](auto metric, auto weighted, auto channels)
              {
                  const auto launch = [&](auto kind)
                  {
                      using K = decltype(kind);
                      detail::launch("walk", few ? walkKernel<K, FEW_WARPS> : walkKernel<K, MANY_WARPS>,
                                     detail::linearGrid(batch.count, 1), dim3(32 * (few ? FEW_WARPS : MANY_WARPS)), 0,
                                     stream, frame, batch, settings, scale, walked, out);
                  };
                  constexpr Metric theMetric = metric.value;
                  constexpr bool isWeighted = weighted.value;
                  constexpr Metric deepMetric = theMetric == Metric::ZNCC ? Metric::ZNCC : Metric::SSD;
                  if (frame.deep())
                      launch(Kind<deepMetric, true, true, 1>());
                  else if (channels.value == 1)
                      launch(Kind<theMetric, false, isWeighted, 1>());
                  else if (frame.pixelStride == 3)
                      launch(Kind<theMetric, false, isWeighted, 3>());
                  else
                      launch(Kind<theMetric, false, isWeighted, 4>());
              });
}

} // namespace gpu

}}} // namespace cv::cuda::fragment_matcher
