// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Bytes as base64 text, for FileStorage. The last two digits are + and -.
#ifndef OPENCV_CUDATRACKING_TLD_BASE64_HPP
#define OPENCV_CUDATRACKING_TLD_BASE64_HPP

#include "../common/file_nodes.hpp"
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace cv { namespace cuda { namespace tld {

static const char BASE64_DIGITS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-";

//! Returns four base64 digits per three bytes. @param count number of bytes, a multiple of 3.
inline std::string base64Of(const uint8_t* bytes, size_t count)
{
    std::string text;
    for (size_t i = 0; i < count; i += 3)
    {
        const unsigned all = bytes[i] << 16 | bytes[i + 1] << 8 | bytes[i + 2];
        for (int shift = 18; shift >= 0; shift -= 6)
            text += BASE64_DIGITS[all >> shift & 63];
    }
    return text;
}

//! Appends the bytes of a base64 text. @param count number of bytes, a multiple of 3.
inline void appendBytes(const detail::Item& item, size_t count, std::vector<uint8_t>& bytes)
{
    const std::string text = item.string();
    if (text.size() != count / 3 * 4)
        item.fail(format("has %zu base64 digits, and must have %zu", text.size(), count / 3 * 4).c_str());
    for (size_t i = 0; i < text.size(); i += 4)
    {
        unsigned all = 0;
        for (size_t k = i; k < i + 4; ++k)
        {
            const char* const digit = text[k] ? std::strchr(BASE64_DIGITS, text[k]) : nullptr;
            if (!digit)
                item.fail("is not base64 text");
            all = all << 6 | static_cast<unsigned>(digit - BASE64_DIGITS);
        }
        for (int shift = 16; shift >= 0; shift -= 8)
            bytes.push_back(static_cast<uint8_t>(all >> shift));
    }
}

}}} // namespace cv::cuda::tld

#endif // OPENCV_CUDATRACKING_TLD_BASE64_HPP
