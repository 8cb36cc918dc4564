// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

#ifndef OPENCV_CUDATRACKING_TLD_HPP
#define OPENCV_CUDATRACKING_TLD_HPP

#include "opencv2/core.hpp"
#include "opencv2/cudatracking/stream.hpp"

namespace cv { namespace cuda {

//! @addtogroup cudatracking
//! @{

/** @brief Parameters of TLDDetector, TrackerTLD and MultiTrackerTLD.

The defaults follow the TLD paper; doc/tld.md explains the deviations. create() copies the parameters and checks their
ranges.
- Look at these first: seed, learning, mirror, minReplyScore.
- These switch features on: clipBoxes, and for boxes of a detector verifyBoxes, correctByBoxes, findByBoxes,
  startFromBoxes and endAfterMisses. filter = false switches one off.
- All others tune the algorithm. Speed depends mainly on the number of windows (minWindow, scaleFactor, scales,
  stepPercent) and of ferns (trees, features).

Terms, more in doc/glossary.md: A *window* is a rectangle of the image that the detector evaluates. A *fern* is a small
classifier: the results of a few pixel comparisons form a number, and for each number it learns its *posterior*, the
share of positive examples. *Templates* are learned patches of 15 x 15 pixels, positive ones of the object and negative
ones of the background; *similarities* compare a patch with them, see TLDDetector. A box of an object is *valid* while
the tracker trusts it, and *supported* in a frame if the detector finds evidence at it, see TrackerTLD. */
struct CV_EXPORTS_W_SIMPLE TLDParams
{
    CV_WRAP TLDParams();

    CV_PROP_RW int seed;      //!< seed of all random choices, 0 or more; equal seeds give identical runs. Default 1.
    CV_PROP_RW bool learning; //!< whether trackers update the model after init(). Default true.
    CV_PROP_RW bool mirror;   //!< whether ferns are also trained on mirror images of the object. Default false.
    /** Score of a box (see TrackerTLD) below which an object is not located, that is, update() returns false; 0 to 1.
    State, box and learning are not affected. 0.5 is a moderate demand. Default 0: not used. */
    CV_PROP_RW float minReplyScore;
    /** Whether reported boxes are clipped to the image; false: boxes of objects that leave it lie partly outside.
    Tracking is not affected. Default false. */
    CV_PROP_RW bool clipBoxes;
    /** Whether trackers follow each object by a correlation filter, too: where optical flow fails, or its box is not
    similar to the object, the filter's box is taken if the filter is sure enough (doc/tld.md, "The filter beside
    flow"). For objects that bend or turn; false takes less time. TLDDetector does not use it. Default true. */
    CV_PROP_RW bool filter;

    // Windows.
    /** Smallest side of a window in pixels, 12 to 16384. 0: the shorter side of the object divided by 1.44 = 1.2^2 and
    rounded down, but at least 12 and at most 24: two smaller scales for most small objects. Default 0. */
    CV_PROP_RW int minWindow;
    CV_PROP_RW double scaleFactor; //!< ratio of window sizes of successive scales, 1.01 to 2. Default 1.2.
    CV_PROP_RW int scales;         //!< number of scales below and also above the object's size, 0 to 20. Default 10.
    /** Distance between neighbouring windows in percent, 1 to 100: along x, percent of the window's shorter side; along
    y, of its height; at least one pixel. Default 10. */
    CV_PROP_RW int stepPercent;

    // Ferns.
    CV_PROP_RW int trees;    //!< number of ferns, 1 to 16. Default 10.
    CV_PROP_RW int features; //!< pixel comparisons per fern, 1 to 16; trees * features at most 164. Default 13.
    /** Threshold on the mean fern posterior, 0 to 1; windows above it reach the nearest-neighbour stage. init() raises
    it to the highest posterior among windows of the background; even the box given to init() may fail then.
    Default 0.5. */
    CV_PROP_RW double fernThreshold;
    /** Maximum number of windows per frame that reach the nearest-neighbour stage, 1 to 128; those with the highest
    posteriors are kept. Default 100. */
    CV_PROP_RW int maxDetections;

    // Nearest neighbours.
    /** Threshold on the relative similarity above which a window is accepted, 0 to 1. init() raises it if windows of
    the background have a higher one. Default 0.65. */
    CV_PROP_RW double nnThreshold;
    /** Threshold on the conservative similarity above which a box is valid, 0 to 1. It is never below the threshold for
    accepted windows: init() raises it to that. Default 0.7. */
    CV_PROP_RW double validThreshold;
    /** Maximum number of positive templates (of the object), 2 to 1024; beyond it a random one is dropped, never the
    first. Default 200. */
    CV_PROP_RW int maxPositives;
    /** Maximum number of negative templates (of background), 2 to 2048; beyond it a random one is dropped.
    Default 400. */
    CV_PROP_RW int maxNegatives;

