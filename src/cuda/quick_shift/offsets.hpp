// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// The order in which QuickShift's parent search visits a pixel's neighbourhood on CUDA: by squared distance. The search then
// ends at the first offset that is farther than the best candidate. For .cu files.
#ifndef OPENCV_CUDATRACKING_CUDA_QUICK_SHIFT_OFFSETS_HPP
#define OPENCV_CUDATRACKING_CUDA_QUICK_SHIFT_OFFSETS_HPP

#include "../../common/hostdevice.hpp"
#include "tuning.hpp"
#include <cstdint>

namespace cv { namespace cuda { namespace quick_shift { namespace gpu {

const int REACH = tuning::TILE_REACH;
const int OFFSETS = (2 * REACH + 1) * (2 * REACH + 1) - 1; //!< of the square

//! An offset as a number; the order of these numbers is raster order.
constexpr CT_HOST_DEVICE uint32_t codeOf(int dx, int dy) { return (dy + REACH) * 32 + dx + REACH; }
CT_HOST_DEVICE int dxOf(uint32_t code) { return static_cast<int>(code % 32) - REACH; }
CT_HOST_DEVICE int dyOf(uint32_t code) { return static_cast<int>(code / 32) - REACH; }
static_assert(2 * REACH < 32, "codes have five bits for each direction");

//! The offsets of the square in order of ds = dx^2 + dy^2, then raster order. The compiler takes them from here as constants.
struct OffsetTable
{
    int dx[OFFSETS], dy[OFFSETS], ds[OFFSETS + 1];

    constexpr OffsetTable() : dx(), dy(), ds()
    {
        int n = 0;
        for (int d = 1; d <= 2 * REACH * REACH; ++d)
            for (int y = -REACH; y <= REACH; ++y)
                for (int x = -REACH; x <= REACH; ++x)
                    if (x * x + y * y == d)
                    {
                        dx[n] = x;
                        dy[n] = y;
                        ds[n++] = d;
                    }
        ds[n] = 0x7fff; // nothing of the square is that far
    }
    //! Number of offsets nearer than ds.
    constexpr int nearer(int d) const
    {
        int n = 0;
        while (ds[n] < d)
            ++n;
        return n;
    }
};
constexpr OffsetTable TABLE;
//! Up to here the square has all offsets that are so near: a search that may leave the square stops here.
const int WHOLE_DISC = TABLE.nearer((REACH + 1) * (REACH + 1));

//! The same for lanes that look at different offsets: ds, code and the larger of |dx| and |dy|.
struct PackedOffsets
{
    uint32_t entry[OFFSETS];

    constexpr PackedOffsets() : entry()
    {
        for (int k = 0; k < OFFSETS; ++k)
        {
            const int ax = TABLE.dx[k] < 0 ? -TABLE.dx[k] : TABLE.dx[k],
                      ay = TABLE.dy[k] < 0 ? -TABLE.dy[k] : TABLE.dy[k];
            entry[k] = static_cast<uint32_t>(TABLE.ds[k]) | codeOf(TABLE.dx[k], TABLE.dy[k]) << 8 |
                       static_cast<uint32_t>(ax > ay ? ax : ay) << 20;
        }
    }
    static CT_HOST_DEVICE int ds(uint32_t packed) { return packed & 255; }
    static CT_HOST_DEVICE uint32_t code(uint32_t packed) { return packed >> 8 & 0xfff; }
    static CT_HOST_DEVICE int radius(uint32_t packed) { return packed >> 20; }
};
static_assert(2 * REACH * REACH < 256, "packed offsets have eight bits for ds");

}}}} // namespace cv::cuda::quick_shift::gpu

#endif // OPENCV_CUDATRACKING_CUDA_QUICK_SHIFT_OFFSETS_HPP
