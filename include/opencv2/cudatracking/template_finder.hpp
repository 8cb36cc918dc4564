// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

#ifndef OPENCV_CUDATRACKING_TEMPLATE_FINDER_HPP
#define OPENCV_CUDATRACKING_TEMPLATE_FINDER_HPP

#include "opencv2/core.hpp"
#include "opencv2/cudatracking/stream.hpp"

namespace cv { namespace cuda {

//! @addtogroup cudatracking
//! @{

/** @brief A place of a template in an image, found by TemplateFinder. */
struct CV_EXPORTS_W_SIMPLE TemplatePose
{
    CV_WRAP TemplatePose() : angle(0.f), scale(1.f), score(0.f) {}

    CV_PROP_RW Point2f center; //!< centre of the template in the image, pixels; (0, 0) is the centre of its first pixel
    CV_PROP_RW float angle;    //!< rotation in degrees, counter-clockwise, in (-180, 180]
    CV_PROP_RW float scale;    //!< size in the image divided by that of the template
    CV_PROP_RW float score;    //!< correlation with the image, -1 to 1; 1 is perfect
    /** Corners of the template's outline in the image: those of its top-left, top-right, bottom-right and bottom-left
    pixels, half a pixel outwards. */
    CV_PROP_RW std::vector<Point2f> corners;
};

/** @brief Finds all places of a template in an image, at any angle and in a range of sizes.

@code
// Prints where a part lies in an image, at any angle.
void printPlaces(const cv::Mat& image, const cv::Mat& part)
{
    const cv::Ptr<cv::cuda::TemplateFinder> finder = cv::cuda::TemplateFinder::create();
    finder->setTemplate(part);
    std::vector<cv::cuda::TemplatePose> poses;
    finder->find(image, poses); // a GpuMat as image: on the CUDA device
    for (const cv::cuda::TemplatePose& pose : poses)
        std::cout << pose.center << " at " << pose.angle << " degrees, score " << pose.score << std::endl;
}
@endcode

__Images__: image and template are CV_8U or CV_16U with 1, 3 or 4 channels (the fourth is ignored), both of one type.
Sides are 1 to 32,767 pixels, those of templates at most 16,384. Both may be regions of interest.

__Poses__: a pose maps the point p of the template to the point center + scale R (p - m) of the image. m is the centre
of the template, ((width - 1) / 2, (height - 1) / 2); R is the rotation by the angle, counter-clockwise as the image is
seen.

__Scores__: the score of a pose is the weighted correlation coefficient of the template, warped by the pose with bilinear
interpolation, and the pixels of the image under it: ZNCC of FragmentMatcher, exactly and at full resolution. Each
channel has a mean of its own. Pixels of the image between two pixels of which one has no weight, or lies outside of the
template, do not count, unless the template is only two pixels wide. The score ignores changes of brightness and contrast.
Interpolation smooths the warped template, so turned copies of a fine texture do not reach 1. For scales below 0.7 the
template is halved before it is warped.

__Search__: template and image are halved until the template has about Params::coarsestArea pixels, or once or twice less
where the template would lose more than 0.6 of its standard deviation. There all angles and sizes are scored at all
positions. Candidates up to 0.1 below the threshold are then aligned by least squares at this and each finer resolution,
in position, angle and size with sub-pixel precision, and scored again. A pose that cannot be aligned is the best one
around on a grid of whole pixels. A place is lost if it is less similar at a coarse resolution; doc/template_finder.md
says how often that happens. At most 5,000 candidates are followed.

__Limits__: the whole template must lie in the image, but for two pixels. Perspective and deformations are not searched.

__Order__: the best pose comes first; equal scores are ordered by the row and the column of the centre, then by the
angle. Of two poses that overlap by more than Params::maxOverlap the better one stays.

__Determinism__: both backends give the same bits, for every number of threads.

__Waiting, lifetimes, threads__: see the tables in cudatracking.hpp. For a GpuMat the search of the coarsest resolution
runs on the device, all else on the host. Threads that use one instance share its template and parameters; their calls
are executed one after another.

Source: S. Baker, I. Matthews, Lucas-Kanade 20 years on: a unifying framework, International Journal of Computer Vision
2004 (inverse compositional alignment).
*/
class CV_EXPORTS_W TemplateFinder : public Algorithm
{
public:
    //! Parameters of a finder. create() and setParams() check their ranges.
    struct CV_EXPORTS_W_SIMPLE Params
    {
        CV_WRAP Params();

        CV_PROP_RW double firstAngle; //!< lowest angle, degrees, -360..360. Default -180
        CV_PROP_RW double lastAngle;  //!< highest angle, degrees, firstAngle..firstAngle + 360. Default 180
        CV_PROP_RW double firstScale; //!< smallest scale, 0.1..10. Default 1
        CV_PROP_RW double lastScale;  //!< largest scale, firstScale..10. Default 1
        CV_PROP_RW double threshold;  //!< lowest score of a pose, 0..1. Default 0.7
        CV_PROP_RW int maxMatches;    //!< largest number of poses, 1..10000. Default 1000
        //! Largest overlap of two poses: the area that both outlines share, divided by the area of the smaller one,
        //! 0..1. Default 0.3
        CV_PROP_RW double maxOverlap;
        //! Number of pixels of the smallest template at the coarsest resolution, within a factor of 2, 16..1000000. More
        //! pixels find templates of fine texture more surely, and take more time. Default 256
        CV_PROP_RW int coarsestArea;
    };

