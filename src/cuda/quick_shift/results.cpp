// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

#include "../../precomp.hpp"

#ifdef HAVE_CUDA

#include "results.hpp"
#include <cfloat>
#include <numeric>

namespace cv { namespace cuda { namespace quick_shift {

namespace {

using detail::cudaCheck;
using detail::Downloads;

class CudaResults final : public Results
{
public:
    CudaResults(State& state, StreamHandle stream)
        : state_(state), call_(state.workspace, stream), set_(*state.sets.of(call_))
    {}

    bool onDevice() const override { return true; }
    const Extent& extent() const override { return set_.extent(); }
    const Settings& settings() const override { return set_.key.settings; }

    //! Keeps the number once it is known, but not while a graph may replay compute().
    int count() override
    {
        call_.refuseCapture("the number of superpixels");
        const bool replayed = set_.memory.inGraphs();
        if (set_.count >= 0 && !replayed)
            return set_.count;
        const int n = downloadCounts(set_.counts(), set_.extent().count);
        set_.count = replayed ? -1 : n;
        return n;
    }

    void counts(const OutputView& out) override { copy(&ResultSet::counts, out); }
    void labels(const OutputView& out) override { copy(&ResultSet::labels, out); }
    void parents(const OutputView& out) override { copy(&ResultSet::parents, out); }
    void distances(const OutputView& out) override { copy(&ResultSet::distances, out); }

    void density(const OutputView& out) override
    {
        Downloads::Batch batch(state_.downloads, call_);
        const RowsView<float> rows = batch.view<float>(out);
        const ResultSet& set = used();
        gpu::densityValues(set.extent(), set.key.settings.parameters, set.keys(), rows, call_.stream());
        batch.finish();
    }

    void segment(float tau, const OutputView& out) override
    {
        Downloads::Batch batch(state_.downloads, call_);
        batch.check(out);
        batch.copy(out, cut(used(), tau).labels);
        batch.finish();
    }

    int countAt(float tau) override
    {
        call_.refuseCapture("the number of superpixels");
        return countLonger(used(), tau);
    }

    float tauFor(int number) override
    {
        call_.refuseCapture("tauForSuperpixels()");
        const ResultSet& set = used();
        int roots = 0;
        const int count = sortLinks(set, roots);
        const float* const sorted = state_.scratch.links(set.extent(), call_).sorted;
        return linkFor(number, roots, count, [&](int i) { return download(sorted + i); });
    }

    void heights(const std::function<HeightsViews(int)>& outputs) override
    {
        call_.refuseCapture("getMergeHeights()");
        const ResultSet& set = used();
        int roots = 0;
        const bool none = sortLinks(set, roots) == 0;
        const HeightsViews views = outputs(none ? 0 : download(&state_.scratch.counters(call_)->distinct));
        const gpu::Links links = state_.scratch.links(set.extent(), call_);
        Downloads::Batch batch(state_.downloads, call_);
        batch.copy(views.heights, links.heights);
        batch.copy(views.counts, links.left);
        batch.finish();
    }

    void contours(bool thick, const OutputView& out) override
    {
        Downloads::Batch batch(state_.downloads, call_);
        const RowsView<uint8_t> rows = batch.view<uint8_t>(out);
        const ResultSet& set = used();
        gpu::contours(set.extent(), set.labels(), thick, rows, call_.stream());
        batch.finish();
    }

    //! Has room for as many superpixels as pixels, so that their number need not be known on the host.
    void meanColor(const ImageView& image, const OutputView& dst) override
    {
        Downloads::Batch batch(state_.downloads, call_);
        const RowsView<void> rows = batch.view<void>(dst);
        const ResultSet& set = used();
        const gpu::SumsTable all = sumUp(set, image, set.extent().total(), false);
        gpu::paintMeans(set.extent(), set.labels(), image, all, rows, call_.stream());
        batch.finish();
    }

