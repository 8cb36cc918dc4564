// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// The part of core.hpp on whether and what the detector learns.
#ifndef OPENCV_CUDATRACKING_TLD_CORE_LEARN_HPP
#define OPENCV_CUDATRACKING_TLD_CORE_LEARN_HPP

#include "core_track.hpp"

namespace cv { namespace cuda { namespace tld {

// --- learning --------------------------------------------------------------------------------------------------------

CT_HOST_DEVICE bool mayLearn(const ObjectState& s) { return s.alive && s.valid; }

/** Judges the patch of the final box of an object that mayLearn(). Nothing is learned from a box that does not look like the object
any more, or that looks like something else. It ends validity too, unless there are so few positives that they say little about
how the object can look. @return whether to learn. */
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

/* Windows that ferns learn from: the `updateWindows` ones with the largest overlap to the box, above NEAR_OVERLAP; of equal
overlaps the first window. Far: an overlap below FAR_OVERLAP. Templates: the box itself as a positive, as it is the box that is judged
in each frame: a window is up to half a step beside it, and templates of windows make background pass for the object. Then all
far detections as negatives, in the order of (FOR_ORDER v[0], number). Each is judged with the templates as they are when its turn comes. */
CT_HOST_DEVICE bool isFar(const Window& window, const Box& box) { return overlap(window, box) < FAR_OVERLAP; }

CT_HOST_DEVICE bool addsPositive(const ObjectState& s, const Similarity& similarity)
{
    return relative(similarity, s.positives, s.negatives) <= s.nnThreshold;
}
CT_HOST_DEVICE bool addsNegative(const ObjectState& s, const Similarity& similarity)
{
    return relative(similarity, s.positives, s.negatives) > 0.5;
}

//! Engine::learn(): another appearance, whatever recheck() and Settings::learning would say.
CT_HOST_DEVICE void beginLearning(ObjectState& s, const Window& box)
{
    ++s.frame;
    s.box = boxOf(box);
    s.alive = s.valid = s.learned = 1;
}
/** Engine::reset(): the user knows where the object is. The score is that of certainty, until the next frame.
@param inStart the box is one in START, as no frame came after it. */
CT_HOST_DEVICE void resetState(ObjectState& s, const Box& box, bool inStart)
{
    endTracking(s);
    s.box = box;
    s.alive = s.valid = 1;
    s.started = inStart ? 1 : 0;
    s.score = 1.;
    s.retries = 0;
}

/* Where templates lie. Slots 0 to maxPositives - 1 hold positives, the others negatives. `order` lists the slots of positives
in their order; negatives are in the order of their slots.
A positive goes right behind the nearest one; into slot `positives`, or, when all are taken, into the slot of the one at
place evictedPositive(), which leaves the order first. A negative goes into slot `negatives`, or that of evictedNegative(). */
CT_HOST_DEVICE int evictedPositive(const Settings& settings, const ObjectState& s, uint32_t added)
{
    return 1 + below(randomOf(settings.seed, s.number, s.frame, FOR_EVICTION, added).v[0], settings.maxPositives - 1);
}
CT_HOST_DEVICE int evictedNegative(const Settings& settings, const ObjectState& s, uint32_t added)
{
    return below(randomOf(settings.seed, s.number, s.frame, FOR_EVICTION, added).v[1], settings.maxNegatives);
}

/** Takes a slot for a positive. @param nearest its place in the order, -1 for the first. @param added number of templates added
in this frame before it. @return the slot. */
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
CT_HOST_DEVICE int placeNegative(ObjectState& s, uint32_t added, const Settings& settings)
{
    if (s.negatives < settings.maxNegatives)
        return settings.maxPositives + s.negatives++;
    return settings.maxPositives + evictedNegative(settings, s, added);
}

/* First training, of an object in frame 0. Near windows: the initWindows ones, as above, with the user's box; the first of them is
the corrected box: its patch gives `contrast`, and the first positive. No near window or contrast 0: no object. Far windows
here: those with a quarter of the contrast (leastContrast(.., 4, ..)) and isFar() from the user's box.
Ferns learn as core_ferns.hpp says; then the threshold is that of Settings, or the largest sum of a far window that
validates. Negative templates: the initNegatives far windows with the least (FOR_SPLIT v[2], number), in that order; those at
even places are learned, those at odd places then give thresholds: of relative similarity, that of Settings or the largest
of theirs, and of validity, that of Settings or the former. Settings::nnThreshold stands until then.
Where the user's box does not score above the threshold of validity then, the corrected box is too far from it: all templates are
dropped and trained once more with the user's box as the first positive; contrast and ferns stay (retrains()). */
CT_HOST_DEVICE void beginTraining(ObjectState& s, const Window& box, uint32_t number, const Settings& settings)
{
    s = ObjectState();
    s.box = boxOf(box);
    s.number = number;
    s.fernThreshold = settings.fernThreshold;
    s.nnThreshold = settings.nnThreshold;
    s.validThreshold = settings.validThreshold;
}
//! @param worstSum,worstRelative the largest of what validates; 0 without. @param similarity of the user's box.
CT_HOST_DEVICE void endTraining(ObjectState& s, uint32_t worstSum, double worstRelative, const Similarity& similarity,
                                const Settings& settings)
{
    s.fernThreshold = greater(settings.fernThreshold, worstSum);
    s.nnThreshold = greater(settings.nnThreshold, worstRelative);
    s.validThreshold = greater(settings.validThreshold, s.nnThreshold);
    s.alive = s.valid = s.started = 1;
    s.score = conservative(similarity, s.positives, s.negatives);
}

//! Whether the templates are to be trained again, after endTraining(). If so, the state is ready for it.
CT_HOST_DEVICE bool retrains(ObjectState& s, const Settings& settings)
{
    if (s.score > s.validThreshold)
        return false;
    s.positives = s.negatives = 0;
    s.nnThreshold = settings.nnThreshold;
    return true;
}

}}} // namespace cv::cuda::tld

#endif // OPENCV_CUDATRACKING_TLD_CORE_LEARN_HPP
