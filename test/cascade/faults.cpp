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
class Detector
{
public:
    static const int FRESH = 1, SMALL = 2; //!< flags of a variant

    Detector(Engine engine, int variant) : cuda(engine == Engine::CUDA)
    {
        RNG rng(8400);
        const Mat small = randomImage(rng, Size(40, 37), CV_8UC3, 5);
        host = {randomImage(rng, Size(90, 61), CV_8UC3, 5), randomImage(rng, Size(53, 70), CV_8UC1, 5)};
        mask = randomImage(rng, host[0].size(), CV_8UC1, 9, 2);
        text = cascadeText(CascadeGenerator(17, host[1]).make(), ".xml");
        other = cascadeText(CascadeGenerator(18, host[1]).make(), ".xml");
        cascade = cascadeOf(text);
        cascade->setMinNeighbors(1);
        cascade->setMaxCandidates(500);
        cascade->setMaxObjects(20);
        if (cuda)
        {
            stream_ = cv::cuda::Stream();
            for (const Mat& image : host)
                device.emplace_back(image);
            maskOnDevice.upload(mask);
        }
        if ((variant & FRESH) == 0)
            run(variant & SMALL ? std::vector<Mat>{small} : host);
        wait();
    }

    cv::cuda::Stream& stream() { return cuda ? stream_ : cv::cuda::noStream(); }
    void wait()
    {
        if (cuda)
            stream_.waitForCompletion();
    }
    _InputArray images() const { return cuda ? _InputArray(device) : _InputArray(host); }
    _InputArray image() const { return cuda ? _InputArray(device[0]) : _InputArray(host[0]); }
    _InputArray maskOfImage() const { return cuda ? _InputArray(maskOnDevice) : _InputArray(mask); }
    _OutputArray out(int i) { return cuda ? _OutputArray(deviceOut[i]) : _OutputArray(hostOut[i]); }

    Outputs given()
    {
        wait();
        Outputs outputs;
        for (int i = 0; i < 3; ++i)
        {
            outputs.emplace_back("host", hostOut[i].clone());
            outputs.emplace_back("device", deviceOut[i].empty() ? Mat() : Mat(deviceOut[i]));
        }
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

    const bool cuda;
    Ptr<CascadeClassifierEx> cascade;
    std::string text, other;
    std::vector<Mat> host;
    std::vector<GpuMat> device;
    Mat mask, hostOut[3];
    GpuMat maskOnDevice, deviceOut[3];
    std::vector<Rect> boxes;

private:
    void run(const std::vector<Mat>& on)
    {
        Mat table;
        std::vector<GpuMat> uploaded;
        for (size_t i = 0; cuda && i < on.size(); ++i)
            uploaded.emplace_back(on[i]);
        cascade->detectAsync(cuda ? _InputArray(uploaded) : _InputArray(on), table, noArray(), noArray(), noArray(),
                             stream());
    }

    cv::cuda::Stream stream_ = cv::cuda::noStream();
};

typedef Scenario<Detector> S;

std::vector<S> detections()
{
    return {
        {"detectAsync", EAGER | CAPTURED,
         [](Detector& d) { d.cascade->detectAsync(d.images(), d.out(0), d.out(1), d.out(2), noArray(), d.stream()); }},
        {"detectAsync to the host", EAGER,
         [](Detector& d)
         { d.cascade->detectAsync(d.images(), d.hostOut[0], d.hostOut[1], d.hostOut[2], noArray(), d.stream()); }},
        {"detectTogether with another cascade", EAGER,
         [](Detector& d)
         {
             const Ptr<CascadeClassifierEx> other = d.cascade->clone(); // the instance must not change
             other->loadBuffer(asRow(d.other));
             std::vector<Mat> tables;
             CascadeClassifierEx::detectTogether({d.cascade, other}, d.images(), tables, noArray(), noArray(),
                                                 d.stream());
             d.hostOut[0] = tables[0];
             d.hostOut[1] = tables[1];
         }},
        {"detectMultiScale", EAGER,
         [](Detector& d)
         { d.cascade->detectMultiScale(d.image(), d.boxes, 1.2, 1, 0, Size(), Size(), d.maskOfImage(), d.stream()); }},
        {"countPasses", EAGER, [](Detector& d) { d.cascade->countPasses(d.image(), d.hostOut[0], d.stream()); }},
    };
}

TEST(Cascade_Faults, memory) { failAll(MEMORY, EAGER, Engine::CPU, 2, detections()); }

TEST(Cascade_Faults, onCuda)
{
    requireCuda();
    failAll(faults::CUDA, EAGER, Engine::CUDA, 4, detections());
    failAll(MEMORY, EAGER, Engine::CUDA, 2, detections());
}

TEST(Cascade_Faults, capturesOnCuda)
{
    requireCuda();
    failAll(faults::CUDA, CAPTURED, Engine::CUDA, 4, detections());
    failAll(MEMORY, CAPTURED, Engine::CUDA, 2, detections());
}

}} // namespace opencv_test
