// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

#ifndef OPENCV_CUDATRACKING_CASCADE_HPP
#define OPENCV_CUDATRACKING_CASCADE_HPP

#include "opencv2/core.hpp"
#include "opencv2/cudatracking/stream.hpp"

namespace cv { namespace cuda {

//! @addtogroup cudatracking
//! @{

/** @brief Object detection with boosted cascades: every Haar and LBP cascade of OpenCV, with the results of
cv::CascadeClassifier.

**Results** are those of cv::CascadeClassifier::detectMultiScale() with one thread (cv::setNumThreads(1)) on a Mat: the
same *candidates*, windows that pass all stages, in the same order (scale, then y, then x), and the same *groups* of
similar candidates. With several threads the order of cv::CascadeClassifier varies. There are three differences:
- If a cascade has a single stage, cv::CascadeClassifier with outputRejectLevels also reports windows of low contrast,
  with a stale weight that belongs to another window. This class does not report them.
- Haar features with fractional weights, or whose sums may exceed 2^24, are summed in float; this class rounds after
  each multiplication and addition. Compilers may fuse these operations in cv::CascadeClassifier (on AArch64, and on
  x86-64 if OpenCV's baseline includes FMA); its results then differ in the last bits. No cascade that OpenCV ships has
  such features.
- If rejectLevels and levelWeights are requested but outputRejectLevels is false, cv::CascadeClassifier throws as soon
  as it finds an object. This class returns the objects and leaves both lists empty.

**Files**: XML, YAML and JSON, also as strings in memory. The new format (BOOST with HAAR or LBP features, trees of any
shape, tilted, that is rotated, features) is read directly; the old format of haartraining is converted. HOG cascades
and compressed files (.gz) are refused. OpenCV's own files are in the folders data/haarcascades and data/lbpcascades of
its sources. Limits: 8 MiB, 100 levels of nesting, 1,000 distinct node names, one document, no binary (base64) nodes,
window sides 3 to 256, 65,536 features, 2^20 nodes, 4,096 stages, 255 nodes per tree. Features, rotated ones included,
must lie inside of the window; child nodes must follow their parents; all numbers must be finite. Files may be
malicious: whatever they contain, load(), loadBuffer(), create() and convert() return or throw in a time proportional to
the length of the file, with less than 256 MiB of memory and less than 512 KiB of stack. This does not hold for read()
and Algorithm::load<CascadeClassifierEx>(), which get nodes that FileStorage has parsed already.

**Images**: CV_8U, 1 channel (gray), 3 (BGR) or 4 (BGRA), sides up to 65,535. A region of interest is treated as an
independent image: pixels outside of it are not read.
**Scales** are the powers of scaleFactor at which the window fits into the image and the object into the limits of size;
at most 4,095.
**Mask** (optional, CV_8UC1, of the image's size): a candidate is kept if the mask is not 0 at the centre of its box,
column x + width/2 and row y + height/2 (integer division), at most the last column and row. The box is the one before
it is clipped to the image. The mask has no other effect.

**Two interfaces.** detectMultiScale() takes its parameters as cv::CascadeClassifier does, returns vectors, has no limit
on the number of objects, and waits. detectAsync() uses the parameters of the instance (setScaleFactor() and so on, as
cv::cuda::CascadeClassifier), processes one or many images of equal or different sizes, does not wait if its outputs
allow that, and writes matrices of fixed size with one row per image:

| matrix        | type     | columns        | content of a row                                                     |
|---------------|----------|----------------|----------------------------------------------------------------------|
| objects       | CV_32SC4 | 1 + maxObjects | (n, found, candidates, overflow), then n boxes, then zeros           |
| numDetections | CV_32SC1 | maxObjects     | number of candidates of each object, 1 without grouping              |
| levelWeights  | CV_64FC1 | maxObjects     | sum of the last stage, the largest one of each object's candidates   |

`found` is the number of objects; n is less if maxObjects is too small, and the first n objects are stored. `candidates`
is the number before grouping. If it exceeds maxCandidates, overflow is 1 and the objects of that image are not
reported: n and found are 0. convertDetections() converts a row to a vector.

**Waiting, lifetimes, graphs, threads**: see the tables in cudatracking.hpp. Calls of several threads on one instance
are executed one after another. Instances share the cascade (clone()), which never changes, and nothing else: one
instance per thread, stream or device lets them work at once. load() and setters do not affect graphs that were captured
before.

Source: P. Viola, M. Jones, Rapid object detection using a boosted cascade of simple features, 2001; R. Lienhart, J.
Maydt, An extended set of Haar-like features, 2002; S. Liao et al., Learning multi-scale block local binary patterns,
2007. Semantics in full, cost, how to port: doc/cascade.md. */
class CV_EXPORTS_W CascadeClassifierEx : public Algorithm
{
public:
    //! Type of the features of a cascade.
    enum FeatureType
    {
        HAAR = 0, //!< weighted sums over two or three rectangles, upright or rotated by 45 degrees
        LBP = 1   //!< local binary patterns of 3 x 3 cells
    };

