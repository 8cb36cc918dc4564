// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// over budget: OpenCV's Python help() shows only the comments before methods, so each repeats what its caller needs.
#ifndef OPENCV_CUDATRACKING_QUICK_SHIFT_HPP
#define OPENCV_CUDATRACKING_QUICK_SHIFT_HPP

#include "opencv2/core.hpp"
#include "opencv2/cudatracking/stream.hpp"

namespace cv { namespace cuda {

//! @addtogroup cudatracking
//! @{

/** @brief Quick-shift superpixels from all pairs of pixels.

Every pixel i is a point (x, y, s_1 c_1, .., s_K c_K) of its position and its K channel values, each times a scale. D_ij
is the squared distance of two points.
- **Density** E_i = sum over j of exp(-D_ij / (2 sigma^2)). The sum runs over the full square |dx|,|dy| <= R, R = ceil(3
  sigma), clipped at the image border; the pixel itself contributes 1.
- **Parent**: the nearest point of higher density in the square window of the search radius, at most maxDist away; on
  equal distances the one with the lowest row-major index.
- **Root**: a pixel without such a point. It is its own parent, at distance +infinity.
- **Superpixel**: a tree of parents. Its **label** is the rank of its root in row-major order, from 0.

Within these two windows every pair of pixels is evaluated: nothing is subsampled. A superpixel may consist of several
connected components in the image: see enforceConnectivity().

**Images**: CV_8U, CV_16U or CV_32F with 1 to 4 channels. Values are used as they are (8 bit: 0 to 255); colours are
never converted. Sides up to 65,535, at most 2,000,000,000 pixels.
**Mask** (optional, CV_8UC1): pixels where it is 0 do not contribute to densities and get density 0, parent -1, distance
+infinity and label -1; they are *masked*. Pixels of CV_32F images are masked, too, if a channel is NaN or has a
magnitude of 1e15 or more. If the scales differ between channels or are outside of [1/1024, 1024], this is the magnitude
of the scaled value, else of the value itself.

Settings that reproduce other programs (doc/quick_shift.md has more):

| program                                      | input                  | colorScale | others                |
|----------------------------------------------|------------------------|------------|-----------------------|
| the paper's GPU program (6, 10)              | 8-bit BGR              | 32/255     | STRICT, normalised    |
| vl_quickseg(I, ratio, ..) of VLFeat          | float Lab of [0,1] RGB | ratio      | STRICT                |
| quickshift(image, ratio, ..) of scikit-image | float Lab              | ratio      | STRICT, SEARCH_WINDOW |

sigma is their kernelsize or kernel_size, maxDist their maxdist or max_dist; (6, 10) are those of the paper. Normalised:
setNormalizeDensity(true). scikit-image also adds random noise to densities to break ties, as computeNoisy() does.

**Ties**: with INDEX, of two pixels of equal density the one with the lower row-major index counts as denser, so a
constant area is one superpixel. With STRICT only a strictly higher density makes a parent, as in VLFeat: each pixel of
a constant area may become a root.

**Precision**: the weight of a pair of pixels is an integer multiple of 2^-23, and sums are exact. For all images,
scales and sigmas the absolute error of a density E is at most 2e-5 E + 2^-24 (n - 1), n being the number of pixels in
the window; for 8-bit photographs, sigma up to 9 and scales up to 4, it is at most 1e-5 E (measured). Densities that
differ by less than this bound may compare in the wrong order or as equal, which happens often if 255 scale / sigma is
above 100 and maxDist is above 5. D has a relative error below 1e-6; it is exact for 8-bit images with a common scale of
1.

**Determinism**: bitwise identical between the backends, from run to run, and between compute() and computeTiled(). On
different machines this holds if exp() of both C libraries rounds to the same floats, which it nearly always does.

**Results** are those of the last compute() that succeeded; a call that throws leaves them unchanged. Before the first
compute() and after compute() of an empty image, getters give empty arrays and functions that return a count return 0.
Results of a GpuMat can be written to every array type, results of a Mat to host arrays only.

**Waiting, lifetimes, threads**: see the tables in cudatracking.hpp. Calls of several threads are executed one after
another, and share the results: use one instance per thread, or a getter may give those of another thread's compute().
Results of n x 1 elements may go to a std::vector.
**CUDA graphs**: call compute() once before the capture, with the size, type and parameters of the captured call. The
graph and the instance then share their results: getters outside of the graph return those of the last replay or call.
Without that call only getters in the same capture see the results of the graph.

Source: A. Vedaldi, S. Soatto, Quick shift and kernel methods for mode seeking, 2008; B. Fulkerson, S. Soatto, Really
quick shift: image segmentation on a GPU, 2010 ("the paper"). Cost and figures: doc/quick_shift.md. */
class CV_EXPORTS_W QuickShift : public Algorithm
{
public:
    //! Rule for two pixels of equal density.
    enum TieRule
    {
        INDEX = 0, //!< equal densities: the pixel with the lower row-major index counts as denser
        STRICT = 1 //!< equal densities: neither counts as denser (VLFeat, scikit-image, the paper's code)
    };
    //! Named values of the search radius of parents.
    enum SearchRadius
    {
        SEARCH_MAX_DIST = 0, //!< ceil(maxDist) pixels: no parent within maxDist is missed (VLFeat, the paper)
        SEARCH_WINDOW = -1   //!< ceil(3 sigma) pixels (scikit-image)
    };

