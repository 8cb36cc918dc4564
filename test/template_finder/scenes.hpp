// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Images in which a texture stands at known poses. The texture is a function of the plane, so nothing is interpolated.
#ifndef OPENCV_CUDATRACKING_TEST_TEMPLATE_FINDER_SCENES_HPP
#define OPENCV_CUDATRACKING_TEST_TEMPLATE_FINDER_SCENES_HPP

#include "../test_precomp.hpp"
#include "opencv2/cudatracking.hpp"
#include "../common/common.hpp"
#include <cmath>

namespace opencv_test { namespace poses {

using cuda::GpuMat;
using cuda::TemplatePose;
typedef cuda::TemplateFinder TF;

struct Placed
{
    double x, y, angle, scale;
};

//! Gray value of a texture at a point, 0 to 255.
class Texture
{
public:
    explicit Texture(uint64 seed)
    {
        RNG rng(seed);
        for (auto& wave : waves_)
            for (double& number : wave)
                number = rng.uniform(-1., 1.);
    }

    double at(double x, double y, int channel) const
    {
        double sum = 0.;
        for (const auto& wave : waves_)
            sum += std::sin(0.45 * (wave[0] * x + wave[1] * y) + 7. * wave[2] + channel * wave[3]);
        return 128. + 110. * std::tanh(0.5 * sum);
    }

private:
    double waves_[7][4];
};

inline double valueFor(int depth, double gray) { return depth == CV_16U ? gray * 201. : gray; }

inline void setPixel(Mat& image, int x, int y, const Texture& texture, double u, double v)
{
    for (int c = 0; c < image.channels(); ++c)
    {
        const double value = valueFor(image.depth(), texture.at(u, v, c));
        if (image.depth() == CV_8U)
            image.ptr<uchar>(y)[x * image.channels() + c] = saturate_cast<uchar>(value);
        else
            image.ptr<ushort>(y)[x * image.channels() + c] = saturate_cast<ushort>(value);
    }
}

//! The texture about the centre of an upright template.
inline Mat makeTemplate(Size size, int type, uint64 seed = 1)
{
    const Texture texture(seed);
    Mat image(size, type);
    for (int y = 0; y < size.height; ++y)
        for (int x = 0; x < size.width; ++x)
            setPixel(image, x, y, texture, x - (size.width - 1) * 0.5, y - (size.height - 1) * 0.5);
    return image;
}

//! A background of another texture, on which the template stands at the poses given.
inline Mat makeImage(Size size, int type, Size templ, const std::vector<Placed>& places, uint64 seed = 1)
{
    const Texture texture(seed), background(seed + 1000);
    Mat image(size, type);
    for (int y = 0; y < size.height; ++y)
        for (int x = 0; x < size.width; ++x)
        {
            setPixel(image, x, y, background, x, y);
            for (const Placed& p : places)
            {
                const double c = std::cos(p.angle * CV_PI / 180.), s = std::sin(p.angle * CV_PI / 180.);
                const double u = (c * (x - p.x) - s * (y - p.y)) / p.scale,
                             v = (s * (x - p.x) + c * (y - p.y)) / p.scale;
                if (std::abs(u) <= templ.width * 0.5 && std::abs(v) <= templ.height * 0.5)
                    setPixel(image, x, y, texture, u, v);
            }
        }
    return image;
}

inline TF::Params makeParams(double threshold, double firstAngle = -180., double lastAngle = 180.,
                             double firstScale = 1., double lastScale = 1.)
{
    TF::Params params;
    params.threshold = threshold;
    params.firstAngle = firstAngle;
    params.lastAngle = lastAngle;
    params.firstScale = firstScale;
    params.lastScale = lastScale;
    return params;
}

inline std::vector<TemplatePose> findPoses(const Mat& image, const Mat& templ, const TF::Params& params = TF::Params(),
                                           const Mat& weights = Mat())
{
    const Ptr<TF> finder = TF::create(params);
    finder->setTemplate(templ, weights);
    std::vector<TemplatePose> poses;
    finder->find(image, poses);
    return poses;
}

//! All numbers of the poses, one row each.
inline Mat tableOf(const std::vector<TemplatePose>& poses)
{
    Mat table(static_cast<int>(poses.size()), 13, CV_32F);
    for (int i = 0; i < table.rows; ++i)
    {
        const TemplatePose& p = poses[i];
        float* const row = table.ptr<float>(i);
        row[0] = p.center.x, row[1] = p.center.y, row[2] = p.angle, row[3] = p.scale, row[4] = p.score;
        for (int k = 0; k < 4; ++k)
            row[5 + 2 * k] = p.corners[k].x, row[6 + 2 * k] = p.corners[k].y;
    }
    return table;
}

//! Expects the pose that is nearest to the place given, and as near as this.
inline void expectPlaced(const Placed& place, const std::vector<TemplatePose>& poses, double pixels = 0.1,
                         double degrees = 0.15, double scale = 0.005)
{
    const TemplatePose* nearest = nullptr;
    for (const TemplatePose& p : poses)
        if (!nearest || std::hypot(p.center.x - place.x, p.center.y - place.y) <
                            std::hypot(nearest->center.x - place.x, nearest->center.y - place.y))
            nearest = &p;
    ASSERT_TRUE(nearest) << "no pose";
    EXPECT_LE(std::hypot(nearest->center.x - place.x, nearest->center.y - place.y), pixels) << nearest->center;
    EXPECT_LE(std::abs(std::remainder(nearest->angle - place.angle, 360.)), degrees) << nearest->angle;
    EXPECT_LE(std::abs(nearest->scale - place.scale), scale) << nearest->scale;
}

}} // namespace opencv_test::poses

#endif // OPENCV_CUDATRACKING_TEST_TEMPLATE_FINDER_SCENES_HPP
