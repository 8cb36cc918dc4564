// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// CascadeClassifierEx refuses bad arguments and bad files with the reason, and is unchanged afterwards.
#include "../test_precomp.hpp"
#include "generate.hpp"
#include "../common/mutated_text.hpp"
#include <functional>

namespace opencv_test { namespace {

using cuda::CascadeClassifierEx;

const char* const GOOD_YAML = "%YAML:1.0\n---\n"
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
    std::string text = GOOD_YAML;
    const size_t at = text.find(what);
    EXPECT_NE(std::string::npos, at) << what;
    return xmlOf(text.replace(at, what.size(), instead));
}

std::string good() { return xmlOf(GOOD_YAML); }

//! The same in the text of XML.
std::string withText(const std::string& what, const std::string& instead)
{
    std::string text = good();
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
        {"a page of HTML", "\n\n<!DOCTYPE HTML>\n<html lang=\"en\">", "is an HTML page; download the file itself"},
        {"a page of XHTML", "<?xml version=\"1.0\"?>\n<!DOCTYPE html>\n<html>", "is an HTML page; download the file"},
        {"a page of HTML without a type", "<html><head></head></html>", "is an HTML page; download the file itself"},
        {"a pointer of Git LFS", "version https://git-lfs.github.com/spec/v1\noid sha256:0", "is a pointer of Git LFS"},
        {"JPEG", std::string("\xff\xd8\xff\xe0\0\x10JFIF", 10), "is no XML"},
        {"PNG", "\x89PNG\r\n\x1a\n<<<<[[[[", "is no XML"},
        {"ELF",
         "\x7f"
         "ELF",
         "is no XML"},
        {"UTF-32", std::string("\xff\xfe\0\0<\0\0\0", 8), "is UTF-32; save it as UTF-8"},
        {"UTF-32 without a mark", std::string("\0\0\0<\0\0\0?", 8), "is UTF-32; save it as UTF-8"},
        {"UTF-16", std::string("\xff\xfe<\0?\0", 6), "is UTF-16; save it as UTF-8"},
        {"UTF-16 without a mark", std::string("<\0?\0x\0", 6), "is UTF-16; save it as UTF-8"},
        {"a zero", withText("BOOST", std::string("BO\0ST", 5)), "line 4: has the byte 0x00"},
        {"a bell", withText("BOOST", "BO\aST"), "line 4: has the byte 0x07"},
        {"a line that ends as on old computers", withText("</stageType>\n", "</stageType>\r"),
         "line 4: has the byte 0x0d"},
        {"YAML", GOOD_YAML, "is YAML or JSON; only XML is read"},
        {"JSON", "{\"cascade\": 1}", "is YAML or JSON; only XML is read"},
        {"a decimal comma", withText("0.5<", "0,5<"), "the decimal separator must be a point"},
        {"binary data", withText("<leafValues>", "<leafValues type_id=\"binary\">"), "binary data must be"},
        {"broken XML", "<?xml version=\"1.0\"?><opencv_storage><cascade><stages>", "<stages> has no end"},
        {"another closing tag", "<?xml version=\"1.0\"?>\n<opencv_storage>\n</cascade>", "line 3: </cascade> closes"},
        {"CDATA", "<?xml version=\"1.0\"?>\n<opencv_storage><![CDATA[", "line 2: markup other than"},
        {"an empty element", "<?xml version=\"1.0\"?>\n<opencv_storage>\n<a/>", "line 3: empty elements"},
        {"attributes without a space between them", "<?xml version=\"1.0\"?>\n<opencv_storage>\n<a b=\"1\"c=\"2\">",
         "line 3: a tag is broken"},
        {"nested too deep in XML",
         "<?xml version=\"1.0\"?>" +
             []
             {
                 std::string open;
                 for (int i = 0; i < 50000; ++i)
                     open += "<a>";
                 return open;
             }(),
         "nested"}};
}

//! A cascade of one tree of two nodes. @param left,right children of the first one.
OracleCascade oldTree(int left, int right)
{
    const OracleFeature feature = {{Rect(0, 0, 4, 4), Rect(2, 0, 2, 4)}, {-1.f, 2.f}, false};
    const OracleTree tree = {{{left, right, 0, 0.01f, {}}, {0, -1, 0, 0.01f, {}}}, {0.f, 1.f}};
    return {true, Size(10, 8), {{0.5f, {tree}}}, {feature}};
}

//! A file of the old format with this window.
std::string oldWindow(Size window)
{
    OracleCascade cascade = oldTree(1, -1);
    cascade.window = window;
    return cascadeText(cascade, ".xml", true);
}

