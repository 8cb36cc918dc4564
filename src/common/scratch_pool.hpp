// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Scratch memory for the threads of parallel_for_, kept by an instance and gone with it. (Memory of thread_local
// variables would outlive the instance, on threads that nobody can reach.)
#ifndef OPENCV_CUDATRACKING_COMMON_SCRATCH_POOL_HPP
#define OPENCV_CUDATRACKING_COMMON_SCRATCH_POOL_HPP

#include <memory>
#include <mutex>
#include <vector>

namespace cv { namespace cuda { namespace detail {

template <typename T> class ScratchPool
{
public:
    //! One T for one thread, until the lease ends.
    class Lease
    {
    public:
        explicit Lease(ScratchPool& pool) : pool_(pool), item_(pool.take()) {}
        ~Lease() { pool_.giveBack(std::move(item_)); }
        Lease(const Lease&) = delete;
        Lease& operator=(const Lease&) = delete;

        T& operator*() const { return *item_; }
        T* operator->() const { return item_.get(); }

    private:
        ScratchPool& pool_;
        std::unique_ptr<T> item_;
    };

    //! Calls visit(item) for the items that no thread has: between calls, all.
    template <typename Visit> void forFree(const Visit& visit)
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        for (const std::unique_ptr<T>& item : free_)
            visit(*item);
    }

private:
    std::unique_ptr<T> take()
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (free_.empty())
        {
            free_.reserve(made_ + 1); // so that giving back cannot fail
            std::unique_ptr<T> item(new T);
            ++made_;
            return item;
        }
        std::unique_ptr<T> item = std::move(free_.back());
        free_.pop_back();
        return item;
    }
    void giveBack(std::unique_ptr<T> item) noexcept
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        free_.push_back(std::move(item));
    }

    std::mutex mutex_;
    std::vector<std::unique_ptr<T>> free_;
    size_t made_ = 0;
};

}}} // namespace cv::cuda::detail

#endif // OPENCV_CUDATRACKING_COMMON_SCRATCH_POOL_HPP
