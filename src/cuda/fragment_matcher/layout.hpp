// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
// over budget: TilePlan and TileMemory hold the plans and the memory of six routes, which are declared before them.
// FragmentMatcher: data layouts that the CUDA backend's host code and kernels share: fragments in the arena, the batch of a launch, and the
// plans of the kernels with the arithmetic of their shared memory. g++ compiles it too. src/cuda/fragment_matcher/plan.cpp decides which
// plan a call gets.
#ifndef OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_LAYOUT_HPP
#define OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_LAYOUT_HPP

#include "../../fragment_matcher/bounds.hpp"
#include "metric.hpp"
#include "tuning.hpp"

namespace cv { namespace cuda { namespace fragment_matcher { namespace gpu {

// --- fragments -------------------------------------------------------------------------------------------------------

/** One fragment on the device. The template lies in an arena of 32-bit words, four neighbouring pixels of one channel per word, the first
pixel in the lowest byte: `channels` planes of height x pitch words, then a plane of weights. Pixels beyond the width are 0 in all
planes, so that the last word of the weights masks them out. */
struct DeviceFragment
{
    int width, height;
    int pitch;    //!< words from row to row, a multiple of 4: rows are read 16 bytes at a time
    int unused;   //!< fills the gap, because kernels copy this struct word by word
    size_t words; //!< offset of the first plane in the arena
    TemplateSums sums;
    int64_t variance; //!< templateVariance()
};

//! Returns DeviceFragment::pitch.
inline int pitchOf(int width) { return detail::ceilDiv(width, 16) * 4; }

//! Returns the words of the arena that a fragment takes.
inline size_t wordsOf(int width, int height, int channels)
{
    return static_cast<size_t>(channels + 1) * pitchOf(width) * height;
}

//! A fragment to be packed: source and destination of the copy.
struct PackJob
{
    ByteImageView templ;
    const void* weights;
    size_t weightsStep;
    int weightsDepth;
    int slot;     //!< index of the DeviceFragment to write
    int pitch;    //!< DeviceFragment's
    size_t words; //!< DeviceFragment's
};

//! Fragments of one launch. Entry e stands for fragment i = list ? list[first + e] : first + e: fragments[slots[i]].
struct Batch
{
    const DeviceFragment* fragments;
    const uint32_t* arena;
    const int* slots;
    const int* list; //!< null: all fragments in order
    int first, count;
    ConstRowsView<Rect4> areas;  //!< one per fragment; null: the whole frame
    int limitWidth, limitHeight; //!< largest area in pixels; larger ones get STATUS_AREA_TOO_LARGE
    int channels;
    bool weighted;                       //!< false: every q is 255, and sums omit that factor
    ConstRowsView<Position> predictions; //!< one per fragment; for walk only
};

//! A value and its raster index. index = NONE, larger than any index: nothing found.
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

//! Copies of the image in a block's shared memory, and the division of the copying among its threads.
struct StagePlan
{
    int units, rawPitch; //!< pitch of the expanded image in units of 16 bytes; pitch of the raw image in words
    int rawWords;        //!< words of the raw image
    int expandedWords;   //!< words per plane of the expanded image
    //! Part of each thread and step to its next part; divisions are multiplications by inverses, see quotient().
    int fetchThreads, fetchStep, expandStep, expandStepUnits;
    uint32_t fetchInverse, expandInverse;
};

//! Returns the words from row to row of a raw image `cols` pixels wide, whose rows begin up to 3 bytes after the start of a word.
inline int rawPitch(int cols, int stride) { return (cols * stride + 6 + 12) / 16 * 4; }

//! Returns the words of a raw image, including those after its last row that expandPlane() reads and ignores.
inline int rawWords(int rows, int pitch, int units, int stride)
{
    const int read = 4 * stride * units + (stride == 4 ? 8 : 4);
    return rows * pitch + (read > pitch ? read - pitch : 0);
}

//! Returns the pitch of an expanded row, an odd number of units of 16 bytes: all words that `positions` positions from word `firstWord` (a
//! multiple of 4) on read for a template of `width` pixels.
inline int expandedUnits(int firstWord, int positions, int width)
{
    return (firstWord / 4 + (positions + (width + 3) / 4 + 2) / 4) | 1;
}

//! Returns the inverse of d for quotient().
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

// --- routes ------------------------------------------------------------------------------------------------------------------

//! Ways by which windows are matched, each by kernels and with a plan of its own. Plans name their route to the host; kernels do not read it.
enum class Route : uint8_t
{
    FUSED,         //!< byte sums, one block per window: matchFused(), FusedPlan without `bands`
    FUSED_BANDS,   //!< matrix instructions, one block per window: matchFusedBands(), FusedBands
    TILES,         //!< byte sums, several blocks per window: matchTiles(), TilePlan without `bands`
    BOUNDED_TILES, //!< TILES without those that cannot hold a peak: eliminate() and matchTiles(), BoundPlan
    SLICES,        //!< byte sums, several blocks per fragment: matchSlices(), SlicePlan
    BANDS, //!< matrix instructions in three kernels, several blocks per window: matchBands(), BandPlan without `tiles`
    BAND_TILES, //!< matrix instructions in one kernel, several blocks per window: matchBandTiles(), BandTiles
    TRANSFORMS  //!< Fourier transforms in place of matrix instructions: matchTransforms(), TransformPlan and BandPlan
};

// --- matrix instructions (src/cuda/fragment_matcher/bands.hpp) ------------------------------------------------------------------

const int BAND_COLS = 128; //!< columns of positions per matrix instruction
const int BAND_ROWS = 8;   //!< rows of positions per warp
//! Number of terms of 255 * 255 that a 32-bit sum holds.
const int64_t BAND_TERMS = 0xffffffffll / (255 * 255);

//! Rows of a column whose squares, of three channels, values sums up in 32 bits at a time: 22,018 rows exceed them.
const int SUM_ROWS = 16;
static_assert(SUM_ROWS * 3 * 255 * 255 <= 0x7fffffff, "also signed, as the difference of two such sums");

//! Returns the number of planes of the image: its channels and, with weights, the high, middle and low bytes of the sums of their squares.
CT_HOST_DEVICE constexpr int imagePlanes(int channels, bool weighted) { return weighted ? channels + 3 : channels; }
//! Returns the number of planes of a fragment that have bands: its channels; with weights, the high and the low bytes of their products
//! with q, and q.
CT_HOST_DEVICE constexpr int bandPlanes(int channels, bool weighted) { return weighted ? 2 * channels + 1 : channels; }

//! Returns the number of chunks of 32 rows of a band that is made by shifting a row of a template.
CT_HOST_DEVICE int bandChunks(int width) { return (width + 7 + 31) / 32; }

//! Returns the words from row to row of a template in shared memory: four words of zeros, then the pixels, then zeros.
CT_HOST_DEVICE int templateStep(int chunks) { return 8 * chunks + 8; }

//! Returns the bytes of a sum of squares over all channels down a column of at most BAND_TILE_HEIGHT rows.
CT_HOST_DEVICE constexpr int squareBytes(int channels) { return channels == 1 ? 3 : 4; }
const int IMAGE_BYTES = 2; //!< bytes of a sum of one channel down such a column

//! Plan of matchBandTiles(): SSD and ZNCC without weights, windows whose blocks are all resident at once.
struct BandTiles
{
    int units,
        parts; //!< warps per block that multiply: units of BAND_ROWS rows of positions x parts of the rows of a fragment
    int blocksX, blocks; //!< blocks per row of a window, and per window
    int imageRows;       //!< rows of the image per block
    int pitch;           //!< words from row to row of a plane of the image, a multiple of 4
    int rawPitch;        //!< words from row to row of the raw image; 0: one channel, where the raw image is the plane
    int planesAt, boxesAt, mergeAt; //!< offsets in shared memory in words; templates are at 0
    size_t sharedBytes;
};

//! Plan of matchBands(): SSD and ZNCC by three kernels.
struct BandPlan
{
    Rect4 region;      //!< part of the frame that contains all search areas
    int pitch;         //!< bytes from row to row of the planes of the region, a multiple of 16
    size_t planeBytes; //!< bytes from plane to plane
    int chunks,
        group; //!< chunks of 16 rows per band, a multiple of `group`; number of chunks in registers at a time, 2 to 5
    int bandRows;       //!< template rows per plane that have a band, a multiple of BAND_ROWS
    size_t bandsEach;   //!< words of all bands of a fragment
    int units, parts;   //!< warps per block: units of BAND_ROWS rows of positions x parts of the rows of a fragment
    int chunkRows;      //!< rows of a fragment in shared memory at a time, a multiple of BAND_ROWS
    int bandsOffset;    //!< offset of the bands in shared memory, words
    size_t sharedBytes; //!< shared memory per block of correlate
    //! Sums over a fragment, of products or of squares of the image, may exceed 32 bits; moments of weighted fragments always do.
    bool wide;
    int sumsPitch; //!< columns of sums, a multiple of BAND_COLS; the first is up to 15 columns before the window's first
    int sumsRows;  //!< rows of sums per fragment
    size_t sumsEach;         //!< sums per fragment; of both moments if weighted
    size_t columnsEach;      //!< TRANSFORMS: words of the sums of columns of a fragment; 0: values computes them
    int slabRows, slabPitch; //!< rows of box sums in shared memory at a time, and their pitch in elements
    size_t valueSharedBytes; //!< shared memory per block of values
    BandTiles tiles;         //!< set for BAND_TILES, whose kernel reads nothing else of this plan
};

//! An entry as prepare stores it: fragment, window, and the status to report if there is nothing to search.
struct OpenEntry
{
    int i; //!< index of the fragment
    int status;
    SearchWindow window;
    DeviceFragment fragment;
};

// Upper bounds of the static shared memory of kernels, which plans leave free. Common_CudaPlans.staticMemory compares them with the compiled
// kernels.
const size_t CORRELATE_STATIC_BYTES = sizeof(OpenEntry);

//! Device memory of matchBands().
struct BandMemory
{
    uint8_t* planes;  //!< imagePlanes() planes of the region
    uint32_t* pixels; //!< pixels of three channels without weights, one word each
    uint32_t* bands;  //!< indexed by entry, plane, row, chunk, lane
    void* sums;       //!< sumsEach per entry: uint64_t if BandPlan::wide, else uint32_t
    /** Indexed by entry, plane (squares of all channels, then each channel), row of positions, column of the planes. Fragments of TRANSFORMS
    have at most 2,160 rows, so 32 bits hold their squares. */
    uint32_t* columns;
    OpenEntry* entries;
};

// --- Fourier transforms (src/cuda/fragment_matcher/transforms.hpp) ----------------------------------------------------------------

const int TRANSFORM_COLS = 2; //!< columns of spectra per block: 32 bytes of each row, a sector of memory

/** Plan of matchTransforms(). Products are a circular correlation of cols x rows complex values: the region's first `half` columns of
positions are the real parts, the others the imaginary ones. Its BandPlan describes the planes of bytes, sums and values. */
struct TransformPlan
{
    int cols, rows;          //!< lengths of the transforms of rows and of columns
    int half;                //!< columns of positions per part of the region
    int fragmentRows;        //!< height of the highest fragment
    size_t imageValues;      //!< values of the spectra of the region's rows
    size_t templatesEach;    //!< values of the spectra of the rows of a fragment
    size_t productsEach;     //!< values of the sum of products of a fragment
    int rowFactors, factors; //!< number of factors of rows, and of rows and columns
    bool staged; //!< columns of the next channel are copied to shared memory while those of one are transformed
    size_t columnSharedBytes; //!< shared memory per block of columns
};

struct Complex;

//! Device memory of matchTransforms(), besides BandMemory.
struct TransformMemory
{
    const Complex* factors; //!< factorsOf()
    Complex* image;         //!< indexed by channel, row, place in the spectrum
    Complex* templates;     //!< indexed by entry, channel, row, place in the spectrum
    Complex* products;      //!< indexed by entry, row, place in the spectrum
};

// --- fused kernel ----------------------------------------------------------------------------------------------------

const int FUSED_BAND_ROWS = 4; //!< rows of positions per lane

//! Plan of matchFusedBands(): SSD and ZNCC in small windows.
struct FusedBands
{
    int warps;                 //!< warps per block
    int areaWidth, areaHeight; //!< largest area, pixels
    int rows, columns;         //!< rows, and words per row, that positions read, including those outside their window
    int pitch, planeWords;     //!< words per row and per plane of the image
    int squareWords;           //!< words per plane of squares; without weights, no row below the area is read there
    StagePlan stage;
    int unitThreads, unitStep; //!< fetchThreads and fetchStep of copies in units of 16 bytes
    uint32_t unitInverse;      //!< inverseOf(unitThreads)
    int blocks;                //!< largest number of blocks of 8 columns of positions
    int rawWords;              //!< words of the raw image, which sums of squares replace
    int templateWords;
    int partWords; //!< ZNCC: words of n and v of all positions of a block, which replace images and templates; 0: not kept
    int mapWords; //!< words of the values of the largest window
    int planesAt; //!< offset of the channels' planes, after the raw image, templates and planes of squares
    int planesEnd;
    size_t sharedBytes; //!< shared memory per block

