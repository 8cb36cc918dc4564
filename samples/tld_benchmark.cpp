// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Runs TrackerTLD on sequences with known truth and says how well it did: precision, recall and F, once for each seed.
//
// A sequence is a folder. Layout of TLD: a video or images, init.txt (x1,y1,x2,y2 in the first frame) and gt.txt (the same, a
// line a frame, nan: absent). Layout of OTB: images in img/, groundtruth_rect.txt (x,y,width,height; the first line is where
// the tracker begins). A frame is right when the overlap is above 0.25 (F50: 0.5), after the whole trajectory was moved and
// scaled so that its first box is the truth's first box: what users mark and what truth means by an object may differ.
#include "input.hpp"
#include "output.hpp"
#include "program.hpp"
#include "opencv2/cudatracking/tld_tracker.hpp"
#include "opencv2/core/utils/filesystem.hpp"
#ifdef HAVE_OPENCV_TRACKING
#include "opencv2/tracking.hpp"
#include "opencv2/tracking/tracking_legacy.hpp"
#endif
#include <fstream>

using namespace cv;
using namespace sample;
using cv::cuda::TrackerTLD;

namespace {

Options makeOptions()
{
    return Options("Measures TrackerTLD on sequences with known truth.",
                   {"--seeds=20 tld_dataset", "--engine=cpu --csv=boxes.csv --video=out tld_dataset/01_david,otb/Car4"},
                   {argument("sequences", "folders, with commas between them: sequences, or folders of sequences"),
                    integer("seeds", 10, 1, 1 << 20, "runs of each, with one seed after the other"),
                    integer("first-seed", 1, INT_MIN / 2, INT_MAX / 2, "the first of them"),
                    integer("frames", 0, 0, INT_MAX, "stop after so many frames (0: all)"), engineOption(),
                    flag("peers", "also OpenCV's trackers, those of contrib where they are built"),
                    text("csv", "", "file for all boxes"),
                    text("video", "", "folder for annotated videos of the first seed; is made where it is missing")});
}

struct Sequence
{
    std::string name;
    std::vector<Mat> frames;
    Rect first;
    std::vector<Rect2d> truth; //!< empty: absent
};

//! A box for each frame; empty: none.
typedef std::vector<Rect2d> Trajectory;

struct Quality
{
    double precision = 0., recall = 0., f = 0., f50 = 0., ms = 0.;
    int replied = 0, absent = 0; //!< frames without the object; with a reply
};

// --- reading ---------------------------------------------------------------------------------------------------------

bool exists(const std::string& path) { return utils::fs::exists(path); }

std::vector<Rect2d> readTruth(const std::string& filename, bool corners)
{
    std::vector<Rect2d> boxes;
    std::ifstream file(filename);
    std::string line;
    while (std::getline(file, line))
    {
        for (char& c : line)
            c = c == ',' || c == '\t' || c == ';' ? ' ' : c;
        double v[4];
        const char* at = line.c_str();
        int count = 0;
        for (char* end = nullptr; count < 4; ++count, at = end)
        {
            v[count] = std::strtod(at, &end);
            if (end == at)
                break;
        }
        if (count == 0)
            continue;
        if (count < 4)
            CV_Error_(Error::StsParseError, ("%s: line %zu has %d numbers", filename.c_str(), boxes.size() + 1, count));
        const Rect2d box(v[0], v[1], corners ? v[2] - v[0] : v[2], corners ? v[3] - v[1] : v[3]);
        boxes.push_back(box.width > 0. && box.height > 0. && std::isfinite(box.x + box.y) ? box : Rect2d());
    }
    return boxes;
}

//! Images in natural order, else those of the folder's first video.
std::vector<Mat> readFrames(const std::string& folder, size_t most)
{
    std::vector<Mat> frames;
    const std::vector<std::string> videos = filesOf(folder, {".avi", ".mpg", ".mp4", ".mkv"});
    if (imagesOf(folder).empty() && videos.empty())
        throw std::runtime_error("there are neither images nor a video in " + folder);
    Source source(imagesOf(folder).empty() ? videos[0] : folder);
    for (Mat frame; frames.size() < most && !stopped() && source.read(frame); frame = Mat())
        frames.push_back(frame);
    return frames;
}

bool isSequence(const std::string& folder)
{
    return exists(folder + "/gt.txt") || exists(folder + "/groundtruth_rect.txt");
}

Sequence readSequence(const std::string& folder, int limit)
{
    Sequence s;
    const size_t end = folder.find_last_not_of('/') + 1, slash = folder.find_last_of('/', end - 1);
    s.name = folder.substr(slash == std::string::npos ? 0 : slash + 1, end - (slash + 1));
    const bool otb = exists(folder + "/groundtruth_rect.txt");
    s.truth = readTruth(folder + (otb ? "/groundtruth_rect.txt" : "/gt.txt"), !otb);
    s.frames = readFrames(otb ? folder + "/img" : folder, limit > 0 ? static_cast<size_t>(limit) : s.truth.size());
    s.truth.resize(std::min(s.truth.size(), s.frames.size()));
    s.frames.resize(s.truth.size());
    const std::vector<Rect2d> first = otb ? s.truth : readTruth(folder + "/init.txt", true);
    if (s.frames.empty() || first.empty() || first[0].empty())
        CV_Error_(Error::StsParseError, ("%s: frames, truth or a first box is missing", folder.c_str()));
    s.first = Rect(cvRound(first[0].x), cvRound(first[0].y), cvRound(first[0].width), cvRound(first[0].height)) &
              Rect(Point(), s.frames[0].size());
    return s;
}

std::vector<std::string> findSequences(const std::vector<std::string>& folders)
{
    std::vector<std::string> found;
    for (const std::string& folder : folders)
    {
        std::vector<std::string> inside;
        if (!utils::fs::isDirectory(folder))
            throw std::runtime_error("there is no folder " + folder);
        if (isSequence(folder))
            found.push_back(folder);
        else
            utils::fs::glob(folder, "", inside, false, true);
        std::sort(inside.begin(), inside.end(), naturalLess);
        std::copy_if(inside.begin(), inside.end(), std::back_inserter(found), isSequence);
    }
    return found;
}

// --- measuring -------------------------------------------------------------------------------------------------------

double overlap(const Rect2d& a, const Rect2d& b)
{
    const double both = (a & b).area();
    return both > 0. ? both / (a.area() + b.area() - both) : 0.;
}

//! Moves and scales a trajectory so that its first box is the truth's.
Trajectory aligned(const Trajectory& boxes, const Rect2d& truth)
{
    const Rect2d& first = boxes[0];
    const double x = (truth.x - first.x) / first.width, y = (truth.y - first.y) / first.height;
    Trajectory result;
    for (const Rect2d& b : boxes)
        result.emplace_back(b.x + x * b.width, b.y + y * b.height, b.width * truth.width / first.width,
                            b.height * truth.height / first.height);
    return result;
}

Quality measure(const Sequence& s, const Trajectory& given)
{
    Quality q;
    const Trajectory boxes = aligned(given, s.truth[0]);
    int answered = 0, visible = 0, right = 0, right50 = 0;
    for (size_t i = 0; i < boxes.size(); ++i)
    {
        const bool answer = !boxes[i].empty(), there = !s.truth[i].empty();
        answered += answer;
        visible += there;
        q.absent += !there;
        q.replied += answer && !there;
        right += answer && there && overlap(boxes[i], s.truth[i]) > 0.25;
        right50 += answer && there && overlap(boxes[i], s.truth[i]) > 0.5;
    }
    q.precision = answered ? static_cast<double>(right) / answered : 0.;
    q.recall = visible ? static_cast<double>(right) / visible : 0.;
    q.f = 2. * right / std::max(1, answered + visible);
    q.f50 = 2. * right50 / std::max(1, answered + visible);
    return q;
}

// --- running ---------------------------------------------------------------------------------------------------------

//! Tracks through a sequence. @param seconds of all calls of update().
Trajectory follow(Tracker& tracker, const Sequence& s, bool cuda, double& seconds)
{
    cuda::GpuMat onDevice;
    if (cuda)
        onDevice.upload(s.frames[0]);
    cuda ? tracker.init(onDevice, s.first) : tracker.init(s.frames[0], s.first);
    TrackerTLD* const tld = dynamic_cast<TrackerTLD*>(&tracker);
    Trajectory boxes = {Rect2d(s.first)};
    TickMeter meter;
    for (size_t i = 1; i < s.frames.size() && !stopped(); ++i)
    {
        if (cuda)
            onDevice.upload(s.frames[i]);
        Rect box;
        meter.start();
        const bool located = cuda ? tracker.update(onDevice, box) : tracker.update(s.frames[i], box);
        meter.stop();
        boxes.push_back(located ? (tld ? tld->getBox() : Rect2d(box)) : Rect2d());
    }
    seconds = meter.getTimeSec();
    return boxes;
}

void writeVideo(const std::string& filename, const Sequence& s, const Trajectory& boxes)
{
    VideoFile video(filename, 25.);
    const auto rect = [](const Rect2d& r)
    { return Rect(cvRound(r.x), cvRound(r.y), cvRound(r.width), cvRound(r.height)); };
    for (size_t i = 0; i < boxes.size(); ++i)
    {
        Mat image = s.frames[i].clone();
        if (!s.truth[i].empty())
            rectangle(image, rect(s.truth[i]), Scalar(220, 220, 220), 1);
        if (!boxes[i].empty())
            rectangle(image, rect(boxes[i]), Scalar(60, 220, 60), 2);
        video.write(image);
    }
    video.finish();
}

typedef std::function<Ptr<Tracker>(int seed)> Maker;

class Benchmark
{
public:
    Benchmark(const Options& options, bool cuda)
        : cuda_(cuda),
          seeds_(options.integer("seeds")),
          firstSeed_(options.integer("first-seed")),
          videos_(options.given("video") ? outputFolder(options.text("video"), "video") : "")
    {
        if (options.given("csv"))
            csv_.reset(
                new Table(options.text("csv"),
                          "sequence,tracker,seed,frame,x,y,width,height,truth_x,truth_y,truth_width,truth_height"));
    }
    void finish()
    {
        if (csv_)
            csv_->finish();
    }

