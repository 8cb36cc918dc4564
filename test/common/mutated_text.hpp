// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Files as no program of ours writes them, made from those that one did.
#ifndef OPENCV_CUDATRACKING_TEST_COMMON_MUTATED_TEXT_HPP
#define OPENCV_CUDATRACKING_TEST_COMMON_MUTATED_TEXT_HPP

#include "../test_precomp.hpp"

namespace opencv_test {

//! Texts that stand in place of a number.
inline const char* mutatedNumber(RNG& rng)
{
    static const char* const words[] = {"-1",
                                        "0",
                                        "1e9",
                                        "1e308",
                                        "nan",
                                        ".Inf",
                                        "<_>",
                                        "</_>",
                                        "99999999999",
                                        "2147483647",
                                        "-2147483648",
                                        "0,5",
                                        "\"",
                                        "",
                                        "ICAgICAgICAgICAgICAgICAgICAgICAg"};
    return words[rng.uniform(0, static_cast<int>(std::size(words)))];
}

//! Texts that begin or end strings, comments, lists and documents.
inline const char* mutatedMark(RNG& rng)
{
    static const char* const marks[] = {"\"", "'",  "<!--", "-->",  "<!-- \" -->", "&lt;", "\xef\xbb\xbf",
                                        "\r", "\t", "<a>",  "</a>", "/>",          "\n",   "<a b=\"/>\">"};
    return marks[rng.uniform(0, static_cast<int>(std::size(marks)))];
}

//! Makes the next node binary.
inline void makeBinary(std::string& text, size_t at, RNG& rng)
{
    const size_t tag = text.find('>', at);
    if (tag != std::string::npos)
        text.insert(tag, rng.uniform(0, 3) ? " type_id=\"binary\"" : " type_id='str'");
}

/** Flips, drops, doubles, replaces and cuts off bytes, bits, lines and numbers, and puts in what begins and ends
strings, comments and binary data. @param head half of the edits are within so many first bytes; 0: all of them
anywhere. @param cutOnceIn so many of the edits that would cut the rest off, one does: a file that is cut off tests
little else. */
inline std::string mutatedText(std::string text, RNG& rng, size_t head = 0, int cutOnceIn = 1)
{
    const int edits = rng.uniform(1, 4);
    for (int i = 0; i < edits && !text.empty(); ++i)
    {
        const bool inHead = head > 0 && rng.uniform(0, 2) != 0;
        const int reach = static_cast<int>(inHead ? std::min(text.size(), head) : text.size());
        const size_t at = rng.uniform(0, reach), length = std::min<size_t>(rng.uniform(1, 60), text.size() - at);
        const size_t digit = std::min(text.find_first_of("0123456789", at), text.size() - 1);
        const size_t line = text.rfind('\n', at) + 1, lineEnd = std::min(text.find('\n', at), text.size() - 1) + 1;
        switch (rng.uniform(0, 14))
        {
        case 0:
            text[at] = static_cast<char>(rng.uniform(0, 256));
            break;
        case 1:
            text.erase(at, length);
            break;
        case 2:
            text.insert(at, text.substr(at, length));
            break;
        case 3:
            if (rng.uniform(0, cutOnceIn) == 0)
                text.resize(at);
            break;
        case 4:
        case 5:
            text.replace(digit, std::min(text.find_first_not_of("0123456789.e+-", digit), text.size()) - digit,
                         mutatedNumber(rng));
            break;
        case 6:
            text[at] = static_cast<char>(text[at] ^ 1 << rng.uniform(0, 8));
            break;
        case 7:
            text.insert(line, text.substr(line, std::max(lineEnd, line) - line));
            break;
        case 8:
        case 9:
            text.insert(at, mutatedMark(rng));
            break;
        case 10:
            makeBinary(text, at, rng);
            break;
        default:
            text[digit] = static_cast<char>('0' + rng.uniform(0, 10));
        }
    }
    return text;
}

} // namespace opencv_test

#endif // OPENCV_CUDATRACKING_TEST_COMMON_MUTATED_TEXT_HPP
