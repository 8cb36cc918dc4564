// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Superpixels of a picture, of all pictures of a folder, of a video or of a camera: contours, mean colours, labels and a table.
#include "opencv2/core/utility.hpp"
#include "opencv2/core/utils/filesystem.hpp"
#include "opencv2/cudatracking/quick_shift.hpp"
#include "opencv2/imgcodecs.hpp"
#include "opencv2/imgproc.hpp"
#include "opencv2/videoio.hpp"
#ifdef CUDATRACKING_SAMPLES_WINDOW
#include "opencv2/highgui.hpp"
#endif
#include <cstdio>
#include <fstream>
#include <iostream>

using namespace cv;
using cv::cuda::GpuMat;
using cv::cuda::QuickShift;

namespace {

const char* KEYS =
    "{ help h         |       | print this }"
    "{ @input         |       | picture, folder of pictures, video, or camera index }"
    "{ engine         | auto  | cpu, cuda, or auto: cuda where there is a device }"
    "{ preset         | paper | paper: BGR * 32/255, sigma 6, max-dist 10; lab: Lab * 0.5, sigma 2, max-dist 8; both }"
    "{ sigma          | 0     | kernel bandwidth; 0: the preset's }"
    "{ max-dist       | 0     | largest distance to a parent; 0: the preset's }"
    "{ scale          | 0     | factor on the colours; 0: the preset's }"
    "{ min-size       | 1     | make superpixels 4-connected and join those of fewer pixels; 0: leave them as trees }"
    "{ frames         | 0     | stop after so many frames (0: all) }"
    "{ window         |       | show the contours, with sliders; ESC ends }"
    "{ output-dir     | .     | folder for pictures, video and CSV; must exist }";

struct Look
{
    String name;
    bool lab;
    double sigma, maxDist, scale;
};

struct Results
{
    Mat contours, meanColor, labels; //!< drawn, drawn, CV_32S
    Mat areas, means, centroids, boxes;
    int count = 0;
    double milliseconds = 0;
};

//! L in 0..100, a and b in -127..127, as vl_quickseg and scikit-image take it. 8 bit would stretch L.
Mat labOf(const Mat& picture)
{
    Mat scaled, lab;
    picture.convertTo(scaled, CV_32F, 1. / 255);
    cvtColor(scaled, lab, COLOR_BGR2Lab);
    return lab;
}

//! Runs one look at a picture, on the engine of the user's choice.
class Segmenter
{
public:
    Segmenter(const Look& look, bool cuda, int minSize)
        : look_(look), cuda_(cuda), minSize_(minSize), q_(QuickShift::create(look.sigma, look.maxDist, look.scale))
    {}

    Results run(const Mat& picture, bool table)
    {
        Results r;
        const Mat features = look_.lab ? labOf(picture) : picture;
        TickMeter time;
        if (cuda_)
        {
            input_.upload(features);
            time.start();
            q_->compute(input_);
            if (minSize_ > 0)
                q_->enforceConnectivity(minSize_);
            r.count = q_->getNumberOfSuperpixels(); // waits
            time.stop();
            collect(r, picture, GpuMat(picture), table);
        }
        else
        {
            time.start();
            q_->compute(features);
            if (minSize_ > 0)
                q_->enforceConnectivity(minSize_);
            r.count = q_->getNumberOfSuperpixels();
            time.stop();
            collect(r, picture, picture, table);
        }
        r.milliseconds = time.getTimeMilli();
        return r;
    }

    void set(const Look& look)
    {
        look_ = look;
        q_->setSigma(look.sigma);
        q_->setMaxDist(look.maxDist);
        q_->setColorScale(look.scale);
    }

private:
    template <typename Array> void collect(Results& r, const Mat& picture, const Array& input, bool table)
    {
        Mat mask;
        q_->getLabelContourMask(mask, false);
        picture.copyTo(r.contours);
        r.contours.setTo(Scalar(0, 0, 255), mask);
        q_->getMeanColor(input, r.meanColor);
        q_->getLabels(r.labels);
        if (table)
            q_->getStatistics(input, r.areas, r.means, r.centroids, r.boxes);
    }

