// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Random cascades whose stages pass about half of an image's windows, and files of them in both formats.
#ifndef OPENCV_CUDATRACKING_TEST_CASCADE_GENERATE_HPP
#define OPENCV_CUDATRACKING_TEST_CASCADE_GENERATE_HPP

#include "oracle.hpp"

namespace opencv_test {

class CascadeGenerator
{
public:
    CascadeGenerator(uint64 seed, const Mat& image) : rng_(seed), gray_(oracleGray(image)) {}

    //! Makes a cascade. @param window empty: any size.
    OracleCascade make(Size window = Size())
    {
        OracleCascade c;
        c.haar = rng_.uniform(0, 3) > 0;
        c.window = uniform(rng_, Size(6, 6), Size(30, 30));
        if (!window.empty())
            c.window = window;
        const bool odd = rng_.uniform(0, 3) == 0; // fractional weights
        const int features = rng_.uniform(3, 25), stages = rng_.uniform(0, 4) == 0 ? 1 : rng_.uniform(1, 7);
        for (int i = 0; i < features; ++i)
            c.features.push_back(c.haar ? haarFeature(c.window, odd) : lbpFeature(c.window));
        const int nodes = rng_.uniform(0, 2) ? 1 : rng_.uniform(2, 6);
        const bool coarse = rng_.uniform(0, 2) != 0;
        for (int s = 0; s < stages; ++s)
            c.stages.push_back(stage(c, rng_.uniform(1, 9), nodes, coarse));
        return c;
    }

private:
    OracleFeature haarFeature(Size w, bool odd)
    {
        OracleFeature f = {{}, {}, rng_.uniform(0, 3) == 0};
        const int count = rng_.uniform(2, 4);
        for (int i = 0; i < count; ++i)
        {
            Rect r;
            do
            {
                const Size size = uniform(rng_, Size(1, 1), w);
                r = Rect(uniform(rng_, Point(), Point(w)), size);
            }
            while (f.tilted ? r.x - r.height < 0 || r.x + r.width > w.width || r.y + r.width + r.height > w.height
                            : r.x + r.width > w.width || r.y + r.height > w.height);
            f.rects.push_back(r);
            f.weights.push_back(odd ? rng_.uniform(-3.f, 3.f) : float(rng_.uniform(1, 4) * (i == 0 ? -1 : 1)));
        }
        return f;
    }
    OracleFeature lbpFeature(Size w)
    {
        const Size cell = uniform(rng_, Size(1, 1), Size(w.width / 3 + 1, w.height / 3 + 1));
        return {
            {Rect(uniform(rng_, Point(), Point(w.width - 3 * cell.width + 1, w.height - 3 * cell.height + 1)), cell)},
            {},
            false};
    }

    OracleTree tree(const OracleCascade& c, OracleLayer& layer, int nodes, bool coarse)
    {
        OracleTree t;
        int leaves = 0, next = 1; // next: first node without a parent; trees have any shape
        for (int n = 0; n < nodes; ++n)
        {
            OracleNode node = {0, 0, rng_.uniform(0, int(c.features.size())), 0.f, {}};
            const bool must = next == n + 1 && next < nodes; // otherwise nodes would be left over
            const bool leftGoesOn = next < nodes && (must || rng_.uniform(0, 2));
            node.left = leftGoesOn ? next++ : -leaves++;
            node.right = next < nodes && rng_.uniform(0, 2) ? next++ : -leaves++;
            for (int k = 0; k < 8; ++k)
                node.subset.push_back(unsigned(rng_));
            layer.setWindow(somewhere(c, layer));
            node.threshold = c.haar ? layer.haar(c.features[node.feature]) : 0.f;
            t.nodes.push_back(node);
        }
        for (int k = 0; k <= nodes; ++k)
        {
            const float leaf = coarse ? rng_.uniform(-64, 65) / 64.f : rng_.uniform(-1.f, 1.f);
            t.leaves.push_back(coarse ? leaf : leaf * std::pow(10.f, rng_.uniform(-9.f, 3.f)));
        }
        return t;
    }
    OracleStage stage(const OracleCascade& c, int trees, int nodes, bool coarse)
    {
        OracleLayer layer(c, gray_, gray_.size());
        OracleStage s = {0.f, {}};
        for (int t = 0; t < trees; ++t)
            s.trees.push_back(tree(c, layer, nodes == 1 ? 1 : rng_.uniform(1, nodes + 1), coarse));
        std::vector<double> sums;
        for (int i = 0; i < 40; ++i)
        {
            layer.setWindow(somewhere(c, layer));
            sums.push_back(layer.stageSum(s));
        }
        std::sort(sums.begin(), sums.end());
        s.threshold = float(sums[18]);
        return s;
    }
    Point somewhere(const OracleCascade& c, const OracleLayer& layer)
    {
        return uniform(rng_, Point(),
                       Point(layer.size().width - c.window.width + 1, layer.size().height - c.window.height + 1));
    }

