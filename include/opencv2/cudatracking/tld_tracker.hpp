// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

#ifndef OPENCV_CUDATRACKING_TLD_TRACKER_HPP
#define OPENCV_CUDATRACKING_TLD_TRACKER_HPP

#include "opencv2/video/tracking.hpp"
#include "opencv2/cudatracking/tld.hpp"

namespace cv { namespace cuda {

//! @addtogroup cudatracking
//! @{

/** @brief Tracking-Learning-Detection of one object in a video, as a cv::Tracker.

In each frame the object is followed by optical flow, searched for by a detector in all of the picture, and the detector
learns from what the two agree on. A lost object is found again when it comes back.

update() returns true with a box when the object was located. It returns false, and leaves the caller's box alone, when
- the object is lost (LOST), or
- the detector finds nothing like the object at the place where the flow says it is (UNCERTAIN; getBox() has that place;
  it still learns from a box that was valid, as after a sudden blur), or
- the score is less than TLDParams::minReplyScore.
The first call of update() takes the frame after that of init().
Boxes that come back may lie partly outside of the image, as the object does: for its pixels take box & Rect(0, 0, cols, rows).

**Pictures, determinism**: see TLDDetector. All frames must have the size and kind of init()'s.
**Table of results** (updateAsync(), MultiTrackerTLD): CV_64FC1, a row for each object, 8 columns: x, y, width, height
(sub-pixel; 0 when lost), score 0 to 1, State, 1 if located (what update() returns), 1 if the detector learned from
this frame.
**Waiting**: update() and all getters of results wait for their stream. updateAsync() with a GpuMat or HostMem for the
result does not; it can be captured into a CUDA graph of which each replay is a frame. resetTo() and getters come after all
replays that were launched before them, and replays that are launched afterwards see resetTo(): TLDDetector, Order.
Errors: cv::Exception naming argument and value; the object stays as it was.

Source: Z. Kalal, K. Mikolajczyk, J. Matas, Tracking-Learning-Detection, PAMI 2012; I. Gurcan, A hybrid CPU-GPU
implementation of TLD, 2014. Definition in full, quality, cost: doc/tld.md.
*/
class CV_EXPORTS_W TrackerTLD : public Tracker
{
protected:
    TrackerTLD(); // use create()

public:
    virtual ~TrackerTLD() CV_OVERRIDE;

    enum State
    {
        LOST = 0, //!< there is no box
        UNCERTAIN =
            1, //!< there is a box that the detector does not trust, or finds nothing at; update() may return false
        TRACKING = 2 //!< there is a box that the detector trusts and learns from
    };

