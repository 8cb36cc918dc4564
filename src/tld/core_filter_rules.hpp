// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Part of core.hpp: how an object's filter works together with its flow, and when it is trained. The filter is asked
// after flow, before the association with a detector's boxes. In their order, where Settings::filter is on:
//
//   secondPlace()     where the filter looks beside the last box: where the forward tracks of flow lead
//   takesSecond()     which answer is taken
//   moveByAnswer()    moves the filter by it, then scaleByAnswer()
//   fuse()            takes the filter's box instead of flow's
//   [all other steps of the frame, up to recheck()]
//   endFilter()       moves the filter to the box, decides about training
//   verifyFound()     refuses a box that was found again, if the filter does not know it
#ifndef OPENCV_CUDATRACKING_TLD_CORE_FILTER_RULES_HPP
#define OPENCV_CUDATRACKING_TLD_CORE_FILTER_RULES_HPP

#include "core_filter_answer.hpp"
#include "core_track.hpp"

namespace cv { namespace cuda { namespace tld {

//! Returns the filter's box.
CT_HOST_DEVICE Box filterBox(const FilterState& f)
{
    const double w = f.width * f.scale, h = f.height * f.scale;
    return {f.x - w / 2., f.y - h / 2., w, h};
}

// --- answers ---------------------------------------------------------------------------------------------------------

//! Whether the filter of an object is asked in this frame. @param before state before the frame.
CT_HOST_DEVICE bool asksFilter(const ObjectState& before) { return before.alive && before.filter.started; }

//! Whether a displacement of an object leads to another place. @param last box of the last frame.
CT_HOST_DEVICE bool isElsewhere(double dx, double dy, const Box& last)
{
    return dx * dx + dy * dy > FILTER_NEAR * FILTER_NEAR * last.w * last.h;
}

/** Where the filter looks beside the last box, the first place: where the forward tracks of flow lead. It does not
depend on what flow makes of them: so a GPU need not wait for the backward tracks, and the answer there can take over
where flow fails. */
struct SecondPlace
{
    int32_t there;
    double x, y;
};
CT_HOST_DEVICE SecondPlace secondPlace(const ObjectState& before, const ForwardShift& shift)
{
    const bool there = shift.points > 0 && isElsewhere(shift.dx, shift.dy, before.box);
    return {there ? 1 : 0, before.filter.x + shift.dx, before.filter.y + shift.dy};
}
//! Whether the answer at the second place is taken, not that at the first. @param answers at both.
CT_HOST_DEVICE bool takesSecond(const SecondPlace& place, const FilterAnswer* answers)
{
    return place.there && answers[1].confidence > answers[0].confidence;
}

//! Moves the filter by the answer at a place. @param a areas of the filter before.
CT_HOST_DEVICE void moveByAnswer(FilterState& f, double x, double y, const FilterAnswer& answer, const FilterAreas& a)
{
    f.confidence = answer.confidence;
    f.x = x + static_cast<double>(answer.dx) * a.width / FILTER_SIDE;
    f.y = y + static_cast<double>(answer.dy) * a.height / FILTER_SIDE;
}
//! @param factor sizeFactor() of largestSize().
CT_HOST_DEVICE void scaleByAnswer(FilterState& f, double factor, const ScaleLimits& limits)
{
    f.scale = limits.limited(f.scale * factor);
}

// --- fusion ----------------------------------------------------------------------------------------------------------

/** Takes the filter's box if flow has failed or is not sure of its own. Flow is sure of a box that is similar to the
object, or, while the object is not valid, if the ferns were sure of the last box: of a small or blurred object the
ferns know more than the filter does. @param similarity of the patch of flow's box, if it has one. */
CT_HOST_DEVICE void fuse(ObjectState& s, const ObjectState& before, const Similarity& similarity, int cols, int rows)
{
    FilterState& f = s.filter;
    const Box box = filterBox(f);
    f.weak = f.confidence >= WEAK_CONFIDENCE && !isOutside(box, cols, rows);
    f.denies = f.confidence < STRONG_PART * f.meanConfidence ? 1 : 0;
    f.strong = f.weak && f.confidence >= STRONG_CONFIDENCE && !f.denies;
    const bool flowed = s.alive && !s.few;
    const bool keeps = flowed && (conservative(similarity, s.positives, s.negatives) > s.validThreshold ||
                                  (!before.valid && before.score >= FILTER_SURE_SCORE));
    // A weak answer does not replace a box of flow where the object was not valid: nothing speaks for either.
    const bool takes = !keeps && (f.strong || (f.weak && s.alive && (s.few || before.valid)));
    if (takes)
    {
        s.box = box;
        s.event = FILTERED;
        s.valid = f.strong || flowed ? before.valid : 0;
        s.alive = s.fast = 1;
        s.unsupported = before.unsupported; // the failure of flow had ended the object
        s.onProbation = before.onProbation;
        // Where most points are wrong, such an answer is verified by updateSimilarity(), as flow's own box would be.
        const bool doubtful = s.few && f.confidence < COVER_PART * f.meanConfidence;
        s.few = doubtful ? 1 : 0;
        s.retries = doubtful ? s.retries : 0;
    }
    // Confidences fall before an object is gone, so support asks for more of the mean than the box does; less where the
    // box reaches out of the image, as windows do not.
    const Box part = clipped(s.box, cols, rows);
    const bool reachesOut = part.w * part.h < (1. - OUTSIDE_PART) * s.box.w * s.box.h;
    const double usual = (reachesOut ? OUTSIDE_SUPPORT : SUPPORT_PART) * f.meanConfidence;
    // The mean says little about a box that is not valid: it falls while the filter learns what covers the object.
    f.supports = f.strong && f.confidence >= (s.valid ? usual : DOUBTED_SUPPORT) && s.alive &&
                 (takes || overlap(s.box, box) > FILTER_SUPPORT);
}

// --- training --------------------------------------------------------------------------------------------------------

//! Change of the model in a frame.
enum Training
{
    NOT_TRAINED = 0,
    TRAINED = 1,
    BEGUN = 2 //!< the frame becomes the model
};

//! Moves the filter to a box, with its size.
CT_HOST_DEVICE void moveFilter(FilterState& f, const Box& box, int cols, int rows)
{
    f.x = box.x + box.w / 2.;
    f.y = box.y + box.h / 2.;
    const double scale = sqrt(box.w * box.h / (static_cast<double>(f.width) * f.height));
    f.scale = limitedScale(scale, f.width, f.height, cols, rows);
}

//! Whether the box was found elsewhere in this frame, so that the filter only moves to it.
CT_HOST_DEVICE bool isFoundElsewhere(const ObjectState& s)
{
    return s.event == JUMPED || s.event == FOUND_AGAIN || s.event == RECOGNIZED;
}

//! Moves the filter to the box of a frame, and decides whether it is trained there. @return whether verifyFound() must
//! decide about the box.
CT_HOST_DEVICE bool endFilter(ObjectState& s, int cols, int rows)
{
    FilterState& f = s.filter;
    f.trains = NOT_TRAINED;
    if (!s.alive || !(f.started || s.valid))
        return false;
    const Box& box = s.box;
    const double own = f.scale * f.scale * f.width * f.height, area = box.w * box.h, scale = f.scale;
    const bool same = area <= FILTER_SAME_AREA * own && own <= FILTER_SAME_AREA * area;
    moveFilter(f, box, cols, rows);
    f.scale = f.started && !isFoundElsewhere(s) && same ? scale : f.scale;
    if (!f.started)
    {
        f.started = 1;
        f.trains = BEGUN;
        return false;
    }
    if (isFoundElsewhere(s))
        return s.event == FOUND_AGAIN;
    if (!f.strong && !s.valid)
        return false;
    f.trains = TRAINED;
    if (f.weak)
    {
        const bool first = f.confidences < CONFIDENCES;
        const double rate = first ? 1. / (f.confidences + 1) : CONFIDENCE_RATE;
        f.meanConfidence += rate * (f.confidence - f.meanConfidence);
        f.confidences += first ? 1 : 0;
    }
    return false;
}

//! Loses an object that was found again, if the filter does not know it there. @param confidence of the filter at the
//! box.
CT_HOST_DEVICE void verifyFound(ObjectState& s, float confidence)
{
    s.filter.confidence = confidence;
    if (s.filter.confidence >= greater(STRONG_CONFIDENCE, STRONG_PART * s.filter.meanConfidence))
        return;
    endTracking(s);
    s.event = NO_EVENT;
}

//! Rates of a training.
struct TrainingRates
{
    float filter, scale, histogram;
};
//! Notes the kind of the histograms, and returns the rates. @param colour see FilterState.
CT_HOST_DEVICE TrainingRates beginFilterTraining(FilterState& f, int32_t colour)
{
    const bool begins = f.trains == BEGUN, other = f.colour != colour;
    f.colour = colour;
    return {begins ? 1.f : FILTER_RATE, begins ? 1.f : SCALE_RATE, begins || other ? 1.f : HISTOGRAM_RATE};
}

}}} // namespace cv::cuda::tld

#endif // OPENCV_CUDATRACKING_TLD_CORE_FILTER_RULES_HPP
