// SPDX-License-Identifier: Apache-2.0
//
// A named tensor inside a checkpoint, as the file describes it, and how error messages write names
// and shapes.

#ifndef SKALD_WEIGHTS_TENSOR_VIEW_H_
#define SKALD_WEIGHTS_TENSOR_VIEW_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "skald/base/numeric.h"

namespace skald {

// Points into the checkpoint that it came from, which must outlive it.
struct TensorView {
  std::string_view name;
  std::string_view dtype_name;      // as the file spells it: "BF16", "I64", ...
  std::optional<DType> dtype;       // absent when parameters are never of that type
  std::span<const uint64_t> shape;  // outermost axis first; [] is a scalar
  std::span<const std::byte>
      bytes;  // little-endian elements, last axis contiguous, not necessarily aligned
};

// Returns "[256, 2048]".
inline std::string ShapeText(std::span<const uint64_t> shape) {
  std::string text = "[";
  for (const uint64_t size : shape) {
    if (text.size() > 1) text += ", ";
    text += std::to_string(size);
  }
  return text + "]";
}

// Returns a name from a file as an error message may show it: in quotes, cut to a readable length
// and without control characters, which could otherwise drive the reader's terminal.
inline std::string QuotedName(std::string_view name) {
  constexpr size_t kMaxShown = 160;
  std::string text = "'";
  for (const char c : name.substr(0, kMaxShown)) {
    const bool is_control = static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
    text += is_control ? '?' : c;
  }
  return text + (name.size() > kMaxShown ? "...'" : "'");
}

}  // namespace skald

#endif  // SKALD_WEIGHTS_TENSOR_VIEW_H_
