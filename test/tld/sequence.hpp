// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Real sequences with truth, where CUDATRACKING_TLD_DATA names their folder.
#ifndef OPENCV_CUDATRACKING_TEST_TLD_SEQUENCE_HPP
#define OPENCV_CUDATRACKING_TEST_TLD_SEQUENCE_HPP

#include "scenes.hpp"
#include "opencv2/videoio.hpp"
#include <fstream>

namespace opencv_test { namespace tld {

struct Sequence
{
    std::vector<Mat> frames;
    std::vector<Rect2d> truth; //!< empty: absent
    Rect first;
};

//! x1, y1, x2, y2 in a line; nan: absent.
inline Rect2d boxOf(const std::string& line)
{
    double v[4];
    std::string numbers = line;
    std::replace(numbers.begin(), numbers.end(), ',', ' ');
    if (numbers.find_first_of("nN") != std::string::npos)
        return Rect2d();
    std::istringstream in(numbers);
    in >> v[0] >> v[1] >> v[2] >> v[3];
    if (!in)
        CV_Error_(Error::StsParseError, ("no box: %s", line.c_str()));
    return Rect2d(v[0], v[1], v[2] - v[0], v[3] - v[1]);
}

//! Skips the running test, visibly, when the folder is not there or its video cannot be decoded (.mpg needs FFmpeg).
inline Sequence requireSequence(const std::string& name, int limit = INT_MAX)
{
    const std::string folder = requireFolder("CUDATRACKING_TLD_DATA") + "/" + name;
    Sequence s;
    std::ifstream init(folder + "/init.txt"), truth(folder + "/gt.txt");
    std::string line;
    if (!std::getline(init, line))
        throw SkipTestException("cannot read " + folder + "/init.txt");
    const Rect2d first = boxOf(line);
    s.first = Rect(cvRound(first.x), cvRound(first.y), cvRound(first.width), cvRound(first.height));
    for (const char* ending : {".avi", ".mpg"})
    {
        if (!std::ifstream(folder + "/" + name + ending))
            continue;
        VideoCapture video(folder + "/" + name + ending);
        Mat frame;
        while (static_cast<int>(s.frames.size()) < limit && video.read(frame) && std::getline(truth, line))
        {
            s.frames.push_back(frame.clone());
            s.truth.push_back(boxOf(line));
        }
    }
    if (s.frames.empty())
        throw SkipTestException("cannot read the video in " + folder);
    return s;
}

}} // namespace opencv_test::tld

#endif // OPENCV_CUDATRACKING_TEST_TLD_SEQUENCE_HPP