    //! A line for one tracker on one sequence: means over the seeds, the least and the largest F, milliseconds a frame.
    void run(const Sequence& s, const std::string& tracker, const Maker& make, bool seeded)
    {
        Quality mean;
        double least = 1., most = 0.;
        const int runs = seeded ? seeds_ : 1;
        for (int i = 0; i < runs; ++i)
        {
            const int seed = firstSeed_ + i;
            double seconds = 0.;
            const Trajectory boxes = follow(*make(seed), s, cuda_ && seeded, seconds);
            if (stopped()) // a part of a run has no quality
                return;
            const Quality q = measure(s, boxes);
            mean.precision += q.precision / runs;
            mean.recall += q.recall / runs;
            mean.f += q.f / runs;
            mean.f50 += q.f50 / runs;
            mean.ms += 1000. * seconds / std::max<size_t>(1, s.frames.size() - 1) / runs;
            mean.replied += q.replied;
            mean.absent += q.absent;
            least = std::min(least, q.f);
            most = std::max(most, q.f);
            write(s, tracker, seed, boxes);
            if (!videos_.empty() && i == 0)
                writeVideo(videos_ + "/" + s.name + "_" + tracker + ".avi", s, boxes);
        }
        const std::string absent = format("%.4g/%d", static_cast<double>(mean.replied) / runs, mean.absent / runs);
        std::cout << (seeded ? s.name : s.name + "/" + tracker)
                  << format(" frames=%zu P=%.3f R=%.3f F=%.3f F50=%.3f absent=%s min=%.3f ms=%.2f max=%.3f",
                            s.frames.size(), mean.precision, mean.recall, mean.f, mean.f50, absent.c_str(), least,
                            mean.ms, most)
                  << std::endl;
    }

private:
    void write(const Sequence& s, const std::string& tracker, int seed, const Trajectory& boxes)
    {
        for (size_t i = 0; csv_ && i < boxes.size(); ++i)
        {
            csv_->rows() << csvText(s.name) << ',' << tracker << ',' << seed << ',' << i;
            for (const Rect2d& b : {boxes[i], s.truth[i]})
                csv_->rows() << ',' << b.x << ',' << b.y << ',' << b.width << ',' << b.height;
            csv_->rows() << '\n';
        }
        if (csv_)
            csv_->tick();
    }

