// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// The part of core.hpp on what happens to an object in a frame, step by step. All of it is serial and short: a
// thread of the device runs it. The steps, in this order:
//
//   beginFrame()      which flow is to run
//   endFlow()         the box moves, or is lost
//   [ferns, nearest neighbours for all windows that passed and for the box]
//   updateScore()  how sure the box is
//   updateSupport()         dead after some frames without any window alike
//   [clusters of accepted windows]
//   updateProbation()       dead after many frames without confirmation, once it has no support either
//   integrate()       the box stays, is corrected, jumps to a cluster, or begins anew
//   acceptCorrection()  a certain box is moved only to a place that is as much like the object
//   recheck()         whether the detector may learn from it
//   [learning]
//   resultOf()
#ifndef OPENCV_CUDATRACKING_TLD_CORE_TRACK_HPP
#define OPENCV_CUDATRACKING_TLD_CORE_TRACK_HPP

#include "core_base.hpp"
#include "core_ferns.hpp"
#include "core_flow.hpp"
#include "core_patches.hpp"

namespace cv { namespace cuda { namespace tld {

enum State
{
    LOST = 0,
    UNCERTAIN = 1,
    TRACKING = 2
};

//! All that an object carries from frame to frame, but for leaves and templates.
struct ObjectState
{
    Box box;
    double score;                     //!< conservative similarity of the box
    int32_t alive;                    //!< there is a box
    int32_t valid;                    //!< the detector may learn from it
    int32_t learned;                  //!< in this frame
    uint32_t number;                  //!< of the object, for random numbers
    uint32_t frame;                   //!< frames since it was learned
    int32_t started;                  //!< its box is one in the image START, as no frame came since
    int32_t unsupported, onProbation; //!< frames in a row
    // Where failed flow is tried again from.
    Box keptBox;
    int32_t retries;     //!< left
    int32_t keptAge;     //!< frames since the kept one
    int32_t keptStarted; //!< the kept frame is START
    int32_t keptValid;
    // What the detector has learned, beside leaves and templates.
    int32_t contrast;       //!< of the object's first patch
    uint32_t fernThreshold; //!< windows with a larger sum of posteriors go on
    double nnThreshold, validThreshold;
    int32_t positives, negatives; //!< templates
    // Of the last frame.
    int32_t withVariance, passed, accepted, detections; //!< windows; detections: those that are kept of the passed ones
};

CT_HOST_DEVICE void endTracking(ObjectState& s)
{
    s.alive = s.valid = s.unsupported = s.onProbation = 0;
    s.score = 0.;
}

// --- flow ------------------------------------------------------------------------------------------------------------

//! Flow from the frame `age` frames ago, or from START, and the box in it. age 0: no flow in this frame.
struct FlowTask
{
    int32_t age;
    int32_t retry;
    Box box;
};

CT_HOST_DEVICE FlowTask beginFrame(ObjectState& s)
{
    const int32_t last = s.started ? START : 1;
    ++s.frame;
    s.learned = s.started = 0;
    if (s.alive)
        return {last, 0, s.box};
    if (s.retries > 0)
    {
        ++s.keptAge;
        return {s.keptStarted ? START : s.keptAge, 1, s.keptBox};
    }
    return {0, 0, Box{}};
}

//! Another image becomes START: flow from the old one is not tried again. @param isFrame the old one is the last frame now.
CT_HOST_DEVICE void forgetStart(ObjectState& s, bool isFrame)
{
    if (s.keptStarted)
        s.retries = 0;
    if (isFrame)
        s.started = 0;
}
//! Whether it is the last frame of the object.
CT_HOST_DEVICE bool isLastFrame(const ObjectState& s, int age) { return age == (s.started ? START : 0); }
//! Whether the flow of a frame to come may begin from the frame `age` frames ago, or from START.
CT_HOST_DEVICE bool needsFrame(const ObjectState& s, int age)
{
    if (s.alive)
        return isLastFrame(s, age);
    return s.retries > 0 && age == (s.keptStarted ? START : s.keptAge);
}

//! Without a task: call it too.
CT_HOST_DEVICE void endFlow(ObjectState& s, const FlowTask& task, const Motion& motion, const Settings& settings,
                            int cols, int rows)
{
    if (task.age == 0)
        return;
    const bool failed = flowFailed(motion, settings.maxFlowError);
    if (task.retry)
        --s.retries;
    if (failed)
    {
        if (!task.retry)
        {
            s.retries = settings.retryFrames;
            s.keptAge = 1;
            s.keptStarted = task.age == START ? 1 : 0;
            s.keptBox = s.box;
            s.keptValid = s.valid;
        }
        endTracking(s);
        return;
    }
    const int32_t valid = task.retry ? s.keptValid : s.valid;
    s.box = moved(task.box, motion);
    s.retries = 0;
    if (isOutside(s.box, cols, rows))
        return endTracking(s);
    s.alive = 1;
    s.valid = valid;
}

//! Of the living box's patch.
CT_HOST_DEVICE void updateScore(ObjectState& s, const Similarity& similarity)
{
    if (!s.alive)
        return;
    s.score = conservative(similarity, s.positives, s.negatives);
    if (s.score > s.validThreshold)
        s.valid = 1;
}

// --- detections ------------------------------------------------------------------------------------------------------

//! A window that the ferns let through.
struct Detection
{
    Window window;
    int32_t number; //!< of the window
    uint32_t sum;   //!< of posteriors
    Similarity similarity;
    double relative, conservative;
    int32_t accepted;
    int32_t cluster; //!< of accepted ones
};

CT_HOST_DEVICE void classify(const ObjectState& s, Detection& d)
{
    d.relative = relative(d.similarity, s.positives, s.negatives);
    d.conservative = conservative(d.similarity, s.positives, s.negatives);
    d.accepted = d.relative > s.nnThreshold ? 1 : 0;
    d.cluster = -1;
}

/** Accepted windows that are linked(), directly or through others. Clusters are in the order of their first windows; sums over
their windows are taken in the order of windows. */
struct Cluster
{
    Box box;
    double score; //!< mean of conservative
};

//! Sums over windows.
struct WindowSums
{
    int32_t x, y, w, h; //!< of at most MAX_DETECTIONS windows
    int32_t count;
};

//! @param score sum of conservative.
CT_HOST_DEVICE Cluster meanOf(const WindowSums& windows, double score)
{
    const double all = windows.count;
    return {{windows.x / all, windows.y / all, windows.w / all, windows.h / all}, score / all};
}

// --- support and probation -------------------------------------------------------------------------------------------

//! @param supported some window with an overlap above NEAR_OVERLAP to the box has enough variance and fernPositiveSum().
CT_HOST_DEVICE void updateSupport(ObjectState& s, bool supported, const Settings& settings)
{
    s.unsupported = s.alive && !supported ? s.unsupported + 1 : 0;
    if (settings.maxUnsupported > 0 && s.unsupported >= settings.maxUnsupported)
        endTracking(s);
}

//! How clusters lie to the box; places are those in the list, -1: none.
struct Comparison
{
    int32_t near;    //!< clusters with an overlap of a half or more
    double bestNear; //!< largest score among them; 0 without
    int32_t better;  //!< clusters elsewhere that are better than the box by the margin, and than all near ones
    int32_t place;   //!< of the last one of them
};

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
            c.bestNear = greater(c.bestNear, clusters[i].score);
        }
    const double margin = s.positives < FEW_POSITIVES ? settings.firstJumpMargin : settings.jumpMargin;
    for (int i = 0; i < count; ++i)
        if (!(overlap(clusters[i].box, s.box) >= 0.5) && clusters[i].score > s.score + margin &&
            (c.near == 0 || clusters[i].score > c.bestNear))
        {
            ++c.better;
            c.place = i;
        }
    return c;
}

CT_HOST_DEVICE void updateProbation(ObjectState& s, const Comparison& c, const Settings& settings)
{
    const bool confirmed = !s.alive || s.valid || s.score > s.validThreshold || c.near > 0;
    s.onProbation = confirmed ? 0 : s.onProbation + 1;
    if (settings.maxProbation > 0 && s.onProbation >= settings.maxProbation && s.unsupported > 0)
        endTracking(s);
}

// --- integration -----------------------------------------------------------------------------------------------------

CT_HOST_DEVICE void startAt(ObjectState& s, const Cluster& cluster)
{
    endTracking(s);
    s.alive = 1;
    s.box = cluster.box;
    s.score = cluster.score;
    s.retries = 0;
}

//! Detections that correct the box.
CT_HOST_DEVICE bool isAround(const Detection& d, const Box& box) { return overlap(d.window, box) > AVERAGE_OVERLAP; }

//! Mean of the box, ten times, and all windows that are around it.
CT_HOST_DEVICE Box corrected(const Box& box, const WindowSums& around)
{
    const double t = AVERAGE_WEIGHT, all = AVERAGE_WEIGHT + around.count;
    return {(t * box.x + around.x) / all, (t * box.y + around.y) / all, (t * box.w + around.w) / all,
            (t * box.h + around.h) / all};
}

/** @param c of compare() with these clusters. @param around those that are around s.box.
@return whether acceptCorrection() is to decide about the box: it was certain by itself, and detections have moved it. */
CT_HOST_DEVICE bool integrate(ObjectState& s, const Comparison& c, const Cluster* clusters, int count,
                              const WindowSums& around)
{
    if (!s.alive)
    {
        if (count == 1)
            startAt(s, clusters[0]);
        return false;
    }
    if (c.near > 0 && c.bestNear > s.validThreshold)
        s.valid = 1;
    if (c.better == 1)
    {
        startAt(s, clusters[c.place]);
        return false;
    }
    if (count > 0)
        s.box = corrected(s.box, around);
    return count > 0 && around.count > 0 && s.score > s.validThreshold;
}

/** Takes a correction back that makes a certain box less like the object: windows of the grid lie up to half a step beside it, and
their mean would pull it away a little in each frame. @param tracked the box before the correction. @param similarity of the corrected one.
@return whether the correction stays. */
CT_HOST_DEVICE bool acceptCorrection(ObjectState& s, const Box& tracked, const Similarity& similarity)
{
    if (conservative(similarity, s.positives, s.negatives) >= s.score)
        return true;
    s.box = tracked;
    return false;
}

// --- results ---------------------------------------------------------------------------------------------------------

const int RESULT_COLUMNS = 8;

//! A row of the table of results.
CT_HOST_DEVICE void resultOf(const ObjectState& s, const Settings& settings, double* row)
{
    const int state = !s.alive ? LOST : (s.valid && s.unsupported == 0 ? TRACKING : UNCERTAIN);
    row[0] = s.alive ? s.box.x : 0.;
    row[1] = s.alive ? s.box.y : 0.;
    row[2] = s.alive ? s.box.w : 0.;
    row[3] = s.alive ? s.box.h : 0.;
    row[4] = s.alive ? s.score : 0.;
    row[5] = state;
    row[6] = s.alive && s.unsupported == 0 && s.score >= settings.minReplyScore ? 1. : 0.;
    row[7] = s.learned;
}

//! Row 0 of the table of detections, and the rows after it.
CT_HOST_DEVICE void detectionHead(const ObjectState& s, int windows, double* row)
{
    row[0] = s.detections;
    row[1] = windows;
    row[2] = s.withVariance;
    row[3] = s.passed;
    row[4] = s.accepted;
    row[5] = row[6] = row[7] = 0.;
}
CT_HOST_DEVICE void detectionRow(const Detection& d, int trees, double* row)
{
    row[0] = d.window.x;
    row[1] = d.window.y;
    row[2] = d.window.w;
    row[3] = d.window.h;
    row[4] = d.conservative;
    row[5] = d.relative;
    row[6] = static_cast<double>(d.sum) / (static_cast<double>(POSTERIOR_ONE) * trees);
    row[7] = d.accepted;
}

}}} // namespace cv::cuda::tld

#endif // OPENCV_CUDATRACKING_TLD_CORE_TRACK_HPP