    /** @brief Creates an object that computes quick-shift superpixels: each pixel is linked to its nearest
    neighbour of higher density in position and colour; each tree of links is a superpixel. Calls of several threads on
    one object are executed one after another, and share its results.
    @param sigma bandwidth of the Gaussian kernel, in pixels and scaled channel values; above 0, at most 341.
    Default 6.
    @param maxDist largest distance to a parent (tau), in the same units; above 0, at most 32,767. Default 10.
    @param colorScale factor on the values of all channels, 0 to 1e9; see setColorScale(). Default 32/255.
    @throws cv::Exception if a parameter is out of its range. */
    CV_WRAP static Ptr<QuickShift> create(double sigma = 6., double maxDist = 10., double colorScale = 32. / 255);

    /** @brief Sets the bandwidth of the Gaussian kernel. The density window reaches ceil(3 sigma) pixels in each
    direction.
    @param sigma bandwidth in pixels and scaled channel values; above 0, at most 341. Takes effect at the next
    compute().
    @throws cv::Exception if the value is out of its range; the old value stays. */
    CV_WRAP virtual void setSigma(double sigma) = 0;
    /** @brief Returns the bandwidth of the Gaussian kernel. Default 6. */
    CV_WRAP virtual double getSigma() const = 0;
    /** @brief Sets the largest distance to a parent (tau). A pixel with no parent within it becomes the root of a
    superpixel.
    @param maxDist distance in pixels and scaled channel values; above 0, at most 32,767. Takes effect at the next
    compute(). segment() applies a smaller value to existing results.
    @throws cv::Exception if the value is out of its range; the old value stays. */
    CV_WRAP virtual void setMaxDist(double maxDist) = 0;
    /** @brief Returns the largest distance to a parent. Default 10. */
    CV_WRAP virtual double getMaxDist() const = 0;
    /** @brief Sets one factor for the values of all channels, which weights colour against position. A larger factor
    gives more superpixels. The paper uses 32/255 for values 0 to 255; the equivalents are 32/65535 for 0 to 65535 and
    32 for 0 to 1.
    @param colorScale factor, 0 to 1e9. Takes effect at the next compute().
    @throws cv::Exception if the value is out of its range; the old factors stay. */
    CV_WRAP virtual void setColorScale(double colorScale) = 0;
    /** @brief Returns the factor of the first channel, which is that of all channels unless setChannelScales() was
    used. Default 32/255. */
    CV_WRAP virtual double getColorScale() const = 0;
    /** @brief Sets one factor for each channel, for example a smaller one for L of Lab.
    @param scales four factors, each 0 to 1e9; those beyond the image's channels are ignored. A missing one, as in
    Scalar(0.5), is 0, so that its channel is ignored. Takes effect at the next compute().
    @throws cv::Exception if a value is out of its range; the old factors stay. */
    CV_WRAP virtual void setChannelScales(const Scalar& scales) = 0;
    /** @brief Returns the factors of the four channels. Default 32/255 each. */
    CV_WRAP virtual Scalar getChannelScales() const = 0;
    /** @brief Sets how far parents are searched: half the side of the search window.
    @param radius SEARCH_MAX_DIST (0): ceil(maxDist), no parent is missed; SEARCH_WINDOW (-1): ceil(3 sigma), as in
    scikit-image; or 1 to 32767 pixels. Takes effect at the next compute().
    @throws cv::Exception if the value is out of its range; the old value stays. */
    CV_WRAP virtual void setSearchRadius(int radius) = 0;
    /** @brief Returns the search radius as given to setSearchRadius(). Default SEARCH_MAX_DIST (0). */
    CV_WRAP virtual int getSearchRadius() const = 0;
    /** @brief Sets which of two pixels of equal density counts as denser.
    @param rule INDEX (0): the pixel with the lower row-major index, so that a constant area is one superpixel;
    STRICT (1): neither, as in VLFeat, scikit-image and the paper's code. Takes effect at the next compute().
    @throws cv::Exception if the value is out of its range; the old rule stays. */
    CV_WRAP virtual void setTieRule(int rule) = 0;
    /** @brief Returns the tie rule. Default INDEX (0). */
    CV_WRAP virtual int getTieRule() const = 0;
    /** @brief Sets whether a density is divided by (w-1)(h-1) of its window of w x h pixels, clipped at the border, as
    the paper's GPU program does. A factor of 0, in images one pixel wide or high, is replaced by 1.
    @param normalize true: divide. Takes effect at the next compute(). */
    CV_WRAP virtual void setNormalizeDensity(bool normalize) = 0;
    /** @brief Returns whether densities are divided by the size of their window. Default false. */
    CV_WRAP virtual bool getNormalizeDensity() const = 0;

