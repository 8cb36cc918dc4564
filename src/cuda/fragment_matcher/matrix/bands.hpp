// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher, route BANDS: SSD and ZNCC by matrix instructions in three kernels, several blocks per window.
#ifndef OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_BANDS_HPP
#define OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_BANDS_HPP

#include "../tiled_plan.hpp"
#include "terms.hpp"
#include <optional>

namespace cv { namespace cuda { namespace fragment_matcher {

namespace tuning {

//! Threads per block of correlate and of values.
const int BAND_THREADS = 256;
//! Blocks of values per multiprocessor that registers must allow. ZNCC with few blocks has two: more registers, less
//! time.
const int BAND_VALUE_BLOCKS = 3;
//! Threads per block of prepare.
const int BAND_PREPARE_THREADS = 256;
//! Words of bands per thread of prepare.
const int BAND_PREPARE_WORDS = 4;
//! Most shared memory per block, so that two fit a multiprocessor.
const size_t BAND_SHARED_BYTES = 110 * 1024;
//! Rows of positions per block of sums of columns.
const int BAND_COLUMN_ROWS = 32;
//! Most shared memory for bests of tiles in the search for peaks.
const size_t BAND_BESTS_BYTES = 32 * 1024;

} // namespace tuning

namespace gpu {

//! Rows of a column whose squares, of three channels, values sums up in 32 bits at a time: 22,018 rows exceed them.
const int SUM_ROWS = 16;
static_assert(SUM_ROWS * 3 * 255 * 255 <= 0x7fffffff, "also signed, as the difference of two such sums");

//! Plan of matchBands(). TRANSFORMS has one, too, of its planes of bytes, sums and values.
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
    //! Sums over a fragment, of products or of squares of the image, may exceed 32 bits; moments of weighted fragments
    //! always do.
    bool wide;
    //! columns of sums, a multiple of BAND_COLS; the first is up to 15 columns before the window's first
    int sumsPitch;
    int sumsRows;            //!< rows of sums per fragment
    size_t sumsEach;         //!< sums per fragment; of both moments if weighted
    size_t columnsEach;      //!< TRANSFORMS: words of the sums of columns of a fragment; 0: values computes them
    int slabRows, slabPitch; //!< rows of box sums in shared memory at a time, and their pitch in elements
    size_t valueSharedBytes; //!< shared memory per block of values
};

//! An entry as prepare stores it: fragment, window, and the status to report if there is nothing to search.
struct OpenEntry
{
    int i; //!< index of the fragment
    int status;
    SearchWindow window;
    DeviceFragment fragment;
};

// Upper bound of the static shared memory of correlate, which plans leave free. Common_CudaPlans.staticMemory compares
// it with the compiled kernels.
const size_t CORRELATE_STATIC_BYTES = sizeof(OpenEntry);

//! Device memory of matchBands().
struct BandMemory
{
    uint8_t* planes;  //!< imagePlanes() planes of the region
    uint32_t* pixels; //!< pixels of three channels without weights, one word each
    uint32_t* bands;  //!< indexed by entry, plane, row, chunk, lane
    void* sums;       //!< sumsEach per entry: uint64_t if BandPlan::wide, else uint32_t
    /** Indexed by entry, plane (squares of all channels, then each channel), row of positions, column of the planes.
    Fragments of TRANSFORMS have at most 2,160 rows, so 32 bits hold their squares. */
    uint32_t* columns;
    OpenEntry* entries;
};

//! Returns the bytes of BandMemory::sums per entry.
inline size_t bandSumsBytes(const BandPlan& plan) { return plan.sumsEach * (plan.wide ? 8 : 4); }

void matchBands(const Job& job, const BandPlan& plan, const BandMemory& memory, const Windows& windows);

// Its kernels, which TRANSFORMS uses as well:

//! @param early needs nothing of the kernel that is launched before it, with which it may run concurrently.
void prepareBands(const Job& job, const BandPlan& plan, const BandMemory& memory, bool early);
void correlateBands(const Job& job, const BandPlan& plan, const BandMemory& memory);
/** Computes BandMemory::columns, of plans that have them. Needs what prepareBands() wrote, and nothing of the kernel
that is launched before it, with which it may run concurrently. */
void sumColumns(const Job& job, const BandPlan& plan, const BandMemory& memory);
//! Computes values from sums, finds peaks and reports them.
void valuesOfBands(const Job& job, const BandPlan& plan, const BandMemory& memory, const Windows& windows);

} // namespace gpu

//! Plans windows; nothing if matrix instructions are not applicable.
std::optional<gpu::BandPlan> planBands(const MatchCase& given, const Load& load);
//! Plans planes of bytes, and `sums` sums per position.
void planPlanes(gpu::BandPlan& plan, const Load& load, int sums);
//! Plans `planes` planes of bands.
void planChunks(gpu::BandPlan& plan, Extent fragment, int planes);
//! Plans correlate; returns false if the shared memory of a block is too small. @param longBlocks one block is enough
//! to keep a multiprocessor busy: what counts is that all have as much to do. Else there are two, as far as windows go.
bool planCorrelate(gpu::BandPlan& plan, Extent window, Extent fragment, const MatchCase& given, int count,
                   bool longBlocks);
//! Plans planes of bytes, sums and values; returns false if the shared memory of a block is too small.
bool planBandSums(gpu::BandPlan& plan, const MatchCase& given, const Load& load);
//! Takes memory for `count` entries. @param planes planes of the image. @param pixels takes BandMemory::pixels.
gpu::BandMemory takeBands(detail::Parts& working, const gpu::BandPlan& plan, int planes, bool pixels, int count);

}}} // namespace cv::cuda::fragment_matcher

#endif // OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_BANDS_HPP
