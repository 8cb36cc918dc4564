// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

#include "../precomp.hpp"
#include "../common/file_text.hpp"
#include "model.hpp"

namespace cv { namespace cuda { namespace cascade {

namespace {

const detail::TextLimits LIMITS = {"a cascade", MAX_FILE_BYTES};

} // namespace

ModelPtr parseModel(const char* bytes, size_t count, const std::string& name)
{
    const FileStorage storage = detail::parseText(bytes, count, name, LIMITS);
    return readModel(storage.getFirstTopLevelNode(), name);
}

ModelPtr loadModel(const std::string& filename)
{
    const std::string text = detail::readText(filename, LIMITS);
    return parseModel(text.data(), text.size(), filename);
}

}}} // namespace cv::cuda::cascade
