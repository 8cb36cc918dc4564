// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

#ifndef OPENCV_CUDATRACKING_QUICK_SHIFT_HPP
#define OPENCV_CUDATRACKING_QUICK_SHIFT_HPP

#include "opencv2/core.hpp"
#include "opencv2/cudatracking/stream.hpp"

namespace cv { namespace cuda {

//! @addtogroup cudatracking
//! @{

/** @brief Quick-shift superpixels: regions of similar colour that follow borders, from all pairs of pixels.

Call compute() for an image, then the methods that give its results: labels, borders, mean colours, statistics,
neighbours. segment() and applyTau() make coarser superpixels finer without computing anything again.

@code
// Paints each superpixel of an image in its mean colour.
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
setChannelScales()). Distances between points are in pixels: a scaled difference of values of 1 counts as one pixel.
- **Density** of a pixel: the sum of Gaussian weights, by distance, of the pixels in the square of ceil(3 sigma) pixels
  to each side, clipped at the image border. Its own weight, 1, is included.
- **Parent**: the nearest pixel of higher density within maxDist, searched in the square of the search radius. Of
  equally near ones it is the one with the lowest row-major index.
- **Root**: a pixel without such a neighbour. getParents() gives it itself as parent, getDistances() +infinity.
- **Superpixel**: all pixels whose chain of parents ends at the same root. Its **label** is the rank of the root in
  row-major order, from 0.

Within the two squares every pair of pixels is evaluated: nothing is subsampled. A superpixel need not be connected in
the image; enforceConnectivity() makes it so. Formulas: doc/quick_shift.md, "Definition".

__Images__: CV_8U, CV_16U or CV_32F with 1 to 16 channels. Values are used as they are (8 bit: 0 to 255); colours are
never converted. Sides up to 65,535, at most 2,000,000,000 pixels.

__Mask__ (optional, CV_8UC1): pixels where it is 0 are *masked*. They do not contribute to densities and get density 0,
parent -1, distance +infinity and label -1. Pixels of CV_32F images are masked, too, if a channel is NaN or its
absolute value is 1e15 or more; with scales that differ between channels or are outside of [1/1024, 1024], if its
absolute value times the scale is.

Settings that reproduce other programs (doc/quick_shift.md has more):

| program                                                   | image                  | colorScale | other settings  |
|-----------------------------------------------------------|------------------------|------------|-----------------|
| GPU program of Fulkerson and Soatto, sigma 6, maxDist 10  | 8-bit BGR              | 32/255     | STRICT; (1)     |
| VLFeat: vl_quickseg(I, ratio, sigma, maxDist)             | float Lab of [0,1] RGB | ratio      | STRICT          |
| scikit-image: quickshift(image, ratio, sigma, maxDist)    | float Lab              | ratio      | STRICT; (2)     |

(1) setNormalizeDensity(true). (2) setSearchRadius(SEARCH_WINDOW); for the random noise that breaks ties,
computeNoisy().

__Precision__: weights are rounded to multiples of 2^-23 and summed exactly. For 8-bit photographs the relative error of
a density is at most 1e-5 (measured for sigma up to 9 and scales up to 4); doc/quick_shift.md, "Accuracy", has the bound
for all images. Where two densities differ by less than the error, a pixel may get another parent than with real
numbers. With high contrast (255 scale / sigma above 100) and maxDist above 5 this happens to many pixels.

__Determinism__: bitwise identical between the backends, from run to run, and between compute() and computeTiled(). On
different machines this holds if exp() of both C libraries rounds to the same floats, which it nearly always does.

__Results__ are those of the last compute() that succeeded; a call that throws leaves them unchanged. Before the first
compute(), after clear() and after compute() of an empty image, getters give empty arrays and functions that return a
count return 0. Setters act on the next compute(), not on results that are there. Results of a GpuMat can be written to
every array type, results of a Mat to host arrays only. Results of n x 1 elements may go to a std::vector.

__Waiting, lifetimes, threads__: see the tables in cudatracking.hpp. Threads that use one instance share its results: a
getter may give those of another thread's compute(). Use one instance per thread.

__CUDA graphs__: call compute() once before the capture, with the size, type and parameters of the captured call. The
graph and the instance then share their results: getters outside of the graph return those of the last replay or call.
Without that call only getters in the same capture see the results of the graph.

Source: A. Vedaldi, S. Soatto, Quick shift and kernel methods for mode seeking, ECCV 2008; B. Fulkerson, S. Soatto,
Really quick shift: image segmentation on a GPU, 2010. Cost and limits: doc/quick_shift.md. */
class CV_EXPORTS_W QuickShift : public Algorithm
{
public:
    //! Rule for two pixels of equal density.
    enum TieRule
    {
        INDEX = 0, //!< the pixel with the lower row-major index counts as denser: a constant area is one superpixel
        STRICT = 1 //!< neither counts as denser (VLFeat, scikit-image): in a constant area each pixel may be a root
    };
    //! Named value of the factor on colours.
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

