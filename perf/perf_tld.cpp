// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// TLDDetector and the trackers on a view that wanders over real images: detector by stage, flow, whole frames with
// learning, for 1, 8 and 64 objects. `windows` are those of one object; `passed` go through the ferns. Lines with
// [ PERFROW ] go to scripts/perf_report.py.
#include "perf_precomp.hpp"
#include "images.hpp"
#include "opencv2/cudatracking/tld_tracker.hpp"
#include "opencv2/video/tracking.hpp"
#include <set>
#ifdef HAVE_OPENCV_CUDAOPTFLOW
#include "opencv2/cudaoptflow.hpp"
#endif
#ifdef HAVE_OPENCV_TRACKING
#include "opencv2/tracking.hpp" // which the next one needs
#include "opencv2/tracking/tracking_legacy.hpp"
#endif

namespace opencv_test { namespace {

using cuda::MultiTrackerTLD;
using cuda::TLDDetector;
using cuda::TLDParams;
using cuda::TrackerTLD;

const Size SIZES[] = {Size(320, 240), Size(480, 270), Size(960, 540), Size(1920, 1080), Size(3840, 2160)};
const int OBJECTS[] = {1, 8, 64};

//! Frames that go round in a small circle, so that the last one is followed by the first one; objects that move with
//! them.
struct Video
{
    enum
    {
        FRAMES = 8
    };

    //! @param radius of the circle, pixels: at most 8. From frame to frame the objects move by .77 of it.
    explicit Video(Size size, double radius = 7.)
    {
        const Mat world = collage(size + Size(16, 16));
        for (int t = 0; t < FRAMES; ++t)
        {
            const double angle = 2 * CV_PI * t / FRAMES;
            const Point at(cvRound(8 + radius * std::cos(angle)), cvRound(8 + radius * std::sin(angle)));
            frames.push_back(world(Rect(at, size)).clone());
            places.push_back(at);
        }
        boxes = boxesOf([&](int) { return objectOf(1.); });
    }

    //! 20 thousand windows in 320 x 240 pixels, 704 thousand in 1920 x 1080.
    Size objectOf(double scale) const
    {
        const int width = frames[0].cols;
        return Size(cvRound(std::max(48, width / 20) * scale), cvRound(std::max(54, width / 16) * scale));
    }

    //! 64 of them, where the image varies. @param sizeOf of a box
    template <typename SizeOf> std::vector<Rect> boxesOf(const SizeOf& sizeOf) const
    {
        const Size size = frames[0].size();
        std::vector<Rect> all;
        RNG rng(7);
        while (all.size() < 64)
        {
            const Size object = sizeOf(static_cast<int>(all.size()));
            const Rect box(
                uniform(rng, Point(8, 8), Point(size.width - object.width - 8, size.height - object.height - 8)),
                object);
            Mat mean, deviation;
            meanStdDev(frames[0](box), mean, deviation);
            if (deviation.at<double>(0) > 20.)
                all.push_back(box);
        }
        return all;
    }

    //! Returns the box of the first object in frame t.
    Rect boxIn(int t) const { return boxes[0] + places[0] - places[t]; }

