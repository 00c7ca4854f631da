// SPDX-License-Identifier: Apache-2.0
//
// Multiplication by group-quantised weights (arithmetic contract, R2), one output at a time, and the quantisation of
// activations before it.

#ifndef SKALD_TESTS_REFERENCE_GROUP_MATMUL_H_
#define SKALD_TESTS_REFERENCE_GROUP_MATMUL_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "skald/base/numbers/group_layout.h"

namespace skald::reference {

// Neighbouring weights of one output: weight = scale * number * code + offset * offset_number. Only types with scales
// of scales have numbers, and their groups one scale and offset for each kActivationBlock terms, as activations have.
struct WeightGroup {
  float scale = 0.0f, offset = 0.0f;
  std::vector<int> codes;
  int number = 1, offset_number = 1;
};

enum class Scales { kFloats, kFloatsAndOffsets, kNested };

// Activations that share a scale: value = scale * code.
struct ActivationBlock {
  float scale = 0.0f;
  std::vector<int> codes;
};

// The largest magnitude, or NaN.
inline float LargestOf(std::span<const float> values) {
  float largest = 0.0f;
  for (const float value : values) {
    if (!std::isfinite(value)) return std::numeric_limits<float>::quiet_NaN();
    largest = std::max(largest, std::abs(value));
  }
  return largest;
}

inline ActivationBlock QuantizeBlock(std::span<const float> values, float largest) {
  if (std::isnan(largest)) return {largest, std::vector<int>(values.size())};
  if (largest < 0x1p-100f) return {0.0f, std::vector<int>(values.size())};
  ActivationBlock block{largest / 127.0f, {}};
  const float inverse = 127.0f / largest;
  for (const float value : values) block.codes.push_back(static_cast<int>(std::nearbyint(value * inverse)));
  return block;
}

// Sums of the products of codes, and of the codes of activations, of the terms that begin at the block's term `first`.
struct CodeSums {
  int dot = 0, codes = 0;
};

inline CodeSums SumCodes(const ActivationBlock& block, size_t first, const WeightGroup& group) {
  CodeSums sums;
  for (size_t i = 0; i < group.codes.size() && first + i < block.codes.size(); ++i) {
    sums.dot += group.codes[i] * block.codes[first + i];
    sums.codes += block.codes[first + i];
  }
  return sums;
}

// The inner product of activations and the groups of one output. The last group may reach beyond the activations. With
// `row_scale` all activations share a scale.
inline float GroupedElement(std::span<const float> input, std::span<const WeightGroup> groups, Scales scales,
                            bool row_scale = false) {
  const size_t group_size = groups.front().codes.size();
  const size_t block_size = scales == Scales::kNested ? kActivationBlock : kActivationGroup;
  float total = 0.0f;
  for (size_t k = 0; k < input.size(); k += block_size) {
    const auto values = input.subspan(k, std::min(block_size, input.size() - k));
    float largest = LargestOf(row_scale ? input : values);
    if (row_scale && largest < 1e-5f) largest = 1e-5f;
    const ActivationBlock block = QuantizeBlock(values, largest);
    const size_t first = k / group_size, end = std::min(first + block_size / group_size, groups.size());
    int64_t dots = 0, all_codes = 0;
    for (size_t g = first; g < end; ++g) {
      const auto [dot, codes] = SumCodes(block, (g - first) * group_size, groups[g]);
      dots += groups[g].number * dot;
      all_codes += groups[g].offset_number * codes;
      if (scales == Scales::kNested) continue;
      float sum = static_cast<float>(dot) * groups[g].scale;
      if (scales == Scales::kFloatsAndOffsets) sum = std::fma(static_cast<float>(codes), groups[g].offset, sum);
      total = std::fma(sum, block.scale, total);
    }
    if (scales != Scales::kNested) continue;
    float sum = static_cast<float>(dots) * groups[first].scale;
    sum = std::fma(static_cast<float>(all_codes), groups[first].offset, sum);
    total = std::fma(sum, block.scale, total);
  }
  return total;
}

}  // namespace skald::reference

#endif  // SKALD_TESTS_REFERENCE_GROUP_MATMUL_H_
