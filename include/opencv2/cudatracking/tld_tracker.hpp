// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

#ifndef OPENCV_CUDATRACKING_TLD_TRACKER_HPP
#define OPENCV_CUDATRACKING_TLD_TRACKER_HPP

#include "opencv2/video/tracking.hpp"
#include "opencv2/cudatracking/tld.hpp"

namespace cv { namespace cuda {

//! @addtogroup cudatracking
//! @{

/** @brief Tracks one object in a video: learns its appearance, reports when it is lost, and finds it again.

Give init() a frame and the box of the object in it, then update() every further frame. In each frame optical flow moves
the box, a TLDDetector searches the whole image, and the detector learns from what the two agree on.

@code
// Prints where an object is in each frame; `box` is its place in the first one.
void follow(const std::vector<cv::Mat>& frames, cv::Rect box)
{
    const cv::Ptr<cv::cuda::TrackerTLD> tracker = cv::cuda::TrackerTLD::create();
    tracker->init(frames[0], box);
    for (size_t i = 1; i < frames.size(); ++i)
    {
        const bool located = tracker->update(frames[i], box); // if false, `box` is unchanged
        if (!located)
            std::cout << i << ": not located" << std::endl;
        else if (tracker->getState() == cv::cuda::TrackerTLD::UNCERTAIN)
            std::cout << i << ": perhaps at " << box << std::endl;
        else
            std::cout << i << ": at " << box << std::endl;
    }
}
@endcode

__State__ after a frame:

| state         | there is a box that is | update() returns                         | the detector learns        |
|---------------|------------------------|------------------------------------------|----------------------------|
| TRACKING (2)  | valid and supported    | true; false if the score < minReplyScore | if the box passes a check  |
| UNCERTAIN (1) | supported, not valid   | true; false if the score < minReplyScore | no                         |
| UNCERTAIN (1) | not supported          | false                                    | if it is valid and passes  |
| LOST (0)      | (no box)               | false                                    | no                         |

- A box is **valid** while the tracker trusts it. It becomes so by init(), resetTo(), or a frame in which it, or
  accepted windows on it, are similar enough to the object (validThreshold). It remains so until it jumps, flow becomes
  doubtful or, once there are five positive templates, the check before learning fails. In state UNCERTAIN the box may
  be wrong, also if update() returns true.
- A box is **supported** in a frame if the detector finds at least weak evidence at it: a window that overlaps it by
  more than 0.6, with enough variance and fern posteriors that sum to 1 or more. With TLDParams::filter a high answer
  of the filter supports a box, too, and with a low answer windows do not support a box that is not valid.
- The **score** of a box, 0 to 1, tells how sure the ferns are that the object is there: it is the largest mean
  posterior of the windows that support it, after a jump or return that of the accepted windows there. It is 0 for a
  box without such windows, and 1 directly after init(), add() and resetTo().
- An object is **located** if update() returns true. Otherwise the caller's box is left unchanged; getBox() has the
  tracker's own box unless the state is LOST.

__Loss__: an object is LOST when no part of its box is inside of the image, when optical flow fails and the filter does
not take its place, in the last of maxUnsupported unsupported frames in a row, or in the first unsupported frame after
maxProbation frames in which nothing confirmed it. After failed flow, flow from the last box is tried again in the next
retryFrames frames.

__Return__: a lost object is found again in a frame in which all accepted windows of the detector belong to one place,
unless the filter does not know it there. The loss is decided before, so it may be found again in the same frame. The
box is not valid until it is similar enough.

__Jump__: a box that the filter does not support leaves its place if the detector finds a single place elsewhere that is
more similar to the object, by jumpMargin. After a jump or return (events JUMPED and FOUND_AGAIN) the box may be on
another object of the same appearance; an application that must not confuse objects checks it there.

Rules in full: doc/tld.md, "The filter beside flow", "One frame", "States", "Events" and "Learning".

The first call of update() takes the frame after that of init(). Boxes of objects that leave the image lie partly
outside of it, unless TLDParams.clipBoxes is set.

__Images, determinism, CUDA graphs__: see TLDDetector. All frames must have the size, type and memory
of the one given to init(). If updateAsync() is captured into a CUDA graph, each replay processes one frame.

__Waiting, lifetimes, threads__: see the tables in cudatracking.hpp. Calls of several threads are executed one after
another; frames then come in the order in which the threads get their turn.

__Table of results__ (updateAsync(), MultiTrackerTLD): CV_64FC1, one row per object, 12 columns: x, y, width, height
(sub-pixel; 0 if LOST), score 0 to 1, state, located (1 or 0: what update() returns), learned (1 or 0: whether the
detector learned from this frame), event, id (of MultiTrackerTLD; 0 in TrackerTLD), box (MultiTrackerTLD.update() with
boxes: index of the detector's box that is associated with the object or has started it; -1 without one), confidence
(of the correlation filter of TLDParams.filter, about 0 to 1, at least 0.08 where its box may be taken; 0 if it was not
used in this frame).

Quality, cost: doc/tld.md. Source: Z. Kalal, K. Mikolajczyk, J. Matas, Tracking-Learning-Detection, PAMI 2012; I.
Gurcan, A hybrid CPU-GPU implementation of tracking-learning-detection, 2014. */
class CV_EXPORTS_W TrackerTLD : public Tracker
{
protected:
    TrackerTLD(); // use create()

public:
    virtual ~TrackerTLD() CV_OVERRIDE;