    /** @brief Makes a tracker; init() gives it an object.
    @param params members of TLDParams, as in p = cv2.cuda.TLDParams(); p.seed = 7. Default: their defaults.
    seed: int, 0 or more; of all random choices, equal seeds give equal runs. Default 1.
    learning: bool; whether the detector goes on learning. Default True.
    mirror: bool; also train on mirrored images of the object. Default False.
    minReplyScore: float, 0 to 1; update() returns False while the score is less. Default 0.
    minWindow: int, 12 to 16384; least side of a window in pixels; 0: min(24, max(12, shorter side / 1.44)). Default 0.
    scaleFactor: float, 1.01 to 2; from one scale of windows to the next. Default 1.2.
    scales: int, 0 to 20; smaller and again larger scales than the object's own. Default 10.
    stepPercent: int, 1 to 100; from window to window, of the shorter side in x, of the height in y. Default 10.
    trees: int, 1 to 16; of ferns. Default 10.
    features: int, 1 to 16; comparisons in each tree, trees * features at most 164. Default 13.
    fernThreshold: float, 0 to 1; mean posterior above which a window goes on, before training. Default 0.5.
    maxDetections: int, 1 to 128; the most windows that go on. Default 100.
    nnThreshold: float, 0 to 1; least threshold of relative similarity. Default 0.65.
    validThreshold: float, 0 to 1; least conservative similarity to learn from. Default 0.7.
    maxPositives: int, 2 to 1024; templates of the object, others are forgotten at random. Default 200.
    maxNegatives: int, 2 to 2048; templates of all else. Default 400.
    initWindows: int, 1 to 32; best windows that ferns learn at first. Default 20.
    initWarps: int, 0 to 32; warped images of each of them. Default 19.
    updateWindows: int, 1 to 32; best windows that ferns learn in each frame. Default 10.
    updateWarps: int, 0 to 32; warped images of each of them. Default 9.
    initAngle: float, 0 to 45; of warps at first, +- degrees. Default 10.
    updateAngle: float, 0 to 45; of warps in each frame, +- degrees. Default 5.
    warpScale: float, 0 to 0.5; of warps, +- parts of the size. Default 0.01.
    warpShift: float, 0 to 0.5; of warps, +- parts of the size. Default 0.01.
    warpNoise: float, 0 to 64; standard deviation in gray values. Default 5.
    initNegatives: int, 2 to 128; templates of all else at first, half of them for thresholds. Default 100.
    flowWindow: int, 3 to 11; side in pixels, odd. Default 9.
    flowLevels: int, 0 to 6; of the pyramid above the image itself, as its size allows. Default 5.
    flowIterations: int, 1 to 100; on each level. Default 20.
    flowEpsilon: float, 0 to 16; a shorter step is the last one, pixels. Default 0.03.
    maxFlowError: float, 0 to 16384; median forward-backward error above which flow has failed, pixels. Default 10.
    retryFrames: int, 0 to 3; frames in which failed flow is tried again. Default 3.
    maxUnsupported: int, 0 or more; frames without any window like the object at its place; 0: no limit. Default 3.
    maxProbation: int, 0 or more; frames without confirmation, after which a box ends as soon as it has no support; 0: never. Default 100.
    jumpMargin: float, 0 to 1; how much better another place must be. Default 0.1.
    firstJumpMargin: float, 0 to 1; the same while there are fewer than five positive templates. Default 0.2.
    @throws cv::Exception naming the member that is out of range. */
    CV_WRAP static Ptr<TrackerTLD> create(const TLDParams& params = TLDParams());
    /** @brief The parameters it was made with, or read from a file. */
    CV_WRAP virtual TLDParams getParams() const = 0;

    /** @brief Learns an object, and forgets an older one. On the null stream. Waits.
    @param image as in TLDDetector.init(). @param boundingBox (x, y, width, height) of the object, inside of the image, sides
    at least 12 (and TLDParams.minWindow). @throws cv::Exception on others; what was learned before stays. */
    CV_WRAP virtual void init(InputArray image, const Rect& boundingBox) CV_OVERRIDE = 0;
    /** @brief init() with a box of fractions, whose sides are rounded to whole pixels: in Python this is init() too.
    @param image,boundingBox as in init(). */
    CV_WRAP_AS(init) void initRounded(InputArray image, const Rect2d& boundingBox);
    /** @brief Tracks in the next frame. On the null stream. Waits.
    @param image frame, of the size and kind of init()'s. @param boundingBox out: where the object is, perhaps partly outside
    of the image; untouched if it was not located. @return whether it was located. @throws cv::Exception on other arguments
    and before init(). */
    CV_WRAP virtual bool update(InputArray image, CV_OUT Rect& boundingBox) CV_OVERRIDE = 0;

    /** @brief Tracks in the next frame, without waiting.
    @param image frame, of the size and kind of init()'s.
    @param result CV_64FC1, 1 row, 8 columns: x, y, width, height, score, state, located (1 or 0), learned (1 or 0).
    @param stream of GpuMat. Default: the null stream.
    @throws cv::Exception on other arguments and before init(). */
    CV_WRAP virtual void updateAsync(InputArray image, OutputArray result, Stream& stream = cv::cuda::noStream()) = 0;

    /** @brief How sure the tracker is of its box: conservative similarity, 0 to 1; 0 when lost. Waits. */
    CV_WRAP virtual float getTrackingScore() = 0;
    /** @brief LOST (0), UNCERTAIN (1) or TRACKING (2), after the last frame. Waits. */
    CV_WRAP virtual int getState() const = 0;
    /** @brief The box inside, sub-pixel, also while update() returns false; empty when lost. Waits. */
    CV_WRAP virtual Rect2d getBox() const = 0;
    /** @brief What the detector found in the last frame; nothing before the first one, also after load(). Waits.
    @param objects table of detections, for TLDDetector.convertDetections(): CV_64FC1, 1 + maxDetections rows, 8
    columns. Mat. */
    CV_WRAP virtual void getDetections(OutputArray objects) const = 0;
    /** @brief Templates of the nearest neighbours. Waits.
    @param positive true: pictures of the object; false: of all else.
    @param pictures CV_8UC1, 15 columns, 15 rows for each. Mat. */
    CV_WRAP virtual void getTemplates(bool positive, OutputArray pictures) const = 0;

