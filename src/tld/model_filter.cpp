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

//! Calls visit(name, values, rows, cols, least, most) for the parts of a model, except the histograms. @tparam Model
//! FilterModel, const or not.
template <typename Model, typename Visit> void eachPart(Model& m, const Visit& visit)
{
    visit("re", m.re[0], FILTER_CHANNELS, FILTER_SPECTRUM, -MAX_VALUE, MAX_VALUE);
    visit("im", m.im[0], FILTER_CHANNELS, FILTER_SPECTRUM, -MAX_VALUE, MAX_VALUE);
    visit("energy", m.energy, 1, FILTER_SPECTRUM, 0.f, MAX_VALUE);
    visit("scaleRe", m.scaleRe[0], SCALE_FREQUENCIES, SCALE_ROWS, -MAX_VALUE, MAX_VALUE);
    visit("scaleIm", m.scaleIm[0], SCALE_FREQUENCIES, SCALE_ROWS, -MAX_VALUE, MAX_VALUE);
    visit("scaleEnergy", m.scaleEnergy, 1, SCALE_FREQUENCIES, 0.f, MAX_VALUE);
}

} // namespace

void writeFilter(FileStorage& fs, const LearnedObject& o)
{
    const FilterState& f = o.state.filter;
    const FilterModel& m = o.filter.at(0);
    fs << "filter" << MAP << "x" << f.x << "y" << f.y << "scale" << f.scale << "confidence" << f.confidence
       << "meanConfidence" << f.meanConfidence << "confidences" << f.confidences << "colour" << f.colour;
    eachPart(m, [&](const char* name, const float* values, int rows, int cols, float, float)
             { writeMatrix(fs, name, std::vector<float>(values, values + rows * cols), cols); });
    std::vector<float> parts;
    fs << "bins" << ROW;
    for (int b = 0; b < HISTOGRAM_BINS; ++b)
        if (m.foreground[b] != 0.f || m.background[b] != 0.f)
        {
            fs << b;
            parts.insert(parts.end(), {m.foreground[b], m.background[b]});
        }
    fs << LIST_END;
    writeMatrix(fs, "parts", parts, 2);
    fs << MAP_END;
}

void readFilter(const Item& root, LearnedObject& o)
{
    FilterState& f = o.state.filter;
    f.x = readReal(root, "x", -MAX_COORDINATE, MAX_COORDINATE);
    f.y = readReal(root, "y", -MAX_COORDINATE, MAX_COORDINATE);
    f.scale = readReal(root, "scale", 0., MAX_COORDINATE);
    if (f.scale != limitedScale(f.scale, o.width, o.height, o.cols, o.rows))
        root.fail("scale is out of its limits for these sizes of object and images");
    // Answers of a model within its limits can be larger than these.
    f.confidence = readReal(root, "confidence", -FLT_MAX, FLT_MAX);
    f.meanConfidence = readReal(root, "meanConfidence", -FLT_MAX, FLT_MAX);
    f.confidences = root.integerOf("confidences", 0, CONFIDENCES);
    f.colour = root.integerOf("colour", 0, 1);
    f.started = 1;
    o.filter.resize(1);
    FilterModel& m = o.filter[0];
    std::vector<float> parts;
    eachPart(m,
             [&](const char* name, float* values, int rows, int cols, float least, float most)
             {
                 readMatrix(root, name, rows, rows, cols, least, most, parts);
                 std::copy(parts.begin(), parts.end(), values);
             });
    std::vector<int> bins;
    readIntegers(root, "bins", 0, HISTOGRAM_BINS, 0, HISTOGRAM_BINS - 1, bins);
    const int count = static_cast<int>(bins.size());
    readMatrix(root, "parts", count, count, 2, 0.f, 1.f, parts);
    for (size_t i = 0; i < bins.size(); ++i)
    {
        if (i > 0 && bins[i] <= bins[i - 1])
            root.fail("bins must ascend");
        m.foreground[bins[i]] = parts[2 * i];
        m.background[bins[i]] = parts[2 * i + 1];
    }
}

}}} // namespace cv::cuda::tld
