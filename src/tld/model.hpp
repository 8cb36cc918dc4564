// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Files of learned objects.
#ifndef OPENCV_CUDATRACKING_TLD_MODEL_HPP
#define OPENCV_CUDATRACKING_TLD_MODEL_HPP

#include "../precomp.hpp"
#include "engine.hpp"
#include <string>

namespace cv { namespace cuda { namespace tld {

//! A file of one object.
struct SavedObject
{
    TLDParams params;
    bool hasObject = true;
    LearnedObject object = {};
    History history; //!< START is never used; no frames: the position is not known
};

//! A file of a MultiTrackerTLD.
struct SavedTracker
{
    TLDParams params;
    int next = 0;                       //!< id of the next object
    std::vector<LearnedObject> objects; //!< in ascending order of their ids, which are state.number
    std::vector<int> misses;            //!< of each object: calls with boxes in a row that associated none with it
    History history;
};

//! Makes a state that of a file without position: learned and lost.
inline void forgetPosition(ObjectState& state)
{
    endTracking(state);
    state.box = Box{};
    state.retries = state.learned = state.started = state.keptStarted = 0;
    state.event = NO_EVENT;
    state.matched = 0;
}

//! Says which parameter of a saved object keeps it from continuing with those of a tracker; empty: none.
std::string learningDifference(const TLDParams& saved, const TLDParams& own);

//! Writes parameters alone, as a detector without an object does.
void writeNoObject(FileStorage& fs, const TLDParams& params);
void writeObject(FileStorage& fs, const SavedObject& saved);
//! Reads and checks an object. @param name of the file, for messages.
SavedObject readObject(const FileNode& node, const std::string& name);

void writeTracker(FileStorage& fs, const SavedTracker& saved);
SavedTracker readTracker(const FileNode& node, const std::string& name);

void saveFile(const std::string& filename, const SavedObject& saved);
void saveFile(const std::string& filename, const SavedTracker& saved);
SavedObject loadObject(const std::string& filename);
SavedTracker loadTracker(const std::string& filename);

}}} // namespace cv::cuda::tld

#endif // OPENCV_CUDATRACKING_TLD_MODEL_HPP
