// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

#include "../../precomp.hpp"
#include "../../common/arrays.hpp"
#include "../../cascade/engine.hpp"

#ifdef HAVE_CUDA

#include "../../common/device.hpp"
#include "../../common/workspace.hpp"
#include "group.hpp"
#include "plan.hpp"
#include "resize.hpp"
#include <algorithm>
#include <climits>

namespace cv { namespace cuda { namespace cascade {

namespace {

using detail::Call;
using detail::cudaCheck;
using detail::DeviceBuffer;
using detail::DeviceTable;
using detail::Parts;

const int FIND_CAPACITY = 8192; //!< candidates that find() makes room for at first
const int FIND_FIRST = 256;     //!< objects up to which kernels store those of find() in host memory

//! Tables that find() takes objects from, without gaps.
struct FoundTables
{
    Box* boxes; //!< of the objects, from index 1 on; before them a TableHead
    int* counts;
    double* weights;
};

FoundTables tablesOf(Parts& parts, int objects)
{
    const size_t n = objects;
    FoundTables tables = {};
    tables.weights = parts.take<double>(n);
    tables.boxes = parts.take<Box>(n + 1);
    tables.counts = parts.take<int>(n);
    return tables;
}

class CudaEngine final : public Engine
{
public:
    void detect(const Request& request, const Table& table, StreamHandle stream) override
    {
        const Call call(workspace_, stream);
        detail::Downloads::Batch batch(downloads_, call);
        const gpu::TableViews views = {batch.view<int>(table.objects), batch.view<int>(table.numDetections),
                                       batch.view<double>(table.levelWeights)};
        const Settings& settings = request.task.settings;
        const gpu::Classification job = classify(call, request, settings.maxCandidates);
        gpu::group(groupingOf(call, job, settings, settings.maxObjects, views), stream);
        batch.finish();
    }

    //! Groups on the device up to MAX_CAPACITY candidates, more on the host.
    void find(const Request& request, Objects& objects, StreamHandle stream) override
    {
        const Call call(workspace_, stream);
        call.refuseCapture("detectMultiScale()");
        int candidates = 0;
        for (int capacity : {FIND_CAPACITY, MAX_CAPACITY})
        {
            candidates = findWithin(call, request, capacity, objects);
            if (candidates <= capacity)
                return;
            if (candidates > MAX_CAPACITY)
                break;
        }
        findOnHost(call, request, candidates, objects);
    }

    size_t workspaceBytes() const override { return workspace_.bytes(); }

private:
    static void download(const Call& call, void* to, const void* from, size_t bytes)
    {
        if (bytes > 0)
            cudaCheck(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, call.stream()), "downloading a table");
    }

    // --- from the request to what is on the device -------------------------------------------------------------------

    //! Runs all stages up to classify. @param capacity maxCandidates; for a single image, whose list begins at 0, any
    //! number.
    gpu::Classification classify(const Call& call, const Request& request, int capacity)
    {
        const Model& model = *request.task.model;
        if (!model_ || model_->version != model.version)
            model_ = packModel(model, detail::SharedLimit(detail::sharedBytesOfBlock()));
        const void* const modelOnDevice =
            modelTable_.put(call, uploader_, model.version, model_->blob.data(), model_->blob.size(), "a cascade");
        const Tiling& tiling = tilingOf(request);
        const uint8_t* const tiles = static_cast<const uint8_t*>(tilingTable_.put(
            call, uploader_, tilingVersion_, tiling.blob.data(), tiling.blob.size(), "the list of tiles"));
        gpu::Classification job = {};
        job.model = model_->at(modelOnDevice);
        std::copy(tiling.form.shapes, tiling.form.shapes + 2, job.shapes);
        job.layout = tiling.form.layout;
        job.threads = tiling.form.threads;
        job.grids = reinterpret_cast<const gpu::GridRecord*>(tiles + tiling.grids);
        job.tiles = reinterpret_cast<const gpu::TileRecord*>(tiles + tiling.tiles);
        job.tileCount = tiling.tileCount;
        job.singleTiles = tiling.singleTiles;
        job.sources = placeSources(call, request, tiling);
        job.images = static_cast<int>(request.images.size());
        uint8_t* const pixels = pixels_.reserve<uint8_t>(call, static_cast<size_t>(tiling.pixelBytes), "pyramids");
        job.pixels = pixels;
        if (!job.model.pairs)
            job.tables = tables_.reserve<uint32_t>(call,
                                                   2 * static_cast<size_t>(gpu::tuning::PLAIN_BLOCKS) *
                                                       std::max(job.shapes[0].words, job.shapes[1].words),
                                                   "integral images");
        job.lists = makeLists(call, tiling, tiles, capacity);
        // It also sets the numbers of candidates to 0.
        gpu::resize({reinterpret_cast<const gpu::ResizeRecord*>(tiles + tiling.resizes), tiling.resizeCount,
                     tiling.resizeRows, reinterpret_cast<const Tap*>(tiles + tiling.taps), job.sources, pixels,
                     job.lists.counts, job.images + 1},
                    call.stream());
        gpu::classify(job, model_->constant.get(), call.stream());
        return job;
    }