    //! State of an object after a frame.
    enum State
    {
        LOST = 0,      //!< there is no box
        UNCERTAIN = 1, //!< there is a box, but it is not valid or not supported
        TRACKING = 2   //!< there is a box that is valid and supported
    };

    //! Where the box of an object in a frame comes from. Without a box BECAME_LOST or NO_EVENT is reported; else JUMPED
    //! or FOUND_AGAIN, if one applies; else CONFIRMED or RECOGNIZED; else one of the others. 10 and 11 are not used.
    enum Event
    {
        NO_EVENT = 0,    //!< there is no box: the object was LOST before the frame and still is
        STARTED = 1,     //!< init(), add(), resetTo() or a detector's box has set it; no frame was processed since
        FLOWED = 2,      //!< optical flow from the last frame
        CORRECTED = 3,   //!< flow, and then a correction: the mean of the box and the detected windows around it
        RETRIED = 4,     //!< flow from an earlier frame, after flow had failed
        JUMPED = 5,      //!< the box left its place for another one that is more similar to the object
        FOUND_AGAIN = 6, //!< the object was LOST, before the frame or in it, and the learned detector has found it
        BECAME_LOST = 7, //!< there is no box any more; the object had one after the last frame
        CONFIRMED = 8,   //!< a detector's box is associated with the object; see MultiTrackerTLD.update() with boxes
        RECOGNIZED = 9,  //!< the object was LOST; it takes a detector's box that is similar to it
        FILTERED = 12    //!< the correlation filter, as flow failed or was not sure; only with TLDParams.filter
    };

    //! Columns of the table of results of updateAsync() and MultiTrackerTLD::update().
    enum ResultColumn
    {
        RESULT_X = 0,           //!< left edge of the box, pixels; 0 if LOST
        RESULT_Y = 1,           //!< upper edge of the box, pixels; 0 if LOST
        RESULT_WIDTH = 2,       //!< width of the box, pixels; 0 if LOST
        RESULT_HEIGHT = 3,      //!< height of the box, pixels; 0 if LOST
        RESULT_SCORE = 4,       //!< score of the box, 0 to 1; 0 if LOST or without windows on it
        RESULT_STATE = 5,       //!< State
        RESULT_LOCATED = 6,     //!< 1 if update() returns true, else 0
        RESULT_LEARNED = 7,     //!< 1 if the detector learned from the frame, else 0
        RESULT_EVENT = 8,       //!< Event
        RESULT_ID = 9,          //!< id of the object in MultiTrackerTLD; 0 in TrackerTLD
        RESULT_BOX = 10,        //!< index of the detector's box that is associated with it or has started it; -1: none
        RESULT_CONFIDENCE = 11, //!< confidence of the correlation filter; 0: it was not asked, or there is none
        RESULT_COLUMNS = 12     //!< number of columns
    };

