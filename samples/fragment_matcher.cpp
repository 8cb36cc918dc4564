// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Finds textured fragments of one picture in the next: from frame to frame of a video, or between the two of a pair.
#include "fragment_matcher_input.hpp"
#include "fragment_matcher_results.hpp"
#include "opencv2/core/utility.hpp"
#include "opencv2/imgcodecs.hpp"

using namespace sample;
using cv::cuda::FragmentMatcher;
using cv::cuda::GpuMat;

namespace {

const char* KEYS =
    "{ help h         |         | print this }"
    "{ @input         |         | video, camera index, image sequence (frame%04d.png), or first picture of a pair }"
    "{ @second        |         | second picture of a pair }"
    "{ @truth         |         | true disparities of a stereo pair, see --disparity-gt }"
    "{ left           |         | the same as the first argument, for a pair }"
    "{ right          |         | the same as the second argument }"
    "{ disparity-gt   |         | 8-bit picture of the left view's true disparities; 0: unknown }"
    "{ gt-scale       | 1       | gray levels a pixel of disparity. OpenCV's aloeGT.png: 1 (Middlebury 2006, full "
    "size) }"
    "{ pair           | stereo  | stereo: look along the rows, to the left; motion: look all around }"
    "{ max-disparity  | 230     | stereo: largest disparity to look for }"
    "{ engine         | auto    | cpu, cuda, or auto: cuda where there is a device }"
    "{ metric         | SAD     | SAD, SSD or ZNCC }"
    "{ fragments      | 0       | how many at most (0: 900 a frame of a video, 20000 for a pair) }"
    "{ size           | 17      | side of a fragment in pixels }"
    "{ radius         | 14      | how far a fragment may move between two frames }"
    "{ weights        | true    | weigh pixels with a Gaussian window: the middle counts most }"
    "{ min-confidence | 1.4     | fainter matches are neither drawn nor counted as found }"
    "{ frames         | 0       | stop after so many frames (0: all) }"
    "{ vector-scale   | 4       | motion vectors are drawn so many times as long }"
    "{ output-dir     | .       | folder for pictures, video and CSV; must exist }"
    "{ no-video       |         | do not write a video }";

struct Options
{
    String first, second, truth, outputDir;
    double gtScale, minConfidence, vectorScale;
    int maxDisparity, fragments, size, radius, frames, metric;
    bool stereo, weighted, video, cuda;
};

Options readOptions(const CommandLineParser& parser)
{
    Options o;
    o.first = parser.has("left") ? parser.get<String>("left") : parser.get<String>("@input");
    o.second = parser.has("right") ? parser.get<String>("right") : parser.get<String>("@second");
    o.truth = parser.has("disparity-gt") ? parser.get<String>("disparity-gt") : parser.get<String>("@truth");
    o.outputDir = parser.get<String>("output-dir");
    o.gtScale = parser.get<double>("gt-scale");
    o.minConfidence = parser.get<double>("min-confidence");
    o.vectorScale = parser.get<double>("vector-scale");
    o.maxDisparity = parser.get<int>("max-disparity");
    o.fragments = parser.get<int>("fragments");
    o.size = parser.get<int>("size");
    o.radius = parser.get<int>("radius");
    o.frames = parser.get<int>("frames");
    o.weighted = parser.get<bool>("weights");
    o.video = !parser.has("no-video");
    o.stereo = parser.get<String>("pair") == "stereo";
    const String engine = parser.get<String>("engine"), metric = parser.get<String>("metric");
    o.metric = metric == "SAD" ? FragmentMatcher::SAD : metric == "SSD" ? FragmentMatcher::SSD : FragmentMatcher::ZNCC;
    o.cuda = engine == "cuda" || (engine == "auto" && cuda::getCudaEnabledDeviceCount() > 0);
    if (!parser.check())
    {
        parser.printErrors();
        CV_Error(Error::StsBadArg, "see --help");
    }
    CV_Check(engine, engine == "auto" || engine == "cpu" || engine == "cuda", "--engine is auto, cpu or cuda");
    CV_Check(metric, metric == "SAD" || metric == "SSD" || metric == "ZNCC", "--metric is SAD, SSD or ZNCC");
    CV_CheckGE(o.size, 3, "--size is at least 3");
    CV_CheckGE(o.fragments, 0, "--fragments is not negative");
    CV_CheckGT(o.gtScale, 0., "--gt-scale is positive");
    if (o.fragments == 0)
        o.fragments = o.second.empty() ? 900 : 20000;
    return o;
}

// --- matching --------------------------------------------------------------------------------------------------------

//! Cuts fragments out of one picture and finds them in another, on the engine of the user's choice.
class Finder
{
public:
    explicit Finder(const Options& options) : cuda_(options.cuda)
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

