// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// The rules of the correlation filter by themselves: which box is taken, when it is trained, what it refuses.
#include "scenes.hpp"
#include "../../src/cpu/tld/frame_store.hpp"

namespace opencv_test { namespace {

using namespace tld;

namespace core = cv::cuda::tld;

//! A frame in which an object with a filter was asked: its state after flow, and before the frame.
struct Asked
{
    core::ObjectState before = {}, now = {};

    explicit Asked(double confidence, bool alive = true, bool few = false)
    {
        before.alive = before.valid = 1;
        before.box = {100, 80, 40, 30};
        before.filter.width = 40;
        before.filter.height = 30;
        before.filter.started = 1;
        before.filter.scale = 1.;
        before.filter.x = 120;
        before.filter.y = 95;
        before.validThreshold = 0.7;
        before.positives = before.negatives = 10;
        now = before;
        now.alive = alive;
        now.valid = alive && !few;
        now.few = few;
        now.event = alive ? core::FLOWED : core::BECAME_LOST;
        now.box = {103, 81, 40, 30};
        now.filter.confidence = confidence;
        now.filter.x = 125;
    }
    //! @param conservative one of the result.
    static core::Similarity similar(double conservative)
    {
        core::Similarity s = {conservative, conservative, 0., 0}; // dN / (dP + dN) with dN = 1
        s.early = conservative > 0. ? 2. - 1. / conservative : -1e9;
        return s;
    }
    //! @param similarity conservative one of flow's box.
    const core::ObjectState& fuse(double similarity)
    {
        core::fuse(now, before, similar(similarity), 320, 240);
        return now;
    }
};

TEST(Tld_Filter, takesItsBoxWhereFlowIsNotSure)
{
    EXPECT_EQ(core::FLOWED, Asked(0.3).fuse(0.8).event) << "similar to the object";
    EXPECT_EQ(103., Asked(0.3).fuse(0.8).box.x);
    const core::ObjectState taken = Asked(0.3).fuse(0.6);
    EXPECT_EQ(core::FILTERED, taken.event);
    EXPECT_EQ(105., taken.box.x);
    EXPECT_TRUE(taken.valid && taken.fast && taken.filter.strong && taken.filter.supports);
    EXPECT_EQ(core::FILTERED, Asked(0.09).fuse(0.6).event) << "weak";
    EXPECT_TRUE(Asked(0.09).fuse(0.6).valid);
    EXPECT_FALSE(Asked(0.09).fuse(0.6).filter.supports);
    EXPECT_EQ(core::FLOWED, Asked(0.079).fuse(0.6).event);
    Asked doubtful(0.09), doubtfulFew(0.09, true, true), doubtfulStrong(0.11);
    doubtful.before.valid = doubtfulFew.before.valid = doubtfulStrong.before.valid = 0;
    EXPECT_EQ(core::FLOWED, doubtful.fuse(0.6).event) << "weak does not do where the object was not valid";
    EXPECT_EQ(core::FILTERED, doubtfulFew.fuse(0.6).event);
    EXPECT_EQ(core::FILTERED, doubtfulStrong.fuse(0.6).event);
    EXPECT_EQ(core::BECAME_LOST, Asked(0.09, false).fuse(0.).event) << "weak does not do when flow has failed";
    EXPECT_EQ(core::FILTERED, Asked(0.11, false).fuse(0.).event);
    EXPECT_EQ(core::FILTERED, Asked(0.09, true, true).fuse(0.9).event) << "few points";
    EXPECT_FALSE(Asked(0.09, true, true).fuse(0.9).valid);
    EXPECT_TRUE(Asked(0.11, true, true).fuse(0.9).valid);
    for (bool alive : {false, true})
    {
        Asked counted(0.11, alive);
        counted.before.unsupported = 2;
        counted.before.onProbation = 70;
        counted.now.unsupported = alive ? 2 : 0; // as failed flow leaves them
        counted.now.onProbation = alive ? 70 : 0;
        const core::ObjectState& kept = counted.fuse(0.6);
        EXPECT_EQ(2, kept.unsupported) << "the object was not lost, so frames without support go on";
        EXPECT_EQ(70, kept.onProbation);
    }
    Asked known(0.2);
    known.now.filter.meanConfidence = 0.5;
    known.now.filter.confidences = 1;
    EXPECT_FALSE(known.fuse(0.6).filter.strong) << "below half of the mean, though it is that of one frame";
    known.now.filter.meanConfidence = 0.39;
    EXPECT_TRUE(known.fuse(0.6).filter.strong);
    Asked outside(0.5);
    outside.now.filter.x = -30.;
    EXPECT_EQ(core::FLOWED, outside.fuse(0.6).event);
}

//! Where most points of flow are wrong, the box of an answer below .4 of the mean must be similar to the object, as
//! flow's would have to be. Otherwise the object is lost, and flow is tried again.
TEST(Tld_Filter, verifiesItsBoxWhereFlowHasFewPoints)
{
    const auto after = [](double confidence, double similarity, bool few = true)
    {
        Asked a(confidence, true, few);
        a.now.filter.meanConfidence = 0.5;
        a.now.filter.confidences = 10;
        a.now.retries = few ? 3 : 0;
        EXPECT_EQ(core::FILTERED, a.fuse(0.4).event);
        core::updateSimilarity(a.now, Asked::similar(similarity));
        return a.now;
    };
    const core::ObjectState lost = after(0.199, 0.5);
    EXPECT_EQ(core::BECAME_LOST, lost.event);
    EXPECT_TRUE(!lost.alive && lost.retries == 3);
    const core::ObjectState similar = after(0.199, 0.501);
    EXPECT_EQ(core::FILTERED, similar.event);
    EXPECT_TRUE(similar.alive && similar.retries == 0);
    EXPECT_TRUE(after(0.201, 0.1).alive);
    EXPECT_EQ(0, after(0.201, 0.1).retries);
    EXPECT_TRUE(after(0.199, 0.1, false).alive) << "flow has moved the box by all its points";
}

//! The score of the last box speaks for flow only while the object is not valid; flow must have moved the box itself.
TEST(Tld_Filter, leavesBoxesToFlowOfWhichTheFernsWereSure)
{
    const auto event = [](double score, bool valid, bool alive = true, bool few = false)
    {
        Asked a(0.3, alive, few);
        a.before.score = score;
        a.before.valid = a.now.valid = valid;
        return a.fuse(0.4).event;
    };
    EXPECT_EQ(core::FLOWED, event(0.5, false));
    EXPECT_EQ(core::FILTERED, event(0.499, false));
    EXPECT_EQ(core::FILTERED, event(0.9, true));
    EXPECT_EQ(core::FILTERED, event(0.9, false, true, true)) << "few points";
    EXPECT_EQ(core::FILTERED, event(0.9, false, false)) << "flow has failed";
}

//! An answer of less than three quarters of the mean confidence gives the box, but no support.
TEST(Tld_Filter, supportsWhereItsConfidenceHasNotFallen)
{
    for (const double confidence : {0.299, 0.301})
        for (const double similarity : {0.6, 0.8}) // the box is the filter's, or flow's near it
        {
            Asked a(confidence);
            a.now.filter.meanConfidence = 0.4;
            a.now.filter.confidences = 10;
            const core::ObjectState& s = a.fuse(similarity);
            EXPECT_TRUE(s.filter.strong);
            EXPECT_EQ(similarity < 0.7 ? core::FILTERED : core::FLOWED, s.event);
            EXPECT_EQ(confidence >= 0.3, s.filter.supports != 0) << confidence << ", " << similarity;
        }
}

//! Where more than a fifth of the box is outside of the image .6 of the mean will do, as no window can lie there.
TEST(Tld_Filter, supportsBoxesThatReachOutOfTheImageFromALowerConfidence)
{
    for (const double outside : {0.199, 0.201})
        for (const double confidence : {0.239, 0.241})
            for (const bool across : {true, false})
                for (const double similarity : {0.6, 0.8}) // the box is the filter's, or flow's near it
                {
                    Asked a(confidence);
                    (across ? a.now.box.x : a.now.box.y) = across ? 320 - 40 * (1 - outside) : -30 * outside;
                    a.now.filter.x = a.now.box.x + 20;
                    a.now.filter.y = a.now.box.y + 15;
                    a.now.filter.meanConfidence = 0.4;
                    a.now.filter.confidences = 10;
                    EXPECT_EQ(outside > 0.2 && confidence > 0.24, a.fuse(similarity).filter.supports != 0)
                        << outside << ", " << confidence << ", " << across << ", " << similarity;
                }
}

//! A box that is not valid is supported from a confidence of .25 on, if that is also half of the mean or more.
TEST(Tld_Filter, supportsBoxesThatAreNotValid)
{
    core::Settings settings = changed(core::Settings{}, "maxUnsupported 1, trees 10");
    for (const double mean : {0.3, 0.45, 0.51})
        for (const double confidence : {0.249, 0.251})
            for (const double outside : {0., 0.3})
                for (const double similarity : {0.6, 0.65}) // the box is the filter's, or flow's near it
                {
                    SCOPED_TRACE(cv::format("%g, %g, %g, %g", mean, confidence, outside, similarity));
                    Asked a(confidence);
                    a.before.valid = a.now.valid = 0;
                    a.before.score = similarity > 0.6 ? 0.5 : 0.4;
                    a.now.box.x = 320 - 40 * (1 - outside);
                    a.now.filter.x = a.now.box.x + 20;
                    a.now.filter.y = a.now.box.y + 15;
                    a.now.filter.meanConfidence = mean;
                    a.now.filter.confidences = 10;
                    a.fuse(similarity);
                    EXPECT_FALSE(a.now.valid);
                    const bool expected = confidence > 0.25 && mean < 0.5;
                    EXPECT_EQ(expected, a.now.filter.supports != 0);
                    core::updateSupport(a.now, 0, settings);
                    EXPECT_EQ(expected, a.now.alive != 0);
                }
    Asked apart(0.5);
    apart.before.valid = apart.now.valid = 0;
    apart.before.score = 0.5;
    apart.now.box.x = 150; // which flow keeps
    EXPECT_EQ(core::FLOWED, apart.fuse(0.6).event);
    EXPECT_FALSE(apart.now.filter.supports) << "its answer is elsewhere";
}

//! A box near an answer that supports it is not left for a more similar place.
TEST(Tld_Filter, keepsTheBoxItSupportsFromJumping)
{
    core::Settings settings = {};
    settings.jumpMargin = 0.1;
    settings.trees = 10;
    const core::Cluster elsewhere = {{250, 200, 40, 30}, 0.95, core::fernPositiveSum() * 10};
    const auto jumps = [&](core::ObjectState& s) { return core::compareClusters(s, &elsewhere, 1, settings).better; };
    for (const double confidence : {0.249, 0.251, 0.299, 0.301})
        for (const bool valid : {true, false})
            for (const double similarity : {0.6, 0.8}) // the box is the filter's, or flow's near it
            {
                SCOPED_TRACE(cv::format("%g, %d, %g", confidence, valid, similarity));
                Asked a(confidence);
                a.before.valid = a.now.valid = valid;
                a.now.filter.meanConfidence = 0.4;
                a.now.filter.confidences = 10;
                a.fuse(similarity);
                EXPECT_EQ(confidence < (valid ? 0.3 : 0.25), jumps(a.now) != 0);
                core::beginFrame(a.now);
                EXPECT_TRUE(jumps(a.now)) << "it has not been asked in this frame";
            }
    Asked apart(0.5);
    apart.now.box.x = 150; // which flow keeps
    EXPECT_EQ(core::FLOWED, apart.fuse(0.8).event);
    EXPECT_TRUE(jumps(apart.now)) << "its answer is elsewhere";
    Asked weak(0.09);
    EXPECT_TRUE(weak.fuse(0.6).filter.weak);
    EXPECT_TRUE(jumps(weak.now));
}

//! Below half of the mean, windows do not support a box that is not valid. A detector's box supports it still.
TEST(Tld_Filter, deniesTheSupportOfWindows)
{
    const core::Settings settings = changed(core::Settings{}, "maxUnsupported 1, trees 10");
    const auto supported = [&](double confidence, bool valid, double similarity, bool matched = false)
    {
        Asked a(confidence);
        a.now.filter.meanConfidence = 0.5;
        a.now.filter.confidences = 10;
        a.fuse(similarity);
        a.now.valid = valid;
        a.now.matched = matched;
        core::updateSimilarity(a.now, Asked::similar(similarity));
        core::updateSupport(a.now, core::fernPositiveSum(), settings);
        return a.now.alive != 0;
    };
    EXPECT_FALSE(supported(0.249, false, 0.6));
    EXPECT_FALSE(supported(0.05, false, 0.1)) << "not even weak";
    EXPECT_TRUE(supported(0.251, false, 0.6));
    EXPECT_TRUE(supported(0.249, true, 0.6));
    EXPECT_TRUE(supported(0.249, false, 0.8)) << "so similar that it becomes valid";
    EXPECT_TRUE(supported(0.249, false, 0.6, true)) << "a detector's box";
    Asked a(0.249);
    a.now.filter.meanConfidence = 0.5;
    a.fuse(0.4);
    EXPECT_TRUE(a.now.filter.denies);
    core::beginFrame(a.now);
    EXPECT_FALSE(a.now.filter.denies) << "it has not been asked in this frame";
}

//! The second place is where the forward tracks lead, whatever flow makes of them.
TEST(Tld_Filter, looksWhereTheForwardTracksLead)
{
    Asked a(0.);
    a.before.filter.x = 121.; // its own centre, not that of the box
    // A tenth of the root of 1200 is 3.46.
    EXPECT_FALSE(core::secondPlace(a.before, {50, 3.4, 0.}).there);
    EXPECT_TRUE(core::secondPlace(a.before, {1, 3.5, 0.}).there);
    EXPECT_TRUE(core::secondPlace(a.before, {50, -2.5, 2.5}).there);
    EXPECT_FALSE(core::secondPlace(a.before, {0, 30., 40.}).there) << "no track";
    const core::SecondPlace place = core::secondPlace(a.before, {50, 30., -40.});
    EXPECT_EQ(151., place.x);
    EXPECT_EQ(55., place.y);
}

//! The forward tracks are those of all points that they do not lose, though the backward ones may lose them.
TEST(Tld_Filter, medianOfTheForwardTracks)
{
    const core::Settings settings =
        changed(core::Settings{}, "flowWindow 9, flowLevels 5, flowIterations 20, flowEpsilon 0.03, maxFlowError 10, "
                                  "retryFrames 3, stepPercent 10");
    const Mat first = texture(7, Size(400, 300), CV_8UC1, 4);
    Mat moved;
    warpAffine(first, moved, Matx23d(1, 0, 6, 0, 1, -4), first.size(), INTER_LINEAR, BORDER_REFLECT);
    Mat half = moved.clone(), blocks;
    half(Rect(212, 130, 30, 40)).setTo(90); // four of the ten columns of points are covered
    // Within a square of 25 pixels no point has a gradient to be tracked back by.
    resize(moved, blocks, moved.size() / 25, 0., 0., INTER_AREA);
    resize(blocks, blocks, moved.size(), 0., 0., INTER_NEAREST);
    Asked a(0.);
    a.before.box = {180, 140, 40, 30};
    const auto shift = [&](const Mat& second, core::ObjectState& state)
    {
        core::FrameStore frames;
        frames.create(first.cols, first.rows, settings);
        frames.preprocess(cv::cuda::detail::viewOf(first));
        frames.push();
        frames.preprocess(cv::cuda::detail::viewOf(second));
        frames.push();
        core::ForwardShift result = {};
        core::ObjectView object = {};
        state = a.before;
        object.state = &state;
        object.forwardShift = &result;
        core::cpu::flow({&settings, &frames.frame(), nullptr}, object);
        return result;
    };
    core::ObjectState state;
    const core::ForwardShift all = shift(moved, state);
    EXPECT_EQ(100, all.points);
    EXPECT_NEAR(6., all.dx, 0.05);
    EXPECT_NEAR(-4., all.dy, 0.05);
    EXPECT_TRUE(state.alive);
    const core::ForwardShift most = shift(half, state);
    EXPECT_GT(most.points, 60);
    EXPECT_NEAR(6., most.dx, 0.5);
    EXPECT_NEAR(-4., most.dy, 0.5);
    EXPECT_GT(shift(blocks, state).points, 95);
    a.before.alive = 0;
    EXPECT_EQ(0, shift(moved, state).points) << "no flow";
}

TEST(Tld_Filter, takesTheBetterAnswer)
{
    const core::FilterAnswer answers[] = {{0.2f, 128, 0}, {0.3f, 0, -64}}, equal[] = {{0.3f, 0, 0}, {0.3f, 0, 0}};
    const core::SecondPlace second = {1, 200., 100.}, none = {0, 200., 100.};
    EXPECT_TRUE(core::takesSecond(second, answers));
    EXPECT_FALSE(core::takesSecond(none, answers)) << "it was not asked there";
    EXPECT_FALSE(core::takesSecond(second, equal));
    const Asked a(0.);
    core::FilterState f = a.before.filter;
    const core::FilterAreas areas = core::filterAreas(f.width, f.height, f.scale, 320, 240);
    core::moveByAnswer(f, second.x, second.y, answers[1], areas);
    EXPECT_EQ(0.3f, f.confidence);
    EXPECT_EQ(200., f.x);
    EXPECT_EQ(100. - 32., f.y) << "half of a surround of 65 pixels, made odd as the target: 64";
    f = a.before.filter;
    core::moveByAnswer(f, f.x, f.y, answers[0], areas);
    EXPECT_EQ(120. + 74., f.x);
}

//! Runs endFilter() for an event. @return what is done with the model.
int ended(core::ObjectState& s, int event)
{
    s.event = event;
    core::endFilter(s, 320, 240);
    return s.filter.trains;
}

//! The mean of the first ten confidences is arithmetic, then it moves by a tenth of the difference.
TEST(Tld_Filter, meanOfConfidences)
{
    core::ObjectState s = Asked(0.3).fuse(0.6);
    s.box = {110, 80, 42, 31};
    s.filter.confidences = 0;
    double sum = 0., moving = 0.;
    for (int i = 0; i < 13; ++i)
    {
        s.filter.weak = s.filter.strong = 1;
        s.filter.confidence = 0.2f + 0.01f * static_cast<float>(i * i);
        sum += s.filter.confidence;
        moving = i < 10 ? sum / (i + 1) : moving + 0.1 * (s.filter.confidence - moving);
        ended(s, core::FILTERED);
        EXPECT_EQ(std::min(i + 1, 10), s.filter.confidences);
        EXPECT_NEAR(moving, s.filter.meanConfidence, 1e-12) << i;
    }
}

TEST(Tld_Filter, trainsWhereTheObjectIsSure)
{
    core::ObjectState s = Asked(0.3).fuse(0.6);
    s.box = {110, 80, 42, 31};
    EXPECT_EQ(core::TRAINED, ended(s, core::FILTERED));
    EXPECT_EQ(131., s.filter.x);
    EXPECT_EQ(1., s.filter.scale) << "nearly its own size";
    EXPECT_EQ(0.3, s.filter.meanConfidence);
    EXPECT_EQ(1, s.filter.confidences);
    s.box = {110, 80, 48, 36};
    EXPECT_EQ(core::NOT_TRAINED, ended(s, core::JUMPED));
    EXPECT_EQ(1.2, s.filter.scale);
    EXPECT_EQ(core::NOT_TRAINED, ended(s, core::FOUND_AGAIN));
    EXPECT_EQ(core::NOT_TRAINED, ended(s, core::RECOGNIZED));
    s.valid = s.filter.strong = 0;
    s.score = 0.1;
    EXPECT_EQ(core::NOT_TRAINED, ended(s, core::FILTERED)) << "weak, not valid";
    EXPECT_EQ(1, s.filter.confidences);
    s.filter.strong = 1;
    EXPECT_EQ(core::TRAINED, ended(s, core::FILTERED)) << "strong, not valid";
    EXPECT_EQ(2, s.filter.confidences);
    s.filter.strong = 0;
    s.valid = 1;
    EXPECT_EQ(core::TRAINED, ended(s, core::FLOWED)) << "weak, valid";
    EXPECT_EQ(3, s.filter.confidences);
    s.filter.weak = 0;
    EXPECT_EQ(core::TRAINED, ended(s, core::FLOWED));
    EXPECT_EQ(3, s.filter.confidences) << "not weak: the mean stays";
    s.alive = 0;
    EXPECT_EQ(core::NOT_TRAINED, ended(s, core::BECAME_LOST));
    s.filter.started = 0;
    s.alive = 1;
    s.valid = 0;
    EXPECT_EQ(core::NOT_TRAINED, ended(s, core::FOUND_AGAIN)) << "there is no model yet";
    s.valid = 1;
    EXPECT_EQ(core::BEGUN, ended(s, core::FLOWED));
}

TEST(Tld_Filter, refusesWhatItDoesNotKnow)
{
    core::ObjectState found = Asked(0.).before;
    found.event = core::FOUND_AGAIN;
    EXPECT_TRUE(core::endFilter(found, 320, 240));
    for (const double mean : {0., 0.19, 0.4})
    {
        core::ObjectState known = found, other = found;
        known.filter.meanConfidence = other.filter.meanConfidence = mean;
        const double least = std::max(0.1, mean / 2.);
        core::verifyFound(known, static_cast<float>(least + 0.001));
        core::verifyFound(other, static_cast<float>(least - 0.001));
        EXPECT_TRUE(known.alive && known.event == core::FOUND_AGAIN) << mean;
        EXPECT_TRUE(!other.alive && other.event == core::NO_EVENT) << mean;
    }
}

}} // namespace opencv_test
