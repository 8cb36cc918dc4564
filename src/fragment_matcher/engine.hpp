// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// What the public class asks of either engine, over views.
#ifndef OPENCV_CUDATRACKING_FRAGMENT_MATCHER_ENGINE_HPP
#define OPENCV_CUDATRACKING_FRAGMENT_MATCHER_ENGINE_HPP

#include "stages.hpp"
#include <memory>
#include <vector>

namespace cv { namespace cuda { namespace fragment_matcher {

using detail::OutputView;
using detail::StreamHandle;

/** A fragment, as the public class keeps it. On the host: three channels for four, rows without gaps, 8-bit weights or none.
On the device `source` is the caller's memory, and null once an engine has its copy. */
struct Fragment
{
    /** What the fragment is called: ascending in the list, kept when its content is replaced by one of the same layout, never
    used again. */
    uint64_t id;
    uint64_t version; //!< of its content: equal ids and versions, equal contents
    int type;         //!< as given, OpenCV's
    int width, height;
    bool onDevice, weighted;
    FragmentSource source;
    TemplateSums sums;           //!< on the host
    std::shared_ptr<void> owner; //!< of what source points to
};

//! True when one can take the other's place: graphs that read the one can as well read the other.
inline bool sameLayout(const Fragment& a, const Fragment& b)
{
    return a.type == b.type && a.width == b.width && a.height == b.height && a.onDevice == b.onDevice &&
           a.weighted == b.weighted;
}

/** All fragments. They belong to the public class; engines are given them with each call, and find out what is new to them. */
struct Fragments
{
    std::vector<Fragment> list;
    uint64_t version = 0; //!< of the list: another one after each edit

    int count() const { return static_cast<int>(list.size()); }
    bool anyWeighted() const
    {
        for (const Fragment& fragment : list)
            if (fragment.weighted)
                return true;
        return false;
    }
};

//! Search areas of a call, by fragment; list null: the whole frame.
struct SearchAreas
{
    ConstRowsView<Rect4> list;
    bool onDevice;
    int limitWidth, limitHeight; //!< of areas on the device; larger ones are refused
};

struct MatchOutputs
{
    OutputView locations, scores, confidence, status, refined;
};

/** Calls of the CUDA engine are asynchronous on `stream` as far as their outputs allow; calls of the CPU engine do not look at
it. An engine that throws is as it was. */
class Engine
{
public:
    virtual ~Engine() = default;

    /** For fragments whose sources are on the device: the engine makes its copies of what is new.
    @return false when this was only captured into a graph: then nothing has happened. */
    virtual bool take(const Fragments& fragments, StreamHandle stream) = 0;

    virtual void match(const ByteImageView& frame, const Fragments& fragments, const SearchAreas& areas,
                       ConstRowsView<Position> predictions, const Settings& settings, const MatchOutputs& outputs,
                       StreamHandle stream) = 0;
    //! The map of one fragment; `window` is not empty and `map` has its size.
    virtual void scoreMap(int index, const ByteImageView& frame, const Fragments& fragments, const SearchWindow& window,
                          Metric metric, int depth, const OutputView& map, StreamHandle stream) = 0;
    //! The maps of all fragments one after the other in one row, fragment i's from offsets[i] on; no window is empty in all.
    virtual void scoreMaps(const ByteImageView& frame, const Fragments& fragments,
                           const std::vector<SearchWindow>& windows, const std::vector<int>& offsets, Metric metric,
                           int depth, const OutputView& maps, StreamHandle stream) = 0;
    virtual void predictAreas(ConstRowsView<Position> locations, const Fragments& fragments, int radius, int frameCols,
                              int frameRows, const OutputView& areas, StreamHandle stream) = 0;

    //! Device and pinned memory.
    virtual size_t bytes() const = 0;
};

std::unique_ptr<Engine> makeCpuEngine();
//! @throws cv::Exception in builds without CUDA.
std::unique_ptr<Engine> makeCudaEngine();

//! Rows in device memory, and where they are wanted on the host.
struct HostCopy
{
    const void* device;
    size_t deviceStep;
    void* host;
    size_t hostStep, rowBytes;
    int rows;
};
//! Makes copies and waits for `stream`. @throws cv::Exception while that is being captured.
void download(const std::vector<HostCopy>& copies, StreamHandle stream);

}}} // namespace cv::cuda::fragment_matcher

#endif // OPENCV_CUDATRACKING_FRAGMENT_MATCHER_ENGINE_HPP