    /** @brief Switches learning, from the next call on; graphs that were captured before keep the switch they had. It
    outlives init() and is saved. @param learning false: the detector stays as it is. Default: TLDParams.learning. */
    CV_WRAP virtual void setLearning(bool learning) = 0;
    /** @brief Whether the detector goes on learning. */
    CV_WRAP virtual bool getLearning() const = 0;
    /** @brief Puts the tracker on a box in the last frame; what was learned stays. Waits; replays launched before do not
    undo it, and those launched afterwards begin there.
    @param boundingBox inside of the image, sides as in init(). @throws cv::Exception on others, before init(), and when
    there was no frame since load() of a file without one: of a TLDDetector, or of an older version when the object was lost. */
    CV_WRAP virtual void resetTo(const Rect& boundingBox) = 0;
    /** @brief resetTo() with a box of fractions, whose sides are rounded to whole pixels: in Python this is resetTo() too.
    @param boundingBox as in resetTo(). */
    CV_WRAP_AS(resetTo) void resetToRounded(const Rect2d& boundingBox);
    /** @brief Device memory held by this instance, in bytes; 0 as long as only the CPU engine ran. */
    CV_WRAP virtual size_t workspaceBytes() const = 0;

    /** @brief Writes parameters, what was learned, and where the object is: a tracker that reads it goes on with the next
    frame or a resetTo() as if nothing had happened, on either backend. Waits. All or nothing: an older file stays until the
    new one is whole, and a symbolic link stays one. @param filename ends with .xml, .yml, .yaml or .json.
    @throws cv::Exception naming the file when it cannot be written, and before init(). */
    CV_WRAP virtual void save(const String& filename) const = 0;
    /** @brief Reads what save() wrote, or what a TLDDetector saved: such an object is LOST until it is detected.
    @param filename path. @throws cv::Exception naming file and node; the tracker stays as it was. */
    CV_WRAP virtual void load(const String& filename) = 0;
    //! save() into an open map of a file.
    virtual void write(FileStorage& fs) const = 0;
    //! load() from a node.
    virtual void read(const FileNode& fn) = 0;
};

/** @brief TrackerTLD for several objects in one video: each frame's work (gray values, blur, sums, pyramid) is done once,
and all objects go through each stage together. With GpuMat, objects whose boxes had one size when they were added also
share their windows' codes: sixty-four of one size take a fraction of the time of sixty-four of different sizes.

Each object gives the results that a TrackerTLD of its own would give: the first one with the same seed; the one
of id k with the seed's k-th series of random numbers. Up to 1,024 objects. What TrackerTLD says on pictures, results,
waiting, captures and errors holds here. */
class CV_EXPORTS_W MultiTrackerTLD : public Algorithm
{
public:
    /** @brief Makes a tracker without objects.
    @param params for all objects, members as in TrackerTLD.create(); default: their defaults.
    @throws cv::Exception naming the member that is out of range. */
    CV_WRAP static Ptr<MultiTrackerTLD> create(const TLDParams& params = TLDParams());
    /** @brief The parameters it was made with. */
    CV_WRAP virtual TLDParams getParams() const = 0;

    /** @brief Adds an object. Waits. The other objects are not touched: they go on from their last frame.
    @param image the last frame given to update(), or the next one, which update() gets afterwards: the object begins in it.
    Of the size and kind of the frames.
    @param box (x, y, width, height) of the object in it, as in TLDDetector.init().
    @param stream of GpuMat. Default: the null stream.
    @return its id: 0, 1, 2 and so on; ids are not used again.
    @throws cv::Exception on other arguments, and when add() had another next frame since the last update(); nothing is
    added then. */
    CV_WRAP virtual int add(InputArray image, const Rect& box, Stream& stream = cv::cuda::noStream()) = 0;
    /** @brief add() with a box of fractions, whose sides are rounded to whole pixels: in Python this is add() too.
    @param image,box,stream as in add(). Default: the null stream. @return its id. */
    CV_WRAP_AS(add) int addRounded(InputArray image, const Rect2d& box, Stream& stream = cv::cuda::noStream());
    /** @brief Removes an object. @param id of add(). @throws cv::Exception when there is none. */
    CV_WRAP virtual void remove(int id) = 0;
    /** @brief Tracks all objects in the next frame.
    @param image frame, of the size and kind of the first one.
    @param results CV_64FC1, a row an object in the order of getIds(), 8 columns: x, y, width, height, score, state (0
    lost, 1 uncertain, 2 tracking), located (1 or 0), learned (1 or 0). Without objects: empty.
    @param stream of GpuMat; with a GpuMat for results, does not wait and can be captured. Default: the null stream.
    @throws cv::Exception on other arguments. */
    CV_WRAP virtual void update(InputArray image, OutputArray results, Stream& stream = cv::cuda::noStream()) = 0;

