// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Finds objects with cascades in an image, a folder of images, a video or a camera: annotated images or video, tables,
// and how long it took. A thread of its own decodes, so that detection does not wait for it.
#include "input.hpp"
#include "output.hpp"
#include "program.hpp"
#include "opencv2/cudatracking/cascade.hpp"
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

using namespace cv;
using namespace sample;
using cv::cuda::CascadeClassifierEx;

namespace {

Options makeOptions()
{
    return Options(
        "Finds objects with cascades: boxes drawn into images or a video, and tables.",
        {"photo.jpg", "--inside=haarcascade_eye.xml --output-dir=out 0",
         "--cascade=lbpcascade_frontalface.xml,haarcascade_fullbody.xml --min-size=40 --frames=500 vtest.avi"},
        {argument("input", "image, " SAMPLE_INPUT_HELP),
         text("cascade", "haarcascade_frontalface_default.xml", "files of cascades, with commas between them"),
         text("inside", "", "a cascade that detects inside of each object of the first one, such as eyes in faces"),
         real("scale-factor", 1.1, 1.0001, 1000, "ratio of successive scales"),
         integer("min-neighbors", 3, 0, INT_MAX, "groups of more candidates than this are objects"),
         integer("min-size", 0, 0, 1 << 15, "least width and height of objects in pixels"), framesOption(),
         text("shard", "0/1", "i/n: works on frames i, i + n, i + 2n.."), backendOption(),
         integer("device", -1, -1, 1023, "CUDA device (-1: the shard's number, over the devices in turn)"),
         windowOption(),
         text("video-file", "objects.avi",
              "name of the video, for input that is one: .avi, or .mp4 where there is FFmpeg"),
         outputOption("images, video, objects.csv and frames.csv")});
}

//! Names of images that are written.
const char* const RESULTS = "objects_*";
//! Not every format that can be read can be written.
std::string nameOfResult(const std::string& name)
{
    return "objects_" + (haveImageWriter(name) ? name : name + ".png");
}

//! --output-dir is the folder of the input: images of an earlier run are no input then.
std::vector<std::string> resultsBeside(const Options& options)
{
    std::error_code error;
    return std::filesystem::equivalent(options.text("input"), options.text("output-dir"), error)
               ? std::vector<std::string>{RESULTS}
               : std::vector<std::string>();
}

struct Frame
{
    Mat image;
    std::string name;
    int number = -1; //!< -1: there are no more
};

//! Reads frames on a thread of its own, a few ahead.
class Reader
{
public:
    Reader(const Options& options, int shard, int shards)
        : shard_(shard),
          shards_(shards),
          limit_(options.integer("frames")),
          source_(options.text("input"), false, resultsBeside(options))
    {
        thread_ = std::thread([this] { run(); });
    }
    ~Reader()
    {
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            stop_ = true;
        }
        changed_.notify_all();
        thread_.join();
    }
    //! These do not change while the thread reads.
    bool isVideo() const { return source_.isVideo(); }
    double rate() const { return rate_; }
    int count() const { return count_; }

    //! The next frame; number -1: there are no more, or the user wants to end.
    Frame next()
    {
        std::unique_lock<std::mutex> lock(mutex_);
        while (ready_.empty() && !stopped())
            changed_.wait_for(lock, std::chrono::milliseconds(100));
        if (stopped())
            return Frame();
        Frame frame = ready_.front();
        if (frame.number >= 0)
            ready_.pop_front();
        else if (failure_)
            std::rethrow_exception(failure_);
        lock.unlock();
        changed_.notify_all();
        return frame;
    }

private:
    void run()
    {
        try
        {
            Frame frame;
            for (int number = 0; limit_ == 0 || number < limit_; ++number)
            {
                frame.image = Mat(); // the last one is in use
                if (!source_.read(frame.image))
                    break;
                frame.number = source_.number();
                frame.name = source_.name();
                if (frame.number % shards_ == shard_ && !push(frame))
                    return;
            }
        }
        catch (...)
        {
            failure_ = std::current_exception();
        }
        push(Frame());
    }
    //! False: nobody wants more.
    bool push(const Frame& frame)
    {
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, [this] { return stop_ || ready_.size() < 4; });
        if (stop_)
            return false;
        ready_.push_back(frame);
        lock.unlock();
        changed_.notify_all();
        return true;
    }

    const int shard_, shards_, limit_;
    Source source_; //!< the thread's, once it runs
    const double rate_ = source_.rate();
    const int count_ = (source_.count(limit_) + shards_ - 1 - shard_) / shards_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Frame> ready_;
    std::exception_ptr failure_; //!< written before the last push()
    bool stop_ = false;
    std::thread thread_;
};

