// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Bounds of SAD, from which both backends conclude which positions can be a peak. They do not decide a result:
// positions that remain are scored, and those that do not cannot be a peak. g++ and nvcc compile it.
//
// Bound. Fragment and image are divided into the same blocks of `pixels` = B * B pixels; pixels beyond the last whole
// block are left out. With sums s over a block, SAD >= sum |s_T - s_I|. Means in bytes are enough: with q = s_I /
// pixels rounded down, s_I lies in [pixels q, pixels q + pixels - 1], so for every t, here s_T / pixels rounded down,
//   2 |s_T - s_I| >= 2 pixels |t - q| - blockLoss(s_T, t).
// With A = sum |t - q| and L = the sum of the losses, 2 SAD >= 2 pixels A - L. With weights each block counts with its
// least weight.
//
// Best position. Let U be the least value of some places: the best value is at most U, so the best position lies in the
// box around all positions with 2 pixels A - L <= 2 U. Wherever it lies, positions in the zones of all positions of the
// box are no further peaks.
//
// Limit. Let d be the distance of the exclusion rule, and V the largest value of some places, chosen so that K peaks
// cannot have zones that cover all of them before the last is chosen. After j < K peaks one of the places is left, so
// peak j + 1 exists, and its value is at most V. Two choices:
//   Places anywhere. EXCLUDE_SQUARE: two positions of a zone are at most 2 d - 2 apart; so K places, each 2 d - 1 apart
//   from the others, will do. EXCLUDE_CROSS: of places that are 2 d - 1 apart in both coordinates the columns of a zone
//   hold one and its rows one; so 2 (K - 1) + 1 of them will do.
//   Places outside the zones of all positions of the box: the zone of the best covers none of them, so those for K - 1
//   peaks will do.
// If the zones of all positions of the box cover the whole window, there is only one peak.
// A position with 2 pixels A - L > 2 V is no peak. Equal values have equal chances, so ties are settled as in a full
// search.
#ifndef OPENCV_CUDATRACKING_FRAGMENT_MATCHER_BOUNDS_HPP
#define OPENCV_CUDATRACKING_FRAGMENT_MATCHER_BOUNDS_HPP

#include "core.hpp"

namespace cv { namespace cuda { namespace fragment_matcher {

//! Returns twice the most by which a block's means exceed its sums of differences. @param sum, mean of a block of the
//! fragment.
CT_HOST_DEVICE int blockLoss(int sum, int mean, int pixels)
{
    const int aside = 2 * sum - 2 * pixels * mean - (pixels - 1);
    return pixels - 1 + (aside < 0 ? -aside : aside);
}

//! Returns the largest A of positions whose value may be `limit` or less, at most `most`. @param scale pixels per block
//! times the factor from A to values. @param loss L in the unit of values.
CT_HOST_DEVICE uint32_t largestBound(uint64_t limit, uint64_t loss, uint64_t scale, uint32_t most)
{
    const uint64_t largest = (2 * limit + loss) / (2 * scale);
    return largest < most ? static_cast<uint32_t>(largest) : most;
}

//! Returns the number of places that a limit for `peaks` peaks takes.
CT_HOST_DEVICE int placesNeeded(int peaks, int exclusion)
{
    return exclusion == EXCLUDE_SQUARE ? peaks : 2 * (peaks - 1) + 1;
}

//! Returns the distance that places of a limit have from each other; outsideZone() with it compares two places.
CT_HOST_DEVICE int distanceOfPlaces(int distance) { return 2 * distance - 1; }

//! Positions [left, right] x [top, bottom] of a window. Empty: left > right.
struct Box
{
    int left, top, right, bottom;
};

//! Returns the largest distance between a column of [a, b] and one of [c, d], or between rows.
CT_HOST_DEVICE int farthest(int a, int b, int c, int d) { return d - a > b - c ? d - a : b - c; }

//! Returns true if every position of `box` lies in the zone of every position of `of`. @param distance that of the
//! exclusion rule.
CT_HOST_DEVICE bool surelyExcluded(const Box& box, const Box& of, int distance, int exclusion)
{
    return !outsideZone(farthest(box.left, box.right, of.left, of.right),
                        farthest(box.top, box.bottom, of.top, of.bottom), distance, exclusion);
}

//! Returns true if (x, y) lies outside the zones of all positions of `of`.
CT_HOST_DEVICE bool surelyOutside(int x, int y, const Box& of, int distance, int exclusion)
{
    const int dx = x < of.left ? of.left - x : (x > of.right ? x - of.right : 0);
    const int dy = y < of.top ? of.top - y : (y > of.bottom ? y - of.bottom : 0);
    return outsideZone(dx, dy, distance, exclusion);
}

}}} // namespace cv::cuda::fragment_matcher

#endif // OPENCV_CUDATRACKING_FRAGMENT_MATCHER_BOUNDS_HPP
