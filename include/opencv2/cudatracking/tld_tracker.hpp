// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// over budget: OpenCV's Python help() shows only the comments before methods, so each repeats what its caller needs.
#ifndef OPENCV_CUDATRACKING_TLD_TRACKER_HPP
#define OPENCV_CUDATRACKING_TLD_TRACKER_HPP

#include "opencv2/video/tracking.hpp"
#include "opencv2/cudatracking/tld.hpp"

namespace cv { namespace cuda {

//! @addtogroup cudatracking
//! @{

/** @brief Tracking-Learning-Detection of one object in a video, as a cv::Tracker.

In each frame optical flow moves the box of the object, a TLDDetector searches the whole image, and the detector learns
from what the two agree on. A lost object is found again when it comes back.

**Terms** (similarities, mean posterior, accepted window: see TLDDetector). *Similarity* is the conservative one here.
- A box is *valid*, which means trusted, from when its similarity, or that of a cluster on it (see below), is above the
  validity threshold. It stays valid until one of the events below ends that.
- A box is *supported* in a frame if the detector has weak evidence for it: the posteriors of all ferns sum to 1 or more
  for some window that passes the variance filter and overlaps the box by more than 0.6. It is *unconfirmed* if it is
  not valid, nor similar enough to become so, and no cluster is on it. A box set to a cluster counts as supported.
- The *score* of a box, 0 to 1, tells how sure the ferns are that the object is there: it is the largest mean posterior
  of the windows that support the box, and 0 without one. If the box begins at a cluster, it is the largest mean
  posterior of the cluster's windows. A box that starts an object, or that resetTo() sets, has the score 1 until the
  next frame.
- A *cluster* is a set of accepted windows that are connected by overlaps of at least 0.5; its box and similarity are
  the means. It is *on the box* if they overlap by at least 0.5, else *elsewhere*.

| state         | box                    | update() returns                         | the detector learns           |
|---------------|------------------------|------------------------------------------|-------------------------------|
| TRACKING (2)  | valid and supported    | true, but false if score < minReplyScore | if the check below passes     |
| UNCERTAIN (1) | not valid, supported   | true, but false if score < minReplyScore | no                            |
| UNCERTAIN (1) | unsupported            | false                                    | if valid and the check passes |
| LOST (0)      | none                   | false                                    | no                            |

The check: the relative similarity of the final box is at least 0.5, it has at least half the variance of the object's
first window, and no negative template has a similarity S above 0.95 to it.

| event in a frame                                                                          | effect                  |
|-------------------------------------------------------------------------------------------|-------------------------|
| init(), resetTo()                                                                         | valid                   |
| similarity above the validity threshold, or a cluster on the box with such a similarity   | valid                   |
| the check fails, and there are at least 5 positive templates                              | not valid               |
| a single cluster elsewhere exceeds the box, see below                                     | begins there, not valid |
| LOST, and exactly one cluster                                                             | begins there, not valid |
| flow: median forward-backward error above maxFlowError, but at least ten points return    | not valid               |
| flow fails: as above, but fewer than ten points return, or similarity 0.5 or less         | LOST                    |
| flow fails: no point is left                                                              | LOST                    |
| the box leaves the image                                                                  | LOST                    |
| unsupported for the maxUnsupported-th frame in a row                                      | LOST                    |
| unsupported, after maxProbation or more unconfirmed frames in a row                       | LOST                    |

A point returns if its forward-backward error is at most 2 pixels and at most maxFlowError. Where the other points are
wrong, the box follows those that return. They may belong to the background, so the box is not valid, and must be
similar to the object.

A cluster elsewhere exceeds the box if its similarity is larger than that of the box by jumpMargin, and larger than that
of each cluster on the box. If it does not touch the box, the largest mean posterior of its windows must also be larger
than the score of the box by jumpMargin.

An event that makes an object LOST comes before the clusters are used, so the same frame may find it again. After failed
flow, flow from the last box is tried again in the next retryFrames frames, as long as nothing else has found the
object.

If update() returns false, the caller's box is left unchanged; getBox() has the tracker's own box unless the state is
LOST. The first call of update() takes the frame after that of init(). Boxes may lie partly outside of the image, as
objects do that leave it, unless TLDParams.clipBoxes is set.

Each object has exactly one Event per frame, a value of the enum below: where its box comes from. After JUMPED and
FOUND_AGAIN only the learned detector has found the object at the box, so the box may be on another object of the same
appearance; an application that must not confuse objects checks it there.

**Images, determinism, CUDA graphs, order of replays**: see TLDDetector. All frames must have the size, type and memory
of the one given to init(). If updateAsync() is captured into a CUDA graph, each replay processes one frame.
**Waiting, lifetimes, threads**: see the tables in cudatracking.hpp. Calls of several threads are executed one after
another; frames then come in the order in which the threads get their turn.
**Table of results** (updateAsync(), MultiTrackerTLD): CV_64FC1, one row per object, 11 columns: x, y, width, height
(sub-pixel; 0 if LOST), score 0 to 1, state, located (1 or 0: what update() returns), learned (1 or 0: whether the
detector learned from this frame), event, id (of MultiTrackerTLD; 0 for an object of init()), box (index of the
detector's box that is associated with the object or has started it, -1 without; see MultiTrackerTLD.update() with
boxes).

Source: Z. Kalal, K. Mikolajczyk, J. Matas, Tracking-Learning-Detection, PAMI 2012; I. Gurcan, A hybrid CPU-GPU
implementation of tracking-learning-detection, 2014. Definition in full, quality, cost: doc/tld.md. */
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

