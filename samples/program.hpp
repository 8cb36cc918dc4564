// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Common to all samples: exit codes, signals, progress, choice of the backend.
//
// Exit codes: 0; 1 the program failed; 2 it was called wrongly; 130 it was interrupted, and what was done until then is
// written.
#ifndef OPENCV_CUDATRACKING_SAMPLES_PROGRAM_HPP
#define OPENCV_CUDATRACKING_SAMPLES_PROGRAM_HPP

#include "opencv2/core/cuda.hpp"
#include "options.hpp"
#ifdef CUDATRACKING_SAMPLES_WINDOW
#include "opencv2/highgui.hpp"
#endif
#include <chrono>
#include <csignal>
#include <cstdio>
#include <functional>
#include <unistd.h>

namespace sample {

namespace detail {

inline volatile std::sig_atomic_t stopped = 0;
inline bool incomplete = false; //!< not all of the input could be read
inline std::string failure;     //!< why the input ended early

inline void sayFailure()
{
    if (!failure.empty())
        std::cerr << "error: " << failure << std::endl;
}

inline void setSignals(void (*handler)(int))
{
#ifdef SIGHUP
    const int signals[] = {SIGINT, SIGTERM, SIGHUP};
#else
    const int signals[] = {SIGINT, SIGTERM};
#endif
    for (const int number : signals)
        if (std::signal(number, handler) == SIG_IGN) // nohup, or a job in the background: the user wants it so
            std::signal(number, SIG_IGN);
}

//! The first signal ends the loop, a second one the program.
inline void onSignal(int)
{
    stopped = 1;
    setSignals(SIG_DFL);
}

} // namespace detail

//! The user wants to end: leave the loop and finish the files.
inline bool stopped() { return detail::stopped != 0; }

//! The input cannot be read any further: what was done until then is written, and the program ends with exit code 1.
inline void endInput(const std::string& why)
{
    detail::incomplete = true;
    detail::failure = why;
}
//! A part of the input cannot be read: the program goes on without it, and ends with exit code 1.
inline void leaveOut(const std::string& part)
{
    detail::incomplete = true;
    std::cerr << "left out, cannot be read: " << part << std::endl;
}

//! @param run the program itself.
inline int runProgram(int argc, char** argv, Options options, const std::function<void(const Options&)>& run)
{
    try
    {
        if (!options.parse(argc, argv))
            return std::cout ? 0 : 1;
        detail::setSignals(detail::onSignal);
#ifdef SIGXFSZ // where these end the program, it could not tidy up; here they are errors of a write
        std::signal(SIGXFSZ, SIG_IGN);
        std::signal(SIGPIPE, SIG_IGN);
#endif
        run(options);
        if (!std::cout.flush())
            throw std::runtime_error("cannot write to the standard output");
        detail::sayFailure();
        if (!stopped())
            return detail::incomplete ? 1 : 0;
        std::cerr << "interrupted; what was done until then is written" << std::endl;
        return 130;
    }
    catch (const UsageError& e)
    {
        std::cerr << options.usage() << "\nall options: " << options.program() << " --help\nerror: " << e.what()
                  << std::endl;
        return 2;
    }
    catch (
        const cv::Exception& e) // without the place in the sources, except where the text is a condition of the sources
    {
        std::cerr << "error: " << (e.code == cv::Error::StsAssert ? std::string(e.what()) : e.err) << std::endl;
        return 1;
    }
    catch (const std::exception& e)
    {
        detail::sayFailure();
        std::cerr << "error: " << e.what() << std::endl;
        return 1;
    }
}

//! The option that all programs have, for useCuda().
inline Option backendOption()
{
    return choice("backend", {"auto", "cpu", "cuda"}, "cpu, cuda, or auto: cuda where there is a device");
}

inline bool useCuda(const Options& options)
{
    const std::string backend = options.text("backend");
    const bool there = backend != "cpu" && cv::cuda::getCudaEnabledDeviceCount() > 0;
    if (backend == "cuda" && !there)
        throw std::runtime_error("--backend=cuda: there is no CUDA device that this build can use");
    return there;
}

//! @param what the input consists of.
inline Option framesOption(const std::string& what = "frames")
{
    return integer("frames", 0, 0, INT_MAX, "stop after so many " + what + " (0: all)");
}
inline Option imageOption()
{
    return integer("image-every", 100, 0, INT_MAX, "frames from one saved image to the next (0: none)");
}
//! @param name default.
inline Option videoOption(const std::string& name)
{
    return text("video-file", name, "name of the video: .avi, or .mp4 where there is FFmpeg");
}
//! @param files that the program writes.
inline Option outputOption(const std::string& files)
{
    return text("output-dir", ".", "folder for " + files + "; is made where it is missing");
}

//! OpenCV was built with windows.
inline bool hasWindows()
{
#ifdef CUDATRACKING_SAMPLES_WINDOW
    return !cv::currentUIFramework().empty();
#else
    return false;
#endif
}

//! For show(); only where there are windows.
inline Option windowOption(const std::string& help = "show the frames; ESC ends")
{
    return flag(hasWindows() ? "window" : "", help);
}
inline bool wantsWindow(const Options& options) { return hasWindows() && options.flag("window"); }

//! Shows a frame where that is wanted. @return false when the user wants to end.
inline bool show(const Options& options, const cv::Mat& image)
{
#ifdef CUDATRACKING_SAMPLES_WINDOW
    if (wantsWindow(options))
    {
        cv::imshow(options.program(), image);
        return cv::waitKey(1) != 27;
    }
#else
    (void)options;
    (void)image;
#endif
    return true;
}

//! Says on stderr how far the work is: a line that stays in its place on a terminal; elsewhere lines, one each second
//! at first and every ten seconds after a minute.
class Progress
{
public:
    //! @param total 0: not known.
    explicit Progress(int total, const std::string& what = "frame") : total_(total), what_(what) {}
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;
    ~Progress() { end(); }

    //! One more is done.
    void step()
    {
        ++done_;
        const double now = seconds();
        if (now - last_ < (terminal_ ? 0.2 : std::min(std::max(0.2 * now, 1.), 10.)))
            return;
        last_ = now;
        print();
    }
    //! Leaves the last line where it is.
    void end()
    {
        if (terminal_ && done_ > 0 && !ended_)
        {
            print();
            std::cerr << std::endl;
        }
        ended_ = true;
    }

private:
    double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count(); }
    void print()
    {
        const double rate = done_ / std::max(seconds(), 1e-3);
        std::string line = what_ + cv::format(" %d", done_) + (total_ > 0 ? cv::format("/%d", total_) : std::string()) +
                           cv::format(", %.1f per second", rate);
        if (total_ > done_ && rate > 0.)
        {
            const long long left = std::llround((total_ - done_) / rate);
            line += cv::format(", %lld:%02lld:%02lld left", left / 3600, left / 60 % 60, left % 60);
        }
        std::cerr << (terminal_ ? "\r" + line + "\x1b[K" : line + "\n") << std::flush;
    }
    static bool isTerminal() { return isatty(fileno(stderr)) != 0; }

    const int total_;
    const std::string what_;
    const bool terminal_ = isTerminal();
    const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
    int done_ = 0;
    double last_ = 0.;
    bool ended_ = false;
};

//! "1 face", "2 faces".
inline std::string counted(size_t count, const std::string& what)
{
    return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

} // namespace sample

#endif // OPENCV_CUDATRACKING_SAMPLES_PROGRAM_HPP
