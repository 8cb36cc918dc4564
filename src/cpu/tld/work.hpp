// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// What the stages of the CPU share.
#ifndef OPENCV_CUDATRACKING_CPU_TLD_WORK_HPP
#define OPENCV_CUDATRACKING_CPU_TLD_WORK_HPP

#include "opencv2/core/utility.hpp"
#include "../../tld/stages.hpp"
#include <algorithm>
#include <vector>

namespace cv { namespace cuda { namespace tld { namespace cpu {

//! A box as the nearest neighbours see it.
struct Patch
{
    uint8_t pixels[PATCH_STRIDE]; //!< 0 behind the last one
    PatchStats stats;
};
Patch patchOf(const Frame& frame, const Box& box);
//! Against all templates.
Similarity compareTemplates(const ObjectView& object, const Settings& settings, const Patch& patch);

//! Bytes behind the last pixel of each row that vectors read, but do not use.
const int ROW_SLACK = 64;

//! Of a window: codeOf() of each tree.
struct Codes
{
    uint16_t code[MAX_TREES];
};
inline uint32_t sumOf(const Codes& codes, const uint16_t* posteriors, const Settings& settings)
{
    uint32_t sum = 0;
    for (int t = 0; t < settings.trees; ++t, posteriors += static_cast<size_t>(1) << settings.features)
        sum += posteriors[codes.code[t]];
    return sum;
}

//! Windows of fernPositiveSum(), in no order. Ferns have their codes anyway, and learn from them if the frame turns out to be worth it.
struct FernPositives
{
    std::vector<int> windows; //!< numbers
    std::vector<Codes> codes;
};

//! A window and what it is chosen by.
struct Candidate
{
    double overlap;
    uint32_t key;
    int number;
};

//! The first `most` of any number of entries in an order, which no two share a place in. @tparam Before whether a comes before b.
template <typename Before> class Firsts
{
public:
    //! @param list room for them; its content is lost.
    Firsts(std::vector<Candidate>& list, size_t most, Before before) : list_(list), most_(most), before_(before)
    {
        list_.clear();
    }
    void add(const Candidate& entry)
    {
        if (list_.size() == most_)
        {
            if (!before_(entry, list_[0])) // the last one
                return;
            std::pop_heap(list_.begin(), list_.end(), before_);
            list_.pop_back();
        }
        list_.push_back(entry);
        std::push_heap(list_.begin(), list_.end(), before_);
    }
    //! In their order; nothing can be added any more.
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

//! What an object learns from in a frame.
struct TrainingSet
{
    FernPositives fernPositives;
    bool wanted = false;
    Box positive = {};                //!< the next template
    std::vector<Codes> examples;      //!< positive ones for ferns; none: ferns do not learn
    std::vector<uint8_t> marks;       //!< room for a mark at each of either
    std::vector<Candidate> negatives; //!< templates, in the order in which they are learned
};

//! One row of windows of one scale, as its ferns preprocess at it.
struct WindowRow
{
    int scale, j, first; //!< number of the first window
    int count;
    const uint8_t* pixels; //!< blurred row, at its left border
    const int* places;     //!< columns of the windows
    const int* offsets;    //!< of the first and second pixel of each feature
    int trees, features;
};

//! What is the same in all rows of a scale. @param step of the blurred image.
struct Layout
{
    int offsetsPerScale;
    std::vector<int> offsets, places;
    int firstPlace[MAX_SCALES], rows;

    void make(const ObjectView& object, const Settings& settings, size_t step);
};

//! Of a stage.
struct Scratch
{
    Layout layout;
    std::vector<Candidate> candidates;
    std::vector<Cluster> clusters;
    // Of a thread that goes through rows.
    std::vector<uint8_t> wanted;
    std::vector<Codes> codes;
    FernPositives fernPositives;
};

/** body(row, scratch of the thread) for all rows of windows, in no order. scratch.wanted and scratch.codes have room for a row;
body marks which windows are wanted, and codesOfRow() gives their codes. */
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

// --- loops of src/cpu/tld/loops.simd.hpp -----------------------------------------------------------------------------------------

//! Gray values of a row of 3 or 4 channels.
void grayRowOf(const uint8_t* from, int channels, int cols, uint8_t* to);
//! row += above.
void columnSumsOf(const uint32_t* above, uint32_t* row, int count);
//! Row sums; BLUR_REACH pixels before and behind the row can be read.
void blurRowOf(const uint8_t* row, int cols, uint16_t* to);
//! @param rows 2 BLUR_REACH + 1 of them.
void blurColumnsOf(const uint16_t* const* rows, int cols, uint8_t* to);
//! The same for the pyramid. @param cols of the next level. @param rows five.
void halveRowOf(const uint8_t* row, int cols, uint16_t* to);
void halveColumnsOf(const uint16_t* const* rows, int cols, uint8_t* to);
//! Codes of the windows that are wanted.
void codesOfRow(const WindowRow& row, const uint8_t* wanted, Codes* codes);
//! Of a patch with templates PATCH_STRIDE bytes apart.
void dotsOf(const uint8_t* patch, const uint8_t* templates, int count, int* dots);

//! Pixels in a row of a window of flow, whatever its size; a multiple of vectors.
const int FLOW_LANES = 16;
//! blended() for rows of FLOW_LANES pixels; one more pixel, and one more row, are read.
void blendRowsOf(const uint8_t* pixels, size_t step, const Blend& weights, int rows, int16_t* out);
Change sumChange(const int16_t* here, const int16_t* there, const int16_t* gx, const int16_t* gy, int count);

}}}} // namespace cv::cuda::tld::cpu

#endif // OPENCV_CUDATRACKING_CPU_TLD_WORK_HPP
