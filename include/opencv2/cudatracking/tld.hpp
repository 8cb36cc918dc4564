// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

#ifndef OPENCV_CUDATRACKING_TLD_HPP
#define OPENCV_CUDATRACKING_TLD_HPP

#include "opencv2/core.hpp"
#include "opencv2/cudatracking/stream.hpp"

namespace cv { namespace cuda {

//! @addtogroup cudatracking
//! @{

/** @brief Parameters of TLDDetector, TrackerTLD and MultiTrackerTLD. The defaults are those of the literature but where
doc/tld.md says why not. An object keeps those it was made with. Ranges are checked by create(). */
struct CV_EXPORTS_W_SIMPLE TLDParams
{
    CV_WRAP TLDParams();

    CV_PROP_RW int seed;      //!< of all random choices, 0 or more. Equal seeds, equal runs. Default 1.
    CV_PROP_RW bool learning; //!< whether the detector goes on learning. Default true.
    CV_PROP_RW bool mirror;   //!< also train on mirrored pictures of the object. Default false.
    /** update() returns false while the score is less than this, though tracking goes on inside. 0 to 1. Default 0: off. */
    CV_PROP_RW float minReplyScore;

    // Windows.
    /** Least side of a window, 12 to 16384; 0: min(24, max(12, side / 1.44)), side: the object's shorter one. Default 0. */
    CV_PROP_RW int minWindow;
    CV_PROP_RW double scaleFactor; //!< from one scale to the next, 1.01 to 2. Default 1.2.
    CV_PROP_RW int scales;         //!< smaller and again larger ones than the object's own, 0 to 20. Default 10.
    CV_PROP_RW int
        stepPercent; //!< from window to window, of the shorter side in x, of the height in y. 1 to 100. Default 10.

    // Ferns.
    CV_PROP_RW int trees;    //!< 1 to 16. Default 10.
    CV_PROP_RW int features; //!< comparisons in each, 1 to 16; trees * features at most 164. Default 13.
    CV_PROP_RW double
        fernThreshold; //!< mean posterior above which a window goes on, before training. 0 to 1. Default 0.5.
    CV_PROP_RW int maxDetections; //!< the most windows that go on; the most confident ones. 1 to 128. Default 100.

    // Nearest neighbour.
    CV_PROP_RW double nnThreshold;    //!< least threshold of relative similarity, 0 to 1. Default 0.65.
    CV_PROP_RW double validThreshold; //!< least conservative similarity to learn from, 0 to 1. Default 0.7.
    CV_PROP_RW int maxPositives; //!< templates of the object; others are forgotten at random. 2 to 1024. Default 200.
    CV_PROP_RW int maxNegatives; //!< templates of all else. 2 to 2048. Default 400.

    // Learning.
    CV_PROP_RW int initWindows,
        initWarps; //!< best windows, 1 to 32, and warped pictures of each, 0 to 32, at first. Default 20, 19.
    CV_PROP_RW int updateWindows, updateWarps; //!< in each frame, with these ranges. Default 10, 9.
    CV_PROP_RW double initAngle, updateAngle;  //!< of warps, +- degrees, 0 to 45. Default 10, 5.
    CV_PROP_RW double warpScale, warpShift;    //!< of warps, +- parts of the size, 0 to 0.5. Default 0.01.
    CV_PROP_RW double warpNoise;               //!< standard deviation in gray values, 0 to 64. Default 5.
    CV_PROP_RW int
        initNegatives; //!< templates of all else at first, half of them for thresholds. 2 to 128. Default 100.

    // Flow.
    CV_PROP_RW int flowWindow;     //!< side, odd, 3 to 11. Default 9.
    CV_PROP_RW int flowLevels;     //!< above the picture itself, as its size allows, 0 to 6. Default 5.
    CV_PROP_RW int flowIterations; //!< on each level, 1 to 100. Default 20.
    CV_PROP_RW double flowEpsilon; //!< a shorter step is the last one, pixels, 0 to 16. Default 0.03.
    CV_PROP_RW double
        maxFlowError; //!< median forward-backward error from which flow has failed, pixels, 0 to 16384. Default 10.
    CV_PROP_RW int retryFrames; //!< frames in which failed flow is tried again, 0 to 3. Default 3.

