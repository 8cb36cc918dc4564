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

**Results** are those of cv::CascadeClassifier::detectMultiScale() with one thread (cv::setNumThreads(1)) on a Mat:
the same candidates in the same order, by scale, then y, then x; the same groups, counts, levels and weights. With
several threads the order of cv::CascadeClassifier varies; here it does not. Three differences:
- In a cascade of a single stage, cv::CascadeClassifier with outputRejectLevels also reports windows without contrast,
  with the weight of another window; this class does not report them.
- Haar features whose weights are no integers, or whose sums may exceed 2^24, are added up in float, rounded after each
  multiplication and addition. Compilers may fuse these in cv::CascadeClassifier (AArch64; x86-64 where OpenCV's
  baseline has FMA), which then differs in last bits. No cascade that OpenCV ships has such features.
- Where cv::CascadeClassifier takes rejectLevels and levelWeights but outputRejectLevels is false, it throws as soon as
  it finds something; this class returns the objects and leaves both lists empty.

**Files**: XML, YAML and JSON (also what FileStorage keeps in memory), new format (BOOST with HAAR or LBP features;
trees of any shape, tilted features) and the old format of haartraining, which is converted when read. HOG cascades
are refused, compressed files (.gz) too.
Limits: 8 MB, 100 levels of nesting, 1,000 different names of nodes, one document, no binary (base64) nodes, window
sides 3 to 256, up to 65,536 features, 2^20 nodes, 4,096 stages, 255 nodes per tree; a feature, rotated ones too, lies in
the window; a child of a node comes after it; all numbers are finite.
Files may be hostile: whatever is in them, load(), loadBuffer(), create() and convert() return or throw in a time
proportional to the file's length, with less than 256 MB of memory and less than 512 KB of stack. read() takes nodes of
a FileStorage that the caller opened, and FileStorage itself promises none of this.

**Pictures**: CV_8U, 1 channel (gray), 3 (BGR) or 4 (BGRA), sides up to 65,535. A region of interest is a picture of
its own.
**Scales** are powers of scaleFactor, as many as the picture and the limits of size let through; at most 4,095.
**Mask** (optional, CV_8UC1 of the picture's size): a candidate is kept when the mask is not 0 at the centre of its box
(x + width/2, y + height/2, integer division, at most the last column and row), of the box before it is cut to the
picture. All else is as without a mask.

**Two forms.** detectMultiScale() takes its parameters as cv::CascadeClassifier does, returns vectors, and waits on
the device; it has no limit on the number of objects. detectAsync() takes the object's parameters (setScaleFactor()
and so on, as cv::cuda::CascadeClassifier), one picture or many, of equal or mixed size, and writes tables on either
side:
- objects: CV_32SC4, one row a picture, 1 + maxObjects columns. Column 0 is (n, found, candidates, overflow): n boxes
  follow; `found` objects there were, more than n when maxObjects was too small; `candidates` is the number before
  grouping. When that is larger than maxCandidates, overflow is 1 and n and found are 0: nothing can be said about
  that picture. Columns beyond n hold zeros.
- numDetections: CV_32SC1, maxObjects columns: candidates in each group, 1 without grouping.
- levelWeights: CV_64FC1, maxObjects columns: weight of the last stage, the largest of the group.
convertDetections() makes vectors of them.

Determinism: bit-equal on both engines and from run to run. Instances share the cascade (clone()), which never
changes, and nothing else: one a thread, stream or device.
Waiting: detectAsync() and detectTogether() with GpuMat or HostMem outputs do not wait and can be captured into a CUDA
graph. A graph keeps the cascade, parameters, sizes and pictures' addresses it was captured with while the instance
lives; each replay reads pictures and masks anew and writes the same outputs. load() and setters do not disturb it.
All other methods that take pictures on the device wait, and cannot be captured.
Errors: cv::Exception naming the argument, or the file and its node; the object stays as it was.

Source: P. Viola, M. Jones, Rapid object detection using a boosted cascade of simple features, 2001; R. Lienhart, J.
Maydt, An extended set of Haar-like features, 2002; S. Liao et al., Learning multi-scale block local binary patterns,
2007.
Semantics in full, cost model, how to port: doc/cascade.md.
*/
class CV_EXPORTS_W CascadeClassifierEx : public Algorithm
{
public:
    enum FeatureType
    {
        HAAR = 0,
        LBP = 1
    };

