// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Inverts an image.
#include "opencv2/cudatracking/new_algorithm.hpp"
#include "opencv2/core/utility.hpp"
#include "opencv2/imgcodecs.hpp"
#include <cstdio>

int main(int argc, char** argv)
{
    const cv::CommandLineParser options(argc, argv,
                                        "{ help h | | prints this text }"
                                        "{ @input | | image }{ @output | inverse.png | file that is written }");
    if (options.has("help") || !options.has("@input"))
    {
        options.printMessage();
        return options.has("help") ? 0 : 2;
    }
    const cv::String input = options.get<cv::String>("@input"), output = options.get<cv::String>("@output");
    const cv::Mat image = cv::imread(input, cv::IMREAD_GRAYSCALE);
    if (image.empty())
    {
        std::fprintf(stderr, "error: cannot read %s\n", input.c_str());
        return 1;
    }
    cv::Mat result;
    cv::cuda::NewAlgorithm::create()->compute(image, result);
    if (!cv::imwrite(output, result))
    {
        std::fprintf(stderr, "error: cannot write %s\n", output.c_str());
        return 1;
    }
    std::printf("wrote %s\n", output.c_str());
    return 0;
}
