// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Tracks one or several objects in a video, a folder of pictures or from a camera. Boxes are drawn with the mouse or given, or
// learned objects are loaded. Leaves an annotated video with states, scores and learned templates, pictures, a table, the
// templates, and the learned objects in files.
#include "opencv2/core/cuda.hpp"
#include "opencv2/core/utility.hpp"
#include "opencv2/core/utils/filesystem.hpp"
#include "opencv2/cudatracking/tld_tracker.hpp"
#include "opencv2/imgcodecs.hpp"
#include "opencv2/imgproc.hpp"
#include "opencv2/videoio.hpp"
#ifdef CUDATRACKING_SAMPLES_WINDOW
#include "opencv2/highgui.hpp"
#endif
#include <cctype>
#include <cstdio>
#include <fstream>
#include <iostream>

using namespace cv;
using cv::cuda::MultiTrackerTLD;
using cv::cuda::TLDParams;
using cv::cuda::TrackerTLD;

namespace {

const char* KEYS = "{ help h        |     | print this }"
                   "{ @input        |     | video, folder of pictures, or camera index }"
                   "{ box           |     | first boxes: x,y,width,height, several with semicolons between them; "
                   "without it and without "
                   "--load they are drawn with the mouse }"
                   "{ load          |     | files of learned objects, with commas between them }"
                   "{ save          |     | writes learned objects to files of this name with an id and .yml added }"
                   "{ first-frame   | 0   | where to begin }"
                   "{ frames        | 0   | stop after so many frames (0: all) }"
                   "{ seed          | 1   | of all random choices }"
                   "{ no-learning   |     | keep the detectors as they are }"
                   "{ picture-every | 100 | frames from one saved picture to the next (0: none) }"
                   "{ engine        | auto | cpu, cuda, or auto: cuda where there is a device }"
                   "{ window        |     | show the frames; ESC ends }"
                   "{ output-dir    | .   | folder for video, pictures and CSV; must exist }";

//! Frames of a video, a camera or a folder.
class Source
{
public:
    explicit Source(const std::string& input)
    {
        if (utils::fs::isDirectory(input))
            utils::fs::glob(input, "", files_);
        else if (input.size() == 1 && std::isdigit(static_cast<unsigned char>(input[0])))
            video_.open(input[0] - '0');
        else
            video_.open(input);
        if (files_.empty() && !video_.isOpened())
            CV_Error_(Error::StsBadArg, ("cannot read %s", input.c_str()));
    }
    double rate() const
    {
        const double rate = video_.isOpened() ? video_.get(CAP_PROP_FPS) : 0.;
        return rate > 0. && rate < 1000. ? rate : 25.;
    }
    bool read(Mat& frame)
    {
        if (video_.isOpened())
            return video_.read(frame);
        for (frame.release(); frame.empty() && next_ < files_.size();)
            frame = imread(files_[next_++]); // files that are no pictures are left out
        return !frame.empty();
    }

private:
    std::vector<String> files_;
    size_t next_ = 0;
    VideoCapture video_;
};

std::vector<Rect> parseBoxes(const std::string& text)
{
    std::vector<Rect> boxes;
    for (size_t begin = 0; begin < text.size();)
    {
        const size_t end = std::min(text.find(';', begin), text.size());
        Rect box;
        char rest = 0;
        const std::string one = text.substr(begin, end - begin);
        if (std::sscanf(one.c_str(), "%d,%d,%d,%d%c", &box.x, &box.y, &box.width, &box.height, &rest) != 4)
            CV_Error_(Error::StsBadArg, ("--box: x,y,width,height is needed instead of '%s'", one.c_str()));
        boxes.push_back(box);
        begin = end + 1;
    }
    return boxes;
}

std::vector<Rect> boxesByMouse(const Mat& frame)
{
    std::vector<Rect> boxes;
#ifdef CUDATRACKING_SAMPLES_WINDOW
    std::cout << "draw boxes; SPACE or ENTER ends one, ESC ends all" << std::endl;
    selectROIs("objects", frame, boxes);
#else
    (void)frame;
#endif
    if (boxes.empty())
        CV_Error(Error::StsBadArg, "there is no object: give --box=x,y,width,height, or --load=FILE");
    return boxes;
}

//! Brings frames to where the engine works.
class Tracker
{
public:
    Tracker(const CommandLineParser& options, bool cuda) : cuda_(cuda)
    {
        TLDParams params;
        params.seed = options.get<int>("seed");
        params.learning = !options.has("no-learning");
        tracker_ = MultiTrackerTLD::create(params);
    }
    void add(const Mat& frame, const Rect& box) { tracker_->add(onEngine(frame), box); }
    void load(const Mat& frame, const std::string& files)
    {
        for (size_t begin = 0; begin < files.size();)
        {
            const size_t end = std::min(files.find(',', begin), files.size());
            tracker_->addFromFile(onEngine(frame), files.substr(begin, end - begin));
            begin = end + 1;
        }
    }
    //! A row for each object; on the host, so that the call waits.
    Mat update(const Mat& frame)
    {
        Mat results;
        tracker_->update(onEngine(frame), results);
        return results;
    }
    MultiTrackerTLD& operator*() { return *tracker_; }

private:
    _InputArray onEngine(const Mat& frame)
    {
        if (!cuda_)
            return _InputArray(frame);
        device_.upload(frame);
        return _InputArray(device_);
    }

