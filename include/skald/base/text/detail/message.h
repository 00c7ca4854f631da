// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/base/text/message.h.

#ifndef SKALD_BASE_TEXT_DETAIL_MESSAGE_H_
#define SKALD_BASE_TEXT_DETAIL_MESSAGE_H_

#include "skald/base/text/message.h"

#include <cstddef>

#include "skald/base/inline.h"
#include "skald/base/text/printable.h"

namespace skald {

SKALD_INLINE std::string Concat(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (const std::string_view part : parts) text += part;
  return text;
}

SKALD_INLINE std::string ShapeText(std::span<const uint64_t> shape) {
  std::string text = "[";
  for (const uint64_t size : shape) {
    if (text.size() > 1) text += ", ";
    text += std::to_string(size);
  }
  return text + "]";
}

SKALD_INLINE std::string QuotedName(std::string_view name) {
  constexpr size_t kMaxShown = 160;
  return Concat({"'", Printable(name.substr(0, kMaxShown)), name.size() > kMaxShown ? "...'" : "'"});
}

}  // namespace skald

#endif  // SKALD_BASE_TEXT_DETAIL_MESSAGE_H_
