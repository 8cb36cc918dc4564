// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

#ifndef OPENCV_CUDATRACKING_QUICK_SHIFT_HPP
#define OPENCV_CUDATRACKING_QUICK_SHIFT_HPP

#include "opencv2/core.hpp"
#include "opencv2/cudatracking/stream.hpp"

namespace cv { namespace cuda {

//! @addtogroup cudatracking
//! @{

/** @brief Quick-shift superpixels: regions of similar color that follow boundaries, computed from all pixels.

Call compute() for an image, then query the results: labels, boundaries, mean colors, statistics, neighbors. segment()
and applyTau() make coarse superpixels finer without computing anything again.

@code
// Paints each superpixel of an image in its mean color.
void simplify(const cv::Mat& image, cv::Mat& painted)
{
    const cv::Ptr<cv::cuda::QuickShift> quickShift = cv::cuda::QuickShift::create(2., 20., 0.5);
    quickShift->compute(image); // a GpuMat: on the CUDA device
    quickShift->enforceConnectivity(20);
    quickShift->getMeanColor(image, painted);
    std::cout << quickShift->getNumberOfSuperpixels() << " superpixels" << std::endl;
}
@endcode

__Terms.__ A pixel is a point: its position (x, y), and its channel values times their scales (setColorScale(),
setChannelScales()). Distances are in pixels: a scaled difference of 1 counts as one pixel.
- **Density** of a pixel: the sum of Gaussian weights, by distance, of pixels within ceil(3 sigma) along x and y.
- **Parent**: the nearest pixel of higher density within maxDist and the search radius; the lowest row-major index wins
  ties.
- **Root**: a pixel without a parent. getParents() returns the root itself, getDistances() +infinity.
- **Superpixel**: all pixels whose parents lead to the same root. Its **label** is the rank of the root in row-major
  order.

A superpixel need not be connected in the image; enforceConnectivity() makes it so. Formulas, and settings that
reproduce other programs: doc/quick_shift.md.

__Images__: CV_8U, CV_16U or CV_32F with 1 to 16 channels. Values are used unscaled (8 bits: 0 to 255); colors are never
converted. Sides up to 65,535, at most 2,000,000,000 pixels.

__Mask__ (optional, CV_8UC1): pixels where it is 0 are *masked*. They do not contribute to densities and get density 0,
parent -1, distance +infinity and label -1. So do CV_32F pixels with a channel that is NaN or reaches 1e15; with scales
that differ between channels or are outside of [1/1024, 1024], value times scale counts.

__Precision__: weights are rounded to multiples of 2^-23 and summed exactly. For 8-bit photographs the relative error of
a density is at most 1e-5; where densities differ by less, a pixel may get another parent than with exact arithmetic.

__Determinism__: bit-identical between backends, runs, and compute() and computeTiled(); between machines unless their C
libraries round exp() differently, which is rare.

__Results__ come from the last compute() that succeeded. Without results (before compute(), after clear() or an empty
image) getters return empty arrays and counts are 0. Setters act on the next compute(). Results of a Mat go to host
arrays only. Results of n x 1 elements may go to a std::vector.

__Waiting, lifetimes, threads, errors__: see cudatracking.hpp. Threads that use one instance share its results. A call
that throws, such as for a value out of its range, leaves parameters and results unchanged.

__CUDA graphs__: call compute() once before the capture, with the same size, type and parameters. Getters then return
the results of the last replay or call. Without that call only getters in the same capture see the results of the graph.

Source: A. Vedaldi, S. Soatto, Quick shift and kernel methods for mode seeking, ECCV 2008; B. Fulkerson, S. Soatto,
Really quick shift: image segmentation on a GPU, 2010. */
class CV_EXPORTS_W QuickShift : public Algorithm
{
public:
    //! Rule for two pixels of equal density.
    enum TieRule
    {
        INDEX = 0, //!< the pixel with the lower row-major index counts as denser: a constant area is one superpixel
        STRICT = 1 //!< neither counts as denser (VLFeat, scikit-image): in a constant area each pixel may be a root
    };
    //! Named value of the factor on colors.
    enum ColorScale
    {
        BY_TYPE = -1 //!< 32/255 for 8 bits, 32/65535 for 16 bits, 32 for floating-point values, of 0 to 1
    };
    //! Named values of the search radius of parents.
    enum SearchRadius
    {
        SEARCH_MAX_DIST = 0, //!< ceil(maxDist) pixels, so no parent within maxDist is missed; VLFeat searches so, too
        SEARCH_WINDOW = -1   //!< ceil(3 sigma) pixels; scikit-image searches so
    };

