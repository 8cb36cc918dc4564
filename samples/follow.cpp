// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Follows everything that a cascade finds: CascadeClassifierEx detects objects in one of several frames,
// MultiTrackerTLD tracks them in between and finds lost ones again. Or the boxes are those of any other program, from a
// file or a pipe. Leaves an annotated video with ids and states, and a table.
#include "box_list.hpp"
#include "input.hpp"
#include "output.hpp"
#include "program.hpp"
#include "tld_results.hpp"
#include "opencv2/cudatracking/cascade.hpp"
#include "opencv2/cudatracking/tld_tracker.hpp"

using namespace cv;
using namespace sample;
using cv::cuda::CascadeClassifierEx;
using cv::cuda::MultiTrackerTLD;
using cv::cuda::TLDParams;
using cv::cuda::TrackerTLD;

namespace {

Options makeOptions()
{
    return Options(
        "Follows everything that a cascade or another detector finds: an annotated video with ids, and a table.",
        {"0", "--cascade=haarcascade_fullbody.xml --every=10 --min-neighbors=6 --output-dir=out vtest.avi",
         "--pan=200 photo.jpg", "--boxes=- --propose video.avi"},
        {argument("input", "image with --pan, " SAMPLE_INPUT_HELP),
         text("cascade", "haarcascade_frontalface_default.xml", "file of the cascade"),
         integer("every", 5, 1, INT_MAX, "the cascade detects in one of so many frames"),
         real("scale-factor", 1.1, 1.0001, 1000, "ratio of successive scales of the cascade"),
         integer("min-neighbors", 5, 0, INT_MAX, "groups of more candidates than this are objects"),
         integer("min-size", 24, 12, 1 << 14, "least width and height of objects in pixels"),
         text("boxes", "", SAMPLE_BOX_LIST_HELP),
         flag("propose", "the boxes of --boxes are not reliable: those of the first frame that has any start all "
                         "objects, later ones only "
                         "propose places, which must be similar to the object"),
         real("overlap", 0.3, 0.01, 1, "least overlap of a found box with the object that it belongs to"),
         integer("end-after", 20, 0, INT_MAX,
                 "remove an object that the cascade misses so many times in a row (0: never)"),
         real("min-score", 0.5, 0, 1, "least score of an object that counts as located"),
         integer("pan", 0, 0, INT_MAX, "the input is one image: so many frames of a view that moves over it"),
         framesOption(), integer("seed", 1, 0, INT_MAX, "seed of all random choices"), imageOption(), backendOption(),
         windowOption(), videoOption("follow.avi"), outputOption("video, images and follow.csv")});
}

//! Frames of the input, or of a view of 5/8 of an image that moves over it on a curve.
class Frames
{
public:
    explicit Frames(const Options& options) : pan_(options.integer("pan")), source_(options.text("input"), pan_ == 0)
    {
        if (pan_ > 0 && (source_.isVideo() || source_.count() != 1))
            throw UsageError("--pan: the input must be one image");
        if (pan_ > 0 && !source_.read(image_))
            throw std::runtime_error("cannot read " + options.text("input"));
    }
    bool read(Mat& frame)
    {
        if (pan_ == 0)
            return source_.read(frame);
        if (next_ == pan_)
            return false;
        const Size size(image_.cols * 5 / 8, image_.rows * 5 / 8), free = image_.size() - size;
        const double t = next_++ * 0.07; // from the upper left corner
        const Point at(cvRound(free.width * (0.5 - 0.5 * std::cos(t))),
                       cvRound(free.height * (0.5 - 0.5 * std::cos(0.7 * t))));
        image_(Rect(at, size)).copyTo(frame);
        return true;
    }
    //! Number of the last frame, from 0.
    int number() const { return pan_ > 0 ? next_ - 1 : source_.number(); }
    double rate() const { return pan_ > 0 ? 25. : source_.rate(); }
    //! Returns the number of frames; 0: not known.
    int count(int limit) const { return pan_ == 0 ? source_.count(limit) : limit > 0 ? std::min(limit, pan_) : pan_; }

private:
    const int pan_;
    Source source_;
    Mat image_;
    int next_ = 0;
};

//! Cascade and tracker on one backend; boxes and frames go from the one to the other where they are.
class Follower
{
public:
    Follower(const Options& options, bool cuda)
        : cuda_(cuda), every_(options.integer("every")), proposes_(options.flag("propose"))
    {
        if (options.given("boxes"))
            list_.reset(new BoxList(options.text("boxes")));
        else
            makeCascade(options);
        TLDParams params;
        params.seed = options.integer("seed");
        params.minReplyScore = static_cast<float>(options.real("min-score"));
        params.clipBoxes = true;
        params.boxOverlap = options.real("overlap");
        params.findByBoxes = true;
        params.verifyBoxes = proposes_;
        params.correctByBoxes = params.startFromBoxes = !proposes_;
        params.endAfterMisses = proposes_ ? 0 : options.integer("end-after");
        tracker_ = MultiTrackerTLD::create(params);
    }
    //! Returns a row for each object; it is on the host, so that the call waits.
    Mat update(const Mat& frame, int number)
    {
        Mat results;
        if (cuda_)
            device_.upload(frame);
        if (list_)
        {
            std::vector<Rect> boxes;
            const bool ran = list_->read(number, boxes);
            const _InputArray image = cuda_ ? _InputArray(device_) : _InputArray(frame);
            for (size_t i = 0; i < boxes.size() && proposes_ && !started_; ++i)
                tracker_->add(image, boxes[i]);
            started_ = started_ || !boxes.empty();
            tracker_->update(image, ran ? _InputArray(boxes) : _InputArray(), results);
            return results;
        }
        const bool detects = number % every_ == 0;
        if (cuda_)
        {
            if (detects)
                cascade_->detectAsync(device_, deviceBoxes_);
            tracker_->update(device_, detects ? _InputArray(deviceBoxes_) : _InputArray(), results);
            return results;
        }
        std::vector<Rect> boxes;
        if (detects)
        {
            cascade_->detectAsync(frame, boxes_);
            cascade_->convertDetections(boxes_, 0, boxes);
        }
        tracker_->update(frame, detects ? _InputArray(boxes) : _InputArray(), results);
        return results;
    }

private:
    void makeCascade(const Options& options)
    {
        const int least = options.integer("min-size");
        cascade_ = CascadeClassifierEx::create(options.text("cascade"));
        cascade_->setScaleFactor(options.real("scale-factor"));
        cascade_->setMinNeighbors(options.integer("min-neighbors"));
        cascade_->setMinObjectSize(Size(least, least));
        cascade_->setMaxCandidates(1 << 16); // more than these in a frame count as nothing found
    }

