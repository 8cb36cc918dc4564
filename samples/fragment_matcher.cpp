// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Finds textured fragments of one image in the next: from frame to frame of a video, or between the two of a pair.
#include "fragment_matcher_input.hpp"
#include "fragment_matcher_results.hpp"
#include "input.hpp"
#include "output.hpp"
#include "program.hpp"

using namespace sample;
using cv::cuda::FragmentMatcher;
using cv::cuda::GpuMat;

namespace {

Options makeOptions()
{
    return Options(
        "Finds textured fragments of one image in the next and draws where they went, coloured by confidence.",
        {"vtest.avi", "aloeL.jpg aloeR.jpg aloeGT.png", "--pair=motion rubberwhale1.png rubberwhale2.png",
         "--metric=ZNCC --frames=100 --output-dir=out frame%04d.png"},
        {argument("input", SAMPLE_INPUT_HELP "; or first image of a pair", false),
         argument("second", "second image of a pair", false),
         argument("truth", "true disparities of a stereo pair, see --disparity-gt", false),
         text("left", "", "the same as the first argument, for a pair"),
         text("right", "", "the same as the second argument"),
         text("disparity-gt", "", "8-bit image of the left view's true disparities; 0: unknown"),
         real("gt-scale", 1, 1e-3, 1e3,
              "gray levels per pixel of disparity. OpenCV's aloeGT.png: 1 (Middlebury 2006, full size)"),
         choice("pair", {"auto", "stereo", "motion"},
                "stereo: search along the rows, to the left; motion: all around; auto: stereo, except where the two "
                "images "
                "differ in size"),
         integer("max-disparity", 230, 0, 1 << 15, "stereo: largest disparity that is searched, in pixels"),
         backendOption(),
         choice("metric", {"SAD", "SSD", "ZNCC"}, "SAD, SSD or ZNCC"),
         integer("fragments", 0, 0, 100000,
                 "largest number of fragments (0: 900 per frame of a video, 20000 for a pair)"),
         integer("size", 17, 3, 1 << 10, "side of a fragment in pixels"),
         integer("radius", 14, 0, 1 << 15, "largest motion of a fragment between two frames in pixels"),
         choice("weights", {"true", "false"}, "weight the pixels by a Gaussian: the centre counts most"),
         real("min-confidence", 1.4, 0, 1e30, "matches of lower confidence are neither drawn nor counted as found"),
         framesOption(),
         real("vector-scale", 4, 0, 1e4, "motion vectors are drawn so many times as long"),
         outputOption("images, video, matches.csv and frames.csv"),
         videoOption("motion.avi"),
         flag("no-video", "do not write a video")});
}

struct Settings
{
    String first, second, truth, outputDir, videoFile, pair;
    double gtScale, minConfidence, vectorScale;
    int maxDisparity, fragments, size, radius, frames, metric;
    bool stereo, weighted, video, cuda;
};

//! Reads an argument that has two names on the command line.
String either(const Options& options, const char* position, const char* name)
{
    if (options.given(position) && options.given(name))
        throw UsageError(format("--%s=%s and the argument '%s' say the same", name, options.text(name).c_str(),
                                options.text(position).c_str()));
    return options.text(options.given(name) ? name : position);
}

Settings readSettings(const Options& options)
{
    Settings o;
    o.first = either(options, "input", "left");
    o.second = either(options, "second", "right");
    o.truth = either(options, "truth", "disparity-gt");
    if (o.first.empty())
        throw UsageError("INPUT is missing: " SAMPLE_INPUT_HELP ", or first image of a pair");
    if (o.second.empty() && !o.truth.empty())
        throw UsageError("--disparity-gt is for a pair: the second image is missing");
    o.outputDir = options.text("output-dir");
    o.videoFile = options.text("video-file");
    o.gtScale = options.real("gt-scale");
    o.minConfidence = options.real("min-confidence");
    o.vectorScale = options.real("vector-scale");
    o.maxDisparity = options.integer("max-disparity");
    o.size = options.integer("size");
    o.radius = options.integer("radius");
    o.frames = options.integer("frames");
    o.weighted = options.text("weights") == "true";
    o.video = !options.flag("no-video");
    o.pair = options.text("pair");
    o.stereo = o.pair == "stereo";
    const String metric = options.text("metric");
    o.metric = metric == "SAD" ? FragmentMatcher::SAD : metric == "SSD" ? FragmentMatcher::SSD : FragmentMatcher::ZNCC;
    o.cuda = useCuda(options);
    o.fragments = options.integer("fragments");
    if (o.fragments == 0)
        o.fragments = o.second.empty() ? 900 : 20000;
    return o;
}

// --- matching --------------------------------------------------------------------------------------------------------

//! Cuts fragments out of one image and finds them in another, on the backend of the user's choice.
class Finder
{
public:
    explicit Finder(const Settings& options) : cuda_(options.cuda)
    {
        FragmentMatcher::Params params;
        params.metric = options.metric;
        params.subpixel = true;
        matcher_ = FragmentMatcher::create(params);
        if (!options.weighted)
            return;
        const Mat bell = getGaussianKernel(options.size, 0.25 * options.size, CV_32F);
        window_ = bell * bell.t();
        normalize(window_, window_, 0, 1, NORM_MINMAX);
        if (cuda_)
            deviceWindow_.upload(window_);
    }

