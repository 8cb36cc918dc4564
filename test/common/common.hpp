// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Helpers of all algorithms: when to skip, how to compare bits, random images.
#ifndef OPENCV_CUDATRACKING_TEST_COMMON_COMMON_HPP
#define OPENCV_CUDATRACKING_TEST_COMMON_COMMON_HPP

#include "opencv2/ts.hpp"
#include "opencv2/core/cuda.hpp"
#include "draws.hpp"
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

namespace opencv_test {

//! Sanitizers take time and memory of their own, and keep memory that was freed: limits of both say nothing then.
inline bool underSanitizer()
{
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
    return true;
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return true;
#else
    return false;
#endif
}

//! Skips the running test, visibly and with the reason, unless this build and this machine can run CUDA.
inline void requireCuda()
{
#ifdef HAVE_CUDA
    if (cuda::getCudaEnabledDeviceCount() <= 0)
        throw SkipTestException("no CUDA device on this machine");
#else
    throw SkipTestException("this OpenCV is built without CUDA");
#endif
}

//! Base of suites that need CUDA. @tparam Base testing::Test, or with a parameter.
template <typename Base> class NeedsCuda : public Base
{
protected:
    void SetUp() override { requireCuda(); }
};
typedef NeedsCuda<testing::Test> OnCuda;
template <typename Param> using OnCudaWith = NeedsCuda<testing::TestWithParam<Param>>;

//! Folder named by an environment variable; skips the running test, visibly, without it.
inline std::string requireFolder(const char* variable)
{
    const char* folder = std::getenv(variable);
    if (!folder || !*folder)
        throw SkipTestException(cv::format("the environment variable %s names no folder", variable));
    return folder;
}

//! An image below `folder`; skips the running test, visibly, when it cannot be read.
inline Mat requireImage(const std::string& folder, const std::string& name, int flags = IMREAD_COLOR)
{
    const Mat image = imread(folder + "/" + name, flags);
    if (image.empty())
        throw SkipTestException("cannot read " + folder + "/" + name);
    return image;
}

//! Same size, type and bits. Says where the first difference is.
inline ::testing::AssertionResult sameBits(const Mat& expected, const Mat& actual)
{
    if (expected.size() != actual.size() || expected.type() != actual.type())
        return ::testing::AssertionFailure() << "expected " << expected.size() << " " << typeToString(expected.type())
                                             << ", got " << actual.size() << " " << typeToString(actual.type());
    const size_t bytes = expected.elemSize();
    for (int y = 0; y < expected.rows; ++y)
        for (int x = 0; x < expected.cols; ++x)
            if (std::memcmp(expected.ptr(y, x), actual.ptr(y, x), bytes) != 0)
            {
                const Rect one(x, y, 1, 1);
                return ::testing::AssertionFailure() << "first difference in row " << y << ", column " << x
                                                     << ": expected " << expected(one) << ", got " << actual(one);
            }
    return ::testing::AssertionSuccess();
}

//! Noise smoothed by `blur` pixels, so that neighbouring positions are similar; `levels` gray levels (few levels make
//! ties).
inline Mat randomImage(RNG& rng, Size size, int type, int blur = 3, int levels = 256)
{
    if (CV_MAT_DEPTH(type) == CV_16U) // with few levels, 0 and 65,535 are among them
    {
        Mat low = Mat::zeros(size, type), deep;
        if (levels == 256)
            rng.fill(low, RNG::UNIFORM, 0, 256);
        randomImage(rng, size, CV_8UC(CV_MAT_CN(type)), blur, levels)
            .convertTo(deep, CV_16U, levels == 256 ? 256. : 257.);
        return deep + low;
    }
    Mat noise(size, type), image;
    rng.fill(noise, RNG::UNIFORM, 0, 256);
    cv::blur(noise, image, Size(blur, blur));
    normalize(image.reshape(1), image, 0, 255, NORM_MINMAX);
    image = image.reshape(CV_MAT_CN(type));
    if (levels < 256)
        for (int y = 0; y < image.rows; ++y)
            for (int i = 0; i < image.cols * image.channels(); ++i)
                image.ptr(y)[i] = static_cast<uchar>(image.ptr(y)[i] * levels / 256 * 255 / std::max(levels - 1, 1));
    return image;
}

inline Mat randomImage(uint64 seed, Size size, int type, int blur = 3, int levels = 256)
{
    RNG rng(seed);
    return randomImage(rng, size, type, blur, levels);
}

//! Returns a copy inside of a larger matrix, at an odd offset: neither continuous nor aligned.
inline Mat asRoi(const Mat& source)
{
    if (source.empty())
        return source;
    Mat larger(source.rows + 5, source.cols + 7, source.type());
    larger.reshape(1).setTo(77); // a Scalar has only four channels
    Mat roi = larger(Rect(3, 1, source.cols, source.rows));
    source.copyTo(roi);
    return roi;
}

//! Uploads into a region of a larger matrix, at an odd offset.
inline cuda::GpuMat uploadRoi(const Mat& source)
{
    if (source.empty())
        return cuda::GpuMat();
    Mat larger(source.rows + 5, source.cols + 7, source.type());
    larger.reshape(1).setTo(77);
    const Rect roi(3, 1, source.cols, source.rows);
    source.copyTo(larger(roi));
    return cuda::GpuMat(larger)(roi);
}

inline std::vector<cuda::GpuMat> uploadRois(const std::vector<Mat>& sources)
{
    std::vector<cuda::GpuMat> rois;
    for (const Mat& source : sources)
        rois.push_back(uploadRoi(source));
    return rois;
}

//! Uploads into matrices of their own. Empty ones are not allocated.
inline cuda::GpuMat uploaded(const Mat& source) { return source.empty() ? cuda::GpuMat() : cuda::GpuMat(source); }
inline std::vector<cuda::GpuMat> uploaded(const std::vector<Mat>& sources)
{
    std::vector<cuda::GpuMat> onDevice;
    for (const Mat& source : sources)
        onDevice.push_back(uploaded(source));
    return onDevice;
}

//! The elements as an N x 1 matrix; Mat(values) is one row in OpenCV 5.
template <typename T> Mat columnOf(const std::vector<T>& values)
{
    const int type = traits::Type<T>::value;
    return Mat(static_cast<int>(values.size()), 1, type, const_cast<T*>(values.data())).clone();
}

inline std::string contentOf(const std::string& file)
{
    std::ifstream in(file, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
}

//! The name of a file that goes with this object. There is one from the beginning on if there is a text.
class TemporaryFile
{
public:
    explicit TemporaryFile(const std::string& extension, const std::string& text = std::string())
        : name(cv::tempfile(extension.c_str()))
    {
        if (!text.empty())
            write(text);
    }
    ~TemporaryFile() { std::remove(name.c_str()); }
    TemporaryFile(const TemporaryFile&) = delete;
    TemporaryFile& operator=(const TemporaryFile&) = delete;

    void write(const std::string& text) const { std::ofstream(name, std::ios::binary) << text; }
    std::string text() const { return contentOf(name); }
    operator const std::string&() const { return name; }

    const std::string name;
};

//! Returns the text as a row of bytes, which are not copied.
inline Mat asRow(const std::string& text)
{
    return Mat(1, static_cast<int>(text.size()), CV_8UC1, const_cast<char*>(text.data()));
}

//! Returns the cv::Exception that a call throws; its code is 0 if there is none.
template <typename Call> cv::Exception thrownBy(const Call& call)
{
    try
    {
        call();
    }
    catch (const cv::Exception& e)
    {
        return e;
    }
    return cv::Exception();
}

//! The call throws, the message has all of these words, and the code, where one is given, is this one.
template <typename Call> void expectRefused(const Call& call, const std::vector<std::string>& words, int code = 0)
{
    const cv::Exception e = thrownBy(call);
    ASSERT_NE(0, e.code) << "was accepted" << (words.empty() ? "" : "; to be refused with: " + words[0]);
    for (const std::string& word : words)
        EXPECT_NE(std::string::npos, e.err.find(word)) << "'" << word << "' is not in: " << e.err;
    EXPECT_EQ(code ? code : e.code, e.code) << e.err;
}

//! An array of three dimensions, as a channels-first image is.
inline Mat cube(int type = CV_8UC1)
{
    const int sizes[] = {3, 48, 64};
    return Mat(3, sizes, type, Scalar::all(1));
}

} // namespace opencv_test

#endif // OPENCV_CUDATRACKING_TEST_COMMON_COMMON_HPP
