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
    size_t candidates = 0, number = 0;
    for (const CascadeScene& scene : cascadeScenes())
        for (const CascadeCase& c : cascadeCases(scene.image.size(), cascade->getOriginalWindowSize()))
        {
            if (number++ % 2 != 0) // there are seven cases: the next scene has the others
                continue;
            SCOPED_TRACE(scene.name + ", " + c.name());
            const CascadeResults expected = peer.detect(scene.image, c), actual = detectAll(*cascade, scene.image, c);
            ASSERT_NO_FATAL_FAILURE(expectSame(expected, actual));
            candidates += expected.raw.size();
        }
    RecordProperty("candidates", static_cast<int>(candidates));
}

INSTANTIATE_TEST_CASE_P(Shipped, Cascade_Reference, testing::ValuesIn(shippedCascades()));

#else

TEST(Cascade_Reference, everyResult) { throw SkipTestException("this build has no cv::CascadeClassifier"); }

#endif

}} // namespace opencv_test
