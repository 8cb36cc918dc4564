// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Outputs that are inputs: a program refuses them before it reads or writes anything.
#ifndef OPENCV_CUDATRACKING_SAMPLES_OVERWRITE_HPP
#define OPENCV_CUDATRACKING_SAMPLES_OVERWRITE_HPP

#include "options.hpp"
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>
#include <sys/stat.h>

namespace sample {

//! Files that a program may write, and the option that says where. In their names # stands for a number and * for
//! anything.
struct Output
{
    std::string option, files;
};

//! @param pattern as the name of an Output.
inline bool matches(const char* name, const char* pattern)
{
    const auto isDigit = [](char c) { return c >= '0' && c <= '9'; };
    if (*pattern == '*')
        return matches(name, pattern + 1) || (*name && matches(name + 1, pattern));
    if (*pattern != '#')
        return *name == *pattern && (*name == 0 || matches(name + 1, pattern + 1));
    const bool number = isDigit(*name);
    while (isDigit(*name))
        ++name;
    return number && matches(name, pattern + 1);
}

//! The files that are there.
inline std::vector<std::string> filesLike(const std::string& pattern)
{
    namespace fs = std::filesystem;
    const fs::path path(pattern), folder = path.has_parent_path() ? path.parent_path() : ".";
    std::vector<std::string> files;
    std::error_code error;
    if (fs::exists(path, error)) // # and * may also be what the user wrote
        files.push_back(pattern);
    if (path.filename().string().find_first_of("#*") == std::string::npos)
        return files;
    for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
        if (matches(at->path().filename().string().c_str(), path.filename().string().c_str()))
            files.push_back(at->path().string());
    return files;
}

//! Returns a text that a regular file has in common with all links to it; empty where there is none.
inline std::string identityOf(const std::string& file)
{
    std::error_code error;
    if (!std::filesystem::is_regular_file(file, error))
        return "";
    struct stat status;
    return ::stat(file.c_str(), &status) == 0 ? std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino)
                                              : "";
}

//! Throws a UsageError where one of the outputs is there and is an input, also by another name, or is another output.
inline void refuseOverwriting(const std::vector<std::string>& inputs, const std::vector<Output>& outputs)
{
    std::map<std::string, std::string> known;
    for (const std::string& input : inputs)
        known[identityOf(input)] = input;
    known.erase("");
    for (const Output& output : outputs)
        for (const std::string& file : filesLike(output.files))
        {
            const auto input = known.find(identityOf(file));
            if (input != known.end())
                throw UsageError(output.option + ": " + file + " is the input " + input->second +
                                 ", which would be lost; give another name or folder");
        }
    std::set<std::string> names;
    for (const Output& output : outputs)
        if (!names.insert(std::filesystem::absolute(output.files).lexically_normal().string()).second)
            throw UsageError(output.option + ": " + output.files + " is another output, too; give another name");
}

//! Outputs of a program that has --output-dir, and maybe --video-file. @param names in the folder. @param video whether
//! it writes one.
inline std::vector<Output> outputsOf(const Options& options, const std::vector<std::string>& names, bool video = true)
{
    const std::filesystem::path folder = options.text("output-dir");
    std::vector<Output> outputs;
    for (const std::string& name : names)
        outputs.push_back({"--output-dir", (folder / name).string()});
    if (!video)
        return outputs;
    const std::filesystem::path file = folder / options.text("video-file");
    const std::string next =
        file.stem().string() + "_#" + file.extension().string(); // of a video that gets too long for one file
    const std::string option = options.given("video-file") ? "--video-file" : "--output-dir";
    outputs.push_back({option, file.string()});
    outputs.push_back({option, std::filesystem::path(file).replace_filename(next).string()});
    return outputs;
}

/** Which files of a folder an earlier run made of others of them. @param files with folder. @param patterns of names;
what * stands for is another file, maybe without its ending, or with one more. */
inline std::vector<std::string> resultsIn(const std::vector<std::string>& files,
                                          const std::vector<std::string>& patterns)
{
    namespace fs = std::filesystem;
    std::set<std::string> names;
    for (const std::string& file : files)
        names.insert({fs::path(file).filename().string(), fs::path(file).stem().string()});
    std::vector<std::string> results;
    for (const std::string& file : files)
        for (const std::string& pattern : patterns)
        {
            const std::string name = fs::path(file).filename().string();
            const size_t before = pattern.find('*'), around = pattern.size() - 1;
            if (name.size() <= around || !matches(name.c_str(), pattern.c_str()))
                continue;
            const std::string made = name.substr(before, name.size() - around);
            if (!names.count(made) && !names.count(fs::path(made).stem().string()))
                continue;
            results.push_back(file);
            break;
        }
    return results;
}

} // namespace sample

#endif // OPENCV_CUDATRACKING_SAMPLES_OVERWRITE_HPP
