// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Stage tabulate on CUDA: one thread per superpixel.
#include "superpixels.hpp"
#include "../../common/launch.hpp"

namespace cv { namespace cuda { namespace quick_shift { namespace gpu {

namespace {

//! Returns the image of a superpixel: the last one whose first superpixel is not after it.
__device__ __forceinline__ int imageOfNumber(const SumsTable& sums, int number)
{
    int first = 0, last = sums.firsts ? sums.images - 1 : 0;
    while (first < last)
    {
        const int middle = (first + last + 1) / 2;
        if (sums.firsts[middle] <= number)
            first = middle;
        else
            last = middle - 1;
    }
    return first;
}

__global__ void __launch_bounds__(THREADS)
    computeStatistics(int rows, const ImageView image, const SumsTable sums, const Table table)
{
    const int i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= rows)
        return;
    const bool known = i < sizeOf(sums);
    const unsigned long long* const row = sumsOf(sums, i);
    const unsigned long long area = known ? row[0] : 1; // without a superpixel 1, to avoid division by zero
    const Places s = known ? sums.places[i] : Places();
    if (table.areas)
        *table.areas.row(i) = known ? static_cast<int>(area) : 0;
    if (table.means)
    {
        const double scale = scaleOf(image, sums, imageOfNumber(sums, i));
        for (int k = 0; k < image.channels; ++k)
            table.means.row(i)[k] = meanOf(known ? row[1 + k] : 0, area, scale);
    }
    if (table.centroids)
    {
        table.centroids.row(i)[0] = meanOf(s.x, area, 1.);
        table.centroids.row(i)[1] = meanOf(s.y, area, 1.);
    }
    if (table.boxes)
    {
        int* const box = table.boxes.row(i);
        box[0] = s.left;
        box[1] = s.top;
        box[2] = known ? s.right - s.left + 1 : 0;
        box[3] = known ? s.bottom - s.top + 1 : 0;
    }
}

} // namespace

void tabulate(int rows, const ImageView& image, const SumsTable& sums, const Table& table, StreamHandle stream)
{
    detail::launch("quick shift statistics", computeStatistics, detail::linearGrid(rows, THREADS), dim3(THREADS), 0,
                   stream, rows, image, sums, table);
}

}}}} // namespace cv::cuda::quick_shift::gpu
