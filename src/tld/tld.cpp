// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

#include "../common/file_write.hpp"
#include "impl.hpp"
#include <cmath>

namespace cv { namespace cuda {

using namespace tld;

// core_track.hpp has enumerations of its own, because device code cannot include the public header.
static_assert(int(DETECTION_X) == TLDDetector::DETECTION_X && int(DETECTION_Y) == TLDDetector::DETECTION_Y &&
                  int(DETECTION_WIDTH) == TLDDetector::DETECTION_WIDTH &&
                  int(DETECTION_HEIGHT) == TLDDetector::DETECTION_HEIGHT &&
                  int(DETECTION_CONSERVATIVE) == TLDDetector::DETECTION_CONSERVATIVE &&
                  int(DETECTION_RELATIVE) == TLDDetector::DETECTION_RELATIVE &&
                  int(DETECTION_POSTERIOR) == TLDDetector::DETECTION_POSTERIOR &&
                  int(DETECTION_ACCEPTED) == TLDDetector::DETECTION_ACCEPTED &&
                  int(DETECTION_COLUMNS) == TLDDetector::DETECTION_COLUMNS,
              "columns of detections");
static_assert(int(COUNT_STORED) == TLDDetector::COUNT_STORED && int(COUNT_WINDOWS) == TLDDetector::COUNT_WINDOWS &&
                  int(COUNT_WITH_VARIANCE) == TLDDetector::COUNT_WITH_VARIANCE &&
                  int(COUNT_PASSED) == TLDDetector::COUNT_PASSED && int(COUNT_ACCEPTED) == TLDDetector::COUNT_ACCEPTED,
              "columns of the counts of detections");

namespace {

class TLDDetectorImpl final : public TLDDetector, public detail::Lockable<TLDDetectorImpl>
{
public:
    explicit TLDDetectorImpl(const TLDParams& params) : objects_(NAME, params, false) {}

    TLDParams getParams() const override { return locked()->objects_.params(); }

    void init(InputArray image, const Rect& box, Stream& stream) override
    {
        locked()->objects_.learn(image, box, 0, true, stream);
    }
    void detect(InputArray image, OutputArray objects, Stream& stream) override
    {
        const auto lock = locked();
        const InputImage input(NAME, image);
        objects_.check(input, "detect()");
        detail::Output out("objects", objects, 1 + objects_.settings().maxDetections, DETECTION_COLUMNS, CV_64FC1,
                           {input.onDevice, detail::handleOf(stream)});
        Engine& engine = objects_.engineFor(input, stream);
        engine.detect(input.view(), out.allocate(), objects_.handleOf(stream));
    }
    void learn(InputArray image, const Rect& box, Stream& stream) override
    {
        const auto lock = locked();
        const InputImage input(NAME, image);
        objects_.check(input, "learn()");
        objects_.checkBox(box, input.size());
        objects_.engineFor(input, stream).learn(input.view(), windowOf(box), objects_.handleOf(stream));
    }

    void getTemplates(bool positive, OutputArray images) const override
    {
        locked()->objects_.templates(0, positive, images);
    }
    size_t workspaceBytes() const override { return locked()->objects_.workspaceBytes(); }

    void clear() override { locked()->objects_.clear(); }
    bool empty() const override { return locked()->objects_.empty(); }
    void save(const String& filename) const override
    {
        const auto lock = locked();
        detail::writeStorage(
            filename, NAME, [this](FileStorage& fs) { write(fs); }, FileStorage::BASE64);
    }
    void write(FileStorage& fs) const override
    {
        const auto lock = locked();
        writeFormat(fs);
        if (objects_.empty())
            writeNoObject(fs, objects_.params());
        else
            writeObject(fs, objects_.savedObject(0, false));
    }
    void load(const String& filename) override { locked()->load(loadObject(filename)); }
    void read(const FileNode& fn) override { locked()->load(readObject(fn, NAME)); }

private:
    static constexpr const char* NAME = "TLDDetector";

    void load(SavedObject saved)
    {
        TrackedObjects other(NAME, saved.params, false);
        if (saved.hasObject)
        {
            forgetPosition(saved.object.state);
            other.load(saved);
        }
        objects_.replaceBy(std::move(other));
    }

    TrackedObjects objects_;
};

} // namespace

Ptr<TLDDetector> TLDDetector::create(const TLDParams& params) { return makePtr<TLDDetectorImpl>(params); }

void TLDDetector::initRounded(InputArray image, const Rect2d& box, Stream& stream)
{
    init(image, rounded("TLDDetector", box), stream);
}
void TLDDetector::learnRounded(InputArray image, const Rect2d& box, Stream& stream)
{
    learn(image, rounded("TLDDetector", box), stream);
}

String TLDDetector::getDefaultName() const { return "TLDDetector"; }

void TLDDetector::convertDetections(InputArray objects, std::vector<Rect>& boxes, std::vector<float>& scores, bool all,
                                    Stream& stream)
{
    const detail::Array given("objects", objects);
    const Size size = given.size();
    if (given.type() != CV_64FC1 || size.height < 1 || size.width != DETECTION_COLUMNS)
        CV_Error_(given.type() != CV_64FC1 ? Error::StsUnsupportedFormat : Error::StsBadSize,
                  ("TLDDetector: objects: %d x %d of %s is not a table of detect()", size.height, size.width,
                   typeToString(given.type()).c_str()));
    const Mat table = given.onDevice ? Mat(size, CV_64FC1) : given.host;
    if (given.onDevice)
        detail::fetch(
            "TLDDetector", "convertDetections()",
            {{given.device.data, given.device.step, table.data, table.step, size.width * sizeof(double), size.height}},
            detail::handleOf(stream));
    const double stored = table.at<double>(0, COUNT_STORED);
    if (!(stored >= 0. && stored <= table.rows - 1.) || stored != std::floor(stored))
        CV_Error_(Error::StsOutOfRange,
                  ("TLDDetector: objects: %g of %d rows is not a number of detections", stored, table.rows - 1));
    const int count = static_cast<int>(stored);
    std::vector<Rect> found;
    std::vector<float> similarities;
    for (int i = 1; i <= count; ++i)
    {
        const double* const row = table.ptr<double>(i);
        for (int k = DETECTION_X; k <= DETECTION_HEIGHT; ++k)
            if (!(std::abs(row[k]) <= MAX_SIDE))
                CV_Error_(Error::StsOutOfRange, ("TLDDetector: objects: row %d, column %d is %g", i, k, row[k]));
        if (!all && row[DETECTION_ACCEPTED] == 0.)
            continue;
        found.emplace_back(cvRound(row[DETECTION_X]), cvRound(row[DETECTION_Y]), cvRound(row[DETECTION_WIDTH]),
                           cvRound(row[DETECTION_HEIGHT]));
        similarities.push_back(static_cast<float>(row[DETECTION_CONSERVATIVE]));
    }
    boxes.swap(found);
    scores.swap(similarities);
}

}} // namespace cv::cuda
