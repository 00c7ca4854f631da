// SPDX-License-Identifier: Apache-2.0
//
// How error messages about checkpoints write names and shapes, and how they are put together.

#ifndef SKALD_BASE_MESSAGE_H_
#define SKALD_BASE_MESSAGE_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "skald/base/printable.h"

namespace skald {

// Returns the parts one after the other. A chain of operator+ would do the same, but compilers
// expand each of its links: over all messages of this folder that takes a second of everybody's
// compile time.
inline std::string Concat(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (const std::string_view part : parts) text += part;
  return text;
}

// Returns "[256, 2048]".
inline std::string ShapeText(std::span<const uint64_t> shape) {
  std::string text = "[";
  for (const uint64_t size : shape) {
    if (text.size() > 1) text += ", ";
    text += std::to_string(size);
  }
  return text + "]";
}

// Returns a name from a file as an error message may show it: in quotes, cut to a readable length and printable.
inline std::string QuotedName(std::string_view name) {
  constexpr size_t kMaxShown = 160;
  return Concat({"'", Printable(name.substr(0, kMaxShown)), name.size() > kMaxShown ? "...'" : "'"});
}

}  // namespace skald

#endif  // SKALD_BASE_MESSAGE_H_
