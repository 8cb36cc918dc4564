// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// All steps change one state. Part of core.hpp: the state of an object and its steps in a frame. The steps
// are short and serial: one thread of the GPU runs them. In their order:
//
//   beginFrame()        selects the flow of this frame
//   endFlow()           moves the box, or loses it
//   [with Settings::filter the box of the filter, core_filter_rules.hpp]
//   [association with a detector's boxes, core_associate.hpp]
//   [ferns, select, nearestNeighbours]
//   updateSimilarity()  compares the box with the templates
//   [clusters of accepted windows]
//   updateSupport()     loses the box after some frames without a fern-positive window at its position
//   compareClusters()   compares the clusters with the box
//   updateProbation()   loses the box after many frames without confirmation, when it has no support either
//   integrate()         keeps, corrects or replaces the box, or starts a new one
//   acceptCorrection()  undoes a correction that makes a confident box less similar to the object, unless it moves fast
//   recheck()           decides whether the detector learns (core_learn.hpp)
//   [learning]
//   resultOf()          writes the results
#ifndef OPENCV_CUDATRACKING_TLD_CORE_TRACK_HPP
#define OPENCV_CUDATRACKING_TLD_CORE_TRACK_HPP

#include "core_base.hpp"
#include "core_ferns.hpp"
#include "core_filter.hpp"
#include "core_motion.hpp"
#include "core_patches.hpp"