    // Offsets in words from FUSED_SCRATCH_BYTES on.
    CT_HOST_DEVICE int templatesAt() const { return rawWords; }
    CT_HOST_DEVICE int squaresAt() const { return templatesAt() + templateWords; }
    CT_HOST_DEVICE int mapAt() const { return partWords; } //!< values for sub-pixel offsets
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

//! Returns the words of n and v of all positions of a block.
CT_HOST_DEVICE constexpr int bandPartWords(bool weighted, int threads)
{
    return (weighted ? 4 : 3) * 4 * FUSED_BAND_ROWS * threads;
}

//! Plan for windows that one block each matches.
struct FusedPlan
{
    int positions; //!< positions per thread, 5, 9 or 13: windows up to 4 times as wide
    int slots;     //!< items (rows of positions, one of four phases) per warp; fewer items mean more threads per item
    int rows;      //!< rows of the largest window, in positions
    int areaWidth, areaHeight; //!< largest area, pixels
    StagePlan stage;
    int templateWords;
    int threads;        //!< threads per block
    Route route;        //!< FUSED or FUSED_BANDS
    size_t sharedBytes; //!< shared memory per block
    FusedBands bands;   //!< set for FUSED_BANDS, whose kernel gets nothing else

    // Offsets in words from FUSED_SCRATCH_BYTES on; the map of values takes the place of the raw image.
    CT_HOST_DEVICE int templatesAt() const { return stage.rawWords; }
    CT_HOST_DEVICE int expandedAt() const { return templatesAt() + templateWords; }
};

//! Dynamic shared memory per block before images and templates; the kernels assert that their scratch fits.
const size_t FUSED_SCRATCH_BYTES = 688;
const size_t FUSED_STATIC_BYTES =
    0; //!< upper bound of the static shared memory of the fused kernels, as CORRELATE_STATIC_BYTES

// --- elimination (src/cuda/fragment_matcher/eliminate.cu) -----------------------------------------------------------------

const int BOUND_COLS = 128, BOUND_ROWS = 32; //!< means per block of the kernel that computes them

//! Means of square blocks of pixels, from which bounds of SAD are made.
struct BoundLevel
{
    int block;         //!< side of a block, pixels: 4 or 8; 0: there is no such level
    int pitch;         //!< bytes from row to row of a plane of means, a multiple of 4 * block
    size_t planeBytes; //!< bytes from plane to plane
    size_t wordsEach;  //!< words of the means of a fragment, and of their weights
};

//! Plan of eliminate().
struct BoundPlan
{
    BoundLevel coarse;  //!< bounds of all positions. Without a block nothing is eliminated
    BoundLevel fine;    //!< bounds of the tiles that are left. Without a block there is none
    Rect4 region;       //!< part of the frame that contains all search areas
    int otherPlaces;    //!< positions per entry that are scored for the limits beside those that these take
    int refiners;       //!< blocks that compute the bounds of tiles that are left
    int height;         //!< height of the highest fragment, pixels
    int parts;          //!< most parts of the rows of a fragment, each with a block of threads of its own
    int fewBlocks;      //!< number of blocks below which fragments are divided into parts
    StagePlan stage;    //!< raw image under a block of means
    size_t sharedBytes; //!< shared memory per block of the means
};

const int MEANS_END_BYTES = 256; //!< bytes after the last plane of means, which kernels read and ignore

inline size_t meansBytes(const BoundLevel& level, int channels)
{
    return channels * level.planeBytes + MEANS_END_BYTES;
}

//! Returns the elements of sums of rows of `block` pixels in shared memory.
CT_HOST_DEVICE constexpr int boundSums(int block, int channels)
{
    return channels * (BOUND_ROWS + block - 1) * (BOUND_COLS + 2);
}

//! Returns true if tiles are compared once more before they are scored, not if most are left. @param listed, tiles how many are, of how many.
CT_HOST_DEVICE bool refines(const BoundPlan& plan, bool subpixel, int listed, int tiles)
{
    return plan.fine.block > 0 && !subpixel && tuning::BOUND_REFINED_SHARE * listed <= tiles;
}

const int CELL_COLS = 8, CELL_ROWS = 4; //!< positions of a cell, of which tiles have the least bounds
const int CELLS_X = tuning::TILE_COLS / CELL_COLS,
          CELLS = CELLS_X * (tuning::TILE_ROWS / CELL_ROWS); //!< per row of a tile, and per tile

//! The least bound of a tile, as a sum of differences of means.
struct alignas(16) TileBound
{
    static constexpr uint32_t NO_BOUND = ~0u; //!< that of positions beyond the window
    uint32_t least;
    int x, y;       //!< the position of `least`, relative to the window
    uint32_t cells; //!< bit by bit, those that may hold a peak
};

//! Most places per entry.
const int MOST_PLACES = 2 * MAX_PEAKS - 1 + tuning::BOUND_OTHER_PLACES;

//! A scored position.
struct BoundPlace
{
    uint64_t value; //!< UINT64_MAX: there is no such place
    int x, y;
};

//! The values and places that a peak may have.
struct BoundLimit
{
    uint64_t best, peaks; //!< largest value of the best, and of the other peaks; UINT64_MAX: any
    Box box;              //!< contains all positions that may be the best
};

//! Device memory of a level of means.
struct BoundMeans
{
    uint8_t* image;      //!< means of all blocks of the region, plane by plane
    uint32_t* fragments; //!< means and weights: BoundLevel::wordsEach per entry
    uint64_t* losses;    //!< one per entry: twice the most by which means exceed the sums of differences
};

//! Tiles to score.
struct TileList
{
    int* tiles;      //!< entry * tilesX * tilesY + tile
    uint32_t* cells; //!< bit by bit, the cells of each that are scored
    int* kept;       //!< their number, for each entry
    int* total;      //!< their number
};

//! Device memory of eliminate().
struct BoundMemory
{
    BoundMeans coarse, fine;
    TileBound* bounds;  //!< tilesX * tilesY per entry
    uint32_t* cells;    //!< the least bounds of cells: CELLS per tile
    BoundPlace* places; //!< up to MOST_PLACES per entry
    BoundLimit* limits; //!< one per entry
    unsigned* finished; //!< counters of finished parts, tilesX * tilesY per entry
    TileList listed;    //!< by coarse bounds. `total` is null: all tiles, nothing is eliminated
    TileList refined;   //!< what fine bounds leave of them; set if refines()
};

// --- slices ---------------------------------------------------------------------------------------------------------

const int SLICE_GROUP_WORDS = 8; //!< words, 4 columns each, from the first position of a group to that of the next

//! Plan for windows of which a block computes some rows, for some rows of the fragment (a slice).
struct SlicePlan
{
    int cols, rows;    //!< largest window, in positions
    int positions;     //!< positions per thread, 4 columns apart: 5 or 9
    int groups;        //!< threads per row of positions and phase; each begins SLICE_GROUP_WORDS words after the last
    int tileRows;      //!< rows of positions per block
    int tiles;         //!< blocks among which the rows of the largest window are divided
    int parts;         //!< parts of a slice's rows, each with its own threads
    int sliceRows;     //!< rows of a fragment per block
    int slices;        //!< blocks among which the rows of the largest fragment are divided
    int channelBlocks; //!< blocks among which the channels are divided: 1 or all
    int areaWidth;     //!< widest area, pixels
    StagePlan stage;
    int templateWords;
    int planeWords; //!< words of one sum of all positions in device memory, a multiple of 4
    size_t
        sumsEach; //!< words of all sums of a fragment: by channel, kind of sum and position; planSlices() lets them fit
    size_t sharedBytes; //!< shared memory per block

