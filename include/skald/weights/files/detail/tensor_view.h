// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/weights/files/tensor_view.h.

#ifndef SKALD_WEIGHTS_FILES_DETAIL_TENSOR_VIEW_H_
#define SKALD_WEIGHTS_FILES_DETAIL_TENSOR_VIEW_H_

#include "skald/weights/files/tensor_view.h"

#include <algorithm>
#include <cstring>

#include "skald/base/inline.h"

namespace skald {

namespace internal {

SKALD_INLINE float FactorOf(const TensorView& tensor) {
  float factor = 1.0f;
  if (tensor.factors.size() == sizeof(factor)) std::memcpy(&factor, tensor.factors.data(), sizeof(factor));
  return factor;
}

SKALD_INLINE bool IsCopyOf(const TensorView& tensor, const TensorView& original) {
  const auto is_plain = [](const TensorView& one) { return one.quantised == nullptr && one.factors.empty(); };
  return is_plain(tensor) && is_plain(original) && tensor.dtype_name == original.dtype_name &&
         std::ranges::equal(tensor.shape, original.shape) && tensor.bytes.size() == original.bytes.size() &&
         std::memcmp(tensor.bytes.data(), original.bytes.data(), tensor.bytes.size()) == 0;
}

SKALD_INLINE std::optional<DType> ParameterType(std::string_view dtype) {
  for (const DType type : {DType::kF32, DType::kF16, DType::kBF16}) {
    if (NameOf(type) == dtype) return type;
  }
  return std::nullopt;
}

}  // namespace internal
}  // namespace skald

#endif  // SKALD_WEIGHTS_FILES_DETAIL_TENSOR_VIEW_H_
