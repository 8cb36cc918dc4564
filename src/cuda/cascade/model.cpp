// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Packs models for the device.
#include "../../precomp.hpp"

#ifdef HAVE_CUDA

#include "plan.hpp"
#include <algorithm>
#include <limits>

namespace cv { namespace cuda { namespace cascade {

using gpu::Shape;
namespace tuning = gpu::tuning;

namespace {

// --- records ---------------------------------------------------------------------------------------------------------

//! Properties of a feature type in pairs.
struct PairTraits
{
    size_t recordBytes; //!< bytes per node
    bool twoNodes;      //!< whether kernels have a path for trees of two nodes
    int denseStages;    //!< limit of ConstantStages::dense
};

PairTraits pairTraitsOf(FeatureType type)
{
    switch (type)
    {
    case HAAR:
        return {sizeof(gpu::HaarRecord), true, tuning::DENSE_STAGES_HAAR};
    case LBP:
        return {sizeof(gpu::LbpRecord), false, tuning::DENSE_STAGES_LBP};
    }
    return {};
}

gpu::TreeShape treeShapeOf(const Model& model)
{
    if (model.stumps)
        return gpu::STUMPS;
    const bool two = std::all_of(model.trees.begin(), model.trees.end(), [](const Tree& t) { return t.nodes == 2; });
    return two && pairTraitsOf(model.featureType()).twoNodes ? gpu::TWO_NODES : gpu::ANY_TREES;
}

//! Records of nodes, tree by tree, and their left and right leaves.
template <typename Record> struct PackedNodes
{
    std::vector<Record> records;
    std::vector<int64_t> leaves;
    std::vector<int> quantisedLeaves;

    void add(const PackedNodes& nodes)
    {
        records.insert(records.end(), nodes.records.begin(), nodes.records.end());
        leaves.insert(leaves.end(), nodes.leaves.begin(), nodes.leaves.end());
        quantisedLeaves.insert(quantisedLeaves.end(), nodes.quantisedLeaves.begin(), nodes.quantisedLeaves.end());
    }
};

//! Makes the records for one step.
struct Records
{
    const Model& model;
    const Shape& shape;
    const std::vector<std::vector<FeaturePart>>& parts; //!< parts of each Haar feature
    std::vector<gpu::Term> terms;

    uint32_t wordOf(const Corner& corner, bool tilted) const
    {
        return static_cast<uint32_t>(shape.place(corner.x, corner.y) + (tilted ? shape.words : 0));
    }

    //! Fills a Haar record. @param negated whether to negate the feature, so that values not below the threshold go
    //! left.
    void fill(int index, bool negated, gpu::HaarRecord& record)
    {
        const Node& node = model.nodes[index];
        const bool tilted = model.haar[node.feature].tilted != 0;
        std::vector<FeaturePart> cut = parts[node.feature];
        for (FeaturePart& part : cut)
            for (Corner& corner : part)
                corner.weight = negated ? -corner.weight : corner.weight;
        record.threshold = gpu::scaledThreshold(node.threshold);
        // v >= t is v > t', with the largest t' below t
        if (negated)
            record.threshold = -std::nextafter(record.threshold, -std::numeric_limits<float>::infinity());
        std::vector<Corner> ordered;
        int factor = 0;
        const gpu::CornerPattern pattern = cut.size() == 1 ? patternOf(cut[0], ordered, factor) : gpu::TERMS;
        if (pattern == gpu::TERMS)
            return addTerms(cut, tilted, record);
        record.pattern = gpu::packPattern(pattern, factor, pattern == gpu::NINE ? wordOf(ordered[8], tilted) : 0);
        for (size_t k = 0; k < ordered.size() && k < 8; ++k)
            record.corners[k / 2] |= wordOf(ordered[k], tilted) << (16 * (k % 2));
    }

    void addTerms(std::vector<FeaturePart>& cut, bool tilted, gpu::HaarRecord& record)
    {
        record.pattern = gpu::packPattern(gpu::TERMS, 0, 0);
        record.corners[0] = static_cast<uint32_t>(terms.size() / 4);
        record.corners[1] = static_cast<uint32_t>(cut.size());
        record.corners[2] = padToFours(cut);
        for (const FeaturePart& part : cut)
            for (const Corner& corner : part)
                terms.push_back(wordOf(corner, tilted) | static_cast<uint32_t>(corner.weight) << 16);
    }

    void fill(int index, bool, gpu::LbpRecord& record)
    {
        const LbpFeature& f = model.lbp[model.nodes[index].feature];
        for (int k = 0; k < 4; ++k)
        {
            record.rows[k] = 4 * shape.place(0, f.y + k * f.height);
            record.columns[k] = 4 * shape.place(f.x + k * f.width, 0);
        }
        record.subset = static_cast<uint32_t>(index) * SUBSET_WORDS;
    }

