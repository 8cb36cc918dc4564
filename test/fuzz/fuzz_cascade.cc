// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Any bytes as a cascade, and one detection on an image of 64 x 64: cv::Exception, or a cascade that can be used.
//
//   cudatracking_fuzz_cascade -rss_limit_mb=256 -timeout=1 FOLDER_OF_CASCADES    (Clang's libFuzzer)
//   cudatracking_fuzz_cascade FILE...                                            (other compilers)
#include "fuzz_main.hpp"
#include "opencv2/cudatracking/cascade.hpp"
#include <climits>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size)
{
    static const cv::Mat image = []
    {
        cv::Mat made(64, 64, CV_8UC1);
        cv::RNG rng(64);
        rng.fill(made, cv::RNG::UNIFORM, 0, 256);
        return made;
    }();
    if (size == 0 || size > static_cast<size_t>(INT_MAX))
        return 0;
    try
    {
        const cv::Ptr<cv::cuda::CascadeClassifierEx> cascade = cv::cuda::CascadeClassifierEx::create();
        cascade->loadBuffer(cv::Mat(1, static_cast<int>(size), CV_8U, const_cast<uint8_t*>(data)));
        std::vector<cv::Rect> objects;
        cascade->detectMultiScale(image, objects);
    }
    catch (const cv::Exception&)
    {}
    return 0;
}
