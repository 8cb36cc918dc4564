// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Results of compute() on the device, and whose they are: of the last call, or of captured graphs.
#ifndef OPENCV_CUDATRACKING_CUDA_QUICK_SHIFT_RESULT_SETS_HPP
#define OPENCV_CUDATRACKING_CUDA_QUICK_SHIFT_RESULT_SETS_HPP

#include "../../common/workspace.hpp"
#include "../../quick_shift/engine.hpp"

namespace cv { namespace cuda { namespace quick_shift {

//! What a compute() is about, but for the pixels.
struct ResultKey
{
    Extent extent = {};
    int depth = 0, channels = 0;
    Settings settings = {};
};
bool operator==(const ResultKey& a, const ResultKey& b);

/** Results of one compute(). They lie in one block of memory, labels and counts last, so that one copy replaces all of them, or
the labels with their counts: a copy happens, or fails and changes nothing. */
class ResultSet
{
public:
    explicit ResultSet(detail::Workspace& workspace) : memory(workspace) {}

    //! Room for results of the key; earlier ones are lost.
    void prepare(const detail::Call& call, const ResultKey& newKey);
    //! For calls that read or write the results; notes which graph does.
    void use(const detail::Call& call) { memory.reserve(call, bytes(), "results"); }

    const Extent& extent() const { return key.extent; }
    uint32_t* keys() const { return memory.as<uint32_t>(); }
    int* parents() const { return at<int>(1); }
    float* distances() const { return at<float>(2); }
    int* labels() const { return at<int>(3); }
    int* counts() const { return labels() + key.extent.total(); } //!< of each image, right behind the labels
    Trees trees() const { return {parents(), distances()}; }

    size_t bytes() const { return 3 * arrayBytes(key.extent) + labelBytes(key.extent); }
    static size_t arrayBytes(const Extent& extent);
    //! Of labels and counts.
    static size_t labelBytes(const Extent& extent)
    {
        return sizeof(int) * (static_cast<size_t>(extent.total()) + extent.count);
    }

    ResultKey key;
    detail::DeviceBuffer memory;
    int count = -1; //!< number of superpixels; -1: not known on the host

private:
    template <typename T> T* at(int array) const
    {
        return reinterpret_cast<T*>(memory.as<uint8_t>() + array * arrayBytes(key.extent));
    }
};

/** The sets of an engine. One is current: the results of the last compute() that was not captured. New ones are made beside it, so
that they replace it only when all went well. A captured compute() of the current key works on the current set, whose
getters then give what replays leave there; any other gets a set of its own. No set is given away while a graph uses it. */
class ResultSets
{
public:
    explicit ResultSets(detail::Workspace& workspace) : workspace_(workspace) {}

    //! Whose results a call reads; null: there are none.
    ResultSet* of(const detail::Call& call) const;
    //! True when compute() is a part of the capture.
    bool captured(const detail::Call& call) const;
    bool anyCaptured() const { return !captured_.empty(); }
    const ResultSet* current() const { return current_; }

    //! Where compute() writes.
    ResultSet& begin(const detail::Call& call, const ResultKey& key);
    //! When all of compute() is on its way: `set` belongs to the capture, or becomes the current one. @return true for the latter.
    bool finish(const detail::Call& call, ResultSet& set);

private:
    ResultSet& unused(const ResultSet* but);
    void keepSpare(const detail::Call& call) noexcept;

    struct Captured
    {
        unsigned long long capture;
        detail::Graph graph;
        ResultSet* set;
    };

    detail::Workspace& workspace_;
    std::vector<std::unique_ptr<ResultSet>> sets_;
    std::vector<Captured> captured_;
    ResultSet* current_ = nullptr;
};

}}} // namespace cv::cuda::quick_shift

#endif // OPENCV_CUDATRACKING_CUDA_QUICK_SHIFT_RESULT_SETS_HPP
