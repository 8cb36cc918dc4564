// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

#include "../../precomp.hpp"
#include "../../new_algorithm/stages.hpp"

namespace cv { namespace cuda { namespace new_algorithm { namespace cpu {

void invert(const ImageView& image, RowsView<uint8_t> result)
{
    parallel_for_(Range(0, image.rows),
                  [&](const Range& rows)
                  {
                      for (int y = rows.start; y < rows.end; ++y)
                      {
                          const uint8_t* const from = image.row<uint8_t>(y);
                          uint8_t* const to = result.row(y);
                          for (int x = 0; x < image.cols; ++x)
                              to[x] = inverseOf(from[x]);
                      }
                  });
}

}}}} // namespace cv::cuda::new_algorithm::cpu
