// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// The trackers that tld_benchmark measures: TrackerTLD of this module and its peers, those of OpenCV that this build
// has.
#ifndef OPENCV_CUDATRACKING_SAMPLES_TLD_BENCHMARK_TRACKERS_HPP
#define OPENCV_CUDATRACKING_SAMPLES_TLD_BENCHMARK_TRACKERS_HPP

#include "options.hpp"
#include "opencv2/cudatracking/tld_tracker.hpp"
#include "opencv2/video/tracking.hpp"
#ifdef HAVE_OPENCV_TRACKING
#include "opencv2/tracking.hpp"
#include "opencv2/tracking/tracking_legacy.hpp"
#endif
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>

namespace sample {

//! One interface for the trackers of this module, of OpenCV and of its older interface.
class Follower
{
public:
    virtual ~Follower() = default;
    //! Brings the next frame to where the tracker wants it. Its time does not count.
    virtual void take(const cv::Mat& frame) { frame_ = frame; }
    virtual void init(const cv::Rect& box) = 0;
    //! @return false when the tracker does not report a box.
    virtual bool update(cv::Rect2d& box) = 0;
    //! Returns how sure the tracker is of its last box, 0 to 1; 1 where it does not say.
    virtual double score() const { return 1.; }

protected:
    cv::Mat frame_;
};

//! A row of the table.
struct Contender
{
    std::string name;
    bool peer;
    int runs; //!< 1 where nothing is random
    std::function<std::unique_ptr<Follower>(int seed)> make;
};

namespace detail {

class OursFollower : public Follower
{
public:
    OursFollower(int seed, bool filter, bool cuda) : cuda_(cuda)
    {
        cv::cuda::TLDParams params;
        params.seed = seed;
        params.filter = filter;
        tracker_ = cv::cuda::TrackerTLD::create(params);
    }
    void take(const cv::Mat& frame) override { cuda_ ? onDevice_.upload(frame) : Follower::take(frame); }
    void init(const cv::Rect& box) override { cuda_ ? tracker_->init(onDevice_, box) : tracker_->init(frame_, box); }
    bool update(cv::Rect2d& box) override
    {
        cv::Rect rounded;
        const bool located = cuda_ ? tracker_->update(onDevice_, rounded) : tracker_->update(frame_, rounded);
        if (located)
            box = tracker_->getBox();
        return located;
    }
    double score() const override { return tracker_->getTrackingScore(); }

private:
    bool cuda_;
    cv::Ptr<cv::cuda::TrackerTLD> tracker_;
    cv::cuda::GpuMat onDevice_;
};

class PeerFollower : public Follower
{
public:
    explicit PeerFollower(const cv::Ptr<cv::Tracker>& tracker) : tracker_(tracker) {}
    void init(const cv::Rect& box) override { tracker_->init(frame_, box); }
    bool update(cv::Rect2d& box) override
    {
        cv::Rect whole;
        const bool located = tracker_->update(frame_, whole);
        box = whole;
        return located;
    }
    double score() const override
    {
        if (const cv::Ptr<cv::TrackerNano> nano = tracker_.dynamicCast<cv::TrackerNano>())
            return nano->getTrackingScore();
        if (const cv::Ptr<cv::TrackerVit> vit = tracker_.dynamicCast<cv::TrackerVit>())
            return vit->getTrackingScore();
        return 1.;
    }

private:
    cv::Ptr<cv::Tracker> tracker_;
};

#ifdef HAVE_OPENCV_TRACKING
//! Keeps the fractions of pixels that legacy::upgradeTrackingAPI() rounds away.
class LegacyFollower : public Follower
{
public:
    explicit LegacyFollower(const cv::Ptr<cv::legacy::Tracker>& tracker) : tracker_(tracker) {}
    void init(const cv::Rect& box) override { tracker_->init(frame_, cv::Rect2d(box)); }
    bool update(cv::Rect2d& box) override { return tracker_->update(frame_, box); }

private:
    cv::Ptr<cv::legacy::Tracker> tracker_;
};
#endif

//! Makes a row of a peer. @param create makes a tracker, either of OpenCV's two kinds.
template <class F, class Create> Contender peer(const std::string& name, int runs, const Create& create)
{
    return {name, true, runs,
            [create](int seed)
            {
                std::srand(static_cast<unsigned>(seed)); // MIL and the legacy TLD draw from both
                cv::setRNGSeed(seed);
                return std::unique_ptr<Follower>(new F(create()));
            }};
}

inline std::string modelFile(const Options& options, const std::string& name)
{
    const std::string file = options.text(name);
    if (!std::filesystem::is_regular_file(file))
        throw std::runtime_error("--" + name + "=" + file + ": there is no such file");
#ifndef HAVE_OPENCV_DNN
    throw std::runtime_error("--" + name + ": this OpenCV has no dnn; scripts/build.sh --peers=dnn builds it");
#endif
    return file;
}

} // namespace detail

//! Options of makeContenders().
inline std::vector<Option> trackerOptions()
{
    const int mostRuns = 1 << 20;
    return {integer("seeds", 10, 1, mostRuns, "runs of TrackerTLD on each, with one seed after the other"),
            integer("first-seed", 1, 0, INT_MAX - mostRuns, "first seed"),
            integer("filter", cv::cuda::TLDParams().filter, 0, 1, "1: TrackerTLD with TLDParams.filter, 0: without"),
            flag("peers", "also OpenCV's trackers, as far as this build has them"),
            integer("peer-seeds", 3, 1, mostRuns, "runs of peers that draw random numbers: MIL, legacyTLD"),
            text("only", "", "only these trackers, names as printed, with commas between them"),
            text("nano-backbone", "", "model file of the peer Nano (needs dnn)"),
            text("nano-head", "", "its second model file"),
            text("vit", "", "model file of the peer Vit (needs dnn)")};
}

//! @param absent peers that this build or this call cannot measure, each with the reason.
inline std::vector<Contender> makeContenders(const Options& options, bool cuda, std::vector<std::string>& absent)
{
    using namespace detail;
    const bool filter = options.integer("filter") != 0;
    std::vector<Contender> all = {{cuda ? "TLD-CUDA" : "TLD-CPU", false, options.integer("seeds"),
                                   [filter, cuda](int seed)
                                   { return std::unique_ptr<Follower>(new OursFollower(seed, filter, cuda)); }}};
    for (const char* name : {"nano-backbone", "nano-head", "vit", "peer-seeds"})
        if (options.given(name) && !options.flag("peers"))
            throw UsageError(std::string("--") + name + " needs --peers");
    if (options.given("nano-backbone") != options.given("nano-head"))
        throw UsageError("--nano-backbone and --nano-head need each other");
    if (options.flag("peers"))
    {
        const int random = options.integer("peer-seeds");
        all.push_back(peer<PeerFollower>("MIL", random, [] { return cv::TrackerMIL::create(); }));
#ifdef HAVE_OPENCV_TRACKING
        namespace legacy = cv::legacy;
        all.push_back(peer<PeerFollower>("CSRT", 1, [] { return cv::tracking::TrackerCSRT::create(); }));
        all.push_back(peer<PeerFollower>("KCF", 1, [] { return cv::tracking::TrackerKCF::create(); }));
        all.push_back(peer<LegacyFollower>("legacyTLD", random, [] { return legacy::TrackerTLD::create(); }));
        all.push_back(peer<LegacyFollower>("MedianFlow", 1, [] { return legacy::TrackerMedianFlow::create(); }));
#else
        for (const char* name : {"CSRT", "KCF", "legacyTLD", "MedianFlow"})
            absent.push_back(std::string(name) + ": this OpenCV has no tracking (scripts/build.sh --peers)");
#endif
        cv::TrackerNano::Params nano;
        cv::TrackerVit::Params vit;
        if (options.given("nano-backbone"))
        {
            nano.backbone = modelFile(options, "nano-backbone");
            nano.neckhead = modelFile(options, "nano-head");
            all.push_back(peer<PeerFollower>("Nano", 1, [nano] { return cv::TrackerNano::create(nano); }));
        }
        else
            absent.push_back("Nano: --nano-backbone and --nano-head name no model files");
        if (options.given("vit"))
        {
            vit.net = modelFile(options, "vit");
            all.push_back(peer<PeerFollower>("Vit", 1, [vit] { return cv::TrackerVit::create(vit); }));
        }
        else
            absent.push_back("Vit: --vit names no model file");
    }
    std::vector<Contender> chosen = options.given("only") ? std::vector<Contender>() : all;
    for (const std::string& name : options.list("only", ','))
    {
        const auto found = std::find_if(all.begin(), all.end(), [&](const Contender& c) { return c.name == name; });
        if (found == all.end())
            throw std::runtime_error("--only: there is no tracker " + name + " in this build and call");
        chosen.push_back(*found);
    }
    return chosen;
}

} // namespace sample

#endif // OPENCV_CUDATRACKING_SAMPLES_TLD_BENCHMARK_TRACKERS_HPP
