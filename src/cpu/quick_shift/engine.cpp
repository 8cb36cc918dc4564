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

struct State
{
    HostResults results; //!< of the last compute()
    HostResults next;    //!< memory for new results
    cpu::Scratch scratch;
    cpu::Links links;
    std::vector<uint64_t> pairs;
};

class CpuResults final : public Results
{
public:
    explicit CpuResults(State& state) : state_(state) {}

    bool onDevice() const override { return false; }
    const Extent& extent() const override { return state_.results.extent; }
    const Settings& settings() const override { return state_.results.settings; }
    int count() override { return sum(state_.results.counts); }
    void counts(const OutputView& out) override { copyRows(state_.results.counts.data(), out); }

    void labels(const OutputView& out) override { copyRows(state_.results.labels.data(), out); }
    void parents(const OutputView& out) override { copyRows(state_.results.parents.data(), out); }
    void distances(const OutputView& out) override { copyRows(state_.results.distances.data(), out); }
    void density(const OutputView& out) override
    {
        if (!state_.results.densities.empty())
            return copyRows(state_.results.densities.data(), out);
        cpu::densityValues(state_.results.extent, state_.results.settings.parameters, state_.results.keys.data(),
                           out.as<float>());
    }

    void segment(float tau, const OutputView& out) override
    {
        cutLabels(tau);
        copyRows(state_.next.labels.data(), out);
    }

    int countAt(float tau) override
    {
        return cpu::countLonger(state_.results.extent.total(), state_.results.trees(), tau);
    }

    float tauFor(int number) override
    {
        const int roots = sortLinks();
        return linkFor(number, roots, static_cast<int>(state_.links.sorted.size()),
                       [this](int i) { return state_.links.sorted[i]; });
    }

    void heights(const std::function<HeightsViews(int)>& outputs) override
    {
        sortLinks();
        const HeightsViews views = outputs(static_cast<int>(state_.links.heights.size()));
        copyRows(state_.links.heights.data(), views.heights);
        copyRows(state_.links.left.data(), views.counts);
    }

    void contours(bool thick, const OutputView& out) override
    {
        cpu::contours(state_.results.extent, state_.results.labels.data(), thick, out.as<uint8_t>());
    }

    void meanColor(const ImageView& image, const OutputView& dst) override
    {
        const Extent one = state_.results.extent.one();
        forImages(
            [&](int i, const int* labels, int)
            {
                const ImageView part = image.part(i * one.rows, one.rows);
                const cpu::SumsTable sums = cpu::sums(one, labels, state_.results.counts[i], part);
                cpu::paintMeans(one, labels, part, sums, dst.from<void>(i * one.rows));
            });
    }

    void statistics(const ImageView& image, int, const StatisticsViews& out) override
    {
        const Extent one = state_.results.extent.one();
        forImages(
            [&](int i, const int* labels, int first)
            {
                const ImageView part = (out.means ? image : ImageView()).part(i * one.rows, one.rows);
                cpu::tabulate(cpu::sums(one, labels, state_.results.counts[i], part),
                              {out.areas.from<int>(first), out.means.from<float>(first),
                               out.centroids.from<float>(first), out.boxes.from<int>(first)});
            });
    }

    void adjacency(const std::function<OutputView(int)>& output) override
    {
        state_.pairs.clear();
        forImages(
            [&](int, const int* labels, int first)
            {
                const size_t begin = state_.pairs.size();
                cpu::listBorders(state_.results.extent.one(), labels, first, state_.pairs);
                cpu::sortBorders(begin, state_.pairs);
            });
        const OutputView out = output(adjacencyLength(state_.pairs.size()));
        cpu::writePairs(out.rows, state_.pairs, out.as<int>());
    }

    void apply(float tau) override
    {
        cutLabels(tau);
        useNextLabels();
    }

    int connect(int minSize) override
    {
        state_.next.labels.resize(state_.results.labels.size());
        state_.next.counts.resize(state_.results.counts.size());
        connectLabels(state_.results.labels, minSize);
        useNextLabels();
        return sum(state_.results.counts);
    }

    int connectCut(float tau, int minSize, bool keep) override
    {
        cutLabels(tau);
        connectLabels(state_.next.labels, minSize);
        const int n = sum(state_.next.counts);
        if (keep)
            useNextLabels();
        return n;
    }

    void fetch(const Window& part, RowsView<uint32_t> keys, RowsView<int> parents, RowsView<float> distances) override
    {
        for (int y = 0; y < part.rows; ++y)
        {
            const size_t at = static_cast<size_t>(part.y + y) * state_.results.extent.cols + part.x;
            std::copy_n(state_.results.keys.data() + at, part.cols, keys.row(y));
            std::copy_n(state_.results.parents.data() + at, part.cols, parents.row(y));
            std::copy_n(state_.results.distances.data() + at, part.cols, distances.row(y));
        }
    }

private:
    static int sum(const std::vector<int>& counts) { return std::accumulate(counts.begin(), counts.end(), 0); }

