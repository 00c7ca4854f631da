// SPDX-License-Identifier: Apache-2.0
//
// Checkpoints of a few kilobytes in which every tensor has other values and other dimensions.

#ifndef SKALD_TESTS_WEIGHTS_TINY_CHECKPOINT_H_
#define SKALD_TESTS_WEIGHTS_TINY_CHECKPOINT_H_

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "skald/configs/layer.h"
#include "skald/weights/load.h"
#include "skald/weights/matrix.h"
#include "skald/weights/model_weights.h"
#include "tests/support/random_weights.h"
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

// Returns the name of the bytes of a tensor of float values that no other name has.
inline NewTensor TinyTensor(const std::string& name, std::vector<uint64_t> shape) {
  size_t size = 1;
  for (const uint64_t axis : shape) size *= axis;
  const uint64_t seed = std::hash<std::string>()(name);
  std::vector<float> values(size);
  for (size_t i = 0; i < size; ++i) values[i] = UniformAt(seed, i);
  return FloatTensor(name, std::move(shape), values);
}

// Returns all tensors of a checkpoint for C, in the order in which exporters write them.
template <ModelConfig C>
std::vector<NewTensor> TinyTensors(const std::string& body = "model.",
                                   const std::string& head = "lm_head.") {
  constexpr uint64_t model = C::kModelDim, hidden = C::kFeedForwardDim,
                     query = C::kHeads * C::kHeadDim;
  constexpr uint64_t kv = C::kKVHeads * C::kHeadDim, head_dim = C::kHeadDim, vocab = C::kVocabSize;
  std::vector<NewTensor> tensors = {TinyTensor(body + "embed_tokens.weight", {vocab, model})};
  for (size_t i = 0; i < C::kLayers.size(); ++i) {
    const auto add = [&](const std::string& part, std::vector<uint64_t> shape) {
      tensors.push_back(
          TinyTensor(body + "layers." + std::to_string(i) + "." + part, std::move(shape)));
    };
    add("input_layernorm.weight", {model});
    add("self_attn.q_proj.weight", {query, model});
    add("self_attn.k_proj.weight", {kv, model});
    add("self_attn.v_proj.weight", {kv, model});
    add("self_attn.o_proj.weight", {model, query});
    if (HasQKVBias<C>()) {
      add("self_attn.q_proj.bias", {query});
      add("self_attn.k_proj.bias", {kv});
      add("self_attn.v_proj.bias", {kv});
    }
    if (HasQKNorm<C>()) {
      add("self_attn.q_norm.weight", {head_dim});
      add("self_attn.k_norm.weight", {head_dim});
    }
    add("post_attention_layernorm.weight", {model});
    if (HasPostNorms<C>()) {
      add("pre_feedforward_layernorm.weight", {model});
      add("post_feedforward_layernorm.weight", {model});
    }
    add("mlp.gate_proj.weight", {hidden, model});
    add("mlp.up_proj.weight", {hidden, model});
    add("mlp.down_proj.weight", {model, hidden});
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
  return a.rows == b.rows && a.cols == b.cols && a.dtype == b.dtype &&
         a.data.size() == b.data.size() &&
         std::equal(a.data.data(), a.data.data() + a.data.size(), b.data.data());
}

// All parameters of a model, in a fixed order.
struct ParameterList {
  explicit ParameterList(const ModelWeights& weights) {
    VisitParameters(weights, [this](const auto& parameter) { Add(parameter); });
  }
  void Add(const Matrix& matrix) { matrices.push_back(&matrix); }
  void Add(const std::vector<float>& vector) { vectors.push_back(&vector); }

  std::vector<const Matrix*> matrices;
  std::vector<const std::vector<float>*> vectors;
};

// True when two sets of weights are equal in every bit.
inline bool SameWeights(const ModelWeights& a, const ModelWeights& b) {
  const ParameterList in_a(a), in_b(b);
  return a.dtype == b.dtype && a.head.has_value() == b.head.has_value() &&
         std::ranges::equal(in_a.matrices, in_b.matrices,
                            [](const Matrix* x, const Matrix* y) { return SameMatrix(*x, *y); }) &&
         std::ranges::equal(in_a.vectors, in_b.vectors, [](const auto* x, const auto* y) { return *x == *y; });
}

}  // namespace skald::testing

#endif  // SKALD_TESTS_WEIGHTS_TINY_CHECKPOINT_H_
