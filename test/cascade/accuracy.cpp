// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// CascadeClassifierEx against the plain oracle, on shipped and on random cascades, and the random ones against
// cv::CascadeClassifier too.
#include "../test_precomp.hpp"
#include "generate.hpp"
#include "peer.hpp"
#include <fstream>

namespace opencv_test { namespace {

Mat texture(uint64 seed, Size size) { return randomImage(seed, size, CV_8UC1, 5); }

TEST(Cascade_Oracle, shippedCascades)
{
    const Mat lena = requireImage(requireFolder("CUDATRACKING_SAMPLES_DATA"), "lena.jpg");
    Mat image;
    resize(lena(Rect(190, 180, 200, 220)), image, Size(91, 101), 0, 0, INTER_AREA);
    const CascadeCase p = {1.2, 1, Size(), Size()};
    for (const std::string& name : shippedCascades())
    {
        if (name.find("_cuda/") != std::string::npos || name.find("16stages") != std::string::npos)
            continue; // old format
        SCOPED_TRACE(name);
        const std::string file = requireCascade(name);
        const Ptr<cuda::CascadeClassifierEx> cascade = cuda::CascadeClassifierEx::create(file);
        ASSERT_NO_FATAL_FAILURE(expectSame(oracleDetect(readOracle(file), image, p), detectAll(*cascade, image, p)));
    }
}

//! Returns a copy with leaves in the order that the old format implies.
OracleCascade renumbered(OracleCascade c)
{
    for (OracleStage& stage : c.stages)
        for (OracleTree& tree : stage.trees)
        {
            std::vector<float> leaves;
            for (OracleNode& node : tree.nodes)
                for (int* child : {&node.left, &node.right})
                    if (*child <= 0)
                    {
                        leaves.push_back(tree.leaves[-*child]);
                        *child = -int(leaves.size() - 1);
                    }
            tree.leaves = leaves;
        }
    return c;
}

#if CUDATRACKING_CASCADE_PEER

//! Compares with cv::CascadeClassifier on one thread. Not for cascades with one stage, where it reports low-contrast
//! windows.
void expectPeerEqual(const std::string& text, const std::string& extension, const Mat& image, const CascadeCase& p,
                     const CascadeResults& actual)
{
    const TemporaryFile file(extension);
    {
        std::ofstream out(file, std::ios::binary);
        out << text;
    }
    CascadeClassifier peer;
    const bool loaded = peer.load(file);
    ASSERT_TRUE(loaded);
    const int threads = getNumThreads();
    setNumThreads(1);
    std::vector<Rect> raw, objects;
    std::vector<int> counts;
    peer.detectMultiScale(image, raw, p.scaleFactor, 0, 0, p.minSize, p.maxSize);
    peer.detectMultiScale(image, objects, counts, p.scaleFactor, p.minNeighbors, 0, p.minSize, p.maxSize);
    setNumThreads(threads);
    ASSERT_EQ(raw, actual.raw);
    ASSERT_EQ(objects, actual.objects);
    ASSERT_EQ(counts, actual.numDetections);
}

#else

void expectPeerEqual(const std::string&, const std::string&, const Mat&, const CascadeCase&, const CascadeResults&) {}

#endif

//! Returns whether the sums of all features are exact in float, so that they do not depend on the order.
bool sumsAreExact(const OracleCascade& c)
{
    for (const OracleFeature& f : c.features)
    {
        double most = 0.;
        for (size_t i = 0; i < f.weights.size(); ++i)
        {
            if (f.weights[i] != std::floor(f.weights[i]))
                return false;
            most += std::abs(f.weights[i]) * f.rects[i].area() * (f.tilted ? 2 : 1) * 255.;
        }
        if (most >= 16777216.)
            return false;
    }
    return true;
}

TEST(Cascade_Random, newAndOldFormat)
{
    const bool fuses = CUDATRACKING_CASCADE_PEER_FUSES != 0;
    std::cout << "note: cv::CascadeClassifier is compiled " << (fuses ? "with" : "without")
              << " fused multiply-add, so features with fractional weights are " << (fuses ? "not " : "")
              << "compared with it" << std::endl;
    const uint64 first = theRNG().state; // printed by ts with --test_seed
    size_t candidates = 0;
    for (int i = 0; i < 60; ++i)
    {
        const uint64 seed = first + 7919u * i;
        SCOPED_TRACE(cv::format("seed %llu", static_cast<unsigned long long>(seed)));
        RNG rng(seed);
        const Mat image = texture(seed, uniform(rng, Size(31, 31), Size(75, 60)));
        const OracleCascade cascade = CascadeGenerator(seed, image).make();
        CascadeCase p = {rng.uniform(1.05, 2.), rng.uniform(1, 4), Size(rng.uniform(0, 30), 0),
                         uniform(rng, Size(0, 0), Size(60, 2))};
        p.maxSize.height *= 50;
        const std::string text = cascadeText(cascade, ".xml");
        const CascadeResults expected = oracleDetect(cascade, image, p), actual = detectAll(*cascadeOf(text), image, p);
        ASSERT_NO_FATAL_FAILURE(expectSame(expected, actual));
        const bool comparable = !fuses || sumsAreExact(cascade);
        if (comparable)
        {
            ASSERT_NO_FATAL_FAILURE(expectPeerEqual(text, ".xml", image, p, actual));
        }
        if (cascade.haar)
        {
            const std::string old = cascadeText(cascade, ".xml", true);
            const CascadeResults converted = detectAll(*cascadeOf(old), image, p);
            ASSERT_NO_FATAL_FAILURE(expectSame(oracleDetect(renumbered(cascade), image, p), converted));
            if (comparable)
            {
                ASSERT_NO_FATAL_FAILURE(expectPeerEqual(old, ".xml", image, p, converted));
            }
        }
        candidates += expected.raw.size();
    }
    EXPECT_GT(candidates, 1000u); // otherwise there was nothing to compare
}

//! Integral images and the skip rule at sizes around the window and the tile.
TEST(Cascade_Random, sizesAroundWindowAndTile)
{
    const uint64 seed = 4711;
    const Mat whole = texture(seed, Size(310, 120));
    for (int k = 0; k < 4; ++k)
    {
        const OracleCascade cascade = CascadeGenerator(seed + k, whole(Rect(0, 0, 80, 60))).make();
        const Ptr<cuda::CascadeClassifierEx> ours = cascadeOf(cascade);
        const Size w = cascade.window;
        for (const Size size :
             {w, Size(w.width - 1, w.height), Size(w.width, w.height - 1), Size(w.width + 1, w.height + 1), Size(1, 1),
              Size(w.width + 31, w.height), Size(w.width + 32, w.height + 2), Size(w.width + 33, w.height + 31),
              Size(w.width + 2 * 127, w.height + 3), Size(w.width + 2 * 128 + 1, w.height + 64)})
        {
            SCOPED_TRACE(cv::format("cascade %d, %d x %d", k, size.width, size.height));
            const Mat image =
                asRoi(whole(Rect(Point(), Size(std::min(size.width, whole.cols), std::min(size.height, whole.rows)))));
            const CascadeCase p = {2., 1, Size(), Size()};
            ASSERT_NO_FATAL_FAILURE(expectSame(oracleDetect(cascade, image, p), detectAll(*ours, image, p)));
        }
    }
}

}} // namespace opencv_test
