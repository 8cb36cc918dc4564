// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// What the stages of the CUDA engine need beside images and results. Each is good until the next method of the engine.
#ifndef OPENCV_CUDATRACKING_CUDA_QUICK_SHIFT_SCRATCH_HPP
#define OPENCV_CUDATRACKING_CUDA_QUICK_SHIFT_SCRATCH_HPP

#include "plan.hpp"
#include "result_sets.hpp"

namespace cv { namespace cuda { namespace quick_shift {

using detail::Call;
using detail::DeviceBuffer;

//! Numbers that stages leave on the device.
struct Counters
{
    int listed; //!< pixels whose search goes on, links, pieces that joined: of the stage at work
    int distinct;
};

class Scratch
{
public:
    explicit Scratch(detail::Workspace& workspace)
        : uploader_(workspace),
          spatial_(workspace),
          pixels_(workspace),
          valid_(workspace),
          sums_(workspace),
          cells_(workspace),
          counters_(workspace),
          scans_(workspace),
          labels_(workspace),
          work_(workspace),
          superpixels_(workspace),
          borders_(workspace),
          numbers_(workspace)
    {}

    gpu::Features features(const Extent& extent, int channels, bool words, bool masked, const Call& call)
    {
        const size_t n = extent.total();
        gpu::Features made = {};
        made.channels = channels;
        void* const pixels = pixels_.reserve(call, (words ? 1 : channels) * n * sizeof(float), "pixels");
        if (words)
            made.words = static_cast<uint32_t*>(pixels);
        else
            made.planes = static_cast<float*>(pixels);
        if (words && masked)
            made.valid = valid_.reserve<uint8_t>(call, n, "mask");
        return made;
    }

    //! In the memory of the density's sums, which are spent once there are keys. Columns of one pixel need more than these.
    gpu::Ranking ranking(const Extent& extent, const Call& call)
    {
        const size_t n = extent.total(), segments = static_cast<size_t>(gpu::segmentsOf(extent)) * extent.count;
        const size_t bytes = std::max(n * sizeof(uint64_t), (n + 2 * segments) * sizeof(int));
        int* const jumps = static_cast<int*>(sums_.reserve(call, bytes, "density sums"));
        uint32_t* const roots = reinterpret_cast<uint32_t*>(jumps + n);
        if (scansFor_ < extent.total())
        {
            scanBytes_ = gpu::scanBytesFor(extent);
            scansFor_ = extent.total();
        }
        return {jumps, reinterpret_cast<int*>(roots + segments), roots, scans_.reserve(call, scanBytes_, "scans"),
                scanBytes_};
    }

    Counters* counters(const Call& call) { return counters_.reserve<Counters>(call, 1, "counters"); }

    int* labels(const Extent& extent, const Call& call)
    {
        return static_cast<int*>(labels_.reserve(call, ResultSet::labelBytes(extent), "labels"));
    }
    static int* countsOf(int* labels, const Extent& extent) { return labels + extent.total(); }

    gpu::Links links(const Extent& extent, const Call& call)
    {
        const size_t n = extent.total();
        float* const work = work_.reserve<float>(call, 6 * n, "merge heights");
        int* const numbers = reinterpret_cast<int*>(work + 3 * n);
        return {work, work + n, work + 2 * n, numbers, numbers + n, numbers + 2 * n};
    }

    gpu::Pieces pieces(const Extent& extent, Counters* counters, const Call& call)
    {
        const size_t n = extent.total();
        uint8_t* const work =
            work_.reserve<uint8_t>(call, n * (sizeof(unsigned long long) + 2 * sizeof(int)), "connectivity");
        int* const numbers = reinterpret_cast<int*>(work + n * sizeof(unsigned long long));
        return {numbers, numbers + n, reinterpret_cast<unsigned long long*>(work), &counters->listed};
    }

    const float* spatial(const Spatial& table, const Call& call)
    {
        const size_t bytes = sizeof(float) * table.rows.size();
        const std::vector<float> columns = spatial_.has(table.version()) ? std::vector<float>() : columnsOf(table);
        return static_cast<const float*>(
            spatial_.put(call, uploader_, table.version(), columns.data(), bytes, "spatial factors"));
    }

    //! Of adjacency: two lists of pairs, memory for sorting them.
    struct Borders
    {
        uint64_t *pairs, *sorted;
        void* scratch;
        size_t scratchBytes;
    };
    Borders borders(int count, const Call& call)
    {
        const size_t bytes = gpu::sortBytesFor(count);
        uint64_t* const lists = borders_.reserve<uint64_t>(call, 2 * static_cast<size_t>(count), "adjacency");
        return {lists, lists + count, work_.reserve(call, bytes, "adjacency"), bytes};
    }
    const uint64_t* pairs() const { return borders_.as<uint64_t>(); } //!< of the last borders()

    uint64_t* densitySums() const { return sums_.as<uint64_t>(); } //!< ranking() makes room
    uint32_t* cells(const Extent& extent, const Call& call)
    {
        return cells_.reserve<uint32_t>(call, gpu::cellsOf(extent), "cells");
    }
    //! Of each image: superpixels before it, see numberSuperpixels(), and the largest magnitude.
    struct Numbers
    {
        int* firsts;
        uint32_t* largest;
    };
    Numbers numbers(const Extent& extent, const Call& call)
    {
        int* const firsts = numbers_.reserve<int>(call, 2 * static_cast<size_t>(extent.count) + 1, "numbers");
        return {firsts, reinterpret_cast<uint32_t*>(firsts + extent.count + 1)};
    }
    //! @return null for one image, whose labels are its numbers.
    const int* numberSuperpixels(const ResultSet& set, const Call& call)
    {
        if (set.extent().count == 1)
            return nullptr;
        int* const firsts = numbers(set.extent(), call).firsts;
        gpu::numberSuperpixels(set.extent(), set.counts(), firsts, ranking(set.extent(), call), call.stream());
        return firsts;
    }
    Sums* superpixels(size_t bytes, const Call& call)
    {
        return static_cast<Sums*>(superpixels_.reserve(call, bytes, "superpixels"));
    }

private:
    //! The device wants columns (dx = 0..R, each dy = -R..R) where Spatial has rows.
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

    detail::Uploader uploader_;
    detail::DeviceTable spatial_;
    DeviceBuffer pixels_, valid_, sums_, cells_, counters_, scans_;
    DeviceBuffer labels_, work_, superpixels_, borders_, numbers_;
    size_t scanBytes_ = 0;
    int scansFor_ = 0; //!< pixels that scanBytes_ is enough for
};

}}} // namespace cv::cuda::quick_shift

#endif // OPENCV_CUDATRACKING_CUDA_QUICK_SHIFT_SCRATCH_HPP