    /** @brief Creates an object that detects objects with one of OpenCV's cascades, with the results of
    cv.CascadeClassifier. In Python use only CascadeClassifierEx.create(path): an object made by
    CascadeClassifierEx(path) refuses all methods of the class. Calls of several threads on one object are executed one
    after another.
    @param filename path of a cascade as in load(). Default: none; empty() is then true.
    @throws cv::Exception as load(). */
    CV_WRAP static Ptr<CascadeClassifierEx> create(const String& filename = String());

    /** @brief Reads a cascade: Haar or LBP, new or old format, XML, YAML or JSON. Safe for files from untrusted
    sources.
    @param filename path of a file of at most 8 MiB. A FIFO is read until its writer closes it, and waits for a writer.
    Of a file of save() only the cascade is read; read() restores the parameters too.
    @return true.
    @throws cv::Exception naming file and node if the file cannot be read or is no valid cascade; the old cascade stays.
    */
    CV_WRAP virtual bool load(const String& filename) = 0;
    /** @brief Reads a cascade from the contents of a file in memory; in Python: loadBuffer(np.frombuffer(data,
    np.uint8)).
    @param buffer CV_8UC1, one row or column: the contents of the file, at most 8 MiB.
    @throws cv::Exception as load(). */
    CV_WRAP virtual void loadBuffer(InputArray buffer) = 0;
    /** @brief Reads a cascade and writes it in the new format.
    @param oldcascade path of a cascade as in load().
    @param newcascade path of the file to write.
    @return true.
    @throws cv::Exception as load(), and if the new file cannot be written. */
    CV_WRAP static bool convert(const String& oldcascade, const String& newcascade);
    /** @brief Creates an instance with a copy of the parameters that shares the cascade, for another thread, stream or
    device. The cascade is not copied. */
    CV_WRAP virtual Ptr<CascadeClassifierEx> clone() const = 0;

    /** @brief Returns the size of the objects that the cascade was trained on, in pixels; 0 x 0 if no cascade is
    loaded. */
    CV_WRAP virtual Size getOriginalWindowSize() const = 0;
    /** @brief Returns the feature type: HAAR (0) or LBP (1); -1 if no cascade is loaded. */
    CV_WRAP virtual int getFeatureType() const = 0;
    /** @brief Returns the number of stages; 0 if no cascade is loaded. */
    CV_WRAP virtual int getNumberOfStages() const = 0;
    /** @brief Returns false: cascades of the old format are converted when they are read. */
    CV_WRAP virtual bool isOldFormatCascade() const = 0;

