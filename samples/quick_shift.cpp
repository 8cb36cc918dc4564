// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Superpixels of an image, of all images of a folder, of a video or of a camera: contours, mean colours, labels and a
// table.
#include "input.hpp"
#include "output.hpp"
#include "program.hpp"
#include "opencv2/cudatracking/quick_shift.hpp"
#include <set>

using namespace cv;
using namespace sample;
using cv::cuda::GpuMat;
using cv::cuda::QuickShift;

namespace {

Options makeOptions()
{
    return Options(
        "Quick-shift superpixels: contours, mean colours, labels and a table.",
        {"home.jpg", "--number=400 home.jpg", "--preset=both --min-area=50 --output-dir=out folder_of_images",
         "--preset=lab --frames=100 vtest.avi"},
        {argument("input", "image, " SAMPLE_INPUT_HELP), backendOption(),
         choice("preset", {"paper", "lab", "both"},
                "paper: BGR * 32/255, sigma 6, max-dist 10; lab: Lab * 0.5, sigma 2, max-dist 8; both: one after the "
                "other (a video: paper only)"),
         real("sigma", 0, 0, 341, "kernel bandwidth; 0: the preset's"),
         real("max-dist", 0, 0, 32767, "largest distance to a parent; 0: the preset's"),
         real("scale", 0, 0, 1e9, "factor on the colours; 0: the preset's"),
         integer("number", 0, 0, INT_MAX,
                 "about this many connected superpixels, with the parameters of QuickShift::forSuperpixels(); not with "
                 "sigma, max-dist and scale; 0: as many as the preset makes"),
         integer("min-area", 20, 0, INT_MAX,
                 "split superpixels into 4-connected components and merge those of fewer pixels; 0: do neither"),
         framesOption("images or frames"), windowOption("videos: show the contours, with sliders; ESC ends"),
         outputOption("images, video and CSV"), videoOption("contours.avi")});
}

struct Look
{
    String name;
    bool lab;
    double sigma, maxDist, scale;
    int number; //!< wanted superpixels; 0: as many as there are
};

struct Results
{
    Mat contours, meanColor, labels; //!< drawn, drawn, CV_32S
    Mat areas, means, centroids, boxes;
    int count = 0;
    double milliseconds = 0;
};

//! L in 0..100, a and b in -127..127, as vl_quickseg and scikit-image take it. 8 bit would stretch L.
Mat labOf(const Mat& image)
{
    Mat scaled, lab;
    image.convertTo(scaled, CV_32F, 1. / 255);
    cvtColor(scaled, lab, COLOR_BGR2Lab);
    return lab;
}

//! Lab of 8 bits, as QuickShift::forSuperpixels() takes it.
Mat byteLabOf(const Mat& image)
{
    Mat lab;
    cvtColor(image, lab, COLOR_BGR2Lab);
    return lab;
}

//! Runs one look at an image, on the backend of the user's choice.
class Segmenter
{
public:
    Segmenter(const Look& look, bool cuda, int minArea)
        : look_(look),
          cuda_(cuda),
          minArea_(minArea),
          q_(look.number > 0 ? QuickShift::forSuperpixels() : QuickShift::create(look.sigma, look.maxDist, look.scale))
    {}

    Results run(const Mat& image, bool table)
    {
        Results r;
        const Mat features = look_.number > 0 ? byteLabOf(image) : look_.lab ? labOf(image) : image;
        TickMeter time;
        if (cuda_)
        {
            input_.upload(features);
            time.start();
            q_->compute(input_);
            r.count = cut(); // waits
            time.stop();
            collect(r, image, GpuMat(image), table);
        }
        else
        {
            time.start();
            q_->compute(features);
            r.count = cut();
            time.stop();
            collect(r, image, image, table);
        }
        r.milliseconds = time.getTimeMilli();
        return r;
    }

