// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Layout of the CUDA engine's memory: for an object, and for images.
#ifndef OPENCV_CUDATRACKING_CUDA_TLD_LAYOUT_HPP
#define OPENCV_CUDATRACKING_CUDA_TLD_LAYOUT_HPP

#include "../../common/parts.hpp"
#include "objects.hpp"
#include "../../tld/engine.hpp"
#include <vector>

namespace cv { namespace cuda { namespace tld {

using detail::Parts;

const size_t ALIGNMENT = 256; //!< bytes, of all arrays in device memory

//! Memory of an object: tables that the host writes, then tables that begin as zeros, then scratch memory.
struct ObjectPlan
{
    gpu::ObjectRecord record;
    size_t written, cleared, bytes; //!< ends of these parts, bytes
};
ObjectPlan planObject(void* block, const Grid& grid, const Settings& settings);

//! The distinct points of all comparisons.
struct FernPoints
{
    std::vector<std::pair<int, int>> points; //!< y, x in FEATURE_UNIT, by rows
    std::vector<uint32_t> pairs;             //!< ObjectRecord::pairs
};
FernPoints pointsOf(const std::vector<Feature>& features);

//! Returns the content of the tables that the host writes, ObjectPlan::written bytes. @param step of the blurred image.
std::vector<uint8_t> objectBytes(const Grid& grid, const std::vector<Feature>& features, const FernPoints& all,
                                 const ObjectState& state, const FilterTarget& target, const Settings& settings,
                                 int step);
//! Returns the content of the tables of a model, in the layout that begins at Model::leaves.
std::vector<uint8_t> modelBytes(const LearnedObject& learned, const Settings& settings);
//! Reads an object's model from the result of modelBytes(). Sizes and state of the object must be set.
void readModel(const std::vector<uint8_t>& bytes, const Settings& settings, LearnedObject& learned);

//! Sets the members of a batch that belong to images. @return bytes of the block.
size_t planFrame(void* block, int cols, int rows, const Settings& settings, gpu::Batch& batch);

//! Appends the tiles of a group. @param first object of the group. @param number index of the group. @param contrast
//! lowest of its objects.
void appendTiles(const Grid& grid, const gpu::ObjectRecord& first, int number, const gpu::Group& group, int contrast,
                 const Settings& settings, std::vector<gpu::Tile>& tiles);

}}} // namespace cv::cuda::tld

#endif // OPENCV_CUDATRACKING_CUDA_TLD_LAYOUT_HPP
