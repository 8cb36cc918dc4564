// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

#include "../precomp.hpp"
#include "file_write.hpp"
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#ifdef _WIN32
#include <io.h>
#else
#include <fcntl.h>
#include <unistd.h>
#endif

namespace cv { namespace cuda { namespace detail {

namespace {

namespace fs = std::filesystem;
using std::error_code;

[[noreturn]] void fail(const std::string& filename, const std::string& why)
{
    CV_Error_(Error::StsError, ("%s: cannot be written: %s", filename.c_str(), why.c_str()));
}

error_code lastError() { return error_code(errno ? errno : EIO, std::generic_category()); }

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
    Target target;
    error_code error, none;
    target.path = fs::absolute(filename, error);
    for (int links = 0; !error && links <= 40; ++links) // as Linux allows
    {
        const fs::path name = target.path.filename(), folder = fs::weakly_canonical(target.path.parent_path(), error);
        if (error)
            break;
        target.path = folder / name;
        const bool inProc = folder.string().compare(0, 6, "/proc/") == 0;
        if (folder == fs::canonical("/dev/fd", none) &&
            name.string().find_first_not_of("0123456789") == std::string::npos)
            target.descriptor = std::atoi(name.string().c_str());
        target.opened = inProc || folder == "/dev" || target.descriptor >= 0;
        if (inProc || target.descriptor >= 0 || !fs::is_symlink(target.path, none))
            return target;
        target.path = folder / fs::read_symlink(target.path, error);
    }
    fail(filename, error ? error.message() : "too many symbolic links");
}

//! Writes a part and waits until it is on the disk.
error_code write(FILE* file, const std::string& bytes, size_t begin, size_t end)
{
    errno = 0;
    if (std::fwrite(bytes.data() + begin, 1, end - begin, file) != end - begin || std::fflush(file) != 0)
        return lastError();
#ifdef _WIN32
    const bool waited = _commit(_fileno(file)) == 0;
#else // pipes and the like cannot wait
    const bool waited = fsync(fileno(file)) == 0 || errno == EINVAL || errno == ENOTSUP || errno == EROFS;
#endif
    return waited ? error_code() : lastError();
}

//! @return the first error: that of before, if any, or that of closing.
error_code close(FILE* file, const error_code& before)
{
    return std::fclose(file) != 0 && !before ? lastError() : before;
}

//! Adds to what a process has open, at the place that it shares with others who have it open.
error_code writeOpened(const Target& target, const std::string& bytes)
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
    return file ? close(file, write(file, bytes, 0, bytes.size())) : lastError();
}

//! Makes a file. @param closed nobody else may open it before it has the permissions of another. @return null, and
//! errno, where it cannot.
FILE* createFile(const fs::path& path, bool closed)
{
#ifdef _WIN32
    CV_UNUSED(closed);
    return std::fopen(path.string().c_str(), "wbx"); // fails where there is one of this name
#else
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, closed ? 0600 : 0666);
    return file < 0 ? nullptr : fdopen(file, "wb");
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

//! Puts a new file in the place of one, with its permissions. @param old status of what is replaced. Throws where it
//! cannot be written. @return the error where there cannot be a new file.
error_code replaceFile(const std::string& filename, const fs::path& target, const fs::file_status& old,
                       const std::string& bytes)
{
    fs::path path;
    FILE* file = nullptr;
    for (int i = 0; !file; ++i)
    {
        path = target.parent_path() /
               format(".cudatracking-%llx.tmp", static_cast<unsigned long long>(getTickCount() + i));
        file = createFile(path, fs::exists(old));
        if (!file && (errno != EEXIST || i == 100))
            return lastError();
    }
    error_code replaced, ignored;
    if (fs::exists(old) && fs::status(path, ignored).permissions() != old.permissions())
        fs::permissions(path, old.permissions(), replaced);
    const error_code written = close(file, replaced ? error_code() : write(file, bytes, 0, bytes.size()));
    if (!written && !replaced)
        fs::rename(path, target, replaced);
    if (written || replaced)
        fs::remove(path, ignored);
    if (written)
        fail(filename, written.message());
    syncFolder(target.parent_path());
    return replaced;
}

//! Writes over a file. What exceeds its old end comes first, so that a full disk leaves it as it was.
error_code overwriteFile(const fs::path& target, const std::string& bytes)
{
    FILE* const file = std::fopen(target.string().c_str(), "r+b");
    if (!file)
        return lastError();
    error_code error, resized;
    const uintmax_t old = fs::file_size(target, error);
    const size_t both = static_cast<size_t>(std::min<uintmax_t>(old, bytes.size()));
    error =
        std::fseek(file, static_cast<long>(both), SEEK_SET) != 0 ? lastError() : write(file, bytes, both, bytes.size());
    const uintmax_t size = error ? old : bytes.size();
    if (!error)
    {
        std::rewind(file);
        error = write(file, bytes, 0, both);
    }
    error = close(file, error);
    fs::resize_file(target, size, resized);
    return error ? error : resized;
}

std::string endingOf(const std::string& filename) { return toLowerCase(fs::path(filename).extension().string()); }

} // namespace

void writeWholeFile(const std::string& filename, const std::string& bytes)
{
    if (filename.empty())
        CV_Error(Error::StsError, "the file name is empty, so no file can be written");
    const Target target = targetOf(filename);
    error_code error;
    const fs::file_status old = fs::status(filename, error);
    if (fs::is_directory(old))
        fail(filename, "is a folder");
    if (target.opened || (fs::exists(old) && !fs::is_regular_file(old)))
        error = writeOpened(target, bytes);
#ifndef _WIN32
    else if (fs::exists(old) && access(target.path.c_str(), W_OK) != 0)
        error = lastError(); // a new name would need the folder's permission only
#endif
    else if ((error = replaceFile(filename, target.path, old, bytes)) && fs::exists(old))
        error = overwriteFile(target.path, bytes);
    if (error)
        fail(filename, error.message());
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
