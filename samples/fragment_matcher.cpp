// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Finds textured fragments of one picture in the next: from frame to frame of a video, or between the two of a pair.
#include "opencv2/core/utility.hpp"
#include "opencv2/cudatracking.hpp"
#include "opencv2/imgcodecs.hpp"
#include "opencv2/imgproc.hpp"
#include "opencv2/videoio.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iostream>

using namespace cv;
using cv::cuda::FragmentMatch;
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

//! The most textured place of each cell of a grid of about `count` cells, where there is texture at all.
std::vector<Rect> texturedRegions(const Mat& picture, int count, int size)
{
    Mat gray, texture;
    cvtColor(picture, gray, COLOR_BGR2GRAY);
    cornerMinEigenVal(gray, texture, 5);
    const int cell = std::max(4, cvRound(std::sqrt(static_cast<double>(picture.total()) / count)));
    const Scalar strength = mean(texture);
    std::vector<Rect> regions;
    const int half = size / 2;
    for (int y = half; y + cell <= picture.rows - half; y += cell)
        for (int x = half; x + cell <= picture.cols - half; x += cell)
        {
            double best = 0;
            Point at;
            minMaxLoc(texture(Rect(x, y, cell, cell)), nullptr, &best, nullptr, &at);
            const Rect region(x + at.x - half, y + at.y - half, size, size);
            if (best > 0.1 * strength[0] && (region & Rect(Point(), picture.size())) == region)
                regions.push_back(region);
        }
    return regions;
}

// --- results ---------------------------------------------------------------------------------------------------------

Point2f middle(const Rect& region)
{
    return Point2f(region.tl()) + Point2f(region.width - 1.f, region.height - 1.f) / 2.f;
}
Point2f motion(const Rect& region, const FragmentMatch& match) { return match.refined[0] - Point2f(region.tl()); }
bool found(const FragmentMatch& match, double minConfidence)
{
    return !match.locations.empty() && match.confidence >= minConfidence;
}

void writeCsv(std::ofstream& csv, int frame, const std::vector<Rect>& regions,
              const std::vector<FragmentMatch>& matches)
{
    for (size_t i = 0; i < matches.size(); ++i)
    {
        const FragmentMatch& match = matches[i];
        csv << frame << ',' << i << ',' << regions[i].x << ',' << regions[i].y << ',' << match.status << ','
            << match.confidence;
        if (match.locations.empty())
            csv << ",,,,,,";
        else
        {
            const Point2f by = motion(regions[i], match);
            csv << ',' << by.x << ',' << by.y << ',' << match.scores[0];
            if (match.locations.size() > 1)
                csv << ',' << match.locations[1].x << ',' << match.locations[1].y << ',' << match.scores[1];
            else
                csv << ",,,";
        }
        csv << '\n';
    }
}

std::ofstream openCsv(const Options& options)
{
    const String name = options.outputDir + "/matches.csv";
    std::ofstream csv(name);
    if (!csv)
        CV_Error(Error::StsError, "cannot write " + name);
    csv << "frame,fragment,x,y,status,confidence,dx,dy,score,alternative_x,alternative_y,alternative_score\n";
    return csv;
}

const double SUREST = 4.; //!< confidence from which on the colour stays green

//! Red (no surer than a guess) over yellow to green.
Scalar colourOf(double confidence)
{
    const double t = std::min(1., std::max(0., std::log(confidence) / std::log(SUREST)));
    return t < 0.5 ? Scalar(40, 40 + 400 * t, 240) : Scalar(40 + 60 * (t - 0.5), 240, 240 - 400 * (t - 0.5));
}

void label(Mat& picture, const String& text, Point at, double size = 0.45)
{
    putText(picture, text, at, FONT_HERSHEY_SIMPLEX, size, Scalar(0, 0, 0), 3, LINE_AA);
    putText(picture, text, at, FONT_HERSHEY_SIMPLEX, size, Scalar(255, 255, 255), 1, LINE_AA);
}

void drawLegend(Mat& picture, const String& title)
{
    const Rect bar(12, picture.rows - 26, std::min(220, picture.cols / 2), 12);
    for (int x = 0; x < bar.width; ++x)
    {
        const double confidence = std::pow(SUREST, static_cast<double>(x) / (bar.width - 1));
        line(picture, bar.tl() + Point(x, 0), bar.tl() + Point(x, bar.height), colourOf(confidence));
    }
    rectangle(picture, bar, Scalar(255, 255, 255), 1);
    label(picture, "1", Point(bar.x - 2, bar.y - 6));
    label(picture, "2", Point(bar.x + bar.width / 2 - 4, bar.y - 6));
    label(picture, "4+  confidence", Point(bar.br().x - 14, bar.y - 6));
    label(picture, title, Point(12, 20), 0.5);
}

