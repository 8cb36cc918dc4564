// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

#include "../../precomp.hpp"
#include "../../common/arrays.hpp"
#include "../../quick_shift/engine.hpp"

#ifdef HAVE_CUDA

#include "../../common/side_stream.hpp"
#include "result_sets.hpp"
#include "scratch.hpp"
#include <cfloat>
#include <numeric>

namespace cv { namespace cuda { namespace quick_shift {

namespace {

using detail::Call;
using detail::cudaCheck;
using detail::DeviceBuffer;
using detail::Downloads;

//! Copies a value to the host. Waits for the stream.
template <typename T> T download(const T* device, const Call& call)
{
    T value;
    cudaCheck(cudaMemcpyAsync(&value, device, sizeof(T), cudaMemcpyDeviceToHost, call.stream()),
              "quick shift download");
    call.wait("quick shift download");
    return value;
}

class CudaEngine final : public Engine
{
public:
    bool compute(const std::vector<ImageView>& images, const std::vector<ImageView>& masks, const Settings& settings,
                 const std::vector<OutputView>& labels, StreamHandle stream) override
    {
        const Call call(workspace_, stream);
        return compute(call, images, masks, settings, labels);
    }

    bool hasCaptured(StreamHandle stream) override
    {
        return sets_.anyCaptured() && detail::isCapturing(stream) && sets_.captured(Call(workspace_, stream));
    }

    Shape shape(StreamHandle stream) override
    {
        const ResultSet* const set = detail::isCapturing(stream) ? sets_.of(Call(workspace_, stream)) : sets_.current();
        return {set->extent(), set->key.settings.maxDist};
    }

    //! Keeps the number once it is known, but not while a graph may replay compute().
    int count(StreamHandle stream) override
    {
        const Call call(workspace_, stream);
        call.refuseCapture("the number of superpixels");
        ResultSet& set = *sets_.of(call);
        const bool replayed = set.memory.usedByGraphs();
        if (set.count >= 0 && !replayed)
            return set.count;
        const int n = downloadCounts(set.counts(), set.extent().count, call);
        set.count = replayed ? -1 : n;
        return n;
    }

    void counts(const OutputView& out, StreamHandle stream) override { copy(&ResultSet::counts, out, stream); }
    void labels(const OutputView& out, StreamHandle stream) override { copy(&ResultSet::labels, out, stream); }
    void parents(const OutputView& out, StreamHandle stream) override { copy(&ResultSet::parents, out, stream); }
    void distances(const OutputView& out, StreamHandle stream) override { copy(&ResultSet::distances, out, stream); }

    void density(const OutputView& out, StreamHandle stream) override
    {
        const Call call(workspace_, stream);
        Downloads::Batch batch(downloads_, call);
        const RowsView<float> rows = batch.view<float>(out);
        const ResultSet& set = results(call);
        gpu::densityValues(set.extent(), set.key.settings.parameters, set.keys(), rows, call.stream());
        batch.finish();
    }

    void segment(float tau, const OutputView& out, StreamHandle stream) override
    {
        const Call call(workspace_, stream);
        Downloads::Batch batch(downloads_, call);
        batch.check(out);
        batch.copy(out, cut(results(call), tau, call));
        batch.finish();
    }

    int countAt(float tau, StreamHandle stream) override
    {
        const Call call(workspace_, stream);
        call.refuseCapture("the number of superpixels");
        return countLonger(results(call), tau, call);
    }

    float tauFor(int number, StreamHandle stream) override
    {
        const Call call(workspace_, stream);
        call.refuseCapture("tauForSuperpixels()");
        const ResultSet& set = results(call);
        int roots = 0;
        const int count = sortLinks(set, roots, call);
        const float* const sorted = scratch_.links(set.extent(), call).sorted;
        return linkFor(number, roots, count, [&](int i) { return download(sorted + i, call); });
    }

    int findHeights(StreamHandle stream) override
    {
        const Call call(workspace_, stream);
        call.refuseCapture("getMergeHeights()");
        int roots = 0;
        return sortLinks(results(call), roots, call) == 0 ? 0 : download(&scratch_.counters(call)->distinct, call);
    }

