// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Decisions of TLD's CUDA backend that depend on the device: shared memory per block, and blocks per object.
#ifndef OPENCV_CUDATRACKING_CUDA_TLD_PLAN_HPP
#define OPENCV_CUDATRACKING_CUDA_TLD_PLAN_HPP

#include "../../common/device.hpp"
#include "objects.hpp"

namespace cv { namespace cuda { namespace tld { namespace gpu {

// Upper bounds of the static shared memory of kernels that also use dynamic memory: fernCodes, fernPosteriors,
// learnNegatives. The kernels assert them, and Common_CudaPlans.staticMemory compares them with the compiler's values.
const size_t ENCODE_STATIC_BYTES = 1536, POSTERIOR_STATIC_BYTES = 1024, LEARN_NEGATIVES_STATIC_BYTES = 9 * 1024;

//! Returns the bytes of shared memory for an object's posteriors; 0 if they do not fit and blocks read them from device
//! memory.
inline size_t posteriorBytes(const Settings& settings, const detail::SharedLimit& shared, size_t staticBytes)
{
    const size_t bytes = static_cast<size_t>(leavesOf(settings)) * sizeof(uint16_t);
    return bytes <= shared.dynamicBytes(staticBytes) && leavesOf(settings) % 8 == 0 ? bytes : 0;
}

//! Returns the blocks per object: few objects fill the device once; more fill it up to MOST_ROUNDS times, as objects
//! differ.
inline int partsOf(int objects, int multiprocessors)
{
    const int rounds = greater(1, lesser(tuning::MOST_ROUNDS, objects / 16));
    return greater(1, rounds * multiprocessors / greater(1, objects));
}

//! Returns the multiprocessors that blocks of POSTERIOR_THREADS, which leave no room for others, may occupy while they
//! wait: a few are left to the filters of few objects.
inline int multiprocessorsBesideFilters(const Batch& batch)
{
    const int all = detail::multiprocessors();
    return batch.settings.filter && batch.count <= tuning::TEAM_OBJECTS && all > 2 * tuning::FILTER_MULTIPROCESSORS
               ? all - tuning::FILTER_MULTIPROCESSORS
               : all;
}

/** Whether blocks read posteriors from device memory although they fit into shared memory: where there are few windows,
copies of all posteriors take longer than their look-ups. @param tiles number of tiles of all groups. */
inline bool readsPosteriors(int objects, int tiles)
{
    return static_cast<int64_t>(objects) * tiles <= tuning::DIRECT_TILES;
}
//! Returns partsOf(), but at most a block per tile where blocks need not be balanced.
inline int directParts(int objects, int tiles, int multiprocessors)
{
    return lesser(greater(1, tiles), partsOf(objects, multiprocessors));
}

const int PIXEL_STEP = 32 * sizeof(uint32_t); //!< bytes per point: one word per lane

//! Returns the shared memory of fernCodes: offsets of points, and their pixels per chunk of windows. @param points
//! result of paddedPoints().
inline size_t encodeBytes(int points, int chunks)
{
    return points * sizeof(uint32_t) + static_cast<size_t>(chunks) * points * PIXEL_STEP;
}
//! Rounds up the number of points, as they are read four at a time. @param mostPoints largest number of an object.
inline int paddedPoints(int mostPoints) { return detail::ceilDiv(mostPoints, 4) * 4; }

//! Returns the chunks of windows per block of fernCodes: one if the pixels of ENCODE_CHUNKS chunks do not fit.
inline int encodeChunks(int points, const detail::SharedLimit& shared)
{
    const bool all = encodeBytes(points, tuning::ENCODE_CHUNKS) <= shared.dynamicBytes(ENCODE_STATIC_BYTES);
    return all ? tuning::ENCODE_CHUNKS : 1;
}
static_assert(MAX_POINTS * (PIXEL_STEP + sizeof(uint32_t)) + ENCODE_STATIC_BYTES <= detail::LEAST_SHARED_BYTES,
              "a chunk's pixels of all points, on every device");

}}}} // namespace cv::cuda::tld::gpu

#endif // OPENCV_CUDATRACKING_CUDA_TLD_PLAN_HPP
