// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// pyramid: gray images of halved sizes.
#include "../../precomp.hpp"
#include "rows.hpp"

namespace cv { namespace cuda { namespace tld { namespace cpu {

namespace {

void halve(const ImageView& level, RowsView<uint8_t> next)
{
    const int cols = level.cols, rows = level.rows, nextCols = (cols + 1) / 2;
    forRowRanges(
        (rows + 1) / 2,
        [&](int first, int end)
        {
            std::vector<uint8_t> memory;
            std::vector<uint16_t> ring(static_cast<size_t>(5) * nextCols);
            const auto rowOf = [&](int y) { return ring.data() + static_cast<size_t>((y + 5) % 5) * nextCols; };
            const auto sumRow = [&](int y)
            { halveRowOf(paddedRow(level.row<uint8_t>(mirrored(y, rows)), cols, 2, memory), nextCols, rowOf(y)); };
            for (int y = 2 * first - 2; y < 2 * first + 1; ++y)
                sumRow(y);
            for (int y = first; y < end; ++y)
            {
                sumRow(2 * y + 1);
                sumRow(2 * y + 2);
                const uint16_t* const line[5] = {rowOf(2 * y - 2), rowOf(2 * y - 1), rowOf(2 * y), rowOf(2 * y + 1),
                                                 rowOf(2 * y + 2)};
                halveColumnsOf(line, nextCols, next.row(y));
            }
        });
}

} // namespace

void pyramid(const Pyramid& p)
{
    for (int l = 1; l < p.levels; ++l)
        halve({p.data[l - 1], p.step[l - 1], p.cols[l - 1], p.rows[l - 1], detail::DEPTH_8U, 1},
              {p.data[l], p.step[l]});
}

}}}} // namespace cv::cuda::tld::cpu