    //! Makes the records of a tree. @param bits number of bits that quantised leaves drop.
    template <typename Record> PackedNodes<Record> nodesOf(const Tree& tree, gpu::TreeShape trees, int bits)
    {
        PackedNodes<Record> nodes = {std::vector<Record>(tree.nodes, Record()), {}, {}};
        for (int n = 0; n < tree.nodes; ++n)
        {
            const Node& node = model.nodes[tree.firstNode + n];
            const bool negated = trees == gpu::TWO_NODES && n == 0 && node.left >= 0;
            Record& record = nodes.records[n];
            fill(tree.firstNode + n, negated, record);
            for (int k = 0; k < 2; ++k)
            {
                const int child = (k == 0) != negated ? node.left : node.right;
                const int64_t leaf = child < 0 ? model.fixedLeaves[~child] : 0;
                nodes.leaves.push_back(leaf);
                nodes.quantisedLeaves.push_back(static_cast<int>(leaf >> bits));
                if (child >= 0)
                    record.links |= static_cast<uint32_t>(child - tree.firstNode) << (8 * (k + 1));
            }
            record.links |= static_cast<uint32_t>(tree.nodes) << 24;
        }
        return nodes;
    }

    //! Sets the leaf deltas of a tree of one or two nodes. @return its last right leaf, with which its sum begins.
    template <typename Record> static int setLeafDeltas(PackedNodes<Record>& tree)
    {
        const int right = tree.quantisedLeaves.back();
        for (size_t n = 0; n < tree.records.size(); ++n)
            tree.records[n].leafDelta = tree.quantisedLeaves[2 * n] - right;
        return right;
    }

    //! Returns the position of a tree of one or two nodes in the order of patterns.
    template <typename Record> static int orderOf(const PackedNodes<Record>& tree)
    {
        const gpu::CornerPattern root = gpu::patternOf(tree.records[0].pattern),
                                 node = gpu::patternOf(tree.records.back().pattern);
        if (tree.records.size() == 1)
            return root;
        return root == gpu::TERMS || node == gpu::TERMS ? gpu::PATTERN_PAIRS : 3 * root + node;
    }

    //! Adds the trees of a stage, in the order of their patterns if all have one or two nodes. @param stage out:
    //! quantised, ends.
    template <typename Record>
    void addStage(const Stage& from, gpu::TreeShape trees, gpu::StageRecord& stage, PackedNodes<Record>& to)
    {
        std::vector<PackedNodes<Record>> all;
        const int bits = droppedBits(model, from);
        stage.quantised = quantisedOf(from, bits);
        for (int t = 0; t < from.trees; ++t)
        {
            all.push_back(nodesOf<Record>(model.trees[from.firstTree + t], trees, bits));
            if (trees != gpu::ANY_TREES)
                stage.quantised.base += setLeafDeltas(all.back());
        }
        if (trees != gpu::ANY_TREES)
            std::stable_sort(all.begin(), all.end(),
                             [](const PackedNodes<Record>& a, const PackedNodes<Record>& b)
                             { return orderOf(a) < orderOf(b); });
        for (const PackedNodes<Record>& tree : all)
        {
            to.add(tree);
            for (int end = orderOf(tree); end < gpu::PATTERN_PAIRS; ++end)
                ++stage.ends[end];
        }
    }

