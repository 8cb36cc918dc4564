// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// CascadeClassifierEx when any call into the CUDA runtime or any allocation of a method fails.
#include "../common/faults_each.hpp"
#include "generate.hpp"

namespace opencv_test { namespace {

using namespace faults;
using cv::cuda::CascadeClassifierEx;
using cv::cuda::GpuMat;

//! An instance that is new, or has detected in smaller images, so that memory has to grow.
class Detector : public Arguments
{
public:
    static const int FRESH = 1, SMALL = 2; //!< flags of a variant

    Detector(Engine engine, int variant) : Arguments(engine, 3)
    {
        RNG rng(8400);
        const Mat small = randomImage(rng, Size(40, 37), CV_8UC3, 5);
        two = {randomImage(rng, Size(90, 61), CV_8UC3, 5), randomImage(rng, Size(53, 70), CV_8UC1, 5)};
        mask = randomImage(rng, two[0].size(), CV_8UC1, 9, 2);
        text = cascadeText(CascadeGenerator(17, two[1]).make(), ".xml");
        other = cascadeText(CascadeGenerator(18, two[1]).make(), ".xml");
        cascade = cascadeOf(text);
        cascade->setMinNeighbors(1);
        cascade->setMaxCandidates(500);
        cascade->setMaxObjects(20);
        if (cuda)
        {
            twoOnDevice = uploaded(two);
            maskOnDevice.upload(mask);
        }
        if ((variant & FRESH) == 0)
            run(variant & SMALL ? std::vector<Mat>{small} : two);
        wait();
    }

    _InputArray images() const { return cuda ? _InputArray(twoOnDevice) : _InputArray(two); }
    _InputArray image() const { return cuda ? _InputArray(twoOnDevice[0]) : _InputArray(two[0]); }
    _InputArray maskOfImage() const { return in(mask, maskOnDevice); }

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
        cascade->detectAsync(images(), objects, numDetections, levelWeights, noArray(), stream());
        return {{"objects", objects}, {"numDetections", numDetections}, {"levelWeights", levelWeights}};
    }

    Ptr<CascadeClassifierEx> cascade;
    std::string text, other;
    std::vector<Mat> two;
    std::vector<GpuMat> twoOnDevice;
    Mat mask;
    GpuMat maskOnDevice;
    std::vector<Rect> boxes;

private:
    void run(const std::vector<Mat>& on)
    {
        Mat table;
        const std::vector<GpuMat> there = uploaded(cuda ? on : std::vector<Mat>());
        cascade->detectAsync(cuda ? _InputArray(there) : _InputArray(on), table, noArray(), noArray(), noArray(),
                             stream());
    }
};

typedef Scenario<Detector> S;

std::vector<S> detections()
{
    return {
        {"detectAsync", EAGER | CAPTURED,
         [](Detector& d) { d.cascade->detectAsync(d.images(), d.out(0), d.out(1), d.out(2), noArray(), d.stream()); }},
        {"detectAsync to the host", EAGER,
         [](Detector& d)
         { d.cascade->detectAsync(d.images(), d.host[0], d.host[1], d.host[2], noArray(), d.stream()); }},
        {"detectTogether with another cascade", EAGER,
         [](Detector& d)
         {
             const Ptr<CascadeClassifierEx> other = d.cascade->clone(); // the instance must not change
             other->loadBuffer(asRow(d.other));
             std::vector<Mat> tables;
             CascadeClassifierEx::detectTogether({d.cascade, other}, d.images(), tables, noArray(), noArray(),
                                                 d.stream());
             d.host[0] = tables[0];
             d.host[1] = tables[1];
         }},
        {"detectMultiScale", EAGER,
         [](Detector& d)
         { d.cascade->detectMultiScale(d.image(), d.boxes, 1.2, 1, 0, Size(), Size(), d.maskOfImage(), d.stream()); }},
        {"countPasses", EAGER, [](Detector& d) { d.cascade->countPasses(d.image(), d.host[0], d.stream()); }},
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
