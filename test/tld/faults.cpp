// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// TLD's classes when calls into the CUDA runtime or allocations fail, wherever in a method that is.
#include "../common/faults_each.hpp"
#include "scenes.hpp"
#include "opencv2/core/parallel/parallel_backend.hpp"

namespace opencv_test { namespace {

using namespace faults;

//! Small images and few windows: each call is made to fail in turn.
tld::TLDParams smallParams(bool filter = false)
{
    tld::TLDParams params = tld::paramsOf("trees 3, features 5, scales 2, stepPercent 25, initWarps 3, updateWarps 2, "
                                          "initNegatives 10, findByBoxes 1, correctByBoxes 1");
    params.filter = filter;
    return params;
}

//! An instance of each class that has learned an object; its next frames are on the device too.
class Trackers : public Arguments
{
public:
    //! Bit of a variant: nothing but init() has been called. Those with bit 2 have images of colours, and filters.
    static const int FRESH = 1;

    Trackers(Engine engine, int variant)
        : Arguments(engine, 1),
          scene(variant & 2 ? CV_8UC3 : CV_8UC1, Size(24, 22), 3),
          tracker(tld::TrackerTLD::create(smallParams((variant & 2) != 0))),
          detector(tld::TLDDetector::create(smallParams())),
          several(tld::MultiTrackerTLD::create(smallParams((variant & 2) != 0)))
    {
        for (int t = 0; t < 4; ++t)
            frames.emplace_back(engine, scene.frame(t));
        tracker->init(frame(0), scene.box(0));
        detector->init(frame(0), scene.box(0), stream());
        several->add(frame(0), scene.box(0), stream());
        several->add(frame(0), Rect(90, 20, 30, 30), stream());
        if ((variant & FRESH) == 0)
        {
            Mat result;
            tracker->updateAsync(frame(1), result, stream());
            detector->detect(frame(1), result, stream());
            several->update(frame(1), result, stream());
        }
        wait();
    }

    _InputArray frame(int t) const { return frames[t].in(); }

    Outputs given()
    {
        Outputs outputs = Arguments::given();
        outputs.emplace_back("reply", Mat(Vec4i(reply.x, reply.y, reply.width, reply.height)));
        return outputs;
    }
    //! All that there is to know about an instance is what it writes.
    Outputs observe()
    {
        wait();
        Outputs outputs;
        std::vector<std::string> texts = {tld::textOf(*tracker), tld::textOf(*detector)};
        if (!several->getParams().filter) // filters make a text of several objects long
            texts.push_back(tld::textOf(*several));
        for (const std::string& text : texts)
            outputs.emplace_back("text", asRow(text).clone());
        for (const int id : several->getIds())
        {
            Mat templates, detections;
            several->getTemplates(id, false, templates);
            several->getDetections(id, detections);
            outputs.emplace_back("templates", templates);
            outputs.emplace_back("detections", detections);
        }
        return outputs;
    }

