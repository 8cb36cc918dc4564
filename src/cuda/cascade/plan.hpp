// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Tables that the CUDA backend computes on the host and keeps on the device: packed models, pyramids and tiles of a
// list of images.
#ifndef OPENCV_CUDATRACKING_CUDA_CASCADE_PLAN_HPP
#define OPENCV_CUDATRACKING_CUDA_CASCADE_PLAN_HPP

#include "../../common/parts.hpp"
#include "../../common/device.hpp"
#include "classify.hpp"
#include "../../cascade/engine.hpp"
#include <cstring>

namespace cv { namespace cuda { namespace cascade {

//! Arrays in one block of memory, for one upload.
class Blob
{
public:
    //! Appends an array. @return its offset in bytes, a multiple of 16.
    template <typename T> size_t add(const std::vector<T>& values)
    {
        const size_t begin = parts_.place<T>(values.size());
        bytes_.resize(parts_.bytes());
        if (!values.empty())
            std::memcpy(bytes_.data() + begin, values.data(), values.size() * sizeof(T));
        return begin;
    }
    const void* data() const { return bytes_.data(); }
    size_t size() const { return bytes_.size(); }

private:
    detail::Parts parts_{nullptr, 16};
    std::vector<uint8_t> bytes_;
};

//! Corners of a part of a Haar feature, whose sum fits 16 bits.
typedef std::vector<Corner> FeaturePart;

//! Returns whether a model allows windows in pairs. @param parts out: parts of each Haar feature.
bool canPair(const Model& model, std::vector<std::vector<FeaturePart>>& parts);

//! Returns the pixels of the largest cell of LBP features; 0 if there are none.
int64_t mostCellPixels(const Model& model);

//! Pads parts to the same number of corners, a multiple of four, with corners of weight 0. @return that number by four.
uint32_t padToFours(std::vector<FeaturePart>& parts);

//! Sorts corners as a pattern needs them. @return the pattern; TERMS if the corners form no other.
gpu::CornerPattern patternOf(FeaturePart corners, FeaturePart& ordered, int& factor);

//! Returns the number of bits that the leaves of a stage drop, so that its sums fit 32 bits.
int droppedBits(const Model& model, const Stage& stage);
/** Returns how quantised sums decide a stage: the full sum is 2^bits times the quantised one, plus 0 to 2^bits - 1 per
tree. Its base is 0. */
gpu::QuantisedStage quantisedOf(const Stage& stage, int bits);

//! Tiles of a block and their shared memory.
struct TileForm
{
    gpu::Shape shapes[2]; //!< by step - 1
    gpu::Layout layout;
    int threads; //!< per block
};

//! A model as kernels read it, ready for upload.
struct PackedModel
{
    uint64_t version;
    TileForm form;
    //! LBP: tiles of half the rows, with the same records and the least number of threads; no threads: there are none.
    TileForm half;
    Blob blob;

    //! Returns the view of the model. @param device address of the uploaded blob.
    gpu::ModelView at(const void* device) const;

    gpu::ModelView view; //!< without pointers; the offsets of the arrays in the blob follow
    size_t stages, trees, records[2], terms[2], fixedLeaves, quantisedLeaves, nodes, leaves, haar, lbp, subsets;
    std::unique_ptr<gpu::ConstantStages> constant; //!< null: windows one by one
};

//! Chooses the tile for windows in pairs, into `packed.form`, and half of it. @return false if none fits.
bool choosePairTile(const Model& model, const detail::SharedLimit& shared, PackedModel& packed);
//! Returns the tiles for windows one by one: a warp has a row.
TileForm plainForm(const Model& model);

//! Packs a model. @param shared limit of shared memory per block of the device.
std::shared_ptr<const PackedModel> packModel(const Model& model, const detail::SharedLimit& shared);

//! Pyramids and tiles of all images of a call.
struct Tiling
{
    TileForm form;
    std::vector<int> windows;                  //!< windows of each image, the largest possible number of candidates
    std::vector<int> firstGrids;               //!< index of the first grid of each image
    std::vector<int64_t> pixels;               //!< offset of each image's pyramid, bytes
    int64_t pixelBytes;                        //!< bytes of all pyramids
    int tileCount, singleTiles;                //!< number of tiles; number of those with a step of 1, which come first
    int words;                                 //!< number of fail masks
    int resizeCount, resizeRows;               //!< number of rectangles; rows of each
    size_t taps, resizes, grids, tiles, lists; //!< offsets in the blob
    Blob blob;
};

/** Returns the threads of a block that has half of a tile, if all are processed at once: as many as let those of a
multiprocessor be processed at once, but not more than whole tiles have. @param tiles number of halves. */
int threadsOfHalves(int64_t tiles, int multiprocessors);

//! Order of tiles of layers with the same step.
enum class TileOrder
{
    //! Small layers first: their windows reach more stages, so their tiles take long, and other tiles fill the device
    //! meanwhile.
    BY_LAYER,
    //! Small layers first, but the last of many tiles with most work first, so that multiprocessors end at about the
    //! same time. BY_LAYER alone if fewer than half as many tiles as are processed at once begin later: then it is
    //! chance which ends last. It also is with rotated features.
    LAST_BY_WORK,
    //! All halves are processed at once, and multiprocessors take them in turn: tiles of most work are as far from each
    //! other as possible.
    HALVES
};

//! Orders tiles: those of layers with a step of 1 come first. @return number of these.
int orderTiles(std::vector<gpu::TileRecord>& tiles, const std::vector<gpu::GridRecord>& grids, const gpu::Shape& shape,
               TileOrder order, int multiprocessors);

//! Returns the index of each image's first candidate: lists have room for all windows of the image but not more than
//! the capacity. One more index marks the end of the last list.
std::vector<int64_t> listsOf(const std::vector<int>& windows, int capacity);

//! Returns a key of all that a tiling depends on: equal keys mean equal tilings.
std::vector<uint64_t> tilingKey(const Request& request);
//! @param multiprocessors number of them: few tiles are halved, so that all have work.
std::shared_ptr<const Tiling> makeTiling(const Request& request, const PackedModel& model, int multiprocessors);

}}} // namespace cv::cuda::cascade

#endif // OPENCV_CUDATRACKING_CUDA_CASCADE_PLAN_HPP
