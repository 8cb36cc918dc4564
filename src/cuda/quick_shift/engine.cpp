// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

#include "../../precomp.hpp"
#include "../../common/arrays.hpp"
#include "../../quick_shift/engine.hpp"

#ifdef HAVE_CUDA

#include "../../common/device.hpp"
#include "../../common/side_stream.hpp"
#include "results.hpp"

namespace cv { namespace cuda { namespace quick_shift {

namespace {

using detail::Call;
using detail::cudaCheck;
using detail::DeviceBuffer;
using detail::Downloads;

class CudaEngine final : public Engine
{
public:
    bool compute(const std::vector<ImageView>& images, const std::vector<ImageView>& masks, const Settings& settings,
                 const std::vector<OutputView>& labels, StreamHandle stream) override
    {
        const Call call(state_.workspace, stream);
        return compute(call, images, masks, settings, labels);
    }

    bool hasCaptured(StreamHandle stream) override
    {
        return state_.sets.anyCaptured() && detail::isCapturing(stream) &&
               state_.sets.captured(Call(state_.workspace, stream));
    }

    std::unique_ptr<Results> results(StreamHandle stream) override { return beginResults(state_, stream); }

    size_t workspaceBytes() const override { return state_.workspace.bytes(); }
    StreamHandle ownStream() override { return side_.handle(); }

    void computeFromHost(const ImageView& image, const ImageView& mask, const Settings& settings) override
    {
        const Call call(state_.workspace, nullptr);
        std::vector<ImageView> masks;
        if (mask)
            masks.push_back(upload(mask, tileMask_, call));
        compute(call, {upload(image, tile_, call)}, masks, settings, {});
    }

private:
    bool compute(const Call& call, const std::vector<ImageView>& images, const std::vector<ImageView>& masks,
                 const Settings& settings, const std::vector<OutputView>& labels)
    {
        Downloads::Batch batch(state_.downloads, call);
        for (const OutputView& output : labels)
            batch.check(output);
        const ImageView& first = images[0];
        const Extent extent = {first.cols, first.rows, static_cast<int>(images.size())};
        const Parameters& parameters = settings.parameters;
        const gpu::Features features = state_.scratch.features(
            extent, first.channels, gpu::heldInWords(first.depth, first.channels, settings.scales, parameters),
            !masks.empty(), call);
        const gpu::Ranking ranking = state_.scratch.ranking(extent, call);
        Counters* const counters = state_.scratch.counters(call);
        uint32_t* const cells = state_.scratch.cells(extent, call);
        const gpu::WeightSums sums = state_.scratch.weightSums(parameters);
        const gpu::Worklist far = {ranking.jumps, &counters->listed};
        const float* const spatial = state_.scratch.spatial(*settings.spatial, call);
        ResultSet& set = state_.sets.begin(call, {extent, first.depth, first.channels, settings});

        const cudaStream_t s = call.stream();
        for (int i = 0; i < extent.count; ++i)
            gpu::pack(images[i], masks.empty() ? ImageView() : masks[i], i, extent, settings.scales, features, sums,
                      far, s);
        gpu::density(features, extent, parameters, spatial, sums, set.keys(), cells, s);
        gpu::parents(features, extent, parameters, set.keys(), cells, far, set.parents(), set.distances(), s);
        const bool isWritten = labels.size() == 1 && canWrite(labels[0]);
        gpu::label(extent, set.trees(), INFINITY, ranking, set.labels(), set.counts(),
                   isWritten ? labels[0].as<int>() : detail::RowsView<int>(), true, s);
        for (size_t i = 0; i < labels.size() && !isWritten; ++i)
            batch.copy(labels[i], set.labels() + i * extent.pixels());
        batch.finish();
        return state_.sets.finish(call, set);
    }

    //! Returns true if kernels can write the labels, so that they need not be copied.
    static bool canWrite(const OutputView& output)
    {
        return output && output.memory == detail::Memory::DEVICE &&
               (reinterpret_cast<size_t>(output.data) | output.step) % sizeof(int) == 0;
    }

    static ImageView upload(const ImageView& host, DeviceBuffer& memory, const Call& call)
    {
        const size_t rowBytes = CV_ELEM_SIZE(CV_MAKETYPE(host.depth, host.channels)) * host.cols;
        const size_t step = alignSize(rowBytes, 256);
        void* const device = memory.reserve(call, step * host.rows, "tile");
        cudaCheck(cudaMemcpy2DAsync(device, step, host.data, host.step, rowBytes, host.rows, cudaMemcpyHostToDevice,
                                    call.stream()),
                  "quick shift tile");
        return {device, step, host.cols, host.rows, host.depth, host.channels};
    }

    detail::SideStream side_;
    State state_;
    DeviceBuffer tile_{state_.workspace}, tileMask_{state_.workspace}; //!< image and mask of computeFromHost()
};

} // namespace

std::unique_ptr<Engine> makeCudaEngine() { return std::unique_ptr<Engine>(new CudaEngine); }

}}} // namespace cv::cuda::quick_shift

#else

namespace cv { namespace cuda { namespace quick_shift {

std::unique_ptr<Engine> makeCudaEngine() { detail::noCuda(); }

}}} // namespace cv::cuda::quick_shift

#endif // HAVE_CUDA
