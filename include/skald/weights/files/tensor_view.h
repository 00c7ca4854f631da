// SPDX-License-Identifier: Apache-2.0
//
// A named tensor inside a checkpoint, as described in the file.

#ifndef SKALD_WEIGHTS_FILES_TENSOR_VIEW_H_
#define SKALD_WEIGHTS_FILES_TENSOR_VIEW_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "skald/base/numbers/numeric.h"
#include "skald/weights/types/code_group.h"
#include "skald/weights/types/quantised_rows.h"

namespace skald {

/// Points into the checkpoint that it came from, which must outlive it.
struct TensorView {
  std::string_view name;                ///< as the file spells it
  std::string_view dtype_name;          ///< the file's spelling: "BF16", "I64", ...
  std::optional<DType> dtype;           ///< empty if parameters never have that type, or there is a format
  std::span<const uint64_t> shape;      ///< outermost axis first; [] is a scalar
  std::span<const std::byte> bytes;     ///< little-endian, last axis contiguous; of any alignment
  const GroupFormat* format = nullptr;  ///< of a group-quantised type that can be read
  /// Numbers (F32) by which those of `format` are multiplied: one, or one for each matrix of the first axis; none: 1.
  std::span<const std::byte> factors = {};
  /// The two rows that RoPE rotates together are neighbours, not half a head apart.
  bool rope_pairs_adjacent = false;
  /// A matrix whose inputs are quantised by one scale for each row (Matrix::row_scale).
  bool row_scale = false;
  /// Makes the rows of a matrix that several tensors hold; null for a tensor of its own. `bytes` are then none.
  const QuantisedRows* quantised = nullptr;
};

namespace internal {

/// The factor of a tensor that has one for all, or none.
float FactorOf(const TensorView& tensor);

/// Whether both tensors have the same type, shape and bytes. Those that several tensors hold, or that have factors, are
/// not compared, and count as different.
bool IsCopyOf(const TensorView& tensor, const TensorView& original);

/// Returns the type of parameters with that spelling in files; nothing for any other spelling.
std::optional<DType> ParameterType(std::string_view dtype);

}  // namespace internal

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/weights/files/detail/tensor_view.h"
#endif

#endif  // SKALD_WEIGHTS_FILES_TENSOR_VIEW_H_
