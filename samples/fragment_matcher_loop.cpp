// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Follows fragments of one frame through a video. On a CUDA device the loop stays there: the frame goes up, match()
// finds the fragments, predictAreas() makes the next frame's areas, locations come back to page-locked memory; all of
// it is one CUDA graph, and the host waits once a frame. Without a device the same calls run on the CPU backend.
#include "fragment_matcher_input.hpp"
#include "fragment_matcher_results.hpp"
#include "input.hpp"
#include "output.hpp"
#include "program.hpp"
#include <deque>
#ifdef CUDATRACKING_SAMPLES_CUDA
#include "opencv2/core/cuda_stream_accessor.hpp"
#include <cuda_runtime_api.h>
#endif

using namespace sample;
using cv::cuda::FragmentMatcher;
using cv::cuda::GpuMat;

namespace {

Options makeOptions()
{
    return Options(
        "Follows fragments of one frame through a video and draws their paths, coloured by confidence.",
        {"vtest.avi", "--renew=0 --frames=100 --output-dir=out vtest.avi"},
        {argument("input", SAMPLE_INPUT_HELP), backendOption(),
         flag("no-graph", "cuda: make the calls in each frame instead of replaying a graph of them"),
         integer("fragments", 400, 1, 100000, "largest number of fragments"),
         integer("size", 17, 3, 1 << 10, "side of a fragment in pixels"),
         integer("radius", 14, 1, 1 << 15, "largest motion of a fragment between two frames in pixels"),
         integer("renew", 25, 0, INT_MAX, "frames from one choice of new fragments to the next (0: never)"),
         real("min-confidence", 1.4, 0, 1e30, "matches of lower confidence are neither drawn nor counted as followed"),
         framesOption(), integer("trail", 25, 0, 1 << 20, "draw the paths of so many frames (0: none)"),
         outputOption("images, video and frames.csv"), videoOption("trails.avi"),
         flag("no-video", "do not write a video")});
}

struct Settings
{
    String input, outputDir, videoFile;
    double minConfidence;
    int fragments, size, radius, renew, frames, trail;
    bool video, cuda, graph;
};

Settings readSettings(const Options& options)
{
    Settings o;
    o.input = options.text("input");
    o.outputDir = options.text("output-dir");
    o.videoFile = options.text("video-file");
    o.minConfidence = options.real("min-confidence");
    o.fragments = options.integer("fragments");
    o.size = options.integer("size");
    o.radius = options.integer("radius");
    o.renew = options.integer("renew");
    o.frames = options.integer("frames");
    o.trail = options.integer("trail");
    o.video = !options.flag("no-video");
    o.graph = !options.flag("no-graph");
    o.cuda = useCuda(options);
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
    explicit Loop(const Settings& options) : radius_(options.radius)
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
    CpuLoop(const Settings& options, Size size) : Loop(options), frame_(size, CV_8UC3) {}

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
    CudaLoop(const Settings& options, Size size)
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
    [[maybe_unused]] const bool replays_; //!< read in builds with CUDA
    int calls_ = 0;
};

// --- results ---------------------------------------------------------------------------------------------------------

//! Where each fragment was in the last frames, as far as it was found surely.
class Trails
{
public:
    explicit Trails(const Settings& options) : options_(options) {}

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
    const Settings& options_;
    std::vector<std::deque<Point2f>> trails_;
};

struct Counts
{
    int frames = 0;
    double looked = 0, followed = 0, milliseconds = 0;
};

//! Cuts fragments out of the frame in the loop's input.
void start(Loop& loop, Trails& trails, const Settings& options)
{
    const std::vector<Rect> regions = texturedRegions(loop.input(), options.fragments, options.size);
    if (regions.empty())
        throw std::runtime_error("a frame without any texture to follow");
    loop.start(regions);
    trails.start(regions);
}

//! Writes the results.
class Report
{
public:
    Report(const Settings& options, double rate, int total)
        : options_(options),
          total_(total),
          frames_(options.outputDir + "/frames.csv", "frame,fragments,followed,milliseconds")
    {
        if (options.video)
            video_.reset(new VideoFile(options.outputDir + "/" + options.videoFile, rate));
    }
    void add(int number, int fragments, int followed, double milliseconds, const Mat& image)
    {
        frames_.rows() << number << ',' << fragments << ',' << followed << ',' << milliseconds << '\n';
        frames_.tick();
        if (video_)
            video_->write(image);
        if (total_ > 0 ? number % std::max(1, total_ / 4) != 0 : (number & (number - 1)) != 0)
            return;
        const String file = options_.outputDir + format("/trails_%05d.png", number);
        writeImage(file, image);
        std::cout << "wrote " << file << std::endl;
    }
    void finish()
    {
        if (video_)
            video_->finish();
        frames_.finish();
        std::cout << "wrote " << options_.outputDir << "/frames.csv"
                  << (options_.video ? " and " + options_.videoFile : String()) << std::endl;
    }

private:
    const Settings& options_;
    const int total_;
    Table frames_;
    std::unique_ptr<VideoFile> video_;
};

//! Follows fragments from frame to frame. @param frame the first one.
Counts follow(const Settings& options, Source& source, Mat& frame, Report& report)
{
    std::unique_ptr<Loop> loop;
    if (options.cuda)
        loop.reset(new CudaLoop(options, frame.size()));
    else
        loop.reset(new CpuLoop(options, frame.size()));
    Trails trails(options);
    frame.copyTo(loop->input());
    start(*loop, trails, options);
    Progress progress(source.count(options.frames));
    progress.step();
    Counts counts;
    for (counts.frames = 1; (options.frames == 0 || counts.frames < options.frames) && !stopped() && source.read(frame);
         ++counts.frames)
    {
        TickMeter time;
        time.start();
        frame.copyTo(loop->input()); // the host's only part of the loop
        loop->step();
        time.stop();
        const Mat confidence = loop->confidence();
        const int followed = trails.add(loop->locations(), confidence);
        counts.looked += confidence.rows, counts.followed += followed, counts.milliseconds += time.getTimeMilli();
        report.add(
            source.number(), confidence.rows, followed, time.getTimeMilli(),
            trails.draw(frame, confidence,
                        format("frame %d, %d of %d fragments followed", source.number(), followed, confidence.rows)));
        if (options.renew > 0 && counts.frames % options.renew == 0)
            start(*loop, trails, options);
        progress.step();
    }
    progress.end();
    return counts;
}

void run(const Options& options)
{
    const Settings settings = readSettings(options);
    refuseOverwriting(filesOfInput(settings.input, true),
                      outputsOf(options, {"frames.csv", "trails_#.png"}, settings.video));
    outputFolder(settings.outputDir);
    std::cout << "backend: " << (settings.cuda ? "cuda" : format("cpu, %d threads", getNumThreads())) << std::endl;
    Source source(settings.input, true);
    Report report(settings, source.rate(), source.count(settings.frames));
    Mat frame;
    if (!source.read(frame))
        throw std::runtime_error("no frame in " + settings.input);
    const Counts counts = follow(settings, source, frame, report);
    if (counts.frames < 2 && stopped())
        return;
    if (counts.frames < 2)
        throw std::runtime_error("fewer than two frames in " + settings.input);
    std::cout << counted(size_t(counts.frames), "frame") << ", " << counted(size_t(counts.looked), "fragment")
              << format(" searched, %.1f %% found with a confidence of at least %g\n",
                        100. * counts.followed / counts.looked, settings.minConfidence)
              << format("the loop (upload, match, next areas, download): %.3f ms per frame",
                        counts.milliseconds / (counts.frames - 1))
              << std::endl;
    report.finish();
}

} // namespace

int main(int argc, char** argv) { return runProgram(argc, argv, makeOptions(), run); }
