// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Stage contours on the CPU.
#include "../../precomp.hpp"
#include "../../quick_shift/stages.hpp"

namespace cv { namespace cuda { namespace quick_shift { namespace cpu {

void contours(const Extent& extent, const int* labels, bool thick, RowsView<uint8_t> mask)
{
    const int cols = extent.cols, rows = extent.rows;
    parallel_for_(Range(0, rows * extent.count),
                  [&](const Range& range)
                  {
                      for (int row = range.start; row < range.end; ++row)
                          for (int x = 0; x < cols; ++x)
                          {
                              const int y = row % rows; // neighbours outside of the own image do not count
                              const int* own = labels + static_cast<size_t>(row) * cols + x;
                              int differing = 0;
                              for (int dy = thick ? -1 : 0; dy <= 1; ++dy)
                                  for (int dx = thick ? -1 : 0; dx <= 1; ++dx)
                                      if (x + dx >= 0 && x + dx < cols && y + dy >= 0 && y + dy < rows)
                                          differing += own[dy * cols + dx] != *own;
                              mask.row(row)[x] = differing > (thick ? 1 : 0) ? 255 : 0;
                          }
                  });
}

}}}} // namespace cv::cuda::quick_shift::cpu