    void heights(const OutputView& heights, const OutputView& counts, StreamHandle stream) override
    {
        const Call call(workspace_, stream);
        const gpu::Links links = scratch_.links(results(call).extent(), call);
        Downloads::Batch batch(downloads_, call);
        batch.copy(heights, links.heights);
        batch.copy(counts, links.left);
        batch.finish();
    }

    void contours(bool thick, const OutputView& out, StreamHandle stream) override
    {
        const Call call(workspace_, stream);
        Downloads::Batch batch(downloads_, call);
        const RowsView<uint8_t> rows = batch.view<uint8_t>(out);
        const ResultSet& set = results(call);
        gpu::contours(set.extent(), set.labels(), thick, rows, call.stream());
        batch.finish();
    }

    //! Has room for as many superpixels as pixels, so that their number need not be known on the host.
    void meanColor(const ImageView& image, const OutputView& dst, StreamHandle stream) override
    {
        const Call call(workspace_, stream);
        Downloads::Batch batch(downloads_, call);
        const RowsView<void> rows = batch.view<void>(dst);
        const ResultSet& set = results(call);
        const gpu::SumsTable all = sumUp(set, image, set.extent().total(), false, call);
        gpu::paintMeans(set.extent(), set.labels(), image, all, rows, call.stream());
        batch.finish();
    }

    void statistics(const ImageView& image, int count, const StatisticsViews& out, StreamHandle stream) override
    {
        const Call call(workspace_, stream);
        Downloads::Batch batch(downloads_, call);
        Table table = {};
        table.areas = batch.view<int>(out.areas);
        table.means = batch.view<float>(out.means);
        table.centroids = batch.view<float>(out.centroids);
        table.boxes = batch.view<int>(out.boxes);
        const gpu::SumsTable all = sumUp(results(call), image, count, true, call);
        gpu::tabulate(count, image, all, table, call.stream());
        batch.finish();
    }

    int findAdjacency(StreamHandle stream) override
    {
        const Call call(workspace_, stream);
        call.refuseCapture("getAdjacency()");
        const ResultSet& set = results(call);
        Counters* const counters = scratch_.counters(call);
        const int* const firsts = scratch_.numberSuperpixels(set, call);
        gpu::listBorders(set.extent(), set.labels(), firsts, nullptr, &counters->listed, call.stream());
        const int borders = adjacencyLength(static_cast<uint32_t>(download(&counters->listed, call)));
        if (borders == 0)
            return 0;
        const Scratch::Borders work = scratch_.borders(borders, call);
        gpu::listBorders(set.extent(), set.labels(), firsts, work.pairs, &counters->listed, call.stream());
        gpu::sortBorders(borders, work.pairs, work.sorted, &counters->distinct, work.scratch, work.scratchBytes,
                         call.stream());
        return download(&counters->distinct, call);
    }

    void adjacency(const OutputView& out, StreamHandle stream) override
    {
        const Call call(workspace_, stream);
        Downloads::Batch batch(downloads_, call);
        const RowsView<int> rows = batch.view<int>(out);
        if (rows)
            gpu::writePairs(out.rows, scratch_.pairs(), rows, call.stream());
        batch.finish();
    }

    void apply(float tau, StreamHandle stream) override
    {
        const Call call(workspace_, stream);
        ResultSet& set = results(call);
        copyLabels(set, cut(set, tau, call), call);
    }

    int connect(int minSize, StreamHandle stream) override
    {
        const Call call(workspace_, stream);
        call.refuseCapture("enforceConnectivity()");
        ResultSet& set = results(call);
        const Extent& extent = set.extent();
        Counters* const counters = scratch_.counters(call);
        const gpu::Ranking ranking = scratch_.ranking(extent, call);
        const gpu::Pieces pieces = scratch_.pieces(extent, counters, call);
        int* const labels = scratch_.labels(extent, call);
        gpu::splitPieces(extent, set.labels(), pieces, call.stream());
        for (bool joined = minSize > 1; joined;)
        {
            gpu::joinPieces(extent, minSize, pieces, call.stream());
            joined = download(pieces.joined, call) != 0;
        }
        gpu::rankPieces(extent, pieces, ranking, labels, Scratch::countsOf(labels, extent), call.stream());
        return replaceLabels(set, labels, call);
    }

