// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

#include "model.hpp"

namespace cv { namespace cuda { namespace tld {

[[noreturn]] static void notYet() { CV_Error(Error::StsNotImplemented, "TLD has no files yet"); }

bool sameLearning(const TLDParams&, const TLDParams&) { notYet(); }
void writeParams(FileStorage&, const TLDParams&) { notYet(); }
void writeSaved(FileStorage&, const Saved&) { notYet(); }
Saved readSaved(const FileNode&, const std::string&) { notYet(); }
void saveFile(const std::string&, const Saved&) { notYet(); }
Saved loadFile(const std::string&) { notYet(); }

}}} // namespace cv::cuda::tld
