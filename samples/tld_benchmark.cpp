// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Runs TrackerTLD, and its peers where that is wanted, on sequences with known truth and says how well and how fast
// they did.
//
// A sequence is a folder. Layout of TLD: a video or images, init.txt (x1,y1,x2,y2 in the first frame) and gt.txt (the
// same, a line per frame, nan: absent). Layout of OTB: images in img/, groundtruth_rect.txt (x,y,width,height; the
// first line is where the tracker begins). All trackers get the same frames and the same first box;
// tld_benchmark_quality.hpp has the measures. Times are those of update() alone.
#include "input.hpp"
#include "output.hpp"
#include "program.hpp"
#include "tld_benchmark_input.hpp"
#include "tld_benchmark_quality.hpp"
#include "tld_benchmark_trackers.hpp"
#include <ctime>
#include <map>

using namespace cv;
using namespace sample;

namespace {

Options makeOptions()
{
    std::vector<Option> table = {
        argument("sequences", "folders, with commas between them: sequences, or folders of sequences"),
        framesOption(),
        integer("threads", 0, 0, 1 << 16, "threads of OpenCV and of this module (0: as many as OpenCV takes)"),
        backendOption(),
        text("csv", "", "file for all boxes"),
        text("runs", "", "file for time and quality of each run"),
        text("curves", "",
             "file for the success, precision and long-term curves, means over the runs; the latter at all scores"),
        text("video", "", "folder for annotated videos of the first runs; is made where it is missing")};
    const std::vector<Option> trackers = trackerOptions();
    table.insert(table.begin() + 1, trackers.begin(), trackers.end());
    return Options("Measures TrackerTLD and other trackers on sequences with known truth.",
                   {"--seeds=20 tld_dataset", "--backend=cpu --csv=boxes.csv --video=out tld_dataset/01_david,otb/Car4",
                    "--backend=cpu --threads=1 --peers --runs=runs.csv --curves=curves.csv tld_dataset"},
                   table);
}

//! Throws where a file that is written is one that is read.
void checkOutputs(const Options& options, const std::vector<std::string>& sequences)
{
    std::vector<std::string> inputs = {options.text("vit"), options.text("nano-backbone"), options.text("nano-head")};
    std::vector<Output> outputs;
    for (const char* const name : {"csv", "runs", "curves"})
        if (options.given(name))
            outputs.push_back({std::string("--") + name, options.text(name)});
    for (const std::string& sequence : sequences)
    {
        for (const std::string& folder : {sequence, framesFolder(sequence)})
            for (const std::string& file : filesLike(folder + "/*"))
                inputs.push_back(file);
        if (options.given("video"))
            outputs.push_back({"--video", options.text("video") + "/" + nameOf(sequence) + "_*.avi"});
    }
    refuseOverwriting(inputs, outputs);
}

// --- running ---------------------------------------------------------------------------------------------------------

//! A tracker on a sequence.
struct Run
{
    Trajectory boxes;
    std::vector<double> scores;       //!< one per box
    double ms = 0., processorMs = 0.; //!< mean time of update(): on the clock, and of all processors
    int failed =
        -1; //!< frame in which the tracker threw an exception; there are no boxes from there on. -1: it did not
};

//! Tracks through a sequence. Exceptions of peers end the tracking and are reported, those of this module go on.
Run follow(const Contender& contender, int seed, const Sequence& s)
{
    Run run;
    run.boxes = {Rect2d(s.first)};
    run.scores = {1.};
    TickMeter meter;
    std::clock_t processor = 0;
    const std::unique_ptr<Follower> tracker = contender.make(seed);
    try
    {
        tracker->take(s.frames[0]);
        tracker->init(s.first);
        for (size_t i = 1; i < s.frames.size() && !stopped(); ++i)
        {
            Rect2d box;
            tracker->take(s.frames[i]);
            const std::clock_t before = std::clock();
            meter.start();
            const bool located = tracker->update(box);
            meter.stop();
            processor += std::clock() - before;
            run.boxes.push_back(located ? box : Rect2d());
            run.scores.push_back(located ? tracker->score() : 0.);
        }
    }
    catch (const cv::Exception& e)
    {
        if (!contender.peer)
            throw;
        run.failed = static_cast<int>(run.boxes.size());
        std::cerr << s.name << '/' << contender.name << " failed in frame " << run.failed << ": " << e.what()
                  << std::endl;
        run.boxes.resize(s.frames.size());
        run.scores.resize(s.frames.size());
    }
    const double updates = static_cast<double>(std::max<int64_t>(1, meter.getCounter()));
    run.ms = meter.getTimeMilli() / updates;
    run.processorMs = 1000. * static_cast<double>(processor) / CLOCKS_PER_SEC / updates;
    return run;
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

//! Values that are printed for a tracker: means over its runs, or over sequences.
struct Line
{
    Quality mean;
    double ms = 0., least = 1., most = 0.; //!< milliseconds per frame; F of the worst and of the best run
    int parts = 0;                         //!< number of sequences

    void print(const std::string& head) const
    {
        const LongTerm best = bestOf(longTermCurve(mean.scored));
        std::cout << head
                  << format(" P=%.3f R=%.3f F=%.3f P50=%.3f R50=%.3f F50=%.3f AUC=%.3f P20px=%.3f LTP=%.3f LTR=%.3f "
                            "LT=%.3f absent=%.4g/%d min=%.3f ms=%.2f max=%.3f",
                            mean.precision, mean.recall, mean.f, mean.precision50, mean.recall50, mean.f50, mean.auc,
                            mean.near20, best.precision, best.recall, best.f(), mean.replies, mean.absent, least, ms,
                            most)
                  << std::endl;
    }
};

class Benchmark
{
public:
    Benchmark(const Options& options)
        : firstSeed_(options.integer("first-seed")),
          videos_(options.given("video") ? outputFolder(options.text("video"), "video") : "")
    {
        const auto table = [&](const std::string& option, const std::string& heading)
        { return std::unique_ptr<Table>(options.given(option) ? new Table(options.text(option), heading) : nullptr); };
        boxes_ =
            table("csv", "sequence,tracker,seed,frame,x,y,width,height,truth_x,truth_y,truth_width,truth_height,score");
        runs_ = table(
            "runs",
            "sequence,tracker,seed,frames,threads,ms,processor_ms,precision,recall,f,precision50,recall50,f50,auc,"
            "precision20px,long_term,long_term_precision,long_term_recall,long_term_score,replies_absent,absent,"
            "failed");
        curves_ = table("curves", "sequence,tracker,runs,curve,limit,share");
    }
    void finish()
    {
        for (Table* const table : {boxes_.get(), runs_.get(), curves_.get()})
            if (table)
                table->finish();
    }

    //! Measures one tracker on one sequence and prints its line.
    void run(const Sequence& s, const Contender& contender)
    {
        Line line;
        for (int i = 0; i < contender.runs; ++i)
        {
            const Run run = follow(contender, firstSeed_ + i, s);
            if (stopped()) // a part of a run has no quality
                return;
            const Quality q = measure(run.boxes, run.scores, s.truth);
            line.mean.add(q, 1. / contender.runs);
            line.ms += run.ms / contender.runs;
            line.least = std::min(line.least, q.f);
            line.most = std::max(line.most, q.f);
            write(s, contender.name, firstSeed_ + i, run, q);
            if (!videos_.empty() && i == 0)
                writeVideo(videos_ + "/" + s.name + "_" + contender.name + ".avi", s, run.boxes);
        }
        line.print((contender.peer ? s.name + "/" + contender.name : s.name) + format(" frames=%zu", s.frames.size()));
        writeCurves(s, contender, line.mean);

        Line& all = all_[contender.name];
        Quality sum = line.mean;
        sum.absent += all.mean.absent;
        all.mean.add(sum, 1.);
        all.ms += line.ms;
        all.least = std::min(all.least, line.least);
        all.most = std::max(all.most, line.most);
        ++all.parts;
    }
    //! Prints a line per tracker: means over the sequences, and all replies in frames without the object.
    void printMeans(const std::vector<Contender>& contenders) const
    {
        for (const Contender& contender : contenders)
        {
            const auto found = all_.find(contender.name);
            if (found == all_.end() || found->second.parts < 2)
                continue;
            Line mean = found->second;
            mean.mean = Quality();
            mean.mean.add(found->second.mean, 1. / mean.parts);
            mean.mean.replies = found->second.mean.replies;
            mean.ms /= mean.parts;
            mean.print(format("mean of %d/", mean.parts) + contender.name);
        }
    }

private:
    void write(const Sequence& s, const std::string& tracker, int seed, const Run& run, const Quality& q)
    {
        for (size_t i = 0; boxes_ && i < run.boxes.size(); ++i)
        {
            boxes_->rows() << csvText(s.name) << ',' << tracker << ',' << seed << ',' << i;
            for (const Rect2d& b : {run.boxes[i], s.truth[i]})
                boxes_->rows() << ',' << b.x << ',' << b.y << ',' << b.width << ',' << b.height;
            boxes_->rows() << format(",%.9g\n", run.scores[i]);
        }
        if (boxes_)
            boxes_->tick();
        if (!runs_)
            return;
        const LongTerm best = bestOf(longTermCurve(q.scored));
        runs_->rows() << csvText(s.name) << ',' << tracker << ',' << seed << ',' << s.frames.size() << ','
                      << getNumThreads()
                      << format(",%.4f,%.4f,%.6f,%.6f,%.6f,%.6f,%.6f,%.6f,%.6f,%.6f,%.6f,%.6f,%.6f,%.9g,%g,%d,", run.ms,
                                run.processorMs, q.precision, q.recall, q.f, q.precision50, q.recall50, q.f50, q.auc,
                                q.near20, best.f(), best.precision, best.recall, best.threshold, q.replies, q.absent)
                      << (run.failed < 0 ? std::string() : std::to_string(run.failed)) << '\n';
        runs_->tick();
    }
    void writeCurves(const Sequence& s, const Contender& contender, const Quality& q)
    {
        if (!curves_)
            return;
        const std::string head = csvText(s.name) + "," + contender.name + "," + std::to_string(contender.runs);
        for (size_t i = 0; i < q.success.size(); ++i)
            curves_->rows() << head << format(",success,%.2f,%.6f\n", static_cast<double>(i) / 20., q.success[i]);
        for (size_t i = 0; i < q.distances.size(); ++i)
            curves_->rows() << head << format(",precision,%zu,%.6f\n", i, q.distances[i]);
        for (const LongTerm& at : longTermCurve(q.scored))
            curves_->rows() << head << format(",long_term_precision,%.9g,%.6f\n", at.threshold, at.precision) << head
                            << format(",long_term_recall,%.9g,%.6f\n", at.threshold, at.recall);
        curves_->tick();
    }

    int firstSeed_;
    std::string videos_;
    std::unique_ptr<Table> boxes_, runs_, curves_;
    std::map<std::string, Line> all_; //!< sums over the sequences
};

std::string joined(const std::vector<std::string>& lines)
{
    std::string all;
    for (const std::string& line : lines)
        all += (all.empty() ? "" : "\n  ") + line;
    return all;
}

void run(const Options& options)
{
    std::vector<std::string> faults;
    const std::vector<std::string> folders = findSequences(options.list("sequences", ','), faults);
    const bool cuda = useCuda(options);
    if (options.integer("threads") > 0)
        setNumThreads(options.integer("threads"));
    std::vector<std::string> absent;
    const std::vector<Contender> contenders = makeContenders(options, cuda, absent);
    for (const std::string& reason : absent)
        std::cout << "not measured: " << reason << std::endl;
    checkOutputs(options, folders);
    for (const std::string& folder : folders)
        checkSequence(folder, faults);
    if (!faults.empty()) // before hours of measuring
        throw std::runtime_error("nothing was measured: " + joined(faults));
    Benchmark benchmark(options);
    Progress progress(static_cast<int>(folders.size() * contenders.size()), "tracker on a sequence");
    for (const std::string& folder : folders)
    {
        const Sequence s = readSequence(folder, options.integer("frames"));
        for (const Contender& contender : contenders)
        {
            if (stopped())
                break;
            benchmark.run(s, contender);
            progress.step();
        }
        if (stopped())
            break;
    }
    benchmark.printMeans(contenders);
    benchmark.finish();
}

} // namespace

int main(int argc, char** argv) { return runProgram(argc, argv, makeOptions(), run); }
