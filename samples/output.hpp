// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Files that the samples write, whole or not at all: each grows under another name in its folder, every write is
// checked, and the last step puts it in the place of an older file. A program that fails leaves older files as they
// were.
#ifndef OPENCV_CUDATRACKING_SAMPLES_OUTPUT_HPP
#define OPENCV_CUDATRACKING_SAMPLES_OUTPUT_HPP

#include "partial.hpp"
#include "opencv2/imgcodecs.hpp"
#include "opencv2/videoio.hpp"
#include "opencv2/videoio/registry.hpp"
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace sample {

//! Makes the folder where it is missing.
inline std::string outputFolder(const std::string& folder, const std::string& option = "output-dir")
{
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (!std::filesystem::is_directory(folder))
        throw std::runtime_error("--" + option + "=" + folder + ": there is no such folder, and it cannot be made" +
                                 (error ? ": " + error.message() : std::string()));
    return folder;
}

//! Bytes into a file, each write checked.
class File
{
public:
    explicit File(const std::string& target) : partial_(target), file_(partial_.open())
    {
        if (!file_)
            cannotWrite(target, std::strerror(errno));
    }
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    ~File()
    {
        if (file_)
            std::fclose(file_);
    }
    void write(const void* bytes, size_t size)
    {
        if (!partial_.isFile())
            std::cout << std::flush; // may go to the same place
        if (size > 0 && (std::fwrite(bytes, 1, size, file_) != size || std::fflush(file_) != 0))
            cannotWrite(partial_.target(), std::strerror(errno));
    }
    void finish()
    {
        FILE* const file = file_;
        file_ = nullptr;
        if (std::fclose(file) != 0)
            cannotWrite(partial_.target(), std::strerror(errno));
        partial_.commit();
    }
    Partial& partial() { return partial_; }

private:
    Partial partial_;
    FILE* file_;
};

//! A CSV file. It goes to the disk each second; when the program fails later, its rows are kept beside the older file.
class Table
{
public:
    Table(const std::string& target, const std::string& heading) : file_(target)
    {
        rows_ << heading << '\n';
        flush();
    }
    ~Table()
    {
        const bool hasNewRows = rows_.tellp() > 0;
        if (finished_ || !(used_ || (isDue() && hasNewRows)) || !file_.partial().isFile())
            return;
        try
        {
            flush();
        }
        catch (const std::exception&)
        {
            // the program already ends for a reason that it names
        }
        std::cerr << "unfinished; the rows until then are in " << file_.partial().keep() << std::endl;
    }
    //! For rows, each with its line break.
    std::ostream& rows() { return rows_; }
    //! To be called between frames.
    void tick()
    {
        if (!isDue())
            return;
        flush();
        used_ = true;
    }
    void finish()
    {
        flush();
        file_.finish();
        finished_ = true;
    }

private:
    bool isDue() const { return std::chrono::steady_clock::now() - last_ >= std::chrono::seconds(1); }
    void flush()
    {
        const std::string text = rows_.str();
        rows_.str(std::string());
        last_ = std::chrono::steady_clock::now();
        file_.write(text.data(), text.size());
    }

    File file_;
    std::ostringstream rows_;
    std::chrono::steady_clock::time_point last_;
    bool used_ = false, finished_ = false;
};

//! A text as a field of a CSV file.
inline std::string csvText(const std::string& text)
{
    if (text.find_first_of(",\"\r\n") == std::string::npos)
        return text;
    std::string quoted = "\"";
    for (const char c : text)
        quoted += c == '"' ? "\"\"" : std::string(1, c);
    return quoted + "\"";
}

//! The encoder's format follows from the name.
inline void writeImage(const std::string& target, const cv::Mat& image)
{
    std::vector<uchar> bytes;
    if (!cv::imencode(std::filesystem::path(target).extension().string(), image, bytes))
        cannotWrite(target, "the image cannot be encoded");
    File file(target);
    file.write(bytes.data(), bytes.size());
    file.finish();
}

//! A video: MJPEG in .avi, or what FFmpeg makes of .mp4. An .avi that reaches 2 GB, where the format ends, goes on in
//! NAME_002.avi.
class VideoFile
{
public:
    VideoFile(const std::string& target, double rate) : target_(target), rate_(rate)
    {
        const std::string end = target_.extension().string();
        if (end != ".avi" && end != ".mp4")
            throw std::runtime_error(target + ": the name of a video ends with .avi or .mp4");
        if (end == ".mp4" && !cv::videoio_registry::hasBackend(cv::CAP_FFMPEG))
            throw std::runtime_error(target + ": .mp4 needs FFmpeg, which was not found; take .avi");
        api_ = end == ".avi" ? cv::CAP_OPENCV_MJPEG : cv::CAP_FFMPEG;
        if (const char* limit = std::getenv("CUDATRACKING_AVI_BYTES")) // for tests
            limit_ = std::atof(limit);
        begin();
    }

    void write(const cv::Mat& frame)
    {
        if (!writer_.isOpened())
            open(frame.size());
        else if (frame.size() != size_)
            throw std::runtime_error(cv::format("%s: frames of %d x %d and of %d x %d do not make one video",
                                                target_.string().c_str(), size_.width, size_.height, frame.cols,
                                                frame.rows));
        writer_.write(frame);
        ++frames_;
        if (api_ != cv::CAP_OPENCV_MJPEG)
            return;
        bytes_ += writer_.get(cv::VIDEOWRITER_PROP_FRAMEBYTES) + 24.; // with its heading, and its entry in the index
        check();
        if (bytes_ < limit_)
            return;
        close();
        begin();
    }
    //! Without frames no file is made.
    void finish()
    {
        if (frames_ > 0)
            close();
        for (size_t i = 0; i < done_.size(); ++i)
            done_[i]->commit();
    }

private:
    //! The writers of OpenCV do not say that a write failed: what should be there is compared with what is.
    void check()
    {
        if (!partial_->isFile() || std::chrono::steady_clock::now() - last_ < std::chrono::seconds(1))
            return;
        last_ = std::chrono::steady_clock::now();
        const double there = double(std::filesystem::file_size(partial_->path())), buffered = 1 << 16;
        if (there + buffered < bytes_)
            cannotWrite(target_.string(),
                        cv::format("only %.0f of %.0f bytes arrived%s", there, bytes_, space().c_str()));
    }
    void begin()
    {
        std::filesystem::path name = target_;
        if (!done_.empty())
            name.replace_filename(target_.stem().string() + cv::format("_%03zu", done_.size() + 1) +
                                  target_.extension().string());
        partial_.reset(new Partial(name.string()));
        if (!partial_->isFile())
            cannotWrite(name.string(), "a video needs a regular file");
        frames_ = 0;
        bytes_ = 0.;
    }
    void open(cv::Size size)
    {
        const int code = api_ == cv::CAP_OPENCV_MJPEG ? cv::VideoWriter::fourcc('M', 'J', 'P', 'G')
                                                      : cv::VideoWriter::fourcc('m', 'p', '4', 'v');
        if (!writer_.open(partial_->path(), api_, code, rate_, size))
            cannotWrite(target_.string(), "the encoder cannot be opened");
        size_ = size;
    }
    //! Checks that all frames that were written can be read again.
    void close()
    {
        writer_.release();
        cv::VideoCapture reader;
        const double count = reader.open(partial_->path(), api_) ? reader.get(cv::CAP_PROP_FRAME_COUNT) : 0.;
        if (cvRound(count) != frames_)
            cannotWrite(target_.string(),
                        cv::format("of %d frames %d can be read again%s", frames_, cvRound(count), space().c_str()));
        done_.push_back(std::move(partial_));
    }
    std::string space() const
    {
        std::error_code error;
        const auto space = std::filesystem::space(std::filesystem::absolute(target_).parent_path(), error);
        return error ? std::string() : cv::format("; %.0f MB are free there", double(space.available) / 1e6);
    }

    const std::filesystem::path target_;
    const double rate_;
    double limit_ = 2e9, bytes_ = 0.; //!< of the present file
    int frames_ = 0;
    cv::Size size_;
    cv::VideoCaptureAPIs api_;
    cv::VideoWriter writer_;
    std::unique_ptr<Partial> partial_;
    std::vector<std::unique_ptr<Partial>> done_;
    std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

} // namespace sample

#endif // OPENCV_CUDATRACKING_SAMPLES_OUTPUT_HPP
