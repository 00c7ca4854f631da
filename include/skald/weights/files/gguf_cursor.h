// SPDX-License-Identifier: Apache-2.0
//
// Reads the numbers and strings of a GGUF header in order, never beyond its end.

#ifndef SKALD_WEIGHTS_FILES_GGUF_CURSOR_H_
#define SKALD_WEIGHTS_FILES_GGUF_CURSOR_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "skald/base/result.h"

namespace skald::internal {

/// A position in `bytes`, which must outlive it. The first read that fails sets a complaint. It and all later reads
/// return zeros, so a caller may check after several reads.
class GgufCursor {
 public:
  explicit GgufCursor(std::span<const std::byte> bytes) : bytes_(bytes) {}

  const std::string& complaint() const { return complaint_; }
  ErrorCode code() const { return code_; }  // of the complaint
  bool ok() const { return complaint_.empty(); }
  size_t position() const { return position_; }
  size_t left() const { return bytes_.size() - position_; }

  void Complain(std::string complaint, ErrorCode code = ErrorCode::kDataLoss);

  template <class T>
  T Number(std::string_view what, std::string_view which = {}) {
    T value = {};
    if (Has(sizeof(T), which, what)) {
      std::memcpy(&value, bytes_.data() + position_, sizeof(T));
      position_ += sizeof(T);
    }
    return value;
  }

  /// Reads a number of elements that follow, each of at least `bytes_each`. Returns 0 if the remaining bytes cannot
  /// hold so many. `which` and `what` name the number in a complaint; they are joined only for one.
  uint64_t Count(std::string_view which, std::string_view what, uint64_t bytes_each);

  /// Returns a string, a view of the bytes.
  std::string_view String(std::string_view what);

  /// Skips `size` bytes or, if there are fewer, all that are left. Returns them.
  std::span<const std::byte> Skip(size_t size);

  /// Returns the bytes read since an earlier position.
  std::span<const std::byte> Since(size_t begin) const { return bytes_.subspan(begin, position_ - begin); }

 private:
  bool Has(size_t size, std::string_view which, std::string_view what);

  std::span<const std::byte> bytes_;
  size_t position_ = 0;
  std::string complaint_;
  ErrorCode code_ = ErrorCode::kDataLoss;
};

}  // namespace skald::internal

#ifndef SKALD_COMPILED
#include "skald/weights/files/detail/gguf_cursor.h"
#endif

#endif  // SKALD_WEIGHTS_FILES_GGUF_CURSOR_H_
