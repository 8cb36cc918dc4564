// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

#include "../../precomp.hpp"
#include "../../quick_shift/engine.hpp"
#include "scratch.hpp"
#include <algorithm>
#include <cstring>
#include <numeric>

namespace cv { namespace cuda { namespace quick_shift {

namespace {

//! Copies rows without gaps to the rows of an output.
void copyRows(const void* tight, const OutputView& out)
{
    if (!out)
        return;
    const uint8_t* from = static_cast<const uint8_t*>(tight);
    for (int y = 0; y < out.rows; ++y, from += out.rowBytes())
        std::memcpy(out.as<uint8_t>().row(y), from, out.rowBytes());
}

class CpuEngine final : public Engine
{
public:
    CpuEngine() = default;
    explicit CpuEngine(HostResults&& results) : results_(std::move(results))
    {
        results_.labels.resize(results_.extent.total());
        results_.counts = {
            cpu::label(results_.extent.pixels(), results_.trees(), INFINITY, scratch_, results_.labels.data())};
    }

    bool compute(const std::vector<ImageView>& images, const std::vector<ImageView>& masks, const Settings& settings,
                 const std::vector<OutputView>& labels, StreamHandle) override
    {
        prepare({images[0].cols, images[0].rows, static_cast<int>(images.size())}, settings);
        const Parameters& parameters = settings.parameters;
        HostResults& to = next_;
        for (int i = 0; i < to.extent.count; ++i)
        {
            const size_t at = static_cast<size_t>(i) * to.extent.pixels();
            int* const parents = to.parents.data() + at;
            float* const distances = to.distances.data() + at;
            cpu::pack(images[i], masks.empty() ? ImageView() : masks[i], parameters, settings.scales, scratch_);
            cpu::density(parameters, settings.spatial->rows.data(), scratch_, to.keys.data() + at);
            cpu::parents(parameters, to.keys.data() + at, scratch_, parents, distances);
            to.counts[i] =
                cpu::label(to.extent.pixels(), {parents, distances}, INFINITY, scratch_, to.labels.data() + at);
            if (!labels.empty())
                copyRows(to.labels.data() + at, labels[i]);
        }
        std::swap(results_, next_);
        return true;
    }

    bool hasCaptured(StreamHandle) override { return false; }
    Shape shape(StreamHandle) override { return {results_.extent, results_.settings.maxDist}; }
    int count(StreamHandle) override { return sum(results_.counts); }
    void counts(const OutputView& out, StreamHandle) override { copyRows(results_.counts.data(), out); }

    void labels(const OutputView& out, StreamHandle) override { copyRows(results_.labels.data(), out); }
    void parents(const OutputView& out, StreamHandle) override { copyRows(results_.parents.data(), out); }
    void distances(const OutputView& out, StreamHandle) override { copyRows(results_.distances.data(), out); }
    void density(const OutputView& out, StreamHandle) override
    {
        cpu::densityValues(results_.extent, results_.settings.parameters, results_.keys.data(), out.as<float>());
    }

    void segment(float tau, const OutputView& out, StreamHandle) override
    {
        cutLabels(tau);
        copyRows(next_.labels.data(), out);
    }

    int countAt(float tau, StreamHandle) override
    {
        return cpu::countLonger(results_.extent.total(), results_.trees(), tau);
    }

    float tauFor(int number, StreamHandle) override
    {
        const int roots = sortLinks();
        return linkFor(number, roots, static_cast<int>(links_.sorted.size()),
                       [this](int i) { return links_.sorted[i]; });
    }

    int findHeights(StreamHandle) override
    {
        sortLinks();
        return static_cast<int>(links_.heights.size());
    }
    void heights(const OutputView& heights, const OutputView& counts, StreamHandle) override
    {
        copyRows(links_.heights.data(), heights);
        copyRows(links_.left.data(), counts);
    }

    void contours(bool thick, const OutputView& out, StreamHandle) override
    {
        cpu::contours(results_.extent, results_.labels.data(), thick, out.as<uint8_t>());
    }

    void meanColor(const ImageView& image, const OutputView& dst, StreamHandle) override
    {
        const Extent one = results_.extent.one();
        forImages(
            [&](int i, const int* labels, int)
            {
                const ImageView part = image.part(i * one.rows, one.rows);
                const cpu::SumsTable sums = cpu::sums(one, labels, results_.counts[i], part);
                cpu::paintMeans(one, labels, part, sums, dst.from<void>(i * one.rows));
            });
    }

    void statistics(const ImageView& image, int, const StatisticsViews& out, StreamHandle) override
    {
        const Extent one = results_.extent.one();
        forImages(
            [&](int i, const int* labels, int first)
            {
                const ImageView part = (out.means ? image : ImageView()).part(i * one.rows, one.rows);
                cpu::tabulate(cpu::sums(one, labels, results_.counts[i], part), image.channels,
                              {out.areas.from<int>(first), out.means.from<float>(first),
                               out.centroids.from<float>(first), out.boxes.from<int>(first)});
            });
    }