    /** @brief Creates an instance for quick-shift superpixels: regions of similar color that follow boundaries.

    compute() links each pixel to its parent, the nearest pixel of higher density in position and color. A pixel without
    a parent within maxDist is a root, and all pixels whose links end at one root are a superpixel; its label is the
    rank of the root in row-major order. Then query getLabels(), getMeanColor(), getStatistics() and others. Images are
    uint8, uint16 or float32 with 1 to 16 channels: numpy arrays for the CPU, cv2.cuda.GpuMat for the device.
    @code{.py}
    >>> image = np.zeros((40, 60, 3), np.uint8)
    >>> image[:, 30:] = 255
    >>> quick_shift = cv2.cuda.QuickShift.create(2, 40)
    >>> quick_shift.compute(image)
    >>> quick_shift.getNumberOfSuperpixels()
    2
    >>> quick_shift.getLabels()[0, [0, 29, 30, 59]].tolist()
    [0, 0, 1, 1]
    @endcode
    Calls of several threads on one instance are serialized and share its results.
    @param sigma bandwidth of the Gaussian kernel in pixels (a scaled color difference of 1 counts as one); above 0, at
    most 341. Time grows with its square. Default 6.
    @param maxDist largest distance to a parent (tau), in the same unit; above 0, at most 32,767. A larger one gives
    fewer, larger superpixels. Default 10.
    @param colorScale factor on the values of all channels, 0 to 1e9; a larger one gives more superpixels. BY_TYPE (-1):
    32/255 for 8 bits, 32/65535 for 16 bits, 32 for floating-point values of 0 to 1. Default BY_TYPE. */
    CV_WRAP static Ptr<QuickShift> create(double sigma = 6., double maxDist = 10., double colorScale = -1.);

    /** @brief Creates an instance with the parameters for superpixels of photographs: compute() takes Lab images of 8
    bits, and applyNumber() makes the wanted number of superpixels (doc/quick_shift.md).
    @code{.py}
    >>> image = np.zeros((60, 80, 3), np.uint8)
    >>> image[:, 40:] = 255
    >>> quick_shift = cv2.cuda.QuickShift.forSuperpixels()
    >>> quick_shift.compute(cv2.cvtColor(image, cv2.COLOR_BGR2Lab))
    >>> quick_shift.applyNumber(2)
    2
    >>> quick_shift.getLabels()[0, [0, 39, 40, 79]].tolist()
    [0, 0, 1, 1]
    @endcode
    Convert images by cv::cvtColor() with COLOR_BGR2Lab from CV_8UC3, then upload; cv::cuda::cvtColor() may differ. */
    CV_WRAP static Ptr<QuickShift> forSuperpixels();

