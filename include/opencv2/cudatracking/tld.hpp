// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

#ifndef OPENCV_CUDATRACKING_TLD_HPP
#define OPENCV_CUDATRACKING_TLD_HPP

#include "opencv2/core.hpp"
#include "opencv2/cudatracking/stream.hpp"

namespace cv { namespace cuda {

//! @addtogroup cudatracking
//! @{

/** @brief Parameters of TLDDetector, TrackerTLD and MultiTrackerTLD. create() copies them and checks their ranges.

Begin with seed, learning, mirror and minReplyScore; doc/tld.md, "Tuning by symptom", leads to the others. */
struct CV_EXPORTS_W_SIMPLE TLDParams
{
    CV_WRAP TLDParams();
    CV_PROP_RW int seed;      //!< seed of all random choices, 0 or more; equal seeds give identical runs. Default 1.
    CV_PROP_RW bool learning; //!< whether trackers update the model after init(). Default true.
    CV_PROP_RW bool mirror;   //!< whether ferns are also trained on mirror images of the object. Default false.
    CV_PROP_RW bool filter;   //!< whether a correlation filter follows an object, not median flow. Default true.
    //! Score of a box below which update() returns false, 0 to 1; the state stays. Default 0: not used.
    CV_PROP_RW float minReplyScore;
    CV_PROP_RW int maxUnsupported; //!< unsupported frames in a row that end in LOST, 0 or more; 0: never. Default 3.
    CV_PROP_RW bool clipBoxes;     //!< whether reported boxes are clipped to the image. Default false.
    /** Smallest side of a window in pixels, 12 to 16384. 0: the shorter side of the object divided by 1.44 and rounded
    down, but at least 12 and at most 24. Default 0. */
    CV_PROP_RW int minWindow;
    CV_PROP_RW double scaleFactor; //!< ratio of window sizes of successive scales, 1.01 to 2. Default 1.2.
    CV_PROP_RW int scales;         //!< number of scales below and also above the object's size, 0 to 20. Default 10.
    CV_PROP_RW int maxDetections;  //!< windows per frame that are compared with templates, 1 to 128. Default 100.

    // Boxes of a detector, see MultiTrackerTLD::update() with boxes.
    CV_PROP_RW double boxOverlap;   //!< smallest overlap of an object with its box, 0.01 to 1. Default 0.3.
    CV_PROP_RW bool correctByBoxes; //!< whether an object takes over the box associated with it. Default false.
    CV_PROP_RW bool findByBoxes;    //!< whether LOST objects are associated with similar boxes. Default false.
    CV_PROP_RW bool startFromBoxes; //!< whether boxes associated with no object start new ones. Default false.
    //! Calls in a row without an associated box that end an object, 0 or more; 0: never. Default 0.
    CV_PROP_RW int endAfterMisses;
};

/** @brief Learning detector of one object: finds in single images what it has learned from one box in one image.

init() learns an object from a box, detect() finds it in other images of the same size, learn() adds an appearance.
TrackerTLD does all this in each frame by itself.

@code
// Finds in one image what is in a box of another one. `boxes` are several that overlap for one object.
void findAgain(const cv::Mat& first, const cv::Rect& box, const cv::Mat& second, std::vector<cv::Rect>& boxes)
{
    const cv::Ptr<cv::cuda::TLDDetector> detector = cv::cuda::TLDDetector::create();
    cv::Mat table;
    std::vector<float> similarities;
    detector->init(first, box);
    detector->detect(second, table);
    cv::cuda::TLDDetector::convertDetections(table, boxes, similarities);
}
@endcode

__Images__: CV_8U with 1 (gray), 3 (BGR) or 4 (BGRA) channels, sides 16 to 16,384, up to 2^24 pixels. All images must
have the size, type and memory (host or device) of the one in init(). After load() the file fixes the size and the first
call type and memory; with a GpuMat that call waits and cannot be captured. Only the filter sees colors.

__Boxes__ are half-open: (x, y, width, height) in pixels. The overlap of two boxes is intersection over union.
__Windows__ are the rectangles that the detector evaluates: the object's size times powers of scaleFactor, on a grid in
the image, no side below minWindow, at most 2^26 in all. A window is *accepted* if it passes three filters: variance,
ferns (of which at most maxDetections pass), and the similarity to learned templates.

__Similarities__, 0 to 1, compare a patch with the templates. The *relative* one tells how much more it resembles those
of the object than those of the background; 0.5 is a tie. The *conservative* one uses the first half of the object's.

Waiting, lifetimes, threads: see the tables in cudatracking.hpp. Determinism of all TLD classes: equal parameters,
images and calls give bitwise identical results on both backends.

__CUDA graphs__ (all TLD classes): each replay reads the image again and continues from the state before it. A graph
keeps the objects and the setting of setLearning() of its capture: capture again after init(), load(), add(), remove()
and setLearning().

Algorithm: doc/tld_algorithm.md. Source: Z. Kalal, K. Mikolajczyk, J. Matas, Tracking-Learning-Detection, PAMI 2012. */
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
    device as cv2.cuda.GpuMat; both give the same results. All windows of a grid over the image are evaluated.
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