    const bool cuda_;
    const int every_;
    const bool proposes_;
    bool started_ = false; //!< with --propose: there are objects
    std::unique_ptr<BoxList> list_;
    Ptr<CascadeClassifierEx> cascade_;
    Ptr<MultiTrackerTLD> tracker_;
    cuda::GpuMat device_, deviceBoxes_;
    Mat boxes_;
};

const char* nameOf(int event)
{
    static const char* const names[] = {"none",   "started",     "flow",        "corrected", "retried",
                                        "jumped", "found again", "became lost", "confirmed", "recognized"};
    return event == TrackerTLD::FILTERED ? "filter" : names[event];
}

//! Draws located objects with their ids, and lists them; the others, of which the place is not certain, are only
//! listed, until they are lost.
void draw(Mat& image, const Mat& results)
{
    static const Scalar colours[] = {Scalar(60, 220, 60), Scalar(220, 160, 40), Scalar(40, 120, 250),
                                     Scalar(220, 60, 200), Scalar(60, 220, 220)};
    int lines = 0;
    for (int i = 0; i < results.rows; ++i)
    {
        const double* r = results.ptr<double>(i);
        const int id = static_cast<int>(r[TrackerTLD::RESULT_ID]),
                  event = static_cast<int>(r[TrackerTLD::RESULT_EVENT]);
        const bool located = r[TrackerTLD::RESULT_LOCATED] > 0.;
        const Scalar colour = colours[id % 5];
        if (located)
        {
            const Rect box = boxOf(r);
            rectangle(image, box, colour, 2);
            drawLabel(image, std::to_string(id), box.tl() + Point(1, 12), colour);
        }
        const std::string state = located                                                             ? "located"
                                  : static_cast<int>(r[TrackerTLD::RESULT_STATE]) == TrackerTLD::LOST ? "lost"
                                                                                                      : "uncertain";
        if (event != TrackerTLD::NO_EVENT)
            drawLabel(image, format("%d: %s, %s", id, state.c_str(), nameOf(event)), Point(6, 16 + 16 * lines++),
                      colour);
    }
}

//! Everything that is written.
class Report
{
public:
    Report(const Options& options, double rate)
        : folder_(outputFolder(options.text("output-dir"))),
          videoName_(options.text("video-file")),
          table_(folder_ + "/follow.csv", "frame,id," SAMPLE_TLD_COLUMNS ",box"),
          video_(folder_ + "/" + videoName_, rate),
          imageEvery_(options.integer("image-every"))
    {}
    void add(int number, const Mat& image, const Mat& results)
    {
        for (int i = 0; i < results.rows; ++i)
        {
            const double* r = results.ptr<double>(i);
            table_.rows() << number << ',' << r[TrackerTLD::RESULT_ID];
            writeRow(table_.rows(), r);
            table_.rows() << ',' << r[TrackerTLD::RESULT_BOX] << '\n';
            located_ += r[TrackerTLD::RESULT_LOCATED] > 0.;
            objects_ = std::max(objects_, static_cast<size_t>(r[TrackerTLD::RESULT_ID]) + 1);
        }
        table_.tick();
        video_.write(image);
        if (imageEvery_ > 0 && number % imageEvery_ == 0)
            writeImage(cv::format("%s/frame_%05d.jpg", folder_.c_str(), number), image);
    }
    void finish()
    {
        video_.finish();
        table_.finish();
        std::cout << "wrote " << folder_ << "/" << videoName_ << ", follow.csv and images" << std::endl;
    }
    size_t objects() const { return objects_; } //!< number of all objects, also of those that have ended
    size_t located() const { return located_; } //!< number of rows of located objects

private:
    const std::string folder_, videoName_;
    Table table_;
    VideoFile video_;
    const int imageEvery_;
    size_t located_ = 0, objects_ = 0;
};

void run(const Options& options)
{
    std::vector<std::string> inputs = filesOfInput(options.text("input"), options.integer("pan") == 0);
    for (const char* name : {"cascade", "every", "scale-factor", "min-neighbors", "min-size"})
        if (options.given("boxes") && options.given(name))
            throw UsageError(std::string("--boxes and --") + name + " exclude each other");
    if (options.flag("propose") && !options.given("boxes"))
        throw UsageError("--propose needs --boxes");
    if (options.flag("propose") && options.given("end-after"))
        throw UsageError("--propose and --end-after exclude each other");
    inputs.push_back(options.text(options.given("boxes") ? "boxes" : "cascade"));
    refuseOverwriting(inputs, outputsOf(options, {"follow.csv", "frame_#.jpg"}));
    const bool cuda = useCuda(options);
    const int limit = options.integer("frames");
    Follower follower(options, cuda);
    Frames source(options);
    Report report(options, source.rate());
    TickMeter meter;
    Mat frame;
    int frames = 0;
    Progress progress(source.count(limit));
    while ((limit == 0 || frames < limit) && !stopped() && source.read(frame))
    {
        meter.start();
        const Mat results = follower.update(frame, source.number());
        meter.stop();
        draw(frame, results);
        report.add(source.number(), frame, results);
        ++frames;
        progress.step();
        if (!show(options, frame))
            break;
    }
    progress.end();
    if (frames == 0 && stopped())
        return;
    if (frames == 0)
        throw std::runtime_error("there was no frame to work on");
    std::cout << counted(size_t(frames), "frame") << ", " << counted(report.objects(), "object") << ", located in "
              << counted(report.located(), "row") << "; " << format("%.2f", meter.getTimeMilli() / frames)
              << " ms per frame on the " << (cuda ? "CUDA" : "CPU") << " backend" << std::endl;
    report.finish();
}

} // namespace

int main(int argc, char** argv) { return runProgram(argc, argv, makeOptions(), run); }
