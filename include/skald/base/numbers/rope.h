// SPDX-License-Identifier: Apache-2.0
//
// Rotary position embedding (RoPE): how a position turns into angles. Layers rotate by it, and caches remember it, to
// turn keys that move to another position.

#ifndef SKALD_BASE_NUMBERS_ROPE_H_
#define SKALD_BASE_NUMBERS_ROPE_H_

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <string_view>

namespace skald {

enum class RopeScaling : uint8_t {
  kNone,
  kLinear,  // all frequencies divided by `factor`
  kLlama3,  // low frequencies divided by `factor`, high ones kept, a ramp between (Llama 3.1 model card)
};

// The names that Hugging Face's config.json uses.
constexpr std::string_view NameOf(RopeScaling scaling) {
  switch (scaling) {
    case RopeScaling::kNone:
      return "default";
    case RopeScaling::kLinear:
      return "linear";
    case RopeScaling::kLlama3:
      return "llama3";
  }
  return "unknown";
}

// Rotary position embedding, Su et al. 2021 (arXiv:2104.09864), in the half-split layout: element i of a head
// is rotated together with element i + head_dim / 2.
struct RopeSpec {
  double base = 10000.0;
  RopeScaling scaling = RopeScaling::kNone;
  double factor = 1.0;
  double low_frequency_factor = 1.0;  // kLlama3 only, as are the two below
  double high_frequency_factor = 4.0;
  double original_context = 8192.0;  // tokens the model was first trained on

  friend constexpr bool operator==(const RopeSpec&, const RopeSpec&) = default;

  // Calls visit(name, member) for every member.
  template <class Self, class Visitor>
  static constexpr void VisitFields(Self& self, Visitor&& visit) {
    visit("base", self.base);
    visit("scaling", self.scaling);
    visit("factor", self.factor);
    visit("low_frequency_factor", self.low_frequency_factor);
    visit("high_frequency_factor", self.high_frequency_factor);
    visit("original_context", self.original_context);
  }
};

// Returns what is wrong with a RoPE, in a sentence, or null.
constexpr const char* WhyImpossible(const RopeSpec& rope) {
  if (!(rope.base > 1.0)) return "The base of kRope and kSlidingRope must be greater than 1.";
  if (rope.scaling == RopeScaling::kNone && rope.factor != 1.0) {
    return "A RopeSpec gives a factor, but no scaling, so it would be ignored.";
  }
  if (!(rope.factor >= 1.0)) return "The factor of a RopeSpec must be at least 1: scaling stretches the context.";
  const bool has_ramp = rope.original_context > 0.0 && rope.low_frequency_factor > 0.0 &&
                        rope.high_frequency_factor > rope.low_frequency_factor;
  if (rope.scaling == RopeScaling::kLlama3 && !has_ramp) {
    return "RopeScaling::kLlama3 needs a positive original_context and 0 < low_frequency_factor < "
           "high_frequency_factor: the ramp lies between them.";
  }
  return nullptr;
}

// Returns the angle, in radians per position, of rotation pair `pair` (0 <= pair < rotary_dim / 2) among the
// `rotary_dim` elements of a head that are rotated.
inline double RopeFrequency(const RopeSpec& rope, size_t pair, size_t rotary_dim) {
  const double frequency = std::pow(rope.base, -2.0 * static_cast<double>(pair) / static_cast<double>(rotary_dim));
  if (rope.scaling == RopeScaling::kNone) return frequency;
  if (rope.scaling == RopeScaling::kLinear) return frequency / rope.factor;
  const double wavelength = 2.0 * std::numbers::pi / frequency;
  const double low = rope.low_frequency_factor, high = rope.high_frequency_factor;
  if (wavelength > rope.original_context / low) return frequency / rope.factor;
  if (wavelength < rope.original_context / high) return frequency;
  const double smooth = (rope.original_context / wavelength - low) / (high - low);
  return (1.0 - smooth) * frequency / rope.factor + smooth * frequency;
}

}  // namespace skald

#endif  // SKALD_BASE_NUMBERS_ROPE_H_