    //! Lists and sorts the lengths of all links. @return number of roots.
    int sortLinks()
    {
        const int roots = cpu::selectLinks(state_.results.extent.total(), state_.results.trees(), state_.links);
        cpu::sortLinks(roots, state_.links);
        return roots;
    }

    //! Calls visit(index, labels, number of superpixels of the images before) for each image.
    template <typename Visit> void forImages(const Visit& visit) const
    {
        const std::vector<int> firsts = cpu::numberSuperpixels(state_.results.counts);
        for (int i = 0; i < state_.results.extent.count; ++i)
            visit(i, state_.results.labels.data() + static_cast<size_t>(i) * state_.results.extent.pixels(), firsts[i]);
    }

    //! Makes connected pieces of labels, which may be state_.next.labels: state_.next.labels and state_.next.counts.
    void connectLabels(const std::vector<int>& labels, int minSize)
    {
        const Extent one = state_.results.extent.one();
        cpu::Pieces pieces;
        for (int i = 0; i < state_.results.extent.count; ++i)
        {
            const size_t at = static_cast<size_t>(i) * one.pixels();
            cpu::splitPieces(one, labels.data() + at, pieces);
            for (bool joined = minSize > 1; joined;)
                joined = cpu::joinPieces(one, minSize, pieces);
            state_.next.counts[i] = cpu::rankPieces(pieces, state_.next.labels.data() + at);
        }
    }

    //! Replaces labels and counts by those of state_.next.
    void useNextLabels()
    {
        std::swap(state_.results.labels, state_.next.labels);
        std::swap(state_.results.counts, state_.next.counts);
    }

    //! Labels the trees without links longer than tau: state_.next.labels and state_.next.counts.
    void cutLabels(float tau)
    {
        const int pixels = state_.results.extent.pixels();
        state_.next.labels.resize(state_.results.extent.total());
        state_.next.counts.resize(state_.results.extent.count);
        for (int i = 0; i < state_.results.extent.count; ++i)
        {
            const size_t at = static_cast<size_t>(i) * pixels;
            const Trees trees = {state_.results.parents.data() + at, state_.results.distances.data() + at};
            state_.next.counts[i] = cpu::label(pixels, trees, tau, state_.scratch, state_.next.labels.data() + at);
        }
    }

    State& state_;
};

class CpuEngine final : public Engine
{
public:
    CpuEngine() = default;
    explicit CpuEngine(HostResults&& results)
    {
        state_.results = std::move(results);
        state_.results.labels.resize(state_.results.extent.total());
        state_.results.counts = {cpu::label(state_.results.extent.pixels(), state_.results.trees(), INFINITY,
                                            state_.scratch, state_.results.labels.data())};
    }

    bool compute(const std::vector<ImageView>& images, const std::vector<ImageView>& masks, const Settings& settings,
                 const std::vector<OutputView>& labels, StreamHandle) override
    {
        prepare({images[0].cols, images[0].rows, static_cast<int>(images.size())}, settings);
        const Parameters& parameters = settings.parameters;
        HostResults& to = state_.next;
        for (int i = 0; i < to.extent.count; ++i)
        {
            const size_t at = static_cast<size_t>(i) * to.extent.pixels();
            int* const parents = to.parents.data() + at;
            float* const distances = to.distances.data() + at;
            cpu::pack(images[i], masks.empty() ? ImageView() : masks[i], parameters, settings.scales, state_.scratch);
            cpu::density(parameters, settings.spatial->rows.data(), state_.scratch, to.keys.data() + at);
            cpu::parents(parameters, to.keys.data() + at, state_.scratch, parents, distances);
            to.counts[i] =
                cpu::label(to.extent.pixels(), {parents, distances}, INFINITY, state_.scratch, to.labels.data() + at);
            if (!labels.empty())
                copyRows(to.labels.data() + at, labels[i]);
        }
        std::swap(state_.results, state_.next);
        return true;
    }

    bool hasCaptured(StreamHandle) override { return false; }
    std::unique_ptr<Results> results(StreamHandle) override { return std::make_unique<CpuResults>(state_); }

    size_t workspaceBytes() const override { return 0; }
    StreamHandle ownStream() override { return nullptr; }

    void computeFromHost(const ImageView& image, const ImageView& mask, const Settings& settings) override
    {
        std::vector<ImageView> masks;
        if (mask)
            masks.push_back(mask);
        compute({image}, masks, settings, {}, nullptr);
    }

private:
    //! Reserves memory for new results. The current ones stay until the call succeeds.
    void prepare(const Extent& extent, const Settings& settings)
    {
        const size_t n = extent.total();
        state_.next.extent = extent;
        state_.next.settings = settings;
        state_.next.counts.resize(extent.count);
        state_.next.keys.resize(n);
        state_.next.parents.resize(n);
        state_.next.distances.resize(n);
        state_.next.labels.resize(n);
    }

    State state_;
};

} // namespace

std::unique_ptr<Engine> makeCpuEngine() { return std::unique_ptr<Engine>(new CpuEngine); }

std::unique_ptr<Engine> makeCpuEngine(HostResults&& results)
{
    return std::unique_ptr<Engine>(new CpuEngine(std::move(results)));
}

}}} // namespace cv::cuda::quick_shift
