// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Camera cuts, random scripts: several scenes in turn, objects that are added, removed, reset and saved in any of them. The events must
// be those that the documented rules allow.
#include "scenes.hpp"
#include <map>

namespace opencv_test { namespace {

using namespace tld;

const int SCENES = 4;

//! Scenes that cannot be taken for each other, because each has its own layout. The camera moves a little in each.
class Scenes
{
public:
    explicit Scenes(uint64 seed, Size size) : size_(size)
    {
        for (int s = 0; s < SCENES; ++s)
        {
            Mat wide = texture(seed * SCENES + s, size + Size(16, 16), CV_8UC1, 4), light(wide.size(), CV_8UC1);
            for (int y = 0; y < light.rows; ++y)
                for (int x = 0; x < light.cols; ++x)
                {
                    const double along =
                        s % 2 ? static_cast<double>(x) / light.cols : static_cast<double>(y) / light.rows;
                    light.at<uchar>(y, x) = saturate_cast<uchar>(190 * (s < 2 ? along : 1 - along));
                }
            cv::addWeighted(wide, 0.25, light, 1., 0., images_[s]);
        }
    }
    Mat frame(int scene, int t) const { return images_[scene](Rect(Point(t % 5, t / 2 % 5), size_)).clone(); }
    Rect box(RNG& rng) const
    {
        const Size side(rng.uniform(20, 40), rng.uniform(20, 40));
        return Rect(Point(rng.uniform(0, size_.width - side.width), rng.uniform(0, size_.height - side.height)), side);
    }

private:
    const Size size_;
    Mat images_[SCENES];
};

//! Where an object is kept, by the documented rules.
struct Place
{
    int own;  //!< scene that it belongs to
    int away; //!< frames of other scenes since the cut; 0: none
};

enum Expected
{
    USUAL,
    OTHER_SCENE,
    BACK
};

//! Follows the rules for one frame.
Expected follow(Place& place, int scene, int cutFrames)
{
    if (scene == place.own)
    {
        const bool back = place.away > 0;
        place.away = 0;
        return back ? BACK : USUAL;
    }
    if (++place.away <= cutFrames)
        return OTHER_SCENE;
    place = {scene, 0};
    return USUAL;
}

struct Counts
{
    int changed = 0, resumed = 0, found = 0, forgotten = 0;
};

void expectRow(const Mat& row, Expected expected, bool hadBox, Place& place, int scene, Counts& counts)
{
    const int event = cvRound(row.at<double>(0, TrackerTLD::RESULT_EVENT));
    if (expected == OTHER_SCENE && event == TrackerTLD::FOUND_AGAIN)
    {
        place = {scene, 0};
        ++counts.found;
        EXPECT_EQ(TrackerTLD::UNCERTAIN, row.at<double>(0, TrackerTLD::RESULT_STATE));
    }
    else if (expected == OTHER_SCENE)
    {
        EXPECT_EQ(TrackerTLD::SCENE_CHANGED, event);
        EXPECT_EQ(0., cv::norm(row.colRange(0, TrackerTLD::RESULT_EVENT)))
            << "no box, score, state or reply, and nothing is learned";
        ++counts.changed;
    }
    else
    {
        EXPECT_NE(TrackerTLD::SCENE_CHANGED, event);
        EXPECT_TRUE(event != TrackerTLD::RESUMED || (expected == BACK && hadBox)) << "back " << (expected == BACK);
        counts.resumed += event == TrackerTLD::RESUMED;
    }
}

//! One script: a tracker, and where the rules say that its objects are.
class Script
{
public:
    Script(Engine engine, int64 number)
        : engine_(engine),
          rng_(fuzz::rngOf(7, number)),
          scenes_(number, Size(rng_.uniform(70, 130), rng_.uniform(70, 110)))
    {
        params_.cutFrames = rng_.uniform(1, 6);
        params_.retryFrames = rng_.uniform(0, 4);
        params_.seed = rng_.uniform(1, 100);
        params_.scales = 1;
        params_.initWarps = params_.updateWarps = 2;
        tracker_ = MultiTrackerTLD::create(params_);
        last_ = scenes_.frame(0, 0);
        add(last_, 0);
    }
    void step(int t, Counts& counts)
    {
        const int before = scene_;
        if (fuzz::onceIn(rng_, 4))
            scene_ = fuzz::onceIn(rng_, 2) ? 0 : rng_.uniform(0, int(SCENES));
        const Mat frame = scenes_.frame(scene_, t);
        edit(frame, before);
        Mat rows;
        tracker_->update(Image(engine_, frame).in(), rows);
        for (int i = 0; i < rows.rows; ++i)
        {
            const int id = cvRound(rows.at<double>(i, TrackerTLD::RESULT_ID));
            Place& place = places_[id];
            if (place.away == 0)
                hadBox_[id] = alive_[id];
            counts.forgotten += scene_ != place.own && place.away == params_.cutFrames;
            const Expected expected = follow(place, scene_, params_.cutFrames);
            expectRow(rows.row(i), expected, hadBox_[id], place, scene_, counts);
            alive_[id] = rows.at<double>(i, TrackerTLD::RESULT_STATE) > 0.;
        }
        last_ = frame;
    }

private:
    void place(int id, int scene)
    {
        places_[id] = {scene, 0};
        alive_[id] = true;
    }
    void add(const Mat& image, int scene)
    {
        place(tracker_->add(Image(engine_, image).in(), scenes_.box(rng_)), scene);
    }
    //! Before the frame: adds an object in the last or the next one, removes or resets one, or saves and reads. @param before last scene.
    void edit(const Mat& frame, int before)
    {
        const std::vector<int> ids = tracker_->getIds();
        if (fuzz::onceIn(rng_, 10) && ids.size() < 4)
            fuzz::onceIn(rng_, 2) ? add(last_, before) : add(frame, scene_);
        else if (fuzz::onceIn(rng_, 15))
        {
            const int id = ids[rng_.uniform(0, static_cast<int>(ids.size()))];
            tracker_->resetTo(id, scenes_.box(rng_));
            place(id, before);
        }
        else if (fuzz::onceIn(rng_, 15) && ids.size() > 1)
            tracker_->remove(ids[0]);
        if (!fuzz::onceIn(rng_, 10))
            return;
        const std::string text = textOf(*tracker_);
        tracker_ = MultiTrackerTLD::create();
        readText(*tracker_, text);
        EXPECT_EQ(text, textOf(*tracker_));
    }

    const Engine engine_;
    RNG rng_;
    const Scenes scenes_;
    TLDParams params_;
    Ptr<MultiTrackerTLD> tracker_;
    int scene_ = 0;
    Mat last_; //!< frame
    std::map<int, Place> places_;
    std::map<int, bool> alive_, hadBox_; //!< after the last frame; before the cut
};

class Tld_CutScripts : public OnEngine
{};
CUDATRACKING_ON_ENGINES(Tld_CutScripts);

TEST_P(Tld_CutScripts, eventsFollowTheRules)
{
    Counts counts;
    for (int number = 0; number < 25 && !HasFailure(); ++number)
    {
        Script script(engine(), number);
        for (int t = 1; t < 35; ++t)
        {
            SCOPED_TRACE(cv::format("script %d, frame %d", number, t));
            script.step(t, counts);
        }
    }
    std::cout << counts.changed << " rows of other scenes, " << counts.resumed << " resumed, " << counts.found
              << " found in another scene, " << counts.forgotten << " forgotten" << std::endl;
    EXPECT_GT(counts.changed, 100);
    EXPECT_GT(counts.resumed, 10);
    EXPECT_GT(counts.forgotten, 20);
}

}} // namespace opencv_test