    // Offsets in words. The values of all positions later replace everything.
    CT_HOST_DEVICE int items() const { return 4 * tileRows * groups; } //!< threads per part
    CT_HOST_DEVICE int rawAt() const { return templateWords; }
    CT_HOST_DEVICE int expandedAt() const { return rawAt() + stage.rawWords; }
    CT_HOST_DEVICE int blocks() const { return tiles * slices * channelBlocks; } //!< blocks per fragment
};

//! Returns the number of 32-bit sums per position and channel.
CT_HOST_DEVICE constexpr int sumsPerPosition(Metric metric, bool weighted)
{
    return hasMoments(metric, weighted) ? (isCorrelation(metric) ? 3 : 2) + (weighted ? 2 : 0) : 1;
}

//! Returns the number of channels with sums of their own: moments are not linear in channels.
CT_HOST_DEVICE constexpr int sumChannels(Metric metric, bool weighted, int channels)
{
    return hasMoments(metric, weighted) ? channels : 1;
}

// --- tile kernel -----------------------------------------------------------------------------------------------------

const int TILE_POSITIONS = 8;                   //!< positions per thread
const int TILE_GROUPS = tuning::TILE_COLS / 32; //!< groups of 4 phases x TILE_POSITIONS per row of a tile

//! Plan for windows that are divided among blocks.
struct TilePlan
{
    int cols, rows;           //!< largest window, in positions
    int tilesX, tilesY;       //!< tiles per row and per column of the largest window
    int chunkCols, chunkRows; //!< size of the part of a fragment that is in shared memory at a time
    StagePlan stage;
    int templateWords;
    bool wide;          //!< sums may exceed 32 bits
    Route route;        //!< TILES, BOUNDED_TILES, SLICES, BANDS, BAND_TILES or TRANSFORMS
    size_t sharedBytes; //!< shared memory per block
    BoundPlan bounds;   //!< set for BOUNDED_TILES
    SlicePlan slices;   //!< set for SLICES, whose kernel gets nothing else
    BandPlan
        bands; //!< set for BANDS, BAND_TILES and TRANSFORMS, whose kernels read only cols, rows, tilesX and tilesY besides
    TransformPlan transforms; //!< set for TRANSFORMS

