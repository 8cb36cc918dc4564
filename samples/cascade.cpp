// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Finds objects with cascades in a picture, a folder of pictures, a video or a camera: annotated pictures or video, a table, and
// how long it took. A thread of its own decodes, so that detection does not wait for it.
#include "opencv2/core/cuda.hpp"
#include "opencv2/core/utility.hpp"
#include "opencv2/core/utils/filesystem.hpp"
#include "opencv2/cudatracking/cascade.hpp"
#include "opencv2/imgcodecs.hpp"
#include "opencv2/imgproc.hpp"
#include "opencv2/videoio.hpp"
#ifdef CUDATRACKING_SAMPLES_WINDOW
#include "opencv2/highgui.hpp"
#endif
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <fstream>
#include <iostream>
#include <mutex>
#include <thread>

using namespace cv;
using cv::cuda::CascadeClassifierEx;

namespace {

const char* KEYS =
    "{ help h        |     | print this }"
    "{ @input        |     | picture, folder of pictures, video, or camera index }"
    "{ cascade       |     | files of cascades, with commas between them: all are looked for in one call }"
    "{ inside        |     | a cascade that is looked for inside of what the first one finds, such as eyes in faces }"
    "{ scale-factor  | 1.1 | from one size to the next }"
    "{ min-neighbors | 3   | groups of more candidates than this are objects }"
    "{ min-size      | 0   | least width and height of objects in pixels }"
    "{ frames        | 0   | stop after so many frames (0: all) }"
    "{ shard         | 0/1 | i/n: works on frames i, i + n, i + 2n.. }"
    "{ engine        | auto | cpu, cuda, or auto: cuda where there is a device }"
    "{ device        | -1  | CUDA device (-1: the shard's number, over the devices in turn) }"
    "{ window        |     | show the frames; ESC ends }"
    "{ output-dir    | .   | folder for pictures, video and CSV; must exist }";

struct Frame
{
    Mat picture;
    std::string name;
    int number = -1; //!< -1: there are no more
};

//! Reads frames on a thread of its own, a few ahead.
class Reader
{
public:
    Reader(const std::string& input, int shard, int shards, int limit) : shard_(shard), shards_(shards), limit_(limit)
    {
        if (utils::fs::isDirectory(input))
            utils::fs::glob(input, "", files_);
        else if (!imread(input).empty())
            files_.push_back(input);
        else if (input.size() == 1 && std::isdigit(static_cast<unsigned char>(input[0])))
            video_.open(input[0] - '0');
        else
            video_.open(input);
        if (files_.empty() && !video_.isOpened())
            CV_Error_(Error::StsBadArg, ("cannot read %s", input.c_str()));
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
    bool isVideo() const { return files_.empty(); }
    double rate() const { return rate_ > 0. ? rate_ : 25.; }
    Frame next()
    {
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, [this] { return !ready_.empty(); });
        Frame frame = ready_.front();
        if (frame.number >= 0)
            ready_.pop_front();
        lock.unlock();
        changed_.notify_all();
        return frame;
    }

private:
    bool read(int number, Frame& frame)
    {
        frame = Frame();
        if (!isVideo())
        {
            if (number >= static_cast<int>(files_.size()))
                return false;
            frame.picture = imread(files_[number]);
            const size_t slash = files_[number].find_last_of('/');
            frame.name = files_[number].substr(slash == std::string::npos ? 0 : slash + 1);
        }
        else if (!video_.read(frame.picture))
            return false;
        frame.number = number;
        return true;
    }
    void run()
    {
        rate_ = isVideo() ? video_.get(CAP_PROP_FPS) : 0.;
        Frame frame;
        for (int number = 0; limit_ == 0 || number < limit_; ++number)
        {
            if (!read(number, frame))
                break;
            if (number % shards_ != shard_ || frame.picture.empty()) // files that are no pictures
                continue;
            if (!push(frame))
                return;
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

    int shard_, shards_, limit_;
    std::vector<std::string> files_;
    VideoCapture video_;
    double rate_ = 0.;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Frame> ready_;
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
    Detector(const std::string& files, const std::string& inside, bool cuda, const CommandLineParser& options)
        : cuda_(cuda)
    {
        for (size_t begin = 0; begin <= files.size();)
        {
            const size_t end = std::min(files.find(',', begin), files.size());
            cascades_.push_back(CascadeClassifierEx::create(files.substr(begin, end - begin)));
            const int least = options.get<int>("min-size");
            cascades_.back()->setScaleFactor(options.get<double>("scale-factor"));
            cascades_.back()->setMinNeighbors(options.get<int>("min-neighbors"));
            cascades_.back()->setMinObjectSize(Size(least, least));
            begin = end + 1;
        }
        if (!inside.empty())
            inside_ = CascadeClassifierEx::create(inside);
    }

    std::vector<Found> detect(const Mat& picture)
    {
        if (!cuda_)
            return detectIn(picture);
        input_.upload(picture);
        return detectIn(input_);
    }

private:
    //! Tables are wanted on the host, so that the call waits.
    template <typename Array> std::vector<Found> detectIn(const Array& picture)
    {
        CascadeClassifierEx::detectTogether(cascades_, picture, objects_, counts_, weights_);
        std::vector<Found> found;
        for (size_t c = 0; c < cascades_.size(); ++c)
        {
            std::vector<Rect> boxes;
            const int all = cascades_[c]->convertDetections(objects_[c], 0, boxes);
            if (all != static_cast<int>(boxes.size()))
                std::cerr << "cascade " << c << ": there is more than was asked for (" << all << ")" << std::endl;
            for (size_t i = 0; i < boxes.size(); ++i)
                found.push_back({boxes[i], static_cast<int>(c), counts_[c].at<int>(static_cast<int>(i)),
                                 weights_[c].at<double>(static_cast<int>(i))});
        }
        const size_t outer = found.size();
        for (size_t i = 0; inside_ && i < outer && found[i].cascade == 0; ++i)
            addInside(picture, found[i].box, found);
        return found;
    }

    //! @param box a copy: `found` grows.
    template <typename Array> void addInside(const Array& picture, Rect box, std::vector<Found>& found)
    {
        std::vector<Rect> boxes;
        std::vector<int> levels;
        std::vector<double> weights;
        inside_->detectMultiScale(picture(box), boxes, levels, weights, 1.1, 3, 0, Size(), Size(), true);
        for (size_t i = 0; i < boxes.size(); ++i)
            found.push_back({boxes[i] + box.tl(), static_cast<int>(cascades_.size()), 0, weights[i]});
    }

    bool cuda_;
    cuda::GpuMat input_;
    std::vector<Ptr<CascadeClassifierEx>> cascades_;
    Ptr<CascadeClassifierEx> inside_;
    std::vector<Mat> objects_, counts_, weights_;
};

void draw(Mat& picture, const std::vector<Found>& found)
{
    static const Scalar colours[] = {Scalar(60, 220, 60), Scalar(220, 160, 40), Scalar(40, 120, 250),
                                     Scalar(220, 60, 200)};
    for (const Found& f : found)
        rectangle(picture, f.box, colours[f.cascade % 4], 2);
}

int run(const CommandLineParser& options)
{
    int shard = 0, shards = 1;
    const std::string folder = options.get<std::string>("output-dir"), engine = options.get<std::string>("engine");
    if (std::sscanf(options.get<std::string>("shard").c_str(), "%d/%d", &shard, &shards) != 2 || shards < 1 ||
        shard < 0 || shard >= shards)
        CV_Error(Error::StsBadArg, "--shard: i/n with 0 <= i < n is needed");
    if (engine != "auto" && engine != "cpu" && engine != "cuda")
        CV_Error(Error::StsBadArg, "--engine: auto, cpu or cuda");
    const int devices = cuda::getCudaEnabledDeviceCount(), device = options.get<int>("device");
    const bool cuda = engine == "cuda" || (engine == "auto" && devices > 0);
    if (cuda && device >= std::max(devices, 1)) // without a device, detection says so
        CV_Error_(Error::StsBadArg, ("--device: %d, but there are %d CUDA devices", device, std::max(devices, 0)));
    if (cuda && devices > 0) // on the thread that detects
        cuda::setDevice(device >= 0 ? device : shard % devices);
    Detector detector(options.get<std::string>("cascade"), options.get<std::string>("inside"), cuda, options);
    Reader reader(options.get<std::string>("@input"), shard, shards, options.get<int>("frames"));
    std::ofstream table(folder + "/objects.csv");
    table << "frame,cascade,x,y,width,height,candidates,weight\n";
    VideoWriter video;
    TickMeter detection, all;
    int frames = 0;
    size_t objects = 0;
    all.start();
    for (Frame frame = reader.next(); frame.number >= 0; frame = reader.next(), ++frames)
    {
        detection.start();
        const std::vector<Found> found = detector.detect(frame.picture);
        detection.stop();
        objects += found.size();
        for (const Found& f : found)
            table << frame.number << ',' << f.cascade << ',' << f.box.x << ',' << f.box.y << ',' << f.box.width << ','
                  << f.box.height << ',' << f.candidates << ',' << f.weight << '\n';
        draw(frame.picture, found);
        if (reader.isVideo() && !video.isOpened())
            video.open(folder + "/objects.avi", VideoWriter::fourcc('M', 'J', 'P', 'G'), reader.rate(),
                       frame.picture.size());
        if (reader.isVideo())
            video.write(frame.picture);
        else
            imwrite(folder + "/objects_" + frame.name, frame.picture);
#ifdef CUDATRACKING_SAMPLES_WINDOW
        if (options.has("window"))
        {
            imshow("objects", frame.picture);
            if (waitKey(1) == 27)
                break;
        }
#endif
    }
    all.stop();
    if (frames == 0)
        CV_Error(Error::StsBadArg, "there was no frame to work on");
    std::cout << frames << " frames, " << objects << " objects; detection " << detection.getTimeMilli() / frames
              << " ms a frame on the " << (cuda ? "CUDA" : "CPU") << " engine, all together "
              << frames / all.getTimeSec() << " frames a second\n"
              << "wrote " << folder << "/objects.csv and " << (reader.isVideo() ? "objects.avi" : "pictures")
              << std::endl;
    return 0;
}

} // namespace

int main(int argc, char** argv)
{
    CommandLineParser options(argc, argv, KEYS);
    if (options.has("help") || !options.has("@input") || options.get<std::string>("cascade").empty())
    {
        options.about("Finds objects with cascades.");
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
