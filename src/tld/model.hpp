// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Files of learned objects.
#ifndef OPENCV_CUDATRACKING_TLD_MODEL_HPP
#define OPENCV_CUDATRACKING_TLD_MODEL_HPP

#include "../precomp.hpp"
#include "engine.hpp"
#include <string>

namespace cv { namespace cuda { namespace tld {

struct Saved
{
    TLDParams params;
    bool hasObject = true;
    Learned object = {};
    History history; //!< without START; no frames: the object's place is not known
};

//! All of a MultiTrackerTLD.
struct SavedSeveral
{
    TLDParams params;
    int next = 0;                 //!< id of the next object
    std::vector<Learned> objects; //!< ids are their numbers for random numbers, ascending
    History history;
};

//! As after a file without history: learned, and lost.
inline void forgetPlace(ObjectState& state)
{
    kill(state);
    state.box = Box{};
    state.retries = 0;
    state.learned = state.started = state.keptStarted = 0;
}

//! Whether objects learned with the one can go on with the other.
bool sameLearning(const TLDParams& a, const TLDParams& b);

void writeParams(FileStorage& fs, const TLDParams& params);
void writeSaved(FileStorage& fs, const Saved& saved);
//! Checks everything. @param name of the file, for messages.
Saved readSaved(const FileNode& node, const std::string& name);

void writeSeveral(FileStorage& fs, const SavedSeveral& saved);
SavedSeveral readSeveral(const FileNode& node, const std::string& name);

void saveFile(const std::string& filename, const Saved& saved);
void saveFile(const std::string& filename, const SavedSeveral& saved);
Saved loadFile(const std::string& filename);
SavedSeveral loadSeveral(const std::string& filename);

}}} // namespace cv::cuda::tld

#endif // OPENCV_CUDATRACKING_TLD_MODEL_HPP