    /** @brief Creates a tracker, which follows one object in a video, reports when it is lost, and finds it again.

    init() takes a frame and the box of the object, update() each further frame. In each frame optical flow moves the
    box, a detector searches the whole image, and the detector learns from what the two agree on. Frames are uint8
    arrays of 1 (gray), 3 (BGR) or 4 (BGRA) channels, sides 16 to 16,384, all of one size and type, on the CPU as numpy
    arrays, on the device as cv2.cuda.GpuMat; both give the same boxes.
    @code{.py}
    >>> random = np.random.default_rng(1)
    >>> def texture(rows, columns):
    ...     return cv2.resize(random.integers(0, 256, (rows, columns), np.uint8), (8 * columns, 8 * rows))
    >>> background, target = texture(30, 40), texture(8, 8)
    >>> def frame(x):
    ...     image = background.copy()
    ...     image[80:144, x:x + 64] = target
    ...     return image
    >>> tracker = cv2.cuda.TrackerTLD.create()
    >>> tracker.init(frame(100), (100, 80, 64, 64))
    >>> [tracker.update(frame(x)) for x in (102, 104)]
    [(True, (102, 80, 64, 64)), (True, (104, 80, 64, 64))]
    >>> tracker.update(background)[0], tracker.getState() == cv2.cuda.TrackerTLD_LOST
    (False, True)
    @endcode
    Terms: a box is valid while the tracker trusts it, and only then the detector learns; it is supported in a
    frame if the detector finds at least weak evidence at it, or the filter does. update() returns True if it is
    supported and its score is at least minReplyScore. Windows are the
    rectangles that the detector evaluates. Ferns are small classifiers by comparisons of pixels; a posterior is the
    share of positive examples among those with the same results. The similarity compares a patch with learned templates
    of the object (positive) and of the background (negative): the relative one with all, the conservative one with the
    first half of the positive ones. A window is accepted if its relative similarity is above a threshold; accepted
    windows that overlap by half or more are a cluster. Rules in full: doc/tld.md.

    Calls of several threads on one instance are executed one after another.
    @param params parameters, in Python p = cv2.cuda.TLDParams(); p.seed = 7. Default: the defaults of all members.
    seed: int, 0 or more; seed of all random choices, equal seeds give identical runs. Default 1.
    learning: bool; whether the model is updated after init(). Default True.
    mirror: bool; whether ferns are also trained on mirror images of the object. Default False.
    minReplyScore: float, 0 to 1; score of the box (see getTrackingScore()) below which update() returns False.
    Default 0.
    clipBoxes: bool; whether reported boxes are clipped to the image. Default False.
    filter: bool; whether a correlation filter follows the object beside optical flow, and its box is taken where flow
    fails or its box is not similar to the object; False takes less time. Default True.
    boxOverlap: float, 0.01 to 1; smallest overlap of a detector's box with the object that it is associated with, see
    MultiTrackerTLD.updateWithBoxes(). Default 0.3.
    verifyBoxes: bool; whether boxes only propose places: a box counts only if it is similar to the object, and keeps no
    object that the tracker itself does not see. Default False.
    correctByBoxes: bool; whether an object takes over the box that is associated with it. Default False.
    findByBoxes: bool; whether LOST objects are associated with boxes that are similar to them. Default False.
    startFromBoxes: bool; whether boxes that are associated with no object start new ones. Default False.
    endAfterMisses: int, 0 or more; successive calls with boxes in which none is associated with an object, after which
    the object is removed; 0: never. Default 0.
    minWindow: int, 12 to 16384; smallest side of a window, pixels; 0: min(24, max(12, shorter side / 1.44)),
    the quotient rounded down. Default 0.
    scaleFactor: float, 1.01 to 2; ratio of window sizes of successive scales. Default 1.2.
    scales: int, 0 to 20; number of scales below and also above the object's size. Default 10.
    stepPercent: int, 1 to 100; distance of neighbouring windows in percent, along x of the shorter side of a window,
    along y of its height. Default 10.
    trees: int, 1 to 16; number of ferns. Default 10.
    features: int, 1 to 16; pixel comparisons per fern; trees * features is at most 164. Default 13.
    fernThreshold: float, 0 to 1; threshold on the mean fern posterior of a window; init() may raise it. Default 0.5.
    maxDetections: int, 1 to 128; maximum number of windows that reach the nearest-neighbour stage. Default 100.
    nnThreshold: float, 0 to 1; threshold on the relative similarity of accepted windows; init() may raise it.
    Default 0.65.
    validThreshold: float, 0 to 1; threshold on the conservative similarity of valid boxes; init() may raise it.
    Default 0.7.
    maxPositives: int, 2 to 1024; maximum number of positive templates (of the object). Default 200.
    maxNegatives: int, 2 to 2048; maximum number of negative templates (of background). Default 400.
    initWindows: int, 1 to 32; number of windows that ferns are trained on in init(). Default 20.
    initWarps: int, 0 to 32; number of random warps of each of these windows. Default 19.
    updateWindows: int, 1 to 32; number of windows that ferns are trained on in a later frame. Default 10.
    updateWarps: int, 0 to 32; number of random warps of each of these windows. Default 9.
    initAngle: float, 0 to 45; largest rotation of warps in init(), degrees in either direction. Default 10.
    updateAngle: float, 0 to 45; largest rotation of warps in later frames, degrees in either direction. Default 5.
    warpScale: float, 0 to 0.5; largest relative change of scale of warps. Default 0.01.
    warpShift: float, 0 to 0.5; largest shift of a warp, fraction of the windows' bounding box. Default 0.01.
    warpNoise: float, 0 to 64; standard deviation of noise in warps, gray values. Default 5.
    initNegatives: int, 2 to 128; number of negative templates that init() draws; half of them set thresholds.
    Default 100.
    flowWindow: int, 3 to 11; side of the Lucas-Kanade window in pixels, odd. Default 9.
    flowLevels: int, 0 to 6; pyramid levels besides the full image, fewer for small images. Default 5.
    flowIterations: int, 1 to 100; maximum number of iterations per pyramid level. Default 20.
    flowEpsilon: float, 0 to 16; step length in pixels at which iterations end. Default 0.03.
    maxFlowError: float, 0 to 16384; largest median forward-backward error of the points of a box, pixels. Above it flow
    has failed, unless ten or more points have an error of at most 2 pixels and the box that they give is similar to the
    object. Default 10.
    retryFrames: int, 0 to 3; number of frames after a failure in which flow is tried again. Default 3.
    maxUnsupported: int, 0 or more; unsupported frames in a row that end in LOST; 0: no limit. Default 3.
    maxProbation: int, 0 or more; number of frames in a row in which neither the similarity of the box nor a cluster on
    it confirms it, after which the first unsupported frame ends in LOST; 0: no limit. Default 100.
    jumpMargin: float, 0 to 1; margin by which the similarity of a cluster elsewhere must exceed that of the box before
    the box jumps there. Default 0.1.
    firstJumpMargin: float, 0 to 1; jumpMargin while there are fewer than five positive templates. Default 0.2.
    @throws cv::Exception naming the member that is out of its range. */
    CV_WRAP static Ptr<TrackerTLD> create(const TLDParams& params = TLDParams());
    /** @brief Returns the parameters given to create() or read from a file. */
    CV_WRAP virtual TLDParams getParams() const = 0;

