// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Device memory of the CUDA engine: images, objects, and the lists that kernels read.
#ifndef OPENCV_CUDATRACKING_CUDA_TLD_MEMORY_HPP
#define OPENCV_CUDATRACKING_CUDA_TLD_MEMORY_HPP

#include "../../common/workspace.hpp"
#include "layout.hpp"
#include <memory>
#include <vector>

namespace cv { namespace cuda { namespace tld {

//! An object: its data on the host, and its device memory.
struct Object
{
    int width, height; //!< size of the user's box, pixels
    int contrast;      //!< of its first patch; train() sets it
    Grid grid;
    std::vector<Feature> features;
    std::unique_ptr<detail::DeviceBuffer> memory;
    ObjectPlan plan;
};

class DeviceMemory
{
public:
    explicit DeviceMemory(detail::Workspace& workspace) : workspace_(workspace) {}

    int cols() const { return cols_; } //!< columns of images; 0: none yet
    int rows() const { return rows_; }
    int count() const { return static_cast<int>(objects_.size()); }
    const Object& object(int index) const { return *objects_[index]; }
    //! Returns a batch with the members that belong to images.
    const gpu::Batch& frame() const { return frame_; }

    //! Allocates and clears images, unless they have this size. There must be no objects of another size.
    void placeFrame(const detail::Call& call, int cols, int rows, const Settings& settings);
    //! Makes an object that is not listed yet. append(), discard() and remove() cannot fail afterwards.
    std::unique_ptr<Object> makeObject(const detail::Call& call, int width, int height, std::vector<Feature> features,
                                       const ObjectState& state, const Settings& settings);
    void append(std::unique_ptr<Object> object) noexcept;
    //! Keeps the memory of an object for later ones, unless a captured call has used it.
    void discard(std::unique_ptr<Object> object) noexcept;
    void remove(int index) noexcept;

    //! Whether a captured call has used this memory: every one uses the images.
    bool inGraphs() const { return images_.inGraphs(); }
    //! Returns a batch of all objects.
    gpu::Batch batchOf(const detail::Call& call, const Settings& settings);
    void upload(const detail::Call& call, void* to, const std::vector<uint8_t>& bytes);
    void upload(const detail::Call& call, void* to, const void* from, size_t bytes);

private:
    std::unique_ptr<detail::DeviceBuffer> takeMemory(size_t bytes);
    void list(const Settings& settings);
    void listGroups(const Settings& settings);

    detail::Workspace& workspace_;
    detail::Uploader uploader_{workspace_};
    detail::DeviceBuffer images_{workspace_};
    detail::DeviceBuffer lists_{workspace_}; //!< code lists of all groups
    detail::DeviceTable recordTable_{workspace_}, tileTable_{workspace_}, groupTable_{workspace_};
    detail::DeviceTable memberTable_{workspace_};
    gpu::Batch frame_ = {};
    size_t frameBytes_ = 0;
    int cols_ = 0, rows_ = 0;
    std::vector<std::unique_ptr<detail::DeviceBuffer>> spare_; //!< memory of removed objects
    std::vector<std::unique_ptr<Object>> objects_;

    uint64_t version_ = 1, listedVersion_ = 0; //!< of the lists; listedVersion_ 0: none
    std::vector<gpu::ObjectRecord> records_;
    std::vector<gpu::Tile> tiles_;
    std::vector<gpu::Group> groups_;
    std::vector<gpu::Member> members_;
    size_t listBytes_ = 0;
    int mostPoints_ = 0;
};

}}} // namespace cv::cuda::tld

#endif // OPENCV_CUDATRACKING_CUDA_TLD_MEMORY_HPP
