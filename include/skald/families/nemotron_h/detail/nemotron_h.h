// SPDX-License-Identifier: Apache-2.0
//
// Reads what config.json and the metadata of GGUF files say of Nemotron-H models. Sources: configuration_nemotron_h.py
// and modeling_nemotron_h.py of the published checkpoints, and of version 5 of
// https://github.com/huggingface/transformers. Bounds of time steps are those of "time_step_limit" alone:
// "time_step_min" and "time_step_max" are about how training began.

#ifndef SKALD_FAMILIES_NEMOTRON_H_DETAIL_NEMOTRON_H_H_
#define SKALD_FAMILIES_NEMOTRON_H_DETAIL_NEMOTRON_H_H_

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "skald/base/json/detail/json_fields.h"
#include "skald/base/numbers/activation.h"
#include "skald/families/config/short_form.h"
#include "skald/families/nemotron_h/nemotron_h.h"
#include "skald/families/readers/detail/experts.h"
#include "skald/families/readers/detail/gguf_layers.h"
#include "skald/families/readers/detail/gguf_transformer.h"
#include "skald/families/readers/detail/mamba_fields.h"
#include "skald/families/readers/detail/model_fields.h"

namespace skald::internal {

// Returns the layers as NemotronHSizes has them: "hybrid_override_pattern" of older files, "layers_block_type" of
// newer.
inline std::string ReadNemotronHPattern(const JsonFields& fields) {
  constexpr std::pair<std::string_view, char> kTypes[] = {{"mamba", 'M'},     {"linear_attention", 'M'},
                                                          {"attention", '*'}, {"full_attention", '*'},
                                                          {"mlp", '-'},       {"moe", 'E'}};
  const nlohmann::json* const types = fields.Find("layers_block_type");
  if (types == nullptr) {
    const std::string pattern = fields.String("hybrid_override_pattern");
    const bool is_known = pattern.find_first_not_of("M*-E") == pattern.npos;
    if (!is_known) fields.Unsupported("hybrid_override_pattern", pattern, R"("M", "*", "-" and "E")");
    const bool is_count = fields.Find("num_hidden_layers") == nullptr || LayerCount(fields) == pattern.size();
    if (!is_count || pattern.empty() || pattern.size() > size_t{kMaxLayers}) {
      fields.WrongValue("hybrid_override_pattern", pattern, "a letter for each of num_hidden_layers layers");
    }
    return pattern;
  }
  std::string pattern;
  if (!types->is_array() || types->empty() || types->size() > size_t{kMaxLayers}) {
    fields.WrongValue("layers_block_type", *types, "an array of names, one for each layer");
    return pattern;
  }
  for (const nlohmann::json& type : *types) {
    const size_t before = pattern.size();
    for (const auto& [name, letter] : kTypes) {
      if (type == nlohmann::json(name)) pattern.push_back(letter);
    }
    if (pattern.size() > before) continue;
    fields.Unsupported("layers_block_type", type, R"("mamba", "attention", "mlp" and "moe")");
    break;
  }
  return pattern;
}

inline Mamba2 ReadNemotronHMamba(const JsonFields& fields) {
  fields.Expect("mamba_proj_bias", false);
  fields.Expect("use_bias", false);
  fields.Expect("use_conv_bias", true);
  fields.Expect("mamba_hidden_act", NameOf(Activation::kSilu));
  Mamba2 layer = {.heads = fields.Size("mamba_num_heads"),
                  .head_dim = fields.Size("mamba_head_dim"),
                  .state_dim = fields.Size("ssm_state_size"),
                  .groups = fields.Size("n_groups", 8),
                  .conv_width = fields.Size("conv_kernel", 4)};
  if (layer.heads % layer.groups != 0) fields.WrongValue("n_groups", layer.groups, "a divisor of mamba_num_heads");
  ReadTimeStepLimit(fields, layer);
  return layer;
}

inline MixtureOfExperts ReadNemotronHExperts(const JsonFields& fields) {
  MixtureOfExperts experts =
      ReadExperts(fields, "n_routed_experts", "num_experts_per_tok", "moe_intermediate_size", NemotronHExperts());
  experts.groups = fields.Integer("n_group", 1, experts.experts, 1);
  experts.chosen_groups = fields.Integer("topk_group", 1, experts.groups, 1);
  SetNormalized(fields.Flag("norm_topk_prob", true), experts);
  experts.weight_scale = static_cast<float>(fields.Positive("routed_scaling_factor", 1.0));
  const int shared = fields.Integer("n_shared_experts", 0, 1, 1);
  if (shared > 0) experts.shared_width = fields.Size("moe_shared_expert_intermediate_size");
  if (fields.Find("moe_latent_size") != nullptr) experts.latent_dim = fields.Size("moe_latent_size");
  return experts;
}

inline DescribedModel ReadNemotronH(const JsonFields& fields) {
  const std::string pattern = ReadNemotronHPattern(fields);
  const auto has = [&](char kind) { return pattern.find(kind) != pattern.npos; };
  fields.Expect("attention_bias", false);
  fields.Expect("mlp_bias", false);
  fields.Expect("sliding_window", nullptr);
  NemotronHSizes sizes = {.model_dim = fields.Size("hidden_size"), .vocab_size = fields.Size("vocab_size")};
  sizes.pattern = pattern;
  sizes.norm_epsilon = static_cast<float>(fields.Positive("layer_norm_epsilon", sizes.norm_epsilon));
  sizes.tied_embeddings = fields.Flag("tie_word_embeddings", sizes.tied_embeddings);
  if (has('*')) {
    sizes.heads = fields.Size("num_attention_heads");
    sizes.kv_heads = fields.Size("num_key_value_heads", sizes.heads);
    sizes.head_dim = fields.Size("head_dim", sizes.head_dim);
  }
  if (has('-') || has('E')) fields.Expect("mlp_hidden_act", NameOf(Activation::kReluSquared));
  if (has('-')) sizes.feed_forward_dim = fields.Size("intermediate_size");
  if (has('M')) sizes.mamba = ReadNemotronHMamba(fields);
  if (has('E')) sizes.experts = ReadNemotronHExperts(fields);
  return {NemotronHFamily::kModelType, NemotronHSpec(sizes)};
}

// Returns the layers that two arrays tell of, as NemotronHSizes has them: those with key and value heads attend, those
// with a width are feed-forward layers, or have experts. The last ones may be a head that predicts further tokens.
inline std::string ReadNemotronHGgufPattern(const JsonFields& fields, char feed_forward) {
  const auto layers = static_cast<size_t>(fields.Integer("block_count", 1, kMaxLayers));
  std::string pattern(layers, 'M');
  for (const auto& [name, kind] : {std::pair("attention.head_count_kv", '*'), {"feed_forward_length", feed_forward}}) {
    const nlohmann::json* const numbers = fields.Find(name);
    if (numbers == nullptr) {
      fields.Missing(name);
    } else if (!numbers->is_array() || numbers->size() != layers) {
      fields.WrongValue(name, *numbers, "an array of block_count whole numbers");
    } else {
      for (size_t i = 0; i < layers; ++i) {
        if ((*numbers)[i] != nlohmann::json(0)) pattern[i] = kind;
      }
    }
  }
  pattern.resize(static_cast<size_t>(GgufLayerCount(fields)));
  return pattern;
}

inline DescribedModel ReadNemotronHGgufWith(const JsonFields& fields, const GgufTensorFacts& facts,
                                            const MixtureOfExperts& experts) {
  const std::string pattern = ReadNemotronHGgufPattern(fields, experts.experts > 0 ? 'E' : '-');
  NemotronHSizes sizes = {.model_dim = fields.Size("embedding_length"), .vocab_size = facts.vocab_size};
  sizes.pattern = pattern;
  sizes.heads = fields.Size("attention.head_count");
  sizes.kv_heads = ReadLayersNumber(fields, "attention.head_count_kv");
  sizes.head_dim = fields.Size("attention.key_length");
  fields.Expect("attention.value_length", sizes.head_dim);
  sizes.feed_forward_dim = ReadLayersNumber(fields, "feed_forward_length");
  sizes.norm_epsilon = static_cast<float>(fields.Positive("attention.layer_norm_rms_epsilon"));
  sizes.mamba = ReadGgufMamba2(fields);
  sizes.experts = experts;
  sizes.tied_embeddings = !facts.has_head;
  return {NemotronHFamily::kModelType, NemotronHSpec(sizes)};
}

inline DescribedModel ReadNemotronHGguf(const JsonFields& fields, const GgufTensorFacts& facts) {
  return ReadNemotronHGgufWith(fields, facts, {});
}

inline DescribedModel ReadNemotronHMoeGguf(const JsonFields& fields, const GgufTensorFacts& facts) {
  MixtureOfExperts experts = ReadGgufExpertSizes(fields, NemotronHExperts());
  experts.shared_width = fields.Size("expert_shared_feed_forward_length");
  SetNormalized(fields.Flag("expert_weights_norm", false), experts);
  experts.weight_scale = static_cast<float>(fields.Positive("expert_weights_scale", 1.0));
  fields.Expect("expert_group_count", 1);  // files do not say how many of several are chosen
  if (fields.Find("moe_latent_size") != nullptr) experts.latent_dim = fields.Size("moe_latent_size");
  return ReadNemotronHGgufWith(fields, facts, experts);
}

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_NEMOTRON_H_DETAIL_NEMOTRON_H_H_
