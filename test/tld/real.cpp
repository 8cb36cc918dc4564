// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// TrackerTLD on real sequences with truth, where CUDATRACKING_TLD_DATA names their folder: means over seeds, compared
// with those of doc/tld.md. samples/tld_benchmark.cpp measures more seeds.
#include "sequence.hpp"

namespace opencv_test { namespace {

using namespace tld;

struct Quality
{
    double f;      //!< F-measure of reported boxes that overlap by more than a quarter
    double absent; //!< number of boxes reported while the object is absent
};

//! Measures as samples/tld_benchmark.cpp: all boxes are moved and scaled by what turns the first one into the truth's
//! first.
Quality run(const Sequence& s, int seed)
{
    const Ptr<TrackerTLD> tracker = TrackerTLD::create(paramsOf(cv::format("seed %d", seed)));
    tracker->init(s.frames[0], s.first);
    const Rect2d a = s.first, b = s.truth[0];
    const double x = (b.x - a.x) / a.width, y = (b.y - a.y) / a.height;
    int right = 1, reported = 1, visible = 1; // the first box
    Quality q = {0., 0.};
    for (size_t t = 1; t < s.frames.size(); ++t)
    {
        Rect rounded;
        const bool located = tracker->update(s.frames[t], rounded), present = !s.truth[t].empty();
        const Rect2d box = tracker->getBox();
        const Rect2d aligned(box.x + x * box.width, box.y + y * box.height, box.width * b.width / a.width,
                             box.height * b.height / a.height);
        visible += present;
        reported += located;
        q.absent += located && !present;
        right += located && present && overlap(s.truth[t], aligned) > 0.25;
    }
    q.f = 2. * right / (reported + visible);
    return q;
}

/** Figures of doc/tld.md: mean and standard deviation over seeds; those of Jumping and Car over all seeds there, those
of Pedestrian2 over the 60 from 20001 on. Any change of a rounding makes other runs, and means of `seeds` runs spread by
deviation / sqrt(seeds). A mean fails when it is worse by more than 0.05, or by two such spreads where these are larger:
an equally good program fails in one of forty cases, and one that is worse by twice the tolerance passes in one of
forty. */
struct Published
{
    const char* name;
    int seeds;
    double f, deviation;
    double absent, absentDeviation; //!< boxes reported while the object is absent
};

void comparePublished(const Published& published)
{
    const Sequence s = requireSequence(published.name);
    const int count = published.seeds;
    std::vector<Quality> runs(count);
    for (int i = 0; i < count; ++i)
        runs[i] = run(s, 1 + i);
    Quality mean = {0., 0.};
    for (const Quality& q : runs)
    {
        mean.f += q.f / count;
        mean.absent += q.absent / count;
    }
    const double spread = 2. / std::sqrt(static_cast<double>(count));
    std::cout << published.name << ": " << s.frames.size() << " frames, " << count << " seeds, mean F " << mean.f
              << ", " << mean.absent << " boxes while absent" << std::endl;
    EXPECT_GE(mean.f, published.f - std::max(0.05, spread * published.deviation));
    EXPECT_LE(mean.absent, published.absent + spread * published.absentDeviation);
}

TEST(Tld_Sequences, jumping) { comparePublished({"jumping", 20, 0.94, 0.11, 0., 0.}); }
TEST(Tld_Sequences, pedestrian1) { comparePublished({"pedestrian1", 10, 0.97, 0.053, 0., 0.}); }
TEST(Tld_Sequences, pedestrian2) { comparePublished({"pedestrian2", 20, 0.90, 0.17, 5.7, 15.5}); }
TEST(Tld_Sequences, pedestrian3) { comparePublished({"pedestrian3", 10, 0.965, 0.04, 5.4, 9.}); }
TEST(Tld_Sequences, david) { comparePublished({"david", 24, 0.947, 0.13, 0., 0.}); }
TEST(Tld_Sequences, car) { comparePublished({"car", 6, 0.96, 0.025, 27.7, 6.5}); }
//! One seed, frame by frame: test/tld/cuda.cpp compares the two backends; here saving in the middle of a real
//! video is compared with continuing.
TEST(Tld_Sequences, savedInTheMiddle)
{
    const Sequence s = requireSequence("car", 260);
    const Ptr<TrackerTLD> whole = TrackerTLD::create(), second = TrackerTLD::create();
    whole->init(s.frames[0], s.first);
    for (size_t t = 1; t < s.frames.size(); ++t)
    {
        const Step expected = advance(*whole, Engine::CPU, s.frames[t]);
        if (t == 130)
            readText(*second, textOf(*whole));
        if (t > 130)
        {
            ASSERT_TRUE(same(expected, advance(*second, Engine::CPU, s.frames[t]))) << "frame " << t;
        }
    }
}

}} // namespace opencv_test
