// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

#include "../../precomp.hpp"

#ifdef HAVE_CUDA

#include "result_sets.hpp"
#include <algorithm>

namespace cv { namespace cuda { namespace quick_shift {

using detail::Call;
using detail::cudaCheck;

bool operator==(const ResultKey& a, const ResultKey& b)
{
    return a.extent.cols == b.extent.cols && a.extent.rows == b.extent.rows && a.extent.count == b.extent.count &&
           a.depth == b.depth && a.channels == b.channels && a.settings == b.settings;
}

void ResultSet::prepare(const Call& call, const ResultKey& newKey)
{
    memory.reserve(call, bytesOf(newKey.extent), "results");
    key = newKey;
    count = -1;
}

ResultSet* ResultSets::of(const Call& call) const
{
    // A capture may have several compute(): the last one counts.
    for (size_t i = captured_.size(); call.capturing() && i > 0; --i)
        if (captured_[i - 1].capture == call.capture())
            return captured_[i - 1].set;
    return current_;
}

bool ResultSets::captured(const Call& call) const
{
    return call.capturing() && std::any_of(captured_.begin(), captured_.end(),
                                           [&](const Captured& c) { return c.capture == call.capture(); });
}

ResultSet& ResultSets::unused()
{
    for (const std::unique_ptr<ResultSet>& set : sets_)
        if (set.get() != current_ && !set->memory.usedByGraphs())
            return *set;
    std::unique_ptr<ResultSet> set(new ResultSet(workspace_));
    sets_.push_back(std::move(set));
    return *sets_.back();
}

ResultSet& ResultSets::begin(const Call& call, const ResultKey& key)
{
    if (call.capturing())
    {
        captured_.erase(
            std::remove_if(captured_.begin(), captured_.end(), [](const Captured& c) { return c.graph.expired(); }),
            captured_.end());
        captured_.reserve(captured_.size() + 1); // finish() must not throw
        ResultSet* const last = of(call);
        if (last && last->key == key)
        {
            last->use(call);
            return *last;
        }
    }
    ResultSet& set = unused();
    set.prepare(call, key);
    return set;
}

bool ResultSets::finish(const Call& call, ResultSet& set)
{
    if (call.capturing())
    {
        set.count = -1; // replays will change it
        captured_.push_back({call.capture(), call.graph(), &set});
        return false;
    }
    if (current_ && current_->key == set.key && current_->memory.usedByGraphs())
    {
        cudaCheck(cudaMemcpyAsync(current_->memory.as<void>(), set.memory.as<void>(), set.bytes(),
                                  cudaMemcpyDeviceToDevice, call.stream()),
                  "results");
        current_->count = -1;
    }
    else
        current_ = &set;
    keepSpare(call);
    return true;
}

//! Reserves memory for the next compute(), so that it need not allocate. Failing to do so is no error yet.
void ResultSets::keepSpare(const Call& call) noexcept
{
    try
    {
        unused().memory.reserve(call, current_->bytes(), "results");
    }
    catch (const std::exception&)
    {
        // the next compute() tries again and reports it
    }
}

}}} // namespace cv::cuda::quick_shift

#endif // HAVE_CUDA