    // Learning.
    CV_PROP_RW int
        initWindows, //!< number of windows that init() trains ferns on, best overlap first, 1 to 32. Default 20.
        initWarps;   //!< number of random warps of each of these windows, besides itself, 0 to 32. Default 19.
    CV_PROP_RW int updateWindows, //!< number of windows that a later frame trains ferns on, 1 to 32. Default 10.
        updateWarps;              //!< number of random warps of each of these windows, 0 to 32. Default 9.
    CV_PROP_RW double
        initAngle,   //!< largest rotation of a warp in init(), degrees in either direction, 0 to 45. Default 10.
        updateAngle; //!< largest rotation of a warp in later frames, degrees in either direction, 0 to 45. Default 5.
    CV_PROP_RW double warpScale, //!< largest relative change of scale of a warp, 0 to 0.5. Default 0.01.
        warpShift; //!< largest shift of a warp, fraction of the windows' bounding box, 0 to 0.5. Default 0.01.
    CV_PROP_RW double warpNoise; //!< standard deviation of noise in warps, gray values, 0 to 64. Default 5.
    /** Number of negative templates that init() draws, 2 to 128; half of them serve to set thresholds. Default 100. */
    CV_PROP_RW int initNegatives;

    // Optical flow.
    CV_PROP_RW int flowWindow; //!< side of the Lucas-Kanade window, pixels, odd, 3 to 11. Default 9.
    CV_PROP_RW int flowLevels; //!< pyramid levels besides the full image, 0 to 6; fewer for small images. Default 5.
    CV_PROP_RW int flowIterations; //!< maximum number of iterations per pyramid level, 1 to 100. Default 20.
    CV_PROP_RW double flowEpsilon; //!< step length at which iterations end, pixels, 0 to 16. Default 0.03.
    /** Largest median forward-backward error of the points of a box, pixels, 0 to 16384. Above it flow has failed,
    unless ten or more points have an error of at most 2 pixels and the box that they give is similar to the object
    (doc/tld.md, "Flow"). Default 10. */
    CV_PROP_RW double maxFlowError;
    CV_PROP_RW int retryFrames; //!< number of frames after a failure in which flow is tried again, 0 to 3. Default 3.

    // Loss and jumps, see TrackerTLD.
    CV_PROP_RW int maxUnsupported; //!< unsupported frames in a row that end in LOST, 0 or more; 0: never. Default 3.
    /** After so many frames in a row, 0 or more, in which the box is not confirmed, neither by its similarity nor by
    accepted windows on it, the first unsupported frame ends in LOST. 0: never. Default 100. */
    CV_PROP_RW int maxProbation;
    /** Margin, 0 to 1, by which the similarity of accepted windows elsewhere must exceed that of the box before the box
    jumps there. Default 0.1. */
    CV_PROP_RW double jumpMargin;
    CV_PROP_RW double firstJumpMargin; //!< jumpMargin while there are fewer than 5 positive templates. Default 0.2.

