// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// CascadeClassifierEx compared with cv::cuda::CascadeClassifier (cudaobjdetect, cudalegacy), which uses other scales
// and another grouping, so boxes differ; but both must find the same faces.
#include "../test_precomp.hpp"
#include "peer.hpp"
#include "scenes.hpp"

namespace opencv_test { namespace {

#if CUDATRACKING_CASCADE_CUDA_PEER

double overlap(const Rect& a, const Rect& b)
{
    const double both = (a & b).area();
    return both / (a.area() + b.area() - both);
}

//! Returns whether each box of one list overlaps one of the other.
bool covered(const std::vector<Rect>& boxes, const std::vector<Rect>& by)
{
    for (const Rect& box : boxes)
        if (std::none_of(by.begin(), by.end(), [&](const Rect& other) { return overlap(box, other) > 0.5; }))
            return false;
    return true;
}

struct PeerCase
{
    const char* file;
    size_t faces; //!< number of faces that cv::CascadeClassifier and CascadeClassifierEx find
};

void PrintTo(const PeerCase& c, std::ostream* os) { *os << c.file; }

class Cascade_CudaPeer : public ::testing::TestWithParam<PeerCase>
{};

TEST_P(Cascade_CudaPeer, seesTheSameFaces)
{
    requireCuda();
    const std::string file = requireCascade(GetParam().file);
    const Mat lena = requireImage(requireFolder("CUDATRACKING_SAMPLES_DATA"), "lena.jpg", IMREAD_GRAYSCALE);
    // One face and its reflection, side by side.
    Mat image(lena.rows, 2 * lena.cols, CV_8UC1);
    lena.copyTo(image.colRange(0, lena.cols));
    flip(lena, image.colRange(lena.cols, 2 * lena.cols), 1);
    const cuda::GpuMat frame(image);

    const Ptr<cuda::CascadeClassifier> peer = cuda::CascadeClassifier::create(file);
    peer->setScaleFactor(1.1);
    peer->setMinNeighbors(4);
    peer->setMinObjectSize(Size(60, 60));
    cuda::GpuMat objects;
    std::vector<Rect> theirs, ours;
    peer->detectMultiScale(frame, objects);
    peer->convert(objects, theirs);
    cuda::CascadeClassifierEx::create(file)->detectMultiScale(frame, ours, 1.1, 4, 0, Size(60, 60));
    EXPECT_EQ(GetParam().faces, ours.size());
    EXPECT_TRUE(covered(ours, theirs)) << "cv::cuda::CascadeClassifier sees less";
    if (GetParam().faces == 2) // with its scales, LBP finds the reflection, too
    {
        EXPECT_TRUE(covered(theirs, ours)) << "cv::cuda::CascadeClassifier sees more";
    }
}

// With a cascade of trees, such as frontalface_alt2, cv::cuda::CascadeClassifier does not return (OpenCV 4.14, H200).
INSTANTIATE_TEST_CASE_P(Shipped, Cascade_CudaPeer,
                        testing::Values(PeerCase{"haarcascades_cuda/haarcascade_frontalface_alt.xml", 2},
                                        PeerCase{"lbpcascades/lbpcascade_frontalface.xml", 1}));

#else

TEST(Cascade_CudaPeer, seesTheSameFaces)
{
    throw SkipTestException("this build has no cv::cuda::CascadeClassifier (scripts/build.sh --peers)");
}

#endif

}} // namespace opencv_test
