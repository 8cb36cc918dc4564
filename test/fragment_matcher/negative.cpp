// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Arguments that FragmentMatcher must refuse: it throws a cv::Exception that names the argument, and stays unchanged.
// CPU backend.
#include "scenes.hpp"
#include <functional>

namespace opencv_test { namespace {

using namespace scenes;

//! One bad call and the word of the message that names what is wrong with it.
struct BadCall
{
    const char* what;
    const char* named;
    std::function<void()> call;
};

const float NOT_A_NUMBER = std::numeric_limits<float>::quiet_NaN(), ENDLESS = std::numeric_limits<float>::infinity();

typedef std::vector<Mat> Mats;

Mats one(const Mat& mat) { return Mats(1, mat); }
Mats both(const Mat& first, const Mat& second) { return {first, second}; }
Mat gray(int width = 5, int height = 4) { return Mat(height, width, CV_8UC1, Scalar(7)); }
//! Only the header: no element in device memory is read before the arguments are checked.
cuda::GpuMat deviceHeader(const Mat& mat) { return cuda::GpuMat(mat.rows, mat.cols, mat.type(), mat.data, mat.step); }
Mat weight(double value, int type = CV_32FC1) { return Mat(4, 5, type, Scalar(value)); }

Mat spoiled(float value)
{
    Mat weights = weight(0.5);
    weights.at<float>(3, 4) = value;
    return weights;
}

// Calls whose outputs do not matter.

void match(FM& matcher, const Mat& frame, const Mat& areas = Mat())
{
    Mat locations;
    matcher.match(frame, areas, locations);
}

void find(FM& matcher, const Mat& frame)
{
    std::vector<FragmentMatch> matches;
    matcher.find(frame, noArray(), matches);
}

Mat scoreMap(FM& matcher, int index, const Mat& frame, Rect area = Rect(), int depth = CV_32F)
{
    Mat map;
    matcher.scoreMap(index, frame, area, map, depth);
    return map;
}

void scoreMaps(FM& matcher, const Mat& frame, const Mat& areas = Mat(), int depth = CV_32F)
{
    Mat maps;
    std::vector<int> offsets;
    matcher.scoreMaps(frame, areas, maps, offsets, depth);
}

void convert(const Result& r)
{
    std::vector<FragmentMatch> matches;
    FM::convert(r.locations, r.scores, r.confidence, r.status, r.refined, matches);
}

//! A matcher with eight gray fragments, and what it must answer before and after.
class FragmentMatcher_Negative : public testing::Test
{
protected:
    void SetUp() override
    {
        RNG rng(511);
        scene = randomScene(rng, makeParams(FM::SAD, 2), CV_8UC1, SOME_WEIGHTS);
        matcher = FM::create(scene.params);
        give(*matcher, scene);
        truth = expected(scene);
    }

    void expectRefusals(const std::vector<BadCall>& calls)
    {
        for (const BadCall& bad : calls)
        {
            SCOPED_TRACE(bad.what);
            expectRefused(bad.call, {bad.named});
            EXPECT_EQ(static_cast<int>(scene.templates.size()), matcher->getFragmentCount());
            EXPECT_EQ(scene.params.metric, matcher->getParams().metric);
            EXPECT_EQ(scene.params.peaks, matcher->getParams().peaks);
            const Result again = run(*matcher, scene);
            EXPECT_TRUE(sameBits(truth.locations, again.locations));
            EXPECT_TRUE(sameBits(truth.scores, again.scores));
        }
    }

