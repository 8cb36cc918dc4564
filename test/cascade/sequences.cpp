// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Calls of one CascadeClassifierEx in random valid orders, compared with a model: other cascades, parameters, images
// and masks, copies, and, with CUDA, captures, replays and destroyed graphs.
#include "../common/model.hpp"
#include "generate.hpp"

namespace opencv_test { namespace {

using cuda::CascadeClassifierEx;
using cuda::GpuMat;

//! The cascade and the parameters that an instance must have.
struct CascadeState
{
    std::string text;
    double scaleFactor = 1.1;
    int minNeighbors = 3, maxObjects = 256, maxCandidates = 8192;
    Size least, most;
    bool largest = false;

    Ptr<CascadeClassifierEx> make() const
    {
        const Ptr<CascadeClassifierEx> c = cascadeOf(text);
        c->setScaleFactor(scaleFactor);
        c->setMinNeighbors(minNeighbors);
        c->setMinObjectSize(least);
        c->setMaxObjectSize(most);
        c->setFindLargestObject(largest);
        c->setMaxObjects(maxObjects);
        c->setMaxCandidates(maxCandidates);
        return c;
    }
    //! Detects with a new instance.
    CascadeTables tables(const std::vector<Mat>& images, const std::vector<Mat>& masks) const
    {
        return tablesOf(*make(), images, masks);
    }
};

class CascadeModel : public Model
{
public:
    explicit CascadeModel(uint64 seed) : Model(seed)
    {
        newCascade();
        ours_ = state_.make();
    }

    void step() override
    {
        callOneOf({{1, [&] { load(); }},
                   {2, [&] { parameters(); }},
                   {1, [&] { copy(); }},
                   {1, [&] { failingCall(); }},
                   {1, [&] { vectors(); }},
                   {2, [&] { detect(); }}});
    }

protected:
    virtual void copy()
    {
        log("clone");
        ours_ = ours_->clone();
    }
    //! Returns all results of a detectAsync() that is not captured.
    virtual CascadeTables runTables(const std::vector<Mat>& images, const std::vector<Mat>& masks)
    {
        return tablesOf(*ours_, images, masks);
    }
    virtual std::vector<Rect> runVectors(const Mat& image, const Mat& mask)
    {
        std::vector<Rect> boxes;
        ours_->detectMultiScale(image, boxes, 1.3, state_.minNeighbors, 0, Size(), Size(), mask);
        return boxes;
    }

    void newCascade()
    {
        const Mat image = randomImage(rng_, Size(50, 40), CV_8UC1, 5);
        state_.text = cascadeText(CascadeGenerator(rng_.next(), image).make(), ".xml");
    }

    void load()
    {
        newCascade();
        log("load");
        ours_->loadBuffer(asRow(state_.text));
    }

    void parameters()
    {
        log("parameters");
        ours_->setScaleFactor(state_.scaleFactor = rng_.uniform(1.15, 2.));
        ours_->setMinNeighbors(state_.minNeighbors = rng_.uniform(0, 4));
        if (rng_.uniform(0, 2))
            ours_->setMinObjectSize(state_.least = Size(rng_.uniform(0, 40), 0));
        if (rng_.uniform(0, 2))
            ours_->setMaxObjectSize(state_.most = uniform(rng_, Size(0, 0), Size(90, 90)));
        ours_->setFindLargestObject(state_.largest = rng_.uniform(0, 4) == 0);
        ours_->setMaxObjects(state_.maxObjects = 1 << rng_.uniform(0, 9));
        ours_->setMaxCandidates(state_.maxCandidates = 1 << rng_.uniform(3, 17));
    }

    //! Makes 1 to 3 images of a few sizes, so that sizes recur.
    std::vector<Mat> images()
    {
        const Size sizes[] = {Size(60, 45), Size(60, 45), Size(31, 70), Size(110, 80), Size(9, 9)};
        std::vector<Mat> list;
        for (int i = rng_.uniform(0, 3); i >= 0; --i)
        {
            const int blur = rng_.uniform(2, 7), type = rng_.uniform(0, 2) ? CV_8UC1 : CV_8UC3;
            list.push_back(randomImage(rng_, sizes[rng_.uniform(0, 5)], type, blur));
        }
        return list;
    }
    std::vector<Mat> masks(const std::vector<Mat>& images)
    {
        std::vector<Mat> list;
        if (rng_.uniform(0, 3) == 0)
            for (const Mat& image : images)
                list.push_back(rng_.uniform(0, 3) ? randomImage(rng_, image.size(), CV_8UC1, 9, 2) : Mat());
        return list;
    }

    void detect()
    {
        const std::vector<Mat> list = images(), ofList = masks(list);
        log(cv::format("detect %zu x %d x %d%s", list.size(), list[0].cols, list[0].rows,
                       ofList.empty() ? "" : " with masks"));
        const CascadeTables expected = state_.tables(list, ofList), actual = runTables(list, ofList);
        EXPECT_TRUE(sameTables(expected, actual)) << "after: " << history_;
        compared_ += expected.objects.at<Vec4i>(0)[2]; // candidates of the first image
    }

