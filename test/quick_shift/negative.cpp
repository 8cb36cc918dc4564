// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Calls that QuickShift refuses with the argument's name, its value and the allowed range. Nothing else changes.
#include "scenes.hpp"
#include <functional>

namespace opencv_test { namespace {

using namespace scenes;

const double NOT_A_NUMBER = std::numeric_limits<double>::quiet_NaN();
typedef std::vector<Mat> Mats;

//! A call and its error message.
struct Refusal
{
    const char* says;
    std::function<void()> call;
};

class QuickShift_Messages : public testing::Test
{
protected:
    void SetUp() override
    {
        RNG rng(581);
        image = randomImage(rng, Size(40, 30), CV_8UC3, 5);
        mask = Mat(image.size(), CV_8U, Scalar(1));
        q = QuickShift::create(2., 5., 0.3);
        q->compute(image);
    }

    //! Checks that each call is refused with exactly its message and does not change parameters and results.
    void expectRefusals(const std::vector<Refusal>& table) const
    {
        const Results before = resultsOf(*q);
        const double sigma = q->getSigma(), maxDist = q->getMaxDist();
        const Scalar scales = q->getChannelScales();
        for (const Refusal& row : table)
        {
            SCOPED_TRACE(row.says);
            std::string says = thrownBy(row.call).err;
            const size_t sign = says.find("-nan"); // the sign of what is no number does not matter
            EXPECT_EQ(row.says, sign == std::string::npos ? says : says.erase(sign, 1));
            EXPECT_EQ(sigma, q->getSigma());
            EXPECT_EQ(maxDist, q->getMaxDist());
            EXPECT_EQ(scales, q->getChannelScales());
            EXPECT_EQ(0, q->getSearchRadius());
            EXPECT_EQ(static_cast<int>(QuickShift::INDEX), q->getTieRule());
            EXPECT_FALSE(q->getNormalizeDensity());
            expectSame(before, resultsOf(*q));
        }
    }

