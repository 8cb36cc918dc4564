// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Least-squares alignment of a template with an image: position, angle and size at once (Lucas-Kanade, inverse
// compositional), whatever the brightness and contrast.
#ifndef OPENCV_CUDATRACKING_TEMPLATE_FINDER_ALIGN_HPP
#define OPENCV_CUDATRACKING_TEMPLATE_FINDER_ALIGN_HPP

#include "../precomp.hpp"
#include <complex>
#include <vector>

namespace cv { namespace cuda { namespace template_finder {

//! Point or linear map of the plane, y down. A product with scale e^(-i angle) turns counter-clockwise as it is seen.
typedef std::complex<double> Complex;

//! Maps a template to an image: point p, from the centre of the template, goes to center + linear p.
struct Pose
{
    Complex center, linear;
    float score;

    double scale() const { return std::abs(linear); }
    double radians() const { return -std::arg(linear); }
    float degrees() const
    {
        const float angle = static_cast<float>(radians() * 180. / CV_PI);
        return angle <= -180.f ? 180.f : angle;
    }
};

//! One resolution of the template, prepared for alignment.
class Aligner
{
public:
    /** @param templ,weights template, and 8-bit weights of its size. @param center centre of the template in it.
    @param turns,scales whether angle and scale may change. */
    Aligner(const Mat& templ, const Mat& weights, Complex center, bool turns, bool scales);

    /** Improves a pose, whose units are pixels of this template and this image.
    @return false if it moves by more than two pixels of the image or does not come to rest; it is undefined then. */
    bool align(const Mat& image, Pose& pose) const;

private:
    static const int COLUMNS = 5;
    typedef Vec<float, COLUMNS> Factors;

    template <typename T> void sumUp(const Mat& image, const Pose& pose, Vec<double, COLUMNS>& sums) const;

    std::vector<Point2f> points_; //!< pixels used, from the centre
    /** For each point and channel: what to multiply the image by for its product with the template, and with the
    template's derivatives by x, y, size and angle. Each column has the weighted sum 0 in each channel. */
    std::vector<Factors> factors_;
    int channels_;
    double square_ = 0.; //!< product of the template with itself
    double radius_;      //!< half of the longer side, pixels
    Matx44d inverse_;    //!< of the normal equations
    bool solvable_ = false;
};

}}} // namespace cv::cuda::template_finder

#endif // OPENCV_CUDATRACKING_TEMPLATE_FINDER_ALIGN_HPP
