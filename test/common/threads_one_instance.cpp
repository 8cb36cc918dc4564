// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// One instance on many threads: calls are executed one after another, so each gives what it gives on one thread.
#include "../cascade/fuzz.hpp"
#include "../tld/scenes.hpp"
#include "threads.hpp"

namespace opencv_test { namespace {

using cuda::Stream;
using fuzz::Engine;
using fuzz::Outputs;

const int THREADS = 8;

//! Streams of the threads; on the CPU there are none.
class Streams
{
public:
    explicit Streams(Engine engine) : streams_(engine == Engine::CUDA ? THREADS : 0) {}
    Stream& operator[](int thread) { return streams_.empty() ? cuda::noStream() : streams_[thread]; }

private:
    std::vector<Stream> streams_;
};

//! A call on a thread's stream, and the arrays that it gives.
typedef std::vector<Mat> Mats;
typedef std::function<void(Mats&, Stream&)> Call;

//! Calls of one instance.
struct Calls
{
    std::vector<Call> states; //!< each replaces all that `exact` depends on
    std::vector<Call> exact;  //!< give what they give on one thread after one of `states`
    std::vector<Call> others; //!< leave anything that `states` can replace; may throw cv::Exception
};

//! `exact` and `states` on all threads, then all calls.
void expectWholeCalls(Streams& streams, const Calls& calls, int count)
{
    const auto given = [&](const Call& call, int thread)
    {
        Mats arrays(5);
        call(arrays, streams[thread]);
        Outputs outputs;
        for (const Mat& array : arrays)
            outputs.emplace_back(cv::format("array %zu", outputs.size()), array);
        return outputs;
    };
    std::vector<std::vector<Outputs>> truths(calls.exact.size());
    for (const Call& state : calls.states)
    {
        given(state, 0);
        for (size_t k = 0; k < truths.size(); ++k)
            truths[k].push_back(given(calls.exact[k], 0));
    }
    for (size_t k = 0; k < truths.size(); ++k)
        ASSERT_FALSE(fuzz::same(truths[k][0], truths[k][1])) << "call " << k << " tells nothing";
    std::vector<Call> all = calls.exact;
    all.insert(all.end(), calls.states.begin(), calls.states.end());
    const int exact = static_cast<int>(calls.exact.size()), certain = static_cast<int>(all.size());
    all.insert(all.end(), calls.others.begin(), calls.others.end());
    onThreads(
        THREADS,
        [&](int thread) -> std::string
        {
            RNG rng(thread + 1);
            for (int i = 0; i < count; ++i)
            {
                const int k = rng.uniform(0, certain);
                const Outputs outputs = given(all[k], thread);
                if (k < exact && std::none_of(truths[k].begin(), truths[k].end(),
                                              [&](const Outputs& truth) { return bool(fuzz::same(truth, outputs)); }))
                    return cv::format("call %d of kind %d: %s", i, k, fuzz::same(truths[k][0], outputs).message());
            }
            return "";
        });
    onThreads(THREADS,
              [&](int thread) -> std::string
              {
                  RNG rng(thread + 101);
                  for (int i = 0; i < count; ++i)
                      try
                      {
                          given(all[rng.uniform(0, static_cast<int>(all.size()))], thread);
                      }
                      catch (const cv::Exception&)
                      {} // the call does not fit what another thread has left
                  return "";
              });
    given(calls.states[0], 0);
    for (size_t k = 0; k < truths.size(); ++k)
        EXPECT_TRUE(fuzz::same(truths[k][0], given(calls.exact[k], 0))) << "call " << k;
}

Mat bytesOf(const std::string& text) { return asRow(text).clone(); }

class Matcher
{
public:
    explicit Matcher(Engine engine)
        : frame(randomImage(1, Size(90, 70), CV_8UC1)),
          image(engine, frame),
          templ(engine, frame(Rect(20, 20, 9, 9)).clone()),
          predictions(engine, Mat(Mat::zeros(5, 1, CV_32SC2))),
          text(tld::textOf(*matcher))
    {
        for (int i = 0; i < 5; ++i)
        {
            first.emplace_back(3 + 11 * i, 5 + 7 * i, 9, 9);
            second.emplace_back(60 - 11 * i, 5 + 7 * i, 11, 8);
        }
    }
    Calls calls()
    {
        return {{[this](Mats&, Stream& s) { matcher->cutFragments(image.in(), first, noArray(), s); },
                 [this](Mats&, Stream& s) { matcher->cutFragments(image.in(), second, noArray(), s); }},
                {[this](Mats& m, Stream& s) { matcher->match(image.in(), noArray(), m[0], m[1], m[2], m[3], m[4], s); },
                 [this](Mats& m, Stream& s)
                 {
                     std::vector<cuda::FragmentMatch> matches;
                     matcher->find(image.in(), noArray(), matches, s);
                     for (const cuda::FragmentMatch& match : matches)
                         m[0].push_back(columnOf(match.locations));
                 },
                 [this](Mats& m, Stream& s)
                 { matcher->scoreMap(2, image.in(), Rect(10, 10, 50, 40), m[0], CV_32F, s); },
                 [this](Mats& m, Stream&)
                 {
                     const Size size = matcher->getFragmentSize(3);
                     m[0] = Mat(Vec2i(size.width, size.height)).clone();
                 }},
                {[this](Mats&, Stream& s) { matcher->addFragment(templ.in(), noArray(), s); },
                 [this](Mats&, Stream& s) { matcher->updateFragment(1, templ.in(), noArray(), s); },
                 [this](Mats&, Stream&) { matcher->removeFragment(0); }, [this](Mats&, Stream&) { matcher->clear(); },
                 [this](Mats&, Stream&) { matcher->setPredictions(predictions.in()); },
                 [this](Mats&, Stream&) { matcher->setParams(matcher->getParams()); },
                 [this](Mats&, Stream&) { tld::textOf(*matcher); },
                 [this](Mats&, Stream&) { tld::readText(*matcher, text); },
                 [this](Mats&, Stream&) { EXPECT_LE(0, matcher->getFragmentCount() + int(matcher->empty())); },
                 [this](Mats&, Stream&) { matcher->workspaceBytes(); },
                 [this](Mats& m, Stream& s) { matcher->predictAreas(predictions.in(), 5, frame.size(), m[0], s); },
                 [this](Mats& m, Stream& s)
                 {
                     std::vector<int> offsets;
                     matcher->scoreMaps(image.in(), noArray(), m[0], offsets, CV_32F, s);
                 }}};
    }

private:
    const Mat frame;
    const tld::Image image, templ, predictions;
    const Ptr<cuda::FragmentMatcher> matcher = cuda::FragmentMatcher::create();
    const std::string text;
    std::vector<Rect> first, second;
};

class Shift
{
public:
    explicit Shift(Engine engine)
        : rng(2),
          first(randomImage(rng, Size(44, 36), CV_8UC3, 5)),
          one(engine, first),
          other(engine, randomImage(rng, Size(40, 37), CV_8UC3, 5)),
          text(tld::textOf(*q))
    {}
    Calls calls()
    {
        typedef cuda::QuickShift Q;
        Calls calls = {
            {[this](Mats&, Stream& s) { q->compute(one.in(), noArray(), s); },
             [this](Mats&, Stream& s) { q->compute(other.in(), noArray(), s); }},
            {[this](Mats& m, Stream& s) { q->segment(4., m[0], s); },
             [this](Mats& m, Stream& s) { q->getMergeHeights(m[0], m[1], s); },
             [this](Mats& m, Stream& s) { q->getStatistics(noArray(), m[0], noArray(), m[1], m[2], s); }},
            {[this](Mats&, Stream& s) { q->applyTau(5., s); },
             [this](Mats&, Stream& s) { q->enforceConnectivity(4, s); },
             [this](Mats&, Stream& s) { q->tauForSuperpixels(10, s); },
             [this](Mats&, Stream& s) { q->applyNumber(10, 0, s); },
             [this](Mats&, Stream& s) { q->countSuperpixels(5., s); },
             [this](Mats&, Stream&) { q->computeTiled(first, Size(20, 20), false); },
             [this](Mats&, Stream&) { q->computeNoisy(first, Mat(Mat::zeros(first.size(), CV_64FC1))); },
             [this](Mats&, Stream&) { q->getNumberOfSuperpixels(); }, [this](Mats&, Stream&) { q->workspaceBytes(); },
             [this](Mats&, Stream&) { q->clear(); }, [this](Mats&, Stream&) { EXPECT_GE(1, int(q->empty())); },
             [this](Mats&, Stream&) { tld::textOf(*q); }, [this](Mats&, Stream&) { tld::readText(*q, text); },
             [this](Mats&, Stream&)
             {
                 q->setSigma(q->getSigma());
                 q->setMaxDist(q->getMaxDist());
                 q->setChannelScales(q->getChannelScales());
                 q->setColorScale(q->getColorScale());
                 q->setSearchRadius(q->getSearchRadius());
                 q->setTieRule(q->getTieRule());
                 q->setNormalizeDensity(q->getNormalizeDensity());
             },
             [this](Mats& m, Stream&) {
                 q->computeBatch(Mats{first, first}, m);
             },
             [this](Mats& m, Stream& s)
             {
                 q->getMeanColor(one.in(), m[0], s);
                 q->getLabelContourMask(m[0], true, s);
             }}};
        for (const auto get : {&Q::getLabels, &Q::getDensity, &Q::getParents, &Q::getDistances, &Q::getSuperpixelCounts,
                               &Q::getAdjacency})
            calls.exact.push_back([this, get](Mats& m, Stream& s) { ((*q).*get)(m[0], s); });
        return calls;
    }

private:
    RNG rng;
    const Mat first;
    const tld::Image one, other;
    const Ptr<cuda::QuickShift> q = cuda::QuickShift::create(2., 8.);
    const std::string text;
};

class Cascade
{
public:
    explicit Cascade(Engine engine) : frame(randomImage(3, Size(70, 60), CV_8UC1, 5)), image(engine, frame)
    {
        for (const uint64 seed : {1, 2})
            files.push_back(bytesOf(cascadeText(CascadeGenerator(seed, frame).make(), ".xml")));
        one->setMinNeighbors(0);
    }
    Calls calls()
    {
        return {{[this](Mats&, Stream&) { one->loadBuffer(files[0]); },
                 [this](Mats&, Stream&) { one->loadBuffer(files[1]); }},
                {[this](Mats& m, Stream& s)
                 {
                     std::vector<Rect> objects;
                     std::vector<int> counts;
                     one->detectMultiScale(image.in(), objects, counts, 1.2, 0, 0, Size(), Size(), noArray(), s);
                     m = {columnOf(objects), columnOf(counts)};
                 },
                 [this](Mats& m, Stream& s) { one->detectAsync(image.in(), m[0], m[1], noArray(), noArray(), s); }},
                {[this](Mats&, Stream&) { one->clear(); },
                 [this](Mats&, Stream&) { EXPECT_LE(0, one->getNumberOfStages() + int(one->empty())); },
                 [this](Mats&, Stream&) { EXPECT_LE(0, one->clone()->getOriginalWindowSize().width); },
                 [this](Mats&, Stream&) { EXPECT_LE(-1, one->getFeatureType() + one->getOriginalWindowSize().width); },
                 [this](Mats&, Stream&) { one->workspaceBytes(); }, [this](Mats&, Stream&) { tld::textOf(*one); },
                 [this](Mats&, Stream&) { tld::readText(*one, tld::textOf(*one)); },
                 [this](Mats&, Stream&)
                 {
                     one->setScaleFactor(one->getScaleFactor());
                     one->setMinNeighbors(one->getMinNeighbors());
                     one->setMinObjectSize(one->getMinObjectSize());
                     one->setMaxObjectSize(one->getMaxObjectSize());
                     one->setFindLargestObject(one->getFindLargestObject());
                     one->setMaxObjects(one->getMaxObjects());
                     one->setMaxCandidates(one->getMaxCandidates());
                 },
                 [this](Mats&, Stream&)
                 {
                     std::vector<double> scales;
                     std::vector<Size> sizes;
                     one->getScales(frame.size(), scales, sizes);
                 },
                 [this](Mats& m, Stream& s) { one->countPasses(image.in(), m[0], s); },
                 [this](Mats&, Stream&)
                 {
                     std::vector<Rect> boxes;
                     one->convertDetections(Mat(Mat::zeros(1, 3, CV_32SC4)), 0, boxes);
                 }}};
    }

private:
    typedef cuda::CascadeClassifierEx Classifier;

