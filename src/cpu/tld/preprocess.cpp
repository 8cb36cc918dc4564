// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// preprocess: gray values and blur of an image.
#include "../../precomp.hpp"
#include "rows.hpp"

namespace cv { namespace cuda { namespace tld { namespace cpu {

namespace {

void toGray(const ImageView& image, RowsView<uint8_t> gray)
{
    const int channels = image.channels, cols = image.cols;
    forRowRanges(image.rows,
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

void blur(const ImageView& gray, RowsView<uint8_t> out)
{
    const int cols = gray.cols, rows = gray.rows, taps = 2 * BLUR_REACH + 1;
    forRowRanges(
        rows,
        [&](int first, int end)
        {
            // Ring buffer of row sums: row y is at y modulo the number of taps.
            std::vector<uint8_t> memory;
            std::vector<uint16_t> ring(static_cast<size_t>(taps) * cols);
            const auto rowOf = [&](int y) { return ring.data() + static_cast<size_t>((y + taps) % taps) * cols; };
            const auto sumRow = [&](int y)
            { blurRowOf(paddedRow(gray.row<uint8_t>(mirrored(y, rows)), cols, BLUR_REACH, memory), cols, rowOf(y)); };
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

} // namespace

void preprocess(const ImageView& image, RowsView<uint8_t> gray, RowsView<uint8_t> blurred)
{
    toGray(image, gray);
    blur({gray.data, gray.step, image.cols, image.rows, detail::DEPTH_8U, 1}, blurred);
}

}}}} // namespace cv::cuda::tld::cpu
