// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Videos by construction, with known boxes, and helpers of all tests of TLDDetector and the trackers.
#ifndef OPENCV_CUDATRACKING_TEST_TLD_SCENES_HPP
#define OPENCV_CUDATRACKING_TEST_TLD_SCENES_HPP

#include "params.hpp"
#include "../common/fuzz.hpp"

namespace opencv_test { namespace tld {

using cuda::MultiTrackerTLD;
using cuda::TLDDetector;
using cuda::TrackerTLD;
using fuzz::Engine;
using fuzz::Image;

//! Structure of all sizes, as real images have.
inline Mat texture(uint64 seed, Size size, int type = CV_8UC1, int finest = 5)
{
    RNG rng(fuzz::mixed(seed, 77));
    Mat sum = Mat::zeros(size, CV_MAKETYPE(CV_32F, CV_MAT_CN(type)));
    for (int blur = finest; blur <= 6 * finest; blur *= 2)
    {
        Mat octave;
        randomImage(rng, size, type, blur).convertTo(octave, CV_32F);
        sum += octave;
    }
    normalize(sum.reshape(1), sum, 0, 255, NORM_MINMAX);
    sum.reshape(CV_MAT_CN(type)).convertTo(sum, type);
    return sum;
}

//! Position of an object in one frame.
struct Placement
{
    Point2d centre;
    double scale = 1., degrees = 0.;
    double hidden = 0.; //!< fraction of the width, from the left, that is covered
    bool present = true;
};

//! A background and objects on it, drawn frame by frame.
struct Composite
{
    Mat background, occluder;
    std::vector<Mat> objects;

    Composite(Size frame, const std::vector<Size>& sizes, int type = CV_8UC1, uint64 seed = 1)
        : background(texture(seed, frame, type, 7)), occluder(texture(seed + 1, frame, type, 11))
    {
        for (size_t i = 0; i < sizes.size(); ++i)
            objects.push_back(texture(seed + 100 + i, sizes[i], type, std::max(3, sizes[i].width / 12)));
    }

    //! Upright hull of the object.
    Rect2d truth(const Placement& p, size_t i = 0) const
    {
        const double c = std::abs(std::cos(p.degrees * CV_PI / 180)), s = std::abs(std::sin(p.degrees * CV_PI / 180));
        const double w = objects[i].cols * p.scale, h = objects[i].rows * p.scale;
        const Size2d hull(w * c + h * s, w * s + h * c);
        return Rect2d(p.centre.x - hull.width / 2, p.centre.y - hull.height / 2, hull.width, hull.height);
    }
    Rect box(const Placement& p, size_t i = 0) const
    {
        const Rect2d t = truth(p, i);
        return Rect(cvRound(t.x), cvRound(t.y), cvRound(t.width), cvRound(t.height));
    }

    void draw(Mat& frame, const Placement& p, size_t i = 0) const
    {
        if (!p.present)
            return;
        const Mat& object = objects[i];
        const double c = std::cos(p.degrees * CV_PI / 180) * p.scale, s = std::sin(p.degrees * CV_PI / 180) * p.scale;
        const double x = (object.cols - 1) / 2., y = (object.rows - 1) / 2.;
        const double u = p.centre.x - 0.5, v = p.centre.y - 0.5; // pixels are points at their centres
        const Matx23d map(c, s, u - c * x - s * y, -s, c, v + s * x - c * y);
        warpAffine(object, frame, map, frame.size(), INTER_LINEAR, BORDER_TRANSPARENT);
        const Rect2d t = truth(p, i);
        const Rect hidden = Rect(cvRound(t.x), cvRound(t.y), cvRound(t.width * p.hidden), cvRound(t.height)) &
                            Rect(Point(), frame.size());
        if (!hidden.empty())
            occluder(hidden).copyTo(frame(hidden));
    }
    Mat frame(const std::vector<Placement>& placements) const
    {
        Mat image = background.clone();
        for (size_t i = 0; i < placements.size(); ++i)
            draw(image, placements[i], i);
        return image;
    }
    Mat frame(const Placement& p) const { return frame(std::vector<Placement>(1, p)); }
};

inline double overlap(const Rect2d& a, const Rect2d& b)
{
    const double both = (a & b).area();
    return both > 0 ? both / (a.area() + b.area() - both) : 0.;
}

/** The standard scene: an object that moves on a curve and grows a little; it is hidden step by step, gone, and comes
back somewhere else. */
struct StandardScene
{
    enum
    {
        FRAMES = 90,
        HIDES = 35,    //!< first frame in which a part is hidden
        GONE = 44,     //!< first frame without the object
        RETURNS = 55,  //!< first frame in which it is somewhere else
        NOTICED = 4,   //!< frames without it in which its loss is to be noticed
        REACTION = 12, //!< frames in which it is to be found again
    };

