// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// filter, trainFilter: the correlation filter beside flow.
#include "../../precomp.hpp"
#include "filter.hpp"
#include <algorithm>

namespace cv { namespace cuda { namespace tld { namespace cpu {

const FilterTables& filterTables()
{
    static const FilterTables tables = makeFilterTables();
    return tables;
}

namespace {

ImageView grayOf(const Frame& frame)
{
    return {frame.gray.data, frame.gray.step, frame.cols, frame.rows, detail::DEPTH_8U, 1};
}

FilterScratch& filterScratch(Scratch& scratch)
{
    if (!scratch.filter)
        scratch.filter = std::make_shared<FilterScratch>();
    return *scratch.filter;
}
FeatureScratch& featureScratch(Scratch& scratch)
{
    if (!scratch.features)
        scratch.features = std::make_shared<FeatureScratch>();
    return *scratch.features;
}

//! Computes the spectra of all channels around a place, and the bins of its samples.
void look(const Work& work, const FilterAreas& areas, double x, double y, FilterScratch& scratch)
{
    const SamplePlan plan = planSurround(x, y, areas);
    {
        const ScratchPool::Lease own(*work.scratch);
        cellFeatures(grayOf(*work.frame), plan, false, featureScratch(*own), scratch.features[0], FILTER_CELLS);
    }
    FilterSample& sample = scratch.sample;
    parallel_for_(Range(0, FILTER_PAIRS),
                  [&](const Range& range)
                  {
                      for (int k = 2 * range.start; k < 2 * range.end; k += 2)
                          pairSpectra(scratch.features[k], filterTables(), sample.re[k], sample.im[k]);
                  });
    for (int j = 0; j < FILTER_SIDE; ++j)
        for (int i = 0; i < FILTER_SIDE; ++i)
            sample.bins[j * FILTER_SIDE + i] =
                binOf(pixelOf(work.frame->image, plan, i, j), isColour(work.frame->image) != 0);
}

//! Computes the spectra of the scale filter.
void lookAtSizes(const Work& work, const FilterState& f, FilterScratch& scratch)
{
    const ScaleCells cells = scaleCells(f.width, f.height);
    parallel_for_(Range(0, FILTER_SCALES),
                  [&](const Range& range)
                  {
                      const ScratchPool::Lease own(*work.scratch);
                      for (int i = range.start; i < range.end; ++i)
                          cellFeatures(grayOf(*work.frame), sizeSamples(f, sizeFactor(i), cells).at(f), true,
                                       featureScratch(*own), scratch.sizeFeatures[i], SCALE_CELLS);
                  });
    for (int i = 0; i < FILTER_SCALES; ++i)
        for (int k = 0; k < SCALE_CHANNELS; ++k)
            std::fill(scratch.sizeFeatures[i] + k * SCALE_CELLS + cells.cols * cells.rows,
                      scratch.sizeFeatures[i] + (k + 1) * SCALE_CELLS, 0.f);
    sizeSpectra(scratch.sizeFeatures[0], filterTables(), scratch.sizes);
}

//! Computes the table of sums of the likelihoods of all samples.
void sumLikelihoods(const FilterModel& model, bool known, FilterScratch& scratch)
{
    const int step = FILTER_SIDE + 1;
    std::fill_n(scratch.likelihoods, step, 0);
    for (int j = 0; j < FILTER_SIDE; ++j)
    {
        int* const row = scratch.likelihoods + (j + 1) * step;
        row[0] = 0;
        for (int i = 0, sum = 0; i < FILTER_SIDE; ++i)
        {
            const int bin = scratch.sample.bins[j * FILTER_SIDE + i];
            sum += known ? likelihoodOf(model.foreground[bin], model.background[bin]) : 0;
            row[i + 1] = row[i + 1 - step] + sum;
        }
    }
}

//! Asks the filter at a place.
FilterAnswer ask(const Work& work, const ObjectView& object, const FilterState& f, double x, double y,
                 FilterScratch& scratch)
{
    const FilterAreas areas = filterAreas(f.width, f.height, f.scale, work.frame->cols, work.frame->rows);
    look(work, areas, x, y, scratch);
    answerOf(*object.filter, scratch.sample, filterTables(), scratch.answer);
    const Displacements d = displacementsOf(areas);
    sumLikelihoods(*object.filter, f.colour == isColour(work.frame->image), scratch);
    FilterAnswer best = {confidenceOf(*std::max_element(scratch.answer, scratch.answer + FILTER_CELLS)), 0, 0};
    float most = 0.f;
    const int step = FILTER_SIDE + 1;
    for (int j = 0; j < d.rows(); ++j)
        for (int i = 0; i < d.cols(); ++i)
        {
            const int* const corner = scratch.likelihoods + j * step + i;
            const int sum = corner[d.height * step + d.width] - corner[d.width] - corner[d.height * step] + corner[0];
            const float value = mergedAnswer(
                interpolated(scratch.answer, betweenCells(i - d.reachX), betweenCells(j - d.reachY)), sum, d);
            if ((i == 0 && j == 0) || value > most)
            {
                most = value;
                best.dx = i - d.reachX;
                best.dy = j - d.reachY;
            }
        }
    return best;
}

//! Returns the index of the size of the largest answer.
int askSize(const Work& work, const ObjectView& object, FilterScratch& scratch)
{
    lookAtSizes(work, object.state->filter, scratch);
    const FilterModel& model = *object.filter;
    Complex quotients[SCALE_FREQUENCIES];
    for (int f = 0; f < SCALE_FREQUENCIES; ++f)
        quotients[f] = scaleQuotient(scaleSum(model, scratch.sizes, f), model.scaleEnergy[f]);
    float answers[FILTER_SCALES];
    for (int i = 0; i < FILTER_SCALES; ++i)
        answers[i] = sizeAnswer(quotients, i, filterTables().scaleCosine, filterTables().scaleSine);
    return largestSize(answers);
}

//! Learns the frame at the filter's place.
void learn(const Work& work, const ObjectView& object, FilterScratch& scratch)
{
    FilterState& f = object.state->filter;
    const FilterAreas areas = filterAreas(f.width, f.height, f.scale, work.frame->cols, work.frame->rows);
    look(work, areas, f.x, f.y, scratch);
    lookAtSizes(work, f, scratch);
    std::fill_n(scratch.foreground, HISTOGRAM_BINS, 0);
    std::fill_n(scratch.background, HISTOGRAM_BINS, 0);
    int all[2] = {0, 0};
    for (int j = 0; j < FILTER_SIDE; ++j)
        for (int i = 0; i < FILTER_SIDE; ++i)
        {
            const FilterPart part = partOf(areas, i, j);
            if (part == EDGE)
                continue;
            ++(part == INNER ? scratch.foreground : scratch.background)[scratch.sample.bins[j * FILTER_SIDE + i]];
            ++all[part == INNER ? 0 : 1];
        }
    const TrainingRates rates = beginFilterTraining(f, isColour(work.frame->image));
    learnFilter(*object.filter, scratch, *object.filterTarget, filterTables(), rates, all[0], all[1],
                *object.nextFilter);
}

} // namespace

void filter(const Work& work, const ObjectView& object)
{
    ObjectState& state = *object.state;
    const ObjectState& before = *object.before;
    if (!asksFilter(before))
        return;
    const Frame& frame = *work.frame;
    const ScratchPool::Lease lease(*work.scratch);
    FilterScratch& scratch = filterScratch(*lease);
    FilterState& f = state.filter;
    const SecondPlace second = secondPlace(before, *object.forwardShift);
    const FilterAreas areas = filterAreas(f.width, f.height, f.scale, frame.cols, frame.rows);
    FilterAnswer answers[2] = {ask(work, object, f, f.x, f.y, scratch), {}};
    if (second.there)
        answers[1] = ask(work, object, f, second.x, second.y, scratch);
    if (takesSecond(second, answers))
        moveByAnswer(f, second.x, second.y, answers[1], areas);
    else
        moveByAnswer(f, f.x, f.y, answers[0], areas);
    scaleByAnswer(f, sizeFactor(askSize(work, object, scratch)),
                  scaleLimits(f.width, f.height, frame.cols, frame.rows));
    const Similarity similarity =
        state.alive ? compareTemplates(object, *work.settings, patchOf(frame, state.box)) : Similarity();
    fuse(state, before, similarity, frame.cols, frame.rows);
}

void trainFilter(const Work& work, const ObjectView& object)
{
    ObjectState& state = *object.state;
    const FilterState& f = state.filter;
    const bool inDoubt = endFilter(state, work.frame->cols, work.frame->rows);
    if (!inDoubt && f.trains == NOT_TRAINED)
        return;
    const ScratchPool::Lease lease(*work.scratch);
    FilterScratch& scratch = filterScratch(*lease);
    if (inDoubt)
        verifyFound(state, ask(work, object, f, f.x, f.y, scratch).confidence);
    else
        learn(work, object, scratch);
}

}}}} // namespace cv::cuda::tld::cpu