    //! Returns the list of tiles for the present model: that of the last call if it is the same.
    const Tiling& tilingOf(const Request& request)
    {
        std::vector<uint64_t> key = tilingKey(request);
        if (key != tilingKey_ || !tiling_)
        {
            tiling_ = makeTiling(request, *model_, detail::multiprocessors());
            tilingKey_.swap(key);
            ++tilingVersion_;
        }
        return *tiling_;
    }

    const gpu::SourceRecord* placeSources(const Call& call, const Request& request, const Tiling& tiling)
    {
        const std::vector<RowsView<uint8_t>> grays = toGray(call, request);
        std::vector<gpu::SourceRecord> sources;
        for (size_t i = 0; i < request.images.size(); ++i)
        {
            const ImageView& image = request.images[i];
            const ImageView mask = request.masks.empty() ? ImageView() : request.masks[i];
            sources.push_back({grays[i].data, grays[i].step, static_cast<const uint8_t*>(mask.data), mask.step,
                               image.cols, image.rows, tiling.firstGrids[i], 0, tiling.pixels[i]});
        }
        const size_t bytes = sources.size() * sizeof(gpu::SourceRecord);
        if (sources.size() != sources_.size() || std::memcmp(sources.data(), sources_.data(), bytes) != 0)
        {
            sources_.swap(sources);
            ++sourcesVersion_;
        }
        return static_cast<const gpu::SourceRecord*>(
            sourcesTable_.put(call, uploader_, sourcesVersion_, sources_.data(), bytes, "the list of images"));
    }

    //! Runs toGray on colour images; gray images are used as they are.
    std::vector<RowsView<uint8_t>> toGray(const Call& call, const Request& request)
    {
        const auto stepOf = [](const ImageView& image) { return detail::roundUp<size_t>(image.cols, 128); };
        std::vector<RowsView<uint8_t>> grays(request.images.size());
        gray_.divide(call, "gray images",
                     [&](Parts& parts)
                     {
                         for (size_t i = 0; i < grays.size(); ++i)
                         {
                             const ImageView& image = request.images[i];
                             if (image.channels == 1)
                                 grays[i] = {const_cast<uint8_t*>(image.row<uint8_t>(0)), image.step}; // not written to
                             else
                                 grays[i] = {parts.take<uint8_t>(stepOf(image) * image.rows), stepOf(image)};
                         }
                     });
        for (size_t i = 0; i < request.images.size(); ++i)
            if (request.images[i].channels > 1)
                gpu::toGray(request.images[i], grays[i], call.stream());
        return grays;
    }

    //! @param tiles blob of the tiling on the device.
    gpu::Lists makeLists(const Call& call, const Tiling& tiling, const uint8_t* tiles, int capacity)
    {
        const size_t elements = listsOf(tiling.windows, capacity).back(), words = tiling.words;
        gpu::Lists lists = {};
        lists.firsts = reinterpret_cast<const int64_t*>(tiles + tiling.lists);
        candidates_.divide(call, "candidates", elements, lists.keys, lists.weights);
        lists.counts = counts_.reserve<int>(call, tiling.windows.size() + 1, "numbers of candidates");
        lists.capacity = capacity;
        lists.deferred = deferred_.reserve<gpu::Deferred>(call, words, "candidates that may be skipped");
        lists.failMasks = failMasks_.reserve<uint64_t>(call, words, "the first stage's results");
        return lists;
    }

    gpu::Grouping groupingOf(const Call& call, const gpu::Classification& job, const Settings& settings, int maxObjects,
                             const gpu::TableViews& tables)
    {
        gpu::GroupMemory m = {};
        groups_.divide(call, "groups of candidates", listsOf(tiling_->windows, job.lists.capacity).back(), m.boxes,
                       m.weights, m.parents, m.counts);
        return {job.grids,  job.sources,      job.images, job.lists, m, settings.minNeighbors,
                maxObjects, settings.largest, tables};
    }

