// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Results of compute() on the device: those of the last call, and those of captured graphs.
#ifndef OPENCV_CUDATRACKING_CUDA_QUICK_SHIFT_RESULT_SETS_HPP
#define OPENCV_CUDATRACKING_CUDA_QUICK_SHIFT_RESULT_SETS_HPP

#include "../../common/workspace.hpp"
#include "../../quick_shift/engine.hpp"

namespace cv { namespace cuda { namespace quick_shift {

//! Sizes, types and settings of a compute(): everything but the pixels.
struct ResultKey
{
    Extent extent = {};
    int depth = 0, channels = 0;
    Settings settings = {};
};
bool operator==(const ResultKey& a, const ResultKey& b);

//! Labels of a stack and, directly behind them, the number of superpixels of each image, so that one copy replaces
//! both.
struct Labels
{
    int *labels, *counts;

    static Labels take(detail::Parts& parts, const Extent& extent)
    {
        int* const labels = parts.take<int>(extent.total());
        return {labels, parts.takeNext<int>(extent.count)};
    }
    static size_t bytes(const Extent& extent)
    {
        return detail::bytesOf([&](detail::Parts& parts) { take(parts, extent); });
    }
};

/** Results of one compute(). They lie in one block of memory, labels and counts last, so that one copy replaces all of
them, or the labels with their counts: the copy is enqueued, or fails and changes nothing. */
class ResultSet
{
public:
    explicit ResultSet(detail::Workspace& workspace) : memory(workspace) {}

    //! Reserves memory for results of the key; earlier results are lost.
    void prepare(const detail::Call& call, const ResultKey& newKey);
    //! Notes a captured call. Calls that read or write them begin with this.
    void use(const detail::Call& call) { memory.reserve(call, bytes(), "results"); }

    const Extent& extent() const { return key.extent; }
    uint32_t* keys() const { return arrays().keys; }
    int* parents() const { return arrays().parents; }
    float* distances() const { return arrays().distances; }
    Labels labelled() const { return arrays().labelled; }
    int* labels() const { return labelled().labels; }
    int* counts() const { return labelled().counts; }
    Trees trees() const { return {parents(), distances()}; }

    size_t bytes() const { return bytesOf(key.extent); }

    ResultKey key;
    detail::DeviceBuffer memory;
    int count = -1; //!< number of superpixels, -1 if it is not known on the host

private:
    static constexpr size_t ALIGNMENT = 256; //!< bytes, of all arrays but counts

    struct Arrays
    {
        uint32_t* keys;
        int* parents;
        float* distances;
        Labels labelled;
    };
    static Arrays take(detail::Parts& parts, const Extent& extent)
    {
        const size_t n = extent.total();
        return {parts.take<uint32_t>(n), parts.take<int>(n), parts.take<float>(n), Labels::take(parts, extent)};
    }
    static size_t bytesOf(const Extent& extent)
    {
        return detail::bytesOf([&](detail::Parts& parts) { take(parts, extent); }, ALIGNMENT);
    }
    Arrays arrays() const
    {
        detail::Parts parts(memory.as<void>(), ALIGNMENT);
        return take(parts, key.extent);
    }
};

/** Result sets of an engine. One is current: the results of the last compute() that was not captured. compute() writes
to another set, which becomes the current one only when the call succeeds. A captured compute() of the current key
writes to the current set, so that the getters then return what replays leave there; any other gets a set of its own,
which is used for nothing else. */
class ResultSets
{
public:
    explicit ResultSets(detail::Workspace& workspace) : workspace_(workspace) {}

    //! Returns the set that a call reads, or null without results.
    ResultSet* of(const detail::Call& call) const { return captured(call) ? captured_ : current_; }
    //! Returns true if the call's capture has a compute().
    bool captured(const detail::Call& call) const { return call.capturing() && call.capture() == capture_; }
    bool anyCaptured() const { return captured_ != nullptr; }
    const ResultSet* current() const { return current_; }

    //! Returns the set that compute() writes to.
    ResultSet& begin(const detail::Call& call, const ResultKey& key);
    //! Assigns `set` to the capture, or makes it the current one, after all of compute() was enqueued. @return true for
    //! the latter.
    bool finish(const detail::Call& call, ResultSet& set);

private:
    //! Returns a set that is neither current nor used by a graph.
    ResultSet& unused();
    void keepSpare(const detail::Call& call) noexcept;

    detail::Workspace& workspace_;
    std::vector<std::unique_ptr<ResultSet>> sets_;
    ResultSet* current_ = nullptr;
    unsigned long long capture_ = 0; //!< that of the last captured compute(), and its set
    ResultSet* captured_ = nullptr;
};

}}} // namespace cv::cuda::quick_shift

#endif // OPENCV_CUDATRACKING_CUDA_QUICK_SHIFT_RESULT_SETS_HPP
