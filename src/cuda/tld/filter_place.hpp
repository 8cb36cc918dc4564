// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Device functions that find where a correlation filter looks beside the last box.
#ifndef OPENCV_CUDATRACKING_CUDA_TLD_FILTER_PLACE_HPP
#define OPENCV_CUDATRACKING_CUDA_TLD_FILTER_PLACE_HPP

#include "block.hpp"

namespace cv { namespace cuda { namespace tld { namespace gpu {

//! Threads that find the median of one axis: a point each.
const int SHIFT_GROUP = 128;
static_assert(SHIFT_GROUP >= FLOW_POINTS, "a point per thread");
const int PLACE_THREADS = 2 * SHIFT_GROUP + 32; //!< least threads: two groups, and one of another warp

//! Whether points are tracked by a block of several warps each, and kernels begin early. Many blocks would fill the
//! device while they wait, and delay the detector.
CT_HOST_DEVICE bool usesTeams(const Batch& batch) { return batch.count <= tuning::TEAM_OBJECTS; }

struct PlaceMemory
{
    FilterLook look;
    SecondPlace second;
    int32_t shifts[2][FLOW_POINTS], lower[2], upper[2];
};

/** Finds the second place of a filter by a block of THREADS, after the forward tracks: PlaceMemory::second and look.
Ends with a barrier. */
template <int THREADS>
__device__ __forceinline__ void findSecondPlace(const Batch& batch, const ObjectRecord& object, PlaceMemory& m)
{
    static_assert(THREADS >= PLACE_THREADS, "all have a thread");
    const int LOST = 0x7fffffff; // larger than all shifts
    const ObjectState& before = object.live->states[object.live->current];
    const bool asks = asksFilter(before);
    const int t = threadIdx.x, axis = t / SHIFT_GROUP, i = t % SHIFT_GROUP;
    const bool has = axis < 2 && i < FLOW_POINTS;
    int32_t own = LOST;
    if (asks && has)
    {
        const TrackedPoint& p = object.trackedPoints[usesTeams(batch) ? FLOW_POINTS + i : i];
        if (p.ahead)
            own = axis == 0 ? p.to.x - p.from.x : p.to.y - p.from.y;
    }
    if (has)
        m.shifts[axis][i] = own;
    const int points = __syncthreads_count(own != LOST) / 2;
    if (has)
    {
        int less = 0;
#pragma unroll 10
        for (int j = 0; j < FLOW_POINTS; ++j)
        {
            const int32_t other = m.shifts[axis][j];
            less += other < own || (other == own && j < i) ? 1 : 0;
        }
        if (less == points / 2)
            m.upper[axis] = own;
        if (less == (points - 1) / 2)
            m.lower[axis] = own;
    }
    else if (t == THREADS - 1)
    {
        const FilterState& f = before.filter;
        m.look = {0, NOT_TRAINED, f.colour, filterAreas(f.width, f.height, f.scale, batch.cols, batch.rows), {}};
        m.look.plan = planSurround(0., 0., m.look.areas);
    }
    __syncthreads(); // medians, areas
    if (t == 0)
    {
        ForwardShift shift = {points, 0., 0.};
        if (points > 0)
        {
            shift.dx = shiftOf(m.lower[0], m.upper[0]);
            shift.dy = shiftOf(m.lower[1], m.upper[1]);
        }
        m.second = secondPlace(before, shift);
        m.look.there = m.second.there;
        moveSurround(m.look.plan, m.second.x, m.second.y, m.look.areas);
    }
    __syncthreads(); // the place
}

//! Writes what findSecondPlace() has found.
__device__ __forceinline__ void writeSecondPlace(const PlaceMemory& m, FilterWork& work)
{
    copyWords(&work.places[1], &m.look, 1);
    copyWords(&work.second, &m.second, 1);
}

}}}} // namespace cv::cuda::tld::gpu

#endif // OPENCV_CUDATRACKING_CUDA_TLD_FILTER_PLACE_HPP
