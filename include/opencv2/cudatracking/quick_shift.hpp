// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// over budget: Python's help() needs all that a method's caller must know before that method.
#ifndef OPENCV_CUDATRACKING_QUICK_SHIFT_HPP
#define OPENCV_CUDATRACKING_QUICK_SHIFT_HPP

#include "opencv2/core.hpp"
#include "opencv2/cudatracking/stream.hpp"

namespace cv { namespace cuda {

//! @addtogroup cudatracking
//! @{

/** @brief Exact quick-shift superpixels.

Every pixel becomes a point (x, y, s_1 c_1, .., s_K c_K) of its position and its K colours times a scale. Its **density** is
E_i = sum over the square window |dx|,|dy| <= R, R = ceil(3 sigma), cut at the picture's border, of exp(-D_ij/(2 sigma^2)),
D the squared distance of two points; the pixel itself counts 1. Its **parent** is the nearest point of higher density in
the square window of the search radius; on equal distances the first in raster order. A pixel with no parent within
maxDist is a **root**: its own parent, at distance +inf. A superpixel is a tree of parents; its **label** is the rank of
its root in raster order, from 0. Nothing is approximated: no circular cut, no subsampling.

**Pictures**: CV_8U, CV_16U or CV_32F with 1 to 4 channels, values taken as they are (8 bit: 0..255); colours are never
converted. Sides up to 65,535, at most 2,000,000,000 pixels. **Mask** (optional, CV_8UC1): where it is 0 a pixel gives no
density and has none, parent -1, distance +inf, label -1. CV_32F pixels with a channel that is NaN or beyond 1e15 are
masked too; where channels have different scales, or a scale is not in [1/1024, 1024], scaled values count.

**Known recipes** (colorScale, sigma, maxDist): the paper, BGR: 32/255, 6, 10, the defaults. vl_quickseg(I, ratio,
kernelsize, maxdist): Lab of [0,1] RGB times ratio, searchRadius 0, STRICT. scikit-image quickshift(ratio, kernel_size, max_dist): Lab times
ratio, searchRadius -1, STRICT (it adds noise to break ties, which this class has no need for). See doc/quick_shift.md.

**Ties**: on plateaus of equal density (flat areas) the lower raster index counts as higher, so that a flat area is one
superpixel. With STRICT only a higher density does, as in VLFeat: each plateau pixel may become a root of its own.

**Precision**: weights have 23 fractional bits, sums are exact integers. For any picture, scales and sigma a density is
2e-5 of itself plus 2^-24 for each other pixel of its window away from the exact real number, at most; in photographs of
8 bit, sigma up to 9 and scales up to 4, 1e-5 of itself. Densities nearer to each other may change their order or become
equal, which are many where 255 scale / sigma is above 100 and maxDist above 5. D has a relative error below 1e-6; it is
exact for 8-bit pictures with a common scale of 1.

Determinism: bit-equal on both engines of a process and from run to run, in every output; also for the whole and its
tiles. Between machines as far as their C libraries' exp() rounds to the same floats, which it nearly always does.
Trees need not be 4-connected: see enforceConnectivity(). Threads and streams: see the module page.

**Results** belong to the last compute() that went well: a call that throws leaves them as they were. Before the first
one, and after that of an empty picture, getters give empty arrays, and numbers are 0. Results of a GpuMat go to GpuMat
without waiting, to HostMem in stream order without waiting, to Mat and UMat (n x 1 also to std::vector) at the end of
the call, which then waits for its stream. Results of a Mat do not go to GpuMat: cv::Exception.

**CUDA graphs**: what does not wait may be captured, also the first call; the rest throws on a stream that is being
captured and leaves the capture valid. Captured work has not happened: without a replay nothing changes. A graph keeps
parameters, sizes and memory of its capture whatever is called meanwhile, and reads pictures and masks anew at each replay;
the object must outlive it. If compute() was called with the same size, type and parameters before a capture of it, both
share results: getters then give what the last replay or call left. Otherwise captured results are
seen only by getters in the same capture.

Source: A. Vedaldi, S. Soatto, Quick shift and kernel methods for mode seeking, 2008; B. Fulkerson, S. Soatto, Really
quick shift: image segmentation on a GPU, 2010. Cost model and figures: doc/quick_shift.md.
*/
class CV_EXPORTS_W QuickShift : public Algorithm
{
public:
    enum TieRule
    {
        INDEX = 0, //!< equal densities: the lower raster index is higher
        STRICT = 1 //!< equal densities: neither is higher (VLFeat, scikit-image, the paper's code)
    };
    enum SearchRadius
    {
        SEARCH_MAX_DIST = 0, //!< ceil(maxDist): no parent within maxDist is missed (VLFeat, the paper)
        SEARCH_WINDOW = -1   //!< ceil(3 sigma), as scikit-image does
    };

