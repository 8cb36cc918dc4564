// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
// Fragments in device memory: an arena of templates and weights, a table of DeviceFragment, and the order of the
// fragments.
//
// A fragment has a slot: an entry of the table and a block of the arena. New content of the same layout (size and
// presence of weights) is stored in the same slot, where captured graphs see it at their next replay. Fragments of other
// layouts go to a new store where a captured call has used the present one.
#ifndef OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_FRAGMENTS_HPP
#define OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_FRAGMENTS_HPP

#include "../../common/workspace.hpp"
#include "../../fragment_matcher/engine.hpp"
#include "common/case.hpp"

namespace cv { namespace cuda { namespace fragment_matcher {

class DeviceFragments
{
public:
    DeviceFragments(detail::Workspace& workspace, detail::Uploader& uploader);

    /** Synchronizes the fragments on the device with the list: packs the new ones and releases slots of removed ones.
    Unchanged if it throws.
    @param edit the call replaces fragments; otherwise no fragment may be new while `call` is being captured.
    @return false if this was captured, and so has not happened. */
    bool synchronize(const detail::Call& call, const Fragments& fragments, bool edit);

    //! Returns the batch of all fragments for kernels of this call, without areas and predictions.
    gpu::Batch batch(const detail::Call& call, bool weighted);
    const FragmentSizes& sizes() const { return state_.sizes; }

private:
    struct Slot
    {
        int width, height;
        bool weighted;
        size_t words, capacity; //!< offset and size of its block in the arena, words
        bool used;              //!< belongs to a fragment of the list
    };
    struct Resident
    {
        uint64_t id, version; //!< Fragment's
    };
    //! Host copy of the device state. Replaced only after every operation that it describes has been enqueued.
    struct State
    {
        uint64_t version = 0; //!< Fragments' version of the list
        int channels = 1;
        bool deep = false; //!< 16 bits per channel
        std::vector<Slot> slots;
        std::vector<Resident> resident; //!< content of each fragment's slot, one per fragment
        std::vector<int> order;         //!< slot of each fragment
        uint64_t orderVersion = 0;
        FragmentSizes sizes;
        size_t words = 0; //!< words in use from the start of the arena on
    };
    struct Store
    {
        explicit Store(detail::Workspace& workspace) : arena(workspace), table(workspace) {}

        detail::DeviceBuffer arena, table;
    };

    std::vector<int> matchSlots(const Fragments& fragments, State& next, std::vector<int>& unassigned) const;
    static void assignSlots(const Fragments& fragments, const std::vector<int>& unassigned, State& next);
    static FragmentSizes sizesOf(const Fragments& fragments);
    void reserve(const detail::Call& call, const State& next, Store& store, bool keep);
    void pack(const detail::Call& call, const Fragments& fragments, const State& next, const std::vector<int>& changed,
              Store& store, bool keep);

    detail::Workspace& workspace_;
    detail::Uploader& uploader_;
    std::unique_ptr<Store> store_;
    detail::DeviceBuffer jobs_;
    detail::DeviceTable order_;
    State state_;
};

}}} // namespace cv::cuda::fragment_matcher

#endif // OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_FRAGMENTS_HPP
