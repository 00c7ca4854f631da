// SPDX-License-Identifier: Apache-2.0
//
// CodeGroup: sixteen neighbouring weights of a row as small integers with a common scale and offset. Every
// group-quantised file type that Skald reads can be written this way without rounding, so readers decode to it and
// packing begins with it.

#ifndef SKALD_WEIGHTS_TYPES_CODE_GROUP_H_
#define SKALD_WEIGHTS_TYPES_CODE_GROUP_H_

#include <cstddef>
#include <cstdint>

#include "skald/base/numbers/numeric.h"

namespace skald {

// Weights per CodeGroup: the finest grouping among the file types (Q2_K, Q6_K).
inline constexpr size_t kCodeGroup = 16;

// weight[i] = scale * codes[i] + offset, as real numbers: no rounding lies between a file's block and its groups.
struct CodeGroup {
  float scale;
  float offset;  // 0 for types without a minimum
  int8_t codes[kCodeGroup];
};

// How a group-quantised file type stores a row: blocks of so many elements in so many bytes.
struct GroupFormat {
  DType packed;                        // the packed type that means exactly the same: kQ8_0, kQ4_0 or kQ8A
  size_t block_elements, block_bytes;  // of which the first is a divisor of 256 and a multiple of kCodeGroup
  void (*decode)(const std::byte* block, CodeGroup* groups);  // one block, of any alignment
};

}  // namespace skald

#endif  // SKALD_WEIGHTS_TYPES_CODE_GROUP_H_
