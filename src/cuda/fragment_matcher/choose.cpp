// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Divides a call into loads.
#include "../../precomp.hpp"

#ifdef HAVE_CUDA

#include "choose.hpp"
#include <algorithm>
#include <numeric>

namespace cv { namespace cuda { namespace fragment_matcher {

namespace {

//! The search windows of a call.
class CallWindows
{
public:
    CallWindows(const MatchCase& theCase, const FragmentSizes& theSizes, const SearchAreas& theAreas)
        : given(theCase), sizes(theSizes), own(theAreas.list && !theAreas.onDevice), areas(theAreas)
    {}

    //! Returns the area of fragment i; the largest that it may have if areas are on the device.
    Rect4 areaOf(int i) const
    {
        const Rect4 frame = {0, 0, given.frame.cols, given.frame.rows};
        if (own)
            return *areas.list.row(i);
        return areas.list
                   ? Rect4{0, 0, std::min(areas.limitWidth, frame.width), std::min(areas.limitHeight, frame.height)}
                   : frame;
    }
    Extent operator[](int i) const
    {
        const Extent size = sizes[i];
        const SearchWindow window =
            searchWindow(areaOf(i), given.frame.cols, given.frame.rows, size.width, size.height);
        return {window.cols, window.rows};
    }

    const MatchCase& given;
    const FragmentSizes& sizes;
    const bool own; //!< fragments of one size may have different windows

private:
    const SearchAreas& areas;
};

//! Returns the sizes of all fragments of the call, with number and largest window of those that are listed.
std::vector<SizeGroup> groupsOf(const CallWindows& windows, const std::vector<int>& fragments)
{
    std::vector<SizeGroup> groups;
    for (const Extent& size : windows.sizes.distinct)
        groups.push_back({size, {0, 0}, 0});
    for (const int i : fragments)
    {
        SizeGroup& group = groups[windows.sizes.of[i]];
        if (windows.own || group.count == 0)
            group.window = larger(group.window, windows[i]);
        ++group.count;
    }
    return groups;
}

/** Returns the fragments of a list that fit a route. Where the largest window of a size is too large, these are the
fragments of that size whose own window fits. */
std::vector<int> fittingOf(const Route& route, const CallWindows& windows, const std::vector<int>& fragments)
{
    const std::vector<int>& sizeOf = windows.sizes.of;
    std::vector<SizeGroup> groups = groupsOf(windows, fragments);
    std::vector<char> fits = route.fits(windows.given, groups);
    std::vector<int> fitting;
    if (windows.own && std::count(fits.begin(), fits.end(), 0) > 0)
    {
        for (size_t g = 0; g < groups.size(); ++g)
            if (!fits[g])
                groups[g].window = {0, 0};
        for (const int i : fragments)
        {
            SizeGroup& group = groups[sizeOf[i]];
            const Extent window = windows[i];
            if (!fits[sizeOf[i]])
            {
                if (!window.empty() && !route.fits(windows.given, {{group.fragment, window, 1}})[0])
                    continue;
                group.window = larger(group.window, window);
            }
            fitting.push_back(i);
        }
        fits = route.fits(windows.given, groups);
    }
    else
        fitting = fragments;
    const auto tooLarge = [&](int i) { return !fits[sizeOf[i]]; };
    fitting.erase(std::remove_if(fitting.begin(), fitting.end(), tooLarge), fitting.end());
    return fitting;
}

Load loadOf(const CallWindows& windows, const std::vector<int>& fragments)
{
    const ByteImageView& frame = windows.given.frame;
    Load load = {{0, 0}, {0, 0}, static_cast<int>(fragments.size()), 0, 0, {0, 0, frame.cols, frame.rows}, {}};
    load.groups = groupsOf(windows, fragments);
    for (const SizeGroup& group : load.groups)
    {
        if (group.count == 0)
            continue;
        load.window = larger(load.window, group.window);
        load.fragment = larger(load.fragment, group.fragment);
        load.pixels = std::max(load.pixels, static_cast<int64_t>(group.fragment.width) * group.fragment.height);
        load.narrowest = load.narrowest > 0 ? std::min(load.narrowest, group.fragment.width) : group.fragment.width;
    }
    if (windows.own)
    {
        load.region = {0, 0, 0, 0};
        for (const int i : fragments)
            load.region = united(load.region, clipToFrame(windows.areaOf(i), frame.cols, frame.rows));
    }
    return load;
}

} // namespace

std::vector<Part> chooseRoutes(const MatchCase& given, const FragmentSizes& sizes, const SearchAreas& areas)
{
    const CallWindows windows(given, sizes, areas);
    std::vector<int> left(sizes.of.size());
    std::iota(left.begin(), left.end(), 0);
    std::vector<Part> parts;
    const auto add = [&](std::vector<int> fragments)
    {
        if (fragments.empty())
            return;
        Load load = loadOf(windows, fragments);
        Choice choice = chooseRoute(given, load);
        parts.push_back({std::move(fragments), std::move(load), std::move(choice)});
    };
    for (size_t r = 0; r < ROUTE_COUNT && !left.empty(); ++r)
    {
        if (!ROUTES[r]->fits || ROUTES[r]->deep != given.frame.deep())
            continue;
        std::vector<int> fitting = fittingOf(*ROUTES[r], windows, left), others;
        std::set_difference(left.begin(), left.end(), fitting.begin(), fitting.end(), std::back_inserter(others));
        left.swap(others);
        add(std::move(fitting));
    }
    add(std::move(left));
    return parts;
}

int entriesOf(const Plan& plan, int count)
{
    const size_t each = plan.bytesEach();
    if (each == 0)
        return count;
    const size_t fitting = std::min(std::max<size_t>(tuning::TILE_VALUES_BUDGET / each, 1),
                                    std::max<size_t>(0x7ffffffe / plan.blocksEach(), 1));
    return static_cast<int>(std::min<size_t>(std::min<size_t>(fitting, 65535), count));
}

}}} // namespace cv::cuda::fragment_matcher

#endif // HAVE_CUDA