    /** @brief Creates an instance that computes quick-shift superpixels: regions of similar colour that follow borders.

    compute() links each pixel to its parent, the nearest pixel of higher density in position and colour. A pixel
    without a parent within maxDist is a root, and all pixels whose links end at the same root are a superpixel; its
    label is the rank of the root in row-major order. Then getLabels(), getMeanColor(), getStatistics() and the other
    methods give the results. Images are arrays of uint8, uint16 or float32 with 1 to 16 channels, on the CPU as numpy
    arrays, on the device as cv2.cuda.GpuMat; both give the same labels. numpy arrays of results are on the host. Before
    compute() results are empty.
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
    Calls of several threads on one instance are executed one after another, and share its results.
    @param sigma bandwidth of the Gaussian kernel in pixels, where a scaled colour difference of 1 counts as one pixel;
    above 0, at most 341. Time grows with its square. Default 6.
    @param maxDist largest distance to a parent (tau), in the same unit; above 0, at most 32,767. A larger one gives
    fewer, larger superpixels. Default 10.
    @param colorScale factor on the values of all channels, 0 to 1e9; a larger one gives more superpixels. BY_TYPE (-1):
    32/255 for 8 bits, 32/65535 for 16 bits, 32 for floating-point values, of 0 to 1. Default BY_TYPE.
    @throws cv::Exception if a parameter is out of its range. */
    CV_WRAP static Ptr<QuickShift> create(double sigma = 6., double maxDist = 10., double colorScale = -1.);

    /** @brief Creates an instance with the parameters for superpixels of photographs: compute() takes Lab images of 8
    bits, and applyNumber() makes the wanted number of superpixels. The parameters were chosen on the validation images
    of BSDS500; doc/quick_shift.md, "Superpixels by number", has the study.
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
    Images are those that cv::cvtColor() with COLOR_BGR2Lab makes of CV_8UC3. It computes in integers, so it gives the
    same bits everywhere; upload them for the device. cv::cuda::cvtColor() may give other bits. */
    CV_WRAP static Ptr<QuickShift> forSuperpixels();

