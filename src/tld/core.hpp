// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// The arithmetic of TLD, for both backends. Everything that decides a result is in these headers, and only in these.
// They are compiled without contraction. Sums over pixels, points and examples are integers, so that the order of
// threads has no effect.
#ifndef OPENCV_CUDATRACKING_TLD_CORE_HPP
#define OPENCV_CUDATRACKING_TLD_CORE_HPP

#include "core_base.hpp"         // settings, boxes, windows, random numbers, blur, variance
#include "core_ferns.hpp"        // features, posteriors, how ferns learn, warped images
#include "core_flow.hpp"         // pyramid, Lucas-Kanade
#include "core_motion.hpp"       // how points move a box
#include "core_patches.hpp"      // patches and their similarity to templates
#include "core_track.hpp"        // the state of an object, and each step of a frame
#include "core_filter_rules.hpp" // the correlation filter beside flow
#include "core_associate.hpp"    // boxes of a user's detector
#include "core_learn.hpp"        // templates, the first training, what is learned in a frame

#endif // OPENCV_CUDATRACKING_TLD_CORE_HPP
