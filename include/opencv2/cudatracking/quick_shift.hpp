// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

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
converted. Sides up to 65,535, fewer than 2^31 pixels. **Mask** (optional, CV_8UC1): where it is 0 a pixel gives no
density and has none, parent -1, distance +inf, label -1. CV_32F pixels with a channel that is NaN or beyond 1e15 are
masked too; where channels have different scales, or a scale is not in [1/1024, 1024], scaled values count.

**Known recipes** (colorScale, sigma, maxDist): the paper, BGR: 32/255, 6, 10. vl_quickseg(I, ratio, kernelsize, maxdist):
Lab of [0,1] RGB times ratio, searchRadius 0, STRICT. scikit-image quickshift(ratio, kernel_size, max_dist): Lab times
ratio, searchRadius -1, STRICT (it adds noise to break ties, which this class has no need for). See doc/quick_shift.md.

**Ties**: on plateaus of equal density (flat areas) the lower raster index counts as higher, so that a flat area is one
superpixel. With STRICT only a truly higher density does, as in VLFeat: each plateau pixel may become a root of its own.

**Precision**: weights have 23 fractional bits and a relative error below 4e-6, sums are exact integers. Densities differ
by less than 2e-5 relative from exact real numbers. D is exact for 8-bit pictures with a common scale of 1.

