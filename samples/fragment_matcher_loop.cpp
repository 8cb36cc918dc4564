// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Follows fragments of one frame through a video. On a CUDA device the loop stays there: the frame goes up, match() finds the
// fragments, predictAreas() makes the next frame's areas, locations come back to page-locked memory; all of it is one CUDA
// graph, and the host waits once a frame. Without a device the same calls run on the CPU engine.
#include "fragment_matcher_input.hpp"
#include "fragment_matcher_results.hpp"
#include "opencv2/core/utility.hpp"
#include "opencv2/imgcodecs.hpp"
#include <deque>
#include <memory>
#ifdef CUDATRACKING_SAMPLES_CUDA
#include "opencv2/core/cuda_stream_accessor.hpp"
#include <cuda_runtime_api.h>
#endif

using namespace sample;
using cv::cuda::FragmentMatcher;
using cv::cuda::GpuMat;

namespace {

const char* KEYS = "{ help h         |         | print this }"
                   "{ @input         |         | video, camera index, or image sequence (frame%04d.png) }"
                   "{ engine         | auto    | cpu, cuda, or auto: cuda where there is a device }"
                   "{ no-graph       |         | cuda: make the calls anew each frame instead of replaying a graph }"
                   "{ fragments      | 400     | how many at most }"
                   "{ size           | 17      | side of a fragment in pixels }"
                   "{ radius         | 14      | how far a fragment may move between two frames }"
                   "{ renew          | 25      | cut new fragments every so many frames (0: never) }"
                   "{ min-confidence | 1.4     | fainter matches are not drawn and not counted as followed }"
                   "{ frames         | 0       | stop after so many frames (0: all) }"
                   "{ trail          | 25      | draw the way of so many frames }"
                   "{ output-dir     | .       | folder for pictures, video and CSV; must exist }"
                   "{ no-video       |         | do not write a video }";

struct Options
{
    String input, outputDir;
    double minConfidence;
    int fragments, size, radius, renew, frames, trail;
    bool video, cuda, graph;
};

Options readOptions(const CommandLineParser& parser)
{
    Options o;
    o.input = parser.get<String>("@input");
    o.outputDir = parser.get<String>("output-dir");
    o.minConfidence = parser.get<double>("min-confidence");
    o.fragments = parser.get<int>("fragments");
    o.size = parser.get<int>("size");
    o.radius = parser.get<int>("radius");
    o.renew = parser.get<int>("renew");
    o.frames = parser.get<int>("frames");
    o.trail = parser.get<int>("trail");
    o.video = !parser.has("no-video");
    o.graph = !parser.has("no-graph");
    const String engine = parser.get<String>("engine");
    o.cuda = engine == "cuda" || (engine == "auto" && cuda::getCudaEnabledDeviceCount() > 0);
    if (!parser.check())
    {
        parser.printErrors();
        CV_Error(Error::StsBadArg, "see --help");
    }
    CV_Check(engine, engine == "auto" || engine == "cpu" || engine == "cuda", "--engine is auto, cpu or cuda");
    if (o.cuda && cuda::getCudaEnabledDeviceCount() <= 0)
        CV_Error(Error::GpuNotSupported, "--engine=cuda: there is no CUDA device");
    CV_CheckGE(o.fragments, 1, "--fragments is at least 1");
    CV_CheckGE(o.size, 3, "--size is at least 3");
    CV_CheckGE(o.radius, 1, "--radius is at least 1");
    CV_CheckGE(o.renew, 0, "--renew is not negative");
    return o;
}

// --- the loop --------------------------------------------------------------------------------------------------------

//! Areas of the regions, as far as a fragment may move: CV_32SC4, N x 1, as predictAreas() makes them.
Mat areasAround(const std::vector<Rect>& regions, int radius)
{
    std::vector<Rect> areas;
    for (const Rect& region : regions)
        areas.push_back(region + Point(-radius, -radius) + Size(2 * radius, 2 * radius));
    return Mat(static_cast<int>(areas.size()), 1, CV_32SC4, areas.data()).clone();
}

//! Frame after frame: write it to input(), call step(), read the outputs. start() takes new fragments out of input().
class Loop
{
public:
    explicit Loop(const Options& options) : radius_(options.radius)
    {
        FragmentMatcher::Params params;
        // The host cannot see areas on the device: without a bound they are taken to be as large as the frame.
        params.maxSearchArea = Size(options.size + 2 * radius_, options.size + 2 * radius_);
        matcher_ = FragmentMatcher::create(params);
    }
    virtual ~Loop() = default;
    virtual Mat input() = 0;
    virtual void start(const std::vector<Rect>& regions) = 0;
    virtual void step() = 0;
    virtual Mat locations() const = 0;  //!< CV_32SC2, N x 2: best and alternative
    virtual Mat confidence() const = 0; //!< CV_32FC1, N x 1

protected:
    Ptr<FragmentMatcher> matcher_;
    const int radius_;
};

class CpuLoop : public Loop
{
public:
    CpuLoop(const Options& options, Size size) : Loop(options), frame_(size, CV_8UC3) {}