    /** @brief Detects objects of all sizes, as cv.CascadeClassifier.detectMultiScale(). Waits for the stream if the
    image is a GpuMat.
    @param image CV_8U, 1 (gray), 3 (BGR) or 4 (BGRA) channels. A Mat is processed on the CPU, a GpuMat on the device.
    An empty image has no objects.
    @param objects boxes in pixels, inside of the image.
    @param scaleFactor factor between successive scales, finite, above 1. Default 1.1.
    @param minNeighbors a group of candidates (windows that pass all stages) with similar boxes is one object if it has
    more candidates than this; other groups are dropped. 0 or less: each candidate is an object. Default 3.
    @param flags not used, as in cv.CascadeClassifier. Default 0.
    @param minSize,maxSize smallest and largest size of objects, pixels. Default: no limits. If a side of maxSize is 0,
    there is no upper limit. A negative side of minSize is no limit; one of maxSize excludes all scales. If the
    limits exclude all scales, the scale nearest to minSize is searched nevertheless, as in cv.CascadeClassifier.
    @param mask CV_8UC1 of the image's size, in the same memory (host or device): keeps the candidates at whose centre
    it is not 0. The centre is that of the box before it is clipped to the image. Default: no mask.
    @param stream stream for a GpuMat; ignored for Mat. Default: the null stream.
    @throws cv::Exception if an argument is invalid or no cascade is loaded. */
    CV_WRAP virtual void detectMultiScale(InputArray image, CV_OUT std::vector<Rect>& objects, double scaleFactor = 1.1,
                                          int minNeighbors = 3, int flags = 0, Size minSize = Size(),
                                          Size maxSize = Size(), InputArray mask = noArray(),
                                          Stream& stream = cv::cuda::noStream()) = 0;
    /** @brief Runs detectMultiScale() and also returns the number of candidates of each object.
    @param numDetections number of candidates in each group; 1 for every object if minNeighbors is 0 or less.
    @param image,objects,scaleFactor,minNeighbors,flags,minSize,maxSize,mask,stream arguments and default values as in
    detectMultiScale(). */
    CV_WRAP_AS(detectMultiScale2)
    virtual void detectMultiScale(InputArray image, CV_OUT std::vector<Rect>& objects,
                                  CV_OUT std::vector<int>& numDetections, double scaleFactor = 1.1,
                                  int minNeighbors = 3, int flags = 0, Size minSize = Size(), Size maxSize = Size(),
                                  InputArray mask = noArray(), Stream& stream = cv::cuda::noStream()) = 0;
    /** @brief Runs detectMultiScale() and also returns weights that tell how certain each detection is.
    @param rejectLevels number of stages of the cascade, for every object (kept for compatibility); empty if
    outputRejectLevels is false.
    @param levelWeights sum of the last stage, the largest one of each group; empty if outputRejectLevels is false.
    @param outputRejectLevels whether rejectLevels and levelWeights are filled. Default: false.
    @param image,objects,scaleFactor,minNeighbors,flags,minSize,maxSize,mask,stream arguments and default values as in
    detectMultiScale(). */
    CV_WRAP_AS(detectMultiScale3)
    virtual void detectMultiScale(InputArray image, CV_OUT std::vector<Rect>& objects,
                                  CV_OUT std::vector<int>& rejectLevels, CV_OUT std::vector<double>& levelWeights,
                                  double scaleFactor = 1.1, int minNeighbors = 3, int flags = 0, Size minSize = Size(),
                                  Size maxSize = Size(), bool outputRejectLevels = false, InputArray mask = noArray(),
                                  Stream& stream = cv::cuda::noStream()) = 0;

