// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

#ifndef OPENCV_CUDATRACKING_CASCADE_HPP
#define OPENCV_CUDATRACKING_CASCADE_HPP

#include "opencv2/core.hpp"
#include "opencv2/cudatracking/stream.hpp"

namespace cv { namespace cuda {

//! @addtogroup cudatracking
//! @{

/** @brief Object detection with boosted cascades: a replacement of cv::CascadeClassifier on the CPU and on CUDA, which
also works with OpenCV 5.

@code
// Prints the faces in an image. The file is haarcascade_frontalface_default.xml of OpenCV, for example.
void printFaces(const cv::String& file, const cv::Mat& image)
{
    const cv::Ptr<cv::cuda::CascadeClassifierEx> faces = cv::cuda::CascadeClassifierEx::create(file);
    std::vector<cv::Rect> boxes;
    faces->detectMultiScale(image, boxes); // a GpuMat: on the CUDA device
    for (const cv::Rect& box : boxes)
        std::cout << box << std::endl;
}
@endcode

__Two interfaces__

|                     | detectMultiScale()                 | detectAsync()                                   |
|---------------------|------------------------------------|-------------------------------------------------|
| takes               | one image                          | one or many images of equal or different sizes  |
| parameters          | arguments, and setFindLargestObject() | those of the instance: setScaleFactor(), ... |
| results             | vectors on the host, of any length | matrices of fixed size, one row per image       |
| waits with a GpuMat | always                             | only if an output is a Mat, UMat or std::vector |

__Results__ are those of cv::CascadeClassifier::detectMultiScale() with one thread (cv::setNumThreads(1)) on a Mat. A
*candidate* is a window that passes all stages. Candidates with similar boxes form a *group*. A group of more than
minNeighbors candidates is one object, whose box is their mean, unless that lies inside of the box of a larger group.
Candidates and groups come in the same order (scale, y, x). There are three differences (doc/cascade.md):
- Of a cascade with one stage, cv::CascadeClassifier with outputRejectLevels also reports windows of low contrast.
- Haar features with fractional weights or sums above 2^24, which OpenCV's files do not have, may differ slightly.
- With rejectLevels but without outputRejectLevels, cv::CascadeClassifier throws. This class leaves both lists empty.

__Files__: XML, also as strings in memory. Both formats are read, the old one of haartraining as well; HOG cascades and
.gz are not. Limits: 8 MiB, 100 levels of nesting, 1,000 distinct node names, window sides 3 to 256, 65,536 features,
2^20 nodes, 4,096 stages, 255 nodes per tree. Features must lie inside of the window, child nodes must follow their
parents, numbers must be finite. load(), loadBuffer(), create() and convert() are safe for untrusted files: they return
or throw in a time proportional to the length of the file, within 256 MiB of memory and 512 KiB of stack. read() and
Algorithm::load() are not.

__Images__: CV_8U, 1 channel (gray), 3 (BGR) or 4 (BGRA), sides up to 65,535. Regions of interest are allowed.

__Scales__ are the powers of scaleFactor at which the window fits the image and the size limits; at most 4,095.

__Mask__ (optional, CV_8UC1, of the image's size): a candidate is kept if the mask is not 0 at the center of its box, (x
+ width/2, y + height/2) before the box is clipped, at most the last column and row.

__Matrices of detectAsync()__; row i belongs to image i:

| matrix        | type     | columns        | content of a row                                             |
|---------------|----------|----------------|--------------------------------------------------------------|
| objects       | CV_32SC4 | 1 + maxObjects | (n, found, candidates, overflow), then n boxes, then zeros   |
| numDetections | CV_32SC1 | maxObjects     | number of candidates of each object, 1 without grouping (1)  |
| levelWeights  | CV_64FC1 | maxObjects     | largest last-stage sum among the candidates of each object (1) |

(1) in the first n columns; 0 in the others.

If `found`, the number of objects, exceeds maxObjects, the first n = maxObjects are stored. If `candidates`, the number
before grouping, exceeds maxCandidates, overflow is 1, and n and found are 0.

__Waiting, lifetimes, graphs, threads, errors__: see cudatracking.hpp. clone() shares the cascade, which never changes:
use one clone per thread, stream or device. load() and setters do not affect graphs that were captured before.

Guide: doc/cascade.md. Source: P. Viola, M. Jones, Rapid object detection using a boosted cascade of simple features,
2001; R. Lienhart, J. Maydt, An extended set of Haar-like features, 2002; S. Liao et al., Learning multi-scale block
local binary patterns, 2007. */
class CV_EXPORTS_W CascadeClassifierEx : public Algorithm
{
public:
    //! Type of the features of a cascade.
    enum FeatureType
    {
        HAAR = 0, //!< weighted sums over two or three rectangles, upright or rotated by 45 degrees
        LBP = 1   //!< local binary patterns of 3 x 3 cells
    };

