// SPDX-License-Identifier: Apache-2.0
//
// The bytes of a matrix: in memory of its own, or in a file that is mapped into memory.

#ifndef SKALD_WEIGHTS_TYPES_MATRIX_BYTES_H_
#define SKALD_WEIGHTS_TYPES_MATRIX_BYTES_H_

#include <cstddef>
#include <memory>
#include <span>

#include "skald/base/aligned_buffer.h"

namespace skald {

/// Aligned to kAlignment. Move-only; safe for concurrent reads.
class MatrixBytes {
 public:
  MatrixBytes() = default;

  /// Allocates `size` zeroed bytes.
  explicit MatrixBytes(size_t size) : owned_(size), bytes_(owned_) {}

  /// Refers to `bytes`, which must not change and must live as long as `owner` is held.
  MatrixBytes(std::span<const std::byte> bytes, std::shared_ptr<const void> owner);

  /// Valid as long as this or its owner.
  const std::byte* data() const { return bytes_.data(); }
  /// For filling allocated bytes; null for bytes with another owner.
  std::byte* data() { return owned_.data(); }
  size_t size() const { return bytes_.size(); }
  bool empty() const { return bytes_.empty(); }
  operator std::span<const std::byte>() const { return bytes_; }  // NOLINT: bytes are a span of bytes

 private:
  AlignedBuffer<std::byte> owned_;     ///< empty if there is an owner
  std::shared_ptr<const void> owner_;  ///< null if the bytes are owned
  std::span<const std::byte> bytes_;
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/weights/types/detail/matrix_bytes.h"
#endif

#endif  // SKALD_WEIGHTS_TYPES_MATRIX_BYTES_H_
