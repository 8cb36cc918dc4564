// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Compares QuickShift with VLFeat: on real images where VLFeat is installed, and on crops with stored results of
// VLFeat.
#include "golden.hpp"
#include "oracle.hpp"
#include "vlfeat.hpp"
#include "scenes.hpp"

namespace opencv_test { namespace {

using namespace scenes;

struct Setting
{
    double sigma, maxDist, scale;
};

Results strictResults(const Mat& image, const Setting& s)
{
    const Ptr<QuickShift> q = QuickShift::create(s.sigma, s.maxDist, s.scale);
    q->setTieRule(QuickShift::STRICT);
    q->compute(image);
    return resultsOf(*q);
}

//! How near the results for an image are to VLFeat's; skips the test where there is no VLFeat.
struct Nearness
{
    double error, largeError; //!< of all densities, and of those from 10 on
    double parents, overlap;
};

//! Returns what VLFeat gives; skips the test where it cannot.
VlfeatResult ofVlfeat(const Mat& image, const Setting& s)
{
    Mat features;
    image.convertTo(features, CV_64F, s.scale);
    VlfeatResult truth;
    const std::string problem = vlfeatQuickShift(features, s.sigma, s.maxDist, truth);
    if (!problem.empty())
        throw SkipTestException(problem);
    return truth;
}

Nearness nearnessToVlfeat(const Mat& image, const Setting& s)
{
    const VlfeatResult truth = ofVlfeat(image, s);
    const Results r = strictResults(image, s);
    return {oracle::densityError(r.density, truth.density, 0.), oracle::densityError(r.density, truth.density, 10.),
            oracle::sameParents(r.parents, truth.parents), oracle::overlap(r.labels, oracle::labelsOf(truth.parents))};
}

TEST(QuickShift_Vlfeat, images)
{
    const std::string folder = requireFolder("CUDATRACKING_SAMPLES_DATA");
    for (const std::string name : {"fruits.jpg", "baboon.jpg", "lena.jpg", "home.jpg"})
    {
        const Mat photograph = requireImage(folder, name);
        Mat crop = photograph(Rect(photograph.cols / 2 - 90, photograph.rows / 2 - 70, 180, 140)), lab;
        cvtColor(crop, lab, COLOR_BGR2Lab);
        // Scales are powers of two: features are exact then, and so are equal distances, which VLFeat would else order
        // by rounding errors (with 32/255 it differs from the raster rule at 0.15 to 0.4 % of the pixels).
        for (const Setting& s : {Setting{6, 10, 0.125}, Setting{2, 8, 0.5}, Setting{2, 8, 1.}})
        {
            SCOPED_TRACE(cv::format("%s, sigma %g, tau %g, scale %g", name.c_str(), s.sigma, s.maxDist, s.scale));
            const auto [error, largeError, parents, overlap] = nearnessToVlfeat(s.sigma > 2 ? crop : lab, s);
            std::cout << name << " sigma " << s.sigma << " tau " << s.maxDist << " scale " << s.scale
                      << ": density error " << error << " (" << largeError << " from 10 on), parents " << 100 * parents
                      << " %, overlap " << 100 * overlap << " %" << std::endl;
            EXPECT_LE(error, 2e-5);
            EXPECT_LE(largeError, 5e-6);
            EXPECT_GE(parents, 0.997);
            EXPECT_GE(overlap, 0.999);
        }
    }
}

//! Images of eight bands: BGR, Lab, and two smoothed ones.
TEST(QuickShift_Vlfeat, bands)
{
    const std::string folder = requireFolder("CUDATRACKING_SAMPLES_DATA");
    for (const std::string name : {"fruits.jpg", "home.jpg"})
    {
        const Mat photograph = requireImage(folder, name);
        const Mat crop = photograph(Rect(photograph.cols / 2 - 60, photograph.rows / 2 - 50, 120, 100));
        Mat lab, smooth, image;
        cvtColor(crop, lab, COLOR_BGR2Lab);
        GaussianBlur(crop, smooth, Size(), 2.);
        std::vector<Mat> planes(3), more;
        split(crop, planes);
        for (const Mat& from : {lab, smooth})
        {
            split(from, more);
            planes.insert(planes.end(), more.begin(), more.end());
        }
        planes.pop_back();
        merge(planes, image);
        ASSERT_EQ(CV_8UC(8), image.type());
        for (const Setting& s : {Setting{6, 10, 0.125}, Setting{2, 8, 0.25}})
        {
            SCOPED_TRACE(cv::format("%s, sigma %g, tau %g, scale %g", name.c_str(), s.sigma, s.maxDist, s.scale));
            const Nearness near = nearnessToVlfeat(image, s);
            EXPECT_LE(near.error, 2e-5);
            EXPECT_GE(near.parents, 0.997);
            EXPECT_GE(near.overlap, 0.999);
        }
    }
}

//! Row of the table in doc/quick_shift.md: the lowest share of parents equal to VLFeat's, in percent, and the largest
//! number of superpixels against VLFeat's.
struct NearTies
{
    Setting setting;
    double parents, superpixels;
};

//! If colours weigh so much more than positions that most weights are below one unit, densities become equal, and
//! STRICT makes these pixels roots. The doc's table is neither better nor worse than the results here.
TEST(QuickShift_Vlfeat, nearTies)
{
    const std::string folder = requireFolder("CUDATRACKING_SAMPLES_DATA");
    const NearTies table[] = {{{1, 3, 1}, 99.1, 1.01},     {{1, 5, 1}, 96.9, 1.08},     {{1, 10, 1}, 81.2, 1.42},
                              {{1, 20, 1}, 71.9, 1.89},    {{1.25, 3, 1}, 99.7, 1.01},  {{1.25, 5, 1}, 98.8, 1.03},
                              {{1.25, 10, 1}, 89.6, 1.36}, {{1.25, 20, 1}, 84.4, 1.51}, {{1.5, 3, 1}, 99.8, 1.00},
                              {{1.5, 5, 1}, 99.5, 1.01},   {{1.5, 10, 1}, 95.4, 1.22},  {{1.5, 20, 1}, 91.3, 1.46},
                              {{2, 3, 1}, 100.0, 1.00},    {{2, 5, 1}, 99.9, 1.00},     {{2, 10, 1}, 98.6, 1.06},
                              {{2, 20, 1}, 95.4, 1.34},    {{2, 20, 0.5}, 99.6, 1.04},  {{3, 20, 0.125}, 100., 1.00}};
    for (const NearTies& row : table)
    {
        const Setting& s = row.setting;
        double parents = 100., superpixels = 1.;
        for (const char* name : {"fruits.jpg", "baboon.jpg", "lena.jpg", "home.jpg", "building.jpg", "aloeL.jpg",
                                 "graf1.png", "messi5.jpg", "butterfly.jpg", "rubberwhale1.png"})
        {
            const Mat photograph = requireImage(folder, name);
            const Mat image = photograph(Rect(photograph.cols / 2 - 30, photograph.rows / 2 - 36, 60, 72));
            const VlfeatResult truth = ofVlfeat(image, s);
            const Results r = strictResults(image, s);
            const Ptr<QuickShift> byIndex = shiftOf(s.sigma, s.maxDist, s.scale, image);
            int count = 0;
            oracle::labelsOf(truth.parents, &count);
            parents = std::min(parents, 100. * oracle::sameParents(r.parents, truth.parents));
            superpixels = std::max(superpixels, static_cast<double>(r.count) / count);
            EXPECT_LE(byIndex->getNumberOfSuperpixels(), 1.05 * count) << name;
        }
        const std::string what = cv::format("sigma %g, tau %g, scale %g", s.sigma, s.maxDist, s.scale);
        std::cout << what << cv::format(": %.2f %% of the parents, %.3f times the superpixels", parents, superpixels)
                  << std::endl;
        EXPECT_NEAR(row.parents, parents, 0.3) << what;
        EXPECT_NEAR(row.superpixels, superpixels, 0.02) << what;
    }
}

TEST(QuickShift_Vlfeat, goldenCrops)
{
    for (const golden::Crop& crop : golden::crops())
    {
        SCOPED_TRACE(crop.name);
        const Mat image(golden::ROWS, golden::COLS, CV_8UC3, const_cast<uchar*>(crop.bgr));
        const Mat parents(golden::ROWS, golden::COLS, CV_32S, const_cast<int*>(crop.parents));
        Mat density;
        Mat(golden::ROWS, golden::COLS, CV_32F, const_cast<float*>(crop.density)).convertTo(density, CV_64F);
        const Results r = strictResults(image, {crop.sigma, crop.maxDist, crop.scale});
        EXPECT_LE(oracle::densityError(r.density, density, 0.), 2e-5);
        EXPECT_TRUE(sameBits(parents, r.parents));
        EXPECT_TRUE(sameBits(oracle::labelsOf(parents), r.labels));
    }
}

}} // namespace opencv_test
