// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// One instance on many threads: calls are executed one after another, so each gives what it gives on one thread.
#include "../cascade/fuzz.hpp"
#include "../tld/scenes.hpp"
#include "threads.hpp"

namespace opencv_test { namespace {

using fuzz::Engine;
using fuzz::Outputs;

const int THREADS = 8;

//! Streams of the threads; on the CPU there are none.
class Streams
{
public:
    explicit Streams(Engine engine) : streams_(engine == Engine::CUDA ? THREADS : 0) {}
    cuda::Stream& operator[](int thread) { return streams_.empty() ? cuda::noStream() : streams_[thread]; }

private:
    std::vector<cuda::Stream> streams_;
};

//! Calls by thread i.
typedef std::vector<std::function<void(int)>> Actions;
typedef std::vector<std::function<Outputs(int)>> ExactCalls;

//! Calls of one instance.
struct Calls
{
    Actions states;   //!< each replaces all that `exact` depends on
    ExactCalls exact; //!< give what they give on one thread after one of `states`
    Actions others;   //!< leave anything that `states` can replace; may throw cv::Exception
};

//! `exact` and `states` on all threads, then all calls.
void expectWholeCalls(const Calls& calls, int count)
{
    std::vector<std::vector<Outputs>> truths(calls.exact.size());
    for (const auto& state : calls.states)
    {
        state(0);
        for (size_t k = 0; k < truths.size(); ++k)
            truths[k].push_back(calls.exact[k](0));
    }
    for (size_t k = 0; k < truths.size(); ++k)
        ASSERT_FALSE(fuzz::same(truths[k][0], truths[k][1])) << "call " << k << " tells nothing";
    const int exact = static_cast<int>(calls.exact.size()), states = static_cast<int>(calls.states.size());
    onThreads(THREADS,
              [&](int thread) -> std::string
              {
                  RNG rng(thread + 1);
                  for (int i = 0; i < count; ++i)
                  {
                      const int k = rng.uniform(0, exact + states);
                      if (k >= exact)
                      {
                          calls.states[k - exact](thread);
                          continue;
                      }
                      const Outputs given = calls.exact[k](thread);
                      if (std::none_of(truths[k].begin(), truths[k].end(),
                                       [&](const Outputs& truth) { return bool(fuzz::same(truth, given)); }))
                          return cv::format("call %d of kind %d: %s", i, k, fuzz::same(truths[k][0], given).message());
                  }
                  return "";
              });
    onThreads(THREADS,
              [&](int thread) -> std::string
              {
                  RNG rng(thread + 101);
                  const int others = static_cast<int>(calls.others.size());
                  for (int i = 0; i < count; ++i)
                  {
                      const int k = rng.uniform(0, others + exact + states);
                      try
                      {
                          if (k < others)
                              calls.others[k](thread);
                          else if (k < others + exact)
                              calls.exact[k - others](thread);
                          else
                              calls.states[k - others - exact](thread);
                      }
                      catch (const cv::Exception&)
                      {} // the call does not fit what another thread has left
                  }
                  return "";
              });
    calls.states[0](0);
    for (size_t k = 0; k < truths.size(); ++k)
        EXPECT_TRUE(fuzz::same(truths[k][0], calls.exact[k](0))) << "call " << k;
}

Outputs bytesOf(const std::string& text) { return {{"text", asRow(text).clone()}}; }

class Matcher
{
public:
    explicit Matcher(Engine engine)
        : streams(engine),
          rng(1),
          frame(randomImage(rng, Size(90, 70), CV_8UC1)),
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
    Actions states()
    {
        return {[this](int i) { matcher->cutFragments(image.in(), first, noArray(), streams[i]); },
                [this](int i) { matcher->cutFragments(image.in(), second, noArray(), streams[i]); }};
    }
    ExactCalls exact()
    {
        return {[this](int i) -> Outputs
                {
                    Mat locations, scores, confidence, status, refined;
                    matcher->match(image.in(), noArray(), locations, scores, confidence, status, refined, streams[i]);
                    return {{"locations", locations},
                            {"scores", scores},
                            {"confidence", confidence},
                            {"status", status},
                            {"refined", refined}};
                },
                [this](int i) -> Outputs
                {
                    std::vector<cuda::FragmentMatch> matches;
                    matcher->find(image.in(), noArray(), matches, streams[i]);
                    std::vector<Point> found;
                    for (const cuda::FragmentMatch& match : matches)
                        found.insert(found.end(), match.locations.begin(), match.locations.end());
                    return {{"found", columnOf(found)}};
                },
                [this](int i) -> Outputs
                {
                    Mat map;
                    matcher->scoreMap(2, image.in(), Rect(10, 10, 50, 40), map, CV_32F, streams[i]);
                    return {{"map", map}};
                },
                [this](int) -> Outputs
                {
                    const Size size = matcher->getFragmentSize(3);
                    return {{"size", Mat(Vec2i(size.width, size.height)).clone()}};
                }};
    }
    Actions others()
    {
        return {[this](int i) { matcher->addFragment(templ.in(), noArray(), streams[i]); },
                [this](int i) { matcher->updateFragment(1, templ.in(), noArray(), streams[i]); },
                [this](int) { matcher->removeFragment(0); },
                [this](int) { matcher->clear(); },
                [this](int) { matcher->setPredictions(predictions.in()); },
                [this](int) { matcher->setParams(matcher->getParams()); },
                [this](int) { tld::textOf(*matcher); },
                [this](int) { tld::readText(*matcher, text); },
                [this](int) { EXPECT_LE(0, matcher->getFragmentCount() + int(matcher->empty())); },
                [this](int) { matcher->workspaceBytes(); },
                [this](int i)
                {
                    Mat areas;
                    matcher->predictAreas(predictions.in(), 5, frame.size(), areas, streams[i]);
                },
                [this](int i)
                {
                    Mat buffer;
                    std::vector<int> offsets;
                    matcher->scoreMaps(image.in(), noArray(), buffer, offsets, CV_32F, streams[i]);
                }};
    }

private:
    Streams streams;
    RNG rng;
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
        : streams(engine),
          rng(2),
          first(randomImage(rng, Size(44, 36), CV_8UC3, 5)),
          one(engine, first),
          other(engine, randomImage(rng, Size(40, 37), CV_8UC3, 5)),
          text(tld::textOf(*q))
    {}
    Actions states()
    {
        return {[this](int i) { q->compute(one.in(), noArray(), streams[i]); },
                [this](int i) { q->compute(other.in(), noArray(), streams[i]); }};
    }
    ExactCalls exact()
    {
        typedef cuda::QuickShift Q;
        ExactCalls calls = {[this](int i) -> Outputs
                            {
                                Mat labels;
                                q->segment(4., labels, streams[i]);
                                return {{"labels", labels}};
                            },
                            [this](int i) -> Outputs
                            {
                                Mat heights, counts;
                                q->getMergeHeights(heights, counts, streams[i]);
                                return {{"heights", heights}, {"counts", counts}};
                            },
                            [this](int i) -> Outputs
                            {
                                Mat areas, centroids, boxes;
                                q->getStatistics(noArray(), areas, noArray(), centroids, boxes, streams[i]);
                                return {{"areas", areas}, {"centroids", centroids}, {"boxes", boxes}};
                            }};
        for (const auto get : {&Q::getLabels, &Q::getDensity, &Q::getParents, &Q::getDistances, &Q::getSuperpixelCounts,
                               &Q::getAdjacency})
            calls.push_back(
                [this, get](int i) -> Outputs
                {
                    Mat out;
                    ((*q).*get)(out, streams[i]);
                    return {{"out", out}};
                });
        return calls;
    }
    Actions others()
    {
        return {[this](int i) { q->applyTau(5., streams[i]); },
                [this](int i) { q->enforceConnectivity(4, streams[i]); },
                [this](int i) { q->tauForSuperpixels(10, streams[i]); },
                [this](int i) { q->countSuperpixels(5., streams[i]); },
                [this](int) { q->computeTiled(first, Size(20, 20), false); },
                [this](int) { q->computeNoisy(first, Mat(Mat::zeros(first.size(), CV_64FC1))); },
                [this](int) { q->getNumberOfSuperpixels(); },
                [this](int) { q->workspaceBytes(); },
                [this](int) { q->clear(); },
                [this](int) { EXPECT_GE(1, int(q->empty())); },
                [this](int) { tld::textOf(*q); },
                [this](int) { tld::readText(*q, text); },
                [this](int)
                {
                    q->setSigma(q->getSigma());
                    q->setMaxDist(q->getMaxDist());
                    q->setChannelScales(q->getChannelScales());
                    q->setColorScale(q->getColorScale());
                    q->setSearchRadius(q->getSearchRadius());
                    q->setTieRule(q->getTieRule());
                    q->setNormalizeDensity(q->getNormalizeDensity());
                },
                [this](int)
                {
                    std::vector<Mat> labels;
                    q->computeBatch(std::vector<Mat>{first, first}, labels);
                },
                [this](int i)
                {
                    Mat dst;
                    q->getMeanColor(one.in(), dst, streams[i]);
                    q->getLabelContourMask(dst, true, streams[i]);
                }};
    }

private:
    Streams streams;
    RNG rng;
    const Mat first;
    const tld::Image one, other;
    const Ptr<cuda::QuickShift> q = cuda::QuickShift::create(2., 8.);
    const std::string text;
};

class Cascade
{
public:
    explicit Cascade(Engine engine)
        : streams(engine), rng(3), frame(randomImage(rng, Size(70, 60), CV_8UC1, 5)), image(engine, frame)
    {
        for (const uint64 seed : {1, 2})
            files.push_back(bytesOf(cascadeText(CascadeGenerator(seed, frame).make(), ".yml"))[0].second);
        one->setMinNeighbors(0);
        other->setMinNeighbors(0);
        other->loadBuffer(files[0]);
    }
    Actions states()
    {
        return {[this](int) { one->loadBuffer(files[0]); }, [this](int) { one->loadBuffer(files[1]); }};
    }
    ExactCalls exact()
    {
        return {[this](int i) -> Outputs
                {
                    std::vector<Rect> objects;
                    std::vector<int> counts;
                    one->detectMultiScale(image.in(), objects, counts, 1.2, 0, 0, Size(), Size(), noArray(),
                                          streams[i]);
                    return {{"objects", columnOf(objects)}, {"counts", columnOf(counts)}};
                },
                [this](int i) -> Outputs
                {
                    Mat objects, counts;
                    one->detectAsync(image.in(), objects, counts, noArray(), noArray(), streams[i]);
                    return {{"objects", objects}, {"counts", counts}};
                },
                [this](int i) {
                    return together({one, other}, i);
                },
                [this](int i) {
                    return together({other, one}, i);
                }};
    }
    Actions others()
    {
        return {[this](int) { one->clear(); },
                [this](int) { EXPECT_LE(0, one->getNumberOfStages() + int(one->empty())); },
                [this](int) { EXPECT_LE(0, one->clone()->getOriginalWindowSize().width); },
                [this](int) { EXPECT_LE(-1, one->getFeatureType() + one->getOriginalWindowSize().width); },
                [this](int) { one->workspaceBytes(); },
                [this](int) { tld::textOf(*one); },
                [this](int) { tld::readText(*one, tld::textOf(*one)); },
                [this](int)
                {
                    one->setScaleFactor(one->getScaleFactor());
                    one->setMinNeighbors(one->getMinNeighbors());
                    one->setMinObjectSize(one->getMinObjectSize());
                    one->setMaxObjectSize(one->getMaxObjectSize());
                    one->setFindLargestObject(one->getFindLargestObject());
                    one->setMaxObjects(one->getMaxObjects());
                    one->setMaxCandidates(one->getMaxCandidates());
                },
                [this](int)
                {
                    std::vector<double> scales;
                    std::vector<Size> sizes;
                    one->getScales(frame.size(), scales, sizes);
                },
                [this](int i)
                {
                    Mat passes;
                    one->countPasses(image.in(), passes, streams[i]);
                },
                [this](int)
                {
                    std::vector<Rect> boxes;
                    one->convertDetections(Mat(Mat::zeros(1, 3, CV_32SC4)), 0, boxes);
                }};
    }

private:
    //! Detects with two instances in either order: no thread waits for one while it keeps others from the other.
    Outputs together(const std::vector<Ptr<cuda::CascadeClassifierEx>>& cascades, int i)
    {
        std::vector<Mat> objects;
        cuda::CascadeClassifierEx::detectTogether(cascades, image.in(), objects, noArray(), noArray(), streams[i]);
        return {{"first", objects[0]}, {"second", objects[1]}};
    }

