// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// What the public class asks of either side. Images and outputs are views; a CUDA engine takes images on the device.
#ifndef OPENCV_CUDATRACKING_QUICK_SHIFT_ENGINE_HPP
#define OPENCV_CUDATRACKING_QUICK_SHIFT_ENGINE_HPP

#include "stages.hpp"
#include "opencv2/core.hpp"
#include <climits>
#include <memory>
#include <vector>

namespace cv { namespace cuda { namespace quick_shift {

using detail::OutputView;

/** Spatial factors exp(-(dx^2+dy^2)/(2 sigma^2)), made once for a sigma and used by both engines. They come from the host's
exp(), whose last bit is not the same in all libraries; rounded to float it nearly always is. So the engines of one
process share all bits, and so do machines with the same C library. */
struct Spatial
{
    explicit Spatial(double sigma);
    //! Equal versions, equal factors.
    uint64_t version() const;

    double sigma;
    int radius;
    std::vector<float> rows; //!< (R+1) x (2R+1): dy = 0..R, dx = -R..R
};

//! The user's parameters as the stages need them.
struct Settings
{
    Parameters parameters;
    Scales scales;
    std::shared_ptr<const Spatial> spatial;
    double maxDist;
};
bool operator==(const Settings& a, const Settings& b);

//! What there are results of.
struct Shape
{
    Extent extent;
    double maxDist;
};

//! A part of an image.
struct Window
{
    int x, y, cols, rows;
};

//! Outputs of statistics; those without data are not wanted.
struct StatisticsViews
{
    OutputView areas, means, centroids, boxes;
};

/** One engine's results and its work. All or nothing: a method that throws leaves the results as they were. Methods that return
a number wait for the stream, and throw when it is being captured. */
class Engine
{
public:
    virtual ~Engine() = default;

    /** pack, density, parents, label. All images have one size and type.
    @param masks none, or one for each image; data null: all of its pixels count. @param labels none, or one output for each image.
    @return false when the results have not become the present ones, as the stream is being captured. */
    virtual bool compute(const std::vector<ImageView>& images, const std::vector<ImageView>& masks,
                         const Settings& settings, const std::vector<OutputView>& labels, StreamHandle stream) = 0;
    //! True when the stream is being captured and compute() is a part of that, whose results the methods below then mean.
    virtual bool hasCaptured(StreamHandle stream) = 0;
    virtual Shape shape(StreamHandle stream) = 0;
    virtual int count(StreamHandle stream) = 0;
    //! Of each image.
    virtual void counts(const OutputView& out, StreamHandle stream) = 0;

    virtual void labels(const OutputView& out, StreamHandle stream) = 0;
    virtual void density(const OutputView& out, StreamHandle stream) = 0;
    virtual void parents(const OutputView& out, StreamHandle stream) = 0;
    virtual void distances(const OutputView& out, StreamHandle stream) = 0;

    virtual void segment(float tau, const OutputView& labels, StreamHandle stream) = 0;
    virtual int countAt(float tau, StreamHandle stream) = 0;
    //! The least link's length that leaves at most `number` superpixels; +inf if none does.
    virtual float tauFor(int number, StreamHandle stream) = 0;
    //! Number of merge heights, which the next call of heights() gives.
    virtual int findHeights(StreamHandle stream) = 0;
    virtual void heights(const OutputView& heights, const OutputView& counts, StreamHandle stream) = 0;

    virtual void contours(bool thick, const OutputView& mask, StreamHandle stream) = 0;
    virtual void meanColor(const ImageView& image, const OutputView& dst, StreamHandle stream) = 0;
    //! Rows are superpixels, of a stack numbered through. @param image data null: no means. @param count of rows.
    virtual void statistics(const ImageView& image, int count, const StatisticsViews& outputs, StreamHandle stream) = 0;
    //! Number of adjacent pairs, which the next call of adjacency() gives.
    virtual int findAdjacency(StreamHandle stream) = 0;
    virtual void adjacency(const OutputView& pairs, StreamHandle stream) = 0;

    //! Replaces the labels by those of segment().
    virtual void apply(float tau, StreamHandle stream) = 0;
    //! Replaces the labels. @return their new number.
    virtual int connect(int minSize, StreamHandle stream) = 0;

    virtual size_t workspaceBytes() const = 0;
    //! For methods without a Stream: one that no capture holds. Work on it begins after the last call.
    virtual StreamHandle ownStream() = 0;

    //! compute() for one image on the host; for tiles.
    virtual void computeFromHost(const ImageView& image, const ImageView& mask, const Settings& settings) = 0;
    //! What tiles are put together from, on the host. Waits.
    virtual void fetch(const Window& part, RowsView<uint32_t> keys, RowsView<int> parents,
                       RowsView<float> distances) = 0;
};

//! Length of the list of adjacent pairs. @throws cv::Exception when that is more than an array can have.
inline int adjacencyLength(uint64_t pairs)
{
    if (pairs > static_cast<uint64_t>(INT_MAX))
        CV_Error_(Error::StsOutOfRange,
                  ("QuickShift: getAdjacency() would list %.0f pairs, but at most %d are possible",
                   static_cast<double>(pairs), INT_MAX));
    return static_cast<int>(pairs);
}

/** tauFor() from sorted links: with the k shortest ones, links + roots - k superpixels are left. @param at gives the link of a
rank. */
template <typename At> float linkFor(int number, int roots, int links, const At& at)
{
    const int64_t kept = static_cast<int64_t>(links) + roots - number;
    return kept > links || links == 0 ? INFINITY : at(kept < 1 ? 0 : static_cast<int>(kept) - 1);
}

std::unique_ptr<Engine> makeCpuEngine();
//! @throws cv::Exception in builds without CUDA.
std::unique_ptr<Engine> makeCudaEngine();

//! Results as they stand in memory, tight.
struct HostResults
{
    Extent extent = {};
    Settings settings = {};
    std::vector<uint32_t> keys;
    std::vector<int> parents, labels;
    std::vector<float> distances;
    std::vector<int> counts; //!< superpixels of each image

    Trees trees() const { return {parents.data(), distances.data()}; }
};
//! A CPU engine that starts with results; their labels are made here.
std::unique_ptr<Engine> makeCpuEngine(HostResults&& results);

/** compute() of tiles by `worker`, each with a border of the window's and the search's radius, so that sums and parents
inside are those of the whole. @return an engine on the host that holds the results of the whole. */
std::unique_ptr<Engine> computeTiled(const ImageView& image, const ImageView& mask, int tileCols, int tileRows,
                                     const Settings& settings, Engine& worker);

}}} // namespace cv::cuda::quick_shift

#endif // OPENCV_CUDATRACKING_QUICK_SHIFT_ENGINE_HPP
