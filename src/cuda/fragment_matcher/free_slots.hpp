// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Free blocks of the arena of fragments.
#ifndef OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_FREE_SLOTS_HPP
#define OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_FREE_SLOTS_HPP

#include <cstddef>
#include <set>
#include <utility>

namespace cv { namespace cuda { namespace fragment_matcher {

//! Free slots by capacity. Giving out one takes time that is logarithmic in their number.
class FreeSlots
{
public:
    void add(int slot, size_t capacity) { slots_.insert({capacity, slot}); }

    //! Removes the smallest slot with this capacity or more; of equal ones the first. @return -1: there is none.
    int take(size_t capacity)
    {
        const auto fits = slots_.lower_bound({capacity, 0});
        if (fits == slots_.end())
            return -1;
        const int slot = fits->second;
        slots_.erase(fits);
        return slot;
    }

private:
    std::set<std::pair<size_t, int>> slots_; //!< capacity, index
};

}}} // namespace cv::cuda::fragment_matcher

#endif // OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_FREE_SLOTS_HPP
