// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Part of core.hpp: camera cuts. With Settings::cutFrames, each frame has a coarse summary of its gray values. An object whose scene is replaced by another one is kept aside: it has no box until its scene is back, the detector finds it
// with a similarity above validThreshold, or cutFrames frames are over. The step comes after flow and before the association with a
// detector's boxes, so that the rest of the frame sees its result.
#ifndef OPENCV_CUDATRACKING_TLD_CORE_SCENE_HPP
#define OPENCV_CUDATRACKING_TLD_CORE_SCENE_HPP

#include "core_track.hpp"

namespace cv { namespace cuda { namespace tld {

const int SCENE_GRID = 4;     //!< cells with a histogram per row and per column
const int SCENE_BINS = 32;    //!< per cell
const int SCENE_SAMPLES = 64; //!< pixels per row and per column of a cell; small cells have some of them several times
const int SCENE_SHIFT = 8;    //!< largest change of brightness that is compensated, bins
const int SCENE_SHIFTS = 2 * SCENE_SHIFT + 1;
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

//! Returns a count of a histogram whose values have moved by `shift` bins. Those beyond the ends are in the outer bins.
CT_HOST_DEVICE int shiftedCount(const uint16_t* histogram, int bin, int shift)
{
    const int first = greater(0, bin == 0 ? 0 : bin - shift);
    const int last = lesser(SCENE_BINS - 1, bin == SCENE_BINS - 1 ? bin : bin - shift);
    int sum = 0;
    for (int i = first; i <= last; ++i)
        sum += histogram[i];
    return sum;
}
//! Returns the absolute difference of a count of one scene and that of another one, shifted. @param count index in Scene::counts.
CT_HOST_DEVICE int countDifference(const Scene& a, const Scene& b, int count, int shift)
{
    const int bin = count % SCENE_BINS;
    const int difference = a.counts[count] - shiftedCount(b.counts + (count - bin), bin, shift);
    return difference < 0 ? -difference : difference;
}
//! Returns the smallest sum of countDifference() over all counts, of all shifts.
inline int histogramDifference(const Scene& a, const Scene& b)
{
    int least = 2 * SCENE_PIXELS;
    for (int shift = -SCENE_SHIFT; shift <= SCENE_SHIFT; ++shift)
    {
        int sum = 0;
        for (int count = 0; count < SCENE_COUNTS; ++count)
            sum += countDifference(a, b, count, shift);
        least = lesser(least, sum);
    }
    return least;
}
//! Returns the NCC of the sums of two scenes; 0 if those of one are all the same. Sums are exact, up to 2^49.
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
    return ownA > 0. && ownB > 0. ? both / (sqrt(ownA) * sqrt(ownB)) : 0.;
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
    s.retries = s.fast = 0;
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
