// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// computeNoisy(): noise that is added to densities before pixels are linked.
#include "against_oracle.hpp"

namespace opencv_test { namespace {

using namespace scenes;

Mat normalNoise(RNG& rng, Size size, double deviation)
{
    Mat noise(size, CV_64F);
    rng.fill(noise, RNG::NORMAL, 0., deviation);
    return noise;
}

TEST(QuickShift_Noise, none)
{
    const Mat image = randomImage(9701, Size(61, 47), CV_8UC3, 5);
    const Mat none = Mat::zeros(image.size(), CV_64F);
    for (const bool normalize : {false, true})
        for (const int rule : {QuickShift::INDEX, QuickShift::STRICT})
            for (const Mat& mask : {Mat(), gridMask(image.size(), 3, Point(1, 2))})
            {
                const Ptr<QuickShift> q = QuickShift::create(1.5, 6., 0.2);
                q->setNormalizeDensity(normalize);
                q->setTieRule(rule);
                const Results plain = computed(*q, image, mask);
                q->computeNoisy(image, none, mask);
                expectSame(plain, resultsOf(*q));
            }
}

TEST(QuickShift_Noise, movesLinksAsTheDefinitionSays)
{
    RNG rng(9702);
    QuickShiftOptions o(1.5, 6., 0.2);
    o.noise = normalNoise(rng, Size(52, 41), 2.);
    for (const bool normalize : {false, true})
        for (const Mat& mask : {Mat(), gridMask(o.noise.size(), 2, Point(0, 1))})
        {
            o.normalize = normalize;
            o.mask = mask;
            const Mat image = randomImage(rng, o.noise.size(), CV_8UC3, 5);
            const Ptr<QuickShift> q = make(o);
            q->computeNoisy(image, o.noise, mask);
            const Results r = resultsOf(*q);
            const QuickShiftResult truth = oracle::quickShift(image, o);
            EXPECT_GE(oracle::sameParents(r.parents, truth.parents), 0.999);
            EXPECT_GE(oracle::overlap(r.labels, oracle::labelsOf(truth.parents)),
                      0.99); // one link can move a superpixel
            Mat density;
            truth.density.convertTo(density, CV_32F);
            EXPECT_LE(cvtest::norm(density, r.density, NORM_INF), 1e-4);
            q->compute(image, mask);
            EXPECT_LT(oracle::sameParents(r.parents, resultsOf(*q).parents), 0.95) << "the noise has changed nothing";
        }
}

// All densities inside are equal, so that noise of any size decides, to its last bit: here it is 1e-9 and the density
// 14.
TEST(QuickShift_Noise, decidesInFlatAreas)
{
    RNG rng(9703);
    const Size size(50, 40);
    const Mat image(size, CV_8UC3, Scalar(200, 200, 200));
    const Ptr<QuickShift> q = QuickShift::create(1.5, 4., 0.2);
    q->setTieRule(QuickShift::STRICT);
    q->compute(image);
    EXPECT_GT(q->getNumberOfSuperpixels(), size.area() / 2) << "each inner pixel is a superpixel";
    const Mat noise = normalNoise(rng, size, 1e-9);
    q->computeNoisy(image, noise);
    const Results r = resultsOf(*q);
    EXPECT_LT(r.count, size.area() / 10);
    const int inner = 9; // pixels from the border from which on windows of pixels and of their parents lie in the image
    for (int y = inner; y < size.height - inner; ++y)
        for (int x = inner; x < size.width - inner; ++x)
        {
            int parent = y * size.width + x, nearest = 4 * 4 + 1;
            for (int v = y - 4; v <= y + 4; ++v)
                for (int u = x - 4; u <= x + 4; ++u)
                {
                    const int d = (u - x) * (u - x) + (v - y) * (v - y);
                    if (d < nearest && noise.at<double>(v, u) > noise.at<double>(y, x))
                    {
                        nearest = d;
                        parent = v * size.width + u;
                    }
                }
            ASSERT_EQ(parent, r.parents.at<int>(y, x)) << x << ", " << y;
        }
    EXPECT_TRUE(sameBits(oracle::labelsOf(r.parents), r.labels));
}

TEST(QuickShift_Noise, resultsAreThoseOfAnyCall)
{
    RNG rng(9704);
    const Mat image = randomImage(rng, Size(40, 30), CV_8UC3, 5), noise = normalNoise(rng, image.size(), 1.);
    const Ptr<QuickShift> q = QuickShift::create(2., 10., 0.2), other = QuickShift::create(2., 10., 0.2);
    const Results plain = computed(*q, image);
    q->computeNoisy(image, noise);
    const Results noisy = resultsOf(*q);
    EXPECT_FALSE(sameBits(plain.labels, noisy.labels));
    other->computeNoisy(image, noise);
    expectSame(noisy, resultsOf(*other));
    Mat cut;
    q->segment(10., cut);
    EXPECT_TRUE(sameBits(noisy.labels, cut));
    expectSame(plain, computed(*q, image));
    q->computeNoisy(Mat(), noise);
    EXPECT_TRUE(q->empty());
}

}} // namespace opencv_test