    void statistics(const ImageView& image, int count, const StatisticsViews& out) override
    {
        Downloads::Batch batch(state_.downloads, call_);
        Table table = {};
        table.areas = batch.view<int>(out.areas);
        table.means = batch.view<float>(out.means);
        table.centroids = batch.view<float>(out.centroids);
        table.boxes = batch.view<int>(out.boxes);
        const gpu::SumsTable all = sumUp(used(), image, count, true);
        gpu::tabulate(count, image, all, table, call_.stream());
        batch.finish();
    }

    void adjacency(const std::function<OutputView(int)>& output) override
    {
        call_.refuseCapture("getAdjacency()");
        const ResultSet& set = used();
        Counters* const counters = state_.scratch.counters(call_);
        const int* const firsts = state_.scratch.numberSuperpixels(set, call_);
        gpu::listBorders(set.extent(), set.labels(), firsts, nullptr, &counters->listed, call_.stream());
        const int borders = adjacencyLength(static_cast<uint32_t>(download(&counters->listed)));
        if (borders == 0)
        {
            output(0);
            return;
        }
        const Scratch::Borders work = state_.scratch.borders(borders, call_);
        gpu::listBorders(set.extent(), set.labels(), firsts, work.pairs, &counters->listed, call_.stream());
        gpu::sortBorders(borders, work.pairs, work.sorted, &counters->distinct, work.scratch, work.scratchBytes,
                         call_.stream());
        const OutputView out = output(download(&counters->distinct));
        Downloads::Batch batch(state_.downloads, call_);
        const RowsView<int> rows = batch.view<int>(out);
        if (rows)
            gpu::writePairs(out.rows, work.pairs, rows, call_.stream());
        batch.finish();
    }

    void apply(float tau) override
    {
        ResultSet& set = used();
        copyLabels(set, cut(set, tau));
    }

    int connect(int minSize) override
    {
        call_.refuseCapture("enforceConnectivity()");
        ResultSet& set = used();
        return replaceLabels(set, connected(set.extent(), set.labels(), minSize));
    }

    int connectCut(float tau, int minSize, bool keep) override
    {
        call_.refuseCapture("applyNumber()");
        ResultSet& set = used();
        const Labels next = connected(set.extent(), cut(set, tau).labels, minSize);
        return keep ? replaceLabels(set, next) : downloadCounts(next.counts, set.extent().count);
    }

    void fetch(const Window& part, RowsView<uint32_t> keys, RowsView<int> parents, RowsView<float> distances) override
    {
        const ResultSet& set = used();
        const size_t pitch = sizeof(int) * set.extent().cols;
        const size_t first = static_cast<size_t>(part.y) * set.extent().cols + part.x;
        const auto fetchRows = [&](void* to, size_t step, const void* from)
        {
            cudaCheck(cudaMemcpy2DAsync(to, step, from, pitch, sizeof(int) * part.cols, part.rows,
                                        cudaMemcpyDeviceToHost, call_.stream()),
                      "quick shift tile");
        };
        fetchRows(keys.data, keys.step, set.keys() + first);
        fetchRows(parents.data, parents.step, set.parents() + first);
        fetchRows(distances.data, distances.step, set.distances() + first);
        call_.wait("quick shift tile");
    }

private:
    //! Returns the results for kernels and copies of this call.
    ResultSet& used()
    {
        set_.use(call_);
        return set_;
    }

    template <typename T> void copy(T* (ResultSet::*array)() const, const OutputView& out)
    {
        Downloads::Batch batch(state_.downloads, call_);
        batch.copy(out, (used().*array)());
        batch.finish();
    }

    //! Copies a value to the host. Waits for the stream.
    template <typename T> T download(const T* device)
    {
        T value;
        cudaCheck(cudaMemcpyAsync(&value, device, sizeof(T), cudaMemcpyDeviceToHost, call_.stream()),
                  "quick shift download");
        call_.wait("quick shift download");
        return value;
    }

