// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// A cascade from a file: every value is checked, then the model never changes, and instances share it.
#ifndef OPENCV_CUDATRACKING_CASCADE_MODEL_HPP
#define OPENCV_CUDATRACKING_CASCADE_MODEL_HPP

#include "opencv2/core.hpp"
#include "core.hpp"
#include <memory>
#include <string>
#include <vector>

namespace cv { namespace cuda { namespace cascade {

const size_t MAX_FILE_BYTES = static_cast<size_t>(8) << 20;
const int MAX_FEATURES = 65536, MAX_NODES = 1 << 20, MAX_STAGES = 4096, MAX_TREE_NODES = 255;

/** A cascade in the order of its file. Invariants: every index is within its array; features, including rotated ones,
lie in the window; child nodes come after their parents in the same tree; each tree has one leaf more than nodes; values
are finite. */
struct Model
{
    int kind;                          //!< a FeatureType: see featureType()
    int width, height;                 //!< size of the window, pixels
    std::vector<Stage> stages;         //!< at least one
    std::vector<Tree> trees;           //!< at least one per stage
    std::vector<Node> nodes;           //!< at least one per tree
    std::vector<float> leaves;         //!< the leaves of tree t begin at its firstNode + t
    std::vector<int64_t> fixedLeaves;  //!< leaf * 2^shift, with the shift of its stage; empty unless fixedPoint
    std::vector<float> fileThresholds; //!< thresholds of the stages, as in the file
    std::vector<uint32_t> subsets;     //!< LBP: SUBSET_WORDS per node
    std::vector<HaarFeature> haar;     //!< features; empty for LBP
    std::vector<LbpFeature> lbp;       //!< features; empty for HAAR

    bool stumps;           //!< all trees have one node
    bool tilted;           //!< at least one feature is rotated
    bool exact;            //!< all Haar features are exact
    bool fixedPoint;       //!< all stages can be added up as integers
    int64_t leastContrast; //!< see leastContrast(); only HAAR uses it
    uint64_t version;      //!< unique in this process

    FeatureType featureType() const { return static_cast<FeatureType>(kind); }
};
typedef std::shared_ptr<const Model> ModelPtr;

//! Reads a cascade from a file. @throws cv::Exception that names file and node, as the next two.
ModelPtr loadModel(const std::string& filename);
//! Parses the text of a file. @param name file name in messages, as in the next one.
ModelPtr parseModel(const char* text, size_t bytes, const std::string& name);
//! Reads a cascade from a node of a file.
ModelPtr readModel(const FileNode& cascade, const std::string& name);

/** Sorts merged corners as patterns need them. Six or eight: weights 1, 1, -1, -1, then one or two of w and of -w.
Nine: four of w, four of -2 w, one of 4 w. @param factor out: w. @return number of corners of the pattern; 0: they form
none, and their order stays. */
int sortCorners(Corner* corners, int count, int& factor);

//! Writes the members of a cascade in the new format.
void writeModel(FileStorage& storage, const Model& model);

}}} // namespace cv::cuda::cascade

#endif // OPENCV_CUDATRACKING_CASCADE_MODEL_HPP
