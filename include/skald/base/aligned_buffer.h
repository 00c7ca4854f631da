// SPDX-License-Identifier: Apache-2.0
//
// Memory for vectors: a move-only array of trivially copyable elements, aligned to cache lines and zeroed.

#ifndef SKALD_BASE_ALIGNED_BUFFER_H_
#define SKALD_BASE_ALIGNED_BUFFER_H_

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <type_traits>

namespace skald {

// A cache line; also the widest vector and one row of a packed panel.
inline constexpr size_t kAlignment = 64;

template <class T>
class AlignedBuffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  AlignedBuffer() = default;

  // Allocates `size` zeroed elements. Throws std::bad_alloc as `new` does; CatchOutOfMemory makes an error of it at
  // the edge of the API.
  explicit AlignedBuffer(size_t size)
      : data_(static_cast<T*>(::operator new(size * sizeof(T), std::align_val_t{kAlignment}))), size_(size) {
    std::memset(static_cast<void*>(data_.get()), 0, size * sizeof(T));
  }

  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](size_t i) { return data_.get()[i]; }
  const T& operator[](size_t i) const { return data_.get()[i]; }
  operator std::span<T>() { return {data(), size_}; }
  operator std::span<const T>() const { return {data(), size_}; }

 private:
  struct Delete {
    void operator()(T* p) const { ::operator delete(p, std::align_val_t{kAlignment}); }
  };
  std::unique_ptr<T, Delete> data_;
  size_t size_ = 0;
};

}  // namespace skald

#endif  // SKALD_BASE_ALIGNED_BUFFER_H_