    Look look_;
    bool cuda_;
    int minSize_;
    Ptr<QuickShift> q_;
    GpuMat input_;
};

//! Labels as colours that tell neighbours apart.
Mat paintLabels(const Mat& labels)
{
    Mat out(labels.size(), CV_8UC3, Scalar());
    for (int y = 0; y < labels.rows; ++y)
        for (int x = 0; x < labels.cols; ++x)
        {
            const unsigned hash = static_cast<unsigned>(labels.at<int>(y, x)) * 2654435761u;
            if (labels.at<int>(y, x) >= 0)
                out.at<Vec3b>(y, x) = Vec3b(static_cast<uchar>(hash >> 24), static_cast<uchar>(hash >> 16),
                                            static_cast<uchar>(hash >> 8));
        }
    return out;
}

void writeTable(const String& path, const Results& r)
{
    std::ofstream out(path);
    out << "label,area,blue,green,red,centre_x,centre_y,box_x,box_y,box_width,box_height\n";
    for (int i = 0; i < r.count; ++i)
    {
        const Vec3f& colour = r.means.at<Vec3f>(i);
        const Vec2f& centre = r.centroids.at<Vec2f>(i);
        const Vec4i& box = r.boxes.at<Vec4i>(i);
        out << i << ',' << r.areas.at<int>(i) << ',' << colour[0] << ',' << colour[1] << ',' << colour[2] << ','
            << centre[0] << ',' << centre[1] << ',' << box[0] << ',' << box[1] << ',' << box[2] << ',' << box[3]
            << '\n';
    }
    CV_Check(path, out.good(), "cannot write this file");
}

void save(const String& path, const Mat& picture) { CV_Check(path, imwrite(path, picture), "cannot write this file"); }

String stemOf(const String& path)
{
    const size_t slash = path.find_last_of("/\\"), begin = slash == String::npos ? 0 : slash + 1,
                 dot = path.find_last_of('.');
    return path.substr(begin, dot == String::npos || dot < begin ? String::npos : dot - begin);
}

void doPicture(const String& name, const Mat& picture, std::vector<Segmenter>& segmenters,
               const std::vector<Look>& looks, const String& folder)
{
    for (size_t i = 0; i < looks.size(); ++i)
    {
        const Results r = segmenters[i].run(picture, true);
        const String stem = folder + "/" + name + "_" + looks[i].name;
        save(stem + "_contours.png", r.contours);
        save(stem + "_mean.png", r.meanColor);
        save(stem + "_labels.png", paintLabels(r.labels));
        writeTable(stem + ".csv", r);
        std::printf("%s, %s: %d x %d, %d superpixels, %.2f ms\n", name.c_str(), looks[i].name.c_str(), picture.cols,
                    picture.rows, r.count, r.milliseconds);
    }
}

//! Contours in a window, with sliders for the parameters. Does nothing in builds without windows.
class Window
{
public:
    explicit Window(bool wanted) : open_(wanted) {}

    //! Parameters as the sliders stand.
    void read(Look& look)
    {
#ifdef CUDATRACKING_SAMPLES_WINDOW
        if (!open_)
            return;
        if (!shown_)
        {
            namedWindow(NAME);
            createTrackbar(SIGMA, NAME, nullptr, 100);
            setTrackbarPos(SIGMA, NAME, cvRound(10 * look.sigma));
            createTrackbar(MAX_DIST, NAME, nullptr, 200);
            setTrackbarPos(MAX_DIST, NAME, cvRound(look.maxDist));
            shown_ = true;
        }
        look.sigma = std::max(getTrackbarPos(SIGMA, NAME), 2) / 10.;
        look.maxDist = std::max(getTrackbarPos(MAX_DIST, NAME), 1);
#else
        (void)look;
#endif
    }

