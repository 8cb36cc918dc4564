// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher: score maps to the caller's arrays, and next frame's areas. Bound by memory.

#include "fragment_matcher_device.hpp"

namespace cv { namespace cuda { namespace fragment_matcher {

namespace {

using namespace device;
using gpu::TilePlan;

template <typename Value, typename Element>
__global__ void exportMapsKernel(const ImageView frame, const Batch batch, const int metric, const int scale,
                                 const size_t entryValues, const Value* values, const RowsView<Element> map,
                                 const int* offsets)
{
    Entry entry;
    if (openEntry(frame, batch, blockIdx.y, entry) != STATUS_FOUND)
        return;
    const int index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index >= entry.window.cols * entry.window.rows)
        return;
    const int y = index / entry.window.cols, x = index - y * entry.window.cols;
    const uint64_t value = scale * static_cast<uint64_t>(values[blockIdx.y * entryValues + index]);
    Element* target = offsets ? map.data + offsets[entry.i] + index : map.row(y) + x;
    if constexpr (std::is_same_v<Element, float>)
        *target = scoreOf(value, metric, entry.fragment.sums.W);
    else
        *target = static_cast<Element>(value);
}

__global__ void predictAreasKernel(const ConstRowsView<Position> locations, const DeviceFragment* fragments,
                                   const int* slots, const int count, const int radius, const int cols, const int rows,
                                   const RowsView<Rect4> areas)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    const DeviceFragment& fragment = fragments[slots[i]];
    *areas.row(i) = predictedArea(*locations.row(i), fragment.width, fragment.height, radius, cols, rows);
}

} // namespace

namespace gpu {

template <typename Value, typename Element>
static void launchExport(const ImageView& frame, const Batch& batch, const Settings& settings, const TilePlan& plan,
                         const void* values, const RowsView<void>& map, const int* offsets, cudaStream_t stream)
{
    const size_t entryValues = static_cast<size_t>(plan.cols) * plan.rows;
    const dim3 grid(static_cast<unsigned>((entryValues + 255) / 256), batch.count);
    const RowsView<Element> typed = {static_cast<Element*>(map.data), map.step};
    detail::launch("exportMaps", exportMapsKernel<Value, Element>, grid, dim3(256), 0, stream, frame, batch,
                   settings.metric, valueScale(settings.metric, batch.weighted), entryValues,
                   static_cast<const Value*>(values), typed, offsets);
}

void exportMaps(const ImageView& frame, const Batch& batch, const Settings& settings, const TilePlan& plan,
                const void* values, int depth, RowsView<void> map, const int* offsets, cudaStream_t stream)
{
    const bool wide = tileValuesBytes(plan, settings, batch.weighted) == static_cast<size_t>(plan.cols) * plan.rows * 8;
    const auto launch = depth == CV_32F   ? (wide ? launchExport<uint64_t, float> : launchExport<uint32_t, float>)
                        : depth == CV_32S ? (wide ? launchExport<uint64_t, int32_t> : launchExport<uint32_t, int32_t>)
                                          : (wide ? launchExport<uint64_t, double> : launchExport<uint32_t, double>);
    launch(frame, batch, settings, plan, values, map, offsets, stream);
}

void predictAreas(ConstRowsView<Position> locations, const Batch& batch, int radius, int frameCols, int frameRows,
                  RowsView<Rect4> areas, cudaStream_t stream)
{
    detail::launch("predictAreas", predictAreasKernel, dim3((batch.count + 127) / 128), dim3(128), 0, stream, locations,
                   batch.fragments, batch.slots, batch.count, radius, frameCols, frameRows, areas);
}

} // namespace gpu

}}} // namespace cv::cuda::fragment_matcher
