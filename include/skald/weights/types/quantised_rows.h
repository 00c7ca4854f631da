// SPDX-License-Identifier: Apache-2.0
//
// QuantisedRows: a matrix that a folder holds quantised, in several tensors, as rows that packing reads. The
// tensors, and how numbers follow from them, are a matter of the method (weights/quantised/).

#ifndef SKALD_WEIGHTS_TYPES_QUANTISED_ROWS_H_
#define SKALD_WEIGHTS_TYPES_QUANTISED_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "skald/base/numbers/numeric.h"
#include "skald/weights/types/code_group.h"
#include "skald/weights/types/column_inputs.h"

namespace skald {

/// A matrix [rows, cols]. Points into the checkpoint with its tensors, which must outlive it. Immutable once made; safe
/// for concurrent reads.
class QuantisedRows {
 public:
  virtual ~QuantisedRows() = default;

  QuantisedRows(const QuantisedRows&) = delete;
  QuantisedRows& operator=(const QuantisedRows&) = delete;

  /// Writes `count` rows from row `first` on, of row_bytes() each: blocks of `format` or, without one, numbers of
  /// `dtype`.
  virtual void Write(size_t first, size_t count, std::byte* to) const = 0;

  /// Of one row, as Write gives it.
  size_t row_bytes() const {
    const auto cols = static_cast<size_t>(shape[1]);
    return format == nullptr ? cols * SizeOf(dtype) : cols / format->block_elements * format->block_bytes;
  }

  std::string name;                     ///< of the weight
  uint64_t shape[2];                    ///< rows, cols; of matrices that are stacked, the rows of all
  std::string stored_as;                ///< for people: the method and its bits
  uint64_t stored_bytes = 0;            ///< of all its tensors
  const GroupFormat* format = nullptr;  ///< represents its numbers exactly
  DType dtype = DType::kF32;            ///< without a format: kBF16, exactly; or kF32, rounded to nearest once
  bool row_scale = false;               ///< the original rounds inputs to 8 bits by one scale for each row
  /// Where neighbours in a row have no scale in common, or the original multiplies the inputs of columns first: the
  /// numbers that the file has, as columns of the `inputs()` of these. This matrix itself is what they amount to for
  /// inputs as they are. Null: none.
  std::unique_ptr<const QuantisedRows> coded = {};
  std::vector<uint32_t> order = {};  ///< of a `coded` matrix: ColumnInputs::order
  std::vector<float> factors = {};   ///< of a `coded` matrix: ColumnInputs::factors
  /// Of a `coded` matrix.
  ColumnInputs inputs() const { return {order, factors}; }
  /// Of stacked matrices: each of them transposed, where a type represents the rows that these then have. Null: none.
  std::unique_ptr<const QuantisedRows> transposed = {};

 protected:
  /// Of a matrix of this shape.
  QuantisedRows(uint64_t rows, uint64_t cols) : shape{rows, cols} {}
};

}  // namespace skald

#endif  // SKALD_WEIGHTS_TYPES_QUANTISED_ROWS_H_
