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

Give init() a frame and the box of the object in it, then update() every further frame.

@code
// Prints where an object is in each frame; `box` is its place in the first one.
void follow(const std::vector<cv::Mat>& frames, cv::Rect box)
{
    const cv::Ptr<cv::cuda::TrackerTLD> tracker = cv::cuda::TrackerTLD::create();
    tracker->init(frames[0], box);
    for (size_t i = 1; i < frames.size(); ++i)
    {
        if (!tracker->update(frames[i], box)) // `box` is unchanged
            std::cout << i << ": not located" << std::endl;
        else if (tracker->getState() == cv::cuda::TrackerTLD::TRACKING)
            std::cout << i << ": at " << box << std::endl;
    }
}
@endcode

| state after a frame | there is a box that is | update() returns                         | the detector learns        |
|---------------------|------------------------|------------------------------------------|----------------------------|
| TRACKING (2)        | valid and supported    | true; false if the score < minReplyScore | if the box passes a check  |
| UNCERTAIN (1)       | supported, not valid   | true; false if the score < minReplyScore | no                         |
| UNCERTAIN (1)       | not supported          | false                                    | if it is valid and passes  |
| LOST (0)            | (no box)               | false                                    | no                         |

- A box is **valid** while the tracker trusts it, and **supported** in a frame if the detector or the filter finds
  evidence of the object at it. In state UNCERTAIN it may be wrong, also if update() returns true.
- The **score** of a box, 0 to 1, tells how sure the ferns are that the object is there.
- An object is **located** if update() returns true. Otherwise the caller's box is left unchanged.
- An object is LOST when no part of its box is inside of the image, after maxUnsupported unsupported frames in a row,
  or, without TLDParams::filter, when optical flow fails. A lost object is found again where all accepted windows belong
  to one place, perhaps in the same frame. After JUMPED and FOUND_AGAIN the box may be on an object that looks alike.

