// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher: what a route of the CUDA backend is, and the list of all routes. doc/developing.md tells how to add
// one.
#ifndef OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_ROUTE_HPP
#define OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_ROUTE_HPP

#include "common/case.hpp"
#include <memory>

namespace cv { namespace cuda {

namespace detail {
class Call;
class DeviceTable;
class Parts;
class Uploader;
} // namespace detail

namespace fragment_matcher {

//! The decisions of a route for a load, and the memory that it got for the fragments of one launch.
class Plan
{
public:
    virtual ~Plan() = default;

    //! Device memory per fragment, bytes, and blocks per fragment; both limit the fragments of one launch. 0: nothing
    //! limits them.
    virtual size_t bytesEach() const { return 0; }
    virtual size_t blocksEach() const { return 1; }
    /** Takes memory for `count` fragments. Called twice, at first without memory, to sum up bytes.
    @param working its content is undefined before a launch. @param zeros all 0 before and after a launch. */
    virtual void takeMemory(detail::Parts& working, detail::Parts& zeros, int count)
    {
        (void)working, (void)zeros, (void)count;
    }
    //! Uploads what does not depend on the fragments. @param tables for this route alone.
    virtual void upload(const detail::Call& call, detail::Uploader& uploader, detail::DeviceTable& tables)
    {
        (void)call, (void)uploader, (void)tables;
    }

    //! Computes values, finds peaks and reports them.
    virtual void run(const gpu::Job& job) const = 0;
    //! Returns where run() leaves the values of all positions; null: it does not.
    virtual const gpu::Windows* windows() const { return nullptr; }
};

//! One way to match fragments: its folder has plan, layout and kernels.
struct Route
{
    const char* name;
    //! Plans a load that the route takes, see `deep`; null: the route does not apply.
    std::unique_ptr<Plan> (*plan)(const MatchCase& given, const Load& load);
    //! Returns for each group whether one launch matches all of its fragments together with the groups before; null: a
    //! route whose limits do not divide loads.
    std::vector<char> (*fits)(const MatchCase& given, const std::vector<SizeGroup>& groups) = nullptr;
    bool deep = false; //!< takes loads that are matched as 16 bits, see isDeep(), and no others; else all others
};

//! All routes. Fragments that do not fit a route with `fits` are a load of their own.
extern const Route* const ROUTES[];
extern const size_t ROUTE_COUNT;

/** Route::plan of a route.
@tparam RoutePlan its class, made of the call, the load and what planOf() returns.
@tparam planOf function of both; returns a std::optional, without a value if the route does not apply. */
template <class RoutePlan, auto planOf> std::unique_ptr<Plan> planBy(const MatchCase& given, const Load& load)
{
    const auto decisions = planOf(given, load);
    return decisions ? std::make_unique<RoutePlan>(given, load, *decisions) : nullptr;
}

//! Returns true if a load is matched as 16 bits: that is what the image has, or a fragment needs it.
inline bool isDeep(const MatchCase& given, const Load& load)
{
    return given.frame.deep() || isBeyond63Bits(given.metric, load.pixels);
}

/** Returns what a route plans for a load; null: it does not apply. Where no fragment fits into its area there is only a
status to report, which routes for 8 bits do for every type. */
inline std::unique_ptr<Plan> planOf(const Route& route, const MatchCase& given, const Load& load)
{
    return route.deep == (isDeep(given, load) && !load.window.empty()) ? route.plan(given, load) : nullptr;
}

} // namespace fragment_matcher
}} // namespace cv::cuda

#endif // OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_ROUTE_HPP
