// SPDX-License-Identifier: Apache-2.0
//
// A named tensor inside a checkpoint, as the file describes it.

#ifndef SKALD_WEIGHTS_TENSOR_VIEW_H_
#define SKALD_WEIGHTS_TENSOR_VIEW_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "skald/base/numeric.h"

namespace skald {

// Points into the checkpoint that it came from, which must outlive it.
struct TensorView {
  std::string_view name;
  std::string_view dtype_name;       // as the file spells it: "BF16", "I64", ...
  std::optional<DType> dtype;        // absent when parameters are never of that type
  std::span<const uint64_t> shape;   // outermost axis first; [] is a scalar
  std::span<const std::byte> bytes;  // little-endian, last axis contiguous; of any alignment
};

}  // namespace skald

#endif  // SKALD_WEIGHTS_TENSOR_VIEW_H_