    // OpenCV's Python help() shows the comments of this form that stand before a method, and no others: not those of
    // classes, enums or members. So each method says all that its caller needs.

    /** @brief Makes an object that cuts pictures into exact quick-shift superpixels: each pixel is linked to its
    nearest neighbour of higher density in position and colour, each tree of links is a superpixel.
    @param sigma bandwidth of the Gaussian kernel in pixels and scaled colours; above 0, at most 341. Default 6.
    @param maxDist largest distance to a parent (tau), in the same units; above 0, at most 32,767. Default 10.
    @param colorScale factor on the values of all channels, 0 to 1e9; see setColorScale(). Default 32/255.
    @throws cv::Exception when a parameter is out of its range.
    */
    CV_WRAP static Ptr<QuickShift> create(double sigma = 6., double maxDist = 10., double colorScale = 32. / 255);

    /** @brief Sets the bandwidth of the Gaussian kernel; its window reaches ceil(3 sigma) pixels to each side.
    @param sigma pixels and scaled colours; above 0, at most 341. Counts from the next compute() on.
    @throws cv::Exception otherwise; the old value stays.
    */
    CV_WRAP virtual void setSigma(double sigma) = 0;
    /** @brief Bandwidth of the Gaussian kernel. Default 6. */
    CV_WRAP virtual double getSigma() const = 0;
    /** @brief Sets the largest distance to a parent (tau); a pixel without a parent so near is the root of a
    superpixel.
    @param maxDist pixels and scaled colours; above 0, at most 32,767. Counts from the next compute() on; segment()
    cuts present results at a smaller value.
    @throws cv::Exception otherwise; the old value stays.
    */
    CV_WRAP virtual void setMaxDist(double maxDist) = 0;
    /** @brief Largest distance to a parent. Default 10. */
    CV_WRAP virtual double getMaxDist() const = 0;
    /** @brief Sets one factor for the values of all channels, which weighs colour against position. The larger, the
    more superpixels. 32/255, for values 0..255, is the paper's; for 0..65535 take 32/65535, for 0..1 take 32.
    @param colorScale 0 to 1e9. Counts from the next compute() on.
    @throws cv::Exception otherwise; the old factors stay.
    */
    CV_WRAP virtual void setColorScale(double colorScale) = 0;
    /** @brief Factor of the first channel: that of all after setColorScale(). Default 32/255. */
    CV_WRAP virtual double getColorScale() const = 0;
    /** @brief Sets one factor for each channel, for example Lab with a weaker L.
    @param scales four numbers, each 0 to 1e9; those beyond the picture's channels do not matter. A channel that is not
    given, as in Scalar(0.5), gets 0 and is ignored. Counts from the next compute() on.
    @throws cv::Exception otherwise; the old factors stay.
    */
    CV_WRAP virtual void setChannelScales(const Scalar& scales) = 0;
    /** @brief The factors of the four channels. Default 32/255 each. */
    CV_WRAP virtual Scalar getChannelScales() const = 0;
    /** @brief Sets how far a parent is looked for: half the side of the search square.
    @param radius SEARCH_MAX_DIST (0): ceil(maxDist), no parent is missed; SEARCH_WINDOW (-1): ceil(3 sigma), as
    scikit-image does; or 1..32767 pixels. Counts from the next compute() on.
    @throws cv::Exception otherwise; the old value stays.
    */
    CV_WRAP virtual void setSearchRadius(int radius) = 0;
    /** @brief Search radius as given to setSearchRadius(). Default SEARCH_MAX_DIST (0). */
    CV_WRAP virtual int getSearchRadius() const = 0;
    /** @brief Sets which of two pixels of equal density is the higher one.
    @param rule INDEX (0): the one of lower raster index, so that a flat area is one superpixel; STRICT (1): neither, as
    in VLFeat, scikit-image and the paper's code. Counts from the next compute() on.
    @throws cv::Exception otherwise; the old rule stays.
    */
    CV_WRAP virtual void setTieRule(int rule) = 0;
    /** @brief Tie rule. Default INDEX (0). */
    CV_WRAP virtual int getTieRule() const = 0;
    /** @brief Sets whether a density is divided by (w-1)(h-1) of its window of w x h pixels, cut at the border, as the
    paper's GPU program does. A factor that would be 0, of a picture one pixel wide or high, counts as 1.
    @param normalize counts from the next compute() on.
    */
    CV_WRAP virtual void setNormalizeDensity(bool normalize) = 0;
    /** @brief Whether densities are divided by the size of their window. Default false. */
    CV_WRAP virtual bool getNormalizeDensity() const = 0;

