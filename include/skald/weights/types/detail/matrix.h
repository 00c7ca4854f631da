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

SKALD_INLINE Matrix::Matrix(size_t num_rows, size_t num_cols, DType type, std::span<const uint32_t> order)
    : Matrix(num_rows, num_cols, type, MatrixBytes(BytesOf(num_rows, num_cols, type) + order.size_bytes())) {
  HWY_DASSERT(order.empty() || order.size() == num_cols);
  if (has_order) std::memcpy(data.data() + data.size() - order.size_bytes(), order.data(), order.size_bytes());
}

SKALD_INLINE Matrix::Matrix(size_t num_rows, size_t num_cols, DType type, MatrixBytes bytes)
    : rows(num_rows),
      cols(num_cols),
      padded_cols(VisitWeightType(type, [=]<class T>() { return PaddedK<T>(num_cols); })),
      dtype(type),
      has_order(bytes.size() > BytesOf(num_rows, num_cols, type)),
      data(std::move(bytes)) {
  HWY_DASSERT(data.size() == BytesOf(rows, cols, dtype) + (has_order ? OrderBytes(cols) : 0));
}

SKALD_INLINE size_t Matrix::BytesOf(size_t num_rows, size_t num_cols, DType type) {
  return VisitWeightType(type, [=]<class T>() { return PackedBytes<T>(num_rows, num_cols); });
}

SKALD_INLINE std::span<const uint32_t> Matrix::order() const {
  if (!has_order) return {};
  return {reinterpret_cast<const uint32_t*>(data.data() + data.size() - OrderBytes(cols)), cols};
}

SKALD_INLINE size_t Matrix::NumPanels() const { return RoundUp(rows, kLanes) / kLanes; }

}  // namespace skald

#endif  // SKALD_WEIGHTS_TYPES_DETAIL_MATRIX_H_
