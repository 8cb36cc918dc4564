// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// How memory of the CUDA engine is divided: for one object, and for images.
#ifndef OPENCV_CUDATRACKING_CUDA_TLD_LAYOUT_HPP
#define OPENCV_CUDATRACKING_CUDA_TLD_LAYOUT_HPP

#include "objects.hpp"
#include "../../tld/engine.hpp"
#include <vector>

namespace cv { namespace cuda { namespace tld {

//! Hands out parts of a block one after the other; from a null block, only their places.
class Parts
{
public:
    explicit Parts(void* block) : block_(static_cast<uint8_t*>(block)) {}

    template <typename T> T* take(size_t count)
    {
        bytes_ = (bytes_ + 255) / 256 * 256;
        T* const part = reinterpret_cast<T*>(block_ + bytes_);
        bytes_ += count * sizeof(T);
        return part;
    }
    size_t bytes() const { return bytes_; }

private:
    uint8_t* block_;
    size_t bytes_ = 0;
};

//! An object's memory: first what the host writes, then tables that begin as zeros, then scratch.
struct ObjectPlan
{
    gpu::ObjectRecord record;
    size_t written, cleared, bytes; //!< ends of these parts
};
ObjectPlan planObject(void* block, const Grid& grid, const Settings& settings);

//! The pixels that ferns look at; no two are the same.
struct FernPoints
{
    std::vector<std::pair<int, int>> points; //!< y, x in FEATURE_UNIT, by rows
    std::vector<uint32_t> pairs;             //!< ObjectRecord::pairs
};
FernPoints pointsOf(const std::vector<Feature>& features);

//! What the host writes: the bytes up to ObjectPlan::written. @param step of the blurred image.
std::vector<uint8_t> objectBytes(const Grid& grid, const std::vector<Feature>& features, const FernPoints& all,
                                 const ObjectState& state, const Settings& settings, int step);
//! Tables of a model, as they lie behind ObjectRecord::models[].leaves.
std::vector<uint8_t> modelBytes(const LearnedObject& learned, const Settings& settings);
//! The same from such bytes; all but sizes and state, which are set before.
void readModel(const std::vector<uint8_t>& bytes, const Settings& settings, LearnedObject& learned);

//! Fills what belongs to images. @return bytes.
size_t planFrame(void* block, int cols, int rows, const Settings& settings, gpu::Batch& batch);

//! Windows of a group, in tiles. @param first object of it. @param number of the group. @param contrast of the object that needs
//! the least.
void appendTiles(const Grid& grid, const gpu::ObjectRecord& first, int number, const gpu::Group& group, int contrast,
                 const Settings& settings, std::vector<gpu::Tile>& tiles);

}}} // namespace cv::cuda::tld

#endif // OPENCV_CUDATRACKING_CUDA_TLD_LAYOUT_HPP
