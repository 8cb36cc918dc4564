// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
// Which fragments of a call on the device go through which kernels, and how: all choices that depend on sizes.
#ifndef OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_PLAN_HPP
#define OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_PLAN_HPP

#include "../../common/shared_limit.hpp"
#include "layout.hpp"
#include "../../fragment_matcher/engine.hpp"

namespace cv { namespace cuda { namespace fragment_matcher {

//! Width and height of a fragment in pixels, or of a window in positions.
struct Extent
{
    int width, height;

    bool empty() const { return width <= 0 || height <= 0; }
    bool operator==(const Extent& other) const { return width == other.width && height == other.height; }
    bool operator<(const Extent& other) const
    {
        return width != other.width ? width < other.width : height < other.height;
    }
};

inline Extent larger(Extent a, Extent b)
{
    return {a.width > b.width ? a.width : b.width, a.height > b.height ? a.height : b.height};
}

//! The least rectangle around both; an empty one counts for nothing.
inline Rect4 united(const Rect4& a, const Rect4& b)
{
    if (a.width <= 0 || b.width <= 0)
        return a.width > 0 ? a : b;
    const int x = a.x < b.x ? a.x : b.x, y = a.y < b.y ? a.y : b.y;
    const Extent end = larger({a.x + a.width, a.y + a.height}, {b.x + b.width, b.y + b.height});
    return {x, y, end.width - x, end.height - y};
}

//! The sizes of all fragments.
struct FragmentSizes
{
    std::vector<Extent> distinct; //!< ascending
    std::vector<int> of;          //!< by fragment: which of them it has

    const Extent& operator[](size_t i) const { return distinct[of[i]]; }
};

//! What matching depends on besides sizes.
struct MatchCase
{
    ByteImageView frame;
    Metric metric;
    bool weighted;
    detail::SharedLimit shared; //!< of a block of the device
    int multiprocessors;
};

//! Products of at most 255 * 255 that make up a sum.
inline int64_t termsOf(Extent fragment, const MatchCase& given)
{
    return static_cast<int64_t>(fragment.width) * fragment.height * given.frame.channels;
}

//! Fragments (by index) that go through the fused kernel, and those that go through tiles.
class MatchPlan
{
public:
    void make(const MatchCase& given, const FragmentSizes& sizes, const SearchAreas& areas);

    std::vector<int> fused, tiled;
    gpu::FusedPlan fusedPlan;
    gpu::TilePlan tilePlan;

private:
    //! Fragments of one size go the same way, unless some of them have windows that cannot.
    struct Group
    {
        Extent window; //!< largest
        bool fits;     //!< through the fused kernel
        bool split;    //!< only those whose own window fits count
    };
    void widen(const MatchCase& given, const FragmentSizes& sizes, const SearchAreas& areas);
    void planGroups(const MatchCase& given, const FragmentSizes& sizes);
    bool splitGroups(const MatchCase& given, const FragmentSizes& sizes, const SearchAreas& areas);
    void planFusedGroups(const MatchCase& given, const FragmentSizes& sizes);

    std::vector<Group> groups_; //!< by distinct size
    std::vector<char> alone_;   //!< by fragment, in split groups: its own window fits
};

//! For `count` windows of up to `window` positions and fragments of up to `fragment` pixels. @param region of the frame: all
//! areas.
gpu::TilePlan planTiles(const MatchCase& given, Extent window, Extent fragment, const Rect4& region, int count);
//! The same by matrix instructions. Group 0: this is not the way.
gpu::BandPlan planBands(const MatchCase& given, Extent window, Extent fragment, const Rect4& region, int count);
//! How many of `count` entries go into one launch.
int tileBatch(const gpu::TilePlan& plan, const MatchCase& given, int count);

}}} // namespace cv::cuda::fragment_matcher

#endif // OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_PLAN_HPP