    /** @brief Computes densities, parents and labels of one image, which the getters return. A Mat is processed on the
    CPU, a GpuMat on the device without waiting.
    @param image CV_8U, CV_16U or CV_32F, 1 to 4 channels, sides up to 65,535, at most 2,000,000,000 pixels. An empty
    one, such as of a failed imread(), drops the results: then empty() is true, counts are 0, and getters give empty
    arrays.
    @param mask CV_8UC1 of the image's size, in the same memory (host or device); pixels where it is 0 belong to no
    superpixel (label -1). numpy's bool is refused: use mask.astype(np.uint8). Default: no mask.
    @param stream stream for a GpuMat; ignored for Mat. Default: the null stream.
    @throws cv::Exception if a type or size is not accepted; the results stay. */
    CV_WRAP virtual void compute(InputArray image, InputArray mask = noArray(),
                                 Stream& stream = cv::cuda::noStream()) = 0;

    /** @brief Runs compute() for a batch of images of one size and type, on the device with as many launches of the
    main kernels as for one image. Images do not influence each other. Afterwards all methods work on the whole batch:
    arrays of pixels contain the images one below the other, with N times the rows; parents and labels are numbered
    within their image. The rows of getStatistics() and the pairs of getAdjacency() number superpixels consecutively
    across the batch: label + getSuperpixelCounts() of all previous images. This overload takes images that lie in one
    array; in Python it is computeBatch(), which takes both forms.
    @param images list of Mat or of GpuMat; an empty list drops the results as in compute(). Or one array in host
    memory: N x height x width x channels, or N x height x width with one channel. An array that could be one image is
    refused, that is, an array of two dimensions, or of three with a last one of 1 to 4.
    @param labels list with one output CV_32SC1 for each image, Mat or GpuMat; noArray() if not wanted.
    @param masks list with one mask as in compute() for each image; an empty mask selects all pixels. Default: no masks.
    @param stream stream for GpuMat; ignored for Mat. Waits only if labels is a list of Mat. Default: the null stream.
    @throws cv::Exception if sizes or types differ or are not accepted by compute(), if an image is empty, if one image
    is given in place of a list, if the number of masks differs, or if there are more than 2,000,000,000 pixels in all.
    */
    CV_WRAP_AS(computeBatch)
    void computeStack(InputArray images, OutputArrayOfArrays labels, InputArrayOfArrays masks = noArray(),
                      Stream& stream = cv::cuda::noStream());

    /** @brief Runs compute() for a batch of images in a list; see computeStack(). One array is refused. */
    CV_WRAP virtual void computeBatch(InputArrayOfArrays images, OutputArrayOfArrays labels,
                                      InputArrayOfArrays masks = noArray(), Stream& stream = cv::cuda::noStream()) = 0;

