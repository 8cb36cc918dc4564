// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// State of an instance on a device: memory, and the order of its calls on streams.
//
//   Workspace     one for each engine; the others belong to it and must die before it
//   Call          one method of the engine at work on one stream
//   DeviceBuffer  device memory that only grows
//   DeviceTable   values of the host that kernels read, uploaded when they change
//   Uploader      pinned memory for asynchronous uploads
//   Downloads     device memory for results on their way to the host
//
// Captured work has not been executed: a graph is replayed perhaps never, perhaps often. So a captured call notes nothing
// as done, and a block that a captured call has used is kept until the instance is destroyed, even when it is replaced.
// The instance must outlive its graphs.
#ifndef OPENCV_CUDATRACKING_COMMON_WORKSPACE_HPP
#define OPENCV_CUDATRACKING_COMMON_WORKSPACE_HPP

#include "cuda_check.hpp"
#include "parts.hpp"
#include <memory>
#include <vector>

namespace cv { namespace cuda { namespace detail {

class Call;

//! Capture of a stream.
struct CaptureInfo
{
    cudaStreamCaptureStatus status;
    unsigned long long number;
};

//! Asks for the capture of a stream, without a throw.
inline cudaError_t captureInfo(cudaStream_t stream, CaptureInfo& info)
{
    info = {cudaStreamCaptureStatusNone, 0};
#if CUDART_VERSION >= 13000
    return cudaStreamGetCaptureInfo(stream, &info.status, &info.number, nullptr, nullptr, nullptr, nullptr);
#else
    return cudaStreamGetCaptureInfo_v2(stream, &info.status, &info.number, nullptr, nullptr, nullptr);
#endif
}

struct Block
{
    void* data = nullptr;
    size_t bytes = 0;
};

class Workspace
{
public:
    //! @param owner the class, for messages.
    explicit Workspace(const char* owner) : owner_(owner) {}
    ~Workspace();
    Workspace(const Workspace&) = delete;
    Workspace& operator=(const Workspace&) = delete;

    //! Device and pinned memory, that kept for graphs included.
    size_t bytes() const { return bytes_; }
    const char* owner() const { return owner_; }

private:
    friend class Call;
    friend class DeviceBuffer;
    friend class DeviceTable;
    friend class HostBlock;
    friend class Uploader;

    //! @param purpose of the memory, for the out-of-memory message.
    Block allocate(size_t bytes, const char* purpose);
    //! Frees a block. @param keep keeps it until the instance is destroyed, because captured work may refer to it.
    void release(Block block, bool keep) noexcept;

    const char* owner_;
    int device_ = -1; //!< of the first call
    cudaEvent_t done_ = nullptr;
    bool busy_ = false; //!< done_ stands for the last call, which was on stream...
    unsigned long long lastStream_ = 0;
    cudaStream_t lastHandle_ = nullptr; //!< of that stream, which may be gone
    cudaEvent_t captured_ = nullptr;    //!< the last captured call, which was in capture...
    unsigned long long lastCapture_ = 0;
    cudaStream_t captureStream_ = nullptr; //!< ... on this stream
    std::vector<Block> retired_;           //!< replaced blocks that captured work may refer to
    size_t blocks_ = 0;                    //!< of device memory, the retired ones included
    size_t bytes_ = 0;
};

//! Lets `event` stand for what is on the stream. Where that fails, waits, so that nothing is left to stand for, and
//! returns false.
bool record(cudaEvent_t event, cudaStream_t stream) noexcept;

/** From the begin to the end of a method that works on the device. Begins after the last call of this instance, on
whatever stream that was, by an event and without a wait of the host. A captured call begins after the last one of the
same capture, and after nothing else.
@throws cv::Exception when another device is current than in the first call, or than that of the stream. */
class Call
{
public:
    Call(Workspace& workspace, StreamHandle stream);
    ~Call();
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

    cudaStream_t stream() const { return stream_; }
    bool capturing() const { return capture_ != 0; }
    //! Number of the capture, equal in all of its calls; 0: none.
    unsigned long long capture() const { return capture_; }
    //! For calls that have to wait: throws when the stream is being captured. @param what "getStatistics()", say.
    void refuseCapture(const char* what) const;
    //! Waits for the stream, and for nothing else.
    void wait(const char* what) const;

private:
    OutsideOfCapture outside_; //!< for the whole call: allocations and copies that wait are no part of any graph
    Workspace& workspace_;
    cudaStream_t stream_;
    unsigned long long streamId_ = 0, capture_ = 0;
};

//! Device memory that only grows. Growing may wait for the device, so it does not happen in the steady state.
class DeviceBuffer
{
public:
    explicit DeviceBuffer(Workspace& workspace) : workspace_(workspace) {}
    ~DeviceBuffer() { workspace_.release(block_, inGraphs_); }
    DeviceBuffer(const DeviceBuffer&) = delete;
    DeviceBuffer& operator=(const DeviceBuffer&) = delete;