    // Deciding.
    CV_PROP_RW int maxUnsupported; //!< frames without any window like the object at its place; 0: no limit. Default 3.
    CV_PROP_RW int maxProbation;  //!< unconfirmed frames after which a box without support ends; 0: never. Default 100.
    CV_PROP_RW double jumpMargin; //!< how much better another place must be, 0 to 1. Default 0.1.
    CV_PROP_RW double firstJumpMargin; //!< the same while there are fewer than five positive templates. Default 0.2.
};

/** @brief A learning detector of one object: the cascade of TLD, variance, ferns and nearest neighbours over all windows
of a picture.

init() learns an object from one box in one picture; detect() finds it in others; learn() adds an appearance. TrackerTLD
runs all this by itself in each frame.

**Pictures**: CV_8U with 1 (gray), 3 (BGR) or 4 (BGRA) channels, up to 2^24 pixels, sides 16 to 16,384; all of the size
and kind of the first one. Mat (UMat, HostMem): CPU engine; GpuMat: CUDA engine. An object stays on the side of
its init(); a saved one is free to choose again.
**Boxes** are half-open: x, y, width, height in pixels; the overlap of two is intersection by union of their areas.
**Windows**: powers of scaleFactor of the object's size, as far as they fit and are not too small, in all of
the picture; at most 2^26.
**Table of detections**: CV_64FC1, 1 + maxDetections rows, 8 columns. Row 0 is (n, windows, windows with enough
variance, windows passed by the ferns, windows accepted, 0, 0, 0). n rows follow, in the order of windows (by scale, then
y, then x): x, y, width, height, conservative similarity, relative similarity, mean posterior of the ferns, and 1 if the
nearest neighbours accept the window, else 0. Further rows are 0. convertDetections() makes lists of it.

Determinism: bit-equal on both engines, from run to run and for any number of threads.
Waiting: detect() with GpuMat or HostMem outputs does not wait and can be captured into a CUDA graph, with learn()
and updates of the trackers: each replay reads the picture anew and goes on from the state that the work before it
has left. All others wait, and cannot be captured. A graph keeps the objects, the picture's size and address and
the switch of learning that it was captured with, while the instance lives: capture anew after init(), load(), add(),
remove() and setLearning().
Order: a direct call begins after all direct calls before it, and after all replays that were launched before it, on
whatever streams they are. Calls that wait are done when they return, so replays launched afterwards see what they did. The
caller orders the rest by streams or events: replays among each other, and a replay behind a call that does not wait.
Errors: cv::Exception naming argument and value; the object stays as it was.

Source: Z. Kalal, K. Mikolajczyk, J. Matas, Tracking-Learning-Detection, PAMI 2012.
Definition in full, quality, cost: doc/tld.md.
*/
class CV_EXPORTS_W TLDDetector : public Algorithm
{
public:
    // OpenCV's Python help() shows the comments of this form that stand before a method, and no others: not those of
    // classes, enums or members. So each method says all that its caller needs.

    /** @brief Makes a detector that has learned nothing yet.
    @param params members as in TrackerTLD.create(); default: their defaults.
    @throws cv::Exception naming the member that is out of range. */
    CV_WRAP static Ptr<TLDDetector> create(const TLDParams& params = TLDParams());
    /** @brief The parameters it was made with, or read from a file. */
    CV_WRAP virtual TLDParams getParams() const = 0;

