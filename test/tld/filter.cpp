// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// The rules of the correlation filter by themselves, as a table over all cases: which box is taken, what supports it,
// when it is trained, what it refuses. Trackers that use it, and their files.
#include "scenes.hpp"
#include "../../src/tld/core.hpp"

namespace opencv_test { namespace {

using namespace tld;

namespace core = cv::cuda::tld;

//! Returns an object whose filter knows its usual confidence: .5, and .6 in the first ten frames.
core::ObjectState knownObject()
{
    core::ObjectState s = {};
    s.alive = s.valid = 1;
    s.box = {100, 80, 40, 30};
    s.validThreshold = 0.7;
    s.positives = s.negatives = 10;
    s.filter.width = 40;
    s.filter.height = 30;
    s.filter.started = 1;
    s.filter.scale = 1.;
    s.filter.x = 120;
    s.filter.y = 95;
    s.filter.meanConfidence = 0.5;
    s.filter.firstConfidence = 0.6;
    s.filter.confidences = core::CONFIDENCES;
    return s;
}

core::Settings settingsOfFilter() { return changed(core::Settings{}, "filter 1, maxUnsupported 3"); }

//! @param conservative the conservative similarity.
core::Similarity similar(double conservative)
{
    core::Similarity s = {conservative, conservative, 0., 0}; // dN / (dP + dN) with dN = 1
    s.early = conservative > 0. ? 2. - 1. / conservative : -1e9;
    return s;
}

//! Tracks an object for a frame. @param dx of the answer, cells / FINE. @param windows whether ferns support the box.
core::ObjectState track(core::ObjectState s, float confidence, int dx = 0, double similarity = 0.3, bool windows = true,
                        const std::vector<core::Cluster>& clusters = {})
{
    const core::Settings settings = settingsOfFilter();
    const core::FilterPlace place = core::lastPlace(s);
    core::beginFrame(s);
    core::trackByFilter(s, place.place, 1, {confidence, dx, 0}, 320, 240);
    core::updateSimilarity(s, similar(similarity));
    core::updateSupport(s, windows ? core::fernPositiveSum() : 0, settings);
    const int count = static_cast<int>(clusters.size());
    core::integrate(s, core::compareClusters(s, clusters.data(), count, settings), clusters.data(), count,
                    {120, 80, 40, 30, 1}, settings);
    return s;
}

//! All cases of a frame of an object with a box: strong or not, supported by windows or not, similar or not.
TEST(Tld_Filter, decisions)
{
    const struct
    {
        float confidence;
        bool windows, similar;                 // given
        bool strong, valid, supported, trains; // expected
    } cases[] = {{0.5f, true, true, true, true, true, true},        {0.5f, true, false, true, true, true, true},
                 {0.5f, false, true, true, true, true, true},       {0.5f, false, false, true, true, true, true},
                 {0.21f, true, false, true, true, true, true},     // .4 of the mean, .35 of the first
                 {0.19f, true, false, false, false, false, false}, // below .4 of the mean
                 {0.19f, false, false, false, false, false, false}, {0.19f, true, true, false, true, true, true},
                 {0.19f, false, true, false, true, false, true},    {-0.1f, true, false, false, false, false, false}};
    for (const auto& c : cases)
    {
        SCOPED_TRACE(cv::format("confidence %g, windows %d, similar %d", c.confidence, c.windows, c.similar));
        const core::ObjectState before = knownObject();
        core::ObjectState s = track(before, c.confidence, 32, c.similar ? 0.8 : 0.3, c.windows);
        EXPECT_EQ(core::FILTERED, s.event);
        EXPECT_EQ(1, s.alive);
        EXPECT_NEAR(100. + 0.5 * 5. * std::sqrt(40. * 30.) / 48., s.box.x, 1e-9) << "the box is always the filter's";
        EXPECT_EQ(c.strong, s.filter.strong != 0);
        EXPECT_EQ(c.valid, s.valid != 0);
        EXPECT_EQ(c.supported ? 0 : 1, s.unsupported);
        EXPECT_FALSE(core::endFilter(s, 320, 240));
        EXPECT_EQ(c.trains ? core::TRAINED : core::NOT_TRAINED, s.filter.trains);
        EXPECT_NEAR(c.trains ? 0.9 * 0.5 + 0.1 * c.confidence : 0.5, s.filter.meanConfidence, 1e-6);
    }
}

//! An answer is compared with the mean of the first ten confidences, too, which later ones do not lower.
TEST(Tld_Filter, remembersItsFirstConfidences)
{
    core::ObjectState s = knownObject();
    s.filter.meanConfidence = 0.2;
    EXPECT_TRUE(track(s, 0.181f).filter.strong);
    EXPECT_FALSE(track(s, 0.179f).filter.strong) << "below .3 of the first, though most of the mean";
    s.filter.meanConfidence = s.filter.firstConfidence = 0.;
    s.filter.confidences = 0;
    for (int t = 0; t < 14; ++t)
    {
        s = track(s, 0.4f + 0.02f * t);
        EXPECT_FALSE(core::endFilter(s, 320, 240));
        const double first = 0.4 + 0.02 * std::min(t, 9) / 2.;
        EXPECT_NEAR(t < 10 ? first : s.filter.meanConfidence, s.filter.meanConfidence, 1e-6);
        EXPECT_NEAR(t < 9 ? 0. : first, s.filter.firstConfidence, 1e-6);
    }
}

//! The third frame in a row without a strong answer ends the track, a box outside of the image at once.
TEST(Tld_Filter, losses)
{
    core::ObjectState s = knownObject();
    for (int frame = 1; frame <= 3; ++frame)
    {
        s = track(s, 0.1f);
        EXPECT_EQ(frame < 3 ? 1 : 0, s.alive) << frame;
    }
    EXPECT_EQ(core::BECAME_LOST, s.event);
    s = track(track(track(knownObject(), 0.1f), 0.1f), 0.5f);
    EXPECT_EQ(0, s.unsupported);
    s = knownObject();
    s.filter.x = -15.;
    s = track(s, 0.5f, -core::correlation::FINE * 4);
    EXPECT_EQ(core::BECAME_LOST, s.event);
}

//! Windows neither correct the box nor make it jump; a cluster on it makes it valid.
TEST(Tld_Filter, windowsDoNotMoveTheBox)
{
    const core::Cluster elsewhere = {{200, 150, 40, 30}, 0.95, 6 * core::POSTERIOR_ONE};
    const core::Cluster near = {{102, 80, 40, 30}, 0.8, 6 * core::POSTERIOR_ONE};
    core::ObjectState s = knownObject();
    s.valid = 0;
    s = track(s, 0.5f, 0, 0.3, true, {elsewhere});
    EXPECT_EQ(core::FILTERED, s.event);
    EXPECT_EQ(100., s.box.x);
    EXPECT_EQ(0, s.valid);
    s = track(s, 0.5f, 0, 0.3, true, {near, elsewhere});
    EXPECT_EQ(100., s.box.x);
    EXPECT_EQ(1, s.valid);
}

//! A lost object is the only cluster again if the filter there has half of its mean, and .3 of the first confidences.
TEST(Tld_Filter, verifiesWhatWasFoundAgain)
{
    const core::Cluster there = {{200, 150, 44, 33}, 0.8, 6 * core::POSTERIOR_ONE};
    for (const float confidence : {0.251f, 0.249f})
    {
        core::ObjectState s = knownObject();
        core::endTracking(s);
        s.event = core::NO_EVENT;
        core::beginFrame(s);
        core::integrate(s, {0, 0., 0, -1}, &there, 1, {}, settingsOfFilter());
        EXPECT_EQ(core::FOUND_AGAIN, s.event);
        EXPECT_TRUE(core::endFilter(s, 320, 240));
        EXPECT_EQ(core::NOT_TRAINED, s.filter.trains);
        EXPECT_EQ(222., s.filter.x);
        EXPECT_NEAR(1.1, s.filter.scale, 1e-9);
        core::verifyFound(s, confidence);
        EXPECT_EQ(confidence > 0.25f ? 1 : 0, s.alive);
        EXPECT_EQ(confidence > 0.25f ? core::FOUND_AGAIN : core::NO_EVENT, s.event);
    }
}

//! The second place counts if it is far enough, and its answer larger.
TEST(Tld_Filter, secondPlaces)
{
    const core::ObjectState s = knownObject();
    const double near = 0.1 * std::sqrt(40. * 30.);
    EXPECT_FALSE(core::secondPlace(s, {0, 50., 0.}).there) << "no point";
    EXPECT_FALSE(core::secondPlace(s, {30, near - 0.01, 0.}).there);
    const core::FilterPlace place = core::secondPlace(s, {30, 0., near + 0.01});
    EXPECT_TRUE(place.there);
    EXPECT_NEAR(95. + near + 0.01, place.place.y, 1e-9);
    EXPECT_TRUE(core::takesSecond(place, {0.3f, 0, 0}, {0.31f, 0, 0}));
    EXPECT_FALSE(core::takesSecond(place, {0.3f, 0, 0}, {0.3f, 0, 0}));
    EXPECT_FALSE(core::takesSecond({0, {}}, {0.3f, 0, 0}, {0.4f, 0, 0}));
    core::ObjectState lost = s;
    core::endTracking(lost);
    EXPECT_FALSE(core::lastPlace(lost).there || core::secondPlace(lost, {30, 50., 0.}).there);
}

//! Filters begin where an object has a box, and move with what puts it elsewhere.
TEST(Tld_Filter, beginsAndMoves)
{
    core::ObjectState s = knownObject();
    s.filter.started = 0;
    core::beginFrame(s);
    EXPECT_FALSE(core::endFilter(s, 320, 240));
    EXPECT_EQ(core::BEGUN, s.filter.trains);
    EXPECT_EQ(1, s.filter.started);
    core::resetState(s, {20, 30, 80, 60}, false, 320, 240);
    EXPECT_EQ(60., s.filter.x);
    EXPECT_NEAR(2., s.filter.scale, 1e-9);
    s = knownObject();
    const core::Settings settings = changed(settingsOfFilter(), "correctByBoxes 1");
    core::beginFrame(s);
    core::associateWith(s, {104, 80, 40, 30}, 5, settings);
    EXPECT_FALSE(core::endFilter(s, 320, 240));
    EXPECT_EQ(124., s.filter.x);
    EXPECT_EQ(core::TRAINED, s.filter.trains);
}

// --- trackers --------------------------------------------------------------------------------------------------------

typedef OnEngine Tld_FilterTracker;

//! A red frame whose content changes in every image: points on it cannot be tracked, nor templates be found.
struct Changing
{
    Rect box(int t) const { return Rect(40 + 2 * t, 60 + cvRound(10 * std::sin(0.2 * t)), 44, 40); }
    Mat frame(int t) const
    {
        Mat image = background.clone(), object = texture(100 + t, Size(44, 40), CV_8UC3, 5);
        rectangle(object, Rect(Point(), object.size()), Scalar(10, 10, 240), 6);
        object.copyTo(image(box(t)));
        return image;
    }

