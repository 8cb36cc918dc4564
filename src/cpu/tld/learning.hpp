// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Functions that learning in a frame and the first training share.
#ifndef OPENCV_CUDATRACKING_CPU_TLD_LEARNING_HPP
#define OPENCV_CUDATRACKING_CPU_TLD_LEARNING_HPP

#include "work.hpp"

namespace cv { namespace cuda { namespace tld { namespace cpu {

//! The examples first, first + step, ... below end of a list.
struct Chunk
{
    size_t first, end, step;
};

//! Finds at most `most` windows of largest overlap with a box, above NEAR_OVERLAP, the largest first.
void findNear(const Grid& grid, const Box& box, int most, std::vector<Candidate>& near);
//! Computes the codes of all positive examples. @param near windows, at least one. @param warps per window.
void makeExamples(const Work& work, const ObjectView& object, const std::vector<Candidate>& near, int warps,
                  double angle, std::vector<Codes>& examples);

//! Marks the examples of a chunk that the current posteriors classify wrongly. @param marks out: one per example of the
//! list.
void markExamples(const ObjectView& object, const Settings& settings, const std::vector<Codes>& list,
                  const Chunk& chunk, bool positive, uint8_t* marks);
//! Counts the marked examples in their leaves, and updates the posteriors of these.
void countMarked(const ObjectView& object, const Settings& settings, const std::vector<Codes>& list, const Chunk& chunk,
                 bool positive, const uint8_t* marks);

//! Adds a patch to the positive or negative templates where addsPositive() or addsNegative() say so. @param added
//! incremented then.
void learnPositive(const Work& work, const ObjectView& object, const Patch& patch, uint32_t& added);
void learnNegative(const Work& work, const ObjectView& object, const Patch& patch, uint32_t& added);

}}}} // namespace cv::cuda::tld::cpu

#endif // OPENCV_CUDATRACKING_CPU_TLD_LEARNING_HPP
