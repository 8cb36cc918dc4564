// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Calls of a MultiTrackerTLD in random legal orders, compared with one tracker per object that has no other object:
// frames; objects that are added with the last frame or the next one, removed, reset, saved and read again, alone or
// all together; on CUDA captured frames and replays too.
#include "../common/model.hpp"
#include "scenes.hpp"
#include <map>

namespace opencv_test { namespace {

using namespace tld;

//! An object that is the only one of another MultiTrackerTLD.
struct Alone
{
    Ptr<MultiTrackerTLD> tracker;
    int id;
};

class TldModel : public Model
{
public:
    TldModel(uint64 seed, Engine engine)
        : Model(seed), engine_(engine), several_(MultiTrackerTLD::create()), ground_(texture(seed, Size(160, 120)))
    {
        for (int i = 0; i < 3; ++i)
            objects_.push_back(texture(seed + 9 + i, Size(26 + 3 * i, 24 + 4 * i), CV_8UC1, 3));
        move();
    }

    void step() override
    {
        callOneOf({{2, [&] { add(); }},
                   {1, [&] { remove(); }},
                   {1, [&] { reset(); }},
                   {1, [&] { store(); }},
                   {1, [&] { reload(); }},
                   {5, [&] { update(); }}});
    }

private:
    Image image() const { return Image(engine_, frame_); }

    //! The next frame: each object at a new place near the last one, or hidden.
    void move()
    {
        frame_ = ground_.clone();
        for (size_t i = 0; i < objects_.size(); ++i)
        {
            if (places_.size() <= i)
                places_.push_back(Point(10 + 40 * int(i), 30 + 10 * int(i)));
            places_[i] += uniform(rng_, Point(-3, -3), Point(4, 4));
            places_[i].x = std::min(std::max(places_[i].x, 0), frame_.cols - objects_[i].cols);
            places_[i].y = std::min(std::max(places_[i].y, 0), frame_.rows - objects_[i].rows);
            shown_.resize(objects_.size(), 1);
            if (rng_.uniform(0, 8) == 0)
                shown_[i] = !shown_[i];
            if (shown_[i])
                objects_[i].copyTo(frame_(Rect(places_[i], objects_[i].size())));
        }
    }
    Rect someBox()
    {
        const int i = rng_.uniform(0, int(objects_.size()));
        return Rect(places_[i], objects_[i].size());
    }

    void add()
    {
        if (alone_.size() >= 5)
            return;
        if (!next_ && rng_.uniform(0, 2)) // the next frame, which update() has not had
        {
            move();
            next_ = true;
            log("next frame");
        }
        const Rect box = someBox();
        // Flow that is still tried again from the image of an earlier add() ends with another one, in a tracker of its
        // own too.
        for (auto& other : alone_)
            if (triesAgain(*other.second.tracker, other.first))
                other.second.tracker->remove(other.second.tracker->add(image().in(), box));
        const int id = several_->add(image().in(), box);
        // The same id in a tracker of its own: those before it are added, and removed again.
        Alone a = {MultiTrackerTLD::create(), id};
        for (int i = 0; i <= id; ++i)
            a.tracker->add(image().in(), box);
        for (int i = 0; i < id; ++i)
            a.tracker->remove(i);
        EXPECT_EQ(std::vector<int>(1, id), a.tracker->getIds());
        alone_[id] = a;
        log(cv::format("add %d", id));
    }
    static bool triesAgain(const MultiTrackerTLD& tracker, int id)
    {
        const TemporaryFile file(".xml");
        tracker.saveObject(id, file);
        const FileStorage saved(file, FileStorage::READ);
        const bool tries = static_cast<int>(saved.getFirstTopLevelNode()["place"]["retries"]) > 0;
        return tries;
    }
    int someId()
    {
        auto at = alone_.begin();
        std::advance(at, rng_.uniform(0, static_cast<int>(alone_.size())));
        return at->first;
    }
    void remove()
    {
        if (alone_.empty())
            return;
        const int id = someId();
        several_->remove(id);
        alone_.erase(id);
        log(cv::format("remove %d", id));
    }
    void reset()
    {
        if (alone_.empty() || next_) // the newest image is not the same to all
            return;
        const int id = someId();
        const Rect box = someBox();
        several_->resetTo(id, box);
        alone_[id].tracker->resetTo(id, box);
        log(cv::format("reset %d", id));
    }
    //! Checks that both trackers save equal files of an object.
    void store()
    {
        if (alone_.empty())
            return;
        const int id = someId();
        const TemporaryFile file(".xml"), other(".xml");
        several_->saveObject(id, file);
        alone_[id].tracker->saveObject(id, other);
        const std::string one = file.text(), two = other.text();
        EXPECT_GT(one.size(), 1000u);
        EXPECT_EQ(one, two) << history_;
        log(cv::format("save %d", id));
    }
    //! The whole tracker, in a file.
    void reload()
    {
        const TemporaryFile file(".xml");
        several_->save(file);
        const std::vector<int> ids = several_->getIds();
        several_ = MultiTrackerTLD::create();
        several_->load(file);
        EXPECT_EQ(ids, several_->getIds());
        loaded_ = true;
        log("reload");
    }
    void update()
    {
        if (!next_ || rng_.uniform(0, 4) == 0)
            move();
        next_ = false;
        log("update");
        const Mat results = updated(*several_);
        EXPECT_EQ(alone_.size(), static_cast<size_t>(results.rows)) << history_;
        std::vector<int> ids;
        int row = 0;
        for (auto& a : alone_)
        {
            const Mat expected = updated(*a.second.tracker);
            EXPECT_TRUE(sameBits(expected, results.row(row++))) << "object " << a.first << " after: " << history_;
            compared_ += expected.at<double>(TrackerTLD::RESULT_LOCATED) == 1.;
            ids.push_back(a.first);
        }
        EXPECT_EQ(ids, several_->getIds());
    }

    Mat updated(MultiTrackerTLD& tracker)
    {
        Mat results;
#ifdef HAVE_CUDA
        const bool toTheDevice = &tracker == several_.get() && loaded_; // by a direct call
        loaded_ = loaded_ && !toTheDevice;
        if (engine_ == Engine::CUDA && rng_.uniform(0, 2) && !tracker.empty() && !toTheDevice)
        {
            cuda::GpuMat device(static_cast<int>(tracker.getIds().size()), TrackerTLD::RESULT_COLUMNS, CV_64FC1),
                input(frame_);
            cuda::Stream stream;
            Graph graph(stream);
            tracker.update(input, device, stream);
            graph.end();
            if (rng_.uniform(0, 2)) // dropped, and captured again
            {
                Graph again(stream);
                tracker.update(input, device, stream);
                again.end();
                again.launch();
                stream.waitForCompletion();
            }
            else
            {
                graph.launch();
                stream.waitForCompletion();
            }
            return Mat(device);
        }
#endif
        tracker.update(image().in(), results);
        return results;
    }

    const Engine engine_;
    Ptr<MultiTrackerTLD> several_;
    const Mat ground_;
    std::vector<Mat> objects_;
    std::vector<Point> places_;
    std::vector<char> shown_;
    Mat frame_;
    std::map<int, Alone> alone_;
    bool next_ = false;   //!< objects were added with a frame that update() has not had
    bool loaded_ = false; //!< no frame came since several_ was read
};

TEST(Tld_Model, anyOrder) { expectAnyOrder<TldModel>(6, 50, 100, Engine::CPU); }

TEST(Tld_Model, anyOrderOnCuda)
{
    requireCuda();
    expectAnyOrder<TldModel>(6, 50, 100, Engine::CUDA);
}

}} // namespace opencv_test