    //! Origin of the box of an object in a frame. If several apply, the one that is listed last.
    enum Event
    {
        NO_EVENT = 0,    //!< nothing: the object was LOST before the frame and still is
        STARTED = 1,     //!< init(), add(), resetTo() or a detector's box has started it; no frame came since
        FLOWED = 2,      //!< optical flow from the last frame
        CORRECTED = 3,   //!< flow, and then a correction: the mean of the box and the detected windows around it
        RETRIED = 4,     //!< flow from an earlier frame, after flow had failed
        JUMPED = 5,      //!< the box left its place for a single cluster elsewhere that exceeded it
        FOUND_AGAIN = 6, //!< the object was LOST, before the frame or in it, and begins at the only cluster
        BECAME_LOST = 7, //!< the object had a box after the last frame and has none any more
        CONFIRMED = 8,   //!< a detector's box is associated with the object; see MultiTrackerTLD.update() with boxes
        RECOGNIZED = 9   //!< the object was LOST, and begins at a detector's box that is similar to it
    };

    //! Columns of the table of results of updateAsync() and MultiTrackerTLD::update().
    enum ResultColumn
    {
        RESULT_X = 0,       //!< left edge of the box, pixels; 0 if LOST
        RESULT_Y = 1,       //!< upper edge of the box, pixels; 0 if LOST
        RESULT_WIDTH = 2,   //!< width of the box, pixels; 0 if LOST
        RESULT_HEIGHT = 3,  //!< height of the box, pixels; 0 if LOST
        RESULT_SCORE = 4,   //!< score of the box, 0 to 1; 0 if LOST or unsupported
        RESULT_STATE = 5,   //!< State
        RESULT_LOCATED = 6, //!< 1 if update() returns true, else 0
        RESULT_LEARNED = 7, //!< 1 if the detector learned from the frame, else 0
        RESULT_EVENT = 8,   //!< Event
        RESULT_ID = 9,      //!< id of MultiTrackerTLD; 0 for an object of init()
        RESULT_BOX = 10,    //!< index of the detector's box that is associated or has started the object; -1: none
        RESULT_COLUMNS = 11 //!< number of columns
    };

