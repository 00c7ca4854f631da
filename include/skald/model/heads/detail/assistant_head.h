// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/model/heads/assistant_head.h. Sources: models/gemma4_assistant/modeling_gemma4_assistant.py and
// generation/candidate_generator.py, version 5 of https://github.com/huggingface/transformers, and
// src/models/gemma4-assistant.cpp of https://github.com/ggml-org/llama.cpp. A row at position p sees the keys of a
// window at positions after p - window, as in llama.cpp and in the model itself. (transformers lets it see two more
// where the model's cache has them.) Groups of tokens are chosen from as in transformers.

#ifndef SKALD_MODEL_HEADS_DETAIL_ASSISTANT_HEAD_H_
#define SKALD_MODEL_HEADS_DETAIL_ASSISTANT_HEAD_H_

#include "skald/model/heads/assistant_head.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "skald/base/aligned_buffer.h"
#include "skald/base/files/path_text.h"
#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/base/text/message.h"
#include "skald/base/threads/executor.h"
#include "skald/base/threads/float_environment.h"
#include "skald/base/threads/thread_pool.h"
#include "skald/families/config/usual_layer.h"
#include "skald/families/registry.h"
#include "skald/layers/kinds/attention.h"
#include "skald/layers/kinds/cross_attention.h"
#include "skald/layers/kinds/gated_feed_forward.h"
#include "skald/layers/run/operations.h"
#include "skald/layers/run/weight_kernels.h"
#include "skald/layers/standard_layers.h"
#include "skald/model/detail/other_caches.h"
#include "skald/model/heads/detail/assistant_config.h"
#include "skald/model/heads/detail/head_loader.h"
#include "skald/model/heads/detail/matrix_views.h"
#include "skald/model/load.h"
#include "skald/weights/files/checkpoint.h"
#include "skald/weights/files/tensor_names.h"
#include "skald/weights/packing/pack.h"
#include "skald/weights/random_weights.h"