    Scene scene;
    Ptr<FM> matcher;
    Result truth;
    Mat out, more;
};

FM::Params with(int FM::Params::*member, int value)
{
    FM::Params params;
    params.*member = value;
    return params;
}

FM::Params withLimit(Size size)
{
    FM::Params params;
    params.maxSearchArea = size;
    return params;
}

TEST_F(FragmentMatcher_Negative, params)
{
    const int low = std::numeric_limits<int>::min(), high = std::numeric_limits<int>::max();
    std::vector<BadCall> calls;
    const auto add = [&](const char* named, const FM::Params& params)
    {
        calls.push_back({"setParams", named, [=] { matcher->setParams(params); }});
        calls.push_back({"create", named, [=] { FM::create(params); }});
    };
    for (const int value : {-1, 3, low, high})
        add("metric", with(&FM::Params::metric, value));
    for (const int value : {-1, 2, low, high})
        add("exclusion", with(&FM::Params::exclusion, value));
    for (const int value : {-1, low, 32768, high})
        add("exclusionDistance", with(&FM::Params::exclusionDistance, value));
    for (const int value : {0, -1, 17, low, high})
        add("peaks", with(&FM::Params::peaks, value));
    for (const int value : {-1, 2, low, high})
        add("search", with(&FM::Params::search, value));
    add("maxSearchArea", withLimit(Size(-1, 10)));
    add("maxSearchArea", withLimit(Size(10, -1)));
    expectRefusals(calls);
}

TEST_F(FragmentMatcher_Negative, setFragments)
{
    const Mat ok = gray(), bgr(4, 5, CV_8UC3, Scalar::all(7));
    expectRefusals({
        {"no template", "templates: 0 given", [=] { matcher->setFragments(Mats()); }},
        {"an empty template", "template", [=] { matcher->setFragments(both(ok, Mat())); }},
        {"16 bit, signed", "template", [=] { matcher->setFragments(one(Mat(4, 5, CV_16SC1, Scalar(7)))); }},
        {"16 bit, two channels", "template", [=] { matcher->setFragments(one(Mat(4, 5, CV_16UC2, Scalar(7)))); }},
        {"float", "template", [=] { matcher->setFragments(one(Mat(4, 5, CV_32FC1, Scalar(7)))); }},
        {"two channels", "template", [=] { matcher->setFragments(one(Mat(4, 5, CV_8UC2, Scalar(7)))); }},
        {"two types", "template", [=] { matcher->setFragments(both(ok, bgr)); }},
        {"too wide", "template", [=] { matcher->setFragments(one(Mat(1, 32768, CV_8UC1, Scalar(7)))); }},
        {"too high", "template", [=] { matcher->setFragments(one(Mat(32768, 1, CV_8UC1, Scalar(7)))); }},
        {"100,001 fragments", "templates: 100001 given", [=] { matcher->setFragments(Mats(100001, gray(1, 1))); }},
        {"weights: too few", "weights", [=] { matcher->setFragments(both(ok, ok), one(weight(1))); }},
        {"weights: too many", "weights", [=] { matcher->setFragments(one(ok), Mats(2, weight(1))); }},
        {"weights: size", "weights", [=] { matcher->setFragments(one(ok), one(Mat(5, 4, CV_32FC1, Scalar(1)))); }},
        {"weights: double", "weights", [=] { matcher->setFragments(one(ok), one(weight(1, CV_64FC1))); }},
        {"weights: 16 bit", "weights", [=] { matcher->setFragments(one(ok), one(weight(1, CV_16UC1))); }},
        {"weights: three channels", "weights", [=] { matcher->setFragments(one(ok), one(bgr)); }},
        {"weights: NaN", "weights", [=] { matcher->setFragments(one(ok), one(spoiled(NOT_A_NUMBER))); }},
        {"weights: below 0", "weights", [=] { matcher->setFragments(one(ok), one(spoiled(-0.01f))); }},
        {"weights: above 1", "weights", [=] { matcher->setFragments(one(ok), one(spoiled(1.01f))); }},
        {"weights: inf", "weights", [=] { matcher->setFragments(one(ok), one(spoiled(ENDLESS))); }},
        {"weights: none", "weights", [=] { matcher->setFragments(one(ok), one(weight(0, CV_8UC1))); }},
        {"weights: all round to 0", "weights", [=] { matcher->setFragments(one(ok), one(weight(0.0019))); }},
        {"weights: of the second", "weights", [=] { matcher->setFragments(both(ok, ok), both(Mat(), weight(0))); }},
    });
}

TEST_F(FragmentMatcher_Negative, cutFragments)
{
    const Mat frame = gray(30, 20);
    const int high = std::numeric_limits<int>::max();
    std::vector<BadCall> calls;
    for (const Rect region :
         {Rect(-1, 0, 5, 4), Rect(0, -1, 5, 4), Rect(26, 0, 5, 4), Rect(0, 17, 5, 4), Rect(3, 3, 0, 4),
          Rect(3, 3, 4, 0), Rect(9, 9, -3, 4), Rect(0, 0, high, high), Rect(high, high, high, high)})
        calls.push_back({"region", "regions", [=] { matcher->cutFragments(frame, {Rect(1, 1, 5, 4), region}); }});
    calls.push_back({"no region", "regions: 0 given", [=] { matcher->cutFragments(frame, {}); }});
    calls.push_back({"100,001 regions", "regions: 100001 given",
                     [=] { matcher->cutFragments(frame, std::vector<Rect>(100001, Rect(1, 1, 1, 1))); }});
    calls.push_back({"frame: empty", "frame", [=] { matcher->cutFragments(Mat(), {Rect(0, 0, 5, 4)}); }});
    calls.push_back({"frame: float", "frame", [=] { matcher->cutFragments(Mat(9, 9, CV_32FC1), {Rect(0, 0, 5, 4)}); }});
    calls.push_back(
        {"weights: size", "weights", [=] { matcher->cutFragments(frame, {Rect(0, 0, 4, 4)}, one(weight(1))); }});
    calls.push_back({"weights: count", "weights", [=] {
                         matcher->cutFragments(frame, {Rect(0, 0, 5, 4), Rect(0, 0, 5, 4)}, one(weight(1)));
                     }});
    expectRefusals(calls);
}

TEST_F(FragmentMatcher_Negative, singleFragments)
{
    const Mat bgr(4, 5, CV_8UC3, Scalar::all(7));
    expectRefusals({
        {"add: type", "templ", [=] { matcher->addFragment(bgr); }},
        {"add: empty", "templ", [=] { matcher->addFragment(Mat()); }},
        {"add: depth", "templ", [=] { matcher->addFragment(Mat(4, 5, CV_16SC1)); }},
        {"add: weights", "weights", [=] { matcher->addFragment(gray(), weight(0)); }},
        {"update: -1", "index", [=] { matcher->updateFragment(-1, gray()); }},
        {"update: N", "index", [=] { matcher->updateFragment(matcher->getFragmentCount(), gray()); }},
        {"update: type", "templ", [=] { matcher->updateFragment(0, bgr); }},
        {"update: weights", "weights", [=] { matcher->updateFragment(0, gray(), spoiled(NOT_A_NUMBER)); }},
        {"update: weights' size", "weights", [=] { matcher->updateFragment(0, gray(6, 4), weight(1)); }},
        {"remove: -1", "index", [=] { matcher->removeFragment(-1); }},
        {"remove: N", "index", [=] { matcher->removeFragment(matcher->getFragmentCount()); }},
        {"size of -1", "index", [=] { matcher->getFragmentSize(-1); }},
        {"size of N", "index", [=] { matcher->getFragmentSize(matcher->getFragmentCount()); }},
    });
}

TEST_F(FragmentMatcher_Negative, frames)
{
    std::vector<BadCall> calls;
    const auto add = [&](const char* what, const Mat& image)
    {
        calls.push_back({what, "frame", [=] { match(*matcher, image); }});
        calls.push_back({what, "frame", [=] { find(*matcher, image); }});
        calls.push_back({what, "frame", [=] { scoreMap(*matcher, 0, image); }});
        calls.push_back({what, "frame", [=] { scoreMaps(*matcher, image); }});
    };
    add("16 bit", Mat(50, 50, CV_16UC1));
    add("signed", Mat(50, 50, CV_8SC1));
    add("float", Mat(50, 50, CV_32FC1));
    add("two channels", Mat(50, 50, CV_8UC2));
    add("not of the fragments' type", Mat(50, 50, CV_8UC3));
    add("too wide", Mat(1, 32768, CV_8UC1));
    add("too high", Mat(32768, 1, CV_8UC1));
    expectRefusals(calls);
}

TEST_F(FragmentMatcher_Negative, searchAreas)
{
    const Mat frame = scene.frame;
    const int n = static_cast<int>(scene.templates.size());
    std::vector<BadCall> calls;
    const auto add = [&](const char* what, const Mat& areas)
    {
        calls.push_back({what, "searchAreas", [=] { match(*matcher, frame, areas); }});
        calls.push_back({what, "searchAreas", [=] { scoreMaps(*matcher, frame, areas); }});
    };
    std::vector<Rect> negative(n, Rect(0, 0, 80, 60));
    add("one less", Mat(n - 1, 1, CV_32SC4, Scalar(0, 0, 80, 60)));
    add("one more", Mat(n + 1, 1, CV_32SC4, Scalar(0, 0, 80, 60)));
    add("two columns", Mat(n, 2, CV_32SC4, Scalar(0, 0, 80, 60)));
    add("float", Mat(n, 1, CV_32FC4, Scalar(0, 0, 80, 60)));
    add("three columns of int", Mat(n, 3, CV_32SC1, Scalar(60)));
    add("five columns of int", Mat(n, 5, CV_32SC1, Scalar(60)));
    add("four columns of float", Mat(n, 4, CV_32FC1, Scalar(60)));
    add("four columns of int, one row less", Mat(n - 1, 4, CV_32SC1, Scalar(60)));
    add("four columns of int, negative size", Mat(n, 4, CV_32SC1, Scalar(-60)));
    negative[n - 1].width = -5;
    add("negative width", Mat(negative, true));
    negative[n - 1] = Rect(0, 0, 5, std::numeric_limits<int>::min());
    add("negative height", Mat(negative, true));
    expectRefusals(calls);
}

TEST_F(FragmentMatcher_Negative, maps)
{
    const Mat frame = scene.frame;
    const int n = matcher->getFragmentCount();
    std::vector<BadCall> calls = {
        {"index -1", "index", [=] { scoreMap(*matcher, -1, frame); }},
        {"index N", "index", [=] { scoreMap(*matcher, n, frame); }},
        {"negative width", "searchArea", [=] { scoreMap(*matcher, 0, frame, Rect(0, 0, -5, 5)); }},
        {"negative height", "searchArea", [=] { scoreMap(*matcher, 0, frame, Rect(0, 0, 5, -5)); }},
    };
    for (const int depth : {CV_8U, CV_16U, CV_16F, -1, 77})
    {
        calls.push_back({"depth", "depth", [=] { scoreMap(*matcher, 0, frame, Rect(), depth); }});
        calls.push_back({"depth", "depth", [=] { scoreMaps(*matcher, frame, Mat(), depth); }});
    }
    expectRefusals(calls);

    // Maps of ZNCC are floats.
    const Ptr<FM> zncc = FM::create(makeParams(FM::ZNCC));
    zncc->setFragments(one(gray()));
    expectRefused([&] { scoreMap(*zncc, 0, frame, Rect(), CV_64F); }, {"depth"});
    expectRefused([&] { scoreMaps(*zncc, frame, Mat(), CV_32S); }, {"depth"});

    // As many pixels as 32-bit maps can hold, whatever the number of channels, then one more.
    for (const int channels : {1, 3, 4})
    {
        const Mat most(86, 128, CV_8UC(channels), Scalar::all(7)), few = most(Rect(0, 0, 43, 1)); // 11,008
        const Ptr<FM> sums = FM::create(makeParams(FM::SAD)), squares = FM::create(makeParams(FM::SSD));
        sums->setFragments(one(most));
        squares->setFragments(one(few));
        const Mat black = Mat::zeros(most.size(), most.type());
        const int seen = std::min(channels, 3);
        EXPECT_EQ(255 * 7 * 11008 * seen, scoreMap(*sums, 0, black, Rect(), CV_32S).at<int>(0));
        EXPECT_EQ(255 * 49 * 43 * seen, scoreMap(*squares, 0, black, Rect(), CV_32S).at<int>(0));
    }
    const Ptr<FM> sad = FM::create(makeParams(FM::SAD)), ssd = FM::create(makeParams(FM::SSD));
    sad->setFragments(one(gray(109, 101))); // 11,009
    ssd->setFragments(one(gray(44, 1)));
    for (const Ptr<FM>& large : {sad, ssd})
    {
        expectRefused([&] { scoreMap(*large, 0, gray(200, 200), Rect(), CV_32S); }, {"depth"});
        EXPECT_EQ(0., cvtest::norm(scoreMap(*large, 0, gray(200, 200), Rect(), CV_64F), NORM_INF));
    }
}

TEST_F(FragmentMatcher_Negative, predictAreas)
{
    const Mat locations = truth.locations;
    const int n = locations.rows;
    std::vector<BadCall> calls;
    const auto add = [&](const char* what, const char* named, const Mat& at, int radius, Size frame) {
        calls.push_back({what, named, [=] { matcher->predictAreas(at, radius, frame, out); }});
    };
    add("radius", "radius", locations, -1, Size(80, 60));
    add("frame width", "frameSize", locations, 1, Size(-1, 60));
    add("frame height", "frameSize", locations, 1, Size(80, -1));
    add("rows", "locations", Mat(n - 1, 2, CV_32SC2), 1, Size(80, 60));
    add("type", "locations", Mat(n, 2, CV_32FC2), 1, Size(80, 60));
    add("one column of int", "locations", Mat(n, 1, CV_32SC1), 1, Size(80, 60));
    add("three columns of int", "locations", Mat(n, 3, CV_32SC1), 1, Size(80, 60));
    add("two columns of int, a row more", "locations", Mat(n + 1, 2, CV_32SC1), 1, Size(80, 60));
    expectRefusals(calls);
}

//! Predictions are checked when they are used.
TEST_F(FragmentMatcher_Negative, predictions)
{
    const int n = static_cast<int>(scene.templates.size());
    expectRefusals({
        {"type", "locations", [=] { matcher->setPredictions(Mat(n, 1, CV_32FC2)); }},
        {"three columns of int", "locations", [=] { matcher->setPredictions(Mat(n, 3, CV_32SC1)); }},
    });
    const Ptr<FM> walker = FM::create(makeParams(FM::SAD, 2, FM::SQUARE, 0, FM::THREE_STEP));
    give(*walker, scene);
    for (const Mat& oneMore : {Mat(n + 1, 1, CV_32SC2, Scalar::all(0)), Mat(n + 1, 2, CV_32SC1, Scalar::all(0))})
    {
        walker->setPredictions(oneMore);
        expectRefused([&] { match(*walker, scene.frame); }, {"Predictions"});
    }
}

//! All in one row would be peaks of one fragment, of which only the first is used.
TEST_F(FragmentMatcher_Negative, predictionsInOneRow)
{
    const Ptr<FM> walker = FM::create(makeParams(FM::SAD, 2, FM::SQUARE, 0, FM::THREE_STEP));
    const Mat frame = scene.frame;
    Mat peaks, areas;
    walker->setFragments(one(frame(Rect(9, 8, 6, 5)).clone()));
    walker->match(frame, noArray(), peaks);
    ASSERT_EQ(Size(2, 1), peaks.size());
    walker->setPredictions(peaks);
    match(*walker, frame);
    walker->addFragment(frame(Rect(30, 20, 6, 5)).clone());
    expectRefused([&] { match(*walker, frame); }, {"1 x 2 elements, but a row for each of 2"});
    expectRefused([&] { walker->predictAreas(peaks, 3, frame.size(), areas); },
                  {"1 x 2 elements, but a row for each of 2"});
    const std::vector<Point> column = {peaks.at<Point>(0), peaks.at<Point>(1)};
    walker->setPredictions(column);
    match(*walker, frame);
    walker->predictAreas(column, 3, frame.size(), areas);
    EXPECT_EQ(Size(1, 2), areas.size());
}

TEST_F(FragmentMatcher_Negative, convert)
{
    const Result r = truth;
    const auto call = [](const Result& x) { return [=] { convert(x); }; };
    std::vector<BadCall> calls;
    Result x = r;
    x.locations = Mat(r.locations.size(), CV_32FC2);
    calls.push_back({"locations", "locations", call(x)});
    x = r, x.scores = r.scores.col(0);
    calls.push_back({"scores", "scores", call(x)});
    x = r, x.confidence = r.confidence.rowRange(1, r.confidence.rows);
    calls.push_back({"confidence", "confidence", call(x)});
    x = r, x.status = Mat(r.status.size(), CV_32SC1);
    calls.push_back({"status", "status", call(x)});
    x = r, x.refined = r.locations;
    calls.push_back({"refined", "refined", call(x)});
    expectRefusals(calls);
}

template <typename Call> int codeOf(const Call& call) { return thrownBy(call).code; }

//! The code of a call with GpuMats must be `host`, that of the call with Mats; a build without CUDA refuses any GpuMat.
void expectDeviceCode(int host, int device)
{
#ifdef HAVE_CUDA
    EXPECT_EQ(host, device);
#else
    EXPECT_NE(0, host); // one of the two calls is refused for another reason
    EXPECT_TRUE(device == Error::GpuNotSupported || device == Error::StsNotImplemented) << device;
#endif
}

//! The code of a wrong element type differs from that of a wrong size, as cudatracking.hpp says, on the host and on the
//! device.
TEST_F(FragmentMatcher_Negative, codesOfConvert)
{
    const Result r = truth;
    const auto code = [](const Result& x)
    {
        std::vector<FragmentMatch> o;
        const int host = codeOf([&] { convert(x); });
        const int device = codeOf(
            [&]
            {
                FM::convert(deviceHeader(x.locations), deviceHeader(x.scores), deviceHeader(x.confidence),
                            deviceHeader(x.status), deviceHeader(x.refined), o);
            });
        expectDeviceCode(host, device);
        return host;
    };
    for (Mat Result::*member :
         {&Result::locations, &Result::scores, &Result::confidence, &Result::status, &Result::refined})
    {
        Result wrong = r;
        (r.*member).convertTo(wrong.*member, CV_64F);
        EXPECT_EQ(Error::StsUnsupportedFormat, code(wrong));
        if (member == &Result::locations)
            continue;
        wrong.*member = (r.*member).rowRange(1, (r.*member).rows);
        EXPECT_EQ(Error::StsUnmatchedSizes, code(wrong));
    }
    Result wrong = r;
    wrong.locations = Mat(r.locations.rows, 3, CV_32SC1, Scalar(1));
    EXPECT_EQ(Error::StsBadSize, code(wrong));
}

//! Lists of single integers with another number of columns than they must have are of a wrong size, not of a wrong
//! type.
TEST_F(FragmentMatcher_Negative, codesOfLists)
{
    const int n = static_cast<int>(scene.templates.size());
    const auto ofAreas = [&](const Mat& areas) { return codeOf([&] { match(*matcher, scene.frame, areas); }); };
    const auto ofLocations = [&](const Mat& at)
    {
        Mat areas;
        const int code = codeOf([&] { matcher->predictAreas(at, 1, Size(80, 60), areas); });
        expectDeviceCode(code, codeOf([&] { matcher->predictAreas(deviceHeader(at), 1, Size(80, 60), areas); }));
        EXPECT_EQ(code, codeOf([&] { matcher->setPredictions(at); }));
        return code;
    };
    for (const Size size : {Size(3, n), Size(5, n), Size(1, 4), Size(1, n), Size(4 * n, 1)})
    {
        EXPECT_EQ(Error::StsBadSize, ofAreas(Mat(size, CV_32SC1, Scalar(60)))) << size;
        EXPECT_EQ(Error::StsBadSize, ofLocations(Mat(size, CV_32SC1, Scalar(60)))) << size;
    }
    const int three[] = {n, 1, 4};
    EXPECT_EQ(Error::StsBadSize, ofAreas(Mat(3, three, CV_32SC1, Scalar(60))));
    EXPECT_EQ(Error::StsUnmatchedSizes, ofAreas(Mat(n - 1, 4, CV_32SC1, Scalar(60))));
    EXPECT_EQ(Error::StsUnsupportedFormat, ofAreas(Mat(n, 4, CV_32FC1, Scalar(60))));
    EXPECT_EQ(Error::StsUnsupportedFormat, ofAreas(Mat(n, 1, CV_32SC3, Scalar::all(60))));
    EXPECT_EQ(Error::StsUnsupportedFormat, ofLocations(Mat(n, 1, CV_32FC2, Scalar::all(6))));
    matcher->setFragments(one(gray()));
    EXPECT_EQ(Error::StsBadSize, ofAreas(Mat(4, 1, CV_32SC1, Scalar(60))));
    // One area as a vector of integers, which is a row in some versions of OpenCV and a column in others: always
    // refused.
    const std::vector<int> oneArea = {0, 0, 60, 60};
    Mat locations;
    EXPECT_EQ(Error::StsBadSize, codeOf([&] { matcher->match(scene.frame, oneArea, locations); }));
}

//! Full searches use no predictions, so they do not check them either.
TEST_F(FragmentMatcher_Negative, predictionsOfFullSearches)
{
    const int n = static_cast<int>(scene.templates.size());
    matcher->setPredictions(Mat(n + 1, 1, CV_32SC2, Scalar::all(0)));
    expectSame(truth, run(*matcher, scene));
    FM::Params params = scene.params;
    params.search = FM::THREE_STEP;
    matcher->setParams(params);
    EXPECT_EQ(Error::StsUnmatchedSizes, codeOf([&] { match(*matcher, scene.frame); }));
    const Mat predictions(n, 1, CV_32SC2, Scalar::all(0));
    const auto onTheDevice = [&]
    {
        matcher->setPredictions(deviceHeader(predictions));
        match(*matcher, scene.frame);
    };
    expectDeviceCode(Error::StsBadArg, codeOf(onTheDevice));
}

//! Messages about locations name them, also where a later call notices.
TEST_F(FragmentMatcher_Negative, messagesNameTheLocations)
{
    const Ptr<FM> walker = FM::create(makeParams(FM::SAD, 2, FM::SQUARE, 0, FM::THREE_STEP));
    give(*walker, scene);
    walker->setPredictions(Mat(1, 1, CV_32SC2, Scalar::all(0)));
    ASSERT_GT(walker->getFragmentCount(), 1);
    expectRefused([&] { match(*walker, scene.frame); }, {"setPredictions: locations: 1 x 1 elements"});
    expectRefused([&] { walker->predictAreas(noArray(), 3, Size(50, 50), out); }, {"locations: none given"});
    expectRefused([&] { walker->predictAreas(Mat(), 3, Size(50, 50), out); }, {"locations: none given"});
}

TEST_F(FragmentMatcher_Negative, warpFragment)
{
    const Mat templ = gray();
    std::vector<BadCall> calls;
    const auto add = [&](const char* what, const char* named, const Mat& t, const Mat& w, double angle, double scale) {
        calls.push_back({what, named, [=] { FM::warpFragment(t, w, angle, scale, out, more); }});
    };
    add("scale 0", "scale", templ, Mat(), 0, 0);
    add("scale -1", "scale", templ, Mat(), 0, -1);
    add("scale NaN", "scale", templ, Mat(), 0, NOT_A_NUMBER);
    add("scale inf", "scale", templ, Mat(), 0, ENDLESS);
    add("scale too large", "scale", templ, Mat(), 0, 1e5);
    add("angle NaN", "angle", templ, Mat(), NOT_A_NUMBER, 1);
    add("angle inf", "angle", templ, Mat(), ENDLESS, 1);
    add("empty", "templ", Mat(), Mat(), 0, 1);
    add("depth", "templ", Mat(4, 5, CV_32FC1), Mat(), 0, 1);
    add("weights' size", "weights", templ, Mat(5, 4, CV_32FC1, Scalar(1)), 0, 1);
    add("weights NaN", "weights", templ, spoiled(NOT_A_NUMBER), 0, 1);
    expectRefusals(calls);
}

//! The largest possible number of fragments, and more positions than their maps may have. No pixel is read.
TEST(FragmentMatcher_Limits, fragmentsAndPositions)
{
    const Ptr<FM> matcher = FM::create();
    matcher->setFragments(std::vector<Mat>(100000, gray(1, 1)));
    EXPECT_EQ(100000, matcher->getFragmentCount());
    expectRefused([&] { matcher->addFragment(gray(1, 1)); }, {"100000 fragments already"});
    matcher->setFragments(std::vector<Mat>(3, gray(1, 1)));
    Mat bytes = gray(32767, 1);
    const Mat frame(32767, 32767, CV_8UC1, bytes.data, 32767);
    expectRefused([&] { scoreMaps(*matcher, frame); }, {"searchAreas: more than 2^31 - 1 positions up to fragment 2"});
}

//! No fragments is an error; an empty frame is not.
TEST(FragmentMatcher_Limits, emptyFrameAndNoFragments)
{
    const Ptr<FM> matcher = FM::create();
    expectRefused([&] { match(*matcher, gray()); }, {"fragments"});
    matcher->setFragments(one(gray()));
    Mat locations(3, 3, CV_8UC1, Scalar(1)), scores(1, 1, CV_32FC1), map(2, 2, CV_32FC1, Scalar(1)), maps = map.clone();
    std::vector<int> offsets(7);
    matcher->match(Mat(), noArray(), locations, scores);
    EXPECT_TRUE(locations.empty());
    EXPECT_TRUE(scores.empty());
    matcher->scoreMap(0, Mat(), Rect(), map);
    EXPECT_TRUE(map.empty());
    matcher->scoreMaps(Mat(), noArray(), maps, offsets);
    EXPECT_TRUE(maps.empty());
    std::vector<FragmentMatch> matches(3);
    matcher->find(Mat(), noArray(), matches);
    EXPECT_TRUE(matches.empty());

    // Nor is it one without fragments, or with areas for another number of fragments; index and depth are checked
    // nevertheless.
    const Ptr<FM> none = FM::create();
    for (const Ptr<FM>& each : {matcher, none})
        for (const std::vector<Rect>& areas : {std::vector<Rect>(), std::vector<Rect>(2, Rect(1, 1, 0, 0))})
        {
            std::vector<Point> points(3);
            offsets.assign(7, 1), matches.resize(3), maps.create(2, 2, CV_32FC1);
            each->match(Mat(), areas, points);
            EXPECT_TRUE(points.empty());
            each->find(Mat(), areas, matches);
            EXPECT_TRUE(matches.empty());
            each->scoreMaps(Mat(), areas, maps, offsets);
            EXPECT_TRUE(maps.empty() && offsets.empty());
        }
    expectRefused([&] { scoreMap(*none, 0, Mat()); }, {"index: 0, but there are 0 fragments"});
    expectRefused([&] { scoreMap(*matcher, 0, Mat(), Rect(), CV_8U); }, {"depth"});
    expectRefused([&] { scoreMaps(*matcher, Mat(), Mat(), CV_8U); }, {"depth"});
    expectRefused([&] { scoreMap(*matcher, 0, Mat(), Rect(0, 0, -1, 1)); }, {"searchArea"});
}

//! GpuMat where there is no CUDA is an error, not a crash, and the CPU engine works on.
TEST(FragmentMatcher_Limits, gpuMatWithoutDevice)
{
    if (cuda::getCudaEnabledDeviceCount() > 0)
        throw SkipTestException("this machine has a CUDA device");
    Mat memory = gray(20, 20), locations;
    const cuda::GpuMat frame(20, 20, CV_8UC1, memory.data, memory.step); // only its header is read
    const Ptr<FM> matcher = FM::create();
    matcher->setFragments(one(gray()));
    EXPECT_THROW(matcher->match(frame, noArray(), locations), cv::Exception);
    EXPECT_THROW(matcher->cutFragments(frame, {Rect(0, 0, 3, 3)}), cv::Exception);
    EXPECT_EQ(1, matcher->getFragmentCount());
    EXPECT_EQ(Size(5, 4), matcher->getFragmentSize(0));
    matcher->match(memory, noArray(), locations);
    EXPECT_EQ(Point(0, 0), locations.at<Point>(0, 0));
}

}} // namespace opencv_test
