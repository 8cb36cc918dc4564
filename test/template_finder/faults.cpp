// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Lets calls into the CUDA runtime and allocations fail in turn in all methods of TemplateFinder.
#include "../common/faults_each.hpp"
#include "scenes.hpp"

namespace opencv_test { namespace {

using namespace faults;
using namespace poses;

//! A finder with a template, and arguments for all its methods.
class Finding : public Arguments
{
public:
    Finding(Engine engine, int) : Arguments(engine, 0), finder(TF::create(makeParams(0.8, 0., 20.)))
    {
        const Size size(16, 13), large(34, 30);
        whole = makeImage(Size(50, 44), CV_8UC1, size, {{20.3, 18.6, 15., 1.}});
        image = {engine, whole};
        templ = {engine, makeTemplate(size, CV_8UC1)};
        other = {engine, makeTemplate(large, CV_8UC1, 2)};
        weights = {engine, Mat(large, CV_8UC1, Scalar(200))};
        finder->setTemplate(templ.in(), noArray(), stream());
    }

    Outputs given() { return {{"poses", tableOf(found)}}; }
    Outputs observe()
    {
        std::vector<TemplatePose> now;
        finder->find(whole, now);
        const Size size = finder->getTemplateSize();
        return {{"poses of this template", tableOf(now)},
                {"size", Mat(1, 2, CV_32S, Scalar(size.width + 1000 * size.height))},
                {"threshold", Mat(1, 1, CV_64F, Scalar(finder->getParams().threshold))}};
    }

    const Ptr<TF> finder;
    Mat whole;
    fuzz::Image image, templ, other, weights;
    std::vector<TemplatePose> found;
};

typedef Scenario<Finding> S;

std::vector<S> scenarios()
{
    return {
        {"find", EAGER, [](Finding& f) { f.finder->find(f.image.in(), f.found, f.stream()); }},
        {"setTemplate", EAGER, [](Finding& f) { f.finder->setTemplate(f.other.in(), f.weights.in(), f.stream()); }},
        {"setParams", EAGER, [](Finding& f) { f.finder->setParams(makeParams(0.7, 0., 30.)); }},
    };
}

TEST(TemplateFinder_Faults, memory) { failAll(MEMORY, EAGER, Engine::CPU, 1, scenarios()); }

TEST(TemplateFinder_Faults, onCuda) { failAll(faults::CUDA, EAGER, Engine::CUDA, 1, scenarios()); }

TEST(TemplateFinder_Faults, memoryOnCuda) { failAll(MEMORY, EAGER, Engine::CUDA, 1, scenarios()); }

}} // namespace opencv_test
