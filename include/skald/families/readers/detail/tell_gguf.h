// SPDX-License-Identifier: Apache-2.0
//
// Values that GGUF files of some architectures have besides those of every model (GgufArchitecture::tell).

#ifndef SKALD_FAMILIES_READERS_DETAIL_TELL_GGUF_H_
#define SKALD_FAMILIES_READERS_DETAIL_TELL_GGUF_H_

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "skald/layers/kinds/mixture_of_experts.h"
#include "skald/layers/model_spec.h"
#include "skald/weights/files/tensor_names.h"

namespace skald::internal {

// Tensors of queries, keys and values in one, where llama.cpp reads no others.
inline constexpr Renaming kJoinedGgufNames[] = {
    {"self_attn.q_proj.", "attn_qkv."}, {"self_attn.k_proj.", "attn_qkv."}, {"self_attn.v_proj.", "attn_qkv."}};

// Norms of the stream after layers, as llama.cpp calls them in encoders.
inline constexpr Renaming kEncoderGgufNames[] = {{"post_attention_layernorm.", "attn_output_norm."},
                                                 {"second_attention_layernorm.", "attn_norm_2."},
                                                 {"post_feedforward_layernorm.", "layer_output_norm."}};

// Returns the numbers of the layers with experts, at least one, and the experts of the first.
struct ExpertLayers {
  std::vector<uint32_t> numbers;
  MixtureOfExperts experts;

  explicit ExpertLayers(const ModelSpec& spec) {
    for (const Block& block : spec.blocks) {
      for (const LayerSpec& layer : block.layers) {
        const auto* const found = layer.As<MixtureOfExperts>();
        if (found == nullptr) continue;
        if (numbers.empty()) experts = *found;
        numbers.push_back(block.number);
      }
    }
  }

  uint32_t first() const { return numbers.empty() ? 0 : numbers.front(); }
  uint32_t step() const { return numbers.size() < 2 ? 1 : numbers[1] - numbers[0]; }
  int shared() const { return experts.width == 0 ? 0 : experts.shared_width / experts.width; }
};

// How scores of experts become weights.
inline void TellGating(const ModelSpec& spec, nlohmann::json& fields) {
  constexpr int kSoftmax = 1, kSigmoid = 2;
  fields["expert_gating_func"] = ExpertLayers(spec).experts.sigmoid ? kSigmoid : kSoftmax;
}

// Experts of the lineage of DeepSeek-V3, whatever their scores become: they follow dense layers, if there are any.
inline void TellLaterExperts(const ModelSpec& spec, nlohmann::json& fields) {
  const ExpertLayers layers(spec);
  TellGating(spec, fields);
  fields["expert_weights_norm"] = layers.experts.normalized;
  fields["expert_shared_count"] = layers.shared();
  fields["leading_dense_block_count"] = layers.first();
  fields.erase("expert_shared_feed_forward_length");
  if (layers.experts.groups == 1) return;
  fields["expert_group_count"] = layers.experts.groups;
  fields["expert_group_used_count"] = layers.experts.chosen_groups;
}

// The same where files also have the width of the shared expert.
inline void TellLaterExpertsBeside(const ModelSpec& spec, nlohmann::json& fields) {
  const auto shared = fields.find("expert_shared_feed_forward_length");
  const nlohmann::json width = shared == fields.end() ? nlohmann::json() : *shared;
  TellLaterExperts(spec, fields);
  if (!width.is_null()) fields["expert_shared_feed_forward_length"] = width;
}

// Whether layers read what the one before them has read.
inline void TellParallelResidual(const ModelSpec& spec, nlohmann::json& fields) {
  fields["use_parallel_residual"] = std::ranges::any_of(
      spec.blocks, [](const Block& block) { return block.layers.size() > 1 || block.beside_previous; });
}

// Encoders have as many heads of keys as of queries, and these fill the width; a text is as long as there are
// positions.
inline void TellEncoder(const ModelSpec& spec, nlohmann::json& fields) {
  for (const char* const name : {"attention.head_count_kv", "attention.key_length", "attention.value_length"}) {
    fields.erase(name);
  }
  if (spec.positions > 0) fields["context_length"] = spec.positions;
}

// Logits are multiplied by this value, not divided as Granite's.
inline void TellLogitScale(const ModelSpec& spec, nlohmann::json& fields) {
  fields["logit_scale"] = static_cast<float>(1.0 / double{spec.logits_scaling});
  fields["rope.scaling.type"] = "none";
}

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_READERS_DETAIL_TELL_GGUF_H_
