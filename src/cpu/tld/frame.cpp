// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// What is made of a frame once, for all objects.
#include "../../precomp.hpp"
#include "work.hpp"
#include <algorithm>

namespace cv { namespace cuda { namespace tld { namespace cpu {

namespace {

//! body(first row, row behind the last) for bands of rows.
template <typename Body> void forBands(int rows, const Body& body)
{
    parallel_for_(
        Range(0, rows), [&](const Range& range) { body(range.start, range.end); }, rows / 32. + 1.);
}

//! A row with its outer pixels mirrored on both sides. @return its first pixel.
const uint8_t* padded(const uint8_t* row, int cols, int reach, std::vector<uint8_t>& memory)
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

} // namespace

void toGray(const ImageView& image, RowsView<uint8_t> gray)
{
    const int channels = image.channels, cols = image.cols;
    forBands(image.rows,
             [&](int first, int end)
             {
                 for (int y = first; y < end; ++y)
                 {
                     const uint8_t* const from = image.row<uint8_t>(y);
                     uint8_t* const to = gray.row(y);
                     if (channels == 1)
                         std::copy_n(from, cols, to);
                     else
                         grayRowOf(from, channels, cols, to);
                 }
             });
}

void sumTables(const ImageView& gray, uint32_t* sums, uint32_t* squares, size_t step)
{
    const int cols = gray.cols, rows = gray.rows;
    std::fill_n(sums, cols + 1, 0u);
    std::fill_n(squares, cols + 1, 0u);
    // Sums along rows, then down columns.
    forBands(rows,
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

void blur(const ImageView& gray, RowsView<uint8_t> out)
{
    const int cols = gray.cols, rows = gray.rows, taps = 2 * BLUR_REACH + 1;
    forBands(rows,
             [&](int first, int end)
             {
                 // A ring of row sums: row y is at y modulo the number of taps.
                 std::vector<uint8_t> memory;
                 std::vector<uint16_t> ring(static_cast<size_t>(taps) * cols);
                 const auto rowOf = [&](int y) { return ring.data() + static_cast<size_t>((y + taps) % taps) * cols; };
                 const auto sumRow = [&](int y)
                 { blurRowOf(padded(gray.row<uint8_t>(mirrored(y, rows)), cols, BLUR_REACH, memory), cols, rowOf(y)); };
                 for (int y = first - BLUR_REACH; y < first + BLUR_REACH; ++y)
                     sumRow(y);
                 for (int y = first; y < end; ++y)
                 {
                     sumRow(y + BLUR_REACH);
                     const uint16_t* line[2 * BLUR_REACH + 1];
                     for (int k = -BLUR_REACH; k <= BLUR_REACH; ++k)
                         line[k + BLUR_REACH] = rowOf(y + k);
                     blurColumnsOf(line, cols, out.row(y));
                 }
             });
}

void halve(const ImageView& level, RowsView<uint8_t> next)
{
    const int cols = level.cols, rows = level.rows, nextCols = (cols + 1) / 2;
    forBands((rows + 1) / 2,
             [&](int first, int end)
             {
                 std::vector<uint8_t> memory;
                 std::vector<uint16_t> ring(static_cast<size_t>(5) * nextCols);
                 const auto rowOf = [&](int y) { return ring.data() + static_cast<size_t>((y + 5) % 5) * nextCols; };
                 const auto sumRow = [&](int y)
                 { halveRowOf(padded(level.row<uint8_t>(mirrored(y, rows)), cols, 2, memory), nextCols, rowOf(y)); };
                 for (int y = 2 * first - 2; y < 2 * first + 1; ++y)
                     sumRow(y);
                 for (int y = first; y < end; ++y)
                 {
                     sumRow(2 * y + 1);
                     sumRow(2 * y + 2);
                     const uint16_t* const line[5] = {rowOf(2 * y - 2), rowOf(2 * y - 1), rowOf(2 * y),
                                                      rowOf(2 * y + 1), rowOf(2 * y + 2)};
                     halveColumnsOf(line, nextCols, next.row(y));
                 }
             });
}

}}}} // namespace cv::cuda::tld::cpu
