// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher: what plans depend on: sizes of fragments and windows, parameters of the call, limits of the device.
// Host code.
#ifndef OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_CASE_HPP
#define OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_CASE_HPP

#include "../../../common/device.hpp"
#include "layout.hpp"
#include <vector>

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

//! Returns the larger width and the larger height of both.
inline Extent larger(Extent a, Extent b)
{
    return {a.width > b.width ? a.width : b.width, a.height > b.height ? a.height : b.height};
}

//! Returns the smallest rectangle that contains both; an empty one is ignored.
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
    std::vector<int> of;          //!< index into `distinct`, one per fragment

    const Extent& operator[](size_t i) const { return distinct[of[i]]; }
};

//! Parameters of a call that plans depend on, besides sizes.
struct MatchCase
{
    ByteImageView frame;
    Metric metric;
    bool weighted;
    detail::SharedLimit shared; //!< limit of shared memory per block of the device
    int multiprocessors;
    bool fullSearch = false;  //!< all peaks of the call are searched fully, and nothing but them is reported
    bool fastDoubles = false; //!< double precision has at least a quarter of the throughput of single precision
    bool scoresOnly = false;  //!< the values of all positions are wanted, not peaks
};

namespace tuning {

//! Widest fragment of routes that keep rows of a fragment in shared memory as a whole; wider ones are matched in tiles.
const int WIDEST_FRAGMENT = 1024;

} // namespace tuning

//! Returns the number of products of bytes, each at most 255 * 255, in a sum.
inline int64_t termsOf(Extent fragment, const MatchCase& given)
{
    return static_cast<int64_t>(fragment.width) * fragment.height * given.frame.channels;
}

//! Returns true if sums that are no moments may exceed 32 bits.
inline bool wideSums(const MatchCase& given, Extent fragment)
{
    return given.frame.deep() || (!hasMoments(given.metric, given.weighted) &&
                                  termsOf(fragment, given) * largestTerm(given.metric, given.weighted) > 0xffffffffll);
}

//! Fragments of one size that share launches.
struct SizeGroup
{
    Extent fragment;
    Extent window; //!< the largest; may be empty
    int count;
};

//! Fragments that share launches.
struct Load
{
    Extent window, fragment; //!< the largest
    int count;
    int narrowest;                 //!< least width of a fragment
    int64_t pixels;                //!< most pixels of a fragment
    Rect4 region;                  //!< part of the frame that contains all areas
    std::vector<SizeGroup> groups; //!< ascending by size; empty for score maps
};

}}} // namespace cv::cuda::fragment_matcher

#endif // OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_CASE_HPP