    /** @brief Creates a tracker; init() gives it an object. Calls of several threads on one object are executed one
    after another.
    @param params object with the members below, in Python p = cv2.cuda.TLDParams(); p.seed = 7. Default: the
    defaults of all members.
    seed: int, 0 or more; seed of all random choices, equal seeds give identical runs. Default 1.
    learning: bool; whether the model is updated after init(). Default True.
    mirror: bool; whether ferns are also trained on mirror images of the object. Default False.
    minReplyScore: float, 0 to 1; score below which an object is not located: update() returns False. Default 0.
    clipBoxes: bool; whether reported boxes are clipped to the image. Default False.
    boxOverlap: float, 0.01 to 1; smallest overlap of a detector's box with the object that it is associated with, see
    MultiTrackerTLD.updateWithBoxes(). Default 0.3.
    correctByBoxes: bool; whether an object's box becomes the box that it is associated with. Default False.
    findByBoxes: bool; whether LOST objects are associated with boxes that are similar to them. Default False.
    startFromBoxes: bool; whether boxes that are associated with no object start new ones. Default False.
    endAfterMisses: int, 0 or more; successive calls with boxes in which none is associated with an object, after which
    the object is removed; 0: never. Default 0.
    minWindow: int, 12 to 16384; smallest side of a window, pixels; 0: min(24, max(12, shorter side / 1.44)),
    the quotient rounded down. Default 0.
    scaleFactor: float, 1.01 to 2; ratio of window sizes of successive scales. Default 1.2.
    scales: int, 0 to 20; number of scales below and also above the object's size. Default 10.
    stepPercent: int, 1 to 100; distance of windows, % of the shorter side horizontally, of the height vertically.
    Default 10.
    trees: int, 1 to 16; number of ferns. Default 10.
    features: int, 1 to 16; pixel comparisons per fern; trees * features is at most 164. Default 13.
    fernThreshold: float, 0 to 1; initial threshold on the mean fern posterior of a window. Default 0.5.
    maxDetections: int, 1 to 128; maximum number of windows that reach the nearest-neighbour stage. Default 100.
    nnThreshold: float, 0 to 1; initial threshold on the relative similarity of accepted windows. Default 0.65.
    validThreshold: float, 0 to 1; initial threshold on the conservative similarity of valid boxes. Default 0.7.
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
    maxFlowError: float, 0 to 16384; median forward-backward error in pixels above which most points of a box are
    wrong. Flow has failed then, unless ten or more points have an error of at most 2. Default 10.
    retryFrames: int, 0 to 3; number of frames after a failure in which flow is tried again. Default 3.
    maxUnsupported: int, 0 or more; unsupported frames in a row that end in LOST; 0: no limit. Default 3.
    maxProbation: int, 0 or more; after so many unconfirmed frames in a row the first unsupported one ends in LOST; 0:
    no limit. Default 100.
    jumpMargin: float, 0 to 1; margin by which a cluster elsewhere must exceed the box. Default 0.1.
    firstJumpMargin: float, 0 to 1; jumpMargin while there are fewer than five positive templates. Default 0.2.
    @throws cv::Exception naming the member that is out of its range. */
    CV_WRAP static Ptr<TrackerTLD> create(const TLDParams& params = TLDParams());
    /** @brief Returns the parameters given to create() or read from a file. */
    CV_WRAP virtual TLDParams getParams() const = 0;

    // The generator of cv2 calls the first function of a name for all overloads of that name in Python, so those for
    // boxes of fractions, which take whole numbers too, come first.
    /** @brief Runs init() with a box of fractions, whose edges are rounded to whole pixels; in Python it is an overload
    of init().
    @param image,boundingBox arguments as in init(). */
    CV_WRAP_AS(init) void initRounded(InputArray image, const Rect2d& boundingBox);
    /** @brief Learns an object and forgets an older one. Uses the null stream and waits.
    @param image image as in TLDDetector.init().
    @param boundingBox (x, y, width, height) of the object, inside of the image, sides at least 12 and at least
    TLDParams.minWindow.
    @throws cv::Exception if an argument is invalid; the old model stays. */
    CV_WRAP virtual void init(InputArray image, const Rect& boundingBox) CV_OVERRIDE = 0;
    /** @brief Tracks the object in the next frame. Uses the null stream and waits.
    @param image next frame, of the size, type and memory (host or device) of the one in init().
    @param boundingBox output: box of the object, perhaps partly outside of the image unless TLDParams.clipBoxes is set;
    x, y, width and height are rounded one by one; unchanged if it was not located.
    @return true if there is a supported box of at least TLDParams.minReplyScore. In state UNCERTAIN it may be wrong.
    @throws cv::Exception if the image is invalid, and before init(). */
    CV_WRAP virtual bool update(InputArray image, CV_OUT Rect& boundingBox) CV_OVERRIDE = 0;

