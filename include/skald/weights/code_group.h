// SPDX-License-Identifier: Apache-2.0
//
// CodeGroup: sixteen neighbouring weights of a row as small integers with a common scale and offset. Every
// group-quantised file type that Skald reads can be written this way without rounding, so readers decode to it and
// packing begins with it.

#ifndef SKALD_WEIGHTS_CODE_GROUP_H_
#define SKALD_WEIGHTS_CODE_GROUP_H_

#include <cstddef>
#include <cstdint>

namespace skald {

// Weights per CodeGroup: the finest grouping among the file types (Q2_K, Q6_K).
inline constexpr size_t kCodeGroup = 16;

// weight[i] = scale * codes[i] + offset, as real numbers: no rounding lies between a file's block and its groups.
struct CodeGroup {
  float scale;
  float offset;  // 0 for types without a minimum
  int8_t codes[kCodeGroup];
};

}  // namespace skald

#endif  // SKALD_WEIGHTS_CODE_GROUP_H_
