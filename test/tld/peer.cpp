// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// The flow of TLD compared with cv::cuda::SparsePyrLKOpticalFlow, on the same points of the same frames.
#include "../test_precomp.hpp"
#include "../common/graphs.hpp"
#include "scenes.hpp"
#ifdef HAVE_OPENCV_CUDAOPTFLOW
#include "opencv2/cudaoptflow.hpp"
#endif

namespace opencv_test { namespace {

#ifdef HAVE_OPENCV_CUDAOPTFLOW

using namespace tld;

double medianOf(std::vector<double> values)
{
    std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
    return values[values.size() / 2];
}

TEST(Tld_CudaPeer, flowOfKnownShifts)
{
    requireCuda();
    const Mat world = texture(44, Size(400, 300));
    const Rect view(60, 50, 240, 180), box(90, 70, 50, 40);
    std::vector<Point2f> points;
    for (int i = 0; i < 100; ++i)
        points.emplace_back(box.x + 5 + (box.width - 11) * (i % 10) / 9.f,
                            box.y + 5 + (box.height - 11) * (i / 10) / 9.f);
    const Ptr<cuda::SparsePyrLKOpticalFlow> peer = cuda::SparsePyrLKOpticalFlow::create(Size(9, 9), 4, 20);
    for (const Point& d : {Point(1, 0), Point(0, -3), Point(7, 5)})
    {
        const cuda::GpuMat first(world(view).clone()), second(world(view - d).clone());
        const Ptr<TrackerTLD> tracker = TrackerTLD::create(flowOnly());
        tracker->init(first, box);
        const Step s = advance(*tracker, Engine::CUDA, world(view - d).clone());
        cuda::GpuMat there, status;
        peer->calc(first, second, cuda::GpuMat(Mat(points).reshape(2, 1)), there, status);
        const Mat found(there);
        std::vector<double> x, y;
        for (int i = 0; i < 100; ++i)
        {
            x.push_back(found.at<Point2f>(i).x - points[i].x);
            y.push_back(found.at<Point2f>(i).y - points[i].y);
        }
        EXPECT_NEAR(medianOf(x), s.inside.x + s.inside.width / 2 - box.x - box.width / 2., 0.1) << d;
        EXPECT_NEAR(medianOf(y), s.inside.y + s.inside.height / 2 - box.y - box.height / 2., 0.1) << d;
    }
}

#endif

}} // namespace opencv_test
