// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// CascadeClassifierEx against cv::CascadeClassifier with one thread: candidates and their order, groups, counts, levels
// and weights, for every cascade that OpenCV ships.
#include "../test_precomp.hpp"
#include "peer.hpp"
#include "scenes.hpp"

namespace opencv_test { namespace {

#if CUDATRACKING_CASCADE_PEER

//! All results of cv::CascadeClassifier for an image, with one thread.
class CascadePeer
{
public:
    explicit CascadePeer(const std::string& file) { loaded_ = peer_.load(file); }

    CascadeResults detect(const Mat& image, const CascadeCase& c)
    {
        const int threads = getNumThreads();
        setNumThreads(1);
        CascadeResults r;
        peer_.detectMultiScale(image, r.raw, r.rawLevels, r.rawWeights, c.scaleFactor, 0, 0, c.minSize, c.maxSize,
                               true);
        peer_.detectMultiScale(image, r.objects, r.numDetections, c.scaleFactor, c.minNeighbors, 0, c.minSize,
                               c.maxSize);
        std::vector<Rect> again;
        peer_.detectMultiScale(image, again, r.levels, r.weights, c.scaleFactor, c.minNeighbors, 0, c.minSize,
                               c.maxSize, true);
        setNumThreads(threads);
        EXPECT_EQ(r.objects, again);
        return r;
    }
    bool loaded() const { return loaded_; }

private:
    CascadeClassifier peer_;
    bool loaded_ = false;
};

class Cascade_Reference : public ::testing::TestWithParam<std::string>
{};

TEST_P(Cascade_Reference, everyResult)
{
    const std::string file = requireCascade(GetParam());
    CascadePeer peer(file);
    ASSERT_TRUE(peer.loaded());
    const Ptr<cuda::CascadeClassifierEx> cascade = cuda::CascadeClassifierEx::create(file);
    size_t candidates = 0;
    for (const CascadeScene& scene : cascadeScenes())
        for (const CascadeCase& c : cascadeCases(scene.image.size(), cascade->getOriginalWindowSize()))
        {
            SCOPED_TRACE(scene.name + ", " + c.name());
            const CascadeResults expected = peer.detect(scene.image, c), actual = detectAll(*cascade, scene.image, c);
            ASSERT_NO_FATAL_FAILURE(expectSame(expected, actual));
            candidates += expected.raw.size();
        }
    RecordProperty("candidates", static_cast<int>(candidates));
}

INSTANTIATE_TEST_CASE_P(Shipped, Cascade_Reference, testing::ValuesIn(shippedCascades()));

//! Several cascades in one call, on images of all sizes, on one and on several threads.
TEST(Cascade_TogetherReference, everyResult)
{
    const std::vector<std::vector<std::string>> calls = {
        {"haarcascades/haarcascade_frontalface_alt.xml", "lbpcascades/lbpcascade_frontalface.xml"},
        {"lbpcascades/lbpcascade_profileface.xml", "haarcascades/haarcascade_profileface.xml",
         "haarcascades/haarcascade_eye_tree_eyeglasses.xml", "lbpcascades/lbpcascade_frontalface_improved.xml"},
        {"lbpcascades/lbpcascade_silverware.xml", "haarcascades/haarcascade_upperbody.xml",
         "lbpcascades/lbpcascade_frontalcatface.xml"}};
    RNG rng(5);
    std::vector<Mat> images;
    for (const CascadeScene& scene : cascadeScenes())
        images.push_back(scene.image);
    for (const Size size : {Size(1, 1), Size(20, 20), Size(24, 24), Size(25, 24), Size(45, 34), Size(600, 40)})
        images.push_back(randomImage(rng, size, CV_8UC1, 3));
    const int threads = getNumThreads();
    size_t found = 0;
    for (const std::vector<std::string>& names : calls)
    {
        const int minNeighbors = static_cast<int>(names.size()) - 2; // 0: candidates
        std::vector<Ptr<cuda::CascadeClassifierEx>> cascades;
        for (const std::string& name : names)
        {
            cascades.push_back(cuda::CascadeClassifierEx::create(requireCascade(name)));
            cascades.back()->setMinNeighbors(minNeighbors);
            cascades.back()->setMaxObjects(2000);
            cascades.back()->setMaxCandidates(65536);
        }
        for (int used : {1, 3})
        {
            std::vector<Mat> objects, counts, weights;
            setNumThreads(used);
            cuda::CascadeClassifierEx::detectTogether(cascades, images, objects, counts, weights);
            setNumThreads(threads);
            for (size_t i = 0; i < names.size(); ++i)
                for (size_t k = 0; k < images.size(); ++k)
                {
                    SCOPED_TRACE(cv::format("%s, image %zu, %d threads", names[i].c_str(), k, used));
                    CascadePeer peer(requireCascade(names[i]));
                    const CascadeResults all = peer.detect(images[k], {1.1, minNeighbors, Size(), Size()});
                    std::vector<Rect> boxes;
                    const int n = cascades[i]->convertDetections(objects[i], static_cast<int>(k), boxes);
                    ASSERT_EQ(static_cast<int>(all.objects.size()), n);
                    ASSERT_EQ(all.objects, boxes);
                    const int row = static_cast<int>(k);
                    for (int b = 0; b < n; ++b)
                    {
                        ASSERT_EQ(all.numDetections[b], counts[i].at<int>(row, b));
                        ASSERT_EQ(all.weights[b], weights[i].at<double>(row, b));
                    }
                    ASSERT_EQ(static_cast<int>(all.raw.size()), objects[i].at<Vec4i>(row, 0)[2]);
                    found += boxes.size();
                }
        }
    }
    EXPECT_GT(found, 100u);
}

#else

TEST(Cascade_Reference, everyResult) { throw SkipTestException("this build has no cv::CascadeClassifier"); }
TEST(Cascade_TogetherReference, everyResult) { throw SkipTestException("this build has no cv::CascadeClassifier"); }

#endif

}} // namespace opencv_test
