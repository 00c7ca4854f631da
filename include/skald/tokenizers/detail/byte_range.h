// SPDX-License-Identifier: Apache-2.0
//
// A stretch of a text, in bytes: how the parts of a tokenizer tell each other where pieces lie.

#ifndef SKALD_TOKENIZERS_DETAIL_BYTE_RANGE_H_
#define SKALD_TOKENIZERS_DETAIL_BYTE_RANGE_H_

#include <cstddef>
#include <string_view>

namespace skald::internal {

// Bytes begin, begin + 1, ..., end - 1.
struct ByteRange {
  size_t begin = 0;
  size_t end = 0;

  size_t size() const { return end - begin; }
  bool empty() const { return begin == end; }
  std::string_view Of(std::string_view text) const { return text.substr(begin, end - begin); }

  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

}  // namespace skald::internal

#endif  // SKALD_TOKENIZERS_DETAIL_BYTE_RANGE_H_
