// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
// FragmentMatcher: what the CUDA engine's host code and its kernels agree on: fragments in the arena, batches of a launch, and
// the plans of the fused and the tile kernel with the arithmetic of their layouts. Compiled by g++ too. Which plan a call
// gets is decided in src/cuda/fragment_matcher/plan.cpp.
#ifndef OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_LAYOUT_HPP
#define OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_LAYOUT_HPP

#include "metric.hpp"
#include "tuning.hpp"

namespace cv { namespace cuda { namespace fragment_matcher { namespace gpu {

// --- fragments -------------------------------------------------------------------------------------------------------

/** One fragment on the device. The template lies in an arena of 32-bit words, four neighbouring pixels of one channel a
word, first pixel in the lowest byte: `channels` planes of height x pitch words, then a plane of weights. Pixels beyond the
width are 0 in all planes, so that the last word of the weights masks them out. */
struct DeviceFragment
{
    int width, height;
    int pitch;    //!< words from row to row, a multiple of 4: rows are read 16 bytes at a time
    int unused;   //!< no gap, as kernels copy this word by word
    size_t words; //!< offset of the first plane in the arena
    TemplateSums sums;
    int64_t variance; //!< templateVariance()
};

inline int pitchOf(int width) { return detail::ceilDiv(width, 16) * 4; }

inline size_t wordsOf(int width, int height, int channels)
{
    return static_cast<size_t>(channels + 1) * pitchOf(width) * height;
}

//! What pack needs to make a DeviceFragment.
struct PackJob
{
    ByteImageView templ;
    const void* weights;
    size_t weightsStep;
    int weightsDepth;
    int slot; //!< which DeviceFragment to write
    int pitch;
    size_t words;
};

//! Fragments of one launch. Entry e stands for fragment i = list ? list[first + e] : first + e: fragments[slots[i]].
struct Batch
{
    const DeviceFragment* fragments;
    const uint32_t* arena;
    const int* slots;
    const int* list; //!< null: all in order
    int first, count;
    ConstRowsView<Rect4> areas;  //!< by i; null: the whole frame
    int limitWidth, limitHeight; //!< larger areas are refused
    int channels;
    bool weighted;                       //!< false: every q is 255, and sums leave that factor out
    ConstRowsView<Position> predictions; //!< by i; walk only
};

//! A value and its raster index. Nothing found: index = NONE, larger than any.
struct Best
{
    static constexpr int NONE = 0x7fffffff;
    uint64_t value;
    int index;

