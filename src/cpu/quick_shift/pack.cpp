// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Stage pack on the CPU.
#include "../../precomp.hpp"
#include "scratch.hpp"
#include <algorithm>

namespace cv { namespace cuda { namespace quick_shift { namespace cpu {

namespace {

template <typename T>
void packRow(const ImageView& image, const ImageView& mask, const Scales& scales, Features& features, int y)
{
    const int channels = features.channels;
    const T* pixel = image.row<T>(y);
    const uint8_t* valid = mask ? mask.row<uint8_t>(y) : nullptr;
    float* rows[MAX_CHANNELS] = {};
    for (int k = 0; k < channels; ++k)
        rows[k] = features.row(k, y);
    for (int x = 0; x < features.cols; ++x, pixel += channels)
    {
        bool counts = !valid || valid[x];
        for (int k = 0; k < channels; ++k)
        {
            const float value = static_cast<float>(pixel[k]);
            rows[k][x] = scales.used ? value * scales.power[k] : value;
            counts = counts && fabsf(scales.used ? value * scales.whole[k] : value) < LARGEST_FEATURE;
        }
        if (!counts)
            for (int k = 0; k < channels; ++k)
                rows[k][x] = k == 0 ? OUTSIDE : 0.f;
    }
}

} // namespace

void pack(const ImageView& image, const ImageView& mask, const Parameters& parameters, const Scales& scales,
          Scratch& scratch)
{
    Features& features = scratch.features;
    features.cols = image.cols;
    features.rows = image.rows;
    features.channels = image.channels;
    features.left = alignSize(std::max(parameters.radius, MOST_RINGS), 16);
    features.stride = alignSize(features.left + features.cols + ROW_PADDING, 16);
    features.data.resize(features.stride * features.rows * features.channels);
    parallel_for_(Range(0, image.rows),
                  [&](const Range& range)
                  {
                      for (int y = range.start; y < range.end; ++y)
                      {
                          for (int k = 0; k < features.channels; ++k)
                          {
                              float* row = features.row(k, y) - features.left;
                              std::fill(row, row + features.stride, k == 0 ? OUTSIDE : 0.f);
                          }
                          if (image.depth == detail::DEPTH_8U)
                              packRow<uint8_t>(image, mask, scales, features, y);
                          else if (image.depth == detail::DEPTH_16U)
                              packRow<uint16_t>(image, mask, scales, features, y);
                          else
                              packRow<float>(image, mask, scales, features, y);
                      }
                  });
}

}}}} // namespace cv::cuda::quick_shift::cpu
