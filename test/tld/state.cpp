// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Trackers and detectors read their files back and continue as if nothing had happened. Malformed files are refused.
#include "../common/mutated_text.hpp"
#include "scenes.hpp"

namespace opencv_test { namespace {

using namespace tld;

typedef OnEngine Tld_State;
typedef StandardScene S;

//! Cut at frames in which the object is seen, half hidden, just lost, absent, and back.
TEST_P(Tld_State, goesOnAsIfNothingHadHappened)
{
    const S scene;
    const Ptr<TrackerTLD> whole = trackerOn(scene, engine());
    const std::vector<Step> truth = follow(*whole, scene, engine(), 1, S::FRAMES);
    for (const int cut : {1, 2, 20, 41, 45, 46, 47, 48, 52, 57, 70})
    {
        SCOPED_TRACE(cv::format("saved after frame %d", cut - 1));
        const TemporaryFile file(".xml");
        {
            const Ptr<TrackerTLD> first = trackerOn(scene, engine());
            follow(*first, scene, engine(), 1, cut);
            first->save(file);
        }
        const Ptr<TrackerTLD> second = TrackerTLD::create();
        second->load(file);
        const std::vector<Step> rest = follow(*second, scene, engine(), cut, std::min(cut + 25, int(S::FRAMES)));
        for (size_t i = 0; i < rest.size(); ++i)
            ASSERT_TRUE(same(truth[cut - 1 + i], rest[i])) << "frame " << cut + i;
    }
}

//! A file that has been read is written again byte by byte, with parameters and the switch of learning.
TEST_P(Tld_State, writesWhatItReads)
{
    const TLDParams p = paramsOf("seed 5, trees 7, minReplyScore 0.25, mirror 1");
    const S scene;
    const Ptr<TrackerTLD> tracker = trackerOn(scene, engine(), p);
    follow(*tracker, scene, engine(), 1, 20);
    tracker->setLearning(false);
    for (const char* extension : {".yml", ".xml"})
    {
        const std::string text = textOf(*tracker, extension);
        const Ptr<TrackerTLD> copy = TrackerTLD::create();
        readText(*copy, text);
        EXPECT_EQ(text, textOf(*copy, extension));
        EXPECT_EQ(7, copy->getParams().trees);
        EXPECT_EQ(0.25f, copy->getParams().minReplyScore);
        EXPECT_FALSE(copy->getLearning());
        EXPECT_EQ(tracker->getBox(), copy->getBox());
        EXPECT_EQ(tracker->getTrackingScore(), copy->getTrackingScore());
        EXPECT_EQ(tracker->getState(), copy->getState());
    }
    const Ptr<TLDDetector> detector = TLDDetector::create(p), copy = TLDDetector::create();
    detector->init(Image(engine(), scene.frame(0)).in(), scene.box(0));
    detector->learn(Image(engine(), scene.frame(20)).in(), scene.box(20));
    readText(*copy, textOf(*detector));
    EXPECT_EQ(textOf(*detector), textOf(*copy));
    Mat expected, actual;
    detector->detect(Image(engine(), scene.frame(21)).in(), expected);
    copy->detect(Image(engine(), scene.frame(21)).in(), actual);
    EXPECT_TRUE(sameBits(expected, actual));
    // Learning goes on from the same state of the random numbers.
    for (TLDDetector* d : {detector.get(), copy.get()})
        d->learn(Image(engine(), scene.frame(25)).in(), scene.box(25));
    EXPECT_EQ(textOf(*detector), textOf(*copy));
}

//! A tracker that was lost when it was saved can be put on a box as the one that goes on.
TEST_P(Tld_State, resetAfterReadingALostOne)
{
    const S scene;
    for (const int cut : {46, 47, 52}) // retrying flow, and lost
    {
        SCOPED_TRACE(cut);
        const Ptr<TrackerTLD> straight = trackerOn(scene, engine(), paramsOf("filter 0")), copy = TrackerTLD::create();
        const std::vector<Step> steps = follow(*straight, scene, engine(), 1, cut);
        ASSERT_EQ(int(TrackerTLD::LOST), steps.back().state);
        const std::string text = textOf(*straight);
        EXPECT_NE(std::string::npos, text.find("score: 0.\n      similarity: 0.\n"));
        readText(*copy, text);
        ASSERT_EQ(text, textOf(*copy));
        for (TrackerTLD* tracker : {straight.get(), copy.get()})
            tracker->resetTo(Rect(60, 50, 40, 34));
        expectSame(follow(*straight, scene, engine(), cut, cut + 8), follow(*copy, scene, engine(), cut, cut + 8));
    }
}

TEST_P(Tld_State, detectorsFiles)
{
    const S scene;
    const TemporaryFile file(".xml");
    const Ptr<TLDDetector> detector = detectorOn(scene, engine());
    detector->save(file);
    const Ptr<TLDDetector> loaded = Algorithm::load<TLDDetector>(file), other = TLDDetector::create();
    EXPECT_EQ(textOf(*detector), textOf(*loaded));
    other->load(file);
    EXPECT_EQ(textOf(*detector), textOf(*other));
    const Ptr<TrackerTLD> tracker = TrackerTLD::create();
    tracker->load(file);
    EXPECT_EQ(TrackerTLD::LOST, tracker->getState());
    EXPECT_TRUE(advance(*tracker, engine(), scene.frame(0)).state != TrackerTLD::LOST);
}

//! An object that fills its image leaves no window that is far enough for a negative template.
TEST_P(Tld_State, withoutNegativeTemplates)
{
    const Mat frame = texture(3, Size(40, 36), CV_8UC1, 3);
    const Ptr<TrackerTLD> tracker = TrackerTLD::create(), copy = TrackerTLD::create();
    tracker->init(image(frame).in(), Rect(Point(), frame.size()));
    EXPECT_EQ(0, templatesOf(*tracker, false).rows);
    for (const char* extension : {".yml", ".xml"})
    {
        const std::string text = textOf(*tracker, extension);
        readText(*copy, text);
        EXPECT_EQ(text, textOf(*copy, extension));
    }
}

CUDATRACKING_ON_ENGINES(Tld_State);

// --- hostile files ---------------------------------------------------------------------------------------------------

std::string stateOf(const std::string& extension, int frames, int flags = 0)
{
    const S scene(CV_8UC1, Size(24, 24));
    const Ptr<TrackerTLD> tracker = trackerOn(scene, Engine::CPU, paramsOf("trees 3, features 4"));
    follow(*tracker, scene, Engine::CPU, 1, frames);
    return textOf(*tracker, extension, flags);
}

//! Each mutation is refused with cv::Exception and changes nothing, or gives a tracker that can be used.
TEST(Tld_Files, thousandMutations)
{
    RNG rng(20240711);
    const S scene(CV_8UC1, Size(24, 24));
    std::vector<std::string> states;
    for (const int flags : {0, int(FileStorage::BASE64)})
        for (const int frames : {3, 47})
            states.push_back(stateOf(".xml", frames, flags));
    const Ptr<TrackerTLD> tracker = trackerOn(scene, Engine::CPU);
    const std::string before = textOf(*tracker);
    int taken = 0;
    for (int i = 0; i < 1000; ++i)
    {
        SCOPED_TRACE(i);
        const TemporaryFile file(".xml", mutatedText(states[i % 4], rng, 2500, 3));
        try
        {
            const Ptr<TrackerTLD> other = TrackerTLD::create();
            other->load(file);
            ++taken;
            Rect box;
            other->update(scene.frame(4), box);
            other->save(file);
        }
        catch (const cv::Exception& e)
        {
            EXPECT_FALSE(e.err.empty());
        }
        if (i % 10 != 0)
            continue;
        file.write(mutatedText(states[i % 4], rng, 2500, 3));
        try
        {
            tracker->load(file);
            readText(*tracker, before);
        }
        catch (const cv::Exception&)
        {
            ASSERT_EQ(before, textOf(*tracker)) << "a refused file has changed the tracker";
        }
    }
    std::cout << taken << " of 1000 mutated files were taken" << std::endl;
    EXPECT_GT(taken, 10);
    EXPECT_LT(taken, 900);
}

//! Mutations of files of a MultiTrackerTLD, with objects that are tracked, lost, and just added with the next frame.
TEST(Tld_Files, mutationsOfSeveralObjects)
{
    RNG rng(20261122);
    const S scene(CV_8UC1, Size(24, 24));
    const Ptr<MultiTrackerTLD> source = MultiTrackerTLD::create(paramsOf("trees 3, features 4")),
                               tracker = MultiTrackerTLD::create();
    Mat results;
    source->add(scene.frame(0), scene.box(0));
    source->add(scene.frame(0), Rect(150, 20, 40, 40));
    for (int t = 1; t < 48; ++t)
        source->update(scene.frame(t), results);
    source->add(scene.frame(48), Rect(20, 90, 30, 24));
    tracker->add(scene.frame(0), scene.box(0));
    const std::string before = textOf(*tracker);
    const std::string text = textOf(*source, ".xml", FileStorage::BASE64);
    int taken = 0;
    for (int i = 0; i < 300; ++i)
    {
        SCOPED_TRACE(i);
        const TemporaryFile file(".xml", mutatedText(text, rng, 2500, 3));
        try
        {
            tracker->load(file);
            ++taken;
            tracker->update(scene.frame(48), results);
            tracker->save(file);
            readText(*tracker, before);
        }
        catch (const cv::Exception& e)
        {
            EXPECT_FALSE(e.err.empty());
            if (textOf(*tracker) != before)
                readText(*tracker, before); // it was taken, and refused the frame
        }
        ASSERT_EQ(before, textOf(*tracker));
    }
    EXPECT_GT(taken, 3);
    EXPECT_LT(taken, 280);
}

/** Changed characters of a filter in a file are refused, or give a tracker that can be used, whatever its numbers are.
Most of them are those of transforms and histograms. */
TEST(Tld_Files, mutationsOfAFilter)
{
    const S scene;
    const Ptr<TrackerTLD> source = trackerOn(scene, Engine::CPU, paramsOf("filter 1, trees 3, features 4"));
    follow(*source, scene, Engine::CPU, 1, 3);
    const std::string text = textOf(*source), characters = "AZaz059+/-.e: ";
    const int begin = static_cast<int>(text.find("      filter:\n")),
              end = static_cast<int>(text.find("\n      event:"));
    ASSERT_LT(begin + 100000, end) << "the filter is between its name and the event";
    RNG rng(20261127);
    int taken = 0;
    const int count = 120;
    for (int i = 0; i < count; ++i)
    {
        SCOPED_TRACE(i);
        std::string other = text;
        for (int k = rng.uniform(1, 4); k > 0; --k)
        {
            const int at = rng.uniform(begin, end);
            other[at] = characters[rng.uniform(0, static_cast<int>(characters.size()))];
        }
        const Ptr<TrackerTLD> tracker = TrackerTLD::create();
        try
        {
            readText(*tracker, other);
        }
        catch (const cv::Exception& e)
        {
            EXPECT_FALSE(e.err.empty());
            continue;
        }
        ++taken;
        for (int t = 3; t < 6; ++t)
            advance(*tracker, Engine::CPU, scene.frame(t));
        EXPECT_NO_THROW(readText(*TrackerTLD::create(), textOf(*tracker)));
    }
    std::cout << taken << " of " << count << " mutated filters were taken" << std::endl;
    EXPECT_GT(taken, count / 20);
    EXPECT_LT(taken, count);
}

TEST(Tld_Files, otherFilesAreRefused)
{
    const S scene;
    const Ptr<TrackerTLD> tracker = trackerOn(scene, Engine::CPU);
    const Ptr<TLDDetector> detector = detectorOn(scene, Engine::CPU);
    const std::string before = textOf(*tracker), learned = textOf(*detector);
    const std::string begin = "<?xml version=\"1.0\"?>\n<opencv_storage>\n";
    const std::pair<const char*, std::string> files[] = {
        {"empty", ""},
        {"blank", "  \n"},
        {"no storage", "hello"},
        {"another thing", begin + "<matrix>3</matrix></opencv_storage>"},
        {"an empty map", begin + "<object></object></opencv_storage>"},
        {"cut off", textOf(*tracker, ".xml").substr(0, before.size() / 2)},
        {"YAML", before}};
    for (const auto& bad : files)
    {
        SCOPED_TRACE(bad.first);
        const TemporaryFile file(".xml", bad.second);
        expectRefused([&] { tracker->load(file); }, {file.name.substr(file.name.find_last_of('/') + 1)});
        EXPECT_EQ(before, textOf(*tracker));
    }
    EXPECT_THROW(tracker->load("/nonexistent/object.xml"), cv::Exception);
    EXPECT_THROW(tracker->save("/nonexistent/object.xml"), cv::Exception);
    EXPECT_THROW(TrackerTLD::create()->save(TemporaryFile(".xml")), cv::Exception) << "before init()";
    EXPECT_THROW(readText(*detector, "%YAML:1.0\n---\nobject: 3\n"), cv::Exception);
    EXPECT_THROW(detector->read(FileNode()), cv::Exception);
    EXPECT_THROW(tracker->read(FileNode()), cv::Exception);
    EXPECT_EQ(before, textOf(*tracker));
    EXPECT_EQ(learned, textOf(*detector));
}

struct Limits
{
    const char* name;
    std::vector<const char*> taken, refused;
};

//! Each number in a file has limits; what lies within them is kept.
TEST(Tld_Files, limitsOfValues)
{
    const Limits limits[] = {
        {"size", {}, {"[ 241, 24 ]", "[ 24, 181 ]", "[ 11, 24 ]", "[ 24, 11 ]"}},
        {"pictureSize", {}, {"[ 23, 180 ]", "[ 240, 23 ]", "[ 16384, 16384 ]"}},
        {"number", {"0", "2147483647"}, {"-1", "2147483648"}},
        {"frame", {"0", "1073741823"}, {"-1", "1073741824"}},
        {"contrast", {"1", "1073741824"}, {"0", "1073741825"}},
        {"fernThreshold", {"0", "98304"}, {"-1", "98305"}},
        {"alive", {"1"}, {"-1", "2"}},
        {"valid", {"0", "1"}, {"-1", "2"}},
        {"learned", {"0", "1"}, {"-1", "2"}},
        {"event", {"1", "6", "8", "9", "12"}, {"-1", "0", "7", "10", "11", "13"}},
        {"score", {"0.", "1."}, {"-0.001", "1.001", ".Nan"}},
        {"similarity", {"0.", "1."}, {"-0.001", "1.001", ".Nan"}},
        {"box",
         {"[ 239., 179., 24., 24. ]"},
         {"[ 240., 9., 24., 24. ]", "[ 9., 180., 24., 24. ]", "[ -24., 9., 24., 24. ]", "[ 9., -24., 24., 24. ]"}},
        {"unsupported", {"0", "2147483646"}, {"-1", "2147483647"}},
        {"onProbation", {"0", "2147483646"}, {"-1", "2147483647"}},
        {"retries", {"0"}, {"-1", "1"}},
        {"keptAge", {"0", "4"}, {"-1", "5"}},
        {"keptValid", {"0", "1"}, {"-1", "2"}}};
    const std::string text = stateOf(".yml", 3);
    const Ptr<TrackerTLD> tracker = TrackerTLD::create();
    for (const Limits& one : limits)
    {
        for (const char* value : one.taken)
        {
            const std::string other = withValue(text, one.name, value);
            ASSERT_NO_THROW(readText(*tracker, other)) << one.name << ": " << value;
            EXPECT_EQ(other, textOf(*tracker));
        }
        readText(*tracker, text);
        for (const char* value : one.refused)
        {
            const std::string other = withValue(text, one.name, value);
            ASSERT_FALSE(other.empty()) << one.name;
            EXPECT_THROW(readText(*tracker, other), cv::Exception) << one.name << ": " << value;
            EXPECT_EQ(text, textOf(*tracker));
        }
    }
    for (const char* size : {"[ 241, 24 ]", "[ 24, 181 ]"})
        expectRefused([&] { readText(*tracker, withValue(text, "size", size)); }, {"must fit into their images"});
    expectRefused([&] { readText(*tracker, withValue(text, "pictureSize", "[ 16384, 16384 ]")); }, {"largest size"});
}

//! Whether there is a box says the event of a file, too.
TEST(Tld_Files, events)
{
    const S scene;
    const Ptr<TrackerTLD> tracker = trackerOn(scene, Engine::CPU, paramsOf("filter 0")), copy = TrackerTLD::create();
    std::string texts[] = {textOf(*tracker), ""};
    follow(*tracker, scene, Engine::CPU, 1, S::GONE + S::NOTICED);
    ASSERT_EQ(int(TrackerTLD::LOST), tracker->getState());
    texts[1] = textOf(*tracker);
    for (const int event : {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12})
        for (const bool lost : {false, true})
        {
            const std::string number = cv::format("%d", event);
            SCOPED_TRACE(number + (lost ? ", lost" : ""));
            const bool fits = lost == (event == TrackerTLD::NO_EVENT || event == TrackerTLD::BECAME_LOST);
            const std::string text = withValue(texts[lost], "event", number);
            if (fits)
            {
                readText(*copy, text);
                EXPECT_EQ(event, copy->getEvent());
            }
            else
                expectRefused([&] { readText(*copy, text); },
                              {"event: " + number + " cannot be", lost ? "alive 0" : "alive 1"});
        }
}

//! Only files of version 1 are read.
TEST(Tld_Files, otherVersions)
{
    const std::string text = stateOf(".yml", 3);
    for (const char* version : {"0", "2", "6"})
    {
        std::string other = text;
        other.replace(other.find("version: 1"), 10, std::string("version: ") + version);
        expectRefused([&] { readText(*TrackerTLD::create(), other); }, {"version"});
    }
}

//! A frame of another size than the file's.
TEST(Tld_Files, otherImages)
{
    const S scene;
    const Ptr<TrackerTLD> tracker = trackerOn(scene, Engine::CPU), copy = TrackerTLD::create();
    follow(*tracker, scene, Engine::CPU, 1, 5);
    readText(*copy, textOf(*tracker));
    Rect box;
    EXPECT_THROW(copy->update(texture(1, Size(100, 90)), box), cv::Exception);
    EXPECT_TRUE(same(advance(*tracker, Engine::CPU, scene.frame(5)), advance(*copy, Engine::CPU, scene.frame(5))));
}

}} // namespace opencv_test
