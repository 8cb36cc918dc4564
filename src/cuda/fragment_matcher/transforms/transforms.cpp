// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Route TRANSFORMS: plan and the factors of the stages of transforms.
#include "../../../precomp.hpp"

#ifdef HAVE_CUDA

#include "../../../common/workspace.hpp"
#include "fft.hpp"
#include "transforms.hpp"
#include <algorithm>
#include <cmath>

namespace cv { namespace cuda { namespace fragment_matcher {

using gpu::Complex;
using gpu::TransformPlan;

namespace {

//! Returns exp(-2 pi i k / length), from an angle of at most a quarter of pi, so that the error is little more than one
//! rounding.
Complex factorOf(int64_t k, int length)
{
    const int64_t eighths = 8 * k; // angle in eighths of a turn, times length
    const int64_t quarter = (eighths / length + 1) / 2;
    const double angle = CV_PI / 4 * static_cast<double>(eighths - 2 * quarter * length) / length;
    const double c = std::cos(angle), s = std::sin(angle);
    const double cosines[] = {c, -s, -c, s}; // of angle + n pi / 2
    return {cosines[quarter % 4], cosines[(quarter + 1) % 4]};
}

//! Returns the least length of a transform that holds `values`; 0 if there is none.
int lengthFor(int values)
{
    const auto length = std::lower_bound(std::begin(gpu::TRANSFORM_LENGTHS), std::end(gpu::TRANSFORM_LENGTHS), values);
    return length == std::end(gpu::TRANSFORM_LENGTHS) ? 0 : *length;
}

//! Plans the transforms; nothing if they are not applicable.
std::optional<TransformPlan> planLengths(const MatchCase& given, const Load& load)
{
    const Extent fragment = load.fragment;
    const Rect4& region = load.region;
    if (!isProduct(given.metric) || given.weighted || !given.fastDoubles || region.width < load.narrowest)
        return std::nullopt;
    TransformPlan plan = {};
    plan.half = detail::ceilDiv(region.width - load.narrowest + 1, 2);
    plan.cols = lengthFor(plan.half + fragment.width - 1);
    plan.rows = lengthFor(region.height);
    if (plan.cols == 0 || plan.rows == 0 || fragment.height > plan.rows)
        return std::nullopt;
    plan.fragmentRows = fragment.height;
    const size_t rowValues = static_cast<size_t>(plan.cols) * given.frame.channels;
    plan.imageValues = rowValues * region.height;
    plan.templatesEach = rowValues * fragment.height;
    plan.productsEach = static_cast<size_t>(plan.cols) * plan.rows;
    gpu::forRow(plan.cols, [&](auto row) { plan.rowFactors = row.FACTORS; });
    size_t values = 0; // per column in shared memory
    gpu::forColumn(plan.rows,
                   [&](auto column)
                   {
                       plan.factors = plan.rowFactors + column.FACTORS;
                       values = 2 * column.VALUES;
                   });
    const size_t staged = region.height + fragment.height; // values of the next channel
    const auto bytes = [](size_t count) { return sizeof(Complex) * gpu::TRANSFORM_COLS * count; };
    plan.staged = bytes(values + staged) <= given.shared.dynamicBytes(0);
    plan.columnSharedBytes = bytes(values + (plan.staged ? staged : 0));
    if (plan.columnSharedBytes > given.shared.dynamicBytes(0) ||
        sizeof(Complex) * plan.imageValues > tuning::TILE_VALUES_BUDGET)
        return std::nullopt;
    return plan;
}

} // namespace

std::optional<TransformPlans> planTransforms(const MatchCase& given, const Load& load)
{
    gpu::BandPlan bands = {};
    const auto transforms = planLengths(given, load);
    if (!transforms || !planBandSums(bands, given, load))
        return std::nullopt;
    bands.columnsEach = static_cast<size_t>(bands.pitch) * bands.sumsRows *
                        (isCorrelation(given.metric) ? 1 + given.frame.channels : 1);
    return TransformPlans{*transforms, bands};
}

namespace gpu {

std::vector<Complex> factorsOf(int cols, int rows)
{
    std::vector<Complex> factors;
    const auto append = [&](auto stages)
    {
        using Stages = decltype(stages);
        for (int q = 1; q < Stages::FIRST; ++q)
            for (int j = 0; j < Stages::OUTER; ++j)
                factors.push_back(factorOf(static_cast<int64_t>(q) * j, Stages::LENGTH));
        for (int q = 1; q < Stages::MIDDLE; ++q)
            for (int j = 0; j < Stages::LAST; ++j)
                factors.push_back(factorOf(static_cast<int64_t>(q) * j, Stages::OUTER));
    };
    forRow(cols, append);
    forColumn(rows, append);
    return factors;
}

} // namespace gpu

namespace {

class Transforms final : public TiledPlan
{
public:
    Transforms(const MatchCase& given, const Load& load, const TransformPlans& thePlans)
        : TiledPlan(windowsOf(given, load)), plans(thePlans), channels(given.frame.channels)
    {}

    size_t bytesEach() const override
    {
        return TiledPlan::bytesEach() + gpu::bandSumsBytes(plans.bands) + plans.bands.columnsEach * sizeof(uint32_t) +
               (plans.transforms.templatesEach + plans.transforms.productsEach) * sizeof(Complex);
    }
    void takeMemory(detail::Parts& working, detail::Parts& zeros, int count) override
    {
        TiledPlan::takeMemory(working, zeros, count);
        bands_ = takeBands(working, plans.bands, gpu::imagePlanes(channels, false), channels > 1, count);
        memory_.image = working.take<Complex>(plans.transforms.imageValues);
        memory_.templates = working.take<Complex>(plans.transforms.templatesEach * count);
        memory_.products = working.take<Complex>(plans.transforms.productsEach * count);
    }
    void upload(const detail::Call& call, detail::Uploader& uploader, detail::DeviceTable& tables) override;
    void run(const gpu::Job& job) const override
    {
        gpu::matchTransforms(job, plans.transforms, memory_, plans.bands, bands_, windows_);
    }

private:
    const TransformPlans plans;
    const int channels;
    gpu::TransformMemory memory_ = {};
    gpu::BandMemory bands_ = {};
};

void Transforms::upload(const detail::Call& call, detail::Uploader& uploader, detail::DeviceTable& tables)
{
    const TransformPlan& plan = plans.transforms;
    const uint64_t version = static_cast<uint64_t>(plan.cols) << 32 | static_cast<uint64_t>(plan.rows);
    const std::vector<Complex> factors =
        tables.has(version) ? std::vector<Complex>() : gpu::factorsOf(plan.cols, plan.rows);
    memory_.factors = static_cast<const Complex*>(
        tables.put(call, uploader, version, factors.data(), sizeof(Complex) * plan.factors, "factors of transforms"));
}

} // namespace

extern const Route TRANSFORMS;
const Route TRANSFORMS = {"TRANSFORMS", planBy<Transforms, planTransforms>};

}}} // namespace cv::cuda::fragment_matcher

#endif // HAVE_CUDA
