// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

#include "align.hpp"
#include <algorithm>
#include <cmath>

namespace cv { namespace cuda { namespace template_finder {

const int MOST_POINTS = 4096; //!< more do not make a pose more accurate than the interpolation allows
const int FEWEST_POINTS = 36; //!< fewer do without the rule for the edge
const int MOST_STEPS = 20;    //!< alignments that come to rest do so in 3 to 8
const double REST = 0.003;    //!< a step that moves no pixel by more ends the alignment, pixels
const double UNSEEN = 1e-4; //!< part of the squared changes by shifts below which those by angle or size count as none
const double FARTHEST = 2.; //!< from the start, pixels

Aligner::Aligner(const Mat& templ, const Mat& given, Complex center, bool turns, bool scales)
    : channels_(std::min(templ.channels(), 3)), radius_(std::max(templ.cols, templ.rows) * 0.5)
{
    // Pixels at the edge are interpolated with the image's background, and have no derivatives of their own.
    Mat values, weights;
    erode(given, weights, Mat());
    if (countNonZero(weights) < FEWEST_POINTS)
        weights = given;
    templ.convertTo(values, CV_32F);
    const int step = std::max(1, static_cast<int>(std::ceil(std::sqrt(countNonZero(weights) / double(MOST_POINTS)))));
    std::vector<float> q;
    for (int y = 0; y < templ.rows; y += step)
        for (int x = 0; x < templ.cols; x += step)
        {
            if (weights.at<uchar>(y, x) == 0)
                continue;
            const float fromX = static_cast<float>(x - center.real()), fromY = static_cast<float>(y - center.imag());
            points_.emplace_back(fromX, fromY);
            const int left = std::max(x - 1, 0), right = std::min(x + 1, templ.cols - 1);
            const int above = std::max(y - 1, 0), below = std::min(y + 1, templ.rows - 1);
            for (int c = 0; c < channels_; ++c)
            {
                const auto at = [&](int row, int column) { return values.ptr<float>(row, column)[c]; };
                const float dx = (at(y, right) - at(y, left)) / std::max(right - left, 1);
                const float dy = (at(below, x) - at(above, x)) / std::max(below - above, 1);
                const float bySize = dx * fromX + dy * fromY, byAngle = dy * fromX - dx * fromY;
                factors_.emplace_back(at(y, x), dx, dy, scales ? bySize : 0.f, turns ? byAngle : 0.f);
                q.push_back(weights.at<uchar>(y, x) / 255.f);
            }
        }
    // Offset and gain of the image do not count: each column loses its mean in each channel, and derivatives what they
    // have in common with the template.
    for (int c = 0; c < channels_; ++c)
    {
        Vec<double, COLUMNS> sum;
        double weight = 0.;
        for (size_t i = c; i < q.size(); i += channels_)
        {
            sum += Vec<double, COLUMNS>(factors_[i]) * q[i];
            weight += q[i];
        }
        for (size_t i = c; i < q.size(); i += channels_)
            factors_[i] -= Factors(sum / weight);
    }
    const auto product = [&](int a, int b)
    {
        double sum = 0.;
        for (size_t i = 0; i < q.size(); ++i)
            sum += static_cast<double>(q[i]) * factors_[i][a] * factors_[i][b];
        return sum;
    };
    square_ = product(0, 0);
    if (square_ <= 0.) // constant
        return;
    for (int k = 1; k < COLUMNS; ++k)
    {
        const float common = static_cast<float>(product(0, k) / square_);
        for (Factors& factors : factors_)
            factors[k] -= common * factors[0];
    }
    // A size or an angle that the template hardly shows, as that of a disc, is kept.
    const double least = UNSEEN * radius_ * radius_ * std::max(product(1, 1), product(2, 2));
    const bool seen[] = {true, true, product(3, 3) >= least, product(4, 4) >= least};
    Matx44d normal = Matx44d::eye();
    for (int a = 0; a < 4; ++a)
        for (int b = 0; b < 4; ++b)
            if (seen[a] && seen[b])
                normal(a, b) = product(a + 1, b + 1);
    inverse_ = normal.inv(DECOMP_CHOLESKY, &solvable_);
    for (size_t i = 0; i < q.size(); ++i)
        for (int k = 0; k < COLUMNS; ++k)
            factors_[i][k] *= k == 0 || seen[k - 1] ? q[i] : 0.f;
}

template <typename T> void Aligner::sumUp(const Mat& image, const Pose& pose, Vec<double, COLUMNS>& sums) const
{
    const float a = static_cast<float>(pose.linear.real()), b = static_cast<float>(pose.linear.imag());
    const float centerX = static_cast<float>(pose.center.real()), centerY = static_cast<float>(pose.center.imag());
    const float lastX = image.cols - 1.f, lastY = image.rows - 1.f;
    const int pixel = image.channels();
    // Offsets do not count, but make sums less accurate.
    const T* const offset = image.ptr<T>(image.rows / 2) + image.cols / 2 * pixel;
    const Factors* factors = factors_.data();
    for (const Point2f& p : points_)
    {
        const float x = std::min(std::max(centerX + (a * p.x - b * p.y), 0.f), lastX);
        const float y = std::min(std::max(centerY + (b * p.x + a * p.y), 0.f), lastY);
        const int left = std::min(static_cast<int>(x), std::max(image.cols - 2, 0));
        const int top = std::min(static_cast<int>(y), std::max(image.rows - 2, 0));
        const float fx = x - left, fy = y - top;
        const T* const above = image.ptr<T>(top) + left * pixel;
        const T* const below = image.ptr<T>(std::min(top + 1, image.rows - 1)) + left * pixel;
        const int next = image.cols > 1 ? pixel : 0;
        for (int c = 0; c < channels_; ++c, ++factors)
        {
            const float upper = above[c] + fx * (above[c + next] - above[c]);
            const float lower = below[c] + fx * (below[c + next] - below[c]);
            const float value = upper + fy * (lower - upper) - offset[c];
            for (int k = 0; k < COLUMNS; ++k)
                sums[k] += static_cast<double>((*factors)[k]) * value;
        }
    }
}

bool Aligner::align(const Mat& image, Pose& pose) const
{
    const Complex start = pose.center;
    for (int step = 0; solvable_ && step < MOST_STEPS; ++step)
    {
        Vec<double, COLUMNS> sums;
        if (image.depth() == CV_8U)
            sumUp<uchar>(image, pose, sums);
        else
            sumUp<ushort>(image, pose, sums);
        if (sums[0] <= 0.)
            return false;
        const Vec4d delta = inverse_ * Vec4d(sums[1], sums[2], sums[3], sums[4]) * (square_ / sums[0]);
        // The inverse of the template's motion.
        if (std::abs(delta[2]) > 0.5 || std::abs(delta[3]) > 0.5)
            return false;
        const Complex turn = std::polar(1. + delta[2], delta[3]), shift = Complex(delta[0], delta[1]);
        pose.linear /= turn;
        pose.center -= pose.linear * shift;
        if (std::abs(pose.center - start) > FARTHEST)
            return false;
        if (std::abs(pose.linear) * (std::abs(shift) + std::abs(turn - 1.) * radius_) < REST)
            return true;
    }
    return false;
}

}}} // namespace cv::cuda::template_finder
