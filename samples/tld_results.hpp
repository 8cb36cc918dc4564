// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// The table of results of MultiTrackerTLD::update(), and labels in images, for the samples that draw objects.
#ifndef OPENCV_CUDATRACKING_SAMPLES_TLD_RESULTS_HPP
#define OPENCV_CUDATRACKING_SAMPLES_TLD_RESULTS_HPP

#include "opencv2/cudatracking/tld_tracker.hpp"
#include "opencv2/imgproc.hpp"
#include <ostream>
#include <string>

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

//! Draws text on a dark ground, so that it can be read on any image. @param at left end of the base line; is moved to
//! where the text fits.
inline void drawLabel(cv::Mat& image, const std::string& text, cv::Point at, const cv::Scalar& colour)
{
    const int font = cv::FONT_HERSHEY_SIMPLEX;
    const double scale = 0.45;
    int base = 0;
    const cv::Size size = cv::getTextSize(text, font, scale, 1, &base);
    at.x = std::max(std::min(at.x, image.cols - size.width - 1), 1);
    at.y = std::max(std::min(at.y, image.rows - base), size.height + 2);
    const cv::Rect ground(at.x - 1, at.y - size.height - 2, size.width + 2, size.height + base + 1);
    cv::rectangle(image, ground, cv::Scalar(20, 20, 20), cv::FILLED);
    cv::putText(image, text, at, font, scale, colour, 1, cv::LINE_AA);
}

} // namespace sample

#endif // OPENCV_CUDATRACKING_SAMPLES_TLD_RESULTS_HPP
