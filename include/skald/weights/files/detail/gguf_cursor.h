// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/weights/files/gguf_cursor.h.

#ifndef SKALD_WEIGHTS_FILES_DETAIL_GGUF_CURSOR_H_
#define SKALD_WEIGHTS_FILES_DETAIL_GGUF_CURSOR_H_

#include "skald/weights/files/gguf_cursor.h"

#include <algorithm>
#include <utility>

#include "skald/base/inline.h"
#include "skald/base/text/message.h"

namespace skald {

namespace internal {

SKALD_INLINE void GgufCursor::Complain(std::string complaint, ErrorCode code) {
  if (!ok()) return;
  complaint_ = std::move(complaint);
  code_ = code;
}

SKALD_INLINE uint64_t GgufCursor::Count(std::string_view which, std::string_view what, uint64_t bytes_each) {
  const auto count = Number<uint64_t>(what, which);
  if (count <= left() / bytes_each) return count;
  Complain(
      Concat({which, what, " is ", std::to_string(count), ", but only ", std::to_string(left()), " bytes follow"}));
  return 0;
}

SKALD_INLINE std::string_view GgufCursor::String(std::string_view what) {
  const std::span<const std::byte> bytes = Skip(static_cast<size_t>(Count("the length of ", what, 1)));
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

SKALD_INLINE std::span<const std::byte> GgufCursor::Skip(size_t size) {
  const size_t begin = position_;
  position_ += std::min(size, left());
  return Since(begin);
}

SKALD_INLINE bool GgufCursor::Has(size_t size, std::string_view which, std::string_view what) {
  if (size > left()) {
    Complain(Concat({"cut short: it ends at byte ", std::to_string(bytes_.size()), ", inside of ", which, what}));
  }
  return ok();
}

}  // namespace internal
}  // namespace skald

#endif  // SKALD_WEIGHTS_FILES_DETAIL_GGUF_CURSOR_H_
