// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// For compilers without libFuzzer: runs a target on the files it is given.
#ifndef OPENCV_CUDATRACKING_TEST_FUZZ_MAIN_HPP
#define OPENCV_CUDATRACKING_TEST_FUZZ_MAIN_HPP

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

#ifdef CUDATRACKING_FUZZ_MAIN

#include <cstdio>
#include <fstream>
#include <iterator>
#include <vector>

int main(int argc, char** argv)
{
    for (int i = 1; i < argc; ++i)
    {
        std::ifstream file(argv[i], std::ios::binary);
        const std::vector<char> bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
        LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
        std::printf("%s: %zu bytes, done\n", argv[i], bytes.size());
    }
    return 0;
}

#endif

#endif // OPENCV_CUDATRACKING_TEST_FUZZ_MAIN_HPP