    /** @brief Sets the bandwidth of the Gaussian kernel. Densities are summed over ceil(3 sigma) pixels to each side,
    so time grows with the square of sigma.
    @param sigma bandwidth in pixels, where a scaled colour difference of 1 counts as one pixel; above 0, at most 341.
    Takes effect at the next compute().
    @throws cv::Exception if the value is out of its range; the old one is kept. */
    CV_WRAP virtual void setSigma(double sigma) = 0;
    /** @brief Returns the bandwidth of the Gaussian kernel. Default 6. */
    CV_WRAP virtual double getSigma() const = 0;
    /** @brief Sets the largest distance to a parent (tau). A pixel with no parent within it becomes the root of a
    superpixel, so a larger one gives fewer superpixels.
    @param maxDist distance in pixels, where a scaled colour difference of 1 counts as one pixel; above 0, at most
    32,767. Takes effect at the next compute(). segment() applies a smaller value to existing results.
    @throws cv::Exception if the value is out of its range; the old one is kept. */
    CV_WRAP virtual void setMaxDist(double maxDist) = 0;
    /** @brief Returns the largest distance to a parent. Default 10. */
    CV_WRAP virtual double getMaxDist() const = 0;
    /** @brief Sets one factor for the values of all channels, which weights colour against position. A larger factor
    gives more superpixels.
    @param colorScale factor, 0 to 1e9, or BY_TYPE (-1): the default. Takes effect at the next compute().
    @throws cv::Exception if the value is out of its range; the old factors are kept. */
    CV_WRAP virtual void setColorScale(double colorScale) = 0;
    /** @brief Returns the factor of the first channel, which is that of all channels unless setChannelScales() or
    setScales() was used; BY_TYPE (-1) stays that. Default BY_TYPE. */
    CV_WRAP virtual double getColorScale() const = 0;
    /** @brief Sets one factor for each channel, for example a smaller one for L of Lab.
    @param scales four factors, each 0 to 1e9; those beyond the image's channels are ignored. A missing one, as in
    Scalar(0.5), is 0, so that its channel is ignored. Takes effect at the next compute(), which refuses images of 5 and
    more channels unless all four are equal; setScales() takes more.
    @throws cv::Exception if a value is out of its range; the old factors are kept. */
    CV_WRAP virtual void setChannelScales(const Scalar& scales) = 0;
    /** @brief Returns the factors of the first four channels. Default BY_TYPE (-1) each. */
    CV_WRAP virtual Scalar getChannelScales() const = 0;
    /** @brief Sets one factor for each channel of images of up to 16 channels, for example one for each band of a
    satellite's image.
    @code{.py}
    >>> image = np.zeros((20, 30, 6), np.float32)
    >>> image[:, 15:, 5] = 0.5
    >>> quick_shift = cv2.cuda.QuickShift.create(2, 10)
    >>> quick_shift.setScales([32, 32, 32, 32, 32, 64])
    >>> quick_shift.compute(image)
    >>> quick_shift.getNumberOfSuperpixels()
    2
    @endcode
    @param scales 1 to 16 factors, each 0 to 1e9; those beyond the image's channels are ignored. Fewer than four are
    filled up with 0. Takes effect at the next compute(), which refuses images of 5 and more channels if they have more
    channels than there are factors, unless all factors are equal.
    @throws cv::Exception if their number or a value is out of its range; the old factors are kept. */
    CV_WRAP virtual void setScales(const std::vector<double>& scales) = 0;
    /** @brief Returns the factors of the channels: as many as setScales() got, at least four; four unless it was used.
    Default BY_TYPE (-1) each. */
    CV_WRAP virtual std::vector<double> getScales() const = 0;
    /** @brief Sets how far parents are searched along x and along y.
    @param radius SEARCH_MAX_DIST (0): ceil(maxDist), no parent is missed; SEARCH_WINDOW (-1): ceil(3 sigma), the radius
    of scikit-image; or 1 to 32767 pixels. Takes effect at the next compute().
    @throws cv::Exception if the value is out of its range; the old one is kept. */
    CV_WRAP virtual void setSearchRadius(int radius) = 0;
    /** @brief Returns the search radius as given to setSearchRadius(). Default SEARCH_MAX_DIST (0). */
    CV_WRAP virtual int getSearchRadius() const = 0;
    /** @brief Sets which of two pixels of equal density counts as denser.
    @param rule INDEX (0): the pixel with the lower row-major index, so that a constant area is one superpixel;
    STRICT (1): neither, the rule of VLFeat and scikit-image. Takes effect at the next compute().
    @throws cv::Exception if the value is out of its range; the old rule is kept. */
    CV_WRAP virtual void setTieRule(int rule) = 0;
    /** @brief Returns the tie rule. Default INDEX (0). */
    CV_WRAP virtual int getTieRule() const = 0;
    /** @brief Sets whether a density is divided by (w-1)(h-1), w x h being the square over which it is summed, clipped
    at the image border. The GPU program of Fulkerson and Soatto does so. A factor of 0, in images one pixel wide or
    high, counts as 1.
    @param normalize true: divide. Takes effect at the next compute(). */
    CV_WRAP virtual void setNormalizeDensity(bool normalize) = 0;
    /** @brief Returns whether densities are divided by the size of the square that they are summed over. Default false.
    */
    CV_WRAP virtual bool getNormalizeDensity() const = 0;

