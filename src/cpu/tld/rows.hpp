// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Helpers for the rows of an image: ranges of them for threads, and their border.
#ifndef OPENCV_CUDATRACKING_CPU_TLD_ROWS_HPP
#define OPENCV_CUDATRACKING_CPU_TLD_ROWS_HPP

#include "work.hpp"
#include <algorithm>
#include <vector>

namespace cv { namespace cuda { namespace tld { namespace cpu {

//! Calls body(first, end) for ranges of rows, in parallel.
template <typename Body> void forRowRanges(int rows, const Body& body)
{
    parallel_for_(
        Range(0, rows), [&](const Range& range) { body(range.start, range.end); }, rows / 32. + 1.);
}

//! Copies a row to `memory`, with `reach` mirrored pixels on both sides. @return first pixel of the copy.
inline const uint8_t* paddedRow(const uint8_t* row, int cols, int reach, std::vector<uint8_t>& memory)
{
    memory.resize(static_cast<size_t>(cols) + 2 * reach);
    std::copy_n(row, cols, memory.data() + reach);
    for (int i = 1; i <= reach; ++i)
    {
        memory[reach - i] = row[mirrored(-i, cols)];
        memory[reach + cols - 1 + i] = row[mirrored(cols - 1 + i, cols)];
    }
    return memory.data() + reach;
}

}}}} // namespace cv::cuda::tld::cpu

#endif // OPENCV_CUDATRACKING_CPU_TLD_ROWS_HPP
