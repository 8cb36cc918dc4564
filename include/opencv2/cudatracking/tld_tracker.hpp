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

**Pictures, determinism**: see TLDDetector. All frames must have the size and kind of init()'s.
**Table of results** (updateAsync(), MultiTrackerTLD): CV_64FC1, a row for each object, 8 columns: x, y, width, height
(sub-pixel; 0 when lost), score 0 to 1, State, 1 if located (what update() returns), 1 if the detector learned from
this frame.
**Waiting**: update() and all getters of results wait for their stream. updateAsync() with a GpuMat or HostMem for the
result does not; it can be captured into a CUDA graph of which each replay is a frame.
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
    @param params see cv.cuda.TLDParams; default: its defaults.
    @throws cv::Exception naming the member that is out of range. */
    CV_WRAP static Ptr<TrackerTLD> create(const TLDParams& params = TLDParams());
    /** @brief The parameters it was made with, or read from a file. */
    CV_WRAP virtual TLDParams getParams() const = 0;

    /** @brief Learns an object, and forgets an older one. On the null stream. Waits.
    @param image,box as in TLDDetector.init(). @throws cv::Exception on others; what was learned before stays. */
    CV_WRAP virtual void init(InputArray image, const Rect& box) CV_OVERRIDE = 0;
    /** @brief Tracks in the next frame. On the null stream. Waits.
    @param image frame, of the size and kind of init()'s. @param box out: where the object is; untouched if it was not
    located. @return whether it was located. @throws cv::Exception on other arguments and before init(). */
    CV_WRAP virtual bool update(InputArray image, CV_OUT Rect& box) CV_OVERRIDE = 0;

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
    /** @brief Puts the tracker on a box in the last frame; what was learned stays.
    @param box inside of the picture, sides as in init(). @throws cv::Exception on others, before init(), and when there
    was no frame since load() of what a TLDDetector saved. */
    CV_WRAP virtual void resetTo(const Rect& box) = 0;
    /** @brief Device memory held by this instance, in bytes; 0 as long as only the CPU engine ran. */
    CV_WRAP virtual size_t workspaceBytes() const = 0;

    /** @brief Writes parameters, what was learned, and where the object is: a tracker that reads it goes on with the next
    frame as if nothing had happened, on either engine. Waits. @param filename ends with .xml, .yml, .yaml or .json.
    @throws cv::Exception when it cannot be written, and before init(). */
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
    @param params see cv.cuda.TLDParams, for all objects; default: its defaults.
    @throws cv::Exception naming the member that is out of range. */
    CV_WRAP static Ptr<MultiTrackerTLD> create(const TLDParams& params = TLDParams());
    /** @brief The parameters it was made with. */
    CV_WRAP virtual TLDParams getParams() const = 0;

    /** @brief Adds an object. Waits.
    @param image the last frame given to update(), or the first frame of a video. All objects go on from this picture.
    @param box of the object, as in TLDDetector.init().
    @param stream of GpuMat. Default: the null stream.
    @return its id: 0, 1, 2 and so on; ids are not used again.
    @throws cv::Exception on other arguments; nothing is added then. */
    CV_WRAP virtual int add(InputArray image, const Rect& box, Stream& stream = cv::cuda::noStream()) = 0;
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
    /** @brief Puts an object on a box in the last frame; what was learned stays. @param id of add(). @param box inside
    of the picture, sides at least 12. @throws cv::Exception on others. */
    CV_WRAP virtual void resetTo(int id, const Rect& box) = 0;
    /** @brief Writes what TrackerTLD.save() writes, for one object. Waits. @param id of add(). @param filename path. */
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
    /** @brief Removes all objects; the next add() may give pictures of another size. */
    CV_WRAP virtual void clear() CV_OVERRIDE = 0;
    /** @brief True without objects. */
    CV_WRAP virtual bool empty() const CV_OVERRIDE = 0;
    //! Throws, as objects go into files of their own: saveObject().
    virtual void write(FileStorage& fs) const CV_OVERRIDE = 0;
    /** @brief Name of the class: "MultiTrackerTLD". */
    CV_WRAP virtual String getDefaultName() const CV_OVERRIDE;
};

//! @}

}} // namespace cv::cuda

#endif // OPENCV_CUDATRACKING_TLD_TRACKER_HPP