    /** @brief Creates an instance that detects objects with a Haar or LBP cascade, as cv::CascadeClassifier does.

    detectMultiScale() returns the boxes in one image; detectAsync() takes many images and returns matrices of fixed
    size, on the device if the images are there. Images are uint8 of 1 (gray), 3 (BGR) or 4 (BGRA) channels: numpy
    arrays for the CPU, cv2.cuda.GpuMat for the device, with identical boxes. A candidate is a window that passes all
    stages of the cascade. Similar candidates form a group; one of more than minNeighbors candidates is an object.
    @code{.py}
    >>> faces = cv2.cuda.CascadeClassifierEx.create(cascade)  # path of haarcascade_frontalface_default.xml of OpenCV
    >>> faces.detectMultiScale(image)                         # doc/pics/astronaut.jpg
    array([[177,  66,  95,  95]], dtype=int32)
    @endcode
    Calls of several threads on one instance are serialized.
    @param filename path of a cascade: XML, new or old format, at most 8 MiB. Default: none; empty() is then true.
    @throws cv::Exception naming file and node if the file cannot be read or is not a valid cascade. */
    CV_WRAP static Ptr<CascadeClassifierEx> create(const String& filename = String());

    /** @brief Reads a cascade: Haar or LBP, new or old format, XML. Safe for untrusted files.
    @param filename path of a file of at most 8 MiB. Of a file written by save() only the cascade is read.
    @return true.
    @throws cv::Exception naming file and node if the file cannot be read or is not a valid cascade. */
    CV_WRAP virtual bool load(const String& filename) = 0;
    /** @brief Reads a cascade from memory; in Python: loadBuffer(np.frombuffer(data, np.uint8)).
    @param buffer CV_8UC1, one row or column: the contents of the file, at most 8 MiB.
    @throws cv::Exception naming the node if they are not a valid cascade. */
    CV_WRAP virtual void loadBuffer(InputArray buffer) = 0;
    /** @brief Reads a cascade and writes it in the new format.
    @param oldcascade path of a cascade: XML, new or old format, at most 8 MiB.
    @param newcascade path of the file to write, which ends with .xml.
    @return true.
    @throws cv::Exception naming the file that is not valid or cannot be read or written. */
    CV_WRAP static bool convert(const String& oldcascade, const String& newcascade);
    /** @brief Creates an instance with a copy of the parameters that shares the cascade, for another thread, stream or
    device. The cascade is not copied. */
    CV_WRAP virtual Ptr<CascadeClassifierEx> clone() const = 0;

    /** @brief Returns the size of the objects that the cascade was trained on, in pixels; 0 x 0 without a cascade. */
    CV_WRAP virtual Size getOriginalWindowSize() const = 0;
    /** @brief Returns the feature type: HAAR (0) or LBP (1); -1 if no cascade is loaded. */
    CV_WRAP virtual int getFeatureType() const = 0;
    /** @brief Returns the number of stages; 0 if no cascade is loaded. */
    CV_WRAP virtual int getNumberOfStages() const = 0;
    /** @brief Returns false: cascades of the old format are converted when they are read. */
    CV_WRAP virtual bool isOldFormatCascade() const = 0;

