// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Eager calls, edits, captures and replays of one FragmentMatcher in random legal orders, compared with a model of the
// expected results.
#include "scenes_cuda.hpp"
#include "../common/model.hpp"

namespace opencv_test { namespace {

#ifdef HAVE_CUDA

using namespace scenes;
using cuda::GpuMat;
using cuda::Stream;

//! One fragment's memory: a graph that was captured with it reads what is in it at each replay.
struct Content
{
    Mat templ, weights; //!< weights empty: none
};
typedef std::vector<std::shared_ptr<Content>> Contents;

struct CapturedMatch
{
    std::unique_ptr<Graph> graph;
    Contents fragments;
    FM::Params params;
    std::vector<Rect> areas; //!< as frozen; on the device: as uploaded last
    bool areasOnDevice;
    GpuMat deviceAreas, next;
    DeviceResult result;
};

class MatcherModel : public Model
{
public:
    explicit MatcherModel(uint64 seed) : Model(seed), params_(makeParams(FM::SAD, 2, FM::SQUARE, 0, FM::FULL, true))
    {
        image_ = randomImage(rng_, Size(100, 80), TYPE);
        frame_.upload(image_);
        gpu_ = FM::create(params_);
        setAll();
    }

    void step() override
    {
        callOneOf({{2, [&] { match(); }},
                   {1, [&] { setParams(); }},
                   {1, [&] { updateContent(); }},
                   {1, [&] { edit(); }},
                   {2, [&] { capture(); }},
                   {3, [&] { replay(); }},
                   {1, [&] { forget(); }},
                   {1, [&] { grow(); }},
                   {1, [&] { newFrame(); }}});
    }

private:
    static const int TYPE = CV_8UC3;

    Content randomContent(Size size, bool weighted)
    {
        Content c;
        c.templ = size.width < 40 && rng_.uniform(0, 2)
                      ? image_(Rect(uniform(rng_, Point(), Point(30, 30)), size)).clone()
                      : randomImage(rng_, size, TYPE);
        if (weighted)
            c.weights = randomWeights(rng_, size, CV_8UC1);
        return c;
    }
    Content randomContent()
    {
        const bool weighted = rng_.uniform(0, 2) != 0;
        return randomContent(uniform(rng_, Size(1, 1), Size(30, 25)), weighted);
    }

    //! All fragments anew; their number changes, so that graphs keep theirs.
    void setAll()
    {
        const size_t count = fragments_.size() % 5 + 2;
        log(cv::format("set %zu", count));
        std::vector<Mat> templates, weights;
        fragments_.clear();
        for (size_t i = 0; i < count; ++i)
        {
            fragments_.push_back(std::make_shared<Content>(randomContent()));
            templates.push_back(fragments_[i]->templ);
            weights.push_back(fragments_[i]->weights);
        }
        gpu_->setFragments(uploadRois(templates), uploadRois(weights), graphs_.stream);
        graphs_.stream.waitForCompletion();
    }

    std::vector<Rect> randomAreas(size_t count)
    {
        std::vector<Rect> areas;
        for (size_t i = 0; i < count; ++i)
            areas.push_back(randomArea(rng_, image_.size(), fragments_[i % fragments_.size()]->templ.size(), 30));
        return areas;
    }

    Result onCpu(const Contents& fragments, const std::vector<Rect>& areas, const FM::Params& params,
                 const Mat& image) const
    {
        Scene scene;
        scene.frame = image;
        scene.params = params;
        scene.areas = areas;
        for (const auto& content : fragments)
        {
            scene.templates.push_back(content->templ);
            scene.weights.push_back(content->weights);
        }
        return runCpu(scene);
    }

    void match()
    {
        log("match");
        const std::vector<Rect> areas = randomAreas(fragments_.size());
        const Result truth = onCpu(fragments_, areas, params_, image_);
        const Result result = rng_.uniform(0, 2) ? runOnDevice(*gpu_, frame_, areas, graphs_.stream)
                                                 : runOnDevice(*gpu_, frame_, uploadAreas(areas), graphs_.stream);
        EXPECT_TRUE(same(truth, result)) << "eager match after: " << history_;
        ++compared_;
    }

    void setParams()
    {
        log("setParams");
        const bool subPixel = rng_.uniform(0, 2) != 0;
        const int distance = rng_.uniform(0, 4), exclusion = rng_.uniform(0, 2), peaks = rng_.uniform(1, 6);
        params_ = makeParams(rng_.uniform(0, 3), peaks, exclusion, distance, FM::FULL, subPixel);
        gpu_->setParams(params_);
    }

    //! Replaces a fragment by one of the same size, with or without weights as before: graphs see it. Not done while a
    //! graph holds a list of fragments that is no longer the matcher's, for which there is no promise.
    void updateContent()
    {
        for (const CapturedMatch& c : graphs_.all)
            if (c.fragments != fragments_)
                return;
        const int i = rng_.uniform(0, static_cast<int>(fragments_.size()));
        log(cv::format("new content of %d", i));
        Content& content = *fragments_[i];
        content = randomContent(content.templ.size(), !content.weights.empty());
        gpu_->updateFragment(i, uploadRoi(content.templ),
                             content.weights.empty() ? GpuMat() : uploadRoi(content.weights), graphs_.stream);
        graphs_.stream.waitForCompletion();
    }

