// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

#ifndef OPENCV_CUDATRACKING_FRAGMENT_MATCHER_ENGINE_CUDA_HPP
#define OPENCV_CUDATRACKING_FRAGMENT_MATCHER_ENGINE_CUDA_HPP

#include "../precomp.hpp"
#include "stages.hpp"

#ifdef HAVE_CUDA
#include "../common/device_buffer.hpp"

namespace cv { namespace cuda { namespace fragment_matcher {

inline Size larger(Size a, Size b) { return Size(std::max(a.width, b.width), std::max(a.height, b.height)); }

//! Search areas of a call: on the host, on the device with a limit, or neither (the whole frame).
struct Areas
{
    const std::vector<Rect4>* host = nullptr;
    ConstRowsView<Rect4> device = {nullptr, 0};
    Size limit;
};

//! A template and its weights, all on one side: device memory for set(), host memory for setFromHost().
struct FragmentSource
{
    ImageView templ;
    const void* weights;
    size_t weightsStep;
    int weightsDepth;
};

/** Fragments on the device, and the stages over them on a stream. Serves one device and one stream at a time. All methods
are asynchronous; memory grows on first use of a size only. */
class CudaEngine
{
public:
    CudaEngine();

    //! Replaces all fragments.
    void set(const std::vector<FragmentSource>& sources, cudaStream_t stream);
    void add(const FragmentSource& source, cudaStream_t stream);
    void update(int index, const FragmentSource& source, cudaStream_t stream);
    void remove(int index);
    //! Device copies of sources that lie on the host; valid until the next call.
    std::vector<FragmentSource> upload(const std::vector<FragmentSource>& sources, cudaStream_t stream);

    //! @param weighted some fragment has weights.
    void match(const ImageView& frame, const Areas& areas, ConstRowsView<Position> predictions,
               const Settings& settings, bool weighted, const Outputs& out, cudaStream_t stream);
    void scoreMap(int index, const ImageView& frame, const Rect4& area, const Settings& settings, bool weighted,
                  int depth, RowsView<void> map, cudaStream_t stream);
    //! offsets: as in FragmentMatcher::scoreMaps().
    void scoreMaps(const ImageView& frame, const Areas& areas, const Settings& settings, bool weighted, int depth,
                   RowsView<void> buffer, const std::vector<int>& offsets, cudaStream_t stream);
    void predictAreas(ConstRowsView<Position> locations, int radius, Size frameSize, RowsView<Rect4> areas,
                      cudaStream_t stream);

    size_t bytes() const;
    //! @throws cv::Exception when another device is current than the one this engine was made on.
    void checkDevice() const;

private:
    struct Slot
    {
        Size size;
        size_t words, capacity; //!< place in the arena
    };
    //! Fragments of one size go the same way: through the fused kernel where their largest window fits, else through tiles.
    struct Work
    {
        std::vector<int> fused, tiled;
        gpu::FusedPlan fusedPlan = {};
        gpu::TilePlan tilePlan = {};
    };

    PackJob place(const FragmentSource& source, int slot);
    void pack(const std::vector<PackJob>& jobs, cudaStream_t stream);
    void growArena(size_t words, cudaStream_t stream);
    void growFragments(size_t count, cudaStream_t stream);
    void uploadSlots(cudaStream_t stream);
    Batch batchOf(const Areas& areas, ConstRowsView<Position> predictions, bool weighted);
    Work planWork(const ImageView& frame, const Areas& areas, const Settings& settings, bool weighted) const;
    void matchTiles(const ImageView& frame, Batch batch, const Settings& settings, const gpu::TilePlan& plan,
                    const Outputs& out, cudaStream_t stream);
    int tileBatch(const gpu::TilePlan& plan, const Settings& settings, bool weighted, int count, cudaStream_t stream);
    gpu::TileMemory tileMemory() const;

    int device_;
    int channels_ = 0;
    std::vector<Slot> slots_;         //!< by slot
    std::vector<int> slotOfFragment_; //!< by index
    std::vector<int> freeSlots_;
    size_t arenaWords_ = 0; //!< in use, from the start
    bool slotsUploaded_ = false;
    detail::DeviceBuffer arena_, fragments_, slotIndices_, jobs_, incoming_, work_, walked_, values_, bests_, finished_;
    detail::Uploader uploader_;
};

}}} // namespace cv::cuda::fragment_matcher

#endif // HAVE_CUDA

#endif // OPENCV_CUDATRACKING_FRAGMENT_MATCHER_ENGINE_CUDA_HPP
