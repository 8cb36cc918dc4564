// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// MultiTrackerTLD: 1 to 64 objects; each is tracked as if it were alone.
#include "scenes.hpp"
#include <functional>

namespace opencv_test { namespace {

using namespace tld;

typedef OnEngine Tld_Multi;

//! Objects of all sizes that each move on a curve of their own, and do not meet.
struct Crowd
{
    explicit Crowd(int count, Size cell = Size(64, 60), int columns = 4)
        : cell_(cell),
          columns_(std::min(count, columns)),
          scene(Size(cell.width * columns_, cell.height * ((count + columns_ - 1) / columns_)), sizes(count), CV_8UC1,
                21)
    {}
    std::vector<Placement> at(int t) const
    {
        std::vector<Placement> all;
        for (int i = 0; i < int(scene.objects.size()); ++i)
            all.push_back({Point2d((i % columns_ + 0.5) * cell_.width + 9. * std::sin(0.15 * t + i),
                                   (i / columns_ + 0.5) * cell_.height + 8. * std::cos(0.11 * t + 2 * i))});
        return all;
    }
    Mat frame(int t) const { return scene.frame(at(t)); }
    Rect box(int t, int i) const { return scene.box(at(t)[i], i); }
    Rect2d truth(int t, int i) const { return scene.truth(at(t)[i], i); }
    //! Returns a tracker that was given the first objects in frame 0.
    Ptr<MultiTrackerTLD> tracked(Engine engine, int count, const TLDParams& params = TLDParams()) const
    {
        const Ptr<MultiTrackerTLD> tracker = MultiTrackerTLD::create(params);
        for (int i = 0; i < count; ++i)
            tracker->add(Image(engine, frame(0)).in(), box(0, i));
        return tracker;
    }

private:
    static std::vector<Size> sizes(int count)
    {
        std::vector<Size> all;
        for (int i = 0; i < count; ++i)
            all.emplace_back(24 + 3 * (i % 5), 26 + 2 * (i % 7));
        return all;
    }

