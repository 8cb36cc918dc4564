// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Tracks one or several objects in a video, a folder of images or from a camera. Boxes are drawn with the mouse or
// given, or learned objects are loaded. Leaves an annotated video with states, scores and learned templates, images, a
// table, the templates, and the learned objects in files.
#include "input.hpp"
#include "output.hpp"
#include "program.hpp"
#include "tld_results.hpp"
#include "opencv2/cudatracking/tld_tracker.hpp"
#ifdef CUDATRACKING_SAMPLES_WINDOW
#include "opencv2/highgui.hpp"
#endif

using namespace cv;
using namespace sample;
using cv::cuda::MultiTrackerTLD;
using cv::cuda::TLDParams;
using cv::cuda::TrackerTLD;

namespace {

Options makeOptions()
{
    return Options(
        "Tracks objects that are learned on the way: an annotated video, a table, templates, learned objects.",
        {"--box=253,219,30,90 vtest.avi", "\"--box=580,157,34,80;616,157,32,78\" --first-frame=300 vtest.avi",
         "--box=253,219,30,90 --save=person --output-dir=out vtest.avi",
         "--load=out/person0.xml --output-dir=later vtest.avi", "--box=10,20,50,60 --output-dir=out folder_of_images"},
        {argument("input", SAMPLE_INPUT_HELP),
         text("box", "",
              "first boxes: x,y,width,height, several with semicolons between them" +
                  std::string(hasWindows() ? "; without it and without --load they are drawn with the mouse" : "")),
         text("load", "", "files of learned objects, with commas between them"),
         text("save", "", "write learned objects to files of this name with the id and .xml added, in --output-dir"),
         integer("first-frame", 0, 0, INT_MAX, "number of the frame to begin with"), framesOption(),
         integer("seed", 1, 0, INT_MAX, "seed of all random choices"),
         flag("no-learning", "keep the detectors as they are"), imageOption(), backendOption(), windowOption(),
         videoOption("tracks.avi"), outputOption("video, images and tracks.csv")});
}

std::vector<Rect> readBoxes(const Options& options)
{
    std::vector<Rect> boxes;
    for (const std::string& one : options.list("box", ';'))
    {
        std::vector<int> v;
        if (!readIntegers(one, ',', 4, v) || v[2] < 1 || v[3] < 1)
            throw UsageError("--box=" + one + ": x,y,width,height is needed, with width and height from 1 on");
        boxes.push_back(Rect(v[0], v[1], v[2], v[3]));
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
        throw UsageError("there is no object: give --box=x,y,width,height or --load=FILE");
    return boxes;
}

//! Brings frames to where the backend works.
class Tracker
{
public:
    Tracker(const Options& options, bool cuda) : cuda_(cuda)
    {
        TLDParams params;
        params.seed = options.integer("seed");
        params.learning = !options.flag("no-learning");
        tracker_ = MultiTrackerTLD::create(params);
    }
    void add(const Mat& frame, const Rect& box)
    {
        if ((box & Rect(Point(), frame.size())) != box)
            throw UsageError(format("--box=%d,%d,%d,%d: is not inside of the frame, which has %d x %d pixels", box.x,
                                    box.y, box.width, box.height, frame.cols, frame.rows));
        tracker_->add(onEngine(frame), box);
    }
    void load(const Mat& frame, const std::string& file) { tracker_->addFromFile(onEngine(frame), file); }
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

//! Small images of the first template and the newest ones, from right to left below the frame's upper border.
void drawTemplates(Mat& image, MultiTrackerTLD& tracker, int id, int row, int state)
{
    const int side = 30, most = 6;
    Mat templates;
    tracker.getTemplates(id, true, templates);
    const int count = templates.rows / 15, shown = std::min(count, most);
    const Rect strip(image.cols - shown * side - 4, 4 + row * (side + 4), shown * side, side);
    if (strip.x < image.cols / 2 || strip.y + side > image.rows)
        return;
    for (int i = 0; i < shown; ++i)
    {
        const int which = i == 0 ? 0 : count - shown + i;
        Mat one, colour;
        resize(templates.rowRange(15 * which, 15 * which + 15), one, Size(side, side), 0, 0, INTER_NEAREST);
        cvtColor(one, colour, COLOR_GRAY2BGR);
        colour.copyTo(image(Rect(strip.x + i * side, strip.y, side, side)));
    }
    rectangle(image, strip, colourOf(state), 1);
    drawLabel(image, std::to_string(id), strip.tl() + Point(-22, 19), colourOf(state));
}

void draw(Mat& image, MultiTrackerTLD& tracker, const std::vector<int>& ids, const Mat& results)
{
    const auto stateOf = [&](size_t i)
    { return static_cast<int>(results.at<double>(static_cast<int>(i), TrackerTLD::RESULT_STATE)); };
    for (size_t i = 0; i < ids.size(); ++i)
    {
        const double* r = results.ptr<double>(static_cast<int>(i));
        if (stateOf(i) != TrackerTLD::LOST)
            rectangle(image, boxOf(r), colourOf(stateOf(i)), r[TrackerTLD::RESULT_LOCATED] > 0. ? 2 : 1);
        drawTemplates(image, tracker, ids[i], static_cast<int>(i), stateOf(i));
    }
    for (size_t i = 0; i < ids.size(); ++i) // over all boxes
    {
        if (stateOf(i) == TrackerTLD::LOST)
            continue;
        const double* r = results.ptr<double>(static_cast<int>(i));
        const Rect box = boxOf(r);
        const int y = ids[i] % 2 ? box.y + box.height + 14 : box.y - 6; // neighbours' labels on two sides
        drawLabel(
            image,
            format("%d: %.2f%s", ids[i], r[TrackerTLD::RESULT_SCORE], stateOf(i) == TrackerTLD::UNCERTAIN ? "?" : ""),
            Point(box.x, y), colourOf(stateOf(i)));
    }
}

//! Draws the templates of an object over those of all else, 20 in a row.
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

//! Returns the begin of the names of learned objects; the id and .xml follow.
std::string savedFiles(const Options& options)
{
    return (std::filesystem::path(options.text("output-dir")) / options.text("save")).string();
}

//! Throws where a file that is written is one that is read.
void checkOutputs(const Options& options)
{
    std::vector<std::string> inputs = filesOfInput(options.text("input"), true);
    for (const std::string& file : options.list("load", ','))
        inputs.push_back(file);
    std::vector<Output> outputs = outputsOf(options, {"tracks.csv", "frame_#.jpg", "templates_#.png"});
    if (options.given("save"))
        outputs.push_back({"--save", savedFiles(options) + "#.xml"});
    refuseOverwriting(inputs, outputs);
}

//! Everything that is written.
class Report
{
public:
    Report(const Options& options, double rate)
        : folder_(outputFolder(options.text("output-dir"))),
          videoName_(options.text("video-file")),
          saved_(options.given("save") ? savedFiles(options) : ""),
          table_(folder_ + "/tracks.csv", "frame,id," SAMPLE_TLD_COLUMNS),
          video_(folder_ + "/" + videoName_, rate),
          imageEvery_(options.integer("image-every"))
    {
        if (!saved_.empty())
            Partial(nameOf(0)); // can anything be written there?
    }
    void add(int number, const Mat& image, const std::vector<int>& ids, const Mat& results)
    {
        for (size_t i = 0; i < ids.size(); ++i)
        {
            const double* r = results.ptr<double>(static_cast<int>(i));
            table_.rows() << number << ',' << ids[i];
            writeRow(table_.rows(), r);
            table_.rows() << '\n';
            located_ += r[TrackerTLD::RESULT_LOCATED] > 0.;
        }
        table_.tick();
        objects_ += ids.size();
        video_.write(image);
        if (imageEvery_ > 0 && number % imageEvery_ == 0)
            writeImage(format("%s/frame_%05d.jpg", folder_.c_str(), number), image);
    }
    void finish(MultiTrackerTLD& tracker)
    {
        video_.finish();
        table_.finish();
        for (const int id : tracker.getIds())
        {
            writeImage(format("%s/templates_%d.png", folder_.c_str(), id), sheetOf(tracker, id));
            if (!saved_.empty())
                tracker.saveObject(id, nameOf(id)); // whole or not at all
        }
        std::cout << "wrote " << folder_ << "/" << videoName_ << ", tracks.csv, images and templates"
                  << (saved_.empty() ? std::string() : ", and learned objects as " + nameOf(0) + "..") << std::endl;
    }
    double share() const { return objects_ ? 100. * double(located_) / double(objects_) : 0.; }

private:
    std::string nameOf(int id) const { return saved_ + std::to_string(id) + ".xml"; }

    const std::string folder_, videoName_, saved_;
    Table table_;
    VideoFile video_;
    int imageEvery_;
    size_t located_ = 0, objects_ = 0;
};

//! The frame that the boxes are of; empty when the user wants to end.
Mat firstFrame(Source& source, int number)
{
    Mat frame;
    while (source.number() < number && !stopped())
        if (!source.read(frame) || source.number() > number)
            throw std::runtime_error(format("there is no frame %d in the input", number));
    return stopped() ? Mat() : frame;
}

void run(const Options& options)
{
    std::vector<Rect> boxes = readBoxes(options);
    const std::vector<std::string> files = options.list("load", ',');
    if (boxes.empty() && files.empty() && !hasWindows())
        throw UsageError("this build has no windows: give --box=x,y,width,height or --load=FILE");
    checkOutputs(options);
    const bool cuda = useCuda(options);
    const int first = options.integer("first-frame"), limit = options.integer("frames");
    Source source(options.text("input"), true);
    Report report(options, source.rate());
    Mat frame = firstFrame(source, first);
    if (frame.empty())
        return;
    if (boxes.empty() && files.empty())
        boxes = boxesByMouse(frame);
    Tracker tracker(options, cuda);
    for (const Rect& box : boxes)
        tracker.add(frame, box);
    for (const std::string& file : files)
        tracker.load(frame, file);
    TickMeter meter;
    int frames = 0;
    const int total = source.count(), rest = std::max(0, total - first - 1);
    Progress progress(limit > 0 && (total == 0 || limit < rest) ? limit : rest);
    while ((limit == 0 || frames < limit) && !stopped() && source.read(frame))
    {
        meter.start();
        const Mat results = tracker.update(frame);
        meter.stop();
        ++frames;
        const std::vector<int> ids = (*tracker).getIds();
        draw(frame, *tracker, ids, results);
        report.add(source.number(), frame, ids, results);
        progress.step();
        if (!show(options, frame))
            break;
    }
    progress.end();
    if (frames == 0 && stopped())
        return;
    if (frames == 0)
        throw std::runtime_error("there was no frame after the first one");
    std::cout << counted(size_t(frames), "frame") << ", " << counted((*tracker).getIds().size(), "object")
              << ", located in " << cvRound(report.share()) << " % of the frames; "
              << format("%.2f", meter.getTimeMilli() / frames) << " ms per frame on the " << (cuda ? "CUDA" : "CPU")
              << " backend" << std::endl;
    report.finish(*tracker);
}

} // namespace

int main(int argc, char** argv) { return runProgram(argc, argv, makeOptions(), run); }
