// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// The CUDA backend of TLD against the CPU backend, bit by bit: results, detections with the counts of windows after
// each stage, and the learned model, in every frame. Streams, graphs. A small set for compute-sanitizer is named
// *Sanitize*.
//
// Differences are reported in the order of the stages, so that the first one names the stage.
#include "../test_precomp.hpp"
#include "../common/graphs.hpp"
#include "sequence.hpp"
#include <sstream>

namespace opencv_test { namespace {

using namespace tld;
using cv::cuda::GpuMat;
using cv::cuda::Stream;
using Tld_Cuda = OnCuda;
using Tld_CudaSanitize = OnCuda;

//! A table of detections, stage by stage.
::testing::AssertionResult sameDetections(const Mat& cpu, const Mat& cuda)
{
    const std::pair<TLDDetector::CountColumn, const char*> stages[] = {
        {TLDDetector::COUNT_WINDOWS, "the grid"},
        {TLDDetector::COUNT_WITH_VARIANCE, "sums or variance"},
        {TLDDetector::COUNT_PASSED, "ferns"},
        {TLDDetector::COUNT_STORED, "the choice of detections"}};
    for (const auto& stage : stages)
        if (cpu.at<double>(0, stage.first) != cuda.at<double>(0, stage.first))
            return ::testing::AssertionFailure() << stage.second << ": " << cpu.at<double>(0, stage.first)
                                                 << " windows on the CPU, " << cuda.at<double>(0, stage.first);
    const int rows = static_cast<int>(cpu.at<double>(0, TLDDetector::COUNT_STORED));
    for (int column : {0, 1, 2, 3, static_cast<int>(TLDDetector::DETECTION_POSTERIOR)})
        for (int y = 1; y <= rows; ++y)
            if (cpu.at<double>(y, column) != cuda.at<double>(y, column))
                return ::testing::AssertionFailure()
                       << "the choice of detections: row " << y << ": " << cpu.row(y) << " on the CPU, " << cuda.row(y);
    const ::testing::AssertionResult rest = sameBits(cpu, cuda);
    return rest ? rest : ::testing::AssertionFailure() << "nearest neighbours: " << rest.message();
}

//! Compares two files of an object and shows the first difference.
::testing::AssertionResult sameText(const std::string& cpu, const std::string& cuda)
{
    if (cpu == cuda)
        return ::testing::AssertionSuccess();
    size_t at = 0;
    while (cpu[at] == cuda[at])
        ++at;
    const size_t from = at < 80 ? 0 : at - 80;
    return ::testing::AssertionFailure() << "what was learned differs at byte " << at << ":\n"
                                         << cpu.substr(from, 160) << "\non the CPU,\n"
                                         << cuda.substr(from, 160);
}

//! Compares detections before the box, as they come first in a frame.
::testing::AssertionResult sameStep(const Step& cpu, const Step& cuda)
{
    const ::testing::AssertionResult detections = sameDetections(cpu.detections, cuda.detections);
    if (!detections)
        return detections;
    const ::testing::AssertionResult all = same(cpu, cuda);
    return all ? all : ::testing::AssertionFailure() << "flow, integration or recheck: " << all.message();
}

void expectEnginesAgree(const StandardScene& scene, const TLDParams& params, int frames, int textEvery)
{
    const Ptr<TrackerTLD> cpu = TrackerTLD::create(params), cuda = TrackerTLD::create(params);
    cpu->init(scene.frame(0), scene.box(0));
    cuda->init(uploadRoi(scene.frame(0)), scene.box(0));
    ASSERT_TRUE(sameText(textOf(*cpu), textOf(*cuda))) << "first training";
    for (int t = 1; t < frames; ++t)
    {
        const Mat frame = scene.frame(t);
        ASSERT_TRUE(sameStep(advance(*cpu, frame), advance(*cuda, uploadRoi(frame)))) << "frame " << t;
        if (t % textEvery == 0 || t == frames - 1)
        {
            ASSERT_TRUE(sameText(textOf(*cpu), textOf(*cuda))) << "frame " << t;
        }
    }
}

struct Variant
{
    const char* name;
    int type;
    Size object;
    const char* params;
};

void PrintTo(const Variant& variant, std::ostream* out) { *out << variant.name; }

const Variant VARIANTS[] = {
    {"defaults", CV_8UC1, Size(40, 34), ""},
    {"bgr", CV_8UC3, Size(30, 41), "seed 5"},
    {"bgraMirrored", CV_8UC4, Size(36, 36), "mirror 1"},
    {"fullStores", CV_8UC1, Size(40, 34), "maxPositives 2, maxNegatives 4"},
    {"oddFerns", CV_8UC1, Size(40, 34), "trees 7, features 9, flowWindow 5, flowLevels 1"},
    {"tinyFerns", CV_8UC1, Size(40, 34), "trees 3, features 2, flowWindow 11, maxDetections 7"},
    {"largeFerns", CV_8UC1, Size(40, 34), "trees 10, features 16, maxDetections 128"},
    {"allPass", CV_8UC1, Size(44, 30), "fernThreshold 0, nnThreshold 0.5"},
    {"denseWindows", CV_8UC1, Size(40, 34), "stepPercent 3, scales 2"},
    {"manyExamples", CV_8UC1, Size(40, 34), "mirror 1, initWindows 32, updateWindows 32, initWarps 32, updateWarps 32"},
    {"filterOfColours", CV_8UC3, Size(24, 62), "seed 3"},
    {"filterWithoutLearning", CV_8UC4, Size(90, 30), "learning 0, validThreshold 0.9"},
    {"withoutFilter", CV_8UC1, Size(40, 34), "filter 0"},
    {"withoutFilterBgr", CV_8UC3, Size(30, 41), "filter 0, seed 6"},
};

using Tld_CudaVariants = OnCudaWith<Variant>;

TEST_P(Tld_CudaVariants, equalTheCpuInEveryFrame)
{
    const StandardScene scene(GetParam().type, GetParam().object, 3);
    ASSERT_NO_FATAL_FAILURE(expectEnginesAgree(scene, paramsOf(GetParam().params), StandardScene::FRAMES, 6));
}

INSTANTIATE_TEST_CASE_P(All, Tld_CudaVariants, testing::ValuesIn(VARIANTS),
                        [](const testing::TestParamInfo<Variant>& variant) { return std::string(variant.param.name); });

//! All frames of sequences with real objects, where CUDATRACKING_TLD_DATA names their folder.
using Tld_CudaSequences = OnCudaWith<const char*>;

TEST_P(Tld_CudaSequences, equalTheCpuInEveryFrame)
{
    const Sequence sequence = requireSequence(GetParam());
    const Ptr<TrackerTLD> cpu = TrackerTLD::create(), cuda = TrackerTLD::create();
    cpu->init(sequence.frames[0], sequence.first);
    cuda->init(GpuMat(sequence.frames[0]), sequence.first);
    int located = 0, t = 1;
    for (; t < static_cast<int>(sequence.frames.size()); ++t)
    {
        const Mat& frame = sequence.frames[t];
        const Step step = advance(*cpu, frame);
        ASSERT_TRUE(sameStep(step, advance(*cuda, GpuMat(frame)))) << "frame " << t;
        if (t % 50 == 0)
        {
            ASSERT_TRUE(sameText(textOf(*cpu), textOf(*cuda))) << "frame " << t;
        }
        located += step.located;
    }
    EXPECT_TRUE(sameText(textOf(*cpu), textOf(*cuda)));
    EXPECT_GT(located, t / 2) << "the comparison would mean little";
}

INSTANTIATE_TEST_CASE_P(All, Tld_CudaSequences, testing::Values("car", "david", "jumping", "pedestrian1"));

//! Several objects on curves of their own; the first one leaves for a while.
struct Crowd
{
    Crowd(Size frame, int count, int type = CV_8UC1, int side = 36)
        : scene(frame, std::vector<Size>(count, Size(side, side)), type, 9)
    {
        for (int i = 0; i < count; ++i)
            scene.objects[i] = texture(200 + i, Size(side + i % 5, side - i % 3), type, 4);
    }
    Placement at(int t, int i) const
    {
        const Size size = scene.background.size();
        Placement p;
        p.centre = Point2d(size.width * (0.5 + path * std::cos(0.05 * t + 2.1 * i)),
                           size.height * (0.5 + path * std::sin(0.06 * t + 1.3 * i)));
        p.scale = 1. + 0.15 * std::sin(0.08 * t + i);
        p.degrees = 6. * std::sin(0.1 * t + i);
        p.present = i > 0 || t % 40 < 25 || t % 40 > 32;
        return p;
    }
    Mat frame(int t) const
    {
        std::vector<Placement> placements;
        for (size_t i = 0; i < scene.objects.size(); ++i)
            placements.push_back(at(t, static_cast<int>(i)));
        return scene.frame(placements);
    }
    Rect box(int t, int i) const { return scene.box(at(t, i), i); }