    /** @brief Detects objects in one or many images with the parameters of this instance. Results are matrices of fixed
    size whose row i belongs to image i. Waits only if the images are GpuMat and an output is a Mat, UMat or
    std::vector.
    @param images one image or a list of up to 2^20, each as in detectMultiScale(), of any sizes; all Mat or all GpuMat.
    In Python always pass a list, [image] for one image: the rows of a single array are refused. An array of N x H x W
    (W above 4) or N x H x W x channels is a list of N images.
    @param objects CV_32SC4, 1 + maxObjects columns: (n, found, candidates, overflow), then n boxes (x, y, width,
    height), then zeros. n < found: maxObjects was too small. overflow 1: there were more candidates than maxCandidates,
    n and found are 0.
    @param numDetections CV_32SC1, maxObjects columns: number of candidates of each object. Default: not wanted.
    @param levelWeights CV_64FC1, maxObjects columns: largest sum of the last stage of each object. Default: not wanted.
    @param masks one mask for each image as in detectMultiScale(); individual masks may be empty. Default: no masks.
    @param stream stream for GpuMat; ignored for Mat. Default: the null stream.
    @throws cv::Exception if an argument is invalid or no cascade is loaded. */
    CV_WRAP virtual void detectAsync(InputArrayOfArrays images, OutputArray objects,
                                     OutputArray numDetections = noArray(), OutputArray levelWeights = noArray(),
                                     InputArrayOfArrays masks = noArray(), Stream& stream = cv::cuda::noStream()) = 0;
    /** @brief Converts one row of the matrix `objects` of detectAsync() to a vector. Waits for the stream if it is a
    GpuMat.
    @param objects matrix of detectAsync().
    @param row index of the image, from 0.
    @param boxes boxes of the objects of that image.
    @return number of objects found, more than boxes if maxObjects was too small; -1 if there were more candidates than
    maxCandidates.
    @param stream stream for a GpuMat; ignored for Mat. Default: the null stream.
    @throws cv::Exception if objects is no CV_32SC4 of at least 2 columns or has no such row; boxes then stay. */
    CV_WRAP virtual int convertDetections(InputArray objects, int row, CV_OUT std::vector<Rect>& boxes,
                                          Stream& stream = cv::cuda::noStream()) const = 0;
    /** @brief Runs detectAsync() for several cascades on the same images. The gray image and the scaled images are
    computed once for all cascades. Each cascade keeps its own parameters, but the scale factors must be equal. Masks
    are not supported. Waits as detectAsync().
    @param cascades instances of this class, each with a cascade. None may be used elsewhere during the call. The memory
    of the first one is used.
    @param images images as in detectAsync().
    @param objects list of matrices, one for each cascade, as in detectAsync().
    @param numDetections,levelWeights lists of matrices, one for each cascade, as in detectAsync(). Default: not wanted.
    @param stream stream for GpuMat; ignored for Mat. Default: the null stream.
    @throws cv::Exception if an argument is invalid, if there is no cascade, or if scale factors differ. */
    CV_WRAP static void detectTogether(const std::vector<Ptr<CascadeClassifierEx>>& cascades, InputArrayOfArrays images,
                                       OutputArrayOfArrays objects, OutputArrayOfArrays numDetections = noArray(),
                                       OutputArrayOfArrays levelWeights = noArray(),
                                       Stream& stream = cv::cuda::noStream());

    /** @brief Sets the factor between successive scales for detectAsync().
    @param factor factor, finite, above 1. Default 1.1. Detection throws if an image then needs more than 4,095 scales.
    @throws cv::Exception if the value is out of its range; the old value stays. */
    CV_WRAP virtual void setScaleFactor(double factor) = 0;
    /** @brief Returns the factor between successive scales. Default 1.1. */
    CV_WRAP virtual double getScaleFactor() const = 0;
    /** @brief Sets how many candidates make a group an object, for detectAsync().
    @param count a group is an object if it has more candidates than this; 0 or less: no grouping. Default 3. */
    CV_WRAP virtual void setMinNeighbors(int count) = 0;
    /** @brief Returns the number of candidates that a group must exceed to be an object. Default 3. */
    CV_WRAP virtual int getMinNeighbors() const = 0;
    /** @brief Sets the smallest size of objects for detectAsync().
    @param size width and height in pixels; a side of 0 or less is no limit. Default 0 x 0. */
    CV_WRAP virtual void setMinObjectSize(Size size) = 0;
    /** @brief Returns the smallest size of objects in pixels. Default 0 x 0: no limit. */
    CV_WRAP virtual Size getMinObjectSize() const = 0;
    /** @brief Sets the largest size of objects for detectAsync().
    @param size width and height in pixels as in detectMultiScale(). If one or both are 0, there is no upper limit.
    Default 0 x 0. */
    CV_WRAP virtual void setMaxObjectSize(Size size) = 0;
    /** @brief Returns the largest size of objects in pixels. Default 0 x 0: the size of the image. */
    CV_WRAP virtual Size getMaxObjectSize() const = 0;
    /** @brief Sets whether only the object of largest area is kept (the first one of equal areas), for detectAsync()
    and detectMultiScale().
    @param find true: keep only the largest object. Default false. */
    CV_WRAP virtual void setFindLargestObject(bool find) = 0;
    /** @brief Returns whether only the largest object is kept. Default false. */
    CV_WRAP virtual bool getFindLargestObject() const = 0;
    /** @brief Sets how many objects per image the matrices of detectAsync() can hold.
    @param count number of objects, 1 to 65,536. Default 256.
    @throws cv::Exception if the value is out of its range; the old value stays. */
    CV_WRAP virtual void setMaxObjects(int count) = 0;
    /** @brief Returns how many objects per image the matrices of detectAsync() can hold. Default 256. */
    CV_WRAP virtual int getMaxObjects() const = 0;
    /** @brief Sets how many candidates per image detectAsync() can group. Needs 48 bytes of device memory per
    candidate and image, for at most as many candidates as the image has windows.
    @param count number of candidates, 1 to 65,536. Default 8192.
    @throws cv::Exception if the value is out of its range; the old value stays. */
    CV_WRAP virtual void setMaxCandidates(int count) = 0;
    /** @brief Returns how many candidates per image detectAsync() can group. Default 8192. */
    CV_WRAP virtual int getMaxCandidates() const = 0;

