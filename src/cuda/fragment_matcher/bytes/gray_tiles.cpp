// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Route GRAY_TILES: TILES of images of one channel, never usual.
#include "../../../precomp.hpp"

#ifdef HAVE_CUDA

#include "tiles.hpp"

namespace cv { namespace cuda { namespace fragment_matcher {

namespace {

class GrayTiles final : public TilesPlan
{
public:
    using TilesPlan::TilesPlan;

    bool usual(const MatchCase&, const Load&) const override { return false; }
};

} // namespace

static std::unique_ptr<Plan> plan(const MatchCase& given, const Load& load)
{
    return given.frame.channels == 1 ? std::make_unique<GrayTiles>(given, load) : nullptr;
}

extern const Route GRAY_TILES;
const Route GRAY_TILES = {"GRAY_TILES", plan, TILES_FACTORS};

}}} // namespace cv::cuda::fragment_matcher

#endif // HAVE_CUDA
