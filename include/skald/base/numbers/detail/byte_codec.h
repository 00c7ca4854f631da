// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/base/numbers/byte_codec.h.

#ifndef SKALD_BASE_NUMBERS_DETAIL_BYTE_CODEC_H_
#define SKALD_BASE_NUMBERS_DETAIL_BYTE_CODEC_H_

#include "skald/base/numbers/byte_codec.h"

#include "skald/base/inline.h"

namespace skald {

SKALD_INLINE std::string_view ByteReader::GetText() {
  const size_t size = GetCount(1);
  return Take(size) ? std::string_view(reinterpret_cast<const char*>(taken_), size) : std::string_view();
}

SKALD_INLINE size_t ByteReader::GetCount(size_t min_bytes) {
  const auto count = Get<uint64_t>();
  if (count <= rest_.size() / min_bytes) return static_cast<size_t>(count);
  ok_ = false;
  return 0;
}

SKALD_INLINE bool ByteReader::Take(size_t bytes) {
  ok_ = ok_ && bytes <= rest_.size();
  if (!ok_) return false;
  taken_ = rest_.data();
  rest_ = rest_.subspan(bytes);
  return true;
}

}  // namespace skald

#endif  // SKALD_BASE_NUMBERS_DETAIL_BYTE_CODEC_H_
