// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

#include "model_parts.hpp"
#include "../common/file_write.hpp"
#include "arguments.hpp"
#include "model.hpp"
#include <algorithm>

namespace cv { namespace cuda { namespace tld {

using namespace detail;

namespace {

const int MAX_COUNT = 1 << 30; //!< largest count of a leaf

// --- parameters ------------------------------------------------------------------------------------------------------

//! Reads the members of TLDParams.
struct ParamReader
{
    const Item& item;

    void operator()(const char* name, int& value, int, int, int) const
    {
        value = item.integerOf(name, INT_MIN, INT_MAX);
    }
    void operator()(const char* name, bool& value, bool, bool, bool) const { value = item.integerOf(name, 0, 1) != 0; }
    void operator()(const char* name, float& value, float, float, float) const { value = item.finiteOf(name); }
    void operator()(const char* name, double& value, double, double, double) const
    {
        item.with(name, [&](const Item& number) { value = number.real(); });
    }
};

//! Returns names and values of all parameters; those that a tracker may change for an object of a file have one value
//! for all.
std::vector<std::pair<const char*, double>> comparedValues(TLDParams p)
{
    p.seed = 0; // files contain the comparisons of the ferns
    p.learning = false;
    p.minReplyScore = 0.f;
    p.clipBoxes = p.filter = p.verifyBoxes = p.correctByBoxes = p.findByBoxes = p.startFromBoxes = false;
    p.boxOverlap = 1.;
    p.endAfterMisses = 0;
    std::vector<std::pair<const char*, double>> values;
    eachParameter(p, [&](const char* name, auto value, auto, auto, auto)
                  { values.emplace_back(name, static_cast<double>(value)); });
    return values;
}

} // namespace

std::string learningDifference(const TLDParams& saved, const TLDParams& own)
{
    const auto theirs = comparedValues(saved), ours = comparedValues(own);
    for (size_t i = 0; i < theirs.size(); ++i)
        if (theirs[i].second != ours[i].second)
            return cv::format("%s is %.17g, that of this tracker is %.17g", theirs[i].first, theirs[i].second,
                              ours[i].second);
    return std::string();
}

void writeParams(FileStorage& fs, const TLDParams& params)
{
    fs << "version" << VERSION << "params" << MAP;
    eachParameter(params,
                  [&](const char* name, auto value, auto, auto, auto)
                  {
                      fs << name;
                      if (std::is_same<decltype(value), bool>::value)
                          fs << static_cast<int>(value);
                      else
                          fs << value;
                  });
    fs << MAP_END;
}

TLDParams readParams(const Item& root)
{
    TLDParams params;
    root.with("params", [&](const Item& item) { eachParameter(params, ParamReader{item}); });
    return params;
}

// --- writing ---------------------------------------------------------------------------------------------------------

namespace {

template <typename List> void writeValues(FileStorage& fs, const char* name, const List& numbers)
{
    fs << name << ROW;
    for (const auto& number : numbers)
        fs << number;
    fs << LIST_END;
}

std::vector<double> valuesOf(const Box& b) { return {b.x, b.y, b.w, b.h}; }

} // namespace

void writeLearned(FileStorage& fs, const LearnedObject& o)
{
    const ObjectState& s = o.state;
    writeValues(fs, "size", std::vector<int>{o.width, o.height});
    writeValues(fs, "pictureSize", std::vector<int>{o.cols, o.rows});
    fs << "number" << static_cast<int>(s.number) << "frame" << static_cast<int>(s.frame) << "contrast" << s.contrast;
    fs << "fernThreshold" << static_cast<int>(s.fernThreshold);
    fs << "nnThreshold" << s.nnThreshold << "validThreshold" << s.validThreshold;
    std::vector<int> features, leaves;
    for (const Feature& f : o.features)
        features.insert(features.end(), {f.x0, f.y0, f.x1, f.y1});
    writeValues(fs, "features", features);
    for (size_t i = 0; i < o.leaves.size(); ++i)
        if (o.leaves[i].positives || o.leaves[i].negatives)
            leaves.insert(leaves.end(), {static_cast<int>(i), o.leaves[i].positives, o.leaves[i].negatives});
    writeValues(fs, "leaves", leaves);
    writeValues(fs, "order", std::vector<int>(o.order.begin(), o.order.end()));
    writeMatrix(fs, "positives", o.positives, PATCH_PIXELS);
    writeMatrix(fs, "negatives", o.negatives, PATCH_PIXELS);
    if (s.filter.started)
        writeFilter(fs, o);
}

void writeState(FileStorage& fs, const LearnedObject& o)
{
    const ObjectState& s = o.state;
    fs << "alive" << s.alive << "valid" << s.valid << "learned" << s.learned << "event" << s.event << "score" << s.score
       << "similarity" << s.similarity;
    writeValues(fs, "box", valuesOf(s.box));
    fs << "unsupported" << s.unsupported << "onProbation" << s.onProbation;
    fs << "retries" << s.retries << "keptAge" << s.keptAge << "keptValid" << s.keptValid;
    writeValues(fs, "keptBox", valuesOf(s.keptBox));
}

// --- reading ---------------------------------------------------------------------------------------------------------

void readIntegers(const Item& root, const char* name, int least, int most, int first, int last, std::vector<int>& out)
{
    readList(root, name, least, most, [&](const Item& number, int) { out.push_back(number.integer(first, last)); });
}

double readReal(const Item& root, const char* name, double least, double most)
{
    double value = 0.;
    root.with(name,
              [&](const Item& item)
              {
                  value = item.real();
                  if (!(value >= least && value <= most))
                      item.fail(format("a number from %g to %g is needed here", least, most).c_str());
              });
    return value;
}

namespace {

Box readBox(const Item& root, const char* name, bool real)
{
    double v[4] = {};
    root.with(name,
              [&](const Item& list)
              {
                  list.list(4, 4);
                  list.each([&](const Item& number, int k) { v[k] = number.real(); });
                  for (int k = 0; k < 4; ++k)
                      if (!(v[k] >= (k < 2 ? -MAX_COORDINATE : real ? 1. : 0.) && v[k] <= MAX_COORDINATE))
                          list.fail("is not a box");
              });
    return {v[0], v[1], v[2], v[3]};
}

void readLeaves(const Item& root, std::vector<Leaf>& leaves)
{
    const int count = static_cast<int>(leaves.size());
    int leaf = -1, values = 0;
    readList(root, "leaves", 0, 3 * count,
             [&](const Item& number, int i)
             {
                 if (i % 3 == 0)
                     leaf = number.integer(leaf + 1, count - 1); // ascending
                 else
                     (i % 3 == 1 ? leaves[leaf].positives : leaves[leaf].negatives) = number.integer(0, MAX_COUNT);
                 ++values;
             });
    if (values % 3 != 0)
        root.fail("leaves: each has three values");
}

void readSizes(const Item& root, const Settings& settings, LearnedObject& o)
{
    std::vector<int> size, image;
    readIntegers(root, "pictureSize", 2, 2, MIN_SIDE, MAX_SIDE, image);
    readIntegers(root, "size", 2, 2, MIN_BOX, MAX_SIDE, size);
    o.width = size[0];
    o.height = size[1];
    o.cols = image[0];
    o.rows = image[1];
    if (o.width > o.cols || o.height > o.rows || static_cast<int64_t>(o.cols) * o.rows > MAX_PIXELS)
        root.fail("objects must fit into their images, and these have a largest size");
    if (makeGrid(o.width, o.height, o.cols, o.rows, settings).windows > MAX_WINDOWS)
        root.fail("there are too many windows");
}

} // namespace

void readLearned(const Item& root, const Settings& settings, LearnedObject& o)
{
    ObjectState& s = o.state;
    readSizes(root, settings, o);
    s.number = static_cast<uint32_t>(root.integerOf("number", 0, INT_MAX));
    s.frame = static_cast<uint32_t>(root.integerOf("frame", 0, INT_MAX / 2));
    s.contrast = root.integerOf("contrast", 1, 1 << 30);
    s.fernThreshold =
        static_cast<uint32_t>(root.integerOf("fernThreshold", 0, settings.trees * static_cast<int>(POSTERIOR_ONE)));
    s.nnThreshold = readReal(root, "nnThreshold", 0., 1.);
    s.validThreshold = readReal(root, "validThreshold", 0., 1.);
    std::vector<int> features, order;
    const int comparisons = settings.trees * settings.features;
    readIntegers(root, "features", 4 * comparisons, 4 * comparisons, 0, FEATURE_UNIT, features);
    for (int i = 0; i < comparisons; ++i)
    {
        const auto at = [&](int k) { return static_cast<uint16_t>(features[4 * i + k]); };
        o.features.push_back({at(0), at(1), at(2), at(3)});
    }
    o.leaves.resize(static_cast<size_t>(settings.trees) << settings.features, Leaf());
    readLeaves(root, o.leaves);
    readMatrix(root, "positives", 0, settings.maxPositives, PATCH_PIXELS, 0, 255, o.positives);
    readMatrix(root, "negatives", 0, settings.maxNegatives, PATCH_PIXELS, 0, 255, o.negatives);
    s.positives = static_cast<int32_t>(o.positives.size() / PATCH_PIXELS);
    s.negatives = static_cast<int32_t>(o.negatives.size() / PATCH_PIXELS);
    readIntegers(root, "order", s.positives, s.positives, 0, s.positives - 1, order);
    o.order.assign(order.begin(), order.end());
    std::sort(order.begin(), order.end());
    if (std::adjacent_find(order.begin(), order.end()) != order.end())
        root.fail("order has a template twice");
    s.filter.width = o.width;
    s.filter.height = o.height;
    if (root.has("filter"))
        root.with("filter", [&](const Item& item) { readFilter(item, o); });
}

void readFrame(const Item& root, const char* name, const LearnedObject& o, std::vector<uint8_t>& gray)
{
    readMatrix(root, name, o.rows, o.rows, o.cols, 0, 255, gray);
}

//! Reads the event of the last frame, which says whether there is a box.
static int readEvent(const Item& root, bool alive)
{
    const int event = root.integerOf("event", NO_EVENT, FILTERED);
    if (event > RECOGNIZED && event < FILTERED)
        root.fail("event: there is none of this number");
    if (alive == (event == NO_EVENT || event == BECAME_LOST))
        root.fail(format("event: %d cannot be that of an object with alive %d", event, alive ? 1 : 0).c_str());
    return event;
}

void readState(const Item& root, const Settings& settings, LearnedObject& o)
{
    ObjectState& s = o.state;
    s.alive = root.integerOf("alive", 0, 1);
    s.valid = root.integerOf("valid", 0, s.alive);
    s.learned = root.integerOf("learned", 0, 1);
    s.event = readEvent(root, s.alive != 0);
    s.score = readReal(root, "score", 0., 1.);
    s.similarity = readReal(root, "similarity", 0., 1.);
    s.box = readBox(root, "box", s.alive != 0);
    s.unsupported = root.integerOf("unsupported", 0, INT_MAX - 1);
    s.onProbation = root.integerOf("onProbation", 0, INT_MAX - 1);
    s.retries = root.integerOf("retries", 0, s.alive ? 0 : settings.retryFrames);
    s.keptAge = root.integerOf("keptAge", 0, KEPT_FRAMES - 1 - s.retries);
    s.keptValid = root.integerOf("keptValid", 0, 1);
    s.keptBox = readBox(root, "keptBox", s.retries > 0);
    if (s.alive && isOutside(s.box, o.cols, o.rows))
        root.fail("box is outside of the image");
}

}}} // namespace cv::cuda::tld
