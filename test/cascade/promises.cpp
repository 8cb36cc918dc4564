// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// The statements of the header of CascadeClassifierEx that no other test checks: limits from both sides, defaults,
// reading and writing, messages, time and memory.
#include "../test_precomp.hpp"
#include "generate.hpp"
#include "peer.hpp"

namespace opencv_test { namespace {

using cuda::CascadeClassifierEx;

Mat noise(uint64 seed, Size size, int type = CV_8UC1) { return randomImage(seed, size, type, 5); }

//! A Haar cascade of one stage and one feature; all windows with contrast pass.
OracleCascade simplest(Size window)
{
    OracleCascade c;
    c.haar = true;
    c.window = window;
    const Rect left(0, 0, window.width / 2, window.height);
    c.features.push_back({{left, Rect(left.br().x, 0, 1, window.height)}, {-1.f, 2.f}, false});
    const OracleNode node = {0, -1, 0, 0.f, {}};
    c.stages.push_back({-5.f, {{{node}, {0.5f, 1.f}}}});
    return c;
}

bool loads(const OracleCascade& c)
{
    try
    {
        return !cascadeOf(c)->empty();
    }
    catch (const cv::Exception& e)
    {
        EXPECT_NE(std::string::npos, e.err.find("buffer: ")) << e.err;
        return false;
    }
}

// --- limits, on both sides -------------------------------------------------------------------------------------------

TEST(Cascade_Contract, windowSides)
{
    for (const Size good : {Size(3, 3), Size(256, 256), Size(3, 256)})
        EXPECT_TRUE(loads(simplest(good))) << good;
    for (const Size bad : {Size(2, 3), Size(3, 2), Size(257, 256), Size(256, 257)})
        EXPECT_FALSE(loads(simplest(bad))) << bad;
}

TEST(Cascade_Contract, stagesAndNodes)
{
    OracleCascade c = simplest(Size(8, 8));
    c.stages.resize(4096, c.stages[0]);
    EXPECT_TRUE(loads(c));
    c.stages.resize(4097, c.stages[0]);
    EXPECT_FALSE(loads(c));
    for (const int nodes : {255, 256})
    {
        c = simplest(Size(8, 8));
        OracleTree& tree = c.stages[0].trees[0];
        tree = OracleTree();
        for (int n = 0; n < nodes; ++n) // a chain: the children of each node are the next node and a leaf
            tree.nodes.push_back({n + 1 < nodes ? n + 1 : -nodes, -n, 0, 0.f, {}});
        tree.leaves.resize(nodes + 1, 1.f);
        EXPECT_EQ(nodes == 255, loads(c)) << nodes;
    }
}

//! The text is written directly, as that of FileStorage would be longer than 8 MiB.
TEST(Cascade_Contract, features)
{
    for (const int count : {65536, 65537})
    {
        const std::string one = cascadeText(simplest(Size(8, 8)), ".xml");
        std::string text = one.substr(0, one.find("<features>")) + "<features>";
        for (int i = 0; i < count; ++i)
            text += "<_><rects><_>0 0 4 8 -1.</_><_>4 0 1 8 2.</_></rects></_>\n";
        text += "</features></cascade></opencv_storage>\n";
        ASSERT_LT(text.size(), 8u << 20);
        const auto load = [&] { cascadeOf(text); };
        if (count == 65536)
            EXPECT_NO_THROW(load());
        else
            expectRefused(load, {"buffer", "features", "65537"});
    }
}

TEST(Cascade_Contract, bytesOfFile)
{
    const std::string text = cascadeText(simplest(Size(8, 8)), ".xml");
    const size_t most = 8u << 20;
    const TemporaryFile fits(".xml", text + std::string(most - text.size(), '\n')),
        tooLarge(".xml", text + std::string(most - text.size() + 1, '\n'));
    EXPECT_FALSE(CascadeClassifierEx::create(fits.name)->empty());
    expectRefused([&] { CascadeClassifierEx::create(tooLarge.name); }, {tooLarge.name, "8388608"});
    expectRefused([&] { cascadeOf(tooLarge.text()); }, {"buffer", "8388609", "8388608"});
}

TEST(Cascade_Contract, sidesOfImages)
{
    const Ptr<CascadeClassifierEx> cascade = cascadeOf(simplest(Size(9, 7)));
    for (const Size size : {Size(65535, 8), Size(10, 65535)})
    {
        const Mat image = noise(3, size);
        std::vector<Rect> expected, boxes;
        cascade->detectMultiScale(image, boxes, 1.3, 0);
        ASSERT_FALSE(boxes.empty());
        const Rect last = boxes.back(); // the largest scale at the end of the image: coordinates do not wrap
        EXPECT_EQ(last, last & Rect(Point(), size));
        EXPECT_GT(last.br().x + last.br().y, 65000);
        EXPECT_THROW(cascade->detectMultiScale(Mat(size + Size(1, 1), CV_8UC1, Scalar(0)), boxes), cv::Exception);
    }
}

//! At most 4,095 scales: those within the limits of object sizes count.
TEST(Cascade_Contract, numberOfScales)
{
    const Ptr<CascadeClassifierEx> cascade = cascadeOf(simplest(Size(8, 8)));
    const Size image(60, 60);
    double factor = 1.0004;
    size_t count = 0;
    for (; count != 4095 && count != 4096; factor += count > 4096 ? 1e-7 : -1e-7)
        count = oracleScales(Size(8, 8), image, {factor, 0, Size(), Size()}).size();
    while (oracleScales(Size(8, 8), image, {factor, 0, Size(), Size()}).size() > 4095)
        factor += 1e-8;
    std::vector<double> scales;
    std::vector<Size> layers;
    cascade->setScaleFactor(factor);
    count = oracleScales(Size(8, 8), image, {factor, 0, Size(), Size()}).size();
    ASSERT_LE(count, 4095u);
    ASSERT_GT(count, 4090u);
    cascade->getScales(image, scales, layers);
    EXPECT_EQ(count, scales.size());
    while (oracleScales(Size(8, 8), image, {factor, 0, Size(), Size()}).size() < 4096)
        factor -= 1e-8;
    cascade->setScaleFactor(factor);
    expectRefused([&] { cascade->getScales(image, scales, layers); }, {"scale"});
    cascade->setMinObjectSize(Size(30, 30));
    cascade->getScales(image, scales, layers);
    EXPECT_EQ(oracleScales(Size(8, 8), image, {factor, 0, Size(30, 30), Size()}).size(), scales.size());
}

// --- an object without a cascade, and parameters ---------------------------------------------------------------------

void expectDefaults(const CascadeClassifierEx& c)
{
    EXPECT_EQ(1.1, c.getScaleFactor());
    EXPECT_EQ(3, c.getMinNeighbors());
    EXPECT_EQ(Size(), c.getMinObjectSize());
    EXPECT_EQ(Size(), c.getMaxObjectSize());
    EXPECT_FALSE(c.getFindLargestObject());
    EXPECT_EQ(256, c.getMaxObjects());
    EXPECT_EQ(8192, c.getMaxCandidates());
}

void giveOthers(CascadeClassifierEx& c)
{
    c.setScaleFactor(1.25);
    c.setMinNeighbors(7);
    c.setMinObjectSize(Size(12, 13));
    c.setMaxObjectSize(Size(140, 150));
    c.setFindLargestObject(true);
    c.setMaxObjects(65536);
    c.setMaxCandidates(1);
}

void expectOthers(const CascadeClassifierEx& c)
{
    EXPECT_EQ(1.25, c.getScaleFactor());
    EXPECT_EQ(7, c.getMinNeighbors());
    EXPECT_EQ(Size(12, 13), c.getMinObjectSize());
    EXPECT_EQ(Size(140, 150), c.getMaxObjectSize());
    EXPECT_TRUE(c.getFindLargestObject());
    EXPECT_EQ(65536, c.getMaxObjects());
    EXPECT_EQ(1, c.getMaxCandidates());
}

void expectNoCascade(CascadeClassifierEx& c)
{
    EXPECT_TRUE(c.empty());
    EXPECT_EQ(Size(), c.getOriginalWindowSize());
    EXPECT_EQ(-1, c.getFeatureType());
    EXPECT_EQ(0, c.getNumberOfStages());
    EXPECT_FALSE(c.isOldFormatCascade());
    std::vector<double> scales, weights;
    std::vector<Size> layers;
    std::vector<Rect> boxes;
    std::vector<int> counts;
    Mat table;
    const Mat image = noise(1, Size(40, 40));
    expectRefused([&] { c.getScales(image.size(), scales, layers); }, {"no cascade"});
    expectRefused([&] { c.countPasses(image, table); }, {"no cascade"});
    expectRefused([&] { c.detectAsync(image, table); }, {"no cascade"});
    expectRefused([&] { c.detectMultiScale(image, boxes); }, {"no cascade"});
    expectRefused([&] { c.detectMultiScale(image, boxes, counts); }, {"no cascade"});
    expectRefused([&] { c.detectMultiScale(image, boxes, counts, weights); }, {"no cascade"});
}

TEST(Cascade_Contract, emptyObject)
{
    const Ptr<CascadeClassifierEx> c = CascadeClassifierEx::create();
    expectNoCascade(*c);
    expectDefaults(*c);
    giveOthers(*c);
    expectOthers(*c);
    expectNoCascade(*c->clone());
    expectOthers(*c->clone());
    EXPECT_EQ("CascadeClassifierEx", c->getDefaultName());
    EXPECT_EQ(0u, c->workspaceBytes());
}

TEST(Cascade_Contract, clearKeepsParameters)
{
    const OracleCascade oracle = simplest(Size(11, 9));
    const TemporaryFile file(".xml", cascadeText(oracle, ".xml")), old(".xml", cascadeText(oracle, ".xml", true));
    const Ptr<CascadeClassifierEx> c = CascadeClassifierEx::create(file.name);
    expectDefaults(*c);
    giveOthers(*c);
    const Ptr<CascadeClassifierEx> copy = c->clone();
    c->clear();
    expectNoCascade(*c);
    expectOthers(*c);
    EXPECT_TRUE(c->load(old.name));
    EXPECT_FALSE(c->empty());
    EXPECT_FALSE(c->isOldFormatCascade());
    EXPECT_EQ(Size(11, 9), c->getOriginalWindowSize());
    EXPECT_EQ(int(CascadeClassifierEx::HAAR), c->getFeatureType());
    expectOthers(*c);
    c->setMaxCandidates(99);
    expectOthers(*copy);
    Mat table;
    copy->detectAsync(noise(2, Size(30, 30)), table);
    EXPECT_EQ(0u, copy->workspaceBytes()) << "only the CPU engine ran";
}

TEST(Cascade_Contract, bufferIsARowOrAColumn)
{
    const std::string text = cascadeText(simplest(Size(11, 9)), ".xml");
    const int n = int(text.size());
    const Mat row(1, n, CV_8UC1, const_cast<char*>(text.data()));
    const Ptr<CascadeClassifierEx> c = CascadeClassifierEx::create();
    for (const Mat& buffer : {row, Mat(row.t()), asRoi(row), asRoi(row.t())})
    {
        c->clear();
        EXPECT_NO_THROW(c->loadBuffer(buffer)) << buffer.size();
        EXPECT_FALSE(c->empty());
    }
    c->clear();
    EXPECT_NO_THROW(c->loadBuffer(std::vector<uchar>(text.begin(), text.end())));
    EXPECT_FALSE(c->empty());
    Mat wide;
    row.convertTo(wide, CV_32S);
    expectRefused([&] { c->loadBuffer(wide); }, {"buffer"});
    expectRefused([&] { c->loadBuffer(Mat()); }, {"buffer"});
    expectRefused([&] { c->loadBuffer(row.colRange(0, 2).clone().reshape(2)); }, {"buffer"});
    expectRefused([&] { c->loadBuffer(noise(1, Size(7, 7))); }, {"buffer", "7 x 7"});
    expectRefused([&] { c->loadBuffer(cube()); }, {"buffer", "48"});
    EXPECT_FALSE(c->empty());
}

// --- what is found ---------------------------------------------------------------------------------------------------

TEST(Cascade_Contract, flagsAndUnwantedLevels)
{
    const Ptr<CascadeClassifierEx> c = cascadeOf(simplest(Size(11, 9)));
    const Mat image = noise(5, Size(70, 50), CV_8UC3);
    std::vector<Rect> plain, flags, boxes;
    std::vector<int> levels(3, 3), counts;
    std::vector<double> weights(3, 3.);
    c->detectMultiScale(image, plain, 1.2, 2);
    c->detectMultiScale(image, flags, 1.2, 2, -1);
    ASSERT_FALSE(plain.empty());
    EXPECT_EQ(plain, flags);
    c->detectMultiScale(image, boxes, levels, weights, 1.2, 2);
    EXPECT_EQ(plain, boxes);
    EXPECT_TRUE(levels.empty() && weights.empty());
    c->detectMultiScale(image, boxes, levels, weights, 1.2, 2, 0, Size(), Size(), true);
    EXPECT_EQ(std::vector<int>(plain.size(), 1), levels);
    EXPECT_EQ(plain.size(), weights.size());
    c->detectMultiScale(image, boxes, counts, 1.2, -5);
    EXPECT_GT(counts.size(), 20u);
    EXPECT_EQ(std::vector<int>(boxes.size(), 1), counts);
    // Of the instance's parameters, this overload uses findLargestObject only.
    giveOthers(*c);
    c->setFindLargestObject(false);
    c->detectMultiScale(image, boxes, 1.2, 2);
    EXPECT_EQ(plain, boxes);
}

//! A cascade of one stage on an image with a region without contrast.
TEST(Cascade_Contract, windowsWithoutContrast)
{
    const OracleCascade oracle = simplest(Size(11, 9));
    const std::string text = cascadeText(oracle, ".xml");
    const Ptr<CascadeClassifierEx> c = cascadeOf(text);
    Mat image = noise(6, Size(90, 60));
    const Rect flat(30, 0, 60, 60);
    image(flat).setTo(100);
    std::vector<Rect> boxes;
    std::vector<int> levels;
    std::vector<double> weights;
    c->detectMultiScale(image, boxes, levels, weights, 1.5, 0, 0, Size(), Size(), true);
    EXPECT_FALSE(boxes.empty());
    for (const Rect& box : boxes)
        EXPECT_NE(box, box & flat);
#if CUDATRACKING_CASCADE_PEER
    const TemporaryFile file(".xml", text);
    CascadeClassifier peer;
    ASSERT_TRUE(peer.load(file.name));
    std::vector<Rect> more;
    setNumThreads(1);
    peer.detectMultiScale(image, more, levels, weights, 1.5, 0, 0, Size(), Size(), true);
    setNumThreads(-1);
    EXPECT_GT(more.size(), boxes.size()) << "cv::CascadeClassifier has mended this: say so in the header";
#endif
}

//! Windows with exactly the least sufficient contrast. With 5 x 1 pixels it can be exactly 2500.
TEST(Cascade_Contract, contrastAtTheLimit)
{
    const auto enough = [](int contrast) { return 5 * float(1. / std::sqrt(double(contrast))) < 1e-1; };
    ASSERT_TRUE(enough(2500) && !enough(2499));
    const OracleCascade oracle = simplest(Size(7, 3));
    RNG rng(10);
    Mat image(200, 300, CV_8UC1);
    rng.fill(image, RNG::UNIFORM, 100, 135);
    int atLimit = 0;
    for (int y = 0; y < 198; y += 2)
        for (int x = 0; x < 294; x += 2)
        {
            int sum = 0, squares = 0;
            for (int k = 1; k <= 5; ++k)
            {
                const int v = image.at<uchar>(y + 1, x + k);
                sum += v, squares += v * v;
            }
            atLimit += 5 * squares - sum * sum == 2500;
        }
    EXPECT_GT(atLimit, 0);
    const CascadeCase p = {1.5, 1, Size(), Size(7, 3)};
    const CascadeResults expected = oracleDetect(oracle, image, p), actual = detectAll(*cascadeOf(oracle), image, p);
    EXPECT_EQ(expected.raw, actual.raw);
}

//! The mask is read at x + width / 2 and y + height / 2, as candidates at its border show.
TEST(Cascade_Contract, centreOfTheMask)
{
    const Ptr<CascadeClassifierEx> c = cascadeOf(simplest(Size(11, 8)));
    const Mat image = noise(7, Size(31, 30));
    std::vector<Rect> all, kept;
    c->detectMultiScale(image, all, 1.4, 0);
    ASSERT_GT(all.size(), 30u);
    for (const Rect& one : all)
    {
        Mat mask(image.size(), CV_8UC1, Scalar(0));
        mask.at<uchar>(one.y + one.height / 2, one.x + one.width / 2) = 255;
        c->detectMultiScale(image, kept, 1.4, 0, 0, Size(), Size(), mask);
        EXPECT_EQ(1, std::count(kept.begin(), kept.end(), one)) << one;
        for (const Rect& r : kept)
            EXPECT_EQ(Point(one.x + one.width / 2, one.y + one.height / 2),
                      Point(r.x + r.width / 2, r.y + r.height / 2));
    }
}

//! Python passes a bare image as the list of its rows.
TEST(Cascade_Contract, rowsOfOneImageAreNoList)
{
    const Ptr<CascadeClassifierEx> c = cascadeOf(simplest(Size(11, 8)));
    for (const int channels : {1, 3, 4})
    {
        Mat image = noise(11, Size(50, 40), CV_8UC(channels));
        std::vector<Mat> rows;
        for (int y = 0; y < image.rows; ++y)
            rows.emplace_back(image.cols, channels, CV_8UC1, image.ptr(y));
        Mat table;
        expectRefused([&] { c->detectAsync(rows, table); }, {"images", "[image]"});
        rows[20] = rows[20].clone(); // now a list of separate arrays
        EXPECT_NO_THROW(c->detectAsync(rows, table));
        EXPECT_EQ(40, table.rows);
    }
    // Narrow images that are no rows of one: single pixels, strips of a larger image, arrays of their own.
    const Mat image = noise(12, Size(50, 40));
    std::vector<Mat> pixels, strips, separate;
    for (int i = 0; i < 4; ++i)
    {
        pixels.push_back(image(Rect(i, 0, 1, 1)));
        strips.push_back(image(Rect(5, 10 * i, 3, 10)));
        separate.push_back(image(Rect(3 * i, 0, 3, 40)).clone());
    }
    Mat table;
    for (const std::vector<Mat>& images : {pixels, strips, separate})
    {
        EXPECT_NO_THROW(c->detectAsync(images, table));
        EXPECT_EQ(4, table.rows);
        EXPECT_EQ(0, countNonZero(table.reshape(1)));
    }
}

// --- what is written and read ----------------------------------------------------------------------------------------

#if CUDATRACKING_CASCADE_PEER

//! cv::CascadeClassifier reads files of save() and convert(), with equal results.
TEST(Cascade_Contract, peerReadsWhatIsWritten)
{
    const Mat image = noise(9, Size(70, 60));
    for (uint64 seed = 300; seed < 312; ++seed)
    {
        SCOPED_TRACE(int(seed));
        const OracleCascade oracle = CascadeGenerator(seed, image).make();
        const TemporaryFile old(".xml", cascadeText(oracle, ".xml", oracle.haar)), saved(".xml"), converted(".xml");
        const Ptr<CascadeClassifierEx> c = CascadeClassifierEx::create(old.name);
        giveOthers(*c);
        c->save(saved.name);
        EXPECT_TRUE(CascadeClassifierEx::convert(old.name, converted.name));
        c->setFindLargestObject(false);
        std::vector<Rect> ours, theirs;
        c->detectMultiScale(image, ours, 1.2, 0);
        for (const TemporaryFile* file : {&saved, &converted})
        {
            CascadeClassifier peer;
            ASSERT_TRUE(peer.load(file->name));
            setNumThreads(1);
            peer.detectMultiScale(image, theirs, 1.2, 0);
            setNumThreads(-1);
            EXPECT_EQ(ours, theirs);
            c->load(file->name);
            c->detectMultiScale(image, theirs, 1.2, 0);
            EXPECT_EQ(ours, theirs);
        }
    }
}

#endif

//! Reads each subset of the parameters; those that are missing keep their value.
TEST(Cascade_Contract, missingMembersKeepTheirValue)
{
    const char* const members[] = {
        "scaleFactor: 1.25",    "minNeighbors: 7",   "minObjectSize: [ 12, 13 ]", "maxObjectSize: [ 140, 150 ]",
        "findLargestObject: 1", "maxObjects: 65536", "maxCandidates: 1"};
    for (int given = 0; given < 1 << 7; ++given)
    {
        std::string text = cascadeText(simplest(Size(11, 9)), ".yml");
        text.erase(text.find_last_not_of(" \n.") + 1);
        text += "\n";
        for (int i = 0; i < 7; ++i)
            if (given & (1 << i))
                text += std::string("   ") + members[i] + "\n";
        const FileStorage in(text, FileStorage::READ | FileStorage::MEMORY);
        const Ptr<CascadeClassifierEx> c = CascadeClassifierEx::create();
        c->read(in.getFirstTopLevelNode());
        SCOPED_TRACE(given);
        EXPECT_EQ(Size(11, 9), c->getOriginalWindowSize());
        EXPECT_EQ(given & 1 ? 1.25 : 1.1, c->getScaleFactor());
        EXPECT_EQ(given & 2 ? 7 : 3, c->getMinNeighbors());
        EXPECT_EQ(given & 4 ? Size(12, 13) : Size(), c->getMinObjectSize());
        EXPECT_EQ(given & 8 ? Size(140, 150) : Size(), c->getMaxObjectSize());
        EXPECT_EQ((given & 16) != 0, c->getFindLargestObject());
        EXPECT_EQ(given & 32 ? 65536 : 256, c->getMaxObjects());
        EXPECT_EQ(given & 64 ? 1 : 8192, c->getMaxCandidates());
        if (testing::Test::HasFailure())
            return;
    }
}

TEST(Cascade_Contract, readIsAllOrNothing)
{
    const std::string good = cascadeText(simplest(Size(11, 9)), ".yml");
    const std::string bad[] = {"scaleFactor: 0.5",     "scaleFactor: .Nan",     "scaleFactor: abc",
                               "maxObjects: 0",        "maxCandidates: 70000",  "maxObjects: [ 1, 2 ]",
                               "minNeighbors: 1e30",   "minObjectSize: [ 1 ]",  "maxObjectSize: abc",
                               "findLargestObject: 5", "findLargestObject: -1", "findLargestObject: 0.5"};
    for (const std::string& member : bad)
    {
        std::string text = good.substr(0, good.find_last_not_of(" \n.") + 1) + "\n   minNeighbors: 9\n";
        if (member.find("minNeighbors") == 0)
            text.erase(text.rfind("   minNeighbors"));
        text += "   " + member + "\n";
        const FileStorage in(text, FileStorage::READ | FileStorage::MEMORY);
        const Ptr<CascadeClassifierEx> c = cascadeOf(simplest(Size(20, 21)));
        giveOthers(*c);
        expectRefused([&] { c->read(in.getFirstTopLevelNode()); }, {member.substr(0, member.find(':'))});
        EXPECT_EQ(Size(20, 21), c->getOriginalWindowSize()) << member;
        expectOthers(*c);
    }
}

TEST(Cascade_Contract, readTakesTheOldFormat)
{
    const std::string text = cascadeText(simplest(Size(11, 9)), ".xml", true);
    const FileStorage in(text, FileStorage::READ | FileStorage::MEMORY);
    const Ptr<CascadeClassifierEx> c = CascadeClassifierEx::create();
    giveOthers(*c);
    c->read(in.getFirstTopLevelNode());
    EXPECT_EQ(Size(11, 9), c->getOriginalWindowSize());
    expectOthers(*c);
    EXPECT_THROW(c->read(FileNode()), cv::Exception);
    EXPECT_EQ(Size(11, 9), c->getOriginalWindowSize());
}

TEST(Cascade_Contract, anEmptyObjectCanBeSaved)
{
    const TemporaryFile file(".xml");
    const Ptr<CascadeClassifierEx> c = CascadeClassifierEx::create();
    giveOthers(*c);
    c->save(file.name);
    const FileStorage in(file.name, FileStorage::READ);
    const Ptr<CascadeClassifierEx> read = cascadeOf(simplest(Size(11, 9)));
    read->read(in.getFirstTopLevelNode());
    EXPECT_TRUE(read->empty());
    expectOthers(*read);
}

}} // namespace opencv_test