    //! The next picture; the one before becomes the previous.
    void next(const Mat& picture)
    {
        std::swap(pictures_[0], pictures_[1]);
        picture.copyTo(pictures_[1]);
        if (!cuda_)
            return;
        const Timed timed(milliseconds);
        std::swap(device_[0], device_[1]);
        device_[1].upload(picture);
    }

    //! Regions of the previous picture in areas of the present one.
    std::vector<FragmentMatch> find(const std::vector<Rect>& regions, const std::vector<Rect>& areas)
    {
        std::vector<FragmentMatch> matches;
        const Timed timed(milliseconds);
        if (regions.empty())
            return matches;
        if (cuda_)
            search(device_[0], device_[1], deviceWindow_, regions, areas, matches);
        else
            search(pictures_[0], pictures_[1], window_, regions, areas, matches);
        return matches;
    }

    const Mat& previous() const { return pictures_[0]; }

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

    template <typename Picture>
    void search(const Picture& from, const Picture& to, const Picture& window, const std::vector<Rect>& regions,
                const std::vector<Rect>& areas, std::vector<FragmentMatch>& matches)
    {
        if (window.empty())
            matcher_->cutFragments(from, regions);
        else
            matcher_->cutFragments(from, regions, std::vector<Picture>(regions.size(), window));
        matcher_->find(to, areas, matches);
    }

