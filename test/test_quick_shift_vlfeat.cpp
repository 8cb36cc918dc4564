// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// QuickShift against VLFeat: on real pictures where VLFeat is installed, and on crops whose results by VLFeat are kept here.
#include "golden_quick_shift.hpp"
#include "oracle_quick_shift.hpp"
#include "peer_vlfeat.hpp"
#include "scenes_quick_shift.hpp"

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

TEST(QuickShift_Vlfeat, pictures)
{
    const std::string folder = requireFolder("CUDATRACKING_SAMPLES_DATA");
    for (const std::string name : {"fruits.jpg", "baboon.jpg", "lena.jpg", "home.jpg"})
    {
        const Mat picture = requirePicture(folder, name);
        Mat crop = picture(Rect(picture.cols / 2 - 90, picture.rows / 2 - 70, 180, 140)), lab;
        cvtColor(crop, lab, COLOR_BGR2Lab);
        // Scales are powers of two: features are exact then, and so are equal distances, which VLFeat would else order by
        // rounding errors (with 32/255 it parts with the raster rule at 0.15 to 0.4 % of the pixels).
        for (const Setting& s : {Setting{6, 10, 0.125}, Setting{2, 8, 0.5}, Setting{2, 8, 1.}})
        {
            SCOPED_TRACE(cv::format("%s, sigma %g, tau %g, scale %g", name.c_str(), s.sigma, s.maxDist, s.scale));
            const Mat& image = s.sigma > 2 ? crop : lab;
            Mat features;
            image.convertTo(features, CV_64F, s.scale);
            VlfeatResult truth;
            const std::string problem = vlfeatQuickShift(features, s.sigma, s.maxDist, truth);
            if (!problem.empty())
                throw SkipTestException(problem);
            const Results r = strictResults(image, s);
            const double error = oracle::densityError(r.density, truth.density, 0.);
            const double largeError = oracle::densityError(r.density, truth.density, 10.);
            const double parents = oracle::sameParents(r.parents, truth.parents);
            const double overlap = oracle::overlap(r.labels, oracle::labelsOf(truth.parents));
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
