// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// The stages of FragmentMatcher, in the order in which both engines run them:
//
//   pack     quantise weights, sum up templates, when fragments are set; bring them into the form that kernels read
//   walk     THREE_STEP only: the approximate best
//   scores   the value of every position of every search window
//   peaks    best, alternative and further peaks under the exclusion rule
//   report   scores, confidence, status, sub-pixel offsets
//   maps     scores of all positions for the caller, instead of peaks and report
//   predict  the next frame's search areas
//
// "Value" is what positions are compared by (core.hpp). How the CPU engine lays things out stands in src/cpu/fragment_matcher/scores.hpp, how the
// CUDA engine does in src/cuda/fragment_matcher/layout.hpp.
#ifndef OPENCV_CUDATRACKING_FRAGMENT_MATCHER_STAGES_HPP
#define OPENCV_CUDATRACKING_FRAGMENT_MATCHER_STAGES_HPP

#include "../common/views.hpp"
#include "core.hpp"

namespace cv { namespace cuda { namespace fragment_matcher {

using detail::ByteImageView;
using detail::ConstRowsView;
using detail::RowsView;
using detail::StreamHandle;

struct Settings
{
    int metric, exclusion, exclusionDistance, peaks, search;
    bool subpixel;
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

enum WeightsDepth
{
    WEIGHTS_NONE,
    WEIGHTS_8U,
    WEIGHTS_32F
};

//! A template and its weights, both in host or both in device memory.
struct FragmentSource
{
    ByteImageView templ;
    const void* weights;
    size_t weightsStep;
    int weightsDepth;
};

//! report, of a fragment that has no position at all.
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

// --- CPU engine: one fragment at a time ------------------------------------------------------------------------------

namespace cpu {

//! One fragment as the CPU engine reads it: rows without gaps, channels interleaved; q null: full weight.
struct HostFragment
{
    const uint8_t* templ;
    const uint8_t* q;
    int width, height, channels;
    TemplateSums sums;
};
struct Plan;                        //!< a fragment made ready for one metric
struct Planes;                      //!< a part of the image, as kernels read it
template <typename V> class Scores; //!< values of the positions of one window

//! pack, once: a row of weights to bytes. @return the column of the first that is not in [0,1], -1: there is none.
int quantiseRow(const float* weights, int width, uint8_t* q);
//! pack, once: the sums of one template.
TemplateSums templateSums(const uint8_t* templ, const uint8_t* q, int width, int height, int channels);
//! pack, for each call: which sums make up the score. Grows with the template alone.
void pack(const HostFragment& fragment, int metric, Plan& plan);

//! walk: nine points around the best so far, with half the step each time.
template <typename V> Peak<V> walk(const Scores<V>& scores, Position start);

// scores: Scores<V>::fill()

//! peaks: greedy, each the best outside the zones of those before. @param count how many there are already. @return how
//! many there are then.
template <typename V>
int findPeaks(const Scores<V>& scores, int distance, const Settings& settings, int count, Peak<V>* peaks);

template <typename V>
void report(const Outputs& out, int i, const Settings& settings, uint64_t W, const Scores<V>& scores,
            const Peak<V>* peaks, int count);

//! maps: rows [begin, end) of the filled scores to rows of the caller's map; depth as in FragmentMatcher::scoreMap().
template <typename V>
void exportMap(const Scores<V>& scores, uint64_t W, int depth, int begin, int end, RowsView<void> map);

// predict: predictedArea() of core.hpp

} // namespace cpu

// --- CUDA engine: a batch of fragments at a time, asynchronous on `stream` -------------------------------------------

namespace gpu {

struct DeviceFragment; //!< a fragment in the arena
struct PackJob;        //!< a fragment on its way there
struct Batch;          //!< fragments of one launch, their areas and predictions
struct Best;           //!< a value and where it is
struct FusedPlan;      //!< how a block keeps a whole search window in its shared memory
struct TilePlan;       //!< how blocks share a search window
struct TileMemory;     //!< device memory for its values

void pack(const PackJob* jobs, int count, int channels, DeviceFragment* fragments, uint32_t* arena,
          StreamHandle stream);

//! walk. Reports as well when settings.peaks == 1; else `walked`, by entry, goes to the stages below as peak 0.
void walk(const ByteImageView& frame, const Batch& batch, const Settings& settings, Best* walked, const Outputs& out,
          StreamHandle stream);

//! scores, peaks and report in one kernel, a block a fragment, for search windows that fit into shared memory.
void matchFused(const ByteImageView& frame, const Batch& batch, const Settings& settings, const FusedPlan& plan,
                const Best* walked, const Outputs& out, StreamHandle stream);

//! The same by matrix instructions, for SSD and ZNCC where the plan has bands.
void matchFusedBands(const ByteImageView& frame, const Batch& batch, const Settings& settings, const FusedPlan& plan,
                     const Best* walked, const Outputs& out, StreamHandle stream);

//! scores, peaks and report for windows of any size, over device memory. settings.peaks == 0: scores only.
void matchTiles(const ByteImageView& frame, const Batch& batch, const Settings& settings, const TilePlan& plan,
                const TileMemory& memory, const Best* walked, const Outputs& out, StreamHandle stream);

//! The same by matrix instructions, for SSD and ZNCC where the plan has bands.
void matchBands(const ByteImageView& frame, const Batch& batch, const Settings& settings, const TilePlan& plan,
                const TileMemory& memory, const Best* walked, const Outputs& out, StreamHandle stream);

//! The same in one kernel, where the plan has tiles for it.
void matchBandTiles(const ByteImageView& frame, const Batch& batch, const Settings& settings, const TilePlan& plan,
                    const TileMemory& memory, const Best* walked, const Outputs& out, StreamHandle stream);

//! maps, from the values of matchTiles(); depth as in FragmentMatcher::scoreMap(). With offsets (by fragment) a map starts
//! there in map's only row and has no gaps; without, the batch is one fragment and map its image.
void exportMaps(const ByteImageView& frame, const Batch& batch, const Settings& settings, const TilePlan& plan,
                const TileMemory& memory, int depth, RowsView<void> map, const int* offsets, StreamHandle stream);

void predictAreas(ConstRowsView<Position> locations, const Batch& batch, int radius, int frameCols, int frameRows,
                  RowsView<Rect4> areas, StreamHandle stream);

} // namespace gpu

}}} // namespace cv::cuda::fragment_matcher

#endif // OPENCV_CUDATRACKING_FRAGMENT_MATCHER_STAGES_HPP