    //! @return false when the user wants to end.
    bool show(const Mat& picture)
    {
#ifdef CUDATRACKING_SAMPLES_WINDOW
        if (open_)
        {
            imshow(NAME, picture);
            return waitKey(1) != 27;
        }
#else
        (void)picture;
#endif
        return true;
    }

private:
    const String NAME = "quick shift", SIGMA = "10 sigma", MAX_DIST = "max dist";
    bool open_, shown_ = false;
};

//! Contours as a video, one line of the CSV for each frame. @return frames done.
int doVideo(VideoCapture& video, Segmenter& segmenter, Look look, int most, const String& folder, bool windowWanted)
{
    const int total = static_cast<int>(video.get(CAP_PROP_FRAME_COUNT));
    std::ofstream table(folder + "/frames.csv");
    table << "frame,superpixels,milliseconds\n";
    VideoWriter writer;
    Window window(windowWanted);
    Mat frame;
    int done = 0;
    for (bool going = true; going && (most == 0 || done < most) && video.read(frame); ++done)
    {
        window.read(look);
        segmenter.set(look);
        const Results r = segmenter.run(frame, false);
        table << done << ',' << r.count << ',' << r.milliseconds << '\n';
        if (!writer.isOpened())
            writer.open(folder + "/contours.avi", VideoWriter::fourcc('M', 'J', 'P', 'G'), 25, frame.size());
        writer << r.contours;
        if (done % 10 == 0)
            std::printf("frame %d of %d: %d superpixels, %.2f ms\n", done, total, r.count, r.milliseconds),
                std::fflush(stdout);
        going = window.show(r.contours);
    }
    return done;
}

std::vector<Look> readLooks(const CommandLineParser& parser)
{
    const String preset = parser.get<String>("preset");
    std::vector<Look> looks;
    if (preset == "paper" || preset == "both")
        looks.push_back({"paper", false, 6., 10., 32. / 255});
    if (preset == "lab" || preset == "both")
        looks.push_back({"lab", true, 2., 8., 0.5});
    CV_Check(preset, !looks.empty(), "--preset is paper, lab or both");
    for (Look& look : looks)
    {
        const double sigma = parser.get<double>("sigma"), maxDist = parser.get<double>("max-dist"),
                     scale = parser.get<double>("scale");
        look.sigma = sigma > 0 ? sigma : look.sigma;
        look.maxDist = maxDist > 0 ? maxDist : look.maxDist;
        look.scale = scale > 0 ? scale : look.scale;
    }
    return looks;
}

int run(const CommandLineParser& parser)
{
    const String input = parser.get<String>("@input"), folder = parser.get<String>("output-dir"),
                 engine = parser.get<String>("engine");
    CV_Check(engine, engine == "auto" || engine == "cpu" || engine == "cuda", "--engine is auto, cpu or cuda");
    const bool cuda = engine == "cuda" || (engine == "auto" && cuda::getCudaEnabledDeviceCount() > 0);
    const std::vector<Look> looks = readLooks(parser);
    std::vector<Segmenter> segmenters;
    for (const Look& look : looks)
        segmenters.push_back(Segmenter(look, cuda, parser.get<int>("min-size")));

    if (!input.empty() && input.find_first_not_of("0123456789") == String::npos)
    {
        VideoCapture camera(parser.get<int>("@input"));
        CV_Check(input, camera.isOpened(), "cannot open this camera");
        std::printf("%d frames\n",
                    doVideo(camera, segmenters[0], looks[0], parser.get<int>("frames"), folder, parser.has("window")));
        return 0;
    }
    std::vector<String> paths(1, input);
    if (utils::fs::isDirectory(input))
        glob(input + "/*.*", paths);
    int pictures = 0;
    for (const String& path : paths)
    {
        const Mat picture = haveImageReader(path) ? imread(path, IMREAD_COLOR) : Mat();
        if (picture.empty())
            continue;
        doPicture(stemOf(path), picture, segmenters, looks, folder);
        ++pictures;
    }
    if (pictures > 0)
        return 0;
    VideoCapture video(input);
    CV_Check(input, video.isOpened(), "neither a picture, nor a folder with pictures, nor a video");
    std::printf("%d frames\n",
                doVideo(video, segmenters[0], looks[0], parser.get<int>("frames"), folder, parser.has("window")));
    return 0;
}

} // namespace

int main(int argc, char** argv)
{
    CommandLineParser parser(argc, argv, KEYS);
    parser.about("Quick-shift superpixels.");
    if (parser.has("help") || !parser.has("@input"))
    {
        parser.printMessage();
        return parser.has("help") ? 0 : 1;
    }
    try
    {
        return run(parser);
    }
    catch (const cv::Exception& e)
    {
        std::cerr << e.what() << std::endl;
        return 1;
    }
}