    /** @brief Sets the bandwidth of the Gaussian kernel. Time grows with its square.
    @param sigma bandwidth in pixels (a scaled color difference of 1 counts as one); above 0, at most 341. */
    CV_WRAP virtual void setSigma(double sigma) = 0;
    /** @brief Returns the bandwidth of the Gaussian kernel. Default 6. */
    CV_WRAP virtual double getSigma() const = 0;
    /** @brief Sets the largest distance to a parent (tau). A larger one gives fewer superpixels.
    @param maxDist distance in pixels (a scaled color difference of 1 counts as one); above 0, at most 32,767. segment()
    applies a smaller value to existing results. */
    CV_WRAP virtual void setMaxDist(double maxDist) = 0;
    /** @brief Returns the largest distance to a parent. Default 10. */
    CV_WRAP virtual double getMaxDist() const = 0;
    /** @brief Sets one factor for all channels: color against position. A larger one gives more superpixels.
    @param colorScale factor, 0 to 1e9, or BY_TYPE (-1): the default. */
    CV_WRAP virtual void setColorScale(double colorScale) = 0;
    /** @brief Returns the factor of the first channel. Default BY_TYPE (-1). */
    CV_WRAP virtual double getColorScale() const = 0;
    /** @brief Sets one factor for each channel, for example a smaller one for L of Lab.
    @param scales four factors, each 0 to 1e9; those beyond the image's channels are ignored. Scalar(0.5) sets the
    others to 0, which ignores their channels. The next compute() rejects images of 5 and more channels unless all four
    are equal; setScales() takes more. */
    CV_WRAP virtual void setChannelScales(const Scalar& scales) = 0;
    /** @brief Returns the factors of the first four channels. Default BY_TYPE (-1) each. */
    CV_WRAP virtual Scalar getChannelScales() const = 0;
    /** @brief Sets one factor for each channel of images of up to 16 channels, such as the bands of a satellite.
    @param scales 1 to 16 factors, each 0 to 1e9; those beyond the image's channels are ignored. Fewer than four are
    filled up with 0. compute() rejects images of 5 and more channels with fewer factors, unless all are equal. */
    CV_WRAP virtual void setScales(const std::vector<double>& scales) = 0;
    /** @brief Returns the factors of the channels, at least four. Default BY_TYPE (-1) each. */
    CV_WRAP virtual std::vector<double> getScales() const = 0;
    /** @brief Sets how far parents are searched along x and along y.
    @param radius SEARCH_MAX_DIST (0): ceil(maxDist), no parent is missed; SEARCH_WINDOW (-1): ceil(3 sigma), the radius
    of scikit-image; or 1 to 32767 pixels. */
    CV_WRAP virtual void setSearchRadius(int radius) = 0;
    /** @brief Returns the search radius as given to setSearchRadius(). Default SEARCH_MAX_DIST (0). */
    CV_WRAP virtual int getSearchRadius() const = 0;
    /** @brief Sets which of two pixels of equal density counts as denser.
    @param rule INDEX (0): the pixel with the lower row-major index: a constant area is one superpixel. STRICT (1):
    neither, as in VLFeat and scikit-image. */
    CV_WRAP virtual void setTieRule(int rule) = 0;
    /** @brief Returns the tie rule. Default INDEX (0). */
    CV_WRAP virtual int getTieRule() const = 0;
    /** @brief Sets whether a density is divided by max(w-1, 1) max(h-1, 1), w x h being the clipped square over which
    it is summed, as in the GPU program of Fulkerson and Soatto.
    @param normalize true: divide. */
    CV_WRAP virtual void setNormalizeDensity(bool normalize) = 0;
    /** @brief Returns whether densities are divided by the size of their square. Default false. */
    CV_WRAP virtual bool getNormalizeDensity() const = 0;

    /** @brief Computes densities, parents and labels of one image, which the getters return. A Mat is processed on the
    CPU, a GpuMat on the device without waiting.
    @param image CV_8U, CV_16U or CV_32F, 1 to 16 channels, sides up to 65,535, at most 2,000,000,000 pixels. Empty: no
    results.
    @param mask CV_8UC1 of the image's size, in the same memory (host or device); pixels where it is 0 belong to no
    superpixel (label -1). numpy's bool is rejected: use mask.astype(np.uint8). Default: no mask.
    @param stream stream for a GpuMat; ignored for Mat. Default: the null stream. */
    CV_WRAP virtual void compute(InputArray image, InputArray mask = noArray(),
                                 Stream& stream = cv::cuda::noStream()) = 0;

    /** @brief Computes a batch of images of one size and type, in one host array or a list. In Python: computeBatch().

    On the device this is faster than one call each; results are the same. Afterwards all methods work on the batch:
    arrays of pixels contain the images one below the other; parents and labels are numbered within their image.
    getStatistics() and getAdjacency() number superpixels across the batch: label + getSuperpixelCounts() before.
    @param images list of Mat or of GpuMat, or one array on the host, N x height x width of 1 to 16 channels or N x
    height x width x channels, that cannot be one image. An empty list clears the results.
    @param labels list with one output CV_32SC1 for each image, Mat or GpuMat: in C++ a std::vector or noArray().
    @param masks list with one mask for each image: CV_8UC1 of the image's size, in the same memory; pixels where it is
    0 get label -1. An empty mask selects all pixels. Default: no masks.
    @param stream stream for GpuMat. Waits only if labels is a list of Mat. Default: the null stream. */
    CV_WRAP_AS(computeBatch)
    void computeStack(InputArray images, OutputArrayOfArrays labels, InputArrayOfArrays masks = noArray(),
                      Stream& stream = cv::cuda::noStream());