    bool cuda_;
    cuda::GpuMat device_;
    Ptr<MultiTrackerTLD> tracker_;
};

Scalar colourOf(int state)
{
    return state == TrackerTLD::TRACKING    ? Scalar(60, 220, 60)
           : state == TrackerTLD::UNCERTAIN ? Scalar(30, 190, 250)
                                            : Scalar(90, 90, 250);
}

//! Small pictures of the first template and the newest ones, from right to left below the frame's upper border.
void drawTemplates(Mat& picture, MultiTrackerTLD& tracker, int id, int row, int state)
{
    const int side = 30, most = 6;
    Mat templates;
    tracker.getTemplates(id, true, templates);
    const int count = templates.rows / 15, shown = std::min(count, most);
    const Rect strip(picture.cols - shown * side - 4, 4 + row * (side + 4), shown * side, side);
    if (strip.x < picture.cols / 2 || strip.y + side > picture.rows)
        return;
    for (int i = 0; i < shown; ++i)
    {
        const int which = i == 0 ? 0 : count - shown + i;
        Mat one, colour;
        resize(templates.rowRange(15 * which, 15 * which + 15), one, Size(side, side), 0, 0, INTER_NEAREST);
        cvtColor(one, colour, COLOR_GRAY2BGR);
        colour.copyTo(picture(Rect(strip.x + i * side, strip.y, side, side)));
    }
    rectangle(picture, strip, colourOf(state), 1);
    putText(picture, format("%d", id), strip.tl() + Point(-22, 21), FONT_HERSHEY_SIMPLEX, 0.6, colourOf(state), 2);
}

void draw(Mat& picture, MultiTrackerTLD& tracker, const std::vector<int>& ids, const Mat& results)
{
    for (size_t i = 0; i < ids.size(); ++i)
    {
        const double* r = results.ptr<double>(static_cast<int>(i));
        const int state = static_cast<int>(r[5]);
        const Rect box(cvRound(r[0]), cvRound(r[1]), cvRound(r[2]), cvRound(r[3]));
        if (state != TrackerTLD::LOST)
        {
            rectangle(picture, box, colourOf(state), r[6] > 0. ? 2 : 1);
            const std::string text = format("%d: %.2f%s", ids[i], r[4], state == TrackerTLD::UNCERTAIN ? "?" : "");
            const int y = ids[i] % 2 ? box.y + box.height + 14 : box.y - 6; // neighbours' labels on two sides
            putText(picture, text, Point(box.x, std::max(y, 12)), FONT_HERSHEY_SIMPLEX, 0.5, colourOf(state), 1,
                    LINE_AA);
        }
        drawTemplates(picture, tracker, ids[i], static_cast<int>(i), state);
    }
}

//! What an object looks like and what it does not: its templates over those of all else, 20 in a row.
Mat sheetOf(MultiTrackerTLD& tracker, int id)
{
    std::vector<Mat> parts;
    for (const bool positive : {true, false})
    {
        Mat templates, big;
        tracker.getTemplates(id, positive, templates);
        const int count = templates.rows / 15, rows = std::max((count + 19) / 20, 1);
        Mat sheet(rows * 17 + 3, 20 * 17 + 3, CV_8UC3, positive ? Scalar(60, 140, 60) : Scalar(60, 60, 160));
        for (int i = 0; i < count; ++i)
        {
            Mat colour;
            cvtColor(templates.rowRange(15 * i, 15 * i + 15), colour, COLOR_GRAY2BGR);
            colour.copyTo(sheet(Rect(2 + 17 * (i % 20), 2 + 17 * (i / 20), 15, 15)));
        }
        resize(sheet, big, Size(), 2, 2, INTER_NEAREST);
        parts.push_back(big);
    }
    Mat all;
    vconcat(parts, all);
    return all;
}

//! Everything that is written.
class Report
{
public:
    Report(const std::string& folder, int pictureEvery, double rate)
        : folder_(folder), table_(folder + "/tracks.csv"), pictureEvery_(pictureEvery), rate_(rate)
    {
        table_ << "frame,id,x,y,width,height,score,state,located,learned\n";
    }
    void add(int number, const Mat& picture, const std::vector<int>& ids, const Mat& results)
    {
        for (size_t i = 0; i < ids.size(); ++i)
        {
            const double* r = results.ptr<double>(static_cast<int>(i));
            table_ << number << ',' << ids[i];
            for (int k = 0; k < 8; ++k)
                table_ << ',' << r[k];
            table_ << '\n';
            located_ += r[6] > 0.;
        }
        objects_ += ids.size();
        if (!video_.isOpened())
            video_.open(folder_ + "/tracks.avi", VideoWriter::fourcc('M', 'J', 'P', 'G'), rate_, picture.size());
        video_.write(picture);
        if (pictureEvery_ > 0 && number % pictureEvery_ == 0)
            imwrite(format("%s/frame_%05d.jpg", folder_.c_str(), number), picture);
    }
    void finish(MultiTrackerTLD& tracker, const std::string& save)
    {
        for (const int id : tracker.getIds())
        {
            imwrite(format("%s/templates_%d.png", folder_.c_str(), id), sheetOf(tracker, id));
            if (!save.empty())
                tracker.saveObject(id, format("%s%d.yml", save.c_str(), id));
        }
    }
    double share() const { return objects_ ? 100. * double(located_) / double(objects_) : 0.; }

private:
    std::string folder_;
    std::ofstream table_;
    VideoWriter video_;
    int pictureEvery_;
    double rate_;
    size_t located_ = 0, objects_ = 0;
};

int run(const CommandLineParser& options)
{
    const std::string folder = options.get<std::string>("output-dir"), engine = options.get<std::string>("engine");
    if (engine != "auto" && engine != "cpu" && engine != "cuda")
        CV_Error(Error::StsBadArg, "--engine: auto, cpu or cuda");
    const bool cuda = engine == "cuda" || (engine == "auto" && cuda::getCudaEnabledDeviceCount() > 0);
    Source source(options.get<std::string>("@input"));
    const int first = options.get<int>("first-frame"), limit = options.get<int>("frames");
    Mat frame;
    for (int i = 0; i <= first; ++i)
        if (!source.read(frame))
            CV_Error_(Error::StsBadArg, ("there is no frame %d", first));
    std::vector<Rect> boxes = parseBoxes(options.get<std::string>("box"));
    const std::string files = options.get<std::string>("load");
    if (boxes.empty() && files.empty())
        boxes = boxesByMouse(frame);
    Tracker tracker(options, cuda);
    for (const Rect& box : boxes)
        tracker.add(frame, box);
    tracker.load(frame, files);
    Report report(folder, options.get<int>("picture-every"), source.rate());
    TickMeter meter;
    int frames = 0;
    while ((limit == 0 || frames < limit) && source.read(frame))
    {
        meter.start();
        const Mat results = tracker.update(frame);
        meter.stop();
        ++frames;
        const std::vector<int> ids = (*tracker).getIds();
        draw(frame, *tracker, ids, results);
        report.add(first + frames, frame, ids, results);
#ifdef CUDATRACKING_SAMPLES_WINDOW
        if (options.has("window"))
        {
            imshow("objects", frame);
            if (waitKey(1) == 27)
                break;
        }
#endif
    }
    if (frames == 0)
        CV_Error(Error::StsBadArg, "there was no frame after the first one");
    report.finish(*tracker, options.get<std::string>("save"));
    std::cout << frames << " frames, " << (*tracker).getIds().size() << " objects, located in "
              << cvRound(report.share()) << " % of the frames; " << meter.getTimeMilli() / frames
              << " ms a frame on the " << (cuda ? "CUDA" : "CPU") << " engine\n"
              << "wrote " << folder << "/tracks.avi, tracks.csv, pictures and templates" << std::endl;
    return 0;
}

} // namespace

int main(int argc, char** argv)
{
    CommandLineParser options(argc, argv, KEYS);
    if (options.has("help") || !options.has("@input"))
    {
        options.about("Tracks objects that are learned on the way.");
        options.printMessage();
        return options.has("help") ? 0 : 2;
    }
    try
    {
        return run(options);
    }
    catch (const std::exception& e)
    {
        std::cerr << e.what() << std::endl;
        return 1;
    }
}
