// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Launches that the stages filter and trainFilter share. All process the objects of a batch that need it.
#ifndef OPENCV_CUDATRACKING_CUDA_TLD_FILTER_STEPS_HPP
#define OPENCV_CUDATRACKING_CUDA_TLD_FILTER_STEPS_HPP

#include "filter_block.hpp"

namespace cv { namespace cuda { namespace tld { namespace gpu {

//! Computes features, spectra, bins and counts of bins around the places of all objects. @param places largest number.
void lookAround(const Batch& batch, const ImageView& image, FilterPass pass, int places, detail::StreamHandle stream);
//! Computes the answers at these places.
void answersOf(const Batch& batch, const ImageView& image, FilterPass pass, int places, detail::StreamHandle stream);
//! Computes the features of all sizes.
void lookAtSizes(const Batch& batch, FilterPass pass, detail::StreamHandle stream);
//! Computes the spectra along the sizes: their parts of the answer or, unless ASKING, what is learned of them.
void spectraOfSizes(const Batch& batch, FilterPass pass, detail::StreamHandle stream);

}}}} // namespace cv::cuda::tld::gpu

#endif // OPENCV_CUDATRACKING_CUDA_TLD_FILTER_STEPS_HPP