    //! Makes the records of all stages. @param stages in and out: quantised and ends are set.
    template <typename Record> PackedNodes<Record> all(gpu::TreeShape trees, std::vector<gpu::StageRecord>& stages)
    {
        PackedNodes<Record> nodes;
        for (size_t s = 0; s < stages.size(); ++s)
        {
            std::fill(stages[s].ends, stages[s].ends + gpu::PATTERN_PAIRS, 0);
            addStage(model.stages[s], trees, stages[s], nodes);
        }
        return nodes;
    }
};

int endOf(const Model& model, const Stage& stage)
{
    const Tree& last = model.trees[stage.firstTree + stage.trees - 1];
    return last.firstNode + last.nodes;
}

//! Counts the first stages that fit into kernel parameters. @return false if not even one does.
bool beginConstant(const Model& model, gpu::ConstantStages& constant)
{
    constant = {};
    const PairTraits traits = pairTraitsOf(model.featureType());
    while (constant.stages < std::min(tuning::CONSTANT_STAGES, static_cast<int>(model.stages.size())) &&
           endOf(model, model.stages[constant.stages]) * traits.recordBytes <= sizeof(constant.records[0]))
        ++constant.stages;
    constant.dense = std::min(constant.stages, traits.denseStages);
    constant.sparse = std::min(constant.dense, static_cast<int>(model.stages.size()) - 1);
    return constant.stages > 0;
}

//! Cuts records into quads as in RecordsView, so that neighbouring threads load neighbouring words.
template <typename Record> std::vector<uint4> inQuads(const std::vector<Record>& records)
{
    const size_t quads = sizeof(Record) / sizeof(uint4);
    std::vector<uint4> words(records.size() * quads);
    for (size_t i = 0; i < records.size(); ++i)
        for (size_t k = 0; k < quads; ++k)
            std::memcpy(&words[k * records.size() + i], reinterpret_cast<const uint4*>(&records[i]) + k, sizeof(uint4));
    return words;
}

template <typename Record>
void addRecordsOf(const Model& model, const std::vector<std::vector<FeaturePart>>& parts,
                  std::vector<gpu::StageRecord>& stages, PackedModel& packed)
{
    const int constant = endOf(model, model.stages[packed.constant->stages - 1]);
    for (int i = 0; i < 2; ++i)
    {
        Records records = {model, packed.form.shapes[i], parts, {}};
        const PackedNodes<Record> all = records.all<Record>(packed.view.treeShape, stages);
        std::memcpy(packed.constant->records[i], all.records.data(), constant * sizeof(Record));
        packed.records[i] = packed.blob.add(inQuads(all.records));
        packed.terms[i] = packed.blob.add(records.terms);
        if (i == 0) // equal for both steps
        {
            packed.fixedLeaves = packed.blob.add(all.leaves);
            packed.quantisedLeaves = packed.blob.add(all.quantisedLeaves);
        }
    }
    std::copy(stages.begin(), stages.begin() + packed.constant->stages, packed.constant->stage);
}

void addRecords(const Model& model, const std::vector<std::vector<FeaturePart>>& parts,
                std::vector<gpu::StageRecord>& stages, PackedModel& packed)
{
    switch (model.featureType())
    {
    case HAAR:
        return addRecordsOf<gpu::HaarRecord>(model, parts, stages, packed);
    case LBP:
        return addRecordsOf<gpu::LbpRecord>(model, parts, stages, packed);
    }
}

std::vector<gpu::StageRecord> stagesOf(const Model& model)
{
    std::vector<gpu::StageRecord> stages;
    for (const Stage& s : model.stages)
    {
        const Tree* const trees = model.trees.data() + s.firstTree;
        const Tree& first = trees[0];
        const bool same = std::all_of(trees, trees + s.trees, [&](const Tree& t) { return t.nodes == first.nodes; });
        const int nodes = same ? first.nodes : 0;
        stages.push_back(
            {s.firstTree, s.trees, first.firstNode, s.shift, s.fixedThreshold, {}, {}, nodes, s.threshold, 0});
    }
    return stages;
}

} // namespace

std::shared_ptr<const PackedModel> packModel(const Model& model, const detail::SharedLimit& shared)
{
    const std::shared_ptr<PackedModel> p = std::make_shared<PackedModel>();
    std::vector<gpu::StageRecord> stages = stagesOf(model);
    std::vector<std::vector<FeaturePart>> parts;
    p->version = model.version;
    p->constant = std::make_unique<gpu::ConstantStages>();
    if (!beginConstant(model, *p->constant) || !canPair(model, parts) || !choosePairTile(model, shared, *p))
    {
        p->constant.reset();
        p->form = plainForm(model);
        p->half = {};
    }
    p->view = {};
    p->view.featureType = model.featureType();
    p->view.width = model.width;
    p->view.height = model.height;
    p->view.stages = static_cast<int>(model.stages.size());
    p->view.pairs = p->constant != nullptr;
    p->view.largeCells = mostCellPixels(model) > gpu::SMALL_CELL_PIXELS;
    p->view.treeShape = treeShapeOf(model);
    p->view.tilted = model.tilted;
    p->view.leastContrast = model.leastContrast;
    for (gpu::RecordsView& records : p->view.records)
        records.count = static_cast<int>(model.nodes.size());
    p->trees = p->blob.add(model.trees);
    p->subsets = p->blob.add(model.subsets);
    if (p->constant)
        addRecords(model, parts, stages, *p);
    p->stages = p->blob.add(stages);
    if (p->constant)
        return p;
    p->nodes = p->blob.add(model.nodes);
    p->leaves = p->blob.add(model.leaves);
    p->haar = p->blob.add(model.haar);
    p->lbp = p->blob.add(model.lbp);
    return p;
}

gpu::ModelView PackedModel::at(const void* device) const
{
    const uint8_t* const base = static_cast<const uint8_t*>(device);
    gpu::ModelView v = view;
    v.stage = reinterpret_cast<const gpu::StageRecord*>(base + stages);
    v.trees = reinterpret_cast<const Tree*>(base + trees);
    v.subsets = reinterpret_cast<const uint32_t*>(base + subsets);
    for (int i = 0; i < 2 && v.pairs; ++i)
    {
        v.records[i].quads = reinterpret_cast<const uint4*>(base + records[i]);
        v.terms[i] = reinterpret_cast<const gpu::Term*>(base + terms[i]);
    }
    if (v.pairs)
    {
        v.fixedLeaves = reinterpret_cast<const int64_t*>(base + fixedLeaves);
        v.quantisedLeaves = reinterpret_cast<const int*>(base + quantisedLeaves);
        return v;
    }
    v.nodes = reinterpret_cast<const Node*>(base + nodes);
    v.leaves = reinterpret_cast<const float*>(base + leaves);
    v.haar = reinterpret_cast<const HaarFeature*>(base + haar);
    v.lbp = reinterpret_cast<const LbpFeature*>(base + lbp);
    return v;
}

}}} // namespace cv::cuda::cascade

#endif // HAVE_CUDA