    // Boxes of a detector, see MultiTrackerTLD::update() with boxes.
    /** Smallest overlap of a detector's box with the box of an object that it is associated with, 0.01 to 1.
    Default 0.3. */
    CV_PROP_RW double boxOverlap;
    /** Whether boxes only propose places: a box is associated with an object only if it is similar to it, too, and is
    no support. For detectors and trackers that report boxes also where the object is not. Default false. */
    CV_PROP_RW bool verifyBoxes;
    //! Whether an object takes over the detector's box that is associated with it. Default false.
    CV_PROP_RW bool correctByBoxes;
    CV_PROP_RW bool findByBoxes; //!< whether LOST objects are associated with boxes, by similarity. Default false.
    /** Whether boxes that are associated with no object start new ones. If true, update() with boxes waits. Default
    false. */
    CV_PROP_RW bool startFromBoxes;
    /** Number of successive calls with boxes in which none is associated with an object, after which the object is
    removed, 0 or more; 0: never. If it is above 0, update() with boxes waits. Default 0. */
    CV_PROP_RW int endAfterMisses;
};

/** @brief Learning detector of one object: finds in single images what it has learned from one box in one image.

init() learns an object from a box, detect() finds it in other images of the same size, learn() adds an appearance.
TrackerTLD does all this in each frame by itself: use it for videos, and this class if you want to decide what is
learned.

@code
// Prints where an object of one image is in others of the same size.
void findAgain(const cv::Mat& first, const cv::Rect& box, const std::vector<cv::Mat>& images)
{
    const cv::Ptr<cv::cuda::TLDDetector> detector = cv::cuda::TLDDetector::create();
    detector->init(first, box);
    for (const cv::Mat& image : images)
    {
        cv::Mat table;
        std::vector<cv::Rect> boxes; // several that overlap for one object
        std::vector<float> similarities;
        detector->detect(image, table);
        cv::cuda::TLDDetector::convertDetections(table, boxes, similarities);
        for (size_t i = 0; i < boxes.size(); ++i)
            std::cout << boxes[i] << ", similarity " << similarities[i] << std::endl;
    }
}
@endcode

__Images__: CV_8U with 1 (gray), 3 (BGR) or 4 (BGRA) channels, sides 16 to 16,384, up to 2^24 pixels, not empty. All
images must have the size, type and memory (host or device) of the one given to init(). After load() the size must be
that of the file, and the first call after it fixes type and memory; with a GpuMat that call uploads the model, waits
and cannot be captured.

__Boxes__ are half-open: (x, y, width, height) in pixels. The overlap of two boxes is intersection over union.

__Windows__ are the rectangles that the detector evaluates. They have the object's size times powers of scaleFactor, lie
on a grid over the whole image (stepPercent) and inside of it, and have no side below minWindow. At most 2^26 windows.

__Stages of the detector__. A window must pass all of them:

| stage              | passes a window if                                                                           |
|--------------------|----------------------------------------------------------------------------------------------|
| variance           | its variance is at least half that of the window that overlaps the box of init() most        |
| ferns              | its mean posterior is above the fern threshold and one of the maxDetections highest          |
| nearest neighbours | its relative similarity is above the acceptance threshold: the window is *accepted*          |

__Similarities__, 0 to 1, compare a window or box, resampled to 15 x 15 pixels, with the learned templates by normalised
cross-correlation. The *relative similarity* tells how much more it resembles the positive templates than the negative
ones: 0.5 is a tie. The *conservative similarity* is the same with the first half of the positive templates, in the
order of getTemplates(). Both are 1 if there are no negative templates. Formulas: doc/tld.md, "The detector".

__Table of detections__: CV_64FC1, 1 + maxDetections rows, 8 columns. Row 0 is (n, number of windows, windows that
passed the variance filter, windows above the fern threshold, accepted ones, 0, 0, 0). n rows follow in the order of
windows (by scale, then y, then x): x, y, width, height, conservative similarity, relative similarity, mean posterior,
accepted (1 or 0). The remaining rows are 0. convertDetections() converts it to vectors.

__Waiting, lifetimes, threads__: see the tables in cudatracking.hpp. Calls of several threads are executed one after
another, on one model.

__Determinism__ (all TLD classes): equal parameters, seed included, equal images and equal calls give bitwise identical
results on both backends.

__CUDA graphs__ (all TLD classes): each replay reads the image again and continues from the state before it. A graph
keeps the objects and the setting of setLearning() of its capture: capture again after init(), load(), add(), remove()
and setLearning().

Definition in full, quality, cost: doc/tld.md. Source: Z. Kalal, K. Mikolajczyk, J. Matas, Tracking-Learning-Detection,
PAMI 2012. */
class CV_EXPORTS_W TLDDetector : public Algorithm
{
public:
    //! Columns of the table of detections, except row 0.
    enum DetectionColumn
    {
        DETECTION_X = 0,            //!< left edge of the window, pixels
        DETECTION_Y = 1,            //!< upper edge of the window, pixels
        DETECTION_WIDTH = 2,        //!< width of the window, pixels
        DETECTION_HEIGHT = 3,       //!< height of the window, pixels
        DETECTION_CONSERVATIVE = 4, //!< conservative similarity, 0 to 1
        DETECTION_RELATIVE = 5,     //!< relative similarity, 0 to 1
        DETECTION_POSTERIOR = 6,    //!< mean posterior, 0 to 1
        DETECTION_ACCEPTED = 7,     //!< 1 if the window is accepted, else 0
        DETECTION_COLUMNS = 8       //!< number of columns
    };
    //! Columns of row 0 of the table of detections.
    enum CountColumn
    {
        COUNT_STORED = 0,        //!< number of rows that follow
        COUNT_WINDOWS = 1,       //!< number of windows
        COUNT_WITH_VARIANCE = 2, //!< number of windows that passed the variance filter
        COUNT_PASSED = 3,        //!< number of windows above the fern threshold
        COUNT_ACCEPTED = 4       //!< number of accepted windows
    };

