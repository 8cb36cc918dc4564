// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Launches that the stages filter and trainFilter share. All process the objects of a batch that need it.
#ifndef OPENCV_CUDATRACKING_CUDA_TLD_FILTER_STEPS_HPP
#define OPENCV_CUDATRACKING_CUDA_TLD_FILTER_STEPS_HPP

#include "filter_block.hpp"
#include "../../common/launch.hpp"

namespace cv { namespace cuda { namespace tld { namespace gpu {

//! Whether filterCells finds the place where it looks: each block by itself, which takes less than a launch before it.
CT_HOST_DEVICE bool findsPlace(const Batch& batch, FilterPass pass, int place)
{
    return pass == ASKING && place == 1 && isFew(batch);
}

#ifdef __CUDACC__
/** Lets the next kernel begin at once, if the place is found by filterCells. What the kernels of that row read before
they wait is older than the first of them, which does not begin early. So all of them are there when the place is known.
Many objects would fill the device while they wait. */
__device__ __forceinline__ void letAllBegin(const Batch& batch, FilterPass pass, int place)
{
    if (findsPlace(batch, pass, place))
        detail::letNextKernelBegin();
}
#endif

//! Finds FilterWork::second, after the forward tracks of the flow, unless findsPlace().
void findSecondPlaces(const Batch& batch, detail::StreamHandle stream);
//! Looks at a place where the filter is asked: histograms of gradients, products of spectra and model, likelihoods.
void lookAtPlace(const Batch& batch, const ImageView& image, int place, detail::StreamHandle stream);
//! Computes the features of all sizes at the answer that is taken. Of few objects those at the first one are taken at
//! once. @param place 0: at the first answer; 1: at the one that is taken, unless these are there.
void lookAtSizes(const Batch& batch, const ImageView& image, int place, detail::StreamHandle stream);
//! Looks at the filter's place and learns its spectra and those of the sizes or, where a box that was found again is in
//! doubt, computes the products of spectra and model.
void lookForTraining(const Batch& batch, const ImageView& image, FilterPass pass, detail::StreamHandle stream);

}}}} // namespace cv::cuda::tld::gpu

#endif // OPENCV_CUDATRACKING_CUDA_TLD_FILTER_STEPS_HPP
