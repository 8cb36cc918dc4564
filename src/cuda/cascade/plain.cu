// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Stage classify for models whose windows cannot be in pairs: their leaves fit no fixed point, their features have
// fractional weights or sums that do not fit 16 bits, or their first stage or their windows are too large. No file of
// OpenCV is among them. One window per thread, one row of a tile per warp, from the model's own arrays, with sums in
// the order of the file. Each block has integral images in device memory, so windows may have any size.
#include "classify.hpp"
#include "integral_image.hpp"
#include "tile.hpp"
#include "../../common/launch.hpp"
#include <algorithm>

namespace cv { namespace cuda { namespace cascade { namespace gpu {

namespace {

//! Adds up the leaves of a stage. @param upright,tilted the window's corner in the integral images.
template <FeatureType TYPE>
__device__ __noinline__ double sumOf(const ModelView& model, const Shape& shape, int stage, const uint32_t* upright,
                                     const uint32_t* tilted, float norm)
{
    const StageRecord& s = model.stage[stage];
    double sum = 0.;
    for (int t = s.firstTree; t < s.firstTree + s.trees; ++t)
    {
        int at = model.trees[t].firstNode;
        while (at >= 0)
        {
            const Node& node = model.nodes[at];
            bool left;
            if constexpr (TYPE == HAAR)
            {
                const HaarFeature& feature = model.haar[node.feature];
                const uint32_t* const corner = feature.tilted ? tilted : upright;
                left = haarGoesLeft(haarValue(feature, [&](int x, int y) { return corner[shape.place(x, y)]; }), norm,
                                    node.threshold);
            }
            else
            {
                static_assert(TYPE == LBP, "every feature type needs its own evaluation");
                left = lbpGoesLeft(
                    model.subsets + static_cast<size_t>(at) * SUBSET_WORDS,
                    lbpCode(model.lbp[node.feature], [&](int x, int y) { return upright[shape.place(x, y)]; }));
            }
            at = left ? node.left : node.right;
        }
        sum += static_cast<double>(model.leaves[~at]);
    }
    return sum;
}

//! Classifies one tile. @param shape with the rows of the pyramid, as the patch is not copied.
template <FeatureType TYPE> __device__ __forceinline__ void classifyTile(const Tile& t, const Shape& shape)
{
    const ModelView& model = t.job.model;
    const int lane = threadIdx.x & 31, row = threadIdx.x >> 5, window = threadIdx.x;
    const bool has = lane < t.cols && row < t.rows;
    const int corner = has ? t.indexOf(window) : 0;
    const auto contrastSum = [&] // of the contrast rectangle
    {
        const uint32_t* const at = t.patch.table + corner;
        const int right = model.width - 1, bottom = model.height - 1;
        return at[shape.place(1, 1)] - at[shape.place(right, 1)] - at[shape.place(1, bottom)] +
               at[shape.place(right, bottom)];
    };
    uint32_t squares = 0;
    if (usesNorm(TYPE))
    {
        integralImage<true>(shape, t.patch);
        __syncthreads(); // the integral image of squares
        squares = contrastSum();
        __syncthreads(); // all have read the squares
    }
    integralImage<false>(shape, t.patch);
    if (model.tilted)
        makeTilted<false>(shape, t.patch);
    __syncthreads(); // tables
    const int64_t contrast = contrastOf(contrastSum(), squares, contrastArea(model.width, model.height));
    const bool evaluated = has && (!usesNorm(TYPE) || contrast >= model.leastContrast);
    const float norm = usesNorm(TYPE) && evaluated ? normOf(contrast) : 0.f;
    double sum = 0.;
    const auto passes = [&](int stage)
    {
        sum = sumOf<TYPE>(model, shape, stage, t.patch.table + corner, t.patch.tilted + corner, norm);
        return !(sum < static_cast<double>(model.stage[stage].threshold));
    };
    bool left = evaluated && passes(0);
    const uint32_t fails = __ballot_sync(ALL_LANES, evaluated && !left), passed = __ballot_sync(ALL_LANES, left);
    if (lane == 0)
        storeFailMask(t, row, fails);
    __syncwarp(); // the mask, for candidates of this row
    left = left && (notSkipped(fails, passed, t.shared.tile.col > 0) >> lane & 1);
    for (int s = 1; s < model.stages && left; ++s)
        left = passes(s);
    if (left)
        addCandidate(t, window, sum);
}

//! Classifies tiles. Blocks loop over them, as each has memory for the integral images of one.
template <FeatureType TYPE>
__global__ void __launch_bounds__(tuning::THREADS) classifyTiles(const __grid_constant__ Classification job)
{
    __shared__ Shared shared;
    const size_t words = 2 * static_cast<size_t>(::max(job.shapes[0].words, job.shapes[1].words)); // of both tables
    for (int i = blockIdx.x; i < job.tileCount; i += gridDim.x)
    {
        loadRecords(job, shared, i);
        __syncthreads(); // the tile's records
        Tile t = tileOf(job, shared, i, reinterpret_cast<uint8_t*>(job.tables + blockIdx.x * words));
        Shape shape = t.shape;
        shape.patchStep = shared.grid.pixelStep;
        t.patch.pixels = const_cast<uint8_t*>(t.pixels()); // not written to
        // The compiler of CUDA 13.0 takes these pointers for pointers to shared memory; asm hides where they come from.
        asm volatile("" : "+l"(t.patch.table), "+l"(t.patch.tilted));
        classifyTile<TYPE>(t, shape);
        __syncthreads(); // all have finished with the tables and records
    }
}

} // namespace

void classifyPlain(const Classification& job, detail::StreamHandle stream)
{
    const auto run = [&](const auto& kernel)
    {
        detail::launch("cascade classify", kernel, dim3(std::min(job.tileCount, tuning::PLAIN_BLOCKS)),
                       dim3(tuning::THREADS), 0, stream, job);
    };
    switch (job.model.featureType)
    {
    case HAAR:
        return run(classifyTiles<HAAR>);
    case LBP:
        return run(classifyTiles<LBP>);
    }
}

}}}} // namespace cv::cuda::cascade::gpu
