// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// eliminate: what its files share.
#ifndef OPENCV_CUDATRACKING_CPU_FRAGMENT_MATCHER_ELIMINATE_HPP
#define OPENCV_CUDATRACKING_CPU_FRAGMENT_MATCHER_ELIMINATE_HPP

#include "../../fragment_matcher/bounds.hpp"
#include "scores.hpp"

namespace cv { namespace cuda { namespace fragment_matcher { namespace cpu {

const int BLOCK = 8;                      // side of the square blocks of pixels that bounds are made of
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
    //! Twice the most by which the scaled sums of the means of each row of blocks and of all below exceed the value.
    std::vector<uint64_t> losses;
    uint64_t scale;   //!< of sums of means to values
    bool any = false; //!< some block has a weight

    //! Returns the largest sum of differences of means of positions whose value may be `value` or less. @param row of
    //! blocks; the sum and the value are those from it on.
    uint32_t largest(uint64_t value, int row = 0) const
    {
        return value == UINT64_MAX ? UINT32_MAX : largestBound(value, losses[row], scale, UINT32_MAX);
    }

    explicit MeansOfFragment(const Plan& of);

private:
    std::vector<uint8_t> means_, weights_;
};

//! The means of the blocks of an image.
struct MeansOfImage
{
    const uint8_t* data;
    size_t phaseStep, planeStep;

    //! Returns the planes that the means of a fragment meet at a position.
    Planes at(int x, int y) const
    {
        const Planes phase = {data + (static_cast<size_t>(y % BLOCK) * BLOCK + x % BLOCK) * phaseStep,
                              BLOCK * BLOCK * phaseStep, planeStep, 0};
        return phase.at(x / BLOCK, y / BLOCK);
    }
};

//! The window in groups, and the exclusion rule.
struct Groups
{
    int cols, rows, distance, exclusion; //!< positions
    std::vector<uint32_t> leasts;        //!< least sums of differences of means, group by group

    int countX() const { return detail::ceilDiv(cols, GROUP_COLS); }
    int countY() const { return detail::ceilDiv(rows, GROUP_ROWS); }
    //! Positions of a group.
    Box box(int group) const
    {
        const int x = group % countX() * GROUP_COLS, y = group / countX() * GROUP_ROWS;
        return {x, y, std::min(x + GROUP_COLS, cols) - 1, std::min(y + GROUP_ROWS, rows) - 1};
    }
    template <class Body> void forPositions(int group, const Body& body) const //!< calls body(x, y)
    {
        const Box positions = box(group);
        for (int y = positions.top; y <= positions.bottom; ++y)
            for (int x = positions.left; x <= positions.right; ++x)
                body(x, y);
    }
};

}}}} // namespace cv::cuda::fragment_matcher::cpu

#endif // OPENCV_CUDATRACKING_CPU_FRAGMENT_MATCHER_ELIMINATE_HPP
