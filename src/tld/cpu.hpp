// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// What the stages of the CPU share.
#ifndef OPENCV_CUDATRACKING_TLD_CPU_HPP
#define OPENCV_CUDATRACKING_TLD_CPU_HPP

#include "stages.hpp"
#include <vector>

namespace cv { namespace cuda { namespace tld { namespace cpu {

//! A box as the nearest neighbours see it.
struct Patch
{
    uint8_t pixels[PATCH_STRIDE]; //!< 0 behind the last one
    PatchStats stats;
};
Patch patchOf(const Frame& frame, const Box& box);
//! Against all templates.
Similarity compareTemplates(const ObjectView& object, const Settings& settings, const Patch& patch);

//! What ferns compare: offsets of first and second pixel for each feature, for each scale.
struct Offsets
{
    int perScale;
    std::vector<int> values;

    const int* of(int scale) const { return values.data() + static_cast<size_t>(scale) * perScale; }
};
void makeOffsets(const ObjectView& object, const Settings& settings, size_t step, Offsets& offsets);

//! Leaves of a window, one a tree, as places in ObjectView::posteriors.
struct Codes
{
    uint32_t leaf[MAX_TREES];
};
Codes codesOf(const uint8_t* corner, const int* offsets, const Settings& settings);
inline uint32_t sumOf(const Codes& codes, const uint16_t* posteriors, int trees)
{
    uint32_t sum = 0;
    for (int t = 0; t < trees; ++t)
        sum += posteriors[codes.leaf[t]];
    return sum;
}
inline const uint8_t* cornerOf(const Frame& frame, const Window& window)
{
    return frame.blurred.row(window.y) + window.x;
}

//! A window and what it is chosen by.
struct Ranked
{
    double overlap;
    uint32_t key;
    int number;
};

//! Of one object in one frame.
struct Scratch
{
    Offsets offsets;
    std::vector<Ranked> ranked;
    std::vector<Codes> examples;
    std::vector<uint32_t> touched; //!< leaves that negatives are counted in
    std::vector<Cluster> clusters;
};

}}}} // namespace cv::cuda::tld::cpu

#endif // OPENCV_CUDATRACKING_TLD_CPU_HPP