    /** @brief Creates a detector, which learns an object from one box in one image and finds it in others.

    init() learns the object, detect() finds it in other images of the same size, learn() adds an appearance. Images are
    uint8 arrays of 1 (gray), 3 (BGR) or 4 (BGRA) channels, sides 16 to 16,384, on the CPU as numpy arrays, on the
    device as cv2.cuda.GpuMat; both give the same results. The detector evaluates all windows of a grid over the image.
    Three stages follow each other: enough variance, ferns (small classifiers by comparisons of pixels) with a high mean
    posterior, and the similarity to learned templates of the object (positive) and of the background (negative).
    @code{.py}
    >>> random = np.random.default_rng(1)
    >>> image = cv2.resize(random.integers(0, 256, (30, 40), np.uint8), (320, 240))
    >>> detector = cv2.cuda.TLDDetector.create()
    >>> detector.init(image, (64, 64, 64, 64))
    >>> boxes, similarities = cv2.cuda.TLDDetector.convertDetections(detector.detect(np.roll(image, 32, axis=1)))
    >>> boxes[np.argmax(similarities)].tolist()
    [96, 64, 64, 64]
    @endcode
    Calls of several threads on one instance are executed one after another.
    @param params TLDParams; TrackerTLD.create() explains the members. Default: the defaults of all members.
    @throws cv::Exception naming the member that is out of its range. */
    CV_WRAP static Ptr<TLDDetector> create(const TLDParams& params = TLDParams());
    /** @brief Returns the parameters given to create() or read from a file. */
    CV_WRAP virtual TLDParams getParams() const = 0;

    // The functions for Rect2d come first and have full texts: of functions with the same name and arguments, Python
    // calls the first one, which takes whole numbers too, and help() shows its text alone.
    /** @brief Learns an object and forgets an older one. Waits. Edges of a floating-point box are rounded to whole
    pixels.
    @param image CV_8U, 1 (gray), 3 (BGR) or 4 (BGRA) channels, sides 16 to 16,384, up to 2^24 pixels. A Mat selects the
    CPU, a GpuMat the device.
    @param box (x, y, width, height) of the object, inside of the image; sides at least 12 and at least
    TLDParams.minWindow. Some window must overlap it by more than 0.6, and the one that overlaps it most must not be of
    one gray value.
    @param stream stream for a GpuMat; ignored for Mat. Default: the null stream.
    @throws cv::Exception if an argument is invalid; the old model is kept then. */
    CV_WRAP_AS(init) void initRounded(InputArray image, const Rect2d& box, Stream& stream = cv::cuda::noStream());
    /** @brief Learns an object and forgets an older one. Waits.
    @param image CV_8U, 1 (gray), 3 (BGR) or 4 (BGRA) channels, sides 16 to 16,384, up to 2^24 pixels. A Mat selects the
    CPU, a GpuMat the device.
    @param box (x, y, width, height) of the object, inside of the image; sides at least 12 and at least
    TLDParams.minWindow. Some window must overlap it by more than 0.6, and the one that overlaps it most must not be of
    one gray value.
    @param stream stream for a GpuMat; ignored for Mat. Default: the null stream.
    @throws cv::Exception if an argument is invalid; the old model is kept then. */
    CV_WRAP virtual void init(InputArray image, const Rect& box, Stream& stream = cv::cuda::noStream()) = 0;
    /** @brief Detects the object. Waits only if image is a GpuMat and objects is a Mat, UMat or std::vector.
    @param image image of the size, type and memory (host or device) of the one in init().
    @param objects table of detections, CV_64FC1, 1 + maxDetections rows. Row 0: COUNT_STORED (0), number of rows that
    follow; COUNT_WINDOWS (1), number of windows; COUNT_WITH_VARIANCE (2), windows that passed the variance filter;
    COUNT_PASSED (3), windows above the fern threshold, of which the best maxDetections pass; COUNT_ACCEPTED (4),
    accepted windows. Each row that follows has the columns DETECTION_X (0), DETECTION_Y (1), DETECTION_WIDTH (2) and
    DETECTION_HEIGHT (3) of a window, DETECTION_CONSERVATIVE (4), conservative similarity, DETECTION_RELATIVE (5),
    relative similarity, DETECTION_POSTERIOR (6), mean posterior, and DETECTION_ACCEPTED (7), 1 or 0;
    DETECTION_COLUMNS (8) in all. Pass the table to convertDetections().
    @param stream stream for a GpuMat; ignored for Mat. Default: the null stream.
    @throws cv::Exception if an argument is invalid, and before init(). */
    CV_WRAP virtual void detect(InputArray image, OutputArray objects, Stream& stream = cv::cuda::noStream()) = 0;
    /** @brief Converts a table filled by detect() to vectors. Waits for the stream if the table is a GpuMat.
    @param objects table of detections.
    @param boxes boxes of the accepted windows; one object gives several that overlap.
    @param scores conservative similarity of each window, 0 to 1: the larger, the more like the object. TrackerTLD
    trusts a box above TLDParams.validThreshold. This is not the score of a box in TrackerTLD.
    @param all true: also windows that passed the ferns and were not accepted. Default: false.
    @param stream stream for a GpuMat; ignored for Mat. Default: the null stream.
    @throws cv::Exception if the type, size or counts of objects are not those of such a table. */
    CV_WRAP static void convertDetections(InputArray objects, CV_OUT std::vector<Rect>& boxes,
                                          CV_OUT std::vector<float>& scores, bool all = false,
                                          Stream& stream = cv::cuda::noStream());
    /** @brief Learns one more appearance of the object, as TrackerTLD does when it learns, but without checking that it
    resembles the object, and even if TLDParams.learning is false. Does not wait. Edges of a floating-point box are
    rounded to whole pixels.
    @param image image of the size, type and memory (host or device) of the one in init().
    @param box (x, y, width, height) of the object in it, inside of the image; sides at least 12 and at least
    TLDParams.minWindow.
    @param stream stream for a GpuMat; ignored for Mat. Default: the null stream.
    @throws cv::Exception if an argument is invalid, and before init(). */
    CV_WRAP_AS(learn) void learnRounded(InputArray image, const Rect2d& box, Stream& stream = cv::cuda::noStream());
    /** @brief Learns one more appearance of the object, as TrackerTLD does when it learns, but without checking that it
    resembles the object, and even if TLDParams.learning is false. Does not wait.
    @param image image of the size, type and memory (host or device) of the one in init().
    @param box (x, y, width, height) of the object in it, inside of the image; sides at least 12 and at least
    TLDParams.minWindow.
    @param stream stream for a GpuMat; ignored for Mat. Default: the null stream.
    @throws cv::Exception if an argument is invalid, and before init(). */
    CV_WRAP virtual void learn(InputArray image, const Rect& box, Stream& stream = cv::cuda::noStream()) = 0;