    /** @brief Computes densities, parents and labels of one image, which the getters return. A Mat is processed on the
    CPU, a GpuMat on the device without waiting.
    @param image CV_8U, CV_16U or CV_32F, 1 to 16 channels, sides up to 65,535, at most 2,000,000,000 pixels. An empty
    one, such as of a failed imread(), clears the results: then empty() is true, counts are 0, and getters give empty
    arrays.
    @param mask CV_8UC1 of the image's size, in the same memory (host or device); pixels where it is 0 belong to no
    superpixel (label -1). numpy's bool is refused: use mask.astype(np.uint8). Default: no mask.
    @param stream stream for a GpuMat; ignored for Mat. Default: the null stream.
    @throws cv::Exception if a type or size is not accepted; the results are kept then. */
    CV_WRAP virtual void compute(InputArray image, InputArray mask = noArray(),
                                 Stream& stream = cv::cuda::noStream()) = 0;

    /** @brief Computes a batch of images of one size and type that lie in one array on the host, or in a list. In
    Python this function is computeBatch().

    On the device all images are processed together, which takes less time than one call each. Images do not influence
    each other. Afterwards all methods work on the whole batch: arrays of pixels contain the images one below the other,
    with N times the rows; parents and labels are numbered within their image. getStatistics() and getAdjacency() number
    superpixels across the batch: label + getSuperpixelCounts() of all previous images.
    @param images list of Mat or of GpuMat; an empty list clears the results. Or one array in host memory: N x height x
    width of 1 to 16 channels, or N x height x width x channels. Refused are arrays of two dimensions, and of three with
    a last one of 1 to 16, because they could be one image.
    @param labels list with one output CV_32SC1 for each image, Mat or GpuMat: in C++ a std::vector, which is resized,
    or noArray().
    @param masks list with one mask for each image: CV_8UC1 of the image's size, in the same memory; pixels where it is
    0 get label -1. An empty mask selects all pixels. Default: no masks.
    @param stream stream for GpuMat; ignored for Mat. Waits only if labels is a list of Mat. Default: the null stream.
    @throws cv::Exception if sizes or types differ or are not accepted by compute(), if an image is empty, if one image
    is given in place of a list, if the number of masks differs, or if there are more than 2,000,000,000 pixels in all.
    The results are kept then. */
    CV_WRAP_AS(computeBatch)
    void computeStack(InputArray images, OutputArrayOfArrays labels, InputArrayOfArrays masks = noArray(),
                      Stream& stream = cv::cuda::noStream());

    /** @brief computeStack() for lists only; for a list C++ may call either. */
    CV_WRAP virtual void computeBatch(InputArrayOfArrays images, OutputArrayOfArrays labels,
                                      InputArrayOfArrays masks = noArray(), Stream& stream = cv::cuda::noStream()) = 0;

    /** @brief Computes an image on the host in tiles, each with the border that it needs, for images that do not fit
    into device memory. Results are bit for bit those of compute() and are on the host.
    @param image CV_8U, CV_16U or CV_32F, 1 to 16 channels, on the host.
    @param tile width and height of a tile without its border, pixels, at least 1. The border is ceil(3 sigma) plus the
    search radius on each side, so small tiles repeat much work.
    @param useCuda true: process tiles on the current CUDA device, on the null stream, and wait. Default false: on the
    CPU.
    @param mask CV_8UC1 of the image's size, on the host; pixels where it is 0 get label -1. Default: no mask.
    @throws cv::Exception if an argument is not accepted, and if useCuda is true without a device; the results are kept
    then. */
    CV_WRAP virtual void computeTiled(InputArray image, Size tile, bool useCuda = false,
                                      InputArray mask = noArray()) = 0;

    /** @brief Computes an image on the host with noise added to the densities before pixels are linked, which breaks
    ties at random: scikit-image adds a normal distribution of standard deviation 1e-5. Works on the CPU, and adds to
    the exact sums in double. Densities that are equal with the noise are ordered by the tie rule; getDensity() gives
    densities with the noise.
    @param image CV_8U, CV_16U or CV_32F, 1 to 16 channels, on the host.
    @param noise CV_64FC1 of the image's size, on the host, finite.
    @param mask CV_8UC1 of the image's size, on the host; pixels where it is 0 get label -1. Default: no mask.
    @throws cv::Exception if an argument is not as stated; the results are kept then. */
    CV_WRAP virtual void computeNoisy(InputArray image, InputArray noise, InputArray mask = noArray()) = 0;

