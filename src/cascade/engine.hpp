// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// What the public class asks of either engine.
#ifndef OPENCV_CUDATRACKING_CASCADE_ENGINE_HPP
#define OPENCV_CUDATRACKING_CASCADE_ENGINE_HPP

#include "../common/views.hpp"
#include "stages.hpp"
#include <memory>
#include <vector>

namespace cv { namespace cuda { namespace cascade {

using detail::OutputView;
using detail::StreamHandle;

struct Request
{
    std::vector<ImageView> images; //!< 8 bits, 1, 3 or 4 channels, none empty, sides up to MAX_SIDE
    std::vector<ImageView> masks;  //!< none at all, or one an image; data null: none for that image
    std::vector<Task> tasks;       //!< at least one; all of one scale factor
};

//! The outputs of one task; a row an image. Layout: see CascadeClassifierEx.
struct Table
{
    OutputView objects;       //!< int[4] x (1 + maxObjects); data null where not wanted, as in the others
    OutputView numDetections; //!< int x maxObjects
    OutputView levelWeights;  //!< double x maxObjects
};

//! First column of Table::objects.
struct TableHead
{
    int stored, found, candidates, overflow; //!< overflow: 1 when there were more candidates than maxCandidates
};

class Engine
{
public:
    virtual ~Engine() = default;

    /** Fills one table a task, in stream order. Candidates beyond maxCandidates: none of the image is stored, and the head
    holds their true number, whatever the order they were found in. */
    virtual void detect(const Request& request, const std::vector<Table>& tables, StreamHandle stream) = 0;
    //! The objects of the first image and task, however many. Waits.
    virtual void find(const Request& request, Objects& objects, StreamHandle stream) = 0;
    //! Copies a row of a table on this engine's side to the host. Waits.
    virtual void fetch(const void* from, void* to, size_t bytes, StreamHandle stream) = 0;
    //! Device memory.
    virtual size_t workspaceBytes() const = 0;
};

std::unique_ptr<Engine> makeCpuEngine();
std::unique_ptr<Engine> makeCudaEngine();
//! countPasses() on the host: one for each grid of the first task.
std::vector<Passes> countPasses(const Request& request);

}}} // namespace cv::cuda::cascade

#endif // OPENCV_CUDATRACKING_CASCADE_ENGINE_HPP