    Mat input() override { return frame_; }
    void start(const std::vector<Rect>& regions) override
    {
        matcher_->cutFragments(frame_, regions);
        areas_ = areasAround(regions, radius_);
    }
    void step() override
    {
        matcher_->match(frame_, areas_, locations_, noArray(), confidence_);
        matcher_->predictAreas(locations_, radius_, frame_.size(), areas_);
    }
    Mat locations() const override { return locations_; }
    Mat confidence() const override { return confidence_; }

private:
    Mat frame_, areas_, locations_, confidence_;
};

class CudaLoop : public Loop
{
public:
    CudaLoop(const Options& options, Size size)
        : Loop(options), pinned_(size, CV_8UC3), frame_(size, CV_8UC3), replays_(options.graph)
    {}
    ~CudaLoop() override { dropGraph(); }
    CudaLoop(const CudaLoop&) = delete;
    CudaLoop& operator=(const CudaLoop&) = delete;

    Mat input() override { return pinned_.createMatHeader(); }

    void start(const std::vector<Rect>& regions) override
    {
        dropGraph(); // it holds addresses that other fragments may move
        calls_ = 0;
        const int count = static_cast<int>(regions.size());
        hostLocations_.create(count, 2, CV_32SC2);
        hostConfidence_.create(count, 1, CV_32FC1);
        frame_.upload(pinned_, stream_);
        matcher_->cutFragments(frame_, regions, noArray(), stream_);
        const Mat areas = areasAround(regions, radius_);
        areas_.upload(areas, stream_);
        stream_.waitForCompletion(); // before the areas' host memory goes
    }

    //! The first call allocates, the second is captured, all others replay it.
    void step() override
    {
#ifdef CUDATRACKING_SAMPLES_CUDA
        const cudaStream_t raw = cuda::StreamAccessor::getStream(stream_);
        if (replays_ && calls_ == 1)
        {
            check(cudaStreamBeginCapture(raw, cudaStreamCaptureModeThreadLocal), "capture");
            enqueue();
            cudaGraph_t graph = nullptr;
            check(cudaStreamEndCapture(raw, &graph), "end of the capture");
            const cudaError_t made = cudaGraphInstantiate(&graph_, graph, 0);
            cudaGraphDestroy(graph);
            check(made, "graph");
        }
        if (graph_)
            check(cudaGraphLaunch(graph_, raw), "replay");
        else
            enqueue();
#else
        enqueue();
#endif
        ++calls_;
        stream_.waitForCompletion();
    }
    Mat locations() const override { return hostLocations_.createMatHeader(); }
    Mat confidence() const override { return hostConfidence_.createMatHeader(); }

private:
    //! Nothing here waits, so it can be captured. Areas, frame and outputs stay where they are.
    void enqueue()
    {
        frame_.upload(pinned_, stream_);
        matcher_->match(frame_, areas_, locations_, noArray(), confidence_, noArray(), noArray(), stream_);
        matcher_->predictAreas(locations_, radius_, frame_.size(), areas_, stream_);
        locations_.download(hostLocations_, stream_);
        confidence_.download(hostConfidence_, stream_);
    }

#ifdef CUDATRACKING_SAMPLES_CUDA
    static void check(cudaError_t error, const char* what)
    {
        if (error != cudaSuccess)
            CV_Error_(Error::GpuApiCallError, ("%s: %s", what, cudaGetErrorString(error)));
    }
    void dropGraph()
    {
        if (graph_)
            cudaGraphExecDestroy(graph_);
        graph_ = nullptr;
    }
    cudaGraphExec_t graph_ = nullptr;
#else
    void dropGraph() {}
#endif

