// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Class behind cv::cuda::NewAlgorithm: checks arguments and chooses the backend.
#include "../precomp.hpp"
#include "../common/arrays.hpp"
#include "../common/lockable.hpp"
#include "engine.hpp"

namespace cv { namespace cuda {

namespace new_algorithm { namespace {

class NewAlgorithmImpl final : public NewAlgorithm, public detail::Lockable<NewAlgorithmImpl>
{
public:
    void compute(InputArray image, OutputArray result, Stream& stream) override
    {
        const auto lock = locked();
        if (detail::onDevice(image))
            run(detail::deviceArray("image", image), result, cuda_, true, stream);
        else
            run(detail::hostArray("image", image), result, cpu_, false, stream);
    }

    size_t workspaceBytes() const override
    {
        const auto lock = locked();
        return cuda_ ? cuda_->workspaceBytes() : 0;
    }

private:
    template <typename Array>
    static void run(const Array& image, OutputArray result, std::unique_ptr<Engine>& engine, bool device,
                    Stream& stream)
    {
        if (!image.empty() && image.type() != CV_8UC1)
            CV_Error_(Error::StsUnsupportedFormat,
                      ("image: type %s, but it must be CV_8UC1", typeToString(image.type()).c_str()));
        detail::Output output("result", result, image.rows, image.cols, CV_8UC1, {device, detail::handleOf(stream)});
        const OutputView out = output.allocate();
        if (!out)
            return;
        if (!engine)
            engine = device ? makeCudaEngine() : makeCpuEngine();
        engine->compute(detail::viewOf(image), out, detail::handleOf(stream));
    }

    std::unique_ptr<Engine> cpu_, cuda_; //!< made on first use
};

}} // namespace new_algorithm

Ptr<NewAlgorithm> NewAlgorithm::create() { return makePtr<new_algorithm::NewAlgorithmImpl>(); }

}} // namespace cv::cuda
