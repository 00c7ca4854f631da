// SPDX-License-Identifier: Apache-2.0
//
// The parameters of one matrix multiplication, in the packed layout that kernels read (base/numbers/packed_layout.h,
// base/numbers/group_types.h).

#ifndef SKALD_WEIGHTS_TYPES_MATRIX_H_
#define SKALD_WEIGHTS_TYPES_MATRIX_H_

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "skald/base/numbers/numeric.h"
#include "skald/weights/types/column_inputs.h"
#include "skald/weights/types/division.h"
#include "skald/weights/types/matrix_bytes.h"

namespace skald {

/// A [rows, cols] matrix: `rows` outputs (N), each a sum over `cols` terms (K). Rows are padded to kLanes and columns
/// to PaddedK, with zeros. If the matrix is divided among ranks, the rows that are here. Move-only; safe for concurrent
/// reads.
struct Matrix {
  /// Outputs that are here; terms of each.
  size_t rows = 0, cols = 0;
  size_t padded_cols = 0;                         ///< PaddedK: the `padded_k` of kernels
  DType dtype = DType::kBF16;                     ///< any but kF16
  bool has_order = false;                         ///< columns have an order of their own
  bool has_factors = false;                       ///< inputs are multiplied by factors first
  bool row_scale = false;                         ///< PrepareArgs::row_scale of its inputs; of quantised types alone
  MatrixBytes data;                               ///< PackedBytes, then order() and factors(), if there are such
  std::shared_ptr<const Division> division = {};  ///< null: the matrix is whole

  Matrix() = default;
  /// Allocates a matrix of zeros. Throws std::bad_alloc.
  Matrix(size_t num_rows, size_t num_cols, DType type);

  /// The same whose columns multiply `inputs`.
  Matrix(size_t num_rows, size_t num_cols, DType type, const ColumnInputs& inputs);

  /// The same with existing elements. `bytes` must have BytesOf(num_rows, num_cols, type), and InputBytes more.
  Matrix(size_t num_rows, size_t num_cols, DType type, MatrixBytes bytes, bool with_order = false,
         bool with_factors = false);

  /// Returns the bytes of a packed matrix, padding included.
  static size_t BytesOf(size_t num_rows, size_t num_cols, DType type);

  /// Returns the bytes of the ColumnInputs of so many columns.
  static constexpr size_t InputBytes(size_t num_cols, bool with_order, bool with_factors) {
    static_assert(sizeof(uint32_t) == sizeof(float));
    return (size_t{with_order} + size_t{with_factors}) * num_cols * sizeof(float);
  }

  /// The input that each column multiplies, [cols], where columns have an order of their own: quantised weights of one
  /// scale are neighbours then. Else empty.
  std::span<const uint32_t> order() const;

  /// The factor of each column's input, [cols], which multiplies it before it is quantised or rounded; or nothing.
  std::span<const float> factors() const;

  /// Both.
  ColumnInputs inputs() const { return {order(), factors()}; }
  /// Whether there is any of them.
  bool changes_inputs() const { return has_order || has_factors; }

  /// The address of the packed elements.
  const std::byte* bytes() const { return data.data(); }

  /// The packed elements. T is the type of `dtype`. They can be changed only if the matrix allocated them.
  template <class T>
  const T* As() const {
    assert(kDTypeOf<T> == dtype);
    return reinterpret_cast<const T*>(data.data());
  }
  /// As above, for a matrix that allocated its elements.
  template <class T>
  T* As() {
    assert(kDTypeOf<T> == dtype);
    return reinterpret_cast<T*>(data.data());
  }

  /// Whether ranks exchange the outputs of a multiplication by it.
  bool gathers_outputs() const { return division != nullptr && !division->output_begins.empty(); }
  /// Whether ranks have their own columns of the inputs, and exchange them for a multiplication.
  bool gathers_inputs() const { return division != nullptr && !division->input_begins.empty(); }
  /// Outputs of a multiplication, including those that other ranks compute and this one gets.
  size_t outputs() const { return gathers_outputs() ? division->output_begins.back() : rows; }

  /// Panels of kLanes rows, the padded one included.
  size_t NumPanels() const;
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/weights/types/detail/matrix.h"
#endif

#endif  // SKALD_WEIGHTS_TYPES_MATRIX_H_
