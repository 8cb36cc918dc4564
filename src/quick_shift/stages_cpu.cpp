// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

#include "../precomp.hpp"
#include "stages.hpp"
#include <algorithm>
#include <mutex>

#include "density.simd.hpp"
#include "quick_shift/density.simd_declarations.hpp"

namespace cv { namespace cuda { namespace quick_shift {

namespace cpu {

namespace {

const int ROW_PADDING = 64;  // columns right of the border that whole vectors may touch; the longest has 64 floats
const int MIN_STRIP = 8, MAX_STRIP = 64;
const int MAX_OFFSETS = MAX_TERMS / 2; // of one credit call: each gives a pixel two weights
const int CELL = 8;          // side of the cells whose best key prunes far searches
const int NEAR_RADIUS = 6;   // rings around the pixel before cells take over

int ceilDiv(int a, int b) { return (a + b - 1) / b; }

template <typename T>
void packRow(const Mat& image, const Mat& mask, const Plan& plan, Features& features, int y)
{
    const int channels = features.channels;
    const T* pixel = image.ptr<T>(y);
    const uchar* valid = mask.empty() ? nullptr : mask.ptr<uchar>(y);
    float* rows[MAX_CHANNELS] = {};
    for (int k = 0; k < channels; ++k)
        rows[k] = features.row(k, y);
    for (int x = 0; x < features.cols; ++x, pixel += channels)
    {
        bool counts = !valid || valid[x];
        for (int k = 0; k < channels; ++k)
        {
            const float value = static_cast<float>(pixel[k]);
            rows[k][x] = plan.scaled ? value * plan.scales[k] : value;
            counts = counts && fabsf(rows[k][x]) < LARGEST_FEATURE;
        }
        if (!counts)
            for (int k = 0; k < channels; ++k)
                rows[k][x] = k == 0 ? OUTSIDE : 0.f;
    }
}

//! Credits of one strip of rows to itself and to the rows below it, collected in 32 bits and added to the sums.
class StripDensity
{
public:
    StripDensity(const Features& features, const Plan& plan, uint64_t* sums, int stripRows, std::vector<std::mutex>& locks)
        : features_(features), plan_(plan), sums_(sums), stripRows_(stripRows), locks_(locks)
    {
    }

