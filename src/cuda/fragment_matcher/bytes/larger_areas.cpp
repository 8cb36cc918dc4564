// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Plan for search areas that are larger than expected.
#include "../../../precomp.hpp"

#ifdef HAVE_CUDA

#include "larger_areas.hpp"

namespace cv { namespace cuda { namespace fragment_matcher {

LargerAreasPlan::LargerAreasPlan(const MatchCase& given, const Load& load, Extent expected, Extent limit,
                                 uint64_t known, unsigned long long* largest)
    : TilesPlan(given, load), fragments_(load.count), any_(!(larger(expected, limit) == expected)), larger_()
{
    larger_.expected = expected;
    larger_.blocks = given.multiprocessors * tuning::TILE_BLOCKS;
    larger_.known = known;
    larger_.largest = largest;
}

void LargerAreasPlan::takeMemory(detail::Parts& working, detail::Parts& zeros, int count)
{
    TilesPlan::takeMemory(working, zeros, count);
    larger_.slots = count;
    larger_.areas = working.take<Rect4>(fragments_);
    larger_.windows = working.take<gpu::LargerWindow>(fragments_);
    larger_.tilesTo = working.take<long long>(fragments_);
    larger_.done = working.take<unsigned>(count);
    larger_.counts = working.take<gpu::LargerCounts>(1);
}

void LargerAreasPlan::run(const gpu::Job& job) const
{
    gpu::listLargerAreas(job, larger_);
    if (!any_)
        return;
    gpu::Job larger = job;
    larger.batch.areas = {larger_.areas, sizeof(Rect4)};
    gpu::matchLargerTiles(larger, plan, windows_, larger_);
}

}}} // namespace cv::cuda::fragment_matcher

#endif // HAVE_CUDA
