// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// All moments of a lane's positions, which share their operands.
// FragmentMatcher, small windows by matrix instructions: the moments of a lane's positions.
#ifndef OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_BANDS_MOMENTS_HPP
#define OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_BANDS_MOMENTS_HPP

#include "lanes.hpp"

namespace cv { namespace cuda { namespace fragment_matcher { namespace device {

//! Sums of a lane's positions, indexed by [j][2 half + column]; see LanePositions. At most gpu::BAND_TERMS products of
//! two bytes, so 32 bits.
typedef uint32_t LaneSums[LANE_ROWS][4];

__device__ __forceinline__ void clear(LaneSums& tile)
{
#pragma unroll
    for (int j = 0; j < LANE_ROWS; ++j)
        tile[j][0] = tile[j][1] = tile[j][2] = tile[j][3] = 0;
}

/** Operands of a warp: the lane's words of the image and of template rows. Lane (g, t) has pixels 8t - g .. 8t + 7 - g
of a template row as its share of the band. */
struct BandOperands
{
    const uint32_t *first, *second; //!< words of the image for the two halves
    const uint32_t* rows[3];        //!< template rows of up to three planes
    int pitch, step;                //!< words from row to row of the image, and of templates
    int height;                     //!< rows of the template
    uint32_t shift;                 //!< bits from the words of templates to the lane's first pixel
};

enum Part
{
    FIRST,  //!< there are no template rows before these
    MIDDLE, //!< there are template rows before and after
    END,    //!< the template may end in these
    LAST    //!< there are no template rows after these
};

//! Loads the operand of a row of the image from words of both halves.
__device__ __forceinline__ void loadRow(const uint32_t* first, const uint32_t* second, uint32_t (&image)[4])
{
    image[0] = first[0], image[1] = second[0], image[2] = first[1], image[3] = second[1];
}

/** Multiplies LANE_ROWS rows of the image with LANE_ROWS template rows each, of BANDS planes. @param left END:
remaining template rows. */
template <Part PART, int BANDS>
__device__ __forceinline__ void addRows(BandOperands& from, int left, uint32_t (&held)[BANDS][LANE_ROWS][2],
                                        LaneSums& sums0, LaneSums& sums1, LaneSums& sums2)
{
#pragma unroll
    for (int i = 0; i < (PART == LAST ? LANE_ROWS - 1 : LANE_ROWS); ++i)
    {
        uint32_t image[4];
        loadRow(from.first, from.second, image);
        from.first += from.pitch, from.second += from.pitch;
#pragma unroll
        for (int k = 0; k < BANDS; ++k)
        {
            if (PART == END && i >= left)
                held[k][i][0] = held[k][i][1] = 0;
            else if (PART != LAST)
            {
                const uint32_t* const row = from.rows[k];
                held[k][i][0] = __funnelshift_r(row[0], row[1], from.shift);
                held[k][i][1] = __funnelshift_r(row[1], row[2], from.shift);
                from.rows[k] += from.step;
            }
            LaneSums& sums = k == 0 ? sums0 : (k == 1 ? sums1 : sums2);
#pragma unroll
            for (int j = 0; j < LANE_ROWS; ++j)
                if (!(PART == FIRST && j > i) && !(PART == LAST && j <= i))
                    multiplyAdd(sums[j], image, held[k][(i - j + LANE_ROWS) % LANE_ROWS]);
        }
    }
}

//! Adds the products of a plane of the image.
template <int BANDS>
__device__ __forceinline__ void addPlane(BandOperands from, LaneSums& sums0, LaneSums& sums1, LaneSums& sums2)
{
    uint32_t held[BANDS][LANE_ROWS][2];
    addRows<FIRST>(from, 0, held, sums0, sums1, sums2);
    int left = from.height - LANE_ROWS;
#pragma unroll 1
    for (; left >= LANE_ROWS; left -= LANE_ROWS)
        addRows<MIDDLE>(from, 0, held, sums0, sums1, sums2);
    if (left > 0)
        addRows<END>(from, left, held, sums0, sums1, sums2);
    addRows<LAST>(from, 0, held, sums0, sums1, sums2);
}

//! Moments of a lane's positions. Weighted: high and low bytes of q T and of the squares of I have separate sums. The
//! two higher bytes of squares share one: at most 22,017 pixels of three channels, 255 * 762 each.
template <Metric METRIC, bool WEIGHTED, int CHANNELS> struct LaneMoments
{
    static constexpr bool IMAGE = isCorrelation(METRIC);
    static constexpr int SQUARES = CHANNELS == 1 ? 2 : 3, PLANES = gpu::bandPlanes(CHANNELS, WEIGHTED);
    LaneSums cross, crossLow, squares, squaresLow, image[CHANNELS]; //!< image: if weighted

    __device__ __forceinline__ void sum(const FusedBands& plan, int width, int height, const LanePositions& mine,
                                        const uint32_t* planes, const uint32_t* squarePlanes, const uint32_t* templ)
    {
        clear(cross), clear(crossLow), clear(squares), clear(squaresLow);
#pragma unroll
        for (int c = 0; c < CHANNELS; ++c)
            clear(image[c]);
        const int chunks = bandChunks(width), lane = threadIdx.x % 32, before = 8 * (lane % 4) - lane / 4;
        BandOperands from;
        from.pitch = plan.pitch;
        from.step = templateStep(chunks);
        from.height = gpu::templateRows(height);
        from.shift = 8 * (before & 3);
        const int planeWords = from.height * from.step;
        templ += 4 + (before >> 2);
#pragma unroll 1
        for (int chunk = 0; chunk < chunks; ++chunk, planes += 8, squarePlanes += 8, templ += 8)
        {
#pragma unroll
            for (int c = 0; c < CHANNELS; ++c)
            {
                from.first = planes + c * plan.planeWords + mine.at[0];
                from.second = planes + c * plan.planeWords + mine.at[1];
                from.rows[0] = templ + (WEIGHTED ? 2 * c : c) * planeWords;
                from.rows[1] = from.rows[0] + planeWords;
                from.rows[2] = templ + 2 * CHANNELS * planeWords;
                if (!WEIGHTED)
                    addPlane<1>(from, cross, cross, cross);
                else
                    addPlane<IMAGE ? 3 : 2>(from, cross, crossLow, image[c]);
            }
            if (WEIGHTED)
                sumSquares(plan, mine, squarePlanes, templ + 2 * CHANNELS * planeWords, from);
        }
    }

    //! Sums the weighted squares; the low bytes separately, as 32 bits do not hold them together with the others.
    __device__ __forceinline__ void sumSquares(const FusedBands& plan, const LanePositions& mine,
                                               const uint32_t* planes, const uint32_t* weights, BandOperands& from)
    {
        LaneSums part;
        clear(part);
#pragma unroll
        for (int b = 0; b < SQUARES; ++b)
        {
            from.first = planes + b * plan.squareWords + mine.at[0];
            from.second = planes + b * plan.squareWords + mine.at[1];
            from.rows[0] = weights;
            LaneSums& to = b == SQUARES - 1 ? squaresLow : part;
            addPlane<1>(from, to, to, to);
#pragma unroll
            for (int j = 0; j < LANE_ROWS; ++j)
#pragma unroll
                for (int q = 0; q < 4; ++q)
                    if (b < SQUARES - 2)
                        part[j][q] <<= 8;
                    else if (b == SQUARES - 2)
                        squares[j][q] += part[j][q];
        }
    }

    //! Sums the squares without weights: adds up columns of the lines from makeLines().
    __device__ __forceinline__ void sumLines(const LanePositions& mine, const uint32_t* lines, int pitch, int height)
    {
#pragma unroll
        for (int half = 0; half < 2; ++half)
        {
            const uint2* line = reinterpret_cast<const uint2*>(lines + mine.line[half] * pitch + mine.x[half]);
            const int step = pitch / 2;
            uint2 first[LANE_ROWS - 1], total = {0, 0};
#pragma unroll
            for (int i = 0; i < LANE_ROWS - 1; ++i, line += step)
            {
                first[i] = *line;
                total.x += first[i].x, total.y += first[i].y;
            }
#pragma unroll 4
            for (int v = LANE_ROWS - 1; v < height; ++v, line += step)
                total.x += line->x, total.y += line->y;
            squares[0][2 * half] = total.x, squares[0][2 * half + 1] = total.y;
#pragma unroll
            for (int j = 1; j < LANE_ROWS; ++j, line += step)
            {
                total.x += line->x - first[j - 1].x, total.y += line->y - first[j - 1].y;
                squares[j][2 * half] = total.x, squares[j][2 * half + 1] = total.y;
            }
        }
    }

    //! Returns S(qIT) and S(qI^2) of position q of row j; without weights divided by 255.
    __device__ __forceinline__ void fold(int j, int q, uint64_t& product, uint64_t& power) const
    {
        product = cross[j][q], power = squares[j][q];
        if (WEIGHTED)
        {
            product = (product << 8) + crossLow[j][q];
            power = (power << 8) + squaresLow[j][q];
        }
    }

    //! Computes n and v in place, from these and S(qI) of each channel; without weights divided by 255^2.
    static __device__ __forceinline__ void correlate(const TemplateSums& templ, const uint32_t (&sums)[CHANNELS],
                                                     uint64_t& product, uint64_t& power)
    {
        const auto plain = [](uint64_t sum) { return static_cast<uint32_t>(sum) / (WEIGHTED ? 1 : 255); };
        product *= plain(templ.W);
        uint64_t powers = 0;
#pragma unroll
        for (int c = 0; c < CHANNELS; ++c)
        {
            const uint32_t of = plain(templ.qT[c]);
            if (WEIGHTED)
                product -= static_cast<uint64_t>(sums[c]) * of;
            else // both factors fit 31 bits, so that one instruction does it
                asm("mad.wide.s32 %0, %1, %2, %0;" : "+l"(product) : "r"(sums[c]), "r"(0 - of));
            powers += static_cast<uint64_t>(sums[c]) * sums[c];
        }
        power = plain(templ.W) * power - powers;
    }
};

/** Box sums S(I) of each channel, without weights, for one row of a lane's positions at a time: products with a band of
ones. For the next row, the products of the uppermost image row are subtracted and those of the row below are added. */
template <int CHANNELS> struct LaneBoxes
{
    uint32_t sums[CHANNELS][4];     //!< at most 255 per pixel
    const uint32_t *first, *second; //!< image row of the two halves
    uint32_t ones[2];
    const FusedBands& plan;
    int width, height;

    __device__ __forceinline__ LaneBoxes(const FusedBands& thePlan, int theWidth, int theHeight,
                                         const LanePositions& mine, const uint32_t* planes)
        : sums{},
          first(planes + mine.at[0]),
          second(planes + mine.at[1]),
          plan(thePlan),
          width(theWidth),
          height(theHeight)
    {
        const int chunks = bandChunks(width);
#pragma unroll 1
        for (int chunk = 0; chunk < chunks; ++chunk)
        {
            makeOnes(width, chunk, ones);
            const uint32_t *a = first + 8 * chunk, *b = second + 8 * chunk;
            int left = height;
#pragma unroll 1
            for (; left >= LANE_ROWS; left -= LANE_ROWS)
#pragma unroll
                for (int v = 0; v < LANE_ROWS; ++v, a += plan.pitch, b += plan.pitch)
                    addRow(a, b, ones);
#pragma unroll 1
            for (; left > 0; --left, a += plan.pitch, b += plan.pitch)
                addRow(a, b, ones);
        }
    }

    __device__ __forceinline__ void next()
    {
        const int chunks = bandChunks(width), below = height * plan.pitch;
#pragma unroll 1
        for (int chunk = 0; chunk < chunks; ++chunk)
        {
            if (chunks > 1)
                makeOnes(width, chunk, ones);
            addRow(first + below + 8 * chunk, second + below + 8 * chunk, ones);
            const uint32_t less[2] = {255 * ones[0], 255 * ones[1]}; // bytes of -1
            addRow(first + 8 * chunk, second + 8 * chunk, less);
        }
        first += plan.pitch, second += plan.pitch;
    }

private:
    __device__ __forceinline__ void addRow(const uint32_t* a, const uint32_t* b, const uint32_t (&factors)[2])
    {
#pragma unroll
        for (int c = 0; c < CHANNELS; ++c, a += plan.planeWords, b += plan.planeWords)
        {
            uint32_t image[4];
            loadRow(a, b, image);
            multiplyAddSigned(sums[c], image, factors);
        }
    }
};

}}}} // namespace cv::cuda::fragment_matcher::device

#endif // OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_BANDS_MOMENTS_HPP
