// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Cost limits of any file: loading it and detecting in an image of 64 x 64 takes time in proportion to its length, and
// 256 MB.
#include "../test_precomp.hpp"
#include "../common/peak_memory.hpp"
#include "generate.hpp"
#include <ctime>
#include <functional>

namespace opencv_test { namespace {

using cuda::CascadeClassifierEx;

//! Limit of processor time for 8 MiB, seconds: ten times that of the slowest file, so that the test passes on a busy
//! machine.
const double MOST_SECONDS = 10.;
const double MOST_BYTES = 256e6;

//! Loads bytes and detects. @return false if the bytes were refused.
bool tryBytes(const std::string& bytes, bool detect)
{
    static const Mat image = []
    {
        RNG rng(64);
        return randomImage(rng, Size(64, 64), CV_8UC1, 3);
    }();
    try
    {
        std::vector<Rect> objects;
        const Ptr<CascadeClassifierEx> cascade = cascadeOf(bytes);
        if (detect)
            cascade->detectMultiScale(image, objects);
        return true;
    }
    catch (const cv::Exception& e)
    {
        EXPECT_NE(std::string::npos, e.err.find("buffer: ")) << e.err;
        return false;
    }
}

bool expectCheap(const std::string& name, const std::string& bytes, bool detect = true)
{
    if (underSanitizer())
        return tryBytes(bytes, detect);
    bool taken = false;
    const std::clock_t begin = std::clock();
    const double peak = peakOf([&] { taken = tryBytes(bytes, detect); });
    EXPECT_LT(double(std::clock() - begin) / CLOCKS_PER_SEC, MOST_SECONDS) << name;
    EXPECT_LT(peak, MOST_BYTES) << name;
    return taken;
}

TEST(Cascade_Files, shippedOnesAreCheap)
{
    const std::string folder = requireFolder("CUDATRACKING_CASCADES");
    int count = 0;
    for (const char* part : {"haarcascades", "haarcascades_cuda", "lbpcascades"})
    {
        std::vector<String> files;
        cv::glob(folder + "/" + part + "/*.xml", files);
        for (const String& file : files)
        {
            EXPECT_TRUE(expectCheap(file, contentOf(file))) << file;
            ++count;
        }
    }
    if (count == 0)
        throw SkipTestException("no cascades in " + folder);
}

struct LargeFile
{
    const char *name, *begin, *end;
    std::function<std::string(int)> part; //!< repeated up to 8 MiB
};

TEST(Cascade_Files, largeOnesAreCheap)
{
    const char *const xml = "<?xml version=\"1.0\"?><opencv_storage><cascade>", *const xmlEnd =
                                                                                    "</cascade></opencv_storage>";
    const auto n = [](int i) { return std::to_string(i); };
    const LargeFile files[] = {
        {"names behind a quote", "<?xml version=\"1.0\"?><!-- \" --><opencv_storage><cascade>", xmlEnd,
         [&](int i) { return "<n" + n(i) + ">1</n" + n(i) + ">"; }},
        {"names", xml, xmlEnd, [&](int i) { return "<n" + n(i) + ">1</n" + n(i) + ">"; }},
        {"attributes", "<?xml version=\"1.0\"?><opencv_storage><cascade ", "></cascade></opencv_storage>",
         [&](int i) { return "a" + n(i) + "=\"1\" "; }},
        {"numbers", xml, xmlEnd, [](int) { return "1 "; }},
        {"elements", xml, xmlEnd, [](int) { return "<_>1</_>"; }},
        {"a string", xml, xmlEnd, [](int) { return "x"; }},
        {"comments", "<?xml version=\"1.0\"?>", "<opencv_storage></opencv_storage>", [](int) { return "<!-- -->"; }},
        {"stages",
         "<?xml version=\"1.0\"?><opencv_storage><cascade><stageType>BOOST</stageType><featureType>HAAR</featureType>"
         "<width>8</width><height>8</height><stages>",
         "</stages></cascade></opencv_storage>", [](int) { return "<_><stageThreshold>0.</stageThreshold></_>\n"; }}};
    for (const LargeFile& file : files)
    {
        std::string bytes = file.begin;
        for (int i = 0;; ++i)
        {
            const std::string part = file.part(i);
            if (bytes.size() + part.size() + std::strlen(file.end) > (8u << 20))
                break;
            bytes += part;
        }
        EXPECT_FALSE(expectCheap(file.name, bytes + file.end)) << file.name;
    }
}

//! Cascades of the largest size. With deep trees only loading is timed, as detection with 200,000 nodes takes long.
TEST(Cascade_Files, largestCascadesAreLoadedQuickly)
{
    OracleCascade c;
    c.haar = true;
    c.window = Size(8, 8);
    c.features.push_back({{Rect(0, 0, 4, 8), Rect(4, 0, 1, 8)}, {-1.f, 2.f}, false});
    OracleStage stage = {-1e6f, {}};
    OracleTree tree;
    const int nodes = 255;
    for (int n = 0; n < nodes; ++n)
        tree.nodes.push_back({n + 1 < nodes ? n + 1 : -nodes, n + 1 < nodes ? n + 1 : -n, 0, 0.f, {}});
    tree.leaves.assign(nodes + 1, 1.f);
    for (const bool deep : {true, false})
    {
        if (!deep)
        {
            tree.nodes = {{0, -1, 0, 0.f, {}}};
            tree.leaves = {1.f, 2.f};
        }
        stage.trees.assign(1, tree);
        c.stages.assign(deep ? 800 : 4096, stage);
        const std::string text = cascadeText(c, ".xml");
        EXPECT_TRUE(expectCheap(deep ? "deep trees" : "many stages", text, !deep)) << text.size();
    }
}

}} // namespace opencv_test
