// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// MultiTrackerTLD: 1 to 64 objects; each is tracked as if it were alone.
#include "scenes_tld.hpp"
#include <cstdio>

namespace opencv_test { namespace {

using namespace tld;

class Tld_Multi : public OnEngine
{
protected:
    Picture picture(const Mat& frame) const { return Picture(engine(), frame); }
    Mat update(MultiTrackerTLD& multi, const Mat& frame) const
    {
        Mat results;
        multi.update(picture(frame).in(), results);
        return results;
    }
};

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
        {
            Placement p;
            p.centre = Point2d((i % columns_ + 0.5) * cell_.width + 9. * std::sin(0.15 * t + i),
                               (i / columns_ + 0.5) * cell_.height + 8. * std::cos(0.11 * t + 2 * i));
            all.push_back(p);
        }
        return all;
    }
    Mat frame(int t) const { return scene.frame(at(t)); }
    Rect box(int t, int i) const { return scene.box(at(t)[i], i); }
    Rect2d truth(int t, int i) const { return scene.truth(at(t)[i], i); }

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

Rect2d boxOf(const Mat& results, int row)
{
    const double* r = results.ptr<double>(row);
    return Rect2d(r[0], r[1], r[2], r[3]);
}

//! The first object's seed is that of a tracker alone.
TEST_P(Tld_Multi, firstObjectIsAsAlone)
{
    typedef StandardScene S;
    const S scene;
    const Ptr<TrackerTLD> alone = trackerOn(scene, engine());
    const Ptr<MultiTrackerTLD> multi = MultiTrackerTLD::create();
    EXPECT_TRUE(multi->empty());
    EXPECT_EQ(0, multi->add(picture(scene.frame(0)).in(), scene.box(0)));
    EXPECT_FALSE(multi->empty());
    for (int t = 1; t < S::FRAMES; ++t)
    {
        if (t == 8) // others do not matter
        {
            EXPECT_EQ(1, multi->add(picture(scene.frame(t - 1)).in(), Rect(5, 110, 37, 50)));
        }
        if (t == 20)
        {
            EXPECT_EQ(2, multi->add(picture(scene.frame(t - 1)).in(), Rect(170, 20, 60, 60)));
        }
        if (t == 30)
            multi->remove(1);
        const Step s = advance(*alone, engine(), scene.frame(t));
        const Mat results = update(*multi, scene.frame(t));
        ASSERT_EQ(Size(8, t < 8 ? 1 : t < 20 ? 2 : t < 30 ? 3 : 2), results.size());
        const double* r = results.ptr<double>();
        ASSERT_EQ(s.inside, boxOf(results, 0)) << "frame " << t;
        ASSERT_EQ(s.score, static_cast<float>(r[SCORE])) << "frame " << t;
        ASSERT_EQ(s.state, r[STATE]);
        ASSERT_EQ(s.located ? 1. : 0., r[LOCATED]);
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
        TLDParams p;
        p.stepPercent = count > 8 ? 20 : 10; // a quarter of the windows
        p.scales = count > 8 ? 3 : 10;
        const Ptr<MultiTrackerTLD> multi = MultiTrackerTLD::create(p);
        for (int i = 0; i < count; ++i)
            ASSERT_EQ(i, multi->add(picture(crowd.frame(0)).in(), crowd.box(0, i)));
        int right = 0, all = 0;
        for (int t = 1; t < (count > 8 ? 4 : 12); ++t)
        {
            const Mat results = update(*multi, crowd.frame(t));
            ASSERT_EQ(Size(8, count), results.size());
            for (int i = 0; i < count; ++i, ++all)
                right += overlap(crowd.truth(t, i), boxOf(results, i)) > 0.5 && results.at<double>(i, LOCATED) == 1.;
        }
        EXPECT_GE(right, all * 97 / 100) << "of " << all;
    }
}

//! Taking objects away and adding others: ids are not used again, and rows follow the ids.
TEST_P(Tld_Multi, comingAndGoing)
{
    const Crowd crowd(6);
    const Ptr<MultiTrackerTLD> multi = MultiTrackerTLD::create();
    for (int i = 0; i < 6; ++i)
        multi->add(picture(crowd.frame(0)).in(), crowd.box(0, i));
    update(*multi, crowd.frame(1));
    multi->remove(0);
    multi->remove(4);
    EXPECT_EQ((std::vector<int>{1, 2, 3, 5}), multi->getIds());
    Mat results = update(*multi, crowd.frame(2));
    const int of[] = {1, 2, 3, 5, 0};
    ASSERT_EQ(4, results.rows);
    EXPECT_EQ(6, multi->add(picture(crowd.frame(2)).in(), crowd.box(2, 0)));
    results = update(*multi, crowd.frame(3));
    ASSERT_EQ(5, results.rows);
    for (int i = 0; i < 5; ++i)
        EXPECT_GT(overlap(crowd.truth(3, of[i]), boxOf(results, i)), 0.5) << i;
    for (const int id : multi->getIds())
        multi->remove(id);
    EXPECT_TRUE(multi->empty());
    results = update(*multi, crowd.frame(4));
    EXPECT_TRUE(results.empty());
    EXPECT_EQ(7, multi->add(picture(crowd.frame(4)).in(), crowd.box(4, 2)));
    multi->clear();
    EXPECT_TRUE(multi->empty());
    const Mat other = texture(4, Size(99, 101), CV_8UC3); // the next one may be of another size
    multi->add(picture(other).in(), Rect(20, 30, 40, 40));
    EXPECT_EQ(1, update(*multi, other).rows);
}

//! Objects that begin alike differ in their random numbers only, and each is as it would be without the others.
TEST_P(Tld_Multi, independentOfOthers)
{
    const Crowd crowd(3);
    std::vector<Mat> first, second;
    for (const bool together : {true, false})
    {
        const Ptr<MultiTrackerTLD> multi = MultiTrackerTLD::create();
        for (int i = 0; i < 3; ++i)
            multi->add(picture(crowd.frame(0)).in(), crowd.box(0, i));
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
    const Ptr<MultiTrackerTLD> multi = MultiTrackerTLD::create();
    for (int i = 0; i < 3; ++i)
        multi->add(picture(crowd.frame(0)).in(), crowd.box(0, i));
    for (int t = 1; t < 6; ++t)
        update(*multi, crowd.frame(t));
    const std::string file = cv::tempfile(".yml");
    multi->saveObject(1, file);
    // A tracker goes on with it as the object itself does.
    const Ptr<TrackerTLD> tracker = TrackerTLD::create();
    tracker->load(file);
    // Added again, it is lost until it is detected.
    EXPECT_EQ(3, multi->addFromFile(picture(crowd.frame(5)).in(), file));
    std::remove(file.c_str());
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
        EXPECT_EQ(s.state, results.at<double>(1, STATE));
        if (t > 7)
        {
            EXPECT_GT(overlap(crowd.truth(t, 1), boxOf(results, 3)), 0.5) << "frame " << t;
        }
    }
}

//! addFromFile() takes over its picture as add() does: for the new object, whether it is the first one or not, and for the others.
TEST_P(Tld_Multi, filesComeWithAPicture)
{
    const Crowd crowd(2);
    const std::string file = cv::tempfile(".yml");
    {
        const Ptr<MultiTrackerTLD> source = MultiTrackerTLD::create();
        source->add(picture(crowd.frame(0)).in(), crowd.box(0, 1));
        source->saveObject(0, file);
    }
    const Ptr<MultiTrackerTLD> alone = MultiTrackerTLD::create(), behind = MultiTrackerTLD::create(),
                               added = MultiTrackerTLD::create();
    for (const Ptr<MultiTrackerTLD>& multi : {behind, added})
    {
        multi->add(picture(crowd.frame(0)).in(), crowd.box(0, 0));
        update(*multi, crowd.frame(1));
    }
    alone->resetTo(alone->addFromFile(picture(crowd.frame(3)).in(), file), crowd.box(3, 1));
    behind->resetTo(behind->addFromFile(picture(crowd.frame(3)).in(), file), crowd.box(3, 1));
    added->add(picture(crowd.frame(3)).in(), crowd.box(3, 1));
    std::remove(file.c_str());
    const Mat one = update(*alone, crowd.frame(4)), two = update(*behind, crowd.frame(4)),
              three = update(*added, crowd.frame(4));
    EXPECT_GT(overlap(crowd.truth(4, 1), boxOf(one, 0)), 0.5);
    EXPECT_TRUE(sameBits(one.row(0).clone(), two.row(1).clone())) << one << two;
    EXPECT_TRUE(sameBits(three.row(0).clone(), two.row(0).clone())) << three << two;
}

TEST_P(Tld_Multi, resetAndLearning)
{
    const Crowd crowd(2);
    const Ptr<MultiTrackerTLD> multi = MultiTrackerTLD::create();
    for (int i = 0; i < 2; ++i)
        multi->add(picture(crowd.frame(0)).in(), crowd.box(0, i));
    EXPECT_TRUE(multi->getLearning());
    multi->setLearning(false);
    EXPECT_FALSE(multi->getLearning());
    Mat before, after;
    multi->getTemplates(1, false, before);
    for (int t = 1; t < 6; ++t)
        EXPECT_EQ(0, countNonZero(update(*multi, crowd.frame(t)).col(LEARNED)));
    multi->getTemplates(1, false, after);
    EXPECT_TRUE(sameBits(before, after));
    multi->resetTo(0, crowd.box(5, 0));
    EXPECT_GT(overlap(crowd.truth(6, 0), boxOf(update(*multi, crowd.frame(6)), 0)), 0.5);
}

CUDATRACKING_ON_ENGINES(Tld_Multi);

}} // namespace opencv_test
