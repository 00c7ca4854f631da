// SPDX-License-Identifier: Apache-2.0
//
// Checkpoints of a few kilobytes in which every tensor has other values and other dimensions.

#ifndef SKALD_TESTS_WEIGHTS_TINY_CHECKPOINT_H_
#define SKALD_TESTS_WEIGHTS_TINY_CHECKPOINT_H_

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/families/config/layer.h"
#include "skald/families/config/model_config.h"
#include "skald/families/config/short_form.h"
#include "skald/layers/model_weights.h"
#include "skald/model/load.h"
#include "skald/weights/parameters.h"
#include "skald/weights/random_weights.h"
#include "skald/weights/types/matrix.h"
#include "tests/support/safetensors_writer.h"

namespace skald::testing {

struct TinyModel {
  static constexpr std::string_view kName = "tiny";
  static constexpr int kModelDim = 6, kFeedForwardDim = 10, kVocabSize = 19;
  static constexpr int kHeads = 4, kKVHeads = 2, kHeadDim = 2;
  static constexpr auto kLayers = RepeatLayers<2>({LayerKind::kFullAttention});
  static constexpr RopeSpec kRope = {};
  static constexpr float kNormEpsilon = 1e-5f;
  static constexpr Activation kActivation = Activation::kSilu;
  static constexpr bool kTiedEmbeddings = false;
};

struct TinyTied : TinyModel {
  static constexpr bool kTiedEmbeddings = true;
};

// Has every optional tensor.
struct TinyFull : TinyModel {
  static constexpr bool kQKVBias = true, kQKNorm = true, kPostNorms = true, kUnitOffsetNorms = true;
};

// A model of one's own that mixes attention with recurrent layers, with all biases.
struct TinyHybrid : TinyModel {
  static constexpr std::string_view kName = "tiny-hybrid";
  static constexpr std::array kLayers = {LayerKind::kRgLru, LayerKind::kFullAttention, LayerKind::kMamba2,
                                         LayerKind::kSlidingAttention};
  static constexpr int kWindow = 3, kConvWidth = 3;
  static constexpr int kLruWidth = 8, kLruBlocks = 2;
  static constexpr int kSsmHeads = 6, kSsmHeadDim = 2, kStateDim = 5, kSsmGroups = 2;
  static constexpr bool kAttentionOutputBias = true, kFeedForwardBias = true;
};

// Neither attention nor feed-forward blocks.
struct TinyMambaModel {
  static constexpr std::string_view kName = "tiny-mamba";
  static constexpr int kModelDim = 6, kVocabSize = 19;
  static constexpr int kInnerDim = 10, kStateDim = 4, kTimeStepRank = 3, kConvWidth = 2;
  static constexpr auto kLayers = RepeatLayers<2>({LayerKind::kMamba});
  static constexpr float kNormEpsilon = 1e-5f;
  static constexpr bool kTiedEmbeddings = true;
};

// Returns a tensor of float values that no tensor of another name has.
inline NewTensor TinyTensor(const std::string& name, std::vector<uint64_t> shape) {
  size_t size = 1;
  for (const uint64_t axis : shape) size *= axis;
  const uint64_t seed = std::hash<std::string>()(name);
  std::vector<float> values(size);
  for (size_t i = 0; i < size; ++i) values[i] = internal::UniformAt(seed, i);
  return FloatTensor(name, std::move(shape), values);
}

// Tensors by the names of their layer's parts, and their shapes.
using TinyParts = std::vector<std::pair<std::string, std::vector<uint64_t>>>;

inline TinyParts TinyAttention(const ShortForm& form) {
  const uint64_t model = form.model_dim, head_dim = form.head_dim;
  const uint64_t query = form.heads * head_dim, kv = form.kv_heads * head_dim;
  TinyParts parts = {{"self_attn.q_proj.weight", {query, model}},
                     {"self_attn.k_proj.weight", {kv, model}},
                     {"self_attn.v_proj.weight", {kv, model}},
                     {"self_attn.o_proj.weight", {model, query}}};
  const auto add = [&](const char* name, std::vector<uint64_t> shape) { parts.emplace_back(name, shape); };
  if (form.qkv_bias) {
    add("self_attn.q_proj.bias", {query});
    add("self_attn.k_proj.bias", {kv});
    add("self_attn.v_proj.bias", {kv});
  }
  if (form.attention_output_bias) add("self_attn.o_proj.bias", {model});
  if (form.qk_norm) {
    add("self_attn.q_norm.weight", {head_dim});
    add("self_attn.k_norm.weight", {head_dim});
  }
  return parts;
}

inline TinyParts TinyRgLru(const RgLru& lru, uint64_t model) {
  const uint64_t width = lru.width, heads = lru.blocks, block = width / heads, taps = lru.conv_width;
  return {{"temporal_block.linear_y.weight", {width, model}},
          {"temporal_block.linear_y.bias", {width}},
          {"temporal_block.linear_x.weight", {width, model}},
          {"temporal_block.linear_x.bias", {width}},
          {"temporal_block.conv_1d.weight", {width, 1, taps}},
          {"temporal_block.conv_1d.bias", {width}},
          {"temporal_block.rg_lru.input_gate_weight", {heads, block, block}},
          {"temporal_block.rg_lru.input_gate_bias", {heads, block}},
          {"temporal_block.rg_lru.recurrent_gate_weight", {heads, block, block}},
          {"temporal_block.rg_lru.recurrent_gate_bias", {heads, block}},
          {"temporal_block.rg_lru.recurrent_param", {width}},
          {"temporal_block.linear_out.weight", {model, width}},
          {"temporal_block.linear_out.bias", {model}}};
}

inline TinyParts TinyMamba(const Mamba& mamba, uint64_t model) {
  const uint64_t width = mamba.inner_dim, state = mamba.state_dim, rank = mamba.time_step_rank, taps = mamba.conv_width;
  return {{"mixer.in_proj.weight", {2 * width, model}},
          {"mixer.conv1d.weight", {width, 1, taps}},
          {"mixer.conv1d.bias", {width}},
          {"mixer.x_proj.weight", {rank + 2 * state, width}},
          {"mixer.dt_proj.weight", {width, rank}},
          {"mixer.dt_proj.bias", {width}},
          {"mixer.A_log", {width, state}},
          {"mixer.D", {width}},
          {"mixer.out_proj.weight", {model, width}}};
}

inline TinyParts TinyMamba2(const Mamba2& mamba, uint64_t model) {
  const uint64_t heads = mamba.heads, width = heads * mamba.head_dim, taps = mamba.conv_width;
  const uint64_t channels = width + 2 * mamba.groups * mamba.state_dim;
  return {{"mixer.in_proj.weight", {width + channels + heads, model}},
          {"mixer.conv1d.weight", {channels, 1, taps}},
          {"mixer.conv1d.bias", {channels}},
          {"mixer.dt_bias", {heads}},
          {"mixer.A_log", {heads}},
          {"mixer.D", {heads}},
          {"mixer.norm.weight", {width}},
          {"mixer.out_proj.weight", {model, width}}};
}

inline TinyParts TinyMixer(const ShortForm& form, LayerKind kind) {
  const uint64_t model = form.model_dim;
  if (IsAttention(kind)) return TinyAttention(form);
  if (kind == LayerKind::kRgLru) return TinyRgLru(form.rg_lru, model);
  return kind == LayerKind::kMamba ? TinyMamba(form.mamba, model) : TinyMamba2(form.mamba2, model);
}

inline TinyParts TinyFeedForward(const ShortForm& form) {
  const uint64_t model = form.model_dim, hidden = form.feed_forward_dim;
  TinyParts parts = {{"mlp.gate_proj.weight", {hidden, model}},
                     {"mlp.up_proj.weight", {hidden, model}},
                     {"mlp.down_proj.weight", {model, hidden}}};
  if (form.feed_forward_bias) {
    parts.insert(parts.end(),
                 {{"mlp.gate_proj.bias", {hidden}}, {"mlp.up_proj.bias", {hidden}}, {"mlp.down_proj.bias", {model}}});
  }
  return parts;
}

// Returns all tensors of a checkpoint for C by the names of the Llama lineage, in the order in which exporters write
// them.
template <ModelConfig C>
std::vector<NewTensor> TinyTensors(const std::string& body = "model.", const std::string& head = "lm_head.") {
  constexpr uint64_t model = C::kModelDim, vocab = C::kVocabSize;
  const ShortForm form = ShortFormOf<C>();
  std::vector<NewTensor> tensors = {TinyTensor(body + "embed_tokens.weight", {vocab, model})};
  for (size_t i = 0; i < C::kLayers.size(); ++i) {
    const auto add = [&](const TinyParts& parts) {
      for (const auto& [name, shape] : parts) {
        tensors.push_back(TinyTensor(body + "layers." + std::to_string(i) + "." + name, shape));
      }
    };
    add({{"input_layernorm.weight", {model}}});
    add(TinyMixer(form, C::kLayers[i]));
    if (form.feed_forward_dim == 0) continue;
    add({{"post_attention_layernorm.weight", {model}}});
    if (form.post_norms) {
      add({{"pre_feedforward_layernorm.weight", {model}}, {"post_feedforward_layernorm.weight", {model}}});
    }
    add(TinyFeedForward(form));
  }
  tensors.push_back(TinyTensor(body + "norm.weight", {model}));
  if (!C::kTiedEmbeddings) tensors.push_back(TinyTensor(head + "weight", {vocab, model}));
  return tensors;
}

// Returns the tensor of this name, which must be there.
inline NewTensor& TensorNamed(std::vector<NewTensor>& tensors, std::string_view name) {
  return *std::ranges::find(tensors, name, &NewTensor::name);
}

inline std::vector<float> FloatsOf(const NewTensor& tensor) {
  std::vector<float> values(tensor.bytes.size() / sizeof(float));
  std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
  return values;
}

inline bool SameMatrix(const Matrix& a, const Matrix& b) {
  return a.rows == b.rows && a.cols == b.cols && a.dtype == b.dtype && a.row_scale == b.row_scale &&
         a.has_order == b.has_order && a.has_factors == b.has_factors && a.data.size() == b.data.size() &&
         std::equal(a.data.data(), a.data.data() + a.data.size(), b.data.data());
}

// All parameters of a model, in a fixed order.
struct ParameterArrays {
  explicit ParameterArrays(const ModelWeights& weights) {
    ForEachArray(
        ParametersOf(weights), [this](const Matrix& matrix, size_t, size_t) { matrices.push_back(&matrix); },
        [this](const std::vector<float>& vector, size_t) { vectors.push_back(&vector); });
  }

  std::vector<const Matrix*> matrices;
  std::vector<const std::vector<float>*> vectors;
};

// True when two sets of weights are equal in every bit.
inline bool SameWeights(const ModelWeights& a, const ModelWeights& b) {
  const ParameterArrays in_a(a), in_b(b);
  return a.dtype == b.dtype && a.head.has_value() == b.head.has_value() &&
         std::ranges::equal(in_a.matrices, in_b.matrices,
                            [](const Matrix* x, const Matrix* y) { return SameMatrix(*x, *y); }) &&
         std::ranges::equal(in_a.vectors, in_b.vectors, [](const auto* x, const auto* y) { return *x == *y; });
}

}  // namespace skald::testing

#endif  // SKALD_TESTS_WEIGHTS_TINY_CHECKPOINT_H_