//! Vectors of all matches of at least `minConfidence`; of very many matches only every second, third, ...
Mat drawMotion(const Mat& picture, const std::vector<Rect>& regions, const std::vector<FragmentMatch>& matches,
               double minConfidence, double scale, const String& title)
{
    Mat canvas = picture * 0.55;
    const size_t step = matches.size() / 6000 + 1;
    const double eighths = 8.; // sub-pixel drawing
    for (size_t i = 0; i < matches.size(); i += step)
    {
        if (!found(matches[i], minConfidence))
            continue;
        const Point2f from = middle(regions[i]), by = motion(regions[i], matches[i]);
        const Scalar colour = colourOf(matches[i].confidence);
        const Point a(cvRound(from.x * eighths), cvRound(from.y * eighths));
        const Point b = a + Point(cvRound(by.x * scale * eighths), cvRound(by.y * scale * eighths));
        circle(canvas, a, 11, colour, FILLED, LINE_AA, 3);
        if (norm(by) > 0.4)
            line(canvas, a, b, colour, 2, LINE_AA, 3);
    }
    drawLegend(canvas, title);
    return canvas;
}

void save(const Options& options, const String& name, const Mat& picture)
{
    const String file = options.outputDir + "/" + name;
    if (!imwrite(file, picture))
        CV_Error(Error::StsError, "cannot write " + file);
    std::cout << "wrote " << file << std::endl;
}

// --- video -----------------------------------------------------------------------------------------------------------

VideoCapture openVideo(const String& name)
{
    VideoCapture video;
    if (!name.empty() && name.find_first_not_of("0123456789") == String::npos)
        video.open(std::stoi(name));
    else
        video.open(name);
    if (!video.isOpened())
        CV_Error(Error::StsError, "cannot open the video, camera or image sequence '" + name + "'");
    return video;
}

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

//! Disparity of a match: how much further to the left the place lies in the right picture.
float disparityOf(const Rect& region, const FragmentMatch& match) { return -motion(region, match).x; }

//! Compares with the truth at the middle of each fragment and prints how confidence separates right from wrong.
void printTruthTable(const Options& options, const Mat& truth, const std::vector<Rect>& regions,
                     const std::vector<FragmentMatch>& matches)
{
    const double bounds[] = {0, 1.02, 1.05, 1.1, 1.2, 1.4, 1.7, 2, 3, 1e30};
    const int bins = 9;
    int counts[bins] = {}, rights[bins] = {}, all = 0, right = 0;
    for (size_t i = 0; i < matches.size(); ++i)
    {
        const Point2f at = middle(regions[i]);
        const int level = truth.at<uchar>(cvRound(at.y), cvRound(at.x));
        if (level == 0 || matches[i].locations.size() < 2)
            continue; // the truth is unknown there, or there is nothing to compare with
        const bool agrees = std::abs(disparityOf(regions[i], matches[i]) - level / options.gtScale) <= 1.;
        const int bin =
            static_cast<int>(std::upper_bound(bounds, bounds + bins, static_cast<double>(matches[i].confidence)) -
                             bounds) -
            1;
        ++all, right += agrees;
        ++counts[bin], rights[bin] += agrees;
    }
    std::cout << format("%d of %d displacements agree with the truth within 1 px (%.1f %%)\n", right, all,
                        all ? 100. * right / all : 0.)
              << "confidence       count   right     right from here up\n";
    for (int bin = 0; bin < bins; ++bin)
    {
        int above = 0, rightAbove = 0;
        for (int k = bin; k < bins; ++k)
            above += counts[k], rightAbove += rights[k];
        const String range = bin == 0          ? "     below 1.02"
                             : bin == bins - 1 ? "    3 and more "
                                               : format("%6.2f .. %-5.2f", bounds[bin], bounds[bin + 1]);
        std::cout << format("%s %7d  %5.1f %%   %5.1f %% of %d\n", range.c_str(), counts[bin],
                            counts[bin] ? 100. * rights[bin] / counts[bin] : 0., above ? 100. * rightAbove / above : 0.,
                            above);
    }
}

//! A disc for each sure match: warm colours are near.
Mat drawDisparity(const Mat& picture, const Options& options, const std::vector<Rect>& regions,
                  const std::vector<FragmentMatch>& matches)
{
    Mat canvas = picture * 0.35, level(1, 1, CV_8UC1), colour;
    const int radius = std::max(2, cvRound(0.45 * std::sqrt(static_cast<double>(picture.total()) / options.fragments)));
    for (size_t i = 0; i < matches.size(); ++i)
    {
        if (!found(matches[i], options.minConfidence))
            continue;
        level.at<uchar>(0) = saturate_cast<uchar>(255. * disparityOf(regions[i], matches[i]) / options.maxDisparity);
        applyColorMap(level, colour, COLORMAP_TURBO);
        circle(canvas, middle(regions[i]), radius, Scalar(colour.at<Vec3b>(0)), FILLED, LINE_AA);
    }
    label(canvas,
          format("disparity 0 (blue) to %d px (red), confidence at least %g", options.maxDisparity,
                 options.minConfidence),
          Point(12, 20), 0.5);
    return canvas;
}

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
        printTruthTable(options, truth, regions, matches);
    }
    const double scale = options.stereo ? 0.15 : options.vectorScale;
    save(options, options.stereo ? "confidence.png" : "motion.png",
         drawMotion(pictures[0], regions, matches, options.stereo ? 0. : options.minConfidence, scale,
                    format("displacement x %g, from the dot on", scale)));
    if (options.stereo)
        save(options, "disparity.png", drawDisparity(pictures[0], options, regions, matches));
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