    /** @brief Runs compute() for an image on the host in tiles, each with the border that it needs, for images that do
    not fit into device memory. Results are bit for bit those of compute() and are on the host.
    @param image,mask arguments as in compute(), both on the host. Default: no mask.
    @param tile width and height of a tile without its border, pixels, at least 1. The border is ceil(3 sigma) plus the
    search radius on each side, so small tiles repeat much work.
    @param useCuda true: process tiles on the current CUDA device, on the null stream, and wait. Default false: on the
    CPU.
    @throws cv::Exception as compute(), and if useCuda is true without a device; the results stay. */
    CV_WRAP virtual void computeTiled(InputArray image, Size tile, bool useCuda = false,
                                      InputArray mask = noArray()) = 0;

    /** @brief Runs compute() for an image on the host with noise added to the densities before pixels are linked, which
    breaks ties at random: scikit-image adds a normal distribution of standard deviation 1e-5. Works on the CPU, and
    adds to the exact sums in double. Densities that are equal with the noise are ordered by the tie rule; getDensity()
    gives densities with the noise.
    @param image,mask arguments as in compute(), both on the host. Default: no mask.
    @param noise CV_64FC1 of the image's size, on the host, finite.
    @throws cv::Exception as compute(), and if the noise is not as stated; the results stay. */
    CV_WRAP virtual void computeNoisy(InputArray image, InputArray noise, InputArray mask = noArray()) = 0;

    /** @brief Returns the number of superpixels (after computeBatch(): of all images together); 0 without results.
    Waits for the last call that was not captured, on any stream; wait for a replay yourself before. During a capture it
    returns the number of the existing results, because captured work has not been executed. */
    CV_WRAP virtual int getNumberOfSuperpixels() const = 0;
    /** @brief Gets the number of superpixels of each image. Waits only if results on the device go to a Mat, UMat or
    std::vector.
    @param counts CV_32SC1, N x 1: one row for each image of computeBatch(), one row after compute().
    @param stream stream as in getLabels(). Default: the null stream. */
    CV_WRAP virtual void getSuperpixelCounts(OutputArray counts, Stream& stream = cv::cuda::noStream()) const = 0;
    /** @brief Gets the label of each pixel: the rank of its superpixel's root in row-major order. Waits as
    getSuperpixelCounts().
    @param labels CV_32SC1, 0 to number - 1; -1 where masked.
    @param stream stream for results on the device, any stream: the call is executed after the last compute(); ignored
    for results on the host. Default: the null stream. */
    CV_WRAP virtual void getLabels(OutputArray labels, Stream& stream = cv::cuda::noStream()) const = 0;
    /** @brief Gets the density of each pixel: the sum of the kernel's weights over its window, its own weight 1
    included. Waits as getSuperpixelCounts().
    @param density CV_32FC1, at least 1 unless normalised; 0 where masked. The sum, a multiple of 2^-23, is rounded to
    32 bits, so up to 23 + log2((2R+1)^2) - 32 low bits are lost, R = ceil(3 sigma), and then to float.
    @param stream stream as in getLabels(). Default: the null stream. */
    CV_WRAP virtual void getDensity(OutputArray density, Stream& stream = cv::cuda::noStream()) const = 0;
    /** @brief Gets the parent of each pixel: the nearest pixel of higher density within maxDist, or the pixel itself
    for a root. Waits as getSuperpixelCounts().
    @param parents CV_32SC1, row-major index y * width + x; -1 where masked.
    @param stream stream as in getLabels(). Default: the null stream. */
    CV_WRAP virtual void getParents(OutputArray parents, Stream& stream = cv::cuda::noStream()) const = 0;
    /** @brief Gets the distance of each pixel to its parent, in pixels and scaled channel values, not squared. Waits as
    getSuperpixelCounts().
    @param distances CV_32FC1; +infinity at roots and where masked.
    @param stream stream as in getLabels(). Default: the null stream. */
    CV_WRAP virtual void getDistances(OutputArray distances, Stream& stream = cv::cuda::noStream()) const = 0;

