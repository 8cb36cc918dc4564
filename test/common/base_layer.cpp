// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// The CUDA runtime as src/common/ uses it: attributes of kernels, grids, the order of calls, memory of graphs. No
// device is needed where a FakeCuda stands in the runtime's place.
#include "graphs.hpp"
#include "faults.hpp"

#ifdef HAVE_CUDA
#include <cuda_runtime.h>
#include "../../src/common/launch.hpp"
#include "../../src/common/parts.hpp"
#ifdef CUDATRACKING_WRAPS_CUDA
#include "../../src/common/workspace.hpp"
#include "fake_cuda.hpp"
#endif

namespace opencv_test { namespace {

namespace detail = cv::cuda::detail;

TEST(Common_Launch, gridsBeyondTheLimit)
{
    const int64_t most = 0x7fffffff;
    EXPECT_NO_THROW(detail::checkGrid("kernel", detail::linearGrid(256 * most, 256), dim3(256)));
    // One block more than possible, and numbers whose low 32 bits look as if they were.
    for (const int64_t blocks : {most + 1, (int64_t{1} << 32), (int64_t{1} << 32) + 1, (int64_t{1} << 40) + 7})
        expectRefused([&] { detail::checkGrid("kernel", detail::linearGrid(256 * blocks, 256), dim3(256)); },
                      {"kernel kernel", "exceeds the device's limits"});
    EXPECT_EQ(0u, detail::linearGrid(0, 256).x);
    EXPECT_EQ(2u, detail::linearGrid(257, 256).x);
}

TEST(Common_Parts, offsets)
{
    alignas(64) char block[1024];
    const auto offsetOf = [&](const void* array) { return static_cast<const char*>(array) - block; };
    detail::Parts plain(block), aligned(block, 64), counted(nullptr, 64);
    EXPECT_EQ(0u, plain.bytes());
    EXPECT_EQ(0, offsetOf(plain.take<char>(3)));
    EXPECT_EQ(4, offsetOf(plain.take<int>(1))) << "aligned for the type";
    EXPECT_EQ(8, offsetOf(plain.take<char>(0)));
    EXPECT_EQ(8u, plain.place<double>(2));
    EXPECT_EQ(24u, plain.bytes());
    for (detail::Parts* parts : {&aligned, &counted})
    {
        const bool none = parts == &counted;
        const char* const first = parts->take<char>(3);
        const int* const second = parts->take<int>(5);
        const int* const next = parts->takeNext<int>(2);
        const double* const last = parts->takeNext<double>(1);
        EXPECT_EQ(none ? nullptr : block, first);
        EXPECT_EQ(none ? nullptr : block + 64, reinterpret_cast<const char*>(second));
        EXPECT_EQ(none ? nullptr : block + 84, reinterpret_cast<const char*>(next));
        EXPECT_EQ(none ? nullptr : block + 96, reinterpret_cast<const char*>(last)) << "aligned for the type";
        EXPECT_EQ(104u, parts->bytes());
    }
    EXPECT_EQ(68u, detail::bytesOf([](detail::Parts& parts) { parts.take<char>(1), parts.take<int>(1); }, 64));
}

#ifdef CUDATRACKING_WRAPS_CUDA

using faults::Armed;
using faults::FakeCuda;

void someKernel(int) {}
void otherKernel(int) {}

void launchWith(size_t sharedBytes, void (*kernel)(int) = someKernel, cudaStream_t stream = nullptr)
{
    detail::launch("some kernel", kernel, dim3(1), dim3(32), sharedBytes, stream, 3);
}
void launchEarly(cudaStream_t stream = nullptr)
{
    detail::launchEarly("some kernel", someKernel, dim3(1), dim3(32), 0, stream, 3);
}

//! A kernel is allowed all that the device has beside its static memory, and not only as much as one launch needs.
TEST(Common_Launch, attributesAreSetOnceToTheMost)
{
    FakeCuda fake;
    for (const size_t bytes : {100, 49152, 100000, 16})
    {
        launchWith(bytes);
        launchWith(bytes, otherKernel);
    }
    EXPECT_EQ(2, fake.attributesSet);
    for (const auto& kernel : fake.allowed)
        EXPECT_EQ(fake.sharedBytes - static_cast<int>(fake.staticBytes), kernel.second);
    EXPECT_EQ(2u, fake.allowed.size());
    EXPECT_EQ(8, fake.launches);
    EXPECT_EQ(0, fake.refused);
}

//! Whichever call fails: what is not known to have been done is done by the next launch.
TEST(Common_Launch, attributesThatFail)
{
    int struck = 0;
    for (int n = 1; n < 20; ++n)
    {
        FakeCuda fake;
        Armed armed(faults::CUDA, n);
        const bool threw = thrownBy([] { launchWith(100000); }).code != 0;
        armed.disarm();
        EXPECT_EQ(armed.struck() != nullptr, threw);
        if (!armed.struck())
            break;
        ++struck;
        SCOPED_TRACE(armed.struck());
        EXPECT_NO_THROW(launchWith(100000));
        EXPECT_EQ(1, fake.launches);
        EXPECT_EQ(0, fake.refused) << "the kernel was believed to be ready";
    }
    EXPECT_EQ(6, struck) << "the device, twice, attributes of the kernel and of the device, setting them, the launch";
}

TEST(Common_Launch, moreSharedMemoryThanPossible)
{
    FakeCuda fake;
    launchWith(232448 - 96);
    expectRefused([] { launchWith(232448 - 95); }, {"some kernel", "232353 bytes", "232352 bytes"});
    EXPECT_EQ(1, fake.launches);
    EXPECT_EQ(0, fake.refused) << "it was launched nevertheless";
}

//! A reset of the device takes away what kernels were allowed, and nobody tells this module.
TEST(Common_Launch, attributesThatAreLost)
{
    FakeCuda fake;
    launchWith(100000);
    launchWith(100000, otherKernel);
    fake.reset();
    launchWith(100000);
    launchWith(100000, otherKernel);
    EXPECT_EQ(4, fake.launches);
    EXPECT_EQ(4, fake.attributesSet);
    EXPECT_EQ(1, fake.refused) << "once is enough to see it";
}

//! Drivers before CUDA 12.3 refuse such launches in captures.
TEST(Common_Launch, earlyLaunchesNeedTheirDriver)
{
    const struct
    {
        int driver, computeCapability, ptxVersion, early;
    } cases[] = {{12030, 9, 90, 1}, {13000, 10, 100, 1}, {12020, 9, 90, 0}, {12030, 8, 86, 0}, {12030, 9, 80, 0}};
    for (const auto& c : cases)
    {
        FakeCuda fake;
        fake.driver = c.driver, fake.computeCapability = c.computeCapability, fake.ptxVersion = c.ptxVersion;
        launchEarly();
        EXPECT_EQ(1, fake.launches);
        EXPECT_EQ(c.early, fake.earlyLaunches) << "driver " << c.driver << ", device " << c.computeCapability;
        launchWith(0);
        EXPECT_EQ(c.early, fake.earlyLaunches) << "nobody asked for that";
    }
}

//! The wait that CUDATRACKING_DEBUG_SYNC adds to each launch.
TEST(Common_Launch, debugWaitsLeaveCapturesAlone)
{
    FakeCuda fake;
    const cudaStream_t stream = fake.newStream();
    detail::waitForLaunch("some kernel", stream);
    EXPECT_EQ(1, fake.waits);
    fake.begin(7, {stream});
    EXPECT_NO_THROW(detail::waitForLaunch("some kernel", stream));
    EXPECT_EQ(1, fake.waits);
}

//! Calls of one instance on two streams of one capture use the same memory, so they follow each other.
TEST(Common_Workspace, callsOfACaptureAreOrdered)
{
    typedef std::pair<cudaStream_t, cudaStream_t> Order;
    FakeCuda fake;
    detail::Workspace workspace("test");
    const cudaStream_t a = fake.newStream(), b = fake.newStream();
    {
        const detail::Call call(workspace, a);
    }
    {
        fake.begin(7, {a, b});
        {
            const detail::Call call(workspace, a);
        }
        {
            const detail::Call call(workspace, a);
        }
        EXPECT_TRUE(fake.orders.empty()) << "calls of one stream follow each other anyway";
        {
            const detail::Call call(workspace, b);
        }
        ASSERT_EQ(1u, fake.orders.size());
        EXPECT_EQ(Order(b, a), fake.orders[0]);
        {
            const detail::Call call(workspace, a);
        }
        ASSERT_EQ(2u, fake.orders.size());
        EXPECT_EQ(Order(a, b), fake.orders[1]);
        fake.end({a, b});
    }
    fake.orders.clear();
    fake.begin(8, {b});
    {
        const detail::Call call(workspace, b);
    }
    EXPECT_TRUE(fake.orders.empty()) << "an event of another capture would end this one";
    fake.end({b});
    {
        const detail::Call call(workspace, a);
    }
    EXPECT_TRUE(fake.orders.empty()) << "captured work has not happened";
}

//! A call on another stream than the last waits for it on the device, and counts as the last one from then on.
TEST(Common_Workspace, callsOnTwoStreamsAreOrdered)
{
    typedef std::vector<std::pair<cudaStream_t, cudaStream_t>> Orders;
    FakeCuda fake;
    detail::Workspace workspace("test");
    const cudaStream_t a = fake.newStream(), b = fake.newStream();
    for (const cudaStream_t stream : {a, a, b, b, a})
        const detail::Call call(workspace, stream);
    EXPECT_EQ((Orders{{b, a}, {a, b}}), fake.orders);
    EXPECT_EQ(0, fake.waits) << "of the host";
}

//! Memory is counted while it lives; with an instance all that it made goes.
TEST(Common_Workspace, memoryAndEvents)
{
    FakeCuda fake;
    const cudaStream_t stream = fake.newStream();
    {
        detail::Workspace workspace("test");
        {
            detail::DeviceBuffer buffer(workspace);
            for (const size_t bytes : {1000, 100000, 50000})
            {
                const detail::Call call(workspace, stream);
                buffer.reserve(call, bytes, "test");
                EXPECT_LE(bytes, workspace.bytes());
                EXPECT_EQ(buffer.bytes(), workspace.bytes());
                EXPECT_EQ(1u, fake.memory.size());
            }
        }
        EXPECT_EQ(0u, workspace.bytes());
        fake.begin(7, {stream});
        {
            const detail::Call call(workspace, stream);
        }
        fake.end({stream});
        EXPECT_EQ(2u, fake.events.size());
    }
    EXPECT_TRUE(fake.memory.empty());
    EXPECT_TRUE(fake.events.empty());
}

//! A call waits for results on their way to pageable memory, and for no others.
TEST(Common_Workspace, downloads)
{
    FakeCuda fake;
    detail::Workspace workspace("test");
    detail::Downloads downloads(workspace);
    for (const detail::Memory memory : {detail::Memory::DEVICE, detail::Memory::PINNED, detail::Memory::HOST})
    {
        int values[4] = {};
        const detail::OutputView output = {"values", values, sizeof(values), 1, 4, sizeof(int), memory};
        const detail::Call call(workspace, nullptr);
        detail::Downloads::Batch batch(downloads, call);
        batch.view<int>(output).row(0)[3] = 7; // as a kernel
        batch.finish();
        EXPECT_EQ(7, values[3]);
        EXPECT_EQ(memory == detail::Memory::HOST ? 1 : 0, fake.waits);
    }
}

//! Results of all sizes for rows with gaps, several in a call: what lies between rows stays, and later calls allocate
//! nothing.
TEST(Common_Workspace, downloadsOfAllSizes)
{
    FakeCuda fake;
    detail::Workspace workspace("test");
    detail::Downloads downloads(workspace);
    size_t bytes = 0;
    for (int again = 0; again < 3; ++again)
    {
        const detail::Call call(workspace, nullptr);
        detail::Downloads::Batch batch(downloads, call);
        const int sizes[] = {1, 20000, 3, 9999, 16, 6000, 300000, 5, 20};
        std::vector<std::vector<uint8_t>> targets;
        std::vector<detail::RowsView<uint8_t>> views;
        for (const int cols : sizes)
        {
            targets.emplace_back(2 * (cols + 7), uint8_t(99));
            const detail::OutputView output = {"values", targets.back().data(), static_cast<size_t>(cols + 7), 2, cols,
                                               1,        detail::Memory::HOST};
            views.push_back(batch.view<uint8_t>(output));
        }
        for (size_t k = 0; k < views.size(); ++k)
            for (int i = 0; i < 2 * sizes[k]; ++i)
                views[k].row(0)[i] = static_cast<uint8_t>(k + i % 50 + again); // as a kernel; rows have no gaps there
        const int waits = fake.waits;
        batch.finish();
        EXPECT_EQ(1, fake.waits - waits);
        for (size_t k = 0; k < targets.size(); ++k)
            for (int i = 0; i < 2 * (sizes[k] + 7); ++i)
            {
                const int row = i / (sizes[k] + 7), col = i % (sizes[k] + 7);
                ASSERT_EQ(col < sizes[k] ? static_cast<int>(k) + (row * sizes[k] + col) % 50 + again : 99,
                          targets[k][i])
                    << k << ", " << i;
            }
        EXPECT_TRUE(again == 0 || bytes == workspace.bytes());
        bytes = workspace.bytes();
    }
}

#if CUDART_VERSION >= 12080 // older runtimes cannot tell

TEST(Common_Workspace, streamOfAnotherDevice)
{
    FakeCuda fake;
    detail::Workspace workspace("test");
    const cudaStream_t own = fake.newStream(), other = fake.newStream(1);
    for (int again = 0; again < 2; ++again)
    {
        expectRefused([&] { const detail::Call call(workspace, other); },
                      {"test", "stream is one of device 1", "current CUDA device is 0"});
        EXPECT_NO_THROW({ const detail::Call call(workspace, own); });
    }
}

#endif

//! Blocks that captured calls have used are kept until the instance is destroyed, and not used again.
TEST(Common_Workspace, memoryOfGraphs)
{
    FakeCuda fake;
    {
        detail::Workspace workspace("test");
        detail::DeviceBuffer captured(workspace), direct(workspace);
        const cudaStream_t stream = fake.newStream();
        void *ofGraph = nullptr, *ofCall = nullptr;
        {
            const detail::Call call(workspace, stream);
            ofCall = direct.reserve(call, 10000, "test");
        }
        fake.begin(7, {stream});
        {
            const detail::Call call(workspace, stream);
            ofGraph = captured.reserve(call, 10000, "test");
        }
        fake.end({stream});
        EXPECT_TRUE(captured.inGraphs());
        EXPECT_FALSE(direct.inGraphs());
        for (detail::DeviceBuffer* const buffer : {&captured, &direct})
        {
            const detail::Call call(workspace, stream);
            buffer->reserve(call, 1000000, "test");
            EXPECT_FALSE(buffer->inGraphs());
        }
        EXPECT_EQ(1u, fake.memory.count(ofGraph));
        EXPECT_EQ(0u, fake.memory.count(ofCall));
        EXPECT_EQ(2010000u, workspace.bytes());
        captured.renew();
        const detail::Call call(workspace, stream);
        EXPECT_NE(ofGraph, captured.reserve(call, 10000, "test"));
    }
    EXPECT_TRUE(fake.memory.empty());
}

#endif // CUDATRACKING_WRAPS_CUDA

}} // namespace opencv_test

#endif // HAVE_CUDA
