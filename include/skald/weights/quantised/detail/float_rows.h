// SPDX-License-Identifier: Apache-2.0
//
// Quantised weights that none of the types in memory represents: their numbers as floats. Others whose inputs the
// original multiplies first, which they have as floats for inputs as they are.

#ifndef SKALD_WEIGHTS_QUANTISED_DETAIL_FLOAT_ROWS_H_
#define SKALD_WEIGHTS_QUANTISED_DETAIL_FLOAT_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "skald/base/numbers/numeric.h"
#include "skald/weights/packing/gather_rows.h"
#include "skald/weights/types/quantised_rows.h"

namespace skald::internal {

/// Writes numbers as `dtype`, kF32 or kBF16; the latter represents them exactly.
inline void WriteFloats(const float* values, size_t count, DType dtype, std::byte* to) {
  if (dtype == DType::kF32) {
    std::memcpy(to, values, count * sizeof(float));
    return;
  }
  for (size_t i = 0; i < count; ++i) std::memcpy(to + 2 * i, reinterpret_cast<const std::byte*>(values + i) + 2, 2);
}

/// Rows that a method computes as floats.
class FloatRows : public QuantisedRows {
 public:
  void Write(size_t first, size_t count, std::byte* to) const override {
    std::vector<float> values(static_cast<size_t>(shape[1]));
    for (size_t row = first; row < first + count; ++row, to += row_bytes()) {
      Values(row, values.data());
      WriteFloats(values.data(), values.size(), dtype, to);
    }
  }

 protected:
  using QuantisedRows::QuantisedRows;

  virtual void Values(size_t row, float* values) const = 0;
};

/// Rows whose columns have factors of their inputs: as they are where inputs are multiplied, else with each number
/// times its column's factor, rounded once more.
class MultipliedRows final : public FloatRows {
 public:
  /// There are as many factors as columns.
  MultipliedRows(std::unique_ptr<QuantisedRows> rows, std::vector<float> of_columns)
      : FloatRows(rows->shape[0], rows->shape[1]) {
    stored_as = rows->stored_as, stored_bytes = rows->stored_bytes;
    rows->factors = std::move(of_columns);
    coded = std::move(rows);
  }

 private:
  void Values(size_t row, float* values) const override {
    const std::vector<std::byte> floats = QuantisedFloatsIn(*coded, {row, 1, 1});
    std::memcpy(values, floats.data(), floats.size());
    for (size_t k = 0; k < coded->factors.size(); ++k) values[k] *= coded->factors[k];
  }
};

}  // namespace skald::internal

#endif  // SKALD_WEIGHTS_QUANTISED_DETAIL_FLOAT_ROWS_H_
