// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

#ifndef OPENCV_CUDATRACKING_HPP
#define OPENCV_CUDATRACKING_HPP

/** @defgroup cudatracking Template matching, superpixels, cascades and long-term tracking, on the CPU and with CUDA

| class                             | what it is for                                                |
|-----------------------------------|---------------------------------------------------------------|
| @ref cv::cuda::FragmentMatcher    | finds many small templates in an image, each in an area of it |
| @ref cv::cuda::WindowGrid         | measures the motion of a grid of windows as a field           |
| @ref cv::cuda::TemplateFinder     | finds all places of a template, at any angle and size         |
| @ref cv::cuda::QuickShift         | segments an image into superpixels that follow boundaries     |
| @ref cv::cuda::QuickShiftTiles    | joins superpixels of an image that is computed tile by tile   |
| @ref cv::cuda::CascadeClassifierEx | detects faces and other objects by Haar and LBP cascades     |
| @ref cv::cuda::TrackerTLD         | follows one object in a video, and finds it again when lost   |
| @ref cv::cuda::MultiTrackerTLD    | follows many objects in one video                             |
| @ref cv::cuda::TLDDetector        | finds one learned object in single images                     |

@code
// The array type of the image selects the backend. Both give the same labels, bit for bit.
void labelOnBoth(const cv::Mat& image, cv::Mat& labels)
{
    const cv::Ptr<cv::cuda::QuickShift> onCpu = cv::cuda::QuickShift::create();
    onCpu->compute(image);
    onCpu->getLabels(labels);

    const cv::Ptr<cv::cuda::QuickShift> onDevice = cv::cuda::QuickShift::create();
    cv::cuda::Stream stream;
    const cv::cuda::GpuMat deviceImage(image);
    onDevice->compute(deviceImage, cv::noArray(), stream); // returns before the device has done the work
    onDevice->getLabels(labels, stream);                   // waits, because the output is a Mat
}
@endcode

These rules apply to all classes unless a class documents otherwise. Terms: doc/glossary.md.

### Backends
- Each class has a CPU backend and a CUDA backend. The array type of the input selects it: cv::cuda::GpuMat selects CUDA
  on the current device; cv::Mat, cv::UMat (mapped to a Mat), cv::cuda::HostMem and std::vector select the CPU.
- Both backends give bitwise identical results, on every run, for every number of threads and on every supported GPU.
  Class QuickShift names one condition for equal results on different machines.
- *Host arrays* are Mat, UMat, HostMem and std::vector. The results of a CUDA call may be written to a GpuMat or to a
  host array, those of a CPU call to host arrays only: a GpuMat output throws.

### Which calls wait, and which calls CUDA graphs can capture
A call *waits* when it returns only after its stream has executed the work. The table lists the methods that use the
device when the input is a GpuMat. initRounded(), addRounded(), learnRounded() and
resetToRounded() behave like the methods without "Rounded".

"Host outputs": the call waits, and cannot be captured, if an output is a Mat, UMat or std::vector. With outputs in
GpuMat or HostMem it returns at once and can be captured.

| class               | methods                                                   | waits        | capturable         |
|---------------------|-----------------------------------------------------------|--------------|--------------------|
| FragmentMatcher     | setFragments, setFragment, cutFragments, updateFragment   | no           | yes (1)            |
| FragmentMatcher     | addFragment                                               | no           | no                 |
| FragmentMatcher     | match, scoreMap, scoreMaps, predictAreas                  | host outputs | without waiting    |
| FragmentMatcher     | find, convert                                             | yes          | no                 |
| WindowGrid          | areas, field                                              | no           | yes                |
| TemplateFinder      | setTemplate, find                                         | yes          | no                 |
| QuickShift          | applyTau                                                  | no           | yes                |
| QuickShift          | compute, computeBatch, computeStack, segment, getLabels   | host outputs | without waiting    |
| QuickShift          | getDensity, getParents, getDistances, getSuperpixelCounts | host outputs | without waiting    |
| QuickShift          | getLabelContourMask, getMeanColor                         | host outputs | without waiting    |
| QuickShift          | computeTiled, getNumberOfSuperpixels, countSuperpixels    | yes          | no                 |
| QuickShift          | computeNoisy (works on the host)                          | yes          | no                 |
| QuickShift          | tauForSuperpixels, getMergeHeights, getStatistics         | yes          | no                 |
| QuickShift          | getAdjacency, enforceConnectivity, applyNumber            | yes          | no                 |
| QuickShiftTiles     | add (all others work on the host)                         | yes          | no                 |
| CascadeClassifierEx | detectAsync                                               | host outputs | without waiting    |
| CascadeClassifierEx | detectMultiScale (all overloads), convertDetections       | yes          | no                 |
| CascadeClassifierEx | countPasses                                               | yes          | no                 |
| TLDDetector         | learn                                                     | no           | yes                |
| TLDDetector         | detect                                                    | host outputs | without waiting    |
| TLDDetector         | init, convertDetections, getTemplates, save, write        | yes          | no                 |
| TrackerTLD          | updateAsync                                               | host outputs | without waiting    |
| TrackerTLD          | init, update, resetTo, getTrackingScore, getState, getBox | yes          | no                 |
| TrackerTLD          | getEvent, getDetections, getTemplates, save, write        | yes          | no                 |
| MultiTrackerTLD     | update                                                    | host outputs | without waiting    |
| MultiTrackerTLD     | update with boxes, if startFromBoxes or endAfterMisses    | yes          | no                 |
| MultiTrackerTLD     | add, addFromFile, resetTo, getDetections, getTemplates    | yes          | no                 |
| MultiTrackerTLD     | saveObject, save, write                                   | yes          | no                 |
| TLD classes         | the first call with a GpuMat after load() or read()       | yes          | no                 |

(1) If number, sizes and type of the fragments are unchanged, and the same ones have weights.

Waiting calls wait for their own stream only. Freeing device memory makes CUDA wait for the device: in destructors,
where TLD classes replace or remove a model, and in calls that need larger buffers than before.

### How long arguments must live
| argument                      | when it may be changed or released                                         |
|-------------------------------|----------------------------------------------------------------------------|
| host input                    | when the call has returned; a graph keeps a copy of it                     |
| GpuMat input                  | when the stream has executed the call; for a graph: after the last replay  |
| GpuMat, HostMem output        | when the stream has executed the call; for a graph: after the last replay  |
| Mat, UMat, std::vector output | at any time; it holds the result when the call has returned                |
| the instance                  | when its graphs have been destroyed                                        |

An output in a GpuMat or HostMem holds the result when the stream has executed the call.

One exception: FragmentMatcher::setPredictions() keeps a Mat or GpuMat by reference until it is replaced.

### Streams, threads, devices
- The Stream is the last parameter; its default, noStream(), is the null stream. The CPU backend ignores it.
  TrackerTLD::init(), TrackerTLD::update(), QuickShift::computeTiled() and QuickShiftTiles::add() have no Stream and use
  the null stream. All other methods without a Stream that need the device use an internal one, and begin after all
  earlier calls of the instance.
- Calls of one instance that are not captured are executed in the order in which they are made, whatever their streams.
  The caller need not synchronize when the stream changes.
- Use one instance per thread. Instances are independent: any number of them may be used at once, on any number of
  threads, streams and devices.
- Calls of several threads on one instance, const methods included, are serialized and share its state: the labels that
  you get after compute() may belong to the image of another thread.
- Call no methods in a callback of a stream (Stream::enqueueHostCallback()): CUDA permits no CUDA calls there, and it
  would deadlock with a thread that waits for this stream inside a call of the same instance.
- An instance is bound to the device that is current in its first CUDA call. Calls with another current device throw,
  and with CUDA 12.8 or newer also calls with a stream of another device. Create one instance per device.
- Destroy instances before cv::cuda::resetDevice(). Instances created after it work.

### CUDA graphs
- A capture records work and executes nothing: no result and no state changes until the graph is launched. All capture
  modes are supported, and a graph may be launched on any stream. A call that waits throws on a capturing stream and
  leaves the capture valid. The first call of an instance or of a size can be captured too; FragmentMatcher,
  QuickShift and the TLD classes name exceptions. Memory that such a call needs is allocated outside of the graph.
- During a capture in the global or thread-local mode do not release any GpuMat: CUDA would end the capture with an
  error. In Python, give all outputs.
- The instance must outlive its graphs. A graph keeps the parameters, sizes, fragments, objects, addresses and host
  inputs of its capture, and each replay reads the GpuMat inputs again and writes the same outputs: capture again after
  other sizes, fragments or parameters. Memory that captured calls have used is kept until the instance is destroyed,
  and later calls that need more, or other contents, get new memory. So an instance whose calls are captured again and
  again with growing sizes, or with inputs on the host, takes more and more memory.
- Replays are not ordered with method calls. Before a call without a Stream, or on another stream than the replay's,
  synchronize the replay's stream; before the next replay, wait until the work of that call is done. Two graphs of one
  instance must not run at the same time.
- Calls of one instance on several streams of one capture are serialized.
- While one thread captures in the global mode, CUDA refuses what first calls on other threads need, such as memory. The
  thread-local mode leaves other threads alone.

### Arrays
- Images have two dimensions; a batch may also be one host array of three or four dimensions. They may be regions of
  interest of any step, and are never written. Address and step of a GpuMat must be multiples of elemSize1().
- Outputs are reallocated only if size or type differ. A std::vector holds results of one row or one
  column; with others the call throws.
- An empty image, which has no rows or columns, gives empty outputs. The TLD classes throw, and so does
  QuickShift::computeBatch() if an image in its list is empty.

### Errors
Errors are cv::Exception; the message names the argument and its value. The instance is unchanged and usable. A call
also throws for every argument that is not as its text says; texts name only what else can go wrong.

| code                 | cause                                                                                         |
|----------------------|-----------------------------------------------------------------------------------------------|
| StsUnsupportedFormat | an element type or depth that is not accepted                                                 |
| StsUnmatchedFormats  | another element type than before; a file with other parameters                                |
| StsBadSize           | an array of a shape, side or number of pixels that is not accepted; an empty image            |
| StsUnmatchedSizes    | another size than another argument or earlier images; another number of elements              |
| StsOutOfRange        | a number, box, index or id out of its range; weights that are all 0; a file that is too large |
| StsOutOfRange        | a fragment too large, or too large for a score map of CV_32S                                  |
| StsBadArg            | a Mat and a GpuMat together; an array in place of a list; a list in place of an array         |
| StsBadArg            | no cascade is loaded; an ending of a file name that is not accepted; sources of tiles differ  |
| StsBadArg            | a current device that is not the instance's; a waiting call on a capturing stream             |
| BadAlign             | an address or step of a GpuMat that is not aligned                                            |
| StsError             | there are no fragments; there is no template; nothing was learned yet                         |
| StsError             | a file that cannot be read or written                                                         |
| StsObjectNotFound    | a file to read that does not exist or cannot be opened                                        |
| StsParseError        | a file whose content is not valid                                                             |
| StsNoMem             | not enough memory of the host                                                                 |
| GpuApiCallError      | a CUDA function that failed, also for lack of device memory or of a driver                    |
| GpuNotSupported      | a GpuMat in a build without CUDA                                                              |

A lack of host memory can also throw std::bad_alloc.

### Files
- Files are XML, and names of files to write end with .xml. Others, such as .yml, .json and .gz, are rejected; write()
  and read() take a FileStorage of any format.
- Files are replaced atomically and keep the old permissions and symbolic links, but not the owner and hard links.
  Pipes, devices and names below /dev/ are written directly.
- Files with a name twice in a map, bytes behind their end, or an encoding not based on ASCII (UTF-16) are rejected.
- CascadeClassifierEx::load(), loadBuffer(), create() and convert(), QuickShift::load(), and load() and addFromFile() of
  the TLD classes check files before cv::FileStorage parses them: use them for untrusted files. read(), the
  only reader of FragmentMatcher's files, and cv::Algorithm::load<T>() are not safe: some malicious files make
  FileStorage hang or overflow its stack. */

#include "opencv2/cudatracking/stream.hpp"
#include "opencv2/cudatracking/fragment_matcher.hpp"
#include "opencv2/cudatracking/template_finder.hpp"
#include "opencv2/cudatracking/quick_shift.hpp"
#include "opencv2/cudatracking/quick_shift_tiles.hpp"
#include "opencv2/cudatracking/cascade.hpp"
#include "opencv2/cudatracking/tld.hpp"
#include "opencv2/cudatracking/tld_tracker.hpp"

#endif // OPENCV_CUDATRACKING_HPP
