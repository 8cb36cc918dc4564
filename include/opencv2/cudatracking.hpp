// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

#ifndef OPENCV_CUDATRACKING_HPP
#define OPENCV_CUDATRACKING_HPP

/** @defgroup cudatracking Finding and tracking objects on the CPU and with CUDA

FragmentMatcher finds many small templates in an image, QuickShift makes superpixels, CascadeClassifierEx detects
objects with Haar and LBP cascades, TrackerTLD and MultiTrackerTLD follow targets and find them again; TLDDetector is
their detector. These rules hold for all of them; a class says so where it differs. Terms: doc/glossary.md.

### Backends
- Each class has a CPU backend and a CUDA backend. The array type of the input selects it: cv::cuda::GpuMat selects CUDA
  on the current device; cv::Mat, cv::UMat (mapped to a Mat), cv::cuda::HostMem and std::vector select the CPU.
- Both backends give bitwise identical results, on every run, for every number of threads and on every supported GPU.
  Class QuickShift names one condition for equal results on different machines.
- The results of a CUDA call may be written to a GpuMat, a HostMem or any host array. The results of a CPU call can be
  written to host arrays only: a GpuMat output throws.

### Which calls wait, and which calls CUDA graphs can capture
A call *waits* when it returns only after its stream has executed the work. The table lists all methods that use the
device when the input is a GpuMat (initRounded() counts as init(), and so on). "Host outputs": the call waits only if an
output is a Mat, UMat or std::vector; else it returns at once and can be captured. After load() the first call of an
instance of a TLD class with a GpuMat waits and cannot be captured.

| class               | methods                                                   | waits        | capturable     |
|---------------------|-----------------------------------------------------------|--------------|----------------|
| FragmentMatcher     | setFragments, setFragment, cutFragments, updateFragment   | no           | yes, see there |
| FragmentMatcher     | addFragment                                               | no           | no             |
| FragmentMatcher     | match, scoreMap, scoreMaps, predictAreas                  | host outputs | yes            |
| FragmentMatcher     | find, convert                                             | yes          | no             |
| QuickShift          | applyTau                                                  | no           | yes            |
| QuickShift          | compute, computeBatch, computeStack, segment, getLabels   | host outputs | yes            |
| QuickShift          | getDensity, getParents, getDistances, getSuperpixelCounts | host outputs | yes            |
| QuickShift          | getLabelContourMask, getMeanColor                         | host outputs | yes            |
| QuickShift          | computeTiled, getNumberOfSuperpixels, countSuperpixels    | yes          | no             |
| QuickShift          | computeNoisy (on the host alone)                          | yes          | no             |
| QuickShift          | tauForSuperpixels, getMergeHeights, getStatistics         | yes          | no             |
| QuickShift          | getAdjacency, enforceConnectivity                         | yes          | no             |
| CascadeClassifierEx | detectAsync, detectTogether                               | host outputs | yes            |
| CascadeClassifierEx | detectMultiScale (all overloads), convertDetections       | yes          | no             |
| CascadeClassifierEx | countPasses                                               | yes          | no             |
| TLDDetector         | learn                                                     | no           | yes            |
| TLDDetector         | detect                                                    | host outputs | yes            |
| TLDDetector         | init, convertDetections, getTemplates, save, write        | yes          | no             |
| TrackerTLD          | updateAsync                                               | host outputs | yes            |
| TrackerTLD          | init, update, resetTo, getTrackingScore, getState, getBox | yes          | no             |
| TrackerTLD          | getEvent, getDetections, getTemplates, save, write        | yes          | no             |
| MultiTrackerTLD     | update                                                    | host outputs | yes            |
| MultiTrackerTLD     | update with boxes, if startFromBoxes or endAfterMisses    | yes          | no             |
| MultiTrackerTLD     | add, addFromFile, resetTo, getDetections, getTemplates    | yes          | no             |
| MultiTrackerTLD     | saveObject, save, write                                   | yes          | no             |

Waiting calls wait for their own stream, never for the whole device. CUDA itself waits for the device when memory is
freed: in destructors, in methods of the TLD classes that drop a model, and in calls that need larger buffers than all
calls before them. Such calls also allocate; later calls of the same sizes allocate nothing.

### How long arguments must live
| argument                      | when it may be changed or released                                         |
|-------------------------------|----------------------------------------------------------------------------|
| host input                    | when the call has returned; it is used or copied by then, also for a graph |
| GpuMat input                  | when the stream has executed the call; for a graph: after the last replay  |
| GpuMat, HostMem output        | as for GpuMat input; the result is valid when the stream has executed it   |
| Mat, UMat, std::vector output | at any time; it holds the result when the call has returned                |
| the instance                  | after the last replay of its graphs                                        |

One exception: FragmentMatcher::setPredictions() keeps a Mat or GpuMat by reference until it is replaced.

### Streams, threads, devices
- The Stream is the last parameter; its default, noStream(), is the null stream. The CPU backend ignores it.
  TrackerTLD::init(), TrackerTLD::update() and QuickShift::computeTiled() have no Stream and use the null stream.
  Getters without a Stream use an internal stream and begin after all earlier calls of the instance.
- Calls of one instance that are not captured are executed in the order in which they are made, whatever their streams:
  the device orders them by events. The caller need not synchronize when the stream changes.
- Any number of threads may use an instance. Its calls, const methods included, are executed one after another: each
  begins when the one before has returned. So a call that waits, for its stream or a file, keeps calls of other threads
  waiting, and calls of one instance gain nothing from several threads.
- The state of an instance is shared by these threads. Another thread's calls can come between two of a thread: labels
  after compute() may belong to the other thread's image. Use one instance per thread for such pairs.
- Instances are independent: any number of them may be used at once, on any number of threads, streams and devices.
- Call no methods in a callback of a stream (Stream::enqueueHostCallback()): CUDA permits no CUDA calls there, and the
  callback would wait without end for a thread that waits for this stream inside a call of the same instance.
- An instance is bound to the device that is current in its first CUDA call. Calls with another current device throw; so
  do calls with a stream of another device, if CUDA can tell it (12.8 and newer). Create one instance per device.
- Destroy instances before cv::cuda::resetDevice(). Instances created after it work.

### CUDA graphs
- A capture records work and executes nothing: no result and no state changes until the graph is launched. All capture
  modes are supported, and a graph may be launched on any stream. A call that waits throws on a capturing stream and
  leaves the capture valid. The first call of an instance or of a size can be captured too; FragmentMatcher and
  TLDDetector name exceptions, the latter for all TLD classes.
- In a capture in the global or thread-local mode no GpuMat may be released: CUDA would end the capture with an error.
  In Python, give all outputs: those that are left out are made by the call and released after it.
- A graph keeps the parameters, sizes, addresses and host inputs of its capture. Each replay reads the GpuMat inputs
  again and writes the same outputs.
- Nothing orders replays and method calls (TLD classes: see TLDDetector). Before you call a method that has no Stream,
  or with another stream than the replay's, wait for the replay; before the next replay, wait for the work of that
  method. Two graphs of one instance must not run at the same time.
- Calls of one instance on several streams of one capture are executed one after the other.
- While one thread captures in the global mode, CUDA refuses what first calls on other threads need, such as memory. The
  thread-local mode leaves other threads alone.
- The memory of an instance's first four graphs is kept as long as the instance. Memory of later graphs is used again
  when they have been destroyed.

### Arrays and errors
- Inputs have two dimensions (batches may be one array of more), may be regions of interest of any step, and are never
  written. A GpuMat's address and step must be multiples of the size of one channel value. Outputs are reallocated only
  if size or type differ. A std::vector can hold results of one row or one column.
- An empty image, which has no rows or columns, gives empty outputs; but the TLD classes throw, and so does
  QuickShift::computeBatch() if an image in its list is empty.
- Errors are cv::Exception; the message names the argument and its value. The instance stays unchanged and usable.

| code                 | cause                                                                                         |
|----------------------|-----------------------------------------------------------------------------------------------|
| StsUnsupportedFormat | an element type or depth that is not accepted                                                 |
| StsUnmatchedFormats  | another element type than before; a file with other parameters                                |
| StsBadSize           | an array of a shape, side or number of pixels that is not accepted; an empty image            |
| StsUnmatchedSizes    | another size than another argument or earlier images; another number of elements              |
| StsOutOfRange        | a number, box, index or id out of its range; weights that are all 0; a file that is too large |
| StsBadArg            | a Mat and a GpuMat together; an array in place of a list; a list in place of an array         |
| StsBadArg            | no cascade; an ending of a file name; another device; a waiting call on a capturing stream    |
| BadAlign             | an address or a step of a GpuMat                                                              |
| StsError             | no fragments; no object yet; a file that cannot be read or written                            |
| StsObjectNotFound    | a file that cannot be opened                                                                  |
| StsParseError        | a file whose content is not valid                                                             |
| StsNoMem             | not enough memory of the host                                                                 |
| GpuApiCallError      | a CUDA function that failed, also for lack of device memory or of a driver                    |
| GpuNotSupported      | a GpuMat in a build without CUDA                                                              |

### Files
- Methods save() write a file completely or leave the old one unchanged: a new file, with the old one's permissions from
  the first byte on, takes its name. Its owner, other hard links and access control lists are lost with the old file.
- A file that cannot be replaced, because it is a mount point or its folder cannot be written, is written over and keeps
  these. A full disk leaves it as it was; a crash in mid-write can leave a mixture of old and new.
- /dev/stdout, /dev/stderr, /dev/fd/N, pipes and devices are written directly. Where a shell has redirected them to a
  file, the bytes come behind what is there.
- A file is refused that has a name twice in a map, bytes behind its end, or an encoding not based on ASCII (UTF-16).
- CascadeClassifierEx::load(), loadBuffer(), create() and convert(), QuickShift::load(), and load() and addFromFile() of
  the TLD classes check files before cv::FileStorage parses them: they are made for untrusted files. read() and
  cv::Algorithm::load<T>() are not: some malicious files make FileStorage hang or overflow its stack. */

#include "opencv2/cudatracking/stream.hpp"
#include "opencv2/cudatracking/fragment_matcher.hpp"
#include "opencv2/cudatracking/quick_shift.hpp"
#include "opencv2/cudatracking/cascade.hpp"
#include "opencv2/cudatracking/tld.hpp"
#include "opencv2/cudatracking/tld_tracker.hpp"

#endif // OPENCV_CUDATRACKING_HPP