    /** @brief Finds densities, parents and labels of one picture; the getters give them. Mat: on the CPU; GpuMat: on
    the device, does not wait.
    @param image CV_8U, CV_16U or CV_32F, 1 to 4 channels, sides up to 65,535, at most 2,000,000,000 pixels. An empty one,
    such as of a failed imread(), drops the results: empty() is true then, 0 superpixels, and the getters give empty
    arrays.
    @param mask CV_8UC1 of the image's size, where the image is; pixels where it is 0 belong to no superpixel (label
    -1). numpy's bool is refused: mask.astype(np.uint8). Default: none.
    @param stream of GpuMat. Default: the null stream.
    @throws cv::Exception on other types and sizes.
    */
    CV_WRAP virtual void compute(InputArray image, InputArray mask = noArray(),
                                 Stream& stream = cv::cuda::noStream()) = 0;

    /** @brief compute() for several pictures of one size and type in the launches of one. Afterwards every method works
    on the stack of pictures, one below the other, and no picture has to do with another: arrays of pixels have N times
    the rows, parents and labels count within their picture. Superpixels as such are numbered through, in the rows of
    getStatistics() and the pairs of getAdjacency(): label plus getSuperpixelCounts() of the pictures before.
    In C++ this is computeBatch() of pictures that lie in one array; in Python computeBatch() takes both.
    @param images list of Mat or of GpuMat; an empty list drops the results as in compute(). Or a stack, one array on the
    host: N x height x width x channels, or N x height x width of one channel. What could be one picture is refused, not
    taken for a list of its rows: two dimensions, or three of which the last is 1 to 4.
    @param labels list, one output CV_32SC1 for each picture; noArray() if not wanted.
    @param masks list, one as in compute() for each picture; of an empty one all pixels count. Default: none.
    @param stream of GpuMat. Default: the null stream.
    @throws cv::Exception when sizes or types differ or are not those of compute(), when a picture is empty, when there
    is one picture in place of a list, when there are not as many masks as pictures, or beyond 2,000,000,000 pixels in all.
    */
    CV_WRAP_AS(computeBatch)
    void computeStack(InputArray images, OutputArrayOfArrays labels, InputArrayOfArrays masks = noArray(),
                      Stream& stream = cv::cuda::noStream());

    /** @brief As computeStack(), for pictures in a list. One array is refused. */
    CV_WRAP virtual void computeBatch(InputArrayOfArrays images, OutputArrayOfArrays labels,
                                      InputArrayOfArrays masks = noArray(), Stream& stream = cv::cuda::noStream()) = 0;

    /** @brief compute() for a picture on the host that is worked on in tiles, each with the border that it needs.
    Results are those of the whole, bit by bit, and are on the host.
    @param image,mask as in compute(), both on the host. Default: no mask.
    @param tile width and height of a tile without its border, in pixels, at least 1.
    @param useCuda true: the tiles run on the current CUDA device, and the call waits. Default false: on the CPU.
    @throws cv::Exception also when useCuda is true without a device; results stay as they were.
    */
    CV_WRAP virtual void computeTiled(InputArray image, Size tile, bool useCuda = false,
                                      InputArray mask = noArray()) = 0;