    // --- find --------------------------------------------------------------------------------------------------------

    //! Finds objects with lists of a capacity. @return number of candidates; `objects` is set only if they fit.
    int findWithin(const Call& call, const Request& request, int capacity, Objects& objects)
    {
        const Settings& settings = request.task.settings;
        const gpu::Classification job = classify(call, request, capacity);
        const auto groupInto = [&](FoundTables tables, int maxObjects)
        {
            gpu::group(groupingOf(call, job, settings, maxObjects,
                                  {{&tables.boxes->x, 0}, {tables.counts, 0}, {tables.weights, 0}, false}),
                       call.stream());
        };
        // The kernel stores few objects, as there usually are, in host memory: three downloads would take 30 us.
        Parts firstParts(firstFound_.reserve(call));
        const FoundTables first = tablesOf(firstParts, FIND_FIRST);
        groupInto(first, FIND_FIRST);
        call.wait("finding objects");
        const TableHead head = {first.boxes->x, first.boxes->y, first.boxes->width, first.boxes->height};
        if (head.overflow)
            return head.candidates;
        Objects all;
        all.candidates = head.candidates;
        if (head.found <= FIND_FIRST)
        {
            all.boxes.assign(first.boxes + 1, first.boxes + 1 + head.stored);
            all.counts.assign(first.counts, first.counts + head.stored);
            all.weights.assign(first.weights, first.weights + head.stored);
        }
        else
        {
            FoundTables tables = {};
            found_.divide(call, "objects", [&](Parts& parts) { tables = tablesOf(parts, head.found); });
            groupInto(tables, head.found);
            all.boxes.resize(head.found);
            all.counts.resize(head.found);
            all.weights.resize(head.found);
            download(call, all.boxes.data(), tables.boxes + 1, all.boxes.size() * sizeof(Box));
            download(call, all.counts.data(), tables.counts, all.counts.size() * sizeof(int));
            download(call, all.weights.data(), tables.weights, all.weights.size() * sizeof(double));
            call.wait("downloading objects");
        }
        objects = std::move(all);
        return objects.candidates;
    }

    void findOnHost(const Call& call, const Request& request, int candidates, Objects& objects)
    {
        const gpu::Classification job = classify(call, request, candidates);
        std::vector<Key> keys(candidates);
        std::vector<double> weights(candidates);
        download(call, keys.data(), job.lists.keys, keys.size() * sizeof(Key));
        download(call, weights.data(), job.lists.weights, weights.size() * sizeof(double));
        call.wait("downloading candidates");
        std::vector<Candidate> sorted;
        for (int i = 0; i < candidates; ++i)
            sorted.push_back({keys[i], weights[i]});
        std::sort(sorted.begin(), sorted.end(), [](const Candidate& a, const Candidate& b) { return a.key < b.key; });
        const ImageView& image = request.images[0];
        group(sorted, makePyramid(image.cols, image.rows, request.task), request.task.settings, objects);
    }

    detail::Workspace workspace_{"CascadeClassifierEx"}; // destroyed last
    detail::Uploader uploader_{workspace_};
    detail::Downloads downloads_{workspace_};
    detail::HostBlock firstFound_{workspace_, detail::bytesOf([](Parts& parts) { tablesOf(parts, FIND_FIRST); }),
                                  "allocating page-locked memory for objects"};
    std::shared_ptr<const PackedModel> model_; //!< of the last call
    DeviceTable modelTable_{workspace_}, tilingTable_{workspace_}, sourcesTable_{workspace_};
    DeviceBuffer gray_{workspace_}, pixels_{workspace_}, candidates_{workspace_}, counts_{workspace_},
        deferred_{workspace_}, failMasks_{workspace_}, tables_{workspace_}, groups_{workspace_}, found_{workspace_};

    std::shared_ptr<const Tiling> tiling_; //!< of the last call, with its key
    std::vector<uint64_t> tilingKey_;
    std::vector<gpu::SourceRecord> sources_;
    uint64_t tilingVersion_ = 0, sourcesVersion_ = 0;
};

} // namespace

std::unique_ptr<Engine> makeCudaEngine() { return std::unique_ptr<Engine>(new CudaEngine); }

}}} // namespace cv::cuda::cascade

#else

namespace cv { namespace cuda { namespace cascade {

std::unique_ptr<Engine> makeCudaEngine() { detail::noCuda(); }

}}} // namespace cv::cuda::cascade

#endif // HAVE_CUDA