    Composite scene;
    double path = 0.3; //!< largest distance from the middle, in sides of the image
};

//! Runs both backends on the same frames.
struct Pair
{
    explicit Pair(const TLDParams& params = TLDParams())
        : cpu(MultiTrackerTLD::create(params)), cuda(MultiTrackerTLD::create(params))
    {}
    void add(const Mat& frame, const Rect& box) { ASSERT_EQ(cpu->add(frame, box), cuda->add(uploadRoi(frame), box)); }
    void remove(int id)
    {
        cpu->remove(id);
        cuda->remove(id);
    }
    void expectSame(const Mat& expected, const Mat& actual)
    {
        for (int id : cpu->getIds())
        {
            Mat tables[2];
            cpu->getDetections(id, tables[0]);
            cuda->getDetections(id, tables[1]);
            ASSERT_TRUE(sameDetections(tables[0], tables[1])) << "object " << id;
            for (int positive = 0; positive < 2; ++positive)
            {
                cpu->getTemplates(id, positive != 0, tables[0]);
                cuda->getTemplates(id, positive != 0, tables[1]);
                ASSERT_TRUE(sameBits(tables[0], tables[1])) << "templates of object " << id;
            }
        }
        ASSERT_TRUE(sameBits(expected, actual));
    }
    void update(const Mat& frame, Stream& stream = cv::cuda::noStream())
    {
        Mat expected, actual;
        cpu->update(frame, expected);
        cuda->update(uploadRoi(frame), actual, stream);
        ASSERT_NO_FATAL_FAILURE(expectSame(expected, actual));
    }