struct Found
{
    Rect box;
    int cascade, candidates;
    double weight;
};

class Detector
{
public:
    Detector(const Options& options, bool cuda) : cuda_(cuda)
    {
        const int least = options.integer("min-size");
        for (const std::string& file : options.list("cascade", ','))
        {
            cascades_.push_back(CascadeClassifierEx::create(file));
            cascades_.back()->setScaleFactor(options.real("scale-factor"));
            cascades_.back()->setMinNeighbors(options.integer("min-neighbors"));
            cascades_.back()->setMinObjectSize(Size(least, least));
        }
        if (options.given("inside"))
            inside_ = CascadeClassifierEx::create(options.text("inside"));
    }

    std::vector<Found> detect(const Mat& image)
    {
        if (!cuda_)
            return detectIn(image);
        input_.upload(image);
        return detectIn(input_);
    }

private:
    //! Tables are wanted on the host, so that the call waits.
    template <typename Array> std::vector<Found> detectIn(const Array& image)
    {
        std::vector<Found> found;
        for (size_t c = 0; c < cascades_.size(); ++c)
        {
            cascades_[c]->detectAsync(image, objects_, counts_, weights_);
            std::vector<Rect> boxes;
            const int all = cascades_[c]->convertDetections(objects_, 0, boxes);
            if (all != static_cast<int>(boxes.size()))
                std::cerr << "cascade " << c << ": there is more than was asked for (" << all << ")" << std::endl;
            for (size_t i = 0; i < boxes.size(); ++i)
                found.push_back({boxes[i], static_cast<int>(c), counts_.at<int>(static_cast<int>(i)),
                                 weights_.at<double>(static_cast<int>(i))});
        }
        const size_t outer = found.size();
        for (size_t i = 0; inside_ && i < outer && found[i].cascade == 0; ++i)
            addInside(image, found[i].box, found);
        return found;
    }

    //! @param box a copy: `found` grows.
    template <typename Array> void addInside(const Array& image, Rect box, std::vector<Found>& found)
    {
        std::vector<Rect> boxes;
        std::vector<int> levels;
        std::vector<double> weights;
        inside_->detectMultiScale(image(box), boxes, levels, weights, 1.1, 3, 0, Size(), Size(), true);
        for (size_t i = 0; i < boxes.size(); ++i)
            found.push_back({boxes[i] + box.tl(), static_cast<int>(cascades_.size()), 0, weights[i]});
    }

    bool cuda_;
    cuda::GpuMat input_;
    std::vector<Ptr<CascadeClassifierEx>> cascades_;
    Ptr<CascadeClassifierEx> inside_;
    Mat objects_, counts_, weights_;
};

void draw(Mat& image, const std::vector<Found>& found)
{
    static const Scalar colours[] = {Scalar(60, 220, 60), Scalar(220, 160, 40), Scalar(40, 120, 250),
                                     Scalar(220, 60, 200)};
    for (const Found& f : found)
        rectangle(image, f.box, colours[f.cascade % 4], 2);
}

