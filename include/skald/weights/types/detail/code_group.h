// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/weights/types/code_group.h.

#ifndef SKALD_WEIGHTS_TYPES_DETAIL_CODE_GROUP_H_
#define SKALD_WEIGHTS_TYPES_DETAIL_CODE_GROUP_H_

#include "skald/weights/types/code_group.h"

#include "skald/base/inline.h"

namespace skald {

SKALD_INLINE void WriteGroups(const CodeBlock& block, CodeGroup* groups) {
  for (size_t g = 0; g < CodeBlock::kWeights / kCodeGroup; ++g) {
    groups[g].scale = block.scale * static_cast<float>(block.scales[g]);
    groups[g].offset = 0.0f - block.minimum * static_cast<float>(block.minima[g]);
    for (size_t i = 0; i < kCodeGroup; ++i) {
      groups[g].codes[i] = static_cast<int8_t>(block.codes[g * kCodeGroup + i] - block.zero);
    }
  }
}

}  // namespace skald

#endif  // SKALD_WEIGHTS_TYPES_DETAIL_CODE_GROUP_H_
