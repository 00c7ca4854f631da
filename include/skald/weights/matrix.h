// SPDX-License-Identifier: Apache-2.0
//
// The parameters of one matrix multiplication, in the packed layout that kernels read (base/packed_layout.h,
// base/group_layout.h).

#ifndef SKALD_WEIGHTS_MATRIX_H_
#define SKALD_WEIGHTS_MATRIX_H_

#include <cstddef>

#include "hwy/base.h"
#include "skald/base/aligned_buffer.h"
#include "skald/base/group_layout.h"
#include "skald/base/numeric.h"
#include "skald/base/packed_layout.h"

namespace skald {

// A [rows, cols] matrix: `rows` outputs (N), each a sum over `cols` terms (K). Rows are padded to kLanes and columns as
// PaddedK says, with zeros. Move-only; safe for concurrent reads.
struct Matrix {
  size_t rows = 0, cols = 0;
  size_t padded_cols = 0;         // PaddedK: the `padded_k` of kernels
  DType dtype = DType::kBF16;     // any but kF16
  AlignedBuffer<std::byte> data;  // PackedBytes

  Matrix() = default;
  Matrix(size_t num_rows, size_t num_cols, DType type)
      : rows(num_rows),
        cols(num_cols),
        padded_cols(VisitWeightType(type, [=]<class T>() { return PaddedK<T>(num_cols); })),
        dtype(type),
        data(VisitWeightType(type, [=]<class T>() { return PackedBytes<T>(num_rows, num_cols); })) {}

  // The packed elements. T is what `dtype` says.
  template <class T>
  const T* As() const {
    HWY_DASSERT(kDTypeOf<T> == dtype);
    return reinterpret_cast<const T*>(data.data());
  }
  template <class T>
  T* As() {
    HWY_DASSERT(kDTypeOf<T> == dtype);
    return reinterpret_cast<T*>(data.data());
  }

  size_t NumPanels() const { return RoundUp(rows, kLanes) / kLanes; }
};

}  // namespace skald

#endif  // SKALD_WEIGHTS_MATRIX_H_