namespace cv { namespace cuda { namespace tld {

//! Columns of the table of results.
enum ResultColumn
{
    RESULT_X = 0,
    RESULT_Y = 1,
    RESULT_WIDTH = 2,
    RESULT_HEIGHT = 3,
    RESULT_SCORE = 4,
    RESULT_STATE = 5,   //!< State
    RESULT_LOCATED = 6, //!< 1: located, else 0
    RESULT_LEARNED = 7, //!< 1: the detector learned from this frame, else 0
    RESULT_EVENT = 8,   //!< Event
    RESULT_ID = 9,
    RESULT_BOX = 10,        //!< index of the detector's box that the object is associated with; -1: none
    RESULT_CONFIDENCE = 11, //!< of the filter; 0: it was not asked
    RESULT_COLUMNS = 12
};

//! Columns of the rows of the table of detections, except the first.
enum DetectionColumn
{
    DETECTION_X = 0,
    DETECTION_Y = 1,
    DETECTION_WIDTH = 2,
    DETECTION_HEIGHT = 3,
    DETECTION_CONSERVATIVE = 4,
    DETECTION_RELATIVE = 5,
    DETECTION_POSTERIOR = 6, //!< mean
    DETECTION_ACCEPTED = 7,  //!< 1: accepted, else 0
    DETECTION_COLUMNS = 8
};

//! Columns of the first row of the table of detections: numbers of windows.
enum CountColumn
{
    COUNT_STORED = 0, //!< rows that follow
    COUNT_WINDOWS = 1,
    COUNT_WITH_VARIANCE = 2,
    COUNT_PASSED = 3, //!< passed the ferns
    COUNT_ACCEPTED = 4,
    COUNT_COLUMNS = 5 //!< the columns from here on are 0
};

//! State of an object after a frame.
enum State
{
    LOST = 0,
    UNCERTAIN = 1,
    TRACKING = 2
};

//! Origin of the box of a frame.
enum Event
{
    NO_EVENT = 0,
    STARTED = 1,
    FLOWED = 2,
    CORRECTED = 3,
    RETRIED = 4,
    JUMPED = 5,
    FOUND_AGAIN = 6,
    BECAME_LOST = 7,
    CONFIRMED = 8,
    RECOGNIZED = 9,
    FILTERED = 12 //!< 10 and 11 were camera cuts in files of versions 3 and 4
};

//! State of an object from frame to frame. Leaves and templates are stored apart.
struct ObjectState
{
    Box box;
    double score;      //!< largest mean posterior of a window on the box, 0 to 1; 1 for a box that the user gave
    double similarity; //!< conservative similarity of the box in this frame
    int32_t alive;     //!< 0: the object is lost
    int32_t valid;     //!< the detector may learn from it
    int32_t learned;   //!< in the last frame
    int32_t event;     //!< Event of the last frame
    int32_t matched;   //!< 1 + index of the detector's box that it was associated with in the last frame; 0: none
    int32_t held;      //!< its box is a detector's, which nothing changes in this frame
    uint32_t number;   //!< index of the object's series of random numbers
    uint32_t frame;    //!< frames since it was first learned
    int32_t started;   //!< its box is in the image START: no frame came since
    int32_t unsupported, onProbation; //!< consecutive frames
    int32_t fast;                     //!< flow moved the box by more than half a step of windows in this frame
    int32_t few; //!< only returned points moved the box in this frame, or a low answer of the filter did where
                 //!< they would have: updateSimilarity() verifies it
    // The frame and box from which failed flow is retried.
    Box keptBox;
    int32_t retries;     //!< number of retries that are left
    int32_t keptAge;     //!< frames since the kept frame
    int32_t keptStarted; //!< the kept frame is START
    int32_t keptValid;
    // The learned model, except leaves and templates.
    int32_t contrast;       //!< of the object's first patch: PatchStats::contrast
    uint32_t fernThreshold; //!< windows with a larger sum of posteriors pass the ferns
    double nnThreshold, validThreshold;
    int32_t positives, negatives; //!< numbers of templates
    FilterState filter;
    // Counts of windows in the last frame.
    int32_t withVariance, passed, accepted, detections; //!< detections: the passed windows that were selected
};

//! Loses the object. The event tells whether it had a box before this frame.
CT_HOST_DEVICE void endTracking(ObjectState& s)
{
    s.event = s.event == NO_EVENT || s.event == RETRIED ? NO_EVENT : BECAME_LOST;
    s.alive = s.valid = s.unsupported = s.onProbation = 0;
    s.score = s.similarity = 0.;
}

// --- flow ------------------------------------------------------------------------------------------------------------

//! A flow from `box` in the frame `age` frames ago, or in START. age 0: no flow in this frame.
struct FlowTask
{
    int32_t age;
    int32_t retry;
    Box box;
};

//! Begins a frame and selects its flow: from the last frame, or a retry from the kept one.
CT_HOST_DEVICE FlowTask beginFrame(ObjectState& s)
{
    const int32_t last = s.started ? START : 1;
    ++s.frame;
    s.learned = s.started = s.fast = s.few = 0;
    s.event = s.alive ? FLOWED : NO_EVENT;
    s.matched = 0;
    s.held = 0;
    s.filter.weak = s.filter.strong = s.filter.supports = s.filter.denies = s.filter.trains = 0;
    s.filter.confidence = 0.;
    if (s.alive)
        return {last, 0, s.box};
    if (s.retries > 0)
    {
        ++s.keptAge;
        return {s.keptStarted ? START : s.keptAge, 1, s.keptBox};
    }
    return {0, 0, Box{}};
}

//! Ends retries from START, as another image becomes START. @param isFrame the old START becomes the last frame.
CT_HOST_DEVICE void forgetStart(ObjectState& s, bool isFrame)
{
    if (s.keptStarted)
        s.retries = 0;
    if (isFrame)
        s.started = 0;
}
//! Whether the frame of this age is the last one of the object.
CT_HOST_DEVICE bool isLastFrame(const ObjectState& s, int age) { return age == (s.started ? START : 0); }
//! Whether the next flow of the object begins in the frame of this age.
CT_HOST_DEVICE bool needsFrame(const ObjectState& s, int age)
{
    if (s.alive)
        return isLastFrame(s, age);
    return s.retries > 0 && age == (s.keptStarted ? START : s.keptAge);
}

//! Whether a motion is longer, along x or y, than half the distance between neighbouring windows of the size of the
//! box.
CT_HOST_DEVICE bool isFast(const Motion& motion, const Box& box, int stepPercent)
{
    return 200. * fabs(motion.dx) > stepPercent * lesser(box.w, box.h) || 200. * fabs(motion.dy) > stepPercent * box.h;
}

//! Keeps a box in the last frame, from which flow is retried in the next retryFrames frames.
CT_HOST_DEVICE void keepForRetries(ObjectState& s, const Box& box, int32_t valid, int32_t started,
                                   const Settings& settings)
{
    s.retries = settings.retryFrames;
    s.keptAge = 1;
    s.keptStarted = started;
    s.keptBox = box;
    s.keptValid = valid;
}

/** Applies the motion to the box. When flow has failed, the object is lost and up to retryFrames retries begin. A box
that only the returned points move is not valid, as these may be of something that covers the object, or of the
background. Retries are kept for the case that updateSimilarity() refuses it. */
CT_HOST_DEVICE void endFlow(ObjectState& s, const FlowTask& task, const Motion& motion, const Settings& settings,
                            int cols, int rows)
{
    if (task.age == 0)
        return;
    const bool few = motion.error > settings.maxFlowError;
    if (task.retry)
        --s.retries;
    else if (motion.kept == 0 || few)
        keepForRetries(s, s.box, s.valid, task.age == START ? 1 : 0, settings);
    if (motion.kept == 0)
        return endTracking(s);
    const int32_t valid = task.retry ? s.keptValid : s.valid;
    s.box = moved(task.box, motion);
    s.fast = isFast(motion, task.box, settings.stepPercent) ? 1 : 0;
    if (isOutside(s.box, cols, rows))
    {
        s.retries = 0;
        return endTracking(s);
    }
    s.retries = few ? s.retries : 0;
    s.alive = 1;
    s.valid = few ? 0 : valid;
    s.few = few ? 1 : 0;
    s.event = task.retry ? RETRIED : FLOWED;
}

/** Sets the similarity of an object that is not lost; above validThreshold it becomes valid. Otherwise a box that only
returned points have moved is lost, unless its similarity is above LEAST_OF_FEW. @param similarity of the patch of its
box. */
CT_HOST_DEVICE void updateSimilarity(ObjectState& s, const Similarity& similarity)
{
    if (!s.alive)
        return;
    s.similarity = conservative(similarity, s.positives, s.negatives);
    if (s.similarity > s.validThreshold)
        s.valid = 1;
    else if (s.few && !(s.similarity > LEAST_OF_FEW))
        return endTracking(s); // the retries begin
    s.retries = 0;
}

// --- detections ------------------------------------------------------------------------------------------------------

//! A window that passed the ferns.
struct Detection
{
    Window window;
    int32_t number; //!< index of the window
    uint32_t sum;   //!< sum of posteriors
    Similarity similarity;
    double relative, conservative;
    int32_t accepted;
    int32_t cluster; //!< cluster of an accepted window, else -1
};

//! Classifies a window from its similarities.
CT_HOST_DEVICE void classify(const ObjectState& s, Detection& d)
{
    d.relative = relative(d.similarity, s.positives, s.negatives);
    d.conservative = conservative(d.similarity, s.positives, s.negatives);
    d.accepted = d.relative > s.nnThreshold ? 1 : 0;
    d.cluster = -1;
}

/** A connected component of accepted windows that are linked(). Clusters are in the order of their first windows.
Similarities are summed in the order of windows. */
struct Cluster
{
    Box box;
    double similarity; //!< mean conservative similarity
    uint32_t sum;      //!< largest sum of posteriors of a window
};

//! Sums over at most MAX_DETECTIONS windows.
struct WindowSums
{
    int32_t x, y, w, h;
    int32_t count;
};

//! Returns the mean of the windows of a cluster. @param similarity sum of their conservative similarities. @param sum
//! see Cluster.
CT_HOST_DEVICE Cluster meanOf(const WindowSums& windows, double similarity, uint32_t sum)
{
    const double all = windows.count;
    return {{windows.x / all, windows.y / all, windows.w / all, windows.h / all}, similarity / all, sum};
}

// --- support and probation -------------------------------------------------------------------------------------------

/** Sets the score, and counts frames without support. A detector's box is support, unless it only proposes: of the
places that a source proposes in many frames, some resemble the object by chance. Windows are none where the filter
denies a box that is not valid: ferns learn what covers an object slowly. @param sum largest sum of posteriors of a
fern-positive window that overlaps the box by more than NEAR_OVERLAP; 0: there is none. */
CT_HOST_DEVICE void updateSupport(ObjectState& s, uint32_t sum, const Settings& settings)
{
    s.score = s.alive ? meanPosterior(sum, settings.trees) : 0.;
    const bool byWindows = sum > 0 && (s.valid || !s.filter.denies);
    const bool supported = byWindows || (s.matched && !settings.verifyBoxes) || s.filter.supports;
    s.unsupported = s.alive && !supported ? s.unsupported + 1 : 0;
    if (settings.maxUnsupported > 0 && s.unsupported >= settings.maxUnsupported)
        endTracking(s);
}

//! Result of compareClusters().
struct Comparison
{
    int32_t near;    //!< number of clusters that overlap the box by a half or more
    double bestNear; //!< largest similarity of these; 0 without
    //! number of other clusters that are more similar than the box, by the margin, and than all near ones
    int32_t better;
    int32_t place; //!< index of the last of these; -1: none
};

/** Whether the ferns allow a jump to a cluster. Where it touches the box, flow has slipped off the object. Elsewhere
they must prefer the cluster: of all windows of an image some are similar to the object by chance. @param margin of
compareClusters(). */
CT_HOST_DEVICE bool isCertain(const ObjectState& s, const Cluster& cluster, double margin, const Settings& settings)
{
    return overlap(cluster.box, s.box) > 0. || meanPosterior(cluster.sum, settings.trees) > s.score + margin;
}

//! Compares clusters with the box. None is better for an associated object, or for a box that the filter supports.
//! The margin is jumpMargin, or firstJumpMargin with few positives.
CT_HOST_DEVICE Comparison compareClusters(const ObjectState& s, const Cluster* clusters, int count,
                                          const Settings& settings)
{
    Comparison c = {0, 0., 0, -1};
    if (!s.alive)
        return c;
    for (int i = 0; i < count; ++i)
        if (overlap(clusters[i].box, s.box) >= 0.5)
        {
            ++c.near;
            c.bestNear = greater(c.bestNear, clusters[i].similarity);
        }
    if (s.matched || s.filter.supports)
        return c;
    const double margin = s.positives < FEW_POSITIVES ? settings.firstJumpMargin : settings.jumpMargin;
    for (int i = 0; i < count; ++i)
        if (!(overlap(clusters[i].box, s.box) >= 0.5) && clusters[i].similarity > s.similarity + margin &&
            (c.near == 0 || clusters[i].similarity > c.bestNear) && isCertain(s, clusters[i], margin, settings))
        {
            ++c.better;
            c.place = i;
        }
    return c;
}

//! Counts frames in which neither the similarity nor a near cluster confirms a box that is not valid.
CT_HOST_DEVICE void updateProbation(ObjectState& s, const Comparison& c, const Settings& settings)
{
    const bool confirmed = !s.alive || s.valid || s.similarity > s.validThreshold || c.near > 0;
    s.onProbation = confirmed ? 0 : s.onProbation + 1;
    if (settings.maxProbation > 0 && s.onProbation >= settings.maxProbation && s.unsupported > 0)
        endTracking(s);
}

// --- integration -----------------------------------------------------------------------------------------------------

//! Starts a new box at a cluster; it is not valid yet.
CT_HOST_DEVICE void startAt(ObjectState& s, const Cluster& cluster, const Settings& settings)
{
    const int32_t event = s.alive ? JUMPED : FOUND_AGAIN;
    endTracking(s);
    s.event = event;
    s.alive = 1;
    s.box = cluster.box;
    s.score = meanPosterior(cluster.sum, settings.trees);
    s.similarity = cluster.similarity;
    s.retries = 0;
}

//! Whether a detection corrects the box.
CT_HOST_DEVICE bool isAround(const Detection& d, const Box& box) { return overlap(d.window, box) > AVERAGE_OVERLAP; }

//! Returns the mean of the box, with weight AVERAGE_WEIGHT, and of all windows around it.
CT_HOST_DEVICE Box corrected(const Box& box, const WindowSums& around)
{
    const double t = AVERAGE_WEIGHT, all = AVERAGE_WEIGHT + around.count;
    return {(t * box.x + around.x) / all, (t * box.y + around.y) / all, (t * box.w + around.w) / all,
            (t * box.h + around.h) / all};
}

/** Integrates tracker and detector. @param c result of compareClusters(). @param around sums over detections for which
isAround().
@return whether acceptCorrection() must decide: detections have moved a box that is not fast and whose own similarity
exceeds validThreshold. */
CT_HOST_DEVICE bool integrate(ObjectState& s, const Comparison& c, const Cluster* clusters, int count,
                              const WindowSums& around, const Settings& settings)
{
    if (!s.alive)
    {
        if (count == 1)
            startAt(s, clusters[0], settings);
        return false;
    }
    if (c.near > 0 && c.bestNear > s.validThreshold)
        s.valid = 1;
    if (s.held)
        return false;
    if (c.better == 1)
    {
        startAt(s, clusters[c.place], settings);
        return false;
    }
    if (count > 0)
        s.box = corrected(s.box, around);
    if (count > 0 && around.count > 0 && s.event == FLOWED)
        s.event = CORRECTED;
    return count > 0 && around.count > 0 && s.similarity > s.validThreshold && !s.fast;
}

/** Undoes a correction that lowers the similarity: windows of the grid are up to half a step away from the object, so
that their mean would shift the box of a still object a little in each frame. A fast box is corrected in any case, as
flow of fast and blurred objects drifts. @param tracked box before the correction. @param similarity of the corrected
box.
@return whether the correction stays. */
CT_HOST_DEVICE bool acceptCorrection(ObjectState& s, const Box& tracked, const Similarity& similarity)
{
    if (conservative(similarity, s.positives, s.negatives) >= s.similarity)
        return true;
    s.box = tracked;
    s.event = s.event == CORRECTED ? static_cast<int32_t>(FLOWED) : s.event;
    return false;
}

// --- results ---------------------------------------------------------------------------------------------------------

//! Returns the part of a box inside of the image; a box that is inside as a whole keeps its values exactly.
CT_HOST_DEVICE Box clipped(const Box& b, int cols, int rows)
{
    Box part = b;
    if (b.x < 0. || b.x + b.w > cols)
    {
        part.x = greater(b.x, 0.);
        part.w = lesser(b.x + b.w, static_cast<double>(cols)) - part.x;
    }
    if (b.y < 0. || b.y + b.h > rows)
    {
        part.y = greater(b.y, 0.);
        part.h = lesser(b.y + b.h, static_cast<double>(rows)) - part.y;
    }
    return part;
}

//! Writes a row of the table of results. @param cols,rows size of the image.
CT_HOST_DEVICE void resultOf(const ObjectState& s, const Settings& settings, int cols, int rows, double* row)
{
    const int state = !s.alive ? LOST : (s.valid && s.unsupported == 0 ? TRACKING : UNCERTAIN);
    const Box box = settings.clipBoxes ? clipped(s.box, cols, rows) : s.box;
    row[RESULT_X] = s.alive ? box.x : 0.;
    row[RESULT_Y] = s.alive ? box.y : 0.;
    row[RESULT_WIDTH] = s.alive ? box.w : 0.;
    row[RESULT_HEIGHT] = s.alive ? box.h : 0.;
    row[RESULT_SCORE] = s.alive ? s.score : 0.;
    row[RESULT_STATE] = state;
    row[RESULT_LOCATED] = s.alive && s.unsupported == 0 && s.score >= settings.minReplyScore ? 1. : 0.;
    row[RESULT_LEARNED] = s.learned;
    row[RESULT_EVENT] = s.event;
    row[RESULT_ID] = s.number;
    row[RESULT_BOX] = s.matched - 1;
    row[RESULT_CONFIDENCE] = s.filter.confidence;
}

//! Returns the box of a row of the table of results.
CT_HOST_DEVICE Box boxOf(const double* row)
{
    return {row[RESULT_X], row[RESULT_Y], row[RESULT_WIDTH], row[RESULT_HEIGHT]};
}

//! Writes the first row of the table of detections. @param windows number of windows of the grid.
CT_HOST_DEVICE void detectionHead(const ObjectState& s, int windows, double* row)
{
    row[COUNT_STORED] = s.detections;
    row[COUNT_WINDOWS] = windows;
    row[COUNT_WITH_VARIANCE] = s.withVariance;
    row[COUNT_PASSED] = s.passed;
    row[COUNT_ACCEPTED] = s.accepted;
    for (int k = COUNT_COLUMNS; k < DETECTION_COLUMNS; ++k)
        row[k] = 0.;
}
//! Writes a further row of the table of detections.
CT_HOST_DEVICE void detectionRow(const Detection& d, int trees, double* row)
{
    row[DETECTION_X] = d.window.x;
    row[DETECTION_Y] = d.window.y;
    row[DETECTION_WIDTH] = d.window.w;
    row[DETECTION_HEIGHT] = d.window.h;
    row[DETECTION_CONSERVATIVE] = d.conservative;
    row[DETECTION_RELATIVE] = d.relative;
    row[DETECTION_POSTERIOR] = meanPosterior(d.sum, trees);
    row[DETECTION_ACCEPTED] = d.accepted;
}

}}} // namespace cv::cuda::tld

#endif // OPENCV_CUDATRACKING_TLD_CORE_TRACK_HPP
