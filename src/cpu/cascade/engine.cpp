// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

#include "../../precomp.hpp"
#include "../../cascade/engine.hpp"
#include "classify.hpp"
#include <algorithm>
#include <map>

namespace cv { namespace cuda { namespace cascade {

namespace {

//! STRIP_ROWS rows of windows on one layer of one image: the work of one job.
struct Strip
{
    int image, layer, firstRow;
};

//! Adds the counts of all strips to those of their layers.
void addPasses(const std::vector<Passes>& strips, const std::vector<Strip>& jobs, std::vector<Passes>& layers)
{
    for (size_t b = 0; b < jobs.size(); ++b)
    {
        Passes& sum = layers[jobs[b].layer];
        sum.windows += strips[b].windows;
        sum.evaluated += strips[b].evaluated;
        sum.contrast += strips[b].contrast;
        for (size_t s = 0; s < sum.stages.size(); ++s)
            sum.stages[s] += strips[b].stages[s];
    }
}

class CpuEngine final : public Engine
{
public:
    void detect(const Request& request, const std::vector<Table>& tables, StreamHandle) override
    {
        classify(request, nullptr);
        parallel_for_(Range(0, static_cast<int>(request.images.size())),
                      [&](const Range& range)
                      {
                          Objects objects;
                          for (int i = range.start; i < range.end; ++i)
                              for (size_t t = 0; t < request.tasks.size(); ++t)
                              {
                                  const Settings& settings = request.tasks[t].settings;
                                  const std::vector<Candidate>& candidates = candidatesOf(i, t, request);
                                  objects = Objects();
                                  objects.candidates = static_cast<int>(std::min<size_t>(candidates.size(), INT_MAX));
                                  if (objects.candidates <= settings.maxCandidates)
                                      group(candidates, *pyramidOf_[i], static_cast<int>(t), settings, objects);
                                  store(objects, objects.candidates > settings.maxCandidates, tables[t], i);
                              }
                      });
    }

    void find(const Request& request, Objects& objects, StreamHandle) override
    {
        classify(request, nullptr);
        group(candidatesOf(0, 0, request), *pyramidOf_[0], 0, request.tasks[0].settings, objects);
    }

    size_t workspaceBytes() const override { return 0; }

    //! Runs all stages up to classify. @param passes out: one entry per layer; null if not wanted.
    void classify(const Request& request, std::vector<Passes>* passes)
    {
        makePyramids(request);
        makeGrays(request);
        const cpu::WindowExtent extent = cpu::extentOf(request.tasks);
        prepare(request, extent);
        std::vector<Strip> strips = stripsOf(request);
        const size_t tasks = request.tasks.size();
        std::vector<std::vector<Candidate>> parts(strips.size() * tasks);
        Passes none;
        none.stages.assign(request.tasks[0].model->stages.size(), 0);
        std::vector<Passes> counts(passes ? strips.size() : 0, none);
        parallel_for_(
            Range(0, static_cast<int>(strips.size())),
            [&](const Range& range)
            {
                for (int b = range.start; b < range.end; ++b)
                {
                    const int i = strips[b].image;
                    const ImageView mask = request.masks.empty() ? ImageView() : request.masks[i];
                    const cpu::Work work = {grays_[i], mask, i, pyramidOf_[i], &request.tasks, &prepared_, extent};
                    cpu::classify(work, strips[b].layer, strips[b].firstRow, scratch_, &parts[b * tasks],
                                  passes ? &counts[b] : nullptr);
                }
            },
            static_cast<double>(strips.size()));
        // Strips are in the order of images, scales and rows, so their candidates are in the order of keys.
        candidates_.assign(request.images.size() * tasks, std::vector<Candidate>());
        for (size_t b = 0; b < strips.size(); ++b)
            for (size_t t = 0; t < tasks; ++t)
            {
                std::vector<Candidate>& all = candidates_[strips[b].image * tasks + t];
                const std::vector<Candidate>& part = parts[b * tasks + t];
                all.insert(all.end(), part.begin(), part.end());
            }
        if (passes)
        {
            passes->assign(pyramidOf_[0]->layers.size(), none);
            addPasses(counts, strips, *passes);
        }
    }

private:
    const std::vector<Candidate>& candidatesOf(int image, size_t task, const Request& request) const
    {
        return candidates_[image * request.tasks.size() + task];
    }

