// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Samples of a part of the image by a block, as the correlation filter takes them.
//
// A sample is a difference of interpolated sums along both axes. One step interpolates along x, for each row of the
// table that some sample needs, so that the samples above and below share it: there are 38 + 2 such rows where samples
// are as close as pixels, and two for each edge between samples where these are far from each other. The other step
// interpolates along y.
#ifndef OPENCV_CUDATRACKING_CUDA_TLD_FILTER_SAMPLES_HPP
#define OPENCV_CUDATRACKING_CUDA_TLD_FILTER_SAMPLES_HPP

#include "objects.hpp"

namespace cv { namespace cuda { namespace tld { namespace gpu {

//! Place of an edge of samples in the table of sums.
struct SampleEdge
{
    int at;   //!< column of the table, or the index of a row among those that are needed
    int part; //!< distance from there, 256ths of a pixel; beyond 256 or negative outside of the image
};

const int MOST_SAMPLES = 64; //!< per row or column

//! @tparam SAMPLES largest number of samples. @tparam VALUES largest product of needed rows and columns of samples.
template <int SAMPLES, int VALUES> struct SampleMemory
{
    SampleEdge left[MOST_SAMPLES], right[MOST_SAMPLES], top[MOST_SAMPLES], bottom[MOST_SAMPLES];
    int rows[4 * MOST_SAMPLES]; //!< of the table
    int64_t values[VALUES];     //!< 256 times the sums over the pixels of a sample's columns in all rows above
    uint8_t samples[SAMPLES];
};

//! Rows of the table that some samples need.
struct NeededRows
{
    int first;
    bool isRange; //!< `count` rows from `first` on, else those that are listed in SampleMemory
    bool touch;   //!< the lower edge of a sample is the upper one of the next
    int count;
};

__device__ __forceinline__ SampleEdge sampleEdge(int position, int limit)
{
    const int at = ::max(0, ::min(limit - 1, position >> 8));
    return {at, position - 256 * at};
}

//! Finds the edges of samples and the rows that they need. Ends with a barrier.
template <typename Memory>
__device__ __forceinline__ NeededRows findEdges(const Batch& batch, const SamplePlan& plan, int i0, int j0, int cols,
                                                int rows, Memory& m)
{
    const int high = 2 * plan.halfY, t = threadIdx.x;
    NeededRows needed;
    needed.first = sampleEdge(plan.top(j0), batch.rows).at;
    needed.touch = plan.height == plan.rows * high;
    const int all = sampleEdge(plan.top(j0 + rows - 1) + high, batch.rows).at + 2 - needed.first;
    const int step = needed.touch ? 2 : 4, listed = needed.touch ? 2 * (rows + 1) : 4 * rows;
    needed.isRange = all <= listed;
    needed.count = ::min(all, listed);
    if (t < cols)
    {
        const int left = plan.left(i0 + t);
        m.left[t] = sampleEdge(left, batch.cols);
        m.right[t] = sampleEdge(left + 2 * plan.halfX, batch.cols);
    }
    else if (t >= MOST_SAMPLES && t < MOST_SAMPLES + rows)
    {
        const int j = t - MOST_SAMPLES, position = plan.top(j0 + j);
        SampleEdge top = sampleEdge(position, batch.rows), bottom = sampleEdge(position + high, batch.rows);
        const int above = needed.isRange ? top.at - needed.first : step * j;
        const int below = needed.isRange ? bottom.at - needed.first : step * j + 2;
        if (!needed.isRange)
        {
            m.rows[above] = top.at;
            m.rows[above + 1] = top.at + 1;
            m.rows[below] = bottom.at; // the same as the next sample writes, if they touch
            m.rows[below + 1] = bottom.at + 1;
        }
        m.top[j] = {above, top.part};
        m.bottom[j] = {below, bottom.part};
    }
    __syncthreads(); // edges, rows
    return needed;
}

/** Takes samples as cellOf() of cornerSum() does, all differences of which are exact. Ends with a barrier.
@param i0,j0 the first sample, which may be outside of the plan. @param cols,rows number of samples.
@param m with room for 4 * rows * cols values; for 2 * (rows + 1) * cols, if samples of a plan that is that high touch.
*/
template <int THREADS, typename Memory>
__device__ __forceinline__ void takeSamples(const Batch& batch, const SamplePlan& plan, int i0, int j0, int cols,
                                            int rows, Memory& m)
{
    const NeededRows needed = findEdges(batch, plan, i0, j0, cols, rows, m);
    const SumTable sums = batch.sumTable();
    // Few objects: all values of a tile or of a size in one round.
    const int AT_ONCE = THREADS == tuning::FILTER_THREADS ? 3 : 2, all = needed.count * cols;
    for (int k0 = threadIdx.x; k0 < all; k0 += AT_ONCE * THREADS)
    {
        uint32_t l[AT_ONCE][2], r[AT_ONCE][2];
        int l256[AT_ONCE], r256[AT_ONCE];
#pragma unroll
        for (int a = 0; a < AT_ONCE; ++a)
        {
            const int k = ::min(k0 + a * THREADS, all - 1), n = k / cols, i = k - n * cols;
            const size_t y = static_cast<size_t>(needed.isRange ? needed.first + n : m.rows[n]);
            const uint32_t* const row = sums.data + y * sums.step;
            const SampleEdge left = m.left[i], right = m.right[i];
            l[a][0] = row[2 * left.at];
            l[a][1] = row[2 * left.at + 2];
            r[a][0] = row[2 * right.at];
            r[a][1] = row[2 * right.at + 2];
            l256[a] = left.part;
            r256[a] = right.part;
        }
#pragma unroll
        for (int a = 0; a < AT_ONCE; ++a)
            if (k0 + a * THREADS < all)
                m.values[k0 + a * THREADS] = static_cast<int64_t>(static_cast<int32_t>(r[a][0] - l[a][0])) * 256 +
                                             static_cast<int64_t>(r256[a]) * static_cast<int32_t>(r[a][1] - r[a][0]) -
                                             static_cast<int64_t>(l256[a]) * static_cast<int32_t>(l[a][1] - l[a][0]);
    }
    __syncthreads(); // values
    for (int k = threadIdx.x; k < rows * cols; k += THREADS)
    {
        const int j = k / cols, i = k - j * cols;
        const SampleEdge top = m.top[j], bottom = m.bottom[j];
        const int64_t* const above = m.values + top.at * cols + i;
        const int64_t* const below = m.values + bottom.at * cols + i;
        const int64_t a = above[0], b = below[0];
        const int64_t sum = (b - a) * 256 + static_cast<int64_t>(bottom.part) * static_cast<int32_t>(below[cols] - b) -
                            static_cast<int64_t>(top.part) * static_cast<int32_t>(above[cols] - a);
        m.samples[k] = static_cast<uint8_t>(128 + roundEven(static_cast<double>(sum) * plan.inverse));
    }
    __syncthreads(); // samples
}

}}}} // namespace cv::cuda::tld::gpu

#endif // OPENCV_CUDATRACKING_CUDA_TLD_FILTER_SAMPLES_HPP
