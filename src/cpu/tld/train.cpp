// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// train: first training of an object.
#include "../../precomp.hpp"
#include "learning.hpp"
#include <algorithm>

namespace cv { namespace cuda { namespace tld { namespace cpu {

namespace {

const uint8_t UNUSED = 255, VALIDATES = 254;
static_assert(INIT_CHUNKS < VALIDATES, "kinds of windows are bytes");

/** Purpose of each window in the first training. There may be millions of windows, so that only a byte per window is
kept, and codes are computed for some chunks at a time, once per pass. */
struct Split
{
    std::vector<uint8_t> kinds;            //!< per window: its chunk, VALIDATES or UNUSED
    size_t counts[INIT_CHUNKS] = {};       //!< windows per chunk
    std::vector<Candidate> templates;      //!< candidates for templates, in their order
    std::vector<Codes> codes[INIT_CHUNKS]; //!< codes of the windows of a chunk; empty unless it is loaded
};
const size_t MOST_CODES = static_cast<size_t>(1)
                          << 20; //!< windows of all loaded chunks, unless a single chunk has more

void splitWindows(const Work& work, const ObjectView& object, const Box& box, Scratch& scratch, Split& split)
{
    const Settings& settings = *work.settings;
    const ObjectState& state = *object.state;
    auto templates = firstsOf(split.templates, settings.initNegatives,
                              [](const Candidate& a, const Candidate& b)
                              { return a.key != b.key ? a.key < b.key : a.number < b.number; });
    split.kinds.assign(object.grid->windows, UNUSED);
    Mutex mutex;
    forRows(work, object, scratch.layout,
            [&](const WindowRow& row, Scratch& mine)
            {
                const Scale& scale = object.grid->scale[row.scale];
                const int64_t least = leastContrast(state.contrast, 4, scale.w, scale.h);
                std::vector<Candidate>& far = mine.candidates;
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
                for (const Candidate& window : far)
                {
                    templates.add(window);
                    if (split.kinds[window.number] != VALIDATES)
                        ++split.counts[split.kinds[window.number]];
                }
            });
    templates.sort();
}

//! Calls visit(kind, codes) for all windows with kinds from firstKind to lastKind, in any order, one at a time.
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
    TrainingSet& set = *object.trainingSet;
    const Chunk those = {k, set.examples.size(), INIT_CHUNKS}, all = {0, windows.size(), 1};
    std::vector<uint8_t> positive(set.examples.size()), negative(windows.size());
    markExamples(object, settings, set.examples, those, true, positive.data());
    markExamples(object, settings, windows, all, false, negative.data());
    countMarked(object, settings, set.examples, those, true, positive.data());
    countMarked(object, settings, windows, all, false, negative.data());
}

//! Learns positive examples and far windows, in two passes. @return the largest sum of posteriors of a validating
//! window.
uint32_t trainFerns(const Work& work, const ObjectView& object, const Scratch& scratch, Split& split)
{
    const Settings& settings = *work.settings;
    int first = 0, end = 0; // the loaded chunks
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

//! Learns the templates. @param first positive template. @return the largest relative similarity of a validating
//! window.
double trainTemplates(const Work& work, const ObjectView& object, const Patch& first, const std::vector<Candidate>& far)
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

bool train(const Work& work, const ObjectView& object)
{
    const Settings& settings = *work.settings;
    ObjectState& state = *object.state;
    const Box box = state.box;
    const ScratchPool::Lease scratch(*work.scratch);
    findNear(*object.grid, box, settings.initWindows, scratch->candidates);
    if (scratch->candidates.empty())
        return false;
    const Patch first = patchOf(*work.frame, boxOf(windowOf(*object.grid, scratch->candidates[0].number)));
    if (first.stats.contrast <= 0)
        return false;
    state.contrast = first.stats.contrast;
    scratch->layout.make(object, settings, work.frame->blurred.step);
    makeExamples(work, object, scratch->candidates, settings.initWarps, settings.initAngle,
                 object.trainingSet->examples);
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
