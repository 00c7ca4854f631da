// SPDX-License-Identifier: Apache-2.0
//
// Reads the rotary position embedding that the metadata and tensors of a GGUF file describe.

#ifndef SKALD_FAMILIES_READERS_DETAIL_GGUF_ROPE_H_
#define SKALD_FAMILIES_READERS_DETAIL_GGUF_ROPE_H_

#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "skald/base/json/detail/json_fields.h"
#include "skald/base/numbers/rope.h"
#include "skald/families/readers/detail/model_fields.h"

namespace skald::internal {

// Returns whether the frequencies of `rope` are those without scaling, divided by `divisors`. Files hold these as
// float32, computed in float32.
inline bool HasDivisors(const RopeSpec& rope, std::span<const float> divisors, size_t rotary_dim) {
  constexpr double kTolerance = 1e-3;
  if (divisors.size() != rotary_dim / 2) return false;
  for (size_t pair = 0; pair < divisors.size(); ++pair) {
    const double divided = RopeFrequency({.base = rope.base}, pair, rotary_dim) / double{divisors[pair]};
    if (!(std::abs(divided / RopeFrequency(rope, pair, rotary_dim) - 1.0) <= kTolerance)) return false;
  }
  return true;
}

// Returns the Llama 3 scaling that `divisors` come from. Of its parameters the file only keeps the largest divisor,
// which is the factor. All published models have the same ramp, between factors 1 and 4; the context that it refers to
// is found by trying.
inline std::optional<RopeSpec> ScalingFromDivisors(double base, std::span<const float> divisors, size_t rotary_dim) {
  if (divisors.empty()) return std::nullopt;
  RopeSpec rope = {.base = base, .scaling = RopeScaling::kLlama3, .factor = divisors.back()};
  for (rope.original_context = 1; rope.original_context <= 1 << 24; rope.original_context *= 2) {
    if (HasDivisors(rope, divisors, rotary_dim)) return rope;
  }
  return std::nullopt;
}

// Reads a YaRN. llama.cpp multiplies cosines and sines by what the paper says, and by the file's factor.
inline void ReadGgufYarn(const JsonFields& fields, RopeSpec& rope) {
  rope.scaling = RopeScaling::kYarn;
  rope.factor = fields.Positive("rope.scaling.factor");
  rope.original_context = fields.Size("rope.scaling.original_context_length");
  rope.high_frequency_factor = fields.Positive("rope.scaling.yarn_beta_fast", 32.0);
  rope.low_frequency_factor = fields.Positive("rope.scaling.yarn_beta_slow", 1.0);
  const double attention_factor = fields.Positive("rope.scaling.attn_factor", 1.0);
  rope.attention_factor = static_cast<float>(attention_factor * YarnAttentionFactor(rope.factor));
}

// Refuses to scale frequencies twice.
inline void RefuseRopeDivisors(const JsonFields& fields, const GgufTensorFacts& facts) {
  if (facts.rope_divisors.empty()) return;
  fields.Unsupported("rope.scaling.type", "a scaling beside that by rope_freqs.weight", "one of the two");
}

// Reads how frequencies are scaled, by the files' tensors too.
inline RopeSpec ReadGgufRope(const JsonFields& fields, const GgufTensorFacts& facts, size_t rotary_dim) {
  for (const char* const tensor : {kRopeDivisors, kLongRopeDivisors, kShortRopeDivisors}) (void)fields.Find(tensor);
  RopeSpec rope = {.base = fields.Positive("rope.freq_base", 10000.0)};
  const double factor = fields.Positive("rope.scaling.factor", fields.Positive("rope.scale_linear", 1.0));
  const std::string type = fields.String("rope.scaling.type", "linear");
  if (!facts.long_rope_divisors.empty() || !facts.short_rope_divisors.empty()) {
    rope.scaling = RopeScaling::kLongRope;
    rope.factors = facts.long_rope_divisors;
    rope.short_factors = facts.short_rope_divisors;
    rope.original_context = fields.Size("rope.scaling.original_context_length");
    rope.attention_factor = static_cast<float>(fields.Positive("rope.scaling.attn_factor", 1.0));
    for (const auto& [name, factors] :
         {std::pair(kLongRopeDivisors, &rope.factors), std::pair(kShortRopeDivisors, &rope.short_factors)}) {
      if (factors->size() == rotary_dim / 2) continue;
      fields.WrongValue(name, factors->size(),
                        std::to_string(rotary_dim / 2) + " numbers, half of rope.dimension_count");
    }
    return rope;
  }
  if (type == NameOf(RopeScaling::kYarn)) {
    ReadGgufYarn(fields, rope);
    RefuseRopeDivisors(fields, facts);
    rope.whole_ramp = true;
    return rope;
  }
  if (type != "linear" && type != "none") {
    fields.Unsupported("rope.scaling.type", type, R"("linear", "yarn" and "none")");
  }
  fields.Expect("rope.scaling.attn_factor", 1.0);
  if (type == "linear" && factor != 1.0) {
    rope.scaling = RopeScaling::kLinear;
    rope.factor = factor;
    RefuseRopeDivisors(fields, facts);
    return rope;
  }
  if (facts.rope_divisors.empty()) return rope;
  const auto scaled = ScalingFromDivisors(rope.base, facts.rope_divisors, rotary_dim);
  if (!scaled) fields.Unsupported("rope", "scaled by rope_freqs.weight", "the scaling of Llama 3");
  return scaled.value_or(rope);
}

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_READERS_DETAIL_GGUF_ROPE_H_
