// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// What learning in a frame and the first training share.
#ifndef OPENCV_CUDATRACKING_CPU_TLD_LEARNING_HPP
#define OPENCV_CUDATRACKING_CPU_TLD_LEARNING_HPP

#include "work.hpp"

namespace cv { namespace cuda { namespace tld { namespace cpu {

//! Examples first, first + step, and so on, up to the end.
struct Chunk
{
    size_t first, end, step;
};

//! The windows of largest overlap with a box, the largest first.
void findNear(const Grid& grid, const Box& box, int most, std::vector<Candidate>& near);
//! Leaves of all positive examples.
void makeExamples(const Work& work, const ObjectView& object, const std::vector<Candidate>& near, int warps,
                  double angle, std::vector<Codes>& examples);

//! Marks the examples of a chunk that count, as the posteriors are now.
void markExamples(const ObjectView& object, const Settings& settings, const std::vector<Codes>& list,
                  const Chunk& chunk, bool positive, uint8_t* marks);
//! Counts those that are marked.
void countMarked(const ObjectView& object, const Settings& settings, const std::vector<Codes>& list, const Chunk& chunk,
                 bool positive, const uint8_t* marks);

void learnPositive(const Work& work, const ObjectView& object, const Patch& patch, uint32_t& added);
void learnNegative(const Work& work, const ObjectView& object, const Patch& patch, uint32_t& added);

}}}} // namespace cv::cuda::tld::cpu

#endif // OPENCV_CUDATRACKING_CPU_TLD_LEARNING_HPP