    CT_HOST_DEVICE static Best none() { return {~0ull, NONE}; }
    CT_HOST_DEVICE bool beatenBy(uint64_t v, int i) const { return v < value || (v == value && i < index); }
    CT_HOST_DEVICE void take(uint64_t v, int i)
    {
        if (beatenBy(v, i))
        {
            value = v;
            index = i;
        }
    }
};

// --- images in shared memory (src/cuda/fragment_matcher/staging.hpp) ---------------------------------------------------------

//! How a block brings the image to shared memory.
struct StagePlan
{
    int units, rawPitch; //!< widths of the image there, expanded and raw
    int rawWords;        //!< all of the raw image
    int expandedWords;   //!< one plane of the expanded one
    //! Which part a thread takes, and how far it is to the next; divisions by multiplication, see quotient().
    int fetchThreads, fetchStep, expandStep, expandStepUnits;
    uint32_t fetchInverse, expandInverse;
};

//! Words from row to row of a raw image `cols` pixels wide, whose rows begin up to 3 bytes behind a word's start.
inline int rawPitch(int cols, int stride) { return (cols * stride + 6 + 12) / 16 * 4; }

//! Words of a raw image, with what expandPlane() reads, and ignores, behind its last row.
inline int rawWords(int rows, int pitch, int units, int stride)
{
    const int read = 4 * stride * units + (stride == 4 ? 8 : 4);
    return rows * pitch + (read > pitch ? read - pitch : 0);
}

//! Width of an expanded row in odd units of 16 bytes: all words that P positions from word `firstWord` (a multiple of 4)
//! on read for a template of `width` pixels.
inline int expandedUnits(int firstWord, int positions, int width)
{
    return (firstWord / 4 + (positions + (width + 3) / 4 + 2) / 4) | 1;
}

//! For quotient().
inline uint32_t inverseOf(int d) { return (1u << 20) / d + 1; }

//! Divides the work of staging among the threads of a block.
inline void setThreads(StagePlan& plan, int threads)
{
    plan.fetchThreads = plan.rawPitch < threads ? plan.rawPitch : threads;
    plan.fetchStep = threads / plan.fetchThreads;
    plan.fetchInverse = inverseOf(plan.fetchThreads);
    plan.expandStep = threads / plan.units;
    plan.expandStepUnits = threads % plan.units;
    plan.expandInverse = inverseOf(plan.units);
}

// --- matrix instructions (src/cuda/fragment_matcher/bands.hpp) ------------------------------------------------------------------

const int BAND_COLS = 128; //!< columns of positions that an instruction has
const int BAND_ROWS = 8;   //!< positions below each other that a warp has
//! Terms of 255 * 255 that a 32-bit sum holds.
const int64_t BAND_TERMS = 0xffffffffll / (255 * 255);

//! Planes of the image: its channels and, with weights, the high, middle and low bytes of the sums of their squares.
CT_HOST_DEVICE constexpr int imagePlanes(int channels, bool weighted) { return weighted ? channels + 3 : channels; }
//! Bands of a fragment: of its channels; with weights, the high bytes of their products with q, the low ones, and q.
CT_HOST_DEVICE constexpr int bandPlanes(int channels, bool weighted) { return weighted ? 2 * channels + 1 : channels; }

//! In one kernel: bytes of sums of squares over all channels down columns, and of those of each channel, of BAND_TILE_HEIGHT rows at
//! most.
CT_HOST_DEVICE constexpr int squareBytes(int channels) { return channels == 1 ? 3 : 4; }
const int IMAGE_BYTES = 2;

//! How one kernel does it all, for SSD and ZNCC without weights in windows whose blocks are all resident at once; units 0: not this way.
struct BandTiles
{
    int units, parts;    //!< warps of a block: units of BAND_ROWS rows of positions, parts of the rows of a fragment
    int blocksX, blocks; //!< of a window
    int imageRows;       //!< of a block
    int pitch;           //!< words from row to row of a plane of the image, a multiple of 4
    int rawPitch;        //!< of the image as it is in the frame; 0: there is one channel, which needs no plane
    int planesAt, boxesAt, mergeAt; //!< words in shared memory, behind templates
    size_t sharedBytes;
};

//! How blocks share a search window, for SSD and ZNCC; group 0: not this way.
struct BandPlan
{
    Rect4 region;      //!< of the frame: all that is searched
    int pitch;         //!< bytes from row to row of its planes, a multiple of 16
    size_t planeBytes; //!< from plane to plane
    int chunks, group; //!< of 16 rows of a band, a multiple of `group`: that many are in registers at a time
    int bandRows;      //!< rows of a template with a band, a multiple of BAND_ROWS
    size_t bandsEach;  //!< words of all bands of a fragment
    int units, parts;  //!< warps of a block: units of BAND_ROWS rows of positions, parts of the rows of a fragment
    int chunkRows;     //!< of a fragment in shared memory at a time, a multiple of BAND_ROWS
    int bandsOffset;   //!< of the bands there, in words
    size_t sharedBytes;
    bool wide;               //!< sums, or squares of the image, may exceed 32 bits; moments of weighted ones always do
    int sumsPitch;           //!< columns, a multiple of BAND_COLS: from up to 15 before the window's on
    int sumsRows;            //!< a fragment
    size_t sumsEach;         //!< a fragment, of both moments when weighted
    int slabRows, slabPitch; //!< of box sums in shared memory at a time
    size_t valueSharedBytes;
    BandTiles tiles; //!< instead of the above but for `region`
};

//! What a block works on, and the status to report when there is nothing to search.
struct OpenEntry
{
    int i; //!< fragment
    int status;
    SearchWindow window;
    DeviceFragment fragment;
};

// Static shared memory of the kernels below, at most. Plans leave that much; Plans_OnCuda.staticMemory compares with the compiler's numbers.
const size_t CORRELATE_STATIC_BYTES = sizeof(OpenEntry);

//! Device memory for that.
struct BandMemory
{
    uint8_t* planes;
    uint32_t* pixels; //!< of three channels without weights: a word each
    uint32_t* bands;  //!< by entry, plane, row, chunk, lane
    void* sums;       //!< by entry: 32 bits a position, or 64 when wide
    OpenEntry* entries;
};

// --- fused kernel ----------------------------------------------------------------------------------------------------

const int FUSED_BAND_ROWS = 4; //!< positions below each other that a lane has

//! Small windows by matrix instructions; warps 0: not this way.
struct FusedBands
{
    int warps;                 //!< a block
    int areaWidth, areaHeight; //!< largest area
    int rows, columns;         //!< words of a row, and rows, that positions read, those behind their window included
    int pitch, planeWords;     //!< of a plane of the image
    int squareWords;           //!< of one of its squares: without weights no row behind the area is read there
    StagePlan stage;
    int unitThreads, unitStep; //!< of 16 bytes of a row: as fetchThreads and fetchStep of words
    uint32_t unitInverse;
    int blocks;   //!< of 8 columns of positions, at most
    int rawWords; //!< of the raw image, and later of sums of squares
    int templateWords;
    int partWords; //!< ZNCC: n and v of all positions of a block, where the rest has been; 0: not kept
    int mapWords;  //!< of the largest window
    int planesAt;  //!< of the channels, behind the raw image, templates and planes of squares
    int planesEnd;
    size_t sharedBytes; //!< a block

