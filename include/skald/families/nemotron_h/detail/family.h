// SPDX-License-Identifier: Apache-2.0
//
// Nemotron-H and Nemotron 3: their row of the registry.

#ifndef SKALD_FAMILIES_NEMOTRON_H_DETAIL_FAMILY_H_
#define SKALD_FAMILIES_NEMOTRON_H_DETAIL_FAMILY_H_

#include "skald/families/nemotron_h/detail/nemotron_h.h"
#include "skald/families/nemotron_h/nemotron_h.h"
#include "skald/families/readers/detail/change_draft.h"
#include "skald/families/readers/detail/family_row.h"
#include "skald/families/readers/detail/gguf_facts.h"
#include "skald/families/readers/detail/tell_gguf.h"
#include "skald/layers/kinds/feed_forward.h"
#include "skald/layers/kinds/mixture_of_experts.h"
#include "skald/layers/model_spec.h"

namespace skald::internal {

inline constexpr FactRenaming kNemotronHFactNames[] = {
    {"rms_norm_eps", "layer_norm_epsilon"},
    {"layer_types", "hybrid_override_pattern"},
    {"width of kFeedForward", "intermediate_size"},
    {"activation of kFeedForward", "mlp_hidden_act"},
    {"bias of kFeedForward", "mlp_bias"},
    {"num_experts", "n_routed_experts"},
    {"shared_expert_intermediate_size", "moe_shared_expert_intermediate_size"},
    {"num_heads", "mamba_num_heads"},
    {"expand * hidden_size", "mamba_num_heads * mamba_head_dim"},
    {"state_size", "ssm_state_size"}};

inline constexpr Renaming kNemotronHGgufNames[] = {{"mlp.fc1_latent_proj.", "ffn_latent_down."},
                                                   {"mlp.fc2_latent_proj.", "ffn_latent_up."}};

inline constexpr PassedFields kNemotronHPassedJson[] = {
    {"the number of layers, which a list with one for each says too", "", "num_hidden_layers hybrid_override_pattern"},
    {"of kinds of layers that the model does not have, and read where it does", "",
     "num_attention_heads num_key_value_heads head_dim attention_head_dim intermediate_size mlp_hidden_act "
     "mamba_num_heads mamba_head_dim ssm_state_size n_groups conv_kernel mamba_hidden_act mamba_proj_bias use_bias "
     "use_conv_bias n_routed_experts num_experts_per_tok moe_intermediate_size moe_shared_expert_intermediate_size "
     "n_group topk_group norm_topk_prob routed_scaling_factor n_shared_experts moe_latent_size time_step_limit"},
    {"of attention with positions, which the family's has none of", "", "rope_theta partial_rotary_factor"},
    {"other names for what is read: the sizes of all tensors follow from that", "",
     "expand num_query_groups rms_norm_eps norm_eps num_logits_to_keep"}};

inline constexpr PassedFields kNemotronHPassedGguf[] = {
    {"of a RoPE, which the architecture's attention does not have", "", "rope.dimension_count rope.freq_base"},
    {"experts are chosen by a sigmoid", "nemotron_h_moe", "expert_gating_func", 2.0}};

inline constexpr ModelType kNemotronHTypes[] = {
    {.name = NemotronHFamily::kModelType, .read = ReadOne<ReadNemotronH>, .fact_names = kNemotronHFactNames}};

// Each layer has one mixer: heads or a width tell which, and Mamba-2 has neither. llama.cpp also asks for an epsilon of
// LayerNorms, of which there are none.
inline void TellNemotronH(const ModelSpec& spec, nlohmann::json& fields) {
  std::vector<int> widths(NumLayers(spec), 0);
  ForEachLayer<FeedForward>(spec, [&](const auto& layer, uint32_t number) { widths[number] = layer.width; });
  ForEachLayer<MixtureOfExperts>(spec, [&](const auto& layer, uint32_t number) { widths[number] = layer.width; });
  fields["feed_forward_length"] = widths;
  fields["attention.layer_norm_epsilon"] = fields["attention.layer_norm_rms_epsilon"];
}

inline void TellNemotronHMoe(const ModelSpec& spec, nlohmann::json& fields) {
  TellNemotronH(spec, fields);
  const MixtureOfExperts experts = ExpertLayers(spec).experts;
  fields["expert_weights_norm"] = experts.normalized;
  fields["expert_group_count"] = experts.groups;
  if (experts.latent_dim > 0) fields["moe_latent_size"] = experts.latent_dim;
}

inline constexpr GgufArchitecture kNemotronHArchitectures[] = {{.name = "nemotron_h",
                                                                .read = ReadOneGguf<ReadNemotronHGguf>,
                                                                .is_written = true,
                                                                .tell = TellNemotronH,
                                                                .change_draft = ChangeMamba2},
                                                               {.name = "nemotron_h_moe",
                                                                .read = ReadOneGguf<ReadNemotronHMoeGguf>,
                                                                .is_written = true,
                                                                .tell = TellNemotronHMoe,
                                                                .change_draft = ChangeMamba2}};

struct NemotronHRow {
  static constexpr FamilyRow kRow = {
      .name = "Nemotron-H, Nemotron 3",
      .special = "one mixer a layer: Mamba-2, attention without RoPE, ReLU squared, experts",
      .model_types = kNemotronHTypes,
      .architectures = kNemotronHArchitectures,
      .gguf_names = kNemotronHGgufNames,
      .passed_json = kNemotronHPassedJson,
      .passed_gguf = kNemotronHPassedGguf};
  using Published = ConfigTypes<NemotronNano_9B_V2, Nemotron3Nano_30B_A3B>;
};

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_NEMOTRON_H_DETAIL_FAMILY_H_
