// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FileStorage's parser may use up the stack, never return, or read beyond the end of untrusted texts: those that it
// would not survive are refused before it sees them.
#include "../precomp.hpp"
#include "file_text.hpp"
#include "text_cursor.hpp"
#include <algorithm>
#include <cstdio>

namespace cv { namespace cuda { namespace detail {

namespace {

[[noreturn]] void refuse(const std::string& name, const std::string& why)
{
    CV_Error_(Error::StsParseError, ("%s: %s", name.c_str(), why.c_str()));
}

[[noreturn]] void refuseSize(const std::string& name, const std::string& bytes, const TextLimits& limits)
{
    CV_Error_(Error::StsOutOfRange,
              ("%s: %s bytes, %s has at most %zu", name.c_str(), bytes.c_str(), limits.what, limits.bytes));
}

//! Refuses what is often saved in place of a file: a page that shows it, or Git LFS's pointer to it.
void refuseStandIns(const std::string& text, const std::string& name)
{
    const size_t header = text.compare(0, 5, "<?xml") == 0 ? std::min(text.find("?>"), text.size() - 2) + 2 : 0;
    std::string begin = text.substr(std::min(text.find_first_not_of(" \t\r\n", header), text.size()), 40);
    for (char& c : begin)
        c = isTextLetter(c) ? static_cast<char>(c | 0x20) : c; // lower case
    const auto begins = [&](std::string_view word) { return begin.compare(0, word.size(), word) == 0; };
    if (begins("<!doctype html") || begins("<html"))
        refuse(name, "is an HTML page; download the file itself (on GitHub: Raw)");
    if (begins("version https://git-lfs.github.com/"))
        refuse(name, "is a pointer of Git LFS; 'git lfs pull' gets the file itself");
}

//! Drops a byte order mark from the beginning; refuses bytes that are no text.
void normalize(std::string& text, const std::string& name)
{
    const auto begins = [&](std::string_view word) { return text.compare(0, word.size(), word) == 0; };
    if (begins("\x1f\x8b"))
        refuse(name, "is compressed (gzip); decompress it first");
    if (begins(std::string_view("\xff\xfe\0\0", 4)) || begins(std::string_view("\0\0\xfe\xff", 4)) ||
        begins(std::string_view("<\0\0\0", 4)) || begins(std::string_view("\0\0\0<", 4)))
        refuse(name, "is UTF-32; save it as UTF-8");
    if (begins("\xff\xfe") || begins("\xfe\xff") || begins(std::string_view("<\0", 2)) ||
        begins(std::string_view("\0<", 2)))
        refuse(name, "is UTF-16; save it as UTF-8");
    if (begins("\xef\xbb\xbf"))
        text.erase(0, 3);
    if (text.find_first_not_of(" \t\r\n") == std::string::npos)
        refuse(name, "is empty");
    refuseStandIns(text, name);
    // FileStorage takes what has no line end for a file's name, and reads beyond the last line where it has none
    text += '\n';
}

//! FileStorage ends a line at a carriage return and a text at a zero, and drops what comes behind.
void checkBytes(const std::string& text)
{
    size_t line = 1;
    for (size_t i = 0; i < text.size(); ++i)
    {
        const char c = text[i];
        line += c == '\n';
        if (!isTextPrintable(c) && c != '\t' && c != '\n' && !(c == '\r' && text[i + 1] == '\n'))
            throw TextFault{line, format("has the byte 0x%02x, which no text has here", static_cast<unsigned char>(c))};
    }
}

void check(const std::string& text, const std::string& name)
{
    TextCursor cursor(text);
    if (cursor.follows("%YAML") || cursor.follows("{"))
        refuse(name, "is YAML or JSON; only XML is read, such as save() writes to names that end with .xml");
    try
    {
        checkBytes(text);
        checkXml(cursor);
    }
    catch (const TextFault& fault)
    {
        refuse(name, format("is no XML of OpenCV: line %zu: %s", fault.line, fault.why.c_str()));
    }
}

} // namespace

FileStorage parseText(const char* bytes, size_t count, const std::string& name, const TextLimits& limits)
{
    if (count > limits.bytes)
        refuseSize(name, std::to_string(count), limits);
    std::string text(bytes, count);
    normalize(text, name);
    check(text, name);
    FileStorage storage;
    try
    {
        storage.open(text, FileStorage::READ | FileStorage::MEMORY);
    }
    catch (const cv::Exception& e) // what() names a source file of OpenCV, too
    {
        refuse(name, "is no XML of OpenCV: " + e.err);
    }
    catch (const std::exception& e)
    {
        refuse(name, std::string("is no XML of OpenCV: ") + e.what());
    }
    if (!storage.isOpened())
        refuse(name, "is no XML of OpenCV");
    return storage;
}

std::string readText(const std::string& filename, const TextLimits& limits)
{
    if (filename.empty())
        CV_Error(Error::StsObjectNotFound, "the file name is empty, so no file can be opened");
    std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(filename.c_str(), "rb"), std::fclose);
    if (!file)
        CV_Error_(Error::StsObjectNotFound, ("%s: cannot be opened", filename.c_str()));
    std::string text;
    std::vector<char> part(1 << 16);
    while (const size_t count = std::fread(part.data(), 1, part.size(), file.get()))
    {
        text.append(part.data(), count);
        if (text.size() <= limits.bytes)
            continue;
        const bool known = std::fseek(file.get(), 0, SEEK_END) == 0 && std::ftell(file.get()) > 0;
        refuseSize(filename,
                   known ? std::to_string(std::ftell(file.get())) : "more than " + std::to_string(limits.bytes),
                   limits);
    }
    if (std::ferror(file.get()))
        CV_Error_(Error::StsError, ("%s: cannot be read", filename.c_str()));
    return text;
}

}}} // namespace cv::cuda::detail
