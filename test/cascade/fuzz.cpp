// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Random cases of CascadeClassifierEx; test/common/fuzz.hpp lists the variables that choose cases.
#include "fuzz.hpp"
#include "scenes.hpp"

namespace opencv_test { namespace {

using namespace fuzz;

//! All results of one cascade for one image.
struct CascadeTruth
{
    std::vector<Rect> boxes;
    std::vector<int> counts;
    std::vector<double> weights;
    std::vector<std::vector<int>> passes;
    int candidates;

    CascadeTruth(const OracleCascade& c, const CascadeParams& p, const Mat& image, const Mat& mask)
    {
        CascadeResults r;
        if (!image.empty())
            r = oracleDetect(c, image, p.sizes, mask, &passes);
        const bool all = p.sizes.minNeighbors <= 0;
        boxes = all ? r.raw : r.objects;
        weights = all ? r.rawWeights : r.weights;
        counts = all ? std::vector<int>(r.raw.size(), 1) : r.numDetections;
        candidates = int(r.raw.size());
        if (p.largest && !boxes.empty())
            keepLargest();
    }

private:
    void keepLargest()
    {
        size_t best = 0;
        for (size_t i = 1; i < boxes.size(); ++i)
            if (boxes[i].area() > boxes[best].area())
                best = i;
        boxes = {boxes[best]};
        weights = {weights[best]};
        counts = {counts[best]};
    }
};

struct TruthTables
{
    Mat objects, counts, weights;

    TruthTables(const std::vector<CascadeTruth>& truths, const CascadeParams& p)
        : objects(Mat::zeros(int(truths.size()), 1 + p.maxObjects, CV_32SC4)),
          counts(Mat::zeros(int(truths.size()), p.maxObjects, CV_32SC1)),
          weights(Mat::zeros(int(truths.size()), p.maxObjects, CV_64FC1))
    {
        for (int i = 0; i < objects.rows; ++i)
        {
            const CascadeTruth& t = truths[i];
            const bool overflow = t.candidates > p.maxCandidates;
            const int found = overflow ? 0 : int(t.boxes.size()), n = std::min(found, p.maxObjects);
            objects.at<Vec4i>(i, 0) = Vec4i(n, found, t.candidates, overflow);
            for (int k = 0; k < n; ++k)
            {
                objects.at<Vec4i>(i, 1 + k) = Vec4i(t.boxes[k].x, t.boxes[k].y, t.boxes[k].width, t.boxes[k].height);
                counts.at<int>(i, k) = t.counts[k];
                weights.at<double>(i, k) = t.weights[k];
            }
        }
    }
};

std::vector<CascadeTruth> truthsOf(const CascadeFuzzCase& c)
{
    std::vector<CascadeTruth> truths;
    for (size_t i = 0; i < c.images.size(); ++i)
        truths.emplace_back(c.cascade, c.params, c.images[i], c.masks.empty() ? Mat() : c.masks[i]);
    return truths;
}

void addTables(const std::string& prefix, const TruthTables& tables, Outputs& expected)
{
    expected.emplace_back(prefix + "objects", tables.objects);
    expected.emplace_back(prefix + "counts", tables.counts);
    expected.emplace_back(prefix + "weights", tables.weights);
}

void addVectors(const CascadeTruth& t, int stages, Outputs& expected)
{
    expected.emplace_back("vector", columnOf(t.boxes));
    expected.emplace_back("vector counts", columnOf(t.counts));
    expected.emplace_back("vector levels", Mat(int(t.boxes.size()), 1, CV_32SC1, Scalar(stages)));
    expected.emplace_back("vector weights", columnOf(t.weights));
}

void addPasses(const CascadeFuzzCase& c, const Outputs& outputs, Outputs& expected)
{
    // Masks, groups and capacities do not matter here.
    const CascadeTruth truth(c.cascade, c.params, c.images[0], Mat());
    Mat passes(int(truth.passes.size()), 3 + int(c.cascade.stages.size()), CV_32SC1), scales, layers;
    for (int i = 0; i < passes.rows; ++i)
        for (int k = 0; k < passes.cols; ++k)
            passes.at<int>(i, k) = truth.passes[i][k];
    for (float s : oracleScales(c.cascade.window, c.images[0].size(), c.params.sizes))
    {
        scales.push_back(double(s));
        layers.push_back(Mat(Vec2i(cvRound(c.images[0].cols / s), cvRound(c.images[0].rows / s))).reshape(2, 1));
    }
    for (const auto& output : outputs) // no scales: no rows
        for (const auto& is : {std::make_pair("passes", passes), {"scales", scales}, {"layers", layers}})
            if (output.first == is.first && (is.second.rows > 0 || output.second.rows > 0))
                expected.emplace_back(is);
}

//! Compares a case with the oracle. @param wrong out: the difference. @return false if the case is too large.
bool judged(const CascadeFuzzCase& c, const Outputs& outputs, std::string& wrong)
{
    if (c.work > 4e4)
        return false;
    Outputs expected;
    const std::vector<CascadeTruth> truths = truthsOf(c);
    const TruthTables tables(truths, c.params);
    addTables("", tables, expected);
    addTables("again ", tables, expected);
    addVectors(truths[0], int(c.cascade.stages.size()), expected);
    addPasses(c, outputs, expected);
    wrong = differenceFrom(expected, outputs);
    return true;
}

TEST(Cascade_Fuzz, oracle) { expectRightOnCpu("Cascade_Fuzz", 250, makeCascadeCase, runCascade, judged); }

TEST(Cascade_Fuzz, cpuIsCuda)
{
    requireCuda();
    expectCpuIsCuda("Cascade_Fuzz", 400, makeCascadeCase, runCascade);
}

}} // namespace opencv_test