    /** @brief computeStack() for lists only; for a list C++ may call either. */
    CV_WRAP virtual void computeBatch(InputArrayOfArrays images, OutputArrayOfArrays labels,
                                      InputArrayOfArrays masks = noArray(), Stream& stream = cv::cuda::noStream()) = 0;

    /** @brief Computes an image on the host in tiles, for images that do not fit into device memory. Results are those
    of compute(), on the host.
    @param image CV_8U, CV_16U or CV_32F, 1 to 16 channels, on the host.
    @param tile width and height of a tile without its border, pixels, at least 1. The border is ceil(3 sigma) plus the
    search radius; small tiles repeat much work.
    @param useCuda true: process tiles on the current CUDA device and wait. Default false: on the CPU.
    @param mask CV_8UC1 of the image's size, on the host; pixels where it is 0 get label -1. Default: no mask.
    @throws cv::Exception if an argument is not accepted, or if useCuda is true without a device. */
    CV_WRAP virtual void computeTiled(InputArray image, Size tile, bool useCuda = false,
                                      InputArray mask = noArray()) = 0;

    /** @brief Computes an image on the host with noise added to the densities (in double) before pixels are linked,
    which breaks ties at random; scikit-image draws it from a normal distribution of standard deviation 1e-5. Works on
    the CPU. getDensity() returns densities with the noise.
    @param image CV_8U, CV_16U or CV_32F, 1 to 16 channels, on the host.
    @param noise CV_64FC1 of the image's size, on the host, finite.
    @param mask CV_8UC1 of the image's size, on the host; pixels where it is 0 get label -1. Default: no mask. */
    CV_WRAP virtual void computeNoisy(InputArray image, InputArray noise, InputArray mask = noArray()) = 0;

    /** @brief Returns the number of superpixels (after computeBatch(): of all images together); 0 without results.
    Waits for the last call that was not captured, on any stream, but not for replays of a graph: synchronize their
    stream first. During a capture it returns the number of the existing results. */
    CV_WRAP virtual int getNumberOfSuperpixels() const = 0;
    /** @brief Gets the number of superpixels of each image. Waits only for outputs on the host.
    @param counts CV_32SC1, N x 1: one row for each image of computeBatch(), one row after compute().
    @param stream stream for results on the device. Default: the null stream. */
    CV_WRAP virtual void getSuperpixelCounts(OutputArray counts, Stream& stream = cv::cuda::noStream()) const = 0;
    /** @brief Gets the label of each pixel: the rank of its root in row-major order. Waits only for outputs on the
    host.
    @param labels CV_32SC1, 0 to number - 1; -1 where masked.
    @param stream stream for results on the device. Default: the null stream. */
    CV_WRAP virtual void getLabels(OutputArray labels, Stream& stream = cv::cuda::noStream()) const = 0;
    /** @brief Gets the density of each pixel. Waits only for outputs on the host.
    @param density CV_32FC1, at least 1 unless normalized; 0 where masked.
    @param stream stream for results on the device. Default: the null stream. */
    CV_WRAP virtual void getDensity(OutputArray density, Stream& stream = cv::cuda::noStream()) const = 0;
    /** @brief Gets the parent of each pixel: the nearest pixel of higher density within maxDist, or the pixel itself
    for a root. Waits only for outputs on the host.
    @param parents CV_32SC1, row-major index y * width + x; -1 where masked.
    @param stream stream for results on the device. Default: the null stream. */
    CV_WRAP virtual void getParents(OutputArray parents, Stream& stream = cv::cuda::noStream()) const = 0;
    /** @brief Gets the distance of each pixel to its parent, in pixels (a scaled color difference of 1 counts as one);
    not squared. Waits only for outputs on the host.
    @param distances CV_32FC1; +infinity at roots and where masked.
    @param stream stream for results on the device. Default: the null stream. */
    CV_WRAP virtual void getDistances(OutputArray distances, Stream& stream = cv::cuda::noStream()) const = 0;