    void vectors()
    {
        log("vectors");
        const std::vector<Mat> list = images(), ofList = masks(list);
        const Mat mask = ofList.empty() ? Mat() : ofList[0];
        std::vector<Rect> expected;
        state_.make()->detectMultiScale(list[0], expected, 1.3, state_.minNeighbors, 0, Size(), Size(), mask);
        EXPECT_EQ(expected, runVectors(list[0], mask)) << "after: " << history_;
    }

    void failingCall()
    {
        log("failing call");
        Mat table;
        EXPECT_THROW(ours_->setScaleFactor(1.), cv::Exception);
        EXPECT_THROW(ours_->setMaxObjects(0), cv::Exception);
        EXPECT_THROW(ours_->loadBuffer(Mat(1, 20, CV_8U, Scalar('a'))), cv::Exception);
        EXPECT_THROW(ours_->detectAsync(Mat(20, 20, CV_16UC1, Scalar(1)), table), cv::Exception);
    }

    CascadeState state_;
    Ptr<CascadeClassifierEx> ours_;
};

TEST(Cascade_Model, anyOrder) { expectAnyOrder<CascadeModel>(12, 60, 1000); }

#ifdef HAVE_CUDA

struct CapturedDetection
{
    std::unique_ptr<Graph> graph;
    CascadeState state; //!< at the time of the capture
    std::vector<Mat> images, masks;
    std::vector<GpuMat> frames, frameMasks;
    GpuMat objects, counts, weights;
};

class CudaCascadeModel : public CascadeModel
{
public:
    using CascadeModel::CascadeModel;

    void step() override
    {
        callOneOf({{1, [&] { capture(); }}, {2, [&] { replay(); }}, {1, [&] { forget(); }}, {4, [&] {
                                                                                                 CascadeModel::step();
                                                                                             }}});
    }

protected:
    //! Instances must outlive their graphs.
    void copy() override
    {
        kept_.push_back(ours_);
        CascadeModel::copy();
    }
    CascadeTables runTables(const std::vector<Mat>& images, const std::vector<Mat>& masks) override
    {
        if (rng_.uniform(0, 3) == 0) // on the CPU, with the same instance
            return CascadeModel::runTables(images, masks);
        GpuMat objects, counts, weights;
        const std::vector<GpuMat> frames = uploaded(images), frameMasks = uploaded(masks);
        ours_->detectAsync(frames, objects, counts, weights, frameMasks, graphs_.stream);
        graphs_.stream.waitForCompletion();
        return {Mat(objects), Mat(counts), Mat(weights)};
    }
    std::vector<Rect> runVectors(const Mat& image, const Mat& mask) override
    {
        std::vector<Rect> boxes;
        ours_->detectMultiScale(GpuMat(image), boxes, 1.3, state_.minNeighbors, 0, Size(), Size(),
                                mask.empty() ? GpuMat() : GpuMat(mask), graphs_.stream);
        return boxes;
    }

private:
    void capture()
    {
        CapturedDetection c;
        const bool dropped = rng_.uniform(0, 3) == 0;
        log(dropped ? "capture and drop" : "capture");
        c.state = state_;
        c.images = images();
        c.masks = masks(c.images);
        c.frames = uploaded(c.images);
        c.frameMasks = uploaded(c.masks);
        graphs_.capture(
            c, [&] { ours_->detectAsync(c.frames, c.objects, c.counts, c.weights, c.frameMasks, graphs_.stream); });
        if (!dropped)
            graphs_.all.push_back(std::move(c));
    }

    void replay()
    {
        CapturedDetection* const chosen = graphs_.any(rng_);
        if (!chosen)
            return;
        log("replay");
        CapturedDetection& c = *chosen;
        for (size_t i = 0; i < c.images.size(); ++i)
        {
            c.images[i] = randomImage(rng_, c.images[i].size(), c.images[i].type(), rng_.uniform(2, 7));
            c.frames[i].upload(c.images[i], graphs_.stream);
        }
        graphs_.replay(c);
        EXPECT_TRUE(sameTables(c.state.tables(c.images, c.masks), {Mat(c.objects), Mat(c.counts), Mat(c.weights)}))
            << "replay after: " << history_;
    }

    void forget()
    {
        if (graphs_.forget())
            log("destroy a graph");
    }

    std::vector<Ptr<CascadeClassifierEx>> kept_;
    CapturedCalls<CapturedDetection> graphs_;
};

TEST(Cascade_Model, anyOrderOnCuda)
{
    requireCuda();
    expectAnyOrder<CudaCascadeModel>(12, 80, 1000);
}

#endif

}} // namespace opencv_test
