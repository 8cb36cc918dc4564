// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// The loops of src/cpu/cascade/classify.simd.hpp for processors without vectors of doubles. That file includes this one
// within its namespace.

int lanes() { return 1; }

void blendRows(const uint8_t* row, const int* index, const int16_t* weights, int count, int* out)
{
    for (int x = 0; x < count; ++x)
        out[x] = static_cast<int>(blendRow(row[index[x]], row[index[x] + 1], weights[2 * x + 1]));
}

void mixRows(const int* upper, const int* lower, int weight, int count, uint8_t* out)
{
    for (int x = 0; x < count; ++x)
        out[x] = static_cast<uint8_t>(cascade::blendRows(upper[x], lower[x], weight));
}

void contrastRow(const int* sums, const int* squares, const int* corners, int area, int64_t least, int vectors,
                 float* norms, uint64_t* with)
{
    const auto rectangle = [&](const int* table, int i)
    {
        return static_cast<uint32_t>(table[corners[0] + i]) - static_cast<uint32_t>(table[corners[1] + i]) -
               static_cast<uint32_t>(table[corners[2] + i]) + static_cast<uint32_t>(table[corners[3] + i]);
    };
    for (int i = 0; i < vectors; ++i)
    {
        const int64_t contrast = contrastOf(rectangle(sums, i), rectangle(squares, i), area);
        norms[i] = contrast >= least ? normOf(contrast) : 1.f;
        with[i / 64] |= static_cast<uint64_t>(contrast >= least) << (i % 64);
    }
}

namespace {

bool goesLeftAt(const Windows& w, int n, int window, float norm)
{
    const Model& model = *w.prepared->model;
    const Node& node = model.nodes[n];
    const Corners& corners = w.prepared->features[node.feature];
    const int* const table = corners.tilted ? w.tilted : w.sums;
    const int* offset = w.offsets + corners.first; // haarValue() and lbpCode() read corners in this order, unless exact
    const auto at = [&](int, int) { return static_cast<uint32_t>(table[window + *offset++]); };
    switch (model.featureType())
    {
    case HAAR:
        if (corners.exact)
        {
            uint32_t sum = 0;
            for (int k = corners.first; k < corners.first + corners.count; ++k)
                sum += static_cast<uint32_t>(w.prepared->weights[k]) * at(0, 0);
            return haarGoesLeft(static_cast<float>(static_cast<int32_t>(sum)), norm, node.threshold);
        }
        return haarGoesLeft(haarValue(model.haar[node.feature], at), norm, node.threshold);
    case LBP:
        return lbpGoesLeft(model.subsets.data() + static_cast<size_t>(n) * SUBSET_WORDS,
                           lbpCode(model.lbp[node.feature], at));
    }
    return false;
}

} // namespace

void evaluate(const Windows& w, const Stage& stage)
{
    const Model& model = *w.prepared->model;
    for (int v = 0; v < w.vectors; ++v)
    {
        const int place = w.windows ? v : w.groups[v], window = w.windows ? w.windows[v] : place;
        double sum = 0.;
        for (int t = stage.firstTree; t < stage.firstTree + stage.trees; ++t)
        {
            int n = model.trees[t].firstNode;
            while (n >= 0)
                n = goesLeftAt(w, n, window, w.norms[place]) ? model.nodes[n].left : model.nodes[n].right;
            sum += model.leaves[~n];
        }
        w.leafSums[place] = sum;
    }
}

void failedBits(const double* sums, int vectors, double threshold, uint64_t* failed)
{
    for (int i = 0; i < vectors; ++i)
        failed[i / 64] |= static_cast<uint64_t>(sums[i] < threshold) << (i % 64);
}
