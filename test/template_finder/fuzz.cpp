// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Random cases of TemplateFinder against the contract and an exhaustive search in plain loops. ../common/fuzz.hpp says
// how to run other cases, or one alone.
#include "fuzz.hpp"
#include "oracle.hpp"

namespace opencv_test { namespace {

using namespace fuzz;
using namespace poses;

//! Says what is wrong about one row of the table of poses; empty: nothing.
std::string wrongPose(const TemplateFinderCase& c, const Mat& table, int row)
{
    const float* const p = table.ptr<float>(row);
    const poses::Placed pose = {p[0], p[1], p[2], p[3]};
    const TF::Params& params = c.params;
    const double middle = (params.firstAngle + params.lastAngle) * 0.5;
    if (!(p[4] >= static_cast<float>(params.threshold)) || (row > 0 && p[4] > table.at<float>(row - 1, 4)))
        return cv::format("score %.9g", p[4]);
    if (std::abs(std::remainder(p[2] - middle, 360.)) > params.lastAngle - middle + 1e-4 || p[2] <= -180. ||
        p[2] > 180.)
        return cv::format("angle %.9g", p[2]);
    if (p[3] < params.firstScale * (1. - 1e-6) || p[3] > params.lastScale * (1. + 1e-6))
        return cv::format("scale %.9g", p[3]);
    const double score = scoreOf(c.image, c.templ, c.weights, pose);
    if (std::abs(score - p[4]) > 0.03) // values of copies and their weights are integers
        return cv::format("score %.9g, but the oracle's is %.9g", p[4], score);
    for (int k = 0; k < 4; ++k)
        if (p[5 + 2 * k] < -3.5 || p[5 + 2 * k] > c.image.cols + 2.5 || p[6 + 2 * k] < -3.5 ||
            p[6 + 2 * k] > c.image.rows + 2.5)
            return cv::format("corner %d at %.9g, %.9g", k, p[5 + 2 * k], p[6 + 2 * k]);
    return "";
}

//! Checks each pose, and that the best one is at least as good as that of an exhaustive search.
bool judge(const TemplateFinderCase& c, const Outputs& outputs, std::string& wrong)
{
    const Mat table = outputs[0].second;
    if (table.rows > c.params.maxMatches)
        wrong = "too many";
    for (int row = 0; row < table.rows && wrong.empty(); ++row)
        if (const std::string says = wrongPose(c, table, row); !says.empty())
            wrong = cv::format("pose %d of %d: ", row, table.rows) + says;
    double score;
    const poses::Placed best =
        bestOf(c.image, c.templ, c.weights, numbersBetween(c.params.firstAngle, c.params.lastAngle, 4.),
               numbersBetween(c.params.firstScale, c.params.lastScale, 0.05), score);
    const double found = table.empty() ? 0. : table.at<float>(0, 4);
    if (wrong.empty() && score > c.params.threshold + 0.03 && found < score - 0.03)
        wrong = cv::format("best score %.9g of %d, but there is %.9g at %.9g, %.9g, %.9g degrees, scale %.9g", found,
                           table.rows, score, best.x, best.y, best.angle, best.scale);
    return true;
}

TEST(TemplateFinder_Fuzz, oracle)
{
    expectRightOnCpu("TemplateFinder_Fuzz", 25, makeTemplateFinderCase, runTemplateFinder, judge);
}

TEST(TemplateFinder_Fuzz, cpuIsCuda)
{
    requireCuda();
    expectCpuIsCuda("TemplateFinder_Fuzz", 300, makeTemplateFinderCase, runTemplateFinder);
}

}} // namespace opencv_test
