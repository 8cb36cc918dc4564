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

/** Version of the file format. Version 5 has no verifyBoxes; 4 has what an object was before a camera cut, which is not
read; 3 has no mark of its end; 2 has no similarity; 1 has no events and fewer parameters. */
const int VERSION = 6;
const int CHUNK_BYTES = 2250;        //!< bytes per string: 3000 base64 digits, as FileStorage limits strings
const double MAX_COORDINATE = 65536; //!< largest coordinate or side of a box, pixels

void writeParams(FileStorage& fs, const TLDParams& params);
//! Reads the version of a file.
int versionOf(const detail::Item& root);
TLDParams readParams(const detail::Item& root);
//! Writes the last value of a file. A YAML file that was cut off lacks it; other formats are not even parsed then.
void writeEnd(FileStorage& fs);
void checkEnd(const detail::Item& root);

void writeLearned(FileStorage& fs, const LearnedObject& object);
void readLearned(const detail::Item& root, const Settings& settings, LearnedObject& object);

//! Writes the tracking state, except `started` and `keptStarted`.
void writeState(FileStorage& fs, const LearnedObject& object);
void readState(const detail::Item& root, int version, const Settings& settings, LearnedObject& object);

//! Writes bytes as a list of base64 texts of `chunk` bytes.
void writeBytes(FileStorage& fs, const std::vector<uint8_t>& bytes, size_t chunk);
//! Reads so many bytes that writeBytes() has written in chunks of CHUNK_BYTES.
void readBytes(const detail::Item& root, const char* name, size_t bytes, std::vector<uint8_t>& out);
//! Reads a list of `least` to `most` integers from `first` to `last`.
void readIntegers(const detail::Item& root, const char* name, int least, int most, int first, int last,
                  std::vector<int>& out);
double readReal(const detail::Item& root, const char* name, double least, double most);

//! Writes the filter of an object that has one.
void writeFilter(FileStorage& fs, const LearnedObject& object);
void readFilter(const detail::Item& root, LearnedObject& object);

//! Writes gray values as base64 chunks.
void writeFrame(FileStorage& fs, const char* name, const std::vector<uint8_t>& gray);
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

}}} // namespace cv::cuda::tld

#endif // OPENCV_CUDATRACKING_TLD_MODEL_PARTS_HPP