    //! Makes one pyramid per image size.
    void makePyramids(const Request& request)
    {
        pyramids_.clear();
        pyramidOf_.clear();
        for (const ImageView& image : request.images)
        {
            std::unique_ptr<Pyramid>& pyramid = pyramids_[{image.cols, image.rows}];
            if (!pyramid)
                pyramid = std::make_unique<Pyramid>(makePyramid(image.cols, image.rows, request.tasks));
            pyramidOf_.push_back(pyramid.get());
        }
    }

    void makeGrays(const Request& request)
    {
        grays_ = request.images;
        grayMemory_.resize(request.images.size());
        for (size_t i = 0; i < request.images.size(); ++i)
        {
            const ImageView& image = request.images[i];
            if (image.channels == 1)
                continue;
            grayMemory_[i].create(image.rows, image.cols, CV_8UC1);
            cpu::toGray(image, {grayMemory_[i].data, grayMemory_[i].step});
            grays_[i] = {grayMemory_[i].data, grayMemory_[i].step, image.cols, image.rows, detail::DEPTH_8U, 1};
        }
    }

    //! Computes the offsets of corners, unless those of the last call still apply.
    void prepare(const Request& request, const cpu::WindowExtent& extent)
    {
        std::vector<uint64_t> key = {static_cast<uint64_t>(extent.width), static_cast<uint64_t>(extent.height)};
        for (const Task& task : request.tasks)
            key.push_back(task.model->version);
        if (key == preparedKey_)
            return;
        preparedKey_.clear();
        prepared_.clear();
        for (const Task& task : request.tasks)
            prepared_.push_back(cpu::prepare(task.model, extent));
        preparedKey_ = key;
    }

    std::vector<Strip> stripsOf(const Request& request) const
    {
        std::vector<Strip> strips;
        for (size_t i = 0; i < request.images.size(); ++i)
        {
            const Pyramid& pyramid = *pyramidOf_[i];
            std::vector<int> rows(pyramid.layers.size(), 0);
            for (const std::vector<Grid>& grids : pyramid.grids)
                for (const Grid& grid : grids)
                    rows[grid.layer] = std::max(rows[grid.layer], grid.rows);
            for (size_t layer = 0; layer < rows.size(); ++layer)
                for (int row = 0; row < rows[layer]; row += cpu::STRIP_ROWS)
                    strips.push_back({static_cast<int>(i), static_cast<int>(layer), row});
        }
        return strips;
    }

    static void store(const Objects& objects, bool overflow, const Table& table, int row)
    {
        const int found = static_cast<int>(objects.boxes.size());
        int stored = 0;
        if (table.objects)
        {
            Box* const out = reinterpret_cast<Box*>(table.objects.as<int>().row(row));
            stored = std::min(found, table.objects.cols - 1);
            std::memset(out, 0, table.objects.rowBytes());
            out[0] = {stored, found, objects.candidates, overflow ? 1 : 0};
            std::copy_n(objects.boxes.begin(), stored, out + 1);
        }
        if (table.numDetections)
        {
            int* const out = table.numDetections.as<int>().row(row);
            std::fill_n(out, table.numDetections.cols, 0);
            std::copy_n(objects.counts.begin(), std::min(found, table.numDetections.cols), out);
        }
        if (table.levelWeights)
        {
            double* const out = table.levelWeights.as<double>().row(row);
            std::fill_n(out, table.levelWeights.cols, 0.);
            std::copy_n(objects.weights.begin(), std::min(found, table.levelWeights.cols), out);
        }
    }

    std::map<std::pair<int, int>, std::unique_ptr<Pyramid>> pyramids_; //!< by image size
    std::vector<const Pyramid*> pyramidOf_;                            //!< pyramid of each image
    std::vector<ImageView> grays_;
    std::vector<Mat> grayMemory_;
    std::vector<std::shared_ptr<const cpu::Prepared>> prepared_;
    std::vector<uint64_t> preparedKey_;
    detail::ScratchPool<cpu::Scratch> scratch_;
    std::vector<std::vector<Candidate>> candidates_; //!< lists by image and task
};

} // namespace

std::unique_ptr<Engine> makeCpuEngine() { return std::unique_ptr<Engine>(new CpuEngine); }

std::vector<Passes> countPasses(const Request& request)
{
    std::vector<Passes> passes;
    CpuEngine().classify(request, &passes);
    return passes;
}

}}} // namespace cv::cuda::cascade