    // OpenCV's Python help() shows the comments of this form that stand before a method, and no others: not those of
    // classes, enums or members. So each method says all that its caller needs.

    /** @brief Makes an object that detects objects with one of OpenCV's cascades, with the results of
    cv.CascadeClassifier. In Python only this makes one: CascadeClassifierEx.create(path), never the constructor
    CascadeClassifierEx(path), whose object crashes the interpreter when it is used.
    @param filename cascade, as in load(). Default: none, empty() is true then.
    @throws cv::Exception as load().
    */
    CV_WRAP static Ptr<CascadeClassifierEx> create(const String& filename = String());

    /** @brief Reads a cascade: Haar or LBP, new or old format, XML, YAML or JSON.
    @param filename path, up to 8 MB.
    @return true.
    @throws cv::Exception naming file and node when it is not there or not a valid cascade; the old cascade stays.
    */
    CV_WRAP virtual bool load(const String& filename) = 0;
    /** @brief load() from the bytes of a file in memory; in Python: loadBuffer(np.frombuffer(data, np.uint8)).
    @param buffer CV_8U, a row or column: what would stand in the file.
    @throws cv::Exception as load().
    */
    CV_WRAP virtual void loadBuffer(InputArray buffer) = 0;
    /** @brief Writes a cascade of the old format in the new one. @param oldcascade,newcascade paths. @return true.
    @throws cv::Exception as load(), and when the new file cannot be written. */
    CV_WRAP static bool convert(const String& oldcascade, const String& newcascade);
    /** @brief An object with the same parameters that shares the cascade, for another thread, stream or device.
    Costs no copy of the cascade. */
    CV_WRAP virtual Ptr<CascadeClassifierEx> clone() const = 0;

    /** @brief Width and height of the objects the cascade was trained on, in pixels. Of an empty object: 0 x 0. */
    CV_WRAP virtual Size getOriginalWindowSize() const = 0;
    /** @brief HAAR (0) or LBP (1); -1 of an empty object. */
    CV_WRAP virtual int getFeatureType() const = 0;
    /** @brief Number of stages; 0 of an empty object. */
    CV_WRAP virtual int getNumberOfStages() const = 0;
    /** @brief Whether the cascade is kept in the old format: always false, as it is converted when it is read. */
    CV_WRAP virtual bool isOldFormatCascade() const = 0;

    /** @brief Detects objects of all sizes, as cv.CascadeClassifier.detectMultiScale(). Waits.
    @param image CV_8U, 1, 3 (BGR) or 4 (BGRA) channels. Mat: CPU; GpuMat: on the device. Empty: no objects.
    @param objects boxes in pixels, inside of the picture.
    @param scaleFactor from one scale to the next, finite, above 1. Default 1.1.
    @param minNeighbors groups of more candidates than this are objects; 0 or less: all candidates, not grouped.
    Default 3.
    @param flags not used, as in cv.CascadeClassifier. Default 0.
    @param minSize,maxSize limits on the size of objects in pixels; a maxSize with a zero side: the picture's. When no
    scale is left, the one nearest to minSize is taken. Default: none.
    @param mask CV_8UC1 of the image's size, where the image is: keeps candidates with a centre where it is not 0, of
    the box before it is cut to the image. Default: none.
    @param stream of GpuMat. Default: the null stream.
    @throws cv::Exception on other arguments and on an empty object.
    */
    CV_WRAP virtual void detectMultiScale(InputArray image, CV_OUT std::vector<Rect>& objects, double scaleFactor = 1.1,
                                          int minNeighbors = 3, int flags = 0, Size minSize = Size(),
                                          Size maxSize = Size(), InputArray mask = noArray(),
                                          Stream& stream = cv::cuda::noStream()) = 0;
    /** @brief detectMultiScale() that also tells how many candidates each object is made of.
    @param numDetections candidates a group; all 1 when minNeighbors is 0 or less.
    @param image,objects,scaleFactor,minNeighbors,flags,minSize,maxSize,mask,stream as in detectMultiScale(). Default:
    the same. */
    CV_WRAP_AS(detectMultiScale2)
    virtual void detectMultiScale(InputArray image, CV_OUT std::vector<Rect>& objects,
                                  CV_OUT std::vector<int>& numDetections, double scaleFactor = 1.1,
                                  int minNeighbors = 3, int flags = 0, Size minSize = Size(), Size maxSize = Size(),
                                  InputArray mask = noArray(), Stream& stream = cv::cuda::noStream()) = 0;
    /** @brief detectMultiScale() that also tells how sure the cascade is.
    @param rejectLevels stages passed: the number of stages. @param levelWeights sum of the last stage, the largest of a
    group. Both are empty unless outputRejectLevels is true. Default: false.
    @param image,objects,scaleFactor,minNeighbors,flags,minSize,maxSize,outputRejectLevels,mask,stream as in
    detectMultiScale(). Default: the same. */
    CV_WRAP_AS(detectMultiScale3)
    virtual void detectMultiScale(InputArray image, CV_OUT std::vector<Rect>& objects,
                                  CV_OUT std::vector<int>& rejectLevels, CV_OUT std::vector<double>& levelWeights,
                                  double scaleFactor = 1.1, int minNeighbors = 3, int flags = 0, Size minSize = Size(),
                                  Size maxSize = Size(), bool outputRejectLevels = false, InputArray mask = noArray(),
                                  Stream& stream = cv::cuda::noStream()) = 0;

