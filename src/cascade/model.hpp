// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// A cascade from a file: checked in every number, then never changed, and shared by instances.
#ifndef OPENCV_CUDATRACKING_CASCADE_MODEL_HPP
#define OPENCV_CUDATRACKING_CASCADE_MODEL_HPP

#include "opencv2/core.hpp"
#include "core.hpp"
#include <memory>
#include <string>
#include <vector>

namespace cv { namespace cuda { namespace cascade {

const size_t MAX_FILE_BYTES = static_cast<size_t>(16) << 20;
const int MAX_FEATURES = 65536, MAX_NODES = 1 << 20, MAX_STAGES = 4096, MAX_TREE_NODES = 255;

/** Everything is in the order of the file. Invariants: every index is in its array; features, rotated ones too, lie in the window;
children come after their parents in the same tree; each tree has one leaf more than nodes; numbers are finite. */
struct Model
{
    int kind;                          //!< HAAR or LBP
    int width, height;                 //!< of the window
    std::vector<Stage> stages;         //!< at least one
    std::vector<Tree> trees;           //!< at least one a stage
    std::vector<Node> nodes;           //!< at least one a tree
    std::vector<float> leaves;         //!< those of a tree begin at its firstNode + its index among all trees
    std::vector<int64_t> fixedLeaves;  //!< leaf * 2^shift of its stage; empty unless fixedPoint
    std::vector<float> fileThresholds; //!< of the stages, as in the file
    std::vector<uint32_t> subsets;     //!< LBP: SUBSET_WORDS a node
    std::vector<HaarFeature> haar;     //!< features of either kind
    std::vector<LbpFeature> lbp;

    bool stumps;           //!< all trees have one node
    bool tilted;           //!< some feature is rotated
    bool exact;            //!< all Haar features are
    bool fixedPoint;       //!< all stages may be added up as integers
    int64_t leastContrast; //!< Haar: see leastContrast()
    uint64_t version;      //!< a number of its own in this process
};
typedef std::shared_ptr<const Model> ModelPtr;

/** @throws cv::Exception naming file and node. @param name of the file, for messages. */
ModelPtr loadModel(const std::string& filename);
ModelPtr parseModel(const char* text, size_t bytes, const std::string& name);
ModelPtr readModel(const FileNode& cascade, const std::string& name);
//! The members of a cascade of the new format.
void writeModel(FileStorage& storage, const Model& model);

}}} // namespace cv::cuda::cascade

#endif // OPENCV_CUDATRACKING_CASCADE_MODEL_HPP
