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
    void detect(const Request& request, const std::vector<Table>& tables, StreamHandle stream) override
    {
        const Call call(workspace_, stream);
        detail::Downloads::Batch batch(downloads_, call);
        std::vector<gpu::TableViews> views;
        for (const Table& table : tables)
            views.push_back({batch.view<int>(table.objects), batch.view<int>(table.numDetections),
                             batch.view<double>(table.levelWeights)});
        const Placed placed = begin(call, request);
        for (size_t t = 0; t < request.tasks.size(); ++t)
        {
            const Settings& settings = request.tasks[t].settings;
            const gpu::Classification job = classificationOf(call, placed, t, settings.maxCandidates);
            gpu::classify(job, placed.models[t].packed->constant.get(), stream);
            gpu::group(groupingOf(call, job, placed.windows(t), settings, settings.maxObjects, views[t]), stream);
        }
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

    //! Model of a task, and its blob on the device.
    struct PlacedModel
    {
        std::shared_ptr<const PackedModel> packed;
        const void* device;
    };

    //! Data of a call, on the device.
    struct Placed
    {
        std::vector<PlacedModel> models; //!< by task
        std::shared_ptr<const Tiling> tiling;
        const uint8_t* tiles; //!< blob of `tiling`
        const gpu::SourceRecord* sources;
        int images;
        int* counts; //!< of each task: see Lists::counts
        uint8_t* pyramids;

        const std::vector<int>& windows(size_t task) const { return tiling->tasks[task].windows; }
    };

    //! Places models, tiles and images on the device, unless they are there already, then runs toGray and resize.
    Placed begin(const Call& call, const Request& request)
    {
        Placed placed = {};
        placed.models = placeModels(call, request);
        placed.tiling = tilingOf(request, placed.models);
        placed.tiles = static_cast<const uint8_t*>(tilingTable_.put(
            call, uploader_, tilingVersion_, tiling_->blob.data(), tiling_->blob.size(), "the list of tiles"));
        placed.sources = placeSources(call, request, *placed.tiling);
        placed.images = static_cast<int>(request.images.size());
        makePyramids(call, request.tasks.size(), placed);
        return placed;
    }

    //! Returns the index of a task's Lists::counts among those of all tasks.
    static size_t firstCountOf(const Placed& placed, size_t task)
    {
        return task * (static_cast<size_t>(placed.images) + 1);
    }

    //! Runs resize, which also sets the numbers of candidates to 0.
    void makePyramids(const Call& call, size_t tasks, Placed& placed)
    {
        const Tiling& tiling = *placed.tiling;
        const size_t counts = firstCountOf(placed, tasks);
        if (counts > static_cast<size_t>(INT_MAX))
            CV_Error(Error::StsOutOfRange, "CascadeClassifierEx: the call has too many images and cascades");
        placed.counts = counts_.reserve<int>(call, counts, "numbers of candidates");
        placed.pyramids = pixels_.reserve<uint8_t>(call, static_cast<size_t>(tiling.pixelBytes), "pyramids");
        gpu::resize({reinterpret_cast<const gpu::ResizeRecord*>(placed.tiles + tiling.resizes), tiling.resizeCount,
                     tiling.resizeRows, reinterpret_cast<const Tap*>(placed.tiles + tiling.taps), placed.sources,
                     placed.pyramids, placed.counts, static_cast<int>(counts)},
                    call.stream());
    }

    std::vector<PlacedModel> placeModels(const Call& call, const Request& request)
    {
        while (models_.size() < request.tasks.size())
            models_.push_back(std::make_unique<Slot>(workspace_));
        std::vector<PlacedModel> placed;
        for (size_t t = 0; t < request.tasks.size(); ++t)
        {
            const Model& model = *request.tasks[t].model;
            Slot& slot = *models_[t];
            if (!slot.model || slot.model->version != model.version)
                slot.model = packModel(model, detail::SharedLimit(detail::sharedBytesOfBlock()));
            placed.push_back({slot.model, slot.table.put(call, uploader_, model.version, slot.model->blob.data(),
                                                         slot.model->blob.size(), "a cascade")});
        }
        return placed;
    }

    //! Returns the list of tiles: that of the last call if it is the same.
    const std::shared_ptr<const Tiling>& tilingOf(const Request& request, const std::vector<PlacedModel>& models)
    {
        std::vector<uint64_t> key = tilingKey(request);
        if (key != tilingKey_ || !tiling_)
        {
            std::vector<std::shared_ptr<const PackedModel>> packed;
            for (const PlacedModel& model : models)
                packed.push_back(model.packed);
            tiling_ = makeTiling(request, packed, detail::multiprocessors());
            tilingKey_.swap(key);
            ++tilingVersion_;
        }
        return tiling_;
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

    //! Reserves the lists of a task. @param capacity maxCandidates; for a single image, whose list begins at 0, any
    //! number.
    gpu::Lists makeLists(const Call& call, const Placed& placed, size_t task, int capacity)
    {
        const Tiling::TaskTiles& part = placed.tiling->tasks[task];
        const size_t elements = listsOf(part.windows, capacity).back(), words = part.words;
        gpu::Lists lists = {};
        lists.firsts = reinterpret_cast<const int64_t*>(placed.tiles + part.lists);
        candidates_.divide(call, "candidates", elements, lists.keys, lists.weights);
        lists.counts = placed.counts + firstCountOf(placed, task);
        lists.capacity = capacity;
        lists.deferred = deferred_.reserve<gpu::Deferred>(call, words, "candidates that may be skipped");
        lists.failMasks = failMasks_.reserve<uint64_t>(call, words, "the first stage's results");
        return lists;
    }

    gpu::Classification classificationOf(const Call& call, const Placed& placed, size_t task, int capacity)
    {
        const PackedModel& model = *placed.models[task].packed;
        const Tiling::TaskTiles& part = placed.tiling->tasks[task];
        gpu::Classification job = {};
        job.model = model.at(placed.models[task].device);
        std::copy(part.form.shapes, part.form.shapes + 2, job.shapes);
        job.layout = part.form.layout;
        job.threads = part.form.threads;
        job.grids = reinterpret_cast<const gpu::GridRecord*>(placed.tiles + part.grids);
        job.tiles = reinterpret_cast<const gpu::TileRecord*>(placed.tiles + part.tiles);
        job.tileCount = part.tileCount;
        job.singleTiles = part.singleTiles;
        job.sources = placed.sources;
        job.pixels = placed.pyramids;
        job.images = placed.images;
        if (!job.model.pairs)
            job.tables = tables_.reserve<uint32_t>(call,
                                                   2 * static_cast<size_t>(gpu::tuning::PLAIN_BLOCKS) *
                                                       std::max(job.shapes[0].words, job.shapes[1].words),
                                                   "integral images");
        job.lists = makeLists(call, placed, task, capacity);
        return job;
    }

    gpu::Grouping groupingOf(const Call& call, const gpu::Classification& job, const std::vector<int>& windows,
                             const Settings& settings, int maxObjects, const gpu::TableViews& tables)
    {
        gpu::GroupMemory m = {};
        groups_.divide(call, "groups of candidates", listsOf(windows, job.lists.capacity).back(), m.boxes, m.weights,
                       m.parents, m.counts);
        return {job.grids,  job.sources,      job.images, job.lists, m, settings.minNeighbors,
                maxObjects, settings.largest, tables};
    }

    // --- find --------------------------------------------------------------------------------------------------------

    //! Finds objects with lists of a capacity. @return number of candidates; `objects` is set only if they fit.
    int findWithin(const Call& call, const Request& request, int capacity, Objects& objects)
    {
        const Placed placed = begin(call, request);
        const Settings& settings = request.tasks[0].settings;
        const gpu::Classification job = classificationOf(call, placed, 0, capacity);
        gpu::classify(job, placed.models[0].packed->constant.get(), call.stream());
        const auto groupInto = [&](FoundTables tables, int maxObjects)
        {
            gpu::group(groupingOf(call, job, placed.windows(0), settings, maxObjects,
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
        const Placed placed = begin(call, request);
        const gpu::Classification job = classificationOf(call, placed, 0, candidates);
        gpu::classify(job, placed.models[0].packed->constant.get(), call.stream());
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
        group(sorted, makePyramid(image.cols, image.rows, request.tasks), 0, request.tasks[0].settings, objects);
    }

    struct Slot
    {
        explicit Slot(detail::Workspace& workspace) : table(workspace) {}

        std::shared_ptr<const PackedModel> model;
        DeviceTable table;
    };

    detail::Workspace workspace_{"CascadeClassifierEx"}; // destroyed last
    detail::Uploader uploader_{workspace_};
    detail::Downloads downloads_{workspace_};
    detail::HostBlock firstFound_{workspace_, detail::bytesOf([](Parts& parts) { tablesOf(parts, FIND_FIRST); }),
                                  "allocating page-locked memory for objects"};
    std::vector<std::unique_ptr<Slot>> models_; //!< models by task; never removed, as graphs may use them
    DeviceTable tilingTable_{workspace_}, sourcesTable_{workspace_};
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
