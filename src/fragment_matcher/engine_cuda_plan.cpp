// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Which fragments of a call go through which kernels, from the sizes of their search windows.

#include "engine_cuda.hpp"

#ifdef HAVE_CUDA

#include <map>

namespace cv { namespace cuda { namespace fragment_matcher {

namespace {

struct SizeGroup
{
    Size window;       //!< largest, in positions
    bool fits = false; //!< through the fused kernel
};

struct LessSize
{
    bool operator()(Size a, Size b) const { return a.width != b.width ? a.width < b.width : a.height < b.height; }
};
using SizeGroups = std::map<Size, SizeGroup, LessSize>;

//! Widens a group to the window of fragment i.
void widen(SizeGroup& group, Size size, const ImageView& frame, const Areas& areas, size_t i)
{
    if (!areas.host && !group.window.empty())
        return; // without areas to look at, one fragment speaks for all of its size
    Rect4 area = {0, 0, frame.cols, frame.rows};
    if (areas.host)
        area = (*areas.host)[i];
    else if (areas.device)
        area = {0, 0, std::min(areas.limit.width, frame.cols), std::min(areas.limit.height, frame.rows)};
    const SearchWindow window = searchWindow(area, frame.cols, frame.rows, size.width, size.height);
    group.window = larger(group.window, Size(window.cols, window.rows));
}

//! Positions a thread are common to all, and change how much memory each takes: plan again until they stay.
gpu::FusedPlan planGroups(SizeGroups& groups, const ImageView& frame, const Settings& settings, bool weighted)
{
    gpu::FusedPlan plan = {};
    int positions = -1;
    while (positions != plan.positions)
    {
        positions = plan.positions;
        plan = {};
        plan.positions = positions;
        for (auto& entry : groups)
        {
            SizeGroup& group = entry.second;
            const bool any = !group.window.empty(); // else only to be reported
            group.fits = gpu::planFused(plan, any ? group.window : Size(1, 1), any ? entry.first : Size(1, 1), frame,
                                        settings, weighted);
        }
    }
    return plan;
}

} // namespace

CudaEngine::Work CudaEngine::planWork(const ImageView& frame, const Areas& areas, const Settings& settings,
                                      bool weighted) const
{
    SizeGroups groups;
    std::vector<SizeGroup*> groupOf(slotOfFragment_.size());
    Size lastSize;
    for (size_t i = 0; i < slotOfFragment_.size(); ++i)
    {
        const Size size = slots_[slotOfFragment_[i]].size;
        groupOf[i] = i > 0 && size == lastSize ? groupOf[i - 1] : &groups[size];
        lastSize = size;
        widen(*groupOf[i], size, frame, areas, i);
    }

    Work work;
    work.fusedPlan = planGroups(groups, frame, settings, weighted);
    Size window, fragment;
    for (const auto& group : groups)
    {
        if (group.second.fits)
            continue;
        window = larger(window, group.second.window);
        fragment = larger(fragment, group.first);
    }
    if (!window.empty())
        work.tilePlan = gpu::planTiles(window, fragment, frame, settings, weighted);
    for (size_t i = 0; i < groupOf.size(); ++i)
        (groupOf[i]->fits ? work.fused : work.tiled).push_back(static_cast<int>(i));
    return work;
}

}}} // namespace cv::cuda::fragment_matcher

#endif // HAVE_CUDA
