// SPDX-License-Identifier: Apache-2.0
//
// Gemma 4: its row of the registry.

#ifndef SKALD_FAMILIES_GEMMA4_DETAIL_FAMILY_H_
#define SKALD_FAMILIES_GEMMA4_DETAIL_FAMILY_H_

#include "skald/families/gemma4/detail/gemma4.h"
#include "skald/families/gemma4/gemma4.h"
#include "skald/families/readers/detail/family_row.h"
#include "skald/families/readers/detail/gguf_facts.h"
#include "skald/layers/kinds/attention.h"
#include "skald/layers/model_spec.h"

namespace skald::internal {

inline constexpr FactRenaming kGemma4FactNames[] = {{"num_experts_per_tok", "top_k_experts"}};

inline constexpr Renaming kGemma4Names[] = {{"mlp.experts.gate_proj.weight", "experts.gate_up_proj"},
                                            {"mlp.experts.up_proj.weight", "experts.gate_up_proj"},
                                            {"mlp.experts.down_proj.weight", "experts.down_proj"},
                                            {"mlp.gate.weight", "router.proj.weight"},
                                            {"mlp.gate.", "router."}};

inline constexpr Renaming kGemma4GgufNames[] = {{"embed_tokens_per_layer.", "per_layer_token_embd."},
                                                {"per_layer_model_projection.", "per_layer_model_proj."},
                                                {"per_layer_projection_norm.", "per_layer_proj_norm."},
                                                {"per_layer_input_gate.", "inp_gate."},
                                                {"per_layer_projection.", "proj."},
                                                {"post_per_layer_input_norm.", "post_norm."},
                                                {"layer_scalar", "layer_output_scale.weight"},
                                                {"pre_feedforward_layernorm_2.", "pre_ffw_norm_2."},
                                                {"post_feedforward_layernorm_1.", "post_ffw_norm_1."},
                                                {"post_feedforward_layernorm_2.", "post_ffw_norm_2."},
                                                {"mlp.experts.gate_proj.", "ffn_gate_up_exps."},
                                                {"mlp.experts.up_proj.", "ffn_gate_up_exps."}};

inline constexpr PassedFields kGemma4PassedJson[] = {
    {"of mixtures of experts, and read where enable_moe_block says that there are some", "",
     "num_experts top_k_experts moe_intermediate_size expert_intermediate_size"},
    {"of inputs for each layer, and read where hidden_size_per_layer_input says that there are some", "",
     "vocab_size_per_layer_input"}};

inline constexpr PassedFields kGemma4PassedGguf[] = {
    {"of experts, and read where expert_count says that there are some", "",
     "expert_used_count expert_feed_forward_length"},
    {"the softmax of the chosen experts, as in all published models", "", "expert_weights_norm", true},
    {"experts are chosen by a softmax", "", "expert_gating_func", 1.0}};

inline constexpr ModelType kGemma4Types[] = {
    {.name = Gemma4Family::kModelType, .read = ReadOne<ReadGemma4>, .outer = "gemma4", .fact_names = kGemma4FactNames}};

// llama.cpp also asks a model without inputs for each layer how wide these are.
inline void TellGemma4(const ModelSpec& spec, nlohmann::json& fields) {
  if (!fields.contains("embedding_length_per_layer_input")) fields["embedding_length_per_layer_input"] = 0;
  const auto* const sliding = FindLayer<Attention>(spec, [](const Attention& one) { return one.window > 0; });
  if (sliding == nullptr) return;
  for (const char* const name :
       {"attention.key_length_swa", "attention.value_length_swa", "rope.dimension_count_swa"}) {
    fields[name] = sliding->head_dim;
  }
}

inline constexpr GgufArchitecture kGemma4Architectures[] = {
    {.name = "gemma4", .read = ReadOneGguf<ReadGemma4Gguf>, .is_written = true, .tell = TellGemma4}};

struct Gemma4Row {
  static constexpr FamilyRow kRow = {.name = "Gemma 4 (text)",
                                     .special =
                                         "layers that share keys and values, inputs of each layer from the embeddings, "
                                         "heads of two sizes, keys used as values, proportional RoPE",
                                     .model_types = kGemma4Types,
                                     .architectures = kGemma4Architectures,
                                     .names = kGemma4Names,
                                     .gguf_names = kGemma4GgufNames,
                                     .passed_json = kGemma4PassedJson,
                                     .passed_gguf = kGemma4PassedGguf};
  using Published = ConfigTypes<Gemma4_E2B, Gemma4_E4B, Gemma4_26B_A4B, Gemma4_31B>;
};

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_GEMMA4_DETAIL_FAMILY_H_