    const tld::StandardScene scene;
    std::vector<tld::Image> frames;
    Ptr<tld::TrackerTLD> tracker;
    Ptr<tld::TLDDetector> detector;
    Ptr<tld::MultiTrackerTLD> several;
    Rect reply;
};

typedef Scenario<Trackers> S;

std::vector<S> frames()
{
    return {
        {"updateAsync", EAGER | CAPTURED, [](Trackers& w) { w.tracker->updateAsync(w.frame(2), w.out(), w.stream()); }},
        {"updateAsync to the host", EAGER,
         [](Trackers& w) { w.tracker->updateAsync(w.frame(2), w.host[0], w.stream()); }},
        {"update", EAGER, [](Trackers& w) { w.tracker->update(w.frame(2), w.reply); }},
        {"MultiTrackerTLD::update", EAGER | CAPTURED,
         [](Trackers& w) { w.several->update(w.frame(2), w.out(), w.stream()); }},
        {"MultiTrackerTLD::update with boxes", EAGER | CAPTURED,
         [](Trackers& w)
         {
             const std::vector<Rect> boxes = {w.scene.box(2), Rect(92, 21, 30, 30)};
             w.several->update(w.frame(2), boxes, w.out(), w.stream());
         }},
        {"detect", EAGER | CAPTURED, [](Trackers& w) { w.detector->detect(w.frame(2), w.out(), w.stream()); }},
        {"learn", EAGER | CAPTURED, [](Trackers& w) { w.detector->learn(w.frame(2), w.scene.box(2), w.stream()); }},
    };
}

std::vector<S> objects()
{
    return {
        {"init", EAGER, [](Trackers& w) { w.tracker->init(w.frame(2), Rect(90, 20, 30, 30)); }},
        {"TLDDetector::init", EAGER,
         [](Trackers& w) { w.detector->init(w.frame(2), Rect(90, 20, 30, 30), w.stream()); }},
        {"add", EAGER, [](Trackers& w) { w.several->add(w.frame(2), Rect(150, 100, 25, 40), w.stream()); }},
        {"remove", EAGER, [](Trackers& w) { w.several->remove(0); }},
        {"resetTo", EAGER, [](Trackers& w) { w.tracker->resetTo(Rect(70, 70, 24, 22)); }},
        {"getTemplates", EAGER, [](Trackers& w) { w.tracker->getTemplates(false, w.host[0]); }},
        {"getDetections", EAGER, [](Trackers& w) { w.tracker->getDetections(w.host[0]); }},
    };
}

std::vector<S> all()
{
    std::vector<S> list = frames();
    for (const S& s : objects())
        list.push_back(s);
    return list;
}

//! A tracker of two objects. The next frame's boxes end the second one and start two others.
class Changing
{
public:
    explicit Changing(Engine engine)
        : scene_(CV_8UC1, Size(24, 22), 3), engine_(engine), tracker(tld::MultiTrackerTLD::create(params()))
    {
        tracker->add(frame(0).in(), scene_.box(0));
        tracker->add(frame(0).in(), Rect(90, 20, 30, 30));
    }
    //! Processes the next frame with the first `count` boxes.
    void update(size_t count)
    {
        const std::vector<Rect> boxes = {scene_.box(1), Rect(150, 100, 25, 40), Rect(30, 120, 30, 30)};
        tracker->update(frame(1).in(), std::vector<Rect>(boxes.begin(), boxes.begin() + count), results);
    }
    std::string text() const { return tld::textOf(*tracker); }

private:
    static tld::TLDParams params() { return tld::paramsOf("startFromBoxes 1, endAfterMisses 1", smallParams()); }
    tld::Image frame(int t) const { return tld::Image(engine_, scene_.frame(t)); }

