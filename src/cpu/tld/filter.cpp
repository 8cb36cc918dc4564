// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// trackByFilter, trainFilter: the correlation filter instead of flow.
#include "../../precomp.hpp"
#include "correlation.hpp"
#include "work.hpp"

namespace cv { namespace cuda { namespace tld { namespace cpu {

namespace filters = correlation::cpu;
using correlation::Answer;
using correlation::CHANNELS;
using correlation::SIZES;
using correlation::Spectra;

//! Scratch memory of a filter, or of one of its threads.
struct FilterScratch
{
    filters::CellScratch scratch;
    filters::Cells cells;
    Spectra image, solution;
};

namespace {

FilterScratch& filterScratch(Scratch& scratch)
{
    if (!scratch.filter)
        scratch.filter = std::make_shared<FilterScratch>();
    return *scratch.filter;
}

//! Calls body(channel) for the first channel of each pair, in threads.
template <typename Body> void forPairs(const Body& body)
{
    parallel_for_(Range(0, CHANNELS / 2),
                  [&](const Range& range)
                  {
                      for (int k = range.start; k < range.end; ++k)
                          body(2 * k);
                  });
}

//! The answers of the sizes at a place, the largest one of them.
struct PlaceAnswer
{
    Answer answers[SIZES];
    int size; //!< of the largest one

    const Answer& best() const { return answers[size]; }
};

//! Asks a filter at one or two places.
void ask(const Work& work, const Spectra& model, const correlation::Place* places, int count, PlaceAnswer* out)
{
    parallel_for_(Range(0, count * SIZES),
                  [&](const Range& range)
                  {
                      const ScratchPool::Lease lease(*work.scratch);
                      FilterScratch& own = filterScratch(*lease);
                      for (int k = range.start; k < range.end; ++k)
                      {
                          const int place = k / SIZES, size = k % SIZES;
                          filters::lookAt(work.frame->image, places[place].samples(size), own.scratch, own.cells);
                          for (int channel = 0; channel < CHANNELS; channel += 2)
                              filters::pairSpectra(own.cells, channel, own.image);
                          out[place].answers[size] = filters::answerOf(model, own.image);
                      }
                  });
    for (int place = 0; place < count; ++place)
        out[place].size = correlation::largestSize(out[place].answers);
}

//! Learns the frame at the filter's place.
void learn(const Work& work, const ObjectView& object)
{
    const FilterState& f = object.state->filter;
    const ScratchPool::Lease lease(*work.scratch);
    FilterScratch& own = filterScratch(*lease);
    filters::lookAt(work.frame->image, placeOf(f).samples(SIZES / 2), own.scratch, own.cells);
    forPairs([&](int channel) { filters::pairSpectra(own.cells, channel, own.image); });
    const Spectra* const before = f.trains == BEGUN ? nullptr : object.filter;
    const correlation::TargetCells target = correlation::targetCells(f.width, f.height);
    filters::solve(own.image, before, nullptr, own.solution);
    forPairs([&](int channel) { filters::constrainPair(target, channel, own.solution); });
    filters::solve(own.image, before, &own.solution, *object.nextFilter);
}

} // namespace

void trackByFilter(const Work& work, const ObjectView& object)
{
    const FilterPlace last = lastPlace(*object.before);
    if (!last.there)
        return;
    const FilterPlace second = secondPlace(*object.before, *object.forwardShift);
    const correlation::Place places[2] = {last.place, second.place};
    PlaceAnswer answers[2] = {};
    ask(work, *object.filter, places, second.there ? 2 : 1, answers);
    const int taken = takesSecond(second, answers[0].best(), answers[1].best()) ? 1 : 0;
    trackByFilter(*object.state, places[taken], answers[taken].size, answers[taken].best(), work.frame->cols,
                  work.frame->rows);
}

void trainFilter(const Work& work, const ObjectView& object)
{
    ObjectState& state = *object.state;
    if (endFilter(state, work.frame->cols, work.frame->rows))
    {
        const correlation::Place place = placeOf(state.filter);
        PlaceAnswer answer = {};
        ask(work, *object.filter, &place, 1, &answer);
        verifyFound(state, answer.best().confidence);
    }
    else if (state.filter.trains != NOT_TRAINED)
        learn(work, object);
}

}}}} // namespace cv::cuda::tld::cpu