namespace skald {

namespace internal {

// The layers, with attention to another model's keys and values; nothing if one is of another kind than those of
// published heads.
inline std::optional<ModelSpec> AssistantSpec(ModelSpec spec) {
  if (spec.per_layer_dim > 0) return std::nullopt;
  spec.final_softcap = 0.0f;  // of the model alone
  for (Block& block : spec.blocks) {
    if (block.layers.size() != 1) return std::nullopt;
    if (block.layers[0].As<GatedFeedForward>() != nullptr) continue;
    const auto* const own = block.layers[0].As<Attention>();
    if (own == nullptr) return std::nullopt;
    CrossAttention reads = {.attention = *own};
    reads.attention.shared_layer = 0;
    reads.attention.value_norm.reset();
    reads.attention.keys_as_values = false;
    block.layers[0] = reads;
  }
  return spec;
}

inline std::vector<LayerFunction> AssistantFunctions() {
  std::vector<LayerFunction> functions = StandardLayers::Functions();
  functions.push_back(LayerFunctionOf<CrossAttention>());
  return functions;
}

// Whether the model's caches have what the layers read, turned as they expect it.
inline bool CanRead(const ModelSpec& layers, const CacheLayout& layout) {
  const PassGroups read(layers);
  return std::ranges::all_of(read.groups, [&](const CacheGroup& group) {
    const auto slot = FindLayerLike(layout, group);
    return slot && layout.groups()[slot->group].rope == group.rope;
  });
}

// The weights of a head of these layers, with an embedding and an output head of its own.
inline HeadWeights AssistantWeights(ModelSpec spec, const AnyModel& model, DType dtype) {
  HeadWeights weights(std::move(spec), model);
  weights.body.dtype = dtype;
  weights.body.embedding = {};
  weights.body.head.reset();
  weights.body.head_bias.clear();
  if (!weights.body.spec.tied_embeddings) weights.body.head.emplace();
  return weights;
}

// The matrices around the layers, with the centroids of `groups` included.
inline ParameterList AroundOf(HeadParts& parts, size_t dim, size_t width, size_t groups) {
  ParameterList list;
  list.AddMatrix(parts.projection, 2 * width, {{"pre_projection.weight", dim}});
  list.AddMatrix(parts.back, dim, {{"post_projection.weight", width}});
  if (groups == 0) return list;
  list.AddMatrix(parts.groups.emplace().centroids, dim, {{"masked_embedding.centroids.weight", groups}});
  return list;
}

// The matrix of a head's own whose rows are its tokens.
inline Matrix& OutputOf(ModelWeights& body) { return body.head ? *body.head : body.embedding; }

// Puts the rows of the output head, which are floats, in the order of `ids`, packed as `type`.
inline void OrderOutput(HeadWeights& weights, std::vector<int32_t> ids, DType type, ThreadPool& pool) {
  Matrix& own = OutputOf(weights.body);
  MatMulScratch scratch;
  const ExecutorRef executor(pool);
  Operations ops(executor, scratch, WeightKernelsOf<AllWeights>());
  AlignedBuffer<float> rows(ids.size() * own.cols);
  ops.Embed(own, ids, 1.0f, {rows.data(), own.cols});
  const PackSource source = {reinterpret_cast<const std::byte*>(rows.data()), DType::kF32, ids.size()};
  weights.parts.output = PackMatrix({&source, 1}, own.cols, *FindType(WeightPackersOf<AllWeights>(), type), executor);
  weights.parts.ids = std::move(ids);
  own = ViewOf(*weights.parts.output);  // an embedding is looked up, but what it gives is not read
}

inline constexpr const char* kTokenOrder = "masked_embedding.token_ordering";

// Reads the order of tokens: each once.
inline Result<std::vector<int32_t>> OrderOf(const Checkpoint& checkpoint, size_t vocab) {
  const TensorView* const tensor = checkpoint.Find(kTokenOrder);
  if (tensor == nullptr) return Fail(ErrorCode::kNotFound, Concat({"has no tensor ", kTokenOrder}));
  std::vector<int64_t> numbers(vocab);
  if (tensor->dtype_name != "I64" || tensor->bytes.size() != vocab * sizeof(int64_t)) {
    return Fail(ErrorCode::kInvalidArgument, Concat({kTokenOrder, ": expected I64, one for each token"}));
  }
  std::memcpy(numbers.data(), tensor->bytes.data(), tensor->bytes.size());
  std::vector<int32_t> order;
  std::vector<bool> is_there(vocab);
  for (const int64_t number : numbers) {
    if (number < 0 || static_cast<size_t>(number) >= vocab || is_there[static_cast<size_t>(number)]) {
      return Fail(ErrorCode::kInvalidArgument, Concat({kTokenOrder, ": expected each token once"}));
    }
    is_there[static_cast<size_t>(number)] = true;
    order.push_back(static_cast<int32_t>(number));
  }
  return order;
}

inline Result<AssistantConfig> ReadAssistantConfig(const std::filesystem::path& path, const Checkpoint& checkpoint) {
  if (checkpoint.gguf() != nullptr) return ReadAssistantGguf(*checkpoint.gguf());
  return ReadAssistantFolder(path);
}

inline Result<DraftHead> LoadAssistant(const std::filesystem::path& path, const AnyModel& model,
                                       const LoadOptions& options) {
  SKALD_TRY(CheckLoadOptions(options, WeightPackersOf<AllWeights>()));
  SKALD_ASSIGN(const auto checkpoint, Checkpoint::Open(path));
  SKALD_ASSIGN(const auto config, ReadAssistantConfig(path, checkpoint));
  auto spec = AssistantSpec(config.layers);
  if (!spec) return Fail(ErrorCode::kUnsupported, "expected layers of attention and gated feed-forward layers");
  if (const char* why = WhyImpossible(*spec)) return Fail(ErrorCode::kUnsupported, why);
  if (spec->vocab_size != model.spec().vocab_size || config.model_dim != model.spec().model_dim) {
    return Fail(ErrorCode::kInvalidArgument,
                Concat({"is for a vocabulary of ", std::to_string(spec->vocab_size), " tokens and a width of ",
                        std::to_string(config.model_dim), ", which are not those of the model ", model.name()}));
  }
  if (!CanRead(*spec, model.layout())) {
    return Fail(ErrorCode::kInvalidArgument,
                Concat({"reads keys and values that the model ", model.name(), " does not keep"}));
  }
  const auto dim = static_cast<size_t>(spec->model_dim), vocab = static_cast<size_t>(spec->vocab_size);
  HeadWeights weights = AssistantWeights(*std::move(spec), model, options.dtype);
  HeadParts& parts = weights.parts;
  std::vector<int32_t> order;
  if (config.groups > 0) {
    if (vocab % config.groups != 0 || config.chosen == 0 || config.chosen > config.groups) {
      return Fail(ErrorCode::kInvalidArgument,
                  "num_centroids and centroid_intermediate_top_k do not fit the vocabulary");
    }
    SKALD_ASSIGN(order, OrderOf(checkpoint, vocab));
  }
  const ParameterList around = AroundOf(parts, dim, static_cast<size_t>(config.model_dim), config.groups);
  if (parts.groups) parts.groups->most = config.chosen;
  const TensorNames names = {.body = checkpoint.gguf() != nullptr ? "nextn." : "", .head = "lm_head."};
  const ParameterList list = ParametersOf(weights.body);
  std::vector<Parameter> layers = list.parameters();
  for (Parameter& parameter : layers) {
    auto* const matrix = std::get_if<MatrixParameter>(&parameter.value);
    const bool is_output = matrix != nullptr && matrix->target == &OutputOf(weights.body);
    if (is_output && parts.groups) matrix->dtype = DType::kF32;  // packed when its rows are in order
  }
  HeadLoader loader(checkpoint, options);
  SKALD_TRY(loader.Fill(names, around.parameters()));
  SKALD_TRY(loader.Fill(TensorNamesOf(checkpoint), std::move(layers)));
  constexpr std::string_view kOrder[] = {kTokenOrder};  // read already
  SKALD_TRY(loader.CheckLeftOut(kOrder));
  if (parts.groups) {
    const FloatEnvironment plain(Denormals::kKept);
    ThreadPool pool(options.threads);
    OrderOutput(weights, std::move(order), options.dtype, pool);
  }
  return DraftHead(model, std::move(weights), AssistantFunctions());
}

// A narrow layer for each form of keys and values that a model keeps.
inline std::optional<ModelSpec> RandomAssistantSpec(const AnyModel& model) {
  ModelSpec spec = {.model_dim = std::max(model.spec().model_dim / 4 * 2, 2),
                    .vocab_size = model.spec().vocab_size,
                    .tied_embeddings = true};
  for (const CacheGroup& group : model.layout().groups()) {
    if (!group.is_attention() || group.latent_dim != 0 || group.window == 1) continue;
    CrossAttention reads = {.attention = {.heads = static_cast<int>(2 * group.kv_heads),
                                          .kv_heads = static_cast<int>(group.kv_heads),
                                          .head_dim = static_cast<int>(group.head_dim),
                                          .rotary_dim = static_cast<int>(group.rotary_dim),
                                          .window = static_cast<int>(group.window),
                                          .rope = group.rope,
                                          .query_pre_scale = static_cast<double>(group.head_dim),
                                          .shared_layer = 0}};
    if (reads.WhyImpossible() != nullptr) continue;
    const auto number = static_cast<uint32_t>(spec.blocks.size() / 2);
    AddUsualLayer(spec, number, RmsNorm(), reads, GatedFeedForward{.width = 2 * spec.model_dim});
  }
  if (spec.blocks.empty()) return std::nullopt;
  return spec;
}

}  // namespace internal

SKALD_INLINE bool HasAssistantHead(const std::filesystem::path& path) {
  const auto found = NoThrow("HasAssistantHead", [&]() -> Result<bool> {
    if (internal::IsFileOf(internal::kAssistantArchitecture, path)) return true;
    const internal::HeadJson file(path);
    const auto is_it = [&](std::string_view type) { return internal::SaysText(file.json, "model_type", type); };
    return std::ranges::any_of(internal::kAssistantTypes, is_it);
  });
  return found && *found;
}

SKALD_INLINE Result<DraftHead> LoadAssistantHead(const std::filesystem::path& path, const AnyModel& model,
                                                 const LoadOptions& options) {
  const std::string name = PathText(path);
  return NoThrow(name, [&]() -> Result<DraftHead> {
    if (model.weights().share.ranks > 1) {
      return Fail(ErrorCode::kUnsupported, name + ": heads are not divided among ranks");
    }
    if (!HasAssistantHead(path)) {
      return Fail(ErrorCode::kNotFound, name + ": expected a folder or a GGUF file with a drafter of Gemma 4");
    }
    auto head = internal::LoadAssistant(path, model, options);
    if (!head) return Annotate(name, head);
    return head;
  });
}

SKALD_INLINE Result<DraftHead> RandomAssistantHead(const AnyModel& model, uint64_t seed, DType dtype, size_t groups) {
  return NoThrow("RandomAssistantHead", [&]() -> Result<DraftHead> {
    auto spec = internal::RandomAssistantSpec(model);
    if (!spec) return Fail(ErrorCode::kUnsupported, model.name() + ": keeps no keys and values that a head could read");
    const auto dim = static_cast<size_t>(spec->model_dim), width = static_cast<size_t>(model.spec().model_dim);
    const auto vocab = static_cast<size_t>(spec->vocab_size);
    if (groups > 0 && vocab % groups != 0) {
      return Fail(ErrorCode::kInvalidArgument, "RandomAssistantHead: groups do not divide the vocabulary");
    }
    HeadWeights weights = internal::AssistantWeights(*std::move(spec), model, dtype);
    const FloatEnvironment plain(Denormals::kKept);
    ThreadPool pool(1);
    FillWithRandom(ParametersOf(weights.body), seed, dtype, ExecutorRef(pool));
    FillWithRandom(internal::AroundOf(weights.parts, dim, width, groups), seed + 1, dtype, ExecutorRef(pool));
    if (groups > 0) {
      weights.parts.groups->most = std::max<size_t>(groups / 64, 1);
      std::vector<int32_t> order(vocab);
      std::iota(order.rbegin(), order.rend(), 0);
      internal::OrderOutput(weights, std::move(order), dtype, pool);
    }
    return DraftHead(model, std::move(weights), internal::AssistantFunctions());
  });
}

}  // namespace skald

#endif  // SKALD_MODEL_HEADS_DETAIL_ASSISTANT_HEAD_H_
