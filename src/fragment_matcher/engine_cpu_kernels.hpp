// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Included by engine_cpu.simd.hpp inside the namespace of one instruction set: the kernels that sum up a term.
//
// A kernel gives the sums of TILE consecutive positions of R consecutive rows. A picture row is loaded at each of four
// phases p; lane l of phase p then holds the four bytes under template word j of position 4 l + p, so that nothing is
// rearranged before the final interleave and a template word is one splat for the whole tile.
namespace {

#if CV_SIMD

const int LANES = VTraits<v_uint32>::max_nlanes;
const int TILE = 4 * LANES;
#if CV_AVX512_SKX || CV_NEON
const int GROUP = 4; // rows at once: 32 registers hold 16 sums, template words and a picture vector
#else
const int GROUP = 2;
#endif

struct DotOp
{
    static v_uint32 add(const v_uint32& sum, const v_uint8& image, const v_uint8& taps, const v_uint8&)
    {
        return v_dotprod_expand(image, taps, sum);
    }
};

struct WeightedSadOp
{
    static v_uint32 add(const v_uint32& sum, const v_uint8& image, const v_uint8& taps, const v_uint8& weights)
    {
        return v_dotprod_expand(v_absdiff(image, taps), weights, sum);
    }
};

inline v_uint8 splatWord(const uint32_t* word) { return v_reinterpret_as_u8(vx_setall_u32(*word)); }

//! One picture row against the template rows that it meets for output rows FIRST..FIRST+COUNT-1.
template <class Op, int FIRST, int COUNT>
CV_ALWAYS_INLINE void addRow(v_uint32 (&sums)[GROUP][4], const uint8_t* image, const uint32_t* taps,
                             const uint32_t* weights, int blocks)
{
    for (int j = 0; j < blocks; ++j)
    {
        const v_uint8 image0 = vx_load(image + 4 * j), image1 = vx_load(image + 4 * j + 1);
        const v_uint8 image2 = vx_load(image + 4 * j + 2), image3 = vx_load(image + 4 * j + 3);
        for (int r = FIRST; r < FIRST + COUNT; ++r) // output row r is r template rows behind
        {
            const ptrdiff_t at = j - static_cast<ptrdiff_t>(r) * blocks;
            const v_uint8 t = splatWord(taps + at), q = splatWord(weights + at);
            sums[r][0] = Op::add(sums[r][0], image0, t, q);
            sums[r][1] = Op::add(sums[r][1], image1, t, q);
            sums[r][2] = Op::add(sums[r][2], image2, t, q);
            sums[r][3] = Op::add(sums[r][3], image3, t, q);
        }
    }
}

//! Each picture row is loaded once for all R output rows that see it.
template <class Op, int R>
void multiplyTile(const Planes& image, const Term& term, const Segment& segment, int firstPlane, uint32_t* out,
                  size_t stride, int height)
{
    v_uint32 sums[GROUP][4];
    for (int r = 0; r < GROUP; ++r)
        for (int p = 0; p < 4; ++p)
            sums[r][p] = vx_setzero_u32();
    const int blocks = term.blocks;
    const uint32_t* const weights = term.weights.empty() ? term.taps.data() : term.weights.data();
    for (int plane = segment.plane; plane < segment.plane + segment.planes; ++plane)
    {
        const size_t base = static_cast<size_t>(plane - firstPlane) * height * blocks;
        for (int i = segment.row0; i < segment.row1 + R - 1; ++i)
        {
            const uint8_t* row = image.pixel(plane, 0, i);
            const uint32_t* t = term.taps.data() + base + static_cast<size_t>(i) * blocks;
            const uint32_t* q = weights + base + static_cast<size_t>(i) * blocks;
            if (i >= segment.row0 + R - 1 && i < segment.row1)
            {
                addRow<Op, 0, R>(sums, row, t, q, blocks);
                continue;
            }
            // The first and last picture rows concern only some output rows.
            const auto meets = [&](int r) { return r < R && i - r >= segment.row0 && i - r < segment.row1; };
            if (meets(0))
                addRow<Op, 0, 1>(sums, row, t, q, blocks);
            if (meets(1))
                addRow<Op, 1 % R, 1>(sums, row, t, q, blocks);
            if (meets(2))
                addRow<Op, 2 % R, 1>(sums, row, t, q, blocks);
            if (meets(3))
                addRow<Op, 3 % R, 1>(sums, row, t, q, blocks);
        }
    }
    const v_uint32 constant = vx_setall_u32(segment.constant);
    for (int r = 0; r < R; ++r)
        v_store_interleave(out + r * stride, v_add(sums[r][0], constant), v_add(sums[r][1], constant),
                           v_add(sums[r][2], constant), v_add(sums[r][3], constant));
}

#else // no vectors of fixed width: plain loops

const int TILE = 1, GROUP = 1;

struct DotOp
{
    static uint32_t add(uint32_t image, uint32_t t, uint32_t) { return image * t; }
};

struct WeightedSadOp
{
    static uint32_t add(uint32_t image, uint32_t t, uint32_t q) { return q * (image > t ? image - t : t - image); }
};

template <class Op, int R>
void multiplyTile(const Planes& image, const Term& term, const Segment& segment, int firstPlane, uint32_t* out, size_t,
                  int height)
{
    const int bytes = 4 * term.blocks;
    const std::vector<uint32_t>& weights = term.weights.empty() ? term.taps : term.weights;
    uint32_t sum = segment.constant;
    for (int plane = segment.plane; plane < segment.plane + segment.planes; ++plane)
        for (int i = segment.row0; i < segment.row1; ++i)
        {
            const size_t at = (static_cast<size_t>(plane - firstPlane) * height + i) * term.blocks;
            const uint8_t* t = reinterpret_cast<const uint8_t*>(&term.taps[at]);
            const uint8_t* q = reinterpret_cast<const uint8_t*>(&weights[at]);
            const uint8_t* row = image.pixel(plane, 0, i);
            for (int x = 0; x < bytes; ++x)
                sum += Op::add(row[x], t[x], q[x]);
        }
    *out = sum;
}

#endif

} // namespace
