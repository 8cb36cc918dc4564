// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Plans of QuickShift's CUDA backend: which features an image gets, how offsets and stacks are cut, and the scratch of
// stages. Constants that were tuned are in tuning.hpp.
#ifndef OPENCV_CUDATRACKING_CUDA_QUICK_SHIFT_PLAN_HPP
#define OPENCV_CUDATRACKING_CUDA_QUICK_SHIFT_PLAN_HPP

#include "../../common/device.hpp"
#include "../../quick_shift/stages.hpp"
#include "tuning.hpp"
#include <algorithm>
#include <type_traits>

namespace cv { namespace cuda { namespace quick_shift { namespace gpu {

//! Returns true if features are words of 8-bit channels, false if they are planes of floats.
inline bool heldInWords(int depth, int channels, const Scales& scales, const Parameters& parameters)
{
    return depth == detail::DEPTH_8U && channels <= FEW_CHANNELS && !scales.used && fitsWords(-parameters.minusRate);
}

//! Returns the number of cells of a stack.
inline int cellsOf(const Extent& extent)
{
    return detail::ceilDiv(extent.cols, CELL) * detail::ceilDiv(extent.rows, CELL) * extent.count;
}

//! Sums of weights, one per pixel of a stack. One of the two is null.
struct WeightSums
{
    uint32_t* narrow;         //!< where all weights of a window fit 32 bits
    unsigned long long* wide; //!< elsewhere
};

//! Returns true if the sum of all weights of a window fits 32 bits.
inline bool fitsNarrowSums(const Parameters& parameters) { return parameters.shift == 0; }

//! List of pixels whose search leaves the tile of their block. Has room for all pixels.
struct Worklist
{
    int* pixels;
    int* count;
};

//! Scratch of label and rankPieces.
struct Ranking
{
    int* jumps;       //!< total() elements: an ancestor of each pixel
    uint32_t* roots;  //!< bits of the pixels of a segment, 1 for roots
    int* counts;      //!< roots per segment of a row, see segmentsOf()
    int* ranks;       //!< roots before each segment in the stack; one more element than segments: all roots
    void* scans;      //!< memory for CUB
    size_t scanBytes; //!< at least scanBytesFor()
};

//! Scratch and results of selectLinks and sortLinks: arrays of total() elements.
struct Links
{
    float *unsorted, *sorted;
    float* heights; //!< out: distinct lengths, ascending
    int *lengths, *sums;
    int* left; //!< out: superpixels when links longer than heights[k] are cut
};

//! Connected pieces of a stack: arrays of total() elements, indices into the stack.
struct Pieces
{
    int* root;                //!< links to the roots, the first pixels of pieces; -1 where masked
    int* area;                //!< pixels per piece, at its root
    unsigned long long* best; //!< pieceRank() of the neighbour that the piece joins, 0 for none
    int* joined;              //!< 1 if any piece has joined another
};

//! Returns the bytes that CUB needs in label(), numberSuperpixels(), selectLinks() and sortLinks().
size_t scanBytesFor(const Extent& extent);
//! Returns the bytes that CUB needs in sortBorders().
size_t sortBytesFor(int count);

//! Returns the number of segments of an image. A segment is 32 pixels of a row; roots are counted per segment.
CT_HOST_DEVICE int segmentsOf(const Extent& extent) { return detail::ceilDiv(extent.cols, 32) * extent.rows; }

//! Returns true if the pixel below pixel i of the stack belongs to the same image.
CT_HOST_DEVICE bool hasBelow(const Extent& extent, int i)
{
    return i + extent.cols < extent.total() && (extent.count == 1 || i / extent.cols % extent.rows + 1 < extent.rows);
}

//! Chunks of the offsets of the density window, such that credits of a chunk fit 32 bits and its neighbours fit shared
//! memory.
struct Chunks
{
    int dxStep, dyStep;   //!< offsets per chunk
    int dxCount, dyCount; //!< number of chunks
};

//! Cuts the offsets evenly. @param dxCount,dyCount most chunks of columns and of rows; there are fewer where these
//! would be empty.
inline Chunks cutOffsetsInto(int radius, int dxCount, int dyCount)
{
    const int height = 2 * radius + 1, width = radius + 1;
    Chunks c;
    c.dyStep = detail::ceilDiv(height, dyCount);
    c.dyCount = detail::ceilDiv(height, c.dyStep);
    c.dxStep = detail::ceilDiv(width, dxCount);
    c.dxCount = detail::ceilDiv(width, c.dxStep);
    return c;
}
//! Cuts the offsets as evenly as the limits allow. @param mostDx most columns per chunk. @param mostDy most rows.
inline Chunks cutOffsets(int radius, int mostDx, int mostDy = tuning::CHUNK_DY)
{
    return cutOffsetsInto(radius, detail::ceilDiv(radius + 1, mostDx), detail::ceilDiv(2 * radius + 1, mostDy));
}

//! Block of the density kernels: COLS columns by GROUPS groups of CENTRES rows, one thread per column and group.
template <int COLS_, int GROUPS, int CENTRES_> struct TileShape
{
    static const int COLS = COLS_, CENTRES = CENTRES_, ROWS = GROUPS * CENTRES_, THREADS = COLS_ * GROUPS;
};
typedef TileShape<tuning::BYTE_COLS, tuning::BYTE_GROUPS, tuning::BYTE_CENTRES> ByteShape;
typedef TileShape<tuning::PLANE_COLS, tuning::PLANE_GROUPS, tuning::PLANE_CENTRES> PlaneShape;
typedef TileShape<tuning::PLANE_COLS, tuning::BAND_GROUPS, tuning::PLANE_CENTRES> BandShape;
//! Shape of the blocks for so many planes.
template <int PLANES> using ShapeOf = std::conditional_t<(PLANES > FEW_CHANNELS), BandShape, PlaneShape>;

//! Returns the number of tiles of an image; a tile is the pixels of a block.
template <typename Shape> CT_HOST_DEVICE int tilesOf(const Extent& extent)
{
    return detail::ceilDiv(extent.cols, Shape::COLS) * detail::ceilDiv(extent.rows, Shape::ROWS);
}

//! Cuts the offsets for 8 bits. Small images get more and smaller chunks where otherwise multiprocessors would be idle.
inline Chunks cutForBytes(const Extent& extent, int radius, int multiprocessors)
{
    const Chunks fewest = cutOffsets(radius, tuning::BYTE_DX);
    const int64_t tiles = static_cast<int64_t>(tilesOf<ByteShape>(extent)) * extent.count;
    const auto countFor = [&](int64_t blocks, int least, int more)
    { return static_cast<int>(std::min<int64_t>(std::max<int64_t>(multiprocessors / blocks, least), least + more)); };
    const int dxCount = countFor(tiles * fewest.dyCount, fewest.dxCount, tuning::BYTE_MORE_DX);
    return cutOffsetsInto(radius, dxCount, countFor(tiles * dxCount, fewest.dyCount, tuning::BYTE_MORE_DY));
}
// Shared memory of the 8-bit density kernel: BYTE_DX columns of spatial factors, then rows of the window. It has no
// static memory.
const int BYTE_PITCH = ByteShape::COLS + tuning::BYTE_DX - 1; //!< words of each kind per row
//! Returns the words per row: credits, pixels and, if the window leaves the image or has masked pixels, start values of
//! dp4a.
CT_HOST_DEVICE constexpr int byteStride(bool guarded) { return (guarded ? 3 : 2) * BYTE_PITCH; }
//! Returns the factors per column of spatial factors, of which dyCount are used.
CT_HOST_DEVICE int paddedFactors(int dyCount) { return detail::ceilDiv(dyCount, 4) * 4; }
//! Returns the offset of the rows in words.
CT_HOST_DEVICE int byteRowsAt(int dyCount) { return tuning::BYTE_DX * paddedFactors(dyCount); }
//! Returns the bytes of shared memory.
inline size_t bytesOfByteTile(const Chunks& chunks)
{
    const size_t rows = ByteShape::ROWS + chunks.dyStep - 1;
    return sizeof(uint32_t) * (byteRowsAt(chunks.dyStep) + rows * byteStride(true));
}

//! Returns the bytes of shared memory of the float density kernel: planes of credits and of each channel, then spatial
//! factors.
template <typename Shape> size_t bytesOfPlaneTile(const Chunks& c, int planes)
{
    const size_t window = static_cast<size_t>(Shape::COLS + c.dxStep - 1) * (Shape::ROWS + c.dyStep - 1);
    return sizeof(uint32_t) * (window * (1 + planes) + static_cast<size_t>(c.dxStep) * c.dyStep);
}

//! Cuts the offsets for planes of floats.
inline Chunks cutForPlanes(int radius, int planes)
{
    return planes > FEW_CHANNELS ? cutOffsets(radius, tuning::BAND_DX, tuning::BAND_DY)
                                 : cutOffsets(radius, tuning::PLANE_DX);
}

}}}} // namespace cv::cuda::quick_shift::gpu

#endif // OPENCV_CUDATRACKING_CUDA_QUICK_SHIFT_PLAN_HPP
