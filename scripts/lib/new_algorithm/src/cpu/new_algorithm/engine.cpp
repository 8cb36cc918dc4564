// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

#include "../../precomp.hpp"
#include "../../new_algorithm/engine.hpp"

namespace cv { namespace cuda { namespace new_algorithm {

namespace {

class CpuEngine final : public Engine
{
public:
    void compute(const ImageView& image, const OutputView& result, StreamHandle) override
    {
        cpu::invert(image, result.as<uint8_t>());
    }

    size_t workspaceBytes() const override { return 0; }
};

} // namespace

std::unique_ptr<Engine> makeCpuEngine() { return std::make_unique<CpuEngine>(); }

}}} // namespace cv::cuda::new_algorithm
