// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// The table of results of MultiTrackerTLD::update(), for the samples that read it.
#ifndef OPENCV_CUDATRACKING_SAMPLES_TLD_RESULTS_HPP
#define OPENCV_CUDATRACKING_SAMPLES_TLD_RESULTS_HPP

#include "opencv2/core.hpp"
#include <ostream>

namespace sample {

//! Columns of the table.
enum ResultColumn
{
    X = 0,
    Y = 1,
    WIDTH = 2,
    HEIGHT = 3,
    SCORE = 4,
    STATE = 5,
    LOCATED = 6,
    LEARNED = 7,
    EVENT = 8,
    ID = 9,
    BOX = 10
};

//! Names of the columns up to EVENT, as files of rows have them.
#define SAMPLE_TLD_COLUMNS "x,y,width,height,score,state,located,learned,event"

//! Writes the values of a row up to EVENT, each after a comma.
inline void writeRow(std::ostream& out, const double* row)
{
    for (int k = X; k <= EVENT; ++k)
        out << ',' << row[k];
}

inline cv::Rect boxOf(const double* row)
{
    return cv::Rect(cvRound(row[X]), cvRound(row[Y]), cvRound(row[WIDTH]), cvRound(row[HEIGHT]));
}

} // namespace sample

#endif // OPENCV_CUDATRACKING_SAMPLES_TLD_RESULTS_HPP
