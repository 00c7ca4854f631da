// SPDX-License-Identifier: Apache-2.0
//
// Granite 4: its row of the registry.

#ifndef SKALD_FAMILIES_GRANITE4_DETAIL_FAMILY_H_
#define SKALD_FAMILIES_GRANITE4_DETAIL_FAMILY_H_

#include "skald/families/granite4/detail/granite4.h"
#include "skald/families/granite4/granite4.h"
#include "skald/families/readers/detail/change_draft.h"
#include "skald/families/readers/detail/family_row.h"
#include "skald/families/readers/detail/gguf_facts.h"
#include "skald/layers/kinds/attention.h"
#include "skald/layers/kinds/gated_feed_forward.h"
#include "skald/layers/kinds/mixture_of_experts.h"
#include "skald/layers/model_spec.h"
#include "skald/weights/writing/gguf_draft.h"

namespace skald::internal {

inline constexpr FactRenaming kGranite4FactNames[] = {{"query_pre_attn_scalar", "1 / attention_multiplier^2"},
                                                      {"num_experts", "num_local_experts"},
                                                      {"moe_intermediate_size", "intermediate_size"},
                                                      {"intermediate_size", "shared_intermediate_size"},
                                                      {"num_heads", "mamba_n_heads"},
                                                      {"expand * hidden_size", "mamba_expand * hidden_size"},
                                                      {"state_size", "mamba_d_state"},
                                                      {"n_groups", "mamba_n_groups"},
                                                      {"conv_kernel", "mamba_d_conv"}};

inline constexpr Renaming kGranite4Names[] = {{"mlp.gate_proj.", "shared_mlp.input_linear."},
                                              {"mlp.up_proj.", "shared_mlp.input_linear."},
                                              {"mlp.down_proj.", "shared_mlp.output_linear."},
                                              {"mlp.experts.gate_proj.", "block_sparse_moe.input_linear."},
                                              {"mlp.experts.up_proj.", "block_sparse_moe.input_linear."},
                                              {"mlp.experts.down_proj.", "block_sparse_moe.output_linear."},
                                              {"mlp.gate.", "block_sparse_moe.router.layer."},
                                              {"mixer.", "mamba."}};

// Beside experts.
inline constexpr Renaming kGranite4GgufNames[] = {
    {"mlp.gate_proj.", "ffn_gate_shexp."}, {"mlp.up_proj.", "ffn_up_shexp."}, {"mlp.down_proj.", "ffn_down_shexp."}};

inline constexpr PassedFields kGranite4PassedJson[] = {
    {"of kinds of layers that the model does not have, and read where it does", "",
     "mamba_expand mamba_d_head mamba_d_state mamba_d_conv mamba_n_heads mamba_n_groups mamba_conv_bias "
     "mamba_proj_bias intermediate_size num_experts_per_tok time_step_limit"}};

inline constexpr PassedFields kGranite4PassedGguf[] = {
    {"a width, which the tensors have or do not fit", "", "expert_shared_feed_forward_length"},
    {"of layers that the model does not have, and read where it does", "", "ssm.* expert_used_count"},
    {"the softmax of the chosen experts, as in all published models", "", "expert_weights_norm", true},
    {"experts are chosen by a softmax", "", "expert_gating_func", 1.0}};

inline constexpr ModelType kGranite4Types[] = {
    {.name = Granite4Family::kModelType, .read = ReadOne<ReadGranite4>, .fact_names = kGranite4FactNames}};

// Beside experts, the layer that computes all rows is called a shared expert.
inline void TellGranite(const ModelSpec& spec, nlohmann::json& fields) {
  fields["rope.scaling.finetuned"] =
      FindLayer<Attention>(spec, [](const auto& one) { return one.rotary_dim > 0; }) != nullptr;
  fields["logit_scale"] = spec.logits_scaling;
  const auto* const experts = FindLayer<MixtureOfExperts>(spec);
  if (experts == nullptr) return;
  if (const auto* const shared = FindLayer<GatedFeedForward>(spec)) {
    fields["expert_shared_feed_forward_length"] = shared->width;
  }
  fields["feed_forward_length"] = experts->width;
  fields.erase("expert_feed_forward_length");
}

inline void ChangeGranite(const ModelSpec& spec, GgufDraft& draft) {
  ChangeMamba2(spec, draft);
  if (FindLayer<MixtureOfExperts>(spec) == nullptr) return;
  for (const std::string name : {".ffn_gate", ".ffn_up", ".ffn_down"}) {
    RenameTensors(draft, name + ".weight", name + "_shexp.weight");
  }
}

constexpr GgufArchitecture GraniteArchitecture(std::string_view name, decltype(GgufArchitecture::read) read) {
  return {.name = name,
          .read = read,
          .has_rope_pairs = true,
          .is_written = true,
          .tell = TellGranite,
          .has_scale = true,
          .change_draft = ChangeGranite};
}

// Those whose layers all attend come first.
inline constexpr GgufArchitecture kGranite4Architectures[] = {
    GraniteArchitecture("granite", ReadOneGguf<ReadDenseGraniteGguf>),
    GraniteArchitecture("granitemoe", ReadOneGguf<ReadGraniteGguf>),
    GraniteArchitecture("granitehybrid", ReadOneGguf<ReadGranite4Gguf>)};

struct Granite4Row {
  static constexpr FamilyRow kRow = {.name = "Granite 4",
                                     .special = "Mamba-2 beside attention without RoPE, multipliers, shared experts",
                                     .model_types = kGranite4Types,
                                     .architectures = kGranite4Architectures,
                                     .names = kGranite4Names,
                                     .gguf_names = kGranite4GgufNames,
                                     .passed_json = kGranite4PassedJson,
                                     .passed_gguf = kGranite4PassedGguf};
  using Published = ConfigTypes<Granite4_H_350M, Granite4_1B>;
};

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_GRANITE4_DETAIL_FAMILY_H_
