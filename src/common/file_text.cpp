// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FileStorage's parsers call themselves for each level of nesting, without a limit, so a short file could use up the stack: what
// is nested deeper than any file of ours is refused before they see it.
#include "../precomp.hpp"
#include "file_text.hpp"
#include <cctype>
#include <cstdio>
#include <unordered_set>

namespace cv { namespace cuda { namespace detail {

namespace {

const int MAX_NESTING = 100;

//! The deepest nesting of elements. Comments do not count; everything else that begins with '<' is markup to FileStorage.
int nestingOfXml(const std::string& text)
{
    int depth = 0, deepest = 0;
    for (size_t i = 0; i + 1 < text.size(); ++i)
    {
        if (text.compare(i, 4, "<!--") == 0)
        {
            i = text.find("-->", i);
            if (i == std::string::npos)
                break;
        }
        else if (text[i] == '<' && text[i + 1] != '/' && text[i + 1] != '?')
            deepest = std::max(deepest, ++depth);
        else if ((text[i] == '<' && text[i + 1] == '/') || (text[i] == '/' && text[i + 1] == '>'))
            depth = std::max(depth - 1, 0);
    }
    return deepest;
}

int nestingOfJson(const std::string& text)
{
    int depth = 0, deepest = 0;
    bool quoted = false;
    for (size_t i = 0; i < text.size(); ++i)
    {
        const char c = text[i];
        if (quoted && c == '\\')
            ++i;
        else if (c == '"')
            quoted = !quoted;
        else if (!quoted && (c == '[' || c == '{'))
            deepest = std::max(deepest, ++depth);
        else if (!quoted && (c == ']' || c == '}'))
            depth = std::max(depth - 1, 0);
    }
    return deepest;
}

//! Not less than the deepest nesting. Brackets that may stand in quotes open, but do not close.
int nestingOfYaml(const std::string& text)
{
    int depth = 0, deepest = 0;
    for (size_t begin = 0; begin < text.size();)
    {
        size_t end = text.find('\n', begin);
        end = end == std::string::npos ? text.size() : end;
        const std::string line = text.substr(begin, end - begin);
        const bool quotes = line.find_first_of("'\"") != std::string::npos;
        const size_t indent = std::min(line.find_first_not_of(" -\t"), line.size());
        for (char c : line)
        {
            if (c == '[' || c == '{')
                ++depth;
            else if (!quotes && (c == ']' || c == '}'))
                depth = std::max(depth - 1, 0);
            deepest = std::max(deepest, depth + static_cast<int>(std::min<size_t>(indent, 1000)));
        }
        begin = end + 1;
    }
    return deepest;
}

int nestingOf(const std::string& text)
{
    const size_t first = text.find_first_not_of(" \t\r\n");
    if (first == std::string::npos)
        return 0;
    return text[first] == '<' ? nestingOfXml(text) : text[first] == '{' ? nestingOfJson(text) : nestingOfYaml(text);
}

//! Different words and strings. FileStorage keeps each name, so that 8 MB of them would take seconds.
bool hasTooManyWords(const std::string& text, size_t most)
{
    const auto inWord = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || (c & 0x80); };
    std::unordered_set<uint64_t> words;
    for (size_t i = 0; i < text.size() && words.size() <= most;)
    {
        const size_t begin = i++;
        if (text[begin] == '"')
            i = std::min(text.find('"', i), text.size() - 1) + 1;
        else if (!inWord(text[begin]))
            continue;
        else
            while (i < text.size() && inWord(text[i]))
                ++i;
        uint64_t hash = 14695981039346656037u; // FNV-1a
        for (size_t k = begin; k < i; ++k)
            hash = (hash ^ static_cast<unsigned char>(text[k])) * 1099511628211u;
        if (!std::isdigit(static_cast<unsigned char>(text[begin])))
            words.insert(hash);
    }
    return words.size() > most;
}

void checkBytes(size_t bytes, const std::string& name, const TextLimits& limits)
{
    if (bytes > limits.bytes)
        CV_Error_(Error::StsOutOfRange,
                  ("%s: %zu bytes, %s has at most %zu", name.c_str(), bytes, limits.what, limits.bytes));
}

} // namespace

FileStorage parseText(const char* bytes, size_t count, const std::string& name, const TextLimits& limits)
{
    checkBytes(count, name, limits);
    const std::string text(bytes, count); // ends with a 0, which FileStorage needs
    if (text.find_first_not_of(" \t\r\n") == std::string::npos)
        CV_Error_(Error::StsParseError, ("%s: is empty", name.c_str()));
    if (nestingOf(text) > MAX_NESTING)
        CV_Error_(Error::StsParseError, ("%s: is nested deeper than %d levels", name.c_str(), MAX_NESTING));
    if (hasTooManyWords(text, limits.words))
        CV_Error_(Error::StsParseError, ("%s: has more than %zu different words", name.c_str(), limits.words));
    FileStorage storage;
    try
    {
        storage.open(text, FileStorage::READ | FileStorage::MEMORY);
    }
    catch (const std::exception& e)
    {
        CV_Error_(Error::StsParseError, ("%s: is no XML, YAML or JSON of OpenCV: %s", name.c_str(), e.what()));
    }
    if (!storage.isOpened())
        CV_Error_(Error::StsParseError, ("%s: is no XML, YAML or JSON of OpenCV", name.c_str()));
    return storage;
}

std::string readText(const std::string& filename, const TextLimits& limits)
{
    std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(filename.c_str(), "rb"), std::fclose);
    if (!file)
        CV_Error_(Error::StsObjectNotFound, ("%s: cannot be opened", filename.c_str()));
    std::string text;
    std::vector<char> part(1 << 16);
    while (const size_t count = std::fread(part.data(), 1, part.size(), file.get()))
    {
        text.append(part.data(), count);
        checkBytes(text.size(), filename, limits);
    }
    if (std::ferror(file.get()))
        CV_Error_(Error::StsError, ("%s: cannot be read", filename.c_str()));
    return text;
}

}}} // namespace cv::cuda::detail