    /** @brief Gets the scales that detectAsync() uses for images of a given size with the parameters of this instance.
    @param imageSize width and height in pixels, sides up to 65,535.
    @param scales scale factors, from small objects to large ones.
    @param layerSizes size of the scaled image (pyramid level) of each scale.
    @throws cv::Exception if no cascade is loaded or imageSize is too large. */
    CV_WRAP virtual void getScales(Size imageSize, CV_OUT std::vector<double>& scales,
                                   CV_OUT std::vector<Size>& layerSizes) const = 0;
    /** @brief Counts how many windows of an image pass each stage, with the parameters of this instance, for tuning. It
    is slower than detection. A GpuMat is downloaded and counted on the CPU, because both backends evaluate the same
    windows; the call then waits.
    @param image image as in detectMultiScale().
    @param passes CV_32SC1, one row per scale, 3 + stages columns: number of windows on the grid; of those, windows that
    are not skipped; of those, windows with enough contrast; then the number of windows that passed each stage. A window
    is skipped if the one before it in its row failed stage 0. Host array, or GpuMat if image is a GpuMat.
    @param stream stream for a GpuMat; ignored for Mat. Default: the null stream.
    @throws cv::Exception if an argument is invalid or no cascade is loaded. */
    CV_WRAP virtual void countPasses(InputArray image, OutputArray passes, Stream& stream = cv::cuda::noStream()) = 0;

    /** @brief Returns the device and pinned host memory of this instance in bytes; 0 if only the CPU was used. */
    CV_WRAP virtual size_t workspaceBytes() const = 0;

    /** @brief Drops the cascade; parameters stay. */
    CV_WRAP virtual void clear() CV_OVERRIDE = 0;
    /** @brief Returns true if no cascade is loaded. */
    CV_WRAP virtual bool empty() const CV_OVERRIDE = 0;
    /** @brief Returns the name of the class in files: "CascadeClassifierEx". */
    CV_WRAP virtual String getDefaultName() const CV_OVERRIDE;
    /** Writes the cascade in the new format, which cv::CascadeClassifier reads, and the parameters of this instance.
    Without a cascade only the parameters: read() takes such a file, and load() refuses it. */
    virtual void write(FileStorage& fs) const CV_OVERRIDE = 0;
    /** Reads a cascade of either format from a node that FileStorage has parsed, which does not withstand malicious
    files as load() does. Parameters that the node lacks keep their values. @throws cv::Exception naming the node if
    something is not valid; the instance stays unchanged. */
    virtual void read(const FileNode& fn) CV_OVERRIDE = 0;
};

//! @}

}} // namespace cv::cuda

#endif // OPENCV_CUDATRACKING_CASCADE_HPP
