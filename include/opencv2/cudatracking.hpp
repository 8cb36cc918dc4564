// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

#ifndef OPENCV_CUDATRACKING_HPP
#define OPENCV_CUDATRACKING_HPP

/** @defgroup cudatracking Finding and following things on CPU and CUDA

What every class of this module promises:

- **One class, two engines, one result.** The input's kind chooses the engine: a cv::Mat, cv::UMat (read through Mat) or
  std::vector runs on the CPU, a cv::cuda::GpuMat on the CUDA device. Both give the same bits unless a class says
  otherwise (determinism: `gpu_to_gpu`, and CPU = GPU).
- **Outputs live where the input lives.** A Mat or std::vector given as output of a CUDA call is downloaded, and only then
  the call waits, on its own stream and on nothing else.
- **Honest streams.** The Stream is the last parameter and everything runs on it. No call synchronises the device, but
  where memory is given back: by destructors, and by a first call of a larger size. Such a call may allocate; later calls
  of the same size do not, and can be captured into a CUDA graph.
  The CPU engines ignore the stream. Its default, noStream(), is the null stream.
- **CUDA graphs.** Calls that do not wait can be captured, in each capture mode, and replayed on any stream. A call that
  has to wait throws on a stream that is being captured and leaves the capture valid. Captured work has not happened: it
  happens at each replay. In a capture keep to one stream for one instance: its calls on several streams of one capture
  are put one behind the other. While a thread captures in the global mode, CUDA refuses what other threads' first calls
  need, such as memory; the thread-local mode leaves them alone.
- **Replays** are no calls: no method waits for them, and they wait for none. After a replay, wait for it before calling
  methods without a Stream parameter, and before calls on other streams; wait for these before the next replay. Two graphs
  of one instance must not run at the same time.
- **Independent instances.** Any number of instances on any number of threads, streams and devices. One instance serves
  one thread at a time; calls on different streams follow each other on the device. It remembers the device of its first
  CUDA call and refuses calls on others. Destroy instances before cv::cuda::resetDevice(); those made after it work.
- **Inputs** may be regions of interest with any step and are never written. Outputs may be reused; they are reallocated
  only when size or type differ. Empty inputs give empty outputs, but for the pictures of trackers, of
  which each must be a frame.
- **Errors** are cv::Exception naming the argument and its value; the object keeps its state and stays usable.

Supported: CUDA 12.4 to 13.x, compute capability 7.5 and newer (tuned on 9.0); OpenCV 4.14 and 5.0. The driver must be one
for the toolkit's major version: R525 or newer for CUDA 12, R580 or newer for CUDA 13. With drivers before CUDA 12.3 (R545)
kernels do not begin before the one before them has ended, as such launches could not be captured.
*/

#include "opencv2/cudatracking/stream.hpp"
#include "opencv2/cudatracking/fragment_matcher.hpp"
#include "opencv2/cudatracking/quick_shift.hpp"
#include "opencv2/cudatracking/cascade.hpp"
#include "opencv2/cudatracking/tld.hpp"
#include "opencv2/cudatracking/tld_tracker.hpp"

#endif // OPENCV_CUDATRACKING_HPP
