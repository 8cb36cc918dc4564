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

}}} // namespace cv::cuda::fragment_matcher

#endif // OPENCV_CUDATRACKING_FRAGMENT_MATCHER_STAGES_HPP