    RNG rng_;
    Mat gray_;
};

//! Returns the cascade enlarged to larger windows.
inline OracleCascade enlarged(OracleCascade c, int times)
{
    c.window *= times;
    for (OracleFeature& feature : c.features)
        for (Rect& r : feature.rects)
            r = Rect(r.tl() * times, r.size() * times);
    return c;
}

//! Writes a cascade in the new format.
inline void writeFeature(FileStorage& fs, const OracleFeature& f, bool haar)
{
    fs << "{" << (haar ? "rects" : "rect");
    fs << (haar ? "[" : "[:");
    for (size_t i = 0; i < f.rects.size(); ++i)
    {
        if (haar)
            fs << "[:";
        fs << f.rects[i].x << f.rects[i].y << f.rects[i].width << f.rects[i].height;
        if (haar)
            fs << f.weights[i] << "]";
    }
    fs << "]";
    if (haar)
        fs << "tilted" << int(f.tilted);
    fs << "}";
}

inline void writeNewCascade(FileStorage& fs, const OracleCascade& c)
{
    fs << "cascade"
       << "{"
       << "stageType"
       << "BOOST"
       << "featureType" << (c.haar ? "HAAR" : "LBP");
    fs << "height" << c.window.height << "width" << c.window.width << "featureParams"
       << "{"
       << "maxCatCount" << (c.haar ? 0 : 256) << "}";
    fs << "stageNum" << int(c.stages.size()) << "stages"
       << "[";
    for (const OracleStage& stage : c.stages)
    {
        fs << "{"
           << "maxWeakCount" << int(stage.trees.size()) << "stageThreshold" << stage.threshold << "weakClassifiers"
           << "[";
        for (const OracleTree& tree : stage.trees)
        {
            fs << "{"
               << "internalNodes"
               << "[:";
            for (const OracleNode& node : tree.nodes)
            {
                fs << node.left << node.right << node.feature;
                if (c.haar)
                    fs << node.threshold;
                for (size_t k = 0; !c.haar && k < node.subset.size(); ++k)
                    fs << int(node.subset[k]);
            }
            fs << "]"
               << "leafValues"
               << "[:";
            for (float leaf : tree.leaves)
                fs << leaf;
            fs << "]"
               << "}";
        }
        fs << "]"
           << "}";
    }
    fs << "]"
       << "features"
       << "[";
    for (const OracleFeature& f : c.features)
        writeFeature(fs, f, c.haar);
    fs << "]"
       << "}";
}

//! Writes a cascade in the old format; its readers number leaves in the order of nodes.
inline void writeOldCascade(FileStorage& fs, const OracleCascade& c)
{
    fs << "cascade"
       << "{"
       << "size"
       << "[:" << c.window.width << c.window.height << "]"
       << "stages"
       << "[";
    for (const OracleStage& stage : c.stages)
    {
        fs << "{"
           << "trees"
           << "[";
        for (const OracleTree& tree : stage.trees)
        {
            fs << "[";
            for (const OracleNode& node : tree.nodes)
            {
                const OracleFeature& f = c.features[node.feature];
                fs << "{"
                   << "feature"
                   << "{"
                   << "rects"
                   << "[";
                for (size_t i = 0; i < f.rects.size(); ++i)
                    fs << "[:" << f.rects[i].x << f.rects[i].y << f.rects[i].width << f.rects[i].height << f.weights[i]
                       << "]";
                fs << "]"
                   << "tilted" << int(f.tilted) << "}"
                   << "threshold" << node.threshold;
                if (node.left > 0)
                    fs << "left_node" << node.left;
                else
                    fs << "left_val" << tree.leaves[-node.left];
                if (node.right > 0)
                    fs << "right_node" << node.right;
                else
                    fs << "right_val" << tree.leaves[-node.right];
                fs << "}";
            }
            fs << "]";
        }
        fs << "]"
           << "stage_threshold" << stage.threshold << "parent" << -1 << "next" << -1 << "}";
    }
    fs << "]"
       << "}";
}

//! Writes a node of a file into another one.
inline void copyNode(FileStorage& fs, const FileNode& node)
{
    if (node.isInt())
        fs << static_cast<int>(node);
    else if (node.isReal())
        fs << static_cast<double>(node);
    else if (node.isString())
        fs << static_cast<std::string>(node);
    else
    {
        fs << (node.isMap() ? "{" : "[");
        for (const FileNode& child : node)
        {
            if (node.isMap())
                fs << child.name();
            copyNode(fs, child);
        }
        fs << (node.isMap() ? "}" : "]");
    }
}

//! Returns the XML of a text in YAML, which is easier to read and to edit.
inline std::string xmlOf(const std::string& yaml)
{
    const FileStorage in(yaml, FileStorage::READ | FileStorage::MEMORY);
    FileStorage out(".xml", FileStorage::WRITE | FileStorage::MEMORY);
    const FileNode node = in.getFirstTopLevelNode();
    out << node.name();
    copyNode(out, node);
    return out.releaseAndGetString();
}

//! @param extension ".xml", or ".yml" for a text that is edited.
inline std::string cascadeText(const OracleCascade& c, const std::string& extension, bool old = false)
{
    FileStorage fs(extension, FileStorage::WRITE | FileStorage::MEMORY);
    if (old)
        writeOldCascade(fs, c);
    else
        writeNewCascade(fs, c);
    return fs.releaseAndGetString();
}

inline Ptr<cuda::CascadeClassifierEx> cascadeOf(const std::string& text)
{
    const Ptr<cuda::CascadeClassifierEx> cascade = cuda::CascadeClassifierEx::create();
    cascade->loadBuffer(asRow(text));
    return cascade;
}
inline Ptr<cuda::CascadeClassifierEx> cascadeOf(const OracleCascade& c, const std::string& extension = ".xml")
{
    return cascadeOf(cascadeText(c, extension));
}

//! Tables of detectAsync() on the host.
struct CascadeTables
{
    Mat objects, counts, weights;
};

//! Runs detectAsync() on a list of Mat or GpuMat.
template <typename Array>
CascadeTables tablesOf(cuda::CascadeClassifierEx& cascade, const std::vector<Array>& images,
                       const std::vector<Array>& masks = {})
{
    CascadeTables t;
    cascade.detectAsync(images, t.objects, t.counts, t.weights, masks);
    return t;
}

inline ::testing::AssertionResult sameTables(const CascadeTables& expected, const CascadeTables& actual)
{
    for (Mat CascadeTables::*table : {&CascadeTables::objects, &CascadeTables::counts, &CascadeTables::weights})
        if (const ::testing::AssertionResult same = sameBits(expected.*table, actual.*table); !same)
            return same;
    return ::testing::AssertionSuccess();
}

} // namespace opencv_test

#endif // OPENCV_CUDATRACKING_TEST_CASCADE_GENERATE_HPP