    /** @brief Tracks the object in the next frame. Waits only if image is a GpuMat and result is a Mat, UMat or
    std::vector.
    @param image next frame, of the size, type and memory (host or device) of the one in init().
    @param result CV_64FC1, 1 row with the columns RESULT_X (0), RESULT_Y (1), RESULT_WIDTH (2) and RESULT_HEIGHT (3) of
    the box, RESULT_SCORE (4), RESULT_STATE (5), RESULT_LOCATED (6), 1 or 0, RESULT_LEARNED (7), 1 or 0,
    RESULT_EVENT (8), RESULT_ID (9) and RESULT_BOX (10), here -1; RESULT_COLUMNS (11) in all.
    @param stream stream for a GpuMat; ignored for Mat. Default: the null stream.
    @throws cv::Exception if an argument is invalid, and before init(). */
    CV_WRAP virtual void updateAsync(InputArray image, OutputArray result, Stream& stream = cv::cuda::noStream()) = 0;

    /** @brief Returns the score of the box, 0 to 1: how sure the ferns are that the object is there. It is 0 if no
    window supports the box, if the state is LOST, and before init(), and 1 directly after init() and resetTo(). Waits.
    */
    CV_WRAP virtual float getTrackingScore() = 0;
    /** @brief Returns the state after the last frame: LOST (0), UNCERTAIN (1) or TRACKING (2). Before init() it is
    LOST. Waits. */
    CV_WRAP virtual int getState() const = 0;
    /** @brief Returns where the box of the last frame comes from, an Event: NO_EVENT (0), STARTED (1), FLOWED (2),
    CORRECTED (3), RETRIED (4), JUMPED (5), FOUND_AGAIN (6), BECAME_LOST (7), CONFIRMED (8) or RECOGNIZED (9).
    Before init() it is NO_EVENT. Waits. */
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
    @param positive true: templates of the object; false: templates of background. The order is that of
    TLDDetector.getTemplates().
    @param templates host array, CV_8UC1, 15 columns, 15 rows for each template.
    @throws cv::Exception before init(). */
    CV_WRAP virtual void getTemplates(bool positive, OutputArray templates) const = 0;

    /** @brief Switches learning on or off from the next call on. Graphs that were captured before keep their setting.
    init() does not reset it, and save() stores it.
    @param learning false: the model does not change. Initially it is TLDParams.learning. */
    CV_WRAP virtual void setLearning(bool learning) = 0;
    /** @brief Returns whether the model is updated. */
    CV_WRAP virtual bool getLearning() const = 0;
    /** @brief Runs resetTo() with a box of fractions, whose edges are rounded to whole pixels; in Python it is an
    overload of resetTo().
    @param boundingBox box as in resetTo(). */
    CV_WRAP_AS(resetTo) void resetToRounded(const Rect2d& boundingBox);
    /** @brief Sets the position of the object in the last frame; the model is kept. Waits. Replays launched before do
    not undo it, and replays launched afterwards continue from it.
    @param boundingBox box inside of the image, sides as in init().
    @throws cv::Exception if the box is invalid, before init(), and as long as there is no last frame. It is missing
    after load() of a file of a TLDDetector, or of a file of an older version whose object was lost. */
    CV_WRAP virtual void resetTo(const Rect& boundingBox) = 0;
    /** @brief Returns the device and pinned host memory of this instance in bytes; 0 if only the CPU was used. */
    CV_WRAP virtual size_t workspaceBytes() const = 0;

