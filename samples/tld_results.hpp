// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// The table of results of MultiTrackerTLD::update(), for the samples that read it.
#ifndef OPENCV_CUDATRACKING_SAMPLES_TLD_RESULTS_HPP
#define OPENCV_CUDATRACKING_SAMPLES_TLD_RESULTS_HPP

#include "opencv2/cudatracking/tld_tracker.hpp"
#include <ostream>

namespace sample {

using cv::cuda::TrackerTLD;

//! Names of the columns up to RESULT_EVENT, as files of rows have them.
#define SAMPLE_TLD_COLUMNS "x,y,width,height,score,state,located,learned,event"

//! Writes the values of a row up to RESULT_EVENT, each after a comma.
inline void writeRow(std::ostream& out, const double* row)
{
    for (int k = TrackerTLD::RESULT_X; k <= TrackerTLD::RESULT_EVENT; ++k)
        out << ',' << row[k];
}

inline cv::Rect boxOf(const double* row)
{
    return cv::Rect(cvRound(row[TrackerTLD::RESULT_X]), cvRound(row[TrackerTLD::RESULT_Y]),
                    cvRound(row[TrackerTLD::RESULT_WIDTH]), cvRound(row[TrackerTLD::RESULT_HEIGHT]));
}

} // namespace sample

#endif // OPENCV_CUDATRACKING_SAMPLES_TLD_RESULTS_HPP