//! FileStorage has no value for an element without text, and OpenCV would take it for a rotation.
std::string rotationOfNothing()
{
    OracleCascade cascade = oldTree(1, -1);
    cascade.features[0].tilted = true;
    std::string text = cascadeText(cascade, ".xml", true);
    const size_t at = text.find("<tilted>") + 8;
    return text.erase(at, text.find("</tilted>") - at);
}

std::vector<BadFile> badFiles()
{
    return {{"another thing", xmlOf("%YAML:1.0\n---\nmatrix:\n   rows: 3\n"), "has neither"},
            {"HOG", with("HAAR", "HOG"), "featureType: HOG"},
            {"another type", with("HAAR", "SIFT"), "featureType"},
            {"another stage type", with("BOOST", "TREE"), "stageType"},
            {"no window", with("   width: 10\n", ""), "cascade.width"},
            {"a window of 2", with("width: 10", "width: 2"), "sides must be"},
            {"a window of 300", with("width: 10", "width: 300"), "sides must be"},
            {"a window of -3", with("width: 10", "width: -3"), "cascade: a window of -3 x 8, and sides must be"},
            {"a window of 2000000", with("width: 10", "width: 2000000"), "a window of 2000000 x 8, and sides must be"},
            {"an old window of 0", oldWindow(Size(10, 0)), "size: a window of 10 x 0, and sides must be"},
            {"an old window of 2000000", oldWindow(Size(2000000, 8)), "a window of 2000000 x 8, and sides must be"},
            {"absurd window", with("width: 10", "width: 1e300"), "cascade.width"},
            {"categories", with("maxCatCount: 0", "maxCatCount: 8"), "maxCatCount"},
            {"NaN threshold", with("stageThreshold: 0.5", "stageThreshold: .Nan"), "stages[0].stageThreshold"},
            {"infinite leaf", with("[ 0., 1. ]", "[ 0., .Inf ]"), "weakClassifiers[0].leafValues[1]"},
            {"leaf that is too large", with("[ 0., 1. ]", "[ 0., 1e300 ]"), "not finite"},
            {"a leaf too many", with("[ 0., 1. ]", "[ 0., 1., 2. ]"), "one leaf more"},
            {"a leaf too few", with("[ 0., 1. ]", "[ 0. ]"), "leafValues"},
            {"a leaf too few in the old format", cascadeText(oldTree(1, 1), ".xml", true), "one leaf more"},
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
            {"a rotation that is none", rotationOfNothing(), "tilted: a number is needed"},
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
    const Ptr<CascadeClassifierEx> cascade = cascadeOf(good());
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
}

//! Calls of an instance that are refused: messages name the argument that is wrong, the element of a list, its value.
class Cascade_NegativeCalls : public testing::Test
{
protected:
    typedef std::function<void()> Call;

    void SetUp() override
    {
        other->setScaleFactor(1.3);
        c->detectAsync(image, before);
    }
    //! Nothing has changed.
    void TearDown() override
    {
        EXPECT_EQ(std::vector<Rect>(1, Rect(1, 2, 3, 4)), boxes) << "a call that threw wrote";
        EXPECT_EQ(std::vector<int>(1, 5), counts);
        EXPECT_EQ(std::vector<int>(1, 6), levels);
        EXPECT_EQ(std::vector<double>(1, 7.), weights);
        EXPECT_EQ(1.1, c->getScaleFactor());
        EXPECT_EQ(256, c->getMaxObjects());
        EXPECT_EQ(8192, c->getMaxCandidates());
        c->detectAsync(image, table);
        EXPECT_TRUE(sameBits(before, table));
    }
    Call detect(const Mat& in, const Mat& where = Mat())
    {
        return [=] { c->detectMultiScale(in, boxes, 1.1, 3, 0, Size(), Size(), where); };
    }
    Call detectList(const std::vector<Mat>& in, const std::vector<Mat>& where = {})
    {
        return [=] { c->detectAsync(in, table, noArray(), noArray(), where); };
    }
    Call convert(const Mat& objects, int row)
    {
        return [=] { c->convertDetections(objects, row, boxes); };
    }

    const Ptr<CascadeClassifierEx> c = cascadeOf(good()), none = CascadeClassifierEx::create(), other = c->clone();
    const Mat image = randomImage(4, Size(60, 50), CV_8UC1, 5), mask{image.size(), CV_8UC1, Scalar(1)};
    const Mat wrong{image.size(), CV_32FC1, Scalar(3)}, large{3, 65536, CV_8UC1, Scalar(0)};
    const std::vector<Mat> two{image, image};
    std::vector<Mat> tables;
    std::vector<Rect> boxes{Rect(1, 2, 3, 4)};
    std::vector<int> counts{5}, levels{6};
    std::vector<double> weights{7.};
    Mat before, table;
};

TEST_F(Cascade_NegativeCalls, numbers)
{
    for (const double factor : {1., 0.9, -2., double(INFINITY), double(NAN)})
    {
        const std::string value = cvIsNaN(factor) ? "nan" : cv::format("%g", factor);
        expectRefused([&] { c->detectMultiScale(image, boxes, factor); }, {"scaleFactor", value});
        expectRefused([&] { c->detectMultiScale(image, boxes, counts, factor); }, {"scaleFactor", value});
        expectRefused([&] { c->setScaleFactor(factor); }, {"scaleFactor", value});
    }
    for (const double factor : {1. + 1e-9, 1.0001}) // more than the largest number of scales
        expectRefused([&] { c->detectMultiScale(image, boxes, factor); }, {"scale"});
    for (const int count : {0, -1, 65537})
    {
        expectRefused([&] { c->setMaxObjects(count); }, {"maxObjects", std::to_string(count)});
        expectRefused([&] { c->setMaxCandidates(count); }, {"maxCandidates", std::to_string(count)});
    }
}

TEST_F(Cascade_NegativeCalls, images)
{
    for (const int type : {CV_16UC1, CV_32FC3, CV_8SC1, CV_8UC2})
        expectRefused(detect(Mat(40, 50, type, Scalar(0))), {" image: ", typeToString(type)});
    expectRefused([&] { c->detectMultiScale(Mat(image.size(), CV_16UC1), boxes, levels, weights); },
                  {"image", "CV_16UC1"});
    expectRefused([&] { c->detectAsync(wrong, table); }, {" image: "});
    expectRefused(detect(large), {"image", "65536"});
    expectRefused(detect(cube()), {"image", "48"});
    expectRefused([&] { c->countPasses(cube(), table); }, {"image", "48"});
    expectRefused(detect(image, mask.colRange(1, 60)), {"mask", "59"});
    expectRefused(detect(image, wrong), {"mask"});
    expectRefused(detect(image, cube()), {"mask", "48"});
    expectRefused(detectList({image, image, wrong}), {" images[2]: ", "CV_32FC1"});
    expectRefused(detectList({image, large}), {" images[1]: 65536 x 3"});
    expectRefused(detectList({image, cube()}), {"images[1]: an array of 3"});
    expectRefused(detectList(two, {mask}), {"masks"});
    expectRefused(detectList(two, {mask, mask(Rect(0, 0, 3, 3))}), {" masks[1]: 3 x 3 pixels"});
    expectRefused(detectList(two, {mask, wrong}), {" masks[1]: must be CV_8UC1"});
}

TEST_F(Cascade_NegativeCalls, cascadesAndResults)
{
    Mat_<float> fixed(1, 257);
    std::vector<Vec4i> vector; // holds the row of one image
    expectRefused([&] { c->detectAsync(image, fixed); }, {"objects"});
    expectRefused([&] { c->detectAsync(two, vector); }, {"objects"});
    expectRefused([&] { none->detectMultiScale(image, boxes); }, {"no cascade"});
    expectRefused([&] { none->detectAsync(image, table); }, {"no cascade"});
    expectRefused([&] { none->countPasses(image, table); }, {"no cascade"});
    expectRefused(convert(image, 0), {"objects"});
    for (const int row : {1, 7, -1})
        expectRefused(convert(before, row), {cv::format(" row: %d, but objects has 1 rows", row)},
                      Error::StsOutOfRange);
    expectRefused(convert(Mat(), 0), {" row: 0, but objects has 0 rows"}, Error::StsOutOfRange);
    expectRefused(convert(Mat(1, 257, CV_32FC4), 0), {" objects: 1 x 257"}, Error::StsUnsupportedFormat);
    expectRefused(convert(before.col(0), 0), {" objects: 1 x 1"}, Error::StsBadSize);
    for (const char* const name : {"no/such/file.xml", "/nonexistent/cascade.xml"})
    {
        expectRefused([&] { c->load(name); }, {name});
        expectRefused([&] { CascadeClassifierEx::create(name); }, {name});
        expectRefused([&] { CascadeClassifierEx::convert(name, "other.xml"); }, {name});
    }
    const TemporaryFile file(".xml", good());
    expectRefused([&] { CascadeClassifierEx::convert(file.name, "/no/such/folder/new.xml"); },
                  {"/no/such/folder/new.xml"});
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
        files.push_back(cascadeText(cascade, ".xml", cascade.haar && seed % 2));
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
