// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// VOT's long-term measure (Lukezic et al., Now you see me: evaluating performance in long-term visual tracking, 2018).
//
// A tracker reports a score with each box. At a threshold, the boxes with a score of at least this count as reported.
// Precision is the mean overlap of these with the truth, 0 in frames without the object; recall is the sum of these
// overlaps divided by the number of frames with the object. Of several runs or sequences precision and recall are means
// at each threshold. F is their harmonic mean, and the measure is the largest F over all thresholds.
//
// The thresholds are all scores that occur: precision and recall change nowhere else. A run that reports nothing at a
// threshold has a precision of 1, as in VOT's program.
#ifndef OPENCV_CUDATRACKING_SAMPLES_TLD_BENCHMARK_LONG_TERM_HPP
#define OPENCV_CUDATRACKING_SAMPLES_TLD_BENCHMARK_LONG_TERM_HPP

#include <algorithm>
#include <vector>

namespace sample {

struct ScoredBox
{
    double score;   //!< 0 to 1
    double overlap; //!< with the truth; 0 in frames without the object
};

//! Reported boxes of a run.
struct ScoredRun
{
    std::vector<ScoredBox> boxes;
    int visible;   //!< number of frames with the object, above 0
    double weight; //!< in means over runs; the weights of all runs add up to 1
};

struct LongTerm
{
    double threshold = 1., precision = 1., recall = 0.;

    double f() const { return recall > 0. ? 2. * precision * recall / (precision + recall) : 0.; }
};

//! Returns the values at each score that occurs, the largest score first.
inline std::vector<LongTerm> longTermCurve(const std::vector<ScoredRun>& runs)
{
    struct Entry
    {
        double score, overlap;
        size_t run;
    };
    struct Sum
    {
        double overlaps = 0.;
        int boxes = 0;
    };
    std::vector<Entry> entries;
    for (size_t r = 0; r < runs.size(); ++r)
        for (const ScoredBox& b : runs[r].boxes)
            entries.push_back({b.score, b.overlap, r});
    std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.score > b.score; });
    std::vector<Sum> sums(runs.size());
    std::vector<LongTerm> curve;
    LongTerm at;
    for (size_t i = 0; i < entries.size(); ++i)
    {
        const Entry& e = entries[i];
        const ScoredRun& run = runs[e.run];
        Sum& sum = sums[e.run];
        const double before = sum.boxes > 0 ? sum.overlaps / sum.boxes : 1.;
        sum.overlaps += e.overlap;
        ++sum.boxes;
        at.threshold = e.score;
        at.precision += run.weight * (sum.overlaps / sum.boxes - before);
        at.recall += run.weight * e.overlap / run.visible;
        if (i + 1 == entries.size() || entries[i + 1].score < e.score)
            curve.push_back(at);
    }
    return curve;
}

//! Returns the point of the largest F, of equal ones that of the largest threshold.
inline LongTerm bestOf(const std::vector<LongTerm>& curve)
{
    const auto best = std::max_element(curve.begin(), curve.end(),
                                       [](const LongTerm& a, const LongTerm& b) { return a.f() < b.f(); });
    return best == curve.end() ? LongTerm() : *best;
}

} // namespace sample

#endif // OPENCV_CUDATRACKING_SAMPLES_TLD_BENCHMARK_LONG_TERM_HPP