    /** @brief Computes labels for a smaller maxDist from the existing trees, by removing links longer than tau. Equals
    compute() with maxDist = tau if the search radius is SEARCH_MAX_DIST. Does not change the current labels; applyTau()
    does. Waits only for outputs on the host.
    @param tau distance in pixels (a scaled color difference of 1 counts as one), above 0, at most the last maxDist.
    @param labels CV_32SC1, 0 to countSuperpixels(tau) - 1, -1 where masked; empty without results.
    @param stream stream for results on the device. Default: the null stream. */
    CV_WRAP virtual void segment(double tau, OutputArray labels, Stream& stream = cv::cuda::noStream()) = 0;
    /** @brief Makes the labels of segment(tau) current. Does not wait. Call it before enforceConnectivity(), whose
    effect it discards. With tau = maxDist it restores the labels of compute().
    @param tau distance in pixels (a scaled color difference of 1 counts as one), above 0, at most the last maxDist.
    @param stream stream for results on the device. Default: the null stream. */
    CV_WRAP virtual void applyTau(double tau, Stream& stream = cv::cuda::noStream()) = 0;
    /** @brief Returns the smallest tau of getMergeHeights() that leaves at most a given number of superpixels. Waits.
    @param number wanted number of superpixels, at least 1 (after computeBatch(): of all images together).
    @param stream stream for results on the device. Default: the null stream.
    @return tau, to be passed to segment() or applyTau(). The last maxDist if even it leaves more; 0 without results. */
    CV_WRAP virtual double tauForSuperpixels(int number, Stream& stream = cv::cuda::noStream()) = 0;
    /** @brief Makes about a given number of 4-connected superpixels, by applyTau() and enforceConnectivity(minSize).
    Waits.

    Tries values of tau, usually five, until the number is within 2 %, and takes the nearest number found: constant
    areas cannot be divided, maxDist limits how far superpixels can be merged, minSize how many there can be. Discards
    the effect of enforceConnectivity() and applyTau().
    @param number wanted number of superpixels, at least 1 (after computeBatch(): of all images together).
    @param minSize components of fewer pixels are merged into larger neighbors. Default 0: a twelfth of the mean area of
    the wanted superpixels, masked pixels not counted.
    @param stream stream for results on the device. Default: the null stream.
    @return number of superpixels; 0 without results. */
    CV_WRAP virtual int applyNumber(int number, int minSize = 0, Stream& stream = cv::cuda::noStream()) = 0;
    /** @brief Returns the number of superpixels that segment(tau) makes; 0 without results. Waits.
    @param tau distance in pixels (a scaled color difference of 1 counts as one), above 0, at most the last maxDist.
    @param stream stream for results on the device. Default: the null stream. */
    CV_WRAP virtual int countSuperpixels(double tau, Stream& stream = cv::cuda::noStream()) = 0;
    /** @brief Gets the merge distances (dendrogram heights): all values of tau at which the number of superpixels
    changes. Waits. They refer to the trees of compute().
    @param heights CV_32FC1, n x 1, ascending, distinct; empty if no pixel has a parent.
    @param counts CV_32SC1, n x 1: number of superpixels of segment(heights[k]); empty if no pixel has a parent.
    @param stream stream for results on the device. Default: the null stream. */
    CV_WRAP virtual void getMergeHeights(OutputArray heights, OutputArray counts,
                                         Stream& stream = cv::cuda::noStream()) = 0;

    /** @brief Draws the boundaries between superpixels into a mask. Waits only for outputs on the host.
    @param mask CV_8UC1, 255 on boundaries, 0 elsewhere.
    @param thickLine true (default): pixels with more than one 8-neighbor of another label. false: pixels whose right,
    lower or lower right neighbor has another label. Masked pixels count as one label of their own.
    @param stream stream for results on the device. Default: the null stream. */
    CV_WRAP virtual void getLabelContourMask(OutputArray mask, bool thickLine = true,
                                             Stream& stream = cv::cuda::noStream()) const = 0;

    /** @brief Replaces each pixel of an image by the mean over its superpixel. Waits only for outputs on the host.
    @param image CV_8U, CV_16U or CV_32F, 1 to 16 channels, of the size and in the memory (host or device) of the image
    of the last compute(); it may be a different image. After computeBatch(): all images, one below the other.
    @param dst result, of type and size of image; 0 where masked. Means of CV_8U and CV_16U are rounded half up. CV_32F
    values are averaged in fixed point, 2^-30 of the largest magnitude; NaN and infinity count as 0.
    @param stream stream for a GpuMat; ignored for Mat. Default: the null stream. */
    CV_WRAP virtual void getMeanColor(InputArray image, OutputArray dst,
                                      Stream& stream = cv::cuda::noStream()) const = 0;

