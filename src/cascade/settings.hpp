// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// The parameters of detection, once: eachSetting() visits name, member, default and range of each. Defaults, checks,
// reading and writing are made from it.
#ifndef OPENCV_CUDATRACKING_CASCADE_SETTINGS_HPP
#define OPENCV_CUDATRACKING_CASCADE_SETTINGS_HPP

#include "opencv2/core.hpp"
#include "core.hpp"
#include <climits>
#include <limits>

namespace cv { namespace cuda {

namespace detail {
class Item;
} // namespace detail

namespace cascade {

//! A limit of object sizes, pixels.
struct SizeLimit
{
    int width, height;
};

struct Settings
{
    double scaleFactor;
    int minNeighbors; //!< 0 or less: candidates are not grouped
    SizeLimit minSize;
    SizeLimit maxSize;             //!< if a side is 0: the size of the image
    bool largest;                  //!< only the object of the largest area
    int maxObjects, maxCandidates; //!< capacity of result tables per image

    Settings(); //!< sets the defaults
};

//! Range of a parameter: values above `above` and up to `most`. Values of double must also be finite.
template <typename T> struct ValueRange
{
    T above, most;
};

//! Calls visit(name in files, member, default, range) for each parameter; those with any value have no range.
template <typename SettingsType, typename Visit> void eachSetting(SettingsType& s, const Visit& visit)
{
    const ValueRange<int> capacity = {0, MAX_CAPACITY};
    visit("scaleFactor", s.scaleFactor, 1.1, ValueRange<double>{1., std::numeric_limits<double>::max()});
    visit("minNeighbors", s.minNeighbors, 3);
    visit("minObjectSize", s.minSize, SizeLimit{0, 0});
    visit("maxObjectSize", s.maxSize, SizeLimit{0, 0});
    visit("findLargestObject", s.largest, false);
    visit("maxObjects", s.maxObjects, 256, capacity);
    visit("maxCandidates", s.maxCandidates, 8192, capacity);
}

//! Checks all parameters. @throws cv::Exception with name and value of the first one out of its range.
void checkSettings(const Settings& settings);
//! Reads the parameters that a map has, and keeps the others. @throws cv::Exception if one is malformed or out of its
//! range.
void readSettings(const detail::Item& map, Settings& settings);
//! Writes all parameters as members of the current map.
void writeSettings(FileStorage& storage, const Settings& settings);

} // namespace cascade
}} // namespace cv::cuda

#endif // OPENCV_CUDATRACKING_CASCADE_SETTINGS_HPP