    Streams streams;
    RNG rng;
    const Mat frame;
    const tld::Image image;
    std::vector<Mat> files;
    const Ptr<cuda::CascadeClassifierEx> one = cuda::CascadeClassifierEx::create(), other = one->clone();
};

template <class World> void wholeCalls(Engine engine)
{
    World world(engine);
    expectWholeCalls({world.states(), world.exact(), world.others()}, 120);
}

//! Few windows and templates, so that a call takes little time.
tld::TLDParams smallParams()
{
    return tld::paramsOf("trees 3, features 5, scales 2, stepPercent 25, initWarps 2, updateWarps 2, "
                         "initNegatives 10, startFromBoxes 1, endAfterMisses 2");
}

struct TldScene
{
    explicit TldScene(Engine engine)
        : streams(engine), scene(CV_8UC1, Size(24, 22), 3), first(engine, scene.frame(0)), next(engine, scene.frame(1))
    {}

    Rect box() const { return scene.box(0); }
    Rect otherBox() const { return Rect(90, 20, 30, 30); }

    Streams streams;
    const tld::StandardScene scene;
    const tld::Image first, next;
};

Outputs templatesOf(const tld::TLDDetector& detector)
{
    Mat positive;
    detector.getTemplates(true, positive);
    return {{"positive", positive}};
}

void tldDetector(Engine engine)
{
    TldScene s(engine);
    const Ptr<tld::TLDDetector> detector = tld::TLDDetector::create(smallParams());
    Calls calls;
    calls.states = {[&](int i) { detector->init(s.first.in(), s.box(), s.streams[i]); },
                    [&](int i) { detector->init(s.first.in(), s.otherBox(), s.streams[i]); }};
    calls.exact = {[&](int i) -> Outputs
                   {
                       Mat objects;
                       detector->detect(s.next.in(), objects, s.streams[i]);
                       return {{"objects", objects}};
                   },
                   [&](int) { return templatesOf(*detector); }};
    calls.others = {[&](int i) { detector->learn(s.next.in(), s.box(), s.streams[i]); },
                    [&](int) { detector->clear(); },
                    [&](int) { EXPECT_GE(1, int(detector->empty())); },
                    [&](int) { EXPECT_EQ(3, detector->getParams().trees); },
                    [&](int) { detector->workspaceBytes(); },
                    [&](int) { tld::readText(*detector, tld::textOf(*detector)); },
                    [&](int)
                    {
                        const TemporaryFile file(".yml");
                        detector->save(file);
                        detector->load(file);
                    }};
    expectWholeCalls(calls, 60);
}

void trackerTld(Engine engine)
{
    TldScene s(engine);
    const Ptr<tld::TrackerTLD> tracker = tld::TrackerTLD::create(smallParams());
    Calls calls;
    calls.states = {[&](int) { tracker->init(s.first.in(), s.box()); },
                    [&](int) { tracker->init(s.first.in(), s.otherBox()); }};
    calls.exact = {[&](int) { return bytesOf(tld::textOf(*tracker)); },
                   [&](int) -> Outputs
                   {
                       const Rect2d box = tracker->getBox();
                       return {{"box", Mat(Vec4d(box.x, box.y, box.width, box.height))}};
                   }};
    calls.others = {[&](int)
                    {
                        Rect box;
                        tracker->update(s.next.in(), box);
                    },
                    [&](int i)
                    {
                        Mat result;
                        tracker->updateAsync(s.next.in(), result, s.streams[i]);
                    },
                    [&](int)
                    { EXPECT_LE(0., tracker->getState() + tracker->getEvent() + tracker->getTrackingScore()); },
                    [&](int)
                    {
                        Mat table;
                        tracker->getDetections(table);
                        tracker->getTemplates(false, table);
                    },
                    [&](int) { tracker->setLearning(tracker->getLearning()); },
                    [&](int) { tracker->resetTo(s.box()); },
                    [&](int) { EXPECT_EQ(3, tracker->getParams().trees); },
                    [&](int) { tracker->workspaceBytes(); },
                    [&](int) { tld::readText(*tracker, tld::textOf(*tracker)); },
                    [&](int)
                    {
                        const TemporaryFile file(".yml");
                        tracker->save(file);
                        tracker->load(file);
                    }};
    expectWholeCalls(calls, 60);
}

void multiTrackerTld(Engine engine)
{
    TldScene s(engine);
    const Ptr<tld::MultiTrackerTLD> tracker = tld::MultiTrackerTLD::create(smallParams());
    tracker->add(s.first.in(), s.box(), s.streams[0]);
    const TemporaryFile file(".yml");
    const std::string one = tld::textOf(*tracker);
    tracker->saveObject(0, file);
    tracker->add(s.first.in(), s.otherBox(), s.streams[0]);
    const std::string two = tld::textOf(*tracker);
    Calls calls;
    calls.states = {[&](int) { tld::readText(*tracker, one); }, [&](int) { tld::readText(*tracker, two); }};
    calls.exact = {[&](int) { return bytesOf(tld::textOf(*tracker)); },
                   [&](int) -> Outputs {
                       return {{"ids", columnOf(tracker->getIds())}};
                   }};
    calls.others = {[&](int i) { tracker->add(s.first.in(), s.box(), s.streams[i]); },
                    [&](int)
                    {
                        for (const int id : tracker->getIds())
                            tracker->remove(id);
                    },
                    [&](int i) { tracker->addFromFile(s.first.in(), file, s.streams[i]); },
                    [&](int i)
                    {
                        Mat results;
                        tracker->update(s.next.in(), results, s.streams[i]);
                    },
                    [&](int i)
                    {
                        Mat results;
                        tracker->update(s.next.in(), std::vector<Rect>{s.otherBox()}, results, s.streams[i]);
                        EXPECT_GE(11, results.cols);
                    },
                    [&](int)
                    {
                        Mat table;
                        tracker->getDetections(0, table);
                        tracker->getTemplates(0, true, table);
                    },
                    [&](int) { tracker->setLearning(tracker->getLearning()); },
                    [&](int) { tracker->resetTo(0, s.box()); },
                    [&](int) { EXPECT_EQ(3, tracker->getParams().trees); },
                    [&](int) { tracker->workspaceBytes(); },
                    [&](int) { tracker->clear(); },
                    [&](int) { EXPECT_GE(1, int(tracker->empty())); },
                    [&](int)
                    {
                        const TemporaryFile own(".yml");
                        tracker->saveObject(0, own);
                        tracker->save(own);
                        tracker->load(own);
                    }};
    expectWholeCalls(calls, 60);
}

//! All frames are the same, so the model after so many calls does not depend on which threads make them.
void sameModelAfterUpdates(Engine engine)
{
    TldScene s(engine);
    const int each = 5;
    const Ptr<tld::TrackerTLD> expected = tld::TrackerTLD::create(smallParams()),
                               tracker = tld::TrackerTLD::create(smallParams());
    for (const auto& one : {expected, tracker})
        one->init(s.first.in(), s.box());
    const auto update = [&](tld::TrackerTLD& one, int thread)
    {
        Mat row;
        for (int i = 0; i < each; ++i)
            one.updateAsync(s.next.in(), row, s.streams[thread]);
    };
    for (int thread = 0; thread < THREADS; ++thread)
        update(*expected, thread);
    onThreads(THREADS,
              [&](int thread) -> std::string
              {
                  update(*tracker, thread);
                  return "";
              });
    EXPECT_TRUE(fuzz::same(bytesOf(tld::textOf(*expected)), bytesOf(tld::textOf(*tracker))));
}

//! Each new fragment and each new object gets an index or id of its own.
void differentNumbers(Engine engine)
{
    TldScene s(engine);
    const Ptr<cuda::FragmentMatcher> matcher = cuda::FragmentMatcher::create();
    const Ptr<tld::MultiTrackerTLD> tracker = tld::MultiTrackerTLD::create(smallParams());
    std::vector<std::vector<int>> indices(THREADS), ids(THREADS);
    onThreads(THREADS,
              [&](int thread) -> std::string
              {
                  for (int i = 0; i < 4; ++i)
                  {
                      indices[thread].push_back(matcher->addFragment(s.first.in(), noArray(), s.streams[thread]));
                      ids[thread].push_back(tracker->add(s.first.in(), s.box(), s.streams[thread]));
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
TEST(Common_OneInstance, tldDetector) { tldDetector(Engine::CPU); }
TEST(Common_OneInstance, trackerTld) { trackerTld(Engine::CPU); }
TEST(Common_OneInstance, multiTrackerTld) { multiTrackerTld(Engine::CPU); }
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
TEST(Common_CudaOneInstance, tldDetector) { onCuda(tldDetector); }
TEST(Common_CudaOneInstance, trackerTld) { onCuda(trackerTld); }
TEST(Common_CudaOneInstance, multiTrackerTld) { onCuda(multiTrackerTld); }
TEST(Common_CudaOneInstance, sameModelAfterUpdates) { onCuda(sameModelAfterUpdates); }
TEST(Common_CudaOneInstance, differentNumbers) { onCuda(differentNumbers); }

}} // namespace opencv_test