    const Mat background = texture(3, Size(240, 180), CV_8UC3, 7);
};

TEST_P(Tld_FilterTracker, followsWhatChanges)
{
    const Changing scene;
    const Ptr<MultiTrackerTLD> trackers[] = {MultiTrackerTLD::create(paramsOf("filter 0")), MultiTrackerTLD::create()};
    double sum[2] = {0., 0.}, least = 1.;
    int filtered[2] = {0, 0}, asked[2] = {0, 0};
    for (const Ptr<MultiTrackerTLD>& tracker : trackers)
        tracker->add(image(scene.frame(0)).in(), scene.box(0));
    const int frames = 40;
    for (int t = 1; t <= frames; ++t)
        for (int k = 0; k < 2; ++k)
        {
            const Mat row = update(*trackers[k], scene.frame(t));
            const double near = overlap(boxOf(row), Rect2d(scene.box(t)));
            sum[k] += near;
            least = k ? std::min(least, near) : least;
            filtered[k] += row.at<double>(0, TrackerTLD::RESULT_EVENT) == TrackerTLD::FILTERED;
            asked[k] += row.at<double>(0, TrackerTLD::RESULT_CONFIDENCE) != 0.;
        }
    EXPECT_LT(0.4, least);
    EXPECT_LT(sum[0] + 0.2 * frames, sum[1]) << "without a filter it is lost";
    EXPECT_EQ(0, filtered[0]);
    EXPECT_EQ(0, asked[0]);
    EXPECT_LT(frames / 2, filtered[1]);
    EXPECT_EQ(frames, asked[1]);
}

//! Saved and read in the middle, trackers of all types of images go on as those that were not.
TEST_P(Tld_FilterTracker, goesOnAfterReading)
{
    const std::pair<int, int> cases[] = {{CV_8UC1, 1}, {CV_8UC1, 46}, {CV_8UC3, 12}, {CV_8UC4, 57}};
    for (const auto& [type, cut] : cases)
    {
        SCOPED_TRACE(testing::Message() << typeToString(type) << ", saved after frame " << cut - 1);
        const StandardScene scene(type);
        const char* const extension = cut % 2 ? ".yml" : ".xml";
        const Ptr<TrackerTLD> whole = trackerOn(scene, engine()), copy = TrackerTLD::create();
        follow(*whole, scene, engine(), 1, cut);
        const std::string text = textOf(*whole, extension);
        readText(*copy, text);
        ASSERT_TRUE(text == textOf(*copy, extension));
        expectSame(follow(*whole, scene, engine(), cut, cut + 4), follow(*copy, scene, engine(), cut, cut + 4));
        ASSERT_TRUE(textOf(*whole) == textOf(*copy));
    }
}

//! A file without a filter is read by trackers with one, which begins where the object has a box; the other way round
//! it is left out.
TEST_P(Tld_FilterTracker, filesWithoutFilter)
{
    const StandardScene scene;
    const TemporaryFile plain(".xml"), filtered(".xml");
    trackerOn(scene, engine(), paramsOf("filter 0"))->save(plain);
    trackerOn(scene, engine())->save(filtered);
    const Ptr<MultiTrackerTLD> with = MultiTrackerTLD::create(),
                               without = MultiTrackerTLD::create(paramsOf("filter 0"));
    with->addFromFile(image(scene.frame(1)).in(), plain);
    with->addFromFile(image(scene.frame(1)).in(), filtered);
    without->addFromFile(image(scene.frame(1)).in(), filtered);
    EXPECT_EQ(std::string::npos, textOf(*without).find("meanConfidence"));
    int asked[2] = {0, 0};
    for (int t = 1; t < 16; ++t)
    {
        const Mat rows = update(*with, scene.frame(t));
        for (int i = 0; i < 2; ++i)
            asked[i] += rows.at<double>(i, TrackerTLD::RESULT_CONFIDENCE) != 0.;
        EXPECT_EQ(0., update(*without, scene.frame(t)).at<double>(0, TrackerTLD::RESULT_CONFIDENCE));
    }
    EXPECT_LT(5, asked[0]);
    EXPECT_LT(5, asked[1]);
}

TEST_P(Tld_FilterTracker, detectorsDoWithout)
{
    const StandardScene scene;
    const Ptr<TLDDetector> with = detectorOn(scene, engine()),
                           without = detectorOn(scene, engine(), paramsOf("filter 0"));
    EXPECT_EQ(std::string::npos, textOf(*with).find("meanConfidence"));
    Mat expected, actual;
    without->detect(image(scene.frame(3)).in(), expected);
    with->detect(image(scene.frame(3)).in(), actual);
    EXPECT_TRUE(sameBits(expected, actual));
    const Ptr<TrackerTLD> tracker = TrackerTLD::create();
    readText(*tracker, textOf(*with));
    EXPECT_TRUE(tracker->getParams().filter);
    for (int t = 0; t < 8; ++t)
        advance(*tracker, engine(), scene.frame(t));
    EXPECT_NE(std::string::npos, textOf(*tracker).find("meanConfidence"))
        << "the filter begins where the object has a box";
}

//! Every value of a filter in a file is checked.
TEST(Tld_Filter, wrongFilesAreRefused)
{
    const StandardScene scene;
    const std::string text = textOf(*trackerOn(scene, Engine::CPU));
    const auto refuses = [&](const std::string& from, const std::string& to)
    {
        std::string other = text;
        const size_t at = other.find(from);
        ASSERT_NE(std::string::npos, at) << from;
        other.replace(at, from.size(), to);
        const Ptr<TrackerTLD> tracker = TrackerTLD::create();
        EXPECT_THROW(readText(*tracker, other), cv::Exception) << from << " -> " << to;
    };
    refuses("confidences: 0", "confidences: 11");
    refuses(" re:", " ra:");
    refuses("firstConfidence: 0.", "firstConfidence: .Inf");
    refuses("scale: 1.", "scale: 1e9");
    refuses("meanConfidence: 0.", "meanConfidence: .Nan");
    const size_t values = text.find("data: [ ", text.find(" im:"));
    ASSERT_NE(std::string::npos, values);
    for (const char* value : {"-.Inf", ".Nan", "-2e6"})
    {
        std::string other = text;
        other.replace(values + 8, text.find(',', values) - values - 8, value);
        EXPECT_THROW(readText(*TrackerTLD::create(), other), cv::Exception) << value;
    }
}

//! A model within its limits can give answers far above 1; what is saved then can be read.
TEST(Tld_Filter, largeAnswersAreRead)
{
    const StandardScene scene;
    std::string text = textOf(*trackerOn(scene, Engine::CPU, paramsOf("filter 1")));
    for (const char* name : {" confidence: ", " meanConfidence: "})
    {
        const size_t at = text.find(name);
        ASSERT_NE(std::string::npos, at) << name;
        text.replace(at, text.find('\n', at) - at, name + std::string("3.0000000000000000e+09"));
    }
    const Ptr<TrackerTLD> tracker = TrackerTLD::create();
    ASSERT_NO_THROW(readText(*tracker, text));
    const std::string saved = textOf(*tracker);
    EXPECT_NE(std::string::npos, saved.find(" confidence: 3"));
    EXPECT_NO_THROW(readText(*tracker, saved));
}

CUDATRACKING_ON_ENGINES(Tld_FilterTracker);

}} // namespace opencv_test