Images, determinism, CUDA graphs: see TLDDetector. Waiting, lifetimes, threads: see the tables in cudatracking.hpp.
Guide, sources: doc/tld.md. Algorithm: doc/tld_algorithm.md. */
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

    //! Where the box of an object in a frame comes from.
    enum Event
    {
        NO_EVENT = 0,    //!< there is no box: the object was LOST before the frame and still is
        STARTED = 1,     //!< init(), add(), resetTo() or a detector's box has set it; no frame was processed since
        FLOWED = 2,      //!< optical flow from the last frame
        CORRECTED = 3,   //!< flow, and then a correction: the mean of the box and the detected windows around it
        FILTERED = 4,    //!< the correlation filter, with TLDParams.filter
        JUMPED = 5,      //!< the box left its place for another one that is more similar to the object
        FOUND_AGAIN = 6, //!< the object was LOST, before the frame or in it, and the learned detector has found it
        BECAME_LOST = 7, //!< there is no box any more; the object had one after the last frame
        CONFIRMED = 8,   //!< a detector's box is associated with the object; see MultiTrackerTLD.update() with boxes
        RECOGNIZED = 9   //!< the object was LOST; it takes a detector's box that is similar to it
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

    init() takes a frame and the box of the object, update() each further frame. Frames are uint8 arrays of 1 (gray),
    3 (BGR) or 4 (BGRA) channels, sides 16 to 16,384, all of one size and type, on the CPU as numpy arrays, on the
    device as cv2.cuda.GpuMat; both give the same boxes.
    @code{.py}
    >>> random = np.random.default_rng(1)
    >>> image = cv2.resize(random.integers(0, 256, (30, 40), np.uint8), (320, 240))
    >>> tracker = cv2.cuda.TrackerTLD.create()
    >>> tracker.init(image, (100, 80, 64, 64))
    >>> [tracker.update(np.roll(image, x, axis=1)) for x in (2, 4)]
    [(True, (102, 80, 64, 64)), (True, (104, 80, 64, 64))]
    @endcode
    Calls of several threads on one instance are executed one after another.
    @param params parameters, in Python p = cv2.cuda.TLDParams(); p.seed = 7. Default: the defaults of all members.
    seed: int, 0 or more; seed of all random choices, equal seeds give identical runs. Default 1.
    learning: bool; whether the model is updated after init(). Default True.
    mirror: bool; whether ferns are also trained on mirror images of the object. Default False.
    filter: bool; whether a correlation filter follows the object, instead of median flow (quicker). Default True.
    minReplyScore: float, 0 to 1; score of the box below which update() returns False. Default 0.
    maxUnsupported: int, 0 or more; frames in a row without evidence of the object at its box that end in LOST; 0: no
    limit. Default 3.
    clipBoxes: bool; whether reported boxes are clipped to the image. Default False.
    minWindow: int, 12 to 16384; smallest side of a window, pixels; 0: 12 to 24, by the object's size. Default 0.
    scaleFactor: float, 1.01 to 2; ratio of window sizes of successive scales. Default 1.2.
    scales: int, 0 to 20; number of scales below and also above the object's size. Default 10.
    maxDetections: int, 1 to 128; maximum number of windows that are compared with templates. Default 100.
    boxOverlap: float, 0.01 to 1; smallest overlap of a detector's box with its object. Default 0.3.
    correctByBoxes: bool; whether an object takes over the box that is associated with it. Default False.
    findByBoxes: bool; whether LOST objects are associated with boxes that are similar to them. Default False.
    startFromBoxes: bool; whether boxes that are associated with no object start new ones. Default False.
    endAfterMisses: int, 0 or more; calls in a row without an associated box that end an object; 0: never. Default 0.
    @throws cv::Exception naming the member that is out of its range. */
    CV_WRAP static Ptr<TrackerTLD> create(const TLDParams& params = TLDParams());
    /** @brief Returns the parameters given to create() or read from a file. */
    CV_WRAP virtual TLDParams getParams() const = 0;

    // Python takes the function for Rect2d of two with one name, with whole numbers too; it has the full text.
    /** @brief Learns an object and forgets an older one. Uses the null stream and waits. Edges of a floating-point box
    are rounded to whole pixels.
    @param image CV_8U, 1 (gray), 3 (BGR) or 4 (BGRA) channels, sides 16 to 16,384, up to 2^24 pixels. A Mat selects the
    CPU, a GpuMat the device.
    @param boundingBox (x, y, width, height) of the object, inside of the image; sides at least 12 and
    TLDParams.minWindow. A window must overlap it by more than 0.6, and the nearest one not be of one gray value.
    @throws cv::Exception if an argument is invalid; the old model is kept then. */
    CV_WRAP_AS(init) void initRounded(InputArray image, const Rect2d& boundingBox);
    /** @brief Learns an object from a box of whole pixels; otherwise initRounded(). Give a Rect2d to initRounded(): C++
    would round its four numbers, not its edges, for this function. */
    CV_WRAP virtual void init(InputArray image, const Rect& boundingBox) CV_OVERRIDE = 0;
    /** @brief Tracks the object in the next frame. Uses the null stream and waits.
    @param image next frame, of the size, type and memory (host or device) of the one in init().
    @param boundingBox output: box of the object, four rounded numbers, perhaps partly outside of the image unless
    TLDParams.clipBoxes is set. Unchanged if false is returned.
    @return true if there is evidence of the object at the box, and the score is at least TLDParams.minReplyScore.
    @throws cv::Exception if the image is invalid, and before init(). */
    CV_WRAP virtual bool update(InputArray image, CV_OUT Rect& boundingBox) CV_OVERRIDE = 0;
    /** @brief Tracks the object in the next frame. Waits only if image is a GpuMat and result is a Mat, UMat or
    std::vector.
    @param image next frame, of the size, type and memory (host or device) of the one in init().
    @param result CV_64FC1, 1 row of RESULT_COLUMNS (12) columns: RESULT_X (0), RESULT_Y (1), RESULT_WIDTH (2),
    RESULT_HEIGHT (3), 0 if LOST; RESULT_SCORE (4); RESULT_STATE (5); RESULT_LOCATED (6) and RESULT_LEARNED (7), 1 or 0;
    RESULT_EVENT (8); RESULT_ID (9), here 0; RESULT_BOX (10), here -1; RESULT_CONFIDENCE (11) of the filter, or 0.
    @param stream stream for a GpuMat; ignored for Mat. Default: the null stream.
    @throws cv::Exception if an argument is invalid, and before init(). */
    CV_WRAP virtual void updateAsync(InputArray image, OutputArray result, Stream& stream = cv::cuda::noStream()) = 0;
    /** @brief Returns the score of the box, 0 to 1: how sure the ferns are that the object is there. It is 1 directly
    after init() and resetTo(), and 0 without a window on the box, if LOST and before init(). Waits. */
    CV_WRAP virtual float getTrackingScore() = 0;
    /** @brief Returns the state after the last frame. LOST (0): there is no box, or before init(). UNCERTAIN (1): the
    tracker does not trust the box, or finds no evidence of the object at it. TRACKING (2): it does both. Waits. */
    CV_WRAP virtual int getState() const = 0;
    /** @brief Returns where the box of the last frame comes from: NO_EVENT (0), still lost, or before init(); STARTED
    (1), init() or resetTo(); FLOWED (2), optical flow; CORRECTED (3), flow and the windows around; FILTERED (4), the
    filter; JUMPED (5), a more similar place elsewhere; FOUND_AGAIN (6), found by the learned detector; BECAME_LOST (7);
    in MultiTrackerTLD CONFIRMED (8) and RECOGNIZED (9), a detector's box. Waits. */
    CV_WRAP virtual int getEvent() const = 0;
    /** @brief Returns the box with sub-pixel precision, also if update() returned false; empty if LOST. Waits. */
    CV_WRAP virtual Rect2d getBox() const = 0;
    /** @brief Gets the detections in the last frame; there are none before the first update() and after load(). Waits.
    @param objects host array, CV_64FC1, 1 + maxDetections rows, 8 columns, for TLDDetector.convertDetections().
    @throws cv::Exception before init(). */
    CV_WRAP virtual void getDetections(OutputArray objects) const = 0;
    /** @brief Gets the learned templates. Waits.
    @param positive true: templates of the object, the first one learned on top, each later one directly below the one
    that it resembled most; false: templates of background.
    @param templates host array, CV_8UC1, 15 columns, 15 rows for each template.
    @throws cv::Exception before init(). */
    CV_WRAP virtual void getTemplates(bool positive, OutputArray templates) const = 0;
    /** @brief Switches learning from the next call on. Captured graphs keep their setting, and save() stores it.
    @param learning false: ferns and templates do not change, but the filter does. Initially TLDParams.learning. */
    CV_WRAP virtual void setLearning(bool learning) = 0;
    /** @brief Returns whether the model is updated. */
    CV_WRAP virtual bool getLearning() const = 0;
    /** @brief Sets the position of the object in the last frame; the model is kept. Waits. Replays launched before do
    not undo it. Edges of a floating-point box are rounded to whole pixels.
    @param boundingBox box inside of the image, sides at least 12 and TLDParams.minWindow.
    @throws cv::Exception if the box is invalid, before init(), and between load() of a file of TLDDetector and the next
    frame. */
    CV_WRAP_AS(resetTo) void resetToRounded(const Rect2d& boundingBox);
    /** @brief Sets the position to a box of whole pixels; otherwise resetToRounded(). */
    CV_WRAP virtual void resetTo(const Rect& boundingBox) = 0;
    /** @brief Returns the device and pinned host memory of this instance in bytes; 0 if only the CPU was used. */
    CV_WRAP virtual size_t workspaceBytes() const = 0;
    /** @brief Writes parameters, model and position to a file. A tracker that reads it continues without a difference,
    on either backend. The file is written completely, or the old one is unchanged. Waits.
    @param filename path that ends with .xml.
    @throws cv::Exception naming the file if it cannot be written or does not end with .xml, and before init(). */
    CV_WRAP virtual void save(const String& filename) const = 0;
    /** @brief Reads a file written by save(), MultiTrackerTLD.saveObject() or, with the state LOST, TLDDetector.save(),
    of at most 64 MiB. It is checked completely before it is used, so it may come from an untrusted source.
    @param filename path.
    @throws cv::Exception naming file and node if something is not valid; the tracker is unchanged then. */
    CV_WRAP virtual void load(const String& filename) = 0;
    //! Writes what save() writes into an open map of a FileStorage. Waits.
    virtual void write(FileStorage& fs) const = 0;
    //! Reads what write() has written. All values are checked, but FileStorage is not safe with malicious files.
    virtual void read(const FileNode& fn) = 0;
};

