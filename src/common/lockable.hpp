// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Executes the calls of one instance on several threads one after another.
#ifndef OPENCV_CUDATRACKING_COMMON_LOCKABLE_HPP
#define OPENCV_CUDATRACKING_COMMON_LOCKABLE_HPP

#include <mutex>

namespace cv { namespace cuda { namespace detail {

//! Pointer to an instance that no other thread can use as long as the pointer exists.
template <class T> class Locked
{
public:
    Locked(T& instance, std::recursive_mutex& mutex) : instance_(instance), lock_(mutex) {}

    T& operator*() const { return instance_; }
    T* operator->() const { return &instance_; }

private:
    T& instance_;
    const std::lock_guard<std::recursive_mutex> lock_;
};

/** Base of the class behind a public class. Each override of a public method begins with `const auto lock = locked();`,
or is a single statement that uses the instance through `locked()->`; the check `locks` of scripts/check.sh finds those
that do not. Methods may call each other. A method that uses other instances copies what it needs from each before it
locks its own, so that no thread holds the locks of two instances. */
template <class Impl> class Lockable
{
protected:
    Locked<Impl> locked() { return {static_cast<Impl&>(*this), mutex_}; }
    Locked<const Impl> locked() const { return {static_cast<const Impl&>(*this), mutex_}; }

private:
    mutable std::recursive_mutex mutex_;
};

}}} // namespace cv::cuda::detail

#endif // OPENCV_CUDATRACKING_COMMON_LOCKABLE_HPP
