// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Where the samples' frames come from: image, folder of images, sequence of images, video, camera or URL.
#ifndef OPENCV_CUDATRACKING_SAMPLES_INPUT_HPP
#define OPENCV_CUDATRACKING_SAMPLES_INPUT_HPP

#include "overwrite.hpp"
#include "program.hpp"
#include "opencv2/imgcodecs.hpp"
#include "opencv2/imgproc.hpp"
#include "opencv2/videoio.hpp"
#include "opencv2/videoio/registry.hpp"
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

namespace sample {

//! Frames of all inputs, for the table of options.
#define SAMPLE_INPUT_HELP "folder of images, sequence (frame%04d.png), video, URL, or camera 0 to 99"

//! Numbers in names count as numbers: frame_2 comes before frame_10.
inline bool naturalLess(const std::string& a, const std::string& b)
{
    const auto digit = [](const std::string& s, size_t i)
    { return i < s.size() && std::isdigit(static_cast<unsigned char>(s[i])) != 0; };
    size_t i = 0, k = 0;
    while (i < a.size() && k < b.size())
    {
        if (!digit(a, i) || !digit(b, k))
        {
            if (a[i] != b[k])
                return static_cast<unsigned char>(a[i]) < static_cast<unsigned char>(b[k]);
            ++i, ++k;
            continue;
        }
        const size_t zerosA = std::min(a.find_first_not_of('0', i), a.size()),
                     zerosB = std::min(b.find_first_not_of('0', k), b.size());
        size_t endA = zerosA, endB = zerosB;
        while (digit(a, endA))
            ++endA;
        while (digit(b, endB))
            ++endB;
        if (endA - zerosA != endB - zerosB)
            return endA - zerosA < endB - zerosB;
        const int order = a.compare(zerosA, endA - zerosA, b, zerosB, endB - zerosB);
        if (order != 0)
            return order < 0;
        i = endA, k = endB;
    }
    if (a.size() - i != b.size() - k)
        return a.size() - i < b.size() - k;
    return a < b; // 1 and 01: some order, but always the same
}

//! Regular files of a folder that end with one of these, in natural order.
inline std::vector<std::string> filesOf(const std::string& folder, const std::vector<std::string>& endings)
{
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
    {
        std::string end = entry.path().extension().string();
        std::transform(end.begin(), end.end(), end.begin(), [](unsigned char c) { return char(std::tolower(c)); });
        if (entry.is_regular_file() && std::find(endings.begin(), endings.end(), end) != endings.end())
            files.push_back(entry.path().string());
    }
    std::sort(files.begin(), files.end(), naturalLess);
    return files;
}

inline std::vector<std::string> imagesOf(const std::string& folder)
{
    return filesOf(folder, {".jpg",  ".jpeg", ".jpe",  ".png", ".bmp", ".dib",  ".pgm", ".ppm", ".pbm", ".pnm", ".pam",
                            ".webp", ".tif",  ".tiff", ".jp2", ".gif", ".avif", ".exr", ".hdr", ".sr",  ".ras"});
}

/** The files that an input consists of, where it has any. @param sequence as of Source. @param results patterns of
names of images that an earlier run left in the folder, which are no input. */
inline std::vector<std::string> filesOfInput(const std::string& input, bool sequence = false,
                                             const std::vector<std::string>& results = {})
{
    namespace fs = std::filesystem;
    std::error_code error;
    if (fs::is_directory(input, error))
    {
        std::vector<std::string> files = imagesOf(input);
        for (const std::string& result : resultsIn(files, results))
            files.erase(std::find(files.begin(), files.end(), result));
        return files;
    }
    const fs::path path(input);
    const std::string name = path.filename().string();
    const size_t percent = name.find('%'), last = name.find_last_of("0123456789");
    size_t begin = percent, end = percent;
    if (percent != std::string::npos) // %04d
        end = std::min(name.find('d', percent), name.size() - 1);
    else if (sequence && last != std::string::npos && cv::haveImageReader(input))
        end = last, begin = name.find_last_not_of("0123456789", last) + 1;
    if (begin == std::string::npos)
        return {input};
    return filesLike((path.parent_path() / (name.substr(0, begin) + "#" + name.substr(end + 1))).string());
}

//! Reads frames one after the other, as 8-bit BGR. Damaged ones are left out; where the input fails later, it ends.
class Source
{
public:
    //! @param sequence an image begins a sequence of files that are numbered like it, and all images have one size; else
    //! it is read alone. @param results as of filesOfInput().
    explicit Source(const std::string& input, bool sequence = false, const std::vector<std::string>& results = {})
        : input_(input), sequence_(sequence)
    {
        if (std::filesystem::is_directory(input))
        {
            files_ = filesOfInput(input, sequence, results);
            if (files_.empty())
                throw std::runtime_error("there is no image in the folder " + input);
            for (const std::string& result : resultsIn(imagesOf(input), results))
                std::cerr << "left out, a result of an earlier run: " << result << std::endl;
            return;
        }
        const bool url = input.find("://") != std::string::npos, pattern = input.find('%') != std::string::npos;
        if (isCamera(input))
        {
            live_ = true;
            if (!video_.open(std::stoi(input)))
                throw std::runtime_error("cannot open camera " + input);
            return;
        }
        if (!url && !pattern && !std::filesystem::exists(input))
            throw std::runtime_error("there is no file or folder " + input);
        if (!url && !pattern && cv::haveImageReader(input))
        {
            if (!sequence)
                files_.push_back(input);
            else if (!video_.open(input, cv::CAP_IMAGES))
                throw std::runtime_error("cannot read the images from " + input + " on");
            return;
        }
        // FFmpeg would scale the images of a sequence to the size of the first one.
        if (!video_.open(input, pattern && !url ? cv::CAP_IMAGES : cv::CAP_ANY))
            throw std::runtime_error("cannot open " + input +
                                     (pattern ? ": there is no first image of this sequence" : hint()));
    }

