// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Posteriors of the windows of a code list. A block keeps the posteriors of its object in shared memory if they fit.
#ifndef OPENCV_CUDATRACKING_CUDA_TLD_CODES_HPP
#define OPENCV_CUDATRACKING_CUDA_TLD_CODES_HPP

#include "../../common/device.hpp"
#include "block.hpp"
#include "plan.hpp"

namespace cv { namespace cuda { namespace tld { namespace gpu {

//! Returns the limit of the current device.
inline detail::SharedLimit sharedLimit() { return detail::SharedLimit(detail::sharedBytesOfBlock()); }

//! Selects a kernel. @param fixed instance for the default trees and features. @param any instance for all others.
template <typename Kernel> Kernel* kernelFor(const Settings& settings, Kernel* fixed, Kernel* any)
{
    return settings.trees == 10 && settings.features == 13 ? fixed : any;
}

//! Copies the posteriors of a model to shared memory. The caller adds a barrier.
__device__ __forceinline__ void loadPosteriors(const Settings& settings, const Model& model, uint4* memory)
{
#pragma unroll 10
    for (int k = threadIdx.x; k < leavesOf(settings) / 8; k += tuning::POSTERIOR_THREADS)
        memory[k] = __ldcg(reinterpret_cast<const uint4*>(model.posteriors) + k);
}

//! Maps consecutive indices to entries of a code list, scale by scale. In shared memory.
struct ListPlaces
{
    int first[MAX_SCALES], counts[MAX_SCALES];
    int before[MAX_SCALES + 1]; //!< sum of counts of lower scales; the last one is the number of all entries

    //! Loads the counts of a list. Contains barriers and ends with one.
    __device__ __forceinline__ void load(const Grid& grid, const CodeList& list)
    {
        const int s = threadIdx.x, scales = grid.scales;
        if (s < scales)
        {
            first[s] = grid.scale[s].first;
            counts[s] = static_cast<int>(list.counts[s]);
        }
        __syncthreads(); // counts
        if (s <= scales)
        {
            int sum = 0;
            for (int k = 0; k < s; ++k)
                sum += counts[k];
            before[s] = sum;
        }
        __syncthreads(); // places
    }
    //! Returns the entry of index k. @param scale in: 0 or the result for a lower k; out: scale of the window.
    __device__ __forceinline__ int of(int k, int& scale) const
    {
        while (k >= before[scale + 1])
            ++scale;
        return first[scale] + k - before[scale];
    }
};

//! Codes of a window of a code list. @tparam TREES,FEATURES of the settings; 0: known at run time only.
template <int TREES, int FEATURES> class PackedCodes
{
public:
    static const int MOST = TREES ? TREES : MAX_TREES;

    __device__ void load(const Settings& settings, const CodeList& list, int at)
    {
        const uint32_t* from = list.codes + at;
#pragma unroll
        for (int k = 0; k < WORDS; ++k, from += list.step)
            words_[k] = TREES || 2 * k < settings.trees ? __ldg(from) : 0;
    }
    __device__ uint32_t leafOf(const Settings& settings, int t) const
    {
        const int features = FEATURES ? FEATURES : settings.features;
        return (static_cast<uint32_t>(t) << features) + CodeList::codeOf(words_[t / 2], t, features);
    }
    __device__ uint32_t sum(const Settings& settings, const uint16_t* posteriors) const
    {
        uint32_t sum = 0;
#pragma unroll
        for (int t = 0; t < MOST; ++t)
            if (TREES || t < settings.trees)
                sum += posteriors[leafOf(settings, t)];
        return sum;
    }

private:
    static const int WORDS = (MOST + 1) / 2;

    uint32_t words_[WORDS];
};

}}}} // namespace cv::cuda::tld::gpu

#endif // OPENCV_CUDATRACKING_CUDA_TLD_CODES_HPP
