// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// CascadeClassifierEx when any call into the CUDA runtime or any allocation of a method fails.
#include "../common/faults_each.hpp"
#include "generate.hpp"

namespace opencv_test { namespace {

using namespace faults;
using cv::cuda::CascadeClassifierEx;

//! An instance that is new, or has detected in smaller images, so that memory has to grow.
class Detector : public Arguments
{
public:
    static const int FRESH = 1, SMALL = 2; //!< flags of a variant

    Detector(Engine engine, int variant) : Arguments(engine, 3)
    {
        RNG rng(8400);
        const Mat small = randomImage(rng, Size(40, 37), CV_8UC3, 5);
        const Mat one = randomImage(rng, Size(90, 61), CV_8UC3, 5), next = randomImage(rng, Size(53, 70), CV_8UC1, 5);
        two = {engine, {one, next}};
        image = {engine, one};
        mask = {engine, randomImage(rng, one.size(), CV_8UC1, 9, 2)};
        text = cascadeText(CascadeGenerator(17, next).make(), ".xml");
        other = cascadeText(CascadeGenerator(18, next).make(), ".xml");
        cascade = cascadeOf(text);
        cascade->setMinNeighbors(1);
        cascade->setMaxCandidates(500);
        cascade->setMaxObjects(20);
        Mat table;
        if ((variant & FRESH) == 0)
            cascade->detectAsync(variant & SMALL ? fuzz::Images(engine, {small}).in() : two.in(), table, noArray(),
                                 noArray(), noArray(), stream());
        wait();
    }

    Outputs given()
    {
        Outputs outputs = Arguments::given();
        Mat list;
        for (const Rect& box : boxes)
            list.push_back(Mat(Vec4i(box.x, box.y, box.width, box.height)));
        outputs.emplace_back("boxes", list);
        return outputs;
    }

    Outputs observe()
    {
        wait();
        Mat objects, numDetections, levelWeights;
        cascade->detectAsync(two.in(), objects, numDetections, levelWeights, noArray(), stream());
        return {{"objects", objects}, {"numDetections", numDetections}, {"levelWeights", levelWeights}};
    }

    Ptr<CascadeClassifierEx> cascade;
    std::string text, other;
    fuzz::Images two;
    fuzz::Image image, mask; //!< image: the first of the two
    std::vector<Rect> boxes;
};

typedef Scenario<Detector> S;

std::vector<S> detections()
{
    return {
        {"detectAsync", EAGER | CAPTURED,
         [](Detector& d) { d.cascade->detectAsync(d.two.in(), d.out(0), d.out(1), d.out(2), noArray(), d.stream()); }},
        {"detectAsync to the host", EAGER,
         [](Detector& d)
         { d.cascade->detectAsync(d.two.in(), d.host[0], d.host[1], d.host[2], noArray(), d.stream()); }},
        {"detectMultiScale", EAGER,
         [](Detector& d)
         { d.cascade->detectMultiScale(d.image.in(), d.boxes, 1.2, 1, 0, Size(), Size(), d.mask.in(), d.stream()); }},
        {"countPasses", EAGER, [](Detector& d) { d.cascade->countPasses(d.image.in(), d.host[0], d.stream()); }},
    };
}

TEST(Cascade_Faults, memory) { failAll(MEMORY, EAGER, Engine::CPU, 2, detections()); }

TEST(Cascade_Faults, onCuda)
{
    failAll(faults::CUDA, EAGER, Engine::CUDA, 4, detections());
    failAll(MEMORY, EAGER, Engine::CUDA, 2, detections());
}

TEST(Cascade_Faults, capturesOnCuda)
{
    failAll(faults::CUDA, CAPTURED, Engine::CUDA, 4, detections());
    failAll(MEMORY, CAPTURED, Engine::CUDA, 2, detections());
}

}} // namespace opencv_test
