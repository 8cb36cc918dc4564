// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Choices of TLD's CUDA backend that depend on the device: shared memory of blocks, and how many blocks share the windows of an
// object.
#ifndef OPENCV_CUDATRACKING_CUDA_TLD_PLAN_HPP
#define OPENCV_CUDATRACKING_CUDA_TLD_PLAN_HPP

#include "../../common/shared_limit.hpp"
#include "objects.hpp"

namespace cv { namespace cuda { namespace tld { namespace gpu {

// Static shared memory of kernels that have dynamic memory besides, at most. The kernels assert it of what they declare, and
// Plans_OnCuda.staticMemory compares with the compiler's numbers.
const size_t ENCODE_STATIC_BYTES = 1536, POSTERIOR_STATIC_BYTES = 1024, LEARN_NEGATIVES_STATIC_BYTES = 9 * 1024;

//! Bytes of shared memory for an object's posteriors; 0 where the device has not got so much, and blocks read them from device memory.
inline size_t posteriorBytes(const Settings& settings, const detail::SharedLimit& shared, size_t staticBytes)
{
    const size_t bytes = static_cast<size_t>(leavesOf(settings)) * sizeof(uint16_t);
    return bytes <= shared.dynamicBytes(staticBytes) && leavesOf(settings) % 8 == 0 ? bytes : 0;
}

//! Blocks that share the windows of one object: those of all objects fill the device once, or, as objects differ, some times.
inline int partsOf(int objects, int multiprocessors)
{
    const int rounds = greater(1, lesser(tuning::MOST_ROUNDS, objects / 16));
    return greater(1, rounds * multiprocessors / greater(1, objects));
}

const int PIXEL_STEP = 32 * sizeof(uint32_t); //!< bytes from a point to the next one: a word per lane

//! Points of the object with the most, as they are read four at a time, and their pixels for so many chunks of windows.
inline size_t encodeBytes(int points, int chunks)
{
    return points * sizeof(uint32_t) + static_cast<size_t>(chunks) * points * PIXEL_STEP;
}
inline int paddedPoints(int mostPoints) { return detail::ceilDiv(mostPoints, 4) * 4; }

//! Chunks of windows that a block makes codes of: a single one where points are many.
inline int encodeChunks(int points, const detail::SharedLimit& shared)
{
    const bool all = encodeBytes(points, tuning::ENCODE_CHUNKS) <= shared.dynamicBytes(ENCODE_STATIC_BYTES);
    return all ? tuning::ENCODE_CHUNKS : 1;
}
static_assert(MAX_POINTS * (PIXEL_STEP + sizeof(uint32_t)) + ENCODE_STATIC_BYTES <= detail::LEAST_SHARED_BYTES,
              "a chunk's pixels of all points, on every device");

}}}} // namespace cv::cuda::tld::gpu

#endif // OPENCV_CUDATRACKING_CUDA_TLD_PLAN_HPP
