// SPDX-License-Identifier: Apache-2.0
//
// The names that Hugging Face checkpoints and GGUF files give their tensors. Layers list their parameters by the names
// of the Llama lineage ("self_attn.q_proj.weight"); each row of the table below says what another family of checkpoints
// calls them. Which row a checkpoint follows is seen from the names in it, so any model can be loaded from any of them.
// A name that no row knows, as of a layer of a user's own, is the same everywhere.

#ifndef SKALD_WEIGHTS_FILES_TENSOR_NAMES_H_
#define SKALD_WEIGHTS_FILES_TENSOR_NAMES_H_

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "skald/weights/files/checkpoint.h"

namespace skald {

// How the rows of a part lie in its tensor.
struct RowLayout {
  bool by_turns = false;        // a row of each part with this name by turns, not all rows of one part after the other
  bool transposed = false;      // as columns; interleaved, as columns of the rows that the part is
  bool mxfp4 = false;           // as blocks of MXFP4 [rows, cols / 32, 16], whose scales are another tensor
  bool interleaved = false;     // with those of other kinds of parts, one head after the other (Interleaved)
  bool joined = false;          // of stacked matrices: without an axis of their own, one matrix below the other
  bool pairs_adjacent = false;  // those that RoPE turns together side by side (TensorView::rope_pairs_adjacent)
};

// Of latent attention: rows with and without positions, one head after the other; the two matrices that make keys and
// values of a latent, the first one as the second reads it.
inline constexpr RowLayout kInPairs = {.interleaved = true, .pairs_adjacent = true};
inline constexpr RowLayout kKeysInRows = {.transposed = true, .interleaved = true, .joined = true};
inline constexpr RowLayout kValuesInRows = {.interleaved = true, .joined = true};

// The beginning of a name, and what stands there instead.
struct Renaming {
  std::string_view ours, theirs;
  RowLayout layout = {};
};

// What a tensor is called, and how it holds what it does.
struct Spelling {
  std::string name;
  RowLayout layout = {};
};

// Within a layer, "input_layernorm" is the norm in front of the mixer; "feed_forward_norm" the one in front of the
// feed-forward layer of models that have no others; and of models with a norm behind each too, these are
// "post_attention_layernorm", "pre_feedforward_layernorm" and "post_feedforward_layernorm". (Checkpoints call two of
// them post_attention_layernorm.)
//
// "mlp.gate" is the router of a mixture of experts and "mlp.experts.gate_proj" the gate projection of one of them: "#"
// stands for its number, and where there is none the tensors of all experts are stacked in one. A name that stands here
// twice has two spellings, and parts of one matrix with one name lie in one tensor, one after the other.
inline constexpr Renaming kLlamaNames[] = {
    {"feed_forward_norm.", "post_attention_layernorm."},
    {"mlp.experts.gate_proj.", "mlp.experts.#.gate_proj."},
    {"mlp.experts.up_proj.", "mlp.experts.#.up_proj."},
    {"mlp.experts.down_proj.", "mlp.experts.#.down_proj."},
    {"mlp.gate.", "mlp.gate."},
    // as newer files stack them
    {"mlp.experts.gate_proj.weight", "mlp.experts.gate_up_proj"},
    {"mlp.experts.up_proj.weight", "mlp.experts.gate_up_proj"},
    {"mlp.experts.down_proj.weight", "mlp.experts.down_proj"},
    // as Mixtral spells them
    {"mlp.experts.gate_proj.", "block_sparse_moe.experts.#.w1."},
    {"mlp.experts.up_proj.", "block_sparse_moe.experts.#.w3."},
    {"mlp.experts.down_proj.", "block_sparse_moe.experts.#.w2."},
    {"mlp.gate.", "block_sparse_moe.gate."},
    // as Gemma 4 does
    {"mlp.experts.gate_proj.weight", "experts.gate_up_proj"},
    {"mlp.experts.up_proj.weight", "experts.gate_up_proj"},
    {"mlp.experts.down_proj.weight", "experts.down_proj"},
    {"mlp.gate.weight", "router.proj.weight"},
    {"mlp.gate.", "router."},
    // as DeepSeek calls those that all rows share
    {"mlp.shared_expert.", "mlp.shared_expert."},
    {"mlp.shared_expert.", "mlp.shared_experts."},
    // as Phi-3 joins them
    {"self_attn.q_proj.", "self_attn.q_proj."},
    {"self_attn.k_proj.", "self_attn.k_proj."},
    {"self_attn.v_proj.", "self_attn.v_proj."},
    {"self_attn.q_proj.", "self_attn.qkv_proj."},
    {"self_attn.k_proj.", "self_attn.qkv_proj."},
    {"self_attn.v_proj.", "self_attn.qkv_proj."},
    {"mlp.gate_proj.", "mlp.gate_proj."},
    {"mlp.up_proj.", "mlp.up_proj."},
    {"mlp.gate_proj.", "mlp.gate_up_proj."},
    {"mlp.up_proj.", "mlp.gate_up_proj."},
    // as Granite 4 does
    {"mlp.gate_proj.", "shared_mlp.input_linear."},
    {"mlp.up_proj.", "shared_mlp.input_linear."},
    {"mlp.down_proj.", "mlp.down_proj."},
    {"mlp.down_proj.", "shared_mlp.output_linear."},
    {"mlp.experts.gate_proj.", "block_sparse_moe.input_linear."},
    {"mlp.experts.up_proj.", "block_sparse_moe.input_linear."},
    {"mlp.experts.down_proj.", "block_sparse_moe.output_linear."},
    {"mlp.gate.", "block_sparse_moe.router.layer."},
    // as Qwen 3.5 and Qwen3-Next do
    {"self_attn.gated_q_proj.", "self_attn.q_proj.", {.interleaved = true}},
    {"linear_attn.in_proj_qkv.", "linear_attn.in_proj_qkv."},
    {"linear_attn.in_proj_z.", "linear_attn.in_proj_z."},
    {"linear_attn.in_proj_b.", "linear_attn.in_proj_b."},
    {"linear_attn.in_proj_a.", "linear_attn.in_proj_a."},
    {"linear_attn.in_proj_qkv.", "linear_attn.in_proj_qkvz.", {.interleaved = true}},
    {"linear_attn.in_proj_z.", "linear_attn.in_proj_qkvz.", {.interleaved = true}},
    {"linear_attn.in_proj_b.", "linear_attn.in_proj_ba.", {.interleaved = true}},
    {"linear_attn.in_proj_a.", "linear_attn.in_proj_ba.", {.interleaved = true}},
    // as DeepSeek names latent attention
    {"self_attn.q_b_proj.", "self_attn.q_b_proj.", kInPairs},
    {"self_attn.q_b_proj.", "self_attn.q_proj.", kInPairs},
    {"self_attn.kv_a_proj.", "self_attn.kv_a_proj_with_mqa.", kInPairs},
    {"self_attn.k_b_proj.", "self_attn.kv_b_proj.", kKeysInRows},
    {"self_attn.v_b_proj.", "self_attn.kv_b_proj.", kValuesInRows},
    {"mixer.", "mixer."},
    {"mixer.", "mamba."}};
inline constexpr Renaming kRecurrentGemmaNames[] = {{"input_layernorm.", "temporal_pre_norm."},
                                                    {"feed_forward_norm.", "channel_pre_norm."},
                                                    {"self_attn.", "temporal_block."},
                                                    {"mlp.", "mlp_block."}};
inline constexpr Renaming kLfm2Names[] = {{"input_layernorm.", "operator_norm."},
                                          {"feed_forward_norm.", "ffn_norm."},
                                          {"self_attn.o_proj.", "self_attn.out_proj."},
                                          {"self_attn.q_norm.", "self_attn.q_layernorm."},
                                          {"self_attn.k_norm.", "self_attn.k_layernorm."},
                                          {"mlp.gate_proj.", "feed_forward.w1."},
                                          {"mlp.up_proj.", "feed_forward.w3."},
                                          {"mlp.down_proj.", "feed_forward.w2."},
                                          {"mlp.gate.e_score_correction_bias", "feed_forward.expert_bias"},
                                          {"mlp.gate.", "feed_forward.gate."},
                                          {"mlp.experts.gate_proj.", "feed_forward.experts.#.w1."},
                                          {"mlp.experts.up_proj.", "feed_forward.experts.#.w3."},
                                          {"mlp.experts.down_proj.", "feed_forward.experts.#.w2."}};
// Experts as floats, and as they are published.
inline constexpr Renaming kGptOssNames[] = {
    {"feed_forward_norm.", "post_attention_layernorm."},
    {"mlp.gate.", "mlp.router."},
    {"mlp.experts.gate_proj.bias", "mlp.experts.gate_up_proj_bias", {.by_turns = true}},
    {"mlp.experts.up_proj.bias", "mlp.experts.gate_up_proj_bias", {.by_turns = true}},
    {"mlp.experts.down_proj.bias", "mlp.experts.down_proj_bias"},
    {"mlp.experts.gate_proj.weight", "mlp.experts.gate_up_proj", {.by_turns = true, .transposed = true}},
    {"mlp.experts.up_proj.weight", "mlp.experts.gate_up_proj", {.by_turns = true, .transposed = true}},
    {"mlp.experts.down_proj.weight", "mlp.experts.down_proj", {.transposed = true}},
    {"mlp.experts.gate_proj.weight", "mlp.experts.gate_up_proj_blocks", {.by_turns = true, .mxfp4 = true}},
    {"mlp.experts.up_proj.weight", "mlp.experts.gate_up_proj_blocks", {.by_turns = true, .mxfp4 = true}},
    {"mlp.experts.down_proj.weight", "mlp.experts.down_proj_blocks", {.mxfp4 = true}}};
// Those of Mamba and Mamba-2, and of Nemotron-H, in which all layers are mixers.
inline constexpr Renaming kMambaNames[] = {{"input_layernorm.", "norm."},
                                           {"self_attn.", "mixer."},
                                           {"mlp.experts.up_proj.", "mixer.experts.#.up_proj."},
                                           {"mlp.experts.up_proj.weight", "mixer.experts.up_proj"},
                                           {"mlp.experts.down_proj.", "mixer.experts.#.down_proj."},
                                           {"mlp.experts.down_proj.weight", "mixer.experts.down_proj"},
                                           {"mlp.shared_expert.", "mixer.shared_experts."},
                                           {"mlp.", "mixer."}};
inline constexpr Renaming kFalconH1Names[] = {
    {"feed_forward_norm.", "pre_ff_layernorm."}, {"mixer.", "mamba."}, {"mlp.", "feed_forward."}};
inline constexpr Renaming kRwkv7Names[] = {
    {"embedding_norm.", "layers.0.pre_norm."}, {"input_layernorm.", "attn_norm."}, {"feed_forward_norm.", "ffn_norm."}};
inline constexpr Renaming kGgufNames[] = {{"input_layernorm.", "attn_norm."},
                                          {"feed_forward_norm.", "ffn_norm."},
                                          {"feed_forward_norm.", "post_attention_norm."},  // of Qwen 3.5 and gpt-oss
                                          {"feed_forward_norm.", "attn_norm_2."},          // of RWKV-7
                                          {"feed_forward_norm.weight", "ffn_norm"},        // of Falcon-H1
                                          {"embedding_norm.", "token_embd_norm."},
                                          {"post_attention_layernorm.", "post_attention_norm."},
                                          {"pre_feedforward_layernorm.", "ffn_norm."},
                                          {"post_feedforward_layernorm.", "post_ffw_norm."},
                                          {"conv.conv.", "shortconv.conv."},
                                          {"conv.in_proj.", "shortconv.in_proj."},
                                          {"conv.out_proj.", "shortconv.out_proj."},
                                          {"self_attn.q_proj.", "attn_q."},
                                          {"self_attn.k_proj.", "attn_k."},
                                          {"self_attn.v_proj.", "attn_v."},
                                          {"self_attn.q_proj.", "attn_qkv."},
                                          {"self_attn.k_proj.", "attn_qkv."},
                                          {"self_attn.v_proj.", "attn_qkv."},
                                          {"self_attn.gated_q_proj.", "attn_q.", {.interleaved = true}},
                                          {"self_attn.q_a_proj.", "attn_q_a."},
                                          {"self_attn.q_a_layernorm.", "attn_q_a_norm."},
                                          {"self_attn.q_b_proj.", "attn_q_b.", kInPairs},
                                          {"self_attn.q_b_proj.", "attn_q.", kInPairs},
                                          {"self_attn.kv_a_proj.", "attn_kv_a_mqa.", kInPairs},
                                          {"self_attn.kv_a_layernorm.", "attn_kv_a_norm."},
                                          {"self_attn.k_b_proj.", "attn_k_b."},
                                          {"self_attn.v_b_proj.", "attn_v_b."},
                                          {"self_attn.k_b_proj.", "attn_kv_b.", kKeysInRows},  // of older files
                                          {"self_attn.v_b_proj.", "attn_kv_b.", kValuesInRows},
                                          {"mixer.in_proj.", "ssm_in."},
                                          {"mixer.conv1d.", "ssm_conv1d."},
                                          {"mixer.dt_bias", "ssm_dt.bias"},
                                          {"mixer.A_log", "ssm_a"},
                                          {"mixer.D", "ssm_d"},
                                          {"mixer.norm.", "ssm_norm."},
                                          {"mixer.out_proj.", "ssm_out."},
                                          {"linear_attn.in_proj_qkv.", "attn_qkv."},
                                          {"linear_attn.in_proj_z.", "attn_gate."},
                                          {"linear_attn.in_proj_b.", "ssm_beta."},
                                          {"linear_attn.in_proj_a.", "ssm_alpha."},
                                          {"linear_attn.in_proj_b.", "ssm_ba.", {.interleaved = true}},
                                          {"linear_attn.in_proj_a.", "ssm_ba.", {.interleaved = true}},
                                          {"linear_attn.conv1d.", "ssm_conv1d."},
                                          {"linear_attn.A_log", "ssm_a"},
                                          {"linear_attn.dt_bias", "ssm_dt.bias"},
                                          {"linear_attn.norm.", "ssm_norm."},
                                          {"linear_attn.out_proj.", "ssm_out."},
                                          {"self_attn.o_proj.", "attn_output."},
                                          {"self_attn.sinks", "attn_sinks.weight"},
                                          {"self_attn.q_norm.", "attn_q_norm."},
                                          {"self_attn.k_norm.", "attn_k_norm."},
                                          {"embed_tokens_per_layer.", "per_layer_token_embd."},
                                          {"per_layer_model_projection.", "per_layer_model_proj."},
                                          {"per_layer_projection_norm.", "per_layer_proj_norm."},
                                          {"per_layer_input_gate.", "inp_gate."},
                                          {"per_layer_projection.", "proj."},
                                          {"post_per_layer_input_norm.", "post_norm."},
                                          {"layer_scalar", "layer_output_scale.weight"},
                                          {"pre_feedforward_layernorm_2.", "pre_ffw_norm_2."},
                                          {"post_feedforward_layernorm_1.", "post_ffw_norm_1."},
                                          {"post_feedforward_layernorm_2.", "post_ffw_norm_2."},
                                          {"attn.x_r", "time_mix_lerp_fused.weight"},
                                          {"attn.x_w", "time_mix_lerp_fused.weight"},
                                          {"attn.x_k", "time_mix_lerp_fused.weight"},
                                          {"attn.x_v", "time_mix_lerp_fused.weight"},
                                          {"attn.x_a", "time_mix_lerp_fused.weight"},
                                          {"attn.x_g", "time_mix_lerp_fused.weight"},
                                          {"attn.r_proj.", "time_mix_receptance."},
                                          {"attn.k_proj.", "time_mix_key."},
                                          {"attn.v_proj.", "time_mix_value."},
                                          {"attn.o_proj.", "time_mix_output."},
                                          {"attn.w_lora.lora.2.bias", "time_mix_w0.weight"},
                                          {"attn.w_lora.lora.0.", "time_mix_w1."},
                                          {"attn.w_lora.lora.2.", "time_mix_w2."},
                                          {"attn.a_lora.lora.2.bias", "time_mix_a0.weight"},
                                          {"attn.a_lora.lora.0.", "time_mix_a1."},
                                          {"attn.a_lora.lora.2.", "time_mix_a2."},
                                          {"attn.v_lora.lora.2.bias", "time_mix_v0.weight"},
                                          {"attn.v_lora.lora.0.", "time_mix_v1."},
                                          {"attn.v_lora.lora.2.", "time_mix_v2."},
                                          {"attn.g_lora.lora.0.", "time_mix_g1."},
                                          {"attn.g_lora.lora.2.", "time_mix_g2."},
                                          {"attn.k_k", "time_mix_k_k.weight"},
                                          {"attn.k_a", "time_mix_k_a.weight"},
                                          {"attn.r_k", "time_mix_r_k.weight"},
                                          {"attn.g_norm.", "time_mix_ln."},
                                          {"ffn.x_k", "channel_mix_lerp_k.weight"},
                                          {"ffn.key.", "channel_mix_key."},
                                          {"ffn.value.", "channel_mix_value."},
                                          {"mlp.gate.per_expert_scale", "ffn_down_exps.scale"},
                                          {"mlp.gate.e_score_correction_bias", "exp_probs_b.bias"},
                                          {"mlp.gate.", "ffn_gate_inp."},
                                          {"mlp.shared_expert_gate.", "ffn_gate_inp_shexp."},
                                          {"mlp.shared_expert.gate_proj.", "ffn_gate_shexp."},
                                          {"mlp.shared_expert.up_proj.", "ffn_up_shexp."},
                                          {"mlp.shared_expert.down_proj.", "ffn_down_shexp."},
                                          {"mlp.experts.gate_proj.", "ffn_gate_exps."},
                                          {"mlp.experts.up_proj.", "ffn_up_exps."},
                                          {"mlp.experts.gate_proj.", "ffn_gate_up_exps."},
                                          {"mlp.experts.up_proj.", "ffn_gate_up_exps."},
                                          {"mlp.experts.down_proj.", "ffn_down_exps."},
                                          {"mlp.gate_proj.", "ffn_gate."},
                                          {"mlp.gate_proj.", "ffn_up."},  // where it is joined to the other
                                          {"mlp.up_proj.", "ffn_up."},
                                          {"mlp.down_proj.", "ffn_down."},
                                          // beside experts, of Granite
                                          {"mlp.gate_proj.", "ffn_gate_shexp."},
                                          {"mlp.up_proj.", "ffn_up_shexp."},
                                          {"mlp.down_proj.", "ffn_down_shexp."}};

// How a family names the tensors of its language models. Multimodal checkpoints put them under a prefix of their own,
// which changed over time, beside a vision part that Skald does not read.
struct TensorNames {
  std::string_view body;  // in front of the embedding, the layers and the final norm
  std::string_view head;  // in front of the output head's "weight"
  std::string_view embedding = "embed_tokens.weight";
  std::string_view final_norm = "norm.";  // of the final norm, in front of "weight" and the like
  std::string_view layers = "layers.";
  std::span<const Renaming> renamings = kLlamaNames;  // of names within a layer