    /** @brief Returns the number of superpixels (after computeBatch(): of all images together); 0 without results.
    Waits for the last call that was not captured, on any stream. It does not wait for replays of a graph: synchronize
    their stream before. During a capture it returns the number of the existing results, because captured work has not
    been executed. */
    CV_WRAP virtual int getNumberOfSuperpixels() const = 0;
    /** @brief Gets the number of superpixels of each image. Waits only if results on the device go to a Mat, UMat or
    std::vector.
    @param counts CV_32SC1, N x 1: one row for each image of computeBatch(), one row after compute().
    @param stream stream for results on the device, any stream: the call is executed after the last compute(); ignored
    for results on the host. Default: the null stream. */
    CV_WRAP virtual void getSuperpixelCounts(OutputArray counts, Stream& stream = cv::cuda::noStream()) const = 0;
    /** @brief Gets the label of each pixel: the rank of its superpixel's root in row-major order. Waits only if results
    on the device go to a Mat, UMat or std::vector.
    @param labels CV_32SC1, 0 to number - 1; -1 where masked.
    @param stream stream for results on the device, any stream: the call is executed after the last compute(); ignored
    for results on the host. Default: the null stream. */
    CV_WRAP virtual void getLabels(OutputArray labels, Stream& stream = cv::cuda::noStream()) const = 0;
    /** @brief Gets the density of each pixel: the sum of the Gaussian weights of the pixels around it, its own weight 1
    included. Waits only if results on the device go to a Mat, UMat or std::vector.
    @param density CV_32FC1, at least 1 unless normalised; 0 where masked. The exact sum of the rounded weights,
    rounded to 32 bits, then to float.
    @param stream stream for results on the device, any stream: the call is executed after the last compute(); ignored
    for results on the host. Default: the null stream. */
    CV_WRAP virtual void getDensity(OutputArray density, Stream& stream = cv::cuda::noStream()) const = 0;
    /** @brief Gets the parent of each pixel: the nearest pixel of higher density within maxDist, or the pixel itself
    for a root. Waits only if results on the device go to a Mat, UMat or std::vector.
    @param parents CV_32SC1, row-major index y * width + x; -1 where masked.
    @param stream stream for results on the device, any stream: the call is executed after the last compute(); ignored
    for results on the host. Default: the null stream. */
    CV_WRAP virtual void getParents(OutputArray parents, Stream& stream = cv::cuda::noStream()) const = 0;
    /** @brief Gets the distance of each pixel to its parent, in pixels, where a scaled colour difference of 1 counts as
    one pixel; not squared. Waits only if results on the device go to a Mat, UMat or std::vector.
    @param distances CV_32FC1; +infinity at roots and where masked.
    @param stream stream for results on the device, any stream: the call is executed after the last compute(); ignored
    for results on the host. Default: the null stream. */
    CV_WRAP virtual void getDistances(OutputArray distances, Stream& stream = cv::cuda::noStream()) const = 0;