    std::vector<Mat> frames;
    std::vector<Point> places; //!< corners of the frames in the world
    std::vector<Rect> boxes;   //!< boxes of the objects in the first frame
};

//! Returns the windows of an object with default parameters: doc/tld.md, "Windows".
int windowsOf(const Size& object, const Size& image)
{
    const auto placesOf = [](int room, int step) { return (100 * room + 49) / std::max(100, 10 * step) + 1; };
    int count = 0;
    for (int k = -10; k <= 10; ++k)
    {
        const int w = cvRound(object.width * std::pow(1.2, k)), h = cvRound(object.height * std::pow(1.2, k));
        if (std::min(w, h) >= 24 && w <= image.width && h <= image.height)
            count += placesOf(image.width - w, std::min(w, h)) * placesOf(image.height - h, h);
    }
    return count;
}
//! Returns the size of this width with about `windows` windows, at least as tall as wide.
[[maybe_unused]] Size objectWith(int windows, int width, const Size& image)
{
    Size object(width, width);
    while (std::abs(windowsOf(object, image) - windows) > windows / 50 && object.height < image.height / 2)
        ++object.height;
    return object;
}

std::string nameOf(Size size, int objects) { return cv::format("tld_%dp_%d", size.height, objects); }

//! Returns parameters without the correlation filters.
TLDParams withoutFilter()
{
    TLDParams p;
    p.filter = false;
    return p;
}

//! Returns parameters with few windows and no filter, so that flow and fixed costs remain.
TLDParams flowOnly()
{
    TLDParams p = withoutFilter();
    p.learning = false;
    p.scales = 0;
    p.stepPercent = 20;
    p.fernThreshold = 1.;
    p.maxUnsupported = 0;
    p.maxProbation = 0;
    return p;
}

//! Returns the points that the tracker tracks: 10 x 10 on its box.
std::vector<Point2f> pointsOf(const Rect& box)
{
    std::vector<Point2f> points;
    for (int i = 0; i < 100; ++i)
        points.emplace_back(box.x + 5 + (box.width - 11) * (i % 10) / 9.f,
                            box.y + 5 + (box.height - 11) * (i / 10) / 9.f);
    return points;
}

//! Returns the motion of a box's centre.
Point2d motionOf(const Rect2d& from, const Rect2d& to)
{
    return to.tl() - from.tl() + Point2d(to.width - from.width, to.height - from.height) * 0.5;
}

//! Returns the distance of the median motion of points from `motion`.
double distanceOf(const std::vector<Point2f>& from, const std::vector<Point2f>& to, const Point2d& motion)
{
    std::vector<double> x, y;
    for (size_t i = 0; i < from.size(); ++i)
        x.push_back(to[i].x - from[i].x), y.push_back(to[i].y - from[i].y);
    return std::hypot(medianOf(x) - motion.x, medianOf(y) - motion.y);
}

//! cv::calcOpticalFlowPyrLK there and back. @param difference its distanceOf() what the tracker's box did.
double peerFlowUs(const Video& video, const Point2d& motion, double& difference)
{
    const std::vector<Point2f> points = pointsOf(video.boxes[0]);
    std::vector<Point2f> there, back;
    std::vector<uchar> status;
    const TermCriteria criteria(TermCriteria::COUNT + TermCriteria::EPS, 20, 0.03);
    const double us = medianUs(
        [&]
        {
            calcOpticalFlowPyrLK(video.frames[0], video.frames[1], points, there, status, noArray(), Size(9, 9), 5,
                                 criteria, 0, 0.);
            back = points;
            calcOpticalFlowPyrLK(video.frames[1], video.frames[0], there, back, status, noArray(), Size(9, 9), 5,
                                 criteria, OPTFLOW_USE_INITIAL_FLOW, 0.);
        },
        0.5);
    difference = distanceOf(points, there, motion);
    return us;
}

//! Measures OpenCV's own tracker of this name where contrib's module tracking is built; else returns 0.
double legacyUs(const Video& video)
{
#ifdef HAVE_OPENCV_TRACKING
    const Ptr<legacy::TrackerTLD> peer = legacy::TrackerTLD::create();
    peer->init(video.frames[0], Rect2d(video.boxes[0]));
    int t = 0;
    Rect2d box;
    return medianUs([&] { peer->update(video.frames[++t % Video::FRAMES], box); }, 2., 10);
#else
    (void)video;
    return 0.;
#endif
}

//! Returns a detector of the first object that has learned all frames but the second.
template <typename Image>
Ptr<TLDDetector> trained(const Video& video, const std::vector<Image>& frames, cuda::Stream& stream = cuda::noStream())
{
    const Ptr<TLDDetector> detector = TLDDetector::create();
    detector->init(frames[0], video.boxes[0], stream);
    for (int t = 2; t < Video::FRAMES; ++t)
        detector->learn(frames[t], video.boxIn(t), stream);
    return detector;
}

//! Returns a detector whose ferns pass no window.
template <typename Image>
Ptr<TLDDetector> closed(const Video& video, const std::vector<Image>& frames, cuda::Stream& stream = cuda::noStream())
{
    TLDParams p;
    p.fernThreshold = 1.;
    const Ptr<TLDDetector> detector = TLDDetector::create(p);
    detector->init(frames[0], video.boxes[0], stream);
    return detector;
}

void detectorRow(const Mat& table, Size size, const char* engine, const std::string& part, double us)
{
    PerfRow(nameOf(size, 1), engine, part, us)
        .set("windows", table.at<double>(0, 1))
        .set("varying", table.at<double>(0, 2))
        .set("passed", table.at<double>(0, 3));
}

typedef ::testing::TestWithParam<Size> Tld_Cpu;

TEST_P(Tld_Cpu, detector)
{
    const Size size = GetParam();
    const Video video(size);
    Mat table;
    const Mat flat(size, CV_8UC1, Scalar(100));
    const Ptr<TLDDetector> detector = trained(video, video.frames), ferns = closed(video, video.frames);
    const auto row = [&](TLDDetector& d, const Mat& frame, const char* part)
    {
        const double us = medianUs([&] { d.detect(frame, table); });
        detectorRow(table, size, "cpu", cv::format("%s_threads_%d", part, getNumThreads()), us);
    };
    row(*detector, flat, "detect_flat");
    row(*ferns, video.frames[1], "detect_ferns");
    row(*detector, video.frames[1], "detect");
    EXPECT_GT(table.at<double>(0, 4), 0.) << "the object is not detected";
}

TEST_P(Tld_Cpu, flow)
{
    const Size size = GetParam();
    const Video video(size);
    const Ptr<TrackerTLD> tracker = TrackerTLD::create(flowOnly());
    tracker->init(video.frames[0], video.boxes[0]);
    Rect box;
    tracker->update(video.frames[1], box);
    double difference = 0.;
    const double peer = peerFlowUs(video, motionOf(video.boxes[0], tracker->getBox()), difference);
    int t = 1;
    const double us = medianUs([&] { tracker->update(video.frames[++t % Video::FRAMES], box); });
    PerfRow(nameOf(size, 1), "cpu", cv::format("flow_and_upkeep_threads_%d", getNumThreads()), us)
        .peer("calcOpticalFlowPyrLK", peer)
        .set("difference_px", difference);
    EXPECT_LT(difference, 0.1);
}

TEST_P(Tld_Cpu, frame)
{
    const Size size = GetParam();
    const Video video(size);
    const int all = getNumThreads();
    for (const int objects : OBJECTS)
        for (const int threads : std::set<int>{1, std::min(2, all), all})
        {
            if ((objects > 1 && threads != all) || (objects == 64 && size.width >= 1920)) // seconds a frame
                continue;
            const Threads used(threads);
            const Ptr<MultiTrackerTLD> tracker = MultiTrackerTLD::create();
            for (int i = 0; i < objects; ++i)
                tracker->add(video.frames[0], video.boxes[i]);
            Mat results;
            int t = 0;
            const double us = medianUs([&] { tracker->update(video.frames[++t % Video::FRAMES], results); }, 2., 60);
            PerfRow(nameOf(size, objects), "cpu", cv::format("frame_threads_%d", threads), us)
                .peer("legacy_TrackerTLD", objects == 1 && threads == all ? legacyUs(video) : 0.)
                .set("located", countNonZero(results.col(6)))
                .set("filters", countNonZero(results.col(TrackerTLD::RESULT_CONFIDENCE)));
            EXPECT_GE(countNonZero(results.col(6)), objects / 2);
            EXPECT_GT(countNonZero(results.col(TrackerTLD::RESULT_CONFIDENCE)), 0);
        }
}

TEST_P(Tld_Cpu, frameWithoutFilter)
{
    const Size size = GetParam();
    const Video video(size);
    const Threads used(1);
    const Ptr<TrackerTLD> tracker = TrackerTLD::create(withoutFilter());
    tracker->init(video.frames[0], video.boxes[0]);
    Rect box;
    int t = 0;
    const double us = medianUs([&] { tracker->update(video.frames[++t % Video::FRAMES], box); }, 2., 60);
    PerfRow(nameOf(size, 1), "cpu", "frame_without_filters_threads_1", us);
}

INSTANTIATE_TEST_CASE_P(Perf, Tld_Cpu, testing::ValuesIn(SIZES));

// --- CUDA ------------------------------------------------------------------------------------------------------------

#ifdef HAVE_CUDA

std::vector<cuda::GpuMat> uploaded(const std::vector<Mat>& frames)
{
    std::vector<cuda::GpuMat> all;
    for (const Mat& frame : frames)
        all.emplace_back(frame);
    return all;
}

typedef ::testing::TestWithParam<Size> Tld_Cuda;

TEST_P(Tld_Cuda, detector)
{
    requireDevice();
    const Size size = GetParam();
    const Video video(size);
    const std::vector<cuda::GpuMat> frames = uploaded(video.frames);
    const cuda::GpuMat flat(Mat(size, CV_8UC1, Scalar(100)));
    cuda::GpuMat device;
    cuda::Stream stream;
    Mat table;
    const Ptr<TLDDetector> detector = trained(video, frames, stream), ferns = closed(video, frames, stream);
    const auto row = [&](TLDDetector& d, const cuda::GpuMat& frame, const char* part)
    {
        const double us = graphMedianUs(stream, [&] { d.detect(frame, device, stream); });
        device.download(table);
        detectorRow(table, size, "cuda", part, us);
    };
    row(*detector, flat, "detect_flat");
    row(*ferns, frames[1], "detect_ferns");
    row(*detector, frames[1], "detect");
    Mat expected;
    trained(video, video.frames)->detect(video.frames[1], expected);
    EXPECT_EQ(0, cv::norm(expected, table, NORM_INF));
}

//! Measures flow by OpenCV's CUDA class where it is built; else returns 0.
double cudaPeerFlowUs(const Video& video, const std::vector<cuda::GpuMat>& frames, const Point2d& motion,
                      double& difference)
{
#ifdef HAVE_OPENCV_CUDAOPTFLOW
    const Ptr<cuda::SparsePyrLKOpticalFlow> flow = cuda::SparsePyrLKOpticalFlow::create(Size(9, 9), 5, 20);
    const std::vector<Point2f> list = pointsOf(video.boxes[0]);
    const cuda::GpuMat points(Mat(list).reshape(2, 1));
    cuda::GpuMat there, back, status;
    cuda::Stream stream;
    const double us = medianUs(
        [&]
        {
            flow->calc(frames[0], frames[1], points, there, status, noArray(), stream);
            flow->calc(frames[1], frames[0], there, back, status, noArray(), stream);
            stream.waitForCompletion();
        });
    difference = distanceOf(list, static_cast<std::vector<Point2f>>(Mat(there)), motion);
    return us;
#else
    (void)video, (void)frames, (void)motion, (void)difference;
    return 0.;
#endif
}

TEST_P(Tld_Cuda, flow)
{
    requireDevice();
    const Size size = GetParam();
    const Video video(size);
    const std::vector<cuda::GpuMat> frames = uploaded(video.frames);
    const Ptr<TrackerTLD> tracker = TrackerTLD::create(flowOnly());
    tracker->init(frames[0], video.boxes[0]);
    Rect box;
    tracker->update(frames[1], box);
    double difference = 0.;
    const double peer = cudaPeerFlowUs(video, frames, motionOf(video.boxes[0], tracker->getBox()), difference);
    cuda::Stream stream;
    cuda::GpuMat result;
    const double us = graphMedianUs(stream,
                                    [&]
                                    {
                                        for (const cuda::GpuMat& frame : frames)
                                            tracker->updateAsync(frame, result, stream);
                                    }) /
                      Video::FRAMES;
    PerfRow(nameOf(size, 1), "cuda", "flow_and_upkeep", us)
        .peer("SparsePyrLKOpticalFlow", peer)
        .set("difference_px", difference);
}

TEST_P(Tld_Cuda, frame)
{
    requireDevice();
    const Size size = GetParam();
    const Video fast(size);
    const auto measure = [&](const Video& video, const std::vector<Rect>& boxes, int objects, const std::string& part,
                             const TLDParams& params = TLDParams())
    {
        const std::vector<cuda::GpuMat> frames = uploaded(video.frames);
        const Ptr<MultiTrackerTLD> tracker = MultiTrackerTLD::create(params);
        cuda::Stream stream;
        double windows = 0.;
        for (int i = 0; i < objects; ++i)
        {
            tracker->add(frames[0], boxes[i], stream);
            windows += windowsOf(boxes[i].size(), size);
        }
        cuda::GpuMat results, input;
        Mat host;
        int t = 0;
        const auto round = [&]
        {
            for (const cuda::GpuMat& frame : frames)
                tracker->update(frame, results, stream);
        };
        round(), round(); // templates of the first frames are learned
        stream.waitForCompletion();
        // 36 rounds of 8 frames: enough for a median, and some milliseconds a frame do not add up to minutes.
        PerfRow(nameOf(size, objects), "cuda", "frame" + part, graphMedianUs(stream, round, 2, 3, 15) / Video::FRAMES);
        const double us = medianUs([&] { tracker->update(frames[++t % Video::FRAMES], host, stream); }, 0.5);
        PerfRow(nameOf(size, objects), "cuda", "call" + part, us)
            .peer("legacy_TrackerTLD", objects == 1 && part.empty() ? legacyUs(video) : 0.)
            .set("windows", windows / objects)
            .set("located", countNonZero(host.col(6)));
        if (objects == 1 && part.empty())
            PerfRow(nameOf(size, objects), "cuda", "upload",
                    medianUs([&] { input.upload(video.frames[0], stream), stream.waitForCompletion(); }, 0.2))
                .set("bytes", double(size.area()));
        EXPECT_GE(countNonZero(host.col(6)), objects / 2);
    };
    for (const int objects : OBJECTS)
    {
        measure(fast, fast.boxes, objects, "");
        measure(fast, fast.boxes, objects, "_without_filters", withoutFilter());
        if (size.height > 270)
            continue;
        // Objects that move by less than a tenth of their size: a filter looks at one place.
        const Video slow(size, 4.);
        measure(slow, slow.boxes, objects, "_slow");
        measure(slow, slow.boxes, objects, "_slow_without_filters", withoutFilter());
    }
    // Objects of one size share their codes; these do not.
    measure(fast, fast.boxesOf([&](int i) { return fast.objectOf(1. + 0.01 * i); }), 64, "_of_64_sizes");
    if (size.height == 1080) // what the target is for
        measure(fast, fast.boxesOf([&](int i) { return objectWith(500000, 96 + i, size); }), 64, "_of_64_sizes_500k");
}

INSTANTIATE_TEST_CASE_P(Perf, Tld_Cuda, testing::ValuesIn(SIZES));

#endif // HAVE_CUDA

}} // namespace opencv_test