    void set(const Look& look)
    {
        look_ = look;
        q_->setSigma(look.sigma);
        q_->setMaxDist(look.maxDist);
        if (look.number == 0)
            q_->setColorScale(look.scale);
    }

private:
    //! Makes superpixels connected. @return their number.
    int cut()
    {
        if (look_.number > 0)
            return q_->applyNumber(look_.number);
        return minArea_ > 0 ? q_->enforceConnectivity(minArea_) : q_->getNumberOfSuperpixels();
    }

    template <typename Array> void collect(Results& r, const Mat& image, const Array& input, bool table)
    {
        Mat mask;
        q_->getLabelContourMask(mask, false);
        image.copyTo(r.contours);
        r.contours.setTo(Scalar(0, 0, 255), mask);
        q_->getMeanColor(input, r.meanColor);
        q_->getLabels(r.labels);
        if (table)
            q_->getStatistics(input, r.areas, r.means, r.centroids, r.boxes);
    }

    Look look_;
    bool cuda_;
    int minArea_;
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
    Table table(path, "label,area,blue,green,red,centre_x,centre_y,box_x,box_y,box_width,box_height");
    std::ostream& out = table.rows();
    for (int i = 0; i < r.count; ++i)
    {
        const Vec3f& colour = r.means.at<Vec3f>(i);
        const Vec2f& centre = r.centroids.at<Vec2f>(i);
        const Vec4i& box = r.boxes.at<Vec4i>(i);
        out << i << ',' << r.areas.at<int>(i) << ',' << colour[0] << ',' << colour[1] << ',' << colour[2] << ','
            << centre[0] << ',' << centre[1] << ',' << box[0] << ',' << box[1] << ',' << box[2] << ',' << box[3]
            << '\n';
    }
    table.finish();
}

void doImage(const String& name, const Mat& image, std::vector<Segmenter>& segmenters, const std::vector<Look>& looks,
             const String& folder)
{
    for (size_t i = 0; i < looks.size(); ++i)
    {
        const Results r = segmenters[i].run(image, true);
        const String stem = folder + "/" + name + "_" + looks[i].name;
        writeImage(stem + "_contours.png", r.contours);
        writeImage(stem + "_mean.png", r.meanColor);
        writeImage(stem + "_labels.png", paintLabels(r.labels));
        writeTable(stem + ".csv", r);
        std::cout << format("%s, %s: %d x %d, ", name.c_str(), looks[i].name.c_str(), image.cols, image.rows)
                  << counted(size_t(r.count), "superpixel") << format(", %.2f ms", r.milliseconds) << "\nwrote " << stem
                  << "_contours.png, _mean.png, _labels.png and .csv" << std::endl;
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
    bool show(const Mat& image)
    {
#ifdef CUDATRACKING_SAMPLES_WINDOW
        if (open_)
        {
            imshow(NAME, image);
            return waitKey(1) != 27;
        }
#else
        (void)image;
#endif
        return true;
    }

private:
    const String NAME = "quick shift", SIGMA = "10 sigma", MAX_DIST = "max dist";
    bool open_, shown_ = false;
};

//! Contours as a video, a row of the CSV for each frame.
void doVideo(Source& source, Segmenter& segmenter, Look look, const Options& options)
{
    const String folder = options.text("output-dir"), name = options.text("video-file");
    const int most = options.integer("frames");
    Table table(folder + "/frames.csv", "frame,superpixels,milliseconds");
    VideoFile video(folder + "/" + name, source.rate());
    Window window(wantsWindow(options));
    Progress progress(source.count(most));
    Mat frame;
    int done = 0;
    double milliseconds = 0.;
    for (bool going = true; going && (most == 0 || done < most) && !stopped() && source.read(frame); ++done)
    {
        window.read(look);
        segmenter.set(look);
        const Results r = segmenter.run(frame, false);
        table.rows() << source.number() << ',' << r.count << ',' << r.milliseconds << '\n';
        table.tick();
        video.write(r.contours);
        milliseconds += r.milliseconds;
        progress.step();
        going = window.show(r.contours);
    }
    progress.end();
    if (done == 0 && stopped())
        return;
    if (done == 0)
        throw std::runtime_error("there was no frame to work on");
    video.finish();
    table.finish();
    std::cout << counted(size_t(done), "frame") << format(", %.2f ms per frame\n", milliseconds / done) << "wrote "
              << folder << "/frames.csv and " << name << std::endl;
}

//! Names of files without their endings; with them where two would be alike.
String nameFor(const String& file, std::set<String>& used)
{
    const String stem = std::filesystem::path(file).stem().string();
    const String name = used.count(stem) ? file : stem;
    used.insert(name);
    return name;
}

void doImages(Source& source, std::vector<Segmenter>& segmenters, const std::vector<Look>& looks,
              const Options& options)
{
    const int most = options.integer("frames");
    Progress progress(source.count(most), "image");
    std::set<String> used;
    Mat image;
    int done = 0;
    for (; (most == 0 || done < most) && !stopped() && source.read(image); ++done)
    {
        doImage(nameFor(source.name(), used), image, segmenters, looks, options.text("output-dir"));
        progress.step();
    }
    if (done == 0 && !stopped())
        throw std::runtime_error("there was no image to work on");
}

std::vector<Look> readLooks(const Options& options)
{
    const String preset = options.text("preset");
    const double sigma = options.real("sigma"), maxDist = options.real("max-dist"), scale = options.real("scale");
    std::vector<Look> looks;
    if (const int number = options.integer("number"); number > 0)
    {
        if (sigma > 0 || maxDist > 0 || scale > 0)
            throw std::runtime_error("--number has parameters of its own; give it or --sigma, --max-dist and --scale");
        const Ptr<QuickShift> made = QuickShift::forSuperpixels();
        return {{"number", true, made->getSigma(), made->getMaxDist(), 0., number}};
    }
    if (preset != "lab")
        looks.push_back({"paper", false, 6., 10., 32. / 255, 0});
    if (preset != "paper")
        looks.push_back({"lab", true, 2., 8., 0.5, 0});
    for (Look& look : looks)
    {
        look.sigma = sigma > 0 ? sigma : look.sigma;
        look.maxDist = maxDist > 0 ? maxDist : look.maxDist;
        look.scale = scale > 0 ? scale : look.scale;
    }
    return looks;
}

//! Names of images that are written.
std::vector<std::string> resultsOf(const std::vector<Look>& looks)
{
    std::vector<std::string> names;
    for (const Look& look : looks)
        for (const char* const kind : {"contours", "mean", "labels"})
            names.push_back("*_" + look.name + "_" + kind + ".png");
    return names;
}

//! Throws where a file that is written is one that is read. @param beside names of images that are no input.
void checkOutputs(const Options& options, const std::vector<Look>& looks, const std::vector<std::string>& beside)
{
    const std::vector<std::string> inputs = filesOfInput(options.text("input"), false, beside);
    std::set<std::string> names = {"frames.csv"};
    for (const std::string& input : inputs)
        for (const std::filesystem::path& name :
             {std::filesystem::path(input).filename(), std::filesystem::path(input).stem()})
        {
            for (const std::string& result : resultsOf(looks))
                names.insert(name.string() + result.substr(1));
            for (const Look& look : looks)
                names.insert(name.string() + "_" + look.name + ".csv");
        }
    refuseOverwriting(inputs, outputsOf(options, {names.begin(), names.end()}));
}

void run(const Options& options)
{
    const std::vector<Look> looks = readLooks(options);
    std::error_code error;
    const bool sameFolder = std::filesystem::equivalent(options.text("input"), options.text("output-dir"), error);
    const std::vector<std::string> beside = sameFolder ? resultsOf(looks) : std::vector<std::string>();
    checkOutputs(options, looks, beside);
    const bool cuda = useCuda(options);
    std::vector<Segmenter> segmenters;
    for (const Look& look : looks)
        segmenters.push_back(Segmenter(look, cuda, options.integer("min-area")));
    Source source(options.text("input"), false, beside);
    outputFolder(options.text("output-dir"));
    if (source.isVideo())
        doVideo(source, segmenters[0], looks[0], options);
    else
        doImages(source, segmenters, looks, options);
}

} // namespace

int main(int argc, char** argv) { return runProgram(argc, argv, makeOptions(), run); }