/** @brief Tracks up to 1,024 objects in one video, each like TrackerTLD, and can take boxes of a detector of yours.

@code
// Tracks what a detector finds in every fifth frame.
void trackAll(const std::vector<cv::Mat>& frames, const std::vector<std::vector<cv::Rect>>& found)
{
    cv::cuda::TLDParams params;
    params.startFromBoxes = true;
    const cv::Ptr<cv::cuda::MultiTrackerTLD> tracker = cv::cuda::MultiTrackerTLD::create(params);
    cv::Mat results; // a row per object
    for (size_t i = 0; i < frames.size(); ++i)
        if (i % 5 == 0)
            tracker->update(frames[i], found[i / 5], results);
        else
            tracker->update(frames[i], results);
}
@endcode

Without boxes of a detector the object of id 0 gets the results of a TrackerTLD with the same seed; the object of id k
uses the k-th sequence of random numbers. States, images, results, waiting and CUDA graphs: see TrackerTLD. */
class CV_EXPORTS_W MultiTrackerTLD : public Algorithm
{
public:
    /** @brief Creates a tracker without objects. It tracks up to 1,024 objects in one video, each like TrackerTLD.

    add() starts an object from a box. update() processes a frame and returns a table with one row per object: its box,
    state and id. update() with boxes, in Python updateWithBoxes(), takes boxes that a detector of yours has found.
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
    @param params TLDParams of all objects, see TrackerTLD.create(). Default: the defaults of all members.
    @throws cv::Exception naming the member that is out of its range. */
    CV_WRAP static Ptr<MultiTrackerTLD> create(const TLDParams& params = TLDParams());
    /** @brief Returns the parameters given to create() or read from a file. */
    CV_WRAP virtual TLDParams getParams() const = 0;

