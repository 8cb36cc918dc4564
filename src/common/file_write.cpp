// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

#include "../precomp.hpp"
#include "file_write.hpp"
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#ifdef _WIN32
#include <io.h>
#include <process.h>
#else
#include <fcntl.h>
#include <unistd.h>
#endif

namespace cv { namespace cuda { namespace detail {

namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& filename, const std::string& why)
{
    CV_Error_(Error::StsError, ("%s: cannot be written: %s", filename.c_str(), why.c_str()));
}
std::string reasonOf(int number) { return std::strerror(number); }

//! Returns the path that symbolic links lead to, which need not exist yet.
fs::path targetOf(const std::string& filename)
{
    const int MOST_LINKS = 40; // as Linux allows
    fs::path path(filename);
    std::error_code error;
    for (int i = 0; fs::is_symlink(path, error); ++i)
    {
        if (i == MOST_LINKS)
            fail(filename, "too many symbolic links");
        const fs::path next = fs::read_symlink(path, error);
        if (error)
            fail(filename, error.message());
        path = next.is_absolute() ? next : path.parent_path() / next;
    }
    return path;
}

int numberOfProcess()
{
#ifdef _WIN32
    return _getpid();
#else
    return static_cast<int>(getpid());
#endif
}

//! Waits until what was written is on the disk. @return 0 or the error's number. Pipes and the like cannot, which is no error.
int syncFile(FILE* file)
{
#ifdef _WIN32
    return _commit(_fileno(file)) == 0 ? 0 : errno;
#else
    return fsync(fileno(file)) == 0 || errno == EINVAL || errno == ENOTSUP || errno == EROFS ? 0 : errno;
#endif
}

//! Waits until the new name is on the disk, so that it survives a crash too. Not all file systems can do that.
void syncFolder(const fs::path& folder)
{
#ifdef _WIN32
    CV_UNUSED(folder);
#else
    const int descriptor = open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return;
    fsync(descriptor);
    close(descriptor);
#endif
}

//! Writes everything and closes. @return 0 or the number of the first error.
int writeAndClose(FILE* file, const std::string& bytes)
{
    errno = 0;
    int error = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size() && std::fflush(file) == 0
                    ? 0
                    : (errno ? errno : EIO);
    if (error == 0)
        error = syncFile(file);
    if (std::fclose(file) != 0 && error == 0)
        error = errno ? errno : EIO;
    return error;
}

//! New file; removed at the end unless it was renamed.
class NewFile
{
public:
    NewFile(const std::string& filename, const fs::path& folder)
    {
        static std::atomic<unsigned> files;
        for (int i = 0; !file_; ++i)
        {
            path_ = folder / format(".cudatracking-%d-%u.tmp", numberOfProcess(), files++);
            file_ = std::fopen(path_.string().c_str(), "wbx"); // fails where there is one of this name
            const int error = errno;
            if (!file_ && (error != EEXIST || i == 100))
                fail(filename, reasonOf(error));
        }
    }
    ~NewFile()
    {
        if (file_)
            std::fclose(file_);
        std::error_code error;
        if (!renamed_)
            fs::remove(path_, error);
    }
    NewFile(const NewFile&) = delete;
    NewFile& operator=(const NewFile&) = delete;

    const fs::path& path() const { return path_; }
    int write(const std::string& bytes)
    {
        FILE* const file = file_;
        file_ = nullptr;
        return writeAndClose(file, bytes);
    }
    std::error_code rename(const fs::path& target)
    {
        std::error_code error;
        fs::rename(path_, target, error);
        renamed_ = !error;
        return error;
    }

private:
    fs::path path_;
    FILE* file_ = nullptr;
    bool renamed_ = false;
};

std::string endingOf(const std::string& filename) { return toLowerCase(fs::path(filename).extension().string()); }

} // namespace

void writeWholeFile(const std::string& filename, const std::string& bytes)
{
    if (filename.empty())
        CV_Error(Error::StsError, "the file name is empty, so no file can be written");
    const fs::path target = targetOf(filename);
    std::error_code error;
    const fs::file_status old = fs::status(target, error);
    if (fs::is_directory(old))
        fail(filename, "is a folder");
    if (fs::exists(old) && !fs::is_regular_file(old))
    {
        FILE* const file = std::fopen(target.string().c_str(), "wb");
        const int number = file ? writeAndClose(file, bytes) : errno;
        if (number != 0)
            fail(filename, reasonOf(number));
        return;
    }
#ifndef _WIN32
    if (fs::exists(old) && access(target.c_str(), W_OK) != 0) // a new name would need the folder's permission only
        fail(filename, reasonOf(errno));
#endif
    NewFile file(filename, target.parent_path());
    const int number = file.write(bytes);
    if (number != 0)
        fail(filename, reasonOf(number));
    if (fs::exists(old))
        fs::permissions(file.path(), old.permissions(), error); // a file system without permissions keeps none
    if (const std::error_code renaming = file.rename(target))
        fail(filename, renaming.message());
    syncFolder(target.parent_path());
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