    /** @brief Gets statistics with one row for each superpixel, in the order of labels. After computeBatch() the rows
    of all images follow each other. Waits. Outputs that are not wanted may be noArray().
    @param image image for the means: CV_8U, CV_16U or CV_32F, 1 to 16 channels, of the size and in the memory of the
    image of the last compute(), after computeBatch() all images one below the other; noArray(): means are empty.
    @param areas CV_32SC1, n x 1, pixels.
    @param means CV_32F, n x 1, with the channels of image; those of CV_32F images in steps as of getMeanColor().
    @param centroids CV_32FC2, n x 1, (x, y) in pixels of its image.
    @param boxes CV_32SC4, n x 1, bounding box (x, y, width, height) in pixels of its image.
    @param stream stream for results on the device. Default: the null stream. */
    CV_WRAP virtual void getStatistics(InputArray image, OutputArray areas, OutputArray means = noArray(),
                                       OutputArray centroids = noArray(), OutputArray boxes = noArray(),
                                       Stream& stream = cv::cuda::noStream()) const = 0;

    /** @brief Gets the pairs of adjacent superpixels: a pixel of one has a 4-neighbor in the other. Waits.
    @param pairs CV_32SC2, n x 1: distinct pairs of labels (a, b), a < b, sorted by a, then b. After computeBatch() a
    superpixel has its label + the number of superpixels of all previous images. Empty if there are no pairs.
    @param stream stream for results on the device. Default: the null stream.
    @throws cv::Exception if there are more than 2^31 - 1 pairs or, on the device, pixels at boundaries. */
    CV_WRAP virtual void getAdjacency(OutputArray pairs, Stream& stream = cv::cuda::noStream()) const = 0;

    /** @brief Replaces the labels by 4-connected ones. Waits. Densities, parents and distances are not changed.
    - Every superpixel is split into its 4-connected components.
    - Components are ranked by size, then by their first pixel in row-major order.
    - Components below minSize merge into their highest-ranked neighbor if that ranks higher, all at once, repeatedly.
    - Labels are numbered by the first pixels of the results. The number of superpixels may rise.

    @param minSize components of fewer pixels are merged; at least 1. Default 1: only split.
    @param stream stream for results on the device. Default: the null stream.
    @return new number of superpixels (after computeBatch(): of all images together); 0 without results. */
    CV_WRAP virtual int enforceConnectivity(int minSize = 1, Stream& stream = cv::cuda::noStream()) = 0;

    /** @brief Returns the device and pinned host memory held by this instance in bytes, including that of graphs. The
    CPU backend, which is not counted, keeps about 56 + 4 x channels bytes per pixel of its largest image. */
    CV_WRAP virtual size_t workspaceBytes() const = 0;

    /** @brief Clears the results; keeps parameters and memory. */
    CV_WRAP virtual void clear() CV_OVERRIDE = 0;
    /** @brief Returns true without results: before compute(), after clear(), and after compute() of an empty image. */
    CV_WRAP virtual bool empty() const CV_OVERRIDE = 0;
    /** @brief Returns the name of the class in files: "QuickShift". Files contain parameters, not results. */
    CV_WRAP virtual String getDefaultName() const CV_OVERRIDE;
    /** @brief Creates an instance with the parameters in a file written by save(). Safe for untrusted files.
    @param filename path of an XML file of at most 1 MiB.
    @throws cv::Exception naming the file if it cannot be read, or a parameter is missing or out of its range. */
    CV_WRAP static Ptr<QuickShift> load(const String& filename);
    //! Writes the parameters.
    virtual void write(FileStorage& fs) const CV_OVERRIDE = 0;
    /** Reads parameters from a node; missing ones keep their values. Use load() for untrusted files. @throws
    cv::Exception if the node has none of the parameters, or one that is out of its range or of another type. */
    virtual void read(const FileNode& fn) CV_OVERRIDE = 0;
};

//! @}

}} // namespace cv::cuda

#endif // OPENCV_CUDATRACKING_QUICK_SHIFT_HPP