    /** @brief Creates a finder without a template, for all places of a template in an image, at any angle and size.

    setTemplate() sets the template, find() returns its places. Image and template are uint8 or uint16 arrays of 1, 3 or
    4 channels (the fourth is ignored), both of one type; the image is a numpy array, for the CPU, or a
    cv2.cuda.GpuMat, for the device. Both give the same bits.
    @code{.py}
    >>> image = cv2.GaussianBlur(np.random.default_rng(1).integers(0, 256, (240, 320), np.uint8), (0, 0), 2)
    >>> finder = cv2.cuda.TemplateFinder.create()
    >>> finder.setTemplate(np.rot90(image[60:101, 100:161]).copy())
    >>> pose = finder.find(image)[0]
    >>> [round(value) for value in pose.center], round(pose.angle), pose.score > 0.99
    ([130, 80], -90, True)
    @endcode
    Calls of several threads on one instance are executed one after another.
    @param params parameters. Default: Params(), that is the defaults of all members below.
    firstAngle, lastAngle: range of angles in degrees, counter-clockwise; -360 to 360, at most 360 apart; default -180
    and 180, all angles. If both are equal, the template is not turned otherwise.
    firstScale, lastScale: range of the size in the image divided by that of the template, 0.1 to 10; default 1 and 1.
    threshold: lowest score of a pose, 0 to 1; default 0.7.
    maxMatches: largest number of poses, 1 to 10,000; default 1,000.
    maxOverlap: largest area that two poses share, divided by the area of the smaller one, 0 to 1; default 0.3.
    coarsestArea: number of pixels of the smallest template at the coarsest resolution, within a factor of 2 (up to
    32 for fine texture), 16 to 1,000,000; default 256.
    @throws cv::Exception if a member of params is out of its range. */
    CV_WRAP static Ptr<TemplateFinder> create(const TemplateFinder::Params& params = TemplateFinder::Params());

    /** @brief Replaces all parameters; the template is kept, and prepared again.
    @param params parameters; create() explains the members.
    @throws cv::Exception if a member is out of its range, or if angles and sizes are too many for the template; no
    parameter changes then. */
    CV_WRAP virtual void setParams(const TemplateFinder::Params& params) = 0;
    /** @brief Returns a copy of the parameters; create() explains them. */
    CV_WRAP virtual TemplateFinder::Params getParams() const = 0;

    /** @brief Sets the template. It is copied to the host; a GpuMat, for which the call waits, is possible.
    @param templ template: CV_8U or CV_16U with 1, 3 or 4 channels, sides 1 to 16,384 pixels, Mat or GpuMat;
    pixels times channels are at most 16,843,523.
    @param weights how much each pixel of the template counts, an array of its size in the same memory: CV_8UC1, 0 to
    255, or CV_32FC1 with values in [0,1]. Default: none, all pixels count alike.
    @param stream stream for a GpuMat; ignored for Mat. Default: the null stream.
    @throws cv::Exception if sizes or types do not fit, if weights are out of [0,1] or all 0 when rounded to 0..255, or if
    angles and sizes are too many for the template. The old template is kept then. */
    CV_WRAP virtual void setTemplate(InputArray templ, InputArray weights = noArray(),
                                     Stream& stream = cv::cuda::noStream()) = 0;
    /** @brief Returns the size (width, height) of the template in pixels; (0, 0) without one. */
    CV_WRAP virtual Size getTemplateSize() const = 0;

    /** @brief Finds all places of the template in an image. Waits for the stream if the image is a GpuMat.
    @param image image to search, Mat or GpuMat of the template's type, sides 1 to 32,767 pixels. An empty one gives no
    poses.
    @param poses poses, the best one first, with members center (x, y) in pixels, where the centre of the first pixel is
    (0, 0); angle in degrees, counter-clockwise, in (-180, 180]; scale; score, 1 is perfect; corners, four points (x, y)
    of the template's outline in the image.
    @param stream stream for a GpuMat; ignored for Mat. Default: the null stream.
    @throws cv::Exception for an image that is not empty: if there is no template, if the type is not that of the
    template, or if a side is too long. */
    CV_WRAP virtual void find(InputArray image, CV_OUT std::vector<TemplatePose>& poses,
                              Stream& stream = cv::cuda::noStream()) = 0;

    /** @brief Returns the name of the class in files: "TemplateFinder". save() and write() store parameters, not the
    template. */
    CV_WRAP virtual String getDefaultName() const CV_OVERRIDE;
    //! Writes the parameters.
    virtual void write(FileStorage& fs) const CV_OVERRIDE = 0;
    /** Reads parameters, as FragmentMatcher::read() does; those that the node lacks keep their values.
    @throws cv::Exception if the node has none of the parameters, or one that is out of its range or of another type; no
    parameter changes then. */
    virtual void read(const FileNode& fn) CV_OVERRIDE = 0;
    /** @brief Returns true if there is no template. */
    CV_WRAP virtual bool empty() const CV_OVERRIDE = 0;
    /** @brief Removes the template; parameters are kept. */
    CV_WRAP virtual void clear() CV_OVERRIDE = 0;
};

//! @}

}} // namespace cv::cuda

#endif // OPENCV_CUDATRACKING_TEMPLATE_FINDER_HPP
