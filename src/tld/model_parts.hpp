// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Parts of files of learned objects: parameters, models, positions, frames. Files are untrusted: everything read is
// checked.
#ifndef OPENCV_CUDATRACKING_TLD_MODEL_PARTS_HPP
#define OPENCV_CUDATRACKING_TLD_MODEL_PARTS_HPP

#include "../precomp.hpp"
#include "../common/file_nodes.hpp"
#include "engine.hpp"

namespace cv { namespace cuda { namespace tld {

const int VERSION = 1;               //!< of the file format
const double MAX_COORDINATE = 65536; //!< largest coordinate or side of a box, pixels

void writeParams(FileStorage& fs, const TLDParams& params);
TLDParams readParams(const detail::Item& root);

void writeLearned(FileStorage& fs, const LearnedObject& object);
void readLearned(const detail::Item& root, const Settings& settings, LearnedObject& object);

//! Writes the tracking state, except `started` and `keptStarted`.
void writeState(FileStorage& fs, const LearnedObject& object);
void readState(const detail::Item& root, const Settings& settings, LearnedObject& object);

//! Reads a list of `least` to `most` integers from `first` to `last`.
void readIntegers(const detail::Item& root, const char* name, int least, int most, int first, int last,
                  std::vector<int>& out);
double readReal(const detail::Item& root, const char* name, double least, double most);

//! Writes the filter of an object that has one.
void writeFilter(FileStorage& fs, const LearnedObject& object);
void readFilter(const detail::Item& root, LearnedObject& object);

void readFrame(const detail::Item& root, const char* name, const LearnedObject& object, std::vector<uint8_t>& gray);

//! Calls visit(Item, index) for the elements of a list. XML stores a list of one element as that element, and an empty
//! one not at all.
template <typename Visit>
void readList(const detail::Item& root, const char* name, int least, int most, const Visit& visit)
{
    if (least == 0 && !root.has(name))
        return;
    root.with(name,
              [&](const detail::Item& list)
              {
                  if (least <= 1 && most >= 1 && !list.isList())
                      return visit(list, 0);
                  list.list(least, most);
                  list.each(visit);
              });
}

//! Writes a matrix of rows of `cols` values, bytes or floats; nothing if it has no rows.
template <typename T> void writeMatrix(FileStorage& fs, const char* name, const std::vector<T>& values, int cols)
{
    if (!values.empty())
        fs << name << Mat(values).reshape(1, static_cast<int>(values.size() / cols));
}

//! Reads a matrix of `least` to `most` rows of `cols` values from `first` to `last`. Mat is not read, because its sizes
//! could be any.
template <typename T>
void readMatrix(const detail::Item& root, const char* name, int least, int most, int cols, float first, float last,
                std::vector<T>& out)
{
    out.clear();
    if (least == 0 && !root.has(name))
        return;
    root.with(name,
              [&](const detail::Item& matrix)
              {
                  const int count = matrix.integerOf("rows", least, most) * matrix.integerOf("cols", cols, cols);
                  out.reserve(count);
                  matrix.eachOf("data", count, count,
                                [&](const detail::Item& item, int)
                                {
                                    const double value = item.real();
                                    if (!(value >= first && value <= last))
                                        item.fail(format("a number from %g to %g is needed here", first, last).c_str());
                                    out.push_back(static_cast<T>(value));
                                });
              });
}

}}} // namespace cv::cuda::tld

#endif // OPENCV_CUDATRACKING_TLD_MODEL_PARTS_HPP