    int findAdjacency(StreamHandle) override
    {
        pairs_.clear();
        forImages(
            [&](int, const int* labels, int first)
            {
                const size_t begin = pairs_.size();
                cpu::listBorders(results_.extent.one(), labels, first, pairs_);
                cpu::sortBorders(begin, pairs_);
            });
        return adjacencyLength(pairs_.size());
    }
    void adjacency(const OutputView& out, StreamHandle) override { cpu::writePairs(out.rows, pairs_, out.as<int>()); }

    void apply(float tau, StreamHandle) override
    {
        cutLabels(tau);
        useNextLabels();
    }

    int connect(int minSize, StreamHandle) override
    {
        next_.labels.resize(results_.labels.size());
        next_.counts.resize(results_.counts.size());
        const Extent one = results_.extent.one();
        cpu::Pieces pieces;
        for (int i = 0; i < results_.extent.count; ++i)
        {
            const size_t at = static_cast<size_t>(i) * one.pixels();
            cpu::splitPieces(one, results_.labels.data() + at, pieces);
            for (bool joined = minSize > 1; joined;)
                joined = cpu::joinPieces(one, minSize, pieces);
            next_.counts[i] = cpu::rankPieces(pieces, next_.labels.data() + at);
        }
        useNextLabels();
        return sum(results_.counts);
    }

    size_t workspaceBytes() const override { return 0; }
    StreamHandle ownStream() override { return nullptr; }

    void computeFromHost(const ImageView& image, const ImageView& mask, const Settings& settings) override
    {
        std::vector<ImageView> masks;
        if (mask)
            masks.push_back(mask);
        compute({image}, masks, settings, {}, nullptr);
    }

    void fetch(const Window& part, RowsView<uint32_t> keys, RowsView<int> parents, RowsView<float> distances) override
    {
        for (int y = 0; y < part.rows; ++y)
        {
            const size_t at = static_cast<size_t>(part.y + y) * results_.extent.cols + part.x;
            std::copy_n(results_.keys.data() + at, part.cols, keys.row(y));
            std::copy_n(results_.parents.data() + at, part.cols, parents.row(y));
            std::copy_n(results_.distances.data() + at, part.cols, distances.row(y));
        }
    }

private:
    //! Reserves memory for new results. The current ones stay until the call succeeds.
    void prepare(const Extent& extent, const Settings& settings)
    {
        const size_t n = extent.total();
        next_.extent = extent;
        next_.settings = settings;
        next_.counts.resize(extent.count);
        next_.keys.resize(n);
        next_.parents.resize(n);
        next_.distances.resize(n);
        next_.labels.resize(n);
    }

    static int sum(const std::vector<int>& counts) { return std::accumulate(counts.begin(), counts.end(), 0); }

    //! Lists and sorts the lengths of all links. @return number of roots.
    int sortLinks()
    {
        const int roots = cpu::selectLinks(results_.extent.total(), results_.trees(), links_);
        cpu::sortLinks(roots, links_);
        return roots;
    }

    //! Calls visit(index, labels, number of superpixels of the images before) for each image.
    template <typename Visit> void forImages(const Visit& visit) const
    {
        const std::vector<int> firsts = cpu::numberSuperpixels(results_.counts);
        for (int i = 0; i < results_.extent.count; ++i)
            visit(i, results_.labels.data() + static_cast<size_t>(i) * results_.extent.pixels(), firsts[i]);
    }

    //! Replaces labels and counts by those of next_.
    void useNextLabels()
    {
        std::swap(results_.labels, next_.labels);
        std::swap(results_.counts, next_.counts);
    }

    //! Labels the trees without links longer than tau: next_.labels and next_.counts.
    void cutLabels(float tau)
    {
        const int pixels = results_.extent.pixels();
        next_.labels.resize(results_.extent.total());
        next_.counts.resize(results_.extent.count);
        for (int i = 0; i < results_.extent.count; ++i)
        {
            const size_t at = static_cast<size_t>(i) * pixels;
            const Trees trees = {results_.parents.data() + at, results_.distances.data() + at};
            next_.counts[i] = cpu::label(pixels, trees, tau, scratch_, next_.labels.data() + at);
        }
    }

    HostResults results_; //!< of the last compute()
    HostResults next_;    //!< memory for new results
    cpu::Scratch scratch_;
    cpu::Links links_;
    std::vector<uint64_t> pairs_; //!< result of findAdjacency()
};

} // namespace

std::unique_ptr<Engine> makeCpuEngine() { return std::unique_ptr<Engine>(new CpuEngine); }

std::unique_ptr<Engine> makeCpuEngine(HostResults&& results)
{
    return std::unique_ptr<Engine>(new CpuEngine(std::move(results)));
}

}}} // namespace cv::cuda::quick_shift
