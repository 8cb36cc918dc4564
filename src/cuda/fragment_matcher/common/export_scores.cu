// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher, exportScores: the values of all positions as scores, in the caller's maps. Bound by memory.

#include "device.hpp"
#include "stages.hpp"

namespace cv { namespace cuda { namespace fragment_matcher {

namespace {

using namespace device;

template <typename Value, typename Element>
__global__ void exportScoresKernel(const ByteImageView frame, const Batch batch, const Metric metric, const int scale,
                                   const size_t entryValues, const Value* values, const RowsView<Element> map,
                                   const int* offsets)
{
    Entry entry;
    const int status = openEntry(frame, batch, blockIdx.y, entry); // a fragment whose weights are all 0 has no values
    const int index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index >= entry.window.cols * entry.window.rows)
        return;
    const int y = index / entry.window.cols, x = index - y * entry.window.cols;
    const uint64_t value =
        status == STATUS_FOUND ? scale * static_cast<uint64_t>(values[blockIdx.y * entryValues + index]) : 0;
    Element* target = offsets ? map.data + offsets[entry.i] + index : map.row(y) + x;
    if constexpr (std::is_same_v<Element, float>)
        *target = status == STATUS_FOUND ? scoreOf(value, metric, entry.fragment.sums.W) : 0.f;
    else
        *target = static_cast<Element>(value);
}

} // namespace

namespace gpu {

template <typename Value, typename Element>
static void launchExport(const ByteImageView& frame, const Batch& batch, Metric metric, const Windows& windows,
                         const RowsView<void>& map, const int* offsets, cudaStream_t stream)
{
    const dim3 grid(detail::linearGrid(windows.positions(), 256).x, batch.count);
    const RowsView<Element> typed = {static_cast<Element*>(map.data), map.step};
    detail::launch("exportScores", exportScoresKernel<Value, Element>, grid, dim3(256), 0, stream, frame, batch, metric,
                   valueScale(metric, batch.weighted), windows.positions(), static_cast<const Value*>(windows.values),
                   typed, offsets);
}

void exportScores(const ByteImageView& frame, const Batch& batch, Metric metric, const Windows& windows, int depth,
                  RowsView<void> map, const int* offsets, StreamHandle stream)
{
    const bool wide = windows.wide;
    const auto launch = depth == CV_32F   ? (wide ? launchExport<uint64_t, float> : launchExport<uint32_t, float>)
                        : depth == CV_32S ? (wide ? launchExport<uint64_t, int32_t> : launchExport<uint32_t, int32_t>)
                                          : (wide ? launchExport<uint64_t, double> : launchExport<uint32_t, double>);
    launch(frame, batch, metric, windows, map, offsets, stream);
}

} // namespace gpu

}}} // namespace cv::cuda::fragment_matcher
