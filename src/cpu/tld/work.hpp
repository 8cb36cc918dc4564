// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Structs and loops that several stages of the CPU backend use.
#ifndef OPENCV_CUDATRACKING_CPU_TLD_WORK_HPP
#define OPENCV_CUDATRACKING_CPU_TLD_WORK_HPP

#include "opencv2/core/utility.hpp"
#include "../../tld/stages.hpp"
#include <algorithm>
#include <memory>
#include <vector>

namespace cv { namespace cuda { namespace tld { namespace cpu {

//! The content of a box, resampled for the comparison with templates.
struct Patch
{
    uint8_t pixels[PATCH_STRIDE]; //!< PATCH_PIXELS pixels, then zeros
    PatchStats stats;
};
Patch patchOf(const Frame& frame, const Box& box);
//! Compares a patch with all templates.
Similarity compareTemplates(const ObjectView& object, const Settings& settings, const Patch& patch);

//! Bytes after the last pixel of each row that vector instructions may read; their values have no effect.
const int ROW_SLACK = 64;

//! Codes of a window: codeOf() per fern.
struct Codes
{
    uint16_t code[MAX_TREES];
};
//! Sums the posteriors of a window over all ferns.
inline uint32_t sumOf(const Codes& codes, const uint16_t* posteriors, const Settings& settings)
{
    uint32_t sum = 0;
    for (int t = 0; t < settings.trees; ++t, posteriors += static_cast<size_t>(1) << settings.features)
        sum += posteriors[codes.code[t]];
    return sum;
}

//! Fern-positive windows in any order, with their codes, so that learning does not compute them again.
struct FernPositives
{
    std::vector<int> windows; //!< indices
    std::vector<Codes> codes;
};

//! A window and its sort keys; each use sets one of them.
struct Candidate
{
    double overlap;
    uint32_t key;
    int number; //!< index of the window
};

//! Keeps the first `most` of any number of entries in a strict order. @tparam Before functor: whether a comes before b.
template <typename Before> class Firsts
{
public:
    //! @param list memory of the kept entries; it is cleared.
    Firsts(std::vector<Candidate>& list, size_t most, Before before) : list_(list), most_(most), before_(before)
    {
        list_.clear();
    }
    void add(const Candidate& entry)
    {
        if (list_.size() == most_)
        {
            if (!before_(entry, list_[0])) // list_[0] is the last of the kept entries
                return;
            std::pop_heap(list_.begin(), list_.end(), before_);
            list_.pop_back();
        }
        list_.push_back(entry);
        std::push_heap(list_.begin(), list_.end(), before_);
    }
    //! Sorts the kept entries. Nothing may be added afterwards.
    void sort() { std::sort_heap(list_.begin(), list_.end(), before_); }

private:
    std::vector<Candidate>& list_;
    const size_t most_;
    const Before before_;
};
template <typename Before> Firsts<Before> firstsOf(std::vector<Candidate>& list, int most, Before before)
{
    return {list, static_cast<size_t>(most), before};
}

//! Order of windows: by larger sums of posteriors, then by lower indices.
struct BySum
{
    bool operator()(const Candidate& a, const Candidate& b) const
    {
        return a.key != b.key ? a.key > b.key : a.number < b.number;
    }
};

//! Windows of a frame whose sum of posteriors, their key, exceeds the threshold.
struct PassedWindows
{
    std::vector<Candidate> first; //!< the first Settings::maxDetections of them, by BySum
    int count = 0;                //!< all of them
};

//! The training set of an object in a frame.
struct TrainingSet
{
    FernPositives fernPositives; //!< of the frame; once the object learns the far ones, negative examples for ferns
    bool wanted = false;         //!< the object learns from this frame
    Box positive = {};           //!< positive template
    std::vector<Codes> examples; //!< codes of positive examples; none: ferns do not learn
    std::vector<uint8_t> marks;  //!< scratch memory for markExamples()
    std::vector<Candidate> negatives; //!< negative templates, in the order in which they are learned
};

//! One row of windows of one scale.
struct WindowRow
{
    int scale, j, first; //!< first: index of the first window
    int count;
    const uint8_t* pixels; //!< first pixel of the row in the blurred image
    const int* places;     //!< columns of the windows
    const int* offsets;    //!< two per feature: from a window's corner to the compared pixels
    int trees, features;
};

//! Positions of windows and of compared pixels, for all scales.
struct Layout
{
    int offsetsPerScale;
    std::vector<int> offsets, places;
    int firstPlace[MAX_SCALES], rows;