    /** @brief Computes labels for a smaller maxDist from the existing trees: links longer than tau are removed. Equals
    compute() with maxDist = tau if the search radius is SEARCH_MAX_DIST. Does not change the current labels; see
    applyTau(). Waits as getSuperpixelCounts().
    @param tau distance in pixels and scaled channel values; above 0, at most the maxDist of compute().
    @param labels CV_32SC1, 0 to countSuperpixels(tau) - 1, -1 where masked; empty without results.
    @param stream stream as in getLabels(). Default: the null stream.
    @throws cv::Exception if tau is out of its range. */
    CV_WRAP virtual void segment(double tau, OutputArray labels, Stream& stream = cv::cuda::noStream()) = 0;
    /** @brief Makes the labels of segment(tau) current: all getters that depend on labels then refer to them. Does not
    wait. Discards the effect of enforceConnectivity(). The maxDist of compute() restores the labels of compute().
    @param tau distance as in segment().
    @param stream stream as in getLabels(). Default: the null stream.
    @throws cv::Exception if tau is out of its range. */
    CV_WRAP virtual void applyTau(double tau, Stream& stream = cv::cuda::noStream()) = 0;
    /** @brief Returns the smallest tau of getMergeHeights() that leaves at most a given number of superpixels. Waits.
    @param number wanted number of superpixels, at least 1 (after computeBatch(): of all images together).
    @param stream stream as in getLabels(). Default: the null stream.
    @return tau, to be passed to segment() or applyTau(); maxDist of compute() if even that leaves more superpixels or
    if no pixel has a parent; 0 without results.
    @throws cv::Exception if number is below 1. */
    CV_WRAP virtual double tauForSuperpixels(int number, Stream& stream = cv::cuda::noStream()) = 0;
    /** @brief Returns the number of superpixels that segment(tau) makes; 0 without results. Waits.
    @param tau distance as in segment().
    @param stream stream as in getLabels(). Default: the null stream.
    @throws cv::Exception if tau is out of its range. */
    CV_WRAP virtual int countSuperpixels(double tau, Stream& stream = cv::cuda::noStream()) = 0;
    /** @brief Gets the merge distances (dendrogram heights): all values of tau at which the number of superpixels
    changes. Waits. They refer to the trees of compute(), whatever applyTau() and enforceConnectivity() did.
    @param heights CV_32FC1, n x 1, ascending, distinct; empty if no pixel has a parent.
    @param counts CV_32SC1, n x 1: number of superpixels of segment(heights[k]); empty if no pixel has a parent.
    @param stream stream as in getLabels(). Default: the null stream. */
    CV_WRAP virtual void getMergeHeights(OutputArray heights, OutputArray counts,
                                         Stream& stream = cv::cuda::noStream()) = 0;

    /** @brief Draws the borders between superpixels into a mask. Waits as getSuperpixelCounts().
    @param mask CV_8UC1, 255 on borders, 0 elsewhere.
    @param thickLine true (default): pixels with more than one 8-neighbour of another label. false: pixels whose right,
    lower or lower right neighbour has another label. Masked pixels count as one label of their own.
    @param stream stream as in getLabels(). Default: the null stream. */
    CV_WRAP virtual void getLabelContourMask(OutputArray mask, bool thickLine = true,
                                             Stream& stream = cv::cuda::noStream()) const = 0;

    /** @brief Replaces each pixel of an image by the mean over its superpixel. Waits as getSuperpixelCounts().
    @param image CV_8U, CV_16U or CV_32F, 1 to 4 channels, of the size and in the memory (host or device) of the image
    of the last compute(); it may be a different image. After computeBatch(): all images in one array, one below the
    other.
    @param dst result, of type and size of image; 0 where masked. CV_8U and CV_16U means are rounded half up. CV_32F
    values are rounded before they are averaged, to multiples of 2^-30 times the smallest power of two above the largest
    finite magnitude of their image; NaN and infinity count as 0.
    @param stream stream for a GpuMat; ignored for Mat. Default: the null stream.
    @throws cv::Exception if size, type or memory of image does not fit. */
    CV_WRAP virtual void getMeanColor(InputArray image, OutputArray dst,
                                      Stream& stream = cv::cuda::noStream()) const = 0;

