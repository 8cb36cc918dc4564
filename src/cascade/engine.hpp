// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// The interface of both backends for the public class.
#ifndef OPENCV_CUDATRACKING_CASCADE_ENGINE_HPP
#define OPENCV_CUDATRACKING_CASCADE_ENGINE_HPP

#include "../common/views.hpp"
#include "stages.hpp"
#include <memory>
#include <vector>

namespace cv { namespace cuda { namespace cascade {

using detail::OutputView;
using detail::StreamHandle;

//! The inputs of one call.
struct Request
{
    std::vector<ImageView> images; //!< 8 bits, 1, 3 or 4 channels, none empty, sides up to MAX_SIDE
    std::vector<ImageView> masks;  //!< none, or one per image; data null if that image has none
    Task task;
};

//! The outputs of a call, with one row per image. CascadeClassifierEx documents the columns.
struct Table
{
    OutputView objects;       //!< int[4] x (1 + maxObjects); data null if not wanted, as in the other two
    OutputView numDetections; //!< int x maxObjects
    OutputView levelWeights;  //!< double x maxObjects
};

//! The first column of Table::objects.
struct TableHead
{
    int stored, found, candidates, overflow; //!< overflow: 1 if there were more candidates than maxCandidates
};

class Engine
{
public:
    virtual ~Engine() = default;

    /** Fills a table, in stream order. If an image has more than maxCandidates candidates, none of its objects is
    stored, and the head holds the exact number of candidates. */
    virtual void detect(const Request& request, const Table& table, StreamHandle stream) = 0;
    //! Finds all objects of the first image, without a limit of their number. Waits.
    virtual void find(const Request& request, Objects& objects, StreamHandle stream) = 0;
    //! Returns the bytes of device memory that the engine holds.
    virtual size_t workspaceBytes() const = 0;
};

std::unique_ptr<Engine> makeCpuEngine();
std::unique_ptr<Engine> makeCudaEngine();
//! Counts windows on the host, for the first image. @return one entry per layer of the pyramid.
std::vector<Passes> countPasses(const Request& request);

}}} // namespace cv::cuda::cascade

#endif // OPENCV_CUDATRACKING_CASCADE_ENGINE_HPP
