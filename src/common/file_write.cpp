// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

#include "../precomp.hpp"
#include "file_write.hpp"
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#ifdef _WIN32
#include <io.h>
#include <process.h>
#else
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

namespace cv { namespace cuda { namespace detail {

namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& filename, const std::string& why)
{
    CV_Error_(Error::StsError, ("%s: cannot be written: %s", filename.c_str(), why.c_str()));
}

//! Where symbolic links lead.
struct Target
{
    fs::path path;       //!< need not exist yet
    bool opened = false; //!< the path leads to what a process has open, such as /dev/stdout, or to a device
    int descriptor = -1; //!< of this process
};

//! Follows links one by one: fs::canonical() follows neither one to a new file nor one to a pipe.
Target targetOf(const std::string& filename)
{
    Target target{filename};
    for (int links = 0; links <= 40; ++links) // as Linux allows
    {
        std::error_code error, none;
        const fs::path name = target.path.filename();
        const fs::path folder = fs::weakly_canonical(fs::absolute(target.path).parent_path(), error);
        if (error)
            fail(filename, error.message());
        target.path = folder / name;
        const bool inProc = folder.string().compare(0, 6, "/proc/") == 0;
        target.opened = inProc || folder == "/dev";
        if (folder == fs::canonical("/dev/fd", none) &&
            name.string().find_first_not_of("0123456789") == std::string::npos)
            target.descriptor = std::atoi(name.string().c_str());
        if (inProc || target.descriptor >= 0 || !fs::is_symlink(target.path, none))
            return target;
        target.path = folder / fs::read_symlink(target.path);
    }
    fail(filename, "too many symbolic links");
}

//! Writes a part and waits until it is on the disk. @return 0 or the number of the first error.
int write(FILE* file, const std::string& bytes, size_t begin, size_t end)
{
    errno = 0;
    if (std::fwrite(bytes.data() + begin, 1, end - begin, file) != end - begin || std::fflush(file) != 0)
        return errno ? errno : EIO;
#ifdef _WIN32
    return _commit(_fileno(file)) == 0 ? 0 : errno;
#else // pipes and the like cannot wait
    return fsync(fileno(file)) == 0 || errno == EINVAL || errno == ENOTSUP || errno == EROFS ? 0 : errno;
#endif
}

//! @param number error until then, or 0. @return the same with that of closing.
int close(FILE* file, int number) { return std::fclose(file) != 0 && number == 0 ? (errno ? errno : EIO) : number; }

//! Adds to what a process has open, at the place that it shares with others who have it open. @return 0 or the error's
//! number.
int writeOpened(const Target& target, const std::string& bytes)
{
    std::fflush(stdout); // what the program has printed comes first
#ifndef _WIN32
    const int copy = target.descriptor < 0 ? -1 : fcntl(target.descriptor, F_DUPFD_CLOEXEC, 0);
    FILE* const file = target.descriptor < 0 ? std::fopen(target.path.c_str(), "ab")
                       : copy < 0            ? nullptr
                                             : fdopen(copy, "wb");
#else
    FILE* const file = std::fopen(target.path.string().c_str(), "ab");
#endif
    return file ? close(file, write(file, bytes, 0, bytes.size())) : errno;
}

//! Makes a file, from the first byte on with the permissions of another where there is that. @return null, and errno,
//! where it cannot.
FILE* createFile(const fs::path& path, const fs::path& other)
{
#ifdef _WIN32
    CV_UNUSED(other);
    return std::fopen(path.string().c_str(), "wbx"); // fails where there is one of this name
#else
    struct stat old, made;
    const bool replaces = stat(other.c_str(), &old) == 0;
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, replaces ? 0600 : 0666);
    if (file < 0)
        return nullptr;
    const bool differs = replaces && fstat(file, &made) == 0 && made.st_mode != old.st_mode;
    if (!differs || fchmod(file, old.st_mode & 07777) == 0)
        return fdopen(file, "wb");
    const int number = errno;
    unlink(path.c_str());
    ::close(file);
    errno = number;
    return nullptr;
#endif
}

//! Waits until the new name is on the disk, so that it survives a crash too. Not all file systems can do that.
void syncFolder(const fs::path& folder)
{
#ifdef _WIN32
    CV_UNUSED(folder);
#else
    const int descriptor = open(folder.c_str(), O_RDONLY | O_CLOEXEC);
    fsync(descriptor);
    ::close(descriptor);
#endif
}

//! Puts a new file in the place of one. Throws where it cannot be written. @return 0, or the error's number where there
//! cannot be a new one.
int replaceFile(const std::string& filename, const fs::path& target, const std::string& bytes)
{
#ifdef _WIN32
    const int process = _getpid();
#else
    const int process = static_cast<int>(getpid());
#endif
    static std::atomic<unsigned> files;
    fs::path path;
    FILE* file = nullptr;
    for (int i = 0; !file; ++i)
    {
        path = target.parent_path() / format(".cudatracking-%d-%u.tmp", process, files++);
        file = createFile(path, target);
        if (!file && (errno != EEXIST || i == 100))
            return errno;
    }
    const int number = close(file, write(file, bytes, 0, bytes.size()));
    std::error_code error, ignored;
    if (number == 0)
        fs::rename(path, target, error);
    if (number != 0 || error)
        fs::remove(path, ignored);
    if (number != 0)
        fail(filename, std::strerror(number));
    syncFolder(target.parent_path());
    return error.value();
}

//! Writes over a file. What exceeds its old end comes first, so that a full disk leaves it as it was. @return 0 or the
//! error's number.
int overwriteFile(const fs::path& target, const std::string& bytes)
{
    FILE* const file = std::fopen(target.string().c_str(), "r+b");
    if (!file)
        return errno;
    std::error_code error;
    const uintmax_t old = fs::file_size(target, error);
    const size_t both = static_cast<size_t>(std::min<uintmax_t>(old, bytes.size()));
    int number =
        std::fseek(file, static_cast<long>(both), SEEK_SET) != 0 ? errno : write(file, bytes, both, bytes.size());
    const uintmax_t size = number == 0 ? bytes.size() : old;
    if (number == 0)
    {
        std::rewind(file);
        number = write(file, bytes, 0, both);
    }
    number = close(file, number);
    fs::resize_file(target, size, error);
    return number != 0 ? number : error.value();
}

std::string endingOf(const std::string& filename) { return toLowerCase(fs::path(filename).extension().string()); }

} // namespace

