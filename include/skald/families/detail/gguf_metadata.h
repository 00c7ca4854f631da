// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/families/gguf_metadata.h.

#ifndef SKALD_FAMILIES_DETAIL_GGUF_METADATA_H_
#define SKALD_FAMILIES_DETAIL_GGUF_METADATA_H_

#include "skald/families/gguf_metadata.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <utility>

#include "skald/base/inline.h"
#include "skald/base/json/json_tree.h"
#include "skald/base/no_throw.h"
#include "skald/base/text/message.h"
#include "skald/families/detail/find_family.h"
#include "skald/families/detail/parse_gguf.h"
#include "skald/families/detail/registry.h"
#include "skald/families/readers/detail/change_layers.h"
#include "skald/families/readers/detail/family_row.h"
#include "skald/families/readers/detail/model_fields.h"
#include "skald/layers/kinds/attention.h"
#include "skald/layers/kinds/feed_forward.h"
#include "skald/layers/kinds/gated_feed_forward.h"
#include "skald/layers/kinds/mixture_of_experts.h"
#include "skald/layers/norms/layer_norm.h"
#include "skald/layers/norms/rms_norm.h"
#include "skald/weights/writing/mixture.h"

namespace skald {

namespace internal {

// Returns the first layer of a kind for which `is_right` holds, or null.
template <class Kind, class IsRight>
const Kind* FindLayer(const ModelSpec& spec, IsRight is_right) {
  for (const Block& block : spec.blocks) {
    for (const LayerSpec& layer : block.layers) {
      const Kind* const found = layer.As<Kind>();
      if (found != nullptr && is_right(*found)) return found;
    }
  }
  return nullptr;
}
template <class Kind>
const Kind* FindLayer(const ModelSpec& spec) {
  return FindLayer<Kind>(spec, [](const Kind&) { return true; });
}

// As the file will have it.
inline double Rounded(double value) { return static_cast<float>(value); }

// Writes how frequencies of RoPE are scaled; returns the divisors of the scaling of Llama 3, which is not named.
inline std::vector<float> WriteRope(const RopeSpec& rope, int rotary_dim, nlohmann::json& fields) {
  fields["rope.freq_base"] = Rounded(rope.base);
  if (rope.scaling == RopeScaling::kLinear) {
    fields["rope.scaling.type"] = "linear";
    fields["rope.scaling.factor"] = Rounded(rope.factor);
  }
  if (rope.scaling == RopeScaling::kYarn) {
    fields["rope.scaling.type"] = "yarn";
    fields["rope.scaling.factor"] = Rounded(rope.factor);
    fields["rope.scaling.original_context_length"] = static_cast<uint32_t>(rope.original_context);
    fields["rope.scaling.yarn_beta_fast"] = Rounded(rope.high_frequency_factor);
    fields["rope.scaling.yarn_beta_slow"] = Rounded(rope.low_frequency_factor);
    const double factor = rope.attention_factor / YarnAttentionFactor(rope.factor);
    if (std::abs(factor - 1.0) > 1e-6) fields["rope.scaling.attn_factor"] = Rounded(factor);
  }
  std::vector<float> divisors;
  const auto pairs = static_cast<size_t>(rotary_dim) / 2;
  for (size_t i = 0; rope.scaling == RopeScaling::kLlama3 && i < pairs; ++i) {
    const double plain = RopeFrequency({.base = rope.base}, i, 2 * pairs);
    divisors.push_back(static_cast<float>(plain / RopeFrequency(rope, i, 2 * pairs)));
  }
  return divisors;
}

inline void WriteExperts(const MixtureOfExperts& experts, nlohmann::json& fields) {
  fields["expert_count"] = experts.experts;
  fields["expert_used_count"] = experts.chosen;
  fields["expert_feed_forward_length"] = experts.width;
  if (!fields.contains("feed_forward_length")) fields["feed_forward_length"] = experts.width;
  if (experts.shared_width > 0) fields["expert_shared_feed_forward_length"] = experts.shared_width;
  if (experts.weight_scale != 1.0f) fields["expert_weights_scale"] = experts.weight_scale;
}

// Writes the facts that all transformers have. Returns nothing for a model without attention.
inline std::optional<std::vector<float>> WriteFacts(const ModelSpec& spec, uint32_t context, nlohmann::json& fields) {
  const auto* attention = FindLayer<Attention>(spec, [](const Attention& one) { return one.rotary_dim > 0; });
  if (attention == nullptr) attention = FindLayer<Attention>(spec);
  if (attention == nullptr) return std::nullopt;
  const auto* const full =
      FindLayer<Attention>(spec, [](const Attention& one) { return one.rotary_dim > 0 && one.window == 0; });
  const auto* const sliding = FindLayer<Attention>(spec, [](const Attention& one) { return one.window > 0; });
  if (full != nullptr) attention = full;
  fields["block_count"] = NumLayers(spec);
  fields["context_length"] = context;
  fields["embedding_length"] = spec.model_dim;
  fields["vocab_size"] = spec.vocab_size;
  fields["attention.head_count"] = attention->heads;
  fields["attention.head_count_kv"] = attention->kv_heads;
  fields["attention.key_length"] = attention->head_dim;
  fields["attention.value_length"] = attention->head_dim;
  if (attention->rotary_dim > 0) fields["rope.dimension_count"] = attention->rotary_dim;
  if (sliding != nullptr) fields["attention.sliding_window"] = sliding->window;
  fields["attention.scale"] = Rounded(1.0 / std::sqrt(attention->query_pre_scale));
  if (attention->softcap > 0.0f) fields["attn_logit_softcapping"] = attention->softcap;
  if (spec.final_softcap > 0.0f) fields["final_logit_softcapping"] = spec.final_softcap;
  if (spec.embedding_multiplier != 1.0f) fields["embedding_scale"] = spec.embedding_multiplier;
  if (spec.logits_scaling != 1.0f) fields["logit_scale"] = spec.logits_scaling;
  if (attention->query_growth > 0.0f) fields["attention.temperature_scale"] = attention->query_growth;
  const float residual = spec.blocks.front().residual_multiplier;
  if (residual != 1.0f) fields["residual_scale"] = residual;
  if (const auto* const norm = spec.final_norm.As<RmsNorm>()) {
    fields["attention.layer_norm_rms_epsilon"] = norm->epsilon;
  }
  if (const auto* const norm = spec.final_norm.As<LayerNorm>()) fields["attention.layer_norm_epsilon"] = norm->epsilon;
  if (const auto* const gated = FindLayer<GatedFeedForward>(spec)) fields["feed_forward_length"] = gated->width;
  if (const auto* const plain = FindLayer<FeedForward>(spec)) fields["feed_forward_length"] = plain->width;
  if (const auto* const experts = FindLayer<MixtureOfExperts>(spec)) WriteExperts(*experts, fields);
  if (attention->rotary_dim == 0) return std::vector<float>();
  return WriteRope(attention->rope, attention->rotary_dim, fields);
}

// Which layers have a window, and the base of their RoPE: files of some architectures say so, of others they must not.
inline void WriteWindows(const ModelSpec& spec, bool pattern, bool base, nlohmann::json& fields) {
  nlohmann::json slides = nlohmann::json::array();
  for (const Block& block : spec.blocks) {
    for (const LayerSpec& layer : block.layers) {
      const auto* const attention = layer.As<Attention>();
      if (attention == nullptr) continue;
      slides.push_back(attention->window > 0);
      if (base && attention->window > 0) fields["rope.freq_base_swa"] = Rounded(attention->rope.base);
    }
  }
  if (pattern) fields["attention.sliding_window_pattern"] = slides;
}

// Returns the facts that a file's tensors will tell its reader.
inline GgufTensorFacts FactsForGguf(const ModelSpec& spec, const std::vector<float>& divisors) {
  GgufTensorFacts facts{.vocab_size = spec.vocab_size, .has_head = !spec.tied_embeddings, .rope_divisors = divisors};
  facts.has_feed_forward_bias = FindLayer<GatedFeedForward>(spec, [](const auto& layer) { return layer.bias; });
  for (const Block& block : spec.blocks) {
    for (const LayerSpec& layer : block.layers) {
      const auto* const attention = layer.As<Attention>();
      if (attention == nullptr) continue;
      facts.value_projections += attention->keys_as_values ? 0 : 1;
      facts.has_query_bias |= attention->qkv_bias;
      facts.has_output_bias |= attention->output_bias;
      facts.has_query_norm |= attention->head_norm || attention->projection_norm;
    }
    const std::string norm = kCommonGguf.SpellingsOf(Concat({std::string_view(block.norm_name), "."})).front().name;
    facts.has_second_attention_norm |= block.norm && norm == "attn_norm_2.";
    facts.has_feed_forward_norm |= block.norm && norm == "ffn_norm.";
  }
  return facts;
}

inline GgufEntry EntryOf(const std::string& name, const nlohmann::json& value) {
  if (value.is_string()) return GgufText(name, value.get_ref<const std::string&>());
  if (value.is_boolean()) return GgufTruth(name, value.get<bool>());
  if (value.is_number_float()) return GgufNumber(name, value.get<float>());
  if (value.is_number()) return GgufNumber(name, value.get<uint32_t>());
  std::vector<uint8_t> truths;
  for (const nlohmann::json& one : value) truths.push_back(one.get<bool>() ? 1 : 0);
  return GgufTruths(name, truths);
}

// Returns why the metadata do not describe this very model, or nothing if they do.
inline std::optional<std::string> WhyNotDescribed(const nlohmann::json& metadata, const GgufTensorFacts& facts,
                                                  const ModelSpec& spec) {
  const auto models = ParseConfigGguf(metadata, facts);
  if (!models) return models.error().message;
  ModelSpec expected = spec;
  ChangeLayers<Attention>(expected, [](Attention& one) { one.rope.base = Rounded(one.rope.base); });
  if (models->front().spec == expected) return std::nullopt;  // the likeliest is what a file without a Config is
  return "they would be read as another model";
}

// Those of the family that are written, and those of others that are written for it.
inline std::vector<const GgufArchitecture*> ArchitecturesFor(const FamilyRow* family, std::string_view model_type) {
  std::vector<const GgufArchitecture*> found;
  for (const FamilyRow& row : kFamilies) {
    for (const GgufArchitecture& architecture : row.architectures) {
      const auto& others = architecture.written_for;
      const bool is_for = &row == family || std::ranges::find(others, model_type) != others.end();
      if (architecture.is_written && is_for) found.push_back(&architecture);
    }
  }
  return found;
}

inline GgufDescription DescriptionOf(const nlohmann::json& metadata, const GgufArchitecture& architecture,
                                     std::vector<float> divisors) {
  const TensorNames& common = architecture.has_rope_pairs ? kGgufInPairs : kCommonGguf;
  GgufDescription description{std::string(architecture.name), {}, {}, common, {}};
  std::vector<Renaming>& renamings = description.renamings;
  renamings.assign(architecture.written_names.begin(), architecture.written_names.end());
  renamings.insert(renamings.end(), common.renamings.begin(), common.renamings.end());
  description.names.renamings = renamings;
  for (const auto& [name, value] : metadata.items()) description.entries.push_back(EntryOf(name, value));
  if (divisors.empty()) return description;
  const auto values = std::make_shared<const std::vector<float>>(std::move(divisors));
  description.tensors.push_back(
      {kRopeDivisors, {values->size()}, FindGgufTypeByName("F32"), [values](uint64_t, std::span<float> to) {
         std::ranges::copy(*values, to.begin());
       }});
  return description;
}

// Tries what files of an architecture may say of windows. Returns what describes the model, or why nothing does.
inline Result<GgufDescription> DescribeAs(const GgufArchitecture& architecture, const nlohmann::json& fields,
                                          const std::vector<float>& divisors, const ModelSpec& spec) {
  std::string why;
  for (const bool base : {false, true}) {
    for (const bool pattern : {false, true}) {
      nlohmann::json metadata = {{"general.architecture", architecture.name}}, all = fields;
      const JsonGuard guards[] = {JsonGuard(metadata), JsonGuard(all)};
      if (!architecture.has_scale) all.erase("attention.scale");
      WriteWindows(spec, pattern, base, all);
      if (architecture.tell != nullptr) architecture.tell(spec, all);
      for (const auto& [name, value] : all.items()) metadata[Concat({architecture.name, ".", name})] = value;
      const auto wrong = WhyNotDescribed(metadata, FactsForGguf(spec, divisors), spec);
      if (!wrong) return DescriptionOf(metadata, architecture, divisors);
      if (why.empty()) why = *wrong;
    }
  }
  return Fail(ErrorCode::kUnsupported, Concat({"as ", architecture.name, ": ", why}));
}

}  // namespace internal

SKALD_INLINE Result<GgufDescription> DescribeForGguf(const ModelSpec& spec, std::string_view model_type,
                                                     uint32_t context) {
  return NoThrow("the metadata", [&]() -> Result<GgufDescription> {
    nlohmann::json fields = nlohmann::json::object();
    const internal::JsonGuard guard(fields);
    const auto divisors = internal::WriteFacts(spec, context, fields);
    const internal::FamilyRow* const family = internal::FamilyOfModelType(model_type);
    std::string why = divisors ? "no architecture is written for them" : "it has no attention";
    for (const internal::GgufArchitecture* const architecture : internal::ArchitecturesFor(family, model_type)) {
      if (!divisors) break;
      auto described = internal::DescribeAs(*architecture, fields, *divisors, spec);
      if (described) return described;
      why = described.error().message;
    }
    return Fail(ErrorCode::kUnsupported,
                Concat({"models like this one (", model_type, ") cannot be written as GGUF files yet: ", why}));
  });
}

}  // namespace skald

#endif  // SKALD_FAMILIES_DETAIL_GGUF_METADATA_H_