    /** @brief Adds an object. The other objects are not affected: they continue from their last frame. Waits. Edges of
    a floating-point box are rounded to whole pixels.
    @param image the frame in which the object starts: the one that update() got last, or the one that it gets next, of
    the size, type and memory (host or device) of the frames before, unless there are no objects.
    @param box (x, y, width, height) of the object, inside of the image; sides at least 12 and TLDParams.minWindow. A
    window must overlap it by more than 0.6, and the nearest one not be of one gray value.
    @param stream stream for a GpuMat; ignored for Mat. Default: the null stream.
    @return id of the object: 0, 1, 2 and so on; ids are not used again.
    @throws cv::Exception if an argument is invalid, if there are 1,024 objects, and if the image is neither the last
    frame nor the next one of an earlier add(); nothing is added then. */
    CV_WRAP_AS(add) int addRounded(InputArray image, const Rect2d& box, Stream& stream = cv::cuda::noStream());
    /** @brief Adds an object from a box of whole pixels; otherwise addRounded(). */
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

    Each box is clipped to the image, and ignored if a side is then shorter than 12 pixels. Each is associated with at
    most one object, each object with at most one box: first objects that have a box, by an overlap of at least
    TLDParams.boxOverlap, the largest first; then, with TLDParams.findByBoxes, LOST objects by similarity, the most
    similar first. Of equal pairs the one with the first object, then the first box, comes first.

    An associated object becomes valid, counts as supported, and does not jump. With TLDParams.correctByBoxes it takes
    over the box (event CONFIRMED; without, its box is the same as without boxes). A LOST one begins there (RECOGNIZED).

    With TLDParams.endAfterMisses, objects are removed after so many calls with boxes in which none was associated with
    them. With TLDParams.startFromBoxes, each box then starts an object with the next id (event STARTED), except one
    that is associated, overlaps the part of an object inside of the image by boxOverlap or more, has a side below
    TLDParams.minWindow, cannot be learned (one gray value, or no window overlaps it by more than 0.6), or is one too
    many for 1,024 objects.