    Mat image, mask, out;
    const Mat lowMask = Mat(29, 40, CV_8U); //!< a row less than the image
    Ptr<QuickShift> q;
};

TEST_F(QuickShift_Messages, parameters)
{
    expectRefusals(
        {{"sigma: 0, but it must be above 0 and at most 341", [&] { q->setSigma(0); }},
         {"sigma: 341.01, but it must be above 0 and at most 341", [&] { q->setSigma(341.01); }},
         {"sigma: nan, but it must be above 0 and at most 341", [&] { q->setSigma(NOT_A_NUMBER); }},
         {"sigma: -1, but it must be above 0 and at most 341", [] { QuickShift::create(-1); }},
         {"maxDist: -2, but it must be above 0 and at most 32767", [&] { q->setMaxDist(-2); }},
         {"maxDist: 32768, but it must be above 0 and at most 32767", [] { QuickShift::create(6, 32768); }},
         {"colorScale: -0.5, but it must be 0 to 1e9", [&] { q->setColorScale(-.5); }},
         {"colorScale: 2000000000, but it must be 0 to 1e9", [] { QuickShift::create(6, 10, 2e9); }},
         {"scales[2]: -1, but it must be 0 to 1e9", [&] { q->setChannelScales(Scalar(1, 1, -1, 1)); }},
         {"scales[3]: nan, but it must be 0 to 1e9", [&] { q->setChannelScales(Scalar(1, 1, 1, NOT_A_NUMBER)); }},
         {"scales: 0 values, but there must be 1 to 16", [&] { q->setScales({}); }},
         {"scales: 17 values, but there must be 1 to 16", [&] { q->setScales(std::vector<double>(17, 1.)); }},
         {"scales[5]: -1, but it must be 0 to 1e9",
          [&] {
              q->setScales({1, 1, 1, 1, 1, -1});
          }},
         {"radius: -2, but it must be SEARCH_MAX_DIST (0), SEARCH_WINDOW (-1) or 1 to 32767",
          [&] { q->setSearchRadius(-2); }},
         {"rule: 2, but it must be INDEX (0) or STRICT (1)", [&] { q->setTieRule(2); }}});
}

TEST_F(QuickShift_Messages, images)
{
    Mat noise = Mat::zeros(image.size(), CV_64F);
    noise.at<double>(7, 5) = std::numeric_limits<double>::infinity();
    Mat bytes(46341, 1, CV_8U, Scalar(1)); // only its size is looked at
    const Mat huge(46341, 46342, CV_8U, bytes.data, 46342);
    const char* const otherMask = "mask: size 40 x 29 differs from image's 40 x 30";
    expectRefusals(
        {{"image: type CV_64FC3, but CV_8U, CV_16U or CV_32F with 1 to 16 channels is needed",
          [&] { q->compute(Mat(4, 4, CV_64FC3)); }},
         {"image: type CV_8UC17, but CV_8U, CV_16U or CV_32F with 1 to 16 channels is needed",
          [&] { q->compute(Mat(4, 4, CV_8UC(17))); }},
         {"image: size 65536 x 1, but each side must be at most 65535", [&] { q->compute(Mat(1, 65536, CV_8U)); }},
         {"image: size 1 x 65536, but each side must be at most 65535", [&] { q->compute(Mat(65536, 1, CV_8U)); }},
         {"mask: type CV_8UC3, but CV_8UC1 is needed", [&] { q->compute(image, image); }},
         {otherMask, [&] { q->compute(image, lowMask); }},
         {"image: a list of arrays, but one array is needed", [&] { q->compute(Mats(1, image)); }},
         {"tile: 0 x 5, but each side must be at least 1", [&] { q->computeTiled(image, Size(0, 5)); }},
         {otherMask, [&] { q->computeTiled(image, Size(9, 9), false, lowMask); }},
         {"noise: type CV_32FC1, but CV_64FC1 is needed", [&] { q->computeNoisy(image, Mat(30, 40, CV_32F)); }},
         {"noise: size 40 x 29 differs from image's 40 x 30", [&] { q->computeNoisy(image, noise.rowRange(0, 29)); }},
         {"noise: size 0 x 0 differs from image's 40 x 30", [&] { q->computeNoisy(image, Mat(0, 0, CV_64F)); }},
         {"noise: inf at (5, 7), but it must be finite", [&] { q->computeNoisy(image, noise); }},
         {otherMask, [&] { q->computeNoisy(image, noise, lowMask); }},
         {"image: 1 of 46342 x 46341 are 2147534622 pixels, but there must be at most 2000000000",
          [&] { q->compute(huge); }}});
}

TEST_F(QuickShift_Messages, batches)
{
    const Mats two = {image, image}, lastEmpty = {image, Mat()}, lastLow = {image, image, image.rowRange(0, 5)},
               narrowMask = {mask, mask.colRange(0, 39)}, imageAndMask = {image, mask}, maskAndImage = {mask, image},
               three(3);
    expectRefusals(
        {{"images: one array, but a list is needed; compute() takes one image",
          [&] { q->computeBatch(image, noArray()); }},
         {"masks: one array, but a list with one for each image is needed",
          [&] { q->computeBatch(two, noArray(), mask); }},
         {"masks: 1 given for 2 images; give none, or one for each (which may be empty)",
          [&] { q->computeBatch(two, noArray(), Mats(1, mask)); }},
         {"masks[1]: size 39 x 30 differs from images[0]'s 40 x 30",
          [&] { q->computeBatch(two, noArray(), narrowMask); }},
         {"masks[1]: type CV_8UC3, but CV_8UC1 is needed", [&] { q->computeBatch(two, noArray(), maskAndImage); }},
         {"images[1]: is empty", [&] { q->computeBatch(lastEmpty, noArray()); }},
         {"images[2]: size 40 x 5 differs from images[0]'s 40 x 30", [&] { q->computeBatch(lastLow, noArray()); }},
         {"images[1]: type CV_8UC1 differs from images[0]'s CV_8UC3",
          [&] { q->computeBatch(imageAndMask, noArray()); }},
         {"images[0]: type CV_64FC1, but CV_8U, CV_16U or CV_32F with 1 to 16 channels is needed",
          [&] { q->computeBatch(Mats(1, Mat(4, 4, CV_64F)), noArray()); }},
         {"labels: a list of 3 that cannot be resized, but 2 arrays are needed", [&] { q->computeBatch(two, three); }},
         {"labels: must be a list of Mat, of UMat or of GpuMat", [&] { q->computeBatch(two, out); }}});
}

TEST_F(QuickShift_Messages, results)
{
    const Mat fixedBytes(30, 40, CV_8U), fixed(30, 40, CV_32S);
    expectRefusals(
        {{"tau: 0, but it must be above 0", [&] { q->segment(0, out); }},
         {"tau: 5.1, but it must be at most 5, the maxDist of the last compute()", [&] { q->segment(5.1, out); }},
         {"tau: nan, but it must be above 0", [&] { q->applyTau(NOT_A_NUMBER); }},
         {"tau: 6, but it must be at most 5, the maxDist of the last compute()", [&] { q->applyTau(6); }},
         {"tau: -1, but it must be above 0", [&] { q->countSuperpixels(-1); }},
         {"number: 0, but it must be at least 1", [&] { q->tauForSuperpixels(0); }},
         {"number: 0, but it must be at least 1", [&] { q->applyNumber(0); }},
         {"minSize: -1, but it must be at least 0", [&] { q->applyNumber(5, -1); }},
         {"minSize: 0, but it must be at least 1", [&] { q->enforceConnectivity(0); }},
         {"image: must be a Mat with pixels, as that of the last compute() was",
          [&] { q->getMeanColor(noArray(), out); }},
         {"image: type CV_32SC3, but CV_8U, CV_16U or CV_32F with 1 to 16 channels is needed",
          [&] { q->getMeanColor(Mat(image.size(), CV_32SC3), out); }},
         {"image: size 40 x 29, but that of the last compute() was 40 x 30",
          [&] { q->getStatistics(image.rowRange(0, 29), out); }},
         {"labels: an array of 3 x 3 elements that cannot be resized, but the results are 30 x 40",
          [&] { q->getLabels(Mat(3, 3, CV_32S).rowRange(0, 3)); }},
         {"labels: an array of CV_8UC1, but the results are CV_32SC1", [&] { q->getLabels(fixedBytes); }}});
    const Ptr<QuickShift> none = QuickShift::create();
    EXPECT_THROW(none->segment(0., out), cv::Exception) << "also without results";
    EXPECT_THROW(none->countSuperpixels(-3.), cv::Exception);
    EXPECT_EQ(0, none->countSuperpixels(1e9));
    EXPECT_THROW(none->getLabels(fixed), cv::Exception) << "cannot be emptied";
    q->getLabels(fixed); // fits
    EXPECT_TRUE(sameBits(resultsOf(*q).labels, fixed));
}

TEST_F(QuickShift_Messages, files)
{
    const char* const wrongNode = "fn: has no parameter of QuickShift; is it the right node?";
    const std::pair<const char*, const char*> table[] = {
        {"sigma: -1.", "sigma: -1, but it must be above 0 and at most 341"},
        {"sigma: .Nan", "sigma: nan, but it must be above 0 and at most 341"},
        {"sigma: six", "sigma: is no number"},
        {"sigma: [ 6. ]", "sigma: is no number"},
        {"maxDist: 0", "maxDist: 0, but it must be above 0 and at most 32767"},
        {"channelScales: 1.", "channelScales: is no list, but it must be a list of 4 to 16 numbers"},
        {"channelScales: [ 1., 2. ]", "channelScales: a list of 2, but it must be a list of 4 to 16 numbers"},
        {"channelScales: [ 1., 2., x, 4. ]", "channelScales[2]: is no number"},
        {"channelScales: [ 1., 2., 3., -4. ]", "scales[3]: -4, but it must be 0 to 1e9"},
        {"channelScales: [ 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8 ]",
         "channelScales: a list of 17, but it must be a list of 4 to 16 numbers"},
        {"searchRadius: 2.5", "searchRadius: 2.5, but it must be an integer"},
        {"tieRule: 0.5", "tieRule: 0.5, but it must be an integer"},
        {"tieRule: 7", "rule: 7, but it must be INDEX (0) or STRICT (1)"},
        {"normalizeDensity: 3", "normalizeDensity: 3, but it must be 0 or 1"},
        {"metric: 3", wrongNode},
    };
    for (const auto& row : table)
    {
        const std::string other = std::string(row.first) == "metric: 3" ? "" : "maxDist: 7.\n";
        const bool twice = std::string(row.first).find("maxDist") == 0;
        const FileStorage file("%YAML:1.0\n" + (twice ? "" : other) + row.first,
                               FileStorage::READ | FileStorage::MEMORY);
        expectRefusals({{row.second, [&] { q->read(file.root()); }}});
    }
    const FileStorage file("%YAML:1.0\nnumber: 7\nlist: [ 1, 2 ]\nmine: { maxDist: 7. }",
                           FileStorage::READ | FileStorage::MEMORY);
    for (const FileNode& node : {file["missing"], file["number"], file["list"], FileNode()})
        expectRefusals({{wrongNode, [&] { q->read(node); }}});
    q->read(file["mine"]); // what the node lacks stays
    EXPECT_EQ(7., q->getMaxDist());
    EXPECT_EQ(2., q->getSigma());
}

//! A file that was cut off is refused: nothing is taken from the defaults. Messages name the file.
TEST(QuickShift_Files, cutOff)
{
    const std::string whole = "<?xml version=\"1.0\"?>\n<opencv_storage>\n<QuickShift>\n  <sigma>3.</sigma>\n"
                              "  <maxDist>7.</maxDist>\n  <channelScales>1. 1. 1. 1.</channelScales>\n"
                              "  <searchRadius>-1</searchRadius>\n  <tieRule>1</tieRule>\n"
                              "  <normalizeDensity>1</normalizeDensity>\n</QuickShift>\n</opencv_storage>\n";
    const TemporaryFile file(".xml");
    const auto load = [&file](const std::string& text)
    {
        file.write(text);
        return QuickShift::load(file);
    };
    EXPECT_TRUE(load(whole)->getNormalizeDensity());
    for (size_t end = 0; end + 2 < whole.size(); ++end)
        EXPECT_THROW(load(whole.substr(0, end)), cv::Exception) << whole.substr(0, end);
    std::string wrong = whole;
    wrong.replace(wrong.find("3.</sigma>"), 2, "-3");
    expectRefused([&] { load(wrong); }, {file.name + ": sigma: -3"}, Error::StsParseError);
}

}} // namespace opencv_test
