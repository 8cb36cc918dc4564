// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// computeNoisy(): the stages pack, density, parents and label, with noise added to the densities in between.
#include "../../precomp.hpp"
#include "../../quick_shift/engine.hpp"
#include "scratch.hpp"
#include <algorithm>

namespace cv { namespace cuda { namespace quick_shift {

namespace {

//! Returns the densities of all pixels with noise. @param keys of stage density, which leaves its sums in the scratch.
std::vector<double> noisyDensities(const std::vector<uint32_t>& keys, const cpu::Scratch& scratch,
                                   const Parameters& parameters, const ImageView& noise)
{
    std::vector<double> densities(keys.size());
    for (size_t i = 0; i < keys.size(); ++i)
    {
        const double density =
            parameters.normalize ? keyDensity(keys[i], parameters) : static_cast<double>(scratch.sums[i]) / ONE_WEIGHT;
        const size_t y = i / noise.cols, x = i % noise.cols;
        densities[i] = density + noise.row<double>(static_cast<int>(y))[x];
    }
    return densities;
}

//! Replaces keys by the ranks of densities, from 1: equal ones have one rank. Keys of masked pixels stay 0.
void rank(const std::vector<double>& densities, std::vector<uint32_t>& keys)
{
    std::vector<int> order;
    for (size_t i = 0; i < keys.size(); ++i)
        if (keys[i])
            order.push_back(static_cast<int>(i));
    std::sort(order.begin(), order.end(), [&](int a, int b) { return densities[a] < densities[b]; });
    uint32_t last = 0;
    for (size_t k = 0; k < order.size(); ++k)
    {
        if (k == 0 || densities[order[k - 1]] < densities[order[k]])
            ++last;
        keys[order[k]] = last;
    }
}

} // namespace

std::unique_ptr<Engine> computeNoisy(const ImageView& image, const ImageView& mask, const ImageView& noise,
                                     const Settings& settings)
{
    HostResults results;
    results.extent = {image.cols, image.rows, 1};
    results.settings = settings;
    const size_t n = results.extent.total();
    results.keys.resize(n);
    results.parents.resize(n);
    results.distances.resize(n);

    cpu::Scratch scratch;
    cpu::pack(image, mask, settings.parameters, settings.scales, scratch);
    cpu::density(settings.parameters, settings.spatial->rows.data(), scratch, results.keys.data());
    const std::vector<double> densities = noisyDensities(results.keys, scratch, settings.parameters, noise);
    rank(densities, results.keys);
    results.densities.resize(n);
    std::transform(densities.begin(), densities.end(), results.keys.begin(), results.densities.begin(),
                   [](double density, uint32_t key) { return key ? static_cast<float>(density) : 0.f; });
    cpu::parents(settings.parameters, results.keys.data(), scratch, results.parents.data(), results.distances.data());
    return makeCpuEngine(std::move(results));
}

}}} // namespace cv::cuda::quick_shift
