// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Which fragments of a call go through which kernels, from the sizes of their search windows.

#include "engine_cuda.hpp"

#ifdef HAVE_CUDA

#include <map>

namespace cv { namespace cuda { namespace fragment_matcher {

CudaEngine::Work CudaEngine::planWork(const ImageView& frame, const Areas& areas, const Settings& settings,
                                      bool weighted) const
{
    struct SizeGroup
    {
        int cols = 0, rows = 0; // largest window, in positions
        bool fits = false;
    };
    const auto less = [](Size a, Size b) { return a.width != b.width ? a.width < b.width : a.height < b.height; };
    std::map<Size, SizeGroup, decltype(less)> groups(less);
    std::vector<SizeGroup*> groupOf(slotOfFragment_.size());
    SizeGroup* last = nullptr;
    Size lastSize;
    for (size_t i = 0; i < slotOfFragment_.size(); ++i)
    {
        const Size size = slots_[slotOfFragment_[i]].size;
        if (!last || size != lastSize)
        {
            last = &groups[size];
            lastSize = size;
        }
        groupOf[i] = last;
        if (!areas.host && last->cols > 0)
            continue; // without areas to look at, one fragment speaks for all of its size
        Rect4 area = {0, 0, frame.cols, frame.rows};
        if (areas.host)
            area = (*areas.host)[i];
        else if (areas.device)
            area = {0, 0, std::min(areas.limit.width, frame.cols), std::min(areas.limit.height, frame.rows)};
        const SearchWindow window = searchWindow(area, frame.cols, frame.rows, size.width, size.height);
        last->cols = std::max(last->cols, window.cols);
        last->rows = std::max(last->rows, window.rows);
    }

    Work work;
    // Positions a thread are common to all, and change how much memory each takes: plan again until they stay.
    int positions = -1;
    while (positions != work.fusedPlan.positions)
    {
        positions = work.fusedPlan.positions;
        work.fusedPlan = {positions, 0, 0, 0};
        for (auto& group : groups)
        {
            const Size size = group.second.cols > 0 ? group.first : Size(1, 1); // no position: only to be reported
            group.second.fits =
                gpu::planFused(work.fusedPlan, std::max(group.second.cols, 1), std::max(group.second.rows, 1),
                               size.width, size.height, channels_, settings, weighted);
        }
    }
    Size largestWindow, largestFragment;
    for (const auto& group : groups)
    {
        const Size size = group.first;
        if (group.second.fits)
            continue;
        largestWindow =
            Size(std::max(largestWindow.width, group.second.cols), std::max(largestWindow.height, group.second.rows));
        largestFragment =
            Size(std::max(largestFragment.width, size.width), std::max(largestFragment.height, size.height));
    }
    if (!largestWindow.empty())
        work.tilePlan = gpu::planTiles(largestWindow.width, largestWindow.height, largestFragment.width,
                                       largestFragment.height, channels_, settings, weighted);
    for (size_t i = 0; i < groupOf.size(); ++i)
        (groupOf[i]->fits ? work.fused : work.tiled).push_back(static_cast<int>(i));
    return work;
}

}}} // namespace cv::cuda::fragment_matcher

#endif // HAVE_CUDA
