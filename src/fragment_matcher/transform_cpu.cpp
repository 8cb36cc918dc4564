// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// scores: DOT terms of large fragments by discrete Fourier transforms in double precision, exact.
//
// Why exact: a sum is an integer, and what the transforms make of it is off by far less than 1/2. For a tile of N numbers, with
// u = 2^-53, transforms by stages of radix up to 5 give every number of a correlation of I and T with an error of at most
// about 3 * 8 u log2(N) |I| |T| (three transforms; |x| is the root of the sum of squares; Higham, Accuracy and Stability of
// Numerical Algorithms, 24.1, with twiddle factors good to u). With bytes, N <= 2^22 numbers in a tile and P planes in a
// sum, |I| <= 255 2^11 and |T| <= 255 sqrt(w h), so the sum is off by at most
//
//   24 * 2^-53 * 22 * 255 * 2^11 * 255 sqrt(w h) P  =  7.8e-6 sqrt(w h) P,
//
// less than 1/4 as long as sqrt(w h) P < 32000; fragments beyond that go row by row.
#include "../precomp.hpp"
#include "scores_cpu.hpp"

namespace cv { namespace cuda { namespace fragment_matcher { namespace cpu {

namespace {

const int LARGEST_TILE = 1 << 22;

//! Transforms of tiles of `cols` x `rows` numbers, positions (cols - width + 1) x (rows - height + 1) of each.
struct Tiling
{
    int cols, rows;
    double cost; //!< a position of one transform
};

//! Least even sizes that cv::dft() is quick at, 2 to 8 times the fragment, or the whole area if that is less.
Tiling tilingOf(const Plan& plan, const SearchWindow& window)
{
    Tiling best = {0, 0, DBL_MAX};
    const auto sizeOf = [](int fragment, int positions, int times)
    {
        return getOptimalDFTSize(
            static_cast<int>(std::min<int64_t>(static_cast<int64_t>(fragment) * times, int64_t(fragment) + positions - 1)));
    };
    for (int timesX = 2; timesX <= 8; ++timesX)
        for (int timesY = 2; timesY <= 8; ++timesY)
        {
            const int cols = sizeOf(plan.width, window.cols, timesX), rows = sizeOf(plan.height, window.rows, timesY);
            if (cols < 0 || rows < 0 || static_cast<int64_t>(cols) * rows > LARGEST_TILE)
                continue;
            const int tilesX = detail::ceilDiv(window.cols, cols - plan.width + 1);
            const int tilesY = detail::ceilDiv(window.rows, rows - plan.height + 1);
            const double numbers = static_cast<double>(cols) * rows;
            const double cost = numbers * std::log2(numbers) * tilesX * tilesY / window.cols / window.rows;
            if (cost < best.cost)
                best = {cols, rows, cost};
        }
    return best;
}

int planesOf(const Plan& plan, const Term& term)
{
    return static_cast<int>(term.taps.size() / (static_cast<size_t>(term.blocks) * plan.height));
}

//! Bytes, as they are, in a corner of a tile of zeros, transformed.
void transform(const uint8_t* bytes, size_t step, int width, int height, uint8_t bias, Mat& tile)
{
    tile.setTo(Scalar::all(0));
    for (int y = 0; y < height; ++y)
    {
        double* const row = tile.ptr<double>(y);
        for (int x = 0; x < width; ++x)
            row[x] = static_cast<uint8_t>(bytes[y * step + x] ^ bias);
    }
    dft(tile, tile, 0, height);
}

} // namespace

// Measured on a Xeon with AVX-512 VNNI and, with OPENCV_CPU_DISABLE, without, one thread, sides of 48 to 232 px in 1080p BGR:
// a product takes this much of the time that a transform takes for one unit of numbers * log2(numbers).
static double costOfProduct(const KernelTraits& traits) { return traits.bias ? .016 : .03; }

bool transforms(const Plan& plan, const SearchWindow& window)
{
    if (plan.metric == METRIC_SAD || plan.width < 16 || plan.height < 16)
        return false;
    const Tiling tiling = tilingOf(plan, window);
    double products = 0, count = 0;
    int planes = plan.channels;
    for (int k = 0; k < plan.termCount; ++k)
    {
        const Term& term = plan.terms[k];
        if (term.kind != DOT_TERM || std::sqrt(static_cast<double>(plan.width) * plan.height) * planesOf(plan, term) >= 32000)
            return false;
        products += static_cast<double>(plan.width) * plan.height * planesOf(plan, term);
        planes = std::max(planes, term.segments[0].plane + planesOf(plan, term));
        ++count;
    }
    return tiling.cost * (planes + count) < products * costOfProduct(kernelTraitsHere());
}

TermSums correlate(const Plan& plan, const Planes& planes, const SearchWindow& window, Buffer& memory, bool parallel)
{
    const Tiling tiling = tilingOf(plan, window);
    const size_t stride = window.cols, termStride = stride * window.rows;
    uint64_t* const sums = memory.get<uint64_t>(termStride * plan.termCount);
    int count = 0; // of planes
    std::vector<std::vector<Mat>> templates(plan.termCount); // by term and plane
    for (int k = 0; k < plan.termCount; ++k)
    {
        const Term& term = plan.terms[k];
        const size_t step = static_cast<size_t>(term.blocks) * sizeof(uint32_t);
        const uint8_t* const taps = reinterpret_cast<const uint8_t*>(term.taps.data());
        count = std::max(count, term.segments[0].plane + planesOf(plan, term));
        templates[k].resize(planesOf(plan, term));
        for (size_t p = 0; p < templates[k].size(); ++p)
        {
            templates[k][p].create(tiling.rows, tiling.cols, CV_64FC1);
            transform(taps + p * plan.height * step, step, plan.width, plan.height, 0, templates[k][p]);
        }
    }
    const int cols = tiling.cols - plan.width + 1, rows = tiling.rows - plan.height + 1;
    const int tilesX = detail::ceilDiv(window.cols, cols), tiles = tilesX * detail::ceilDiv(window.rows, rows);
    const auto correlateTiles = [&](const Range& range)
    {
        std::vector<Mat> pictures(count);
        for (Mat& picture : pictures)
            picture.create(tiling.rows, tiling.cols, CV_64FC1);
        Mat product(tiling.rows, tiling.cols, CV_64FC1), total(tiling.rows, tiling.cols, CV_64FC1);
        for (int tile = range.start; tile < range.end; ++tile)
        {
            const int x = tile % tilesX * cols, y = tile / tilesX * rows;
            const int width = std::min(cols, window.cols - x), height = std::min(rows, window.rows - y);
            for (int p = 0; p < count; ++p)
                transform(planes.pixel(p, x, y), planes.step, width + plan.width - 1, height + plan.height - 1, planes.bias,
                          pictures[p]);
            for (int k = 0; k < plan.termCount; ++k)
            {
                const int first = plan.terms[k].segments[0].plane;
                for (size_t p = 0; p < templates[k].size(); ++p)
                {
                    mulSpectrums(pictures[first + p], templates[k][p], p == 0 ? total : product, 0, true);
                    if (p > 0)
                        add(total, product, total);
                }
                dft(total, total, DFT_INVERSE | DFT_SCALE | DFT_REAL_OUTPUT, height);
                for (int r = 0; r < height; ++r)
                {
                    const double* const from = total.ptr<double>(r);
                    uint64_t* const to = sums + k * termStride + (y + r) * stride + x;
                    for (int i = 0; i < width; ++i)
                        to[i] = static_cast<uint64_t>(static_cast<int64_t>(from[i] + .5)); // an integer and no less than 0
                }
            }
        }
    };
    if (parallel)
        parallel_for_(Range(0, tiles), correlateTiles);
    else
        correlateTiles(Range(0, tiles));
    return {sums, stride, termStride};
}

}}}} // namespace cv::cuda::fragment_matcher::cpu
