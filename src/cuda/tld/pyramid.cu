// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// pyramid: gray images of halved sizes. It runs concurrently with the detector.
//
//   halveLevels   one tile of up to DEPTH levels per block, from a tile of the level above them with a border: a level is made of the
//                 one before it in shared memory, first along the rows, then down the columns. A thread keeps its column
//
// Cost: as borders overlap, a tile of 64 x 64 pixels reads 2.9 times its own pixels and makes 2.7 times its own pixels of the next level,
// a tile of 32 x 32 5.8 and 5.3 times. Bound by latency on small images: levels in shared memory need no launches.
#include "objects.hpp"
#include "../../common/launch.hpp"

namespace cv { namespace cuda { namespace tld { namespace gpu {

namespace {

const int DEPTH = tuning::PYRAMID_DEPTH;

//! Pixels to the left of the own pixels of a tile that the levels below need. @param l level below the first one of a launch.
__host__ __device__ constexpr int borderOf(int l) { return l == DEPTH ? 0 : 2 * borderOf(l + 1) + 2; }
//! Side of the tile of a level with its border. The last level has no border. @param tile side in the first level.
__host__ __device__ constexpr int sideOf(int tile, int l)
{
    return l == DEPTH ? tile >> DEPTH : 2 * sideOf(tile, l + 1) + 3;
}
//! Rows of the first level are loaded by words, from a multiple of 4 on.
const int LEFT = (borderOf(0) + 3) / 4 * 4;
__host__ __device__ constexpr int pitchOf(int tile) { return (LEFT - borderOf(0) + sideOf(tile, 0) + 3) / 4 * 4; }

//! A level of the tile: the pixels at index 0 of its rows and columns, and its size in the image.
struct Place
{
    int x, y, cols, rows;
};

template <int TILE> struct HalveMemory
{
    alignas(4) uint8_t first[sideOf(TILE, 0) * pitchOf(TILE)];
    uint16_t sums[sideOf(TILE, 0) * sideOf(TILE, 1)];     //!< along the rows of the level above
    uint8_t others[2][sideOf(TILE, 1) * sideOf(TILE, 1)]; //!< levels, alternating
};
static_assert(sizeof(HalveMemory<tuning::PYRAMID_TILE>) <= 48 * 1024, "static shared memory");

//! Weighs five values by 1 4 6 4 1. @param at function of their index, -2 to 2.
template <typename At> __device__ __forceinline__ unsigned weigh(const At& at)
{
    return at(-2) + at(2) + 4 * (at(-1) + at(1)) + 6 * at(0);
}

//! Halves a level of the tile. Pixels outside of the image are not made, and not used either. Ends with a barrier.
//! @tparam L the new level. @param pitch of `above`. @param to the level in the image.
template <int TILE, int L>
__device__ __forceinline__ void halve(const uint8_t* above, int pitch, const Place& from, const Place& place,
                                      uint16_t* sums, uint8_t* level, uint8_t* to, int step)
{
    const int ABOVE = sideOf(TILE, L - 1), SIDE = sideOf(TILE, L), BORDER = borderOf(L), OWN = TILE >> L;
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

//! Halves level L and those below it. @param first level of the image that the tile begins with. @param levels to make, in all.
template <int TILE, int L>
__device__ __forceinline__ void halveFrom(const Batch& batch, int slot, int first, int levels, int tileX, int tileY,
                                          const Place& from, HalveMemory<TILE>& m)
{
    if (L > levels)
        return;
    const int to = first + L;
    const Place place = {tileX * (TILE >> L) - borderOf(L), tileY * (TILE >> L) - borderOf(L), batch.levels.cols[to],
                         batch.levels.rows[to]};
    const uint8_t* const above = L == 1 ? m.first : m.others[L % 2];
    halve<TILE, L>(above, L == 1 ? pitchOf(TILE) : sideOf(TILE, L - 1), from, place, m.sums, m.others[(L + 1) % 2],
                   batch.level(slot, to), batch.levels.step[to]);
    if constexpr (L < DEPTH)
        halveFrom<TILE, L + 1>(batch, slot, first, levels, tileX, tileY, place, m);
}

template <int TILE>
__global__ void __launch_bounds__(tuning::HALVE_THREADS)
    halveLevels(const __grid_constant__ Batch batch, int age, int first, int levels, int tilesAcross)
{
    beginEarly();
    __shared__ HalveMemory<TILE> m;
    const int tileX = static_cast<int>(blockIdx.x) % tilesAcross, tileY = static_cast<int>(blockIdx.x) / tilesAcross;
    const int slot = batch.ring->slot[age], step = batch.levels.step[first];
    const Place place = {tileX * TILE - LEFT, tileY * TILE - borderOf(0), batch.levels.cols[first],
                         batch.levels.rows[first]};
    const uint8_t* const level = batch.level(slot, first);
    // Rows in memory are whole words; what lies outside of the image is not used.
    const int WORDS = pitchOf(TILE) / 4, COUNT = sideOf(TILE, 0) * WORDS,
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
    halveFrom<TILE, 1>(batch, slot, first, levels, tileX, tileY, place, m);
}

template <int TILE> void launchHalveLevels(const Batch& batch, int age, int first, detail::StreamHandle stream)
{
    const int across = detail::ceilDiv(batch.levels.cols[first], TILE),
              down = detail::ceilDiv(batch.levels.rows[first], TILE);
    detail::launchAs(first > 0, "tld pyramid", halveLevels<TILE>, dim3(static_cast<unsigned>(across) * down),
                     dim3(tuning::HALVE_THREADS), 0, stream, batch, age, first,
                     lesser(DEPTH, batch.levels.count - 1 - first), across);
}

} // namespace

void pyramid(const Batch& batch, int age, detail::StreamHandle stream)
{
    for (int first = 0; first + 1 < batch.levels.count; first += DEPTH)
    {
        const int pixels = batch.levels.cols[first] * batch.levels.rows[first];
        pixels <= tuning::PYRAMID_SMALL ? launchHalveLevels<tuning::PYRAMID_SMALL_TILE>(batch, age, first, stream)
                                        : launchHalveLevels<tuning::PYRAMID_TILE>(batch, age, first, stream);
    }
}

}}}} // namespace cv::cuda::tld::gpu
