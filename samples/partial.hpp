// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// A file that grows under another name, until it is whole.
#ifndef OPENCV_CUDATRACKING_SAMPLES_PARTIAL_HPP
#define OPENCV_CUDATRACKING_SAMPLES_PARTIAL_HPP

#include "opencv2/core.hpp"
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <stdexcept>
#include <string>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sample {

[[noreturn]] inline void cannotWrite(const std::string& file, const std::string& why)
{
    throw std::runtime_error("cannot write " + file + (why.empty() ? std::string() : ": " + why));
}

//! Returns the descriptor that a name such as /dev/stdout or /dev/fd/3 stands for, also behind links; -1: the name is
//! no such.
inline int descriptorOf(std::filesystem::path path)
{
    namespace fs = std::filesystem;
    std::error_code error, none;
    const fs::path opened = fs::canonical("/dev/fd", error);
    for (int links = 0; !error && links < 40; ++links)
    {
        const fs::path folder = fs::weakly_canonical(fs::absolute(path).parent_path(), error);
        const std::string name = path.filename().string();
        if (folder == opened && name.find_first_not_of("0123456789") == std::string::npos)
            return std::atoi(name.c_str());
        if (!fs::is_symlink(path, none))
            break;
        path = folder / fs::read_symlink(path, error);
    }
    return -1;
}

//! A file that is being written: path() is its name until commit().
class Partial
{
public:
    //! Throws when the file cannot be written.
    explicit Partial(const std::string& target) : target_(target), descriptor_(descriptorOf(target))
    {
        namespace fs = std::filesystem;
        const fs::file_status status = fs::status(target_);
        if (fs::is_directory(status))
            cannotWrite(target_.string(), "it is a folder");
        const bool old = fs::exists(status);
        direct_ = descriptor_ >= 0 ||
                  (old && !fs::is_regular_file(status)); // what is open, a device or a pipe is never replaced
        path_ = target_;
        if (direct_)
            return;
        if (old && !std::ofstream(target_, std::ios::app)) // a new name would need the folder's permission only
            cannotWrite(target, std::strerror(errno));
        if (old)
            target_ = fs::canonical(target_); // of a link what it leads to
        static const unsigned run = std::random_device{}();
        const std::string name =
            target_.stem().string() + cv::format(".partial-%08x", run) + target_.extension().string();
        path_ = fs::path(target_).replace_filename(name);
        if (create(old))
            return;
        const int why = errno;
        path_ = fs::temp_directory_path() / name; // the folder of the old file cannot be written
        if (!old || !create(old))
            cannotWrite(target, std::strerror(why));
    }
    Partial(const Partial&) = delete;
    Partial& operator=(const Partial&) = delete;
    ~Partial()
    {
        std::error_code ignored;
        if (!direct_ && !path_.empty())
            std::filesystem::remove(path_, ignored);
    }

    std::string path() const { return path_.string(); }
    std::string target() const { return target_.string(); }
    bool isFile() const { return !direct_; }
    //! For bytes; null, and errno, where it cannot.
    FILE* open() const
    {
        if (descriptor_ >= 0) // its place in the file is shared with others who write there
        {
            const int copy = ::fcntl(descriptor_, F_DUPFD_CLOEXEC, 0);
            return copy < 0 ? nullptr : ::fdopen(copy, "wb");
        }
        return std::fopen(path().c_str(), direct_ ? "ab" : "wb");
    }

    //! Brings the file to the disk and gives it its name. It must be closed.
    void commit()
    {
        if (direct_)
            return;
        const int file = ::open(path().c_str(), O_RDONLY);
        const bool synced = file >= 0 && ::fsync(file) == 0;
        const int why = errno;
        if (file >= 0)
            ::close(file);
        if (!synced)
            cannotWrite(target(), std::strerror(why));
        std::error_code error;
        std::filesystem::rename(path_, target_, error);
        if (error && !copyOver())
            cannotWrite(target(), error.message() + "; what should be there is in " + keep());
        std::filesystem::remove(path_, error);
        path_.clear();
    }
    //! Leaves what is written under its provisional name. @return that name.
    std::string keep()
    {
        const std::string kept = path();
        path_.clear();
        return kept;
    }

private:
    //! Makes the file, from the first byte on with the permissions of an old one. @return false, and errno, where it
    //! cannot.
    bool create(bool old) const
    {
        struct stat status;
        old = old && ::stat(target_.c_str(), &status) == 0;
        const int file = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, old ? 0600 : 0666);
        if (file < 0)
            return false;
        const bool made = !old || ::fchmod(file, status.st_mode & 07777) == 0;
        const int why = errno;
        ::close(file);
        if (!made)
            ::unlink(path_.c_str());
        errno = why;
        return made;
    }
    //! Writes over the old file, where that cannot be replaced: it is a mount point, or its folder cannot be written.
    bool copyOver() const
    {
        std::error_code error;
        if (!std::filesystem::exists(target_, error))
            return false;
        std::ifstream from(path_, std::ios::binary);
        std::ofstream to(target_, std::ios::binary);
        if (std::filesystem::file_size(path_, error) > 0)
            to << from.rdbuf();
        return from && to.flush();
    }

    std::filesystem::path target_, path_; //!< path_ is empty when nothing is to be removed
    int descriptor_;
    bool direct_ = false;
};

} // namespace sample

#endif // OPENCV_CUDATRACKING_SAMPLES_PARTIAL_HPP
