// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Runs a test's body in a process of its own, so that what hangs, crashes or takes all memory fails that test alone.
#ifndef OPENCV_CUDATRACKING_TEST_COMMON_CHILD_PROCESS_HPP
#define OPENCV_CUDATRACKING_TEST_COMMON_CHILD_PROCESS_HPP

#include "../test_precomp.hpp"
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#ifdef __linux__
#include <csignal>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

namespace opencv_test {

struct ChildLimits
{
    int seconds;       //!< of the processor, without a sanitizer
    size_t moreBytes;  //!< of address space, beyond what the process has at its start
    size_t stackBytes; //!< of the thread that runs the body
};

#ifdef __linux__

namespace child {

//! The program that runs this one where the processor cannot, or null.
inline char* emulator() { return std::getenv("CUDATRACKING_TEST_EMULATOR"); }

//! Factor by which a sanitizer or an emulator may slow a process down.
inline int slower()
{
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    return 10;
#else
    return emulator() ? 10 : 1;
#endif
}

inline char* label()
{
    static char text[200] = "nothing";
    return text;
}

extern "C" inline void reportChild(int signal)
{
    const char* const text = label();
    const ssize_t written = write(STDERR_FILENO, text, std::strlen(text));
    (void)written;
    std::signal(signal, SIG_DFL);
    raise(signal);
}

inline void handleSignals()
{
    // A sanitizer has an alternate stack already, and frees at the end of the thread whatever is set then.
    static char stack[1 << 16];
    stack_t present = {}, other = {};
    other.ss_sp = stack;
    other.ss_size = sizeof(stack);
    if (sigaltstack(nullptr, &present) != 0 || (present.ss_flags & SS_DISABLE) != 0)
        sigaltstack(&other, nullptr);
    struct sigaction action = {};
    action.sa_handler = reportChild;
    action.sa_flags = SA_ONSTACK;
    for (int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGXCPU, SIGALRM})
        sigaction(signal, &action, nullptr);
}

inline void limit(const ChildLimits& limits)
{
    size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const auto set = [](int what, size_t most)
    {
        const rlimit value = {most, most + 1};
        EXPECT_EQ(0, setrlimit(static_cast<__rlimit_resource>(what), &value));
    };
    set(RLIMIT_AS, pages * static_cast<size_t>(sysconf(_SC_PAGESIZE)) + limits.moreBytes);
    set(RLIMIT_CORE, 0);
    set(RLIMIT_CPU, static_cast<size_t>(std::clock() / CLOCKS_PER_SEC) + slower() * limits.seconds);
    alarm(static_cast<unsigned>(20 * slower() * limits.seconds)); // for what waits without the processor
}

inline void* runBody(void* body)
{
    handleSignals();
    try
    {
        (*static_cast<const std::function<void()>*>(body))();
    }
    catch (const std::exception& e)
    {
        ADD_FAILURE() << label() << ": " << e.what();
    }
    return nullptr;
}

//! Starts this program again for the running test alone. @return its status as of waitpid().
inline int startAgain(const std::string& outputs)
{
    char path[4096] = {};
    if (readlink("/proc/self/exe", path, sizeof(path) - 1) <= 0)
        return -1;
    const ::testing::TestInfo* const test = ::testing::UnitTest::GetInstance()->current_test_info();
    std::string filter = std::string("--gtest_filter=") + test->test_case_name() + "." + test->name();
    std::vector<char*> arguments = {path, &filter[0], nullptr};
    if (emulator())
        arguments.insert(arguments.begin(), emulator());
    // The child runs this test whatever part of all tests this process has: GTEST_SHARD_INDEX and alike stay here.
    std::string mark = "CUDATRACKING_TEST_CHILD=1";
    std::vector<char*> environment(1, &mark[0]);
    for (char** variable = environ; *variable; ++variable)
        if (std::strncmp(*variable, "GTEST_", 6) != 0)
            environment.push_back(*variable);
    environment.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, outputs.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    pid_t process = 0;
    int status = -1;
    if (posix_spawn(&process, arguments[0], &actions, nullptr, arguments.data(), environment.data()) == 0)
        waitpid(process, &status, 0);
    posix_spawn_file_actions_destroy(&actions);
    return status;
}

} // namespace child

//! Names what the body is about to do, for the report if it dies of it.
inline void aboutTo(const std::string& what) { std::snprintf(child::label(), 200, "dies of: %s\n", what.c_str()); }

/** Runs the body of the running test in a process of its own. The body must be all that the test does. */
inline void inChild(const ChildLimits& limits, const std::function<void()>& body)
{
    if (std::getenv("CUDATRACKING_TEST_CHILD"))
    {
        cv::setNumThreads(1);
        child::limit(limits);
        pthread_attr_t attributes;
        pthread_attr_init(&attributes);
        ASSERT_EQ(0, pthread_attr_setstacksize(&attributes, limits.stackBytes));
        pthread_t thread;
        ASSERT_EQ(0, pthread_create(&thread, &attributes, child::runBody, const_cast<std::function<void()>*>(&body)));
        pthread_join(thread, nullptr);
        return;
    }
    const TemporaryFile outputs(".txt");
    const int status = child::startAgain(outputs);
    const std::string text = outputs.text();
    EXPECT_EQ(0, status) << (WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "it failed") << "\n"
                         << text.substr(text.size() - std::min<size_t>(text.size(), 3000));
    EXPECT_NE(std::string::npos, text.find("[  PASSED  ] 1 test")) << "did not run";
}

#else

inline void aboutTo(const std::string&) {}
inline void inChild(const ChildLimits&, const std::function<void()>&)
{
    throw SkipTestException("processes with limits are made on Linux only");
}

#endif

} // namespace opencv_test

#endif // OPENCV_CUDATRACKING_TEST_COMMON_CHILD_PROCESS_HPP
