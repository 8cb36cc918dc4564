// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// score: unpacks the image to planes of bytes, and computes the values of all positions of a window from them.
#include "../../precomp.hpp"
#include "score.simd.hpp"
#include "cpu/fragment_matcher/score.simd_declarations.hpp" // made by CMake: CV_CPU_DISPATCH_MODES_ALL

namespace cv { namespace cuda { namespace fragment_matcher { namespace cpu {

namespace {

void unpackBest(const ByteImageView& part, bool squares, const Planes& planes, uint8_t* data)
{
    CV_CPU_DISPATCH(unpackRows, (part, squares, planes, data), CV_CPU_DISPATCH_MODES_ALL);
}

uint64_t scoreAt(const Plan& plan, const Planes& planes)
{
    CV_CPU_DISPATCH(scorePosition, (plan, planes), CV_CPU_DISPATCH_MODES_ALL);
}

} // namespace

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

KernelTraits kernelTraitsHere() { CV_CPU_DISPATCH(kernelTraits, (), CV_CPU_DISPATCH_MODES_ALL); }

Planes unpack(const ByteImageView& frame, const Rect4& part, bool squares, uint8_t bias, Buffer& memory, bool parallel)
{
    Planes planes;
    planes.step = detail::roundUp(static_cast<size_t>(part.width), size_t(64));
    planes.planeStep = planes.step * part.height;
    planes.bias = bias;
    const int count = frame.channels * (frame.deep() ? (squares ? 6 : 2) : squares ? 3 : 1);
    uint8_t* const data = memory.get<uint8_t>(planes.planeStep * count + PLANE_PADDING);
    planes.data = data;
    forRowStrips(part.height, parallel,
                 [&](int begin, int end)
                 {
                     const ByteImageView rows = {frame.pixel(part.x, part.y + begin),
                                                 frame.step,
                                                 part.width,
                                                 end - begin,
                                                 frame.pixelStride,
                                                 frame.channels};
                     unpackBest(rows, squares, planes, data + begin * planes.step);
                     for (int p = 0; p < count; ++p) // kernels read these bytes and ignore them
                         for (int y = begin; y < end; ++y)
                             memset(data + p * planes.planeStep + y * planes.step + part.width, 0,
                                    planes.step - part.width);
                 });
    memset(data + planes.planeStep * count, 0, PLANE_PADDING);
    return planes;
}

template <typename V> void score(Scores<V>& scores, Scratch& memory, ScratchPool* pool)
{
    const Plan& plan = scores.plan();
    const Planes& planes = scores.planes();
    const SearchWindow& window = scores.window();
    const size_t stride = alignRow(window.cols);
    const MapView<V> map = {memory.map.get<V>(stride * window.rows), stride, memory.best.get<RowBest<V>>(window.rows)};
    scores.setMap(map);
    if (plan.flat())
    {
        const V flat = static_cast<V>(znccToValue(0.f));
        std::fill(map.values, map.values + stride * window.rows, flat);
        std::fill(map.best, map.best + window.rows, RowBest<V>{flat, 0});
        return;
    }
    const TermSums given = transforms(plan, window, pool != nullptr) ? correlate(plan, planes, window, memory, pool)
                                                                     : TermSums{nullptr, 0, 0};
    const auto strip = [&](int begin, int end, RowScratch& rows)
    {
        const MapView<V> part = {map.values + begin * stride, stride, map.best + begin};
        scoreMap(plan, planes.at(0, begin), end - begin, window.cols, part, given, begin, rows);
    };
    if (!pool)
        return strip(0, window.rows, memory.rows);
    forRowStrips(window.rows, true,
                 [&](int begin, int end)
                 {
                     const ScratchPool::Lease scratch(*pool);
                     strip(begin, end, scratch->rows);
                 });
}

template <typename V> V Scores<V>::compute(int x, int y) const
{
    return static_cast<V>(plan_.flat() ? znccToValue(0.f) : scoreAt(plan_, planes_.at(x, y)));
}

template uint32_t Scores<uint32_t>::compute(int, int) const;
template uint64_t Scores<uint64_t>::compute(int, int) const;
template void score(Scores<uint32_t>&, Scratch&, ScratchPool*);
template void score(Scores<uint64_t>&, Scratch&, ScratchPool*);

}}}} // namespace cv::cuda::fragment_matcher::cpu