    //! The next image; the one before becomes the previous.
    void next(const Mat& image)
    {
        std::swap(images_[0], images_[1]);
        image.copyTo(images_[1]);
        if (!cuda_)
            return;
        const Timed timed(milliseconds);
        std::swap(device_[0], device_[1]);
        device_[1].upload(image);
    }

    //! Regions of the previous image in areas of the present one.
    std::vector<FragmentMatch> find(const std::vector<Rect>& regions, const std::vector<Rect>& areas)
    {
        std::vector<FragmentMatch> matches;
        const Timed timed(milliseconds);
        if (regions.empty())
            return matches;
        if (cuda_)
            search(device_[0], device_[1], deviceWindow_, regions, areas, matches);
        else
            search(images_[0], images_[1], window_, regions, areas, matches);
        return matches;
    }

    const Mat& previous() const { return images_[0]; }

    double milliseconds = 0; //!< spent in matching, upload included

private:
    struct Timed
    {
        explicit Timed(double& sum) : sum_(sum) { time_.start(); }
        ~Timed()
        {
            time_.stop();
            sum_ += time_.getTimeMilli();
        }
        TickMeter time_;
        double& sum_;
    };

    template <typename Image>
    void search(const Image& from, const Image& to, const Image& window, const std::vector<Rect>& regions,
                const std::vector<Rect>& areas, std::vector<FragmentMatch>& matches)
    {
        if (window.empty())
            matcher_->cutFragments(from, regions);
        else
            matcher_->cutFragments(from, regions, std::vector<Image>(regions.size(), window));
        matcher_->find(to, areas, matches);
    }

