// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Converts the bytes of untrusted files to FileNodes.
#ifndef OPENCV_CUDATRACKING_COMMON_FILE_TEXT_HPP
#define OPENCV_CUDATRACKING_COMMON_FILE_TEXT_HPP

#include "opencv2/core.hpp"
#include <string>

namespace cv { namespace cuda { namespace detail {

//! Limits of one kind of file.
struct TextLimits
{
    const char* what; //!< kind of file for messages, such as "a cascade"
    size_t bytes;
};

std::string readText(const std::string& filename, const TextLimits& limits);
//! XML. @param name of the file, for messages. @throws cv::Exception naming it.
FileStorage parseText(const char* bytes, size_t count, const std::string& name, const TextLimits& limits);

}}} // namespace cv::cuda::detail

#endif // OPENCV_CUDATRACKING_COMMON_FILE_TEXT_HPP