    //! Adds the first objects of a crowd in its first frame, and updates with those after it.
    void follow(const Crowd& crowd, int objects, int frames)
    {
        for (int i = 0; i < objects; ++i)
            add(crowd.frame(0), crowd.box(0, i));
        for (int t = 1; t < frames; ++t)
            ASSERT_NO_FATAL_FAILURE(update(crowd.frame(t))) << "frame " << t;
    }

    Ptr<MultiTrackerTLD> cpu, cuda;
};

TEST_F(Tld_Cuda, severalObjectsComeAndGo)
{
    const Crowd crowd(Size(320, 240), 6, CV_8UC3);
    Pair pair;
    Stream streams[2];
    for (int i = 0; i < 3; ++i)
        pair.add(crowd.frame(0), crowd.box(0, i));
    for (int t = 1; t < 60; ++t)
    {
        SCOPED_TRACE(t);
        ASSERT_NO_FATAL_FAILURE(pair.update(crowd.frame(t), streams[t % 2]));
        if (t % 10 == 0 && t <= 30)
            pair.add(crowd.frame(t), crowd.box(t, 2 + t / 10));
        if (t == 25 || t == 40)
            pair.remove(t == 25 ? 1 : 0);
        if (t == 45)
        {
            pair.cpu->resetTo(2, crowd.box(t, 2));
            pair.cuda->resetTo(2, crowd.box(t, 2));
        }
        if (t == 50 || t == 55)
        {
            pair.cpu->setLearning(t == 55);
            pair.cuda->setLearning(t == 55);
        }
    }
}

//! Other comparisons in a saved object, no two of which begin or end at one point. The first element of this name, among
//! the parameters, is their number.
void changeFeatures(const std::string& file)
{
    std::stringstream numbers;
    std::string all = contentOf(file);
    const size_t from = all.rfind("<features>") + 10, to = all.find("</features>", from);
    ASSERT_LT(to, all.size());
    for (int i = 0; i < 4 * 130; ++i)
        numbers << (i % 8 == 0 ? "\n" : " ") << 7919 * i % 32769;
    all.replace(from, to - from, numbers.str());
    std::ofstream(file) << all;
}

//! Objects of one size share their codes, unless they compare other pixels; each asks for a variance of its own.
TEST_F(Tld_Cuda, objectsOfOneSize)
{
    const Crowd crowd(Size(320, 240), 7);
    Pair pair;
    const auto boxOf = [&](int t, int i) // 1, 3, and 4 are of other sizes
    {
        return Rect(crowd.box(t, i).tl(), i == 1 ? Size(36, 30) : i == 3 || i == 4 ? Size(30, 36) : Size(36, 36));
    };
    for (int i = 0; i < 6; ++i)
        pair.add(crowd.frame(0), boxOf(0, i));
    for (int t = 1; t < 40; ++t)
    {
        SCOPED_TRACE(t);
        ASSERT_NO_FATAL_FAILURE(pair.update(crowd.frame(t)));
        if (t == 8) // the first one of its group, and the second last one of the other
        {
            pair.remove(0);
            pair.remove(3);
        }
        if (t == 12)
            pair.add(crowd.frame(t), boxOf(t, 6));
        if (t == 16 || t == 20)
        {
            const TemporaryFile file(".xml");
            pair.cpu->saveObject(2, file);
            if (t == 20)
            {
                ASSERT_NO_FATAL_FAILURE(changeFeatures(file));
            }
            EXPECT_EQ(pair.cpu->addFromFile(crowd.frame(t), file),
                      pair.cuda->addFromFile(uploadRoi(crowd.frame(t)), file));
        }
        if (t == 30)
            for (int id : {5, 6, 7})
                pair.remove(id);
    }
}

TEST_F(Tld_Cuda, imagesOfAllSizes)
{
    for (const Size size : {Size(16, 40), Size(41, 17), Size(63, 64), Size(65, 129), Size(1030, 31), Size(31, 1030)})
    {
        SCOPED_TRACE(size);
        const Crowd crowd(size, 1, CV_8UC1, 14);
        const Rect box(Point(size.width / 2 - 7, size.height / 2 - 7), Size(14, 14));
        Pair pair;
        pair.add(crowd.frame(0), box);
        for (int t = 1; t < 6; ++t)
            ASSERT_NO_FATAL_FAILURE(pair.update(crowd.frame(t))) << "frame " << t;
    }
}

TEST_F(Tld_Cuda, largeImages)
{
    const Crowd crowd(Size(1920, 1080), 2, CV_8UC1, 90);
    Pair pair;
    pair.follow(crowd, 2, 6);
}

//! Samples of filters are far from each other, or so along one axis only, and partly outside of the image.
TEST_F(Tld_Cuda, filtersOfAllSizes)
{
    const std::pair<Size, int> cases[] = {
        {Size(310, 250), CV_8UC1}, {Size(40, 290), CV_8UC3}, {Size(330, 36), CV_8UC1}, {Size(150, 14), CV_8UC4}};
    for (const auto& [size, type] : cases)
    {
        SCOPED_TRACE(size);
        Crowd crowd(Size(640, 480), 1, type);
        crowd.scene.objects[0] = texture(77, size, type, 5);
        crowd.path = 0.15;
        Pair pair(paramsOf("scales 1"));
        ASSERT_NO_FATAL_FAILURE(pair.follow(crowd, 1, 8));
        ASSERT_TRUE(sameText(textOf(*pair.cpu), textOf(*pair.cuda)));
    }
}

//! Kernels of many filters are others than those of up to eight.
TEST_F(Tld_Cuda, filtersOfManyObjects)
{
    for (const int type : {CV_8UC1, CV_8UC3})
    {
        SCOPED_TRACE(type);
        const Crowd crowd(Size(320, 240), 9, type);
        Pair pair(paramsOf("scales 1"));
        ASSERT_NO_FATAL_FAILURE(pair.follow(crowd, 9, 12));
        ASSERT_TRUE(sameText(textOf(*pair.cpu), textOf(*pair.cuda)));
        pair.remove(pair.cpu->getIds()[4]);
        for (int t = 12; t < 18; ++t)
            ASSERT_NO_FATAL_FAILURE(pair.update(crowd.frame(t))) << "frame " << t;
        ASSERT_TRUE(sameText(textOf(*pair.cpu), textOf(*pair.cuda)));
    }
}

//! Histograms of a filter after images of another type.
TEST_F(Tld_Cuda, filtersOfOtherTypes)
{
    std::string text = textOf(*trackerOn(StandardScene(CV_8UC3), Engine::CPU));
    for (const int type : {CV_8UC1, CV_8UC3, CV_8UC1})
    {
        const StandardScene scene(type);
        const Ptr<TrackerTLD> cpu = TrackerTLD::create(), cuda = TrackerTLD::create();
        readText(*cpu, text);
        readText(*cuda, text);
        for (int t = 1; t < 6; ++t)
        {
            ASSERT_TRUE(sameStep(advance(*cpu, scene.frame(t)), advance(*cuda, uploadRoi(scene.frame(t)))))
                << "frame " << t;
            ASSERT_TRUE(sameText(textOf(*cpu), textOf(*cuda))) << "frame " << t;
        }
        text = textOf(*cpu);
    }
}

TEST_F(Tld_Cuda, detectorLearnsAlike)
{
    const StandardScene scene(CV_8UC3, Size(40, 34), 4);
    const Ptr<TLDDetector> cpu = TLDDetector::create(), cuda = TLDDetector::create();
    cpu->init(scene.frame(0), scene.box(0));
    cuda->init(uploadRoi(scene.frame(0)), scene.box(0));
    for (int t = 1; t < 30; ++t)
    {
        Mat expected;
        GpuMat actual;
        cpu->detect(scene.frame(t), expected);
        cuda->detect(uploadRoi(scene.frame(t)), actual);
        ASSERT_TRUE(sameDetections(expected, Mat(actual))) << "frame " << t;
        if (t % 3 == 0)
        {
            cpu->learn(scene.frame(t), scene.box(t));
            cuda->learn(uploadRoi(scene.frame(t)), scene.box(t));
            ASSERT_TRUE(sameText(textOf(*cpu), textOf(*cuda))) << "frame " << t;
        }
    }
}

//! A flat box, and one for which there is no window, leave all as it was.
TEST_F(Tld_Cuda, refusedObjectsChangeNothing)
{
    const Crowd crowd(Size(200, 150), 2);
    Pair pair;
    pair.add(crowd.frame(0), crowd.box(0, 1));
    for (int t = 1; t < 8; ++t)
    {
        Mat flat = crowd.frame(t);
        flat(Rect(20, 20, 50, 50)).setTo(Scalar::all(99));
        EXPECT_THROW(pair.cuda->add(uploadRoi(flat), Rect(25, 25, 30, 30)), cv::Exception);
        ASSERT_NO_FATAL_FAILURE(pair.update(crowd.frame(t))) << "frame " << t;
    }
}

TEST_F(Tld_Cuda, filesMoveBetweenEngines)
{
    const StandardScene scene(CV_8UC1, Size(40, 34), 6);
    const Ptr<TrackerTLD> straight = trackerOn(scene, Engine::CUDA), other = TrackerTLD::create();
    follow(*straight, scene, Engine::CUDA, 1, 30);
    const std::string text = textOf(*straight);
    for (Engine engine : {Engine::CPU, Engine::CUDA})
    {
        readText(*other, text);
        const Ptr<TrackerTLD> again = TrackerTLD::create();
        readText(*again, text);
        ASSERT_NO_FATAL_FAILURE(
            expectSame(follow(*again, scene, Engine::CPU, 30, 50), follow(*other, scene, engine, 30, 50)));
        ASSERT_TRUE(sameText(textOf(*again), textOf(*other)));
    }
}

// --- graphs ----------------------------------------------------------------------------------------------------------

#ifdef HAVE_CUDA

//! A tracker of several objects, and a twin that never sees a graph.
struct Captured
{
    explicit Captured(int count)
        : crowd(Size(240, 180), count), tracker(MultiTrackerTLD::create()), twin(MultiTrackerTLD::create())
    {
        for (int i = 0; i < count; ++i)
        {
            tracker->add(uploadRoi(crowd.frame(0)), crowd.box(0, i), stream);
            twin->add(uploadRoi(crowd.frame(0)), crowd.box(0, i));
        }
        input = uploadRoi(crowd.frame(0));
        results.create(count, TrackerTLD::RESULT_COLUMNS, CV_64FC1);
    }
    void setFrame(int t) { input.upload(crowd.frame(t), stream); }
    void updateEagerly(int t)
    {
        setFrame(t);
        tracker->update(input, results, stream);
    }
    //! Checks the results against those of the twin's next frame.
    void expectFrame(int t)
    {
        Mat expected;
        stream.waitForCompletion();
        twin->update(uploadRoi(crowd.frame(t)), expected);
        ASSERT_TRUE(sameBits(expected, Mat(results))) << "frame " << t;
        for (int id : twin->getIds())
        {
            Mat tables[2];
            twin->getDetections(id, tables[0]);
            tracker->getDetections(id, tables[1]);
            ASSERT_TRUE(sameBits(tables[0], tables[1])) << "frame " << t << ", object " << id;
        }
    }