    // Offsets in words.
    CT_HOST_DEVICE int rawAt() const { return templateWords; }
    CT_HOST_DEVICE int expandedAt() const { return rawAt() + stage.rawWords; } //!< later the sums of parts
};

//! The best of a tile of positions.
struct alignas(16) TileBest
{
    uint64_t value;
    int index, y; //!< raster index of the position, and its row in the window
};

//! Device memory of eliminate(), matchTiles(), matchBands(), matchBandTiles(), matchTransforms() and matchSlices().
struct TileMemory
{
    void* values;       //!< tileValuesBytes() per entry
    TileBest* bests;    //!< tilesX * tilesY per entry
    unsigned* finished; //!< one counter of finished blocks per entry, 0 before and after a launch
    uint32_t*
        sums; //!< SLICES: SlicePlan::sumsEach per entry, 0 before and after a launch; nothing else but `finished` is set
    BandMemory bands;
    BoundMemory bounds;
    TransformMemory transforms;
};

//! Returns the bytes of the values of an entry.
inline size_t tileValuesBytes(const TilePlan& plan, Metric metric, bool weighted)
{
    return static_cast<size_t>(plan.cols) * plan.rows * (wideValues(metric, weighted, plan.wide) ? 8 : 4);
}

//! Returns the bytes of BandMemory::sums per entry.
inline size_t bandSumsBytes(const BandPlan& plan) { return plan.sumsEach * (plan.wide ? 8 : 4); }

}}}} // namespace cv::cuda::fragment_matcher::gpu

#endif // OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_LAYOUT_HPP