    /** @brief Computes labels for a smaller maxDist from the existing trees: links longer than tau are removed. Equals
    compute() with maxDist = tau if the search radius is SEARCH_MAX_DIST. Does not change the current labels; applyTau()
    does. Waits only if results on the device go to a Mat, UMat or std::vector.
    @param tau distance in pixels, where a scaled colour difference of 1 counts as one pixel; above 0, at most the
    maxDist of the last compute().
    @param labels CV_32SC1, 0 to countSuperpixels(tau) - 1, -1 where masked; empty without results.
    @param stream stream for results on the device, any stream; ignored for results on the host. Default: the null
    stream.
    @throws cv::Exception if tau is out of its range. */
    CV_WRAP virtual void segment(double tau, OutputArray labels, Stream& stream = cv::cuda::noStream()) = 0;
    /** @brief Makes the labels of segment(tau) current: all getters that depend on labels then refer to them. Does not
    wait. Call it before enforceConnectivity(), whose effect it discards. With tau = maxDist it restores the labels of
    compute().
    @param tau distance in pixels, where a scaled colour difference of 1 counts as one pixel; above 0, at most the
    maxDist of the last compute().
    @param stream stream for results on the device, any stream; ignored for results on the host. Default: the null
    stream.
    @throws cv::Exception if tau is out of its range. */
    CV_WRAP virtual void applyTau(double tau, Stream& stream = cv::cuda::noStream()) = 0;
    /** @brief Returns the smallest tau of getMergeHeights() that leaves at most a given number of superpixels. Waits.
    @param number wanted number of superpixels, at least 1 (after computeBatch(): of all images together).
    @param stream stream for results on the device, any stream; ignored for results on the host. Default: the null
    stream.
    @return tau, to be passed to segment() or applyTau(). If even maxDist leaves more superpixels, or if no pixel has a
    parent, it is the maxDist of the last compute(). 0 without results.
    @throws cv::Exception if number is below 1. */
    CV_WRAP virtual double tauForSuperpixels(int number, Stream& stream = cv::cuda::noStream()) = 0;
    /** @brief Makes 4-connected superpixels of about a given number the current ones: the labels of
    enforceConnectivity(minSize) after applyTau(). Waits.

    Values of tau are tried by bisection, usually five, until the number is within 2 % of the wanted one. Where that
    fails up to 16 others follow, and the nearest number that was found is taken: constant areas cannot be divided,
    maxDist limits how far superpixels can be merged, minSize how many there can be. In noise the number need not grow
    when tau falls, so that a nearer one can be missed. With forSuperpixels(), all 200 test images of BSDS500 reach
    200, 400, 800 within 2 %. Discards the effect of enforceConnectivity() and applyTau().
    @param number wanted number of superpixels, at least 1 (after computeBatch(): of all images together).
    @param minSize components of fewer pixels are merged into larger neighbours. Default 0: a twelfth of the mean
    area of the wanted superpixels, masked pixels not counted.
    @param stream stream for results on the device, any stream; ignored for results on the host. Default: the null
    stream.
    @return number of superpixels; 0 without results.
    @throws cv::Exception if number is below 1 or minSize below 0. */
    CV_WRAP virtual int applyNumber(int number, int minSize = 0, Stream& stream = cv::cuda::noStream()) = 0;
    /** @brief Returns the number of superpixels that segment(tau) makes; 0 without results. Waits.
    @param tau distance in pixels, where a scaled colour difference of 1 counts as one pixel; above 0, at most the
    maxDist of the last compute().
    @param stream stream for results on the device, any stream; ignored for results on the host. Default: the null
    stream.
    @throws cv::Exception if tau is out of its range. */
    CV_WRAP virtual int countSuperpixels(double tau, Stream& stream = cv::cuda::noStream()) = 0;
    /** @brief Gets the merge distances (dendrogram heights): all values of tau at which the number of superpixels
    changes. Waits. They refer to the trees of compute(), whatever applyTau() and enforceConnectivity() did.
    @param heights CV_32FC1, n x 1, ascending, distinct; empty if no pixel has a parent.
    @param counts CV_32SC1, n x 1: number of superpixels of segment(heights[k]); empty if no pixel has a parent.
    @param stream stream for results on the device, any stream; ignored for results on the host. Default: the null
    stream. */
    CV_WRAP virtual void getMergeHeights(OutputArray heights, OutputArray counts,
                                         Stream& stream = cv::cuda::noStream()) = 0;

    /** @brief Draws the borders between superpixels into a mask. Waits only if results on the device go to a Mat, UMat
    or std::vector.
    @param mask CV_8UC1, 255 on borders, 0 elsewhere.
    @param thickLine true (default): pixels with more than one 8-neighbour of another label. false: pixels whose right,
    lower or lower right neighbour has another label. Masked pixels count as one label of their own.
    @param stream stream for results on the device, any stream: the call is executed after the last compute(); ignored
    for results on the host. Default: the null stream. */
    CV_WRAP virtual void getLabelContourMask(OutputArray mask, bool thickLine = true,
                                             Stream& stream = cv::cuda::noStream()) const = 0;

