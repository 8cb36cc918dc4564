// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Random cases of TLDDetector, TrackerTLD and MultiTrackerTLD: made and run.
#ifndef OPENCV_CUDATRACKING_TEST_TLD_FUZZ_HPP
#define OPENCV_CUDATRACKING_TEST_TLD_FUZZ_HPP

#include "../common/fuzz_arrays.hpp"
#include "oracle.hpp"

namespace opencv_test { namespace fuzz {

const int TLD_COLUMNS = 12; //!< columns of tables of results

struct TldCase
{
    enum Way
    {
        DETECTOR,
        TRACKER,
        SEVERAL
    };
    Way way;
    cuda::TLDParams params;
    std::vector<Mat> frames;
    std::vector<Rect> boxes;  //!< boxes of the objects in frame 0
    std::vector<int> actions; //!< an Action per frame
    //! Boxes of a detector per frame, for SEVERAL objects; empty: none in any frame.
    std::vector<std::vector<Rect>> detected;
    uint64 placement;
    double work; //!< windows x trees x frames x objects
    std::string what;
};

//! Call in addition to detecting or tracking.
enum TldAction
{
    NOTHING,
    LEARN,  //!< learn() or resetTo() at the first object's place
    STORE,  //!< write, and go on with another instance that read it
    SWITCH, //!< learning off or on
    CHANGE  //!< an object is added and another one removed; init() again
};

inline cuda::TLDParams randomTldParams(RNG& rng)
{
    cuda::TLDParams p;
    p.seed = onceIn(rng, 3) ? 1 : rng.uniform(0, 1 << 30);
    if (onceIn(rng, 2))
        return p;
    p.mirror = onceIn(rng, 3);
    p.minReplyScore = onceIn(rng, 4) ? 0.6f : 0.f;
    p.minWindow = onceIn(rng, 3) ? rng.uniform(12, 25) : 0;
    p.scaleFactor = rng.uniform(1.05, 1.8);
    p.scales = rng.uniform(0, 12);
    p.stepPercent = rng.uniform(6, 60);
    p.trees = rng.uniform(1, 17);
    p.features = rng.uniform(1, std::min(16, 164 / p.trees) + 1);
    p.fernThreshold = rng.uniform(0., 0.9);
    p.maxDetections = onceIn(rng, 3) ? rng.uniform(1, 5) : rng.uniform(1, 129);
    p.nnThreshold = rng.uniform(0.4, 0.8);
    p.validThreshold = rng.uniform(0.4, 0.8);
    p.maxPositives = onceIn(rng, 2) ? rng.uniform(2, 6) : 200; // small stores forget
    p.maxNegatives = onceIn(rng, 2) ? rng.uniform(2, 12) : 400;
    p.initWindows = rng.uniform(1, 33);
    p.initWarps = rng.uniform(0, 33);
    p.updateWindows = rng.uniform(1, 33);
    p.updateWarps = rng.uniform(0, 33);
    p.initAngle = rng.uniform(0., 45.);
    p.updateAngle = rng.uniform(0., 45.);
    p.warpScale = rng.uniform(0., 0.5);
    p.warpShift = rng.uniform(0., 0.5);
    p.warpNoise = onceIn(rng, 3) ? 0. : rng.uniform(0., 64.);
    p.initNegatives = rng.uniform(2, 129);
    p.flowWindow = 3 + 2 * rng.uniform(0, 5);
    p.flowLevels = rng.uniform(0, 7);
    p.flowIterations = rng.uniform(1, 40);
    p.flowEpsilon = oneOf<double>(rng, {0., 0.01, 0.03, 0.5});
    p.maxFlowError = oneOf<double>(rng, {0.1, 1., 10., 50.});
    p.retryFrames = rng.uniform(0, 4);
    p.maxUnsupported = rng.uniform(0, 5);
    p.maxProbation = rng.uniform(0, 4);
    p.jumpMargin = rng.uniform(0., 0.3);
    p.firstJumpMargin = rng.uniform(0., 0.3);
    return p;
}

inline Rect randomBox(RNG& rng, Size image, int least)
{
    if (onceIn(rng, 12))
        return Rect(Point(), image);
    const int w = std::min(image.width, onceIn(rng, 3) ? least : rng.uniform(least, std::max(least + 1, 70)));
    const int h = std::min(image.height, onceIn(rng, 3) ? least : rng.uniform(least, std::max(least + 1, 70)));
    const int right = image.width - w, below = image.height - h;
    if (onceIn(rng, 5)) // in a corner
    {
        const Point corner = uniform(rng, Point(), Point(2, 2));
        return Rect(corner.x * right, corner.y * below, w, h);
    }
    return Rect(uniform(rng, Point(), Point(right + 1, below + 1)), Size(w, h));
}

//! The first frame shows the boxes; later ones show their contents moved, hidden, gone, or something else altogether.
inline void randomFrames(RNG& rng, TldCase& c, Size size, int type, int count)
{
    const int finestOfGround = rng.uniform(2, 9);
    const Mat ground = tld::texture(rng.next(), size, type, finestOfGround);
    std::vector<Point> at;
    for (const Rect& box : c.boxes)
        at.push_back(box.tl());
    const int finest = rng.uniform(2, 7);
    const Mat contents = tld::texture(rng.next(), size, type, finest);
    for (int t = 0; t < count; ++t)
    {
        Mat frame = ground.clone();
        for (size_t i = 0; i < c.boxes.size(); ++i)
        {
            if (t > 0)
                at[i] += uniform(rng, Point(-6, -6), Point(7, 7));
            const Rect shown = Rect(at[i], c.boxes[i].size()) & Rect(Point(), size);
            if (!shown.empty() && (t == 0 || !onceIn(rng, 6)))
                contents(shown - at[i] + c.boxes[i].tl()).copyTo(frame(shown));
        }
        if (t > 0 && onceIn(rng, 12))
            frame.setTo(Scalar::all(rng.uniform(0, 256)));
        else if (t > 0 && onceIn(rng, 12))
            frame = tld::texture(rng.next(), size, type, 3);
        else if (t > 0 && onceIn(rng, 12))
            frame = c.frames.back().clone();
        c.frames.push_back(frame);
    }
}

//! Boxes of a detector: some at the objects' first places, some anywhere, also partly outside.
inline void randomDetections(RNG& rng, TldCase& c, Size size)
{
    c.params.verifyBoxes = onceIn(rng, 2);
    c.params.correctByBoxes = onceIn(rng, 2);
    c.params.findByBoxes = !onceIn(rng, 3);
    c.params.boxOverlap = rng.uniform(0.05, 0.6);
    for (size_t t = 0; t < c.frames.size(); ++t)
    {
        std::vector<Rect> boxes;
        for (int i = rng.uniform(0, 5); i > 0; --i)
        {
            const Point shift = uniform(rng, Point(-9, -9), Point(10, 10));
            const Rect near = c.boxes[rng.uniform(0, static_cast<int>(c.boxes.size()))] + shift;
            boxes.push_back(onceIn(rng, 3) ? randomBox(rng, size, 12) + shift : near);
        }
        c.detected.push_back(boxes);
    }
}

inline TldCase makeTldCase(int64 seed, int64 number)
{
    RNG rng = rngOf(seed, number);
    TldCase c;
    c.way = static_cast<TldCase::Way>(rng.uniform(0, 3));
    c.params = randomTldParams(rng);
    c.params.filter = onceIn(rng, 2);
    const int height = std::max(16, randomSide(rng, 160));
    const Size size(std::max(16, randomSide(rng, 200)), height);
    const int type = oneOf<int>(rng, {CV_8UC1, CV_8UC1, CV_8UC3, CV_8UC4});
    const int least = std::max(12, c.params.minWindow);
    if (c.params.minWindow > std::min(size.width, size.height))
        c.params.minWindow = 0;
    for (int i = c.way == TldCase::SEVERAL ? rng.uniform(1, 5) : 1; i > 0; --i)
        c.boxes.push_back(randomBox(rng, size, std::min(least, std::min(size.width, size.height))));
    randomFrames(rng, c, size, type, rng.uniform(3, 10));
    for (size_t t = 0; t < c.frames.size(); ++t)
        c.actions.push_back(onceIn(rng, 3) ? rng.uniform(1, 5) : static_cast<int>(NOTHING));
    c.placement = rng.next();
    if (c.way == TldCase::SEVERAL && onceIn(rng, 2))
        randomDetections(rng, c, size);
    c.work = static_cast<double>(tld::oracle::windows(c.params, size, c.boxes[0].size()).size()) * c.params.trees *
             static_cast<double>(c.frames.size() * c.boxes.size());
    static const char* const ways[] = {"detector", "tracker", "several"};
    c.what =
        cv::format("%s, %d x %d type %d, %zu frames, %zu objects, the first at %d,%d of %d x %d, seed %d, %d trees of "
                   "%d, %d scales of %.17g, steps of %d %%, least window %d%s%s",
                   ways[c.way], size.width, size.height, type, c.frames.size(), c.boxes.size(), c.boxes[0].x,
                   c.boxes[0].y, c.boxes[0].width, c.boxes[0].height, c.params.seed, c.params.trees, c.params.features,
                   c.params.scales, c.params.scaleFactor, c.params.stepPercent, c.params.minWindow,
                   c.params.filter ? ", filters" : "", c.detected.empty() ? "" : ", boxes of a detector");
    return c;
}

template <typename Object> Mat bytesOf(const Object& object)
{
    const std::string text = tld::textOf(object);
    return asRow(text).clone();
}

inline void runDetector(const TldCase& c, Arrays& arrays)
{
    Ptr<cuda::TLDDetector> d = cuda::TLDDetector::create(c.params);
    const Size table(8, 1 + c.params.maxDetections);
    d->init(arrays.in(c.frames[0]), c.boxes[0], arrays.stream());
    for (size_t t = 0; t < c.frames.size(); ++t)
    {
        for (const bool positive : {true, false})
        {
            Mat templates;
            d->getTemplates(positive, templates);
            arrays.value(positive ? "positives" : "negatives", templates);
        }
        d->detect(arrays.in(c.frames[t]), arrays.out("objects", table, CV_64FC1), arrays.stream());
        if (c.actions[t] == LEARN)
            d->learn(arrays.in(c.frames[t]), c.boxes[0], arrays.stream());
        else if (c.actions[t] == STORE)
        {
            const std::string text = tld::textOf(*d);
            d = cuda::TLDDetector::create();
            tld::readText(*d, text);
        }
        else if (c.actions[t] == CHANGE)
            d->init(arrays.in(c.frames[0]), c.boxes[0], arrays.stream());
    }
    arrays.value("state", bytesOf(*d));
}

inline void noteTracker(const cuda::TrackerTLD& tracker, Arrays& arrays)
{
    const Rect2d box = tracker.getBox();
    arrays.value("box", Mat(Vec4d(box.x, box.y, box.width, box.height)));
    arrays.number("state", tracker.getState());
    Mat detections;
    tracker.getDetections(detections);
    arrays.value("detections", detections);
}

//! For calls that run on the null stream: the image has arrived.
inline const _InputArray& arrived(Arrays& arrays, const Mat& image)
{
    const _InputArray& array = arrays.in(image);
    if (arrays.engine() == Engine::CUDA)
        arrays.stream().waitForCompletion();
    return array;
}

inline void runTracker(const TldCase& c, Arrays& arrays)
{
    Ptr<cuda::TrackerTLD> tracker = cuda::TrackerTLD::create(c.params);
    tracker->init(arrived(arrays, c.frames[0]), c.boxes[0]);
    for (size_t t = 1; t < c.frames.size(); ++t)
    {
        if (t % 2)
            tracker->updateAsync(arrays.in(c.frames[t]), arrays.out("result", Size(TLD_COLUMNS, 1), CV_64FC1),
                                 arrays.stream());
        else
        {
            Rect box(-1, -1, -1, -1);
            arrays.number("located", tracker->update(arrived(arrays, c.frames[t]), box));
            arrays.value("reply", Mat(Vec4i(box.x, box.y, box.width, box.height)));
            noteTracker(*tracker, arrays);
        }
        if (c.actions[t] == LEARN)
            tracker->resetTo(c.boxes[0]);
        else if (c.actions[t] == SWITCH)
            tracker->setLearning(!tracker->getLearning());
        else if (c.actions[t] == STORE)
        {
            const std::string text = tld::textOf(*tracker);
            tracker = cuda::TrackerTLD::create();
            tld::readText(*tracker, text);
        }
        else if (c.actions[t] == CHANGE)
            tracker->init(arrived(arrays, c.frames[0]), c.boxes[0]);
    }
    arrays.value("file", bytesOf(*tracker));
}

//! Whether it can be an object.
inline bool varies(const Mat& image)
{
    Mat mean, deviation;
    cv::meanStdDev(image, mean, deviation);
    return deviation.at<double>(0) > 1.;
}

inline void runSeveral(const TldCase& c, Arrays& arrays)
{
    const Ptr<cuda::MultiTrackerTLD> tracker = cuda::MultiTrackerTLD::create(c.params);
    for (const Rect& box : c.boxes)
        tracker->add(arrays.in(c.frames[0]), box, arrays.stream());
    for (size_t t = 1; t < c.frames.size(); ++t)
    {
        const Size size(TLD_COLUMNS, static_cast<int>(tracker->getIds().size()));
        const _InputArray& frame = arrays.in(c.frames[t]);
        const _OutputArray& results = arrays.out("results", size, CV_64FC1);
        if (c.detected.empty() || t % 3 == 2)
            tracker->update(frame, results, arrays.stream());
        else
            tracker->update(frame, c.detected[t], results, arrays.stream());
        const std::vector<int> ids = tracker->getIds();
        Mat detections;
        tracker->getDetections(ids.back(), detections);
        arrays.value("detections", detections);
        if (c.actions[t] == LEARN)
            tracker->resetTo(ids[0], c.boxes[0]);
        else if (c.actions[t] == SWITCH)
            tracker->setLearning(!tracker->getLearning());
        else if (c.actions[t] == CHANGE && varies(c.frames[t](c.boxes[0])))
        {
            tracker->add(arrays.in(c.frames[t]), c.boxes[0], arrays.stream());
            tracker->remove(ids[ids.size() / 2]);
        }
    }
    for (const int id : tracker->getIds())
        for (const bool positive : {true, false})
        {
            Mat templates;
            tracker->getTemplates(id, positive, templates);
            arrays.value("templates", templates);
        }
}

//! A box that no window of a coarse grid overlaps enough is refused, by both backends at the same call.
inline Outputs runTld(const TldCase& c, Engine engine, bool plain)
{
    Arrays arrays(engine, c.placement, plain);
    try
    {
        if (c.way == TldCase::DETECTOR)
            runDetector(c, arrays);
        else if (c.way == TldCase::TRACKER)
            runTracker(c, arrays);
        else
            runSeveral(c, arrays);
    }
    catch (const cv::Exception& e)
    {
        if (e.err.find("or no window overlaps it") == std::string::npos)
            throw;
        arrays.value("refused", asRow(e.err));
    }
    return arrays.collect();
}

}} // namespace opencv_test::fuzz

#endif // OPENCV_CUDATRACKING_TEST_TLD_FUZZ_HPP