    cuda::Stream stream_;
    cuda::HostMem pinned_, hostLocations_, hostConfidence_; //!< page-locked: copies to and from it do not wait
    GpuMat frame_, areas_, locations_, confidence_;
    const bool replays_;
    int calls_ = 0;
};

// --- results ---------------------------------------------------------------------------------------------------------

//! Where each fragment was in the last frames, as far as it was found surely.
class Trails
{
public:
    explicit Trails(const Options& options) : options_(options) {}

    void start(const std::vector<Rect>& regions)
    {
        trails_.assign(regions.size(), {});
        for (size_t i = 0; i < regions.size(); ++i)
            trails_[i].push_back(middle(regions[i]));
    }

    //! @return how many fragments were found with enough confidence.
    int add(const Mat& locations, const Mat& confidence)
    {
        int followed = 0;
        for (int i = 0; i < locations.rows; ++i)
        {
            if (confidence.at<float>(i) < options_.minConfidence) // -1 where there is no position
                continue;
            ++followed;
            std::deque<Point2f>& trail = trails_[i];
            trail.push_back(middle(Rect(locations.at<Point>(i, 0), Size(options_.size, options_.size))));
            if (static_cast<int>(trail.size()) > options_.trail + 1)
                trail.pop_front();
        }
        return followed;
    }

