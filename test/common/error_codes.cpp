// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Error codes of all classes: one table for each class. The check `error-codes` of scripts/check.sh compares the codes
// and causes with the table in cudatracking.hpp.
#include "faults.hpp"
#include "graphs.hpp"
#include "../cascade/generate.hpp"
#include "../tld/scenes.hpp"
#include <functional>
#include <new>

namespace opencv_test { namespace {

using cuda::CascadeClassifierEx;
using cuda::FragmentMatcher;
using cuda::GpuMat;
using cuda::MultiTrackerTLD;
using cuda::QuickShift;
using cuda::QuickShiftTiles;
using cuda::TemplateFinder;
using cuda::TLDDetector;
using cuda::TLDParams;
using cuda::TrackerTLD;

//! An error code and one of the causes that cudatracking.hpp lists for it.
struct Cause
{
    int code;
    const char* text;
};
const Cause WRONG_TYPE = {Error::StsUnsupportedFormat, "an element type or depth that is not accepted"};
const Cause OTHER_TYPE = {Error::StsUnmatchedFormats, "another element type than before"};
const Cause OTHER_PARAMETERS = {Error::StsUnmatchedFormats, "a file with other parameters"};
const Cause WRONG_SHAPE = {Error::StsBadSize, "an array of a shape, side or number of pixels that is not accepted"};
const Cause EMPTY_IMAGE = {Error::StsBadSize, "an empty image"};
const Cause OTHER_SIZE = {Error::StsUnmatchedSizes, "another size than another argument or earlier images"};
const Cause OTHER_NUMBER = {Error::StsUnmatchedSizes, "another number of elements"};
const Cause OUT_OF_RANGE = {Error::StsOutOfRange, "a number, box, index or id out of its range"};
const Cause NO_WEIGHT = {Error::StsOutOfRange, "weights that are all 0"};
const Cause LARGE_FRAGMENT = {Error::StsOutOfRange, "a fragment too large, or too large for a score map of CV_32S"};
const Cause LARGE_FILE = {Error::StsOutOfRange, "a file that is too large"};
const Cause TWO_MEMORIES = {Error::StsBadArg, "a Mat and a GpuMat together"};
const Cause NO_LIST = {Error::StsBadArg, "an array in place of a list"};
const Cause A_LIST = {Error::StsBadArg, "a list in place of an array"};
const Cause NO_CASCADE = {Error::StsBadArg, "no cascade is loaded"};
const Cause FILE_ENDING = {Error::StsBadArg, "an ending of a file name that is not accepted"};
const Cause OTHER_SOURCES = {Error::StsBadArg, "sources of tiles differ"};
const Cause OTHER_DEVICE = {Error::StsBadArg, "a current device that is not the instance's"};
[[maybe_unused]] const Cause WAITS_IN_CAPTURE = {Error::StsBadArg, "a waiting call on a capturing stream"};
const Cause ALIGNMENT = {Error::BadAlign, "an address or step of a GpuMat that is not aligned"};
const Cause NO_FRAGMENTS = {Error::StsError, "there are no fragments"};
const Cause NO_TEMPLATE = {Error::StsError, "there is no template"};
const Cause NO_OBJECT = {Error::StsError, "nothing was learned yet"};
const Cause FILE_FAILED = {Error::StsError, "a file that cannot be read or written"};
const Cause NO_FILE = {Error::StsObjectNotFound, "a file to read that does not exist or cannot be opened"};
const Cause WRONG_CONTENT = {Error::StsParseError, "a file whose content is not valid"};
const Cause NO_MEMORY = {Error::StsNoMem, "not enough memory of the host"};
const Cause CUDA_FAILED = {Error::GpuApiCallError,
                           "a CUDA function that failed, also for lack of device memory or of a driver"};
const Cause NO_CUDA = {Error::GpuNotSupported, "a GpuMat in a build without CUDA"};

//! A call that must throw.
struct Fault
{
    Cause cause;
    std::function<void()> call;
    bool possible = true; //!< in this build and on this machine
};

#ifdef HAVE_CUDA
const bool BUILT_WITH_CUDA = true;
#else
const bool BUILT_WITH_CUDA = false;
#endif

int devices() { return cuda::getCudaEnabledDeviceCount(); }

void expectCodes(const std::vector<Fault>& faults)
{
    for (const Fault& fault : faults)
    {
        if (!fault.possible)
            continue;
        SCOPED_TRACE(fault.cause.text);
        expectRefused(fault.call, {}, fault.cause.code);
    }
}

Mat gray(int width, int height, int type = CV_8UC1) { return Mat(height, width, type, Scalar::all(7)); }
//! Only the header: its elements must not be accessed.
Mat header(int width, int height, int type = CV_8UC1)
{
    static uchar none = 0;
    return Mat(height, width, type, &none);
}
//! Only the header of an array in device memory: its elements must not be accessed.
GpuMat onDevice(const Mat& mat, size_t offset = 0)
{
    return GpuMat(mat.rows, mat.cols, mat.type(), mat.data + offset, mat.step);
}

TEST(Common_ErrorCodes, fragmentMatcher)
{
    const Ptr<FragmentMatcher> matcher = FragmentMatcher::create(), empty = FragmentMatcher::create();
    matcher->setFragments(std::vector<Mat>(1, gray(5, 4)));
    const Mat frame = gray(40, 30);
    Mat out, more;
    const auto match = [&](InputArray image, InputArray areas) { matcher->match(image, areas, out); };
    const auto weigh = [&](const Mat& weights)
    { matcher->setFragments(std::vector<Mat>(1, gray(5, 4)), std::vector<Mat>(1, weights)); };
    const Ptr<FragmentMatcher> large = FragmentMatcher::create();
    large->setFragments(std::vector<Mat>(1, gray(105, 105)));
    FragmentMatcher::Params params;
    params.peaks = 17;
    expectCodes({
        {WRONG_TYPE, [&] { matcher->addFragment(gray(5, 4, CV_16SC1)); }},
        {OTHER_TYPE, [&] { matcher->addFragment(gray(5, 4, CV_16UC1)); }},
        {WRONG_TYPE, [&] { match(frame, gray(4, 1, CV_32FC1)); }},
        {WRONG_TYPE, [&] { matcher->scoreMap(0, frame, Rect(), out, CV_16U); }},
        {OTHER_TYPE, [&] { match(gray(40, 30, CV_8UC3), noArray()); }},
        {OTHER_TYPE, [&] { matcher->addFragment(gray(5, 4, CV_8UC3)); }},
        {WRONG_SHAPE, [&] { match(frame, gray(3, 1, CV_32SC1)); }},
        {WRONG_SHAPE, [&] { matcher->addFragment(header(40000, 1)); }},
        {OTHER_SIZE, [&] { weigh(gray(4, 4)); }},
        {OTHER_NUMBER, [&] { match(frame, gray(4, 2, CV_32SC1)); }},
        {OUT_OF_RANGE, [&] { matcher->setParams(params); }},
        {OUT_OF_RANGE, [&] { matcher->removeFragment(3); }},
        {OUT_OF_RANGE, [&] { matcher->cutFragments(frame, {Rect(36, 0, 5, 4)}); }},
        {NO_WEIGHT, [&] { weigh(Mat::zeros(4, 5, CV_8UC1)); }},
        {TWO_MEMORIES, [&] { match(frame, onDevice(gray(4, 1, CV_32SC1))); }, BUILT_WITH_CUDA},
        {LARGE_FRAGMENT, [&] { matcher->addFragment(header(4105, 4104)); }},
        {LARGE_FRAGMENT, [&] { large->scoreMap(0, gray(300, 300), Rect(), out, CV_32S); }},
        {A_LIST, [&] { match(std::vector<Mat>(2, frame), noArray()); }},
        {NO_FRAGMENTS, [&] { empty->match(frame, noArray(), out); }},
        {NO_MEMORY,
         [&]
         {
             for (int n = 1; n < 100; ++n) // those of operator new throw std::bad_alloc
             {
                 const Ptr<FragmentMatcher> fresh = FragmentMatcher::create();
                 fresh->setFragments(std::vector<Mat>(1, gray(5, 4)));
                 faults::Armed armed(faults::MEMORY, n);
                 try
                 {
                     fresh->match(frame, noArray(), more);
                 }
                 catch (const std::bad_alloc&)
                 {}
             }
         },
         faults::possible(faults::MEMORY)},
    });
}

TEST(Common_ErrorCodes, quickShift)
{
    const Ptr<QuickShift> quick = QuickShift::create();
    const Mat image = gray(40, 30);
    const auto batch = [&](const std::vector<Mat>& images, const std::vector<Mat>& masks = {})
    { quick->computeBatch(images, noArray(), masks.empty() ? _InputArray(noArray()) : _InputArray(masks)); };
    expectCodes({
        {WRONG_TYPE, [&] { quick->compute(gray(40, 30, CV_64FC1)); }},
        {WRONG_TYPE, [&] { quick->compute(image, gray(40, 30, CV_8SC1)); }},
        {OTHER_TYPE,
         [&] {
             batch({image, gray(40, 30, CV_8UC3)});
         }},
        {WRONG_SHAPE, [&] { quick->compute(header(65536, 1)); }},
        {WRONG_SHAPE, [&] { quick->compute(header(65535, 60000)); }},
        {EMPTY_IMAGE,
         [&] {
             batch({image, Mat()});
         }},
        {OTHER_SIZE, [&] { quick->compute(image, gray(30, 40)); }},
        {OTHER_NUMBER,
         [&] {
             batch({image, image}, {image});
         }},
        {OUT_OF_RANGE, [&] { quick->setSigma(0); }},
        {OUT_OF_RANGE, [&] { quick->computeTiled(image, Size(0, 8)); }},
        {TWO_MEMORIES, [&] { quick->compute(image, onDevice(image)); }, BUILT_WITH_CUDA},
        {NO_LIST, [&] { quick->computeBatch(image, noArray()); }},
        {NO_FILE, [] { QuickShift::load("no such file.xml"); }},
    });
}

TEST(Common_ErrorCodes, quickShiftTiles)
{
    const Ptr<QuickShift> quick = QuickShift::create();
    const Ptr<QuickShiftTiles> tiles = QuickShiftTiles::create(quick, Size(60, 30), Size(30, 30));
    Mat labels;
    const auto add = [&](Point tile, int type, int valid)
    {
        const Size size = tiles->getSource(tile).size();
        quick->compute(gray(size.width, size.height, type), Mat(size, CV_8U, Scalar(valid)));
        tiles->add(tile, quick, labels);
    };
    add(Point(0, 0), CV_8UC1, 0);
    expectCodes({
        {OTHER_TYPE, [&] { add(Point(1, 0), CV_8UC3, 1); }},
        {OTHER_SIZE,
         [&]
         {
             quick->compute(gray(30, 30));
             tiles->add(Point(1, 0), quick, labels);
         }},
        {OUT_OF_RANGE, [&] { tiles->getTile(Point(2, 0)); }},
        {OTHER_SOURCES, [&] { add(Point(1, 0), CV_8UC1, 1); }}, // its parents lie in the other tile, which is masked
    });
}

TEST(Common_ErrorCodes, templateFinder)
{
    const Ptr<TemplateFinder> finder = TemplateFinder::create(), none = TemplateFinder::create();
    const Mat image = gray(40, 30), templ = gray(9, 8);
    finder->setTemplate(templ);
    std::vector<cuda::TemplatePose> poses;
    TemplateFinder::Params params;
    params.threshold = std::numeric_limits<double>::quiet_NaN();
    const auto weigh = [&](const Mat& weights) { finder->setTemplate(templ, weights); };
    expectCodes({
        {WRONG_TYPE, [&] { finder->setTemplate(gray(5, 4, CV_32FC1)); }},
        {WRONG_TYPE, [&] { weigh(gray(9, 8, CV_16UC1)); }},
        {OTHER_TYPE, [&] { finder->find(gray(40, 30, CV_8UC3), poses); }},
        {WRONG_SHAPE, [&] { finder->setTemplate(header(16385, 1)); }},
        {WRONG_SHAPE, [&] { finder->find(header(32768, 1), poses); }},
        {EMPTY_IMAGE, [&] { finder->setTemplate(Mat()); }},
        {OTHER_SIZE, [&] { weigh(gray(8, 9)); }},
        {OUT_OF_RANGE, [&] { TemplateFinder::create(params); }},
        {OUT_OF_RANGE, [&] { weigh(Mat(8, 9, CV_32FC1, Scalar(params.threshold))); }},
        {NO_WEIGHT, [&] { weigh(Mat::zeros(8, 9, CV_8UC1)); }},
        {TWO_MEMORIES, [&] { finder->setTemplate(templ, onDevice(templ)); }, BUILT_WITH_CUDA},
        {A_LIST, [&] { finder->find(std::vector<Mat>(2, image), poses); }},
        {NO_TEMPLATE, [&] { none->find(image, poses); }},
    });
}

TEST(Common_ErrorCodes, cascade)
{
    const Mat noise = randomImage(theRNG(), Size(64, 48), CV_8UC1);
    const Ptr<CascadeClassifierEx> classifier = cascadeOf(CascadeGenerator(5, noise).make()),
                                   empty = CascadeClassifierEx::create();
    const Mat image = gray(40, 30);
    std::vector<Rect> found;
    Mat out;
    const auto detect = [&](InputArray given, InputArray mask = noArray())
    { classifier->detectMultiScale(given, found, 1.1, 3, 0, Size(), Size(), mask); };
    expectCodes({
        {WRONG_TYPE, [&] { detect(gray(40, 30, CV_16UC1)); }},
        {WRONG_TYPE, [&] { classifier->loadBuffer(gray(3, 5, CV_32FC1)); }},
        {WRONG_TYPE, [&] { classifier->convertDetections(gray(5, 1, CV_32FC4), 0, found); }},
        {WRONG_SHAPE, [&] { detect(header(65536, 1)); }},
        {WRONG_SHAPE, [&] { classifier->loadBuffer(gray(3, 5)); }},
        {WRONG_SHAPE, [&] { classifier->convertDetections(gray(1, 1, CV_32SC4), 0, found); }},
        {OTHER_SIZE, [&] { detect(image, gray(30, 40)); }},
        {OTHER_NUMBER,
         [&] {
             classifier->detectAsync(std::vector<Mat>(2, image), out, noArray(), noArray(), std::vector<Mat>(1, image));
         }},
        {OUT_OF_RANGE, [&] { classifier->setScaleFactor(1.); }},
        {OUT_OF_RANGE, [&] { classifier->convertDetections(gray(5, 1, CV_32SC4), 1, found); }},
        {LARGE_FILE, [&] { classifier->loadBuffer(Mat(1, (8 << 20) + 1, CV_8UC1, Scalar(' '))); }},
        {TWO_MEMORIES, [&] { detect(image, onDevice(image)); }, BUILT_WITH_CUDA},
        {NO_CASCADE, [&] { empty->detectMultiScale(image, found); }},
        {NO_FILE, [] { CascadeClassifierEx::create("no such file.xml"); }},
        {WRONG_CONTENT, [&] { classifier->loadBuffer(gray(9, 1)); }},
    });
}

TEST(Common_ErrorCodes, tld)
{
    const tld::StandardScene scene;
    const Mat image = scene.frame(0);
    const Ptr<TrackerTLD> tracker = TrackerTLD::create(), empty = TrackerTLD::create(),
                          otherTracker = TrackerTLD::create(tld::paramsOf("scales 5"));
    const Ptr<MultiTrackerTLD> several = MultiTrackerTLD::create();
    const TemporaryFile file(".xml");
    for (const Ptr<TrackerTLD>& one : {tracker, otherTracker})
        one->init(image, scene.box(0));
    otherTracker->save(file);
    Rect box;
    std::vector<Rect> boxes;
    std::vector<float> scores;
    Mat out;
    const auto convert = [&](const Mat& table) { TLDDetector::convertDetections(table, boxes, scores); };
    const auto update = [&](const Mat& next) { tracker->update(next, box); };
    const auto withBoxes = [&](InputArray list) { several->update(image, list, out); };
    expectCodes({
        {WRONG_TYPE, [&] { update(gray(240, 180, CV_16UC1)); }},
        {WRONG_TYPE, [&] { convert(gray(8, 3, CV_32FC1)); }},
        {WRONG_TYPE, [&] { withBoxes(gray(4, 1, CV_32FC1)); }},
        {OTHER_TYPE, [&] { update(gray(240, 180, CV_8UC3)); }},
        {OTHER_PARAMETERS, [&] { several->addFromFile(image, file); }},
        {WRONG_SHAPE, [&] { update(gray(15, 15)); }},
        {WRONG_SHAPE, [&] { update(header(16385, 20)); }},
        {WRONG_SHAPE, [&] { convert(gray(7, 3, CV_64FC1)); }},
        {EMPTY_IMAGE, [&] { update(Mat()); }},
        {OTHER_SIZE, [&] { update(gray(180, 240)); }},
        {OUT_OF_RANGE, [&] { TrackerTLD::create(tld::paramsOf("seed -1")); }},
        {OUT_OF_RANGE, [&] { empty->init(image, Rect(220, 0, 40, 40)); }},
        {OUT_OF_RANGE, [&] { several->remove(3); }},
        {OUT_OF_RANGE, [&] { convert(gray(8, 1, CV_64FC1)); }}, // 7 rows follow
        {TWO_MEMORIES, [&] { withBoxes(onDevice(gray(5, 1, CV_32SC4))); }, BUILT_WITH_CUDA},
        {FILE_ENDING, [&] { tracker->save("object.txt"); }},
        {NO_OBJECT, [&] { empty->update(image, box); }},
        {FILE_FAILED, [&] { tracker->save("no such folder/object.xml"); }},
        {NO_FILE, [&] { empty->load("no such file.xml"); }},
    });
}

//! Codes that only builds with or without CUDA, or machines with or without a device, can show.
TEST(Common_ErrorCodes, devices)
{
    const Ptr<QuickShift> quick = QuickShift::create();
    const Mat image = gray(40, 30, CV_32FC1);
    const auto onTwoDevices = [&]
    {
        const int device = cuda::getDevice();
        quick->compute(GpuMat(image));
        cuda::setDevice(1 - device);
        try
        {
            quick->compute(GpuMat(image));
        }
        catch (...)
        {
            cuda::setDevice(device);
            throw;
        }
        cuda::setDevice(device);
    };
    expectCodes({
        {NO_CUDA, [&] { quick->compute(onDevice(image)); }, !BUILT_WITH_CUDA},
        {CUDA_FAILED, [&] { quick->compute(onDevice(image)); }, BUILT_WITH_CUDA && devices() <= 0},
        {ALIGNMENT, [&] { quick->compute(onDevice(image, 1)); }, BUILT_WITH_CUDA},
        {OTHER_DEVICE, onTwoDevices, devices() > 1},
    });
}

#ifdef HAVE_CUDA
TEST(Common_ErrorCodes, capturesOnCuda)
{
    requireCuda();
    const Ptr<QuickShift> quick = QuickShift::create();
    quick->compute(GpuMat(gray(40, 30)));
    cuda::Stream stream;
    Graph graph(stream);
    expectCodes({{WAITS_IN_CAPTURE, [&] { quick->countSuperpixels(5., stream); }}});
    graph.end();
}
#endif

}} // namespace opencv_test
