// SPDX-License-Identifier: Apache-2.0
//
// Turns the tensors of a Hugging Face checkpoint into those of a GGUF file, as llama.cpp's converter does
// (https://github.com/ggml-org/llama.cpp, convert_hf_to_gguf.py), and a Config into metadata.

#ifndef SKALD_TESTS_SUPPORT_GGUF_CONVERT_H_
#define SKALD_TESTS_SUPPORT_GGUF_CONVERT_H_

#include <cmath>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/families/config/layer.h"
#include "skald/families/config/model_config.h"
#include "skald/families/config/short_form.h"
#include "tests/support/gguf_writer.h"

namespace skald::testing {

// A part of a tensor's name, and its replacement.
using NamePart = std::pair<const char*, const char*>;

// Returns a name with the first of each of these parts, one after the other, replaced.
inline std::string Renamed(std::string name, std::span<const NamePart> parts) {
  for (const auto& [from, to] : parts) {
    const size_t at = name.find(from);
    if (at != std::string::npos) name.replace(at, std::string_view(from).size(), to);
  }
  return name;
}

// The converter's name for a tensor.
inline std::string GgufName(std::string name, bool has_post_norms) {
  const NamePart parts[] = {{"model.embed_tokens.", "token_embd."},
                            {"model.norm.", "output_norm."},
                            {"lm_head.", "output."},
                            {"model.layers.", "blk."},
                            {"input_layernorm.", "attn_norm."},
                            {"pre_feedforward_layernorm.", "ffn_norm."},
                            {"post_feedforward_layernorm.", "post_ffw_norm."},
                            {"post_attention_layernorm.", has_post_norms ? "post_attention_norm." : "ffn_norm."},
                            {"self_attn.o_proj.", "attn_output."},
                            {"self_attn.q_norm.", "attn_q_norm."},
                            {"self_attn.k_norm.", "attn_k_norm."},
                            {"self_attn.qkv_proj.", "attn_qkv."},
                            {"self_attn.q_proj.", "attn_q."},
                            {"self_attn.k_proj.", "attn_k."},
                            {"self_attn.v_proj.", "attn_v."},
                            {"mlp.experts.", "block_sparse_moe.experts."},
                            {"mlp.gate.", "ffn_gate_inp."},
                            {"block_sparse_moe.gate.", "ffn_gate_inp."},
                            {"mlp.gate_up_proj.", "ffn_up."},
                            {"mlp.gate_proj.", "ffn_gate."},
                            {"mlp.up_proj.", "ffn_up."},
                            {"mlp.down_proj.", "ffn_down."}};
  return Renamed(std::move(name), parts);
}

// Moves rows i and i + head_dim / 2 of each head to 2 * i and 2 * i + 1.
inline std::string WithPairsAdjacent(const std::string& bytes, size_t rows, size_t head_dim) {
  std::string moved;
  const size_t row_bytes = bytes.size() / rows;
  for (size_t head = 0; head < rows / head_dim; ++head) {
    for (size_t i = 0; i < head_dim; ++i) {
      const size_t row = head * head_dim + i / 2 + i % 2 * (head_dim / 2);
      moved += bytes.substr(row * row_bytes, row_bytes);
    }
  }
  return moved;
}

// The floats in `bytes`, each as `function` of it.
template <class Function>
std::string MappedFloats(std::string bytes, Function function) {
  for (size_t at = 0; at < bytes.size(); at += sizeof(float)) {
    float value;
    std::memcpy(&value, &bytes[at], sizeof(value));
    value = function(value);
    std::memcpy(&bytes[at], &value, sizeof(value));
  }
  return bytes;
}

// Logarithms of decays as what time steps are multiplied by.
inline std::string WithDecays(std::string bytes) {
  return MappedFloats(std::move(bytes), [](float x) { return static_cast<float>(-std::exp(double{x})); });
}

// The part of the feed-forward layer of an expert that a tensor is, as in "blk.0.ffn_gate_exps.weight"; empty for
// others.
inline std::string StackedName(const std::string& name) {
  const size_t experts = name.find("block_sparse_moe.experts."), part = name.rfind('.', name.rfind('.') - 1);
  if (experts == std::string::npos) return "";
  const std::string projection = name.substr(part + 1, name.rfind('.') - part - 1);
  const std::pair<const char*, const char*> parts[] = {{"gate_proj", "gate"}, {"w1", "gate"}, {"up_proj", "up"},
                                                       {"w3", "up"},          {"w2", "down"}, {"down_proj", "down"},
                                                       {"gate", "gate"},      {"up", "up"},   {"down", "down"}};
  for (const auto& [from, to] : parts) {
    if (projection == from) return name.substr(0, experts) + "ffn_" + to + "_exps.weight";
  }
  return "";
}

// Adds a tensor; those of experts, which follow one another by their numbers, are stacked in one.
inline void AddConverted(NewGgufTensor tensor, std::vector<NewGgufTensor>& converted) {
  const std::string stacked = StackedName(tensor.name);
  if (stacked.empty()) return converted.push_back(std::move(tensor));
  for (NewGgufTensor& other : converted) {
    if (other.name != stacked) continue;
    ++other.shape[0];
    other.bytes += tensor.bytes;
    return;
  }
  tensor.name = stacked;
  tensor.shape.insert(tensor.shape.begin(), 1);
  converted.push_back(std::move(tensor));
}

// Returns the tensors of a GGUF file for C. Those of `tensors` are F32 or BF16.
template <ModelConfig C>
std::vector<NewGgufTensor> GgufTensors(const std::vector<NewTensor>& tensors, std::string_view architecture) {
  const ShortForm form = ShortFormOf<C>();
  std::vector<NewGgufTensor> converted;
  for (const NewTensor& tensor : tensors) {
    std::string bytes = tensor.bytes;
    if (form.unit_offset_norms && tensor.name.ends_with("norm.weight")) {
      for (size_t at = 0; at < bytes.size(); at += sizeof(float)) {
        float value;
        std::memcpy(&value, &bytes[at], sizeof(value));
        value += 1.0f;
        std::memcpy(&bytes[at], &value, sizeof(value));
      }
    }
    const auto ends = [&](std::string_view end) { return tensor.name.ends_with(end); };
    const bool is_turned = ends("q_proj.weight") || ends("k_proj.weight") || ends("q_proj.bias") || ends("k_proj.bias");
    if ((architecture == "llama" || architecture == "smollm3") && is_turned)
      bytes = WithPairsAdjacent(bytes, tensor.shape[0], form.head_dim);
    AddConverted({GgufName(tensor.name, form.post_norms), tensor.dtype == "F32" ? 0u : 30u, tensor.shape, bytes},
                 converted);
  }
  return converted;
}

// The converter's rope_freqs.weight for the scaling of Llama 3.
inline NewGgufTensor RopeDivisors(const RopeSpec& rope, size_t head_dim) {
  std::vector<float> divisors;
  for (size_t i = 0; i < head_dim / 2; ++i) {
    const double scaled = RopeFrequency(rope, i, head_dim);
    divisors.push_back(static_cast<float>(RopeFrequency({.base = rope.base}, i, head_dim) / scaled));
  }
  return {"rope_freqs.weight", 0, {head_dim / 2}, BytesOf(divisors)};
}

// The converter's metadata of a RoPE's factors.
inline std::vector<NewGgufTensor> RopeFactors(const RopeSpec& rope) {
  return {{"rope_factors_long.weight", 0, {rope.factors.size()}, BytesOf(rope.factors)},
          {"rope_factors_short.weight", 0, {rope.short_factors.size()}, BytesOf(rope.short_factors)}};
}

// Returns what the converter writes of C's architecture.
template <ModelConfig C>
GgufValues GgufMetadata(const std::string& architecture) {
  const ShortForm form = ShortFormOf<C>();
  GgufValues values;
  const auto name = [&](std::string_view rest) { return (architecture + ".").append(rest); };
  values.String("general.architecture", architecture).U32(name("block_count"), C::kLayers.size());
  values.U32(name("embedding_length"), C::kModelDim).U32(name("feed_forward_length"), form.feed_forward_dim);
  values.U32(name("attention.head_count"), form.heads).U32(name("attention.head_count_kv"), form.kv_heads);
  values.U32(name("attention.key_length"), form.head_dim).U32(name("attention.value_length"), form.head_dim);
  // Models that were published need not say this one.
  if (form.post_norms) values.F32(name("attention.scale"), static_cast<float>(1.0 / std::sqrt(form.query_pre_scale)));
  values.F32(name("attention.layer_norm_rms_epsilon"), C::kNormEpsilon).U32(name("context_length"), 4096);
  values.F32(name("rope.freq_base"), static_cast<float>(C::kRope.base));
  if (architecture != "llama" && form.window > 0) values.U32(name("attention.sliding_window"), form.window);
  if (form.attention_softcap > 0) values.F32(name("attn_logit_softcapping"), form.attention_softcap);
  if (form.final_softcap > 0) values.F32(name("final_logit_softcapping"), form.final_softcap);
  if (form.rotary_dim != form.head_dim) values.U32(name("rope.dimension_count"), form.rotary_dim);
  if (C::kRope.scaling == RopeScaling::kLongRope) {
    values.U32(name("rope.scaling.original_context_length"), static_cast<uint32_t>(C::kRope.original_context));
    values.F32(name("rope.scaling.attn_factor"), C::kRope.attention_factor);
  }
  if (C::kRope.scaling == RopeScaling::kLinear) {
    values.String(name("rope.scaling.type"), "linear");
    values.F32(name("rope.scaling.factor"), static_cast<float>(C::kRope.factor));
  }
  return values;
}

}  // namespace skald::testing

#endif  // SKALD_TESTS_SUPPORT_GGUF_CONVERT_H_