    // The functions for Rect2d come first and have full texts: of functions with the same name and arguments, Python
    // calls the first one, which takes whole numbers too, and help() shows its text alone.
    /** @brief Learns an object and forgets an older one. Uses the null stream and waits. Edges of a floating-point box
    are rounded to whole pixels.
    @param image CV_8U, 1 (gray), 3 (BGR) or 4 (BGRA) channels, sides 16 to 16,384, up to 2^24 pixels. A Mat selects the
    CPU, a GpuMat the device.
    @param boundingBox (x, y, width, height) of the object, inside of the image; sides at least 12 and at least
    TLDParams.minWindow. Some window must overlap it by more than 0.6, and the one that overlaps it most must not be of
    one gray value.
    @throws cv::Exception if an argument is invalid; the old model is kept then. */
    CV_WRAP_AS(init) void initRounded(InputArray image, const Rect2d& boundingBox);
    /** @brief Learns an object and forgets an older one. Uses the null stream and waits.
    @param image CV_8U, 1 (gray), 3 (BGR) or 4 (BGRA) channels, sides 16 to 16,384, up to 2^24 pixels. A Mat selects the
    CPU, a GpuMat the device.
    @param boundingBox (x, y, width, height) of the object, inside of the image; sides at least 12 and at least
    TLDParams.minWindow. Some window must overlap it by more than 0.6, and the one that overlaps it most must not be of
    one gray value. Give a Rect2d to initRounded(): C++ would round its four numbers, not its edges, for this function.
    @throws cv::Exception if an argument is invalid; the old model is kept then. */
    CV_WRAP virtual void init(InputArray image, const Rect& boundingBox) CV_OVERRIDE = 0;
    /** @brief Tracks the object in the next frame. Uses the null stream and waits.
    @param image next frame, of the size, type and memory (host or device) of the one in init().
    @param boundingBox output: box of the object, perhaps partly outside of the image unless TLDParams.clipBoxes is set.
    Each of the four numbers is rounded by itself; initRounded(), init() in Python, rounds edges. Unchanged if false
    is returned.
    @return true if the object is located: the detector or the filter finds at least weak evidence of it at the box, and
    the score is at least TLDParams.minReplyScore. If getState() is UNCERTAIN the box may be wrong.
    @throws cv::Exception if the image is invalid, and before init(). */
    CV_WRAP virtual bool update(InputArray image, CV_OUT Rect& boundingBox) CV_OVERRIDE = 0;

    /** @brief Tracks the object in the next frame. Waits only if image is a GpuMat and result is a Mat, UMat or
    std::vector.
    @param image next frame, of the size, type and memory (host or device) of the one in init().
    @param result CV_64FC1, 1 row of RESULT_COLUMNS (12) columns: the box of getBox(), 0 if LOST, in RESULT_X (0),
    RESULT_Y (1), RESULT_WIDTH (2) and RESULT_HEIGHT (3); RESULT_SCORE (4); RESULT_STATE (5); RESULT_LOCATED (6), 1 or
    0; RESULT_LEARNED (7), 1 or 0; RESULT_EVENT (8); RESULT_ID (9), here 0; RESULT_BOX (10), here -1;
    RESULT_CONFIDENCE (11) of the filter, 0 without TLDParams.filter.
    @param stream stream for a GpuMat; ignored for Mat. Default: the null stream.
    @throws cv::Exception if an argument is invalid, and before init(). */
    CV_WRAP virtual void updateAsync(InputArray image, OutputArray result, Stream& stream = cv::cuda::noStream()) = 0;

