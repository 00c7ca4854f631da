// SPDX-License-Identifier: Apache-2.0
//
// Memory for vectors: a move-only array of trivially copyable elements, aligned to cache lines and zeroed. An array
// that was moved from is empty.

#ifndef SKALD_BASE_ALIGNED_BUFFER_H_
#define SKALD_BASE_ALIGNED_BUFFER_H_

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

namespace skald {

/// A cache line; also the widest vector and one row of a packed panel.
inline constexpr size_t kAlignment = 64;

namespace internal {

inline constexpr size_t kHugePage = size_t{2} << 20;

/// Asks the system for huge pages. Matrices of many megabytes are read with large strides; with pages of 4 KB, address
/// translation would take much of that time. This is only a hint: systems without huge pages, or with none free, use
/// small ones. Only Linux takes it; Windows gives huge pages only to users with a privilege, macOS as it pleases.
void AskForHugePages(void* memory, size_t bytes);

}  // namespace internal

/// Tag: the memory is not zeroed, because the caller fills it.
struct Unfilled {};

/// An array of elements at a multiple of kAlignment, or of a huge page if it is that large. Move-only; owns its memory.
template <class T>
class AlignedBuffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  AlignedBuffer() = default;
  AlignedBuffer(AlignedBuffer&& other) noexcept : data_(std::move(other.data_)), size_(std::exchange(other.size_, 0)) {}
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept {
    data_ = std::move(other.data_);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }

  /// Allocates `size` zeroed elements. Throws std::bad_alloc as `new` does; NoThrow turns that into an error at the
  /// edge of the API.
  explicit AlignedBuffer(size_t size) : AlignedBuffer(size, Unfilled{}) {
    std::memset(static_cast<void*>(data_.get()), 0, size * sizeof(T));
  }

  /// The same with unspecified content. The system may provide the memory only when it is first written.
  AlignedBuffer(size_t size, Unfilled) : data_(Allocate(BytesOf(size)), {Alignment(BytesOf(size))}), size_(size) {
    internal::AskForHugePages(data_.get(), BytesOf(size));
  }

  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](size_t i) { return data_.get()[i]; }
  const T& operator[](size_t i) const { return data_.get()[i]; }
  operator std::span<T>() { return {data(), size_}; }              // NOLINT: a span like any other
  operator std::span<const T>() const { return {data(), size_}; }  // NOLINT: likewise

 private:
  // If the product overflows size_t, returns a size that `new` refuses.
  static size_t BytesOf(size_t size) { return size > SIZE_MAX / sizeof(T) ? SIZE_MAX : size * sizeof(T); }

  static T* Allocate(size_t bytes) { return static_cast<T*>(::operator new(bytes, Alignment(bytes))); }

  /// Large buffers begin at a huge page, so that huge pages can cover all of them.
  static std::align_val_t Alignment(size_t bytes) {
    return std::align_val_t{bytes >= internal::kHugePage ? internal::kHugePage : kAlignment};
  }

  struct Delete {
    std::align_val_t alignment{kAlignment};
    void operator()(T* p) const { ::operator delete(p, alignment); }
  };
  std::unique_ptr<T, Delete> data_;
  size_t size_ = 0;
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/base/detail/aligned_buffer.h"
#endif

#endif  // SKALD_BASE_ALIGNED_BUFFER_H_
