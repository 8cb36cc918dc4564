// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Part of core.hpp: how an object's correlation filter moves its box, and when it is trained. In their order, where
// Settings::filter is on:
//
//   lastPlace()       where the filter looks: at the last box
//   secondPlace()     where it looks too: where the forward tracks of flow lead
//   trackByFilter()   moves the box by the larger answer, instead of endFlow()
//   [all other steps of the frame, up to recheck()]
//   endFilter()       decides about training
//   verifyFound()     refuses a box that was found again, if the filter does not know it
#ifndef OPENCV_CUDATRACKING_TLD_CORE_FILTER_HPP
#define OPENCV_CUDATRACKING_TLD_CORE_FILTER_HPP

#include "core_track.hpp"

namespace cv { namespace cuda { namespace tld {

const double FILTER_NEAR = 0.1;     //!< above: another place; in square roots of the last box's area
const double STRONG_PART = 0.4;     //!< least confidence of a strong answer, in mean confidences
const double STRONG_OF_FIRST = 0.3; //!< and in FilterState::firstConfidence
const double FOUND_PART = 0.5;      //!< least confidence at a box that was found again, in mean confidences
const int CONFIDENCES = 10;         //!< confidences whose arithmetic mean is taken; then it is a moving one
const double CONFIDENCE_RATE = 0.1; //!< part of a confidence in the moving mean

//! Returns the filter's box.
CT_HOST_DEVICE Box filterBox(const FilterState& f)
{
    const double w = f.width * f.scale, h = f.height * f.scale;
    return {f.x - w / 2., f.y - h / 2., w, h};
}

// --- places ----------------------------------------------------------------------------------------------------------

//! A place where a filter looks, if it does.
struct FilterPlace
{
    int32_t there;
    correlation::Place place;
};
CT_HOST_DEVICE correlation::Place placeOf(const FilterState& f)
{
    return correlation::placeAt(f.x, f.y, f.width, f.height, f.scale);
}
//! @param before state before the frame.
CT_HOST_DEVICE FilterPlace lastPlace(const ObjectState& before)
{
    if (!before.alive || !before.filter.started)
        return {0, {}};
    return {1, placeOf(before.filter)};
}
/** Returns where the forward tracks of flow lead, if that is another place. A GPU does not wait for what backward
tracks make of them. */
CT_HOST_DEVICE FilterPlace secondPlace(const ObjectState& before, const ForwardShift& shift)
{
    const double far = FILTER_NEAR * FILTER_NEAR * before.box.w * before.box.h;
    if (!before.alive || !before.filter.started || shift.points == 0 ||
        !(shift.dx * shift.dx + shift.dy * shift.dy > far))
        return {0, {}};
    FilterState f = before.filter;
    f.x += shift.dx;
    f.y += shift.dy;
    return {1, placeOf(f)};
}

// --- tracking --------------------------------------------------------------------------------------------------------

//! Whether the answers at the second place are taken. @param last,second results of largestSize().
CT_HOST_DEVICE bool takesSecond(const FilterPlace& place, const correlation::Answer& last,
                                const correlation::Answer& second)
{
    return place.there && second.confidence > last.confidence;
}

//! Least confidence of a box. @param part of the mean.
CT_HOST_DEVICE double leastConfidence(const FilterState& f, double part)
{
    return greater(part * f.meanConfidence, STRONG_OF_FIRST * f.firstConfidence);
}

/** Moves the box by an answer. Where it is not strong, the box is not valid, and not supported by windows; the object is
lost where it is outside of the image, or by updateSupport(). @param place,size where the answer was found. */
CT_HOST_DEVICE void trackByFilter(ObjectState& s, const correlation::Place& place, int size,
                                  const correlation::Answer& answer, int cols, int rows)
{
    FilterState& f = s.filter;
    const double factor = correlation::sizeFactor(size);
    const double cell = place.side * factor / correlation::GRID / correlation::FINE;
    f.x = place.x + answer.dx * cell;
    f.y = place.y + answer.dy * cell;
    f.scale = correlation::limitedScale(f.scale * factor, f.width, f.height, cols, rows);
    f.confidence = answer.confidence;
    f.strong = f.confidence >= leastConfidence(f, STRONG_PART) ? 1 : 0;
    f.weak = 1 - f.strong;
    s.box = filterBox(f);
    s.event = FILTERED;
    s.valid = f.strong ? s.valid : 0;
    if (isOutside(s.box, cols, rows))
    {
        f.strong = f.weak = 0;
        endTracking(s);
    }
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
    f.scale = correlation::limitedScale(scale, f.width, f.height, cols, rows);
}

//! Decides whether the filter is trained at the box of a frame, and moves it there. @return whether verifyFound() must
//! decide about the box.
CT_HOST_DEVICE bool endFilter(ObjectState& s, int cols, int rows)
{
    FilterState& f = s.filter;
    f.trains = NOT_TRAINED;
    if (!s.alive)
        return false;
    const bool begins = !f.started, found = s.event == FOUND_AGAIN;
    if (begins || found || s.held)
        moveFilter(f, s.box, cols, rows);
    if (begins)
    {
        f.started = 1;
        f.trains = BEGUN;
        return false;
    }
    if (found || (!f.strong && !s.valid))
        return found;
    f.trains = TRAINED;
    if (f.strong || f.weak)
    {
        const bool first = f.confidences < CONFIDENCES;
        const double rate = first ? 1. / (f.confidences + 1) : CONFIDENCE_RATE;
        f.meanConfidence += rate * (f.confidence - f.meanConfidence);
        f.confidences += first ? 1 : 0;
        f.firstConfidence = first && f.confidences == CONFIDENCES ? f.meanConfidence : f.firstConfidence;
    }
    return false;
}

//! Loses an object that was found again, if the filter does not know it there. @param confidence of the filter at the
//! box.
CT_HOST_DEVICE void verifyFound(ObjectState& s, float confidence)
{
    s.filter.confidence = confidence;
    if (confidence >= leastConfidence(s.filter, FOUND_PART))
        return;
    endTracking(s);
    s.event = NO_EVENT;
}

}}} // namespace cv::cuda::tld

#endif // OPENCV_CUDATRACKING_TLD_CORE_FILTER_HPP
