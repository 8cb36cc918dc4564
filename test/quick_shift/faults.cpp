// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Lets calls into the CUDA runtime and allocations fail in turn in all methods of QuickShift.
#include "../common/faults_each.hpp"
#include "scenes.hpp"

namespace opencv_test { namespace {

using namespace scenes;
using namespace faults;

//! An instance with results, and arguments for all its methods.
class Image : public Arguments
{
public:
    // Bits of a variant.
    static const int EMPTY = 1; //!< without results
    //! The results are of a smaller image: memory has to grow. Not with the getters of both.
    static const int SMALL = 2;
    static const int STACK = 4; //!< the results are of two images

    Image(Engine engine, int variant) : Arguments(engine, 4), q(QuickShift::create(2., 20., 0.3))
    {
        RNG rng(8300);
        const Size size(57, 43);
        first = {engine, randomImage(rng, variant & SMALL ? Size(31, 17) : size, CV_8UC3, 5)};
        onHost = randomImage(rng, size, CV_8UC3, 5);
        maskOnHost = Mat(size, CV_8UC1);
        rng.fill(maskOnHost, RNG::UNIFORM, 0, 5);
        second = {engine, onHost};
        mask = {engine, maskOnHost};
        both = {engine, cv::repeat(onHost, 2, 1)};
        images = {engine, {onHost, onHost}};
        masks = {engine, {maskOnHost, Mat()}};
        if (variant & STACK)
            computeBatch();
        else if ((variant & EMPTY) == 0)
            q->compute(first.in(), noArray(), stream());
        wait();
    }

    void compute() { q->compute(second.in(), mask.in(), stream()); }
    void computeBatch() { q->computeBatch(images.in(), noArray(), masks.in(), stream()); }

    Outputs given()
    {
        Outputs outputs = Arguments::given();
        outputs.emplace_back("number", Mat(1, 1, CV_32S, Scalar(number)));
        return outputs;
    }

    Outputs observe()
    {
        wait();
        const Results r = resultsOf(*q);
        Mat cut;
        q->segment(5., cut);
        Mat heights, counts, ofImages;
        q->getMergeHeights(heights, counts);
        q->getSuperpixelCounts(ofImages);
        return {{"labels", r.labels},
                {"superpixels of each image", ofImages},
                {"density", r.density},
                {"parents", r.parents},
                {"distances", r.distances},
                {"count", Mat(1, 1, CV_32S, Scalar(r.count))},
                {"cut", cut},
                {"heights", heights},
                {"counts", counts},
                {"sigma", Mat(1, 1, CV_64F, Scalar(q->getSigma()))}};
    }

