// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Vector loops for narrow models (see NarrowModel), compiled once per instruction set. A vector is made of octets:
// eight neighbouring windows, whose corners one load of 128 bits gets, wherever the octets are.
#include "../../common/vectors.hpp"
#include "classify.hpp"
#include <algorithm>

namespace cv { namespace cuda { namespace cascade { namespace cpu {
CV_CPU_OPTIMIZATION_NAMESPACE_BEGIN

//! Returns the number of octets per vector.
int vectorOctets();
//! Drops windows that fail a stage.
void evaluateNarrow(const Octets& octets, const NarrowModel& model, const NarrowStage& stage);
/** Computes the next row of an integral image modulo 2^16 from the row above. @param half index of the first odd column
if even and odd columns are stored apart; 0: they are not. */
void addNarrow(const uint8_t* pixels, int cols, int half, const uint16_t* above, uint16_t* sums);

#ifndef CV_CPU_OPTIMIZATION_DECLARATIONS_ONLY

namespace {

const int WINDOWS = VTraits<v_uint8>::max_nlanes, OCTETS = WINDOWS / 8; //!< per vector of bytes: twice those of 16 bits

//! Loads a corner for the windows of half a vector. @param rows the octets' rows of the integral image; one is enough
//! for neighbours.
template <bool NEIGHBOURS> inline v_uint16 cornersOf(const uint16_t* const* rows, ptrdiff_t column)
{
    if (NEIGHBOURS)
        return vx_load(rows[0] + column);
#if CV_SIMD512
    const v_uint16x16 low = v256_load_halves(rows[0] + column, rows[1] + column);
    const v_uint16x16 high = v256_load_halves(rows[2] + column, rows[3] + column);
    return v_uint16(_v512_combine(low.val, high.val));
#elif CV_SIMD256
    return vx_load_halves(rows[0] + column, rows[1] + column);
#else
    return vx_load(rows[0] + column);
#endif
}

//! Returns whether the octets of half a vector are neighbours.
inline bool areNeighbours(const int* places)
{
    bool all = true;
    for (int k = 1; k < OCTETS / 2; ++k)
        all &= places[k] == places[0] + 8 * k;
    return all;
}

//! Calls visit(i) for each bit i that is set.
template <typename Visit> inline void each(uint64_t bits, const Visit& visit)
{
    for (int first = 0; first < WINDOWS; first += 32)
        for (unsigned part = static_cast<unsigned>(bits >> first); part; part &= part - 1)
            visit(first + static_cast<int>(trailingZeros32(part)));
}

// Bytes of vectors are in the order of packed(), until inOrder() sorts them.
#if CV_SIMD512

// Intrinsics with masks of ones make the same instructions as those without, about which GCC 12 warns.

//! Packs two vectors into bytes that are 0 where the 16 bits are.
inline v_uint8 packed(const v_uint16& low, const v_uint16& high)
{
    return v_uint8(_mm512_packs_epi16(low.val, high.val));
}
inline v_uint8 inOrder(const v_uint8& a)
{
    return v_uint8(_mm512_maskz_permutexvar_epi64(0xff, _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), a.val));
}
//! Appends a bit to each code: whether the byte is 0.
inline v_uint8 append(const v_uint8& code, const v_uint8& byte)
{
    const __m512i twice = _mm512_add_epi8(code.val, code.val);
    const __mmask64 zero = _mm512_testn_epi8_mask(byte.val, byte.val);
    return v_uint8(_mm512_mask_sub_epi8(twice, zero, twice, _mm512_set1_epi8(-1)));
}
//! Returns a value other than 0 for codes that are in the set. @param alive windows whose codes count.
inline v_uint8 contains(const uint8_t* set, const v_uint8& code, uint64_t)
{
    const __m512i nibble = _mm512_set1_epi8(15), bits = _mm512_set1_epi64(static_cast<int64_t>(0x8040201008040201ull));
    const __m512i low = _mm512_maskz_broadcast_i32x4(0xffff, _mm_loadu_si128(reinterpret_cast<const __m128i*>(set)));
    const __m512i high =
        _mm512_maskz_broadcast_i32x4(0xffff, _mm_loadu_si128(reinterpret_cast<const __m128i*>(set + 16)));
    const __m512i index = _mm512_and_si512(_mm512_srli_epi16(code.val, 3), nibble);
    const __m512i byte =
        _mm512_mask_shuffle_epi8(_mm512_shuffle_epi8(low, index), _mm512_movepi8_mask(code.val), high, index);
    return v_uint8(_mm512_and_si512(byte, _mm512_shuffle_epi8(bits, _mm512_and_si512(code.val, nibble))));
}

#elif CV_AVX2

inline v_uint8 packed(const v_uint16& low, const v_uint16& high)
{
    return v_uint8(_mm256_packs_epi16(low.val, high.val));
}
inline v_uint8 inOrder(const v_uint8& a) { return v_uint8(_mm256_permute4x64_epi64(a.val, 0xd8)); }
inline v_uint8 append(const v_uint8& code, const v_uint8& byte)
{
    return v_uint8(
        _mm256_sub_epi8(_mm256_add_epi8(code.val, code.val), _mm256_cmpeq_epi8(byte.val, _mm256_setzero_si256())));
}
inline v_uint8 contains(const uint8_t* set, const v_uint8& code, uint64_t)
{
    const __m256i nibble = _mm256_set1_epi8(15), bits = _mm256_set1_epi64x(static_cast<int64_t>(0x8040201008040201ull));
    const __m256i low = _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(set)));
    const __m256i high = _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(set + 16)));
    const __m256i index = _mm256_and_si256(_mm256_srli_epi16(code.val, 3), nibble);
    const __m256i byte =
        _mm256_blendv_epi8(_mm256_shuffle_epi8(low, index), _mm256_shuffle_epi8(high, index), code.val);
    return v_uint8(_mm256_and_si256(byte, _mm256_shuffle_epi8(bits, _mm256_and_si256(code.val, nibble))));
}