    /** @brief Writes parameters, model and position to a file. A tracker that reads it continues with the next frame or
    with resetTo() as if it had not been interrupted, on either backend. The file is written completely or the old one
    stays; a symbolic link stays one. Waits.
    @param filename path that ends with .xml, .yml, .yaml or .json.
    @throws cv::Exception naming the file if it cannot be written, and before init(). */
    CV_WRAP virtual void save(const String& filename) const = 0;
    /** @brief Reads a file written by save(), MultiTrackerTLD.saveObject() or TLDDetector.save(), of at most 64 MiB.
    After a file of a TLDDetector the state is LOST until the object is detected, because it has no position. The file
    is checked completely before it is used, so it may come from an untrusted source; read() and Algorithm::load() do
    not offer this.
    @param filename path.
    @throws cv::Exception naming file and node if something is not valid; the tracker stays unchanged. */
    CV_WRAP virtual void load(const String& filename) = 0;
    //! Writes what save() writes into an open map of a FileStorage. Waits.
    virtual void write(FileStorage& fs) const = 0;
    /** Reads what write() has written. All values are checked; on errors the tracker stays unchanged. read() and
    Algorithm::load<TrackerTLD>() get nodes that FileStorage has parsed, and FileStorage does not withstand malicious
    files as load() does. */
    virtual void read(const FileNode& fn) = 0;
};

/** @brief TrackerTLD for several objects in one video. The work that does not depend on the object (gray values, blur,
integral images, pyramid) is done once per frame, and all objects pass through each stage together. With GpuMat, objects
whose boxes had equal sizes when they were added also share the results of their ferns' pixel comparisons, which saves
time (doc/performance/tld.md).

Without boxes of a detector each object gets the results that a TrackerTLD of its own would give, apart from random
numbers: the object of id 0 uses those of a TrackerTLD with the same seed, the object of id k uses the k-th independent
sequence of that seed. Up to 1,024 objects.
What TrackerTLD says about states, images, the table of results, waiting and CUDA graphs holds here. */
class CV_EXPORTS_W MultiTrackerTLD : public Algorithm
{
public:
    /** @brief Creates a tracker without objects. Calls of several threads on one object are executed one after another.
    @param params parameters of all objects, with members as in TrackerTLD.create(). Default: the defaults of all
    members.
    @throws cv::Exception naming the member that is out of its range. */
    CV_WRAP static Ptr<MultiTrackerTLD> create(const TLDParams& params = TLDParams());
    /** @brief Returns the parameters given to create() or read from a file. */
    CV_WRAP virtual TLDParams getParams() const = 0;

