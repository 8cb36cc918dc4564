// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

#include "engine_cuda.hpp"

#ifdef HAVE_CUDA

#include <climits>

namespace cv { namespace cuda { namespace fragment_matcher {

using detail::cudaCheck;

namespace {

//! Device memory for the values of one launch; more fragments are matched in several. 1080p takes 8 MB a fragment.
const size_t VALUES_BUDGET = size_t(256) << 20;

int pitchOf(int width) { return (width + 15) / 16 * 4; }

size_t wordsOf(Size size, int channels)
{
    return static_cast<size_t>(channels + 1) * pitchOf(size.width) * size.height;
}

int currentDevice()
{
    int device = 0;
    cudaCheck(cudaGetDevice(&device), "asking for the current device");
    return device;
}

} // namespace

CudaEngine::CudaEngine() : device_(currentDevice()) {}

void CudaEngine::checkDevice() const
{
    const int device = currentDevice();
    CV_CheckEQ(device, device_, "this FragmentMatcher lives on the device of its first CUDA call");
}

size_t CudaEngine::bytes() const
{
    return arena_.bytes() + fragments_.bytes() + slotIndices_.bytes() + jobs_.bytes() + incoming_.bytes() +
           work_.bytes() + walked_.bytes() + values_.bytes() + bests_.bytes() + finished_.bytes();
}

// --- fragments -------------------------------------------------------------------------------------------------------

PackJob CudaEngine::place(const FragmentSource& source, int slot)
{
    const Size size(source.templ.cols, source.templ.rows);
    if (slot == static_cast<int>(slots_.size()))
        slots_.push_back({size, arenaWords_, 0});
    Slot& place = slots_[slot];
    const size_t words = wordsOf(size, channels_);
    if (words > place.capacity)
    {
        place.words = arenaWords_;
        place.capacity = words;
        arenaWords_ += words;
    }
    place.size = size;
    return {source.templ, source.weights,      source.weightsStep, source.weightsDepth,
            slot,         pitchOf(size.width), place.words};
}

void CudaEngine::growArena(size_t words, cudaStream_t stream)
{
    if (words * sizeof(uint32_t) <= arena_.bytes())
        return;
    detail::DeviceBuffer grown;
    grown.reserve((words + words / 2) * sizeof(uint32_t), "fragments");
    if (arena_.bytes() > 0)
        cudaCheck(
            cudaMemcpyAsync(grown.as<void>(), arena_.as<void>(), arena_.bytes(), cudaMemcpyDeviceToDevice, stream),
            "moving fragments to a larger buffer");
    arena_.swap(grown); // the old block is freed here; cudaFree waits for the copy
}

void CudaEngine::growFragments(size_t count, cudaStream_t stream)
{
    const size_t bytes = count * sizeof(DeviceFragment);
    if (bytes <= fragments_.bytes())
        return;
    detail::DeviceBuffer grown;
    grown.reserve(bytes + bytes / 2, "fragments");
    if (fragments_.bytes() > 0)
        cudaCheck(cudaMemcpyAsync(grown.as<void>(), fragments_.as<void>(), fragments_.bytes(), cudaMemcpyDeviceToDevice,
                                  stream),
                  "moving fragments to a larger buffer");
    fragments_.swap(grown);
}

void CudaEngine::pack(const std::vector<PackJob>& jobs, cudaStream_t stream)
{
    growArena(arenaWords_, stream);
    growFragments(slots_.size(), stream);
    const size_t bytes = jobs.size() * sizeof(PackJob);
    jobs_.reserve(bytes, "the list of fragments to pack");
    uploader_.upload(jobs_.as<void>(), jobs.data(), bytes, stream);
    gpu::pack(jobs_.as<PackJob>(), static_cast<int>(jobs.size()), channels_, fragments_.as<DeviceFragment>(),
              arena_.as<uint32_t>(), stream);
}

void CudaEngine::set(const std::vector<FragmentSource>& sources, cudaStream_t stream)
{
    slots_.clear();
    slotOfFragment_.clear();
    freeSlots_.clear();
    arenaWords_ = 0;
    slotsUploaded_ = false;
    if (sources.empty())
        return;
    channels_ = sources[0].templ.channels;
    std::vector<PackJob> jobs;
    for (size_t i = 0; i < sources.size(); ++i)
    {
        slotOfFragment_.push_back(static_cast<int>(i));
        jobs.push_back(place(sources[i], static_cast<int>(i)));
    }
    pack(jobs, stream);
}

void CudaEngine::add(const FragmentSource& source, cudaStream_t stream)
{
    if (slotOfFragment_.empty())
        return set({source}, stream);
    int slot = static_cast<int>(slots_.size());
    if (!freeSlots_.empty())
    {
        slot = freeSlots_.back();
        freeSlots_.pop_back();
    }
    slotOfFragment_.push_back(slot);
    slotsUploaded_ = false;
    pack({place(source, slot)}, stream);
}

void CudaEngine::update(int index, const FragmentSource& source, cudaStream_t stream)
{
    pack({place(source, slotOfFragment_[index])}, stream);
}

void CudaEngine::remove(int index)
{
    freeSlots_.push_back(slotOfFragment_[index]);
    slotOfFragment_.erase(slotOfFragment_.begin() + index);
    slotsUploaded_ = false;
}

std::vector<FragmentSource> CudaEngine::upload(const std::vector<FragmentSource>& sources, cudaStream_t stream)
{
    std::vector<uint8_t> packed;
    std::vector<size_t> offsets;
    const auto append = [&packed](const void* data, size_t step, size_t rowBytes, int rows)
    {
        for (int y = 0; y < rows; ++y)
        {
            const uint8_t* row = static_cast<const uint8_t*>(data) + y * step;
            packed.insert(packed.end(), row, row + rowBytes);
        }
    };
    for (const FragmentSource& source : sources)
    {
        const ImageView& templ = source.templ;
        offsets.push_back(packed.size());
        append(templ.data, templ.step, static_cast<size_t>(templ.cols) * templ.pixelStride, templ.rows);
        offsets.push_back(packed.size());
        if (source.weightsDepth != WEIGHTS_NONE)
            append(source.weights, source.weightsStep, templ.cols, templ.rows);
    }
    uint8_t* device = static_cast<uint8_t*>(incoming_.reserve(packed.size(), "fragments on their way to the device"));
    uploader_.upload(device, packed.data(), packed.size(), stream);
    std::vector<FragmentSource> uploaded = sources;
    for (size_t i = 0; i < sources.size(); ++i)
    {
        ImageView& templ = uploaded[i].templ;
        templ.data = device + offsets[2 * i];
        templ.step = static_cast<size_t>(templ.cols) * templ.pixelStride;
        uploaded[i].weights = device + offsets[2 * i + 1];
        uploaded[i].weightsStep = templ.cols;
    }
    return uploaded;
}

void CudaEngine::uploadSlots(cudaStream_t stream)
{
    if (slotsUploaded_)
        return;
    const size_t bytes = slotOfFragment_.size() * sizeof(int);
    slotIndices_.reserve(bytes, "the order of fragments");
    uploader_.upload(slotIndices_.as<void>(), slotOfFragment_.data(), bytes, stream);
    slotsUploaded_ = true;
}

// --- matching --------------------------------------------------------------------------------------------------------

Batch CudaEngine::batchOf(const Areas& areas, ConstRowsView<Position> predictions, bool weighted)
{
    Batch batch = {};
    batch.fragments = fragments_.as<DeviceFragment>();
    batch.arena = arena_.as<uint32_t>();
    batch.slots = slotIndices_.as<int>();
    batch.count = static_cast<int>(slotOfFragment_.size());
    batch.areas = areas.device;
    batch.limitWidth = areas.device ? areas.limit.width : INT_MAX;
    batch.limitHeight = areas.device ? areas.limit.height : INT_MAX;
    batch.channels = channels_;
    batch.weighted = weighted;
    batch.predictions = predictions;
    return batch;
}

//! How many entries go into one launch; memory for them is there afterwards.
int CudaEngine::tileBatch(const gpu::TilePlan& plan, const Settings& settings, bool weighted, int count,
                          cudaStream_t stream)
{
    const size_t each = gpu::tileValuesBytes(plan, settings, weighted);
    const size_t tiles = static_cast<size_t>(plan.tilesX) * plan.tilesY;
    const size_t fitting = std::min(std::max<size_t>(VALUES_BUDGET / each, 1), std::max<size_t>(0x7ffffffe / tiles, 1));
    const int batch = static_cast<int>(std::min<size_t>(std::min<size_t>(fitting, 65535), count));
    values_.reserve(each * batch, "the scores of all positions");
    bests_.reserve(tiles * batch * sizeof(gpu::TileBest), "the best of each tile of positions");
    const size_t counters = batch * sizeof(unsigned);
    if (counters > finished_.bytes())
    {
        finished_.reserve(counters, "counters of finished tiles");
        cudaCheck(cudaMemsetAsync(finished_.as<void>(), 0, finished_.bytes(), stream), "counters of finished tiles");
    }
    return batch;
}

gpu::TileMemory CudaEngine::tileMemory() const
{
    return {values_.as<void>(), bests_.as<gpu::TileBest>(), finished_.as<unsigned>()};
}

void CudaEngine::matchTiles(const ImageView& frame, Batch batch, const Settings& settings, const gpu::TilePlan& plan,
                            const Outputs& out, cudaStream_t stream)
{
    const int end = batch.first + batch.count;
    const int step = tileBatch(plan, settings, batch.weighted, batch.count, stream);
    Walked* walked = settings.search == FragmentMatcher::THREE_STEP ? walked_.as<Walked>() : nullptr;
    for (; batch.first < end; batch.first += step)
    {
        batch.count = std::min(step, end - batch.first);
        if (walked)
            gpu::walk(frame, batch, settings, walked, out, stream);
        gpu::matchTiles(frame, batch, settings, plan, tileMemory(), walked, out, stream);
    }
}

void CudaEngine::match(const ImageView& frame, const Areas& areas, ConstRowsView<Position> predictions,
                       const Settings& settings, bool weighted, const Outputs& out, cudaStream_t stream)
{
    uploadSlots(stream);
    Batch batch = batchOf(areas, predictions, weighted);
    const Work work = planWork(frame, areas, settings, weighted);

    // Areas, and which fragments go which way, in one upload.
    const size_t areasBytes = areas.host ? areas.host->size() * sizeof(Rect4) : 0;
    const bool mixed = !work.tiled.empty() && !work.fused.empty();
    std::vector<uint8_t> packed(areasBytes + (mixed ? sizeof(int) * batch.count : 0));
    if (areas.host)
        std::memcpy(packed.data(), areas.host->data(), areasBytes);
    if (mixed)
    {
        std::memcpy(packed.data() + areasBytes, work.fused.data(), work.fused.size() * sizeof(int));
        std::memcpy(packed.data() + areasBytes + work.fused.size() * sizeof(int), work.tiled.data(),
                    work.tiled.size() * sizeof(int));
    }
    uint8_t* device = static_cast<uint8_t*>(work_.reserve(packed.size(), "search areas"));
    uploader_.upload(device, packed.data(), packed.size(), stream);
    if (areas.host)
        batch.areas = {reinterpret_cast<const Rect4*>(device), sizeof(Rect4)};
    if (mixed)
        batch.list = reinterpret_cast<const int*>(device + areasBytes);

    const bool walks = settings.search == FragmentMatcher::THREE_STEP;
    if (walks)
        walked_.reserve(batch.count * sizeof(Walked), "the results of the three-step search");
    if (walks && settings.peaks == 1) // nothing else to find
        return gpu::walk(frame, batch, settings, walked_.as<Walked>(), out, stream);
    if (!work.fused.empty())
    {
        batch.count = static_cast<int>(work.fused.size());
        Walked* walked = walks ? walked_.as<Walked>() : nullptr;
        if (walks)
            gpu::walk(frame, batch, settings, walked, out, stream);
        gpu::matchFused(frame, batch, settings, work.fusedPlan, walked, out, stream);
        batch.first = batch.count;
    }
    if (!work.tiled.empty())
    {
        batch.count = static_cast<int>(work.tiled.size());
        matchTiles(frame, batch, settings, work.tilePlan, out, stream);
    }
}

void CudaEngine::scoreMap(int index, const ImageView& frame, const Rect4& area, const Settings& settings, bool weighted,
                          int depth, RowsView<void> map, cudaStream_t stream)
{
    uploadSlots(stream);
    const Size size = slots_[slotOfFragment_[index]].size;
    const SearchWindow window = searchWindow(area, frame.cols, frame.rows, size.width, size.height);
    const gpu::TilePlan plan = gpu::planTiles(Size(window.cols, window.rows), size, frame, settings, weighted);
    void* device = work_.reserve(sizeof(Rect4), "search areas");
    uploader_.upload(device, &area, sizeof(Rect4), stream);
    Batch batch = batchOf({}, {nullptr, 0}, weighted);
    batch.first = index;
    batch.count = 1;
    batch.areas = {static_cast<const Rect4*>(device), 0}; // step 0: this area, whatever the index
    tileBatch(plan, settings, weighted, 1, stream);
    Settings scoresOnly = settings;
    scoresOnly.peaks = 0;
    gpu::matchTiles(frame, batch, scoresOnly, plan, tileMemory(), nullptr, {}, stream);
    gpu::exportMaps(frame, batch, settings, plan, values_.as<void>(), depth, map, nullptr, stream);
}

void CudaEngine::scoreMaps(const ImageView& frame, const Areas& areas, const Settings& settings, bool weighted,
                           int depth, RowsView<void> buffer, const std::vector<int>& offsets, cudaStream_t stream)
{
    uploadSlots(stream);
    Batch batch = batchOf(areas, {nullptr, 0}, weighted);
    Size window, fragment;
    for (size_t i = 0; i < slotOfFragment_.size(); ++i)
    {
        const Size size = slots_[slotOfFragment_[i]].size;
        const Rect4 area = areas.host ? (*areas.host)[i] : Rect4{0, 0, frame.cols, frame.rows};
        const SearchWindow its = searchWindow(area, frame.cols, frame.rows, size.width, size.height);
        window = larger(window, Size(its.cols, its.rows));
        fragment = larger(fragment, size);
    }
    if (window.empty())
        return;
    const size_t areasBytes = areas.host ? areas.host->size() * sizeof(Rect4) : 0;
    std::vector<uint8_t> packed(areasBytes + offsets.size() * sizeof(int));
    if (areas.host)
        std::memcpy(packed.data(), areas.host->data(), areasBytes);
    std::memcpy(packed.data() + areasBytes, offsets.data(), offsets.size() * sizeof(int));
    uint8_t* device = static_cast<uint8_t*>(work_.reserve(packed.size(), "search areas"));
    uploader_.upload(device, packed.data(), packed.size(), stream);
    if (areas.host)
        batch.areas = {reinterpret_cast<const Rect4*>(device), sizeof(Rect4)};

    const gpu::TilePlan plan = gpu::planTiles(window, fragment, frame, settings, weighted);
    const int end = batch.count, step = tileBatch(plan, settings, weighted, end, stream);
    Settings scoresOnly = settings;
    scoresOnly.peaks = 0;
    for (; batch.first < end; batch.first += step)
    {
        batch.count = std::min(step, end - batch.first);
        gpu::matchTiles(frame, batch, scoresOnly, plan, tileMemory(), nullptr, {}, stream);
        gpu::exportMaps(frame, batch, settings, plan, values_.as<void>(), depth, buffer,
                        reinterpret_cast<const int*>(device + areasBytes), stream);
    }
}

void CudaEngine::predictAreas(ConstRowsView<Position> locations, int radius, Size frameSize, RowsView<Rect4> areas,
                              cudaStream_t stream)
{
    uploadSlots(stream);
    gpu::predictAreas(locations, batchOf({}, {nullptr, 0}, false), radius, frameSize.width, frameSize.height, areas,
                      stream);
}

}}} // namespace cv::cuda::fragment_matcher

#endif // HAVE_CUDA
