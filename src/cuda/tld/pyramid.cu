// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// pyramid: gray images of halved sizes. It runs concurrently with the detector.
//
//   halveLevels   one tile of several levels per block, from a tile of the level above them with a border: a level is
//                 made of the one before it in shared memory, first along the rows, then down the columns. A thread
//                 keeps its column
//
// Cost: as borders overlap, a tile of 32 x 32 pixels for four levels reads 5.8 times its own pixels and makes 5.3 times
// its own pixels of the next level. A tile of 64 x 64 for two levels reads 1.3 times its own pixels, one of 128 x 128
// 1.15 times. Small images are bound by latency: levels in shared memory need no launches. On large ones fewer levels
// per launch and larger tiles have fewer barriers and smaller borders.
#include "objects.hpp"
#include "../../common/launch.hpp"

namespace cv { namespace cuda { namespace tld { namespace gpu {

namespace {

//! Tiles of a launch. @tparam SIDE_ pixels in the first level, without border. @tparam LEVELS_ most levels to make
template <int SIDE_, int LEVELS_> struct Tiles
{
    static const int SIDE = SIDE_, LEVELS = LEVELS_;

    //! Pixels to the left of the own pixels of a tile that the levels below need. @param l level below the first one of
    //! a launch.
    static __host__ __device__ constexpr int borderOf(int l) { return l == LEVELS ? 0 : 2 * borderOf(l + 1) + 2; }
    //! Side of the tile of a level with its border. The last level has no border.
    static __host__ __device__ constexpr int sideOf(int l)
    {
        return l == LEVELS ? SIDE >> LEVELS : 2 * sideOf(l + 1) + 3;
    }
    //! Rows of the first level are loaded by words, from a multiple of 4 on.
    static __host__ __device__ constexpr int left() { return (borderOf(0) + 3) / 4 * 4; }
    static __host__ __device__ constexpr int pitch() { return (left() - borderOf(0) + sideOf(0) + 3) / 4 * 4; }
};

//! A level of the tile: the pixels at index 0 of its rows and columns, and its size in the image.
struct Place
{
    int x, y, cols, rows;
};

template <typename T> struct HalveMemory
{
    alignas(4) uint8_t first[T::sideOf(0) * T::pitch()];
    uint16_t sums[T::sideOf(0) * T::sideOf(1)];     //!< along the rows of the level above
    uint8_t others[2][T::sideOf(1) * T::sideOf(1)]; //!< levels, alternating
};

//! Weighs five values by 1 4 6 4 1. @param at function of their index, -2 to 2.
template <typename At> __device__ __forceinline__ unsigned weigh(const At& at)
{
    return at(-2) + at(2) + 4 * (at(-1) + at(1)) + 6 * at(0);
}

//! Halves a level of the tile. Pixels outside of the image are not made, and not used either. Ends with a barrier.
//! @tparam L the new level. @param pitch of `above`. @param to the level in the image.
template <typename T, int L>
__device__ __forceinline__ void halve(const uint8_t* above, int pitch, const Place& from, const Place& place,
                                      uint16_t* sums, uint8_t* level, uint8_t* to, int step)
{
    const int ABOVE = T::sideOf(L - 1), SIDE = T::sideOf(L), BORDER = T::borderOf(L), OWN = T::SIDE >> L;
    const int AT_ONCE = tuning::HALVE_THREADS / SIDE; //!< rows
    const int i = static_cast<int>(threadIdx.x) % SIDE, first = static_cast<int>(threadIdx.x) / SIDE, x = place.x + i;
    const bool works = first < AT_ONCE && x >= 0 && x < place.cols;
    if (works)
    {
        int columns[5];
#pragma unroll
        for (int d = -2; d <= 2; ++d)
            columns[d + 2] = mirrored(2 * x + d, from.cols) - from.x;
        const int end = ::min(ABOVE, from.rows - from.y);
#pragma unroll 4
        for (int j = first + (from.y < 0 ? (-from.y - first + AT_ONCE - 1) / AT_ONCE * AT_ONCE : 0); j < end;
             j += AT_ONCE)
            sums[j * SIDE + i] = static_cast<uint16_t>(
                weigh([&](int d) { return static_cast<unsigned>(above[j * pitch + columns[d + 2]]); }));
    }
    __syncthreads(); // sums along rows
    if (works)
#pragma unroll 4
        for (int j = first; j < SIDE; j += AT_ONCE)
        {
            const int y = place.y + j;
            if (y < 0 || y >= place.rows)
                continue;
            const unsigned sum =
                weigh([&](int d)
                      { return static_cast<unsigned>(sums[(mirrored(2 * y + d, from.rows) - from.y) * SIDE + i]); });
            const uint8_t pixel = static_cast<uint8_t>(halved(sum));
            level[j * SIDE + i] = pixel;
            if (i >= BORDER && i < BORDER + OWN && j >= BORDER && j < BORDER + OWN)
                to[static_cast<size_t>(y) * step + x] = pixel;
        }
    __syncthreads(); // the level; sums are free again
}

//! Halves level L and those below it. @param first level of the image that the tile begins with. @param levels to make,
//! in all.
template <typename T, int L>
__device__ __forceinline__ void halveFrom(const Batch& batch, int slot, int first, int levels, int tileX, int tileY,
                                          const Place& from, HalveMemory<T>& m)
{
    if (L > levels)
        return;
    const int to = first + L;
    const Place place = {tileX * (T::SIDE >> L) - T::borderOf(L), tileY * (T::SIDE >> L) - T::borderOf(L),
                         batch.levels.cols[to], batch.levels.rows[to]};
    const uint8_t* const above = L == 1 ? m.first : m.others[L % 2];
    halve<T, L>(above, L == 1 ? T::pitch() : T::sideOf(L - 1), from, place, m.sums, m.others[(L + 1) % 2],
                batch.level(slot, to), batch.levels.step[to]);
    if constexpr (L < T::LEVELS)
        halveFrom<T, L + 1>(batch, slot, first, levels, tileX, tileY, place, m);
}

template <typename T>
__global__ void __launch_bounds__(tuning::HALVE_THREADS)
    halveLevels(const __grid_constant__ Batch batch, int age, int first, int levels, int tilesAcross)
{
    beginEarly();
    __shared__ HalveMemory<T> m;
    static_assert(sizeof(m) <= 48 * 1024, "static shared memory");
    const int tileX = static_cast<int>(blockIdx.x) % tilesAcross, tileY = static_cast<int>(blockIdx.x) / tilesAcross;
    const int slot = batch.ring->slot[age], step = batch.levels.step[first];
    const Place place = {tileX * T::SIDE - T::left(), tileY * T::SIDE - T::borderOf(0), batch.levels.cols[first],
                         batch.levels.rows[first]};
    const uint8_t* const level = batch.level(slot, first);
    // Rows in memory are whole words; what lies outside of the image is not used.
    const int WORDS = T::pitch() / 4, COUNT = T::sideOf(0) * WORDS,
              AT_ONCE = (COUNT + tuning::HALVE_THREADS - 1) / tuning::HALVE_THREADS;
    uint32_t words[AT_ONCE];
#pragma unroll
    for (int n = 0; n < AT_ONCE; ++n)
    {
        const int k = ::min(static_cast<int>(threadIdx.x) + n * tuning::HALVE_THREADS, COUNT - 1);
        const int x = ::min(::max(place.x + 4 * (k % WORDS), 0), step - 4);
        const int y = ::min(::max(place.y + k / WORDS, 0), place.rows - 1);
        words[n] = *reinterpret_cast<const uint32_t*>(level + static_cast<size_t>(y) * step + x);
    }
#pragma unroll
    for (int n = 0; n < AT_ONCE; ++n)
    {
        const int k = static_cast<int>(threadIdx.x) + n * tuning::HALVE_THREADS;
        if (k < COUNT)
            reinterpret_cast<uint32_t*>(m.first)[k] = words[n];
    }
    __syncthreads(); // the first level
    halveFrom<T, 1>(batch, slot, first, levels, tileX, tileY, place, m);
}

//! Makes the levels below level `first`, by blocks with one tile each. @return number of levels, unless there are
//! fewer.
template <typename T> int launchHalveLevels(const Batch& batch, int age, int first, detail::StreamHandle stream)
{
    const int across = detail::ceilDiv(batch.levels.cols[first], T::SIDE),
              down = detail::ceilDiv(batch.levels.rows[first], T::SIDE);
    detail::launchAs(first > 0, "tld pyramid", halveLevels<T>, dim3(static_cast<unsigned>(across) * down),
                     dim3(tuning::HALVE_THREADS), 0, stream, batch, age, first,
                     lesser(T::LEVELS, batch.levels.count - 1 - first), across);
    return T::LEVELS;
}

typedef Tiles<tuning::PYRAMID_SMALL_TILE, tuning::PYRAMID_SMALL_LEVELS> SmallTiles;
typedef Tiles<tuning::PYRAMID_TILE, tuning::PYRAMID_LEVELS> MediumTiles;
typedef Tiles<tuning::PYRAMID_LARGE_TILE, tuning::PYRAMID_LEVELS> LargeTiles;

} // namespace

void pyramid(const Batch& batch, int age, detail::StreamHandle stream)
{
    for (int first = 0; first + 1 < batch.levels.count;)
    {
        const int pixels = batch.levels.cols[first] * batch.levels.rows[first];
        first += pixels <= tuning::PYRAMID_SMALL    ? launchHalveLevels<SmallTiles>(batch, age, first, stream)
                 : pixels <= tuning::PYRAMID_MEDIUM ? launchHalveLevels<MediumTiles>(batch, age, first, stream)
                                                    : launchHalveLevels<LargeTiles>(batch, age, first, stream);
    }
}

}}}} // namespace cv::cuda::tld::gpu