    bool cuda_;
    Ptr<FragmentMatcher> matcher_;
    Mat window_, images_[2];
    GpuMat deviceWindow_, device_[2];
};

// --- results ---------------------------------------------------------------------------------------------------------

const char* const HEADING =
    "frame,fragment,x,y,status,confidence,dx,dy,score,alternative_x,alternative_y,alternative_score";

void save(const Settings& options, const String& name, const Mat& image)
{
    const String file = options.outputDir + "/" + name;
    writeImage(file, image);
    std::cout << "wrote " << file << std::endl;
}

// --- video -----------------------------------------------------------------------------------------------------------

//! Writes the results of a video, and counts them.
class VideoReport
{
public:
    VideoReport(const Settings& options, double rate, int total)
        : options_(options),
          total_(total),
          matches_(options.outputDir + "/matches.csv", HEADING),
          frames_(options.outputDir + "/frames.csv", "frame,fragments,found,milliseconds")
    {
        if (options.video)
            video_.reset(new VideoFile(options.outputDir + "/" + options.videoFile, rate));
    }
    void add(int number, const Mat& frame, const std::vector<Rect>& regions, const std::vector<FragmentMatch>& matches,
             double milliseconds)
    {
        size_t good = 0;
        for (const FragmentMatch& match : matches)
            good += found(match, options_.minConfidence);
        writeCsv(matches_.rows(), number, regions, matches);
        frames_.rows() << number << ',' << matches.size() << ',' << good << ',' << milliseconds << '\n';
        matches_.tick();
        frames_.tick();
        looked_ += matches.size();
        good_ += good;
        const Mat image =
            drawMotion(frame, regions, matches, options_.minConfidence, options_.vectorScale,
                       format("frame %d, %zu fragments, motion x %g", number, matches.size(), options_.vectorScale));
        if (video_)
            video_->write(image);
        if (total_ > 0 ? number % std::max(1, total_ / 4) == 0 : (number & (number - 1)) == 0)
            save(options_, format("motion_%05d.png", number), image);
    }
    void finish(int frames)
    {
        if (video_)
            video_->finish();
        matches_.finish();
        frames_.finish();
        std::cout << counted(size_t(frames), "frame") << ", " << counted(looked_, "fragment")
                  << format(" searched, %.1f %% found with a confidence of at least %g\n",
                            looked_ ? 100. * double(good_) / double(looked_) : 0., options_.minConfidence)
                  << "wrote " << options_.outputDir << "/matches.csv, frames.csv"
                  << (options_.video ? " and " + options_.videoFile : String()) << std::endl;
    }

private:
    const Settings& options_;
    const int total_;
    Table matches_, frames_;
    std::unique_ptr<VideoFile> video_;
    size_t looked_ = 0, good_ = 0;
};

void runVideo(const Settings& options)
{
    Source source(options.first, true);
    const int total = source.count(options.frames);
    VideoReport report(options, source.rate(), total);
    Finder finder(options);
    Progress progress(total);
    Mat frame;
    int count = 0;
    TickMeter whole;
    whole.start();
    for (; (options.frames == 0 || count < options.frames) && !stopped() && source.read(frame); ++count)
    {
        progress.step();
        const double before = finder.milliseconds;
        finder.next(frame);
        if (count == 0)
            continue;
        const std::vector<Rect> regions = texturedRegions(finder.previous(), options.fragments, options.size);
        std::vector<Rect> areas;
        for (const Rect& region : regions)
            areas.push_back(region + Point(-options.radius, -options.radius) +
                            Size(2 * options.radius, 2 * options.radius));
        const std::vector<FragmentMatch> matches = finder.find(regions, areas);
        report.add(source.number(), frame, regions, matches, finder.milliseconds - before);
    }
    whole.stop();
    progress.end();
    if (count < 2 && stopped())
        return;
    if (count < 2)
        throw std::runtime_error("fewer than two frames in " + options.first);
    std::cout << format(
                     "matching: %.2f ms per frame, %.1f frames/s; everything (decoding, choosing, drawing, writing): "
                     "%.1f frames/s",
                     finder.milliseconds / (count - 1), 1000. * (count - 1) / finder.milliseconds,
                     count / whole.getTimeSec())
              << std::endl;
    report.finish(count);
}

// --- pairs -----------------------------------------------------------------------------------------------------------

Mat readImage(const String& name, int flags)
{
    const Mat image = imread(name, flags);
    if (image.empty())
        throw std::runtime_error("cannot read the image " + name);
    return image;
}

std::vector<Rect> pairAreas(const Settings& options, const std::vector<Rect>& regions)
{
    std::vector<Rect> areas;
    for (const Rect& region : regions)
        if (options.stereo) // to the left, and a row up or down for imperfect rectification
            areas.push_back(Rect(region.x - options.maxDisparity, region.y - 1, region.width + options.maxDisparity,
                                 region.height + 2));
        else
            areas.push_back(region + Point(-options.radius, -options.radius) +
                            Size(2 * options.radius, 2 * options.radius));
    return areas;
}

void runPair(Settings options)
{
    const Mat images[] = {readImage(options.first, IMREAD_COLOR), readImage(options.second, IMREAD_COLOR)};
    if (options.pair == "auto")
    {
        options.stereo = images[0].size() == images[1].size();
        std::cout << "taken as " << (options.stereo ? "a stereo pair" : "motion, because the images differ in size")
                  << "; --pair=" << (options.stereo ? "motion" : "stereo") << " for the other" << std::endl;
    }
    Table csv(options.outputDir + "/matches.csv", HEADING);
    Finder finder(options);
    finder.next(images[0]);
    finder.next(images[1]);
    const std::vector<Rect> regions = texturedRegions(images[0], options.fragments, options.size);
    const std::vector<Rect> areas = pairAreas(options, regions);
    finder.find(regions, areas); // the first call sets the backend up
    finder.milliseconds = 0;
    const std::vector<FragmentMatch> matches = finder.find(regions, areas);
    writeCsv(csv.rows(), 1, regions, matches);

    double positions = 0;
    size_t good = 0;
    for (size_t i = 0; i < matches.size(); ++i)
    {
        const Rect area = areas[i] & Rect(Point(), images[1].size());
        positions += std::max(0, area.width - options.size + 1) *
                     static_cast<double>(std::max(0, area.height - options.size + 1));
        good += found(matches[i], options.minConfidence);
    }
    std::cout << counted(matches.size(), "fragment")
              << format(", %.2f million positions in %.2f ms; %.1f %% found with a confidence of at least %g\n",
                        positions / 1e6, finder.milliseconds, matches.empty() ? 0. : 100. * good / matches.size(),
                        options.minConfidence);
    if (!options.truth.empty())
    {
        const Mat truth = readImage(options.truth, IMREAD_GRAYSCALE);
        CV_CheckEQ(truth.size(), images[0].size(), "the true disparities must be of the left image's size");
        printTruthTable(options.gtScale, truth, regions, matches);
    }
    const double scale = options.stereo ? 0.15 : options.vectorScale;
    save(options, options.stereo ? "confidence.png" : "motion.png",
         drawMotion(images[0], regions, matches, options.stereo ? 0. : options.minConfidence, scale,
                    format("displacement x %g, from the dot on", scale)));
    if (options.stereo)
        save(options, "disparity.png",
             drawDisparity(images[0], regions, matches, options.minConfidence, options.maxDisparity));
    csv.finish();
    std::cout << "wrote " << options.outputDir << "/matches.csv" << std::endl;
}

//! Throws where a file that is written is one that is read.
void checkOutputs(const Options& options, const Settings& settings)
{
    if (settings.second.empty())
        refuseOverwriting(filesOfInput(settings.first, true),
                          outputsOf(options, {"matches.csv", "frames.csv", "motion_#.png"}, settings.video));
    else
        refuseOverwriting({settings.first, settings.second, settings.truth},
                          outputsOf(options, {"matches.csv", "confidence.png", "motion.png", "disparity.png"}, false));
}

void run(const Options& options)
{
    const Settings settings = readSettings(options);
    checkOutputs(options, settings);
    outputFolder(settings.outputDir);
    std::cout << "backend: " << (settings.cuda ? "cuda" : format("cpu, %d threads", getNumThreads())) << std::endl;
    if (settings.second.empty())
        runVideo(settings);
    else
        runPair(settings);
}

} // namespace

int main(int argc, char** argv) { return runProgram(argc, argv, makeOptions(), run); }
