// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Random legal calls of one instance, compared with a model of their results.
#ifndef OPENCV_CUDATRACKING_TEST_COMMON_MODEL_HPP
#define OPENCV_CUDATRACKING_TEST_COMMON_MODEL_HPP

#include "../test_precomp.hpp"
#include "graphs.hpp"
#include <functional>
#include <list>
#include <memory>

namespace opencv_test {

//! Base of the models: an instance, what is known about it, and the operations that change or compare both.
class Model
{
public:
    explicit Model(uint64 seed) : rng_(seed) {}
    virtual ~Model() = default;
    Model(const Model&) = delete;
    Model& operator=(const Model&) = delete;

    //! Does one operation.
    virtual void step() = 0;
    //! How much has been compared.
    int64 compared() const { return compared_; }

protected:
    //! An operation that is drawn `weight` times as often as one of weight 1.
    struct Operation
    {
        int weight;
        std::function<void()> call;
    };
    void callOneOf(const std::vector<Operation>& operations)
    {
        int sum = 0;
        for (const Operation& operation : operations)
            sum += operation.weight;
        int drawn = rng_.uniform(0, sum);
        for (const Operation& operation : operations)
            if ((drawn -= operation.weight) < 0)
                return operation.call();
    }
    void log(const std::string& what) { history_ += what + "; "; }

    RNG rng_;
    std::string history_; //!< all operations so far
    int64 compared_ = 0;
};

//! Runs models of the seeds from 1 on, so many steps each. Together they must compare more than `least`.
template <typename SomeModel, typename... Args>
void expectAnyOrder(uint64 seeds, int steps, int64 least, const Args&... args)
{
    int64 compared = 0;
    for (uint64 seed = 1; seed <= seeds && !testing::Test::HasFailure(); ++seed)
    {
        SCOPED_TRACE(cv::format("seed %d", static_cast<int>(seed)));
        SomeModel model(seed, args...);
        for (int i = 0; i < steps && !testing::Test::HasFailure(); ++i)
            model.step();
        compared += model.compared();
    }
    EXPECT_GT(compared, least);
}

#ifdef HAVE_CUDA

//! Captures on one stream. Captured has the graph and its arrays. Declared after the instances, which outlive it.
template <typename Captured> class CapturedCalls
{
public:
    ~CapturedCalls() { stream.waitForCompletion(); }

    template <typename Work> void capture(Captured& captured, const Work& work)
    {
        captured.graph.reset(new Graph(stream));
        work();
        captured.graph->end();
    }
    //! Returns one of them; null if there is none.
    Captured* any(RNG& rng)
    {
        if (all.empty())
            return nullptr;
        auto chosen = all.begin();
        std::advance(chosen, rng.uniform(0, static_cast<int>(all.size())));
        return &*chosen;
    }
    void replay(Captured& captured)
    {
        captured.graph->launch();
        stream.waitForCompletion();
    }
    //! Destroys the oldest one. @return false if there is none.
    bool forget()
    {
        const bool some = !all.empty();
        if (some)
            all.pop_front();
        return some;
    }

    cuda::Stream stream;
    std::list<Captured> all;
};

#endif // HAVE_CUDA

} // namespace opencv_test

#endif // OPENCV_CUDATRACKING_TEST_COMMON_MODEL_HPP
