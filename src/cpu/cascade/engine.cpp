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
    void detect(const Request& request, const Table& table, StreamHandle) override
    {
        classify(request, nullptr);
        parallel_for_(Range(0, static_cast<int>(request.images.size())),
                      [&](const Range& range)
                      {
                          const Settings& settings = request.task.settings;
                          Objects objects;
                          for (int i = range.start; i < range.end; ++i)
                          {
                              objects = Objects();
                              objects.candidates = static_cast<int>(std::min<size_t>(candidates_[i].size(), INT_MAX));
                              if (objects.candidates <= settings.maxCandidates)
                                  group(candidates_[i], *pyramidOf_[i], settings, objects);
                              store(objects, objects.candidates > settings.maxCandidates, table, i);
                          }
                      });
    }

    void find(const Request& request, Objects& objects, StreamHandle) override
    {
        classify(request, nullptr);
        group(candidates_[0], *pyramidOf_[0], request.task.settings, objects);
    }

    size_t workspaceBytes() const override { return 0; }

    //! Runs all stages up to classify. @param passes out: one entry per layer; null if not wanted.
    void classify(const Request& request, std::vector<Passes>* passes)
    {
        makePyramids(request);
        makeGrays(request);
        const ModelPtr& model = request.task.model;
        if (!prepared_ || prepared_->model->version != model->version)
            prepared_ = std::make_shared<cpu::Prepared>(model);
        std::vector<Strip> strips = stripsOf(request);
        std::vector<std::vector<Candidate>> parts(strips.size());
        Passes none;
        none.stages.assign(model->stages.size(), 0);
        std::vector<Passes> counts(passes ? strips.size() : 0, none);
        parallel_for_(
            Range(0, static_cast<int>(strips.size())),
            [&](const Range& range)
            {
                for (int b = range.start; b < range.end; ++b)
                {
                    const int i = strips[b].image;
                    const ImageView mask = request.masks.empty() ? ImageView() : request.masks[i];
                    const cpu::Work work = {grays_[i], mask, i, pyramidOf_[i], prepared_.get()};
                    cpu::classify(work, strips[b].layer, strips[b].firstRow, scratch_, parts[b],
                                  passes ? &counts[b] : nullptr);
                }
            },
            static_cast<double>(strips.size()));
        // Strips are in the order of images, scales and rows, so their candidates are in the order of keys.
        candidates_.assign(request.images.size(), std::vector<Candidate>());
        for (size_t b = 0; b < strips.size(); ++b)
        {
            std::vector<Candidate>& all = candidates_[strips[b].image];
            all.insert(all.end(), parts[b].begin(), parts[b].end());
        }
        if (passes)
        {
            passes->assign(pyramidOf_[0]->layers.size(), none);
            addPasses(counts, strips, *passes);
        }
    }

private:
    //! Makes one pyramid per image size.
    void makePyramids(const Request& request)
    {
        pyramids_.clear();
        pyramidOf_.clear();
        for (const ImageView& image : request.images)
        {
            std::unique_ptr<Pyramid>& pyramid = pyramids_[{image.cols, image.rows}];
            if (!pyramid)
                pyramid = std::make_unique<Pyramid>(makePyramid(image.cols, image.rows, request.task));
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

    std::vector<Strip> stripsOf(const Request& request) const
    {
        std::vector<Strip> strips;
        for (size_t i = 0; i < request.images.size(); ++i)
        {
            const Pyramid& pyramid = *pyramidOf_[i];
            for (size_t layer = 0; layer < pyramid.grids.size(); ++layer)
                for (int row = 0; row < pyramid.grids[layer].rows; row += cpu::STRIP_ROWS)
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
    std::shared_ptr<const cpu::Prepared> prepared_;
    detail::ScratchPool<cpu::Scratch> scratch_;
    std::vector<std::vector<Candidate>> candidates_; //!< lists by image
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