    //! Labels the trees without links longer than tau. @return labels and counts, in memory that the next call
    //! overwrites.
    Labels cut(const ResultSet& set, float tau)
    {
        const Extent& extent = set.extent();
        const gpu::Ranking ranking = state_.scratch.ranking(extent, call_);
        const Labels next = state_.scratch.labels(extent, call_);
        gpu::label(extent, set.trees(), tau, ranking, next.labels, next.counts, {}, false, call_.stream());
        return next;
    }

    //! Makes connected pieces of labels, which may be those of cut(). @return labels and counts, in memory that the
    //! next call overwrites.
    Labels connected(const Extent& extent, const int* labels, int minSize)
    {
        Counters* const counters = state_.scratch.counters(call_);
        const gpu::Ranking ranking = state_.scratch.ranking(extent, call_);
        const gpu::Pieces pieces = state_.scratch.pieces(extent, counters, call_);
        const Labels next = state_.scratch.labels(extent, call_);
        gpu::splitPieces(extent, labels, pieces, call_.stream());
        for (bool joined = minSize > 1; joined;)
        {
            gpu::joinPieces(extent, minSize, pieces, call_.stream());
            joined = download(pieces.joined) != 0;
        }
        gpu::rankPieces(extent, pieces, ranking, next.labels, next.counts, call_.stream());
        return next;
    }

    //! Replaces the labels of a set. Waits for the new number first, so that nothing has changed if that fails. @return
    //! the number.
    int replaceLabels(ResultSet& set, const Labels& next)
    {
        const int n = downloadCounts(next.counts, set.extent().count);
        copyLabels(set, next);
        set.count = n;
        return n;
    }

    void copyLabels(ResultSet& set, const Labels& next)
    {
        cudaCheck(cudaMemcpyAsync(set.labels(), next.labels, Labels::bytes(set.extent()), cudaMemcpyDeviceToDevice,
                                  call_.stream()),
                  "quick shift labels");
        set.count = -1;
    }

    //! Lists and sorts the lengths of all links. @return number of links.
    int sortLinks(const ResultSet& set, int& roots)
    {
        const gpu::Links links = state_.scratch.links(set.extent(), call_);
        Counters* const counters = state_.scratch.counters(call_);
        const gpu::Ranking ranking = state_.scratch.ranking(set.extent(), call_);
        gpu::selectLinks(set.extent(), set.trees(), links, &counters->listed, ranking, call_.stream());
        const int count = download(&counters->listed);
        roots = countLonger(set, FLT_MAX);
        if (count > 0)
            gpu::sortLinks(count, roots, links, &counters->distinct, ranking, call_.stream());
        return count;
    }

    int downloadCounts(const int* device, int images)
    {
        std::vector<int> counts(images);
        cudaCheck(cudaMemcpyAsync(counts.data(), device, sizeof(int) * images, cudaMemcpyDeviceToHost, call_.stream()),
                  "quick shift count");
        call_.wait("quick shift count");
        return std::accumulate(counts.begin(), counts.end(), 0);
    }

    int countLonger(const ResultSet& set, float tau)
    {
        Counters* const counters = state_.scratch.counters(call_);
        gpu::countLonger(set.extent(), set.trees(), tau, &counters->listed, call_.stream());
        return download(&counters->listed);
    }

    //! Computes the sums of all superpixels. @param capacity most superpixels.
    gpu::SumsTable sumUp(const ResultSet& set, const ImageView& image, int capacity, bool places)
    {
        gpu::SumsTable table = state_.scratch.superpixels(capacity, image.channels, places, call_);
        table.images = set.extent().count;
        table.firsts = state_.scratch.numberSuperpixels(set, call_);
        table.count = table.firsts ? table.firsts + table.images : set.counts();
        table.largest = state_.scratch.perImage(set.extent(), call_).largest;
        gpu::sums(set.extent(), set.labels(), image, table, call_.stream());
        return table;
    }

    State& state_;
    const Call call_;
    ResultSet& set_;
};

} // namespace

std::unique_ptr<Results> beginResults(State& state, StreamHandle stream)
{
    return std::make_unique<CudaResults>(state, stream);
}

}}} // namespace cv::cuda::quick_shift

#endif // HAVE_CUDA
