// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// TLDDetector and TrackerTLD stage by stage against the plain oracle: windows, variance, patches, nearest neighbours,
// flow, clusters, what is decided from them, and what is learned.
#include "oracle.hpp"

namespace opencv_test { namespace {

using namespace tld;

Mat detectionsOf(TLDDetector& detector, const Mat& image)
{
    Mat table;
    detector.detect(image, table);
    return table;
}

struct GridCase
{
    Size image;
    Rect box;
    int scales, stepPercent, minWindow;
    double scaleFactor;
};

//! Checks the number of windows, and that detections are windows, in their order.
TEST(Tld_Oracle, windows)
{
    const GridCase cases[] = {
        {Size(320, 240), Rect(50, 60, 50, 40), 10, 10, 0, 1.2},  {Size(320, 240), Rect(50, 60, 36, 21), 10, 10, 0, 1.2},
        {Size(320, 240), Rect(50, 60, 25, 36), 10, 10, 24, 1.2}, {Size(161, 97), Rect(5, 6, 12, 12), 10, 10, 0, 1.2},
        {Size(161, 97), Rect(0, 0, 161, 97), 10, 10, 0, 1.2},    {Size(161, 97), Rect(1, 0, 160, 31), 3, 17, 0, 1.5},
        {Size(64, 333), Rect(9, 100, 33, 31), 20, 25, 13, 1.05}, {Size(33, 32), Rect(1, 1, 31, 30), 0, 33, 0, 2.},
        {Size(16, 16), Rect(2, 2, 12, 13), 1, 100, 0, 1.1}};
    for (const GridCase& c : cases)
    {
        SCOPED_TRACE(cv::format("%d x %d, object %d x %d, step %d", c.image.width, c.image.height, c.box.width,
                                c.box.height, c.stepPercent));
        TLDParams p;
        p.scales = c.scales;
        p.stepPercent = c.stepPercent;
        p.minWindow = c.minWindow;
        p.scaleFactor = c.scaleFactor;
        p.fernThreshold = 0.2;
        const Ptr<TLDDetector> detector = TLDDetector::create(p);
        const Mat image = texture(5, c.image, CV_8UC1, 3);
        detector->init(image, c.box);
        const Mat table = detectionsOf(*detector, image);
        const std::vector<Rect> all = oracle::windows(p, c.image, c.box.size());
        EXPECT_EQ(static_cast<double>(all.size()), table.at<double>(0, TLDDetector::COUNT_WINDOWS));
        size_t next = 0;
        for (const oracle::Found& f : oracle::foundIn(table))
        {
            while (next < all.size() && Rect2d(all[next]) != f.box)
                ++next;
            ASSERT_LT(next++, all.size()) << f.box << " is no window, or out of order";
        }
    }
}

//! Finds the windows of largest overlap with the box.
std::vector<Rect> nearestTo(const Rect2d& box, const std::vector<Rect>& windows)
{
    double best = 0.;
    std::vector<Rect> all;
    for (const Rect& w : windows)
    {
        const double o = overlap(box, w);
        if (o > best)
            all.clear();
        best = std::max(best, o);
        if (o == best)
            all.push_back(w);
    }
    return all;
}

//! Checks the object's template, negative templates, and the number of windows with enough variance.
TEST(Tld_Oracle, patchesAndVariance)
{
    for (const uint64 seed : {1, 2, 3})
    {
        SCOPED_TRACE(static_cast<int>(seed));
        const StandardScene scene(CV_8UC1, Size(37, 31), seed);
        const Mat image = scene.frame(0);
        const TLDParams p;
        const Ptr<TLDDetector> detector = TLDDetector::create(p);
        detector->init(image, scene.box(0));
        const std::vector<Rect> windows = oracle::windows(p, image.size(), scene.box(0).size());
        const std::vector<oracle::Patch> positives = oracle::patchesOf(*detector, true),
                                         negatives = oracle::patchesOf(*detector, false);
        ASSERT_EQ(1u, positives.size());
        double least = 255.;
        for (const Rect& w : nearestTo(scene.box(0), windows))
            least = std::min(least, oracle::largestDifference(positives[0], oracle::patchOf(image, w)));
        EXPECT_LE(least, 0.501) << "in gray values";
        EXPECT_LE(negatives.size(), static_cast<size_t>(p.initNegatives / 2));
        EXPECT_GE(negatives.size(), 1u);
        std::vector<oracle::Patch> far;
        for (const Rect& w : windows)
            if (overlap(w, scene.box(0)) < 0.2)
                far.push_back(oracle::patchOf(image, w));
        for (const oracle::Patch& negative : negatives)
        {
            double nearest = 255.;
            for (const oracle::Patch& f : far)
                nearest = std::min(nearest, oracle::largestDifference(negative, f));
            EXPECT_LE(nearest, 0.501) << "a negative template is no far window";
            EXPECT_GE(oracle::varianceOf(negative), 0.24 * oracle::varianceOf(positives[0]));
        }
        // Half the variance of the 15 x 15 template, which has whole gray values.
        const Mat next = scene.frame(9);
        int64 enough = 0;
        for (const Rect& w : windows)
            enough += oracle::variesEnough(next, w, oracle::varianceOf(positives[0]) / 2);
        EXPECT_EQ(static_cast<double>(enough),
                  detectionsOf(*detector, next).at<double>(0, TLDDetector::COUNT_WITH_VARIANCE));
    }
}

//! In a flat half of the image no window has variance: the counts are known without arithmetic.
TEST(Tld_Oracle, flatPartsDoNotVary)
{
    Mat image = texture(9, Size(200, 100));
    TLDParams p;
    const Ptr<TLDDetector> detector = TLDDetector::create(p);
    detector->init(image, Rect(20, 30, 30, 30));
    image.setTo(100);
    EXPECT_EQ(0., detectionsOf(*detector, image).at<double>(0, TLDDetector::COUNT_WITH_VARIANCE));
    image.at<uchar>(50, 100) = 101; // still far from half of the object's variance
    EXPECT_EQ(0., detectionsOf(*detector, image).at<double>(0, TLDDetector::COUNT_WITH_VARIANCE));
    for (int y = 0; y < image.rows; ++y)
        for (int x = 0; x < image.cols; ++x)
            image.at<uchar>(y, x) = (x + y) % 2 ? 255 : 0;
    const Mat all = detectionsOf(*detector, image);
    EXPECT_EQ(all.at<double>(0, TLDDetector::COUNT_WINDOWS), all.at<double>(0, TLDDetector::COUNT_WITH_VARIANCE));
}

//! Checks the similarities of windows that passed the ferns, from the detector's templates.
TEST(Tld_Oracle, nearestNeighbours)
{
    const StandardScene scene;
    const TLDParams p;
    const Ptr<TLDDetector> detector = detectorOn(scene, Engine::CPU, p);
    for (const int t : {6, 12, 18, 24})
        detector->learn(scene.frame(t), scene.box(t));
    Mat upsideDown; // another appearance
    cv::flip(scene.frame(24), upsideDown, 0);
    const Rect box = scene.box(24);
    detector->learn(upsideDown, Rect(Point(box.x, upsideDown.rows - box.br().y), box.size()));
    const std::vector<oracle::Patch> positives = oracle::patchesOf(*detector, true),
                                     negatives = oracle::patchesOf(*detector, false);
    EXPECT_GT(positives.size(), 1u);
    int rows = 0;
    double least = 1., most = 0.; // relative similarities of accepted and of other windows
    for (const int t : {0, 5, 15, 30})
        for (const oracle::Found& f : oracle::foundIn(detectionsOf(*detector, scene.frame(t))))
        {
            const oracle::Similarity s =
                oracle::similarityTo(positives, negatives, oracle::rounded(oracle::patchOf(scene.frame(t), f.box)));
            EXPECT_NEAR(s.relative, f.relative, 5e-4) << f.box << " in frame " << t;
            EXPECT_NEAR(s.conservative, f.conservative, 5e-4) << f.box << " in frame " << t;
            EXPECT_GT(f.posterior, p.fernThreshold);
            if (f.accepted)
                least = std::min(least, f.relative);
            else
                most = std::max(most, f.relative);
            ++rows;
        }
    EXPECT_GT(rows, 40);
    EXPECT_GE(least, p.nnThreshold);
    EXPECT_LE(most, least) << "one threshold divides them";
}

//! Compares with cv::calcOpticalFlowPyrLK on the same points, to a tenth of a pixel and a hundredth of the size.
TEST(Tld_Oracle, flow)
{
    for (const uint64 seed : {1, 2, 3})
        for (const Size size : {Size(24, 24), Size(40, 34), Size(90, 70)})
        {
            SCOPED_TRACE(cv::format("seed %d, %d x %d", static_cast<int>(seed), size.width, size.height));
            const StandardScene scene(CV_8UC1, size, seed);
            const TLDParams p = flowOnly();
            for (const int t : {0, 7, 14, 21})
            {
                const Ptr<TrackerTLD> tracker = TrackerTLD::create(p);
                tracker->init(scene.frame(t), scene.box(t));
                const Step s = advance(*tracker, Engine::CPU, scene.frame(t + 1));
                Rect2d truth;
                ASSERT_EQ(oracle::Followed::WELL,
                          oracle::follow(p, scene.frame(t), scene.frame(t + 1), scene.box(t), truth));
                EXPECT_NEAR(truth.x + truth.width / 2, s.inside.x + s.inside.width / 2, 0.1) << "frame " << t;
                EXPECT_NEAR(truth.y + truth.height / 2, s.inside.y + s.inside.height / 2, 0.1) << "frame " << t;
                EXPECT_NEAR(1., s.inside.width / truth.width, 0.01) << "frame " << t;
                EXPECT_NEAR(s.inside.width / scene.box(t).width, s.inside.height / scene.box(t).height, 1e-9)
                    << "one ratio for both sides";
            }
        }
}

//! Shifts by whole pixels are tracked as exactly as the image allows; flow fails where the frames have nothing in
//! common.
TEST(Tld_Oracle, flowOfKnownShifts)
{
    const Mat world = texture(44, Size(400, 300));
    const Rect view(60, 50, 240, 180), box(90, 70, 50, 40);
    for (const Point& d : {Point(0, 0), Point(1, 0), Point(0, -3), Point(7, 5), Point(-19, 14)})
    {
        const Ptr<TrackerTLD> tracker = TrackerTLD::create(flowOnly());
        tracker->init(world(view), box);
        const Step s = advance(*tracker, Engine::CPU, world(view - d));
        EXPECT_NEAR(box.x + d.x, s.inside.x, 0.05) << d;
        EXPECT_NEAR(box.y + d.y, s.inside.y, 0.05) << d;
        EXPECT_NEAR(box.width, s.inside.width, 0.1) << d;
    }
    // Another image, then the first one again: the kept frame is tried three times.
    for (int gap = 1; gap <= 4; ++gap)
    {
        const Ptr<TrackerTLD> tracker = TrackerTLD::create(flowOnly());
        tracker->init(world(view), box);
        for (int i = 0; i < gap; ++i)
            EXPECT_EQ(TrackerTLD::LOST,
                      advance(*tracker, Engine::CPU, texture(700 + i, view.size(), CV_8UC1, 2)).state);
        const Step s = advance(*tracker, Engine::CPU, world(view));
        EXPECT_EQ(gap <= 3, s.state != TrackerTLD::LOST) << gap << " frames of something else";
        EXPECT_TRUE(gap > 3 || overlap(box, s.inside) > 0.98) << s.inside;
    }
}

//! Decision of the integration from flow and clusters.
struct Decision
{
    enum Kind
    {
        KEEP,   //!< the box of the flow, averaged with windows or not
        MOVE,   //!< the box moves to the only better cluster
        APPEAR, //!< the object was lost, and there is one cluster
        LOST,
        OPEN //!< undecided: too near to a threshold, or dependent on more than one frame
    } kind;
    Rect2d box, other; //!< other: equally valid box of KEEP where scores are too near to each other
};

//! Returns the motion of a box's centre in halves of the distance between windows of its size, along the axis where it
//! is larger.
double halfSteps(const TLDParams& p, const Rect2d& from, const Rect2d& to)
{
    const Point2d d = (to.tl() + to.br() - from.tl() - from.br()) / 2.;
    return 200. / p.stepPercent *
           std::max(std::abs(d.x) / std::min(from.width, from.height), std::abs(d.y) / from.height);
}

//! The ferns of an object, and its windows.
struct Ferns
{
    oracle::Model model;
    std::vector<Rect> windows;

