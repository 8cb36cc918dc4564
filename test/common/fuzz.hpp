// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Random cases of all algorithms: which are run, what they gave, how two runs are compared, how a failing one is found
// again.
//
//   CUDATRACKING_FUZZ_SEED     another series of cases (default 1)
//   CUDATRACKING_FUZZ_FIRST    number of the first case (default 0)
//   CUDATRACKING_FUZZ_CASES    how many (default: what takes some seconds)
//   CUDATRACKING_FUZZ_SECONDS  stops after this time
//   CUDATRACKING_FUZZ_HASHES   file to which one line a case with a hash of each engine's outputs is appended, to
//                              compare two builds. After a crash its last line is the case before the one that crashed
//   CUDATRACKING_FUZZ_PLAIN    1: Mat and GpuMat only, the same values: the same hashes
#ifndef OPENCV_CUDATRACKING_TEST_COMMON_FUZZ_HPP
#define OPENCV_CUDATRACKING_TEST_COMMON_FUZZ_HPP

#include "../test_precomp.hpp"
#include "graphs.hpp"
#include <chrono>
#include <fstream>

namespace opencv_test { namespace fuzz {

enum class Engine
{
    CPU,
    CUDA
};

//! An array, or a list of them, in the memory that a backend takes.
template <typename Host, typename Device> class Placed
{
public:
    Placed() = default;
    Placed(Engine engine, const Host& array) : cuda_(engine == Engine::CUDA), host_(array)
    {
        if (cuda_)
            device_ = uploaded(array);
    }
    _InputArray in() const { return cuda_ ? _InputArray(device_) : _InputArray(host_); }

private:
    bool cuda_ = false;
    Host host_;
    Device device_;
};
typedef Placed<Mat, cuda::GpuMat> Image;
typedef Placed<std::vector<Mat>, std::vector<cuda::GpuMat>> Images;

//! Results of a case: names and values in the order of the calls.
typedef std::vector<std::pair<std::string, Mat>> Outputs;

inline int64 numberFrom(const char* variable, int64 otherwise)
{
    const char* text = std::getenv(variable);
    return text && *text ? std::strtoll(text, nullptr, 10) : otherwise;
}

struct Options
{
    int64 seed, first, cases, seconds;
    std::string hashes;
    bool plain;

    explicit Options(int64 defaultCases)
        : seed(numberFrom("CUDATRACKING_FUZZ_SEED", 1)),
          first(numberFrom("CUDATRACKING_FUZZ_FIRST", 0)),
          cases(numberFrom("CUDATRACKING_FUZZ_CASES", defaultCases)),
          seconds(numberFrom("CUDATRACKING_FUZZ_SECONDS", 1000000)),
          plain(numberFrom("CUDATRACKING_FUZZ_PLAIN", 0) != 0)
    {
        if (const char* file = std::getenv("CUDATRACKING_FUZZ_HASHES"))
            hashes = file;
    }
};

//! A well mixed number from two (splitmix64): neighbouring cases must not be alike.
inline uint64 mixed(uint64 a, uint64 b)
{
    uint64 z = a * 0x9e3779b97f4a7c15u + b + 0x9e3779b97f4a7c15u;
    for (int i = 0; i < 2; ++i)
    {
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        z ^= z >> 31;
    }
    return z ? z : 1;
}

//! Everything about a case is drawn from this, so that it is made from seed and number alone.
inline RNG rngOf(int64 seed, int64 number)
{
    return RNG(mixed(static_cast<uint64>(seed), static_cast<uint64>(number)));
}

//! True once in `n` times.
inline bool onceIn(RNG& rng, int n) { return rng.uniform(0, n) == 0; }

template <typename T> const T& oneOf(RNG& rng, const std::vector<T>& list)
{
    return list[rng.uniform(0, static_cast<int>(list.size()))];
}

//! A side of 1 to `most`, small ones and those around words, warps and tiles more often.
inline int randomSide(RNG& rng, int most)
{
    static const std::vector<int> edges = {1,  2,  3,  4,  7,  8,  9,  15, 16,  17,  31,  32,  33,
                                           47, 48, 63, 64, 65, 95, 96, 97, 127, 128, 129, 255, 256};
    const int kind = rng.uniform(0, 4);
    const int side = kind == 0 ? oneOf(rng, edges) : kind == 1 ? rng.uniform(1, 40) : rng.uniform(1, most + 1);
    return std::min(side, most);
}

//! 1 x 1 to about 300 x 300, long and narrow ones, now and then 600.
inline Size randomSize(RNG& rng)
{
    if (onceIn(rng, 40))
        return uniform(rng, Size(400, 400), Size(601, 601));
    if (onceIn(rng, 12))
    {
        const Size narrow = uniform(rng, Size(300, 1), Size(3000, 6));
        return onceIn(rng, 2) ? narrow : Size(narrow.height, narrow.width);
    }
    const int width = randomSide(rng, 300);
    return Size(width, randomSide(rng, 300));
}

//! FNV-1a over names, shapes and bits.
inline uint64 hashOf(const Outputs& outputs)
{
    uint64 hash = 14695981039346656037u;
    const auto add = [&hash](const void* data, size_t bytes)
    {
        for (size_t i = 0; i < bytes; ++i)
            hash = (hash ^ static_cast<const uchar*>(data)[i]) * 1099511628211u;
    };
    for (const auto& output : outputs)
    {
        const Mat& m = output.second;
        const int shape[] = {m.rows, m.cols, m.type()};
        add(output.first.data(), output.first.size());
        add(shape, sizeof(shape));
        for (int y = 0; y < m.rows; ++y)
            add(m.ptr(y), m.cols * m.elemSize());
    }
    return hash;
}

//! Same names, same bits. Says in which output they differ first.
inline ::testing::AssertionResult same(const Outputs& expected, const Outputs& actual)
{
    for (size_t i = 0; i < std::min(expected.size(), actual.size()); ++i)
    {
        if (expected[i].first != actual[i].first)
            return ::testing::AssertionFailure()
                   << "output " << i << " is '" << actual[i].first << "' instead of '" << expected[i].first << "'";
        const ::testing::AssertionResult result = sameBits(expected[i].second, actual[i].second);
        if (!result)
            return ::testing::AssertionFailure() << expected[i].first << ": " << result.message();
    }
    if (expected.size() != actual.size())
        return ::testing::AssertionFailure() << actual.size() << " outputs instead of " << expected.size();
    return ::testing::AssertionSuccess();
}

//! Runs numbered cases until one of the limits; reports each failing one with what runs it alone.
class Series
{
public:
    Series(const std::string& suite, const std::string& test, int64 defaultCases)
        : options(defaultCases), name_(suite + "." + test), start_(std::chrono::steady_clock::now())
    {
        if (!options.hashes.empty())
            hashes_.open(options.hashes, std::ios::app);
    }

