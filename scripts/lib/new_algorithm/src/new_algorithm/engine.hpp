// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Interface of both backends to the public class. Images and outputs are views.
#ifndef OPENCV_CUDATRACKING_NEW_ALGORITHM_ENGINE_HPP
#define OPENCV_CUDATRACKING_NEW_ALGORITHM_ENGINE_HPP

#include "stages.hpp"
#include <memory>

namespace cv { namespace cuda { namespace new_algorithm {

using detail::OutputView;

class Engine
{
public:
    virtual ~Engine() = default;

    //! Runs all stages. The image has pixels; the result has its size.
    virtual void compute(const ImageView& image, const OutputView& result, StreamHandle stream) = 0;
    virtual size_t workspaceBytes() const = 0;
};

//! Makes an engine of the CPU backend.
std::unique_ptr<Engine> makeCpuEngine();
//! Makes an engine of the CUDA backend. @throws cv::Exception in builds without CUDA.
std::unique_ptr<Engine> makeCudaEngine();

}}} // namespace cv::cuda::new_algorithm

#endif // OPENCV_CUDATRACKING_NEW_ALGORITHM_ENGINE_HPP
