// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Offsets of a pixel's neighbourhood in the order in which QuickShift's parent search visits them on CUDA: by squared
// distance. So the search ends at the first offset that is farther than the best candidate. For .cu files.
#ifndef OPENCV_CUDATRACKING_CUDA_QUICK_SHIFT_OFFSETS_HPP
#define OPENCV_CUDATRACKING_CUDA_QUICK_SHIFT_OFFSETS_HPP

#include "../../common/hostdevice.hpp"
#include "tuning.hpp"
#include <cstdint>

namespace cv { namespace cuda { namespace quick_shift { namespace gpu {

const int REACH = tuning::TILE_REACH;                      //!< the table has the offsets with |dx|, |dy| <= REACH
const int OFFSETS = (2 * REACH + 1) * (2 * REACH + 1) - 1; //!< number of these offsets

//! Returns a code for an offset. Codes ascend in raster order.
constexpr CT_HOST_DEVICE uint32_t codeOf(int dx, int dy) { return (dy + REACH) * 32 + dx + REACH; }
CT_HOST_DEVICE int dxOf(uint32_t code) { return static_cast<int>(code % 32) - REACH; }
CT_HOST_DEVICE int dyOf(uint32_t code) { return static_cast<int>(code / 32) - REACH; }
static_assert(2 * REACH < 32, "codes have five bits for each direction");

//! Offsets in order of ds = dx^2 + dy^2, then raster order. Unrolled loops take them as compile-time constants.
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
        ds[n] = 0x7fff; // farther than any offset of the table
    }
    //! Returns the number of offsets with ds < d.
    constexpr int nearer(int d) const
    {
        int n = 0;
        while (ds[n] < d)
            ++n;
        return n;
    }
};
constexpr OffsetTable TABLE;
//! Number of offsets up to which the table is complete: nearer ones all lie in it. A search that may leave the tile
//! stops here.
const int WHOLE_DISC = TABLE.nearer((REACH + 1) * (REACH + 1));

//! Packed offsets, for lanes that visit different ones: ds in bits 0 to 7, code in 8 to 19, max(|dx|, |dy|) above.
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