    /** @brief Returns the score of the box, 0 to 1: how sure the ferns are that the object is there. It is the largest
    mean posterior of the windows that support the box. It is 0 without one, if the state is LOST, and before init(),
    and 1 directly after init() and resetTo(). Waits. */
    CV_WRAP virtual float getTrackingScore() = 0;
    /** @brief Returns the state after the last frame. LOST (0): there is no box. UNCERTAIN (1): there is a box, but the
    tracker does not trust it, or neither the detector nor the filter finds evidence of the object at it. TRACKING (2):
    there is a box, the tracker trusts it, and the detector or the filter finds evidence at it. Before init() it is
    LOST. Waits. */
    CV_WRAP virtual int getState() const = 0;
    /** @brief Returns where the box of the last frame comes from: NO_EVENT (0), still lost; STARTED (1), init() or
    resetTo(); FLOWED (2), optical flow; CORRECTED (3), flow and the windows around; RETRIED (4), flow from an earlier
    frame; JUMPED (5), a more similar place elsewhere; FOUND_AGAIN (6), found by the learned detector; BECAME_LOST (7),
    no box any more; FILTERED (12), the correlation filter, only with TLDParams.filter. Only in MultiTrackerTLD:
    CONFIRMED (8), a detector's box is associated; RECOGNIZED (9), a detector's box that is similar. After
    JUMPED and FOUND_AGAIN it may be another object that looks alike. Before init() it is NO_EVENT. Waits. */
    CV_WRAP virtual int getEvent() const = 0;
    /** @brief Returns the tracker's box with sub-pixel precision, also if update() returned false; empty if LOST or
    before init(). Waits. */
    CV_WRAP virtual Rect2d getBox() const = 0;
    /** @brief Gets the detections in the last frame; there are none before the first update() and after load(). Waits.
    @param objects host array, table of detections for TLDDetector.convertDetections(): CV_64FC1, 1 + maxDetections
    rows, 8 columns.
    @throws cv::Exception before init(). */
    CV_WRAP virtual void getDetections(OutputArray objects) const = 0;
    /** @brief Gets the templates that the nearest-neighbour stage compares with. Waits.
    @param positive true: templates of the object, the first one learned on top, each later one directly below the one
    that it resembled most; false: templates of background.
    @param templates host array, CV_8UC1, 15 columns, 15 rows for each template.
    @throws cv::Exception before init(). */
    CV_WRAP virtual void getTemplates(bool positive, OutputArray templates) const = 0;

    /** @brief Switches learning on or off from the next call on. Graphs that were captured before keep their setting.
    init() does not reset it, and save() stores it.
    @param learning false: ferns and templates do not change; the filter is trained all the same. Initially it is
    TLDParams.learning. */
    CV_WRAP virtual void setLearning(bool learning) = 0;
    /** @brief Returns whether the model is updated. */
    CV_WRAP virtual bool getLearning() const = 0;
    /** @brief Sets the position of the object in the last frame; the model is kept. Waits. Replays launched before do
    not undo it, and replays launched afterwards continue from it. Edges of a floating-point box are rounded to whole
    pixels.
    @param boundingBox box inside of the image, sides at least 12 and at least TLDParams.minWindow.
    @throws cv::Exception if the box is invalid, before init(), and as long as there is no last frame: after load() of a
    file of TLDDetector until the next frame. */
    CV_WRAP_AS(resetTo) void resetToRounded(const Rect2d& boundingBox);
    /** @brief Sets the position of the object in the last frame; the model is kept. Waits. Replays launched before do
    not undo it, and replays launched afterwards continue from it.
    @param boundingBox box inside of the image, sides at least 12 and at least TLDParams.minWindow.
    @throws cv::Exception if the box is invalid, before init(), and as long as there is no last frame: after load() of a
    file of TLDDetector until the next frame. */
    CV_WRAP virtual void resetTo(const Rect& boundingBox) = 0;
    /** @brief Returns the device and pinned host memory of this instance in bytes; 0 if only the CPU was used. */
    CV_WRAP virtual size_t workspaceBytes() const = 0;

