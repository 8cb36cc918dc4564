// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Files that are written whole or not at all.
#ifndef OPENCV_CUDATRACKING_COMMON_FILE_WRITE_HPP
#define OPENCV_CUDATRACKING_COMMON_FILE_WRITE_HPP

#include "opencv2/core.hpp"
#include <functional>
#include <string>

namespace cv { namespace cuda { namespace detail {

//! Beginnings and ends of maps and lists for FileStorage; ROW: a list in one line.
const char *const MAP = "{", *const MAP_END = "}", *const LIST = "[", *const ROW = "[:", *const LIST_END = "]";

/** Writes a file of these bytes: they go to a new file beside it, which takes its name and permissions when all of it
is on the disk. What is no regular file, such as a FIFO, and names below /dev/ are written directly: the bytes come
behind what is there.
@throws cv::Exception naming the file and the reason; nothing else is left behind then. */
void writeWholeFile(const std::string& filename, const std::string& bytes);

/** writeWholeFile() of the XML that a FileStorage makes of a map. Names of files must end with .xml.
@param name of the map. @param write its content. @param flags FileStorage::BASE64 for matrices in base64, or 0. */
void writeStorage(const std::string& filename, const std::string& name, const std::function<void(FileStorage&)>& write,
                  int flags = 0);

//! Writes the file that Algorithm::save() would write, which reports no failure.
void saveAlgorithm(const Algorithm& algorithm, const std::string& filename);

}}} // namespace cv::cuda::detail

#endif // OPENCV_CUDATRACKING_COMMON_FILE_WRITE_HPP
