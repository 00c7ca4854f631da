// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/model/heads/draft_head.h. Sources: deepseek_mtp.py, glm4_moe_mtp.py, mimo_mtp.py,
// nemotron_h_mtp.py and qwen3_next_mtp.py in vllm/model_executor/models of https://github.com/vllm-project/vllm, and
// src/models of https://github.com/ggml-org/llama.cpp. The hidden state that a head reads is the model's after its
// final norm, and then its own after its own. (Nemotron's own final norm is a LayerNorm in llama.cpp, and an RMSNorm as
// all others of the model in vLLM and here.)

#ifndef SKALD_MODEL_HEADS_DETAIL_DRAFT_HEAD_H_
#define SKALD_MODEL_HEADS_DETAIL_DRAFT_HEAD_H_

#include "skald/model/heads/draft_head.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/base/files/path_text.h"
#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/base/numbers/packed_layout.h"
#include "skald/base/text/message.h"
#include "skald/base/threads/executor.h"
#include "skald/base/threads/float_environment.h"
#include "skald/base/threads/thread_pool.h"
#include "skald/families/registry.h"
#include "skald/layers/run/operations.h"
#include "skald/layers/run/weight_kernels.h"
#include "skald/layers/standard_layers.h"
#include "skald/model/heads/detail/head_loader.h"
#include "skald/model/heads/detail/head_names.h"
#include "skald/model/heads/detail/matrix_views.h"
#include "skald/model/load.h"
#include "skald/weights/files/checkpoint.h"
#include "skald/weights/files/tensor_names.h"
#include "skald/weights/files/tensor_view.h"
#include "skald/weights/load_plan.h"
#include "skald/weights/random_weights.h"

