// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// The copy of a cascade with its stages in the order in which they are best evaluated.
#include "../precomp.hpp"
#include "model.hpp"
#include <algorithm>

namespace cv { namespace cuda { namespace cascade {

std::shared_ptr<Model> inOrder(const Model& model, const std::vector<int>& order)
{
    const std::shared_ptr<Model> copy = std::make_shared<Model>(model);
    copy->order = nullptr;
    copy->leaves.clear();
    copy->fileThresholds.clear();
    copy->stages.clear();
    copy->trees.clear();
    copy->nodes.clear();
    copy->fixedLeaves.clear();
    copy->subsets.clear();
    for (int index : order)
    {
        Stage stage = model.stages[index];
        const int firstTree = stage.firstTree;
        stage.firstTree = static_cast<int>(copy->trees.size());
        for (int t = firstTree; t < firstTree + stage.trees; ++t)
        {
            const Tree& tree = model.trees[t];
            const int firstNode = static_cast<int>(copy->nodes.size()), nodes = firstNode - tree.firstNode;
            const int firstLeaf = tree.firstNode + t, leaves = static_cast<int>(copy->leaves.size()) - firstLeaf;
            const auto moved = [&](int child) { return child >= 0 ? child + nodes : ~(~child + leaves); };
            for (int n = tree.firstNode; n < tree.firstNode + tree.nodes; ++n)
            {
                Node node = model.nodes[n];
                node.left = moved(node.left);
                node.right = moved(node.right);
                copy->nodes.push_back(node);
                if (!model.subsets.empty())
                {
                    const auto subset = model.subsets.begin() + static_cast<ptrdiff_t>(n) * SUBSET_WORDS;
                    copy->subsets.insert(copy->subsets.end(), subset, subset + SUBSET_WORDS);
                }
            }
            for (int k = firstLeaf; k <= firstLeaf + tree.nodes; ++k)
            {
                copy->leaves.push_back(model.leaves[k]);
                if (model.fixedPoint)
                    copy->fixedLeaves.push_back(model.fixedLeaves[k]);
            }
            copy->trees.push_back({firstNode, tree.nodes});
        }
        copy->stages.push_back(stage);
        copy->fileThresholds.push_back(model.fileThresholds[index]);
    }
    return copy;
}

const ModelPtr& orderedOf(const ModelPtr& model)
{
    if (!model->order)
        return model;
    Model::Order& order = *model->order;
    // Whoever holds this runs nothing in parallel: threads that wait for its parts could come here again.
    const std::lock_guard<std::mutex> lock(order.mutex);
    if (!order.counted)
    {
        const std::vector<int> stages = orderOfStages(*model);
        if (!std::is_sorted(stages.begin(), stages.end()))
            order.ordered = inOrder(*model, stages);
        order.counted = true;
    }
    return order.ordered ? order.ordered : model;
}

}}} // namespace cv::cuda::cascade
