// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

#include "../precomp.hpp"
#include "file_write.hpp"
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <unistd.h>

namespace cv { namespace cuda { namespace detail {

namespace fs = std::filesystem;

//! @param mode of fopen(). @param old status of what the file will replace. @return errno, or 0.
static int writeBytes(const fs::path& path, const char* mode, const fs::file_status& old, const std::string& bytes)
{
    FILE* const file = std::fopen(path.c_str(), mode);
    if (!file)
        return errno;
    std::error_code error;
    if (fs::is_regular_file(old))
        fs::permissions(path, old.permissions(), error);
    const bool written = !error && std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size() &&
                         std::fflush(file) == 0 && (!fs::is_regular_file(path) || fsync(fileno(file)) == 0);
    const int failed = written ? 0 : error ? error.value() : errno;
    return std::fclose(file) != 0 && !failed ? errno : failed;
}

//! Returns whether a name is that of a file, which need not exist, and not that of a pipe, a device or the like.
static bool isFile(const std::string& filename, const fs::file_status& old)
{
    return filename.compare(0, 5, "/dev/") != 0 && (!fs::exists(old) || fs::is_regular_file(old));
}

void writeWholeFile(const std::string& filename, const std::string& bytes)
{
    static std::atomic<unsigned> number;
    if (filename.empty())
        CV_Error(Error::StsError, "the file name is empty, so no file can be written");
    std::error_code error;
    const fs::file_status old = fs::status(filename, error);
    int failed = 0;
    if (isFile(filename, old))
    {
        const fs::path target = fs::exists(old) ? fs::canonical(filename, error) : fs::path(filename);
        const fs::path path = target.parent_path() / format(".cudatracking-%llx-%u.tmp",
                                                            static_cast<unsigned long long>(getTickCount()), ++number);
        failed = writeBytes(path, "wbxe", old, bytes);
        if (!failed)
        {
            fs::rename(path, target, error);
            failed = error.value();
        }
        if (failed && failed != EEXIST)
            fs::remove(path, error);
    }
    else
        failed = writeBytes(filename, "abe", fs::file_status(), bytes);
    if (failed)
        CV_Error_(Error::StsError,
                  ("%s: cannot be written: %s", filename.c_str(), std::generic_category().message(failed).c_str()));
}

void writeStorage(const std::string& filename, const std::string& name, const std::function<void(FileStorage&)>& write,
                  int flags)
{
    std::error_code error;
    if (!filename.empty() && isFile(filename, fs::status(filename, error)) &&
        toLowerCase(fs::path(filename).extension().string()) != ".xml")
        CV_Error_(Error::StsBadArg, ("filename: %s must end with .xml: files are written as XML", filename.c_str()));
    FileStorage storage(".xml", FileStorage::WRITE | FileStorage::MEMORY | flags);
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
