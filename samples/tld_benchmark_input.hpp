// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Sequences with known truth, as tld_benchmark.cpp describes them.
#ifndef OPENCV_CUDATRACKING_SAMPLES_TLD_BENCHMARK_INPUT_HPP
#define OPENCV_CUDATRACKING_SAMPLES_TLD_BENCHMARK_INPUT_HPP

#include "input.hpp"
#include "program.hpp"
#include "tld_benchmark_quality.hpp"
#include "opencv2/core/utils/filesystem.hpp"
#include <algorithm>
#include <climits>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

namespace sample {

using namespace cv;

struct Sequence
{
    std::string name;
    std::vector<Mat> frames;
    Rect first;
    Trajectory truth; //!< empty: absent
};

inline bool exists(const std::string& path) { return utils::fs::exists(path); }

inline std::vector<Rect2d> readTruth(const std::string& filename, bool corners)
{
    std::vector<Rect2d> boxes;
    std::ifstream file(filename);
    std::string line;
    while (std::getline(file, line))
    {
        for (char& c : line)
            c = c == ',' || c == '\t' || c == ';' ? ' ' : c;
        double v[4];
        const char* at = line.c_str();
        int count = 0;
        for (char* end = nullptr; count < 4; ++count, at = end)
        {
            v[count] = std::strtod(at, &end);
            if (end == at)
                break;
        }
        if (count == 0)
            continue;
        if (count < 4)
            CV_Error_(Error::StsParseError, ("%s: line %zu has %d numbers", filename.c_str(), boxes.size() + 1, count));
        const Rect2d box(v[0], v[1], corners ? v[2] - v[0] : v[2], corners ? v[3] - v[1] : v[3]);
        boxes.push_back(box.width > 0. && box.height > 0. && std::isfinite(box.x + box.y) ? box : Rect2d());
    }
    return boxes;
}

//! Images in natural order, else those of the folder's first video.
inline std::vector<Mat> readFrames(const std::string& folder, size_t most)
{
    std::vector<Mat> frames;
    const std::vector<std::string> videos = filesOf(folder, {".avi", ".mpg", ".mp4", ".mkv"});
    if (imagesOf(folder).empty() && videos.empty())
        throw std::runtime_error("there are neither images nor a video in " + folder);
    Source source(imagesOf(folder).empty() ? videos[0] : folder);
    for (Mat frame; frames.size() < most && !stopped() && source.read(frame); frame = Mat())
        frames.push_back(frame);
    const size_t images = source.isVideo() ? 0 : static_cast<size_t>(source.count()),
                 passed = static_cast<size_t>(source.number()) + 1;
    if (frames.size() < std::max(std::min(most, images), passed) && !stopped()) // truth would belong to other frames
        throw std::runtime_error(folder + ": there is a frame that cannot be read");
    return frames;
}

inline bool isSequence(const std::string& folder)
{
    return exists(folder + "/gt.txt") || exists(folder + "/groundtruth_rect.txt");
}

inline bool isOtb(const std::string& folder) { return exists(folder + "/groundtruth_rect.txt"); }
inline std::string framesFolder(const std::string& folder) { return isOtb(folder) ? folder + "/img" : folder; }
inline std::string nameOf(const std::string& folder)
{
    const size_t end = folder.find_last_not_of('/') + 1, slash = folder.find_last_of('/', end - 1);
    return folder.substr(slash == std::string::npos ? 0 : slash + 1, end - (slash + 1));
}

inline Trajectory readTruth(const std::string& folder)
{
    const std::string file = folder + (isOtb(folder) ? "/groundtruth_rect.txt" : "/gt.txt");
    const Trajectory truth = readTruth(file, !isOtb(folder));
    if (truth.empty())
        throw std::runtime_error(file + ": there is no box");
    return truth;
}

//! Returns the box in the first frame. @param frame its size.
inline Rect readFirst(const std::string& folder, Size frame)
{
    const std::string file = folder + (isOtb(folder) ? "/groundtruth_rect.txt" : "/init.txt");
    const std::vector<Rect2d> boxes = readTruth(file, !isOtb(folder));
    const Rect2d first = boxes.empty() ? Rect2d() : boxes[0];
    const Rect box =
        Rect(cvRound(first.x), cvRound(first.y), cvRound(first.width), cvRound(first.height)) & Rect(Point(), frame);
    if (box.empty())
        throw std::runtime_error(file + ": there is no box in the first frame");
    return box;
}

inline Sequence readSequence(const std::string& folder, int limit)
{
    Sequence s;
    s.name = nameOf(folder);
    s.truth = readTruth(folder);
    s.frames = readFrames(framesFolder(folder), limit > 0 ? static_cast<size_t>(limit) : s.truth.size());
    s.truth.resize(std::min(s.truth.size(), s.frames.size()));
    s.frames.resize(s.truth.size());
    if (!s.frames.empty()) // else stopped
        s.first = readFirst(folder, s.frames[0].size());
    return s;
}

//! Adds what keeps a sequence from being measured; of its frames only the first is decoded.
inline void checkSequence(const std::string& folder, std::vector<std::string>& faults)
{
    const auto check = [&](const std::function<void()>& read)
    {
        try
        {
            read();
        }
        catch (const cv::Exception& e)
        {
            faults.push_back(e.err);
        }
        catch (const std::exception& e)
        {
            faults.push_back(e.what());
        }
    };
    Size size(INT_MAX, INT_MAX);
    check([&] { readTruth(folder); });
    check(
        [&]
        {
            const std::vector<Mat> frames = readFrames(framesFolder(folder), 1);
            if (frames.empty())
                throw std::runtime_error(framesFolder(folder) + ": the first frame cannot be read");
            size = frames[0].size();
        });
    check([&] { readFirst(folder, size); });
    if (utils::fs::isDirectory(framesFolder(folder)))
        for (const std::string& image : imagesOf(framesFolder(folder)))
            if (!haveImageReader(image))
                faults.push_back(image + ": cannot be read");
}

//! @param faults is extended by folders without any.
inline std::vector<std::string> findSequences(const std::vector<std::string>& folders, std::vector<std::string>& faults)
{
    std::vector<std::string> found;
    for (const std::string& folder : folders)
    {
        std::vector<std::string> inside;
        if (!utils::fs::isDirectory(folder))
            faults.push_back("there is no folder " + folder);
        else if (isSequence(folder))
            inside.push_back(folder);
        else
            utils::fs::glob(folder, "", inside, false, true);
        std::sort(inside.begin(), inside.end(), naturalLess);
        inside.erase(std::remove_if(inside.begin(), inside.end(), [](const std::string& f) { return !isSequence(f); }),
                     inside.end());
        if (inside.empty() && utils::fs::isDirectory(folder))
            faults.push_back(folder + ": there is no sequence, which is a folder with gt.txt or groundtruth_rect.txt");
        found.insert(found.end(), inside.begin(), inside.end());
    }
    return found;
}

} // namespace sample

#endif // OPENCV_CUDATRACKING_SAMPLES_TLD_BENCHMARK_INPUT_HPP
