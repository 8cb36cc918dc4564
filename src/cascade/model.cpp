// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Reads both file formats of cascades, and writes the new one. Files are untrusted: every value is checked.
#include "../common/file_write.hpp"
#include "model_builder.hpp"
#include <algorithm>
#include <cfloat>

namespace cv { namespace cuda { namespace cascade {

//! Properties of a feature type in files of the new format.
struct FeatureFormat
{
    const char* name;
    int categories; //!< maxCatCount: size of the subsets of nodes, bits
    int nodeValues; //!< values per node: two children, feature, and the threshold or the words of the subset
};

static FeatureFormat formatOf(FeatureType type)
{
    switch (type)
    {
    case HAAR:
        return {"HAAR", 0, 4};
    case LBP:
        return {"LBP", 32 * SUBSET_WORDS, 3 + SUBSET_WORDS};
    }
    return {};
}

// --- the new format --------------------------------------------------------------------------------------------------

static void readRectangles(const Item& list, int& count, int (*rectangles)[4], float* weights)
{
    count = list.list(1, MAX_RECTANGLES);
    list.each(
        [&](const Item& item, int i)
        {
            item.list(5, 5);
            item.each(
                [&](const Item& number, int k)
                {
                    if (k < 4)
                        rectangles[i][k] = number.integer(0, MAX_WINDOW);
                    else
                        weights[i] = number.finite();
                });
        });
}

static void readHaarFeature(const Item& item, bool old, Builder& builder)
{
    int count = 0, rectangles[MAX_RECTANGLES][4] = {};
    float weights[MAX_RECTANGLES] = {};
    item.with("rects", [&](const Item& list) { readRectangles(list, count, rectangles, weights); });
    const bool tilted = !item.member("tilted").empty() && item.integerOf("tilted", INT_MIN, INT_MAX) != 0;
    if (old && count > 2 && std::abs(weights[2]) < FLT_EPSILON) // as OpenCV does when it converts old files
        count = 2;
    builder.haar(item, rectangles, weights, count, tilted);
}

static void readLbpFeature(const Item& item, Builder& builder)
{
    item.with("rect",
              [&](const Item& rectangle)
              {
                  int r[4] = {};
                  rectangle.list(4, 4);
                  rectangle.each([&](const Item& number, int k) { r[k] = number.integer(0, MAX_WINDOW); });
                  builder.lbp(item, r[0], r[1], r[2], r[3]);
              });
}

static void readFeature(const Item& item, FeatureType type, Builder& builder)
{
    switch (type)
    {
    case HAAR:
        return readHaarFeature(item, false, builder);
    case LBP:
        return readLbpFeature(item, builder);
    }
}

static void readTree(const Item& item, Model& model, Builder& builder)
{
    const FeatureType type = model.featureType();
    const int perNode = formatOf(type).nodeValues;
    builder.tree();
    item.with("internalNodes",
              [&](const Item& list)
              {
                  const int size = list.list(perNode, perNode * MAX_TREE_NODES);
                  if (size % perNode != 0)
                      list.fail(format("%d numbers, and each node has %d", size, perNode).c_str());
                  int index[3] = {};
                  float threshold = 0.f;
                  list.each(
                      [&](const Item& number, int i)
                      {
                          const int k = i % perNode;
                          if (k < 3)
                          {
                              index[k] = number.integer(-MAX_NODES, MAX_NODES);
                              return;
                          }
                          switch (type)
                          {
                          case HAAR:
                              threshold = number.finite();
                              break;
                          case LBP:
                              model.subsets.push_back(static_cast<uint32_t>(number.integer(INT_MIN, INT_MAX)));
                              break;
                          }
                          if (k == perNode - 1)
                              builder.node(number, index[2], threshold, index[0], index[1]);
                      });
              });
    item.with("leafValues",
              [&](const Item& list)
              {
                  list.list(2, MAX_TREE_NODES + 1);
                  list.each([&](const Item& number, int) { builder.leaf(number.finite()); });
                  builder.endTree(list);
              });
}

//! @param threshold, trees names of what a stage has. @param readTree reads one tree.
static void readStages(const Item& root, const char* threshold, const char* trees,
                       void (*readTree)(const Item&, Model&, Builder&), Model& model, Builder& builder)
{
    root.eachOf("stages", 1, MAX_STAGES,
                [&](const Item& item, int)
                {
                    builder.stage(item, item.finiteOf(threshold));
                    item.eachOf(trees, 1, MAX_NODES, [&](const Item& tree, int) { readTree(tree, model, builder); });
                });
}

static void readNew(const Item& root, Model& model, Builder& builder)
{
    root.with("stageType",
              [](const Item& item)
              {
                  if (item.string() != "BOOST")
                      item.fail("only BOOST is known");
              });
    root.with("featureType",
              [&](const Item& item)
              {
                  const std::string name = item.string();
                  const auto type = std::find_if(std::begin(FEATURE_TYPES), std::end(FEATURE_TYPES),
                                                 [&](FeatureType t) { return name == formatOf(t).name; });
                  if (type == std::end(FEATURE_TYPES))
                      item.fail(name == "HOG" ? "HOG cascades are not supported" : "only HAAR and LBP are known");
                  model.kind = *type;
              });
    builder.window(root, root.integerOf("width", INT_MIN, INT_MAX), root.integerOf("height", INT_MIN, INT_MAX));
    root.with("featureParams",
              [&](const Item& item)
              {
                  const int categories = item.integerOf("maxCatCount", 0, INT_MAX);
                  if (categories != formatOf(model.featureType()).categories)
                      item.fail(
                          format("maxCatCount is %d, and must be 0 for HAAR and 256 for LBP", categories).c_str());
              });
    readStages(root, "stageThreshold", "weakClassifiers", readTree, model, builder);
    root.eachOf("features", 1, MAX_FEATURES,
                [&](const Item& item, int) { readFeature(item, model.featureType(), builder); });
}

// --- the old format --------------------------------------------------------------------------------------------------

//! Reads a child: a value, which becomes the next leaf of the tree, or the index of a node. @return child as in the new
//! format.
static int readOldChild(const Item& item, const char* value, const char* node, int& leaves, Builder& builder)
{
    if (!item.has(value))
        return item.integerOf(node, 1, MAX_TREE_NODES);
    builder.leaf(item.finiteOf(value));
    return -leaves++;
}

static void readOldTree(const Item& list, Model& model, Builder& builder)
{
    list.list(1, MAX_TREE_NODES);
    builder.tree();
    int leaves = 0;
    list.each(
        [&](const Item& item, int)
        {
            if (model.haar.size() >= static_cast<size_t>(MAX_FEATURES))
                item.fail("too many features");
            item.with("feature", [&](const Item& feature) { readHaarFeature(feature, true, builder); });
            const int left = readOldChild(item, "left_val", "left_node", leaves, builder);
            const int right = readOldChild(item, "right_val", "right_node", leaves, builder);
            builder.node(item, static_cast<int>(model.haar.size()) - 1, item.finiteOf("threshold"), left, right);
        });
    builder.endTree(list);
}

static void readOld(const Item& root, Model& model, Builder& builder)
{
    model.kind = HAAR;
    root.with("size",
              [&](const Item& list)
              {
                  int side[2] = {};
                  list.list(2, 2);
                  list.each([&](const Item& number, int k) { side[k] = number.integer(INT_MIN, INT_MAX); });
                  builder.window(list, side[0], side[1]);
              });
    readStages(root, "stage_threshold", "trees", readOldTree, model, builder);
}

ModelPtr readModel(const FileNode& cascade, const std::string& name)
{
    const Place place = {nullptr, "cascade", -1};
    const Item root(cascade, name, place);
    if (!cascade.isMap())
        root.fail("there is no cascade here");
    const std::shared_ptr<Model> model = std::make_shared<Model>();
    Builder builder(*model);
    const bool isNew = root.has("stageType") || root.has("featureType");
    if (isNew)
        readNew(root, *model, builder);
    else if (root.has("size") && root.has("stages"))
        readOld(root, *model, builder);
    else
        root.fail(
            "has neither stageType and featureType, as cascades of the new format, nor size and stages, as old ones");
    builder.finish(root, isNew ? "weakClassifiers" : "trees");
    return model;
}

// --- writing ---------------------------------------------------------------------------------------------------------

using namespace detail;

static void writeTree(FileStorage& storage, const Model& model, int t)
{
    const Tree& tree = model.trees[t];
    const int firstLeaf = tree.firstNode + t;
    const auto child = [&](int c) { return c >= 0 ? c - tree.firstNode : -(~c - firstLeaf); };
    storage << MAP << "internalNodes" << ROW;
    for (int n = tree.firstNode; n < tree.firstNode + tree.nodes; ++n)
    {
        const Node& node = model.nodes[n];
        storage << child(node.left) << child(node.right) << node.feature;
        switch (model.featureType())
        {
        case HAAR:
            storage << node.threshold;
            break;
        case LBP:
            for (int k = 0; k < SUBSET_WORDS; ++k)
                storage << static_cast<int>(model.subsets[static_cast<size_t>(n) * SUBSET_WORDS + k]);
            break;
        }
    }
    storage << LIST_END << "leafValues" << ROW;
    for (int k = 0; k <= tree.nodes; ++k)
        storage << model.leaves[firstLeaf + k];
    storage << LIST_END << MAP_END;
}

static void writeFeatures(FileStorage& storage, const Model& model)
{
    storage << "features" << LIST;
    for (const HaarFeature& f : model.haar)
    {
        storage << MAP << "rects" << LIST;
        for (int i = 0; i < f.rectangles; ++i)
            storage << ROW << f.rectangle[i][0] << f.rectangle[i][1] << f.rectangle[i][2] << f.rectangle[i][3]
                    << f.weight[i] << LIST_END;
        storage << LIST_END;
        if (f.tilted)
            storage << "tilted" << 1;
        storage << MAP_END;
    }
    for (const LbpFeature& f : model.lbp)
        storage << MAP << "rect" << ROW << f.x << f.y << f.width << f.height << LIST_END << MAP_END;
    storage << LIST_END;
}

void writeModel(FileStorage& storage, const Model& model)
{
    const FeatureFormat format = formatOf(model.featureType());
    int mostTrees = 0;
    for (const Stage& stage : model.stages)
        mostTrees = std::max(mostTrees, stage.trees);
    storage << "stageType"
            << "BOOST"
            << "featureType" << format.name;
    storage << "height" << model.height << "width" << model.width;
    storage << "stageParams" << MAP << "maxWeakCount" << mostTrees << MAP_END;
    storage << "featureParams" << MAP << "maxCatCount" << format.categories << MAP_END;
    storage << "stageNum" << static_cast<int>(model.stages.size()) << "stages" << LIST;
    for (size_t s = 0; s < model.stages.size(); ++s)
    {
        const Stage& stage = model.stages[s];
        storage << MAP << "maxWeakCount" << stage.trees << "stageThreshold" << model.fileThresholds[s];
        storage << "weakClassifiers" << LIST;
        for (int t = stage.firstTree; t < stage.firstTree + stage.trees; ++t)
            writeTree(storage, model, t);
        storage << LIST_END << MAP_END;
    }
    storage << LIST_END;
    writeFeatures(storage, model);
}

}}} // namespace cv::cuda::cascade