    bool cuda_;
    Ptr<FragmentMatcher> matcher_;
    Mat window_, pictures_[2];
    GpuMat deviceWindow_, device_[2];
};

// --- results ---------------------------------------------------------------------------------------------------------

std::ofstream openCsv(const Options& options)
{
    const String name = options.outputDir + "/matches.csv";
    std::ofstream csv(name);
    if (!csv)
        CV_Error(Error::StsError, "cannot write " + name);
    csv << "frame,fragment,x,y,status,confidence,dx,dy,score,alternative_x,alternative_y,alternative_score\n";
    return csv;
}

void save(const Options& options, const String& name, const Mat& picture)
{
    const String file = options.outputDir + "/" + name;
    if (!imwrite(file, picture))
        CV_Error(Error::StsError, "cannot write " + file);
    std::cout << "wrote " << file << std::endl;
}

// --- video -----------------------------------------------------------------------------------------------------------

void runVideo(const Options& options)
{
    VideoCapture video = openVideo(options.first);
    const double known = video.get(CAP_PROP_FRAME_COUNT), rate = video.get(CAP_PROP_FPS);
    const int total = options.frames > 0 ? (known > 0 ? std::min(options.frames, cvRound(known)) : options.frames)
                                         : cvRound(std::max(known, 0.));
    std::ofstream csv = openCsv(options);
    VideoWriter writer;
    Finder finder(options);
    Mat frame;
    int count = 0;
    size_t looked = 0, good = 0;
    TickMeter whole;
    whole.start();
    for (; (options.frames == 0 || count < options.frames) && video.read(frame); ++count)
    {
        finder.next(frame);
        if (count == 0)
            continue;
        const std::vector<Rect> regions = texturedRegions(finder.previous(), options.fragments, options.size);
        std::vector<Rect> areas;
        for (const Rect& region : regions)
            areas.push_back(region + Point(-options.radius, -options.radius) +
                            Size(2 * options.radius, 2 * options.radius));
        const std::vector<FragmentMatch> matches = finder.find(regions, areas);
        writeCsv(csv, count, regions, matches);
        looked += matches.size();
        for (const FragmentMatch& match : matches)
            good += found(match, options.minConfidence);
        const Mat picture =
            drawMotion(frame, regions, matches, options.minConfidence, options.vectorScale,
                       format("frame %d, %zu fragments, motion x %g", count, matches.size(), options.vectorScale));
        if (options.video && !writer.isOpened() &&
            !writer.open(options.outputDir + "/motion.avi", CAP_OPENCV_MJPEG, VideoWriter::fourcc('M', 'J', 'P', 'G'),
                         rate > 0 && rate <= 240 ? rate : 25., frame.size()))
            CV_Error(Error::StsError, "cannot write " + options.outputDir + "/motion.avi");
        if (options.video)
            writer.write(picture);
        if (total > 0 ? count % std::max(1, total / 4) == 0 : (count & (count - 1)) == 0)
            save(options, format("motion_%05d.png", count), picture);
        if (count % 20 == 0)
            std::cerr << "\rframe " << count << (total > 0 ? format(" of %d", total) : String()) << "   " << std::flush;
    }
    whole.stop();
    std::cerr << "\r";
    if (count < 2)
        CV_Error(Error::StsError, "fewer than two frames in '" + options.first + "'");
    std::cout << format("%d frames, %zu fragments looked for, %.1f %% found with a confidence of at least %g\n", count,
                        looked, looked ? 100. * good / looked : 0., options.minConfidence)
              << format("matching: %.2f ms a frame, %.1f frames/s; everything (decoding, choosing, drawing, writing): "
                        "%.1f frames/s\n",
                        finder.milliseconds / (count - 1), 1000. * (count - 1) / finder.milliseconds,
                        count / whole.getTimeSec())
              << "wrote " << options.outputDir << "/matches.csv" << (options.video ? " and motion.avi" : "")
              << std::endl;
}

// --- pairs -----------------------------------------------------------------------------------------------------------

Mat readPicture(const String& name, int flags)
{
    const Mat picture = imread(name, flags);
    if (picture.empty())
        CV_Error(Error::StsError, "cannot read the picture '" + name + "'");
    return picture;
}

std::vector<Rect> pairAreas(const Options& options, const std::vector<Rect>& regions)
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

void runPair(const Options& options)
{
    const Mat pictures[] = {readPicture(options.first, IMREAD_COLOR), readPicture(options.second, IMREAD_COLOR)};
    Finder finder(options);
    finder.next(pictures[0]);
    finder.next(pictures[1]);
    const std::vector<Rect> regions = texturedRegions(pictures[0], options.fragments, options.size);
    const std::vector<Rect> areas = pairAreas(options, regions);
    finder.find(regions, areas); // the first call sets the engine up
    finder.milliseconds = 0;
    const std::vector<FragmentMatch> matches = finder.find(regions, areas);
    std::ofstream csv = openCsv(options);
    writeCsv(csv, 1, regions, matches);

    double positions = 0;
    size_t good = 0;
    for (size_t i = 0; i < matches.size(); ++i)
    {
        const Rect area = areas[i] & Rect(Point(), pictures[1].size());
        positions += std::max(0, area.width - options.size + 1) *
                     static_cast<double>(std::max(0, area.height - options.size + 1));
        good += found(matches[i], options.minConfidence);
    }
    std::cout << format(
        "%zu fragments, %.2f million positions in %.2f ms; %.1f %% found with a confidence of at least %g\n",
        matches.size(), positions / 1e6, finder.milliseconds, matches.empty() ? 0. : 100. * good / matches.size(),
        options.minConfidence);
    if (!options.truth.empty())
    {
        const Mat truth = readPicture(options.truth, IMREAD_GRAYSCALE);
        CV_CheckEQ(truth.size(), pictures[0].size(), "the true disparities must be of the left picture's size");
        printTruthTable(options.gtScale, truth, regions, matches);
    }
    const double scale = options.stereo ? 0.15 : options.vectorScale;
    save(options, options.stereo ? "confidence.png" : "motion.png",
         drawMotion(pictures[0], regions, matches, options.stereo ? 0. : options.minConfidence, scale,
                    format("displacement x %g, from the dot on", scale)));
    if (options.stereo)
        save(options, "disparity.png",
             drawDisparity(pictures[0], regions, matches, options.minConfidence, options.maxDisparity));
    std::cout << "wrote " << options.outputDir << "/matches.csv" << std::endl;
}

} // namespace

int main(int argc, char** argv)
{
    CommandLineParser parser(argc, argv, KEYS);
    parser.about(
        "Finds textured fragments of one picture in the next and draws where they went, coloured by confidence.\n"
        "  cudatracking_fragment_matcher vtest.avi\n"
        "  cudatracking_fragment_matcher aloeL.jpg aloeR.jpg aloeGT.png\n"
        "  cudatracking_fragment_matcher --pair=motion rubberwhale1.png rubberwhale2.png");
    if (parser.has("help") || (!parser.has("@input") && !parser.has("left")))
    {
        parser.printMessage();
        return parser.has("help") ? 0 : 2;
    }
    try
    {
        const Options options = readOptions(parser);
        std::cout << "engine: " << (options.cuda ? "cuda" : format("cpu, %d threads", getNumThreads())) << std::endl;
        if (options.second.empty())
            runVideo(options);
        else
            runPair(options);
    }
    catch (const std::exception& e)
    {
        std::cerr << "error: " << e.what() << std::endl;
        return 1;
    }
    return 0;
}