    /** @brief Gets the templates that the nearest-neighbour stage compares with. Waits.
    @param positive true: templates of the object, the first one learned on top, each later one directly below the one
    that it resembled most; false: templates of background.
    @param templates host array, CV_8UC1, 15 columns, 15 rows for each template.
    @throws cv::Exception before init(). */
    CV_WRAP virtual void getTemplates(bool positive, OutputArray templates) const = 0;
    /** @brief Returns the device and pinned host memory of this instance in bytes; 0 if only the CPU was used. */
    CV_WRAP virtual size_t workspaceBytes() const = 0;

    /** @brief Forgets the object and frees all memory that no captured call has used; parameters are kept. */
    CV_WRAP virtual void clear() CV_OVERRIDE = 0;
    /** @brief Returns true if no object has been learned. */
    CV_WRAP virtual bool empty() const CV_OVERRIDE = 0;
    /** @brief Returns the name of the class in files: "TLDDetector". */
    CV_WRAP virtual String getDefaultName() const CV_OVERRIDE;
    /** @brief Writes parameters and model to a file; before init() the parameters. The file is written completely, or
    the old one is unchanged. Waits.
    @param filename path that ends with .xml.
    @throws cv::Exception naming the file if it cannot be written. */
    CV_WRAP virtual void save(const String& filename) const CV_OVERRIDE = 0;
    /** @brief Reads parameters and model from a file written by save(), TrackerTLD.save() or
    MultiTrackerTLD.saveObject(), of at most 64 MiB. Either backend can use the model afterwards. The file is checked
    completely before it is used, so it may come from an untrusted source; read() and Algorithm::load() do not offer
    this.
    @param filename path.
    @throws cv::Exception naming file and node if something is not valid; the detector is unchanged then. */
    CV_WRAP virtual void load(const String& filename) = 0;
    //! Writes parameters and model; read() restores them bit for bit, on either backend. Waits.
    virtual void write(FileStorage& fs) const CV_OVERRIDE = 0;
    /** Reads what write() of this class or of TrackerTLD has written. All values are checked; on errors the detector is
    unchanged. FileStorage, which has parsed the file also for Algorithm::load<TLDDetector>(), is not safe with
    malicious ones; load() is. */
    virtual void read(const FileNode& fn) CV_OVERRIDE = 0;
};

//! @}

}} // namespace cv::cuda

#endif // OPENCV_CUDATRACKING_TLD_HPP