#else // without shuffles of bytes

inline v_uint8 packed(const v_uint16& low, const v_uint16& high)
{
    return v_reinterpret_as_u8(v_pack(v_reinterpret_as_s16(low), v_reinterpret_as_s16(high)));
}
inline v_uint8 inOrder(const v_uint8& a) { return a; }
inline v_uint8 append(const v_uint8& code, const v_uint8& byte)
{
    return v_sub_wrap(v_add_wrap(code, code), v_eq(byte, vx_setzero_u8()));
}
inline v_uint8 contains(const uint8_t* set, const v_uint8& code, uint64_t alive)
{
    uint8_t CV_DECL_ALIGNED(64) codes[WINDOWS];
    v_store_aligned(codes, code);
    each(alive, [&](int i) { codes[i] = static_cast<uint8_t>(set[codes[i] >> 3] & 1 << (codes[i] & 7)); });
    return vx_load_aligned(codes);
}

#endif

/** Computes by how much cells are darker than the centre, 0 if they are not, for half a vector. Sums are below 2^16, so
differences modulo 2^16 are the sums. @param darker out: the upper left cell first, then clockwise. */
template <bool NEIGHBOURS>
inline void compareCells(const NarrowStump& stump, const uint16_t* sums, const int* places, v_uint16* darker)
{
    v_uint16 difference[4][3];
    const uint16_t* rows[OCTETS / 2];
    for (int k = 0; k < OCTETS / 2; ++k)
        rows[k] = sums + places[k];
    for (int j = 0; j < 4; ++j)
    {
        v_uint16 corner[4];
        for (int i = 0; i < 4; ++i)
            corner[i] = cornersOf<NEIGHBOURS>(rows, stump.column[i]);
        for (int k = 0; k < OCTETS / 2; ++k)
            rows[k] += stump.row;
        for (int i = 0; i < 3; ++i)
            difference[j][i] = v_sub_wrap(corner[i], corner[i + 1]);
    }
    const auto cell = [&](int i, int j) { return v_sub_wrap(difference[j][i], difference[j + 1][i]); };
    const v_uint16 centre = cell(1, 1);
    const int order[8][2] = {{0, 0}, {1, 0}, {2, 0}, {2, 1}, {2, 2}, {1, 2}, {0, 2}, {0, 1}};
    for (int k = 0; k < 8; ++k)
        darker[k] = v_sub(centre, cell(order[k][0], order[k][1])); // saturates at 0
}

//! Returns the codes of windows for up to eight stumps.
template <bool NEIGHBOURS>
inline v_uint8 codesOf(const NarrowStump* stumps, int count, const uint16_t* sums, const int* places, uint64_t alive)
{
    v_uint8 code = vx_setzero_u8();
    for (int t = 0; t < count; ++t)
    {
        v_uint16 low[8], high[8];
        compareCells<NEIGHBOURS>(stumps[t], sums, places, low);
        compareCells<NEIGHBOURS>(stumps[t], sums, places + OCTETS / 2, high);
        v_uint8 pattern = vx_setzero_u8();
        for (int k = 0; k < 8; ++k)
            pattern = append(pattern, packed(low[k], high[k]));
        code = append(code, contains(stumps[t].left, pattern, alive));
    }
    return inOrder(code);
}

