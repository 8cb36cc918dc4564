// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// The stages of FragmentMatcher, in the order in which both backends run them:
//
//   pack           quantises weights, sums up templates, and converts both to the layout that kernels read
//   eliminate      finds the positions that can be a peak by bounds of their values (SAD of large fragments)
//   walk           finds an approximate best position by a three-step search (THREE_STEP only)
//   score          computes the values of all positions (cuda: in fused.cu, tiles.cu, cells.cu, slices.cu,
//                  fused_bands.cu, values.cu, deep_values.cu)
//   findPeaks      selects best, alternative and further peaks by the exclusion rule (cuda: in find_peaks.hpp,
//                  fused.cu)
//   report         writes locations, scores, confidence, status and sub-pixel positions (cuda: in device.hpp)
//   exportScores   writes the scores of all positions to the caller's maps, instead of findPeaks and report
//   predictAreas   derives the next frame's search areas from locations (cpu: in engine.cpp)
//   windowAreas    derives search areas of a grid of windows from a field of motion (cpu: in windows.cpp; cuda: in
//                  windows.cu)
//   windowField    writes the matches of a grid of windows as a field of motion (cpu: in windows.cpp; cuda: in
//                  windows.cu)
//
// Positions are compared by their "value" (core.hpp). Here are the stages of the CPU backend, whose data layout is in
// src/cpu/fragment_matcher/scores.hpp. In the CUDA backend, score, findPeaks and report belong to a route
// (src/cuda/fragment_matcher/route.hpp); the others are in src/cuda/fragment_matcher/common/stages.hpp.
#ifndef OPENCV_CUDATRACKING_FRAGMENT_MATCHER_STAGES_HPP
#define OPENCV_CUDATRACKING_FRAGMENT_MATCHER_STAGES_HPP

#include "../common/views.hpp"
#include "deep.hpp"
#include "windows.hpp"

namespace cv { namespace cuda {

namespace detail {
template <typename T> class ScratchPool;
}

namespace fragment_matcher {

using detail::ByteImageView;
using detail::ConstRowsView;
using detail::RowsView;
using detail::StreamHandle;

struct Settings
{
    Metric metric;
    int exclusion, exclusionDistance, peaks, search;
    bool subpixel;
    int subpixelFit;
};

//! Results of one call: row i for fragment i, column j for its peak j. A view with a null pointer is not written.
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
    int weightsDepth; //!< WeightsDepth
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

namespace gpu {

void windowAreas(const AreasOfWindows& work, StreamHandle stream);
void windowField(const FieldOfWindows& work, StreamHandle stream);

} // namespace gpu

// --- CPU backend: one fragment at a time -----------------------------------------------------------------------------

namespace cpu {

//! A fragment in host memory: rows without gaps, channels interleaved. q: quantised weights, null: all are 255.
struct HostFragment
{
    const void* templ; //!< uint8_t or, of 16 bits, uint16_t
    bool deep;         //!< 16 bits per channel
    const uint8_t* q;
    int width, height, channels;
    TemplateSums sums;
};
struct Plan;                        //!< fragment converted for one metric
struct Planes;                      //!< part of the image as planes of bytes
struct Scratch;                     //!< working memory of one thread
template <typename V> class Scores; //!< values of the positions of one window
typedef detail::ScratchPool<Scratch> ScratchPool;

//! Quantises a row of weights to bytes; part of pack, once per fragment. @return column of the first weight outside
//! [0,1], or -1.
int quantiseRow(const float* weights, int width, uint8_t* q);
//! Returns the sums over one template; part of pack, once per fragment.
template <typename T> TemplateSums templateSums(const T* templ, const uint8_t* q, int width, int height, int channels);
//! Chooses the sums that make up the score, and converts the template for them; once per call. Cost: linear in the
//! template.
void pack(const HostFragment& fragment, Metric metric, Plan& plan);

//! Evaluates the nine points around the best position so far and halves the step, until the step is 0.
template <typename V> Peak<V> walk(const Scores<V>& scores, Position start);

//! Fills the map of `scores` where a bound allows a peak: SAD of large fragments. @param pool as in score(). @return
//! false if nothing was done, because all positions are to be scored.
template <typename V>
bool eliminate(Scores<V>& scores, int distance, const Settings& settings, Scratch& memory, ScratchPool* pool);

//! Fills the map of `scores`. @param pool null: on this thread alone; else on all threads, with working memory from the
//! pool.
template <typename V> void score(Scores<V>& scores, Scratch& memory, ScratchPool* pool);

//! Selects peaks greedily: each is the best position outside the zones of those before it. @param count peaks that are
//! known already. @return number of peaks.
template <typename V>
int findPeaks(const Scores<V>& scores, int distance, const Settings& settings, int count, Peak<V>* peaks);

template <typename V>
void report(const Outputs& out, int i, const Settings& settings, uint64_t W, const Scores<V>& scores,
            const Peak<V>* peaks, int count);

//! Writes rows [begin, end) of the filled scores to rows of the caller's map; depth as in FragmentMatcher::scoreMap().
template <typename V>
void exportScores(const Scores<V>& scores, uint64_t W, int depth, int begin, int end, RowsView<void> map);

void windowAreas(const AreasOfWindows& work);
void windowField(const FieldOfWindows& work);

} // namespace cpu

} // namespace fragment_matcher
}} // namespace cv::cuda

#endif // OPENCV_CUDATRACKING_FRAGMENT_MATCHER_STAGES_HPP
