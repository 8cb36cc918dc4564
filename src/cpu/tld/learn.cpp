// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Learning: in a frame, and at first.
#include "../../precomp.hpp"
#include "work.hpp"
#include <algorithm>

namespace cv { namespace cuda { namespace tld { namespace cpu {

namespace {

// --- windows ---------------------------------------------------------------------------------------------------------

//! The windows of largest overlap with a box, the largest first.
void findNear(const Grid& grid, const Box& box, int most, std::vector<Ranked>& near)
{
    near.clear();
    for (int s = 0; s < grid.scales; ++s)
    {
        const Scale& scale = grid.scale[s];
        const auto range = spanNear(scale, box, NEAR_OVERLAP);
        for (int j = range.j0; j < range.j1; ++j)
            for (int i = range.i0; i < range.i1; ++i)
            {
                const double value = overlap(windowOf(scale, i, j), box);
                if (value > NEAR_OVERLAP)
                    near.push_back({value, 0, scale.first + j * scale.nx + i});
            }
    }
    std::sort(near.begin(), near.end(),
              [](const Ranked& a, const Ranked& b)
              { return a.overlap != b.overlap ? a.overlap > b.overlap : a.number < b.number; });
    if (near.size() > static_cast<size_t>(most))
        near.resize(most);
}

Window hullOf(const Grid& grid, const std::vector<Ranked>& windows)
{
    Window hull = windowOf(grid, windows[0].number);
    int right = hull.x + hull.w, bottom = hull.y + hull.h;
    for (const Ranked& r : windows)
    {
        const Window w = windowOf(grid, r.number);
        hull.x = lesser(hull.x, w.x);
        hull.y = lesser(hull.y, w.y);
        right = greater(right, w.x + w.w);
        bottom = greater(bottom, w.y + w.h);
    }
    hull.w = right - hull.x;
    hull.h = bottom - hull.y;
    return hull;
}

// --- ferns -----------------------------------------------------------------------------------------------------------

//! Leaves of all positive examples.
void makeExamples(const Work& work, const ObjectView& object, const std::vector<Ranked>& near, int warps, double angle,
                  std::vector<Codes>& examples)
{
    const Settings& settings = *work.settings;
    const Frame& frame = *work.frame;
    const ObjectState& state = *object.state;
    const Window hull = hullOf(*object.grid, near);
    const int windows = static_cast<int>(near.size());
    const auto at = [&](int x, int y) { return static_cast<int>(frame.blurred.row(y)[x]); };
    examples.resize(examplesOf(windows, warps, settings.mirror));
    parallel_for_(Range(0, static_cast<int>(examples.size())),
                  [&](const Range& range)
                  {
                      for (int e = range.start; e < range.end; ++e)
                      {
                          const Window window = windowOf(*object.grid, near[e % windows].number);
                          const int k = e / windows % (warps + 1);
                          const bool mirror = e / windows > warps;
                          const Warp warp = makeWarp(settings, state.number, state.frame, k, hull, angle);
                          for (int t = 0; t < settings.trees; ++t)
                              examples[e].code[t] = static_cast<uint16_t>(exampleCode(
                                  object.features + t * settings.features, settings.features, t, window, mirror, warp,
                                  k == 0, settings, state.number, state.frame, e, frame.cols, frame.rows, at));
                      }
                  });
}

//! Examples first, first + step, and so on, up to the end.
struct Chunk
{
    size_t first, end, step;
};

//! Marks the examples of a chunk that count, as the posteriors are now.
void judge(const ObjectView& object, const Settings& settings, const std::vector<Codes>& list, const Chunk& chunk,
           bool positive, uint8_t* marks)
{
    for (size_t e = chunk.first; e < chunk.end; e += chunk.step)
    {
        const uint32_t sum = sumOf(list[e], object.posteriors, settings);
        marks[e] = positive ? sum <= object.state->fernThreshold : sum >= negativeSum(settings.trees);
    }
}

//! Counts those that are marked.
void count(const ObjectView& object, const Settings& settings, const std::vector<Codes>& list, const Chunk& chunk,
           bool positive, const uint8_t* marks)
{
    const auto leafOf = [&](size_t e, int t)
    { return (static_cast<size_t>(t) << settings.features) + list[e].code[t]; };
    for (size_t e = chunk.first; e < chunk.end; e += chunk.step)
        for (int t = 0; marks[e] && t < settings.trees; ++t)
        {
            Leaf& leaf = object.leaves[leafOf(e, t)];
            ++(positive ? leaf.positives : leaf.negatives);
        }
    for (size_t e = chunk.first; e < chunk.end; e += chunk.step)
        for (int t = 0; marks[e] && t < settings.trees; ++t)
            object.posteriors[leafOf(e, t)] = posteriorOf(object.leaves[leafOf(e, t)]);
}

//! Positives in chunks, then far windows; twice.
void learnFerns(const ObjectView& object, const Settings& settings)
{
    Lesson& lesson = *object.lesson;
    const auto learnChunk = [&](const std::vector<Codes>& list, const Chunk& chunk, bool positive)
    {
        judge(object, settings, list, chunk, positive, lesson.judged.data());
        count(object, settings, list, chunk, positive, lesson.judged.data());
    };
    const size_t examples = lesson.examples.size();
    for (int pass = 0; pass < 2; ++pass)
    {
        for (size_t first = 0; first < examples; first += POSITIVE_CHUNK)
            learnChunk(lesson.examples, {first, std::min(examples, first + POSITIVE_CHUNK), 1}, true);
        learnChunk(lesson.alike.codes, {0, lesson.alike.codes.size(), 1}, false);
    }
}

//! Leaves only far windows.
void keepFar(const ObjectView& object, const Box& box, Alike& alike)
{
    size_t kept = 0;
    for (size_t i = 0; i < alike.windows.size(); ++i)
        if (isFar(windowOf(*object.grid, alike.windows[i]), box))
        {
            alike.windows[kept] = alike.windows[i];
            alike.codes[kept++] = alike.codes[i];
        }
    alike.windows.resize(kept);
    alike.codes.resize(kept);
}

// --- templates -------------------------------------------------------------------------------------------------------

void store(const ObjectView& object, int slot, const Patch& patch)
{
    std::copy_n(patch.pixels, PATCH_STRIDE, object.templates + static_cast<size_t>(slot) * PATCH_STRIDE);
    object.stats[slot] = patch.stats;
}

void learnPositive(const Work& work, const ObjectView& object, const Patch& patch, uint32_t& added)
{
    const Similarity similarity = compareTemplates(object, *work.settings, patch);
    if (addsPositive(*object.state, similarity))
        store(object, placePositive(*object.state, object.order, similarity.nearest, added++, *work.settings), patch);
}

void learnNegative(const Work& work, const ObjectView& object, const Patch& patch, uint32_t& added)
{
    if (addsNegative(*object.state, compareTemplates(object, *work.settings, patch)))
        store(object, placeNegative(*object.state, added++, *work.settings), patch);
}

void learnTemplates(const Work& work, const ObjectView& object)
{
    const Lesson& lesson = *object.lesson;
    uint32_t added = 0;
    learnPositive(work, object, patchOf(*work.frame, lesson.positive), added);
    for (const Ranked& r : lesson.negatives)
        learnNegative(work, object, patchOf(*work.frame, boxOf(windowOf(*object.grid, r.number))), added);
}

//! Far detections in the order in which they are learned.
void orderNegatives(const ObjectView& object, const Settings& settings, const Box& box, std::vector<Ranked>& far)
{
    const ObjectState& state = *object.state;
    far.clear();
    for (int i = 0; i < state.detections; ++i)
    {
        const Detection& d = object.detections[i];
        const uint32_t index = static_cast<uint32_t>(d.number);
        if (isFar(d.window, box))
            far.push_back({0., randomOf(settings.seed, state.number, state.frame, FOR_ORDER, index).v[0], d.number});
    }
    std::sort(far.begin(), far.end(),
              [](const Ranked& a, const Ranked& b) { return a.key != b.key ? a.key < b.key : a.number < b.number; });
}

// --- first training --------------------------------------------------------------------------------------------------

const uint8_t UNUSED = 255, VALIDATES = 254;
static_assert(INIT_CHUNKS < VALIDATES, "kinds of windows are bytes");

/** The windows of a first training, and their purpose. There may be millions of them, so that a byte each is kept, and codes are worked out
again for some chunks at a time. */
struct Split
{
    std::vector<uint8_t> kinds;            //!< of all windows: their chunk, or one of the above
    size_t counts[INIT_CHUNKS] = {};       //!< windows of each chunk
    std::vector<Ranked> templates;         //!< in their order
    std::vector<Codes> codes[INIT_CHUNKS]; //!< of the chunks in work
};
const size_t MOST_CODES = static_cast<size_t>(1) << 20; //!< of chunks in work, unless a single one has more

void splitWindows(const Work& work, const ObjectView& object, const Box& box, Scratch& scratch, Split& split)
{
    const Settings& settings = *work.settings;
    const ObjectState& state = *object.state;
    auto templates =
        firstsOf(split.templates, settings.initNegatives,
                 [](const Ranked& a, const Ranked& b) { return a.key != b.key ? a.key < b.key : a.number < b.number; });
    split.kinds.assign(object.grid->windows, UNUSED);
    Mutex mutex;
    forRows(work, object, scratch.layout,
            [&](const WindowRow& row, Scratch& mine)
            {
                const Scale& scale = object.grid->scale[row.scale];
                const int64_t least = leastContrast(state.contrast, 4, scale.w, scale.h);
                std::vector<Ranked>& far = mine.ranked;
                far.clear();
                for (int i = 0; i < row.count; ++i)
                {
                    const Window window = windowOf(scale, i, row.j);
                    if (!isFar(window, box) || contrastOf(work.frame->sums, work.frame->squares, window) < least)
                        continue;
                    const int number = row.first + i;
                    const Random r =
                        randomOf(settings.seed, state.number, state.frame, FOR_SPLIT, static_cast<uint32_t>(number));
                    split.kinds[number] = r.v[0] % 2 ? VALIDATES : static_cast<uint8_t>(r.v[1] % INIT_CHUNKS);
                    far.push_back({0., r.v[2], number});
                }
                const AutoLock lock(mutex);
                for (const Ranked& window : far)
                {
                    templates.add(window);
                    if (split.kinds[window.number] != VALIDATES)
                        ++split.counts[split.kinds[window.number]];
                }
            });
    templates.sort();
}

//! visit(kind, codes) for each window of some kinds, in no order, one at a time.
template <typename Visit>
void forKinds(const Work& work, const ObjectView& object, const Scratch& scratch, const Split& split, int firstKind,
              int lastKind, const Visit& visit)
{
    Mutex mutex;
    forRows(work, object, scratch.layout,
            [&](const WindowRow& row, Scratch& mine)
            {
                const uint8_t* const kinds = &split.kinds[row.first];
                for (int i = 0; i < row.count; ++i)
                    mine.wanted[i] = kinds[i] >= firstKind && kinds[i] <= lastKind;
                codesOfRow(row, mine.wanted.data(), mine.codes.data());
                const AutoLock lock(mutex);
                for (int i = 0; i < row.count; ++i)
                    if (mine.wanted[i])
                        visit(kinds[i], mine.codes[i]);
            });
}

void trainChunk(const ObjectView& object, const Settings& settings, size_t k, const std::vector<Codes>& windows)
{
    Lesson& lesson = *object.lesson;
    const Chunk those = {k, lesson.examples.size(), INIT_CHUNKS}, all = {0, windows.size(), 1};
    std::vector<uint8_t> positive(lesson.examples.size()), negative(windows.size());
    judge(object, settings, lesson.examples, those, true, positive.data());
    judge(object, settings, windows, all, false, negative.data());
    count(object, settings, lesson.examples, those, true, positive.data());
    count(object, settings, windows, all, false, negative.data());
}

//! Two passes over positive and far windows. @return the largest sum of a window that validates.
uint32_t trainFerns(const Work& work, const ObjectView& object, const Scratch& scratch, Split& split)
{
    const Settings& settings = *work.settings;
    int first = 0, end = 0; // chunks of which there are codes
    for (int pass = 0; pass < 2; ++pass)
        for (int k = 0; k < INIT_CHUNKS; ++k)
        {
            if (k < first || k >= end)
            {
                for (int i = first; i < end; ++i)
                    std::vector<Codes>().swap(split.codes[i]);
                size_t all = split.counts[k];
                for (first = k, end = k + 1; end < INIT_CHUNKS && all + split.counts[end] <= MOST_CODES; ++end)
                    all += split.counts[end];
                for (int i = first; i < end; ++i)
                    split.codes[i].reserve(split.counts[i]);
                forKinds(work, object, scratch, split, first, end - 1,
                         [&](int kind, const Codes& codes) { split.codes[kind].push_back(codes); });
            }
            trainChunk(object, settings, static_cast<size_t>(k), split.codes[k]);
        }
    uint32_t worst = 0;
    forKinds(work, object, scratch, split, VALIDATES, VALIDATES,
             [&](int, const Codes& codes) { worst = greater(worst, sumOf(codes, object.posteriors, settings)); });
    return worst;
}

//! @param first the first positive. @return the largest relative similarity of a window that validates.
double trainTemplates(const Work& work, const ObjectView& object, const Patch& first, const std::vector<Ranked>& far)
{
    const Settings& settings = *work.settings;
    ObjectState& state = *object.state;
    uint32_t added = 0;
    learnPositive(work, object, first, added);
    const auto patch = [&](size_t i) { return patchOf(*work.frame, boxOf(windowOf(*object.grid, far[i].number))); };
    for (size_t i = 0; i < far.size(); i += 2)
        learnNegative(work, object, patch(i), added);
    double worst = 0.;
    for (size_t i = 1; i < far.size(); i += 2)
        worst =
            greater(worst, relative(compareTemplates(object, settings, patch(i)), state.positives, state.negatives));
    return worst;
}

} // namespace

void prepareLessonOf(const Work& work, const ObjectView& object)
{
    const Settings& settings = *work.settings;
    Lesson& lesson = *object.lesson;
    const ScratchPool::Lease scratch(*work.scratch);
    std::vector<Ranked>& near = scratch->ranked;
    const Box box = object.state->box;
    findNear(*object.grid, box, settings.updateWindows, near);
    lesson.positive = box;
    lesson.examples.clear();
    if (!near.empty())
        makeExamples(work, object, near, settings.updateWarps, settings.updateAngle, lesson.examples);
    keepFar(object, box, lesson.alike);
    lesson.judged.resize(std::max(lesson.examples.size(), lesson.alike.codes.size()));
    orderNegatives(object, settings, box, lesson.negatives);
    lesson.wanted = true;
}

void prepareLesson(const Work& work, const ObjectView& object)
{
    object.lesson->wanted = false;
    if (!mayLearn(*object.state))
        return;
    const Patch patch = patchOf(*work.frame, object.state->box);
    if (recheck(*object.state, patch.stats, compareTemplates(object, *work.settings, patch), *work.settings))
        prepareLessonOf(work, object);
}

void learn(const Work& work, const ObjectView& object) noexcept
{
    if (!object.lesson->wanted)
        return;
    if (!object.lesson->examples.empty())
        learnFerns(object, *work.settings);
    learnTemplates(work, object);
}

bool train(const Work& work, const ObjectView& object)
{
    const Settings& settings = *work.settings;
    ObjectState& state = *object.state;
    const Box box = state.box;
    const ScratchPool::Lease scratch(*work.scratch);
    findNear(*object.grid, box, settings.initWindows, scratch->ranked);
    if (scratch->ranked.empty())
        return false;
    const Patch first = patchOf(*work.frame, boxOf(windowOf(*object.grid, scratch->ranked[0].number)));
    if (first.stats.contrast <= 0)
        return false;
    state.contrast = first.stats.contrast;
    scratch->layout.make(object, settings, work.frame->blurred.step);
    makeExamples(work, object, scratch->ranked, settings.initWarps, settings.initAngle, object.lesson->examples);
    Split split;
    splitWindows(work, object, box, *scratch, split);
    const uint32_t worstSum = trainFerns(work, object, *scratch, split);
    const Patch own = patchOf(*work.frame, box);
    const auto templates = [&](const Patch& positive)
    {
        const double worstRelative = trainTemplates(work, object, positive, split.templates);
        endTraining(state, worstSum, worstRelative, compareTemplates(object, settings, own), settings);
    };
    templates(first);
    if (retrains(state, settings))
        templates(own);
    return true;
}

}}}} // namespace cv::cuda::tld::cpu