void writeWholeFile(const std::string& filename, const std::string& bytes)
{
    if (filename.empty())
        CV_Error(Error::StsError, "the file name is empty, so no file can be written");
    const Target target = targetOf(filename);
    std::error_code error;
    const fs::file_status old = fs::status(filename, error);
    if (fs::is_directory(old))
        fail(filename, "is a folder");
    int number = 0;
    if (target.opened || target.descriptor >= 0 || (fs::exists(old) && !fs::is_regular_file(old)))
        number = writeOpened(target, bytes);
#ifndef _WIN32
    else if (fs::exists(old) &&
             access(target.path.c_str(), W_OK) != 0) // a new name would need the folder's permission only
        number = errno;
#endif
    else if ((number = replaceFile(filename, target.path, bytes)) != 0 && fs::exists(old))
        number = overwriteFile(target.path, bytes);
    if (number != 0)
        fail(filename, std::strerror(number));
}

void writeStorage(const std::string& filename, const std::string& name, const std::function<void(FileStorage&)>& write)
{
    const std::string ending = endingOf(filename);
    if (ending == ".gz")
        CV_Error_(Error::StsBadArg, ("filename: %s: compressed files are not written", filename.c_str()));
    FileStorage storage(ending == ".xml" || ending == ".json" ? ending : ".yml",
                        FileStorage::WRITE | FileStorage::MEMORY);
    storage << name << "{";
    write(storage);
    storage << "}";
    writeWholeFile(filename, storage.releaseAndGetString());
}

void saveAlgorithm(const Algorithm& algorithm, const std::string& filename)
{
    writeStorage(filename, algorithm.getDefaultName(), [&](FileStorage& storage) { algorithm.write(storage); });
}

}}} // namespace cv::cuda::detail
