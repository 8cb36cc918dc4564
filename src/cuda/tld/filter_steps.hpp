// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Launches that the stages filter and trainFilter share. All process the objects of a batch that need it.
#ifndef OPENCV_CUDATRACKING_CUDA_TLD_FILTER_STEPS_HPP
#define OPENCV_CUDATRACKING_CUDA_TLD_FILTER_STEPS_HPP

#include "filter_block.hpp"
#include "../../common/launch.hpp"

namespace cv { namespace cuda { namespace tld { namespace gpu {

//! Whether the filters of a batch leave most of the device idle, so that their kernels are bound by latency.
CT_HOST_DEVICE bool isFew(const Batch& batch) { return batch.count <= tuning::FEW_FILTERS; }

#ifdef __CUDACC__
/** Lets the next kernel begin at once, if this one asks at flow's box. What the kernels of that row read before they
wait is older than the first of them, which does not begin early. So of objects that are not asked there all kernels
wait for flow only, and the last one has compared flow's box by the time that the others have ended. Many objects would
fill the device while they wait. */
__device__ __forceinline__ void letAllBegin(const Batch& batch, FilterPass pass, int place)
{
    if (pass == ASKING && place == 1 && isFew(batch))
        detail::letNextKernelBegin();
}
#endif

//! Looks at a place where the filter is asked: histograms of gradients, products of spectra and model, likelihoods.
void lookAtPlace(const Batch& batch, const ImageView& image, int place, detail::StreamHandle stream);
//! Computes the features of all sizes at FilterWork::moved. @param place that was asked before.
void lookAtSizes(const Batch& batch, const ImageView& image, int place, detail::StreamHandle stream);
//! Looks at the filter's place and learns its spectra and those of the sizes or, where a box that was found again is in
//! doubt, computes the products of spectra and model.
void lookForTraining(const Batch& batch, const ImageView& image, FilterPass pass, detail::StreamHandle stream);

}}}} // namespace cv::cuda::tld::gpu

#endif // OPENCV_CUDATRACKING_CUDA_TLD_FILTER_STEPS_HPP