    //! Changes the number or a size of fragments: graphs do not see it.
    void edit()
    {
        const int count = static_cast<int>(fragments_.size()), i = rng_.uniform(0, count);
        const Content content = randomContent();
        const GpuMat templ = uploadRoi(content.templ),
                     weights = content.weights.empty() ? GpuMat() : uploadRoi(content.weights);
        const int kind = rng_.uniform(0, 4);
        if (kind == 0 && count > 1)
        {
            log(cv::format("remove %d", i));
            gpu_->removeFragment(i);
            fragments_.erase(fragments_.begin() + i);
        }
        else if (kind == 1)
        {
            log("add");
            gpu_->addFragment(templ, weights, graphs_.stream);
            fragments_.push_back(std::make_shared<Content>(content));
        }
        else if (kind == 2 && content.templ.size() != fragments_[i]->templ.size())
        {
            log(cv::format("replace %d", i));
            gpu_->updateFragment(i, templ, weights, graphs_.stream);
            fragments_[i] = std::make_shared<Content>(content);
        }
        else
            setAll();
        graphs_.stream.waitForCompletion();
    }

    void capture()
    {
        const bool dropped = rng_.uniform(0, 3) == 0;
        log(dropped ? "capture and drop" : "capture");
        graphs_.all.emplace_back();
        CapturedMatch& c = graphs_.all.back();
        c.fragments = fragments_;
        c.params = params_;
        c.areas = randomAreas(fragments_.size());
        c.areasOnDevice = rng_.uniform(0, 2) != 0;
        c.deviceAreas = uploadAreas(c.areas);
        c.result.create(static_cast<int>(fragments_.size()), params_.peaks);
        c.next.create(static_cast<int>(fragments_.size()), 1, CV_32SC4);
        std::vector<Rect> given = c.areas;
        graphs_.capture(c,
                        [&]
                        {
                            if (c.areasOnDevice)
                                launch(*gpu_, frame_, c.deviceAreas, c.result, graphs_.stream);
                            else
                                launch(*gpu_, frame_, given, c.result, graphs_.stream);
                            gpu_->predictAreas(c.result.locations, 5, image_.size(), c.next, graphs_.stream);
                        });
        if (dropped)
            graphs_.all.pop_back();
    }

    void replay()
    {
        CapturedMatch* const chosen = graphs_.any(rng_);
        if (!chosen)
            return;
        CapturedMatch& c = *chosen;
        log("replay");
        if (c.areasOnDevice)
        {
            c.areas = randomAreas(c.fragments.size());
            c.deviceAreas.upload(columnOf(c.areas), graphs_.stream);
        }
        graphs_.replay(c);
        const Result truth = onCpu(c.fragments, c.areas, c.params, image_);
        EXPECT_TRUE(same(truth, c.result.download())) << "replay after: " << history_;
        ++compared_;
        const Ptr<FM> cpu = FM::create(c.params);
        std::vector<Mat> templates;
        for (const auto& content : c.fragments)
            templates.push_back(content->templ);
        cpu->setFragments(templates);
        Mat next;
        cpu->predictAreas(truth.locations, 5, image_.size(), next);
        EXPECT_TRUE(sameBits(next, Mat(c.next))) << "areas of a replay after: " << history_;
    }

    void forget()
    {
        if (graphs_.forget())
            log("destroy a graph");
    }

    //! Calls that need much more memory than the graphs.
    void grow()
    {
        log("grow");
        growth_ += 60;
        const Mat large = randomImage(rng_, Size(200 + growth_, 150 + growth_), TYPE);
        const GpuMat frame(large);
        GpuMat maps;
        std::vector<int> offsets;
        gpu_->scoreMaps(frame, noArray(), maps, offsets, CV_32F, graphs_.stream);
        const Result result = runOnDevice(*gpu_, frame, noArray(), graphs_.stream);
        EXPECT_TRUE(same(onCpu(fragments_, {}, params_, large), result)) << "larger frame after: " << history_;
    }

    void newFrame()
    {
        log("frame");
        image_ = randomImage(rng_, image_.size(), TYPE, rng_.uniform(1, 7));
        frame_.upload(image_, graphs_.stream);
    }

    FM::Params params_;
    Mat image_;
    GpuMat frame_; //!< always at the same place: all graphs read it
    Ptr<FM> gpu_;
    Contents fragments_;
    CapturedCalls<CapturedMatch> graphs_;
    int growth_ = 0;
};

TEST(FragmentMatcher_Model, anyOrderOnCuda)
{
    requireCuda();
    expectAnyOrder<MatcherModel>(12, 80, 100);
}

#endif

}} // namespace opencv_test
