// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Vector loops of the CPU backend, compiled once per instruction set.
#include "../../common/vectors.hpp"
#include "classify.hpp"

namespace cv { namespace cuda { namespace cascade { namespace cpu {
CV_CPU_OPTIMIZATION_NAMESPACE_BEGIN

//! Returns the number of windows per vector.
int lanes();
//! Applies blendRow() to `count` pixels and writes whole vectors. @param index,weights taps; row[index + 1] exists.
void blendRows(const uint8_t* row, const int* index, const int16_t* weights, int count, int* out);
//! Applies blendRows() of core.hpp to `count` pixels and writes whole vectors.
void mixRows(const int* upper, const int* lower, int weight, int count, uint8_t* out);
/** Computes the norms of `vectors` vectors of neighbouring windows. @param corners offsets of the contrast rectangle.
@param with out: bit k % 64 of word k / 64 is set if window k has contrast. */
void contrastRow(const int* sums, const int* squares, const int* corners, int area, int64_t least, int vectors,
                 float* norms, uint64_t* with);
//! Adds up the leaves of one stage for all windows.
void evaluate(const Windows& windows, const Stage& stage);
//! Sets the bits of windows with sums below the threshold, for `vectors` vectors of neighbouring windows.
void failedBits(const double* sums, int vectors, double threshold, uint64_t* failed);

#ifndef CV_CPU_OPTIMIZATION_DECLARATIONS_ONLY

namespace {

using detail::CV_CPU_OPTIMIZATION_NAMESPACE::doubleOf;

const int MOST_LANES = 64;
inline int laneCount() { return VTraits<v_int32>::vlanes(); }

//! Loads one corner for a vector of neighbouring windows.
struct Dense
{
    static v_int32 at(const Windows&, const int* table, int offset, int place)
    {
        return vx_load(table + offset + place);
    }
    static int place(const Windows& w, int vector) { return w.groups[vector]; }
};
//! Gathers one corner for a vector of listed windows.
struct Sparse
{
    static v_int32 at(const Windows& w, const int* table, int offset, int place)
    {
        return vx_lut(table + offset, w.windows + place);
    }
    static int place(const Windows&, int vector) { return vector * laneCount(); }
};

inline void addLeaves(double* sums, const v_float32& leaves)
{
    v_store(sums, v_add(vx_load(sums), v_cvt_f64(leaves)));
    double* const high = sums + laneCount() / 2;
    v_store(high, v_add(vx_load(high), v_cvt_f64_high(leaves)));
}

// --- Haar ------------------------------------------------------------------------------------------------------------

//! Adds up the corners of a feature in one of the patterns, except ANY.
template <typename Lanes, CornerPattern PATTERN>
inline v_int32 patternValue(const Windows& w, const int* table, const int* offsets, const v_int32& factor, int place)
{
    const auto at = [&](int k) { return Lanes::at(w, table, offsets[k], place); };
    if constexpr (PATTERN == CornerPattern::NINE)
    {
        const v_int32 outer = v_add(v_add(at(0), at(1)), v_add(at(2), at(3)));
        const v_int32 inner = v_sub(v_add(v_add(at(4), at(5)), v_add(at(6), at(7))), v_shl<1>(at(8)));
        return v_mul(factor, v_sub(outer, v_shl<1>(inner)));
    }
    else
    {
        const v_int32 first = v_sub(v_add(at(0), at(1)), v_add(at(2), at(3)));
        const v_int32 second =
            PATTERN == CornerPattern::SIX ? v_sub(at(4), at(5)) : v_sub(v_add(at(4), at(5)), v_add(at(6), at(7)));
        return v_add(first, v_mul(factor, second));
    }
}

//! Adds the leaves of one stump, whose feature has a pattern, for all vectors.
template <typename Lanes, CornerPattern PATTERN> void stumpOf(const Windows& w, const Corners& f, const Node& node)
{
    const Model& model = *w.prepared->model;
    const int* const table = f.tilted ? w.tilted : w.sums;
    const int* const offsets = w.offsets + f.first;
    const v_int32 factor = vx_setall_s32(f.factor);
    const v_float32 threshold = vx_setall_f32(node.threshold);
    const v_float32 left = vx_setall_f32(model.leaves[~node.left]), right = vx_setall_f32(model.leaves[~node.right]);
    for (int v = 0; v < w.vectors; ++v)
    {
        const int place = Lanes::place(w, v);
        const v_float32 value = v_cvt_f32(patternValue<Lanes, PATTERN>(w, table, offsets, factor, place));
        const v_float32 goesLeft = v_lt(v_mul(value, vx_load(w.norms + place)), threshold);
        addLeaves(w.leafSums + place, v_select(goesLeft, left, right));
    }
}

//! Computes the value of any Haar feature, before it is multiplied with the norm.
template <typename Lanes> v_float32 haarValueOf(const Windows& w, int feature, int place)
{
    const Corners& f = w.prepared->features[feature];
    const int* const table = f.tilted ? w.tilted : w.sums;
    const int* const offsets = w.offsets + f.first;
    switch (f.pattern)
    {
    case CornerPattern::SIX:
        return v_cvt_f32(patternValue<Lanes, CornerPattern::SIX>(w, table, offsets, vx_setall_s32(f.factor), place));
    case CornerPattern::EIGHT:
        return v_cvt_f32(patternValue<Lanes, CornerPattern::EIGHT>(w, table, offsets, vx_setall_s32(f.factor), place));
    case CornerPattern::NINE:
        return v_cvt_f32(patternValue<Lanes, CornerPattern::NINE>(w, table, offsets, vx_setall_s32(f.factor), place));
    case CornerPattern::ANY:
        break;
    }
    if (f.exact)
    {
        v_int32 sum = vx_setzero_s32();
        for (int k = 0; k < f.count; ++k)
            sum = v_add(sum,
                        v_mul(Lanes::at(w, table, offsets[k], place), vx_setall_s32(w.prepared->weights[f.first + k])));
        return v_cvt_f32(sum);
    }
    const HaarFeature& haar = w.prepared->model->haar[feature];
    v_float32 value = vx_setzero_f32();
    for (int i = 0; i < haar.rectangles; ++i)
    {
        const int* const o = offsets + 4 * i;
        const v_int32 sum = v_add(v_sub(v_sub(Lanes::at(w, table, o[0], place), Lanes::at(w, table, o[1], place)),
                                        Lanes::at(w, table, o[2], place)),
                                  Lanes::at(w, table, o[3], place));
        const v_float32 part = v_mul(vx_setall_f32(haar.weight[i]), v_cvt_f32(sum));
        value = i == 0 ? part : v_add(value, part);
    }
    return value;
}

template <typename Lanes> v_int32 haarLeft(const Windows& w, const Node& node, int, int place)
{
    const v_float32 value = v_mul(haarValueOf<Lanes>(w, node.feature, place), vx_load(w.norms + place));
    return v_reinterpret_as_s32(v_lt(value, vx_setall_f32(node.threshold)));
}

// --- LBP -------------------------------------------------------------------------------------------------------------

//! Computes the three horizontal differences of one row of four corners.
template <typename Lanes>
inline void lbpRow(const Windows& w, const int* offsets, int place, v_int32& a, v_int32& b, v_int32& c)
{
    const v_int32 p0 = Lanes::at(w, w.sums, offsets[0], place), p1 = Lanes::at(w, w.sums, offsets[1], place);
    const v_int32 p2 = Lanes::at(w, w.sums, offsets[2], place), p3 = Lanes::at(w, w.sums, offsets[3], place);
    a = v_sub(p0, p1);
    b = v_sub(p1, p2);
    c = v_sub(p2, p3);
}

template <typename Lanes> v_int32 lbpLeft(const Windows& w, const Node& node, int index, int place)
{
    const int* const o = w.offsets + w.prepared->features[node.feature].first;
    v_int32 a[4], b[4], c[4];
    for (int j = 0; j < 4; ++j)
        lbpRow<Lanes>(w, o + 4 * j, place, a[j], b[j], c[j]);
    const v_int32 centre = v_sub(b[1], b[2]);
    const auto bit = [&](const v_int32* column, int j, int value)
    { return v_and(v_ge(v_sub(column[j], column[j + 1]), centre), vx_setall_s32(value)); };
    const v_int32 upper = v_or(v_or(bit(a, 0, 128), bit(b, 0, 64)), v_or(bit(c, 0, 32), bit(c, 1, 16)));
    const v_int32 lower = v_or(v_or(bit(c, 2, 8), bit(b, 2, 4)), v_or(bit(a, 2, 2), bit(a, 1, 1)));
    const v_int32 code = v_or(upper, lower);
    int CV_DECL_ALIGNED(64) word[MOST_LANES];
    v_store(word, v_shr<4>(code));
    // The bits of the float 2^k hold k + 127 in front of 23 bits of the fraction.
    const v_int32 exponent = v_add(v_and(code, vx_setall_s32(15)), vx_setall_s32(127));
    const v_int32 power = v_trunc(v_reinterpret_as_f32(v_shl<23>(exponent)));
    const int* const subset = w.prepared->subsets.data() + static_cast<size_t>(index) * HALF_WORDS;
    const v_int32 in = v_and(vx_lut(subset, word), power);
    return v_ne(in, vx_setzero_s32());
}

// --- trees -----------------------------------------------------------------------------------------------------------

typedef v_int32 (*GoesLeft)(const Windows& w, const Node& node, int index, int place);

template <typename Lanes, GoesLeft goesLeft> void stump(const Windows& w, const Tree& tree)
{
    const Model& model = *w.prepared->model;
    const Node& node = model.nodes[tree.firstNode];
    const v_float32 left = vx_setall_f32(model.leaves[~node.left]), right = vx_setall_f32(model.leaves[~node.right]);
    for (int v = 0; v < w.vectors; ++v)
    {
        const int place = Lanes::place(w, v);
        const v_float32 mask = v_reinterpret_as_f32(goesLeft(w, node, tree.firstNode, place));
        addLeaves(w.leafSums + place, v_select(mask, left, right));
    }
}

//! Adds the leaves of a tree. A node is evaluated if any window of the vector reaches it: trees are small.
template <typename Lanes, GoesLeft goesLeft> void wholeTree(const Windows& w, const Tree& tree)
{
    const Model& model = *w.prepared->model;
    for (int v = 0; v < w.vectors; ++v)
    {
        const int place = Lanes::place(w, v);
        v_int32 at = vx_setall_s32(tree.firstNode);
        for (int n = tree.firstNode; n < tree.firstNode + tree.nodes; ++n)
        {
            const v_int32 here = v_eq(at, vx_setall_s32(n));
            if (!v_check_any(here))
                continue;
            const Node& node = model.nodes[n];
            const v_int32 next =
                v_select(goesLeft(w, node, n, place), vx_setall_s32(node.left), vx_setall_s32(node.right));
            at = v_select(here, next, at);
        }
        int CV_DECL_ALIGNED(64) leaf[MOST_LANES];
        v_store(leaf, v_not(at));
        addLeaves(w.leafSums + place, vx_lut(model.leaves.data(), leaf));
    }
}

template <typename Lanes> void haarTree(const Windows& w, const Tree& tree)
{
    if (tree.nodes > 1)
        return wholeTree<Lanes, haarLeft<Lanes>>(w, tree);
    const Node& node = w.prepared->model->nodes[tree.firstNode];
    const Corners& f = w.prepared->features[node.feature];
    switch (f.pattern)
    {
    case CornerPattern::SIX:
        return stumpOf<Lanes, CornerPattern::SIX>(w, f, node);
    case CornerPattern::EIGHT:
        return stumpOf<Lanes, CornerPattern::EIGHT>(w, f, node);
    case CornerPattern::NINE:
        return stumpOf<Lanes, CornerPattern::NINE>(w, f, node);
    case CornerPattern::ANY:
        return stump<Lanes, haarLeft<Lanes>>(w, tree);
    }
}

template <typename Lanes> void lbpTree(const Windows& w, const Tree& tree)
{
    if (tree.nodes == 1)
        stump<Lanes, lbpLeft<Lanes>>(w, tree);
    else
        wholeTree<Lanes, lbpLeft<Lanes>>(w, tree);
}

template <typename Lanes> void evaluateOn(const Windows& w, const Stage& stage)
{
    const Model& model = *w.prepared->model;
    for (int v = 0; v < w.vectors; ++v)
    {
        double* const sums = w.leafSums + Lanes::place(w, v);
        v_store(sums, vx_setzero_f64());
        v_store(sums + laneCount() / 2, vx_setzero_f64());
    }
    for (int t = stage.firstTree; t < stage.firstTree + stage.trees; ++t)
    {
        const Tree& tree = model.trees[t];
        switch (model.featureType())
        {
        case HAAR:
            haarTree<Lanes>(w, tree);
            break;
        case LBP:
            lbpTree<Lanes>(w, tree);
            break;
        }
    }
}

inline v_int32 rectangleOf(const int* table, const int* corners, int place)
{
    return v_add(v_sub(v_sub(vx_load(table + corners[0] + place), vx_load(table + corners[1] + place)),
                       vx_load(table + corners[2] + place)),
                 vx_load(table + corners[3] + place));
}

} // namespace

int lanes() { return laneCount(); }

void blendRows(const uint8_t* row, const int* index, const int16_t* weights, int count, int* out)
{
    const int step = laneCount();
    for (int x = 0; x < count; x += 2 * step)
    {
        v_uint16 low, high;
        v_expand(vx_lut_pairs(row, index + x), low, high);
        v_store(out + x, v_dotprod(v_reinterpret_as_s16(low), vx_load(weights + 2 * x)));
        v_store(out + x + step, v_dotprod(v_reinterpret_as_s16(high), vx_load(weights + 2 * (x + step))));
    }
}

void mixRows(const int* upper, const int* lower, int weight, int count, uint8_t* out)
{
    const int step = laneCount();
    const v_int32 second = vx_setall_s32(weight), first = vx_setall_s32(256 - weight), half = vx_setall_s32(32768);
    for (int x = 0; x < count; x += step)
    {
        const v_int32 sum = v_add(v_add(v_mul(vx_load(upper + x), first), v_mul(vx_load(lower + x), second)), half);
        const v_int32 value = v_shr<16>(sum);
        const v_int16 words = v_pack(value, value);
        v_pack_store(out + x, v_reinterpret_as_u16(words));
    }
}

void contrastRow(const int* sums, const int* squares, const int* corners, int area, int64_t least, int vectors,
                 float* norms, uint64_t* with)
{
    const v_float64 size = vx_setall_f64(area), one = vx_setall_f64(1.),
                    bound = vx_setall_f64(static_cast<double>(least));
    const int step = laneCount();
    for (int v = 0; v < vectors; ++v)
    {
        const int place = v * step;
        const v_int32 sum = rectangleOf(sums, corners, place);
        v_uint64 low, high;
        v_expand(v_reinterpret_as_u32(rectangleOf(squares, corners, place)), low, high);
        // OpenCV converts integers to double through float on NEON.
        static_assert(MAX_WINDOW * MAX_WINDOW * 255 <= 1 << 24, "a sum of pixels has to be exact in float");
        const v_float64 s0 = v_cvt_f64(sum), s1 = v_cvt_f64_high(sum);
        // Values up to 2^49 are exact in double precision, as contrastOf() is in 64 bits.
        const v_float64 c0 = v_sub(v_mul(size, doubleOf(low)), v_mul(s0, s0));
        const v_float64 c1 = v_sub(v_mul(size, doubleOf(high)), v_mul(s1, s1));
        const v_float64 in0 = v_ge(c0, bound), in1 = v_ge(c1, bound);
        const v_float64 n0 = v_div(one, v_sqrt(v_select(in0, c0, one)));
        const v_float64 n1 = v_div(one, v_sqrt(v_select(in1, c1, one)));
        v_store(norms + place, v_cvt_f32(n0, n1));
        const uint64_t bits = static_cast<uint64_t>(v_signmask(in0)) | static_cast<uint64_t>(v_signmask(in1))
                                                                           << (step / 2);
        with[place / 64] |= bits << (place % 64);
    }
}

void evaluate(const Windows& windows, const Stage& stage)
{
    if (windows.windows)
        evaluateOn<Sparse>(windows, stage);
    else
        evaluateOn<Dense>(windows, stage);
}

void failedBits(const double* sums, int vectors, double threshold, uint64_t* failed)
{
    const v_float64 bound = vx_setall_f64(threshold);
    const int step = laneCount() / 2;
    for (int v = 0; v < 2 * vectors; ++v)
    {
        const uint64_t bits = static_cast<uint64_t>(v_signmask(v_lt(vx_load(sums + v * step), bound)));
        failed[v * step / 64] |= bits << (v * step % 64);
    }
}

#endif // CV_CPU_OPTIMIZATION_DECLARATIONS_ONLY

CV_CPU_OPTIMIZATION_NAMESPACE_END
}}}} // namespace cv::cuda::cascade::cpu