    /** @brief Detects objects in one or many pictures with this object's parameters, without waiting: the results are
    tables of fixed size. Row i belongs to picture i.
    @param images one picture or a list of up to 2^20, each as in detectMultiScale(), of any sizes; all Mat or all
    GpuMat. In Python a list even for one, [picture]: the rows of one array are refused.
    @param objects CV_32SC4, 1 + maxObjects columns: (n, found, candidates, overflow), then n boxes (x, y, width, height),
    then zeros. n < found: maxObjects was too small. overflow 1: more candidates than maxCandidates, n and found are 0.
    @param numDetections CV_32SC1, maxObjects columns: candidates of each object. Default: not wanted.
    @param levelWeights CV_64FC1, maxObjects columns: largest sum of the last stage of each object. Default: not wanted.
    @param masks one for each picture, as in detectMultiScale(); single ones may be empty. Default: none.
    @param stream of GpuMat. Default: the null stream.
    @throws cv::Exception on other arguments and on an empty object.
    */
    CV_WRAP virtual void detectAsync(InputArrayOfArrays images, OutputArray objects,
                                     OutputArray numDetections = noArray(), OutputArray levelWeights = noArray(),
                                     InputArrayOfArrays masks = noArray(), Stream& stream = cv::cuda::noStream()) = 0;
    /** @brief Boxes of one picture from the tables of detectAsync(). Waits when they are on the device.
    @param objects table of detectAsync(). @param row picture's number.
    @param boxes its objects. @return number of objects found: more than boxes when maxObjects was too small, -1 when
    there were more than maxCandidates candidates. @param stream of GpuMat. Default: the null stream. */
    CV_WRAP virtual int convertDetections(InputArray objects, int row, CV_OUT std::vector<Rect>& boxes,
                                          Stream& stream = cv::cuda::noStream()) const = 0;
    /** @brief detectAsync() for several cascades on the same pictures: gray values are made once for all of them, and on
    the CPU scaled pictures, too. Each keeps its own parameters but for the scale factor, which must be the same.
    @param cascades objects of this class, none empty; all are in use during the call. The first one's memory is used.
    @param images as in detectAsync().
    @param objects one table as of detectAsync() for each cascade.
    @param numDetections,levelWeights the same. Default: not wanted.
    @param stream of GpuMat. Default: the null stream.
    @throws cv::Exception on other arguments.
    */
    CV_WRAP static void detectTogether(const std::vector<Ptr<CascadeClassifierEx>>& cascades, InputArrayOfArrays images,
                                       OutputArrayOfArrays objects, OutputArrayOfArrays numDetections = noArray(),
                                       OutputArrayOfArrays levelWeights = noArray(),
                                       Stream& stream = cv::cuda::noStream());

