// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher, route DEEP_BANDS: SSD and ZNCC of images of 16 bits by matrix instructions, for windows and
// fragments of any size. A value of 16 bits is two bytes, so sums of products are correlations of bytes
// (bands_device.hpp), each with a place value, that are added in 64 bits.
#ifndef OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_DEEP_BANDS_HPP
#define OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_DEEP_BANDS_HPP

#include "bands.hpp"

namespace cv { namespace cuda { namespace fragment_matcher {

namespace tuning {

//! Most chunks of 16 rows of a band in shared memory at a time: with 8 rows of a fragment they fit devices of 64 KB.
const int DEEP_CHUNKS = 20;
//! Rows of positions for which a thread sums up four columns.
const int DEEP_COLUMN_ROWS = 16;
//! Threads per block of the kernels that sum up columns and lines.
const int DEEP_SUM_THREADS = 64;

//! Largest width times largest height of the fragments of a call: all take as much memory as one of both. The words of
//! its bands, and the step of the loop that writes them behind these, then fit into 32 bits.
const int64_t MAX_DEEP_PIXELS = 100000000;

} // namespace tuning

namespace gpu {

// Planes of the image: the high bytes of all channels, their low bytes and, with weights, the bytes of the sums of
// their squares, high ones first. Planes of bands: without weights the high bytes of all channels and their low bytes;
// with weights the three bytes of q T of all channels, high ones first, and q.

//! Returns the number of bytes of a sum of squares over all channels.
CT_HOST_DEVICE constexpr int deepSquareBytes(int channels) { return channels == 1 ? 4 : 5; }
CT_HOST_DEVICE constexpr int deepImagePlanes(int channels, bool weighted)
{
    return 2 * channels + (weighted ? deepSquareBytes(channels) : 0);
}
CT_HOST_DEVICE constexpr int deepBandPlanes(int channels, bool weighted)
{
    return weighted ? 3 * channels + 1 : 2 * channels;
}
//! Returns the number of sums per position that are correlations: S(qIT); with weights also S(qI^2) and, with `image`,
//! S(qI) of each channel.
CT_HOST_DEVICE constexpr int deepSums(int channels, bool weighted, bool image)
{
    return weighted ? 2 + (image ? channels : 0) : 1;
}
//! Returns the number of box sums per position: without weights S(I^2) and, with `image`, S(I) of each channel.
CT_HOST_DEVICE constexpr int deepBoxes(int channels, bool weighted, bool image)
{
    return weighted ? 0 : 1 + (image ? channels : 0);
}
//! Returns the number of correlations of bytes.
CT_HOST_DEVICE constexpr int deepProducts(int channels, bool weighted, bool image)
{
    return weighted ? 6 * channels + deepSquareBytes(channels) + (image ? 2 * channels : 0) : 4 * channels;
}

struct DeepPlan
{
    BandPlan bands;    //!< planes, bands and sums; `sumsEach` counts all sums of a fragment, of 64 bits
    int pieceChunks;   //!< chunks of a band in shared memory at a time, a multiple of BandPlan::group
    bool image;        //!< S(qI) is needed
    int linesPitch;    //!< elements from line to line of box sums, a multiple of 4
    size_t linesEach;  //!< elements of all lines of box sums of a fragment, line by line for each box sum
    size_t bestsBytes; //!< shared memory for bests of tiles in the search for peaks
};

//! Device memory of matchDeepBands().
struct DeepMemory
{
    BandMemory bands;
    /** Prefix sums of lines: element x of line y is the sum over the rows of position row y, and the columns before x.
    The first column is that of the planes' last multiple of 16 before the window, as in BandMemory::sums. */
    uint64_t* lines;
};

void matchDeepBands(const Job& job, const DeepPlan& plan, const DeepMemory& memory, const Windows& windows);

// Its kernels:

//! Converts the image and the templates to planes of bytes and bands.
void prepareDeepBands(const Job& job, const DeepPlan& plan, const DeepMemory& memory);
//! Computes BandMemory::sums.
void correlateDeepBands(const Job& job, const DeepPlan& plan, const DeepMemory& memory);
//! Computes DeepMemory::lines.
void sumDeepLines(const Job& job, const DeepPlan& plan, const DeepMemory& memory);
//! Computes values from sums, finds peaks and reports them.
void valuesOfDeepBands(const Job& job, const DeepPlan& plan, const DeepMemory& memory, const Windows& windows);

} // namespace gpu

//! Plans windows of any size.
gpu::DeepPlan planDeepBands(const MatchCase& given, const Load& load);

}}} // namespace cv::cuda::fragment_matcher

#endif // OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_DEEP_BANDS_HPP