    /** @brief Detects objects of all sizes; arguments and results are those of cv::CascadeClassifier. Waits for the
    stream if the image is a GpuMat.
    @param image CV_8U, 1 (gray), 3 (BGR) or 4 (BGRA) channels. A Mat is processed on the CPU, a GpuMat on the device.
    An empty image has no objects.
    @param objects boxes in pixels, inside of the image.
    @param scaleFactor factor between successive scales, finite, above 1. Default 1.1.
    @param minNeighbors groups of more candidates than this are objects; 0 or less: each candidate is one. Default 3.
    @param flags not used, like that of cv::CascadeClassifier. Default 0.
    @param minSize,maxSize smallest and largest (width, height) of objects, pixels; 0: no limit, the default. If the
    limits exclude every scale, the one nearest to minSize is searched, as in cv::CascadeClassifier.
    @param mask CV_8UC1 of the image's size, in the same memory (host or device): keeps the candidates at whose center
    it is not 0. Default: no mask.
    @param stream stream for a GpuMat; ignored for Mat. Default: the null stream. */
    CV_WRAP virtual void detectMultiScale(InputArray image, CV_OUT std::vector<Rect>& objects, double scaleFactor = 1.1,
                                          int minNeighbors = 3, int flags = 0, Size minSize = Size(),
                                          Size maxSize = Size(), InputArray mask = noArray(),
                                          Stream& stream = cv::cuda::noStream()) = 0;
    /** @brief Detects objects of all sizes, and also returns the number of candidates of each. Waits for the stream if
    the image is a GpuMat.
    @param image CV_8U, 1 (gray), 3 (BGR) or 4 (BGRA) channels, Mat or GpuMat.
    @param objects boxes in pixels, inside of the image.
    @param numDetections number of candidates in each group; 1 for every object if minNeighbors is 0 or less.
    @param scaleFactor factor between successive scales, finite, above 1. Default 1.1.
    @param minNeighbors groups of more candidates than this are objects; 0 or less: each candidate is one. Default 3.
    @param flags not used. Default 0.
    @param minSize,maxSize smallest and largest (width, height) of objects, pixels; 0: no limit, the default.
    @param mask CV_8UC1 of the image's size, in the same memory: 0 drops candidates with their center there. Default: no
    mask.
    @param stream stream for a GpuMat; ignored for Mat. Default: the null stream. */
    CV_WRAP_AS(detectMultiScale2)
    virtual void detectMultiScale(InputArray image, CV_OUT std::vector<Rect>& objects,
                                  CV_OUT std::vector<int>& numDetections, double scaleFactor = 1.1,
                                  int minNeighbors = 3, int flags = 0, Size minSize = Size(), Size maxSize = Size(),
                                  InputArray mask = noArray(), Stream& stream = cv::cuda::noStream()) = 0;
    /** @brief Detects objects of all sizes, and also returns weights that tell how certain each is. Waits for the
    stream if the image is a GpuMat.
    @param image CV_8U, 1 (gray), 3 (BGR) or 4 (BGRA) channels, Mat or GpuMat.
    @param objects boxes in pixels, inside of the image.
    @param rejectLevels the number of stages of the cascade, once for each object. Empty if outputRejectLevels is false.
    @param levelWeights largest last-stage sum of each object; larger is more certain. Empty if outputRejectLevels is
    false.
    @param scaleFactor factor between successive scales, finite, above 1. Default 1.1.
    @param minNeighbors groups of more candidates than this are objects; 0 or less: each candidate is one. Default 3.
    @param flags not used. Default 0.
    @param minSize,maxSize smallest and largest (width, height) of objects, pixels; 0: no limit, the default.
    @param outputRejectLevels whether rejectLevels and levelWeights are filled. Default: false.
    @param mask CV_8UC1 of the image's size, in the same memory: 0 drops candidates with their center there. Default: no
    mask.
    @param stream stream for a GpuMat; ignored for Mat. Default: the null stream. */
    CV_WRAP_AS(detectMultiScale3)
    virtual void detectMultiScale(InputArray image, CV_OUT std::vector<Rect>& objects,
                                  CV_OUT std::vector<int>& rejectLevels, CV_OUT std::vector<double>& levelWeights,
                                  double scaleFactor = 1.1, int minNeighbors = 3, int flags = 0, Size minSize = Size(),
                                  Size maxSize = Size(), bool outputRejectLevels = false, InputArray mask = noArray(),
                                  Stream& stream = cv::cuda::noStream()) = 0;

