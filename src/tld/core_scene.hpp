// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Part of core.hpp: camera cuts. With Settings::cutFrames, each frame has a coarse summary of its gray values. An object whose scene
// is replaced by another one is kept aside: it has no box until its scene is back, the detector finds it with a similarity above
// validThreshold, or cutFrames frames are over. The step comes after flow and before the association with a detector's boxes, so that
// the rest of the frame sees its result.
#ifndef OPENCV_CUDATRACKING_TLD_CORE_SCENE_HPP
#define OPENCV_CUDATRACKING_TLD_CORE_SCENE_HPP

#include "core_track.hpp"

namespace cv { namespace cuda { namespace tld {

const int SCENE_GRID = 4;     //!< cells with a histogram per row and per column
const int SCENE_BINS = 32;    //!< per cell
const int SCENE_SAMPLES = 64; //!< pixels per row and per column of a cell; small cells have some of them several times
const int SCENE_SHIFT = 8;    //!< largest change of brightness that is compensated, bins
const int SCENE_SHIFTS = 2 * SCENE_SHIFT + 1;
const int SCENE_MOVES = 2 * SCENE_SHIFTS; //!< either of two scenes by each shift
const int SCENE_COUNTS = SCENE_GRID * SCENE_GRID * SCENE_BINS;
const int LAYOUT_GRID = 2 * SCENE_GRID; //!< blocks with a sum per row and per column
const int LAYOUT_BLOCKS = LAYOUT_GRID * LAYOUT_GRID;
const int LAYOUT_SAMPLES = SCENE_SAMPLES / 2; //!< samples per row and per column of a block
const double LAYOUT_WEIGHT = 0.25;            //!< weight of the layout in the difference of two scenes
const int CELL_PIXELS = SCENE_SAMPLES * SCENE_SAMPLES;
const int SCENE_PIXELS = SCENE_GRID * SCENE_GRID * CELL_PIXELS;
const int MAX_CUT_FRAMES = 1000000;

//! Gray values of samples of an image, coarsely. All 0: the image is not known.
struct Scene
{
    int32_t sums[LAYOUT_BLOCKS];   //!< of the gray values in a block, row by row
    uint16_t counts[SCENE_COUNTS]; //!< histograms, by cell, row by row, then by bin
};

CT_HOST_DEVICE bool isKnown(const Scene& scene)
{
    int pixels = 0; // in the first cell
    for (int bin = 0; bin < SCENE_BINS; ++bin)
        pixels += scene.counts[bin];
    return pixels > 0;
}

//! Returns the column or row of a sample. @param cell column or row of the cell. @param size of the image, pixels.
CT_HOST_DEVICE int samplePlace(int cell, int sample, int size)
{
    const int first = size * cell / SCENE_GRID, end = size * (cell + 1) / SCENE_GRID;
    return first + sample * (end - first) / SCENE_SAMPLES;
}
CT_HOST_DEVICE int sceneBin(uint8_t gray) { return gray / (256 / SCENE_BINS); }
//! Returns the index in Scene::sums of a block of a cell. @param i,j 0 or 1: column and row of the block in the cell.
CT_HOST_DEVICE int blockOf(int cell, int i, int j)
{
    return (2 * (cell / SCENE_GRID) + j) * LAYOUT_GRID + 2 * (cell % SCENE_GRID) + i;
}

/** Numbers of pixels before the edges between the bins of a cell. Edges beyond the ends are there too, so that shifted rows need no
bounds. */
struct CountsBelow
{
    int16_t below[SCENE_GRID * SCENE_GRID][SCENE_SHIFT + SCENE_BINS + 1 + SCENE_SHIFT];
};
inline void sumCounts(const Scene& scene, CountsBelow& sums)
{
    for (int cell = 0; cell < SCENE_GRID * SCENE_GRID; ++cell)
    {
        int sum = 0;
        for (int edge = -SCENE_SHIFT; edge <= SCENE_BINS + SCENE_SHIFT; ++edge)
        {
            sum += edge > 0 && edge <= SCENE_BINS ? scene.counts[cell * SCENE_BINS + edge - 1] : 0;
            sums.below[cell][SCENE_SHIFT + edge] = static_cast<int16_t>(sum);
        }
    }
}
/** Returns the row of a cell after a move: element e belongs to edge e. Of two scenes one is shifted, and either is tried, as gray
values beyond the ends are lost: of a clipped image and the one that it was made from, only the latter can be shifted.
@param move 0 to SCENE_MOVES - 1. @param second whether this is the second scene. */
CT_HOST_DEVICE const int16_t* movedRow(const CountsBelow& sums, int cell, int move, bool second)
{
    const int shift = (move < SCENE_SHIFTS) == second ? move % SCENE_SHIFTS - SCENE_SHIFT : 0;
    return sums.below[cell] + SCENE_SHIFT - shift;
}
//! Returns the absolute difference of two counts of a bin, from movedRow(). Pixels beyond the ends are in the outer bins.
CT_HOST_DEVICE int binDifference(const int16_t* a, const int16_t* b, int bin)
{
    const int before = bin == 0 ? 0 : a[bin] - b[bin];
    const int through = bin == SCENE_BINS - 1 ? 0 : a[bin + 1] - b[bin + 1];
    return through < before ? before - through : through - before;
}
//! Returns the smallest sum of binDifference() over all bins of all cells, of all moves.
inline int histogramDifference(const Scene& a, const Scene& b)
{
    CountsBelow sumsA, sumsB;
    sumCounts(a, sumsA);
    sumCounts(b, sumsB);
    int least = 2 * SCENE_PIXELS;
    for (int move = 0; move < SCENE_MOVES; ++move)
    {
        int sum = 0;
        for (int cell = 0; cell < SCENE_GRID * SCENE_GRID; ++cell)
        {
            const int16_t *const rowA = movedRow(sumsA, cell, move, false), *const rowB =
                                                                                movedRow(sumsB, cell, move, true);
            int16_t inner[SCENE_BINS] = {}; // 16 bits, and without the outer bins: vectorised
            for (int bin = 1; bin < SCENE_BINS - 1; ++bin)
                inner[bin] = static_cast<int16_t>(binDifference(rowA, rowB, bin));
            sum += binDifference(rowA, rowB, 0) + binDifference(rowA, rowB, SCENE_BINS - 1);
            for (const int16_t difference : inner)
                sum += difference;
        }
        least = lesser(least, sum);
    }
    return least;
}
/** Returns the NCC of the sums of two scenes; 0 if those of one are all the same. Sums are exact, up to 2^49. It is exactly 1 for
equal scenes: the square root of a rounded square is the number itself, that of each factor need not be. */
CT_HOST_DEVICE double layoutCorrelation(const Scene& a, const Scene& b)
{
    int64_t sumA = 0, sumB = 0, squaresA = 0, squaresB = 0, products = 0;
    for (int k = 0; k < LAYOUT_BLOCKS; ++k)
    {
        const int64_t va = a.sums[k], vb = b.sums[k];
        sumA += va;
        sumB += vb;
        squaresA += va * va;
        squaresB += vb * vb;
        products += va * vb;
    }
    const double both = static_cast<double>(LAYOUT_BLOCKS * products - sumA * sumB);
    const double ownA = static_cast<double>(LAYOUT_BLOCKS * squaresA - sumA * sumA);
    const double ownB = static_cast<double>(LAYOUT_BLOCKS * squaresB - sumB * sumB);
    return ownA > 0. && ownB > 0. ? both / sqrt(ownA * ownB) : 0.;
}
/** Returns the difference of two scenes, 0 to 1.5: the share of pixels whose gray values differ, and what the layouts lack in correlation.
@param counts result of histogramDifference(), which counts a differing pixel twice. */
CT_HOST_DEVICE double sceneDifference(const Scene& a, const Scene& b, int counts)
{
    return isKnown(b) ? counts / (2. * SCENE_PIXELS) + LAYOUT_WEIGHT * (1. - layoutCorrelation(a, b)) : 0.;
}

//! Takes the box from an object in this frame, as flow across a cut means nothing.
CT_HOST_DEVICE void takeBox(ObjectState& s, int32_t event)
{
    endTracking(s);
    s.retries = s.fast = s.few = 0;
    s.event = event;
}

//! Whether changeScene() needs the difference from the last frame; otherwise that from the scene before the cut.
CT_HOST_DEVICE bool isInItsScene(const ObjectState& before) { return before.cutAge == 0; }

/** Decides whether the frame shows the object's scene. @param s state after flow. @param before state before the frame.
@param difference of this frame, see isInItsScene(). @return whether a cut begins, so that the last frame is the scene to come
back to. */
CT_HOST_DEVICE bool changeScene(ObjectState& s, const ObjectState& before, double difference, const Settings& settings)
{
    const bool other = difference > settings.cutThreshold;
    if (isInItsScene(before))
    {
        if (!other)
            return false;
        takeBox(s, SCENE_CHANGED);
        s.cutAge = 1;
        s.cutAlive = before.alive;
        s.cutValid = before.valid;
        s.cutSimilarity = before.similarity;
        s.cutBox = before.box;
        if (before.alive)
            keepForRetries(s, before.box, before.valid, before.started, settings);
        return true;
    }
    const int32_t retries = greater(0, before.retries - 1);
    const bool resumes = !other && before.cutAlive;
    s.cutAge = other && before.cutAge < settings.cutFrames ? before.cutAge + 1 : 0;
    if (!(resumes && s.alive)) // else flow from the last frame before the cut has moved the box
        takeBox(s, s.cutAge > 0 ? SCENE_CHANGED : NO_EVENT);
    if (s.cutAge > 0)
        s.retries = retries;
    if (!resumes)
        return false;
    if (!s.alive)
    {
        s.box = s.cutBox;
        s.valid = s.cutValid;
    }
    s.alive = 1;
    s.event = RESUMED; // updateSimilarity() verifies it
    return false;
}

}}} // namespace cv::cuda::tld

#endif // OPENCV_CUDATRACKING_TLD_CORE_SCENE_HPP