    /** @brief Writes parameters, model and position to a file. A tracker that reads it continues with the next frame or
    with resetTo() as if it had not been interrupted, on either backend. The file is written completely, or the old one
    is unchanged; the file that a symbolic link leads to is written. Waits.
    @param filename path that ends with .xml.
    @throws cv::Exception naming the file if it cannot be written or does not end with .xml, and before init(). */
    CV_WRAP virtual void save(const String& filename) const = 0;
    /** @brief Reads a file written by save(), MultiTrackerTLD.saveObject() or TLDDetector.save(), of at most 64 MiB. A
    file of TLDDetector has no position: the state is LOST until the object is detected. The file is checked completely
    before it is used, so it may come from an untrusted source; read() does not offer this.
    @param filename path.
    @throws cv::Exception naming file and node if something is not valid; the tracker is unchanged then. */
    CV_WRAP virtual void load(const String& filename) = 0;
    //! Writes what save() writes into an open map of a FileStorage. Waits.
    virtual void write(FileStorage& fs) const = 0;
    /** Reads what write() has written. All values are checked; on errors the tracker is unchanged. FileStorage, which
    has parsed the file, is not safe with malicious ones; load() is. */
    virtual void read(const FileNode& fn) = 0;
};

/** @brief Tracks up to 1,024 objects in one video, each like TrackerTLD, and can take boxes of a detector of yours.

Work that does not depend on the object (gray values, blur, integral images, pyramid) is done once per frame, and all
objects pass through each stage together. With GpuMat it saves time to add() objects with boxes of equal sizes: they
share the results of their ferns' pixel comparisons (doc/performance/tld.md).

@code
// Tracks what a detector finds in every fifth frame.
void trackAll(const std::vector<cv::Mat>& frames, const std::vector<std::vector<cv::Rect>>& found)
{
    cv::cuda::TLDParams params;
    params.startFromBoxes = params.correctByBoxes = true;
    params.endAfterMisses = 6;
    const cv::Ptr<cv::cuda::MultiTrackerTLD> tracker = cv::cuda::MultiTrackerTLD::create(params);
    for (size_t i = 0; i < frames.size(); ++i)
    {
        cv::Mat results;
        if (i % 5 == 0)
            tracker->update(frames[i], found[i / 5], results);
        else
            tracker->update(frames[i], results);
        for (int row = 0; row < results.rows; ++row)
            if (results.at<double>(row, cv::cuda::TrackerTLD::RESULT_LOCATED) != 0.)
                std::cout << i << ": object " << results.at<double>(row, cv::cuda::TrackerTLD::RESULT_ID) << " at x "
                          << results.at<double>(row, cv::cuda::TrackerTLD::RESULT_X) << std::endl;
    }
}
@endcode

Without boxes of a detector the object of id 0 gets the results of a TrackerTLD with the same seed. Other objects draw
other random numbers: the object of id k uses the k-th independent sequence of the seed.
What TrackerTLD says about states, images, the table of results, waiting and CUDA graphs holds here. */
class CV_EXPORTS_W MultiTrackerTLD : public Algorithm
{
public:
    /** @brief Creates a tracker without objects. It tracks up to 1,024 objects in one video, each like TrackerTLD.

    add() starts an object from a box. update() processes a frame and returns a table with one row per object: its box,
    state and id. update() with boxes (in Python updateWithBoxes()) takes boxes that a detector of yours has found; with
    params.startFromBoxes these start objects.
    @code{.py}
    >>> random = np.random.default_rng(1)
    >>> image = cv2.resize(random.integers(0, 256, (30, 40), np.uint8), (320, 240))
    >>> tracker = cv2.cuda.MultiTrackerTLD.create()
    >>> [tracker.add(image, box) for box in ((40, 40, 64, 64), (200, 120, 48, 72))]
    [0, 1]
    >>> results = tracker.update(np.roll(image, 2, axis=1))
    >>> results[:, cv2.cuda.TrackerTLD_RESULT_X].round().tolist()
    [42.0, 202.0]
    @endcode
    Calls of several threads on one instance are executed one after another.
    @param params TLDParams of all objects; TrackerTLD.create() explains the members. Default: the defaults of all
    members.
    @throws cv::Exception naming the member that is out of its range. */
    CV_WRAP static Ptr<MultiTrackerTLD> create(const TLDParams& params = TLDParams());
    /** @brief Returns the parameters given to create() or read from a file. */
    CV_WRAP virtual TLDParams getParams() const = 0;

