// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// The interface that the public class uses of both backends, over views.
#ifndef OPENCV_CUDATRACKING_FRAGMENT_MATCHER_ENGINE_HPP
#define OPENCV_CUDATRACKING_FRAGMENT_MATCHER_ENGINE_HPP

#include "stages.hpp"
#include <memory>
#include <vector>

namespace cv { namespace cuda { namespace fragment_matcher {

using detail::OutputView;
using detail::StreamHandle;

/** A fragment, as the public class keeps it. In host memory: four channels reduced to three, rows without gaps, 8-bit
weights or none. In device memory: `source` is the caller's memory, and null once the CUDA engine has its copy. */
struct Fragment
{
    uint64_t id;      //!< unique; ids ascend within the list, survive an update of the content, and are never reused
    uint64_t version; //!< version of the content: equal ids and versions mean equal contents
    int type;         //!< OpenCV's type of the template, as given
    int width, height;
    bool onDevice, weighted;
    FragmentSource source;
    TemplateSums sums;           //!< set for fragments in host memory only
    std::shared_ptr<void> owner; //!< keeps the memory of `source` alive
};

//! Returns true if b can be stored in a's place without invalidating captured graphs.
inline bool sameLayout(const Fragment& a, const Fragment& b)
{
    return a.type == b.type && a.width == b.width && a.height == b.height && a.onDevice == b.onDevice &&
           a.weighted == b.weighted;
}

/** All fragments. The public class owns them and passes them to the engine with each call; engines detect by id and
version which are new. */
struct Fragments
{
    std::vector<Fragment> list;
    uint64_t version = 0; //!< version of the list: changes with each edit

    int count() const { return static_cast<int>(list.size()); }
    bool anyWeighted() const
    {
        for (const Fragment& fragment : list)
            if (fragment.weighted)
                return true;
        return false;
    }
};

//! Search areas of a call, one per fragment; list null: the whole frame for all.
struct SearchAreas
{
    ConstRowsView<Rect4> list;
    bool onDevice;
    int limitWidth, limitHeight; //!< largest area in device memory, pixels; larger ones get STATUS_AREA_TOO_LARGE
};

//! Score maps of fragments [first, first + windows.size()); at least one window is not empty.
struct MapRequest
{
    int first;
    std::vector<SearchWindow> windows;
    //! Start of each map in the only row of the output, elements, then the end of the last. Empty: one map, as large as
    //! the output.
    std::vector<int> offsets;
    Metric metric;
    int depth; //!< as in FragmentMatcher::scoreMap()

    int count() const { return static_cast<int>(windows.size()); }
};

struct MatchOutputs
{
    OutputView locations, scores, confidence, status, refined;
};

/** A backend. Calls of the CUDA engine are asynchronous on `stream` as far as their outputs allow; the CPU engine
ignores `stream`. A call that throws leaves the engine unchanged. */
class Engine
{
public:
    virtual ~Engine() = default;

    /** Copies the new ones of fragments whose sources are in device memory.
    @return false if the copy was captured into a graph: then nothing has happened yet. */
    virtual bool take(const Fragments& fragments, StreamHandle stream) = 0;

    virtual void match(const ByteImageView& frame, const Fragments& fragments, const SearchAreas& areas,
                       ConstRowsView<Position> predictions, const Settings& settings, const MatchOutputs& outputs,
                       StreamHandle stream) = 0;
    //! Writes the maps of a request to `maps`, without gaps if it has offsets.
    virtual void scoreMaps(const ByteImageView& frame, const Fragments& fragments, const MapRequest& request,
                           const OutputView& maps, StreamHandle stream) = 0;
    virtual void predictAreas(ConstRowsView<Position> locations, const Fragments& fragments, int radius, int frameCols,
                              int frameRows, const OutputView& areas, StreamHandle stream) = 0;

    //! Returns the bytes of device memory and page-locked memory that the engine holds.
    virtual size_t workspaceBytes() const = 0;
};

std::unique_ptr<Engine> makeCpuEngine();
//! @throws cv::Exception in builds without CUDA.
std::unique_ptr<Engine> makeCudaEngine();

}}} // namespace cv::cuda::fragment_matcher

#endif // OPENCV_CUDATRACKING_FRAGMENT_MATCHER_ENGINE_HPP
