// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher: search areas on the device without a limit. The host cannot see them, so a call expects them to be
// no larger than those of the calls before, chooses its routes for that, and then matches what is larger by byte sums
// in tiles.
#ifndef OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_LARGER_AREAS_HPP
#define OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_LARGER_AREAS_HPP

#include "tiles.hpp"

namespace cv { namespace cuda { namespace fragment_matcher {

namespace gpu {

//! A window that is larger than expected.
struct LargerWindow
{
    int entry;  //!< of the batch
    int tilesX; //!< tiles per row
};

//! Lists of windows in device memory, written anew by each call.
struct LargerCounts
{
    long long tiles;          //!< of all listed windows
    int windows;              //!< number of listed windows
    unsigned long long taken; //!< tiles that blocks have taken
};

//! Areas that are larger than expected.
struct LargerAreas
{
    Extent expected;       //!< largest area that others match, pixels
    int slots;             //!< windows whose values are in memory at a time
    int blocks;            //!< blocks that take tiles
    Rect4* areas;          //!< all areas, clipped: one per fragment. A copy, as the caller's may change meanwhile
    LargerWindow* windows; //!< in the order of the batch
    long long* tilesTo;    //!< tiles of each listed window and of those before it
    unsigned* done;        //!< windows that are finished, per slot
    LargerCounts* counts;
    unsigned long long known;    //!< what the host has read from there
    unsigned long long* largest; //!< largest width << 32 | largest height of the areas that are searched
};

//! Lists the windows that are larger than expected, and writes the largest area.
void listLargerAreas(const Job& job, const LargerAreas& larger);
//! Matches the listed windows.
void matchLargerTiles(const Job& job, const TilePlan& plan, const Windows& windows, const LargerAreas& larger);

} // namespace gpu

//! Matches the fragments of a load whose areas are larger than expected. Others have their results already.
class LargerAreasPlan final : public TilesPlan
{
public:
    //! @param load with areas as large as the limit, which is that of the call. @param known,largest LargerAreas's.
    LargerAreasPlan(const MatchCase& given, const Load& load, Extent expected, Extent limit, uint64_t known,
                    unsigned long long* largest);

    bool matchesAll() const override { return true; }
    void takeMemory(detail::Parts& working, detail::Parts& zeros, int count) override;
    void run(const gpu::Job& job) const override;

private:
    const int fragments_;
    const bool any_; //!< there can be areas that are larger than expected
    gpu::LargerAreas larger_;
};

}}} // namespace cv::cuda::fragment_matcher

#endif // OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_LARGER_AREAS_HPP