    Size cell_;
    int columns_;

public:
    Composite scene;
};

//! The first object's seed is that of a tracker alone.
TEST_P(Tld_Multi, firstObjectIsAsAlone)
{
    typedef StandardScene S;
    const S scene;
    const Ptr<TrackerTLD> alone = trackerOn(scene, engine());
    const Ptr<MultiTrackerTLD> multi = MultiTrackerTLD::create();
    EXPECT_TRUE(multi->empty());
    EXPECT_EQ(0, multi->add(image(scene.frame(0)).in(), scene.box(0)));
    EXPECT_FALSE(multi->empty());
    for (int t = 1; t < S::FRAMES; ++t)
    {
        if (t == 8) // others do not matter
        {
            EXPECT_EQ(1, multi->add(image(scene.frame(t - 1)).in(), Rect(5, 110, 37, 50)));
        }
        if (t == 20)
        {
            EXPECT_EQ(2, multi->add(image(scene.frame(t - 1)).in(), Rect(170, 20, 60, 60)));
        }
        if (t == 30)
            multi->remove(1);
        const Step s = advance(*alone, engine(), scene.frame(t));
        const Mat results = update(*multi, scene.frame(t));
        ASSERT_EQ(Size(TrackerTLD::RESULT_COLUMNS, t < 8 ? 1 : t < 20 ? 2 : t < 30 ? 3 : 2), results.size());
        const double* r = results.ptr<double>();
        ASSERT_EQ(s.inside, boxOf(results, 0)) << "frame " << t;
        ASSERT_EQ(s.score, static_cast<float>(r[TrackerTLD::RESULT_SCORE])) << "frame " << t;
        ASSERT_EQ(s.state, r[TrackerTLD::RESULT_STATE]);
        ASSERT_EQ(s.located ? 1. : 0., r[TrackerTLD::RESULT_LOCATED]);
        Mat detections, positives;
        multi->getDetections(0, detections);
        multi->getTemplates(0, true, positives);
        ASSERT_TRUE(sameBits(s.detections, detections)) << "frame " << t;
        ASSERT_TRUE(sameBits(templatesOf(*alone, true), positives)) << "frame " << t;
    }
    EXPECT_EQ((std::vector<int>{0, 2}), multi->getIds());
}

TEST_P(Tld_Multi, oneToSixtyFour)
{
    for (const int count : {1, 2, 7, 33, 64})
    {
        SCOPED_TRACE(count);
        const Crowd crowd(count);
        const char* const params = count > 8 ? "stepPercent 20, scales 3" : ""; // a quarter of the windows
        const Ptr<MultiTrackerTLD> multi = MultiTrackerTLD::create(paramsOf(params));
        for (int i = 0; i < count; ++i)
            ASSERT_EQ(i, multi->add(image(crowd.frame(0)).in(), crowd.box(0, i)));
        int right = 0, all = 0;
        for (int t = 1; t < (count > 8 ? 4 : 12); ++t)
        {
            const Mat results = update(*multi, crowd.frame(t));
            ASSERT_EQ(Size(TrackerTLD::RESULT_COLUMNS, count), results.size());
            for (int i = 0; i < count; ++i, ++all)
                right += overlap(crowd.truth(t, i), boxOf(results, i)) > 0.5 &&
                         results.at<double>(i, TrackerTLD::RESULT_LOCATED) == 1.;
        }
        EXPECT_GE(right, all * 97 / 100) << "of " << all;
    }
}

//! Taking objects away and adding others: ids are not used again, and rows follow the ids.
TEST_P(Tld_Multi, comingAndGoing)
{
    const Crowd crowd(6);
    const Ptr<MultiTrackerTLD> multi = crowd.tracked(engine(), 6);
    update(*multi, crowd.frame(1));
    multi->remove(0);
    multi->remove(4);
    EXPECT_EQ((std::vector<int>{1, 2, 3, 5}), multi->getIds());
    Mat results = update(*multi, crowd.frame(2));
    const int of[] = {1, 2, 3, 5, 0};
    ASSERT_EQ(4, results.rows);
    EXPECT_EQ(6, multi->add(image(crowd.frame(2)).in(), crowd.box(2, 0)));
    results = update(*multi, crowd.frame(3));
    ASSERT_EQ(5, results.rows);
    for (int i = 0; i < 5; ++i)
        EXPECT_GT(overlap(crowd.truth(3, of[i]), boxOf(results, i)), 0.5) << i;
    for (const int id : multi->getIds())
        multi->remove(id);
    EXPECT_TRUE(multi->empty());
    results = update(*multi, crowd.frame(4));
    EXPECT_TRUE(results.empty());
    EXPECT_EQ(7, multi->add(image(crowd.frame(4)).in(), crowd.box(4, 2)));
    multi->clear();
    EXPECT_TRUE(multi->empty());
    const Mat other = texture(4, Size(99, 101), CV_8UC3); // the next one may be of another size
    multi->add(image(other).in(), Rect(20, 30, 40, 40));
    EXPECT_EQ(1, update(*multi, other).rows);
}

//! Objects that begin alike differ in their random numbers only, and each is as it would be without the others.
TEST_P(Tld_Multi, independentOfOthers)
{
    const Crowd crowd(3);
    std::vector<Mat> first, second;
    for (const bool together : {true, false})
    {
        const Ptr<MultiTrackerTLD> multi = crowd.tracked(engine(), 3);
        if (!together)
        {
            multi->remove(0);
            multi->remove(2);
        }
        for (int t = 1; t < 15; ++t)
            (together ? first : second).push_back(update(*multi, crowd.frame(t)).row(together ? 1 : 0).clone());
    }
    for (size_t t = 0; t < first.size(); ++t)
        ASSERT_TRUE(sameBits(first[t], second[t])) << "frame " << t + 1;
}

TEST_P(Tld_Multi, savedObjects)
{
    const Crowd crowd(3);
    const Ptr<MultiTrackerTLD> multi = crowd.tracked(engine(), 3);
    for (int t = 1; t < 6; ++t)
        update(*multi, crowd.frame(t));
    const TemporaryFile file(".xml");
    multi->saveObject(1, file);
    // A tracker goes on with it as the object itself does.
    const Ptr<TrackerTLD> tracker = TrackerTLD::create();
    tracker->load(file);
    // Added again, it is lost until it is detected.
    EXPECT_EQ(3, multi->addFromFile(image(crowd.frame(5)).in(), file));
    Mat expected, actual;
    multi->getTemplates(1, true, expected);
    multi->getTemplates(3, true, actual);
    EXPECT_TRUE(sameBits(expected, actual));
    for (int t = 6; t < 12; ++t)
    {
        const Step s = advance(*tracker, engine(), crowd.frame(t));
        const Mat results = update(*multi, crowd.frame(t));
        ASSERT_EQ(4, results.rows);
        EXPECT_EQ(s.inside, boxOf(results, 1)) << "frame " << t;
        EXPECT_EQ(s.state, results.at<double>(1, TrackerTLD::RESULT_STATE));
        if (t > 7)
        {
            EXPECT_GT(overlap(crowd.truth(t, 1), boxOf(results, 3)), 0.5) << "frame " << t;
        }
    }
}

//! addFromFile() takes over its image as add() does: for the new object, whether it is the first one or not, and for
//! the others.
TEST_P(Tld_Multi, filesComeWithAImage)
{
    const Crowd crowd(2);
    const TemporaryFile file(".xml");
    {
        const Ptr<MultiTrackerTLD> source = MultiTrackerTLD::create();
        source->add(image(crowd.frame(0)).in(), crowd.box(0, 1));
        source->saveObject(0, file);
    }
    const Ptr<MultiTrackerTLD> alone = MultiTrackerTLD::create(), behind = MultiTrackerTLD::create(),
                               added = MultiTrackerTLD::create();
    for (const Ptr<MultiTrackerTLD>& multi : {behind, added})
    {
        multi->add(image(crowd.frame(0)).in(), crowd.box(0, 0));
        update(*multi, crowd.frame(1));
    }
    alone->resetTo(alone->addFromFile(image(crowd.frame(3)).in(), file), crowd.box(3, 1));
    behind->resetTo(behind->addFromFile(image(crowd.frame(3)).in(), file), crowd.box(3, 1));
    added->add(image(crowd.frame(3)).in(), crowd.box(3, 1));
    const Mat one = update(*alone, crowd.frame(4)), two = update(*behind, crowd.frame(4)),
              three = update(*added, crowd.frame(4));
    EXPECT_GT(overlap(crowd.truth(4, 1), boxOf(one, 0)), 0.5);
    EXPECT_TRUE(sameBits(one.row(0).colRange(0, TrackerTLD::RESULT_ID).clone(),
                         two.row(1).colRange(0, TrackerTLD::RESULT_ID).clone()))
        << one << two;
    EXPECT_TRUE(sameBits(three.row(0).clone(), two.row(0).clone())) << three << two;
    expectRefused([&] { added->addFromFile(image(texture(4, Size(99, 101), CV_8UC1)).in(), file); },
                  {"image: has 99 x 101 pixels"});
}

TEST_P(Tld_Multi, resetAndLearning)
{
    const Crowd crowd(2);
    const Ptr<MultiTrackerTLD> multi = crowd.tracked(engine(), 2);
    EXPECT_TRUE(multi->getLearning());
    multi->setLearning(false);
    EXPECT_FALSE(multi->getLearning());
    Mat before, after;
    multi->getTemplates(1, false, before);
    for (int t = 1; t < 6; ++t)
        EXPECT_EQ(0, countNonZero(update(*multi, crowd.frame(t)).col(TrackerTLD::RESULT_LEARNED)));
    multi->getTemplates(1, false, after);
    EXPECT_TRUE(sameBits(before, after));
    multi->resetTo(0, crowd.box(5, 0));
    EXPECT_GT(overlap(crowd.truth(6, 0), boxOf(update(*multi, crowd.frame(6)), 0)), 0.5);
}

//! The natural order: the next frame comes, a detector sees something new in it, add(), update(). Nobody notices but
//! the new object, which is tracked as if it were alone.
TEST_P(Tld_Multi, addedWithTheNextFrame)
{
    const Crowd crowd(3);
    const Ptr<MultiTrackerTLD> multi = MultiTrackerTLD::create(), others = MultiTrackerTLD::create(),
                               alone = MultiTrackerTLD::create();
    for (const Ptr<MultiTrackerTLD>& tracker : {multi, others})
        tracker->add(image(crowd.frame(0)).in(), crowd.box(0, 0));
    for (int t = 1; t < 20; ++t)
    {
        if (t == 5 || t == 12) // and one that is gone before the update, and whose image does not matter any more
            multi->remove(multi->add(image(crowd.frame(t + 2)).in(), crowd.box(t + 2, 2)));
        if (t == 5)
        {
            EXPECT_EQ(2, multi->add(image(crowd.frame(t)).in(), crowd.box(t, 1)));
            for (int i = 0; i < 3; ++i)
                alone->add(image(crowd.frame(t)).in(), crowd.box(t, 1));
            alone->remove(0);
            alone->remove(1);
        }
        const Mat results = update(*multi, crowd.frame(t));
        ASSERT_TRUE(sameBits(update(*others, crowd.frame(t)), results.row(0).clone())) << "frame " << t;
        if (t < 5)
            continue;
        ASSERT_EQ(2, results.rows);
        ASSERT_TRUE(sameBits(update(*alone, crowd.frame(t)), results.row(1).clone())) << "frame " << t;
        EXPECT_GT(overlap(crowd.truth(t, 1), boxOf(results, 1)), 0.5) << "frame " << t;
    }
}

//! An object begins in the image of add() also when update() gets a later frame; the others go on from their last
//! frame.
TEST_P(Tld_Multi, addedWithAFrameThatOthersMiss)
{
    const Crowd crowd(2);
    const Ptr<MultiTrackerTLD> multi = MultiTrackerTLD::create(), others = MultiTrackerTLD::create(),
                               alone = MultiTrackerTLD::create();
    for (const Ptr<MultiTrackerTLD>& tracker : {multi, others})
    {
        tracker->add(image(crowd.frame(0)).in(), crowd.box(0, 0));
        update(*tracker, crowd.frame(1));
    }
    multi->add(image(crowd.frame(2)).in(), crowd.box(2, 1));
    for (int i = 0; i < 2; ++i)
        alone->add(image(crowd.frame(2)).in(), crowd.box(2, 1));
    alone->remove(0);
    for (int t = 3; t < 8; ++t)
    {
        const Mat frame =
            t == 3 ? texture(99, crowd.frame(0).size()) : crowd.frame(t); // flow fails, and is tried again
        const Mat results = update(*multi, frame);
        ASSERT_TRUE(sameBits(update(*others, frame), results.row(0).clone())) << "frame " << t;
        ASSERT_TRUE(sameBits(update(*alone, frame), results.row(1).clone())) << "frame " << t;
    }
}

//! Failed flow is retried from the image of add() as long as that is kept, and not from another image that replaced it.
TEST_P(Tld_Multi, startIsReplacedWhileFlowIsTriedAgain)
{
    const Crowd crowd(3);
    for (const bool replaced : {false, true})
    {
        const Ptr<MultiTrackerTLD> multi = MultiTrackerTLD::create(flowOnly());
        multi->add(image(crowd.frame(0)).in(), crowd.box(0, 0));
        update(*multi, crowd.frame(0));
        multi->add(image(crowd.frame(1)).in(), crowd.box(1, 1));
        const Mat failed = update(*multi, texture(99, crowd.frame(0).size()));
        ASSERT_EQ(0, countNonZero(failed.col(TrackerTLD::RESULT_LOCATED)));
        if (replaced)
            multi->add(image(crowd.frame(2)).in(), crowd.box(2, 2));
        const Mat results = update(*multi, crowd.frame(2));
        EXPECT_EQ(1., results.at<double>(0, TrackerTLD::RESULT_LOCATED));
        EXPECT_EQ(replaced ? 0. : 1., results.at<double>(1, TrackerTLD::RESULT_LOCATED));
    }
}

//! Between two updates objects may be added with the last frame and then with the next one, but not with two next ones.
TEST_P(Tld_Multi, addedWithTwoImages)
{
    const Crowd crowd(4);
    const Ptr<MultiTrackerTLD> multi = MultiTrackerTLD::create(), same = MultiTrackerTLD::create();
    const TemporaryFile file(".xml");
    for (const Ptr<MultiTrackerTLD>& tracker : {multi, same})
    {
        tracker->add(image(crowd.frame(0)).in(), crowd.box(0, 0));
        if (tracker == same)
            update(*same, crowd.frame(0));                         // a frame to itself: nothing moves
        tracker->add(image(crowd.frame(1)).in(), crowd.box(1, 1)); // frame 0 is the last one
        update(*tracker, crowd.frame(1));
        tracker->add(image(crowd.frame(1)).in(), crowd.box(1, 2));
        tracker->add(image(crowd.frame(2)).in(), crowd.box(2, 3));
    }
    multi->saveObject(0, file);
    const std::vector<std::string> says = {"call update() with that one before"};
    for (const int t : {1, 3}) // before and behind the next frame
    {
        expectRefused([&] { multi->add(image(crowd.frame(t)).in(), crowd.box(t, 1)); }, says);
        expectRefused([&] { multi->addFromFile(image(crowd.frame(t)).in(), file); }, says);
    }
    for (int t = 2; t < 6; ++t)
    {
        const Mat results = update(*multi, crowd.frame(t));
        EXPECT_TRUE(sameBits(update(*same, crowd.frame(t)).rowRange(1, 4).clone(), results.rowRange(1, 4).clone()));
        for (int i = 0; i < 4; ++i)
            EXPECT_GT(overlap(crowd.truth(t, i), boxOf(results, i)), 0.5) << "frame " << t << ", object " << i;
    }
    for (const int id : multi->getIds())
        multi->remove(id);
    multi->add(image(crowd.frame(5)).in(), crowd.box(5, 0));
    multi->remove(4);
    multi->add(image(crowd.frame(7)).in(), crowd.box(7, 0)); // nobody is left who began elsewhere
}

//! A tracker read from a file continues as the one that was saved, also between add() with the next frame and update().
class Tld_SavedMulti : public Tld_Multi
{
protected:
    Tld_SavedMulti()
    {
        params.seed = 8;
        params.minReplyScore = 0.125f;
    }
    Ptr<MultiTrackerTLD> withThree() const { return crowd.tracked(engine(), 3, params); }
    //! A tracker that read what another one has saved.
    Ptr<MultiTrackerTLD> copyOf(const MultiTrackerTLD& original) const
    {
        const TemporaryFile file(".xml");
        original.save(file);
        const Ptr<MultiTrackerTLD> copy = MultiTrackerTLD::create();
        copy->load(file);
        EXPECT_EQ(textOf(original), textOf(*copy));
        EXPECT_EQ(params.seed, copy->getParams().seed);
        EXPECT_EQ(original.getLearning(), copy->getLearning());
        EXPECT_EQ(original.getIds(), copy->getIds());
        return copy;
    }