    //! @return false when there are no more.
    bool read(cv::Mat& frame)
    {
        if (!(video_.isOpened() ? readVideo(frame) : readFile(frame)))
            return false;
        if (size_.empty())
            size_ = frame.size();
        if (frame.size() == size_ || !(isVideo() || sequence_))
            return true;
        endInput(cv::format("%s: %s has %d x %d pixels, the first one has %d x %d; frames of one size are needed",
                            input_.c_str(), (name_.empty() ? cv::format("frame %d", number_) : name_).c_str(),
                            frame.cols, frame.rows, size_.width, size_.height));
        return false;
    }
    //! Number of the last frame, from 0; those that are left out count.
    int number() const { return number_; }
    //! Images that stand alone, each with a name; else frames of one video.
    bool isVideo() const { return files_.empty(); }
    //! Name of the file that the last frame came from, without folders; empty for videos.
    const std::string& name() const { return name_; }
    //! How many frames there are; 0: not known.
    int count() const
    {
        if (!isVideo())
            return static_cast<int>(files_.size());
        const double known = live_ ? 0. : video_.get(cv::CAP_PROP_FRAME_COUNT);
        return known > 0. && known < 1e9 ? cvRound(known) : 0;
    }
    //! How many frames a program does that is to stop after `limit` (0: all), for its Progress.
    int count(int limit) const
    {
        return limit > 0 && count() > 0 ? std::min(limit, count()) : std::max(limit, count());
    }
    //! Frames per second; 25 where the input does not know.
    double rate() const
    {
        const double rate = isVideo() && video_.getBackendName() != "CV_IMAGES" ? video_.get(cv::CAP_PROP_FPS) : 0.;
        return rate >= 1. && rate <= 240. ? rate : 25.;
    }

private:
    static bool isCamera(const std::string& input)
    {
        return (input.size() == 1 || input.size() == 2) && input.find_first_not_of("0123456789") == std::string::npos;
    }
    static std::string hint()
    {
        return cv::videoio_registry::hasBackend(cv::CAP_FFMPEG)
                   ? ": neither an image nor a video that can be read"
                   : ": neither an image nor an MJPEG .avi video; others need FFmpeg, which was not found";
    }
    bool readVideo(cv::Mat& frame)
    {
        while (!stopped() && video_.grab())
        {
            ++number_;
            if (video_.retrieve(frame) && !frame.empty())
            {
                toBgr(frame);
                return true;
            }
            leaveOut(cv::format("%s: frame %d", input_.c_str(), number_));
        }
        const int read = number_ + 1;
        const bool url = input_.find("://") != std::string::npos;
        if (stopped())
            return false;
        if (live_ || (url && (count() == 0 || read < count())))
            endInput(input_ + cv::format(": ended or stalled after %d frames", read));
        else if (read < count()) // the heads of files count frames that a program has dropped, too
            std::cerr << "the input ended after " << read << " of the " << count() << " frames that it announces"
                      << std::endl;
        return false;
    }
    bool readFile(cv::Mat& frame)
    {
        while (next_ < files_.size())
        {
            const std::string& file = files_[next_++];
            ++number_;
            frame = cv::imread(file, cv::IMREAD_COLOR);
            name_ = std::filesystem::path(file).filename().string();
            if (!frame.empty())
                return true;
            leaveOut(file);
        }
        return false;
    }
    //! Sequences of images come with the files' own depth and channels.
    static void toBgr(cv::Mat& frame)
    {
        if (frame.depth() != CV_8U)
            frame.convertTo(frame, CV_8U, frame.depth() == CV_16U ? 1. / 256. : frame.depth() > CV_32S ? 255. : 1.);
        if (frame.channels() != 3)
            cv::cvtColor(frame, frame, frame.channels() == 1 ? cv::COLOR_GRAY2BGR : cv::COLOR_BGRA2BGR);
    }

    const std::string input_;
    const bool sequence_;
    std::vector<std::string> files_;
    size_t next_ = 0;
    std::string name_;
    bool live_ = false;
    int number_ = -1;
    cv::Size size_; //!< of the first frame
    cv::VideoCapture video_;
};

} // namespace sample

#endif // OPENCV_CUDATRACKING_SAMPLES_INPUT_HPP
