// SPDX-License-Identifier: Apache-2.0
//
// CodeGroup: sixteen neighbouring weights of a row as small integers with a common scale and offset. Every
// group-quantised file type that Skald reads can be written this way without rounding, so readers decode to it and
// packing begins with it. CodeBlock: the same for types with scales of scales, kept separately.

#ifndef SKALD_WEIGHTS_TYPES_CODE_GROUP_H_
#define SKALD_WEIGHTS_TYPES_CODE_GROUP_H_

#include <cstddef>
#include <cstdint>

#include "skald/base/numbers/numeric.h"

namespace skald {

/// Weights per CodeGroup: the finest grouping among the file types (Q2_K, Q6_K).
inline constexpr size_t kCodeGroup = 16;

/// weight[i] = scale * codes[i] + offset, as real numbers: decoding a file's block to groups does not round.
struct CodeGroup {
  float scale;               ///< see above
  float offset;              ///< 0 for types without a minimum
  int8_t codes[kCodeGroup];  ///< see above
};

/// weight[i] = scale * scales[i / kCodeGroup] * (codes[i] - zero) - minimum * minima[i / kCodeGroup]
struct CodeBlock {
  static constexpr size_t kWeights = 256;  ///< of a block
  float scale, minimum;                   ///< binary16 except Q6A's; if codes count from below zero there is no minimum
  int8_t scales[kWeights / kCodeGroup];   ///< see above
  uint8_t minima[kWeights / kCodeGroup];  ///< below 128
  uint8_t codes[kWeights];                ///< see above
  uint8_t zero;                           ///< see above
};

/// Writes a block as groups. Their scales are products of an 11-bit number (binary16) and one of at most 8 bits, which
/// a float represents exactly.
void WriteGroups(const CodeBlock& block, CodeGroup* groups);

/// How a group-quantised file type stores a row: blocks of so many elements in so many bytes.
struct GroupFormat {
  DType packed;                        ///< the packed type that represents it exactly
  size_t block_elements, block_bytes;  ///< the first is a divisor of 256 and a multiple of kCodeGroup
  void (*decode)(const std::byte* block, CodeGroup* groups);  ///< one block, of any alignment
  /// The same to a CodeBlock, for types with scales of scales.
  void (*decode_block)(const std::byte* block, CodeBlock& decoded) = nullptr;
  /// The numbers of a block of codes of floats, a kTile of them: a scale (F32) and the bytes of the codes. There is
  /// then no `decode`.
  void (*decode_floats)(const std::byte* block, float* numbers) = nullptr;

  /// Whether Q6A represents blocks exactly.
  constexpr bool FitsQ6A() const {
    return decode_block != nullptr && packed != DType::kIQ4_XS && packed != DType::kIQ2;
  }
  /// The same of Q8A32.
  constexpr bool FitsQ8A32() const { return decode_block == nullptr && block_elements == 32; }
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/weights/types/detail/code_group.h"
#endif

#endif  // SKALD_WEIGHTS_TYPES_CODE_GROUP_H_