    void operator()(int strip)
    {
        const int radius = plan_.parameters.radius, rows = features_.rows;
        begin_ = strip * stripRows_;
        end_ = std::min(begin_ + stripRows_, rows);
        credits_.assign(features_.stride * (std::min(end_ + radius, rows) - begin_), 0);
        for (int dy = 0; dy <= radius && begin_ + dy < rows; ++dy)
        {
            for (int dx = dy == 0 ? 1 : -radius; dx <= radius; dx += MAX_OFFSETS)
            {
                const int dxEnd = std::min(dx + MAX_OFFSETS, radius + 1);
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

    void credit(int y, int dy, int dxBegin, int dxEnd)
    {
        const float *a[MAX_CHANNELS] = {}, *b[MAX_CHANNELS] = {};
        for (int k = 0; k < features_.channels; ++k)
        {
            a[k] = features_.row(k, y);
            b[k] = features_.row(k, y + dy);
        }
        const int radius = plan_.parameters.radius;
        const float* spatial = plan_.spatial.data() + static_cast<size_t>(dy) * (2 * radius + 1) + radius + dxBegin;
        CV_CPU_DISPATCH(creditRows,
                        (a, b, features_.channels, creditRow(y), creditRow(y + dy), features_.cols, dxBegin, dxEnd, spatial,
                         plan_.parameters.minusRate),
                        CV_CPU_DISPATCH_MODES_ALL);
    }

    //! Adds the credits collected so far, which reach `reach` rows below the strip, and starts anew.
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
    const Plan& plan_;
    uint64_t* sums_;
    int stripRows_;
    std::vector<std::mutex>& locks_;
    std::vector<uint32_t> credits_;
    int begin_ = 0, end_ = 0, terms_ = 0;
};

//! The search for one picture's parents.
class ParentSearch
{
public:
    ParentSearch(const Features& features, const Mat& keys, const Parameters& parameters)
        : features_(features), keys_(keys), p_(parameters), cellCols_(ceilDiv(features.cols, CELL)),
          cellRows_(ceilDiv(features.rows, CELL)), best_(static_cast<size_t>(cellCols_) * cellRows_, 0)
    {
        parallel_for_(Range(0, cellRows_), [this](const Range& range) {
            for (int y = range.start * CELL; y < std::min(range.end * CELL, features_.rows); ++y)
            {
                const uint32_t* key = keys_.ptr<uint32_t>(y);
                uint32_t* best = best_.data() + static_cast<size_t>(y / CELL) * cellCols_;
                for (int x = 0; x < features_.cols; ++x)
                    best[x / CELL] = std::max(best[x / CELL], key[x]);
            }
        });
    }

    Candidate find(int x, int y) const
    {
        Seeker s = {x, y, y * features_.cols + x, keys_.ptr<uint32_t>(y)[x], {}, {p_.reach, NO_PARENT}};
        for (int k = 0; k < features_.channels; ++k)
            s.colour[k] = features_.row(k, y)[x];
        const int nearRadius = std::min(NEAR_RADIUS, p_.searchRadius);
        for (int r = 1; r <= nearRadius; ++r)
        {
            // Equal distances still matter: a ring may hold a lower index at the best distance so far.
            if (static_cast<float>(r * r) > s.best.d)
                return s.best;
            ring(s, r);
        }
        if (nearRadius < p_.searchRadius)
            cells(s, nearRadius);
        return s.best;
    }

private:
    struct Seeker
    {
        int x, y, index;
        uint32_t key;
        float colour[MAX_CHANNELS];
        Candidate best;
    };

    void look(Seeker& s, int x, int y) const
    {
        const int index = y * features_.cols + x;
        if (!isHigher(keys_.ptr<uint32_t>(y)[x], index, s.key, s.index, p_.strict))
            return;
        float d = s.colour[0] - features_.row(0, y)[x];
        float dc = d * d;
        for (int k = 1; k < features_.channels; ++k)
        {
            d = s.colour[k] - features_.row(k, y)[x];
            dc = fmaf(d, d, dc);
        }
        d = squaredDistance(dc, p_.colorWeight, (x - s.x) * (x - s.x) + (y - s.y) * (y - s.y));
        if (isBetter(d, index, s.best))
            s.best = {d, index};
    }

    void ring(Seeker& s, int r) const
    {
        const int top = std::max(s.y - r, 0), bottom = std::min(s.y + r, features_.rows - 1);
        const int left = std::max(s.x - r, 0), right = std::min(s.x + r, features_.cols - 1);
        for (int y = top; y <= bottom; ++y)
        {
            const bool whole = y == s.y - r || y == s.y + r;
            if (whole)
                for (int x = left; x <= right; ++x)
                    look(s, x, y);
            else
            {
                if (s.x - r >= 0)
                    look(s, s.x - r, y);
                if (s.x + r < features_.cols)
                    look(s, s.x + r, y);
            }
        }
    }

    //! Cells in rings around the pixel's own; `done` is the radius already looked at.
    void cells(Seeker& s, int done) const
    {
        const int cx = s.x / CELL, cy = s.y / CELL;
        for (int r = 0;; ++r)
        {
            const int gap = r == 0 ? 0 : (r - 1) * CELL + 1; // no pixel of this ring of cells is nearer
            if (gap > p_.searchRadius || static_cast<float>(gap) * static_cast<float>(gap) > s.best.d)
                return;
            const int top = std::max(cy - r, 0), bottom = std::min(cy + r, cellRows_ - 1);
            const int left = std::max(cx - r, 0), right = std::min(cx + r, cellCols_ - 1);
            if (r > 0 && cy - r < 0 && cx - r < 0 && cy + r >= cellRows_ && cx + r >= cellCols_)
                return;
            for (int y = top; y <= bottom; ++y)
            {
                const int step = y == cy - r || y == cy + r ? 1 : std::max(2 * r, 1);
                for (int x = step == 1 ? left : cx - r; x <= right; x += step)
                    if (x >= 0)
                        cell(s, x, y, done);
            }
        }
    }

    void cell(Seeker& s, int cellX, int cellY, int done) const
    {
        const uint32_t best = best_[static_cast<size_t>(cellY) * cellCols_ + cellX];
        if (best < s.key || (p_.strict && best == s.key))
            return;
        const int left = std::max(cellX * CELL, s.x - p_.searchRadius), top = std::max(cellY * CELL, s.y - p_.searchRadius);
        const int right = std::min({cellX * CELL + CELL, features_.cols, s.x + p_.searchRadius + 1});
        const int bottom = std::min({cellY * CELL + CELL, features_.rows, s.y + p_.searchRadius + 1});
        for (int y = top; y < bottom; ++y)
            for (int x = left; x < right; ++x)
                if (std::max(std::abs(x - s.x), std::abs(y - s.y)) > done)
                    look(s, x, y);
    }

    const Features& features_;
    const Mat& keys_;
    const Parameters& p_;
    int cellCols_, cellRows_;
    std::vector<uint32_t> best_;
};

} // namespace

void pack(const Mat& image, const Mat& mask, const Plan& plan, Features& features)
{
    features.cols = image.cols;
    features.rows = image.rows;
    features.channels = image.channels();
    features.left = alignSize(plan.parameters.radius, 16);
    features.stride = alignSize(features.left + features.cols + ROW_PADDING, 16);
    features.data.resize(features.stride * features.rows * features.channels);
    parallel_for_(Range(0, image.rows), [&](const Range& range) {
        for (int y = range.start; y < range.end; ++y)
        {
            for (int k = 0; k < features.channels; ++k)
            {
                float* row = features.row(k, y) - features.left;
                std::fill(row, row + features.stride, k == 0 ? OUTSIDE : 0.f);
            }
            switch (image.depth())
            {
            case CV_8U: packRow<uchar>(image, mask, plan, features, y); break;
            case CV_16U: packRow<ushort>(image, mask, plan, features, y); break;
            default: packRow<float>(image, mask, plan, features, y); break;
            }
        }
    });
}

void density(const Features& features, const Plan& plan, Mat& keys)
{
    const int cols = features.cols, rows = features.rows;
    std::vector<uint64_t> sums(static_cast<size_t>(cols) * rows, ONE_WEIGHT); // the pixel itself
    const int wanted = ceilDiv(rows, 4 * std::max(getNumThreads(), 1));
    const int stripRows = std::min(std::max(wanted, MIN_STRIP), MAX_STRIP);
    const int strips = ceilDiv(rows, stripRows);
    std::vector<std::mutex> locks(strips);
    parallel_for_(Range(0, strips), [&](const Range& range) {
        StripDensity strip(features, plan, sums.data(), stripRows, locks);
        for (int i = range.start; i < range.end; ++i)
            strip(i);
    }, strips);

    keys.create(rows, cols, CV_32S);
    parallel_for_(Range(0, rows), [&](const Range& range) {
        for (int y = range.start; y < range.end; ++y)
            for (int x = 0; x < cols; ++x)
            {
                const bool counts = features.row(0, y)[x] != OUTSIDE;
                const uint64_t sum = sums[static_cast<size_t>(y) * cols + x];
                keys.ptr<uint32_t>(y)[x] = counts ? densityKey(sum, x, y, cols, rows, plan.parameters) : 0;
            }
    });
}

void parents(const Features& features, const Mat& keys, const Parameters& parameters, Mat& parents, Mat& distances)
{
    const int cols = features.cols, rows = features.rows;
    const ParentSearch search(features, keys, parameters);
    parents.create(rows, cols, CV_32S);
    distances.create(rows, cols, CV_32F);
    parallel_for_(Range(0, rows), [&](const Range& range) {
        for (int y = range.start; y < range.end; ++y)
            for (int x = 0; x < cols; ++x)
            {
                const bool masked = keys.ptr<uint32_t>(y)[x] == 0;
                const Candidate best = masked ? Candidate{0.f, NO_PARENT} : search.find(x, y);
                const bool root = best.index == NO_PARENT;
                parents.ptr<int>(y)[x] = masked ? -1 : (root ? y * cols + x : best.index);
                distances.ptr<float>(y)[x] = root ? INFINITY : rootOf(best.d);
            }
    });
}

} // namespace cpu

}}} // namespace cv::cuda::quick_shift