    const tld::StandardScene scene_;
    const Engine engine_;

public:
    const Ptr<tld::MultiTrackerTLD> tracker;
    Mat results;
};

/** Each call fails in turn. Either the frame has not been processed, and nothing has changed; or it has been, and the
tracker is what it would be with the boxes of those objects alone that have started. Results are lost only if they
cannot be stored themselves. */
void failWhileObjectsChange(Kind kind, Engine engine)
{
    require(kind);
    const int threads = cv::getNumThreads();
    cv::setNumThreads(1); // faults are for this thread
    const std::string before = Changing(engine).text();
    std::vector<std::string> texts(1);
    std::vector<Mat> rows(1);
    for (size_t count = 1; count <= 3; ++count)
    {
        Changing world(engine);
        world.update(count);
        texts.push_back(world.text());
        rows.push_back(world.results);
        ASSERT_EQ(static_cast<int>(count), world.results.rows) << "one has ended";
    }
    const Mat untouched(5, tld::TrackerTLD::RESULT_COLUMNS, CV_64FC1, Scalar(-7));
    int unchanged = 0, partly = 0;
    bool more = true;
    for (int n = 1; more && !testing::Test::HasFailure(); n += kind == CUDA ? 1 : 1 + n / 64)
    {
        Changing world(engine);
        world.results = untouched.clone();
        forgetKernels();
        Armed armed(kind, n);
        const bool threw = throws<Changing>(kind, world, {"update", EAGER, [](Changing& w) { w.update(3); }});
        armed.disarm();
        more = armed.struck() != nullptr;
        SCOPED_TRACE(cv::format("call %d, %s", n, more ? armed.struck() : "none"));
        expectNoErrorLeft(engine);
        const size_t started = threw ? world.tracker->getIds().size() : 3;
        if (threw && world.text() == before)
        {
            ++unchanged;
            EXPECT_TRUE(sameBits(untouched, world.results));
            world.update(3);
            EXPECT_TRUE(texts[3] == world.text());
            EXPECT_TRUE(sameBits(rows[3], world.results));
            continue;
        }
        partly += started < 3;
        ASSERT_TRUE(started >= 1 && started <= 3);
        EXPECT_TRUE(texts[started] == world.text()) << started - 1 << " objects have started";
        if (!threw || started < 3)
        {
            EXPECT_TRUE(sameBits(rows[started], world.results));
        }
    }
    cv::setNumThreads(threads);
    EXPECT_LT(0, unchanged);
    EXPECT_LT(0, partly);
}

TEST(Tld_Faults, objectsStartAndEnd) { failWhileObjectsChange(MEMORY, Engine::CPU); }

TEST(Tld_Faults, objectsStartAndEndOnCuda)
{
    requireCuda();
    failWhileObjectsChange(faults::CUDA, Engine::CUDA);
    failWhileObjectsChange(MEMORY, Engine::CUDA);
}

TEST(Tld_Faults, memory) { failAll(MEMORY, EAGER, Engine::CPU, 3, all()); }

TEST(Tld_Faults, framesOnCuda)
{
    failAll(faults::CUDA, EAGER, Engine::CUDA, 4, frames());
    failAll(MEMORY, EAGER, Engine::CUDA, 2, frames());
}

TEST(Tld_Faults, objectsOnCuda)
{
    failAll(faults::CUDA, EAGER, Engine::CUDA, 4, objects());
    failAll(MEMORY, EAGER, Engine::CUDA, 3, objects());
}

TEST(Tld_Faults, capturesOnCuda)
{
    failAll(faults::CUDA, CAPTURED, Engine::CUDA, 3, frames());
    failAll(MEMORY, CAPTURED, Engine::CUDA, 1, frames());
}

//! Threads of parallel_for_(), of which the n-th loop (from 1) cannot start any.
class FailingThreads : public cv::parallel::ParallelForAPI
{
public:
    explicit FailingThreads(int n) : left_(n) {}
    void parallel_for(int tasks, FN_parallel_for_body_cb_t body, void* data) override
    {
        if (--left_ == 0)
            CV_Error(Error::StsError, "no thread can be started");
        body(0, tasks, data);
    }
    int getThreadNum() const override { return 0; }
    int getNumThreads() const override { return 2; }
    int setNumThreads(int) override { return 2; }
    const char* getName() const override { return "failing"; }
    bool struck() const { return left_ <= 0; }

private:
    int left_;
};

//! A frame has been processed with all that objects learn from it, or has not, whichever loop cannot start threads.
TEST(Tld_Faults, threads)
{
    const tld::StandardScene scene(CV_8UC1, Size(24, 22), 3);
    const Ptr<tld::MultiTrackerTLD> first = tld::MultiTrackerTLD::create(smallParams());
    for (const Rect& box : {scene.box(0), Rect(90, 20, 30, 30), Rect(150, 100, 25, 40), Rect(30, 120, 30, 30)})
        first->add(scene.frame(0), box); // so many that they are learned by two threads
    const std::string before = tld::textOf(*first);
    Mat expected, results;
    first->update(scene.frame(1), expected);
    const std::string after = tld::textOf(*first);
    ASSERT_TRUE(before != after);
    const int threads = cv::getNumThreads();
    cv::setNumThreads(2);
    int failed = 0, processed = 0;
    for (bool more = true; more && !HasFailure();)
    {
        SCOPED_TRACE(cv::format("loop %d", failed + processed + 1));
        const Ptr<tld::MultiTrackerTLD> multi = tld::MultiTrackerTLD::create();
        tld::readText(*multi, before);
        const auto failing = std::make_shared<FailingThreads>(failed + processed + 1);
        cv::parallel::setParallelForBackend(failing, false);
        const bool threw = thrownBy([&] { multi->update(scene.frame(1), results); }).code != 0;
        cv::parallel::setParallelForBackend(std::shared_ptr<cv::parallel::ParallelForAPI>(), false);
        more = failing->struck();
        if (threw)
        {
            ++failed;
            EXPECT_TRUE(before == tld::textOf(*multi));
            multi->update(scene.frame(1), results);
        }
        else
            ++processed;
        EXPECT_TRUE(after == tld::textOf(*multi));
        EXPECT_TRUE(sameBits(expected, results));
    }
    cv::setNumThreads(threads);
    EXPECT_LT(0, failed);
    EXPECT_LT(1, processed) << "learning begins with a loop, and does not fail";
}

}} // namespace opencv_test
