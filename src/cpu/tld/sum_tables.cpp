// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// sumTables: summed-area tables of pixels and of their squares.
#include "../../precomp.hpp"
#include "rows.hpp"

namespace cv { namespace cuda { namespace tld { namespace cpu {

void sumTables(const ImageView& gray, uint32_t* sums, uint32_t* squares, size_t step)
{
    const int cols = gray.cols, rows = gray.rows;
    std::fill_n(sums, cols + 1, 0u);
    std::fill_n(squares, cols + 1, 0u);
    // Sums along rows, then down columns.
    forRowRanges(rows,
                 [&](int first, int end)
                 {
                     for (int y = first; y < end; ++y)
                     {
                         const uint8_t* const row = gray.row<uint8_t>(y);
                         uint32_t* const s = sums + (y + 1) * step;
                         uint32_t* const q = squares + (y + 1) * step;
                         uint32_t sum = 0, square = 0;
                         s[0] = q[0] = 0;
                         for (int x = 0; x < cols; ++x)
                         {
                             const int value = static_cast<int>(row[x]) - 128;
                             sum += static_cast<uint32_t>(value);
                             square += static_cast<uint32_t>(value * value);
                             s[x + 1] = sum;
                             q[x + 1] = square;
                         }
                     }
                 });
    const int BAND = 256;
    parallel_for_(Range(0, (cols + BAND) / BAND),
                  [&](const Range& range)
                  {
                      const int x0 = range.start * BAND, x1 = std::min(cols + 1, range.end * BAND);
                      for (int y = 1; y < rows; ++y)
                      {
                          columnSumsOf(sums + y * step + x0, sums + (y + 1) * step + x0, x1 - x0);
                          columnSumsOf(squares + y * step + x0, squares + (y + 1) * step + x0, x1 - x0);
                      }
                  });
}

}}}} // namespace cv::cuda::tld::cpu
