// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Stage density on the CPU.
#include "../../precomp.hpp"
#include "scratch.hpp"
#include <algorithm>
#include <mutex>

#include "density.simd.hpp"
#include "cpu/quick_shift/density.simd_declarations.hpp"

namespace cv { namespace cuda { namespace quick_shift { namespace cpu {

namespace {

using detail::ceilDiv;

const int MIN_STRIP = 8, MAX_STRIP = 64; // rows
const int MAX_OFFSETS = MAX_TERMS / 2;   // per call of credit(): each offset adds two weights to a pixel

//! Credits of the pairs whose upper pixel lies in a strip of rows, collected in 32 bits and then added to the 64-bit
//! sums.
class StripDensity
{
public:
    StripDensity(const Parameters& parameters, const float* spatial, Scratch& scratch, int stripRows,
                 std::vector<std::mutex>& locks)
        : features_(scratch.features),
          p_(parameters),
          spatial_(spatial),
          sums_(scratch.sums.data()),
          stripRows_(stripRows),
          locks_(locks),
          lease_(scratch.credits),
          credits_(*lease_)
    {}

    //! Adds all credits of a strip to the sums.
    void operator()(int strip)
    {
        const int radius = p_.radius, rows = features_.rows;
        begin_ = strip * stripRows_;
        end_ = std::min(begin_ + stripRows_, rows);
        const int reach = std::min(radius, features_.cols - 1); // farther pairs leave the image
        credits_.assign(features_.stride * (std::min(end_ + radius, rows) - begin_), 0);
        for (int dy = 0; dy <= radius && begin_ + dy < rows; ++dy)
        {
            for (int dx = dy == 0 ? 1 : -reach; dx <= reach; dx += MAX_OFFSETS)
            {
                const int dxEnd = std::min(dx + MAX_OFFSETS, reach + 1);
                if (terms_ + 2 * (dxEnd - dx) > static_cast<int>(MAX_TERMS))
                    flush(dy);
                terms_ += 2 * (dxEnd - dx);
                for (int y = begin_; y < end_ && y + dy < rows; ++y)
                    credit(y, dy, dx, dxEnd);
            }
        }
        flush(radius);
    }

private:
    uint32_t* creditRow(int y) { return credits_.data() + (y - begin_) * features_.stride + features_.left; }

    //! Credits the pairs of row y with row y + dy.
    void credit(int y, int dy, int dxBegin, int dxEnd)
    {
        const float *a[MAX_CHANNELS] = {}, *b[MAX_CHANNELS] = {};
        for (int k = 0; k < features_.channels; ++k)
        {
            a[k] = features_.row(k, y);
            b[k] = features_.row(k, y + dy);
        }
        const int radius = p_.radius;
        const float* spatial = spatial_ + static_cast<size_t>(dy) * (2 * radius + 1) + radius + dxBegin;
        CV_CPU_DISPATCH(creditRows,
                        (a, b, features_.channels, p_.weighted ? p_.factors : nullptr, creditRow(y), creditRow(y + dy),
                         features_.cols, dxBegin, dxEnd, spatial, p_.minusRate),
                        CV_CPU_DISPATCH_MODES_ALL);
    }

    //! Adds the credits so far, of which the lowest lie `reach` rows below the strip, to the sums and clears them.
    void flush(int reach)
    {
        const int last = std::min(end_ + reach, features_.rows);
        for (int y = begin_; y < last; ++y)
        {
            const std::lock_guard<std::mutex> lock(locks_[y / stripRows_]);
            uint32_t* from = creditRow(y);
            uint64_t* to = sums_ + static_cast<size_t>(y) * features_.cols;
            for (int x = 0; x < features_.cols; ++x)
                to[x] += from[x];
            std::fill(from, from + features_.cols, 0u);
        }
        terms_ = 0;
    }

    const Features& features_;
    const Parameters& p_;
    const float* spatial_;
    uint64_t* sums_;
    int stripRows_;
    std::vector<std::mutex>& locks_;
    detail::ScratchPool<std::vector<uint32_t>>::Lease lease_;
    std::vector<uint32_t>& credits_;
    int begin_ = 0, end_ = 0, terms_ = 0;
};

} // namespace

void density(const Parameters& parameters, const float* spatial, Scratch& scratch, uint32_t* keys)
{
    const Features& features = scratch.features;
    const int cols = features.cols, rows = features.rows;
    scratch.sums.assign(static_cast<size_t>(cols) * rows, ONE_WEIGHT); // the pixel itself
    const int wanted = ceilDiv(rows, 4 * std::max(getNumThreads(), 1));
    const int stripRows = std::min(std::max(wanted, MIN_STRIP), MAX_STRIP);
    const int strips = ceilDiv(rows, stripRows);
    std::vector<std::mutex> locks(strips);
    parallel_for_(
        Range(0, strips),
        [&](const Range& range)
        {
            StripDensity strip(parameters, spatial, scratch, stripRows, locks);
            for (int i = range.start; i < range.end; ++i)
                strip(i);
        },
        strips);

    parallel_for_(Range(0, rows),
                  [&](const Range& range)
                  {
                      for (int y = range.start; y < range.end; ++y)
                          for (int x = 0; x < cols; ++x)
                          {
                              const size_t at = static_cast<size_t>(y) * cols + x;
                              const bool counts = features.row(0, y)[x] != OUTSIDE;
                              keys[at] = counts ? densityKey(scratch.sums[at], x, y, cols, rows, parameters) : 0;
                          }
                  });
}

}}}} // namespace cv::cuda::quick_shift::cpu
