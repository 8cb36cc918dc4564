// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

#include "../precomp.hpp"
#include "../common/arrays.hpp"
#include "engine.hpp"

namespace cv { namespace cuda { namespace tld {

std::unique_ptr<Engine> makeCudaEngine(const Settings&)
{
    CV_Error(Error::StsNotImplemented, "TLD has no CUDA engine yet");
}
void fetchTable(const OutputView&, double*, StreamHandle)
{
    CV_Error(Error::StsNotImplemented, "TLD has no CUDA engine yet");
}

}}} // namespace cv::cuda::tld
