// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

#ifndef OPENCV_CUDATRACKING_NEW_ALGORITHM_HPP
#define OPENCV_CUDATRACKING_NEW_ALGORITHM_HPP

#include "opencv2/core.hpp"
#include "opencv2/cudatracking/stream.hpp"

namespace cv { namespace cuda {

//! @addtogroup cudatracking
//! @{

/** @brief Inverts images.

@code
void invert(const cv::Mat& image, cv::Mat& result)
{
    cv::cuda::NewAlgorithm::create()->compute(image, result); // a GpuMat: on the CUDA device
}
@endcode

__Images__: CV_8U with 1 channel. A Mat selects the CPU backend, a GpuMat the CUDA backend on the stream; both give the
same values. */
class CV_EXPORTS_W NewAlgorithm : public Algorithm
{
public:
    /** @brief Creates an instance that inverts images. */
    CV_WRAP static Ptr<NewAlgorithm> create();

    /** @brief Inverts an image. Waits only for an output on the host from an image on the device.
    @param image CV_8UC1 of any size.
    @param result 255 minus each value: CV_8UC1, of the size of the image.
    @param stream stream for a GpuMat; ignored for Mat. Default: the null stream. The call can be captured into a graph
    if `result` is a GpuMat.
    @throws cv::Exception if the image is of another type. */
    CV_WRAP virtual void compute(InputArray image, OutputArray result, Stream& stream = cv::cuda::noStream()) = 0;

    /** @brief Returns the bytes of device memory and pinned memory that the instance holds. */
    CV_WRAP virtual size_t workspaceBytes() const = 0;
};

//! @}

}} // namespace cv::cuda

#endif // OPENCV_CUDATRACKING_NEW_ALGORITHM_HPP