    /** @brief Adds an object. The other objects are not affected: they continue from their last frame. Waits. Edges of
    a floating-point box are rounded to whole pixels.
    @param image the frame in which the object starts: either the one that update() got last, or the one that it gets
    next. Its size, type and memory (host or device) must be those of the frames before, unless there are no objects.
    @param box (x, y, width, height) of the object, inside of the image; sides at least 12 and at least
    TLDParams.minWindow. Some window must overlap it by more than 0.6, and the one that overlaps it most must not be of
    one gray value.
    @param stream stream for a GpuMat; ignored for Mat. Default: the null stream.
    @return id of the object: 0, 1, 2 and so on; ids are not used again.
    @throws cv::Exception if an argument is invalid, if there are 1,024 objects, and if the image is
    neither the last frame nor the next one that an earlier add() was given; nothing is added then. */
    CV_WRAP_AS(add) int addRounded(InputArray image, const Rect2d& box, Stream& stream = cv::cuda::noStream());
    /** @brief Adds an object. The other objects are not affected: they continue from their last frame. Waits.
    @param image the frame in which the object starts: either the one that update() got last, or the one that it gets
    next. Its size, type and memory (host or device) must be those of the frames before, unless there are no objects.
    @param box (x, y, width, height) of the object, inside of the image; sides at least 12 and at least
    TLDParams.minWindow. Some window must overlap it by more than 0.6, and the one that overlaps it most must not be of
    one gray value.
    @param stream stream for a GpuMat; ignored for Mat. Default: the null stream.
    @return id of the object: 0, 1, 2 and so on; ids are not used again.
    @throws cv::Exception if an argument is invalid, if there are 1,024 objects, and if the image is
    neither the last frame nor the next one that an earlier add() was given; nothing is added then. */
    CV_WRAP virtual int add(InputArray image, const Rect& box, Stream& stream = cv::cuda::noStream()) = 0;
    /** @brief Removes an object. The rows of later objects in results move up; their ids do not change.
    @param id id returned by add().
    @throws cv::Exception if there is no such object. */
    CV_WRAP virtual void remove(int id) = 0;
    /** @brief Tracks all objects in the next frame. Waits only if image is a GpuMat and results is a Mat, UMat or
    std::vector.
    @param image next frame, of the size, type and memory (host or device) of the first one.
    @param results CV_64FC1, one row per object in the order of getIds(), 12 columns: x, y, width, height, score, state
    (0 LOST, 1 UNCERTAIN, 2 TRACKING), located (1 or 0), learned (1 or 0), event (TrackerTLD.getEvent()), id, box
    (-1 here), confidence of the filter (0 without TLDParams.filter). Empty, in Python None, if there are no objects.
    @param stream stream for a GpuMat; ignored for Mat. Default: the null stream.
    @throws cv::Exception if an argument is invalid. */
    CV_WRAP virtual void update(InputArray image, OutputArray results, Stream& stream = cv::cuda::noStream()) = 0;
    /** @brief Tracks all objects in the next frame, in which a detector of yours has found boxes. In Python it is
    called updateWithBoxes(), and image and boxes are both on the host or both GpuMat.

    With a GpuMat the call waits if results is a Mat, UMat or std::vector, or if TLDParams.startFromBoxes or
    endAfterMisses is set. With one of these two it cannot be captured, and results must be resizable: no std::vector.

    __Association.__ Each box is clipped to the image, and ignored if a side is then shorter than 12 pixels. Each box is
    associated with at most one object, each object with at most one box, after optical flow:
    - Pass 1, objects that have a box: pairs that overlap by at least TLDParams.boxOverlap, the largest overlap first.
      With TLDParams.verifyBoxes, only pairs whose relative similarity is above the threshold for accepted windows.
    - Pass 2, LOST objects, only if TLDParams.findByBoxes is set: pairs whose relative similarity is above the threshold
      for accepted windows, the largest conservative similarity first.
    - Of pairs with equal values the one with the first object comes first, then the one with the first box.

    __Effect on an associated object.__ It becomes valid, counts as supported, and does not jump, so its model may learn
    from the frame. With TLDParams.verifyBoxes it becomes valid only if the conservative similarity of the detector's
    box is above the validity threshold, otherwise it remains as it was, a lost object not valid; and the box does not
    count as support. If it fails the check before learning, it is UNCERTAIN in this frame. Its score is that of its own
    ferns, so with TLDParams.minReplyScore it may still not be located.
    - Pass 1, event CONFIRMED: it takes over the detector's box if TLDParams.correctByBoxes is set. Otherwise its box is
      that of flow and correction, the same as without boxes.
    - Pass 2, event RECOGNIZED: its box is set to the detector's.

    __End of objects__, if TLDParams.endAfterMisses is above 0: after the frame, objects are removed that no box was
    associated with in endAfterMisses successive calls with boxes. A box that the call ignores (too small, or beyond the
    first 256) is associated with none.

    __Start of objects__, if TLDParams.startFromBoxes is set: then each box starts an object with the next id (event
    STARTED) by add(), except
    - a box that is associated with an object,
    - a box that overlaps the part of an object inside of the image by boxOverlap or more,
    - a box with a side below 12 pixels or below TLDParams.minWindow,
    - a box that cannot be learned: it is of one gray value, or no window overlaps it by more than 0.6,
    - any box while there are 1,024 objects.

    @param image next frame, of the size, type and memory (host or device) of the first one.
    @param boxes at most 256 boxes (x, y, width, height) on the host: std::vector<Rect>, CV_32SC4, or CV_32SC1 with 4
    columns; in Python also a list of tuples. Or, if image is a GpuMat, a GpuMat: one row of
    CascadeClassifierEx.detectAsync(), of which the first 256 boxes are used; in a Mat its head (n, found, candidates,
    overflow) would be taken for a box: use convertDetections(). An empty list means that the detector has found
    nothing. noArray() means that it did not run: this is update() without boxes. In Python call update() for that,
    because None counts as an empty list.
    @param results CV_64FC1, one row per object in the order of getIds() after the call, 12 columns: x, y, width,
    height, score, state, located, learned, event, id, box: index in boxes of the box that is associated with the object
    or has started it, or -1; confidence of the filter.
    @param stream stream for a GpuMat; ignored for Mat. Default: the null stream.
    @throws cv::Exception if an argument is invalid, if there is not enough memory for the frame, if CUDA fails, or if
    fewer ids are left than there are boxes that may start objects. The frame has then not been processed, except in
    two cases, after which the next frame comes:
    - memory or CUDA fails while an object starts: objects have ended, those that started before are kept, and results
      has the rows of getIds();
    - memory for results is missing after that: only results are lost. */
    CV_WRAP_AS(updateWithBoxes)
    virtual void update(InputArray image, InputArray boxes, OutputArray results,
                        Stream& stream = cv::cuda::noStream()) = 0;

