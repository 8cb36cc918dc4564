// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// State of the CUDA engine, and the calls on its results: everything but compute().
#ifndef OPENCV_CUDATRACKING_CUDA_QUICK_SHIFT_RESULTS_HPP
#define OPENCV_CUDATRACKING_CUDA_QUICK_SHIFT_RESULTS_HPP

#include "result_sets.hpp"
#include "scratch.hpp"

namespace cv { namespace cuda { namespace quick_shift {

struct State
{
    detail::Workspace workspace{"QuickShift"};
    detail::Downloads downloads{workspace};
    Scratch scratch{workspace};
    ResultSets sets{workspace};
};

//! Begins a call on the results that are visible on the stream, as Engine::results().
std::unique_ptr<Results> beginResults(State& state, StreamHandle stream);

}}} // namespace cv::cuda::quick_shift

#endif // OPENCV_CUDATRACKING_CUDA_QUICK_SHIFT_RESULTS_HPP
