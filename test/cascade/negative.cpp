// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// CascadeClassifierEx refuses bad arguments and bad files with the reason, and is unchanged afterwards.
#include "../test_precomp.hpp"
#include "generate.hpp"
#include "../common/mutated_text.hpp"

namespace opencv_test { namespace {

using cuda::CascadeClassifierEx;

const char* const GOOD = "%YAML:1.0\n---\n"
                         "cascade:\n"
                         "   stageType: BOOST\n"
                         "   featureType: HAAR\n"
                         "   height: 8\n"
                         "   width: 10\n"
                         "   featureParams:\n"
                         "      maxCatCount: 0\n"
                         "   stages:\n"
                         "      -\n"
                         "         stageThreshold: 0.5\n"
                         "         weakClassifiers:\n"
                         "            -\n"
                         "               internalNodes: [ 0, -1, 0, 0.01 ]\n"
                         "               leafValues: [ 0., 1. ]\n"
                         "   features:\n"
                         "      -\n"
                         "         rects: [ [ 0, 0, 4, 4, -1. ], [ 2, 0, 2, 4, 2. ] ]\n";

std::string with(const std::string& what, const std::string& instead)
{
    std::string text = GOOD;
    const size_t at = text.find(what);
    EXPECT_NE(std::string::npos, at) << what;
    return text.replace(at, what.size(), instead);
}

struct BadFile
{
    const char* name;
    std::string text;
    const char* says; //!< a part of the message
};

//! Texts that are refused before FileStorage reads them.
std::vector<BadFile> badTexts()
{
    return {
        {"empty", "  \n", "is empty"},
        {"no storage", "hello", "is no XML"},
        {"gzip", "\x1f\x8b\x08 and so on", "is compressed (gzip); decompress it first"},
        {"JPEG", std::string("\xff\xd8\xff\xe0\0\x10JFIF", 10), "is no XML, YAML or JSON"},
        {"PNG", "\x89PNG\r\n\x1a\n<<<<[[[[", "is no XML, YAML or JSON"},
        {"ELF",
         "\x7f"
         "ELF",
         "is no XML, YAML or JSON"},
        {"UTF-16", std::string("\xff\xfe<\0?\0", 6), "is UTF-16; save it as UTF-8"},
        {"UTF-16 without a mark", std::string("<\0?\0x\0", 6), "is UTF-16; save it as UTF-8"},
        {"a zero", with("BOOST", std::string("BO\0ST", 5)), "line 4: has the byte 0x00"},
        {"a bell", with("BOOST", "BO\aST"), "line 4: has the byte 0x07"},
        {"a line that ends as on old computers", with("BOOST\n", "BOOST\r"), "line 4: has the byte 0x0d"},
        {"a tab", with("   stageType", "\tstageType"), "line 4: a tab"},
        {"cut off", std::string(GOOD, 200), "is no YAML of OpenCV: line 13: "},
        {"another document", std::string(GOOD) + "---\na: 1\n", "line 20: a second document"},
        {"binary data", with("[ 0., 1. ]", "!!binary |\n   QUFB"), "line 16: !!binary: only OpenCV's own types"},
        {"broken XML", "<?xml version=\"1.0\"?><opencv_storage><cascade><stages>", "<stages> has no end"},
        {"another closing tag", "<?xml version=\"1.0\"?>\n<opencv_storage>\n</cascade>", "line 3: </cascade> closes"},
        {"CDATA", "<?xml version=\"1.0\"?>\n<opencv_storage><![CDATA[", "line 2: markup other than"},
        {"an empty element", "<?xml version=\"1.0\"?>\n<opencv_storage>\n<a/>", "line 3: empty elements"},
        {"a string without an end", "{\n\"cascade\": \"x\n}", "line 2: a string has no end in its line"},
        {"nested too deep", "%YAML:1.0\n---\ncascade: " + std::string(100000, '['), "nested"},
        {"nested too deep in XML",
         "<?xml version=\"1.0\"?>" +
             []
             {
                 std::string open;
                 for (int i = 0; i < 50000; ++i)
                     open += "<a>";
                 return open;
             }(),
         "nested"},
        {"nested too deep in JSON", "{\"cascade\":" + std::string(100000, '['), "nested"}};
}

std::vector<BadFile> badFiles()
{
    return {{"another thing", "%YAML:1.0\n---\nmatrix:\n   rows: 3\n", "has neither"},
            {"HOG", with("HAAR", "HOG"), "featureType: HOG"},
            {"another type", with("HAAR", "SIFT"), "featureType"},
            {"another stage type", with("BOOST", "TREE"), "stageType"},
            {"no window", with("   width: 10\n", ""), "cascade.width"},
            {"a window of 2", with("width: 10", "width: 2"), "sides must be"},
            {"a window of 300", with("width: 10", "width: 300"), "sides must be"},
            {"absurd window", with("width: 10", "width: 1e300"), "cascade.width"},
            {"categories", with("maxCatCount: 0", "maxCatCount: 8"), "maxCatCount"},
            {"NaN threshold", with("stageThreshold: 0.5", "stageThreshold: .Nan"), "stages[0].stageThreshold"},
            {"infinite leaf", with("[ 0., 1. ]", "[ 0., .Inf ]"), "weakClassifiers[0].leafValues[1]"},
            {"leaf that is too large", with("[ 0., 1. ]", "[ 0., 1e300 ]"), "not finite"},
            {"a leaf too many", with("[ 0., 1. ]", "[ 0., 1., 2. ]"), "one leaf more"},
            {"a leaf too few", with("[ 0., 1. ]", "[ 0. ]"), "leafValues"},
            {"half a node", with("[ 0, -1, 0, 0.01 ]", "[ 0, -1, 0, 0.01, 1 ]"), "internalNodes"},
            {"feature that is not there", with("[ 0, -1, 0, 0.01 ]", "[ 0, -1, 1, 0.01 ]"),
             "cascade.stages[0].weakClassifiers[0]: node 0 has feature 1"},
            {"negative feature", with("[ 0, -1, 0, 0.01 ]", "[ 0, -1, -1, 0.01 ]"), "feature -1"},
            {"string threshold", with("0.01", "abc"), "number"},
            {"child that comes before",
             with("[ 0, -1, 0, 0.01 ]\n               leafValues: [ 0., 1. ]",
                  "[ 1, 0, 0, 0.01, 1, -1, 0, 0.01 ]\n               leafValues: [ 0., 1., 2. ]"),
             "cascade.stages[0].weakClassifiers[0]: node 1: child 1"},
            {"leaf that is not there",
             with("[ 0, -1, 0, 0.01 ]\n               leafValues: [ 0., 1. ]",
                  "[ 1, 0, 0, 0.01, -1, -3, 0, 0.01 ]\n               leafValues: [ 0., 1., 2. ]"),
             "child -3"},
            {"rectangle outside", with("[ 2, 0, 2, 4, 2. ]", "[ 8, 0, 3, 4, 2. ]"), "features[0]"},
            {"negative rectangle", with("[ 2, 0, 2, 4, 2. ]", "[ 2, -1, 2, 4, 2. ]"), "rects[1][1]"},
            {"rotated rectangle outside", with("4, 2. ] ]\n", "4, 2. ] ]\n         tilted: 1\n"), "rotated"},
            {"four rectangles", with("[ [ 0", "[ [ 0, 0, 1, 1, 1. ], [ 0, 0, 1, 1, 1. ], [ 0"), "rects"},
            {"three numbers", with("[ 2, 0, 2, 4, 2. ]", "[ 2, 0, 2 ]"), "rects[1]"},
            {"NaN weight", with("4, 2. ]", "4, .Nan ]"), "rects[1][4]"},
            {"no features",
             with("   features:\n      -\n         rects: [ [ 0, 0, 4, 4, -1. ], [ 2, 0, 2, 4, 2. ] ]\n", ""),
             "features"},
            {"no stages", with("      -\n         stageThreshold: 0.5\n", ""), "stages"}};
}

TEST(Cascade_Negative, badFilesAreRefused)
{
    const std::string good(GOOD);
    const Ptr<CascadeClassifierEx> cascade = cascadeOf(good);
    const Mat image = randomImage(5, Size(60, 50), CV_8UC1);
    Mat before, after;
    cascade->detectAsync(image, before);
    std::vector<BadFile> files = badTexts();
    const std::vector<BadFile> others = badFiles();
    files.insert(files.end(), others.begin(), others.end());
    for (const BadFile& bad : files)
    {
        SCOPED_TRACE(bad.name);
        expectRefused([&] { cascade->loadBuffer(asRow(bad.text)); }, {bad.says, "buffer"});
        cascade->detectAsync(image, after);
        EXPECT_TRUE(sameBits(before, after));
    }
    EXPECT_THROW(cascade->load("/nonexistent/cascade.xml"), cv::Exception);
    EXPECT_THROW(CascadeClassifierEx::create("/nonexistent/cascade.xml"), cv::Exception);
    EXPECT_THROW(cascade->loadBuffer(Mat()), cv::Exception);
    EXPECT_THROW(CascadeClassifierEx::convert("/nonexistent/a.xml", "/nonexistent/b.xml"), cv::Exception);
}

TEST(Cascade_Negative, badArgumentsAreRefused)
{
    const Ptr<CascadeClassifierEx> c = cascadeOf(GOOD), none = CascadeClassifierEx::create();
    const Mat gray(40, 50, CV_8UC1, Scalar(3)), mask(40, 50, CV_8UC1, Scalar(1));
    std::vector<Rect> boxes;
    Mat table;
    EXPECT_THROW(none->detectMultiScale(gray, boxes), cv::Exception);
    EXPECT_THROW(none->detectAsync(gray, table), cv::Exception);
    EXPECT_THROW(none->countPasses(gray, table), cv::Exception);
    for (double factor :
         {1., 0.5, -2., std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()})
    {
        EXPECT_THROW(c->detectMultiScale(gray, boxes, factor), cv::Exception) << factor;
        EXPECT_THROW(c->setScaleFactor(factor), cv::Exception) << factor;
    }
    EXPECT_THROW(c->detectMultiScale(gray, boxes, 1. + 1e-9), cv::Exception);
    EXPECT_THROW(c->detectMultiScale(gray, boxes, 1.0001), cv::Exception); // more than the largest number of scales
    for (int type : {CV_16UC1, CV_32FC3, CV_8SC1, CV_8UC2})
        EXPECT_THROW(c->detectMultiScale(Mat(40, 50, type, Scalar(0)), boxes), cv::Exception) << type;
    EXPECT_THROW(c->detectMultiScale(Mat(10, 65536, CV_8UC1, Scalar(0)), boxes), cv::Exception);
    const int sizes[] = {4, 40, 50};
    EXPECT_THROW(c->detectMultiScale(Mat(3, sizes, CV_8UC1, Scalar(0)), boxes), cv::Exception);
    EXPECT_THROW(c->detectMultiScale(gray, boxes, 1.1, 3, 0, Size(), Size(), mask(Rect(0, 0, 49, 40))), cv::Exception);
    EXPECT_THROW(c->detectMultiScale(gray, boxes, 1.1, 3, 0, Size(), Size(), Mat(40, 50, CV_32FC1)), cv::Exception);
    EXPECT_THROW(c->detectAsync(std::vector<Mat>(2, gray), table, noArray(), noArray(), std::vector<Mat>(1, mask)),
                 cv::Exception);
    for (int count : {0, -1, 65537})
    {
        EXPECT_THROW(c->setMaxObjects(count), cv::Exception);
        EXPECT_THROW(c->setMaxCandidates(count), cv::Exception);
    }
    Mat_<float> fixed(1, 257);
    EXPECT_THROW(c->detectAsync(gray, fixed), cv::Exception);
    std::vector<Vec4i> vector; // holds the row of one image
    EXPECT_THROW(c->detectAsync(std::vector<Mat>(2, gray), vector), cv::Exception);
    EXPECT_THROW(c->convertDetections(gray, 0, boxes), cv::Exception);
    c->detectAsync(gray, table);
    EXPECT_THROW(c->convertDetections(table, 1, boxes), cv::Exception);
    EXPECT_THROW(c->convertDetections(table, -1, boxes), cv::Exception);

    std::vector<Mat> tables;
    EXPECT_THROW(CascadeClassifierEx::detectTogether({}, gray, tables), cv::Exception);
    EXPECT_THROW(CascadeClassifierEx::detectTogether({c, none}, gray, tables), cv::Exception);
    EXPECT_THROW(CascadeClassifierEx::detectTogether({c, Ptr<CascadeClassifierEx>()}, gray, tables), cv::Exception);
    const Ptr<CascadeClassifierEx> other = c->clone();
    other->setScaleFactor(1.3);
    EXPECT_THROW(CascadeClassifierEx::detectTogether({c, other}, gray, tables), cv::Exception);
    EXPECT_THROW(CascadeClassifierEx::detectTogether({c}, gray, table), cv::Exception);
    EXPECT_EQ(1.1, c->getScaleFactor());
    EXPECT_EQ(256, c->getMaxObjects());
    EXPECT_EQ(8192, c->getMaxCandidates());
}

//! Messages name the element of a list, and the argument that is wrong.
TEST(Cascade_Negative, messagesNameTheArgument)
{
    const Ptr<CascadeClassifierEx> c = cascadeOf(GOOD), none = CascadeClassifierEx::create();
    const Mat gray(40, 50, CV_8UC1, Scalar(3)), mask(40, 50, CV_8UC1, Scalar(1)), wrong(40, 50, CV_32FC1, Scalar(3));
    const std::vector<Mat> two(2, gray);
    std::vector<Mat> tables;
    std::vector<Rect> boxes;
    Mat table;
    const auto masked = [&](const Mat& second) {
        return [&, second] { c->detectAsync(two, table, noArray(), noArray(), std::vector<Mat>{mask, second}); };
    };
    expectRefused([&] { c->detectAsync(std::vector<Mat>{gray, gray, wrong}, table); }, {" images[2]: ", "CV_32FC1"});
    expectRefused(
        [&] {
            c->detectAsync(std::vector<Mat>{gray, Mat(3, 65536, CV_8UC1, Scalar(0))}, table);
        },
        {" images[1]: 65536 x 3"});
    expectRefused([&] { c->detectAsync(std::vector<Mat>{gray, cube()}, table); }, {"images[1]: an array of 3"});
    expectRefused([&] { c->detectAsync(wrong, table); }, {" image: "});
    expectRefused([&] { c->detectMultiScale(wrong, boxes); }, {" image: "});
    expectRefused(masked(mask(Rect(0, 0, 3, 3))), {" masks[1]: 3 x 3 pixels"});
    expectRefused(masked(wrong), {" masks[1]: must be CV_8UC1"});
    expectRefused([&] { CascadeClassifierEx::detectTogether({c, none}, gray, tables); }, {" cascades[1]: "});
    const auto convert = [&](const Mat& objects, int row)
    { return [&, objects, row] { c->convertDetections(objects, row, boxes); }; };
    c->detectAsync(gray, table);
    expectRefused(convert(table, 7), {" row: 7, but objects has 1 rows"}, Error::StsOutOfRange);
    expectRefused(convert(table, -1), {" row: -1"}, Error::StsOutOfRange);
    expectRefused(convert(Mat(), 0), {" row: 0, but objects has 0 rows"}, Error::StsOutOfRange);
    expectRefused(convert(Mat(1, 257, CV_32FC4), 0), {" objects: 1 x 257"}, Error::StsUnsupportedFormat);
    expectRefused(convert(table.col(0), 0), {" objects: 1 x 1"}, Error::StsBadSize);
}

//! Each mutated file is refused with cv::Exception, or gives a usable cascade.
TEST(Cascade_Negative, thousandMutatedFiles)
{
    RNG rng(theRNG().state);
    const Mat image = randomImage(rng, Size(64, 64), CV_8UC1, 3);
    std::vector<std::string> files;
    for (uint64 seed = 0; seed < 10; ++seed)
    {
        const OracleCascade cascade = CascadeGenerator(seed, image).make();
        for (const char* extension : {".xml", ".yml", ".json"})
            files.push_back(cascadeText(cascade, extension, cascade.haar && seed % 2));
    }
    int taken = 0;
    const Ptr<CascadeClassifierEx> cascade = CascadeClassifierEx::create();
    for (int i = 0; i < 1000; ++i)
    {
        const std::string text = mutatedText(files[i % files.size()], rng);
        try
        {
            if (text.empty())
                continue;
            cascade->loadBuffer(asRow(text));
            ++taken;
            std::vector<Rect> boxes;
            cascade->detectMultiScale(image, boxes);
        }
        catch (const cv::Exception& e)
        {
            EXPECT_NE(std::string::npos, e.err.find("buffer")) << e.err;
        }
    }
    EXPECT_GT(taken, 10);
    EXPECT_LT(taken, 990);
}

}} // namespace opencv_test
