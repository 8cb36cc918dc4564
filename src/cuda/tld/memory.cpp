// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

#include "../../precomp.hpp"

#ifdef HAVE_CUDA

#include "memory.hpp"
#include <algorithm>

namespace cv { namespace cuda { namespace tld {

using detail::Call;
using detail::cudaCheck;
using detail::DeviceBuffer;

static bool haveSameCodes(const Object& a, const Object& b)
{
    return a.width == b.width && a.height == b.height &&
           std::equal(a.features.begin(), a.features.end(), b.features.begin(), b.features.end(),
                      [](const Feature& f, const Feature& g)
                      { return f.x0 == g.x0 && f.y0 == g.y0 && f.x1 == g.x1 && f.y1 == g.y1; });
}

void DeviceMemory::placeFrame(const Call& call, int cols, int rows, const Settings& settings)
{
    if (cols_ == cols && rows_ == rows)
        return;
    gpu::Batch frame = {};
    const size_t bytes = planFrame(nullptr, cols, rows, settings, frame);
    cols_ = 0; // until the images are complete
    images_.renew();
    void* const block = images_.reserve(call, bytes, "images");
    planFrame(block, cols, rows, settings, frame);
    cudaCheck(cudaMemsetAsync(block, 0, bytes, call.stream()), "clearing images");
    gpu::Ring ring = {};
    for (int i = 0; i < gpu::SLOTS; ++i)
        ring.slot[i] = i;
    uploader_.upload(call, frame.ring, &ring, sizeof(ring));
    if (frame.filterTables)
    {
        const FilterTables tables = makeFilterTables();
        uploader_.upload(call, const_cast<FilterTables*>(frame.filterTables), &tables, sizeof(tables));
    }
    frame_ = frame;
    frameBytes_ = bytes;
    cols_ = cols;
    rows_ = rows;
}

std::unique_ptr<DeviceBuffer> DeviceMemory::takeMemory(size_t bytes)
{
    for (size_t i = 0; i < spare_.size(); ++i)
        if (spare_[i]->bytes() >= bytes && spare_[i]->bytes() / 2 <= bytes)
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
    spare_.reserve(spare_.size() + objects_.size() + 1); // for when all are removed
    std::unique_ptr<Object> object(new Object());
    object->width = width;
    object->height = height;
    object->contrast = state.contrast;
    object->grid = makeGrid(width, height, cols_, rows_, settings);
    object->features = std::move(features);
    const size_t bytes = planObject(nullptr, object->grid, settings).bytes;
    const FernPoints points = pointsOf(object->features);
    const std::vector<uint8_t> written =
        objectBytes(object->grid, object->features, points, state, makeFilterTarget(width, height, cols_, rows_),
                    settings, static_cast<int>(frame_.blurred.step));
    object->memory = takeMemory(bytes);
    uint8_t* const block = static_cast<uint8_t*>(object->memory->reserve(call, bytes, "an object"));
    object->plan = planObject(block, object->grid, settings);
    object->plan.record.pointCount = static_cast<int>(points.points.size());
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

void DeviceMemory::discard(std::unique_ptr<Object> object) noexcept
{
    if (!object->memory->inGraphs())
        spare_.push_back(std::move(object->memory));
}

void DeviceMemory::remove(int index) noexcept
{
    discard(std::move(objects_[index]));
    objects_.erase(objects_.begin() + index);
    ++version_;
}

void DeviceMemory::upload(const Call& call, void* to, const std::vector<uint8_t>& bytes)
{
    upload(call, to, bytes.data(), bytes.size());
}
void DeviceMemory::upload(const Call& call, void* to, const void* from, size_t bytes)
{
    uploader_.upload(call, to, from, bytes);
}

gpu::Batch DeviceMemory::batchOf(const Call& call, const Settings& settings)
{
    if (listedVersion_ != version_)
        list(settings);
    images_.reserve(call, frameBytes_, "images");
    for (const std::unique_ptr<Object>& object : objects_)
        object->memory->reserve(call, object->plan.bytes, "an object");
    gpu::Batch batch = frame_;
    batch.settings = settings;
    batch.count = count();
    if (batch.count == 0)
        return batch;
    const auto put = [&](detail::DeviceTable& table, const auto& list, const char* purpose)
    {
        typedef typename std::decay<decltype(list)>::type::value_type Entry;
        return list.empty() ? nullptr
                            : static_cast<const Entry*>(table.put(call, uploader_, listedVersion_, list.data(),
                                                                  list.size() * sizeof(Entry), purpose));
    };
    batch.objects = put(recordTable_, records_, "the list of objects");
    batch.tiles = put(tileTable_, tiles_, "the list of windows");
    batch.tileCount = static_cast<int>(tiles_.size());
    batch.mostPoints = mostPoints_;
    batch.objectGroups = put(groupTable_, groups_, "the list of groups");
    batch.groupCount = static_cast<int>(groups_.size());
    batch.members = put(memberTable_, members_, "the list of groups");
    batch.memberCount = static_cast<int>(members_.size());
    batch.lists = lists_.reserve<uint8_t>(call, listBytes_, "codes");
    return batch;
}

void DeviceMemory::list(const Settings& settings)
{
    listedVersion_ = 0; // until the lists are complete
    records_.clear();
    mostPoints_ = 0;
    for (const std::unique_ptr<Object>& object : objects_)
    {
        records_.push_back(object->plan.record);
        mostPoints_ = std::max(mostPoints_, object->plan.record.pointCount);
    }
    listGroups(settings);
    listedVersion_ = version_;
}

//! Groups objects of one size and with the same comparisons: their windows have the same codes.
void DeviceMemory::listGroups(const Settings& settings)
{
    groups_.clear();
    members_.clear();
    tiles_.clear();
    detail::Parts lists;
    std::vector<bool> done(objects_.size());
    for (int i = 0; i < count(); ++i)
    {
        if (done[i])
            continue;
        const Object& first = *objects_[i];
        gpu::Group group = {static_cast<int>(members_.size()), 0, first.grid.windows, 0};
        int contrast = first.contrast;
        for (int k = i; k < count(); ++k)
            if (!done[k] && haveSameCodes(first, *objects_[k]))
            {
                records_[k].group = static_cast<int>(groups_.size());
                members_.push_back({k, records_[k].group});
                done[k] = true;
                contrast = std::min(contrast, objects_[k]->contrast);
                ++group.count;
            }
        group.list = lists.place<uint8_t>(gpu::codeListBytes(group.windows, settings.trees, group.count));
        appendTiles(first.grid, first.plan.record, static_cast<int>(groups_.size()), group, contrast, settings, tiles_);
        groups_.push_back(group);
    }
    listBytes_ = lists.bytes();
}

}}} // namespace cv::cuda::tld

#endif // HAVE_CUDA
