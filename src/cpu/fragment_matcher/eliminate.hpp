// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// eliminate: what its files share.
#ifndef OPENCV_CUDATRACKING_CPU_FRAGMENT_MATCHER_ELIMINATE_HPP
#define OPENCV_CUDATRACKING_CPU_FRAGMENT_MATCHER_ELIMINATE_HPP

#include "../../fragment_matcher/bounds.hpp"
#include "scores.hpp"

namespace cv { namespace cuda { namespace fragment_matcher { namespace cpu {

const int GROUP_COLS = 8, GROUP_ROWS = 4; // positions that are kept or left out together by the first bounds
const int STRIP_GROUPS = 16;              // rows of groups, or groups, that a thread compares at a time

//! Calls body(i, memory) for i = 0 .. count - 1, on all threads if there is a pool.
template <class Body> void forAll(int count, Scratch& memory, ScratchPool* pool, const Body& body)
{
    if (!pool)
    {
        for (int i = 0; i < count; ++i)
            body(i, memory);
        return;
    }
    parallel_for_(Range(0, count),
                  [&](const Range& range)
                  {
                      const ScratchPool::Lease lease(*pool);
                      for (int i = range.start; i < range.end; ++i)
                          body(i, *lease);
                  });
}

//! Rows of bytes that single positions are compared with: of a fragment, or of its means. Bytes beyond the width are 0.
struct Pattern
{
    int width, height, channels;
    bool weighted;
    size_t pitch;                        //!< bytes from row to row, a multiple of ROW_UNIT
    std::vector<uint8_t> bytes, weights; //!< rows of all channels; weights of a channel, or one row of 255

    const uint8_t* row(int channel, int y) const { return &bytes[(static_cast<size_t>(channel) * height + y) * pitch]; }
    const uint8_t* weightsOf(int y) const { return &weights[weighted ? y * pitch : 0]; }
};

//! The means of a fragment as a fragment.
struct MeansOfFragment
{
    Plan plan;
    uint64_t loss = 0;            //!< twice the most by which the scaled sums of means exceed the value
    std::vector<uint64_t> losses; //!< parts of `loss`, one per row of blocks
    uint64_t scale;               //!< of sums of means to values
    bool any = false;             //!< some block has a weight

    //! Returns the largest sum of differences of means of positions whose value may be `value` or less.
    uint32_t largest(uint64_t value) const
    {
        return value == UINT64_MAX ? UINT32_MAX : largestBound(value, loss, scale, UINT32_MAX);
    }

    MeansOfFragment(const Plan& of, int block);

private:
    std::vector<uint8_t> means_, weights_;
};

//! The means of the blocks of an image.
struct MeansOfImage
{
    const uint8_t* data;
    size_t phaseStep, planeStep;
    int block;

    //! Returns the blocks that begin in columns block * k + x and rows block * k + y as planes.
    Planes phase(int x, int y) const
    {
        return {data + (static_cast<size_t>(y) * block + x) * phaseStep, block * block * phaseStep, planeStep, 0};
    }
};

//! The window in groups, and the exclusion rule.
struct Groups
{
    int cols, rows, distance, exclusion; //!< positions
    std::vector<uint32_t> leasts;        //!< least sums of differences of means, group by group

    int countX() const { return detail::ceilDiv(cols, GROUP_COLS); }
    int countY() const { return detail::ceilDiv(rows, GROUP_ROWS); }
    Box whole() const { return {0, 0, cols - 1, rows - 1}; }
    //! Positions of a group.
    Box box(int group) const
    {
        const int x = group % countX() * GROUP_COLS, y = group / countX() * GROUP_ROWS;
        return {x, y, std::min(x + GROUP_COLS, cols) - 1, std::min(y + GROUP_ROWS, rows) - 1};
    }
};

//! Returns the pattern of a fragment, or of its means.
Pattern patternOf(const Plan& plan);
//! Returns the sum of the differences of rows [begin, end) of a pattern and of the bytes at the origin of `planes`.
uint64_t sumOfRows(const Pattern& pattern, const Planes& planes, int begin, int end);

//! Returns the bytes of the means of all blocks under a window.
size_t bytesOfMeans(const Plan& plan, const SearchWindow& window, int block);
//! Computes the means of the blocks under all positions. @param data as many bytes as bytesOfMeans().
MeansOfImage meansOf(const Plan& plan, const Planes& planes, const SearchWindow& window, int block, uint8_t* data,
                     Scratch& memory, ScratchPool* pool);
//! Computes the least bounds of all groups.
void findLeasts(const Plan& plan, const MeansOfImage& means, Groups& groups, Scratch& memory, ScratchPool* pool);

}}}} // namespace cv::cuda::fragment_matcher::cpu

#endif // OPENCV_CUDATRACKING_CPU_FRAGMENT_MATCHER_ELIMINATE_HPP
