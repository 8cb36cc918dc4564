// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Scratch memory of QuickShift's CUDA stages. Contents are valid until the next method of the engine begins.
#ifndef OPENCV_CUDATRACKING_CUDA_QUICK_SHIFT_SCRATCH_HPP
#define OPENCV_CUDATRACKING_CUDA_QUICK_SHIFT_SCRATCH_HPP

#include "plan.hpp"
#include "result_sets.hpp"

namespace cv { namespace cuda { namespace quick_shift {

using detail::Call;
using detail::DeviceBuffer;
using detail::Parts;

//! Counters on the device that stages write.
struct Counters
{
    int listed;   //!< per stage: pixels of the worklist, links, label pairs, or whether pieces have joined
    int distinct; //!< merge heights or label pairs without duplicates
};

//! Device memory of an engine, which only grows.
class Scratch
{
public:
    explicit Scratch(detail::Workspace& workspace) : workspace_(workspace) {}

    //! @param words see heldInWords().
    gpu::Features features(const Extent& extent, int channels, bool words, bool masked, const Call& call)
    {
        const size_t n = extent.total();
        gpu::Features made = {};
        made.channels = channels;
        void* const pixels = pixels_.reserve(call, (words ? 1 : made.channels) * n * sizeof(float), "pixels");
        if (words)
            made.words = static_cast<uint32_t*>(pixels);
        else
            made.planes = static_cast<float*>(pixels);
        if (words && masked)
            made.valid = valid_.reserve<uint8_t>(call, n, "mask");
        return made;
    }

    //! Reuses the memory of the density's sums, which are not needed once there are keys. Images one pixel wide need
    //! more than that.
    gpu::Ranking ranking(const Extent& extent, const Call& call)
    {
        const size_t n = extent.total(), segments = static_cast<size_t>(gpu::segmentsOf(extent)) * extent.count;
        gpu::Ranking made = {};
        const auto take = [&](Parts& parts)
        {
            made.jumps = parts.take<int>(n);
            made.roots = parts.take<uint32_t>(segments);
            made.counts = parts.take<int>(segments);
            made.ranks = parts.take<int>(segments + 1);
        };
        Parts parts(sums_.reserve(call, std::max(n * sizeof(uint64_t), detail::bytesOf(take)), "density sums"));
        take(parts);
        if (scansFor_ < extent.total())
        {
            scanBytes_ = gpu::scanBytesFor(extent);
            scansFor_ = extent.total();
        }
        made.scans = scans_.reserve(call, scanBytes_, "scans");
        made.scanBytes = scanBytes_;
        return made;
    }

    Counters* counters(const Call& call) { return counters_.reserve<Counters>(call, 1, "counters"); }

    Labels labels(const Extent& extent, const Call& call)
    {
        Labels made = {};
        labels_.divide(call, "labels", [&](Parts& parts) { made = Labels::take(parts, extent); });
        return made;
    }

    gpu::Links links(const Extent& extent, const Call& call)
    {
        gpu::Links made = {};
        work_.divide(call, "merge heights", extent.total(), made.unsorted, made.sorted, made.heights, made.lengths,
                     made.sums, made.left);
        return made;
    }

    gpu::Pieces pieces(const Extent& extent, Counters* counters, const Call& call)
    {
        gpu::Pieces made = {};
        work_.divide(call, "connectivity", extent.total(), made.best, made.root, made.area);
        made.joined = &counters->listed;
        return made;
    }

    //! Uploads the spatial factors unless they are on the device already.
    const float* spatial(const Spatial& table, const Call& call)
    {
        const size_t bytes = sizeof(float) * table.rows.size();
        const std::vector<float> columns = spatial_.has(table.version()) ? std::vector<float>() : columnsOf(table);
        return static_cast<const float*>(
            spatial_.put(call, uploader_, table.version(), columns.data(), bytes, "spatial factors"));
    }

    //! Memory of listBorders() and sortBorders(): two lists of pairs, and CUB's.
    struct Borders
    {
        uint64_t *pairs, *sorted;
        void* scratch;
        size_t scratchBytes;
    };
    Borders borders(int count, const Call& call)
    {
        const size_t bytes = gpu::sortBytesFor(count);
        Borders made = {};
        borders_.divide(call, "adjacency", count, made.pairs, made.sorted);
        made.scratch = work_.reserve(call, bytes, "adjacency");
        made.scratchBytes = bytes;
        return made;
    }

    //! Returns memory that ranking() has reserved.
    gpu::WeightSums weightSums(const Parameters& parameters) const
    {
        if (gpu::fitsNarrowSums(parameters))
            return {sums_.as<uint32_t>(), nullptr};
        return {nullptr, sums_.as<unsigned long long>()};
    }
    uint32_t* cells(const Extent& extent, const Call& call)
    {
        return cells_.reserve<uint32_t>(call, gpu::cellsOf(extent), "cells");
    }
    //! Values per image of a stack: SumsTable::firsts, which has one more, and SumsTable::largest.
    struct PerImage
    {
        int* firsts;
        uint32_t* largest;
    };
    PerImage perImage(const Extent& extent, const Call& call)
    {
        PerImage made = {};
        perImage_.divide(call, "values per image", extent.count + 1, made.firsts, made.largest);
        return made;
    }
    //! @return SumsTable::firsts; null for one image, whose labels are the numbers of its superpixels.
    const int* numberSuperpixels(const ResultSet& set, const Call& call)
    {
        if (set.extent().count == 1)
            return nullptr;
        int* const firsts = perImage(set.extent(), call).firsts;
        gpu::numberSuperpixels(set.extent(), set.counts(), firsts, ranking(set.extent(), call), call.stream());
        return firsts;
    }
    //! Returns a table for so many superpixels; its other members are the caller's.
    gpu::SumsTable superpixels(int capacity, int channels, bool places, const Call& call)
    {
        gpu::SumsTable made = {};
        made.capacity = capacity;
        made.channels = channels;
        superpixels_.divide(call, "superpixels",
                            [&](Parts& parts)
                            {
                                made.rows =
                                    parts.take<unsigned long long>(static_cast<size_t>(capacity) * (1 + channels));
                                made.places = places ? parts.take<Places>(capacity) : nullptr;
                            });
        return made;
    }

private:
    //! Returns the factors in the order of gpu::density(): columns dx = 0..R, each with dy = -R..R. Spatial has rows.
    static std::vector<float> columnsOf(const Spatial& spatial)
    {
        const int radius = spatial.radius, side = 2 * radius + 1;
        std::vector<float> columns(static_cast<size_t>(radius + 1) * side);
        for (int dx = 0; dx <= radius; ++dx)
            for (int dy = -radius; dy <= radius; ++dy)
                columns[static_cast<size_t>(dx) * side + dy + radius] =
                    spatial.rows[static_cast<size_t>(std::abs(dy)) * side + dx + radius];
        return columns;
    }

    detail::Workspace& workspace_;
    detail::Uploader uploader_{workspace_};
    detail::DeviceTable spatial_{workspace_};
    DeviceBuffer pixels_{workspace_}, valid_{workspace_}, sums_{workspace_}, cells_{workspace_};
    DeviceBuffer counters_{workspace_}, scans_{workspace_}, labels_{workspace_}, work_{workspace_};
    DeviceBuffer superpixels_{workspace_}, borders_{workspace_}, perImage_{workspace_};
    size_t scanBytes_ = 0;
    int scansFor_ = 0; //!< pixels for which scanBytes_ suffices
};

}}} // namespace cv::cuda::quick_shift

#endif // OPENCV_CUDATRACKING_CUDA_QUICK_SHIFT_SCRATCH_HPP
