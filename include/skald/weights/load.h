// SPDX-License-Identifier: Apache-2.0
//
// From a Hugging Face checkpoint to ModelWeights, checked against a Config. Everything that a file
// can get wrong is found before the first parameter is packed. Only reading the Config's facts is a
// template; the rest compiles once.

#ifndef SKALD_WEIGHTS_LOAD_H_
#define SKALD_WEIGHTS_LOAD_H_

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/base/executor.h"
#include "skald/base/memory_limit.h"
#include "skald/base/numeric.h"
#include "skald/base/result.h"
#include "skald/base/thread_pool.h"
#include "skald/configs/model_config.h"
#include "skald/weights/checkpoint.h"
#include "skald/weights/load_plan.h"
#include "skald/weights/model_weights.h"
#include "skald/weights/tensor_names.h"

namespace skald {

struct LoadOptions {
  // Element type of matrices in memory: kBF16, or kF32 for exact comparison. F32 and F16
  // checkpoints lose bits as bf16 (rounded to nearest even, as activations are). Vectors (norms,
  // biases) are always float.
  DType dtype = DType::kBF16;
  unsigned threads = 1;  // that pack; 1 to kMaxThreads
  // Called from the loading thread every few dozen megabytes, in steps that end at bytes_done ==
  // bytes_total.
  std::function<void(const LoadProgress&)> progress = {};
};

// What a Config says about the tensors of its checkpoints.
struct WeightShapes {
  size_t model_dim, feed_forward_dim, vocab_size, query_dim, kv_dim, head_dim, layers;
  bool tied_embeddings, qkv_bias, qk_norm, post_norms, unit_offset_norms;
};

template <ModelConfig C>
constexpr WeightShapes WeightShapesOf() {
  static_assert(CheckConfig<C>());
  return {
      .model_dim = C::kModelDim,
      .feed_forward_dim = C::kFeedForwardDim,
      .vocab_size = C::kVocabSize,
      .query_dim = size_t{C::kHeads} * C::kHeadDim,
      .kv_dim = size_t{C::kKVHeads} * C::kHeadDim,
      .head_dim = C::kHeadDim,
      .layers = NumLayersOf<C>(),
      .tied_embeddings = C::kTiedEmbeddings,
      .qkv_bias = HasQKVBias<C>(),
      .qk_norm = HasQKNorm<C>(),
      .post_norms = HasPostNorms<C>(),
      .unit_offset_norms = HasUnitOffsetNorms<C>(),
  };
}

namespace internal {

inline void PlanLayer(const WeightShapes& shapes, const TensorNames& names, size_t index,
                      LoadPlan& plan, LayerWeights& layer) {
  const auto name = [&](std::string_view part) { return names.Layer(index, part); };
  const float offset = shapes.unit_offset_norms ? 1.0f : 0.0f;
  const auto add_norm = [&](std::vector<float>& norm, std::string_view part, size_t size) {
    plan.AddVector(norm, {{name(part), size}}, offset);
  };
  const size_t model = shapes.model_dim, query = shapes.query_dim, kv = shapes.kv_dim;
  const size_t hidden = shapes.feed_forward_dim;

  add_norm(layer.input_norm, "input_layernorm.weight", model);
  AttentionWeights& attention = layer.attention;
  plan.AddMatrix(attention.qkv, model,
                 {{name("self_attn.q_proj.weight"), query},
                  {name("self_attn.k_proj.weight"), kv},
                  {name("self_attn.v_proj.weight"), kv}});
  if (shapes.qkv_bias) {
    plan.AddVector(attention.qkv_bias, {{name("self_attn.q_proj.bias"), query},
                                        {name("self_attn.k_proj.bias"), kv},
                                        {name("self_attn.v_proj.bias"), kv}});
  }
  if (shapes.qk_norm) {
    add_norm(attention.query_norm, "self_attn.q_norm.weight", shapes.head_dim);
    add_norm(attention.key_norm, "self_attn.k_norm.weight", shapes.head_dim);
  }
  plan.AddMatrix(attention.output, query, {{name("self_attn.o_proj.weight"), model}});

  // The name post_attention_layernorm means two things: the norm before the feed-forward block in
  // models without post-norms, the norm of the attention output in models with them.
  if (shapes.post_norms) {
    add_norm(layer.post_attention_norm, "post_attention_layernorm.weight", model);
    add_norm(layer.feed_forward_norm, "pre_feedforward_layernorm.weight", model);
    add_norm(layer.post_feed_forward_norm, "post_feedforward_layernorm.weight", model);
  } else {
    add_norm(layer.feed_forward_norm, "post_attention_layernorm.weight", model);
  }
  plan.AddMatrix(layer.feed_forward.gate_up, model,
                 {{name("mlp.gate_proj.weight"), hidden}, {name("mlp.up_proj.weight"), hidden}});
  plan.AddMatrix(layer.feed_forward.down, hidden, {{name("mlp.down_proj.weight"), model}});
}

// Plans every tensor and checks that they are there, fit, and are all there are.
inline Result<void> PlanModel(const WeightShapes& shapes, const TensorNames& names, LoadPlan& plan,
                              ModelWeights& weights) {
  const size_t vocab = shapes.vocab_size, model = shapes.model_dim;
  plan.AddMatrix(weights.embedding, model, {{names.Embedding(), vocab}});
  weights.layers.resize(shapes.layers);
  for (size_t i = 0; i < shapes.layers; ++i) PlanLayer(shapes, names, i, plan, weights.layers[i]);
  plan.AddVector(weights.final_norm, {{names.FinalNorm(), model}},
                 shapes.unit_offset_norms ? 1.0f : 0.0f);
  if (shapes.tied_embeddings) {
    plan.AllowCopy(names.Head(), names.Embedding());
  } else {
    plan.AddMatrix(weights.head.emplace(), model, {{names.Head(), vocab}});
  }
  return plan.Check(names);
}

}  // namespace internal

// Returns the weights that `shapes` describes, packed. The checkpoint is not needed afterwards.
// Errors name the tensor, what was expected and what was found.
//
// Tensors of the language model that `shapes` does not mention are an error; others (a vision
// tower) are left alone. With tied embeddings an output head in the checkpoint is accepted only if
// it is a copy of the embedding.
inline Result<ModelWeights> LoadWeights(const Checkpoint& checkpoint, const WeightShapes& shapes,
                                        const LoadOptions& options = {}) {
  if (options.dtype != DType::kBF16 && options.dtype != DType::kF32) {
    return Fail(ErrorCode::kUnsupported,
                "LoadOptions::dtype: expected kBF16 or kF32; F16 is a file format only");
  }
  if (options.threads == 0 || options.threads > kMaxThreads) {
    return Fail(ErrorCode::kInvalidArgument,
                "LoadOptions::threads: expected 1 to " + std::to_string(kMaxThreads));
  }
  return CatchOutOfMemory(checkpoint.path().string(), [&]() -> Result<ModelWeights> {
    ModelWeights weights;
    weights.dtype = options.dtype;
    internal::LoadPlan plan(checkpoint);
    Result<void> planned =
        internal::PlanModel(shapes, DetectTensorNames(checkpoint), plan, weights);
    if (!planned) return Failure(std::move(planned.error()));
    ThreadPool pool(options.threads);
    plan.Execute(options.dtype, ExecutorRef(pool), options.progress);
    return weights;
  });
}

// The same for the Config C.
template <ModelConfig C>
Result<ModelWeights> LoadWeights(const Checkpoint& checkpoint, const LoadOptions& options = {}) {
  return LoadWeights(checkpoint, WeightShapesOf<C>(), options);
}

// The same from a folder or file, as Checkpoint::Open takes it.
template <ModelConfig C>
Result<ModelWeights> LoadWeights(const std::filesystem::path& path,
                                 const LoadOptions& options = {}) {
  const Result<Checkpoint> checkpoint = Checkpoint::Open(path);
  if (!checkpoint) return Fail(checkpoint.error().code, checkpoint.error().message);
  return LoadWeights<C>(*checkpoint, options);
}

}  // namespace skald

#endif  // SKALD_WEIGHTS_LOAD_H_