//! Everything that is written.
class Report
{
public:
    Report(const Options& options, bool video, double rate)
        : folder_(outputFolder(options.text("output-dir"))),
          objects_(folder_ + "/objects.csv", "frame,cascade,x,y,width,height,candidates,weight"),
          frames_(folder_ + "/frames.csv", "frame,name,objects,milliseconds"),
          videoName_(options.text("video-file"))
    {
        if (video)
            video_.reset(new VideoFile(folder_ + "/" + videoName_, rate));
    }
    void add(const Frame& frame, const std::vector<Found>& found, double milliseconds)
    {
        for (const Found& f : found)
            objects_.rows() << frame.number << ',' << f.cascade << ',' << f.box.x << ',' << f.box.y << ','
                            << f.box.width << ',' << f.box.height << ',' << f.candidates << ',' << f.weight << '\n';
        frames_.rows() << frame.number << ',' << csvText(frame.name) << ',' << found.size() << ',' << milliseconds
                       << '\n';
        objects_.tick();
        frames_.tick();
        if (video_)
            video_->write(frame.image);
        else
            writeImage(folder_ + "/" + nameOfResult(frame.name), frame.image);
    }
    void finish()
    {
        if (video_)
            video_->finish();
        objects_.finish();
        frames_.finish();
        std::cout << "wrote " << folder_ << "/objects.csv, frames.csv and " << (video_ ? videoName_ : "images")
                  << std::endl;
    }

private:
    const std::string folder_;
    Table objects_, frames_;
    const std::string videoName_;
    std::unique_ptr<VideoFile> video_;
};

void readShard(const Options& options, int& shard, int& shards)
{
    const std::string text = options.text("shard");
    std::vector<int> numbers;
    if (!readIntegers(text, '/', 2, numbers) || numbers[0] < 0 || numbers[0] >= numbers[1])
        throw UsageError("--shard=" + text + ": i/n with 0 <= i < n is needed");
    shard = numbers[0];
    shards = numbers[1];
}

//! Throws where a file that is written is one that is read.
void checkOutputs(const Options& options)
{
    std::vector<std::string> inputs = filesOfInput(options.text("input"), false, resultsBeside(options));
    std::vector<std::string> names = {"objects.csv", "frames.csv"};
    for (const std::string& input : inputs)
        names.push_back(nameOfResult(std::filesystem::path(input).filename().string()));
    for (const char* const name : {"cascade", "inside"})
        for (const std::string& file : options.list(name, ','))
            inputs.push_back(file);
    refuseOverwriting(inputs, outputsOf(options, names));
}

void run(const Options& options)
{
    checkOutputs(options);
    int shard = 0, shards = 1;
    readShard(options, shard, shards);
    const bool cuda = useCuda(options);
    if (cuda) // on the thread that detects
    {
        const int devices = cuda::getCudaEnabledDeviceCount(), device = options.integer("device");
        if (device >= devices)
            throw UsageError(format("--device=%d: there are %d CUDA devices, from 0 on", device, devices));
        cuda::setDevice(device >= 0 ? device : shard % devices);
    }
    Detector detector(options, cuda);
    Reader reader(options, shard, shards);
    Report report(options, reader.isVideo(), reader.rate());
    TickMeter all;
    double detection = 0.;
    int frames = 0;
    size_t objects = 0;
    Progress progress(reader.count());
    all.start();
    for (Frame frame = reader.next(); frame.number >= 0; frame = reader.next(), ++frames)
    {
        TickMeter time;
        time.start();
        const std::vector<Found> found = detector.detect(frame.image);
        time.stop();
        detection += time.getTimeMilli();
        objects += found.size();
        draw(frame.image, found);
        report.add(frame, found, time.getTimeMilli());
        progress.step();
        if (!show(options, frame.image))
            break;
    }
    all.stop();
    progress.end();
    if (frames == 0 && stopped())
        return;
    if (frames == 0)
        throw std::runtime_error("there was no frame to work on");
    std::cout << counted(size_t(frames), "frame") << ", " << counted(objects, "object") << "; detection "
              << format("%.2f", detection / frames) << " ms per frame on the " << (cuda ? "CUDA" : "CPU")
              << " backend, all together " << format("%.1f", frames / all.getTimeSec()) << " frames per second"
              << std::endl;
    report.finish();
}

} // namespace

int main(int argc, char** argv) { return runProgram(argc, argv, makeOptions(), run); }
