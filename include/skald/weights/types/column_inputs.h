// SPDX-License-Identifier: Apache-2.0
//
// ColumnInputs: what the columns of a matrix multiply, where that is not each the input of its own number.

#ifndef SKALD_WEIGHTS_TYPES_COLUMN_INPUTS_H_
#define SKALD_WEIGHTS_TYPES_COLUMN_INPUTS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace skald {

/// Column k multiplies the input order[k] times factors[k], a product of floats that is rounded once. Each is [cols];
/// without an order, column k has the input k, and without factors, inputs stay as they are. Does not own them.
struct ColumnInputs {
  std::span<const uint32_t> order = {};  ///< below the number of columns
  std::span<const float> factors = {};   ///< of columns, in their order

  bool empty() const { return order.empty() && factors.empty(); }
  /// Of both.
  size_t size_bytes() const { return order.size_bytes() + factors.size_bytes(); }

  bool operator==(const ColumnInputs& other) const {
    return std::ranges::equal(order, other.order) && std::ranges::equal(factors, other.factors);
  }
};

}  // namespace skald

#endif  // SKALD_WEIGHTS_TYPES_COLUMN_INPUTS_H_
