// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
// Choice of kernels, tiles and batches for the fragments of a call on the device: a function of sizes and of device limits.
#ifndef OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_PLAN_HPP
#define OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_PLAN_HPP

#include "../../common/device.hpp"
#include "layout.hpp"
#include "../../fragment_matcher/engine.hpp"
#include <optional>

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
};

//! Returns the number of products of bytes, each at most 255 * 255, in a sum.
inline int64_t termsOf(Extent fragment, const MatchCase& given)
{
    return static_cast<int64_t>(fragment.width) * fragment.height * given.frame.channels;
}

//! Windows and fragments of a call, taken as if all had the size of the largest.
struct Load
{
    Extent window, fragment;
    int count;
};

//! Plan of a call: indices of the fragments whose windows one block each matches, and of those whose windows are divided among blocks, with
//! the route of both.
class MatchPlan
{
public:
    void make(const MatchCase& given, const FragmentSizes& sizes, const SearchAreas& areas);

    std::vector<int> fused, tiled;
    gpu::FusedPlan fusedPlan; //!< for `fused`
    gpu::TilePlan tilePlan;   //!< for `tiled`

private:
    //! Fragments of one size. They take the same route, unless some have windows that are too large for the fused kernels.
    struct Group
    {
        Extent window; //!< largest window
        bool fits;     //!< the fused kernels can match windows of this size
        bool split;    //!< only fragments whose own window fits are in `window`
    };
    void widen(const MatchCase& given, const FragmentSizes& sizes, const SearchAreas& areas);
    void planGroups(const MatchCase& given, const FragmentSizes& sizes);
    bool splitGroups(const MatchCase& given, const FragmentSizes& sizes, const SearchAreas& areas);
    std::optional<gpu::FusedBands> planBandGroups(const MatchCase& given, const FragmentSizes& sizes) const;
    //! Takes the route that is estimated to be the quickest, for all fragments or, if there are both, for `tiled`.
    void chooseRoute(const MatchCase& given, const FragmentSizes& sizes, const Load& load, const Rect4& region);

    std::vector<Group> groups_; //!< one per distinct size
    std::vector<char> alone_;   //!< one per fragment, for split groups: its own window fits
};

//! Plans FUSED_BANDS with all shared memory of a block; nothing if that is too little or a fragment has too few rows.
std::optional<gpu::FusedBands> planLargeFusedBands(const MatchCase& given, Extent window, const FragmentSizes& sizes);
//! Chooses the route and plans its tiles for `count` windows of up to `window` positions and fragments of up to `fragment` pixels.
//! @param region part of the frame that contains all areas.
//! @param anyWork matrix instructions are also planned where byte sums usually take less time.
gpu::TilePlan planTiles(const MatchCase& given, Extent window, Extent fragment, const Rect4& region, int count,
                        bool anyWork = false);
//! Plans TILES, which any window can take.
gpu::TilePlan planByteTiles(const MatchCase& given, Extent window, Extent fragment);
/** Plans TRANSFORMS for the same windows; nothing if they are not applicable. @param narrowest least width of a fragment. */
std::optional<gpu::TilePlan> planTransforms(const MatchCase& given, Extent window, Extent fragment, int narrowest,
                                            const Rect4& region);
//! Plans planes of bytes, sums and values of SSD and ZNCC; returns false if the shared memory of a block is too small.
bool planBandSums(gpu::BandPlan& plan, const MatchCase& given, Extent window, Extent fragment, const Rect4& region);
//! Plans BANDS for the same windows, without `tiles`; nothing if matrix instructions are not applicable or not worth it.
std::optional<gpu::BandPlan> planBands(const MatchCase& given, Extent window, Extent fragment, const Rect4& region,
                                       int count, bool anyWork);
//! Plans the elimination of tiles from TILES for the same windows; nothing if it is not applicable or not worth it.
std::optional<gpu::BoundPlan> planBounds(const MatchCase& given, Extent window, Extent fragment, const Rect4& region,
                                         int count);
//! Plans BAND_TILES for windows with a plan of BANDS; nothing if their blocks are not all resident at once.
std::optional<gpu::BandTiles> planBandTiles(const gpu::BandPlan& bands, const MatchCase& given, Extent window,
                                            Extent fragment, int count);
//! Plans SLICES for the same windows; nothing if they are too large or sums could exceed 32 bits.
std::optional<gpu::SlicePlan> planSlices(const MatchCase& given, Extent window, Extent fragment, int count);
/** Plans the scores of all positions, for `count` windows and fragments as in planTiles(). @param narrowest least width of a fragment. */
gpu::TilePlan planScores(const MatchCase& given, const Load& load, int narrowest, const Rect4& region);
//! Returns how many of `count` entries one launch matches.
int tileBatch(const gpu::TilePlan& plan, const MatchCase& given, int count);

}}} // namespace cv::cuda::fragment_matcher

#endif // OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_PLAN_HPP