    /** @brief Detects objects in one or many images with the parameters of this instance. Results are matrices of fixed
    size whose row i belongs to image i. Waits only for outputs on the host.
    @param images one image or a list of up to 2^20, CV_8U of 1, 3 or 4 channels, of any sizes; all Mat or all GpuMat.
    In Python pass a list, also for one image: [image]; N x H x W (W above 4) or N x H x W x channels is a list of N
    images.
    @param objects CV_32SC4, 1 + maxObjects columns: (n, found, candidates, overflow), then n boxes (x, y, width,
    height), then zeros. n < found: maxObjects was too small. overflow 1: there were more candidates than maxCandidates,
    n and found are 0.
    @param numDetections CV_32SC1, maxObjects columns: number of candidates of each object. Default: not wanted.
    @param levelWeights CV_64FC1, maxObjects columns: largest last-stage sum of each object. Default: not wanted.
    @param masks one mask for each image, CV_8UC1 of its size, in the same memory: keeps the candidates at whose center
    it is not 0. Individual masks may be empty. Default: no masks.
    @param stream stream for GpuMat; ignored for Mat. Default: the null stream. */
    CV_WRAP virtual void detectAsync(InputArrayOfArrays images, OutputArray objects,
                                     OutputArray numDetections = noArray(), OutputArray levelWeights = noArray(),
                                     InputArrayOfArrays masks = noArray(), Stream& stream = cv::cuda::noStream()) = 0;
    /** @brief Converts one row of `objects` of detectAsync() to a vector. Waits for the stream if it is a GpuMat.
    @param objects matrix filled by detectAsync().
    @param row index of the image, from 0.
    @param boxes boxes of the objects of that image.
    @return number of objects found, which exceeds boxes.size() if maxObjects was too small; -1: too many candidates.
    @param stream stream for a GpuMat; ignored for Mat. Default: the null stream. */
    CV_WRAP virtual int convertDetections(InputArray objects, int row, CV_OUT std::vector<Rect>& boxes,
                                          Stream& stream = cv::cuda::noStream()) const = 0;
    /** @brief Sets the factor between successive scales for detectAsync().
    @param factor factor, finite, above 1. Default 1.1. Detection throws for more than 4,095 scales. */
    CV_WRAP virtual void setScaleFactor(double factor) = 0;
    /** @brief Returns the factor between successive scales. Default 1.1. */
    CV_WRAP virtual double getScaleFactor() const = 0;
    /** @brief Sets the number of candidates that a group must exceed to be an object, for detectAsync().
    @param count groups of more candidates than this are objects; 0 or less: each candidate is one. Default 3. */
    CV_WRAP virtual void setMinNeighbors(int count) = 0;
    /** @brief Returns the number of candidates that a group must exceed to be an object. Default 3. */
    CV_WRAP virtual int getMinNeighbors() const = 0;
    /** @brief Sets the smallest size of objects for detectAsync().
    @param size width and height in pixels; a side of 0 or less is no limit. Default 0 x 0. */
    CV_WRAP virtual void setMinObjectSize(Size size) = 0;
    /** @brief Returns the smallest size of objects in pixels. Default 0 x 0: no limit. */
    CV_WRAP virtual Size getMinObjectSize() const = 0;
    /** @brief Sets the largest size of objects for detectAsync().
    @param size width and height in pixels. If one is 0, there is no upper limit. If no scale is left, the one nearest
    to the smallest size is searched. Default 0 x 0. */
    CV_WRAP virtual void setMaxObjectSize(Size size) = 0;
    /** @brief Returns the largest size of objects in pixels. Default 0 x 0: no limit. */
    CV_WRAP virtual Size getMaxObjectSize() const = 0;
    /** @brief Sets whether only the (first) object of largest area is kept, for detectAsync() and detectMultiScale().
    @param find true: keep only the largest object. Default false. */
    CV_WRAP virtual void setFindLargestObject(bool find) = 0;
    /** @brief Returns whether only the largest object is kept. Default false. */
    CV_WRAP virtual bool getFindLargestObject() const = 0;
    /** @brief Sets how many objects per image the matrices of detectAsync() can hold.
    @param count number of objects, 1 to 65,536. Default 256. */
    CV_WRAP virtual void setMaxObjects(int count) = 0;
    /** @brief Returns how many objects per image the matrices of detectAsync() can hold. Default 256. */
    CV_WRAP virtual int getMaxObjects() const = 0;
    /** @brief Sets how many candidates per image detectAsync() can group. Each needs 48 bytes of device memory.
    @param count number of candidates, 1 to 65,536. Default 8192. */
    CV_WRAP virtual void setMaxCandidates(int count) = 0;
    /** @brief Returns how many candidates per image detectAsync() can group. Default 8192. */
    CV_WRAP virtual int getMaxCandidates() const = 0;