    /** @brief Learns an object, and forgets an older one. Waits.
    @param image CV_8U, 1, 3 (BGR) or 4 (BGRA) channels, up to 2^24 pixels. Mat: CPU; GpuMat: on the device.
    @param box (x, y, width, height) of the object, inside of the image, sides at least 12 (and TLDParams.minWindow); some
    window must overlap it by more than 0.6, and the one that does most must not be of one gray value.
    @param stream of GpuMat. Default: the null stream.
    @throws cv::Exception on other arguments; what was learned before stays. */
    CV_WRAP virtual void init(InputArray image, const Rect& box, Stream& stream = cv::cuda::noStream()) = 0;
    /** @brief init() with a box of fractions, whose sides are rounded to whole pixels: in Python this is init() too.
    @param image,box,stream as in init(). Default: the null stream. */
    CV_WRAP_AS(init) void initRounded(InputArray image, const Rect2d& box, Stream& stream = cv::cuda::noStream());
    /** @brief Finds the object.
    @param image of the size and type of the one in init(), and on the same side.
    @param objects table of detections: CV_64FC1, 1 + maxDetections rows, 8 columns; row 0: n, windows, with enough
    variance, passed by ferns, accepted; then n rows: x, y, width, height, conservative similarity, relative similarity,
    mean posterior, accepted (1 or 0). For convertDetections().
    @param stream of GpuMat; with a GpuMat for objects, does not wait and can be captured. Default: the null stream.
    @throws cv::Exception on other arguments and before init(). */
    CV_WRAP virtual void detect(InputArray image, OutputArray objects, Stream& stream = cv::cuda::noStream()) = 0;
    /** @brief Makes lists of a table from detect(). Waits for a GpuMat.
    @param objects the table. @param boxes windows. @param scores conservative similarity of each, 0 to 1.
    @param all also windows that only the ferns let through. Default: accepted ones only.
    @param stream of GpuMat. Default: the null stream.
    @throws cv::Exception on other arrays. */
    CV_WRAP static void convertDetections(InputArray objects, CV_OUT std::vector<Rect>& boxes,
                                          CV_OUT std::vector<float>& scores, bool all = false,
                                          Stream& stream = cv::cuda::noStream());
    /** @brief Learns one more appearance: as TrackerTLD does in each frame, but whatever it looks like, and also
    where TLDParams.learning is false.
    @param image as in detect(). @param box of the object in it, inside of the picture, sides as in init().
    @param stream of GpuMat. Does not wait; can be captured. Default: the null stream.
    @throws cv::Exception on other arguments and before init(). */
    CV_WRAP virtual void learn(InputArray image, const Rect& box, Stream& stream = cv::cuda::noStream()) = 0;
    /** @brief learn() with a box of fractions, whose sides are rounded to whole pixels: in Python this is learn() too.
    @param image,box,stream as in learn(). Default: the null stream. */
    CV_WRAP_AS(learn) void learnRounded(InputArray image, const Rect2d& box, Stream& stream = cv::cuda::noStream());

    /** @brief What the nearest neighbours compare with. Waits.
    @param positive true: pictures of the object, the oldest first one on top; false: of all else.
    @param pictures CV_8UC1, 15 columns, 15 rows for each template. Mat. */
    CV_WRAP virtual void getTemplates(bool positive, OutputArray pictures) const = 0;
    /** @brief Device memory held by this instance, in bytes; 0 as long as only the CPU engine ran. */
    CV_WRAP virtual size_t workspaceBytes() const = 0;

    /** @brief Forgets the object, and gives memory back that no graph refers to; parameters stay. */
    CV_WRAP virtual void clear() CV_OVERRIDE = 0;
    /** @brief True before init(). */
    CV_WRAP virtual bool empty() const CV_OVERRIDE = 0;
    /** @brief Name of the class in files: "TLDDetector". */
    CV_WRAP virtual String getDefaultName() const CV_OVERRIDE;
    /** @brief Writes parameters and what was learned. All or nothing: an older file stays until the new one is whole.
    @param filename .xml, .json, or else YAML. @throws cv::Exception naming the file when it cannot be written. */
    CV_WRAP virtual void save(const String& filename) const CV_OVERRIDE = 0;
    /** @brief Reads what save() wrote, or TrackerTLD.save(). @param filename path. @throws cv::Exception naming file and
    node; the detector stays as it was. */
    CV_WRAP virtual void load(const String& filename) = 0;
    //! Parameters and what was learned; reads back bit-equal, on either engine. Waits.
    virtual void write(FileStorage& fs) const CV_OVERRIDE = 0;
    //! What write() wrote, of trackers too; everything is checked. All or nothing.
    virtual void read(const FileNode& fn) CV_OVERRIDE = 0;
};

//! @}

}} // namespace cv::cuda

#endif // OPENCV_CUDATRACKING_TLD_HPP