    const Ptr<QuickShift> q;
    Mat onHost, maskOnHost;                //!< second image and its mask
    fuzz::Image first, second, mask, both; //!< both: images of the stack
    fuzz::Images images, masks;
    int number = 0;
};

typedef Scenario<Image> S;

std::vector<S> computations()
{
    return {
        {"compute", EAGER, [](Image& p) { p.compute(); }},
        {"compute, no mask", EAGER, [](Image& p) { p.q->compute(p.second.in(), noArray(), p.stream()); }},
        {"computeBatch", EAGER, [](Image& p) { p.q->computeBatch(p.images.in(), noArray(), noArray(), p.stream()); }},
        {"computeBatch with masks", EAGER, [](Image& p) { p.computeBatch(); }},
        {"computeTiled", EAGER, [](Image& p) { p.q->computeTiled(p.onHost, Size(20, 31), p.cuda, p.maskOnHost); }},
        {"computeNoisy", EAGER,
         [](Image& p) { p.q->computeNoisy(p.onHost, Mat::zeros(p.onHost.size(), CV_64F), p.maskOnHost); }},
        {"clear", EAGER, [](Image& p) { p.q->clear(); }},
        {"compute and all that does not wait", CAPTURED,
         [](Image& p)
         {
             p.compute();
             p.q->getLabels(p.out(0), p.stream());
             p.q->segment(4., p.out(1), p.stream());
             p.q->getLabelContourMask(p.out(2), true, p.stream());
             p.q->getDistances(p.out(3), p.stream());
         }},
        {"computeBatch and all that goes by numbers of the stack", CAPTURED,
         [](Image& p)
         {
             p.computeBatch();
             p.q->getSuperpixelCounts(p.out(0), p.stream());
             p.q->getMeanColor(p.both.in(), p.out(1), p.stream());
         }},
    };
}

std::vector<S> getters()
{
    const int both = EAGER | CAPTURED;
    return {
        {"getNumberOfSuperpixels", EAGER, [](Image& p) { p.number = p.q->getNumberOfSuperpixels(); }},
        {"getLabels", both, [](Image& p) { p.q->getLabels(p.out(0), p.stream()); }},
        {"getLabels to the host", EAGER, [](Image& p) { p.q->getLabels(p.host[0], p.stream()); }},
        {"getDensity", both, [](Image& p) { p.q->getDensity(p.out(0), p.stream()); }},
        {"getParents", both, [](Image& p) { p.q->getParents(p.out(0), p.stream()); }},
        {"getDistances", both, [](Image& p) { p.q->getDistances(p.out(0), p.stream()); }},
        {"segment", both, [](Image& p) { p.q->segment(4., p.out(0), p.stream()); }},
        {"segment to the host", EAGER, [](Image& p) { p.q->segment(4., p.host[0], p.stream()); }},
        {"countSuperpixels", EAGER, [](Image& p) { p.number = p.q->countSuperpixels(4., p.stream()); }},
        {"getMergeHeights", EAGER, [](Image& p) { p.q->getMergeHeights(p.out(0), p.out(1), p.stream()); }},
        {"getLabelContourMask", both, [](Image& p) { p.q->getLabelContourMask(p.out(0), true, p.stream()); }},
        {"getMeanColor", EAGER, [](Image& p) { p.q->getMeanColor(p.first.in(), p.out(0), p.stream()); }},
        {"getStatistics", EAGER,
         [](Image& p) { p.q->getStatistics(p.first.in(), p.out(0), p.out(1), p.out(2), p.out(3), p.stream()); }},
        {"getStatistics to the host", EAGER,
         [](Image& p) { p.q->getStatistics(p.first.in(), p.host[0], p.host[1], p.host[2], p.host[3], p.stream()); }},
        {"enforceConnectivity", EAGER, [](Image& p) { p.number = p.q->enforceConnectivity(5, p.stream()); }},
        {"applyNumber", EAGER, [](Image& p) { p.number = p.q->applyNumber(30, 0, p.stream()); }},
        {"getSuperpixelCounts", both, [](Image& p) { p.q->getSuperpixelCounts(p.out(0), p.stream()); }},
        {"getAdjacency", EAGER, [](Image& p) { p.q->getAdjacency(p.out(0), p.stream()); }},
        {"applyTau", both, [](Image& p) { p.q->applyTau(4., p.stream()); }},
    };
}

//! Methods on a batch, as far as they differ from those on one image.
std::vector<S> stackGetters()
{
    return {
        {"getMeanColor", EAGER | CAPTURED, [](Image& p) { p.q->getMeanColor(p.both.in(), p.out(0), p.stream()); }},
        {"getStatistics", EAGER,
         [](Image& p) { p.q->getStatistics(p.both.in(), p.out(0), p.out(1), p.out(2), p.out(3), p.stream()); }},
        {"getSuperpixelCounts", EAGER | CAPTURED, [](Image& p) { p.q->getSuperpixelCounts(p.out(0), p.stream()); }},
        {"getAdjacency to the host", EAGER, [](Image& p) { p.q->getAdjacency(p.host[0], p.stream()); }},
        {"enforceConnectivity", EAGER, [](Image& p) { p.number = p.q->enforceConnectivity(5, p.stream()); }},
        {"applyTau", EAGER | CAPTURED, [](Image& p) { p.q->applyTau(4., p.stream()); }},
    };
}

TEST(QuickShift_Faults, memory)
{
    failAll(MEMORY, EAGER, Engine::CPU, 4, computations());
    failAll(MEMORY, EAGER, Engine::CPU, 2, getters());
    failAll(MEMORY, EAGER, Engine::CPU, 1, stackGetters(), Image::STACK);
}

TEST(QuickShift_Faults, computationsOnCuda) { failAll(faults::CUDA, EAGER, Engine::CUDA, 4, computations()); }

TEST(QuickShift_Faults, gettersOnCuda)
{
    failAll(faults::CUDA, EAGER, Engine::CUDA, 2, getters());
    failAll(faults::CUDA, EAGER, Engine::CUDA, 1, stackGetters(), Image::STACK);
}

TEST(QuickShift_Faults, capturesOnCuda)
{
    failAll(faults::CUDA, CAPTURED, Engine::CUDA, 4, computations());
    failAll(faults::CUDA, CAPTURED, Engine::CUDA, 1, getters());
    failAll(faults::CUDA, CAPTURED, Engine::CUDA, 1, stackGetters(), Image::STACK);
}

TEST(QuickShift_Faults, memoryOnCuda)
{
    failAll(MEMORY, EAGER, Engine::CUDA, 2, computations());
    failAll(MEMORY, EAGER, Engine::CUDA, 1, getters());
    failAll(MEMORY, EAGER, Engine::CUDA, 1, stackGetters(), Image::STACK);
    failAll(MEMORY, CAPTURED, Engine::CUDA, 2, computations());
}

}} // namespace opencv_test