    size_t workspaceBytes() const override { return workspace_.bytes(); }
    StreamHandle ownStream() override { return side_.handle(); }

    void computeFromHost(const ImageView& image, const ImageView& mask, const Settings& settings) override
    {
        const Call call(workspace_, nullptr);
        std::vector<ImageView> masks;
        if (mask)
            masks.push_back(upload(mask, tileMask_, call));
        compute(call, {upload(image, tile_, call)}, masks, settings, {});
    }

    void fetch(const Window& part, RowsView<uint32_t> keys, RowsView<int> parents, RowsView<float> distances) override
    {
        const Call call(workspace_, nullptr);
        const ResultSet& set = results(call);
        const size_t pitch = sizeof(int) * set.extent().cols;
        const size_t first = static_cast<size_t>(part.y) * set.extent().cols + part.x;
        const auto fetchRows = [&](void* to, size_t step, const void* from)
        {
            cudaCheck(cudaMemcpy2DAsync(to, step, from, pitch, sizeof(int) * part.cols, part.rows,
                                        cudaMemcpyDeviceToHost, call.stream()),
                      "quick shift tile");
        };
        fetchRows(keys.data, keys.step, set.keys() + first);
        fetchRows(parents.data, parents.step, set.parents() + first);
        fetchRows(distances.data, distances.step, set.distances() + first);
        call.wait("quick shift tile");
    }

private:
    bool compute(const Call& call, const std::vector<ImageView>& images, const std::vector<ImageView>& masks,
                 const Settings& settings, const std::vector<OutputView>& labels)
    {
        Downloads::Batch batch(downloads_, call);
        for (const OutputView& output : labels)
            batch.check(output);
        const ImageView& first = images[0];
        const Extent extent = {first.cols, first.rows, static_cast<int>(images.size())};
        const Parameters& parameters = settings.parameters;
        const gpu::Features features = scratch_.features(
            extent, first.channels, gpu::heldInWords(first.depth, settings.scales, parameters), !masks.empty(), call);
        const gpu::Ranking ranking = scratch_.ranking(extent, call);
        Counters* const counters = scratch_.counters(call);
        uint32_t* const cells = scratch_.cells(extent, call);
        const float* const spatial = scratch_.spatial(*settings.spatial, call);
        ResultSet& set = sets_.begin(call, {extent, first.depth, first.channels, settings});

        const cudaStream_t s = call.stream();
        for (int i = 0; i < extent.count; ++i)
            gpu::pack(images[i], masks.empty() ? ImageView() : masks[i], i, extent, settings.scales, features, s);
        gpu::density(features, extent, parameters, spatial, scratch_.densitySums(), set.keys(), cells, s);
        gpu::parents(features, extent, parameters, set.keys(), cells, {ranking.jumps, &counters->listed}, set.parents(),
                     set.distances(), s);
        gpu::label(extent, set.trees(), INFINITY, ranking, set.labels(), set.counts(), s);
        for (size_t i = 0; i < labels.size(); ++i)
            batch.copy(labels[i], set.labels() + i * extent.pixels());
        batch.finish();
        return sets_.finish(call, set);
    }

    ResultSet& results(const Call& call)
    {
        ResultSet& set = *sets_.of(call);
        set.use(call);
        return set;
    }

    template <typename T> void copy(T* (ResultSet::*array)() const, const OutputView& out, StreamHandle stream)
    {
        const Call call(workspace_, stream);
        Downloads::Batch batch(downloads_, call);
        batch.copy(out, (results(call).*array)());
        batch.finish();
    }

    //! Labels the trees without links longer than tau. @return labels and, behind them, counts, in memory that the next call overwrites.
    int* cut(const ResultSet& set, float tau, const Call& call)
    {
        const Extent& extent = set.extent();
        const gpu::Ranking ranking = scratch_.ranking(extent, call);
        int* const labels = scratch_.labels(extent, call);
        gpu::label(extent, set.trees(), tau, ranking, labels, Scratch::countsOf(labels, extent), call.stream());
        return labels;
    }

