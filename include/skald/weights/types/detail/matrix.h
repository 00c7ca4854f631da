// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/weights/types/matrix.h.

#ifndef SKALD_WEIGHTS_TYPES_DETAIL_MATRIX_H_
#define SKALD_WEIGHTS_TYPES_DETAIL_MATRIX_H_

#include "skald/weights/types/matrix.h"

#include <cstring>
#include <utility>

#include "skald/base/highway.h"
#include "skald/base/inline.h"
#include "skald/base/numbers/group_layout.h"
#include "skald/base/numbers/packed_layout.h"

namespace skald {

SKALD_INLINE Matrix::Matrix(size_t num_rows, size_t num_cols, DType type)
    : rows(num_rows),
      cols(num_cols),
      padded_cols(VisitWeightType(type, [=]<class T>() { return PaddedK<T>(num_cols); })),
      dtype(type),
      data(BytesOf(num_rows, num_cols, type)) {}

SKALD_INLINE Matrix::Matrix(size_t num_rows, size_t num_cols, DType type, const ColumnInputs& inputs)
    : Matrix(num_rows, num_cols, type, MatrixBytes(BytesOf(num_rows, num_cols, type) + inputs.size_bytes()),
             !inputs.order.empty(), !inputs.factors.empty()) {
  std::byte* to = data.data() + BytesOf(rows, cols, dtype);
  if (has_order) std::memcpy(to, inputs.order.data(), inputs.order.size_bytes()), to += inputs.order.size_bytes();
  if (has_factors) std::memcpy(to, inputs.factors.data(), inputs.factors.size_bytes());
}

SKALD_INLINE Matrix::Matrix(size_t num_rows, size_t num_cols, DType type, MatrixBytes bytes, bool with_order,
                            bool with_factors)
    : rows(num_rows),
      cols(num_cols),
      padded_cols(VisitWeightType(type, [=]<class T>() { return PaddedK<T>(num_cols); })),
      dtype(type),
      has_order(with_order),
      has_factors(with_factors),
      data(std::move(bytes)) {
  HWY_DASSERT(data.size() == BytesOf(rows, cols, dtype) + InputBytes(cols, has_order, has_factors));
}

SKALD_INLINE size_t Matrix::BytesOf(size_t num_rows, size_t num_cols, DType type) {
  return VisitWeightType(type, [=]<class T>() { return PackedBytes<T>(num_rows, num_cols); });
}

SKALD_INLINE std::span<const uint32_t> Matrix::order() const {
  if (!has_order) return {};
  return {reinterpret_cast<const uint32_t*>(data.data() + data.size() - InputBytes(cols, true, has_factors)), cols};
}

SKALD_INLINE std::span<const float> Matrix::factors() const {
  if (!has_factors) return {};
  return {reinterpret_cast<const float*>(data.data() + data.size() - InputBytes(cols, false, true)), cols};
}

SKALD_INLINE size_t Matrix::NumPanels() const { return RoundUp(rows, kLanes) / kLanes; }

}  // namespace skald

#endif  // SKALD_WEIGHTS_TYPES_DETAIL_MATRIX_H_
