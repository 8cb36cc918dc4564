// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

#include "arguments.hpp"
#include "model.hpp"
#include <cmath>

namespace cv { namespace cuda {

TLDParams::TLDParams()
    : seed(1),
      learning(true),
      mirror(false),
      minReplyScore(0.f),
      minWindow(0),
      scaleFactor(1.2),
      scales(10),
      stepPercent(10),
      trees(10),
      features(13),
      fernThreshold(0.5),
      maxDetections(100),
      nnThreshold(0.65),
      validThreshold(0.7),
      maxPositives(200),
      maxNegatives(400),
      initWindows(20),
      initWarps(19),
      updateWindows(10),
      updateWarps(9),
      initAngle(10.),
      updateAngle(5.),
      warpScale(0.01),
      warpShift(0.01),
      warpNoise(5.),
      initNegatives(100),
      flowWindow(9),
      flowLevels(5),
      flowIterations(20),
      flowEpsilon(0.03),
      maxFlowError(10.),
      retryFrames(3),
      maxUnsupported(3),
      maxProbation(100),
      jumpMargin(0.1),
      firstJumpMargin(0.2)
{}

namespace tld {

namespace {

//! Checks numbers against their ranges.
struct Ranges
{
    const char* owner;

    int integer(const char* name, int value, int least, int most) const
    {
        if (value < least || value > most)
            CV_Error_(Error::StsOutOfRange, ("%s: %s must be %d to %d, this is %d", owner, name, least, most, value));
        return value;
    }
    double real(const char* name, double value, double least, double most) const
    {
        if (!(value >= least && value <= most))
            CV_Error_(Error::StsOutOfRange,
                      ("%s: %s must be %g to %g, this is %.17g", owner, name, least, most, value));
        return value;
    }
};

} // namespace

Settings settingsOf(const TLDParams& p, const char* owner)
{
    const Ranges in = {owner};
    const double radian = CV_PI / 180.;
    Settings s = {};
    s.seed = static_cast<uint64_t>(in.integer("seed", p.seed, 0, INT_MAX));
    s.learning = p.learning;
    s.mirror = p.mirror;
    s.minReplyScore = in.real("minReplyScore", p.minReplyScore, 0., 1.);
    s.minWindow = in.integer("minWindow", p.minWindow, 0, MAX_SIDE);
    if (s.minWindow > 0)
        in.integer("minWindow", p.minWindow, MIN_BOX, MAX_SIDE);
    s.scaleFactor = in.real("scaleFactor", p.scaleFactor, 1.01, 2.);
    s.scales = in.integer("scales", p.scales, 0, (MAX_SCALES - 1) / 2);
    s.stepPercent = in.integer("stepPercent", p.stepPercent, 1, 100);
    s.trees = in.integer("trees", p.trees, 1, MAX_TREES);
    s.features = in.integer("features", p.features, 1, MAX_FEATURES);
    in.integer("trees * features", p.trees * p.features, 1, ALL_FEATURES);
    s.fernThreshold =
        static_cast<uint32_t>(roundEven(in.real("fernThreshold", p.fernThreshold, 0., 1.) * POSTERIOR_ONE * p.trees));
    s.maxDetections = in.integer("maxDetections", p.maxDetections, 1, MAX_DETECTIONS);
    s.nnThreshold = in.real("nnThreshold", p.nnThreshold, 0., 1.);
    s.validThreshold = in.real("validThreshold", p.validThreshold, 0., 1.);
    s.maxPositives = in.integer("maxPositives", p.maxPositives, 2, MAX_POSITIVES);
    s.maxNegatives = in.integer("maxNegatives", p.maxNegatives, 2, MAX_NEGATIVES);
    s.initNegatives = in.integer("initNegatives", p.initNegatives, 2, MAX_INIT_NEGATIVES);
    s.initWindows = in.integer("initWindows", p.initWindows, 1, MAX_NEAR);
    s.initWarps = in.integer("initWarps", p.initWarps, 0, MAX_WARPS);
    s.updateWindows = in.integer("updateWindows", p.updateWindows, 1, MAX_NEAR);
    s.updateWarps = in.integer("updateWarps", p.updateWarps, 0, MAX_WARPS);
    s.initAngle = in.real("initAngle", p.initAngle, 0., 45.) * radian;
    s.updateAngle = in.real("updateAngle", p.updateAngle, 0., 45.) * radian;
    s.warpScale = in.real("warpScale", p.warpScale, 0., 0.5);
    s.warpShift = in.real("warpShift", p.warpShift, 0., 0.5);
    s.warpNoise = in.real("warpNoise", p.warpNoise, 0., 64.);
    s.flowWindow = in.integer("flowWindow", p.flowWindow, 3, MAX_FLOW_WINDOW);
    if (s.flowWindow % 2 == 0)
        CV_Error_(Error::StsOutOfRange, ("%s: flowWindow must be odd, this is %d", owner, p.flowWindow));
    s.flowLevels = in.integer("flowLevels", p.flowLevels, 0, MAX_LEVELS - 1);
    s.flowIterations = in.integer("flowIterations", p.flowIterations, 1, 100);
    s.flowEpsilon = in.real("flowEpsilon", p.flowEpsilon, 0., 16.);
    s.maxFlowError = in.real("maxFlowError", p.maxFlowError, 0., MAX_SIDE);
    s.retryFrames = in.integer("retryFrames", p.retryFrames, 0, KEPT_FRAMES - 2);
    s.maxUnsupported = in.integer("maxUnsupported", p.maxUnsupported, 0, INT_MAX);
    s.maxProbation = in.integer("maxProbation", p.maxProbation, 0, INT_MAX);
    s.jumpMargin = in.real("jumpMargin", p.jumpMargin, 0., 1.);
    s.firstJumpMargin = in.real("firstJumpMargin", p.firstJumpMargin, 0., 1.);
    return s;
}

Picture::Picture(const char* owner, InputArray image) : onDevice(detail::onDevice(image))
{
    if (onDevice)
        device = detail::deviceArray("image", image);
    else
        host = detail::hostArray("image", image);
    const int cn = CV_MAT_CN(type());
    if (size().empty())
        CV_Error_(Error::StsBadArg, ("%s: image: is empty", owner));
    if (CV_MAT_DEPTH(type()) != CV_8U || (cn != 1 && cn != 3 && cn != 4))
        CV_Error_(Error::StsUnsupportedFormat,
                  ("%s: image: takes CV_8U with 1, 3 or 4 channels, this is %s", owner, typeToString(type()).c_str()));
    const int least = std::min(size().width, size().height), most = std::max(size().width, size().height);
    if (least < MIN_SIDE || most > MAX_SIDE || static_cast<int64_t>(least) * most > MAX_PIXELS)
        CV_Error_(Error::StsOutOfRange, ("%s: image: %d x %d pixels, sides can have %d to %d, and all of it %d", owner,
                                         size().width, size().height, MIN_SIDE, MAX_SIDE, MAX_PIXELS));
}

Window windowOf(const Rect& box) { return {box.x, box.y, box.width, box.height}; }

// --- Objects ---------------------------------------------------------------------------------------------------------

void Objects::checkBox(const Rect& box, Size picture) const
{
    const int least = std::max(MIN_BOX, settings_.minWindow);
    if (box.width < least || box.height < least)
        CV_Error_(Error::StsOutOfRange,
                  ("%s: box: %d x %d pixels, %d are the least", owner_, box.width, box.height, least));
    if (box.x < 0 || box.y < 0 || box.x > picture.width - box.width || box.y > picture.height - box.height)
        CV_Error_(Error::StsOutOfRange, ("%s: box: %d, %d, %d x %d is not inside of a picture of %d x %d", owner_,
                                         box.x, box.y, box.width, box.height, picture.width, picture.height));
}

void Objects::checkLike(const Picture& picture) const
{
    if (picture.size() != size_)
        CV_Error_(Error::StsUnmatchedSizes, ("%s: image: %d x %d pixels, those before had %d x %d", owner_,
                                             picture.size().width, picture.size().height, size_.width, size_.height));
    if (settled_ && picture.type() != type_)
        CV_Error_(Error::StsUnmatchedFormats, ("%s: image: is %s, those before were %s", owner_,
                                               typeToString(picture.type()).c_str(), typeToString(type_).c_str()));
    if (settled_ && picture.onDevice != device_)
        CV_Error_(Error::StsBadArg,
                  ("%s: image: is on the %s, those before were not", owner_, picture.onDevice ? "device" : "host"));
}

std::unique_ptr<Engine> Objects::makeEngine(bool device) const
{
    return device ? makeCudaEngine(settings_) : makeCpuEngine(settings_);
}

void Objects::replaceEngine(std::unique_ptr<Engine> engine)
{
    if (engine_ && engine_->captured())
        former_.push_back(std::move(engine_));
    engine_ = std::move(engine);
}

void Objects::become(Objects&& others)
{
    former_.reserve(former_.size() + 1);
    replaceEngine(std::move(others.engine_));
    params_ = others.params_;
    settings_ = others.settings_;
    device_ = others.device_;
    settled_ = others.settled_;
    framed_ = others.framed_;
    size_ = others.size_;
    type_ = others.type_;
}

size_t Objects::workspaceBytes() const
{
    size_t bytes = engine_ ? engine_->workspaceBytes() : 0;
    for (const std::unique_ptr<Engine>& engine : former_)
        bytes += engine->workspaceBytes();
    return bytes;
}

Engine& Objects::engine(const char* what) const
{
    if (empty())
        CV_Error_(Error::StsError, ("%s: %s: there is no object yet", owner_, what));
    return *engine_;
}

void Objects::check(const Picture& picture, const char* what) const
{
    engine(what);
    checkLike(picture);
}

Engine& Objects::engineFor(const Picture& picture, const Stream& stream)
{
    if (!settled_ && picture.onDevice != device_)
    {
        std::unique_ptr<Engine> other = makeEngine(picture.onDevice);
        for (int i = 0; i < engine_->objects(); ++i)
        {
            Learned object;
            engine_->read(i, object);
            other->add(object, nullptr, picture.onDevice ? detail::handleOf(stream) : nullptr); // refuses captures
        }
        other->setHistory(engine_->history());
        replaceEngine(std::move(other));
    }
    settle(picture);
    return *engine_;
}

void Objects::learn(InputArray image, const Rect& box, uint32_t number, bool only, Stream& stream)
{
    const Picture picture(owner_, image);
    checkBox(box, picture.size());
    if (!only && !empty())
        checkLike(picture);
    if (makeGrid(box.width, box.height, picture.size().width, picture.size().height, settings_).windows > MAX_WINDOWS)
        CV_Error_(Error::StsOutOfRange, ("%s: box: %d x %d pixels, with these parameters, makes more than %d windows",
                                         owner_, box.width, box.height, MAX_WINDOWS));
    const bool same = engine_ && size_ == picture.size() && device_ == picture.onDevice;
    std::unique_ptr<Engine> fresh;
    if (!same)
        fresh = makeEngine(picture.onDevice);
    Engine& engine = same ? *engine_ : *fresh;
    if (!engine.add(picture.view(), windowOf(box), number, picture.onDevice ? detail::handleOf(stream) : nullptr))
        CV_Error_(Error::StsBadArg, ("%s: box: %d, %d, %d x %d is of one gray value, or no window is like it", owner_,
                                     box.x, box.y, box.width, box.height));
    while (only && engine.objects() > 1)
        engine.remove(0);
    if (fresh)
        replaceEngine(std::move(fresh));
    settle(picture);
}

void Objects::settle(const Picture& picture)
{
    settled_ = framed_ = true;
    device_ = picture.onDevice;
    size_ = picture.size();
    type_ = picture.type();
}

void Objects::take(const Saved& saved)
{
    std::unique_ptr<Engine> fresh = makeEngine(false);
    fresh->add(saved.object, nullptr, nullptr);
    fresh->setHistory(saved.history);
    replaceEngine(std::move(fresh));
    device_ = settled_ = false;
    framed_ = std::any_of(saved.history.begin(), saved.history.end(),
                          [](const std::vector<uint8_t>& frame) { return !frame.empty(); });
    size_ = Size(saved.object.cols, saved.object.rows);
}

void Objects::add(const Saved& saved, const Picture& picture, Stream& stream)
{
    if (picture.size() != Size(saved.object.cols, saved.object.rows))
        CV_Error_(Error::StsUnmatchedSizes,
                  ("%s: the file's pictures have %d x %d pixels, this one %d x %d", owner_, saved.object.cols,
                   saved.object.rows, picture.size().width, picture.size().height));
    const PictureView frame = picture.view();
    if (!empty())
    {
        checkLike(picture);
        engine_->add(saved.object, &frame, handleOf(stream));
        return;
    }
    std::unique_ptr<Engine> fresh = makeEngine(picture.onDevice);
    fresh->add(saved.object, &frame, picture.onDevice ? detail::handleOf(stream) : nullptr);
    replaceEngine(std::move(fresh));
    settle(picture);
}

void Objects::reset(int index, const Rect& box)
{
    engine("resetTo()");
    if (!framed_)
        CV_Error_(Error::StsError, ("%s: resetTo(): there is no last frame yet", owner_));
    checkBox(box, size_);
    engine_->reset(index, boxOf(windowOf(box)));
}

void Objects::clear()
{
    while (!empty())
        engine_->remove(engine_->objects() - 1);
    settled_ = false;
}

void Objects::setLearning(bool learning)
{
    settings_.learning = learning;
    if (engine_)
        engine_->setLearning(learning);
}

std::array<double, RESULT_COLUMNS> Objects::result(int index) const
{
    std::array<double, RESULT_COLUMNS> row = {};
    if (!empty())
        engine_->readResult(index, row.data());
    return row;
}

void Objects::detections(int index, OutputArray objects) const
{
    Engine& from = engine("getDetections()");
    const detail::Output out("objects", objects, 1 + settings_.maxDetections, RESULT_COLUMNS, CV_64FC1, false);
    Mat_<double> table(1 + settings_.maxDetections, RESULT_COLUMNS);
    from.readDetections(index, table.ptr<double>());
    for (int y = 0; out && y < table.rows; ++y)
        std::copy_n(table[y], RESULT_COLUMNS, out.as<double>().row(y));
}

void Objects::templates(int index, bool positive, OutputArray pictures) const
{
    Learned object;
    engine("getTemplates()").read(index, object);
    const std::vector<uint8_t>& pixels = positive ? object.positives : object.negatives;
    const detail::Output out("pictures", pictures, static_cast<int>(pixels.size() / PATCH), PATCH, CV_8UC1, false);
    for (int y = 0; out && y < out.view().rows; ++y)
        std::copy_n(&pixels[static_cast<size_t>(y) * PATCH], PATCH, out.as<uint8_t>().row(y));
}

Saved Objects::saved(int index, bool tracking) const
{
    Saved saved;
    Engine& from = engine("write()");
    saved.params = params_;
    saved.params.learning = learning();
    from.read(index, saved.object);
    if (tracking)
        saved.history = from.history();
    else
        forgetPlace(saved.object.state);
    return saved;
}

} // namespace tld
}} // namespace cv::cuda