  // Norms that multiply by one plus their parameter are stored with the one added, decays as what is multiplied by.
  bool stores_converted = false;

  std::string_view mark = {};  // a tensor of the first layer that only checkpoints with these names have

  // Returns what this family calls `name`, of a layer or of none, with "#" for the number of an expert.
  std::string NameOf(std::string_view name, std::optional<size_t> layer) const;

  // Returns all that members of this family call `name` within a layer, at least one.
  std::vector<Spelling> SpellingsOf(std::string_view name) const;

  // From a name within a layer to that of the tensor.
  std::string OfLayer(size_t layer, std::string_view name) const;
  // And back; nothing for tensors of no layer.
  std::string_view WithinLayer(std::string_view tensor) const;
};

inline constexpr std::array kTensorNames = {
    // The Llama lineage (Llama, Mistral, Qwen, Gemma): text models,
    TensorNames{.body = "model.", .head = "lm_head."},
    // multimodal Gemma 3 as first published and as later versions write it.
    TensorNames{.body = "language_model.model.", .head = "language_model.lm_head."},
    TensorNames{.body = "model.language_model.", .head = "lm_head."},
    // gpt-oss.
    TensorNames{.body = "model.", .head = "lm_head.", .renamings = kGptOssNames, .mark = "self_attn.sinks"},
    // RecurrentGemma.
    TensorNames{.body = "model.", .head = "lm_head.", .final_norm = "final_norm.", .renamings = kRecurrentGemmaNames},
    // LFM2.
    TensorNames{.body = "model.", .head = "lm_head.", .final_norm = "embedding_norm.", .renamings = kLfm2Names},
    // Falcon-H1.
    TensorNames{.body = "model.", .head = "lm_head.", .final_norm = "final_layernorm.", .renamings = kFalconH1Names},
    // RWKV-7 as flash-linear-attention writes it.
    TensorNames{.body = "model.", .head = "lm_head.", .embedding = "embeddings.weight", .renamings = kRwkv7Names},
    // Mamba and Mamba-2 as transformers writes them, and with the embedding as their authors named it.
    TensorNames{.body = "backbone.",
                .head = "lm_head.",
                .embedding = "embeddings.weight",
                .final_norm = "norm_f.",
                .renamings = kMambaNames},
    TensorNames{.body = "backbone.",
                .head = "lm_head.",
                .embedding = "embedding.weight",
                .final_norm = "norm_f.",
                .renamings = kMambaNames},
    // GGUF (https://github.com/ggml-org/llama.cpp, gguf-py/gguf/constants.py): one language model and nothing else,
    TensorNames{.body = "",
                .head = "output.",
                .embedding = "token_embd.weight",
                .final_norm = "output_norm.",
                .layers = "blk.",
                .renamings = kGgufNames,
                .stores_converted = true},
    // the same of LFM2, whose final norm is called after the embedding.
    TensorNames{.body = "",
                .head = "output.",
                .embedding = "token_embd.weight",
                .final_norm = "token_embd_norm.",
                .layers = "blk.",
                .renamings = kGgufNames,
                .stores_converted = true},
};

// Returns the names that the checkpoint follows: those of which it has most of the three tensors that every model has,
// so that the error about a tensor that is missing calls it by its right name. In doubt it is the earliest.
const TensorNames& DetectTensorNames(const Checkpoint& checkpoint);

// What layers that predict further tokens have and no others, in Hugging Face folders and GGUF files.
inline constexpr std::string_view kPredictionParts[] = {"eh_proj.", "enorm.", "hnorm.", "shared_head.", "nextn."};

// True for tensors that hold no parameters: older exporters saved the RoPE frequencies, and GGUF files hold what scales
// them, which a Config computes.
bool IsDerivedTensor(std::string_view name);

// The beginnings of the names of tensors that are no part of a language model: what sees and hears, and layers that
// predict further tokens. Whatever else no layer asks for is refused.
inline constexpr std::string_view kOtherParts[] = {"vision_tower.",
                                                   "vision_model.",
                                                   "multi_modal_projector.",
                                                   "visual.",
                                                   "audio_tower.",
                                                   "embed_vision.",
                                                   "embed_audio.",
                                                   "model.vision_tower.",
                                                   "model.vision_model.",
                                                   "model.multi_modal_projector.",
                                                   "model.visual.",
                                                   "model.audio_tower.",
                                                   "model.embed_vision.",
                                                   "model.embed_audio.",
                                                   "mtp.",
                                                   "model.mtp."};

bool IsOfOtherPart(std::string_view name);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/weights/files/detail/tensor_names.h"
#endif

#endif  // SKALD_WEIGHTS_FILES_TENSOR_NAMES_H_
