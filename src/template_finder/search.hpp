// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// The search for all poses of a template, from coarse to fine.
#ifndef OPENCV_CUDATRACKING_TEMPLATE_FINDER_SEARCH_HPP
#define OPENCV_CUDATRACKING_TEMPLATE_FINDER_SEARCH_HPP

#include "align.hpp"

namespace cv { namespace cuda { namespace template_finder {

typedef TemplateFinder::Params Params;

//! A template with all that depends on it and the parameters alone.
class Search
{
public:
    /** @param templ,weights template and 8-bit weights in host memory, not kept; weights may be empty.
    @throws cv::Exception if there are too many angles and sizes. */
    Search(const Mat& templ, const Mat& weights, const Params& params);

    /** Finds poses, best first.
    @param image image in host memory. @param onDevice whether the coarsest resolution is searched on the device. */
    std::vector<TemplatePose> find(const Mat& image, bool onDevice, Stream& stream);

private:
    //! The template halved a number of times, with a border of weight 0.
    struct Resolution
    {
        Mat templ, weights, counts; //!< counts: 255 where there is a weight; empty: only weights decide
        Complex center;
        Aligner aligner;
    };

    int resolutionOf(int level, double scale) const;
    Pose local(Pose pose, int level, int resolution) const;
    Rect boxOf(int level, const Pose& pose, double margin) const;
    void copy(int level, const Pose& pose, const Rect& box, Mat& templ, Mat& weights) const;
    Pose inRange(Pose pose) const;

    void setCoarseCopies();
    std::vector<Pose> searchAll(const Mat& image, bool onDevice, Stream& stream);
    std::vector<Pose> align(int level, const Mat& image, std::vector<Pose>& poses) const;
    std::vector<FragmentMatch> matchCopies(int level, const Mat& image, const std::vector<Pose>& poses,
                                           const std::vector<Rect>& boxes, const std::vector<Rect>& areas);
    void searchAround(int level, const Mat& image, std::vector<Pose>& poses);
    void score(int level, const Mat& image, std::vector<Pose>& poses, double threshold);
    std::vector<TemplatePose> best(std::vector<Pose>& poses) const;

    const Params params_;
    const Size size_; //!< of the template
    int levels_ = 0;  //!< number of times that the image is halved
    std::vector<Resolution> resolutions_;
    double angleStep_, scaleStep_;      //!< at the coarsest level: radians, logarithm of the ratio
    std::vector<Pose> coarse_;          //!< all angles and sizes, about a place in the pixel (0, 0)
    std::vector<Rect> boxes_;           //!< pixels that the template covers at each of them
    Ptr<FragmentMatcher> all_, single_; //!< matchers of all of them, and of single poses
    GpuMat device_;                     //!< the coarsest image
};

}}} // namespace cv::cuda::template_finder

#endif // OPENCV_CUDATRACKING_TEMPLATE_FINDER_SEARCH_HPP
