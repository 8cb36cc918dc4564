// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// scores: the image as planes of bytes, and the values of all positions of a window over them.
#include "../../precomp.hpp"
#include "scores.simd.hpp"
#include "cpu/fragment_matcher/scores.simd_declarations.hpp" // made by CMake: CV_CPU_DISPATCH_MODES_ALL

namespace cv { namespace cuda { namespace fragment_matcher { namespace cpu {

namespace {

void unpackBest(const ByteImageView& part, bool squares, const Planes& planes, uint8_t* data)
{
    CV_CPU_DISPATCH(unpackRows, (part, squares, planes, data), CV_CPU_DISPATCH_MODES_ALL);
}

void scoreMap(const Plan& plan, const Planes& planes, int rows, int cols, const MapView<uint32_t>& map,
              const TermSums& given, int first, RowScratch& scratch)
{
    CV_CPU_DISPATCH(scoreMap32, (plan, planes, rows, cols, map, given, first, scratch), CV_CPU_DISPATCH_MODES_ALL);
}

void scoreMap(const Plan& plan, const Planes& planes, int rows, int cols, const MapView<uint64_t>& map,
              const TermSums& given, int first, RowScratch& scratch)
{
    CV_CPU_DISPATCH(scoreMap64, (plan, planes, rows, cols, map, given, first, scratch), CV_CPU_DISPATCH_MODES_ALL);
}

} // namespace

KernelTraits kernelTraitsHere() { CV_CPU_DISPATCH(kernelTraits, (), CV_CPU_DISPATCH_MODES_ALL); }

Planes unpack(const ByteImageView& frame, const Rect4& part, bool squares, uint8_t bias, Buffer& memory, bool parallel)
{
    Planes planes;
    planes.step = detail::ceilDiv(static_cast<size_t>(part.width), size_t(64)) * 64;
    planes.planeStep = planes.step * part.height;
    planes.bias = bias;
    const int count = frame.channels * (squares ? 3 : 1);
    uint8_t* const data = memory.get<uint8_t>(planes.planeStep * count + PLANE_PADDING);
    planes.data = data;
    forRowBands(part.height, parallel,
                [&](int begin, int end)
                {
                    const ByteImageView rows = {frame.pixel(part.x, part.y + begin),
                                                frame.step,
                                                part.width,
                                                end - begin,
                                                frame.pixelStride,
                                                frame.channels};
                    unpackBest(rows, squares, planes, data + begin * planes.step);
                    for (int p = 0; p < count; ++p) // kernels read on, and do not use what they read
                        for (int y = begin; y < end; ++y)
                            memset(data + p * planes.planeStep + y * planes.step + part.width, 0,
                                   planes.step - part.width);
                });
    memset(data + planes.planeStep * count, 0, PLANE_PADDING);
    return planes;
}

template <typename V> void Scores<V>::fill(Scratch& memory, ScratchPool* pool)
{
    const size_t stride = alignRow(window_.cols);
    map_.values = memory.map.get<V>(stride * window_.rows);
    map_.stride = stride;
    map_.best = memory.best.get<RowBest<V>>(window_.rows);
    if (plan_.flat())
    {
        const V flat = static_cast<V>(znccToValue(0.f));
        std::fill(map_.values, map_.values + stride * window_.rows, flat);
        std::fill(map_.best, map_.best + window_.rows, RowBest<V>{flat, 0});
        return;
    }
    const TermSums given = transforms(plan_, window_, pool != nullptr)
                               ? correlate(plan_, planes_, window_, memory, pool)
                               : TermSums{nullptr, 0, 0};
    const auto band = [&](int begin, int end, RowScratch& rows)
    {
        const MapView<V> part = {map_.values + begin * stride, stride, map_.best + begin};
        scoreMap(plan_, planes_.at(0, begin), end - begin, window_.cols, part, given, begin, rows);
    };
    if (!pool)
        return band(0, window_.rows, memory.rows);
    forRowBands(window_.rows, true,
                [&](int begin, int end)
                {
                    const ScratchPool::Lease scratch(*pool);
                    band(begin, end, scratch->rows);
                });
}

template void Scores<uint32_t>::fill(Scratch&, ScratchPool*);
template void Scores<uint64_t>::fill(Scratch&, ScratchPool*);

}}}} // namespace cv::cuda::fragment_matcher::cpu
