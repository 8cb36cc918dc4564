// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// The stages of FragmentMatcher, in the order in which both engines run them:
//
//   pack    quantise weights, sum up templates (once, when fragments are set)
//   walk    THREE_STEP only: the approximate best
//   scores  the value of every position of every search window
//   peaks   best, alternative and further peaks under the exclusion rule
//   report  scores, confidence, status, sub-pixel offsets
//
// "Value" is what positions are compared by (core.hpp).
#ifndef OPENCV_CUDATRACKING_FRAGMENT_MATCHER_STAGES_HPP
#define OPENCV_CUDATRACKING_FRAGMENT_MATCHER_STAGES_HPP

#include "../common/views.hpp"
#include "core.hpp"
#include <vector>

#ifdef HAVE_CUDA
#include "opencv2/core/types.hpp"
#include <cuda_runtime_api.h>
#endif

namespace cv { namespace cuda { namespace fragment_matcher {

using detail::ConstRowsView;
using detail::ImageView;
using detail::RowsView;

struct Settings
{
    int metric, exclusion, exclusionDistance, peaks, search;
    bool subpixel;
};

struct Offset2
{
    float x, y; //!< layout of cv::Point2f and of a CV_32FC2 element
};

//! Row i belongs to fragment i; column j to peak j. Views with a null pointer are not written.
struct Outputs
{
    RowsView<Position> locations;
    RowsView<float> scores;
    RowsView<float> confidence;
    RowsView<uint8_t> status;
    RowsView<Offset2> refined;
};

//! Reports a fragment that has no position at all.
CT_HOST_DEVICE void reportNothing(const Outputs& out, int i, int peaks, int status)
{
    for (int j = 0; j < peaks; ++j)
    {
        if (out.locations)
            out.locations.row(i)[j] = {-1, -1};
        if (out.scores)
            out.scores.row(i)[j] = 0.f;
        if (out.refined)
            out.refined.row(i)[j] = {-1.f, -1.f};
    }
    if (out.confidence)
        *out.confidence.row(i) = -1.f;
    if (out.status)
        *out.status.row(i) = static_cast<uint8_t>(status);
}

// --- CPU engine ------------------------------------------------------------------------------------------------------

//! One fragment as the CPU engine reads it: rows without gaps, channels interleaved; q null: full weight.
struct HostFragment
{
    const uint8_t* templ;
    const uint8_t* q;
    int width, height, channels;
    TemplateSums sums;
};

namespace cpu {

//! pack: the sums of one template.
TemplateSums templateSums(const uint8_t* templ, const uint8_t* q, int width, int height, int channels);

//! walk, scores, peaks and report of all fragments. areas null: the whole frame; predictions null: the centres.
void match(const ImageView& frame, const std::vector<HostFragment>& fragments, const Rect4* areas,
           ConstRowsView<Position> predictions, const Settings& settings, const Outputs& out);

//! scores: values of all positions of one window, row after row without gaps, on all threads.
void scores(const ImageView& frame, const HostFragment& fragment, const SearchWindow& window, int metric,
            uint64_t* values);

} // namespace cpu

// --- CUDA engine: one function a stage, asynchronous on `stream` -----------------------------------------------------

#ifdef HAVE_CUDA

/** One fragment on the device. The template lies in an arena of 32-bit words, four neighbouring pixels of one channel a
word, first pixel in the lowest byte: `channels` planes of height x pitch words, then a plane of weights. Pixels beyond the
width are 0 in all planes, so that the last word of the weights masks them out. */
struct DeviceFragment
{
    int width, height;
    int pitch;    //!< words from row to row, a multiple of 4: rows are read 16 bytes at a time
    int unused;   //!< no gap, as kernels copy this word by word
    size_t words; //!< offset of the first plane in the arena
    TemplateSums sums;
    int64_t variance; //!< templateVariance()
};

enum WeightsDepth
{
    WEIGHTS_NONE,
    WEIGHTS_8U,
    WEIGHTS_32F
};

//! What pack needs to make a DeviceFragment.
struct PackJob
{
    ImageView templ;
    const void* weights;
    size_t weightsStep;
    int weightsDepth;
    int slot; //!< which DeviceFragment to write
    int pitch;
    size_t words;
};

//! Fragments of one launch. Entry e stands for fragment i = list ? list[first + e] : first + e: fragments[slots[i]].
struct Batch
{
    const DeviceFragment* fragments;
    const uint32_t* arena;
    const int* slots;
    const int* list; //!< null: all in order
    int first, count;
    ConstRowsView<Rect4> areas;  //!< by i; null: the whole frame
    int limitWidth, limitHeight; //!< larger areas are refused
    int channels;
    bool weighted;                       //!< false: every q is 255, and sums leave that factor out
    ConstRowsView<Position> predictions; //!< by i; walk only
};

//! The best that the walk found, by entry; index = y * window.cols + x, -1 without a position.
struct Walked
{
    uint64_t value;
    int index;
};

namespace gpu {

void pack(const PackJob* jobs, int count, int channels, DeviceFragment* fragments, uint32_t* arena,
          cudaStream_t stream);

//! walk. Reports as well when settings.peaks == 1; else `walked` goes to the stages below as peak 0.
void walk(const ImageView& frame, const Batch& batch, const Settings& settings, Walked* walked, const Outputs& out,
          cudaStream_t stream);

//! How a block brings the picture to shared memory (fragment_matcher_staging.hpp).
struct StagePlan
{
    int units, rawPitch; //!< widths of the picture there, expanded and raw
    int rawWords;        //!< all of the raw picture
    int expandedWords;   //!< one plane of the expanded one
    //! Which part a thread takes, and how far it is to the next; divisions by multiplication, see quotient().
    int fetchThreads, fetchStep, expandStep, expandStepUnits;
    uint32_t fetchInverse, expandInverse;
};

//! scores, peaks and report in one kernel, a block a fragment, for search windows that fit into shared memory.
struct FusedPlan
{
    int positions; //!< positions a thread, 5, 9 or 13: windows up to 4 times as wide
    int slots;     //!< items (rows of positions, one of four phases) a warp; the fewer, the more threads an item
    int rows;      //!< of the largest window, in positions
    int areaWidth, areaHeight; //!< largest area
    StagePlan stage;
    int templateWords;
    int threads;        //!< a block
    size_t sharedBytes; //!< a block
};
/** False when windows of up to `window` positions of a fragment do not fit; else widens `plan` to them. Slots and threads
are matchFused()'s to choose. */
bool planFused(FusedPlan& plan, Size window, Size fragment, const ImageView& frame, const Settings& settings,
               bool weighted);
void matchFused(const ImageView& frame, const Batch& batch, const Settings& settings, FusedPlan plan,
                const Walked* walked, const Outputs& out, cudaStream_t stream);

//! scores, peaks and report for windows of any size, over device memory: values of every position, best of each tile.
struct TilePlan
{
    int cols, rows;           //!< largest window, in positions
    int tilesX, tilesY;       //!< tiles of the largest window
    int chunkCols, chunkRows; //!< part of a fragment that is in shared memory at a time
    StagePlan stage;
    int templateWords;
    bool wide;          //!< sums may exceed 32 bits
    size_t sharedBytes; //!< a block
};
struct alignas(16) TileBest
{
    uint64_t value;
    int index, y; //!< y: its row of the window
};
//! For windows of up to `window` positions and fragments of up to `fragment` pixels.
TilePlan planTiles(Size window, Size fragment, const ImageView& frame, const Settings& settings, bool weighted);
struct TileMemory
{
    void* values;       //!< of each entry: tileValuesBytes()
    TileBest* bests;    //!< of each entry: tilesX * tilesY
    unsigned* finished; //!< of each entry: one counter, 0 before and after a launch
};
size_t tileValuesBytes(const TilePlan& plan, const Settings& settings, bool weighted);
//! settings.peaks == 0: values and bests only.
void matchTiles(const ImageView& frame, const Batch& batch, const Settings& settings, const TilePlan& plan,
                const TileMemory& memory, const Walked* walked, const Outputs& out, cudaStream_t stream);

//! Values to the caller's maps; depth CV_32F, CV_32S or CV_64F as in FragmentMatcher::scoreMap(). With offsets (by i) each
//! fragment's map starts there in map's only row and has no gaps; without, the batch is one fragment and map its picture.
void exportMaps(const ImageView& frame, const Batch& batch, const Settings& settings, const TilePlan& plan,
                const void* values, int depth, RowsView<void> map, const int* offsets, cudaStream_t stream);

void predictAreas(ConstRowsView<Position> locations, const Batch& batch, int radius, int frameCols, int frameRows,
                  RowsView<Rect4> areas, cudaStream_t stream);

} // namespace gpu

#endif // HAVE_CUDA

}}} // namespace cv::cuda::fragment_matcher

#endif // OPENCV_CUDATRACKING_FRAGMENT_MATCHER_STAGES_HPP