    /** @brief Ids of the objects, ascending. */
    CV_WRAP virtual std::vector<int> getIds() const = 0;
    /** @brief What the detector found for an object in the last frame. Waits.
    @param id of add(). @param objects table of detections, for TLDDetector.convertDetections(). Mat. */
    CV_WRAP virtual void getDetections(int id, OutputArray objects) const = 0;
    /** @brief Templates of an object. Waits.
    @param id of add(). @param positive true: pictures of the object; false: of all else.
    @param pictures CV_8UC1, 15 columns, 15 rows for each. Mat. */
    CV_WRAP virtual void getTemplates(int id, bool positive, OutputArray pictures) const = 0;
    /** @brief Switches learning of all objects. @param learning false: detectors stay as they are. */
    CV_WRAP virtual void setLearning(bool learning) = 0;
    /** @brief Whether detectors go on learning. */
    CV_WRAP virtual bool getLearning() const = 0;
    /** @brief Puts an object on a box in the newest image, which update() or add() had; what was learned stays. Waits;
    ordered with replays as TrackerTLD.resetTo(). @param id of add(). @param box inside of the image, sides at least 12.
    @throws cv::Exception on others. */
    CV_WRAP virtual void resetTo(int id, const Rect& box) = 0;
    /** @brief resetTo() with a box of fractions, whose sides are rounded to whole pixels: in Python this is resetTo() too.
    @param id,box as in resetTo(). */
    CV_WRAP_AS(resetTo) void resetToRounded(int id, const Rect2d& box);
    /** @brief Writes what TrackerTLD.save() writes, for one object. Waits. All or nothing. @param id of add().
    @param filename path. */
    CV_WRAP virtual void saveObject(int id, const String& filename) const = 0;
    /** @brief Adds an object from a file of TLDDetector or TrackerTLD; it is LOST until it is detected, or resetTo().
    @param image as in add(), of the size of the file's pictures. @param filename path.
    @param stream of GpuMat. Default: the null stream.
    @return its id. @throws cv::Exception naming file and node, or when its parameters are others than this tracker's, but
    for seed, learning and minReplyScore, which are this tracker's. */
    CV_WRAP virtual int addFromFile(InputArray image, const String& filename,
                                    Stream& stream = cv::cuda::noStream()) = 0;
    /** @brief Device memory held by this instance, in bytes; 0 as long as only the CPU engine ran. */
    CV_WRAP virtual size_t workspaceBytes() const = 0;
    /** @brief Removes all objects, and gives memory back that no graph refers to; the next add() may give images of another
    size. */
    CV_WRAP virtual void clear() CV_OVERRIDE = 0;
    /** @brief True without objects. */
    CV_WRAP virtual bool empty() const CV_OVERRIDE = 0;
    /** @brief Writes parameters and all objects with their ids, and what they go on from: a tracker that reads it goes on
    as if nothing had happened, on either backend. Waits. All or nothing, as TrackerTLD.save().
    @param filename ends with .xml, .yml, .yaml or .json. @throws cv::Exception naming the file when it cannot be written. */
    CV_WRAP virtual void save(const String& filename) const CV_OVERRIDE = 0;
    /** @brief Reads what save() wrote, in place of all objects. Up to 512 MB.
    @param filename path. @throws cv::Exception naming file and node; the tracker stays as it was. */
    CV_WRAP virtual void load(const String& filename) = 0;
    //! save() into an open map of a file, and load() from a node.
    virtual void write(FileStorage& fs) const CV_OVERRIDE = 0;
    virtual void read(const FileNode& fn) CV_OVERRIDE = 0;
    /** @brief Name of the class: "MultiTrackerTLD". */
    CV_WRAP virtual String getDefaultName() const CV_OVERRIDE;
};

//! @}

}} // namespace cv::cuda

#endif // OPENCV_CUDATRACKING_TLD_TRACKER_HPP