    Crowd crowd;
    Stream stream;
    Ptr<MultiTrackerTLD> tracker, twin;
    GpuMat input, results;
};

TEST_F(Tld_Cuda, replaysAreFrames)
{
    Captured c(3);
    Graph graph(c.stream);
    c.tracker->update(c.input, c.results, c.stream);
    graph.end();
    for (int t = 1; t < 50; ++t)
    {
        if (t % 7 == 3)
            c.updateEagerly(t);
        else
        {
            c.setFrame(t);
            graph.launch();
        }
        ASSERT_NO_FATAL_FAILURE(c.expectFrame(t));
    }
}

TEST_F(Tld_Cuda, droppedCapturesChangeNothing)
{
    Captured c(2);
    for (int t = 1; t < 12; ++t)
    {
        {
            Graph dropped(c.stream);
            c.tracker->update(c.input, c.results, c.stream);
            dropped.end();
        }
        c.updateEagerly(t);
        ASSERT_NO_FATAL_FAILURE(c.expectFrame(t));
    }
}

//! Capturing again and again reaches a steady amount of memory.
TEST_F(Tld_Cuda, capturesDoNotGrowMemory)
{
    Captured c(2);
    size_t bytes = 0;
    c.updateEagerly(1); // brings the lists of objects to the device
    ASSERT_NO_FATAL_FAILURE(c.expectFrame(1));
    for (int t = 2; t < 24; ++t)
    {
        Graph graph(c.stream);
        c.tracker->update(c.input, c.results, c.stream);
        graph.end();
        c.setFrame(t);
        graph.launch();
        ASSERT_NO_FATAL_FAILURE(c.expectFrame(t));
        if (t == 12)
            bytes = c.tracker->workspaceBytes();
    }
    EXPECT_EQ(bytes, c.tracker->workspaceBytes());
}

//! Eager calls on another stream go on during a capture.
TEST_F(Tld_Cuda, eagerCallsDuringACapture)
{
    Captured c(2);
    Stream other;
    const GpuMat frame = uploadRoi(c.crowd.frame(1));
    GpuMat results(2, TrackerTLD::RESULT_COLUMNS, CV_64FC1);
    Graph graph(c.stream);
    c.tracker->update(c.input, results, c.stream);
    c.tracker->update(frame, c.results, other);
    graph.end();
    other.waitForCompletion();
    ASSERT_NO_FATAL_FAILURE(c.expectFrame(1));
    c.setFrame(2);
    graph.launch();
    c.stream.waitForCompletion();
    results.copyTo(c.results);
    ASSERT_NO_FATAL_FAILURE(c.expectFrame(2));
}

//! A graph continues with the objects that it was captured with.
TEST_F(Tld_Cuda, graphsKeepTheirObjects)
{
    Captured c(2);
    Graph graph(c.stream);
    c.tracker->update(c.input, c.results, c.stream);
    graph.end();
    c.tracker->remove(1);
    for (int t = 1; t < 10; ++t)
    {
        c.setFrame(t);
        graph.launch();
        c.stream.waitForCompletion();
        Mat expected, actual(c.results);
        c.twin->update(uploadRoi(c.crowd.frame(t)), expected);
        ASSERT_TRUE(sameBits(expected, actual)) << "frame " << t;
        // Neither does a new object take the place of the one that only the graph knows.
        if (t == 4)
            c.tracker->add(uploadRoi(c.crowd.frame(4)), c.crowd.box(4, 1), c.stream);
    }
}

TEST_F(Tld_Cuda, updatesDoNotWait)
{
    Captured c(1);
    c.updateEagerly(1);
    ASSERT_NO_FATAL_FAILURE(c.expectFrame(1));
    c.setFrame(2);
    c.stream.waitForCompletion();
    Gate gate(c.stream);
    c.tracker->update(c.input, c.results, c.stream);
    EXPECT_FALSE(c.stream.queryIfComplete());
    gate.open();
    ASSERT_NO_FATAL_FAILURE(c.expectFrame(2));
    EXPECT_FALSE(gate.gaveUp());
}

#endif // HAVE_CUDA

// --- for compute-sanitizer -------------------------------------------------------------------------------------------

TEST_F(Tld_CudaSanitize, twoObjects)
{
    const Crowd crowd(Size(97, 83), 2, CV_8UC3, 22);
    Pair pair(
        paramsOf("filter 0, maxPositives 2, maxNegatives 4, scales 3, initWindows 5, updateWindows 5, initWarps 3, "
                 "updateWarps 3"));
    pair.follow(crowd, 2, 6);
}

TEST_F(Tld_CudaSanitize, twoObjectsWithFilters)
{
    const Crowd crowd(Size(97, 83), 2, CV_8UC3, 22);
    Pair pair(paramsOf("trees 3, features 5, scales 2, initWindows 5, updateWindows 5, validThreshold 0.95"));
    pair.follow(crowd, 2, 4);
}

TEST_F(Tld_CudaSanitize, detector)
{
    const Crowd crowd(Size(90, 70), 1, CV_8UC1, 24);
    const TLDParams params = paramsOf("trees 3, features 5, scales 2");
    const Ptr<TLDDetector> cpu = TLDDetector::create(params), cuda = TLDDetector::create(params);
    cpu->init(crowd.frame(0), crowd.box(0, 0));
    cuda->init(uploadRoi(crowd.frame(0)), crowd.box(0, 0));
    for (int t = 1; t < 3; ++t)
    {
        Mat expected, actual;
        cpu->learn(crowd.frame(t), crowd.box(t, 0));
        cuda->learn(uploadRoi(crowd.frame(t)), crowd.box(t, 0));
        cpu->detect(crowd.frame(t), expected);
        cuda->detect(uploadRoi(crowd.frame(t)), actual);
        ASSERT_TRUE(sameDetections(expected, actual)) << "frame " << t;
    }
    ASSERT_TRUE(sameText(textOf(*cpu), textOf(*cuda)));
}

}} // namespace opencv_test