    @param image next frame, of the size, type and memory (host or device) of the first one.
    @param boxes at most 256 boxes (x, y, width, height) on the host: std::vector<Rect>, CV_32SC4, or CV_32SC1 with 4
    columns; in Python also a list of tuples. Or, if image is a GpuMat, a GpuMat: one row of
    CascadeClassifierEx.detectAsync(), of which the first 256 boxes are used; for a Mat use its convertDetections().
    Empty, and None in Python: the detector has found nothing. noArray(): it did not run, as in update() without boxes.
    @param results CV_64FC1, one row per object in the order of getIds() after the call, 12 columns: x, y, width,
    height, score, state, located, learned, event, id, box: index in boxes of the box that is associated with the object
    or has started it, or -1; confidence of the filter.
    @param stream stream for a GpuMat; ignored for Mat. Default: the null stream.
    @throws cv::Exception if an argument is invalid, if memory is missing, if CUDA fails, or if fewer ids are left than
    there are boxes that may start objects. The frame has then not been processed, unless it failed while an object
    starts: those that started before are kept. If memory for results is missing after that, only these are lost. */
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
    @param positive true: of the object, the first one learned on top, each later one directly below the one that it
    resembled most; false: of background.
    @param templates host array, CV_8UC1, 15 columns, 15 rows for each template.
    @throws cv::Exception if there is no such object. */
    CV_WRAP virtual void getTemplates(int id, bool positive, OutputArray templates) const = 0;
    /** @brief Switches learning of all objects from the next call on. Captured graphs keep it, and save() stores it.
    @param learning false: ferns and templates do not change. Initially it is TLDParams.learning. */
    CV_WRAP virtual void setLearning(bool learning) = 0;
    /** @brief Returns whether the models are updated. */
    CV_WRAP virtual bool getLearning() const = 0;
    /** @brief Sets the position of an object in the newest image given to update() or add(); its model is kept. Waits.
    Replays launched before do not undo it. Edges of a floating-point box are rounded to whole pixels.
    @param id id returned by add().
    @param box box inside of the image, sides at least 12 and TLDParams.minWindow.
    @throws cv::Exception if there is no such object or the box is invalid. */
    CV_WRAP_AS(resetTo) void resetToRounded(int id, const Rect2d& box);
    /** @brief Sets the position of an object to a box of whole pixels; otherwise resetToRounded(). */
    CV_WRAP virtual void resetTo(int id, const Rect& box) = 0;
    /** @brief Writes parameters, model and position of one object to a file, for TrackerTLD.load() and addFromFile().
    The file is written completely, or the old one is unchanged. Waits.
    @param id id returned by add().
    @param filename path that ends with .xml.
    @throws cv::Exception if there is no such object, or the file cannot be written or does not end with .xml. */
    CV_WRAP virtual void saveObject(int id, const String& filename) const = 0;
    /** @brief Adds an object from a file written by TLDDetector.save(), TrackerTLD.save() or saveObject(). It is LOST
    until it is detected, or until resetTo(). The file is checked, so it may come from an untrusted source. Waits.
    @param image the frame that update() got last, or the one that it gets next; of the size that the file has.
    @param filename path of a file of at most 64 MiB.
    @param stream stream for a GpuMat; ignored for Mat. Default: the null stream.
    @return id of the object.
    @throws cv::Exception naming file and node if something is not valid, and if mirror, maxUnsupported, minWindow,
    scaleFactor, scales or maxDetections in the file differ from this tracker's, whose other parameters hold. */
    CV_WRAP virtual int addFromFile(InputArray image, const String& filename,
                                    Stream& stream = cv::cuda::noStream()) = 0;
    /** @brief Returns the device and pinned host memory of this instance in bytes; 0 if only the CPU was used. */
    CV_WRAP virtual size_t workspaceBytes() const = 0;
    /** @brief Removes all objects and frees all memory that no captured call has used. Ids are not used again. */
    CV_WRAP virtual void clear() CV_OVERRIDE = 0;
    /** @brief Returns true if there are no objects. */
    CV_WRAP virtual bool empty() const CV_OVERRIDE = 0;
    /** @brief Writes parameters, all objects with their ids, and their positions to a file. A tracker that reads it
    continues without a difference, on either backend. The file is complete, or the old one is unchanged. Waits.
    @param filename path that ends with .xml.
    @throws cv::Exception naming the file if it cannot be written or does not end with .xml. */
    CV_WRAP virtual void save(const String& filename) const CV_OVERRIDE = 0;
    /** @brief Reads a file written by save(), of at most 512 MiB, and replaces all objects. It is checked completely
    before it is used, so it may come from an untrusted source.
    @param filename path.
    @throws cv::Exception naming file and node if something is not valid; the tracker is unchanged then. */
    CV_WRAP virtual void load(const String& filename) = 0;
    //! Writes what save() writes into an open map of a FileStorage. Waits.
    virtual void write(FileStorage& fs) const CV_OVERRIDE = 0;
    //! Reads what write() has written. All values are checked, but FileStorage is not safe with malicious files.
    virtual void read(const FileNode& fn) CV_OVERRIDE = 0;
    /** @brief Returns the name of the class in files: "MultiTrackerTLD". */
    CV_WRAP virtual String getDefaultName() const CV_OVERRIDE;
};

//! @}

}} // namespace cv::cuda

#endif // OPENCV_CUDATRACKING_TLD_TRACKER_HPP