    //! @param step of the blurred image.
    void make(const ObjectView& object, const Settings& settings, size_t step);
};

struct FilterScratch; // defined in src/cpu/tld/filter.hpp
struct FeatureScratch;

//! Scratch memory of a stage, or of one of its threads.
struct Scratch
{
    Layout layout;
    std::vector<Candidate> candidates;
    std::vector<Cluster> clusters;
    // Used by the threads of forRows().
    std::vector<uint8_t> wanted;
    std::vector<Codes> codes;
    FernPositives fernPositives;
    // Made when they are needed.
    std::shared_ptr<FilterScratch> filter;
    std::shared_ptr<FeatureScratch> features;
};

/** Calls body(row, scratch of the thread) for all rows of windows, in any order. scratch.wanted and scratch.codes hold
a row: body selects windows in `wanted`, and codesOfRow() computes their codes. */
template <typename Body>
void forRows(const Work& work, const ObjectView& object, const Layout& layout, const Body& body)
{
    const Grid& grid = *object.grid;
    const Settings& settings = *work.settings;
    parallel_for_(Range(0, layout.rows),
                  [&](const Range& range)
                  {
                      const ScratchPool::Lease scratch(*work.scratch);
                      int s = 0, skipped = 0;
                      for (int r = range.start; r < range.end; ++r)
                      {
                          while (r - skipped >= grid.scale[s].ny)
                              skipped += grid.scale[s++].ny;
                          const Scale& scale = grid.scale[s];
                          const int j = r - skipped;
                          scratch->wanted.resize(std::max<size_t>(scratch->wanted.size(), scale.nx));
                          scratch->codes.resize(std::max<size_t>(scratch->codes.size(), scale.nx));
                          body(WindowRow{s, j, scale.first + j * scale.nx, scale.nx,
                                         work.frame->blurred.row(placeOf(j, scale.stepY)),
                                         layout.places.data() + layout.firstPlace[s],
                                         layout.offsets.data() + static_cast<size_t>(s) * layout.offsetsPerScale,
                                         settings.trees, settings.features},
                               *scratch);
                      }
                  });
}

// --- loops of src/cpu/tld/loops.simd.hpp -----------------------------------------------------------------------------

//! Converts a row of 3 or 4 channels to gray values.
void grayRowOf(const uint8_t* from, int channels, int cols, uint8_t* to);
//! Adds the row above to a row.
void columnSumsOf(const uint32_t* above, uint32_t* row, int count);
//! Blurs along a row, without rounding. @param row BLUR_REACH pixels before and after it can be read.
void blurRowOf(const uint8_t* row, int cols, uint16_t* to);
//! Blurs along columns. @param rows 2 * BLUR_REACH + 1 results of blurRowOf().
void blurColumnsOf(const uint16_t* const* rows, int cols, uint8_t* to);
//! Filters along a row for the next level. @param row two pixels before and after it can be read. @param cols of the
//! next level.
void halveRowOf(const uint8_t* row, int cols, uint16_t* to);
//! Filters along columns for the next level. @param rows five results of halveRowOf().
void halveColumnsOf(const uint16_t* const* rows, int cols, uint8_t* to);
//! Computes the codes of the windows of a row that are wanted.
void codesOfRow(const WindowRow& row, const uint8_t* wanted, Codes* codes);
//! Computes the dot products of a patch with `count` templates.
void dotsOf(const uint8_t* patch, const uint8_t* templates, int count, int* dots);

//! Pixels per row of a flow window in memory, whatever its size: a multiple of the vectors' lanes.
const int FLOW_LANES = 16;
//! Computes blended() for rows of FLOW_LANES pixels. Reads one more pixel per row, and one more row.
void blendRowsOf(const uint8_t* pixels, size_t step, const Blend& weights, int rows, int16_t* out);
//! Sums gradients times differences. @param count a multiple of FLOW_LANES.
Change sumChange(const int16_t* here, const int16_t* there, const int16_t* gx, const int16_t* gy, int count);

}}}} // namespace cv::cuda::tld::cpu

#endif // OPENCV_CUDATRACKING_CPU_TLD_WORK_HPP