    /** @brief Number of superpixels (a stack: of all pictures together); 0 without results. Waits for the last call that
    was not captured, on whatever stream it was; wait for a replay before. During a capture it is the number of the results
    as they are, as captured work has not happened. */
    CV_WRAP virtual int getNumberOfSuperpixels() const = 0;
    /** @brief Number of superpixels of each picture. Does not wait for GpuMat.
    @param counts CV_32SC1, N x 1: a row for each picture of computeBatch(), one after compute().
    @param stream as in getLabels(). Default: the null stream. */
    CV_WRAP virtual void getSuperpixelCounts(OutputArray counts, Stream& stream = cv::cuda::noStream()) const = 0;
    /** @brief Label of each pixel: the rank of its superpixel's root in raster order.
    @param labels CV_32SC1, 0 .. number-1, -1 where masked.
    @param stream order of the copy; GpuMat: does not wait. Default: the null stream.
    */
    CV_WRAP virtual void getLabels(OutputArray labels, Stream& stream = cv::cuda::noStream()) const = 0;
    /** @brief Density of each pixel: the sum of the kernel's weights over its window, its own 1 included.
    @param density CV_32FC1, at least 1 unless normalised, 0 where masked. Up to 23 + log2((2R+1)^2) - 32 low bits of
    the sum are rounded away. @param stream as in getLabels(). Default: the null stream. */
    CV_WRAP virtual void getDensity(OutputArray density, Stream& stream = cv::cuda::noStream()) const = 0;
    /** @brief Parent of each pixel: the nearest pixel of higher density within maxDist; the pixel itself for a root.
    @param parents CV_32SC1, raster index y*width+x; -1 where masked. @param stream as in getLabels(). Default: the
    null stream. */
    CV_WRAP virtual void getParents(OutputArray parents, Stream& stream = cv::cuda::noStream()) const = 0;
    /** @brief Distance of each pixel to its parent, in pixels and scaled colours, not squared.
    @param distances CV_32FC1; +inf at roots and where masked. @param stream as in getLabels(). Default: the null
    stream. */
    CV_WRAP virtual void getDistances(OutputArray distances, Stream& stream = cv::cuda::noStream()) const = 0;

    /** @brief Labels for a smaller maxDist from the trees at hand: links longer than tau are cut. Does not wait.
    Equals compute() with maxDist = tau as long as the search radius is SEARCH_MAX_DIST. Changes nothing else: see
    applyTau().
    @param tau in pixels and scaled colours; above 0, at most the maxDist of compute().
    @param labels CV_32SC1, 0 .. countSuperpixels(tau)-1, -1 where masked; empty without results.
    @param stream of the device's results. Default: the null stream.
    @throws cv::Exception when tau is out of its range.
    */
    CV_WRAP virtual void segment(double tau, OutputArray labels, Stream& stream = cv::cuda::noStream()) = 0;
    /** @brief Makes the labels of segment(tau) the present ones: those of getLabels(), and whose number, contours, mean
    colour, statistics and neighbours are asked for. Does not wait. Replaces what enforceConnectivity() did; maxDist
    gives the labels of compute() back.
    @param tau as in segment(). @param stream of the device's results. Default: the null stream. */
    CV_WRAP virtual void applyTau(double tau, Stream& stream = cv::cuda::noStream()) = 0;
    /** @brief The tau for about so many superpixels: the least of the merge heights that leaves at most `number`. Waits.
    @param number wanted, at least 1 (a stack: of all pictures together).
    @param stream of the device's results. Default: the null stream.
    @return for segment() and applyTau(); maxDist of compute() if there are more at any tau; 0 without results. */
    CV_WRAP virtual double tauForSuperpixels(int number, Stream& stream = cv::cuda::noStream()) = 0;
    /** @brief Number of superpixels that segment(tau) makes. Waits.
    @param tau as in segment(). @param stream of the device's results. Default: the null stream. */
    CV_WRAP virtual int countSuperpixels(double tau, Stream& stream = cv::cuda::noStream()) = 0;
    /** @brief All values of tau at which the number of superpixels changes. Waits; outputs on the host or the device.
    Counts trees: connectivity does not matter. Both outputs are empty when no pixel has a parent.
    @param heights CV_32FC1, n x 1, ascending, distinct.
    @param counts CV_32SC1, n x 1: number of superpixels of segment(heights[k]).
    @param stream of the device's results. Default: the null stream.
    */
    CV_WRAP virtual void getMergeHeights(OutputArray heights, OutputArray counts,
                                         Stream& stream = cv::cuda::noStream()) = 0;

    /** @brief Borders of the superpixels. Does not wait.
    @param mask CV_8UC1, 255 on borders between superpixels, else 0.
    @param thickLine true (default): pixels with more than one 8-neighbour of another label. false: pixels that differ
    from their right, lower or lower right neighbour. Masked pixels are a label of their own.
    @param stream of the device's results. Default: the null stream.
    */
    CV_WRAP virtual void getLabelContourMask(OutputArray mask, bool thickLine = true,
                                             Stream& stream = cv::cuda::noStream()) const = 0;

