// SPDX-License-Identifier: Apache-2.0
//
// Quantised weights that none of the types in memory represents: their numbers as floats.

#ifndef SKALD_WEIGHTS_QUANTISED_DETAIL_FLOAT_ROWS_H_
#define SKALD_WEIGHTS_QUANTISED_DETAIL_FLOAT_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "skald/base/numbers/numeric.h"
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

}  // namespace skald::internal

#endif  // SKALD_WEIGHTS_QUANTISED_DETAIL_FLOAT_ROWS_H_
