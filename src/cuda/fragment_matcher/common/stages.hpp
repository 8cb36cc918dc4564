// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher: the stages of the CUDA backend that are no part of a route, a batch of fragments at a time,
// asynchronous on `stream`.
#ifndef OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_STAGES_HPP
#define OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_STAGES_HPP

#include "layout.hpp"

namespace cv { namespace cuda { namespace fragment_matcher { namespace gpu {

//! @param deep templates have 16 bits per channel
void pack(const PackJob* jobs, int count, int channels, bool deep, DeviceFragment* fragments, uint32_t* arena,
          StreamHandle stream);

//! Finds approximate best positions, one per entry, for Job::walked. Reports them if settings.peaks == 1.
void walk(const ByteImageView& frame, const Batch& batch, const Settings& settings, Best* walked, const Outputs& out,
          StreamHandle stream);

/** Writes the values that a route left in `windows` as scores; depth as in FragmentMatcher::scoreMap(). @param offsets
start of each fragment's map in the only row of `map`, where maps have no gaps; null: the batch is one fragment and
`map` has its window's size. */
void exportScores(const ByteImageView& frame, const Batch& batch, Metric metric, const Windows& windows, int depth,
                  RowsView<void> map, const int* offsets, StreamHandle stream);

void predictAreas(ConstRowsView<Position> locations, const Batch& batch, int radius, int frameCols, int frameRows,
                  RowsView<Rect4> areas, StreamHandle stream);

}}}} // namespace cv::cuda::fragment_matcher::gpu

#endif // OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_STAGES_HPP
