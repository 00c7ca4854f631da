// SPDX-License-Identifier: Apache-2.0
//
// The vocabulary in which a Config describes its layers in the short form: which kind each one is, and which activation
// its feed-forward block uses; in either form, the types that its weights may have.

#ifndef SKALD_FAMILIES_CONFIG_LAYER_H_
#define SKALD_FAMILIES_CONFIG_LAYER_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "skald/base/numbers/activation.h"
#include "skald/base/numbers/group_types.h"  // IWYU pragma: export, for WeightTypes
#include "skald/base/numbers/rope.h"

namespace skald {

/// How a layer mixes information between positions. Every layer is such a mixer, followed by a gated feed-forward
/// block where the Config has one.
enum class LayerKind : uint8_t {
  kFullAttention,     ///< each position sees all earlier ones and itself
  kSlidingAttention,  ///< each position sees itself and the Config's kWindow - 1 positions before it
  kNopeAttention,     ///< full, without RoPE
  // The recurrent kinds: a state of fixed size replaces all earlier positions.
  kRgLru,   ///< real-gated linear recurrent unit of Griffin, De et al. 2024 (arXiv:2402.19427)
  kMamba,   ///< selective state space, Gu and Dao 2023 (arXiv:2312.00752)
  kMamba2,  ///< state-space duality, Dao and Gu 2024 (arXiv:2405.21060)
};

constexpr bool IsAttention(LayerKind kind) {
  return kind == LayerKind::kFullAttention || kind == LayerKind::kSlidingAttention || kind == LayerKind::kNopeAttention;
}
constexpr bool IsRecurrent(LayerKind kind) { return !IsAttention(kind); }

/// Returns `kCount` layer kinds that repeat `pattern`: RepeatLayers<26>({kSlidingAttention, kFullAttention}).
template <size_t kCount, size_t kPattern>
constexpr std::array<LayerKind, kCount> RepeatLayers(const LayerKind (&pattern)[kPattern]) {
  std::array<LayerKind, kCount> layers{};
  for (size_t i = 0; i < kCount; ++i) layers[i] = pattern[i % kPattern];
  return layers;
}

}  // namespace skald

#endif  // SKALD_FAMILIES_CONFIG_LAYER_H_