    /** @brief Gets statistics with one row for each superpixel; after computeBatch() rows are numbered across the
    batch, see there. Waits. Outputs that are not wanted may be noArray().
    @param image image for the means as in getMeanColor(); noArray(): means are empty.
    @param areas CV_32SC1, n x 1, pixels.
    @param means CV_32F, n x 1, with the channels of image.
    @param centroids CV_32FC2, n x 1, (x, y) in pixels of its image.
    @param boxes CV_32SC4, n x 1, bounding box (x, y, width, height) in pixels of its image.
    @param stream stream as in getLabels(). Default: the null stream.
    @throws cv::Exception as getMeanColor(). */
    CV_WRAP virtual void getStatistics(InputArray image, OutputArray areas, OutputArray means = noArray(),
                                       OutputArray centroids = noArray(), OutputArray boxes = noArray(),
                                       Stream& stream = cv::cuda::noStream()) const = 0;

    /** @brief Gets the pairs of adjacent superpixels: a pixel of one has a 4-neighbour in the other. Waits.
    @param pairs CV_32SC2, n x 1: distinct pairs of labels (a, b), a < b, sorted by a, then b; after computeBatch()
    numbered across the batch. Empty if there are none.
    @param stream stream as in getLabels(). Default: the null stream.
    @throws cv::Exception if there are more than 2^31 - 1 pairs, or, on the device, more than 2^31 - 1 neighbouring
    pixels of different labels. */
    CV_WRAP virtual void getAdjacency(OutputArray pairs, Stream& stream = cv::cuda::noStream()) const = 0;

    /** @brief Replaces the labels by 4-connected ones. Waits. Densities, parents and distances stay.
    - Every superpixel is split into its 4-connected components.
    - Components are ranked by size; of two of equal size the one whose first pixel comes first in row-major order ranks
      higher.
    - Each component below minSize merges into its highest-ranked neighbour, if that ranks higher than itself; all merge
      at the same time. This is repeated until no component below minSize has such a neighbour.
    - Labels are numbered by the first pixels of the resulting components.

    The number of superpixels may rise, because splitting can make more components than merging removes.
    @param minSize components of fewer pixels are merged; at least 1. Default 1: only split.
    @param stream stream as in getLabels(). Default: the null stream.
    @return new number of superpixels (after computeBatch(): of all images together); 0 without results.
    @throws cv::Exception if minSize is below 1. */
    CV_WRAP virtual int enforceConnectivity(int minSize = 1, Stream& stream = cv::cuda::noStream()) = 0;

    /** @brief Returns the device and pinned host memory held by this instance in bytes, including that of graphs; 0 if
    only the CPU backend was used. The CPU backend keeps some 56 bytes, and 4 per channel, per pixel of its largest
    image so far. */
    CV_WRAP virtual size_t workspaceBytes() const = 0;

    /** @brief Drops the results; keeps parameters and memory. */
    CV_WRAP virtual void clear() CV_OVERRIDE = 0;
    /** @brief Returns true without results: before compute(), after clear(), and after compute() of an empty image.
    After compute() of an image that is masked completely there are results, with 0 superpixels. */
    CV_WRAP virtual bool empty() const CV_OVERRIDE = 0;
    /** @brief Returns the name of the class in files: "QuickShift". save() and write() store parameters, not results.
    */
    CV_WRAP virtual String getDefaultName() const CV_OVERRIDE;
    /** @brief Creates an object with the parameters in a file of save(). The text is checked before FileStorage parses
    it.
    @param filename path of an XML, YAML or JSON file of at most 1 MiB.
    @throws cv::Exception naming the file if it cannot be read, or a parameter is missing or out of its range. */
    CV_WRAP static Ptr<QuickShift> load(const String& filename);
    //! Writes the parameters.
    virtual void write(FileStorage& fs) const CV_OVERRIDE = 0;
    /** Reads parameters from a node that FileStorage has parsed, which does not withstand malicious files: see load().
    Parameters that the node lacks keep their values. @throws cv::Exception if the node has none of the parameters, or
    one that is out of its range or of another type, such as a fraction for an integer; all parameters stay. */
    virtual void read(const FileNode& fn) CV_OVERRIDE = 0;
};

//! @}

}} // namespace cv::cuda

#endif // OPENCV_CUDATRACKING_QUICK_SHIFT_HPP