Determinism: bit-equal on both engines and from run to run, in every output; also for the whole and its tiles.
Trees need not be 4-connected: see enforceConnectivity(). Threads and streams: see the module page.
Waiting: compute(), segment() and the getters with GpuMat outputs do not wait and can be captured. Methods that return a
number or outputs whose size depends on the result wait for their stream; each says so.

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

    /** @param sigma kernel bandwidth, > 0, at most 341.
    @param maxDist largest distance to a parent (tau), > 0, at most 32,767.
    @param colorScale factor on all colours, finite, >= 0. */
    CV_WRAP static Ptr<QuickShift> create(double sigma = 6., double maxDist = 10., double colorScale = 1.);

    // Setters check their argument, throw cv::Exception naming it, and count from the next compute() on.
    CV_WRAP virtual void setSigma(double sigma) = 0;
    CV_WRAP virtual double getSigma() const = 0;
    CV_WRAP virtual void setMaxDist(double maxDist) = 0;
    CV_WRAP virtual double getMaxDist() const = 0;
    CV_WRAP virtual void setColorScale(double colorScale) = 0;
    //! One factor for each channel, for example Lab with a weaker L.
    CV_WRAP virtual void setChannelScales(const Scalar& scales) = 0;
    CV_WRAP virtual Scalar getChannelScales() const = 0;
    //! 1..32767, or one of SearchRadius. Default SEARCH_MAX_DIST.
    CV_WRAP virtual void setSearchRadius(int radius) = 0;
    CV_WRAP virtual int getSearchRadius() const = 0;
    //! A TieRule. Default INDEX.
    CV_WRAP virtual void setTieRule(int rule) = 0;
    CV_WRAP virtual int getTieRule() const = 0;
    //! Divide a density by (w-1)(h-1) of its cut window, w x h, as the paper's GPU program does. Default false.
    CV_WRAP virtual void setNormalizeDensity(bool normalize) = 0;
    CV_WRAP virtual bool getNormalizeDensity() const = 0;

    /** @brief Finds densities, parents and labels of one picture. Mat: on the CPU; GpuMat: on the device, does not wait.
    @param image,mask see above; both of one kind and size. 0x0: empty results, 0 superpixels. */
    CV_WRAP virtual void compute(InputArray image, InputArray mask = noArray(),
                                 Stream& stream = cv::cuda::noStream()) = 0;

    /** @brief compute() for several pictures of one size and type in the launches of one.
    Afterwards every method works on the stack of pictures, one below the other: outputs have N times the rows, parents
    and labels count within their picture. Statistics, mean colour and connectivity do not take stacks.
    @param labels one output for each picture; noArray() if not wanted. */
    CV_WRAP virtual void computeBatch(InputArrayOfArrays images, OutputArrayOfArrays labels,
                                      Stream& stream = cv::cuda::noStream()) = 0;

    /** @brief compute() for a picture on the host that is worked on in tiles, each with the border that it needs.
    Results are those of the whole, bit by bit, and are on the host.
    @param tile size of a tile without its border.
    @param useCuda run the tiles on the current CUDA device; waits. */
    CV_WRAP virtual void computeTiled(InputArray image, Size tile, bool useCuda = false,
                                      InputArray mask = noArray()) = 0;

    //! Number of superpixels (a stack: of all pictures together). Waits for the stream of the last compute().
    CV_WRAP virtual int getNumberOfSuperpixels() const = 0;
    /** @brief CV_32SC1, 0 .. number-1, -1 where masked. The getters copy into `stream` order and do not wait for GpuMat. */
    CV_WRAP virtual void getLabels(OutputArray labels, Stream& stream = cv::cuda::noStream()) const = 0;
    //! CV_32FC1. Up to 23 + log2((2R+1)^2) - 32 low bits of the sum are rounded away.
    CV_WRAP virtual void getDensity(OutputArray density, Stream& stream = cv::cuda::noStream()) const = 0;
    //! CV_32SC1, raster index y*width+x of the parent.
    CV_WRAP virtual void getParents(OutputArray parents, Stream& stream = cv::cuda::noStream()) const = 0;
    //! CV_32FC1, distance (not squared) to the parent, +inf at roots.
    CV_WRAP virtual void getDistances(OutputArray distances, Stream& stream = cv::cuda::noStream()) const = 0;

    /** @brief Labels for a smaller maxDist from the trees at hand: links longer than tau are cut. Does not wait.
    Equals compute() with maxDist = tau as long as the search radius is SEARCH_MAX_DIST.
    @param tau > 0 and at most the maxDist of compute(). */
    CV_WRAP virtual void segment(double tau, OutputArray labels, Stream& stream = cv::cuda::noStream()) = 0;
    //! Number of superpixels that segment(tau) makes. Waits.
    CV_WRAP virtual int countSuperpixels(double tau, Stream& stream = cv::cuda::noStream()) = 0;
    /** @brief All values of tau at which the number of superpixels changes. Waits; outputs on the host or the device.
    @param heights CV_32FC1, n x 1, ascending, distinct.
    @param counts CV_32SC1, n x 1: number of superpixels of segment(heights[k]). */
    CV_WRAP virtual void getMergeHeights(OutputArray heights, OutputArray counts,
                                         Stream& stream = cv::cuda::noStream()) = 0;

    /** @brief CV_8UC1, 255 on borders between superpixels, else 0. Does not wait.
    @param thickLine true: pixels with more than one 8-neighbour of another label. false: pixels that differ from their
    right, lower or lower right neighbour. Masked pixels are a label of their own. */
    CV_WRAP virtual void getLabelContourMask(OutputArray mask, bool thickLine = true,
                                             Stream& stream = cv::cuda::noStream()) const = 0;

    /** @brief Each pixel replaced by the mean of its superpixel; type and size of image; 0 where masked. Waits for
    the number of superpixels unless it is known already.
    @param image CV_8U, CV_16U or CV_32F, 1 to 4 channels, of the size of the last compute(); not necessarily its input.
    CV_8U and CV_16U: rounded half up. CV_32F: mean of values rounded to a 2^-30th of the largest magnitude; NaN and
    infinity count as 0. */
    CV_WRAP virtual void getMeanColor(InputArray image, OutputArray dst,
                                      Stream& stream = cv::cuda::noStream()) const = 0;

    /** @brief One row for each superpixel. Waits. Any output may be noArray().
    @param image as in getMeanColor().
    @param areas CV_32SC1, n x 1, pixels.
    @param means CV_32F, n x 1, channels of image.
    @param centroids CV_32FC2, n x 1, (x, y).
    @param boxes CV_32SC4, n x 1, (x, y, width, height). */
    CV_WRAP virtual void getStatistics(InputArray image, OutputArray areas, OutputArray means = noArray(),
                                       OutputArray centroids = noArray(), OutputArray boxes = noArray(),
                                       Stream& stream = cv::cuda::noStream()) const = 0;

    /** @brief Replaces the labels by 4-connected ones. Waits. Density, parents and distances stay.
    Every superpixel falls into its 4-connected pieces. A piece below minSize joins the largest adjacent piece that is
    larger than itself (ties: the piece whose first pixel comes first), all at once, and this repeats on the joined
    pieces until no small piece has a neighbour. Labels are then ranked by first pixel.
    @param minSize pieces of fewer pixels are joined; 1: only split.
    @return the new number of superpixels. */
    CV_WRAP virtual int enforceConnectivity(int minSize = 1, Stream& stream = cv::cuda::noStream()) = 0;

    //! Device memory held by this instance.
    CV_WRAP virtual size_t workspaceBytes() const = 0;

    // Algorithm: parameters only, no results.
    CV_WRAP virtual void clear() CV_OVERRIDE = 0;       //!< drops results, keeps parameters and memory
    CV_WRAP virtual bool empty() const CV_OVERRIDE = 0; //!< true without results
    CV_WRAP virtual String getDefaultName() const CV_OVERRIDE;
    virtual void write(FileStorage& fs) const CV_OVERRIDE = 0;
    virtual void read(const FileNode& fn) CV_OVERRIDE = 0;
};

//! @}

}} // namespace cv::cuda

#endif // OPENCV_CUDATRACKING_QUICK_SHIFT_HPP