    //! At least `bytes`; the content is lost when the buffer grows. Unchanged when this throws.
    void* reserve(const Call& call, size_t bytes, const char* purpose);
    template <typename T> T* reserve(const Call& call, size_t count, const char* purpose)
    {
        return static_cast<T*>(reserve(call, count * sizeof(T), purpose));
    }
    /** Reserves one block for several arrays. @param take function that takes the arrays from Parts; called twice, at
    first without a block.
    @param alignment as in Parts. Default: that of the arrays' types. */
    template <typename Take> void divide(const Call& call, const char* purpose, const Take& take, size_t alignment = 1)
    {
        Parts parts(reserve(call, bytesOf(take, alignment), purpose), alignment);
        take(parts);
    }
    //! Reserves one block for arrays of `count` elements each. @param arrays out: their addresses.
    template <typename... T> void divide(const Call& call, const char* purpose, size_t count, T*&... arrays)
    {
        divide(call, purpose, [&](Parts& parts) { ((arrays = parts.take<T>(count)), ...); });
    }
    //! Reserves `bytes` as reserve() does, and keeps the first `used` bytes. Not while capturing, as the copy would not
    //! have happened.
    void* reserveKeeping(const Call& call, size_t used, size_t bytes, const char* purpose);
    //! Whether a captured call has used the block.
    bool inGraphs() const { return inGraphs_; }
    //! Leaves the block to graphs if a captured call has used it: the buffer is empty then.
    void renew();

    template <typename T> T* as() const { return static_cast<T*>(block_.data); }
    size_t bytes() const { return block_.bytes; }

private:
    void replace(Block block, bool keep) noexcept;

    Workspace& workspace_;
    Block block_;
    bool inGraphs_ = false;
};

/** Pinned host memory for asynchronous uploads. Each upload takes a block that neither a copy in flight nor a graph
will read; if there is none, a new one is made, so upload() never waits. */
class Uploader
{
public:
    explicit Uploader(Workspace& workspace) : workspace_(workspace) {}
    ~Uploader();
    Uploader(const Uploader&) = delete;
    Uploader& operator=(const Uploader&) = delete;

    //! Copies `bytes` of host memory, which may be reused at once, to `device` in stream order.
    void upload(const Call& call, void* device, const void* host, size_t bytes);

private:
    struct Pinned
    {
        Block block;
        cudaEvent_t copied = nullptr;
        bool inFlight = false, inGraph = false;
    };
    Pinned& take(size_t bytes);

    Workspace& workspace_;
    std::vector<Pinned> blocks_;
};

/** Values of the host that kernels read: uploaded when they change, and not by each call. A graph goes on with those
that it was captured with, whatever is put here later. */
class DeviceTable
{
public:
    explicit DeviceTable(Workspace& workspace) : buffer_(workspace), workspace_(workspace) {}

    /** Address of the values on the device, for kernels of this call.
    @param version names the numbers: equal versions, equal numbers. */
    const void* put(const Call& call, Uploader& uploader, uint64_t version, const void* host, size_t bytes,
                    const char* purpose);
    //! True when put() of this version would upload nothing.
    bool has(uint64_t version) const { return valid_ && version == version_; }

private:
    DeviceBuffer buffer_;
    Workspace& workspace_;
    bool valid_ = false;
    uint64_t version_ = 0;
};

/** Page-locked host memory of a fixed size, that results for the host are stored in or copied to. Declared before
device memory of the instance, whose release waits for all work that may still write there. */
class HostBlock
{
public:
    //! @param purpose for the message of an allocation that fails.
    HostBlock(Workspace& workspace, size_t bytes, const char* purpose)
        : workspace_(workspace), bytes_(bytes), purpose_(purpose)
    {}
    ~HostBlock();
    HostBlock(const HostBlock&) = delete;
    HostBlock& operator=(const HostBlock&) = delete;

    //! Returns the memory, whose address never changes; the first call allocates it.
    void* reserve(const Call& call);
    //! Null before the first call.
    void* get() const { return data_; }

private:
    Workspace& workspace_;
    const size_t bytes_;
    const char* const purpose_;
    void* data_ = nullptr;
};

/** Device memory for results on their way to arrays on the host; kept from call to call. Small results lie side by side
and go to page-locked memory in one copy: a copy to pageable memory takes some 10 us. */
class Downloads
{
public:
    explicit Downloads(Workspace& workspace)
        : workspace_(workspace),
          pinned_(workspace, SMALL_BYTES, "allocating page-locked memory for results"),
          small_(workspace)
    {}

    //! The outputs of one call.
    class Batch
    {
    public:
        Batch(Downloads& memory, const Call& call) : memory_(memory), call_(call) {}

        /** Where kernels write an output: the caller's device memory, or memory of the instance. Null when it is not
        wanted.
        @throws cv::Exception when the output would make a captured call wait. */
        template <typename T> RowsView<T> view(const OutputView& output)
        {
            return {static_cast<T*>(begin(output)), output.memory == Memory::DEVICE ? output.step : output.rowBytes()};
        }
        /** For results that lie in device memory already, row after row without gaps: copies them to an output.
        @throws cv::Exception as view(). */
        void copy(const OutputView& output, const void* results);
        //! Copies results to the host, in stream order; waits for them unless they go to pinned memory.
        void finish();
        //! Throws when the output would make a captured call wait.
        void check(const OutputView& output) const;

    private:
        void* begin(const OutputView& output);

        //! A small result, and its offset in the block of these.
        struct Small
        {
            OutputView output;
            size_t offset;
        };

        Downloads& memory_;
        const Call& call_;
        std::vector<std::pair<OutputView, const void*>> pending_;
        std::vector<Small> smallOnes_;
        size_t staged_ = 0;     //!< results in `buffers_`
        size_t smallBytes_ = 0; //!< of small results
    };

private:
    static constexpr size_t SMALL_BYTES = 1 << 16; //!< of all small results of a call
    static constexpr size_t ALIGNMENT = 16;        //!< of each of them

    Workspace& workspace_;
    HostBlock pinned_;
    DeviceBuffer small_;
    std::vector<std::unique_ptr<DeviceBuffer>> buffers_;
};

}}} // namespace cv::cuda::detail

#endif // OPENCV_CUDATRACKING_COMMON_WORKSPACE_HPP