    /** @brief Runs add() with a box of fractions, whose edges are rounded to whole pixels; in Python it is an overload
    of add().
    @param image,box,stream arguments as in add(). Default: the null stream.
    @return id of the object. */
    CV_WRAP_AS(add) int addRounded(InputArray image, const Rect2d& box, Stream& stream = cv::cuda::noStream());
    /** @brief Adds an object. The other objects are not affected: they continue from their last frame. Waits.
    @param image the new frame, before or after it is given to update(): either the last frame given to update(), or the
    next one, which must then be passed to update() afterwards. The object begins in it. Its size, type and memory (host
    or device) must be those of the frames before, unless there are no objects.
    @param box (x, y, width, height) of the object in image, as in TLDDetector.init().
    @param stream stream for a GpuMat; ignored for Mat. Default: the null stream.
    @return id of the object: 0, 1, 2 and so on; ids are not used again.
    @throws cv::Exception if an argument is invalid, and if an earlier add() since the last update() was given another
    next frame; nothing is added then. */
    CV_WRAP virtual int add(InputArray image, const Rect& box, Stream& stream = cv::cuda::noStream()) = 0;
    /** @brief Removes an object. The rows of later objects in results move up; ids stay.
    @param id id returned by add().
    @throws cv::Exception if there is no such object. */
    CV_WRAP virtual void remove(int id) = 0;
    /** @brief Tracks all objects in the next frame. Waits only if image is a GpuMat and results is a Mat, UMat or
    std::vector.
    @param image next frame, of the size, type and memory (host or device) of the first one.
    @param results CV_64FC1, one row per object in the order of getIds(), 11 columns: x, y, width, height, score, state
    (0 LOST, 1 UNCERTAIN, 2 TRACKING), located (1 or 0), learned (1 or 0), event (TrackerTLD.getEvent()), id, box
    (-1 here). Empty, in Python None, if there are no objects.
    @param stream stream for a GpuMat; ignored for Mat. Default: the null stream.
    @throws cv::Exception if an argument is invalid. */
    CV_WRAP virtual void update(InputArray image, OutputArray results, Stream& stream = cv::cuda::noStream()) = 0;
    /** @brief Runs update() for a frame in which a detector of the user has found boxes. In Python it is called
    updateWithBoxes(), and image and boxes are both on the host or both GpuMat.
    - Each box is clipped to the image, and ignored if a side is then shorter than 12 pixels.
    - Boxes are associated with objects after optical flow: each box with at most one object, each object with at most
      one box. Pass 1: objects that have a box; pairs that overlap by at least TLDParams.boxOverlap, the largest overlap
      first. Pass 2, only if TLDParams.findByBoxes is set: LOST objects; pairs whose relative similarity is above the
      object's acceptance threshold, the largest conservative similarity first. Of pairs with equal values the one with
      the first object comes first, then the one with the first box.
    - An associated object becomes valid and counts as supported, so its model may learn from the frame, and it does not
      jump. The check before learning may end its validity in the same frame: it is UNCERTAIN then. Its score is
      computed as without boxes, so with TLDParams.minReplyScore it may not be located. Pass 1, event CONFIRMED: its box
      becomes the detector's if TLDParams.correctByBoxes is set; else flow and windows decide it as without boxes.
      Pass 2, event RECOGNIZED: the object begins at the detector's box.
    - If TLDParams.endAfterMisses or startFromBoxes is set, the call waits for GpuMat, cannot be captured, and needs
      results that can be resized, not a std::vector. After the frame it removes the objects that no box was associated
      with in endAfterMisses successive calls with boxes. The results have the rows of getIds() after all this.
    - Then, with startFromBoxes, each box starts an object with the next id (event STARTED), as add() does, except: a
      box that is associated; one that overlaps the part of an object inside of the image by boxOverlap or more; one of
      a side below 12 or TLDParams.minWindow; one that cannot be learned (one gray value, or no window overlaps it by
      more than 0.6); any box if there are 1,024 objects.

    @param image,stream arguments as in the other update(). Default of stream: the null stream.
    @param boxes at most 256 boxes (x, y, width, height) on the host: std::vector<Rect>, CV_32SC4, or CV_32SC1 with 4
    columns; in Python also a list of tuples. Or, if image is a GpuMat, a GpuMat: one row of
    CascadeClassifierEx.detectAsync(), of which the first 256 boxes are used. An empty list: the detector has found
    nothing. noArray(): it did not run, as in the other update(); in Python call that one, as None is an empty list.
    @param results table as in the other update(). Column box: index in boxes of the box that is associated with the
    object or has started it, or -1.
    @throws cv::Exception if an argument is invalid, if there is not enough memory for the frame, if CUDA fails, or
    fewer ids are left than there are boxes that may start objects; the frame has not been processed then. Except: if
    memory or CUDA fails while an object starts, the frame has been processed: objects have ended, those that started
    before stay, and results has the rows of getIds(). If memory for results is missing then, all objects have started
    and ended, and only results are lost. Go on with the next frame in both cases. */
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
    @param positive true: templates of the object; false: templates of background. The order is that of
    TLDDetector.getTemplates().
    @param templates host array, CV_8UC1, 15 columns, 15 rows for each template.
    @throws cv::Exception if there is no such object. */
    CV_WRAP virtual void getTemplates(int id, bool positive, OutputArray templates) const = 0;
    /** @brief Switches learning of all objects on or off from the next call on; see TrackerTLD.setLearning().
    @param learning false: the models do not change. Initially it is TLDParams.learning. */
    CV_WRAP virtual void setLearning(bool learning) = 0;
    /** @brief Returns whether the models are updated. */
    CV_WRAP virtual bool getLearning() const = 0;
    /** @brief Runs resetTo() with a box of fractions, whose edges are rounded to whole pixels; in Python it is an
    overload of resetTo().
    @param id,box arguments as in resetTo(). */
    CV_WRAP_AS(resetTo) void resetToRounded(int id, const Rect2d& box);
    /** @brief Sets the position of an object in the newest image given to update() or add(); its model is kept. Waits.
    The order with replays is that of TrackerTLD.resetTo().
    @param id id returned by add().
    @param box box inside of the image, sides at least 12 and at least TLDParams.minWindow.
    @throws cv::Exception if there is no such object or the box is invalid. */
    CV_WRAP virtual void resetTo(int id, const Rect& box) = 0;
    /** @brief Writes one object to a file, as TrackerTLD.save(). Waits.
    @param id id returned by add().
    @param filename path that ends with .xml, .yml, .yaml or .json.
    @throws cv::Exception if there is no such object or the file cannot be written. */
    CV_WRAP virtual void saveObject(int id, const String& filename) const = 0;
    /** @brief Adds an object from a file of TLDDetector, TrackerTLD or saveObject(). It is LOST until it is detected,
    or until resetTo(). The file is checked as by TrackerTLD.load(). Waits.
    @param image image as in add(), of the size of the images that the file was made with.
    @param filename path.
    @param stream stream for a GpuMat; ignored for Mat. Default: the null stream.
    @return id of the object.
    @throws cv::Exception naming file and node if something is not valid, and if parameters in the file differ from this
    tracker's; seed, learning, minReplyScore, clipBoxes, boxOverlap, correctByBoxes, findByBoxes, startFromBoxes and
    endAfterMisses may differ: those of this tracker apply. */
    CV_WRAP virtual int addFromFile(InputArray image, const String& filename,
                                    Stream& stream = cv::cuda::noStream()) = 0;
    /** @brief Returns the device and pinned host memory of this instance in bytes; 0 if only the CPU was used. */
    CV_WRAP virtual size_t workspaceBytes() const = 0;
    /** @brief Removes all objects and frees all memory that no graph refers to. The next add() may use images of
    another size. Ids continue: they are not used again. */
    CV_WRAP virtual void clear() CV_OVERRIDE = 0;
    /** @brief Returns true if there are no objects. */
    CV_WRAP virtual bool empty() const CV_OVERRIDE = 0;
    /** @brief Writes parameters, all objects with their ids, and their positions to a file. A tracker that reads it
    continues as if it had not been interrupted, on either backend. The file is written completely or the old one stays.
    Waits.
    @param filename path that ends with .xml, .yml, .yaml or .json.
    @throws cv::Exception naming the file if it cannot be written. */
    CV_WRAP virtual void save(const String& filename) const CV_OVERRIDE = 0;
    /** @brief Reads a file written by save(), of at most 512 MiB, and replaces all objects. The file is checked
    completely before it is used, so it may come from an untrusted source; read() and Algorithm::load() do not offer
    this.
    @param filename path.
    @throws cv::Exception naming file and node if something is not valid; the tracker stays unchanged. */
    CV_WRAP virtual void load(const String& filename) = 0;
    //! Writes what save() writes into an open map of a FileStorage. Waits.
    virtual void write(FileStorage& fs) const CV_OVERRIDE = 0;
    /** Reads what write() has written; see TrackerTLD::read(): FileStorage does not withstand malicious files as load()
    does. */
    virtual void read(const FileNode& fn) CV_OVERRIDE = 0;
    /** @brief Returns the name of the class in files: "MultiTrackerTLD". */
    CV_WRAP virtual String getDefaultName() const CV_OVERRIDE;
};

//! @}

}} // namespace cv::cuda

#endif // OPENCV_CUDATRACKING_TLD_TRACKER_HPP
