// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Interface of both backends to the public class. Images and outputs are views; a CUDA engine takes images on the
// device.
#ifndef OPENCV_CUDATRACKING_QUICK_SHIFT_ENGINE_HPP
#define OPENCV_CUDATRACKING_QUICK_SHIFT_ENGINE_HPP

#include "settings.hpp"
#include "stages.hpp"
#include "opencv2/core.hpp"
#include <climits>
#include <functional>
#include <memory>
#include <vector>

namespace cv { namespace cuda { namespace quick_shift {

using detail::OutputView;

//! Rectangle of an image.
struct Window
{
    int x, y, cols, rows;
};

//! Outputs of statistics(); those without data are not written.
struct StatisticsViews
{
    OutputView areas, means, centroids, boxes;
};

//! Outputs of heights(): of one length. Those without data are not written.
struct HeightsViews
{
    OutputView heights, counts;
};

/** Results of compute() for one call of the public class on one stream. A method that throws leaves the results as they
were. Methods that return a number, or ask for outputs of a length, wait for the stream, and throw if it is being
captured. */
class Results
{
public:
    virtual ~Results() = default;

    //! Returns whether the results, and so images and outputs, are in device memory.
    virtual bool onDevice() const = 0;
    virtual const Extent& extent() const = 0;
    virtual const Settings& settings() const = 0;
    //! Returns the number of superpixels of the stack.
    virtual int count() = 0;
    //! Writes the number of superpixels of each image.
    virtual void counts(const OutputView& out) = 0;

    virtual void labels(const OutputView& out) = 0;
    virtual void density(const OutputView& out) = 0;
    virtual void parents(const OutputView& out) = 0;
    virtual void distances(const OutputView& out) = 0;

    //! Writes the labels of the trees without links longer than tau; the current labels stay.
    virtual void segment(float tau, const OutputView& labels) = 0;
    //! Returns the number of superpixels of segment().
    virtual int countAt(float tau) = 0;
    //! Returns the smallest length of a link as tau that leaves at most `number` superpixels; +inf if none does.
    virtual float tauFor(int number) = 0;
    //! Writes the merge heights, ascending, and the number of superpixels that each leaves as tau. @param outputs makes
    //! arrays of a length.
    virtual void heights(const std::function<HeightsViews(int)>& outputs) = 0;

    virtual void contours(bool thick, const OutputView& mask) = 0;
    virtual void meanColor(const ImageView& image, const OutputView& dst) = 0;
    //! Writes one row per superpixel, numbered consecutively over the stack. @param image data null: no means. @param
    //! count number of rows.
    virtual void statistics(const ImageView& image, int count, const StatisticsViews& outputs) = 0;
    //! Writes the adjacent pairs of labels. @param output makes an array of a length.
    virtual void adjacency(const std::function<OutputView(int)>& output) = 0;

    //! Replaces the labels by those of segment().
    virtual void apply(float tau) = 0;
    //! Replaces the labels by those of connected pieces of at least minSize pixels, where pieces can be joined. @return
    //! number of pieces.
    virtual int connect(int minSize) = 0;
    //! Makes connected pieces, as connect() does, of the trees without links longer than tau; +inf: of all links.
    //! @param keep replaces the labels by the pieces'. @return number of pieces.
    virtual int connectCut(float tau, int minSize, bool keep) = 0;

    //! Copies a part to the host, for tiles. Waits.
    virtual void fetch(const Window& part, RowsView<uint32_t> keys, RowsView<int> parents,
                       RowsView<float> distances) = 0;
};

//! Engine of a backend, with its results. A method that throws leaves the results as they were.
class Engine
{
public:
    virtual ~Engine() = default;

    /** Runs pack, density, parents and label. All images have one size and type.
    @param masks empty, or one per image; data null: all of its pixels count. @param labels empty, or one output per
    image.
    @return false if the results do not become the current ones, because the stream is being captured. */
    virtual bool compute(const std::vector<ImageView>& images, const std::vector<ImageView>& masks,
                         const Settings& settings, const std::vector<OutputView>& labels, StreamHandle stream) = 0;
    //! Runs compute() for one image on the host, for tiles.
    virtual void computeFromHost(const ImageView& image, const ImageView& mask, const Settings& settings) = 0;

    //! Returns true if the stream is being captured and the capture has a compute().
    virtual bool hasCaptured(StreamHandle stream) = 0;
    /** Begins a call on the results: those of the capture's compute() where hasCaptured(), else those of the last
    compute() that was not captured, which must exist. The call ends with the life of what is returned, before that of
    the engine and before another call. */
    virtual std::unique_ptr<Results> results(StreamHandle stream) = 0;

    virtual size_t workspaceBytes() const = 0;
    //! Returns a stream for methods without a Stream, which no capture includes. Work on it begins after the last call.
    virtual StreamHandle ownStream() = 0;
};

//! Returns the number of adjacent pairs. @throws cv::Exception if that is more than the rows of an array.
inline int adjacencyLength(uint64_t pairs)
{
    if (pairs > static_cast<uint64_t>(INT_MAX))
        CV_Error_(Error::StsOutOfRange,
                  ("QuickShift: getAdjacency() would list %.0f pairs, but at most %d are possible",
                   static_cast<double>(pairs), INT_MAX));
    return static_cast<int>(pairs);
}

/** Returns Results::tauFor() from sorted links: with the k shortest ones, links + roots - k superpixels are left.
@param at at(k) is the k-th length. */
template <typename At> float linkFor(int number, int roots, int links, const At& at)
{
    const int64_t kept = static_cast<int64_t>(links) + roots - number;
    return kept > links || links == 0 ? INFINITY : at(kept < 1 ? 0 : static_cast<int>(kept) - 1);
}

//! Makes an engine of the CPU backend.
std::unique_ptr<Engine> makeCpuEngine();
//! Makes an engine of the CUDA backend. @throws cv::Exception in builds without CUDA.
std::unique_ptr<Engine> makeCudaEngine();

//! Results on the host: arrays without gaps.
struct HostResults
{
    Extent extent = {};
    Settings settings = {};
    std::vector<uint32_t> keys; //!< see densityKey(); 0 where masked
    std::vector<int> parents, labels;
    std::vector<float> distances;
    std::vector<int> counts;      //!< superpixels per image
    std::vector<float> densities; //!< those of computeNoisy(), where keys are ranks; else empty

    Trees trees() const { return {parents.data(), distances.data()}; }
};
//! Makes a CPU engine with these results. It computes their labels itself.
std::unique_ptr<Engine> makeCpuEngine(HostResults&& results);

/** Computes an image by tiles, each with a border of the window's plus the search's radius, so that sums and parents in
the tile equal those of the whole image. @param worker engine for the tiles. @return a CPU engine with the results of
the whole image. */
std::unique_ptr<Engine> computeTiled(const ImageView& image, const ImageView& mask, int tileCols, int tileRows,
                                     const Settings& settings, Engine& worker);

//! Computes an image on the host with noise, CV_64F, added to the densities. @return a CPU engine with the results.
std::unique_ptr<Engine> computeNoisy(const ImageView& image, const ImageView& mask, const ImageView& noise,
                                     const Settings& settings);

}}} // namespace cv::cuda::quick_shift

#endif // OPENCV_CUDATRACKING_QUICK_SHIFT_ENGINE_HPP
