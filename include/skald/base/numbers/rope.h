// SPDX-License-Identifier: Apache-2.0
//
// Rotary position embedding (RoPE): the angles of a position. Layers rotate by them. Caches store the RoPE, to rotate
// keys that move to another position.

#ifndef SKALD_BASE_NUMBERS_ROPE_H_
#define SKALD_BASE_NUMBERS_ROPE_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "skald/base/visit_unless.h"

namespace skald {

enum class RopeScaling : uint8_t {
  kNone,
  kLinear,        ///< all frequencies divided by `factor`
  kLlama3,        ///< low frequencies divided by `factor`, high ones kept, a ramp between (Llama 3.1 model card)
  kLongRope,      ///< each frequency divided by one of `factors` (LongRoPE, Ding et al. 2024, arXiv:2402.13753)
  kYarn,          ///< as kLlama3, the ramp by numbers of frequencies (YaRN, Peng et al. 2023, arXiv:2309.00071)
  kProportional,  ///< the first `turning_pairs` frequencies are kept, the others are 0 (Gemma 4)
};

/// The names in Hugging Face's config.json.
constexpr std::string_view NameOf(RopeScaling scaling) {
  switch (scaling) {
    case RopeScaling::kNone:
      return "default";
    case RopeScaling::kLinear:
      return "linear";
    case RopeScaling::kLlama3:
      return "llama3";
    case RopeScaling::kLongRope:
      return "longrope";
    case RopeScaling::kYarn:
      return "yarn";
    case RopeScaling::kProportional:
      return "proportional";
  }
  return "unknown";
}

/// Rotary position embedding, Su et al. 2021 (arXiv:2104.09864), in the half-split layout: element i of a head
/// is rotated together with element i + head_dim / 2.
struct RopeSpec {
  double base = 10000.0;                     ///< pair i of n turns by base^(-i / n) radians for each position
  RopeScaling scaling = RopeScaling::kNone;  ///< how the angles are stretched for longer contexts
  double factor = 1.0;                       ///< of that stretching
  double low_frequency_factor = 1.0;         ///< kLlama3, kYarn: turns within original_context at the ramp's ends
  double high_frequency_factor = 4.0;        ///< see low_frequency_factor
  double original_context = 8192.0;          ///< kLlama3, kLongRope, kYarn: context of the first training
  /// kLongRope, [rotary_dim / 2]. A model may also have short factors, for conversations of at most original_context
  /// tokens. A cache's token limit decides which ones it uses, see RopeFor.
  std::vector<float> factors = {};
  std::vector<float> short_factors = {};  ///< see factors
  float attention_factor = 1.0f;          ///< cosines and sines are multiplied by it
  bool whole_ramp = false;                ///< kYarn: the ramp begins and ends at integral indices of frequencies
  int turning_pairs = 0;                  ///< kProportional

  friend constexpr bool operator==(const RopeSpec&, const RopeSpec&) = default;

  /// Calls visit(name, member) for every member.
  template <class Self, class Visitor>
  static constexpr void VisitFields(Self& self, Visitor&& visit) {
    visit("base", self.base);
    visit("scaling", self.scaling);
    visit("factor", self.factor);
    visit("low_frequency_factor", self.low_frequency_factor);
    visit("high_frequency_factor", self.high_frequency_factor);
    visit("original_context", self.original_context);
    VisitUnless(std::vector<float>(), "factors", self.factors, visit);
    VisitUnless(std::vector<float>(), "short_factors", self.short_factors, visit);
    VisitUnless(1.0f, "attention_factor", self.attention_factor, visit);
    VisitUnless(false, "whole_ramp", self.whole_ramp, visit);
    VisitUnless(0, "turning_pairs", self.turning_pairs, visit);
  }
};

/// Returns a sentence about the error in a RoPE, or null if it is valid.
constexpr const char* WhyImpossible(const RopeSpec& rope) {
  if (!(rope.base > 1.0)) return "The base of kRope and kSlidingRope must be greater than 1.";
  if (rope.scaling == RopeScaling::kNone && rope.factor != 1.0) {
    return "A RopeSpec gives a factor, but no scaling, so it would be ignored.";
  }
  if (!(rope.factor >= 1.0)) return "The factor of a RopeSpec must be at least 1: scaling stretches the context.";
  if ((rope.scaling == RopeScaling::kLongRope) == rope.factors.empty()) {
    return "RopeScaling::kLongRope needs factors, and no other scaling has any.";
  }
  if (rope.scaling == RopeScaling::kLongRope && rope.factor != 1.0) {
    return "The factor of a RopeSpec would be ignored in addition to the factors of RopeScaling::kLongRope.";
  }
  if (!rope.short_factors.empty() && !(rope.original_context > 0.0)) {
    return "A RoPE with short factors needs a positive original_context: caches of no more tokens have them.";
  }
  for (const auto* factors : {&rope.factors, &rope.short_factors}) {
    for (const float factor : *factors) {
      if (!(factor > 0.0f && factor <= 1e30f)) return "The factors of a RoPE must be positive.";
    }
  }
  if (!(rope.attention_factor > 0.0f && rope.attention_factor <= 1e30f)) {
    return "The attention_factor of a RoPE must be positive.";
  }
  const bool has_ramp = rope.original_context > 0.0 && rope.low_frequency_factor > 0.0 &&
                        rope.high_frequency_factor > rope.low_frequency_factor;
  if (rope.scaling == RopeScaling::kLlama3 && !has_ramp) {
    return "RopeScaling::kLlama3 needs a positive original_context and 0 < low_frequency_factor < "
           "high_frequency_factor: the ramp lies between them.";
  }
  if (rope.scaling == RopeScaling::kYarn && !has_ramp) {
    return "RopeScaling::kYarn needs a positive original_context and 0 < low_frequency_factor < "
           "high_frequency_factor: the ramp lies between them.";
  }
  if ((rope.scaling == RopeScaling::kProportional) != (rope.turning_pairs > 0)) {
    return "RopeScaling::kProportional needs positive turning_pairs, and no other scaling has any.";
  }
  if (rope.scaling == RopeScaling::kProportional && rope.factor != 1.0) {
    return "RopeScaling::kProportional would ignore a factor.";
  }
  if (rope.scaling != RopeScaling::kYarn && rope.whole_ramp) return "whole_ramp belongs to RopeScaling::kYarn.";
  return nullptr;
}

/// Returns the RoPE of conversations that may have `max_tokens` tokens: `rope` with one list of factors. It depends on
/// the limit and never on the present length, so that a key stays valid while its conversation grows.
constexpr RopeSpec RopeFor(RopeSpec rope, uint64_t max_tokens) {
  const bool is_short = static_cast<double>(max_tokens) <= rope.original_context;
  if (is_short && !rope.short_factors.empty()) rope.factors = rope.short_factors;
  rope.short_factors.clear();
  return rope;
}

/// Returns the angle, in radians per position, of rotation pair `pair` (0 <= pair < rotary_dim / 2) among the
/// `rotary_dim` elements of a head that are rotated. Ignores short factors.
double RopeFrequency(const RopeSpec& rope, size_t pair, size_t rotary_dim);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/base/numbers/detail/rope.h"
#endif

#endif  // SKALD_BASE_NUMBERS_ROPE_H_
