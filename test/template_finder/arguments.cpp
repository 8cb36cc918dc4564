// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// TemplateFinder's arguments: what is refused and by which message; parameters in files; an object after an error.
#include "scenes.hpp"

namespace opencv_test { namespace {

using namespace poses;

TEST(TemplateFinder_Arguments, parameters)
{
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const struct
    {
        const char* name;
        std::function<void(TF::Params&)> spoil;
    } cases[] = {{"firstAngle", [](TF::Params& p) { p.firstAngle = -361.; }},
                 {"firstAngle", [=](TF::Params& p) { p.firstAngle = nan; }},
                 {"lastAngle", [](TF::Params& p) { p.lastAngle = 181.; }},
                 {"lastAngle", [](TF::Params& p) { p.lastAngle = -181.; }},
                 {"firstScale", [](TF::Params& p) { p.firstScale = 0.09; }},
                 {"lastScale", [](TF::Params& p) { p.lastScale = 0.99; }},
                 {"lastScale", [](TF::Params& p) { p.lastScale = 10.1; }},
                 {"threshold", [](TF::Params& p) { p.threshold = -0.1; }},
                 {"threshold", [](TF::Params& p) { p.threshold = 1.1; }},
                 {"maxMatches", [](TF::Params& p) { p.maxMatches = 0; }},
                 {"maxMatches", [](TF::Params& p) { p.maxMatches = 10001; }},
                 {"maxOverlap", [](TF::Params& p) { p.maxOverlap = 1.1; }},
                 {"coarsestArea", [](TF::Params& p) { p.coarsestArea = 15; }}};
    const Ptr<TF> finder = TF::create();
    for (const auto& one : cases)
    {
        TF::Params params;
        one.spoil(params);
        expectRefused([&] { TF::create(params); }, {"Params::", one.name}, Error::StsOutOfRange);
        expectRefused([&] { finder->setParams(params); }, {one.name}, Error::StsOutOfRange);
        EXPECT_EQ(0.7, finder->getParams().threshold);
        EXPECT_EQ(-180., finder->getParams().firstAngle);
    }
}

TEST(TemplateFinder_Arguments, arrays)
{
    const Mat image = randomImage(3, Size(80, 70), CV_8UC1), templ = image(Rect(20, 20, 24, 20)).clone();
    const Ptr<TF> finder = TF::create(makeParams(0.9, 0., 0.));
    std::vector<TemplatePose> poses;
    EXPECT_TRUE(finder->empty());
    expectRefused([&] { finder->find(image, poses); }, {"no template"}, Error::StsError);
    finder->setTemplate(templ);
    finder->find(image, poses);
    const Mat expected = tableOf(poses);
    ASSERT_EQ(1, expected.rows);

    const auto set = [&](const Mat& pixels, const Mat& weights)
    { return [=] { finder->setTemplate(pixels, weights); }; };
    expectRefused(set(Mat(), Mat()), {"templ"});
    expectRefused(set(Mat(5, 5, CV_32FC1, Scalar(1)), Mat()), {"templ", "CV_32FC1"}, Error::StsUnsupportedFormat);
    expectRefused(set(Mat(5, 5, CV_8UC2, Scalar(1)), Mat()), {"templ", "CV_8UC2"}, Error::StsUnsupportedFormat);
    expectRefused(set(cube(), Mat()), {"templ", "3 dimensions"}, Error::StsBadSize);
    expectRefused(set(templ, Mat(3, 3, CV_8UC1, Scalar(1))), {"weights"}, Error::StsUnmatchedSizes);
    expectRefused(set(templ, Mat(templ.size(), CV_16UC1, Scalar(1))), {"weights"}, Error::StsUnsupportedFormat);
    expectRefused(set(templ, Mat(templ.size(), CV_32FC1, Scalar(1.5))), {"weights", "1.5"}, Error::StsOutOfRange);
    expectRefused(set(templ, Mat(templ.size(), CV_32FC1, Scalar(std::nan("")))), {"weights", "nan"},
                  Error::StsOutOfRange);
    expectRefused(set(templ, Mat::zeros(templ.size(), CV_8UC1)), {"weights"}, Error::StsOutOfRange);
    expectRefused(set(Mat(1, 16385, CV_8UC1, Scalar(1)), Mat()), {"templ", "16385"}, Error::StsBadSize);
    expectRefused([&] { finder->find(Mat(80, 70, CV_8UC3), poses); }, {"image", "CV_8UC3"}, Error::StsUnmatchedFormats);
    expectRefused([&] { finder->find(Mat(1, 32768, CV_8UC1), poses); }, {"image", "32768"}, Error::StsBadSize);
    expectRefused([&] { finder->find(cube(), poses); }, {"image", "3 dimensions"}, Error::StsBadSize);

    // The object is as before.
    EXPECT_EQ(Size(24, 20), finder->getTemplateSize());
    finder->find(asRoi(image), poses);
    EXPECT_TRUE(sameBits(expected, tableOf(poses)));
    TF::Params all = finder->getParams();
    all.firstAngle = -180., all.lastAngle = 180.;
    finder->setParams(all);
    finder->find(image, poses);
    EXPECT_EQ(1u, poses.size());
    finder->clear();
    EXPECT_TRUE(finder->empty());
    EXPECT_EQ(Size(), finder->getTemplateSize());
}

TEST(TemplateFinder_Files, parameters)
{
    const Ptr<TF> finder = TF::create(makeParams(0.65, -10., 20., 0.5, 2.));
    EXPECT_EQ("TemplateFinder", finder->getDefaultName());
    const TemporaryFile file(".xml");
    finder->save(file);
    const Ptr<TF> other = TF::create();
    FileStorage storage(file, FileStorage::READ);
    other->read(storage.getFirstTopLevelNode());
    EXPECT_EQ(0.65, other->getParams().threshold);
    EXPECT_EQ(-10., other->getParams().firstAngle);
    EXPECT_EQ(20., other->getParams().lastAngle);
    EXPECT_EQ(0.5, other->getParams().firstScale);
    EXPECT_EQ(2., other->getParams().lastScale);
    EXPECT_EQ(1000, other->getParams().maxMatches);
    FileStorage wrong("%YAML:1.0\nt: { threshold: 7. }\n", FileStorage::READ | FileStorage::MEMORY);
    expectRefused([&] { other->read(wrong["t"]); }, {"threshold", "7"}, Error::StsOutOfRange);
    FileStorage strange("%YAML:1.0\nt: { metric: 1 }\n", FileStorage::READ | FileStorage::MEMORY);
    expectRefused([&] { other->read(strange["t"]); }, {"TemplateFinder"}, Error::StsParseError);
    EXPECT_EQ(0.65, other->getParams().threshold);
}

}} // namespace opencv_test