    //! body(number) returns the line's end for the file of hashes; it may throw and may report failures by fail().
    template <typename Body> void run(const Body& body)
    {
        for (int64 n = options.first; n < options.first + options.cases && failures_ < 20 && !late(); ++n)
        {
            number_ = n;
            ++ran_;
            std::string line;
            try
            {
                line = body(n);
            }
            catch (const std::exception& e)
            {
                line = "threw";
                fail(cv::format("threw: %s", e.what()));
            }
            if (hashes_.is_open())
                hashes_ << name_ << " seed " << options.seed << " case " << n << " " << line << std::endl;
        }
        std::cout << name_ << ": " << ran_ << " cases from " << options.first << ", seed " << options.seed << ", "
                  << failures_ << " failed" << std::endl;
    }

    void fail(const std::string& message)
    {
        ++failures_;
        ADD_FAILURE() << "case " << number_ << ": " << message << "\nalone: CUDATRACKING_FUZZ_SEED=" << options.seed
                      << " CUDATRACKING_FUZZ_FIRST=" << number_
                      << " CUDATRACKING_FUZZ_CASES=1 opencv_test_cudatracking --gtest_filter=" << name_;
    }

    const Options options;

private:
    bool late() const { return std::chrono::steady_clock::now() - start_ > std::chrono::seconds(options.seconds); }

    const std::string name_;
    const std::chrono::steady_clock::time_point start_;
    std::ofstream hashes_;
    int64 number_ = 0, ran_ = 0;
    int failures_ = 0;
};

inline std::string hex(uint64 hash) { return cv::format("%016llx", static_cast<unsigned long long>(hash)); }

//! Names of the outputs, of those that were made at all, that are not as they should be: the last one that differs;
//! else empty.
inline std::string differenceFrom(const Outputs& expected, const Outputs& outputs)
{
    std::string wrong;
    for (const auto& truth : expected)
        for (const auto& output : outputs)
            if (const auto result = sameBits(truth.second, output.second); output.first == truth.first && !result)
                wrong = truth.first + ": " + result.message();
    return wrong;
}

//! Arrays of all kinds against plain ones on the CPU engine, and cases for which `judge` returns true against an
//! oracle: it says in its last argument what is wrong.
template <typename Make, typename Run, typename Judge>
void expectRightOnCpu(const std::string& suite, int64 cases, const Make& make, const Run& run, const Judge& judge)
{
    Series series(suite, "oracle", cases);
    int judged = 0;
    series.run(
        [&](int64 number)
        {
            const auto c = make(series.options.seed, number);
            const Outputs plain = run(c, Engine::CPU, true);
            std::string wrong;
            judged += judge(c, plain, wrong);
            if (!wrong.empty())
                series.fail(c.what + "\nagainst the oracle: " + wrong);
            if (!series.options.plain)
                if (const auto result = same(plain, run(c, Engine::CPU, false)); !result)
                    series.fail(c.what + "\narrays of other kinds: " + result.message());
            return "cpu " + hex(hashOf(plain));
        });
    std::cout << judged << " of them were small enough for the oracle" << std::endl;
}

//! Plain arrays on the CPU engine against arrays of all kinds on the CUDA engine, bit by bit.
template <typename Make, typename Run>
void expectCpuIsCuda(const std::string& suite, int64 cases, const Make& make, const Run& run)
{
    Series series(suite, "cpuIsCuda", cases);
    series.run(
        [&](int64 number)
        {
            const auto c = make(series.options.seed, number);
            const Outputs cpu = run(c, Engine::CPU, true);
            const std::string line = "cpu " + hex(hashOf(cpu));
            try
            {
                const Outputs cuda = run(c, Engine::CUDA, series.options.plain);
                if (const auto result = same(cpu, cuda); !result)
                    series.fail(c.what + "\nCUDA: " + result.message());
                return line + " cuda " + hex(hashOf(cuda));
            }
            catch (const std::exception& e)
            {
                series.fail(c.what + "\nCUDA threw: " + e.what());
                forgetCudaErrors();
                return line + " cuda threw";
            }
        });
}

}} // namespace opencv_test::fuzz

#endif // OPENCV_CUDATRACKING_TEST_COMMON_FUZZ_HPP
