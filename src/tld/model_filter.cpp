// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Files of learned objects: the correlation filter.
#include "../common/file_write.hpp"
#include "model_parts.hpp"
#include <cfloat>
#include <cmath>

namespace cv { namespace cuda { namespace tld {

using namespace detail;

namespace {

const float MAX_VALUE = 1e6f; //!< largest magnitude of a value of a model

} // namespace

void writeFilter(FileStorage& fs, const LearnedObject& o)
{
    using namespace correlation;
    const FilterState& f = o.state.filter;
    const Spectra& m = o.filter.at(0);
    fs << "filter" << MAP << "x" << f.x << "y" << f.y << "scale" << f.scale << "confidence" << f.confidence
       << "meanConfidence" << f.meanConfidence << "firstConfidence" << f.firstConfidence << "confidences"
       << f.confidences;
    writeMatrix(fs, "re", std::vector<float>(m.re[0], m.re[0] + CHANNELS * SPECTRUM), SPECTRUM);
    writeMatrix(fs, "im", std::vector<float>(m.im[0], m.im[0] + CHANNELS * SPECTRUM), SPECTRUM);
    fs << MAP_END;
}

void readFilter(const Item& root, LearnedObject& o)
{
    using namespace correlation;
    FilterState& f = o.state.filter;
    f.x = readReal(root, "x", -MAX_COORDINATE, MAX_COORDINATE);
    f.y = readReal(root, "y", -MAX_COORDINATE, MAX_COORDINATE);
    f.scale = readReal(root, "scale", 0., MAX_COORDINATE);
    if (f.scale != limitedScale(f.scale, o.width, o.height, o.cols, o.rows))
        root.fail("scale is out of its limits for these sizes of object and images");
    // Answers of a model within its limits can be larger than these.
    f.confidence = readReal(root, "confidence", -FLT_MAX, FLT_MAX);
    f.meanConfidence = readReal(root, "meanConfidence", -FLT_MAX, FLT_MAX);
    f.firstConfidence = readReal(root, "firstConfidence", -FLT_MAX, FLT_MAX);
    f.confidences = root.integerOf("confidences", 0, CONFIDENCES);
    f.started = 1;
    o.filter.resize(1);
    std::vector<float> values;
    readMatrix(root, "re", CHANNELS, CHANNELS, SPECTRUM, -MAX_VALUE, MAX_VALUE, values);
    std::copy(values.begin(), values.end(), o.filter[0].re[0]);
    readMatrix(root, "im", CHANNELS, CHANNELS, SPECTRUM, -MAX_VALUE, MAX_VALUE, values);
    std::copy(values.begin(), values.end(), o.filter[0].im[0]);
}

}}} // namespace cv::cuda::tld
