// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Images, parameters and results for all tests of CascadeClassifierEx.
#ifndef OPENCV_CUDATRACKING_TEST_CASCADE_SCENES_HPP
#define OPENCV_CUDATRACKING_TEST_CASCADE_SCENES_HPP

#include "../test_precomp.hpp"
#include <fstream>

namespace opencv_test {

//! Cascade files in OpenCV's data folder.
inline std::vector<std::string> shippedCascades()
{
    return {"haarcascades/haarcascade_eye.xml",
            "haarcascades/haarcascade_eye_tree_eyeglasses.xml",
            "haarcascades/haarcascade_frontalcatface.xml",
            "haarcascades/haarcascade_frontalcatface_extended.xml",
            "haarcascades/haarcascade_frontalface_alt.xml",
            "haarcascades/haarcascade_frontalface_alt2.xml",
            "haarcascades/haarcascade_frontalface_alt_tree.xml",
            "haarcascades/haarcascade_frontalface_default.xml",
            "haarcascades/haarcascade_fullbody.xml",
            "haarcascades/haarcascade_lefteye_2splits.xml",
            "haarcascades/haarcascade_license_plate_rus_16stages.xml",
            "haarcascades/haarcascade_lowerbody.xml",
            "haarcascades/haarcascade_profileface.xml",
            "haarcascades/haarcascade_righteye_2splits.xml",
            "haarcascades/haarcascade_russian_plate_number.xml",
            "haarcascades/haarcascade_smile.xml",
            "haarcascades/haarcascade_upperbody.xml",
            "haarcascades_cuda/haarcascade_eye.xml",
            "haarcascades_cuda/haarcascade_eye_tree_eyeglasses.xml",
            "haarcascades_cuda/haarcascade_frontalface_alt.xml",
            "haarcascades_cuda/haarcascade_frontalface_alt2.xml",
            "haarcascades_cuda/haarcascade_frontalface_alt_tree.xml",
            "haarcascades_cuda/haarcascade_frontalface_default.xml",
            "haarcascades_cuda/haarcascade_fullbody.xml",
            "haarcascades_cuda/haarcascade_lefteye_2splits.xml",
            "haarcascades_cuda/haarcascade_lowerbody.xml",
            "haarcascades_cuda/haarcascade_profileface.xml",
            "haarcascades_cuda/haarcascade_righteye_2splits.xml",
            "haarcascades_cuda/haarcascade_smile.xml",
            "haarcascades_cuda/haarcascade_upperbody.xml",
            "lbpcascades/lbpcascade_frontalcatface.xml",
            "lbpcascades/lbpcascade_frontalface.xml",
            "lbpcascades/lbpcascade_frontalface_improved.xml",
            "lbpcascades/lbpcascade_profileface.xml",
            "lbpcascades/lbpcascade_silverware.xml"};
}

//! Returns the path of a shipped cascade; skips the running test, visibly, if there is none.
inline std::string requireCascade(const std::string& name)
{
    const std::string file = requireFolder("CUDATRACKING_CASCADES") + "/" + name;
    if (!std::ifstream(file).good())
        throw SkipTestException("cannot read " + file);
    return file;
}

struct CascadeScene
{
    std::string name;
    Mat image;
};

//! Returns an image with faces, one with people, one with texture, and noise; gray, BGR and BGRA, one as a region.
inline std::vector<CascadeScene> cascadeScenes()
{
    const std::string data = requireFolder("CUDATRACKING_SAMPLES_DATA");
    std::vector<CascadeScene> scenes;
    Mat lena, messi, alpha;
    resize(requireImage(data, "lena.jpg"), lena, Size(300, 300), 0, 0, INTER_AREA);
    scenes.push_back({"lena.jpg", lena});
    resize(requireImage(data, "messi5.jpg"), messi, Size(331, 217));
    cvtColor(messi, alpha, COLOR_BGR2BGRA);
    scenes.push_back({"messi5.jpg, BGRA", alpha});
    Mat home;
    resize(requireImage(data, "home.jpg", IMREAD_GRAYSCALE), home, Size(289, 211), 0, 0, INTER_AREA);
    scenes.push_back({"home.jpg, gray, region", asRoi(home)});
    RNG rng(20240601);
    scenes.push_back({"noise", randomImage(rng, Size(161, 129), CV_8UC1, 3)});
    return scenes;
}

struct CascadeCase
{
    double scaleFactor;
    int minNeighbors;
    Size minSize, maxSize;

    std::string name() const
    {
        return cv::format("factor %g, neighbours %d, from %dx%d to %dx%d", scaleFactor, minNeighbors, minSize.width,
                          minSize.height, maxSize.width, maxSize.height);
    }
};

inline std::vector<CascadeCase> cascadeCases(Size image, Size window)
{
    const Size half(image.width / 2, image.height / 2), one(window.width * 2 + 1, window.height * 2 + 1);
    return {{1.1, 3, Size(), Size()}, {1.05, 2, one, half}, {1.2, 1, one, Size()}, {1.4, 3, Size(), half},
            {2., 1, Size(), Size()},  {1.3, 4, one, one},   {1.17, 3, half, half}};
}

struct CascadeResults
{
    std::vector<Rect> raw, objects;
    std::vector<int> rawLevels, numDetections, levels;
    std::vector<double> rawWeights, weights;
};

//! Returns all results for an image, which is a Mat or a GpuMat.
template <typename Image>
CascadeResults detectAll(cuda::CascadeClassifierEx& cascade, const Image& image, const CascadeCase& c)
{
    CascadeResults r;
    cascade.detectMultiScale(image, r.raw, r.rawLevels, r.rawWeights, c.scaleFactor, 0, 0, c.minSize, c.maxSize, true);
    cascade.detectMultiScale(image, r.objects, r.numDetections, c.scaleFactor, c.minNeighbors, 0, c.minSize, c.maxSize);
    std::vector<Rect> again;
    cascade.detectMultiScale(image, again, r.levels, r.weights, c.scaleFactor, c.minNeighbors, 0, c.minSize, c.maxSize,
                             true);
    EXPECT_EQ(r.objects, again);
    return r;
}

inline void expectSame(const CascadeResults& expected, const CascadeResults& actual)
{
    ASSERT_EQ(expected.raw, actual.raw);
    ASSERT_EQ(expected.rawLevels, actual.rawLevels);
    ASSERT_EQ(expected.rawWeights, actual.rawWeights);
    ASSERT_EQ(expected.objects, actual.objects);
    ASSERT_EQ(expected.numDetections, actual.numDetections);
    ASSERT_EQ(expected.levels, actual.levels);
    ASSERT_EQ(expected.weights, actual.weights);
}

} // namespace opencv_test

#endif // OPENCV_CUDATRACKING_TEST_CASCADE_SCENES_HPP
