// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

#include "../../precomp.hpp"

#ifdef HAVE_CUDA

#include "result_sets.hpp"

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

ResultSet& ResultSets::unused()
{
    for (const std::unique_ptr<ResultSet>& set : sets_)
        if (set.get() != current_ && !set->memory.inGraphs())
            return *set;
    std::unique_ptr<ResultSet> set(new ResultSet(workspace_));
    sets_.push_back(std::move(set));
    return *sets_.back();
}

ResultSet& ResultSets::begin(const Call& call, const ResultKey& key)
{
    if (call.capturing())
    {
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
        capture_ = call.capture();
        captured_ = &set;
        return false;
    }
    if (current_ && current_->key == set.key && current_->memory.inGraphs())
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
