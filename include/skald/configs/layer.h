// SPDX-License-Identifier: Apache-2.0
//
// The vocabulary in which a Config describes its layers: which kind each one is, which activation its
// feed-forward block uses, and how its rotary position embedding (RoPE) turns a position into angles.

#ifndef SKALD_CONFIGS_LAYER_H_
#define SKALD_CONFIGS_LAYER_H_

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>

namespace skald {

// How a layer mixes information between positions. Every layer is such a mixer, followed by a gated feed-forward
// block where the Config has one.
enum class LayerKind : uint8_t {
  kFullAttention,     // each position sees all earlier ones and itself
  kSlidingAttention,  // each position sees itself and the Config's kWindow - 1 positions before it
  // The recurrent kinds: a state of fixed size stands for all earlier positions.
  kRgLru,   // real-gated linear recurrent unit of Griffin, De et al. 2024 (arXiv:2402.19427)
  kMamba,   // selective state space, Gu and Dao 2023 (arXiv:2312.00752)
  kMamba2,  // state-space duality, Dao and Gu 2024 (arXiv:2405.21060)
};

constexpr bool IsAttention(LayerKind kind) {
  return kind == LayerKind::kFullAttention || kind == LayerKind::kSlidingAttention;
}
constexpr bool IsRecurrent(LayerKind kind) { return !IsAttention(kind); }

// The gate of a gated feed-forward block: down(Activation(gate(x)) * up(x)).
enum class Activation : uint8_t {
  kSilu,      // SwiGLU, Shazeer 2020 (arXiv:2002.05202)
  kGeluTanh,  // GeGLU with the tanh approximation of GELU, Hendrycks and Gimpel 2016 (arXiv:1606.08415)
  kGeluErf,   // GeGLU with the exact, erf form
};

enum class RopeScaling : uint8_t {
  kNone,
  kLinear,  // all frequencies divided by `factor`
  kLlama3,  // low frequencies divided by `factor`, high ones kept, a ramp between (Llama 3.1 model card)
};

// Rotary position embedding, Su et al. 2021 (arXiv:2104.09864), in the half-split layout: element i of a head
// is rotated together with element i + head_dim / 2.
struct RopeSpec {
  double base = 10000.0;
  RopeScaling scaling = RopeScaling::kNone;
  double factor = 1.0;
  double low_frequency_factor = 1.0;      // kLlama3 only, as are the two below
  double high_frequency_factor = 4.0;
  double original_context = 8192.0;       // tokens the model was first trained on

  friend constexpr bool operator==(const RopeSpec&, const RopeSpec&) = default;
};

// Returns the angle, in radians per position, of rotation pair `pair` (0 <= pair < rotary_dim / 2) among the
// `rotary_dim` elements of a head that are rotated.
inline double RopeFrequency(const RopeSpec& rope, size_t pair, size_t rotary_dim) {
  const double frequency =
      std::pow(rope.base, -2.0 * static_cast<double>(pair) / static_cast<double>(rotary_dim));
  if (rope.scaling == RopeScaling::kNone) return frequency;
  if (rope.scaling == RopeScaling::kLinear) return frequency / rope.factor;
  const double wavelength = 2.0 * std::numbers::pi / frequency;
  const double low = rope.low_frequency_factor, high = rope.high_frequency_factor;
  if (wavelength > rope.original_context / low) return frequency / rope.factor;
  if (wavelength < rope.original_context / high) return frequency;
  const double smooth = (rope.original_context / wavelength - low) / (high - low);
  return (1.0 - smooth) * frequency / rope.factor + smooth * frequency;
}

// Returns `kCount` layer kinds that repeat `pattern`: RepeatLayers<26>({kSlidingAttention, kFullAttention}).
template <size_t kCount, size_t kPattern>
constexpr std::array<LayerKind, kCount> RepeatLayers(const LayerKind (&pattern)[kPattern]) {
  std::array<LayerKind, kCount> layers{};
  for (size_t i = 0; i < kCount; ++i) layers[i] = pattern[i % kPattern];
  return layers;
}

}  // namespace skald

#endif  // SKALD_CONFIGS_LAYER_H_
