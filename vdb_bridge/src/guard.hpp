/// What keeps C++ behind the C ABI: one guard for exceptions, one exception of our own, and arrays
/// that come from firn_alloc.
#pragma once

#include "firn/base.h"

#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

namespace firn_vdb
{

/// Thrown inside the bridge; becomes the result and the message of the call.
struct failure {
    firn_error error;
};

[[noreturn]] void fail(firn_result code, const char *format, ...) FIRN_PRINTF(2, 3);

/// Throws what a C call reported.
template <class Call> void require(Call &&call)
{
    failure problem;
    if (call(&problem.error) != FIRN_OK)
        throw problem;
}

/// Turns the exception in flight into a result.
firn_result result_of_exception(firn_error *error) noexcept;

template <class Body> firn_result guarded(firn_error *error, Body &&body) noexcept
{
    try {
        body();
        return FIRN_OK;
    } catch (...) {
        return result_of_exception(error);
    }
}

/// Elements without constructors in one piece of memory.
template <class T> class array
{
    static_assert(std::is_trivially_copyable_v<T>);

  public:
    array() = default;
    explicit array(size_t count) : count_(count)
    {
        if (count > SIZE_MAX / 2 / sizeof(T))
            throw std::bad_alloc();
        data_ = static_cast<T *>(firn_alloc(count * sizeof(T)));
        if (data_ == nullptr)
            throw std::bad_alloc();
    }
    array(array &&other) noexcept { swap(other); }
    array &operator=(array &&other) noexcept
    {
        swap(other);
        return *this;
    }
    ~array() { firn_free(data_); }

    size_t size() const { return count_; }
    T *data() { return data_; }
    const T *data() const { return data_; }
    T &operator[](size_t i) { return data_[i]; }
    const T &operator[](size_t i) const { return data_[i]; }
    const T *begin() const { return data_; }
    const T *end() const { return data_ + count_; }

  private:
    void swap(array &other) noexcept
    {
        std::swap(data_, other.data_);
        std::swap(count_, other.count_);
    }

    T *data_ = nullptr;
    size_t count_ = 0;
};

} // namespace firn_vdb