    /** @brief Each pixel replaced by the mean of its superpixel. Does not wait for GpuMat.
    @param image CV_8U, CV_16U or CV_32F, 1 to 4 channels, where the picture of the last compute() was and of its size;
    not necessarily that picture. After computeBatch(): all pictures in one array, one below the other. CV_8U and CV_16U:
    rounded half up. CV_32F: mean of values rounded to a 2^-30th of their picture's largest magnitude; NaN and infinity
    count as 0.
    @param dst type and size of image; 0 where masked.
    @param stream of GpuMat. Default: the null stream.
    @throws cv::Exception on another size or type.
    */
    CV_WRAP virtual void getMeanColor(InputArray image, OutputArray dst,
                                      Stream& stream = cv::cuda::noStream()) const = 0;

    /** @brief One row for each superpixel; a stack: numbered through, see computeBatch(). Waits. Outputs that are not
    wanted may be noArray().
    @param image as in getMeanColor(); noArray(): means are empty.
    @param areas CV_32SC1, n x 1, pixels.
    @param means CV_32F, n x 1, channels of image.
    @param centroids CV_32FC2, n x 1, (x, y) in pixels of its picture.
    @param boxes CV_32SC4, n x 1, (x, y, width, height) in pixels of its picture.
    @param stream of GpuMat. Default: the null stream.
    @throws cv::Exception as getMeanColor().
    */
    CV_WRAP virtual void getStatistics(InputArray image, OutputArray areas, OutputArray means = noArray(),
                                       OutputArray centroids = noArray(), OutputArray boxes = noArray(),
                                       Stream& stream = cv::cuda::noStream()) const = 0;

    /** @brief Pairs of superpixels that touch: a pixel of one has a 4-neighbour in the other. Waits.
    @param pairs CV_32SC2, n x 1: labels a < b, of a stack numbered through as in computeBatch(), ascending by a, then
    b, each pair once; empty without any.
    @param stream of the device's results. Default: the null stream.
    @throws cv::Exception when there are more than 2^31 - 1 pairs, or, on the device, neighbouring pixels of different
    labels. */
    CV_WRAP virtual void getAdjacency(OutputArray pairs, Stream& stream = cv::cuda::noStream()) const = 0;

    /** @brief Replaces the labels by 4-connected ones. Waits. Density, parents and distances stay.
    Every superpixel falls into its 4-connected pieces. A piece below minSize joins the largest adjacent piece that
    ranks above it (the larger one; of equal ones that whose first pixel comes first), all at once, and this repeats on
    the joined pieces until no small piece has such a neighbour. Labels are then ranked by first pixel. The number may
    rise, as splitting makes more pieces than joining removes.
    @param minSize pieces of fewer pixels are joined; at least 1. Default 1: only split.
    @param stream of the device's results. Default: the null stream.
    @return the new number of superpixels (a stack: of all pictures together); 0 without results.
    @throws cv::Exception when minSize is below 1.
    */
    CV_WRAP virtual int enforceConnectivity(int minSize = 1, Stream& stream = cv::cuda::noStream()) = 0;

    /** @brief Device and pinned memory held by this instance, that of graphs included, in bytes; 0 as long as only the
    CPU engine ran. That keeps some 56 bytes, and 4 for each channel, for each pixel of its largest picture so far. */
    CV_WRAP virtual size_t workspaceBytes() const = 0;

    // Algorithm: parameters only, no results.
    /** @brief Drops the results; keeps parameters and memory. */
    CV_WRAP virtual void clear() CV_OVERRIDE = 0;
    /** @brief True without results: before compute(), after clear() or the compute() of an empty picture. A picture
    that is masked altogether has results, with 0 superpixels. */
    CV_WRAP virtual bool empty() const CV_OVERRIDE = 0;
    /** @brief Name of the class in files: "QuickShift". */
    CV_WRAP virtual String getDefaultName() const CV_OVERRIDE;
    /** @brief Makes an object with the parameters that save() wrote. @param filename path.
    @throws cv::Exception naming the file when it cannot be read or has none. */
    CV_WRAP static Ptr<QuickShift> load(const String& filename);
    virtual void write(FileStorage& fs) const CV_OVERRIDE = 0;
    /** Parameters that the node lacks keep their values. @throws cv::Exception, and all parameters stay, when the node has none of
    them, as one that is missing or of another class, or one that is out of its range or not of its kind, such as a
    fraction for an integer. */
    virtual void read(const FileNode& fn) CV_OVERRIDE = 0;
};

//! @}

}} // namespace cv::cuda

#endif // OPENCV_CUDATRACKING_QUICK_SHIFT_HPP