    /** @brief Sets the factor from one scale to the next, for detectAsync(). @param factor finite, above 1. Default 1.1.
    @throws cv::Exception otherwise; the old value stays. */
    CV_WRAP virtual void setScaleFactor(double factor) = 0;
    /** @brief Factor from one scale to the next. Default 1.1. */
    CV_WRAP virtual double getScaleFactor() const = 0;
    /** @brief Sets what makes a group an object, for detectAsync(). @param count more candidates than this; 0: all
    candidates, not grouped. Default 3. */
    CV_WRAP virtual void setMinNeighbors(int count) = 0;
    /** @brief Groups of more candidates than this are objects. Default 3. */
    CV_WRAP virtual int getMinNeighbors() const = 0;
    /** @brief Sets the least size of objects, for detectAsync(). @param size pixels. Default 0 x 0: none. */
    CV_WRAP virtual void setMinObjectSize(Size size) = 0;
    /** @brief Least size of objects in pixels. Default 0 x 0. */
    CV_WRAP virtual Size getMinObjectSize() const = 0;
    /** @brief Sets the largest size of objects, for detectAsync(). @param size pixels; a zero side: the picture's size.
    Default 0 x 0. */
    CV_WRAP virtual void setMaxObjectSize(Size size) = 0;
    /** @brief Largest size of objects in pixels. Default 0 x 0: the picture's. */
    CV_WRAP virtual Size getMaxObjectSize() const = 0;
    /** @brief Sets whether only the object of largest area is kept (of equal ones the first), for detectAsync() and
    detectMultiScale(). @param find default false. */
    CV_WRAP virtual void setFindLargestObject(bool find) = 0;
    /** @brief Whether only the largest object is kept. Default false. */
    CV_WRAP virtual bool getFindLargestObject() const = 0;
    /** @brief Sets how many objects of a picture the tables of detectAsync() hold. @param count 1 to 65,536.
    Default 256.
    @throws cv::Exception otherwise; the old value stays. */
    CV_WRAP virtual void setMaxObjects(int count) = 0;
    /** @brief Objects of a picture that the tables of detectAsync() hold. Default 256. */
    CV_WRAP virtual int getMaxObjects() const = 0;
    /** @brief Sets how many candidates of a picture detectAsync() can group. Costs 100 bytes each and picture on
    the device, for at most as many as the picture has windows.
    @param count 1 to 65,536. Default 8192. @throws cv::Exception otherwise; the old value stays. */
    CV_WRAP virtual void setMaxCandidates(int count) = 0;
    /** @brief Candidates of a picture that detectAsync() can group. Default 8192. */
    CV_WRAP virtual int getMaxCandidates() const = 0;

    /** @brief Scales that detectAsync() works on for pictures of a size, with this object's parameters.
    @param imageSize width and height in pixels.
    @param scales factors, from small objects to large ones.
    @param layerSizes size of the scaled picture of each.
    @throws cv::Exception on an empty object. */
    CV_WRAP virtual void getScales(Size imageSize, CV_OUT std::vector<double>& scales,
                                   CV_OUT std::vector<Size>& layerSizes) const = 0;
    /** @brief Counts what the cascade does on a picture, with this object's parameters, for tuning. Slower than
    detection; waits; counts on the CPU also for a GpuMat, as both do the same.
    @param image as in detectMultiScale().
    @param passes CV_32SC1, one row a scale, 3 + stages columns: windows on the grid, those not skipped, those of them
    with enough contrast, and how many passed each stage. A window is skipped when the one before it in its row failed
    stage 0. On the host, or where the image is.
    @param stream of GpuMat. Default: the null stream.
    @throws cv::Exception on other arguments and on an empty object.
    */
    CV_WRAP virtual void countPasses(InputArray image, OutputArray passes, Stream& stream = cv::cuda::noStream()) = 0;

    /** @brief Device memory held by this instance, in bytes; 0 as long as only the CPU engine ran. */
    CV_WRAP virtual size_t workspaceBytes() const = 0;

    /** @brief Drops the cascade; parameters stay. */
    CV_WRAP virtual void clear() CV_OVERRIDE = 0;
    /** @brief True without a cascade. */
    CV_WRAP virtual bool empty() const CV_OVERRIDE = 0;
    /** @brief Name of the class in files: "CascadeClassifierEx". */
    CV_WRAP virtual String getDefaultName() const CV_OVERRIDE;
    //! The cascade in the new format, which cv::CascadeClassifier reads, and the parameters beside it.
    virtual void write(FileStorage& fs) const CV_OVERRIDE = 0;
    //! A cascade of either format; parameters that the node lacks keep their value. All or nothing.
    virtual void read(const FileNode& fn) CV_OVERRIDE = 0;
};

//! @}

}} // namespace cv::cuda

#endif // OPENCV_CUDATRACKING_CASCADE_HPP
