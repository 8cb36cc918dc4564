// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Direct calls, captures, replays and getters of one QuickShift in random legal orders, compared with a model of their
// results.
#include "../common/model.hpp"
#include "scenes.hpp"

namespace opencv_test { namespace {

#ifdef HAVE_CUDA

using namespace scenes;
using cuda::GpuMat;
using cuda::Stream;

//! Results in one set of device memory, as the instance and graphs see them.
struct ResultSet
{
    Size size;
    int type, images;
    double sigma; //!< stands for all parameters
    Results results;

    bool hasKey(const Mat& image, int count, double s) const
    {
        return image.size() == size && image.type() == type && count == images && s == sigma;
    }
};

struct CapturedCompute
{
    std::unique_ptr<Graph> graph;
    std::shared_ptr<ResultSet> set;
    GpuMat input, labels, distances, cut, counts, mean;
};

class QuickShiftModel : public Model
{
public:
    explicit QuickShiftModel(uint64 seed) : Model(seed), gpu_(QuickShift::create(2., 15., 0.3)), sigma_(2.) {}

    void step() override
    {
        callOneOf({{2, [&] { compute(); }},
                   {1, [&] { newKey(); }},
                   {2, [&] { capture(); }},
                   {3, [&] { replay(); }},
                   {1, [&] { forget(); }},
                   {1, [&] { count(); }}});
        check();
    }

private:
    //! Compares what direct getters give now.
    void check()
    {
        EXPECT_EQ(!current_, gpu_->empty()) << history_;
        if (!current_)
            return;
        const Results actual = resultsOf(*gpu_);
        const bool right =
            sameBits(current_->results.labels, actual.labels) && sameBits(current_->results.density, actual.density) &&
            sameBits(current_->results.parents, actual.parents) &&
            sameBits(current_->results.distances, actual.distances) && current_->results.count == actual.count;
        EXPECT_TRUE(right) << "eager getters after: " << history_;
        ++compared_;
        if (right && rng_.uniform(0, 4) == 0)
            checkStatistics(actual);
    }

    void newKey()
    {
        log("setSigma");
        gpu_->setSigma(sigma_ = 1. + 0.01 * ++keys_);
    }

    //! Computes one image, or two of half its height.
    Mat drawImage()
    {
        const Size sizes[] = {Size(60, 46), Size(60, 46), Size(60, 46), Size(31, 70), Size(110, 80)};
        images_ = rng_.uniform(0, 3) == 0 ? 2 : 1;
        const int type = rng_.uniform(0, 4) ? CV_8UC3 : CV_8UC1;
        return randomImage(rng_, sizes[rng_.uniform(0, 5)], type, 5);
    }

    template <typename Array> static std::vector<Array> halves(const Array& stack)
    {
        return {stack.rowRange(0, stack.rows / 2), stack.rowRange(stack.rows / 2, stack.rows)};
    }

    template <typename Array> static void compute(QuickShift& q, const Array& image, int images, Stream& stream)
    {
        if (images == 1)
            q.compute(image, noArray(), stream);
        else
            q.computeBatch(halves(image), noArray(), noArray(), stream);
    }

    static Results onCpu(const Mat& image, int images, double sigma)
    {
        const Ptr<QuickShift> q = QuickShift::create(sigma, 15., 0.3);
        compute(*q, image, images, cuda::noStream());
        return resultsOf(*q);
    }

    //! Returns the set that compute() writes to: the current one if the key is equal, else another.
    std::shared_ptr<ResultSet> setFor(const Mat& image)
    {
        if (current_ && current_->hasKey(image, images_, sigma_))
            return current_;
        auto set = std::make_shared<ResultSet>();
        set->size = image.size();
        set->type = image.type();
        set->images = images_;
        set->sigma = sigma_;
        return set;
    }

    //! Returns true if a graph of this key has a set of its own: it is not specified whether a direct call would use
    //! that set.
    bool ownedByGraph(const Mat& image) const
    {
        for (const CapturedCompute& c : graphs_.all)
            if (c.set != current_ && c.set->hasKey(image, images_, sigma_))
                return true;
        return false;
    }

