// SPDX-License-Identifier: Apache-2.0
//
// Phi-3.5-MoE: its row of the registry.

#ifndef SKALD_FAMILIES_PHI_MOE_DETAIL_FAMILY_H_
#define SKALD_FAMILIES_PHI_MOE_DETAIL_FAMILY_H_

#include <optional>
#include <vector>

#include "skald/families/config/model_config.h"
#include "skald/families/phi_moe/phi_moe.h"
#include "skald/families/readers/detail/config_json_transformer.h"
#include "skald/families/readers/detail/experts.h"
#include "skald/families/readers/detail/family_row.h"
#include "skald/families/readers/detail/gguf_transformer.h"
#include "skald/layers/kinds/mixture_of_experts.h"
#include "skald/layers/model_spec.h"

namespace skald::internal {

inline FamilyRules PhiMoeRules() {
  return {.implied = ShortFormOf<PhiMoeFamily>(),
          .layers = LayerRule::kAllIfGiven,
          .reads_attention_bias = true,
          .experts = ExpertRule::kEveryLayer,
          .gguf_rms_epsilon = true};
}

// The mixer chooses two experts, one after the other.
inline constexpr int kMixedExperts = 2;

// Of scores that come in twos, a router's noise in training says how near they must be to weigh against each other.
inline void MixExperts(double noise, ShortForm& a) {
  ChangeExperts(a, [noise](MixtureOfExperts& experts) { experts.mixer_reach = static_cast<float>(2.0 * noise); });
}

// LongRoPE has factors of cosines and sines of its own, one for each list of factors, which are equal.
inline void ReadPhiMoeScales(const JsonFields& fields, ShortForm& a) {
  std::optional<JsonFields> rope = fields.Object("rope_scaling");
  if (!rope) rope = fields.Object("rope_parameters");
  if (!rope || a.rope.scaling != RopeScaling::kLongRope) return;
  const double scale = rope->Positive("long_mscale");
  rope->Expect("short_mscale", scale);
  a.rope.attention_factor = static_cast<float>(scale);
}

inline TextModel ReadPhiMoe(const JsonFields& fields) {
  fields.Expect("num_experts_per_tok", kMixedExperts);
  ShortForm a = ReadTransformer(fields, PhiMoeRules());
  MixExperts(fields.Positive("router_jitter_noise", 0.01), a);
  ReadPhiMoeScales(fields, a);
  a.head_bias = fields.Flag("lm_head_bias", false);
  return a;
}

// llama.cpp normalises by RMSNorm and weighs experts by a softmax, other than the model was trained. Files have the
// scale of Phi-3's LongRoPE instead of the published one.
inline std::vector<DescribedModel> ReadPhiMoeGguf(const JsonFields& fields, const GgufTensorFacts& facts) {
  fields.Expect("expert_used_count", kMixedExperts);
  ShortForm a = ReadGgufModel(fields, PhiMoeRules(), facts);
  MixExperts(0.01, a);
  if (a.rope.scaling == RopeScaling::kLongRope) a.rope.attention_factor = 1.243163121016122f;
  a.qkv_bias = a.attention_output_bias = a.head_bias = true;
  return {{a.model_type, Expand(a)}};
}

inline constexpr PassedFields kPhiMoePassedJson[] = {{"how the model is trained", "", "input_jitter_noise"}};

inline constexpr ModelType kPhiMoeTypes[] = {{.name = PhiMoeFamily::kModelType, .read = ReadPhiMoe}};

inline void TellPhiMoe(const ModelSpec& /*spec*/, nlohmann::json& fields) {
  fields["attention.layer_norm_rms_epsilon"] = fields["attention.layer_norm_epsilon"];
  fields.erase("expert_feed_forward_length");
  fields.erase("rope.scaling.attn_factor");
}

inline constexpr GgufArchitecture kPhiMoeArchitectures[] = {
    {.name = "phimoe", .read = ReadPhiMoeGguf, .is_written = true, .tell = TellPhiMoe}};

struct PhiMoeRow {
  static constexpr FamilyRow kRow = {.name = "Phi-3.5-MoE",
                                     .special = "LayerNorm, biases, experts weighed against their neighbours",
                                     .model_types = kPhiMoeTypes,
                                     .architectures = kPhiMoeArchitectures,
                                     .passed_json = kPhiMoePassedJson};
  using Published = ConfigTypes<>;
};

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_PHI_MOE_DETAIL_FAMILY_H_
