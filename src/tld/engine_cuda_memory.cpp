// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

#include "../precomp.hpp"

#ifdef HAVE_CUDA

#include "engine_cuda_memory.hpp"
#include <algorithm>

namespace cv { namespace cuda { namespace tld {

using detail::Call;
using detail::cudaCheck;
using detail::DeviceBuffer;

DeviceMemory::DeviceMemory(detail::Workspace& workspace)
    : workspace_(workspace), uploader_(workspace), pictures_(workspace), recordTable_(workspace), tileTable_(workspace)
{}

void DeviceMemory::placeFrame(const Call& call, int cols, int rows, const Settings& settings)
{
    if (cols_ == cols && rows_ == rows)
        return;
    gpu::Batch frame = {};
    const size_t bytes = planFrame(nullptr, cols, rows, settings, frame);
    cols_ = 0; // until all is there
    pictures_.leaveToGraphs(call);
    void* const block = pictures_.reserve(call, bytes, "pictures");
    planFrame(block, cols, rows, settings, frame);
    cudaCheck(cudaMemsetAsync(block, 0, bytes, call.stream()), "clearing pictures");
    gpu::Ring ring;
    for (int i = 0; i < gpu::SLOTS; ++i)
        ring.slot[i] = i;
    uploader_.upload(call, frame.ring, &ring, sizeof(ring));
    frame_ = frame;
    frameBytes_ = bytes;
    cols_ = cols;
    rows_ = rows;
}

std::unique_ptr<DeviceBuffer> DeviceMemory::takeMemory(size_t bytes)
{
    for (size_t i = 0; i < spare_.size(); ++i)
        if (spare_[i]->bytes() >= bytes && spare_[i]->bytes() / 2 <= bytes && !spare_[i]->usedByGraphs())
        {
            std::unique_ptr<DeviceBuffer> memory = std::move(spare_[i]);
            spare_.erase(spare_.begin() + i);
            return memory;
        }
    return std::make_unique<DeviceBuffer>(workspace_);
}

std::unique_ptr<Object> DeviceMemory::makeObject(const Call& call, int width, int height, std::vector<Feature> features,
                                                 const ObjectState& state, const Settings& settings)
{
    objects_.reserve(objects_.size() + 1);
    spare_.reserve(spare_.size() + 1);
    std::unique_ptr<Object> object(new Object());
    object->width = width;
    object->height = height;
    object->grid = makeGrid(width, height, cols_, rows_, settings);
    object->features = std::move(features);
    const size_t bytes = planObject(nullptr, object->grid, settings).bytes;
    const std::vector<uint8_t> written =
        objectBytes(object->grid, object->features, state, settings, static_cast<int>(frame_.blurred.step));
    object->memory = takeMemory(bytes);
    uint8_t* const block = static_cast<uint8_t*>(object->memory->reserve(call, bytes, "an object"));
    object->plan = planObject(block, object->grid, settings);
    upload(call, block, written);
    cudaCheck(cudaMemsetAsync(block + written.size(), 0, object->plan.cleared - written.size(), call.stream()),
              "clearing an object");
    return object;
}

void DeviceMemory::append(std::unique_ptr<Object> object) noexcept
{
    objects_.push_back(std::move(object));
    ++version_;
}

void DeviceMemory::discard(std::unique_ptr<Object> object) noexcept { spare_.push_back(std::move(object->memory)); }

void DeviceMemory::remove(int index)
{
    spare_.reserve(spare_.size() + 1);
    discard(std::move(objects_[index]));
    objects_.erase(objects_.begin() + index);
    ++version_;
}

void DeviceMemory::upload(const Call& call, void* to, const std::vector<uint8_t>& bytes)
{
    uploader_.upload(call, to, bytes.data(), bytes.size());
}

gpu::Batch DeviceMemory::batchOf(const Call& call, int count, const Settings& settings)
{
    if (listedVersion_ != version_)
        list();
    pictures_.reserve(call, frameBytes_, "pictures");
    for (int i = 0; i < count; ++i)
        objects_[i]->memory->reserve(call, objects_[i]->plan.bytes, "an object");
    gpu::Batch batch = frame_;
    batch.settings = settings;
    batch.count = count;
    batch.tileCount = count > 0 ? lastTiles_[count - 1] : 0;
    if (count == 0)
        return batch;
    batch.objects = static_cast<const gpu::ObjectRecord*>(
        recordTable_.put(call, uploader_, listedVersion_, records_.data(), records_.size() * sizeof(gpu::ObjectRecord),
                         "the list of objects"));
    batch.tiles = static_cast<const gpu::Tile*>(tileTable_.put(
        call, uploader_, listedVersion_, tiles_.data(), tiles_.size() * sizeof(gpu::Tile), "the list of windows"));
    return batch;
}

void DeviceMemory::list()
{
    listedVersion_ = 0; // until all are listed
    records_.clear();
    tiles_.clear();
    lastTiles_.clear();
    for (const std::unique_ptr<Object>& object : objects_)
    {
        appendTiles(object->grid, static_cast<int>(records_.size()), tiles_);
        records_.push_back(object->plan.record);
        lastTiles_.push_back(static_cast<int>(tiles_.size()));
    }
    listedVersion_ = version_;
}

}}} // namespace cv::cuda::tld

#endif // HAVE_CUDA