inline v_uint8 codesOf(const NarrowStump* stumps, int count, const uint16_t* sums, const int* places, uint64_t alive)
{
    if (areNeighbours(places) && areNeighbours(places + OCTETS / 2))
        return codesOf<true>(stumps, count, sums, places, alive);
    return codesOf<false>(stumps, count, sums, places, alive);
}

//! Adds up leaves by the tables of a stage. @return bits of windows that pass. @param weights out: sums of windows that
//! pass; may be null.
uint64_t passInTables(const Octets& o, const NarrowModel& model, const NarrowStage& stage, const int* places,
                      uint64_t alive, int64_t* weights)
{
    int64_t sums[WINDOWS] = {};
    for (int t = 0; t < stage.stumps; t += 8)
    {
        uint8_t CV_DECL_ALIGNED(64) codes[WINDOWS];
        v_store_aligned(codes,
                        codesOf(o.stumps + stage.firstStump + t, std::min(stage.stumps - t, 8), o.sums, places, alive));
        const int64_t* const table = model.tables[stage.firstTable + t / 8].data();
        each(alive, [&](int i) { sums[i] += table[codes[i]]; });
    }
    uint64_t passed = 0;
    each(alive, [&](int i) { passed |= static_cast<uint64_t>(sums[i] >= stage.threshold) << i; });
    if (weights)
        std::copy_n(sums, WINDOWS, weights);
    return passed;
}

} // namespace

int vectorOctets() { return OCTETS; }

void evaluateNarrow(const Octets& o, const NarrowModel& model, const NarrowStage& stage)
{
    for (int first = 0; first < o.count; first += OCTETS)
    {
        const int* const places = o.places + first;
        uint64_t alive = 0;
        for (int k = 0; k < OCTETS; ++k)
            alive |= static_cast<uint64_t>(o.alive[first + k]) << (8 * k);
        if (stage.stumps <= 8 && !o.weights)
        {
            const v_uint8 code = codesOf(o.stumps + stage.firstStump, stage.stumps, o.sums, places, alive);
            const v_uint8 passed = v_eq(contains(stage.failing, code, alive), vx_setzero_u8());
            alive &= static_cast<uint64_t>(v_signmask(passed));
        }
        else
            alive = passInTables(o, model, stage, places, alive, o.weights ? o.weights + 8 * first : nullptr);
        for (int k = 0; k < OCTETS; ++k)
            o.alive[first + k] = static_cast<uint8_t>(alive >> (8 * k));
    }
}

void addNarrow(const uint8_t* pixels, int cols, int half, const uint16_t* above, uint16_t* sums)
{
    const int step = VTraits<v_uint16>::vlanes();
    const v_uint16 byte = vx_setall_u16(255);
    uint16_t CV_DECL_ALIGNED(64) last[VTraits<v_uint16>::max_nlanes];
    v_uint16 before = vx_setzero_u16();
    sums[0] = 0;
    for (int x = 0; x < cols; x += 2 * step)
    {
        // Sums over pairs of pixels, then over the pairs up to each.
        const v_uint16 pairs = v_reinterpret_as_u16(vx_load(pixels + x));
        const v_uint16 second = v_shr<8>(pairs);
        v_uint16 even = v_add_wrap(v_and(pairs, byte), second);
        even = v_add_wrap(even, v_rotate_left<1>(even));
        even = v_add_wrap(even, v_rotate_left<2>(even));
        even = v_add_wrap(even, v_rotate_left<4>(even));
        if (step > 8)
            even = v_add_wrap(even, v_rotate_left<8 % VTraits<v_uint16>::max_nlanes>(even));
        if (step > 16)
            even = v_add_wrap(even, v_rotate_left<16 % VTraits<v_uint16>::max_nlanes>(even));
        even = v_add_wrap(even, before);
        const v_uint16 odd = v_sub_wrap(even, second);
        if (half)
        {
            v_store(sums + half + x / 2, v_add_wrap(odd, vx_load(above + half + x / 2)));
            v_store(sums + x / 2 + 1, v_add_wrap(even, vx_load(above + x / 2 + 1)));
        }
        else
        {
            v_uint16 low, high;
            v_zip(odd, even, low, high);
            v_store(sums + x + 1, v_add_wrap(low, vx_load(above + x + 1)));
            v_store(sums + x + 1 + step, v_add_wrap(high, vx_load(above + x + 1 + step)));
        }
        v_store_aligned(last, even);
        before = vx_setall_u16(last[step - 1]);
    }
}

#endif // CV_CPU_OPTIMIZATION_DECLARATIONS_ONLY

CV_CPU_OPTIMIZATION_NAMESPACE_END
}}}} // namespace cv::cuda::cascade::cpu
