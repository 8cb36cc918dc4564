// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Files of learned objects. They are untrusted: every value is checked before it is used.
#include "model.hpp"
#include "../common/file_text.hpp"
#include "../common/file_write.hpp"
#include "arguments.hpp"
#include "model_parts.hpp"
#include <algorithm>

namespace cv { namespace cuda { namespace tld {

using namespace detail;

namespace {

//! Limits of a file of one object. Its largest possible model and two frames stay below.
const detail::TextLimits OBJECT_LIMITS = {"an object of TLD", static_cast<size_t>(64) << 20};
//! Limits of a file of a MultiTrackerTLD: a thousand objects of usual size, and all frames.
const detail::TextLimits TRACKER_LIMITS = {"a MultiTrackerTLD", static_cast<size_t>(512) << 20};
//! Host memory of all objects of one file. The CUDA backend takes about eight times as much per window, and names what
//! it cannot allocate.
const int64_t MOST_BYTES = static_cast<int64_t>(8) << 30;

// --- one object ------------------------------------------------------------------------------------------------------

//! Writes the state, the frame from which flow continues, and the last frame, which resetTo() needs.
void writePosition(FileStorage& fs, const LearnedObject& o, const History& history)
{
    const ObjectState& s = o.state;
    writeState(fs, o);
    for (int age = 0; age < KEPT_FRAMES; ++age)
        if (needsFrame(s, age))
            writeMatrix(fs, "frame", history.frames[age], o.cols);
    if (!needsFrame(s, 0) && !history.frames[0].empty())
        writeMatrix(fs, "lastFrame", history.frames[0], o.cols);
}

void readPosition(const Item& root, const Settings& settings, LearnedObject& o, History& history)
{
    readState(root, settings, o);
    history.frames.resize(KEPT_FRAMES + 1);
    for (int age = 0; age < KEPT_FRAMES; ++age)
        if (needsFrame(o.state, age))
            readFrame(root, "frame", o, history.frames[age]);
    if (!needsFrame(o.state, 0) && root.has("lastFrame"))
        readFrame(root, "lastFrame", o, history.frames[0]);
}

// --- several objects -------------------------------------------------------------------------------------------------

//! Returns the bytes of an object in host memory.
int64_t bytesOf(const LearnedObject& o, const Settings& s)
{
    return static_cast<int64_t>(makeGrid(o.width, o.height, o.cols, o.rows, s).windows) * 4 +
           static_cast<int64_t>(o.leaves.size()) * 32 +
           static_cast<int64_t>(s.maxPositives + s.maxNegatives) * 2 * PATCH_STRIDE +
           static_cast<int64_t>(s.filter ? 3 * sizeof(FilterModel) : 0);
}

//! Whether an object or the next resetTo() needs the frame of this age.
bool isNeeded(const SavedTracker& saved, int age)
{
    return age == saved.history.newest() ||
           std::any_of(saved.objects.begin(), saved.objects.end(),
                       [&](const LearnedObject& o) { return needsFrame(o.state, age); });
}

void writeFrames(FileStorage& fs, const History& history, int cols)
{
    fs << "frames" << LIST;
    for (int age = 0; age <= KEPT_FRAMES; ++age)
    {
        if (history.frames[age].empty())
            continue;
        fs << MAP << "age" << age;
        writeMatrix(fs, "frame", history.frames[age], cols);
        fs << MAP_END;
    }
    fs << LIST_END;
}

void readFrames(const Item& root, SavedTracker& saved)
{
    int least = 0;
    saved.history.frames.resize(KEPT_FRAMES + 1);
    readList(root, "frames", 1, KEPT_FRAMES + 1,
             [&](const Item& item, int)
             {
                 const int age = item.integerOf("age", least, KEPT_FRAMES);
                 least = age + 1; // ascending
                 readFrame(item, "frame", saved.objects[0], saved.history.frames[age]);
             });
    for (int age = 0; age <= KEPT_FRAMES; ++age)
        if (isNeeded(saved, age) && saved.history.frames[age].empty())
            root.fail(format("frames: that of age %d is missing", age).c_str());
}

void readObjects(const Item& root, const Settings& settings, SavedTracker& saved)
{
    int64_t bytes = 0;
    readList(root, "objects", 0, MAX_OBJECTS,
             [&](const Item& item, int)
             {
                 const bool first = saved.objects.empty();
                 LearnedObject o = {};
                 item.with("object", [&](const Item& learned) { readLearned(learned, settings, o); });
                 item.with("place",
                           [&](const Item& place)
                           {
                               readState(place, settings, o);
                               o.state.started = place.integerOf("started", 0, 1);
                               o.state.keptStarted = place.integerOf("keptStarted", 0, 1);
                               saved.misses.push_back(place.integerOf("misses", 0, INT_MAX));
                           });
                 const LearnedObject* const before = first ? nullptr : &saved.objects.back();
                 if (static_cast<int>(o.state.number) >= saved.next ||
                     (before && o.state.number <= before->state.number))
                     item.fail("ids of objects must ascend and be less than `next`");
                 if (before && (o.cols != before->cols || o.rows != before->rows))
                     item.fail("images of all objects must have one size");
                 bytes += bytesOf(o, settings);
                 if (bytes > MOST_BYTES)
                     item.fail("the objects up to this one would take more than 8 GiB of host memory");
                 saved.objects.push_back(std::move(o));
             });
}

void checkVersion(const FileNode& node, const Item& root)
{
    if (!node.isMap())
        root.fail("there is no object here");
    root.integerOf("version", VERSION, VERSION);
}

} // namespace

void readTemplates(const uint8_t* slots, const Settings& settings, LearnedObject& object)
{
    const auto append = [&](std::vector<uint8_t>& list, int slot)
    {
        const uint8_t* const pixels = slots + static_cast<size_t>(slot) * PATCH_STRIDE;
        list.insert(list.end(), pixels, pixels + PATCH_PIXELS);
    };
    object.positives.clear();
    object.negatives.clear();
    for (const uint16_t slot : object.order)
        append(object.positives, slot);
    for (int i = 0; i < object.state.negatives; ++i)
        append(object.negatives, settings.maxPositives + i);
}

void writeObject(FileStorage& fs, const SavedObject& saved)
{
    writeParams(fs, saved.params);
    fs << "object" << MAP;
    writeLearned(fs, saved.object);
    fs << MAP_END;
    if (!saved.history.frames.empty())
    {
        fs << "place" << MAP;
        writePosition(fs, saved.object, saved.history);
        fs << MAP_END;
    }
}

void writeNoObject(FileStorage& fs, const TLDParams& params) { writeParams(fs, params); }

SavedObject readObject(const FileNode& node, const std::string& name)
{
    const Place place = {nullptr, "object of TLD", -1};
    const Item root(node, name, place);
    checkVersion(node, root);
    if (root.has("next"))
        root.fail("this is what a MultiTrackerTLD saved; MultiTrackerTLD::load() reads it");
    SavedObject saved;
    saved.params = readParams(root);
    const Settings settings = settingsOf(saved.params, name.c_str());
    saved.hasObject = root.has("object");
    if (!saved.hasObject)
        return saved;
    root.with("object", [&](const Item& item) { readLearned(item, settings, saved.object); });
    if (root.has("place"))
        root.with("place", [&](const Item& item) { readPosition(item, settings, saved.object, saved.history); });
    return saved;
}

void writeTracker(FileStorage& fs, const SavedTracker& saved)
{
    writeParams(fs, saved.params);
    fs << "next" << saved.next << "startIsLast" << static_cast<int>(saved.history.startIsLast) << "objects" << LIST;
    for (size_t i = 0; i < saved.objects.size(); ++i)
    {
        const LearnedObject& o = saved.objects[i];
        fs << MAP << "object" << MAP;
        writeLearned(fs, o);
        fs << MAP_END << "place" << MAP;
        writeState(fs, o);
        fs << "started" << o.state.started << "keptStarted" << o.state.keptStarted << "misses" << saved.misses[i]
           << MAP_END << MAP_END;
    }
    fs << LIST_END;
    if (!saved.objects.empty())
        writeFrames(fs, saved.history, saved.objects[0].cols);
}

SavedTracker readTracker(const FileNode& node, const std::string& name)
{
    const Place place = {nullptr, "objects of TLD", -1};
    const Item root(node, name, place);
    checkVersion(node, root);
    if (root.has("object"))
        root.fail("this is a single object; TrackerTLD::load() and MultiTrackerTLD::addFromFile() read it");
    SavedTracker saved;
    saved.params = readParams(root);
    const Settings settings = settingsOf(saved.params, name.c_str());
    saved.next = root.integerOf("next", 0, INT_MAX);
    saved.history.startIsLast = root.integerOf("startIsLast", 0, 1) != 0;
    readObjects(root, settings, saved);
    if (!saved.objects.empty())
        readFrames(root, saved);
    return saved;
}

void saveFile(const std::string& filename, const SavedObject& saved)
{
    detail::writeStorage(
        filename, "tld", [&](FileStorage& fs) { writeObject(fs, saved); }, FileStorage::BASE64);
}

void saveFile(const std::string& filename, const SavedTracker& saved)
{
    detail::writeStorage(
        filename, "tld", [&](FileStorage& fs) { writeTracker(fs, saved); }, FileStorage::BASE64);
}

SavedObject loadObject(const std::string& filename)
{
    const std::string text = detail::readText(filename, OBJECT_LIMITS);
    const FileStorage storage = detail::parseText(text.data(), text.size(), filename, OBJECT_LIMITS);
    return readObject(storage.getFirstTopLevelNode(), filename);
}

SavedTracker loadTracker(const std::string& filename)
{
    const std::string text = detail::readText(filename, TRACKER_LIMITS);
    const FileStorage storage = detail::parseText(text.data(), text.size(), filename, TRACKER_LIMITS);
    return readTracker(storage.getFirstTopLevelNode(), filename);
}

}}} // namespace cv::cuda::tld