    void compute()
    {
        const Mat image = drawImage();
        if (ownedByGraph(image))
            newKey();
        log(cv::format("compute %d x %d, %d", image.cols, image.rows, images_));
        const GpuMat input(image);
        compute(*gpu_, input, images_, graphs_.stream);
        graphs_.stream.waitForCompletion();
        current_ = setFor(image);
        current_->results = onCpu(image, images_, sigma_);
    }

    void capture()
    {
        const Mat image = drawImage();
        const bool dropped = rng_.uniform(0, 3) == 0;
        log(cv::format("capture %d x %d, %d%s", image.cols, image.rows, images_, dropped ? " and drop" : ""));
        CapturedCompute c;
        c.input.upload(image);
        c.labels.create(image.size(), CV_32SC1);
        c.distances.create(image.size(), CV_32FC1);
        c.cut.create(image.size(), CV_32SC1);
        c.counts.create(images_, 1, CV_32SC1);
        c.mean.create(image.size(), image.type());
        graphs_.capture(c,
                        [&]
                        {
                            compute(*gpu_, c.input, images_, graphs_.stream);
                            gpu_->getSuperpixelCounts(c.counts, graphs_.stream);
                            gpu_->getMeanColor(c.input, c.mean, graphs_.stream);
                            gpu_->getLabels(c.labels, graphs_.stream);
                            gpu_->getDistances(c.distances, graphs_.stream);
                            gpu_->segment(4., c.cut, graphs_.stream);
                        });
        if (dropped)
            return;
        c.set = setFor(image);
        graphs_.all.push_back(std::move(c));
    }

    void replay()
    {
        CapturedCompute* const chosen = graphs_.any(rng_);
        if (!chosen)
            return;
        CapturedCompute& c = *chosen;
        const Mat image = randomImage(rng_, c.set->size, c.set->type, 5);
        log("replay");
        c.input.upload(image, graphs_.stream);
        graphs_.replay(c);
        c.set->results = onCpu(image, c.set->images, c.set->sigma);
        EXPECT_TRUE(sameBits(c.set->results.labels, Mat(c.labels))) << "after: " << history_;
        EXPECT_TRUE(sameBits(c.set->results.distances, Mat(c.distances))) << "after: " << history_;
        const Ptr<QuickShift> q = QuickShift::create(c.set->sigma, 15., 0.3);
        Mat cut, counts, mean;
        compute(*q, image, c.set->images, cuda::noStream());
        q->segment(4., cut);
        q->getSuperpixelCounts(counts);
        q->getMeanColor(image, mean);
        EXPECT_TRUE(sameBits(cut, Mat(c.cut))) << "after: " << history_;
        EXPECT_TRUE(sameBits(counts, Mat(c.counts))) << "after: " << history_;
        EXPECT_TRUE(sameBits(mean, Mat(c.mean))) << "after: " << history_;
    }

    void forget()
    {
        if (graphs_.forget())
            log("destroy a graph");
    }

    void count()
    {
        log("count");
        EXPECT_EQ(current_ ? current_->results.count : 0, gpu_->getNumberOfSuperpixels()) << history_;
    }

    void checkStatistics(const Results& truth)
    {
        const Mat image = randomImage(rng_, truth.labels.size(), CV_8UC3);
        Mat areas, counts;
        gpu_->getSuperpixelCounts(counts, graphs_.stream);
        gpu_->getStatistics(GpuMat(image), areas, noArray(), noArray(), noArray(), graphs_.stream);
        Mat expected = Mat::zeros(truth.count, 1, CV_32SC1);
        ASSERT_EQ(current_->images, counts.rows) << "after: " << history_;
        for (int y = 0; y < truth.labels.rows; ++y)
            for (int x = 0; x < truth.labels.cols; ++x)
            {
                const int before = y < truth.labels.rows / current_->images ? 0 : counts.at<int>(0); // of its image
                ++expected.at<int>(before + truth.labels.at<int>(y, x));
            }
        EXPECT_TRUE(sameBits(expected, areas)) << "after: " << history_;
    }

    const Ptr<QuickShift> gpu_;
    double sigma_;
    int keys_ = 0, images_ = 1; //!< of the last drawImage()
    std::shared_ptr<ResultSet> current_;
    CapturedCalls<CapturedCompute> graphs_;
};

TEST(QuickShift_Model, anyOrderOnCuda)
{
    requireCuda();
    expectAnyOrder<QuickShiftModel>(12, 60, 100);
}

#endif

}} // namespace opencv_test