    //! Replaces the labels of a set. Waits for the new number first, so that nothing has changed if that fails. @return the number.
    int replaceLabels(ResultSet& set, int* labels, const Call& call)
    {
        const int n = downloadCounts(Scratch::countsOf(labels, set.extent()), set.extent().count, call);
        copyLabels(set, labels, call);
        set.count = n;
        return n;
    }

    void copyLabels(ResultSet& set, const int* labels, const Call& call)
    {
        cudaCheck(cudaMemcpyAsync(set.labels(), labels, ResultSet::labelBytes(set.extent()), cudaMemcpyDeviceToDevice,
                                  call.stream()),
                  "quick shift labels");
        set.count = -1;
    }

    //! Lists and sorts the lengths of all links. @return number of links.
    int sortLinks(const ResultSet& set, int& roots, const Call& call)
    {
        const gpu::Links links = scratch_.links(set.extent(), call);
        Counters* const counters = scratch_.counters(call);
        const gpu::Ranking ranking = scratch_.ranking(set.extent(), call);
        gpu::selectLinks(set.extent(), set.trees(), links, &counters->listed, ranking, call.stream());
        const int count = download(&counters->listed, call);
        roots = countLonger(set, FLT_MAX, call);
        if (count > 0)
            gpu::sortLinks(count, roots, links, &counters->distinct, ranking, call.stream());
        return count;
    }

    int downloadCounts(const int* device, int images, const Call& call)
    {
        std::vector<int> counts(images);
        cudaCheck(cudaMemcpyAsync(counts.data(), device, sizeof(int) * images, cudaMemcpyDeviceToHost, call.stream()),
                  "quick shift count");
        call.wait("quick shift count");
        return std::accumulate(counts.begin(), counts.end(), 0);
    }

    int countLonger(const ResultSet& set, float tau, const Call& call)
    {
        Counters* const counters = scratch_.counters(call);
        gpu::countLonger(set.extent(), set.trees(), tau, &counters->listed, call.stream());
        return download(&counters->listed, call);
    }

    //! Computes the sums of all superpixels. @param capacity most superpixels.
    gpu::SumsTable sumUp(const ResultSet& set, const ImageView& image, int capacity, bool places, const Call& call)
    {
        const size_t stride = places ? sizeof(Sums) : gpu::meansStride(image.channels);
        Sums* const superpixels = scratch_.superpixels(stride * capacity, call);
        const int images = set.extent().count;
        const int* const firsts = scratch_.numberSuperpixels(set, call);
        const gpu::SumsTable table = {superpixels, stride,   firsts ? firsts + images : set.counts(),      firsts,
                                      images,      capacity, scratch_.perImage(set.extent(), call).largest};
        gpu::sums(set.extent(), set.labels(), image, places, table, call.stream());
        return table;
    }

    static ImageView upload(const ImageView& host, DeviceBuffer& memory, const Call& call)
    {
        const size_t rowBytes = CV_ELEM_SIZE(CV_MAKETYPE(host.depth, host.channels)) * host.cols;
        const size_t step = alignSize(rowBytes, 256);
        void* const device = memory.reserve(call, step * host.rows, "tile");
        cudaCheck(cudaMemcpy2DAsync(device, step, host.data, host.step, rowBytes, host.rows, cudaMemcpyHostToDevice,
                                    call.stream()),
                  "quick shift tile");
        return {device, step, host.cols, host.rows, host.depth, host.channels};
    }

    detail::SideStream side_;
    detail::Workspace workspace_{"QuickShift"};
    Downloads downloads_{workspace_};
    Scratch scratch_{workspace_};
    ResultSets sets_{workspace_};
    DeviceBuffer tile_{workspace_}, tileMask_{workspace_}; //!< image and mask of computeFromHost()
};

} // namespace

std::unique_ptr<Engine> makeCudaEngine() { return std::unique_ptr<Engine>(new CudaEngine); }

}}} // namespace cv::cuda::quick_shift

#else

namespace cv { namespace cuda { namespace quick_shift {

std::unique_ptr<Engine> makeCudaEngine() { detail::noCuda(); }

}}} // namespace cv::cuda::quick_shift

#endif // HAVE_CUDA