    /** @brief Returns the ids of the objects in ascending order: element i is the id of row i of the results. */
    CV_WRAP virtual std::vector<int> getIds() const = 0;
    /** @brief Gets the detections of an object in the last frame. Waits.
    @param id id returned by add().
    @param objects host array, table of detections for TLDDetector.convertDetections().
    @throws cv::Exception if there is no such object. */
    CV_WRAP virtual void getDetections(int id, OutputArray objects) const = 0;
    /** @brief Gets the templates of an object. Waits.
    @param id id returned by add().
    @param positive true: templates of the object, the first one learned on top, each later one directly below the one
    that it resembled most; false: templates of background.
    @param templates host array, CV_8UC1, 15 columns, 15 rows for each template.
    @throws cv::Exception if there is no such object. */
    CV_WRAP virtual void getTemplates(int id, bool positive, OutputArray templates) const = 0;
    /** @brief Switches learning of all objects on or off from the next call on. Graphs that were captured before keep
    their setting, and save() stores it.
    @param learning false: the models do not change. Initially it is TLDParams.learning. */
    CV_WRAP virtual void setLearning(bool learning) = 0;
    /** @brief Returns whether the models are updated. */
    CV_WRAP virtual bool getLearning() const = 0;
    /** @brief Sets the position of an object in the newest image given to update() or add(); its model is kept. Waits.
    Replays launched before do not undo it, and replays launched afterwards continue from it. Edges of a floating-point
    box are rounded to whole pixels.
    @param id id returned by add().
    @param box box inside of the image, sides at least 12 and at least TLDParams.minWindow.
    @throws cv::Exception if there is no such object or the box is invalid. */
    CV_WRAP_AS(resetTo) void resetToRounded(int id, const Rect2d& box);
    /** @brief Sets the position of an object in the newest image given to update() or add(); its model is kept. Waits.
    Replays launched before do not undo it, and replays launched afterwards continue from it.
    @param id id returned by add().
    @param box box inside of the image, sides at least 12 and at least TLDParams.minWindow.
    @throws cv::Exception if there is no such object or the box is invalid. */
    CV_WRAP virtual void resetTo(int id, const Rect& box) = 0;
    /** @brief Writes parameters, model and position of one object to a file, for TrackerTLD.load() and addFromFile().
    The file is written completely, or the old one is unchanged. Waits.
    @param id id returned by add().
    @param filename path that ends with .xml.
    @throws cv::Exception if there is no such object, or if the file cannot be written or does not end with
    .xml. */
    CV_WRAP virtual void saveObject(int id, const String& filename) const = 0;
    /** @brief Adds an object from a file written by TLDDetector.save(), TrackerTLD.save() or saveObject(). It is LOST
    until it is detected, or until resetTo(). The file is checked completely before it is used, so it may come from an
    untrusted source. Waits.
    @param image the frame that update() got last, or the one that it gets next; of the size of the images that the file
    was made with.
    @param filename path of a file of at most 64 MiB.
    @param stream stream for a GpuMat; ignored for Mat. Default: the null stream.
    @return id of the object.
    @throws cv::Exception naming file and node if something is not valid, and if parameters in the file differ from this
    tracker's. Not compared are seed, learning, minReplyScore, clipBoxes, filter, boxOverlap, verifyBoxes,
    correctByBoxes, findByBoxes, startFromBoxes and endAfterMisses, for which this tracker's values hold. */
    CV_WRAP virtual int addFromFile(InputArray image, const String& filename,
                                    Stream& stream = cv::cuda::noStream()) = 0;
    /** @brief Returns the device and pinned host memory of this instance in bytes; 0 if only the CPU was used. */
    CV_WRAP virtual size_t workspaceBytes() const = 0;
    /** @brief Removes all objects and frees all memory that no captured call has used. The next add() may use images of
    another size. Ids continue: they are not used again. */
    CV_WRAP virtual void clear() CV_OVERRIDE = 0;
    /** @brief Returns true if there are no objects. */
    CV_WRAP virtual bool empty() const CV_OVERRIDE = 0;
    /** @brief Writes parameters, all objects with their ids, and their positions to a file. A tracker that reads it
    continues as if it had not been interrupted, on either backend. The file is written completely, or the old one is
    unchanged. Waits.
    @param filename path that ends with .xml.
    @throws cv::Exception naming the file if it cannot be written or does not end with .xml. */
    CV_WRAP virtual void save(const String& filename) const CV_OVERRIDE = 0;
    /** @brief Reads a file written by save(), of at most 512 MiB, and replaces all objects. The file is checked
    completely before it is used, so it may come from an untrusted source; read() and Algorithm::load() do not offer
    this.
    @param filename path.
    @throws cv::Exception naming file and node if something is not valid; the tracker is unchanged then. */
    CV_WRAP virtual void load(const String& filename) = 0;
    //! Writes what save() writes into an open map of a FileStorage. Waits.
    virtual void write(FileStorage& fs) const CV_OVERRIDE = 0;
    /** Reads what write() has written. All values are checked; on errors the tracker is unchanged. FileStorage, which
    has parsed the file, is not safe with malicious ones; load() is. */
    virtual void read(const FileNode& fn) CV_OVERRIDE = 0;
    /** @brief Returns the name of the class in files: "MultiTrackerTLD". */
    CV_WRAP virtual String getDefaultName() const CV_OVERRIDE;
};

//! @}

}} // namespace cv::cuda

#endif // OPENCV_CUDATRACKING_TLD_TRACKER_HPP
