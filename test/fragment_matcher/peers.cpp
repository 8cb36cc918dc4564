// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Compares FragmentMatcher on CUDA with OpenCV's cv::cuda::TemplateMatching and cv::cuda::minMaxLoc on the same input.
// Needs an OpenCV with cudaarithm and cudaimgproc (scripts/build.sh --peers), and a device; skipped without either.
#include "scenes_cuda.hpp"
#include "opencv2/opencv_modules.hpp"

#if defined HAVE_CUDA && defined HAVE_OPENCV_CUDAARITHM && defined HAVE_OPENCV_CUDAIMGPROC
#define CUDATRACKING_TEST_PEERS 1
#include "opencv2/cudaarithm.hpp"
#include "opencv2/cudaimgproc.hpp"
#endif

namespace opencv_test { namespace {

using namespace scenes;

void requirePeers()
{
    requireCuda();
#ifndef CUDATRACKING_TEST_PEERS
    throw SkipTestException("this OpenCV has no cudaarithm and cudaimgproc (scripts/build.sh --peers)");
#endif
}

#ifdef CUDATRACKING_TEST_PEERS

//! A frame, and templates cut from it that noise has changed. Up to 16 x 16 the peer adds up, beyond it transforms.
struct Input
{
    explicit Input(int type)
    {
        RNG rng(9200 + type);
        frame = randomImage(rng, Size(300, 220), type, 4);
        for (const int side : {1, 5, 16, 17, 33, 64})
        {
            Mat noise(side, side, type), templ;
            rng.fill(noise, RNG::UNIFORM, 0, 20);
            const Rect place(uniform(rng, Point(), Point(300 - side, 220 - side)), Size(side, side));
            cv::add(frame(place), noise, templ);
            templates.push_back(templ);
        }
    }
    Mat frame;
    std::vector<Mat> templates;
};

//! cv::cuda::TemplateMatching, or a skipped test where it cannot work.
Mat peerMap(const GpuMat& frame, const Mat& templ, int method)
{
    try
    {
        GpuMat map;
        cuda::createTemplateMatching(frame.type(), method)->match(frame, GpuMat(templ), map);
        return Mat(map);
    }
    catch (const cv::Exception& e)
    {
        throw SkipTestException(cv::format("cuda::TemplateMatching does not work here: %s", e.what()));
    }
}

Mat ourMap(FM& matcher, int index, const GpuMat& frame)
{
    GpuMat map;
    matcher.scoreMap(index, frame, Rect(), map);
    return Mat(map);
}

//! Sum of the squares of all channels in each window.
Mat energies(const Mat& frame, Size window)
{
    Mat squares, sums, one;
    frame.convertTo(squares, CV_64F);
    cv::multiply(squares, squares, squares);
    squares = squares.reshape(1, frame.rows * frame.cols);
    reduce(squares, one, 1, REDUCE_SUM, CV_64F);
    boxFilter(one.reshape(1, frame.rows), sums, CV_64F, window, Point(0, 0), false, BORDER_CONSTANT);
    return sums(Rect(0, 0, frame.cols - window.width + 1, frame.rows - window.height + 1));
}

//! Variance of all channels together in each window, in squared gray levels.
Mat variances(const Mat& frame, Size window)
{
    Mat sum;
    for (int k = 0; k < frame.channels(); ++k)
    {
        Mat channel, mean, square;
        extractChannel(frame, channel, k);
        channel.convertTo(channel, CV_64F);
        boxFilter(channel, mean, CV_64F, window, Point(0, 0), true, BORDER_CONSTANT);
        boxFilter(channel.mul(channel), square, CV_64F, window, Point(0, 0), true, BORDER_CONSTANT);
        const Mat variance = square - mean.mul(mean);
        sum = sum.empty() ? variance : Mat(sum + variance);
    }
    return sum(Rect(0, 0, frame.cols - window.width + 1, frame.rows - window.height + 1));
}

/** Both give the sum of squared differences, ours divided by the pixels. What the peer transforms it adds up from three
large numbers in float, each good to about 1e-6 of the energies of window and template. */
TEST(FragmentMatcher_CudaPeers, squaredDifferences)
{
    requirePeers();
    for (const int type : {CV_8UC1, CV_8UC3, CV_8UC4})
    {
        Input input(type);
        if (type == CV_8UC4) // the fourth channel is the peer's, but not ours
        {
            insertChannel(Mat::zeros(input.frame.size(), CV_8U), input.frame, 3);
            for (Mat& templ : input.templates)
                insertChannel(Mat::zeros(templ.size(), CV_8U), templ, 3);
        }
        const GpuMat frame(input.frame);
        const Ptr<FM> matcher = FM::create(makeParams(FM::SSD));
        matcher->setFragments(input.templates);
        for (int i = 0; i < static_cast<int>(input.templates.size()); ++i)
        {
            const Mat& templ = input.templates[i];
            const Mat peer = peerMap(frame, templ, TM_SQDIFF), ours = ourMap(*matcher, i, frame);
            ASSERT_EQ(peer.size(), ours.size());
            const Mat energy = energies(input.frame, templ.size());
            const double own = cv::norm(templ, NORM_L2SQR), pixels = static_cast<double>(templ.total());
            for (int y = 0; y < ours.rows; ++y)
                for (int x = 0; x < ours.cols; ++x)
                    ASSERT_NEAR(peer.at<float>(y, x), ours.at<float>(y, x) * pixels,
                                1e-5 * (own + energy.at<double>(y, x)))
                        << typeToString(type) << ", " << templ.size() << ", (" << x << ", " << y << ")";
        }
    }
}

/** Correlations agree where window and template have a variance: the peer's, of sums in float, are off by more the
flatter they are. */
TEST(FragmentMatcher_CudaPeers, correlations)
{
    requirePeers();
    for (const int type : {CV_8UC1, CV_8UC3})
    {
        const Input input(type);
        const GpuMat frame(input.frame);
        const Ptr<FM> matcher = FM::create(makeParams(FM::ZNCC));
        matcher->setFragments(input.templates);
        for (int i = 1; i < static_cast<int>(input.templates.size()); ++i)
        {
            const Mat& templ = input.templates[i];
            const Mat peer = peerMap(frame, templ, TM_CCOEFF_NORMED), ours = ourMap(*matcher, i, frame);
            ASSERT_EQ(peer.size(), ours.size());
            const Mat variance = variances(input.frame, templ.size());
            int compared = 0;
            for (int y = 0; y < ours.rows; ++y)
                for (int x = 0; x < ours.cols; ++x)
                    if (variance.at<double>(y, x) >= 100.)
                    {
                        ++compared;
                        ASSERT_NEAR(peer.at<float>(y, x), ours.at<float>(y, x), 2e-3)
                            << typeToString(type) << ", " << templ.size() << ", (" << x << ", " << y << ")";
                    }
            EXPECT_GT(compared, static_cast<int>(ours.total()) / 2);
        }
    }
}

//! match() finds what minMaxLoc() finds in the score map, and of equal scores the first.
TEST(FragmentMatcher_CudaPeers, extremesOfMaps)
{
    requirePeers();
    for (const int metric : {FM::SAD, FM::SSD, FM::ZNCC})
    {
        const Input input(CV_8UC3);
        const GpuMat frame(input.frame);
        const Ptr<FM> matcher = FM::create(makeParams(metric));
        matcher->setFragments(input.templates);
        const Result found = runOnDevice(*matcher, frame, noArray());
        for (int i = 1; i < static_cast<int>(input.templates.size()); ++i)
        {
            GpuMat map;
            matcher->scoreMap(i, frame, Rect(), map);
            double low = 0, high = 0;
            Point lowest, highest;
            cuda::minMaxLoc(map, &low, &high, &lowest, &highest);
            const double best = metric == FM::ZNCC ? high : low;
            const Point at = metric == FM::ZNCC ? highest : lowest, ours = found.locations.at<Point>(i, 0);
            EXPECT_EQ(best, found.scores.at<float>(i, 0));
            const Mat onHost(map);
            EXPECT_EQ(best, onHost.at<float>(ours));
            EXPECT_TRUE(ours.y < at.y || (ours.y == at.y && ours.x <= at.x)) << ours << at;
            if (countNonZero(onHost == best) == 1)
            {
                EXPECT_EQ(at, ours);
            }
        }
    }
}

#else

TEST(FragmentMatcher_CudaPeers, skipped) { requirePeers(); }

#endif

}} // namespace opencv_test
