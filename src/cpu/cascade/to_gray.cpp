// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Stage toGray on the CPU.
#include "../../precomp.hpp"
#include "../../cascade/stages.hpp"

namespace cv { namespace cuda { namespace cascade { namespace cpu {

void toGray(const ImageView& image, RowsView<uint8_t> gray)
{
    const int channels = image.channels;
    parallel_for_(Range(0, image.rows),
                  [&](const Range& rows)
                  {
                      for (int y = rows.start; y < rows.end; ++y)
                      {
                          const uint8_t* const from = image.row<uint8_t>(y);
                          uint8_t* const to = gray.row(y);
                          for (int x = 0; x < image.cols; ++x)
                          {
                              const uint8_t* const pixel = from + static_cast<size_t>(x) * channels;
                              to[x] = static_cast<uint8_t>(grayOf(pixel[0], pixel[1], pixel[2]));
                          }
                      }
                  });
}

}}}} // namespace cv::cuda::cascade::cpu
