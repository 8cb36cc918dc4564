// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// What the CUDA engine works out on the host and keeps on the device: a model in the form of its tables, and the tiles of a list
// of images.
#ifndef OPENCV_CUDATRACKING_CUDA_CASCADE_PLAN_HPP
#define OPENCV_CUDATRACKING_CUDA_CASCADE_PLAN_HPP

#include "../../common/shared_limit.hpp"
#include "classify.hpp"
#include "../../cascade/engine.hpp"
#include <cstring>

namespace cv { namespace cuda { namespace cascade {

//! Arrays one after the other, for one upload.
class Blob
{
public:
    //! @return where the array begins.
    template <typename T> size_t add(const std::vector<T>& values)
    {
        const size_t begin = detail::roundUp<size_t>(bytes_.size(), 16);
        bytes_.resize(begin + values.size() * sizeof(T));
        if (!values.empty())
            std::memcpy(bytes_.data() + begin, values.data(), values.size() * sizeof(T));
        return begin;
    }
    const void* data() const { return bytes_.data(); }
    size_t size() const { return bytes_.size(); }

private:
    std::vector<uint8_t> bytes_;
};

//! Corners of one sum.
typedef std::vector<Corner> FeaturePart;

//! Whether windows can go in pairs. @param parts of each Haar feature, whose sums fit 16 bits.
bool canPair(const Model& model, std::vector<std::vector<FeaturePart>>& parts);

//! Makes parts equally long, with corners that count 0 times. @return their length by four.
uint32_t padToFours(std::vector<FeaturePart>& parts);

//! Corners in the order of a form. @return TERMS: none fits.
gpu::CornerPattern patternOf(FeaturePart corners, FeaturePart& ordered, int& factor);

//! Bits that the leaves of a stage lose, so that sums fit 32 bits.
int droppedBits(const Model& model, const Stage& stage);
//! What quantised sums tell: the full one is 2^bits times that, plus 0 to 2^bits - 1 for each tree.
gpu::QuantisedStage quantisedOf(const Stage& stage, int bits);

//! A model as kernels read it.
struct PackedModel
{
    uint64_t version;
    gpu::Shape shapes[2];
    gpu::Layout layout;
    Blob blob;

    //! @param device where the blob is.
    gpu::ModelView at(const void* device) const;

    gpu::ModelView view; //!< without the pointers, for which there are places in the blob:
    size_t stages, trees, records[2], terms[2], fixedLeaves, quantisedLeaves, nodes, leaves, haar, lbp, subsets;
    std::unique_ptr<gpu::ConstantStages> constant; //!< null: not for pairs
};

//! Chooses the tile for pairs of windows, into `packed.shapes` and `packed.layout`. @return false: none fits.
bool choosePairTile(const Model& model, const detail::SharedLimit& shared, PackedModel& packed);
//! Chooses the tile for a window per thread, likewise. There is always one, as tables may lie in device memory.
void chooseTile(const Model& model, const detail::SharedLimit& shared, PackedModel& packed);

//! @param shared memory of a block of the device.
std::shared_ptr<const PackedModel> packModel(const Model& model, const detail::SharedLimit& shared);

//! The pyramids and tiles of all images, for each task.
struct Tiling
{
    struct TaskTiles
    {
        size_t grids, tiles, lists; //!< places in the blob
        int tileCount, singleTiles; //!< all; those of a step of 1, which come first
        int words;                  //!< of failMasks
        std::vector<int> windows;   //!< of images: candidates that there can be
    };

    std::vector<TaskTiles> tasks;
    std::vector<int> firstGrids;  //!< of images
    std::vector<int64_t> pixels;  //!< where their pyramids begin
    int64_t pixelBytes;           //!< of all pyramids
    size_t taps, layers, resizes; //!< places in the blob
    int resizeCount;
    Blob blob;
};

//! Where the lists of images begin when each has room for all its windows but no more than the capacity; then where the last ends.
std::vector<gpu::ListRecord> listsOf(const std::vector<int>& windows, int capacity);

//! What a tiling depends on: equal keys, equal tilings.
std::vector<uint64_t> tilingKey(const Request& request);
std::shared_ptr<const Tiling> makeTiling(const Request& request,
                                         const std::vector<std::shared_ptr<const PackedModel>>& models);

}}} // namespace cv::cuda::cascade

#endif // OPENCV_CUDATRACKING_CUDA_CASCADE_PLAN_HPP