    explicit StandardScene(int type = CV_8UC1, Size size = Size(40, 34), uint64 seed = 1)
        : scene(Size(240, 180), {size}, type, seed)
    {}
    Placement at(int t) const
    {
        Placement p;
        const int s = t < RETURNS ? t : t - RETURNS + 20;
        p.centre = Point2d(t < RETURNS ? 60. + 2.2 * t : 160. - 1.5 * (t - RETURNS), 80. + 25. * std::sin(0.09 * s));
        p.scale = 1. + 0.12 * std::sin(0.07 * t);
        p.hidden = t < HIDES || t >= GONE ? 0. : double(t - HIDES + 1) / (GONE - HIDES);
        p.present = t < GONE || t >= RETURNS;
        return p;
    }
    Mat frame(int t) const { return scene.frame(at(t)); }
    Rect box(int t) const { return scene.box(at(t)); }
    Rect2d truth(int t) const { return scene.truth(at(t)); }

    Composite scene;
};

//! Result of a tracker after a frame.
struct Step
{
    bool located = false;
    Rect box;
    Rect2d inside;
    float score = 0.f;
    int state = -1, event = -1;
    Mat detections;
};

inline ::testing::AssertionResult same(const Step& expected, const Step& actual)
{
    if (expected.located != actual.located || expected.box != actual.box || expected.inside != actual.inside ||
        expected.score != actual.score || expected.state != actual.state || expected.event != actual.event)
        return ::testing::AssertionFailure()
               << "expected located " << expected.located << " " << expected.box << " inside " << expected.inside
               << " score " << expected.score << " state " << expected.state << " event " << expected.event
               << ", got located " << actual.located << " " << actual.box << " inside " << actual.inside << " score "
               << actual.score << " state " << actual.state << " event " << actual.event;
    return sameBits(expected.detections, actual.detections);
}

inline Step look(TrackerTLD& tracker)
{
    Step s;
    s.inside = tracker.getBox();
    s.score = tracker.getTrackingScore();
    s.state = tracker.getState();
    s.event = tracker.getEvent();
    tracker.getDetections(s.detections);
    return s;
}

inline Step advance(TrackerTLD& tracker, InputArray frame)
{
    Rect box;
    const bool located = tracker.update(frame, box);
    Step s = look(tracker);
    s.located = located;
    s.box = box;
    return s;
}
inline Step advance(TrackerTLD& tracker, Engine engine, const Mat& frame)
{
    return advance(tracker, Image(engine, frame).in());
}

//! A tracker that was given the object in frame 0.
template <typename Scene>
Ptr<TrackerTLD> trackerOn(const Scene& scene, Engine engine, const TLDParams& params = TLDParams())
{
    const Ptr<TrackerTLD> tracker = TrackerTLD::create(params);
    tracker->init(Image(engine, scene.frame(0)).in(), scene.box(0));
    return tracker;
}

//! A detector that was given the object in frame 0.
template <typename Scene>
Ptr<TLDDetector> detectorOn(const Scene& scene, Engine engine, const TLDParams& params = TLDParams())
{
    const Ptr<TLDDetector> detector = TLDDetector::create(params);
    detector->init(Image(engine, scene.frame(0)).in(), scene.box(0));
    return detector;
}

inline Rect2d boxOf(const Mat& results, int row = 0)
{
    const double* r = results.ptr<double>(row);
    return Rect2d(r[0], r[1], r[2], r[3]);
}

template <typename Scene>
std::vector<Step> follow(TrackerTLD& tracker, const Scene& scene, Engine engine, int from, int to)
{
    std::vector<Step> steps;
    for (int t = from; t < to; ++t)
        steps.push_back(advance(tracker, engine, scene.frame(t)));
    return steps;
}

inline void expectSame(const std::vector<Step>& expected, const std::vector<Step>& actual)
{
    ASSERT_EQ(expected.size(), actual.size());
    for (size_t t = 0; t < expected.size(); ++t)
        ASSERT_TRUE(same(expected[t], actual[t])) << "step " << t;
}

inline Mat templatesOf(const TrackerTLD& tracker, bool positive)
{
    Mat images;
    tracker.getTemplates(positive, images);
    return images;
}

//! Returns the file of a tracker or a detector as text. @param flags FileStorage::BASE64, as files have it, or 0.
template <typename Object>
std::string textOf(const Object& object, const std::string& extension = ".yml", int flags = 0)
{
    FileStorage out(extension, FileStorage::WRITE | FileStorage::MEMORY | flags);
    out << "object"
        << "{";
    object.write(out);
    out << "}";
    return out.releaseAndGetString();
}

template <typename Object> void readText(Object& object, const std::string& text)
{
    const FileStorage in(text, FileStorage::READ | FileStorage::MEMORY);
    object.read(in["object"]);
}

//! Returns the text of a file with another value of this name, the first one behind the parameters; empty if there is
//! none.
inline std::string withValue(std::string text, const std::string& name, const std::string& value)
{
    const size_t at = text.find("\n" + std::string(6, ' ') + name + ": ", text.find("endAfterMisses:"));
    if (at == std::string::npos)
        return "";
    const size_t begin = text.find(": ", at) + 2;
    size_t end = text.find('\n', begin);
    while (text[end + 7] == ' ') // a list of several lines
        end = text.find('\n', end + 1);
    return text.replace(begin, end - begin, value);
}

//! Returns the object's threshold of validity, which training may have raised above that of the parameters.
inline double validThresholdOf(const TrackerTLD& tracker)
{
    const std::string text = textOf(tracker), name = "validThreshold:";
    double threshold = 0.;
    int found = 0;
    for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1), ++found)
        threshold = std::max(threshold, std::atof(text.c_str() + at + name.size()));
    EXPECT_EQ(2, found) << "that of the parameters and that of the object";
    return threshold;
}

