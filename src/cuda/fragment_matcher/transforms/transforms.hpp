// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher, route TRANSFORMS: SSD and ZNCC without weights by Fourier transforms in double precision, for large
// fragments.
#ifndef OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_TRANSFORMS_HPP
#define OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_TRANSFORMS_HPP

#include "../matrix/bands.hpp"

namespace cv { namespace cuda { namespace fragment_matcher {

namespace gpu {

const int TRANSFORM_COLS = 2; //!< columns of spectra per block: 32 bytes of each row, a sector of memory

/** Plan of matchTransforms(). Products are a circular correlation of cols x rows complex values: the region's first
`half` columns of positions are the real parts, the others the imaginary ones. A BandPlan describes the planes of bytes,
sums and values. */
struct TransformPlan
{
    int cols, rows;          //!< lengths of the transforms of rows and of columns
    int half;                //!< columns of positions per part of the region
    int fragmentRows;        //!< height of the highest fragment
    size_t imageValues;      //!< values of the spectra of the region's rows
    size_t templatesEach;    //!< values of the spectra of the rows of a fragment
    size_t productsEach;     //!< values of the sum of products of a fragment
    int rowFactors, factors; //!< number of factors of rows, and of rows and columns
    bool staged; //!< columns of the next channel are copied to shared memory while those of one are transformed
    size_t columnSharedBytes; //!< shared memory per block of columns
};

struct Complex;

//! Device memory of matchTransforms(), besides BandMemory.
struct TransformMemory
{
    const Complex* factors; //!< factorsOf()
    Complex* image;         //!< indexed by channel, row, place in the spectrum
    Complex* templates;     //!< indexed by entry, channel, row, place in the spectrum
    Complex* products;      //!< indexed by entry, row, place in the spectrum
};

void matchTransforms(const Job& job, const TransformPlan& plan, const TransformMemory& memory, const BandPlan& bands,
                     const BandMemory& bandMemory, const Windows& windows);

// Its kernels:
void transformRows(const Job& job, const TransformPlan& plan, const TransformMemory& memory, const BandPlan& bands);
void multiplyColumns(const Job& job, const TransformPlan& plan, const TransformMemory& memory, const BandPlan& bands,
                     const BandMemory& bandMemory);
void transformBack(const Job& job, const TransformPlan& plan, const TransformMemory& memory, const BandPlan& bands,
                   const BandMemory& bandMemory);

} // namespace gpu

struct TransformPlans
{
    gpu::TransformPlan transforms;
    gpu::BandPlan bands;
};
//! Plans windows; nothing if transforms are not applicable.
std::optional<TransformPlans> planTransforms(const MatchCase& given, const Load& load);

}}} // namespace cv::cuda::fragment_matcher

#endif // OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_TRANSFORMS_HPP