    const Crowd crowd{4};
    TLDParams params;
};

TEST_P(Tld_SavedMulti, goesOnAsIfNothingHadHappened)
{
    const Ptr<MultiTrackerTLD> multi = withThree();
    Ptr<MultiTrackerTLD> copy = copyOf(*multi);
    const auto both = [&](const std::function<void(MultiTrackerTLD&)>& call)
    {
        call(*multi);
        call(*copy);
    };
    for (int t = 1; t < 14; ++t)
    {
        SCOPED_TRACE(t);
        if (t == 6)
        {
            both([](MultiTrackerTLD& m) { m.remove(1); });
            both([&](MultiTrackerTLD& m) { EXPECT_EQ(3, m.add(image(crowd.frame(6)).in(), crowd.box(6, 3))); });
            copy = copyOf(*multi); // one object is in the next frame already
        }
        if (t == 9)
            both([&](MultiTrackerTLD& m) { m.resetTo(0, crowd.box(8, 0)); });
        if (t == 11)
            both([](MultiTrackerTLD& m) { m.setLearning(false); });
        const Mat frame =
            t == 8 ? texture(99, crowd.frame(0).size()) : crowd.frame(t); // flow fails, and is tried again
        ASSERT_TRUE(sameBits(update(*multi, frame), update(*copy, frame)));
        ASSERT_EQ(textOf(*multi), textOf(*copy));
        if (t != 3 && t != 5)
            copy = copyOf(*multi);
    }
    both([](MultiTrackerTLD& m) { m.clear(); });
    copy = copyOf(*multi);
    both([&](MultiTrackerTLD& m) { EXPECT_EQ(4, m.add(image(crowd.frame(0)).in(), crowd.box(0, 0))); });
}

//! A file that was read is a tracker like any other when objects are added and removed before its first frame.
TEST_P(Tld_SavedMulti, changedBeforeTheFirstFrame)
{
    const Ptr<MultiTrackerTLD> multi = withThree();
    update(*multi, crowd.frame(1));
    const Ptr<MultiTrackerTLD> copy = copyOf(*multi);
    for (const Ptr<MultiTrackerTLD>& tracker : {multi, copy})
    {
        tracker->remove(0);
        tracker->resetTo(2, crowd.box(1, 2));
        EXPECT_THROW(tracker->add(image(crowd.frame(1)).in(), Rect(1, 1, 3, 3)), cv::Exception);
        EXPECT_EQ(3, tracker->add(image(crowd.frame(2)).in(), crowd.box(2, 3)));
    }
    EXPECT_EQ(textOf(*multi), textOf(*copy));
    EXPECT_TRUE(sameBits(update(*multi, crowd.frame(2)), update(*copy, crowd.frame(2))));
}

//! An empty list is read as nothing from XML.
TEST_P(Tld_SavedMulti, withoutObjects)
{
    const TemporaryFile file(".xml");
    const Ptr<MultiTrackerTLD> saved = MultiTrackerTLD::create(), loaded = MultiTrackerTLD::create();
    saved->save(file);
    loaded->load(file);
    EXPECT_TRUE(loaded->empty());
    EXPECT_EQ(0, loaded->add(Image(engine(), texture(1, Size(160, 120))).in(), Rect(30, 20, 40, 40)));
}

CUDATRACKING_ON_ENGINES(Tld_SavedMulti);
CUDATRACKING_ON_ENGINES(Tld_Multi);

//! Files of one object and of several are told apart.
TEST(Tld_Files, oneOrSeveral)
{
    const Crowd crowd(1);
    const Ptr<MultiTrackerTLD> multi = MultiTrackerTLD::create();
    multi->add(crowd.frame(0), crowd.box(0, 0));
    const TemporaryFile one(".xml"), all(".xml");
    multi->saveObject(0, one);
    multi->save(all);
    const std::string before = textOf(*multi);
    expectRefused([&] { multi->load(one); }, {"addFromFile()"});
    expectRefused([&] { multi->addFromFile(crowd.frame(0), all); }, {"MultiTrackerTLD::load()"});
    expectRefused([&] { TrackerTLD::create()->load(all); }, {"MultiTrackerTLD::load()"});
    EXPECT_EQ(before, textOf(*multi));
}

}} // namespace opencv_test