//! Returns parameters for flow only: no window passes the ferns, there is no filter, and nothing is learned.
inline TLDParams flowOnly()
{
    return paramsOf("learning 0, fernThreshold 1, maxUnsupported 0, maxProbation 0, filter 0");
}

//! Tests that run on both backends, visibly skipped on CUDA without a device.
class OnEngine : public testing::TestWithParam<Engine>
{
protected:
    void SetUp() override
    {
        if (engine() == Engine::CUDA)
            requireCuda();
    }
    Engine engine() const { return GetParam(); }
    Image image(const Mat& frame) const { return Image(engine(), frame); }
    Mat update(MultiTrackerTLD& tracker, const Mat& frame) const
    {
        Mat results;
        tracker.update(image(frame).in(), results);
        return results;
    }
    Mat update(MultiTrackerTLD& tracker, const Mat& frame, const std::vector<Rect>& boxes) const
    {
        Mat results;
        tracker.update(image(frame).in(), boxes, results);
        return results;
    }
};

inline std::string nameOfEngine(const testing::TestParamInfo<Engine>& info)
{
    return info.param == Engine::CPU ? "Cpu" : "Cuda";
}

}} // namespace opencv_test::tld

//! Instantiates a suite on OnEngine per backend.
#define CUDATRACKING_ON_ENGINES(suite)                                                                                 \
    INSTANTIATE_TEST_CASE_P(Engines, suite, testing::Values(Engine::CPU, Engine::CUDA), nameOfEngine)

#endif // OPENCV_CUDATRACKING_TEST_TLD_SCENES_HPP
