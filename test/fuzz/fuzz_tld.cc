// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Any bytes as a file of a learned object: cv::Exception, or a tracker that writes it again.
//
//   cudatracking_fuzz_tld -rss_limit_mb=512 -timeout=5 FOLDER_OF_OBJECTS    (Clang's libFuzzer)
//   cudatracking_fuzz_tld FILE...                                           (other compilers)
#include "fuzz_main.hpp"
#include "opencv2/cudatracking/tld_tracker.hpp"
#include <cstdio>
#include <fstream>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size)
{
    static const std::string file = cv::tempfile(".xml");
    std::ofstream(file, std::ios::binary)
        .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
    try
    {
        const cv::Ptr<cv::cuda::TrackerTLD> tracker = cv::cuda::TrackerTLD::create();
        tracker->load(file);
        tracker->save(file);
    }
    catch (const cv::Exception&)
    {}
    std::remove(file.c_str());
    return 0;
}
