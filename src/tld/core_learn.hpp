// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Part of core.hpp: whether and what the detector learns.
#ifndef OPENCV_CUDATRACKING_TLD_CORE_LEARN_HPP
#define OPENCV_CUDATRACKING_TLD_CORE_LEARN_HPP

#include "core_filter_rules.hpp"
#include "core_track.hpp"

namespace cv { namespace cuda { namespace tld {

// --- learning --------------------------------------------------------------------------------------------------------

CT_HOST_DEVICE bool mayLearn(const ObjectState& s) { return s.alive && s.valid; }

/** Decides from the patch of the final box of an object that mayLearn(). Nothing is learned when its relative
similarity is below 0.5, when it has less than half of the object's contrast, or when it shows the same as a negative
template. Validity ends then too, unless the object has fewer than FEW_POSITIVES positive templates. @return whether to
learn. */
CT_HOST_DEVICE bool recheck(ObjectState& s, const PatchStats& stats, const Similarity& similarity,
                            const Settings& settings)
{
    if (relative(similarity, s.positives, s.negatives) < 0.5 || 2 * static_cast<int64_t>(stats.contrast) < s.contrast ||
        similarity.negative > SAME_SIMILARITY)
    {
        s.valid = s.positives < FEW_POSITIVES ? s.valid : 0;
        return false;
    }
    s.learned = settings.learning != 0;
    return s.learned != 0;
}

/* The training set of a frame. Near windows: the `updateWindows` windows of largest overlap with the box, above
NEAR_OVERLAP; of equal overlaps the lowest index first. Ferns learn warps of them as positives. Far windows: overlap
below FAR_OVERLAP. Templates: first the box itself as a positive. (Windows are up to half a step away from the box, and
templates of windows would accept background.) Then all far detections as negatives, in the order of (FOR_ORDER v[0],
index). Each is compared with the templates as they are at its turn. */
//! Whether a window is a negative example for a box.
CT_HOST_DEVICE bool isFar(const Window& window, const Box& box) { return overlap(window, box) < FAR_OVERLAP; }

CT_HOST_DEVICE bool addsPositive(const ObjectState& s, const Similarity& similarity)
{
    return relative(similarity, s.positives, s.negatives) <= s.nnThreshold;
}
CT_HOST_DEVICE bool addsNegative(const ObjectState& s, const Similarity& similarity)
{
    return relative(similarity, s.positives, s.negatives) > 0.5;
}

//! Prepares the state for Engine::learn(), which learns a box without regard to recheck() and Settings::learning.
CT_HOST_DEVICE void beginLearning(ObjectState& s, const Window& box)
{
    ++s.frame;
    s.box = boxOf(box);
    s.alive = s.valid = s.learned = 1;
}
/** Puts an object on a box for Engine::reset(). The score is 1 until the next frame. @param inStart the box is in
START, after which no frame came. @param cols,rows size of images. */
CT_HOST_DEVICE void resetState(ObjectState& s, const Box& box, bool inStart, int cols, int rows)
{
    endTracking(s);
    s.box = box;
    s.event = STARTED;
    s.matched = 0;
    s.alive = s.valid = 1;
    s.started = inStart ? 1 : 0;
    s.score = s.similarity = 1.;
    s.retries = 0;
    s.filter.confidence = 0.;
    if (s.filter.started)
        moveFilter(s.filter, box, cols, rows);
}

/* Slots of templates. Slots 0 to maxPositives - 1 hold positives, the others negatives. `order` lists the slots of
positives in their order; negatives are in the order of their slots.
A positive is inserted after the most similar one. Its slot is `positives` or, when all are taken, that of the template
at position evictedPositive(), which is removed first. The slot of a negative is maxPositives + `negatives` or, when all
are taken, maxPositives + evictedNegative(). */
CT_HOST_DEVICE int evictedPositive(const Settings& settings, const ObjectState& s, uint32_t added)
{
    return 1 + below(randomOf(settings.seed, s.number, s.frame, FOR_EVICTION, added).v[0], settings.maxPositives - 1);
}
CT_HOST_DEVICE int evictedNegative(const Settings& settings, const ObjectState& s, uint32_t added)
{
    return below(randomOf(settings.seed, s.number, s.frame, FOR_EVICTION, added).v[1], settings.maxNegatives);
}

/** Inserts a positive template. @param nearest position of the most similar positive, -1: none. @param added number of
templates added before in this frame. @return the slot. */
CT_HOST_DEVICE int placePositive(ObjectState& s, uint16_t* order, int nearest, uint32_t added, const Settings& settings)
{
    int slot = s.positives, count = s.positives;
    if (slot == settings.maxPositives)
    {
        const int place = evictedPositive(settings, s, added);
        slot = order[place];
        for (int i = place; i + 1 < count; ++i)
            order[i] = order[i + 1];
        --count;
        nearest = nearest >= place ? nearest - 1 : nearest;
    }
    for (int i = count; i > nearest + 1; --i)
        order[i] = order[i - 1];
    order[nearest + 1] = static_cast<uint16_t>(slot);
    s.positives = count + 1;
    return slot;
}
//! Adds a negative template. @param added as for placePositive(). @return the slot.
CT_HOST_DEVICE int placeNegative(ObjectState& s, uint32_t added, const Settings& settings)
{
    if (s.negatives < settings.maxNegatives)
        return settings.maxPositives + s.negatives++;
    return settings.maxPositives + evictedNegative(settings, s, added);
}

/* First training of an object, in frame 0.
Near windows: the initWindows windows of largest overlap with the user's box, as above. The patch of the first one, the
corrected box, gives `contrast` and the first positive template. Without near windows, or with contrast 0, training
fails. Far windows: those with at least a quarter of the contrast (leastContrast(.., 4, ..)) and isFar() from the user's
box. Ferns learn as core_ferns.hpp says. Then fernThreshold is the larger of Settings::fernThreshold and the largest sum
of a far window that validates.
Negative templates come from the initNegatives far windows with the least (FOR_SPLIT v[2], index), in this order. Those
at even positions are learned with Settings::nnThreshold. Those at odd positions validate: nnThreshold becomes the
larger of Settings::nnThreshold and their largest relative similarity, and validThreshold the larger of
Settings::validThreshold and this. If the similarity of the user's box is not above validThreshold then, the corrected
box is too far from it: all templates are dropped and trained once more with the user's box as the first positive;
contrast and ferns stay (retrains()). */
CT_HOST_DEVICE void beginTraining(ObjectState& s, const Window& box, uint32_t number, const Settings& settings)
{
    s = ObjectState();
    s.box = boxOf(box);
    s.number = number;
    s.filter.width = box.w;
    s.filter.height = box.h;
    s.fernThreshold = settings.fernThreshold;
    s.nnThreshold = settings.nnThreshold;
    s.validThreshold = settings.validThreshold;
}
//! Sets what the result of an object is when its first training has succeeded.
CT_HOST_DEVICE void beginTracking(ObjectState& s)
{
    s.event = STARTED;
    s.alive = s.valid = s.started = 1;
    s.score = 1.;
}
//! Sets the thresholds. @param worstSum,worstRelative maximum over validating windows, or 0. @param similarity of the
//! user's box.
CT_HOST_DEVICE void endTraining(ObjectState& s, uint32_t worstSum, double worstRelative, const Similarity& similarity,
                                const Settings& settings)
{
    s.fernThreshold = greater(settings.fernThreshold, worstSum);
    s.nnThreshold = greater(settings.nnThreshold, worstRelative);
    s.validThreshold = greater(settings.validThreshold, s.nnThreshold);
    beginTracking(s);
    s.similarity = conservative(similarity, s.positives, s.negatives);
}

//! Decides after endTraining() whether the templates are trained again, and prepares the state for it.
CT_HOST_DEVICE bool retrains(ObjectState& s, const Settings& settings)
{
    if (s.similarity > s.validThreshold)
        return false;
    s.positives = s.negatives = 0;
    s.nnThreshold = settings.nnThreshold;
    return true;
}

}}} // namespace cv::cuda::tld

#endif // OPENCV_CUDATRACKING_TLD_CORE_LEARN_HPP
