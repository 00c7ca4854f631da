// SPDX-License-Identifier: Apache-2.0
//
// Names of the tensors of a layer in checkpoints of all families, in folders and in GGUF files. Additional names of
// single families are in their folders.

#ifndef SKALD_FAMILIES_READERS_DETAIL_COMMON_NAMES_H_
#define SKALD_FAMILIES_READERS_DETAIL_COMMON_NAMES_H_

#include <string_view>

#include "skald/weights/files/tensor_names.h"

namespace skald::internal {

// Tensors that newer files stack experts in.
inline constexpr std::string_view kStackedGates = "mlp.experts.gate_up_proj", kStackedDown = "mlp.experts.down_proj";

// Unchanged names are listed because some family also uses another spelling.
inline constexpr Renaming kFolderNames[] = {{"feed_forward_norm.", "post_attention_layernorm."},
                                            {"mlp.experts.gate_proj.", "mlp.experts.#.gate_proj."},
                                            {"mlp.experts.up_proj.", "mlp.experts.#.up_proj."},
                                            {"mlp.experts.down_proj.", "mlp.experts.#.down_proj."},
                                            {"mlp.gate.", "mlp.gate."},
                                            {"mlp.experts.gate_proj.weight", kStackedGates},
                                            {"mlp.experts.up_proj.weight", kStackedGates},
                                            {"mlp.experts.down_proj.weight", kStackedDown},
                                            // as MLX stacks them
                                            {"mlp.experts.gate_proj.", "mlp.switch_mlp.gate_proj."},
                                            {"mlp.experts.up_proj.", "mlp.switch_mlp.up_proj."},
                                            {"mlp.experts.down_proj.", "mlp.switch_mlp.down_proj."},
                                            {"mlp.shared_expert.", "mlp.shared_expert."},
                                            {"self_attn.q_proj.", "self_attn.q_proj."},
                                            {"self_attn.k_proj.", "self_attn.k_proj."},
                                            {"self_attn.v_proj.", "self_attn.v_proj."},
                                            {"self_attn.q_norm.", "self_attn.q_norm."},
                                            {"self_attn.k_norm.", "self_attn.k_norm."},
                                            {"mlp.gate_proj.", "mlp.gate_proj."},
                                            {"mlp.up_proj.", "mlp.up_proj."},
                                            {"mlp.down_proj.", "mlp.down_proj."},
                                            {"mixer.", "mixer."}};

// https://github.com/ggml-org/llama.cpp, gguf-py/gguf/constants.py
inline constexpr Renaming kGgufNames[] = {{"input_layernorm.", "attn_norm."},
                                          {"feed_forward_norm.", "ffn_norm."},
                                          {"post_attention_layernorm.", "post_attention_norm."},
                                          {"pre_feedforward_layernorm.", "ffn_norm."},
                                          {"post_feedforward_layernorm.", "post_ffw_norm."},
                                          {"self_attn.q_proj.", "attn_q."},
                                          {"self_attn.k_proj.", "attn_k."},
                                          {"self_attn.v_proj.", "attn_v."},
                                          {"mixer.in_proj.", "ssm_in."},
                                          {"mixer.conv1d.", "ssm_conv1d."},
                                          {"mixer.dt_bias", "ssm_dt.bias"},
                                          {"mixer.A_log", "ssm_a"},
                                          {"mixer.D", "ssm_d"},
                                          {"mixer.norm.", "ssm_norm."},
                                          {"mixer.out_proj.", "ssm_out."},
                                          {"self_attn.o_proj.", "attn_output."},
                                          {"self_attn.q_norm.", "attn_q_norm."},
                                          {"self_attn.k_norm.", "attn_k_norm."},
                                          {"mlp.gate.per_expert_scale", "ffn_down_exps.scale"},
                                          {"mlp.gate.e_score_correction_bias", "exp_probs_b.bias"},
                                          {"mlp.gate.", "ffn_gate_inp."},
                                          {"mlp.shared_expert_gate.", "ffn_gate_inp_shexp."},
                                          {"mlp.shared_expert.gate_proj.", "ffn_gate_shexp."},
                                          {"mlp.shared_expert.up_proj.", "ffn_up_shexp."},
                                          {"mlp.shared_expert.down_proj.", "ffn_down_shexp."},
                                          {"mlp.experts.gate_proj.", "ffn_gate_exps."},
                                          {"mlp.experts.up_proj.", "ffn_up_exps."},
                                          {"mlp.experts.down_proj.", "ffn_down_exps."},
                                          {"mlp.gate_proj.", "ffn_gate."},
                                          {"mlp.up_proj.", "ffn_up."},
                                          {"mlp.down_proj.", "ffn_down."},
                                          {"eh_proj.", "nextn.eh_proj."},
                                          {"enorm.", "nextn.enorm."},
                                          {"hnorm.", "nextn.hnorm."},
                                          {"shared_head.norm.", "nextn.shared_head_norm."}};

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_READERS_DETAIL_COMMON_NAMES_H_