    Mat draw(const Mat& frame, const Mat& confidence, const String& title) const
    {
        Mat canvas = frame * 0.55;
        for (size_t i = 0; i < trails_.size(); ++i)
        {
            const float sure = confidence.at<float>(static_cast<int>(i));
            if (sure < options_.minConfidence)
                continue;
            const std::deque<Point2f>& trail = trails_[i];
            for (size_t k = 1; k < trail.size(); ++k)
                line(canvas, trail[k - 1], trail[k], colourOf(sure), 1, LINE_AA);
            circle(canvas, trail.back(), 2, colourOf(sure), FILLED, LINE_AA);
        }
        drawLegend(canvas, title);
        return canvas;
    }

private:
    const Options& options_;
    std::vector<std::deque<Point2f>> trails_;
};

void save(const Options& options, int frame, const Mat& picture)
{
    const String file = options.outputDir + format("/trails_%05d.png", frame);
    if (!imwrite(file, picture))
        CV_Error(Error::StsError, "cannot write " + file);
    std::cout << "wrote " << file << std::endl;
}

struct Counts
{
    int frames = 0;
    double looked = 0, followed = 0, milliseconds = 0;
};

//! Cuts fragments out of the frame in the loop's input.
void start(Loop& loop, Trails& trails, const Options& options)
{
    const std::vector<Rect> regions = texturedRegions(loop.input(), options.fragments, options.size);
    if (regions.empty())
        CV_Error(Error::StsError, "a frame without any texture to follow");
    loop.start(regions);
    trails.start(regions);
}

Counts run(const Options& options)
{
    VideoCapture video = openVideo(options.input);
    const double known = video.get(CAP_PROP_FRAME_COUNT), rate = video.get(CAP_PROP_FPS);
    std::ofstream csv(options.outputDir + "/frames.csv");
    if (!csv)
        CV_Error(Error::StsError, "cannot write " + options.outputDir + "/frames.csv");
    csv << "frame,fragments,followed,milliseconds\n";
    Mat frame;
    if (!video.read(frame))
        CV_Error(Error::StsError, "no frame in '" + options.input + "'");
    std::unique_ptr<Loop> loop;
    if (options.cuda)
        loop.reset(new CudaLoop(options, frame.size()));
    else
        loop.reset(new CpuLoop(options, frame.size()));
    Trails trails(options);
    VideoWriter writer;
    frame.copyTo(loop->input());
    start(*loop, trails, options);
    Counts counts;
    const int last = options.frames > 0 ? options.frames : cvRound(std::max(known, 0.));
    for (counts.frames = 1; (options.frames == 0 || counts.frames < options.frames) && video.read(frame);
         ++counts.frames)
    {
        TickMeter time;
        time.start();
        frame.copyTo(loop->input()); // the host's only part of the loop
        loop->step();
        time.stop();
        const Mat confidence = loop->confidence();
        const int followed = trails.add(loop->locations(), confidence);
        csv << counts.frames << ',' << confidence.rows << ',' << followed << ',' << time.getTimeMilli() << '\n';
        counts.looked += confidence.rows, counts.followed += followed, counts.milliseconds += time.getTimeMilli();
        const Mat picture =
            trails.draw(frame, confidence,
                        format("frame %d, %d of %d fragments followed", counts.frames, followed, confidence.rows));
        if (options.video && !writer.isOpened() &&
            !writer.open(options.outputDir + "/trails.avi", CAP_OPENCV_MJPEG, VideoWriter::fourcc('M', 'J', 'P', 'G'),
                         rate > 0 && rate <= 240 ? rate : 25., frame.size()))
            CV_Error(Error::StsError, "cannot write " + options.outputDir + "/trails.avi");
        if (options.video)
            writer.write(picture);
        const bool renewed = options.renew > 0 && counts.frames % options.renew == 0;
        if (last > 0 ? counts.frames % std::max(1, last / 4) == 0 : (counts.frames & (counts.frames - 1)) == 0)
            save(options, counts.frames, picture);
        if (renewed)
            start(*loop, trails, options);
    }
    if (counts.frames < 2)
        CV_Error(Error::StsError, "fewer than two frames in '" + options.input + "'");
    return counts;
}

} // namespace

int main(int argc, char** argv)
{
    CommandLineParser parser(argc, argv, KEYS);
    parser.about("Follows fragments of one frame through a video and draws their way, coloured by confidence.\n"
                 "  cudatracking_fragment_matcher_loop vtest.avi\n"
                 "  cudatracking_fragment_matcher_loop --renew=0 --frames=100 vtest.avi");
    if (parser.has("help") || !parser.has("@input"))
    {
        parser.printMessage();
        return parser.has("help") ? 0 : 2;
    }
    try
    {
        const Options options = readOptions(parser);
        std::cout << "engine: " << (options.cuda ? "cuda" : format("cpu, %d threads", getNumThreads())) << std::endl;
        const Counts counts = run(options);
        std::cout << format("%d frames, %.0f fragments looked for, %.1f %% found with a confidence of at least %g\n",
                            counts.frames, counts.looked, 100. * counts.followed / counts.looked, options.minConfidence)
                  << format("the loop (upload, match, next areas, download): %.3f ms a frame\n",
                            counts.milliseconds / (counts.frames - 1))
                  << "wrote " << options.outputDir << "/frames.csv" << (options.video ? " and trails.avi" : "")
                  << std::endl;
    }
    catch (const std::exception& e)
    {
        std::cerr << "error: " << e.what() << std::endl;
        return 1;
    }
    return 0;
}
