// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
// Fragments in device memory: an arena of images, a table that says where each lies, and the order of the fragments.
//
// A fragment has a slot: an entry of the table and a place in the arena. A new content of the same layout (size and presence of
// weights) goes into the same slot, where graphs that were captured with it see it at their next replay. All else that may be
// needed by such graphs stays as it is while they live: another layout gets another slot, and another list of fragments a
// store of its own.
#ifndef OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_FRAGMENTS_HPP
#define OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_FRAGMENTS_HPP

#include "../../common/workspace.hpp"
#include "plan.hpp"

namespace cv { namespace cuda { namespace fragment_matcher {

class DeviceFragments
{
public:
    DeviceFragments(detail::Workspace& workspace, detail::Uploader& uploader);

    /** Makes the fragments on the device those of the list, and packs what is new. Unchanged when this throws.
    @param edit the call replaces fragments; else, while capturing, nothing may be new.
    @return false when this was only captured, and so has not happened. */
    bool bring(const detail::Call& call, const Fragments& fragments, bool edit);

    //! All fragments for kernels of this call, areas and predictions left out.
    gpu::Batch batch(const detail::Call& call, bool weighted);
    const FragmentSizes& sizes() const { return state_.sizes; }

private:
    struct Slot
    {
        int width, height;
        bool weighted;
        size_t words, capacity; //!< place in the arena
        bool used;
        bool inGraph; //!< perhaps: not to be given to another fragment while graphs refer to the store
    };
    struct Held
    {
        uint64_t id, version; //!< Fragment's
    };
    //! What the host knows of the device: another one takes its place when all that it says has been put on the stream.
    struct State
    {
        uint64_t version = 0; //!< Fragments'
        int channels = 1;
        std::vector<Slot> slots;
        std::vector<Held> held; //!< by fragment
        std::vector<int> order; //!< by fragment: its slot
        uint64_t orderVersion = 0;
        FragmentSizes sizes;
        size_t words = 0; //!< of the arena in use, from the start
    };
    struct Store
    {
        explicit Store(detail::Workspace& workspace) : arena(workspace), table(workspace) {}
        bool usedByGraphs() const { return arena.usedByGraphs() || table.usedByGraphs(); }

        detail::DeviceBuffer arena, table;
    };

    std::vector<int> settle(const Fragments& fragments, State& next, std::vector<int>& homeless) const;
    static void findSlots(const Fragments& fragments, const std::vector<int>& homeless, bool graphs, State& next);
    static FragmentSizes sizesOf(const Fragments& fragments);
    void makeRoom(const detail::Call& call, const State& next, Store& store, bool keep);
    void pack(const detail::Call& call, const Fragments& fragments, const State& next, const std::vector<int>& changed,
              Store& store, bool keep);

    detail::Uploader& uploader_;
    std::unique_ptr<Store> store_;
    std::unique_ptr<Store> spare_; //!< takes turns with the other, which graphs may keep
    detail::DeviceBuffer jobs_;
    detail::DeviceTable order_;
    State state_;
};

}}} // namespace cv::cuda::fragment_matcher

#endif // OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_FRAGMENTS_HPP