    /** @brief Gets the scales that detectAsync() uses for images of a given size.
    @param imageSize width and height in pixels, sides up to 65,535.
    @param scales scale factors, from small objects to large ones.
    @param layerSizes size of the scaled image (pyramid level) of each scale. */
    CV_WRAP virtual void getScales(Size imageSize, CV_OUT std::vector<double>& scales,
                                   CV_OUT std::vector<Size>& layerSizes) const = 0;
    /** @brief Counts how many windows of an image pass each stage, for tuning. A GpuMat is downloaded and counted on
    the CPU; the call then waits.
    @param image CV_8U, 1, 3 or 4 channels, Mat or GpuMat.
    @param passes CV_32SC1, one row per scale, 3 + stages columns of numbers of windows: all; those not skipped (a
    window after one that failed stage 0 is); those with enough contrast; those that passed each stage. GpuMat only for
    a GpuMat.
    @param stream stream for a GpuMat; ignored for Mat. Default: the null stream. */
    CV_WRAP virtual void countPasses(InputArray image, OutputArray passes, Stream& stream = cv::cuda::noStream()) = 0;

    /** @brief Returns the device and pinned host memory of this instance in bytes; 0 if only the CPU was used. */
    CV_WRAP virtual size_t workspaceBytes() const = 0;

    /** @brief Forgets the cascade; parameters are kept. */
    CV_WRAP virtual void clear() CV_OVERRIDE = 0;
    /** @brief Returns true if no cascade is loaded. */
    CV_WRAP virtual bool empty() const CV_OVERRIDE = 0;
    /** @brief Returns the name of the class in files: "CascadeClassifierEx". */
    CV_WRAP virtual String getDefaultName() const CV_OVERRIDE;
    /** Writes the cascade, if any, in the new format, which cv::CascadeClassifier reads, and the parameters. */
    virtual void write(FileStorage& fs) const CV_OVERRIDE = 0;
    /** Reads a cascade of either format and parameters from a node; missing parameters keep their values. Use load()
    for untrusted files. @throws cv::Exception naming the node if something is not valid. */
    virtual void read(const FileNode& fn) CV_OVERRIDE = 0;
};

//! @}

}} // namespace cv::cuda

#endif // OPENCV_CUDATRACKING_CASCADE_HPP
