// SPDX-License-Identifier: Apache-2.0
//
// What files call the facts of a model, where that is not the name that most config.json files have for it.

#ifndef SKALD_FAMILIES_CONFIG_FACT_NAMES_H_
#define SKALD_FAMILIES_CONFIG_FACT_NAMES_H_

#include <string_view>

namespace skald {

// The kind of GGUF files.
inline constexpr std::string_view kGgufFacts = "gguf";

namespace internal {

struct FactRenaming {
  std::string_view kind;  // the "model_type" of a config.json, or kGgufFacts
  std::string_view usual, own;
};

inline constexpr FactRenaming kFactRenamings[] = {
    {"mixtral", "num_experts", "num_local_experts"},
    {"mixtral", "moe_intermediate_size", "intermediate_size"},
    {"recurrent_gemma", "sliding_window", "attention_window_size + 1"},
    {"recurrent_gemma", "layer_types", "block_types"},
    {"recurrent_gemma", "final_logit_softcapping", "logits_soft_cap"},
    {"recurrent_gemma", "kLruBlocks", "num_attention_heads"},
    {"mamba", "rms_norm_eps", "layer_norm_epsilon"},
    {"mamba2", "rms_norm_eps", "layer_norm_epsilon"},
    {"nemotron_h", "rms_norm_eps", "layer_norm_epsilon"},
    {"nemotron_h", "layer_types", "hybrid_override_pattern"},
    {"nemotron_h", "width of kFeedForward", "intermediate_size"},
    {"nemotron_h", "activation of kFeedForward", "mlp_hidden_act"},
    {"nemotron_h", "bias of kFeedForward", "mlp_bias"},
    {"nemotron_h", "num_experts", "n_routed_experts"},
    {"nemotron_h", "shared_expert_intermediate_size", "moe_shared_expert_intermediate_size"},
    {"nemotron_h", "num_heads", "mamba_num_heads"},
    {"nemotron_h", "expand * hidden_size", "mamba_num_heads * mamba_head_dim"},
    {"nemotron_h", "state_size", "ssm_state_size"},
    {"granitemoehybrid", "query_pre_attn_scalar", "1 / attention_multiplier^2"},
    {"granitemoehybrid", "num_experts", "num_local_experts"},
    {"granitemoehybrid", "moe_intermediate_size", "intermediate_size"},
    {"granitemoehybrid", "intermediate_size", "shared_intermediate_size"},
    {"granitemoehybrid", "num_heads", "mamba_n_heads"},
    {"granitemoehybrid", "expand * hidden_size", "mamba_expand * hidden_size"},
    {"granitemoehybrid", "state_size", "mamba_d_state"},
    {"granitemoehybrid", "n_groups", "mamba_n_groups"},
    {"granitemoehybrid", "conv_kernel", "mamba_d_conv"},
    {"falcon_h1", "num_heads", "mamba_n_heads"},
    {"falcon_h1", "expand * hidden_size", "mamba_d_ssm"},
    {"falcon_h1", "state_size", "mamba_d_state"},
    {"falcon_h1", "n_groups", "mamba_n_groups"},
    {"falcon_h1", "conv_kernel", "mamba_d_conv"},
    {"lfm2", "rms_norm_eps", "norm_eps"},
    {"lfm2_moe", "rms_norm_eps", "norm_eps"},
    {"rwkv7", "layer_norm_eps", "norm_eps"},
    {"gpt_oss", "num_experts", "num_local_experts"},
    {"gpt_oss", "moe_intermediate_size", "intermediate_size"},
    {"gemma4_text", "num_experts_per_tok", "top_k_experts"},
    {"deepseek_v3", "num_experts", "n_routed_experts"},
    {"deepseek_v3", "shared_expert_intermediate_size", "n_shared_experts * moe_intermediate_size"},
    {"glm4_moe_lite", "num_experts", "n_routed_experts"},
    {"glm4_moe_lite", "shared_expert_intermediate_size", "n_shared_experts * moe_intermediate_size"},
    // Behind the architecture's name and a dot.
    {kGgufFacts, "hidden_size", "embedding_length"},
    {kGgufFacts, "intermediate_size", "feed_forward_length"},
    {kGgufFacts, "moe_intermediate_size", "expert_feed_forward_length"},
    {kGgufFacts, "num_experts", "expert_count"},
    {kGgufFacts, "num_experts_per_tok", "expert_used_count"},
    {kGgufFacts, "norm_topk_prob", "expert_weights_norm"},
    {kGgufFacts, "routed_scaling_factor", "expert_weights_scale"},
    {kGgufFacts, "n_group", "expert_group_count"},
    {kGgufFacts, "topk_group", "expert_group_used_count"},
    {kGgufFacts, "shared_expert_intermediate_size", "expert_shared_feed_forward_length"},
    {kGgufFacts, "linear_num_key_heads", "ssm.group_count"},
    {kGgufFacts, "linear_num_value_heads", "ssm.time_step_rank"},
    {kGgufFacts, "linear_key_head_dim", "ssm.state_size"},
    {kGgufFacts, "linear_value_head_dim", "ssm.inner_size / ssm.time_step_rank"},
    {kGgufFacts, "linear_conv_kernel_dim", "ssm.conv_kernel"},
    {kGgufFacts, "vocab_size", "rows of token_embd.weight"},
    {kGgufFacts, "num_hidden_layers", "block_count"},
    {kGgufFacts, "num_attention_heads", "attention.head_count"},
    {kGgufFacts, "num_key_value_heads", "attention.head_count_kv"},
    {kGgufFacts, "head_dim", "attention.key_length"},
    {kGgufFacts, "partial_rotary_factor", "rope.dimension_count / attention.key_length"},
    {kGgufFacts, "sliding_window", "attention.sliding_window"},
    {kGgufFacts, "rope_theta", "rope.freq_base"},
    {kGgufFacts, "rope_type", "rope.scaling.type"},
    {kGgufFacts, "factor of rope_scaling", "rope.scaling.factor"},
    {kGgufFacts, "original_max_position_embeddings", "rope.scaling.original_context_length"},
    {kGgufFacts, "attention_factor", "rope.scaling.attn_factor"},
    {kGgufFacts, "long_factor", "rope_factors_long.weight"},
    {kGgufFacts, "short_factor", "rope_factors_short.weight"},
    {kGgufFacts, "rope_local_base_freq", "rope.freq_base_swa"},
    {kGgufFacts, "rms_norm_eps", "attention.layer_norm_rms_epsilon"},
    {kGgufFacts, "layer_norm_eps", "attention.layer_norm_epsilon"},
    {kGgufFacts, "query_pre_attn_scalar", "1 / attention.scale^2"},
    {kGgufFacts, "embedding_multiplier", "embedding_scale"},
    {kGgufFacts, "residual_multiplier", "residual_scale"},
    {kGgufFacts, "logits_scaling", "logit_scale"},
    {kGgufFacts, "tie_word_embeddings", "absence of output.weight"},
    {kGgufFacts, "num_heads", "ssm.time_step_rank"},
    {kGgufFacts, "expand * hidden_size", "ssm.inner_size"},
    {kGgufFacts, "state_size", "ssm.state_size"},
    {kGgufFacts, "n_groups", "ssm.group_count"},
    {kGgufFacts, "conv_kernel", "ssm.conv_kernel"},
    {kGgufFacts, "q_lora_rank", "attention.q_lora_rank"},
    {kGgufFacts, "kv_lora_rank", "attention.kv_lora_rank"},
    {kGgufFacts, "qk_rope_head_dim", "rope.dimension_count"},
    {kGgufFacts, "decay_low_rank_dim", "attention.decay_lora_rank"},
    {kGgufFacts, "a_low_rank_dim", "attention.iclr_lora_rank"},
    {kGgufFacts, "v_low_rank_dim", "attention.value_residual_mix_lora_rank"},
    {kGgufFacts, "gate_low_rank_dim", "attention.gate_lora_rank"},
};

// Returns what files of `kind` call what most call `usual`.
constexpr std::string_view FactName(std::string_view kind, std::string_view usual) {
  for (const FactRenaming& renaming : kFactRenamings) {
    if (renaming.kind == kind && renaming.usual == usual) return renaming.own;
  }
  return usual;
}

}  // namespace internal
}  // namespace skald

#endif  // SKALD_FAMILIES_CONFIG_FACT_NAMES_H_