    //! Returns the largest mean posterior of a window on a box. @param least overlap that such a window exceeds.
    double support(const Mat& gray, const Rect2d& box, double least = 0.6) const
    {
        return oracle::supportOf(model, gray, windows, model.contrast / (225. * 224.) / 2, box, least);
    }
};

Ferns fernsOf(const TrackerTLD& tracker, const TLDParams& p, Size image, Size object)
{
    return {oracle::modelOf(textOf(tracker), p), oracle::windows(p, image, object)};
}

//! Whether the box may jump to a cluster by the ferns: 1 or 0; -1: too near to a threshold.
int mayJump(const oracle::Cluster& cluster, const Rect2d& box, const Mat& gray, const Ferns& ferns, double margin)
{
    if (overlap(cluster.box, box) > 0.002)
        return 1;
    if (overlap(cluster.box, Rect2d(box.x - 0.2, box.y - 0.2, box.width + 0.4, box.height + 0.4)) > 0.)
        return -1;
    const bool always = cluster.posterior > ferns.support(gray, box, 0.59) + margin;
    const bool ever = cluster.posterior > ferns.support(gray, box, 0.61) + margin;
    return always == ever ? ever : -1;
}

//! Decides about a box that does not jump: whether windows correct it. @param own its similarity.
Decision kept(const TLDParams& p, const Mat& to, const Step& before, const std::vector<oracle::Found>& found,
              const Rect2d& box, double own, const std::vector<oracle::Patch>& positives,
              const std::vector<oracle::Patch>& negatives, double validThreshold)
{
    double x = 10 * box.x, y = 10 * box.y, w = 10 * box.width, h = 10 * box.height, n = 10.;
    for (const oracle::Found& f : found)
    {
        const double o = overlap(f.box, box);
        if (std::abs(o - 0.7) < 0.004)
            return {Decision::OPEN, Rect2d(), Rect2d()};
        if (o > 0.7)
            x += f.box.x, y += f.box.y, w += f.box.width, h += f.box.height, ++n;
    }
    const Rect2d corrected(x / n, y / n, w / n, h / n);
    const double there =
        oracle::similarityTo(positives, negatives, oracle::rounded(oracle::patchOf(to, corrected))).conservative;
    const double moved = halfSteps(p, before.inside, box); // above 1: corrected in any case
    if (moved < 1.05 &&
        (std::abs(own - validThreshold) < 0.02 || (own > validThreshold && std::abs(there - own) < 0.02)))
        return {Decision::KEEP, box, corrected};
    const Rect2d chosen = own > validThreshold && there < own ? box : corrected;
    if (std::abs(moved - 1.) < 0.05)
        return {Decision::KEEP, chosen, corrected};
    if (moved > 1.)
        return {Decision::KEEP, corrected, corrected};
    return {Decision::KEEP, chosen, chosen};
}

//! @param ferns before the frame. @param validThreshold that of the object, which training may have raised.
Decision decide(const TLDParams& p, const Mat& from, const Mat& to, const Step& before, const Step& now,
                const std::vector<oracle::Patch>& positives, const std::vector<oracle::Patch>& negatives,
                const Ferns& ferns, double validThreshold)
{
    const std::vector<oracle::Found> found = oracle::foundIn(now.detections);
    const std::vector<oracle::Cluster> clusters = oracle::clustersOf(found);
    if (before.state == TrackerTLD::LOST)
        return clusters.size() == 1 ? Decision{Decision::APPEAR, clusters[0].box, Rect2d()}
                                    : Decision{Decision::LOST, Rect2d(), Rect2d()};
    Rect2d box;
    if (oracle::follow(p, from, to, before.inside, box) != oracle::Followed::WELL)
        return {Decision::OPEN, Rect2d(), Rect2d()}; // wrong points differ between implementations
    const oracle::Patch patch = oracle::rounded(oracle::patchOf(to, box));
    const double own = oracle::similarityTo(positives, negatives, patch).conservative,
                 margin = positives.size() < 5 ? p.firstJumpMargin : p.jumpMargin;
    double near = 0.;
    for (const oracle::Cluster& c : clusters)
        if (overlap(c.box, box) >= 0.5)
            near = std::max(near, c.confidence);
    std::vector<oracle::Cluster> better;
    for (const oracle::Cluster& c : clusters)
    {
        const double o = overlap(c.box, box);
        if (std::abs(o - 0.5) < 0.01 ||
            (o < 0.5 && (std::abs(c.confidence - own - margin) < 0.02 || std::abs(c.confidence - near) < 1e-9)))
            return {Decision::OPEN, Rect2d(), Rect2d()};
        if (o < 0.5 && c.confidence > own + margin && c.confidence > near)
        {
            if (const int may = mayJump(c, box, to, ferns, margin); may < 0)
                return {Decision::OPEN, Rect2d(), Rect2d()};
            else if (may > 0)
                better.push_back(c);
        }
    }
    if (better.size() == 1)
        return {Decision::MOVE, better[0].box, Rect2d()};
    return clusters.empty() ? Decision{Decision::KEEP, box, box}
                            : kept(p, to, before, found, box, own, positives, negatives, validThreshold);
}

TEST(Tld_Oracle, integration)
{
    const TLDParams p = paramsOf("filter 0, retryFrames 0, maxUnsupported 0, maxProbation 0");
    int count[5] = {}, different = 0;
    for (uint64 seed = 1; seed <= 4; ++seed)
    {
        typedef StandardScene S;
        const S scene(CV_8UC1, Size(40, 34), seed);
        const Ptr<TrackerTLD> tracker = trackerOn(scene, Engine::CPU, p);
        Step before = look(*tracker);
        for (int t = 1; t < S::FRAMES; ++t)
        {
            const std::vector<oracle::Patch> positives = oracle::patchesOf(templatesOf(*tracker, true)),
                                             negatives = oracle::patchesOf(templatesOf(*tracker, false));
            const Ferns ferns = fernsOf(*tracker, p, scene.frame(t).size(), scene.box(0).size());
            const Step now = advance(*tracker, Engine::CPU, scene.frame(t));
            const Decision d = decide(p, scene.frame(t - 1), scene.frame(t), before, now, positives, negatives, ferns,
                                      validThresholdOf(*tracker));
            ++count[d.kind];
            SCOPED_TRACE(cv::format("seed %d, frame %d, decision %d", int(seed), t, d.kind));
            if (d.kind == Decision::LOST)
            {
                EXPECT_EQ(TrackerTLD::LOST, now.state);
            }
            else if (d.kind == Decision::APPEAR || d.kind == Decision::MOVE)
            {
                EXPECT_NEAR(0.,
                            cv::norm(Vec4d(d.box.x, d.box.y, d.box.width, d.box.height) -
                                     Vec4d(now.inside.x, now.inside.y, now.inside.width, now.inside.height)),
                            1e-6)
                    << d.box << " against " << now.inside;
            }
            else if (d.kind == Decision::KEEP && now.state != TrackerTLD::LOST)
            {
                EXPECT_GT(std::max(overlap(d.box, now.inside), overlap(d.other, now.inside)), 0.97)
                    << d.box << " or " << d.other << " against " << now.inside;
                different += overlap(d.box, d.other) < 0.97;
            }
            before = now;
        }
    }
    std::cout << count[0] << " kept, " << count[1] << " moved, " << count[2] << " found again, " << count[3]
              << " stayed lost, " << count[4] << " left open" << std::endl;
    EXPECT_GT(count[Decision::KEEP], 100);
    EXPECT_LT(different, count[Decision::KEEP] / 4) << "boxes of which either was right";
    EXPECT_GE(count[Decision::APPEAR], 3);
    EXPECT_GT(count[Decision::LOST], 5);
    EXPECT_LT(count[Decision::OPEN], 160);
}

//! The score is the support of a box that flow alone has moved, and the largest mean posterior of a cluster where the
//! box begins there.
TEST(Tld_Oracle, scores)
{
    const TLDParams p = paramsOf("filter 0");
    int flowed = 0, began = 0, weak = 0;
    for (uint64 seed = 1; seed <= 3; ++seed)
    {
        typedef StandardScene S;
        const S scene(CV_8UC1, Size(40, 34), seed);
        const Ptr<TrackerTLD> tracker = trackerOn(scene, Engine::CPU, p);
        EXPECT_EQ(1.f, tracker->getTrackingScore()) << "the user's box";
        for (int t = 1; t < S::FRAMES; ++t)
        {
            SCOPED_TRACE(cv::format("seed %d, frame %d", int(seed), t));
            const Ferns ferns = fernsOf(*tracker, p, scene.frame(t).size(), scene.box(0).size());
            const Step now = advance(*tracker, Engine::CPU, scene.frame(t));
            if (now.event == TrackerTLD::FLOWED || now.event == TrackerTLD::RETRIED)
            {
                const double support = ferns.support(scene.frame(t), now.inside);
                EXPECT_EQ(static_cast<float>(support), now.score);
                ++flowed;
                weak += support < p.fernThreshold;
            }
            else if (now.event == TrackerTLD::JUMPED || now.event == TrackerTLD::FOUND_AGAIN)
                for (const oracle::Cluster& c : oracle::clustersOf(oracle::foundIn(now.detections)))
                    if (overlap(c.box, now.inside) > 0.999)
                    {
                        EXPECT_EQ(static_cast<float>(c.posterior), now.score);
                        ++began;
                    }
        }
    }
    std::cout << flowed << " boxes of flow, " << weak << " of them below the fern threshold, " << began
              << " at clusters" << std::endl;
    EXPECT_GT(flowed, 20);
    EXPECT_GT(weak, 0);
    EXPECT_GT(began, 2);
}

//! New templates are patches of the frame: of the box itself, and of far windows that passed the ferns.
TEST(Tld_Oracle, templatesThatAreLearned)
{
    typedef StandardScene S;
    const S scene;
    const Ptr<TrackerTLD> tracker = trackerOn(scene, Engine::CPU);
    std::vector<oracle::Patch> positives = oracle::patchesOf(templatesOf(*tracker, true)),
                               negatives = oracle::patchesOf(templatesOf(*tracker, false));
    int learned = 0;
    const auto isNew = [](const oracle::Patch& p, const std::vector<oracle::Patch>& old)
    { return std::find(old.begin(), old.end(), p) == old.end(); };
    for (int t = 1; t < S::FRAMES; ++t)
    {
        const Mat frame = scene.frame(t);
        const Step s = advance(*tracker, Engine::CPU, frame);
        const std::vector<oracle::Patch> nowPositives = oracle::patchesOf(templatesOf(*tracker, true)),
                                         nowNegatives = oracle::patchesOf(templatesOf(*tracker, false));
        ASSERT_EQ(positives[0], nowPositives[0]) << "the first one never dies";
        ASSERT_LE(nowPositives.size(), positives.size() + 1);
        for (const oracle::Patch& p : nowPositives)
            if (isNew(p, positives))
            {
                ++learned;
                EXPECT_LE(oracle::largestDifference(p, oracle::patchOf(frame, s.inside)), 0.501) << "frame " << t;
            }
        for (const oracle::Patch& n : nowNegatives)
            if (isNew(n, negatives))
            {
                ++learned;
                double nearest = 255.;
                for (const oracle::Found& f : oracle::foundIn(s.detections))
                    if (overlap(f.box, s.inside) < 0.2)
                        nearest = std::min(nearest, oracle::largestDifference(n, oracle::patchOf(frame, f.box)));
                EXPECT_LE(nearest, 0.501) << "frame " << t;
            }
        if (s.state != TrackerTLD::TRACKING)
        {
            EXPECT_EQ(positives, nowPositives) << "learned without being sure, frame " << t;
            EXPECT_EQ(negatives, nowNegatives) << "frame " << t;
        }
        positives = nowPositives;
        negatives = nowNegatives;
    }
    EXPECT_GT(learned, 2);
}

}} // namespace opencv_test
