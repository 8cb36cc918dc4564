// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// TLDDetector, TrackerTLD and MultiTrackerTLD refuse bad arguments, say which and why, and work on as before.
#include "scenes.hpp"
#include <fstream>
#include <limits>
#include <sstream>

namespace opencv_test { namespace {

using namespace tld;

//! Names of parameters, each with values that it must not have.
const char BAD_PARAMETERS[] =
    "seed -1; minReplyScore -0.1 1.5 nan; minWindow -1 20000; scales -1 21; stepPercent 0 -3 101; "
    "trees 0 17 -1; features 0 17; maxDetections 0 129; maxPositives 1 1025; maxNegatives 1 2049; "
    "initWindows 33 -1; initWarps 33 -1; updateWindows 33 -1; updateWarps 33 -1; initNegatives 1 129; "
    "flowWindow 2 4 13 -1; flowLevels -1 7; flowIterations 0 101; retryFrames -1 4; maxUnsupported -1; "
    "maxProbation -1; scaleFactor 1 2.1 -1.2 nan inf; fernThreshold -0.1 1.1 nan inf; "
    "nnThreshold -0.1 1.1 nan inf; validThreshold -0.1 1.1 nan inf; initAngle -1 46 nan inf; "
    "updateAngle -1 46 nan inf; warpScale -0.1 0.6 nan inf; warpShift -0.1 0.6 nan inf; "
    "warpNoise -1 65 nan inf; flowEpsilon -0.1 nan inf; maxFlowError -1 nan inf; jumpMargin -1.5 nan inf; "
    "firstJumpMargin -1.5 nan inf";

TEST(Tld_Negative, parametersAreChecked)
{
    std::istringstream list(BAD_PARAMETERS);
    for (std::string entry, name, value; std::getline(list, entry, ';');)
    {
        std::istringstream words(entry);
        words >> name;
        while (words >> value)
        {
            const TLDParams p = paramsOf(name + " " + value);
            expectRefused([&] { TLDDetector::create(p); }, {name});
            expectRefused([&] { TrackerTLD::create(p); }, {name});
            expectRefused([&] { MultiTrackerTLD::create(p); }, {name});
        }
    }
    const TLDParams many = paramsOf("trees 13, features 13"); // 169 of 164
    expectRefused([&] { TrackerTLD::create(many); }, {"trees", "features"});
    EXPECT_NO_THROW(TrackerTLD::create(paramsOf("trees 12, features 13")));
}

class Tld_Arguments : public OnEngine
{
protected:
    typedef StandardScene S;

    Image flatImage() const { return image(Mat(180, 240, CV_8UC1, Scalar::all(9))); }
    Image halfFlat() const
    {
        Mat frame = scene.frame(0);
        frame(Rect(0, 0, 50, 50)).setTo(3);
        return image(frame);
    }