    // Where things begin, in words behind FUSED_SCRATCH_BYTES.
    CT_HOST_DEVICE int templatesAt() const { return rawWords; }
    CT_HOST_DEVICE int squaresAt() const { return templatesAt() + templateWords; }
    CT_HOST_DEVICE int mapAt() const { return partWords; } //!< of values for sub-pixel offsets
    CT_HOST_DEVICE int mapEnd() const { return mapAt() + mapWords; }
};

inline void setThreads(FusedBands& plan, int threads)
{
    const int units = plan.stage.rawPitch / 4;
    setThreads(plan.stage, threads);
    plan.unitThreads = units < threads ? units : threads;
    plan.unitStep = threads / plan.unitThreads;
    plan.unitInverse = inverseOf(plan.unitThreads);
}

//! Words that n and v of all positions of a block take.
CT_HOST_DEVICE constexpr int bandPartWords(bool weighted, int threads)
{
    return (weighted ? 4 : 3) * 4 * FUSED_BAND_ROWS * threads;
}

struct FusedPlan
{
    int positions; //!< positions a thread, 5, 9 or 13: windows up to 4 times as wide
    int slots;     //!< items (rows of positions, one of four phases) a warp; the fewer, the more threads an item
    int rows;      //!< of the largest window, in positions
    int areaWidth, areaHeight; //!< largest area
    StagePlan stage;
    int templateWords;
    int threads;        //!< a block
    size_t sharedBytes; //!< a block
    FusedBands bands;   //!< SSD and ZNCC: instead of the above

    // Where things begin, in words behind FUSED_SCRATCH_BYTES; the map of values begins where the raw image does.
    CT_HOST_DEVICE int templatesAt() const { return stage.rawWords; }
    CT_HOST_DEVICE int expandedAt() const { return templatesAt() + templateWords; }
};

//! Shared memory of a block besides images; the kernel checks it.
const size_t FUSED_SCRATCH_BYTES = 688;
const size_t FUSED_STATIC_BYTES = 0; //!< of the fused kernels, as CORRELATE_STATIC_BYTES

// --- tile kernel -----------------------------------------------------------------------------------------------------

const int TILE_POSITIONS = 8;                   //!< positions a thread
const int TILE_GROUPS = tuning::TILE_COLS / 32; //!< groups of 4 phases x TILE_POSITIONS in a tile's row

struct TilePlan
{
    int cols, rows;           //!< largest window, in positions
    int tilesX, tilesY;       //!< tiles of the largest window
    int chunkCols, chunkRows; //!< part of a fragment that is in shared memory at a time
    StagePlan stage;
    int templateWords;
    bool wide;          //!< sums may exceed 32 bits
    size_t sharedBytes; //!< a block
    BandPlan bands;     //!< SSD and ZNCC: instead of the above but for tiles

    // Where things begin, in words.
    CT_HOST_DEVICE int rawAt() const { return templateWords; }
    CT_HOST_DEVICE int expandedAt() const { return rawAt() + stage.rawWords; } //!< and where parts are added up
};

//! The best of a tile of positions.
struct alignas(16) TileBest
{
    uint64_t value;
    int index, y; //!< y: its row of the window
};

struct TileMemory
{
    void* values;       //!< of each entry: tileValuesBytes()
    TileBest* bests;    //!< of each entry: tilesX * tilesY
    unsigned* finished; //!< of each entry: one counter, 0 before and after a launch
    BandMemory bands;
};

inline size_t tileValuesBytes(const TilePlan& plan, Metric metric, bool weighted)
{
    return static_cast<size_t>(plan.cols) * plan.rows * (wideValues(metric, weighted, plan.wide) ? 8 : 4);
}

//! Bytes of sums of an entry.
inline size_t bandSumsBytes(const BandPlan& plan) { return plan.sumsEach * (plan.wide ? 8 : 4); }

}}}} // namespace cv::cuda::fragment_matcher::gpu

#endif // OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_LAYOUT_HPP