    bool cuda_;
    int seeds_, firstSeed_;
    std::string videos_;
    std::unique_ptr<Table> csv_;
};

void runPeers(Benchmark& benchmark, const Sequence& s)
{
    benchmark.run(
        s, "MIL", [](int) { return TrackerMIL::create(); }, false);
#ifdef HAVE_OPENCV_TRACKING
    benchmark.run(
        s, "CSRT", [](int) { return tracking::TrackerCSRT::create(); }, false);
    benchmark.run(
        s, "KCF", [](int) { return tracking::TrackerKCF::create(); }, false);
    benchmark.run(
        s, "legacyTLD", [](int) { return legacy::upgradeTrackingAPI(legacy::TrackerTLD::create()); }, false);
    benchmark.run(
        s, "MedianFlow", [](int) { return legacy::upgradeTrackingAPI(legacy::TrackerMedianFlow::create()); }, false);
#endif
}

void run(const Options& options)
{
    const bool cuda = useCuda(options);
    const std::vector<std::string> folders = findSequences(options.list("sequences", ','));
    if (folders.empty())
        throw std::runtime_error("there is no sequence: a folder with gt.txt or groundtruth_rect.txt is needed");
    Benchmark benchmark(options, cuda);
    Progress progress(static_cast<int>(folders.size()), "sequence");
    for (const std::string& folder : folders)
    {
        const Sequence s = readSequence(folder, options.integer("frames"));
        benchmark.run(
            s, cuda ? "TLD-CUDA" : "TLD-CPU",
            [](int seed)
            {
                cuda::TLDParams params;
                params.seed = seed;
                return TrackerTLD::create(params);
            },
            true);
        if (options.flag("peers"))
            runPeers(benchmark, s);
        if (stopped())
            break;
        progress.step();
    }
    benchmark.finish();
}

} // namespace

int main(int argc, char** argv) { return runProgram(argc, argv, makeOptions(), run); }
