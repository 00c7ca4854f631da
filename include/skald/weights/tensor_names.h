// SPDX-License-Identifier: Apache-2.0
//
// The names that Hugging Face checkpoints and GGUF files give their tensors. Each family of checkpoints is one row of a
// table; which row a checkpoint follows is seen from the names in it, so any Config can be loaded from any of them.
//
// The parts of a recurrent layer have the names of the family that the layer's kind comes from, in every row. So a
// Config of one's own that mixes attention with recurrent layers is loaded from a checkpoint with the names of the
// Llama lineage in which a kRgLru layer has, where others have `self_attn.*`,
//   temporal_block.{linear_y,linear_x,linear_out}.{weight,bias}, temporal_block.conv_1d.{weight,bias},
//   temporal_block.rg_lru.{input_gate_weight,input_gate_bias,recurrent_gate_weight,recurrent_gate_bias,recurrent_param}
// a kMamba layer
//   mixer.{in_proj,x_proj,out_proj}.weight, mixer.{conv1d,dt_proj}.{weight,bias}, mixer.{A_log,D}
// and a kMamba2 layer
//   mixer.{in_proj,norm,out_proj}.weight, mixer.conv1d.{weight,bias}, mixer.{A_log,D,dt_bias}

#ifndef SKALD_WEIGHTS_TENSOR_NAMES_H_
#define SKALD_WEIGHTS_TENSOR_NAMES_H_

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "skald/base/message.h"
#include "skald/configs/layer.h"
#include "skald/weights/checkpoint.h"

namespace skald {

// How a family names the tensors of its language models. Multimodal checkpoints put them under a prefix of their own,
// which changed over time, beside a vision part that Skald does not read.
struct TensorNames {
  std::string_view body;  // in front of the embedding, the layers and the final norm
  std::string_view head;  // in front of the output head's "weight"
  std::string_view embedding = "embed_tokens.weight";
  std::string_view final_norm = "norm.weight";
  std::string_view layers = "layers.";

  // Within a layer. The first part of a name, and the parts between it and "weight" or "bias".
  std::string_view input_norm = "input_layernorm.weight";
  std::string_view feed_forward_norm = "post_attention_layernorm.weight";
  std::string_view attention = "self_attn.";
  std::string_view query = "q_proj.", key = "k_proj.", value = "v_proj.", attention_output = "o_proj.";
  std::string_view query_norm = "q_norm.", key_norm = "k_norm.";
  std::string_view feed_forward = "mlp.";
  std::string_view gate = "gate_proj.", up = "up_proj.", down = "down_proj.";

  // The norms of models that have one after each block too. The name post_attention_layernorm means two things: the
  // norm before the feed-forward block in models without post-norms, the norm of the mixer's output in models with
  // them.
  std::string_view post_attention_norm = "post_attention_layernorm.weight";
  std::string_view pre_feed_forward_norm = "pre_feedforward_layernorm.weight";
  std::string_view post_feed_forward_norm = "post_feedforward_layernorm.weight";

  // Norms that multiply by one plus their parameter (kUnitOffsetNorms) are stored with the one added.
  bool norms_with_offset = false;

  std::string Embedding() const { return Concat({body, embedding}); }
  std::string FinalNorm() const { return Concat({body, final_norm}); }
  std::string Head() const { return Concat({head, "weight"}); }

  // `part` as in "self_attn.q_proj.weight".
  std::string Layer(size_t layer, std::string_view part) const {
    return Concat({body, layers, std::to_string(layer), ".", part});
  }

  // True when this tensor belongs to the language model, so that a Config has to account for it.
  bool Covers(std::string_view name) const {
    return name.starts_with(body) || name.starts_with(head);
  }
};

inline constexpr std::array kTensorNames = {
    // The Llama lineage (Llama, Mistral, Qwen, Gemma): text models,
    TensorNames{.body = "model.", .head = "lm_head."},
    // multimodal Gemma 3 as first published and as later versions write it.
    TensorNames{.body = "language_model.model.", .head = "language_model.lm_head."},
    TensorNames{.body = "model.language_model.", .head = "lm_head."},
    // RecurrentGemma.
    TensorNames{.body = "model.",
                .head = "lm_head.",
                .final_norm = "final_norm.weight",
                .input_norm = "temporal_pre_norm.weight",
                .feed_forward_norm = "channel_pre_norm.weight",
                .attention = "temporal_block.",
                .feed_forward = "mlp_block."},
    // Mamba and Mamba-2 as transformers writes them, and with the embedding as their authors named it.
    TensorNames{.body = "backbone.",
                .head = "lm_head.",
                .embedding = "embeddings.weight",
                .final_norm = "norm_f.weight",
                .input_norm = "norm.weight"},
    TensorNames{.body = "backbone.",
                .head = "lm_head.",
                .embedding = "embedding.weight",
                .final_norm = "norm_f.weight",
                .input_norm = "norm.weight"},
    // GGUF (https://github.com/ggml-org/llama.cpp, gguf-py/gguf/constants.py): one language model and nothing else.
    TensorNames{.body = "",
                .head = "output.",
                .embedding = "token_embd.weight",
                .final_norm = "output_norm.weight",
                .layers = "blk.",
                .input_norm = "attn_norm.weight",
                .feed_forward_norm = "ffn_norm.weight",
                .attention = "attn_",
                .query = "q.",
                .key = "k.",
                .value = "v.",
                .attention_output = "output.",
                .feed_forward = "ffn_",
                .gate = "gate.",
                .up = "up.",
                .down = "down.",
                .post_attention_norm = "post_attention_norm.weight",
                .pre_feed_forward_norm = "ffn_norm.weight",
                .post_feed_forward_norm = "post_ffw_norm.weight",
                .norms_with_offset = true},
};

// What stands in front of the names of a recurrent layer's parts.
inline std::string_view RecurrentPrefix(LayerKind kind) {
  return kind == LayerKind::kRgLru ? "temporal_block." : "mixer.";
}

// Returns the names that the checkpoint follows: those of which it has most of the three tensors that every model has,
// so that the error about a tensor that is missing calls it by its right name. In doubt it is the earliest.
inline const TensorNames& DetectTensorNames(const Checkpoint& checkpoint) {
  const TensorNames* best = &kTensorNames.front();
  int most = 0;
  for (const TensorNames& names : kTensorNames) {
    int found = 0;
    for (const std::string& name : {names.Embedding(), names.Layer(0, names.input_norm), names.FinalNorm()}) {
      if (checkpoint.Find(name) != nullptr) ++found;
    }
    if (found <= most) continue;
    most = found;
    best = &names;
  }
  return *best;
}

// True for tensors that hold no parameters: older exporters saved the RoPE frequencies, and GGUF files hold what scales
// them, which a Config computes.
inline bool IsDerivedTensor(std::string_view name) {
  return name.ends_with(".rotary_emb.inv_freq") || name == "rope_freqs.weight";
}

}  // namespace skald

#endif  // SKALD_WEIGHTS_TENSOR_NAMES_H_
