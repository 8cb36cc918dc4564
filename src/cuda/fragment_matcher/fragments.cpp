// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

#include "../../precomp.hpp"

#ifdef HAVE_CUDA

#include "fragments.hpp"
#include "common/stages.hpp"
#include "free_slots.hpp"
#include <algorithm>
#include <climits>
#include <cstring>

namespace cv { namespace cuda { namespace fragment_matcher {

using detail::Call;
using gpu::DeviceFragment;
using gpu::PackJob;

DeviceFragments::DeviceFragments(detail::Workspace& workspace, detail::Uploader& uploader)
    : workspace_(workspace), uploader_(uploader), store_(new Store(workspace)), jobs_(workspace), order_(workspace)
{}

FragmentSizes DeviceFragments::sizesOf(const Fragments& fragments)
{
    FragmentSizes sizes;
    for (const Fragment& fragment : fragments.list)
        if (sizes.distinct.empty() || !(sizes.distinct.back() == Extent{fragment.width, fragment.height}))
            sizes.distinct.push_back({fragment.width, fragment.height});
    std::sort(sizes.distinct.begin(), sizes.distinct.end());
    sizes.distinct.erase(std::unique(sizes.distinct.begin(), sizes.distinct.end()), sizes.distinct.end());
    for (const Fragment& fragment : fragments.list)
    {
        const Extent size = {fragment.width, fragment.height};
        const auto at = std::lower_bound(sizes.distinct.begin(), sizes.distinct.end(), size);
        sizes.of.push_back(static_cast<int>(at - sizes.distinct.begin()));
    }
    return sizes;
}

/** Keeps the slots of fragments that are already resident in the same layout, and releases all others.
@param unassigned out: indices of fragments without a slot. @return indices of fragments whose content must be
packed. */
std::vector<int> DeviceFragments::matchSlots(const Fragments& fragments, State& next,
                                             std::vector<int>& unassigned) const
{
    std::vector<int> changed;
    next.resident.clear();
    next.order.clear();
    const auto release = [&](size_t resident) { next.slots[state_.order[resident]].used = false; };
    size_t resident = 0; // index of a resident fragment; ids ascend in both lists
    for (int i = 0; i < fragments.count(); ++i)
    {
        const Fragment& fragment = fragments.list[i];
        for (; resident < state_.resident.size() && state_.resident[resident].id < fragment.id; ++resident)
            release(resident);
        int slot = -1;
        bool same = false;
        if (resident < state_.resident.size() && state_.resident[resident].id == fragment.id)
        {
            const Slot& was = next.slots[state_.order[resident]];
            if (was.width == fragment.width && was.height == fragment.height && was.weighted == fragment.weighted)
            {
                slot = state_.order[resident];
                same = state_.resident[resident].version == fragment.version;
            }
            else
                release(resident);
            ++resident;
        }
        if (!same)
            changed.push_back(i);
        if (slot < 0)
            unassigned.push_back(i);
        next.resident.push_back({fragment.id, fragment.version});
        next.order.push_back(slot);
    }
    for (; resident < state_.resident.size(); ++resident)
        release(resident);
    return changed;
}

//! Assigns a free slot to each fragment without one, or a new slot after all others.
void DeviceFragments::assignSlots(const Fragments& fragments, const std::vector<int>& unassigned, State& next)
{
    FreeSlots free;
    for (size_t k = 0; k < next.slots.size(); ++k)
        if (!next.slots[k].used)
            free.add(static_cast<int>(k), next.slots[k].capacity);
    for (const int i : unassigned)
    {
        const Fragment& fragment = fragments.list[i];
        const size_t words = gpu::wordsOf(fragment.width, fragment.height, next.channels, next.deep);
        int at = free.take(words);
        if (at < 0)
        {
            at = static_cast<int>(next.slots.size());
            next.slots.push_back({0, 0, false, next.words, words, true});
            next.words += words;
        }
        Slot& slot = next.slots[at];
        slot.width = fragment.width;
        slot.height = fragment.height;
        slot.weighted = fragment.weighted;
        slot.used = true;
        next.order[i] = at;
    }
}

bool DeviceFragments::synchronize(const Call& call, const Fragments& fragments, bool edit)
{
    if (fragments.version == state_.version)
        return true;
    State next = state_;
    std::vector<int> unassigned;
    const std::vector<int> changed = matchSlots(fragments, next, unassigned);
    if (call.capturing() && !changed.empty() && !edit)
        CV_Error(Error::StsBadArg,
                 "FragmentMatcher: fragments given as Mat are not on the device yet, and a graph cannot "
                 "upload them; make such a call once without capturing");
    if (call.capturing() && !unassigned.empty())
        CV_Error(Error::StsBadArg, "FragmentMatcher: while capturing, fragments can be replaced by others of the same "
                                   "number, sizes, type and presence of weights only");
    const bool fresh = unassigned.size() == fragments.list.size() && !unassigned.empty(); // no slot is kept
    if (fresh)
    {
        next.slots.clear();
        next.words = 0;
        next.channels = fragments.list[0].source.templ.channels;
        next.deep = fragments.list[0].source.templ.deep();
    }
    assignSlots(fragments, unassigned, next);
    if (next.order != state_.order)
    {
        next.sizes = sizesOf(fragments);
        ++next.orderVersion;
    }
    else if (!unassigned.empty())
        next.sizes = sizesOf(fragments);
    next.version = fragments.version;
    if (!changed.empty())
    {
        // Graphs keep the table and the arena that they were captured with, always both.
        std::unique_ptr<Store> other;
        if (!unassigned.empty() && (store_->arena.inGraphs() || store_->table.inGraphs()))
            other = std::make_unique<Store>(workspace_);
        pack(call, fragments, next, changed, other ? *other : *store_, !fresh);
        if (call.capturing())
            return false;
        if (other)
            store_ = std::move(other);
    }
    state_ = std::move(next);
    return true;
}

/** Enlarges a store to the next state. The contents of the present store stay unchanged, because later steps may fail.
@param keep contents are still needed, and so are copied to another store. */
void DeviceFragments::reserve(const Call& call, const State& next, Store& store, bool keep)
{
    const size_t arenaBytes = next.words * sizeof(uint32_t), tableBytes = next.slots.size() * sizeof(DeviceFragment);
    const size_t usedArena = state_.words * sizeof(uint32_t), usedTable = state_.slots.size() * sizeof(DeviceFragment);
    if (call.capturing()) // all fragments have slots already
    {
        store.arena.reserve(call, arenaBytes, "fragments");
        store.table.reserve(call, tableBytes, "fragments");
        return;
    }
    if (&store == store_.get())
    {
        store.arena.reserveKeeping(call, usedArena, arenaBytes, "fragments");
        store.table.reserveKeeping(call, usedTable, tableBytes, "fragments");
        return;
    }
    store.arena.reserve(call, arenaBytes, "fragments");
    store.table.reserve(call, tableBytes, "fragments");
    if (!keep)
        return;
    const auto copy = [&](detail::DeviceBuffer& to, const detail::DeviceBuffer& from, size_t bytes)
    {
        detail::cudaCheck(
            cudaMemcpyAsync(to.as<void>(), from.as<void>(), bytes, cudaMemcpyDeviceToDevice, call.stream()),
            "moving fragments");
    };
    copy(store.arena, store_->arena, usedArena);
    copy(store.table, store_->table, usedTable);
}

/** Packs the changed fragments into their slots of the next state. The launch is the last operation that can fail; the
contents of the arena stay unchanged until then. Sources in host memory are uploaded together with the list of jobs. */
void DeviceFragments::pack(const Call& call, const Fragments& fragments, const State& next,
                           const std::vector<int>& changed, Store& store, bool keep)
{
    const auto rowBytes = [](const Fragment& f) { return static_cast<size_t>(f.width) * f.source.templ.pixelStride; };
    // Units of two bytes align the templates of 16 bits.
    const auto unitsOf = [](size_t width, int rows) { return detail::ceilDiv<size_t>(width * rows, sizeof(uint16_t)); };
    detail::Parts size;
    size.place<PackJob>(changed.size());
    for (const int i : changed)
    {
        const Fragment& fragment = fragments.list[i];
        CV_Assert(fragment.source.templ.data);
        if (!fragment.onDevice)
            size.place<uint16_t>(unitsOf(rowBytes(fragment), fragment.height) +
                                 (fragment.weighted ? unitsOf(fragment.width, fragment.height) : 0));
    }
    std::vector<uint8_t> host(size.bytes());
    detail::Parts onDevice(jobs_.reserve(call, host.size(), "fragments to be packed")), onHost(host.data());
    const PackJob* const jobs = onDevice.take<PackJob>(changed.size());
    PackJob* const hostJobs = onHost.take<PackJob>(changed.size());
    const auto append = [&](const void* data, size_t step, size_t width, int rows)
    {
        uint8_t* to = reinterpret_cast<uint8_t*>(onHost.take<uint16_t>(unitsOf(width, rows)));
        for (int y = 0; y < rows; ++y, to += width)
            std::memcpy(to, static_cast<const uint8_t*>(data) + y * step, width);
        return reinterpret_cast<uint8_t*>(onDevice.take<uint16_t>(unitsOf(width, rows)));
    };
    for (size_t k = 0; k < changed.size(); ++k)
    {
        const Fragment& fragment = fragments.list[changed[k]];
        FragmentSource source = fragment.source;
        if (!fragment.onDevice)
        {
            source.templ.data = append(source.templ.data, source.templ.step, rowBytes(fragment), fragment.height);
            source.templ.step = rowBytes(fragment);
            if (fragment.weighted)
                source.weights = append(source.weights, source.weightsStep, fragment.width, fragment.height);
            source.weightsStep = fragment.width;
        }
        const int slot = next.order[changed[k]];
        hostJobs[k] = {source.templ,          source.weights, source.weightsStep,
                       source.weightsDepth,   slot,           gpu::pitchOf(fragment.width),
                       next.slots[slot].words};
    }
    reserve(call, next, store, keep);
    uploader_.upload(call, jobs_.as<void>(), host.data(), host.size());
    gpu::pack(jobs, static_cast<int>(changed.size()), next.channels, next.deep, store.table.as<DeviceFragment>(),
              store.arena.as<uint32_t>(), call.stream());
}

gpu::Batch DeviceFragments::batch(const Call& call, bool weighted)
{
    const int count = static_cast<int>(state_.order.size());
    gpu::Batch batch = {};
    batch.fragments =
        store_->table.reserve<DeviceFragment>(call, state_.slots.size(), "fragments"); // reserve() notes a capture
    batch.arena = store_->arena.reserve<uint32_t>(call, state_.words, "fragments");
    batch.slots = static_cast<const int*>(order_.put(call, uploader_, state_.orderVersion, state_.order.data(),
                                                     count * sizeof(int), "the order of fragments"));
    batch.count = count;
    batch.limitWidth = batch.limitHeight = INT_MAX;
    batch.channels = state_.channels;
    batch.weighted = weighted;
    return batch;
}

}}} // namespace cv::cuda::fragment_matcher

#endif // HAVE_CUDA
