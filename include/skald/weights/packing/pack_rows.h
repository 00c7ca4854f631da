// SPDX-License-Identifier: Apache-2.0
//
// Rows of a file that are to be packed. Conversions: F16 and BF16 to f32 are exact, BF16 to bf16 copies; F32, F16 and
// groups to bf16 round to nearest even and so lose bits.

#ifndef SKALD_WEIGHTS_PACKING_PACK_ROWS_H_
#define SKALD_WEIGHTS_PACKING_PACK_ROWS_H_

#include <cstddef>

#include "skald/base/numbers/numeric.h"
#include "skald/weights/types/code_group.h"

namespace skald {

/// A row-major [rows, cols] tensor that becomes the next `rows` rows of a stacked matrix.
struct PackSource {
  const std::byte* bytes;               ///< of any alignment
  DType dtype;                          ///< kF32, kF16 or kBF16; not read if there is a `format`
  size_t rows;                          ///< outputs
  const GroupFormat* format = nullptr;  ///< of a group-quantised tensor; `cols` is a multiple of its block_elements
  float factor = 1.0f;                  ///< by which the numbers of `format` are multiplied
};

size_t RowBytes(const PackSource& source, size_t cols);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/weights/packing/detail/pack_rows.h"
#endif

#endif  // SKALD_WEIGHTS_PACKING_PACK_ROWS_H_