    const S scene;
};

struct BadBox
{
    Rect box;
    const char* what;
};

std::vector<BadBox> badBoxes()
{
    const int most = std::numeric_limits<int>::max();
    return {{Rect(), "empty"},
            {Rect(10, 10, 0, 20), "no width"},
            {Rect(10, 10, 20, -20), "negative height"},
            {Rect(-1, 10, 20, 20), "left of the image"},
            {Rect(10, -1, 20, 20), "above"},
            {Rect(221, 10, 20, 20), "right of it"},
            {Rect(10, 161, 20, 20), "below"},
            {Rect(10, 10, 11, 20), "narrow"},
            {Rect(10, 10, 20, 11), "low"},
            {Rect(most - 5, 10, 20, 20), "x + width overflows"},
            {Rect(10, 10, most, most), "area overflows"},
            {Rect(-most, -most, most, most), "far away"}};
}

TEST_P(Tld_Arguments, boxes)
{
    const Ptr<TrackerTLD> tracker = trackerOn(scene, engine());
    const Ptr<TLDDetector> detector = detectorOn(scene, engine());
    const Ptr<MultiTrackerTLD> multi = MultiTrackerTLD::create();
    const int id = multi->add(image(scene.frame(0)).in(), scene.box(0));
    follow(*tracker, scene, engine(), 1, 5);
    const std::string before = textOf(*tracker), learned = textOf(*detector);
    const Image frame = image(scene.frame(4));
    for (const BadBox& b : badBoxes())
    {
        SCOPED_TRACE(b.what);
        expectRefused([&] { tracker->init(frame.in(), b.box); }, {"box"});
        expectRefused([&] { tracker->resetTo(b.box); }, {"box"});
        expectRefused([&] { detector->init(frame.in(), b.box); }, {"box"});
        expectRefused([&] { detector->learn(frame.in(), b.box); }, {"box"});
        expectRefused([&] { multi->add(frame.in(), b.box); }, {"box"});
        expectRefused([&] { multi->resetTo(id, b.box); }, {"box"});
    }
    expectRefused([&] { tracker->init(flatImage().in(), Rect(20, 20, 40, 40)); }, {"box"});
    expectRefused([&] { tracker->init(halfFlat().in(), Rect(5, 5, 40, 40)); }, {"box"});
    expectRefused([&] { detector->init(halfFlat().in(), Rect(5, 5, 40, 40)); }, {"box"});
    expectRefused([&] { multi->add(halfFlat().in(), Rect(5, 5, 40, 40)); }, {"box"});
    EXPECT_EQ(before, textOf(*tracker));
    EXPECT_EQ(learned, textOf(*detector));
    EXPECT_EQ(std::vector<int>(1, id), multi->getIds());
    const TLDParams large = paramsOf("minWindow 30");
    expectRefused([&] { TrackerTLD::create(large)->init(frame.in(), Rect(10, 10, 29, 40)); },
                  {"box", "29", "minWindow"});
    EXPECT_NO_THROW(TrackerTLD::create(large)->init(frame.in(), Rect(10, 10, 30, 40)));
}

TEST_P(Tld_Arguments, images)
{
    const Ptr<TrackerTLD> tracker = trackerOn(scene, engine()), none = TrackerTLD::create();
    follow(*tracker, scene, engine(), 1, 5);
    const std::string before = textOf(*tracker);
    const int sizes[] = {3, 180, 240};
    Rect box(1, 2, 3, 4);
    Mat result;
    for (const int type : {CV_16UC1, CV_32FC3, CV_8SC1, CV_8UC2})
    {
        const Image wrong = image(Mat(180, 240, type, Scalar::all(1)));
        expectRefused([&] { tracker->update(wrong.in(), box); }, {"image"});
        expectRefused([&] { none->init(wrong.in(), Rect(20, 20, 30, 30)); }, {"image"});
    }
    for (const Size size : {Size(15, 100), Size(100, 15), Size(16385, 16)})
        expectRefused([&] { none->init(image(texture(1, size)).in(), Rect(0, 0, 15, 15)); },
                      {"image", cv::format("%d", size.width)});
    const Image other = image(texture(1, Size(241, 180))), colour = image(texture(1, Size(240, 180), CV_8UC3));
    expectRefused([&] { tracker->update(other.in(), box); }, {"image", "241", "240"});
    expectRefused([&] { tracker->update(colour.in(), box); }, {"image"});
    expectRefused([&] { tracker->updateAsync(other.in(), result); }, {"image", "241"});
    expectRefused([&] { tracker->update(Mat(), box); }, {"image"});
    expectRefused([&] { none->init(Mat(), Rect(0, 0, 20, 20)); }, {"image"});
    expectRefused([&] { tracker->update(Mat(3, sizes, CV_8UC1, Scalar(0)), box); }, {"image", "3"});
    EXPECT_EQ(Rect(1, 2, 3, 4), box);
    EXPECT_EQ(before, textOf(*tracker));
    advance(*tracker, engine(), scene.frame(5));
}

TEST_P(Tld_Arguments, endingsOfFiles)
{
    const Ptr<TrackerTLD> tracker = TrackerTLD::create();
    tracker->init(image(scene.frame(0)).in(), scene.box(0));
    const Ptr<MultiTrackerTLD> multi = MultiTrackerTLD::create();
    const int id = multi->add(image(scene.frame(0)).in(), scene.box(0));
    for (const char* name : {"object", "object.txt", "object.yml", "object.json", "object.xml.gz", "object.xml?memory"})
    {
        expectRefused([&] { tracker->save(name); }, {"filename", ".xml"});
        expectRefused([&] { multi->saveObject(id, name); }, {"filename", ".xml"});
    }
}

//! A detector's file contains no frame in which the object could be placed.
TEST_P(Tld_Arguments, noLastFrame)
{
    const Ptr<TLDDetector> detector = detectorOn(scene, engine());
    const TemporaryFile file(".xml");
    detector->save(file);
    const Ptr<TrackerTLD> tracker = TrackerTLD::create();
    tracker->load(file);
    expectRefused([&] { tracker->resetTo(scene.box(0)); }, {"resetTo()", "last frame"});
    Rect box;
    tracker->update(image(scene.frame(1)).in(), box);
    tracker->resetTo(scene.box(1));
    EXPECT_EQ(Rect2d(scene.box(1)), tracker->getBox());
}

TEST_P(Tld_Arguments, beforeInit)
{
    const Ptr<TrackerTLD> tracker = TrackerTLD::create();
    const Ptr<TLDDetector> detector = TLDDetector::create();
    const Image frame = image(scene.frame(0));
    Rect box;
    Mat out;
    EXPECT_THROW(tracker->update(frame.in(), box), cv::Exception);
    EXPECT_THROW(tracker->updateAsync(frame.in(), out), cv::Exception);
    EXPECT_THROW(tracker->resetTo(scene.box(0)), cv::Exception);
    EXPECT_THROW(detector->detect(frame.in(), out), cv::Exception);
    EXPECT_THROW(detector->learn(frame.in(), scene.box(0)), cv::Exception);
    tracker->init(frame.in(), scene.box(0));
    detector->init(frame.in(), scene.box(0));
    EXPECT_NO_THROW(advance(*tracker, engine(), scene.frame(1)));
    EXPECT_NO_THROW(detector->detect(frame.in(), out));
}

TEST_P(Tld_Arguments, outputs)
{
    const Ptr<TrackerTLD> tracker = trackerOn(scene, engine());
    const Ptr<TLDDetector> detector = TLDDetector::create();
    const Image frame = image(scene.frame(1));
    detector->init(frame.in(), scene.box(0));
    const std::string before = textOf(*tracker);
    Mat_<float> fixed;
    std::vector<Rect> boxes;
    std::vector<float> scores;
    std::vector<double> doubles;
    expectRefused([&] { tracker->updateAsync(frame.in(), fixed); }, {"result"});
    expectRefused([&] { detector->detect(frame.in(), fixed); }, {"objects"});
    expectRefused([&] { detector->detect(frame.in(), doubles); }, {"objects"});
    expectRefused([&] { tracker->getTemplates(true, fixed); }, {"templates"});
    expectRefused([&] { tracker->getDetections(fixed); }, {"objects"});
    EXPECT_EQ(before, textOf(*tracker)) << "a refused output has cost a frame";
    for (const Mat& table : {Mat(), Mat(5, 8, CV_32FC1, Scalar(0)), Mat(5, 7, CV_64FC1, Scalar(0)), scene.frame(0)})
        expectRefused([&] { TLDDetector::convertDetections(table, boxes, scores); }, {"objects"});
    Mat liar = Mat::zeros(11, 8, CV_64FC1);
    for (const double count : {11., -1., 1e300, std::numeric_limits<double>::quiet_NaN()})
    {
        liar.at<double>(0, 0) = count; // more rows than there are
        expectRefused([&] { TLDDetector::convertDetections(liar, boxes, scores); }, {"objects"});
    }
    liar.at<double>(0, 0) = 2.;
    boxes = {Rect(1, 2, 3, 4)};
    for (const double side :
         {3e9, -1e300, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()})
    {
        liar.at<double>(2, 3) = side;
        expectRefused([&] { TLDDetector::convertDetections(liar, boxes, scores, true); },
                      {"objects", "row 2", "column 3"});
        EXPECT_EQ(std::vector<Rect>{Rect(1, 2, 3, 4)}, boxes);
    }
}

TEST(Tld_Negative, endingsOfFiles)
{
    const StandardScene scene;
    const Ptr<MultiTrackerTLD> multi = MultiTrackerTLD::create();
    multi->add(scene.frame(0), scene.box(0));
    for (const std::string ending : {".txt", "", ".yml", ".yaml", ".json", ".xml.gz"})
    {
        const TemporaryFile file(ending);
        expectRefused([&] { multi->save(file); }, {"filename", ".xml"});
        expectRefused([&] { multi->saveObject(0, file); }, {"filename", ".xml"});
        EXPECT_FALSE(std::ifstream(file).good());
    }
}

TEST_P(Tld_Arguments, objectsOfAMultiTracker)
{
    const Ptr<MultiTrackerTLD> multi = MultiTrackerTLD::create();
    const Image frame = image(scene.frame(0)), other = image(texture(1, Size(100, 90)));
    Mat out;
    for (const int id : {-1, 0, 1})
    {
        const std::string text = cv::format("%d", id);
        expectRefused([&] { multi->remove(id); }, {"id", text});
        expectRefused([&] { multi->resetTo(id, scene.box(0)); }, {"id", text});
        expectRefused([&] { multi->getDetections(id, out); }, {"id", text});
        expectRefused([&] { multi->getTemplates(id, true, out); }, {"id", text});
        expectRefused([&] { multi->saveObject(id, "/tmp/never.xml"); }, {"id", text});
    }
    ASSERT_EQ(0, multi->add(frame.in(), scene.box(0)));
    expectRefused([&] { multi->add(other.in(), Rect(10, 10, 30, 30)); }, {"image", "100"});
    expectRefused([&] { multi->update(other.in(), out); }, {"image", "100"});
    expectRefused([&] { multi->remove(1); }, {"id", "1"});
    expectRefused([&] { multi->addFromFile(frame.in(), "/nonexistent/object.xml"); }, {"/nonexistent/object.xml"});
    const TemporaryFile file(".xml");
    trackerOn(scene, engine(), paramsOf("trees 9"))->save(file);
    expectRefused([&] { multi->addFromFile(frame.in(), file); }, {file, "trees is 9", "10"});
    EXPECT_EQ(1u, multi->getIds().size());
    multi->update(image(scene.frame(1)).in(), out);
    EXPECT_EQ(Size(TrackerTLD::RESULT_COLUMNS, 1), out.size());
}

CUDATRACKING_ON_ENGINES(Tld_Arguments);

//! An object stays on the backend of its init().
TEST(Tld_Negative, otherSideOnCuda)
{
    requireCuda();
    const StandardScene scene;
    const Ptr<TrackerTLD> host = trackerOn(scene, Engine::CPU), device = trackerOn(scene, Engine::CUDA);
    Rect box;
    expectRefused([&] { host->update(Image(Engine::CUDA, scene.frame(1)).in(), box); }, {"image"});
    expectRefused([&] { device->update(scene.frame(1), box); }, {"image"});
    EXPECT_TRUE(same(advance(*host, Engine::CPU, scene.frame(1)), advance(*device, Engine::CUDA, scene.frame(1))));
    cuda::GpuMat output;
    expectRefused([&] { host->updateAsync(scene.frame(2), output); }, {"result"});
}

}} // namespace opencv_test