    const Mat frame;
    const tld::Image image;
    Mats files;
    const Ptr<Classifier> one = Classifier::create();
};

//! Few windows and templates, so that a call takes little time.
tld::TLDParams smallParams()
{
    return tld::paramsOf("trees 3, features 5, scales 2, stepPercent 25, initWarps 2, updateWarps 2, "
                         "initNegatives 10, startFromBoxes 1, endAfterMisses 2");
}

struct TldScene
{
    explicit TldScene(Engine engine)
        : scene(CV_8UC1, Size(24, 22), 3), first(engine, scene.frame(0)), next(engine, scene.frame(1))
    {}

    Rect box() const { return scene.box(0); }
    Rect otherBox() const { return Rect(90, 20, 30, 30); }

    const tld::StandardScene scene;
    const tld::Image first, next;
};

template <class Learned> void saveAndLoad(Learned& learned)
{
    const TemporaryFile file(".xml");
    learned.save(file);
    learned.load(file);
}

class Detector : TldScene
{
public:
    using TldScene::TldScene;
    Calls calls()
    {
        return {{[this](Mats&, Stream& s) { detector->init(first.in(), box(), s); },
                 [this](Mats&, Stream& s) { detector->init(first.in(), otherBox(), s); }},
                {[this](Mats& m, Stream& s) { detector->detect(next.in(), m[0], s); },
                 [this](Mats& m, Stream&) { detector->getTemplates(true, m[0]); }},
                {[this](Mats&, Stream& s) { detector->learn(next.in(), box(), s); },
                 [this](Mats&, Stream&) { detector->clear(); },
                 [this](Mats&, Stream&) { EXPECT_GE(1, int(detector->empty())); },
                 [this](Mats&, Stream&) { EXPECT_EQ(3, detector->getParams().trees); },
                 [this](Mats&, Stream&) { detector->workspaceBytes(); },
                 [this](Mats&, Stream&) { tld::readText(*detector, tld::textOf(*detector)); },
                 [this](Mats&, Stream&) { saveAndLoad(*detector); }}};
    }

private:
    const Ptr<tld::TLDDetector> detector = tld::TLDDetector::create(smallParams());
};

class Tracker : TldScene
{
public:
    using TldScene::TldScene;
    Calls calls()
    {
        return {{[this](Mats&, Stream&) { tracker->init(first.in(), box()); },
                 [this](Mats&, Stream&) { tracker->init(first.in(), otherBox()); }},
                {[this](Mats& m, Stream&) { m[0] = bytesOf(tld::textOf(*tracker)); },
                 [this](Mats& m, Stream&)
                 {
                     const Rect2d box = tracker->getBox();
                     m[0] = Mat(Vec4d(box.x, box.y, box.width, box.height)).clone();
                 }},
                {[this](Mats&, Stream&)
                 {
                     Rect box;
                     tracker->update(next.in(), box);
                 },
                 [this](Mats& m, Stream& s) { tracker->updateAsync(next.in(), m[0], s); },
                 [this](Mats&, Stream&)
                 { EXPECT_LE(0., tracker->getState() + tracker->getEvent() + tracker->getTrackingScore()); },
                 [this](Mats& m, Stream&)
                 {
                     tracker->getDetections(m[0]);
                     tracker->getTemplates(false, m[0]);
                 },
                 [this](Mats&, Stream&) { tracker->setLearning(tracker->getLearning()); },
                 [this](Mats&, Stream&) { tracker->resetTo(box()); },
                 [this](Mats&, Stream&) { EXPECT_EQ(3, tracker->getParams().trees); },
                 [this](Mats&, Stream&) { tracker->workspaceBytes(); },
                 [this](Mats&, Stream&) { tld::readText(*tracker, tld::textOf(*tracker)); },
                 [this](Mats&, Stream&) { saveAndLoad(*tracker); }}};
    }

private:
    const Ptr<tld::TrackerTLD> tracker = tld::TrackerTLD::create(smallParams());
};

class Trackers : TldScene
{
public:
    explicit Trackers(Engine engine) : TldScene(engine)
    {
        tracker->add(first.in(), box());
        one = tld::textOf(*tracker);
        tracker->saveObject(0, file);
        tracker->add(first.in(), otherBox());
        two = tld::textOf(*tracker);
    }
    Calls calls()
    {
        return {{[this](Mats&, Stream&) { tld::readText(*tracker, one); },
                 [this](Mats&, Stream&) { tld::readText(*tracker, two); }},
                {[this](Mats& m, Stream&) { m[0] = bytesOf(tld::textOf(*tracker)); },
                 [this](Mats& m, Stream&) { m[0] = columnOf(tracker->getIds()); }},
                {[this](Mats&, Stream& s) { tracker->add(first.in(), box(), s); },
                 [this](Mats&, Stream&)
                 {
                     for (const int id : tracker->getIds())
                         tracker->remove(id);
                 },
                 [this](Mats&, Stream& s) { tracker->addFromFile(first.in(), file, s); },
                 [this](Mats& m, Stream& s) { tracker->update(next.in(), m[0], s); },
                 [this](Mats& m, Stream& s)
                 {
                     tracker->update(next.in(), std::vector<Rect>{otherBox()}, m[0], s);
                     EXPECT_GE(static_cast<int>(cv::cuda::TrackerTLD::RESULT_COLUMNS), m[0].cols);
                 },
                 [this](Mats& m, Stream&)
                 {
                     tracker->getDetections(0, m[0]);
                     tracker->getTemplates(0, true, m[0]);
                 },
                 [this](Mats&, Stream&) { tracker->setLearning(tracker->getLearning()); },
                 [this](Mats&, Stream&) { tracker->resetTo(0, box()); },
                 [this](Mats&, Stream&) { EXPECT_EQ(3, tracker->getParams().trees); },
                 [this](Mats&, Stream&) { tracker->workspaceBytes(); }, [this](Mats&, Stream&) { tracker->clear(); },
                 [this](Mats&, Stream&) { EXPECT_GE(1, int(tracker->empty())); },
                 [this](Mats&, Stream&)
                 {
                     const TemporaryFile own(".xml");
                     tracker->saveObject(0, own);
                     saveAndLoad(*tracker);
                 }}};
    }

private:
    const Ptr<tld::MultiTrackerTLD> tracker = tld::MultiTrackerTLD::create(smallParams());
    const TemporaryFile file{".xml"};
    std::string one, two;
};

template <class World> void wholeCalls(Engine engine)
{
    Streams streams(engine);
    World world(engine);
    expectWholeCalls(streams, world.calls(), std::is_base_of<TldScene, World>::value ? 60 : 120);
}

//! All frames are the same, so the model after so many calls does not depend on which threads make them.
void sameModelAfterUpdates(Engine engine)
{
    Streams streams(engine);
    const TldScene s(engine);
    const Ptr<tld::TrackerTLD> expected = tld::TrackerTLD::create(smallParams()),
                               tracker = tld::TrackerTLD::create(smallParams());
    for (const auto& one : {expected, tracker})
        one->init(s.first.in(), s.box());
    const auto update = [&](tld::TrackerTLD& one, int thread)
    {
        Mat row;
        for (int i = 0; i < 5; ++i)
            one.updateAsync(s.next.in(), row, streams[thread]);
        return std::string();
    };
    for (int thread = 0; thread < THREADS; ++thread)
        update(*expected, thread);
    onThreads(THREADS, [&](int thread) { return update(*tracker, thread); });
    EXPECT_TRUE(sameBits(bytesOf(tld::textOf(*expected)), bytesOf(tld::textOf(*tracker))));
}

//! Each new fragment and each new object gets an index or id of its own.
void differentNumbers(Engine engine)
{
    Streams streams(engine);
    const TldScene s(engine);
    const Ptr<cuda::FragmentMatcher> matcher = cuda::FragmentMatcher::create();
    const Ptr<tld::MultiTrackerTLD> tracker = tld::MultiTrackerTLD::create(smallParams());
    std::vector<std::vector<int>> indices(THREADS), ids(THREADS);
    onThreads(THREADS,
              [&](int thread) -> std::string
              {
                  for (int i = 0; i < 4; ++i)
                  {
                      indices[thread].push_back(matcher->addFragment(s.first.in(), noArray(), streams[thread]));
                      ids[thread].push_back(tracker->add(s.first.in(), s.box(), streams[thread]));
                  }
                  return "";
              });
    for (const auto& lists : {indices, ids})
    {
        std::vector<int> all;
        for (const std::vector<int>& list : lists)
            all.insert(all.end(), list.begin(), list.end());
        std::sort(all.begin(), all.end());
        for (int i = 0; i < static_cast<int>(all.size()); ++i)
            EXPECT_EQ(i, all[i]);
    }
}

TEST(Common_OneInstance, fragmentMatcher) { wholeCalls<Matcher>(Engine::CPU); }
TEST(Common_OneInstance, quickShift) { wholeCalls<Shift>(Engine::CPU); }
TEST(Common_OneInstance, cascade) { wholeCalls<Cascade>(Engine::CPU); }
TEST(Common_OneInstance, tldDetector) { wholeCalls<Detector>(Engine::CPU); }
TEST(Common_OneInstance, trackerTld) { wholeCalls<Tracker>(Engine::CPU); }
TEST(Common_OneInstance, multiTrackerTld) { wholeCalls<Trackers>(Engine::CPU); }
TEST(Common_OneInstance, sameModelAfterUpdates) { sameModelAfterUpdates(Engine::CPU); }
TEST(Common_OneInstance, differentNumbers) { differentNumbers(Engine::CPU); }

void onCuda(void (*test)(Engine))
{
    requireCuda();
    test(Engine::CUDA);
}

TEST(Common_CudaOneInstance, fragmentMatcher) { onCuda(wholeCalls<Matcher>); }
TEST(Common_CudaOneInstance, quickShift) { onCuda(wholeCalls<Shift>); }
TEST(Common_CudaOneInstance, cascade) { onCuda(wholeCalls<Cascade>); }
TEST(Common_CudaOneInstance, tldDetector) { onCuda(wholeCalls<Detector>); }
TEST(Common_CudaOneInstance, trackerTld) { onCuda(wholeCalls<Tracker>); }
TEST(Common_CudaOneInstance, multiTrackerTld) { onCuda(wholeCalls<Trackers>); }
TEST(Common_CudaOneInstance, sameModelAfterUpdates) { onCuda(sameModelAfterUpdates); }
TEST(Common_CudaOneInstance, differentNumbers) { onCuda(differentNumbers); }

}} // namespace opencv_test
