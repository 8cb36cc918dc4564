// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher: data layouts that the CUDA backend's host code and the kernels of several routes share: fragments in
// the arena, the batch of a launch, images in shared memory, and windows in device memory. g++ compiles it too.
#ifndef OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_LAYOUT_HPP
#define OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_LAYOUT_HPP

#include "metric.hpp"

namespace cv { namespace cuda { namespace fragment_matcher {

namespace tuning {

//! Positions per tile: 64 columns are two transactions of a warp, and 16 rows give 128 threads eight positions each.
const int TILE_COLS = 64, TILE_ROWS = 16;
//! Upper bound of the static shared memory of kernels in tiles, which plans leave free. Common_CudaPlans.staticMemory
//! compares it with the compiled kernels.
const size_t TILE_STATIC_BYTES = 4 * 1024;
//! Device memory for the values of one launch, bytes; more fragments are matched in several launches. A fragment in
//! 1080p takes 8 MB.
const size_t TILE_VALUES_BUDGET = size_t(256) << 20;

} // namespace tuning

namespace gpu {

// --- fragments -------------------------------------------------------------------------------------------------------

/** One fragment on the device. The template lies in an arena of 32-bit words, four neighbouring pixels of one channel
per word, the first pixel in the lowest byte: `channels` planes of height x pitch words, of 16 bits their high bytes and
then as many planes of their low bytes; then a plane of weights. Pixels beyond the width are 0 in all planes, so that
the last word of the weights masks them out. */
struct DeviceFragment
{
    int width, height;
    int pitch;    //!< words from row to row, a multiple of 4: rows are read 16 bytes at a time
    int unused;   //!< fills the gap, because kernels copy this struct word by word
    size_t words; //!< offset of the first plane in the arena
    TemplateSums sums;
    int64_t variance; //!< templateVariance(); of 16 bits and of large fragments 0 if that is 0, else 1
};

//! Returns DeviceFragment::pitch.
inline int pitchOf(int width) { return detail::ceilDiv(width, 16) * 4; }

//! Returns the number of planes of a template without weights.
CT_HOST_DEVICE constexpr int templateBytes(int channels, bool deep) { return deep ? 2 * channels : channels; }

//! Returns the words of the arena that a fragment takes. @param deep 16 bits per channel
inline size_t wordsOf(int width, int height, int channels, bool deep)
{
    return static_cast<size_t>(templateBytes(channels, deep) + 1) * pitchOf(width) * height;
}

//! A fragment to be packed: source and destination of the copy.
struct PackJob
{
    ByteImageView templ;
    const void* weights;
    size_t weightsStep;
    int weightsDepth;
    int slot;     //!< index of the DeviceFragment to write
    int pitch;    //!< DeviceFragment's
    size_t words; //!< DeviceFragment's
};

//! Fragments of one launch. Entry e stands for fragment i = list ? list[first + e] : first + e: fragments[slots[i]].
struct Batch
{
    const DeviceFragment* fragments;
    const uint32_t* arena;
    const int* slots;
    const int* list; //!< null: all fragments in order
    int first, count;
    ConstRowsView<Rect4> areas;  //!< one per fragment; null: the whole frame
    int limitWidth, limitHeight; //!< largest area in pixels; larger ones get STATUS_AREA_TOO_LARGE
    int channels;
    bool weighted;                       //!< false: every q is 255, and sums omit that factor
    ConstRowsView<Position> predictions; //!< one per fragment; for walk only
};

//! A value and its raster index. index = NONE, larger than any index: nothing found.
struct Best
{
    static constexpr int NONE = 0x7fffffff;
    uint64_t value;
    int index;

    CT_HOST_DEVICE static Best none() { return {~0ull, NONE}; }
    CT_HOST_DEVICE bool beatenBy(uint64_t v, int i) const { return v < value || (v == value && i < index); }
    CT_HOST_DEVICE void take(uint64_t v, int i)
    {
        if (beatenBy(v, i))
        {
            value = v;
            index = i;
        }
    }
};

//! The fragments of one launch, and where their results go.
struct Job
{
    ByteImageView frame;
    Batch batch;
    Settings settings;  //!< peaks == 0: only values are computed
    const Best* walked; //!< results of the three-step search, one per entry, which are peak 0; null: there are none
    Outputs outputs;
    StreamHandle stream;
};

// --- images in shared memory (src/cuda/fragment_matcher/staging.hpp) -------------------------------------------------

//! Copies of the image in a block's shared memory, and the division of the copying among its threads.
struct StagePlan
{
    int units, rawPitch; //!< pitch of the expanded image in units of 16 bytes; pitch of the raw image in words
    int rawWords;        //!< words of the raw image
    int expandedWords;   //!< words per plane of the expanded image
    //! Part of each thread and step to its next part; divisions are multiplications by inverses, see quotient().
    int fetchThreads, fetchStep, expandStep, expandStepUnits;
    uint32_t fetchInverse, expandInverse;
};

//! Returns the words from row to row of a raw image `cols` pixels wide, whose rows begin up to 3 bytes after the start
//! of a word.
inline int rawPitch(int cols, int stride) { return (cols * stride + 6 + 12) / 16 * 4; }

//! Returns the words of a raw image, including those after its last row that expandPlane() reads and ignores.
inline int rawWords(int rows, int pitch, int units, int stride)
{
    const int read = 4 * stride * units + (stride == 4 ? 8 : 4);
    return rows * pitch + (read > pitch ? read - pitch : 0);
}

//! Returns the pitch of an expanded row, an odd number of units of 16 bytes: all words that `positions` positions from
//! word `firstWord` (a multiple of 4) on read for a template of `width` pixels.
inline int expandedUnits(int firstWord, int positions, int width)
{
    return (firstWord / 4 + (positions + (width + 3) / 4 + 2) / 4) | 1;
}

//! Returns the inverse of d for quotient().
inline uint32_t inverseOf(int d) { return (1u << 20) / d + 1; }

//! Divides the work of staging among the threads of a block.
inline void setThreads(StagePlan& plan, int threads)
{
    plan.fetchThreads = plan.rawPitch < threads ? plan.rawPitch : threads;
    plan.fetchStep = threads / plan.fetchThreads;
    plan.fetchInverse = inverseOf(plan.fetchThreads);
    plan.expandStep = threads / plan.units;
    plan.expandStepUnits = threads % plan.units;
    plan.expandInverse = inverseOf(plan.units);
}

// --- windows in device memory ----------------------------------------------------------------------------------------

//! The best of a tile of positions.
struct alignas(16) TileBest
{
    uint64_t value;
    int index, y; //!< raster index of the position, and its row in the window
};

//! Search windows that several blocks share. A plan sets the sizes of the largest, then the memory for the fragments of
//! a launch.
struct Windows
{
    int cols, rows;     //!< largest window, in positions
    int tilesX, tilesY; //!< tiles per row and per column of the largest window
    bool wide;          //!< values take 64 bits, else 32
    void* values;       //!< positions() per entry
    TileBest* bests;    //!< tiles() per entry
    unsigned* finished; //!< one counter of finished blocks per entry, 0 before and after a launch

    CT_HOST_DEVICE size_t positions() const { return static_cast<size_t>(cols) * rows; }
    CT_HOST_DEVICE int tiles() const { return tilesX * tilesY; }
};

} // namespace gpu

}}} // namespace cv::cuda::fragment_matcher

#endif // OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_LAYOUT_HPP
