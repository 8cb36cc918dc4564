// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Boxes that another program has found in the frames of a video, read line by line from a file or a pipe.
#ifndef OPENCV_CUDATRACKING_SAMPLES_BOX_LIST_HPP
#define OPENCV_CUDATRACKING_SAMPLES_BOX_LIST_HPP

#include "opencv2/core.hpp"
#include <cctype>
#include <cmath>
#include <fstream>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace sample {

//! Form of a BoxList, for the table of options.
#define SAMPLE_BOX_LIST_HELP                                                                                           \
    "file of a detector's boxes, - for standard input: lines FRAME,X,Y,WIDTH,HEIGHT in the order of frames, the "      \
    "first frame is 0; FRAME alone: it found nothing; a frame without a line: it did not run"

/** A list of boxes. A first line that begins with a letter is a heading; columns after the height are not used. A line
is read when its frame comes, or the frame before, so that the program that finds boxes may still be running. */
class BoxList
{
public:
    //! @param name of a file, or "-": standard input.
    explicit BoxList(const std::string& name) : name_(name)
    {
        if (name != "-")
            file_.open(name);
        if (!stream())
            throw std::runtime_error("cannot read " + name);
        next();
    }
    /** Reads the boxes of a frame; frames are asked for in ascending order. @return whether the detector has run on it.
     */
    bool read(int frame, std::vector<cv::Rect>& boxes)
    {
        boxes.clear();
        bool ran = false;
        for (; frame_ >= 0 && frame_ <= frame; next())
        {
            if (frame_ < frame) // of a frame that was left out
                continue;
            ran = true;
            if (there_)
                boxes.push_back(box_);
        }
        return ran;
    }

private:
    std::istream& stream() { return name_ == "-" ? std::cin : file_; }
    //! Reads the next line that is not empty: frame_ is -1 after the last one.
    void next()
    {
        const int before = frame_;
        frame_ = -1;
        std::string line;
        while (std::getline(stream(), line))
        {
            ++lines_;
            if (line.find_first_not_of(" \t\r") == std::string::npos ||
                (lines_ == 1 && std::isalpha(static_cast<unsigned char>(line[0]))))
                continue;
            parse(line);
            if (frame_ < before)
                fail("frames must be in ascending order from 0 on");
            return;
        }
        if (stream().bad())
            throw std::runtime_error("cannot read " + name_);
    }
    void parse(const std::string& line)
    {
        std::istringstream columns(line);
        double values[5];
        int count = 0;
        for (std::string text; count < 5 && std::getline(columns, text, ','); ++count)
        {
            std::istringstream column(text);
            if (!(column >> values[count]) || !(column >> std::ws).eof() || !(std::abs(values[count]) < 1 << 30))
                fail("'" + text + "' is not a number below 2^30");
        }
        if (count != 1 && count != 5)
            fail("FRAME,X,Y,WIDTH,HEIGHT or FRAME is needed");
        frame_ = static_cast<int>(values[0]);
        if (frame_ != values[0] || frame_ < 0)
            fail("the frame must be a whole number of 0 or more");
        there_ = count == 5;
        if (there_)
            box_ = cv::Rect(cvRound(values[1]), cvRound(values[2]), cvRound(values[3]), cvRound(values[4]));
    }
    [[noreturn]] void fail(const std::string& reason) const
    {
        throw std::runtime_error((name_ == "-" ? "standard input" : name_) + ", line " + std::to_string(lines_) + ": " +
                                 reason);
    }

    const std::string name_;
    std::ifstream file_;
    int frame_ = 0; //!< of the line that was read last
    cv::Rect box_;
    bool there_ = false; //!< this line has a box
    size_t lines_ = 0;
};

} // namespace sample

#endif // OPENCV_CUDATRACKING_SAMPLES_BOX_LIST_HPP
