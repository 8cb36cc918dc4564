// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// eliminate: means of blocks, and bounds of groups of positions by them. The means of blocks of B x B pixels are B * B
// images, one for each column and row of blocks modulo B, and the bounds are their SAD with the means of the fragment,
// by the kernels that compute every SAD.
#include "../../precomp.hpp"
#include "eliminate.simd.hpp"
#include "cpu/fragment_matcher/eliminate.simd_declarations.hpp" // made by CMake: CV_CPU_DISPATCH_MODES_ALL
#include <numeric>

namespace cv { namespace cuda { namespace fragment_matcher { namespace cpu {

namespace {

void computeMeans(const uint8_t* from, size_t step, int rows, int cols, int block, uint8_t* to, size_t phaseStep,
                  Buffer& memory)
{
    CV_CPU_DISPATCH(meansOfRows, (from, step, rows, cols, block, to, phaseStep, memory), CV_CPU_DISPATCH_MODES_ALL);
}

int sumOf(const uint8_t* bytes, int step, int block)
{
    int sum = 0;
    for (int v = 0; v < block; ++v)
        for (int u = 0; u < block; ++u)
            sum += bytes[static_cast<size_t>(v) * step + u];
    return sum;
}
uint8_t leastOf(const uint8_t* weights, int step, int block)
{
    uint8_t least = 255;
    for (int v = 0; v < block; ++v)
        for (int u = 0; u < block; ++u)
            least = std::min(least, weights[static_cast<size_t>(v) * step + u]);
    return least;
}

} // namespace

uint64_t sumOfRows(const Pattern& pattern, const Planes& planes, int begin, int end)
{
    CV_CPU_DISPATCH(differencesAt, (pattern, planes, begin, end), CV_CPU_DISPATCH_MODES_ALL);
}

MeansOfFragment::MeansOfFragment(const Plan& of, int block)
{
    const int width = of.width / block, height = of.height / block, channels = of.channels;
    const int pixels = block * block;
    means_.resize(static_cast<size_t>(width) * height * channels);
    weights_.assign(static_cast<size_t>(width) * height, 1);
    losses.assign(height, 0);
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x)
        {
            const size_t at = static_cast<size_t>(y) * width + x;
            const size_t first = static_cast<size_t>(block) * (static_cast<size_t>(y) * of.width + x);
            const uint64_t weight = of.weighted ? leastOf(of.q + first, of.width, block) : 1;
            weights_[at] = static_cast<uint8_t>(weight);
            any = any || weight > 0;
            for (int c = 0; c < channels; ++c)
            {
                const uint8_t* const bytes = &of.bytes[static_cast<size_t>(c) * of.width * of.height + first];
                const int sum = sumOf(bytes, of.width, block), mean = sum / pixels;
                means_[at * channels + c] = static_cast<uint8_t>(mean);
                losses[y] += weight * blockLoss(sum, mean, pixels);
            }
        }
    loss = std::accumulate(losses.begin(), losses.end(), uint64_t(0));
    if (!any)
        return;
    pack({means_.data(), false, of.weighted ? weights_.data() : nullptr, width, height, channels, {}}, Metric::SAD,
         plan);
    scale = static_cast<uint64_t>(pixels) * (of.weighted ? plan.unit : 1);
}

MeansOfImage meansOf(const Plan& plan, const Planes& planes, const SearchWindow& window, int block, uint8_t* data,
                     Scratch& memory, ScratchPool* pool)
{
    const int cols = window.cols + plan.width - 1, rows = window.rows + plan.height - block;
    MeansOfImage means = {data, alignRow(detail::ceilDiv(cols, block)), 0, block};
    const size_t rowStep = block * means.phaseStep;
    means.planeStep = static_cast<size_t>(rows) * rowStep;
    const int strip = pool ? 64 : rows, strips = detail::ceilDiv(rows, strip);
    forAll(strips * plan.channels, memory, pool,
           [&](int i, Scratch& own)
           {
               const int c = i / strips, first = i % strips * strip;
               computeMeans(planes.pixel(c, 0, first), planes.step, std::min(strip, rows - first), cols, block,
                            data + c * means.planeStep + first * rowStep, means.phaseStep, own.rows.columns);
           });
    return means;
}

size_t bytesOfMeans(const Plan& plan, const SearchWindow& window, int block)
{
    const size_t cols = window.cols + plan.width - 1, rows = window.rows + plan.height - block;
    return alignRow(detail::ceilDiv(cols, size_t(block))) * block * rows * plan.channels + PLANE_PADDING;
}

Pattern patternOf(const Plan& plan)
{
    Pattern pattern = {plan.width, plan.height, plan.channels, plan.weighted, alignRow(plan.width), {}, {}};
    const size_t rows = static_cast<size_t>(plan.height) * plan.channels;
    pattern.bytes.assign(rows * pattern.pitch, 0);
    for (size_t y = 0; y < rows; ++y)
        std::copy_n(plan.bytes.data() + y * plan.width, plan.width, pattern.bytes.data() + y * pattern.pitch);
    const int weightRows = plan.weighted ? plan.height : 1;
    pattern.weights.assign(weightRows * pattern.pitch, 0);
    for (int y = 0; y < weightRows; ++y)
        if (plan.weighted)
            std::copy_n(plan.q + static_cast<size_t>(y) * plan.width, plan.width,
                        pattern.weights.data() + y * pattern.pitch);
        else
            std::fill_n(pattern.weights.data(), plan.width, uint8_t(255));
    return pattern;
}

void findLeasts(const Plan& plan, const MeansOfImage& means, Groups& groups, Scratch& memory, ScratchPool* pool)
{
    groups.leasts.assign(static_cast<size_t>(groups.countX()) * groups.countY(), UINT32_MAX);
    const int block = means.block, strip = pool ? STRIP_GROUPS : groups.countY(), perGroup = GROUP_COLS / block;
    forAll(
        detail::ceilDiv(groups.countY(), strip), memory, pool,
        [&](int i, Scratch& own)
        {
            const int top = i * strip * GROUP_ROWS, bottom = std::min(groups.rows, top + strip * GROUP_ROWS);
            for (int phase = 0; phase < block * block; ++phase)
            {
                const int px = phase % block, py = phase / block;
                const int cols = detail::ceilDiv(groups.cols - px, block);
                const int rows = detail::ceilDiv(std::max(bottom - top - py, 0), block);
                if (cols <= 0 || rows <= 0)
                    continue;
                const size_t stride = alignRow(cols);
                const MapView<uint32_t> map = {own.terms.get<uint32_t>(stride * rows), stride, nullptr};
                scoreMap(plan, means.phase(px, py).at(0, top / block), rows, cols, map, {nullptr, 0, 0}, 0, own.rows);
                for (int r = 0; r < rows; ++r)
                {
                    const int y = top + py + block * r;
                    const uint32_t* const sums = map.values + r * stride;
                    uint32_t* const leasts = &groups.leasts[static_cast<size_t>(y / GROUP_ROWS) * groups.countX()];
                    for (int k = 0; k < cols; ++k)
                        leasts[k / perGroup] = std::min(leasts[k / perGroup], sums[k]);
                }
            }
        });
}

}}}} // namespace cv::cuda::fragment_matcher::cpu
