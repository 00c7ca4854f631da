// SPDX-License-Identifier: Apache-2.0
//
// The names of facts of a model in files, if they differ from those in most config.json files.

#ifndef SKALD_FAMILIES_CONFIG_FACT_NAMES_H_
#define SKALD_FAMILIES_CONFIG_FACT_NAMES_H_

#include <span>
#include <string_view>

namespace skald {

namespace internal {

/// A file's name for a fact, and that of most config.json files.
struct FactRenaming {
  std::string_view usual, own;
};

/// The names in GGUF files, after the architecture's name and a dot.
inline constexpr FactRenaming kGgufFactNames[] = {
    {"hidden_size", "embedding_length"},
    {"intermediate_size", "feed_forward_length"},
    {"moe_intermediate_size", "expert_feed_forward_length"},
    {"num_experts", "expert_count"},
    {"num_experts_per_tok", "expert_used_count"},
    {"norm_topk_prob", "expert_weights_norm"},
    {"routed_scaling_factor", "expert_weights_scale"},
    {"n_group", "expert_group_count"},
    {"topk_group", "expert_group_used_count"},
    {"shared_expert_intermediate_size", "expert_shared_feed_forward_length"},
    {"linear_num_key_heads", "ssm.group_count"},
    {"linear_num_value_heads", "ssm.time_step_rank"},
    {"linear_key_head_dim", "ssm.state_size"},
    {"linear_value_head_dim", "ssm.inner_size / ssm.time_step_rank"},
    {"linear_conv_kernel_dim", "ssm.conv_kernel"},
    {"vocab_size", "rows of token_embd.weight"},
    {"num_hidden_layers", "block_count"},
    {"num_attention_heads", "attention.head_count"},
    {"num_key_value_heads", "attention.head_count_kv"},
    {"head_dim", "attention.key_length"},
    {"partial_rotary_factor", "rope.dimension_count / attention.key_length"},
    {"sliding_window", "attention.sliding_window"},
    {"rope_theta", "rope.freq_base"},
    {"rope_type", "rope.scaling.type"},
    {"factor of rope_scaling", "rope.scaling.factor"},
    {"original_max_position_embeddings", "rope.scaling.original_context_length"},
    {"attention_factor", "rope.scaling.attn_factor"},
    {"long_factor", "rope_factors_long.weight"},
    {"short_factor", "rope_factors_short.weight"},
    {"rope_local_base_freq", "rope.freq_base_swa"},
    {"rms_norm_eps", "attention.layer_norm_rms_epsilon"},
    {"layer_norm_eps", "attention.layer_norm_epsilon"},
    {"query_pre_attn_scalar", "1 / attention.scale^2"},
    {"embedding_multiplier", "embedding_scale"},
    {"residual_multiplier", "residual_scale"},
    {"logits_scaling", "logit_scale"},
    {"tie_word_embeddings", "absence of output.weight"},
    {"num_heads", "ssm.time_step_rank"},
    {"expand * hidden_size", "ssm.inner_size"},
    {"state_size", "ssm.state_size"},
    {"n_groups", "ssm.group_count"},
    {"conv_kernel", "ssm.conv_kernel"},
    {"q_lora_rank", "attention.q_lora_rank"},
    {"kv_lora_rank", "attention.kv_lora_rank"},
    {"qk_rope_head_dim", "rope.dimension_count"},
    {"decay_low_rank_dim", "attention.decay_lora_rank"},
    {"a_low_rank_dim", "attention.iclr_lora_rank"},
    {"v_low_rank_dim", "attention.value_residual_mix_lora_rank"},
    {"gate_low_rank_dim", "attention.gate_lora_rank"},
};

/// Returns what files with these names call what most call `usual`.
constexpr std::string_view FactName(std::span<const FactRenaming> names, std::string_view usual) {
  for (const FactRenaming& renaming : names) {
    if (renaming.usual == usual) return renaming.own;
  }
  return usual;
}

}  // namespace internal
}  // namespace skald

#endif  // SKALD_FAMILIES_CONFIG_FACT_NAMES_H_