    // Python takes the function for Rect2d of two with one name, with whole numbers too; it has the full text.
    /** @brief Learns an object and forgets an older one. Waits. Edges of a floating-point box are rounded to whole
    pixels.
    @param image CV_8U, 1 (gray), 3 (BGR) or 4 (BGRA) channels, sides 16 to 16,384, up to 2^24 pixels. A Mat selects the
    CPU, a GpuMat the device.
    @param box (x, y, width, height) of the object, inside of the image; sides at least 12 and TLDParams.minWindow. A
    window must overlap it by more than 0.6, and the one that overlaps it most must not be of one gray value.
    @param stream stream for a GpuMat; ignored for Mat. Default: the null stream.
    @throws cv::Exception if an argument is invalid; the old model is kept then. */
    CV_WRAP_AS(init) void initRounded(InputArray image, const Rect2d& box, Stream& stream = cv::cuda::noStream());
    /** @brief Learns an object from a box of whole pixels; otherwise initRounded(). */
    CV_WRAP virtual void init(InputArray image, const Rect& box, Stream& stream = cv::cuda::noStream()) = 0;
    /** @brief Detects the object. Waits only if image is a GpuMat and objects is a Mat, UMat or std::vector.
    @param image image of the size, type and memory (host or device) of the one in init().
    @param objects table, CV_64FC1, 1 + maxDetections rows. Row 0: COUNT_STORED (0), number of rows that follow;
    COUNT_WINDOWS (1), of all windows; COUNT_WITH_VARIANCE (2), of those with enough variance; COUNT_PASSED (3), of
    those that pass the ferns; COUNT_ACCEPTED (4), of accepted ones. Further rows, by scale, y, x: DETECTION_X (0),
    DETECTION_Y (1), DETECTION_WIDTH (2), DETECTION_HEIGHT (3), DETECTION_CONSERVATIVE (4) and DETECTION_RELATIVE (5)
    similarity, DETECTION_POSTERIOR (6), DETECTION_ACCEPTED (7); DETECTION_COLUMNS (8) in all. The rest is 0.
    @param stream stream for a GpuMat; ignored for Mat. Default: the null stream.
    @throws cv::Exception if an argument is invalid, and before init(). */
    CV_WRAP virtual void detect(InputArray image, OutputArray objects, Stream& stream = cv::cuda::noStream()) = 0;
    /** @brief Converts a table filled by detect() to vectors. Waits for the stream if the table is a GpuMat.
    @param objects table of detections.
    @param boxes boxes of the accepted windows; one object gives several that overlap.
    @param scores conservative similarity of each window, 0 to 1; not the score of a box in TrackerTLD.
    @param all true: also windows that passed the ferns and were not accepted. Default: false.
    @param stream stream for a GpuMat; ignored for Mat. Default: the null stream.
    @throws cv::Exception if the type, size or counts of objects are not those of such a table. */
    CV_WRAP static void convertDetections(InputArray objects, CV_OUT std::vector<Rect>& boxes,
                                          CV_OUT std::vector<float>& scores, bool all = false,
                                          Stream& stream = cv::cuda::noStream());
    /** @brief Learns one more appearance of the object, without checking that it resembles the object, and even if
    TLDParams.learning is false. Does not wait. Edges of a floating-point box are rounded to whole pixels.
    @param image image of the size, type and memory (host or device) of the one in init().
    @param box (x, y, width, height) of the object in it; sides at least 12 and TLDParams.minWindow.
    @param stream stream for a GpuMat; ignored for Mat. Default: the null stream.
    @throws cv::Exception if an argument is invalid, and before init(). */
    CV_WRAP_AS(learn) void learnRounded(InputArray image, const Rect2d& box, Stream& stream = cv::cuda::noStream());
    /** @brief Learns an appearance from a box of whole pixels; otherwise learnRounded(). */
    CV_WRAP virtual void learn(InputArray image, const Rect& box, Stream& stream = cv::cuda::noStream()) = 0;
    /** @brief Gets the learned templates. Waits.
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
    /** @brief Writes parameters and model to a file, completely, or the old file is unchanged. Waits.
    @param filename path that ends with .xml.
    @throws cv::Exception naming the file if it cannot be written. */
    CV_WRAP virtual void save(const String& filename) const CV_OVERRIDE = 0;
    /** @brief Reads parameters and model from a file written by save(), TrackerTLD.save() or
    MultiTrackerTLD.saveObject(), of at most 64 MiB, for either backend. The file is checked completely before it is
    used, so it may come from an untrusted source, unlike that of read().
    @param filename path.
    @throws cv::Exception naming file and node if something is not valid; the detector is unchanged then. */
    CV_WRAP virtual void load(const String& filename) = 0;
    //! Writes parameters and model; read() restores them bit for bit, on either backend. Waits.
    virtual void write(FileStorage& fs) const CV_OVERRIDE = 0;
    //! Reads what write() has written. All values are checked, but FileStorage is not safe with malicious files.
    virtual void read(const FileNode& fn) CV_OVERRIDE = 0;
};

//! @}

}} // namespace cv::cuda

#endif // OPENCV_CUDATRACKING_TLD_HPP