    /** @brief Replaces each pixel of an image by the mean over its superpixel. Waits only if image is a GpuMat and dst
    is a Mat, UMat or std::vector.
    @param image CV_8U, CV_16U or CV_32F, 1 to 16 channels, of the size and in the memory (host or device) of the image
    of the last compute(); it may be a different image. After computeBatch(): all images in one array, one below the
    other.
    @param dst result, of type and size of image; 0 where masked. Means of CV_8U and CV_16U are rounded half up. CV_32F
    values are averaged in steps of 2^-30 M, M being the least power of two above the finite absolute values of all
    pixels that are not masked; NaN and infinity count as 0.
    @param stream stream for a GpuMat; ignored for Mat. Default: the null stream.
    @throws cv::Exception if size, type or memory of image does not fit. */
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
    @param stream stream for results on the device, any stream; ignored for results on the host. Default: the null
    stream.
    @throws cv::Exception if size, type or memory of image does not fit. */
    CV_WRAP virtual void getStatistics(InputArray image, OutputArray areas, OutputArray means = noArray(),
                                       OutputArray centroids = noArray(), OutputArray boxes = noArray(),
                                       Stream& stream = cv::cuda::noStream()) const = 0;

    /** @brief Gets the pairs of adjacent superpixels: a pixel of one has a 4-neighbour in the other. Waits.
    @param pairs CV_32SC2, n x 1: distinct pairs of labels (a, b), a < b, sorted by a, then b. After computeBatch() a
    superpixel has its label + the number of superpixels of all previous images. Empty if there are no pairs.
    @param stream stream for results on the device, any stream; ignored for results on the host. Default: the null
    stream.
    @throws cv::Exception if there are more than 2^31 - 1 pairs, or, on the device, more than 2^31 - 1 neighbouring
    pixels of different labels. */
    CV_WRAP virtual void getAdjacency(OutputArray pairs, Stream& stream = cv::cuda::noStream()) const = 0;

    /** @brief Replaces the labels by 4-connected ones. Waits. Densities, parents and distances are not changed.
    - Every superpixel is split into its 4-connected components.
    - Components are ranked by size; of two of equal size the one whose first pixel comes first in row-major order ranks
      higher.
    - Each component below minSize merges into its highest-ranked neighbour, if that ranks higher than itself. All merge
      at the same time: if A merges into B and B into C, all three become one. This is repeated until no component below
      minSize has such a neighbour.
    - Labels are numbered by the first pixels of the resulting components.

    The number of superpixels may rise, because splitting can make more components than merging removes.
    @param minSize components of fewer pixels are merged; at least 1. Default 1: only split.
    @param stream stream for results on the device, any stream; ignored for results on the host. Default: the null
    stream.
    @return new number of superpixels (after computeBatch(): of all images together); 0 without results.
    @throws cv::Exception if minSize is below 1. */
    CV_WRAP virtual int enforceConnectivity(int minSize = 1, Stream& stream = cv::cuda::noStream()) = 0;

    /** @brief Returns the device and pinned host memory held by this instance in bytes, including that of graphs; 0 if
    only the CPU backend was used. The CPU backend keeps about 56 + 4 x channels bytes for each pixel of its largest
    image so far. */
    CV_WRAP virtual size_t workspaceBytes() const = 0;

    /** @brief Clears the results; keeps parameters and memory. */
    CV_WRAP virtual void clear() CV_OVERRIDE = 0;
    /** @brief Returns true without results: before compute(), after clear(), and after compute() of an empty image.
    After compute() of an image that is masked completely there are results, with 0 superpixels. */
    CV_WRAP virtual bool empty() const CV_OVERRIDE = 0;
    /** @brief Returns the name of the class in files: "QuickShift". save() and write() store parameters, not results.
    */
    CV_WRAP virtual String getDefaultName() const CV_OVERRIDE;
    /** @brief Creates an instance with the parameters in a file written by save(). The text is checked before
    FileStorage parses it, so the file may come from an untrusted source.
    @param filename path of an XML file of at most 1 MiB.
    @throws cv::Exception naming the file if it cannot be read, or a parameter is missing or out of its range. */
    CV_WRAP static Ptr<QuickShift> load(const String& filename);
    //! Writes the parameters.
    virtual void write(FileStorage& fs) const CV_OVERRIDE = 0;
    /** Reads parameters from a node; those that the node lacks keep their values. FileStorage, which has parsed the
    file, is not safe with malicious ones; load() is. @throws cv::Exception if the node has none of the parameters, or
    one that is out of its range or of another type, such as a fraction for an integer; no parameter changes then. */
    virtual void read(const FileNode& fn) CV_OVERRIDE = 0;
};

//! @}

}} // namespace cv::cuda

#endif // OPENCV_CUDATRACKING_QUICK_SHIFT_HPP
