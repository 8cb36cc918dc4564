// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

#include "../../precomp.hpp"
#include "../../common/arrays.hpp"
#include "../../new_algorithm/engine.hpp"

#ifdef HAVE_CUDA

#include "../../common/workspace.hpp"

namespace cv { namespace cuda { namespace new_algorithm {

namespace {

class CudaEngine final : public Engine
{
public:
    void compute(const ImageView& image, const OutputView& result, StreamHandle stream) override
    {
        const detail::Call call(workspace_, stream);
        detail::Downloads::Batch batch(downloads_, call);
        const RowsView<uint8_t> rows = batch.view<uint8_t>(result);
        gpu::invert(image, rows, call.stream());
        batch.finish();
    }

    size_t workspaceBytes() const override { return workspace_.bytes(); }

private:
    detail::Workspace workspace_{"NewAlgorithm"};
    detail::Downloads downloads_{workspace_};
};

} // namespace

std::unique_ptr<Engine> makeCudaEngine() { return std::make_unique<CudaEngine>(); }

}}} // namespace cv::cuda::new_algorithm

#else

namespace cv { namespace cuda { namespace new_algorithm {

std::unique_ptr<Engine> makeCudaEngine() { detail::noCuda(); }

}}} // namespace cv::cuda::new_algorithm

#endif // HAVE_CUDA