namespace skald {

namespace internal {

inline ParameterList ParametersOf(HeadWeights& weights, const HeadNames& names) {
  const HeadForm& form = names.form;
  const NormSpec& norm = weights.body.spec.final_norm;
  const auto model = static_cast<size_t>(weights.body.spec.model_dim);
  ParameterList list;
  if (form.in_layers) list.SetLayer(names.layer);
  norm.ListParameters(weights.parts.embedding_norm, form.embedding_norm, model, list);
  norm.ListParameters(weights.parts.hidden_norm, form.hidden_norm, model, list);
  list.AddMatrix(weights.parts.projection, 2 * model, {{Concat({form.projection, ".weight"}), model}});
  list.SetLayer(std::nullopt);
  const auto vocab = static_cast<size_t>(weights.body.spec.vocab_size);
  if (names.embedding.is_own()) list.AddEmbedding(weights.parts.embedding, model, {{"embed_tokens.weight", vocab}});
  if (names.output.is_own()) list.AddMatrix(weights.body.head.emplace(), model, {{"lm_head.weight", vocab}});
  if (form.in_layers && names.has_norm) list.SetLayer(weights.body.spec.blocks.back().number);
  norm.ListParameters(weights.body.final_norm, names.has_norm ? form.final_norm : "norm", model, list);
  ListBlocks(weights.body, list);
  return list;
}

// Where a model's layers are of one mixer each, a layer that attends, and the one after it.
inline void AddNextLayer(const ModelSpec& model, ModelSpec& head) {
  const Block& last = head.blocks.back();
  const auto next = std::ranges::find(model.blocks, last.number + 1, &Block::number);
  if (head.blocks.size() > 1 || last.layers.size() > 1 || next == model.blocks.end()) return;
  if (next->layers.size() == 1 && !next->layers[0].State()) head.blocks.push_back(*next);
}

SKALD_INLINE std::optional<ModelSpec> PredictionSpec(const ModelSpec& model, uint32_t number) {
  std::optional<uint32_t> last;
  for (const Block& block : model.blocks) {
    for (const LayerSpec& layer : block.layers) {
      const auto state = layer.State();
      if (state && !state->is_recurrent()) last = block.number;
    }
  }
  if (!last) return std::nullopt;
  ModelSpec spec = model;
  std::erase_if(spec.blocks, [&](const Block& block) { return block.number != *last; });
  AddNextLayer(model, spec);
  spec.embedding_norm.reset();  // heads normalise embeddings themselves
  spec.per_layer_dim = 0;
  const auto functions = StandardLayers::Functions();
  for (Block& block : spec.blocks) {
    block.number = number + (block.number - *last);
    for (const LayerSpec& layer : block.layers) {
      if (layer.PerLayerDim() != 0) return std::nullopt;
      if (std::ranges::find(functions, layer.type(), &LayerFunction::type) == functions.end()) return std::nullopt;
    }
  }
  return spec;
}

}  // namespace internal

SKALD_INLINE HeadWeights::HeadWeights(ModelSpec spec, const AnyModel& model) : body(std::move(spec)) {
  body.embedding = internal::ViewOf(model.weights().embedding);
  if (model.weights().head) body.head = internal::ViewOf(*model.weights().head);
  body.head_bias = model.weights().head_bias;
  parts.watches = {model.spec().blocks.size()};
  parts.embedding = internal::ViewOf(model.weights().embedding);
}

SKALD_INLINE DraftHead::DraftHead(const AnyModel& model, HeadWeights weights,
                                  const std::vector<LayerFunction>& functions)
    : model_(&model), parts_(std::move(weights.parts)), body_(model.name(), std::move(weights.body), functions) {}

namespace internal {

// Runs `compute(ops)` on the workspace's threads.
template <class Compute>
Result<void> WithOperations(Workspace& workspace, Compute compute) {
  return NoThrow("a head", [&]() -> Result<void> {
    const WorkspaceUse use(workspace);
    if (!use.is_ours()) return Fail(ErrorCode::kFailedPrecondition, "another call is using the workspace of a head");
    const FloatEnvironment contract;
    Operations ops(workspace.executor(), workspace.activations.matmul, WeightKernelsOf<AllWeights>());
    compute(ops);
    return ops.status();
  });
}

inline Failure FailRows() { return Fail(ErrorCode::kInvalidArgument, "the rows for a head are of another size"); }

}  // namespace internal

SKALD_INLINE Result<void> DraftHead::Inputs(std::span<const int32_t> tokens, std::span<const float> rows, From from,
                                            Workspace& workspace, AlignedBuffer<float>& inputs) const {
  const size_t count = tokens.size(), dim = static_cast<size_t>(body_.spec().model_dim);
  if (rows.size() != count * (from == From::kModel ? row_floats() : dim)) return internal::FailRows();
  return internal::WithOperations(workspace, [&](Operations& ops) {
    Reserve(inputs, count * dim);
    ReserveMatMul(parts_.projection, count, workspace.activations.matmul);
    if (parts_.back.rows > 0) ReserveMatMul(parts_.back, count, workspace.activations.matmul);
    const Rows output = {inputs.data(), dim};
    if (!parts_.embedding_norm.empty() || reads_cache()) return FuseHidden(tokens, rows, from, ops, inputs.data());
    if (from == From::kModel) {
      AlignedBuffer<float> read(rows.size());
      std::ranges::copy(rows, read.data());
      const Rows states = {read.data(), row_floats()};
      if (!parts_.read_norm.empty()) body_.spec().final_norm.Run(parts_.read_norm, ops, states, count, states);
      ops.MatMul(parts_.projection, states, count, {}, output);
    } else {
      std::ranges::copy(rows, inputs.data());
    }
    const NormSpec& norm = body_.spec().final_norm;
    if (!parts_.hidden_norm.empty()) norm.Run(parts_.hidden_norm, ops, output, count, output);
  });
}

SKALD_INLINE void DraftHead::FuseHidden(std::span<const int32_t> tokens, std::span<const float> rows, From from,
                                        Operations& ops, float* inputs) const {
  const size_t count = tokens.size(), dim = static_cast<size_t>(body_.spec().model_dim);
  const AnyModel& of = from == From::kModel ? *model_ : body_;
  const size_t width = static_cast<size_t>(model_->spec().model_dim), read = rows.size() / std::max<size_t>(count, 1);
  AlignedBuffer<float> hidden(count * read), both(count * 2 * width);
  std::ranges::copy(rows, hidden.data());
  const NormSpec& norm = body_.spec().final_norm;
  const Rows left = {both.data(), 2 * width}, right = {both.data() + width, 2 * width};
  const Rows states = parts_.hidden_first ? left : right, embeddings = parts_.hidden_first ? right : left;
  const bool goes_back = from == From::kHead && parts_.back.rows > 0;
  const Rows own = {hidden.data(), read}, normed = goes_back ? own : states;
  of.spec().final_norm.Run(of.weights().final_norm, ops, own, count, normed);
  if (goes_back) ops.MatMul(parts_.back, normed, count, {}, states);
  if (!parts_.hidden_norm.empty()) norm.Run(parts_.hidden_norm, ops, states, count, states);
  ops.Embed(parts_.embedding, tokens, EmbeddingFactor(model_->spec()), embeddings);
  if (!parts_.embedding_norm.empty()) norm.Run(parts_.embedding_norm, ops, embeddings, count, embeddings);
  ops.MatMul(parts_.projection, left, count, {}, {inputs, dim});
}

SKALD_INLINE Result<void> DraftHead::Logits(std::span<const float> rows, Workspace& workspace,
                                            std::vector<float>& logits) const {
  const auto vocab = static_cast<size_t>(model_->spec().vocab_size), dim = static_cast<size_t>(body_.spec().model_dim);
  const size_t count = rows.size() / dim;
  if (rows.size() % dim != 0) return internal::FailRows();
  if (!parts_.output) {
    return NoThrow("DraftHead::Logits", [&]() -> Result<void> {
      SKALD_ASSIGN(const auto all, body_.Logits(rows, workspace));
      logits.clear();
      for (size_t i = 0; i < count; ++i) logits.insert(logits.end(), all[i].begin(), all[i].end());
      return {};
    });
  }
  return internal::WithOperations(workspace, [&](Operations& ops) {
    AlignedBuffer<float> normed(rows.size());
    std::ranges::copy(rows, normed.data());
    const Rows stream = {normed.data(), dim};
    body_.spec().final_norm.Run(body_.weights().final_norm, ops, stream, count, stream);
    logits.assign(count * vocab, -std::numeric_limits<float>::infinity());
    if (parts_.groups) return LikelyLogits(stream, count, workspace, ops, logits.data());
    SomeLogits(0, parts_.output->rows, stream, count, workspace, ops, logits.data());
  });
}

SKALD_INLINE void DraftHead::SomeLogits(size_t begin, size_t end, Rows stream, size_t rows, Workspace& workspace,
                                        Operations& ops, float* logits) const {
  const auto vocab = static_cast<size_t>(model_->spec().vocab_size);
  const size_t first = begin / kLanes * kLanes;  // of whole panels
  const Matrix some = internal::RowsOf(*parts_.output, first, RoundUp(end, kLanes));
  AlignedBuffer<float> values(rows * some.rows);
  ReserveMatMul(some, rows, workspace.activations.matmul);
  ops.MatMul(some, stream, rows, {}, {values.data(), some.rows});
  for (size_t row = 0; row < rows; ++row) {
    for (size_t at = begin; at < end; ++at) {
      logits[row * vocab + static_cast<size_t>(parts_.ids[at])] = values.data()[row * some.rows + at - first];
    }
  }
}

SKALD_INLINE void DraftHead::LikelyLogits(Rows stream, size_t rows, Workspace& workspace, Operations& ops,
                                          float* logits) const {
  const TokenGroups& groups = *parts_.groups;
  const size_t all = groups.centroids.rows, size = parts_.ids.size() / all;
  AlignedBuffer<float> likely(rows * all);
  ReserveMatMul(groups.centroids, rows, workspace.activations.matmul);
  ops.MatMul(groups.centroids, stream, rows, {}, {likely.data(), all});
  std::vector<size_t> order(all);
  for (size_t row = 0; row < rows; ++row) {
    const float* const of_row = likely.data() + row * all;
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::stable_sort(order, [&](size_t a, size_t b) { return of_row[a] > of_row[b]; });
    float* const own = logits + row * static_cast<size_t>(model_->spec().vocab_size);
    for (const size_t group : std::span(order).first(groups.most)) {
      SomeLogits(group * size, (group + 1) * size, {stream.data + row * stream.stride, stream.stride}, 1, workspace,
                 ops, own);
    }
  }
}

SKALD_INLINE Result<DraftHead> LoadPredictionHead(const OpenedModel& opened, const AnyModel& model,
                                                  const LoadOptions& options) {
  const std::string path = PathText(opened.path());
  return NoThrow(path, [&]() -> Result<DraftHead> {
    const auto none = [&] { return Fail(ErrorCode::kNotFound, path + ": has no layers that predict further tokens"); };
    if (model.weights().share.ranks > 1) {
      return Fail(ErrorCode::kUnsupported, path + ": layers that predict further tokens are not divided among ranks");
    }
    if (opened.packed() != nullptr) return none();
    SKALD_ASSIGN(const auto checkpoint, opened.checkpoint());
    const auto names = internal::FindPredictionHead(*checkpoint, model.spec());
    if (!names) return none();
    auto spec = internal::PredictionSpec(model.spec(), names->layer);
    if (!spec) return none();
    const bool is_apart = !names->form.body.empty();
    if (Block& last = spec->blocks.back(); !is_apart && last.number != names->layer) {
      last.number = names->layer;  // GGUF files have the two layers of Nemotron's as one
      last.norm_name = "post_attention_layernorm";
    }
    const auto packers = WeightPackersOf<AllWeights>();
    SKALD_TRY(internal::CheckLoadOptions(options, packers));
    if (names->output.is_own()) spec->tied_embeddings = false;
    HeadWeights weights(*std::move(spec), model);
    weights.parts.hidden_first = names->form.hidden_first;
    weights.body.dtype = options.dtype;
    const ParameterList list = internal::ParametersOf(weights, *names);
    internal::LoadPlan plan(*checkpoint, names->names, options.dtype, packers);
    for (const Parameter& parameter : list.parameters()) plan.Add(parameter);
    SKALD_TRY(plan.Check(/*is_part=*/true));
    SKALD_TRY(internal::CheckAllUsed(*names, weights.body.spec, plan.LeftOut()));
    const FloatEnvironment plain(Denormals::kKept);  // the threads that pack inherit it
    ThreadPool pool(options.threads);
    plan.Execute(ExecutorRef(pool), {});
    return DraftHead(model, std::move(weights));
  });
}

SKALD_INLINE Result<DraftHead> RandomPredictionHead(const AnyModel& model, uint64_t seed, DType dtype) {
  return NoThrow("RandomPredictionHead", [&]() -> Result<DraftHead> {
    auto spec = internal::PredictionSpec(model.spec(), 0);
    if (!spec) return Fail(ErrorCode::kUnsupported, model.name() + ": no layer of Skald's has attention");
    HeadWeights weights(*std::move(spec), model);
    weights.body.dtype = dtype;
    const FloatEnvironment plain(Denormals::kKept);
    ThreadPool pool(1);
    FillWithRandom(internal::ParametersOf(weights, {internal::kHeadForms[0], {}, 0}), seed, dtype, ExecutorRef(pool));
    return DraftHead(model, std::move(weights));
  });
}

}  // namespace skald

#endif  // SKALD_MODEL_HEADS_DETAIL_DRAFT_HEAD_H_
