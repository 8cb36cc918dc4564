// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Part of core.hpp: how boxes of a user's detector are associated with objects. It happens after flow and before the
// similarities of the box, so that the rest of the frame sees the associated box. In two passes:
//
//   1. objects with a box, by the overlap of their boxes with those of the detector
//   2. lost objects, by the similarity of the detector's boxes to their templates; only with Settings::findByBoxes
//
// With Settings::verifyBoxes boxes only propose places: a box of the first pass must be similar to the object, too, and
// none is support (updateSupport()).
//
// Each pass is greedy: it takes the pair of the largest value, of equal values that of the first object, then of the
// first box, and goes on with the objects and boxes that are left.
#ifndef OPENCV_CUDATRACKING_TLD_CORE_ASSOCIATE_HPP
#define OPENCV_CUDATRACKING_TLD_CORE_ASSOCIATE_HPP

#include "core_track.hpp"

namespace cv { namespace cuda { namespace tld {

const int MAX_BOXES = 256; //!< per frame

//! Returns the part of a detector's box inside of the image; its sides are 0 if it is too small to be used.
CT_HOST_DEVICE Box usablePart(const Window& box, int cols, int rows)
{
    const Box part = clipped(boxOf(box), cols, rows);
    return part.w >= MIN_BOX && part.h >= MIN_BOX ? part : Box{};
}
CT_HOST_DEVICE bool isUsable(const Box& part) { return part.w > 0.; }

//! Pass of the association.
enum Pass
{
    BY_OVERLAP,
    BY_SIMILARITY
};

//! The best box for an object.
struct Match
{
    double value; //!< larger than 0; 0: there is none
    int32_t box;
};

//! Whether an object takes part in a pass.
CT_HOST_DEVICE bool takesPart(const ObjectState& s, Pass pass) { return pass == BY_OVERLAP ? s.alive : !s.alive; }

//! Returns the overlap of a box with that of an object, or 0 if it does not suffice.
CT_HOST_DEVICE double overlapValue(const ObjectState& s, const Box& box, const Settings& settings)
{
    const double value = overlap(s.box, box);
    return value >= settings.boxOverlap ? value : 0.;
}
//! Returns the conservative similarity of a box to an object, or 0 if the detector of TLD would not accept it as a
//! window.
CT_HOST_DEVICE double similarityValue(const ObjectState& s, const Similarity& similarity)
{
    const bool accepted = relative(similarity, s.positives, s.negatives) > s.nnThreshold;
    return accepted ? conservative(similarity, s.positives, s.negatives) : 0.;
}

//! Whether the association of an object with a box asks for similarityValue().
CT_HOST_DEVICE bool asksSimilarity(const ObjectState& s, const Box& box, const Settings& settings)
{
    return s.alive ? settings.verifyBoxes && overlapValue(s, box, settings) > 0. : settings.findByBoxes != 0;
}
//! Returns the value of a pair in a pass, or 0 if the two do not fit. @param similarity similarityValue(); 0 where
//! it is not asked for.
CT_HOST_DEVICE double pairValue(Pass pass, const ObjectState& s, const Box& box, double similarity,
                                const Settings& settings)
{
    if (pass == BY_SIMILARITY)
        return similarity;
    return settings.verifyBoxes && !(similarity > 0.) ? 0. : overlapValue(s, box, settings);
}

//! Returns the best box of an object. @param isFree,valueOf functors of the index of a box.
template <typename IsFree, typename ValueOf>
CT_HOST_DEVICE Match bestMatch(int boxes, const IsFree& isFree, const ValueOf& valueOf)
{
    Match best = {0., -1};
    for (int b = 0; b < boxes; ++b)
    {
        const double value = isFree(b) ? valueOf(b) : 0.;
        if (value > best.value)
            best = {value, b};
    }
    return best;
}

/** Associates an object with a box. It is valid then, counts as supported, and does not jump in this frame. With
verifyBoxes it only becomes valid if the box is similar enough, and the box is no support. With correctByBoxes, and if
it was lost, its box becomes this one, and detections do not change it in this frame. @param similarity see
pairValue(). */
CT_HOST_DEVICE void associateWith(ObjectState& s, const Box& box, int index, double similarity,
                                  const Settings& settings)
{
    s.event = s.alive ? CONFIRMED : RECOGNIZED;
    s.held = settings.correctByBoxes || !s.alive ? 1 : 0;
    s.box = s.held ? box : s.box;
    s.matched = index + 1;
    s.alive = 1;
    s.valid = !settings.verifyBoxes || similarity > s.validThreshold ? 1 : s.valid;
    s.retries = s.few = 0;
}

}}} // namespace cv::cuda::tld

#endif // OPENCV_CUDATRACKING_TLD_CORE_ASSOCIATE_HPP
