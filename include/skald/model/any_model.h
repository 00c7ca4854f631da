// SPDX-License-Identifier: Apache-2.0
//
// AnyModel: a model of any spec, chosen at run time: the weights plus Forward. Const, safe for concurrent calls, and
// without any conversation state: one model serves any number of caches and callers.

#ifndef SKALD_MODEL_ANY_MODEL_H_
#define SKALD_MODEL_ANY_MODEL_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "skald/base/no_throw.h"
#include "skald/base/result.h"
#include "skald/base/threads/float_environment.h"
#include "skald/cache/form/layout.h"
#include "skald/cache/steps/step.h"
#include "skald/layers/layer_spec.h"
#include "skald/layers/model_spec.h"
#include "skald/layers/model_weights.h"
#include "skald/model/batch.h"
#include "skald/model/forward.h"
#include "skald/model/forward_options.h"
#include "skald/model/rotation.h"
#include "skald/model/workspace.h"
#include "skald/weights/parameters.h"

namespace skald {

class AnyModel {
 public:
  // `name` stands in errors. `functions` must have one for the type of every layer; extra ones are not looked at.
  // Throws std::bad_alloc; LoadModel and LoadAnyModel make an error of it.
  AnyModel(std::string name, ModelWeights weights, const std::vector<LayerFunction>& functions)
      : name_(std::move(name)), weights_(std::move(weights)) {
    tables_.layout = LayoutOf(weights_.spec);
    fingerprint_ = tables_.layout.Fingerprint();
    for (const CacheGroup& group : tables_.layout.groups()) {
      tables_.rotations.emplace_back(group.rope, group.rotary_dim);
    }
    for (const Block& block : weights_.spec.blocks) {
      for (const LayerSpec& layer : block.layers) {
        const auto function = std::ranges::find(functions, layer.type(), &LayerFunction::type);
        HWY_DASSERT(function != functions.end());
        tables_.functions.push_back(function->run);
      }
    }
    ListMatrices();
  }

  const std::string& name() const { return name_; }
  const ModelSpec& spec() const { return weights_.spec; }
  const ModelWeights& weights() const { return weights_; }

  // Appends the batch's tokens to their caches and returns the outputs that its rows want, in the order of the
  // batch; they live in `workspace` until its next Forward. A failure names the sequence and leaves every cache as
  // it was, resume points included; only what an executor throws comes too late for those that gave way to the batch's
  // tokens. Errors: kInvalidArgument (empty batch or sequence, token id out of range, cache of another layout, caches
  // that store differently, wishes that do not match their sequence's tokens), kOutOfRange (a cache's token limit),
  // kResourceExhausted (a pool's byte limit, or no memory for the activations), kFailedPrecondition (a model, cache or
  // workspace that was moved from, a workspace that another thread is using, an executor that threw).
  Result<Outputs> Forward(const Batch& batch, Workspace& workspace, const ForwardOptions& options = {}) const {
    return NoThrow("Forward", [&]() -> Result<Outputs> {
      const WorkspaceUse use(workspace);
      if (!use.is_ours()) {
        return Fail(ErrorCode::kFailedPrecondition,
                    "another thread is computing with this workspace; each thread needs one of its own");
      }
      if (auto valid = Check(batch, workspace, options); !valid) return Failure(valid.error());
      const FloatEnvironment contract;
      return RunStep(batch, workspace, options);
    });
  }

  // One conversation: appends `tokens` to `cache` and returns the logits [vocab_size] for the token that follows.
  Result<std::span<const float>> Forward(KVCache& cache, std::span<const int32_t> tokens, Workspace& workspace,
                                         const ForwardOptions& options = {}) const {
    auto outputs = Forward(Batch().Add(cache, tokens), workspace, options);
    if (!outputs) return Failure(std::move(outputs.error()));
    return (*outputs)[0];
  }

 private:
  // The matrices of layers, which stay where they are when the model moves.
  void ListMatrices() {
    const ParameterList list = ParametersOf(weights_);
    for (const Parameter& parameter : list.parameters()) {
      if (!parameter.layer) continue;
      if (const auto* one = std::get_if<MatrixParameter>(&parameter.value)) tables_.matrices.push_back(one->target);
      if (const auto* blocks = std::get_if<BlocksParameter>(&parameter.value)) {
        tables_.block_matrices.emplace_back(blocks->targets, blocks->count * blocks->cols);
      }
    }
  }

  // Forward once the batch is known to make sense.
  Result<Outputs> RunStep(const Batch& batch, Workspace& workspace, const ForwardOptions& options) const {
    auto step = Step::Plan(batch.requests(), options.pass_tokens);
    if (!step) return Failure(step.error());
    std::vector<BlockPool*> pools;
    for (const StepRequest& request : batch.requests()) pools.push_back(request.cache->pool().get());

    ForwardPass pass(weights_, tables_, step->plan(), pools, batch, workspace, options);
    Outputs outputs = OutputsIn(workspace.outputs, batch.wants());
    if (auto reserved = step->Reserve(); !reserved) return Failure(reserved.error());
    pass.Run();
    step->Commit();
    return outputs;
  }

  Result<void> Check(const Batch& batch, const Workspace& workspace, const ForwardOptions& options) const {
    if (weights_.blocks.empty()) {
      return Fail(ErrorCode::kFailedPrecondition, "the model has no weights: it was moved from");
    }
    if (!workspace.is_valid()) return Fail(ErrorCode::kFailedPrecondition, "the workspace was moved from");
    if (options.pass_tokens == 0) {
      return Fail(ErrorCode::kInvalidArgument, "ForwardOptions::pass_tokens is 0, expected at least 1 token");
    }
    if (!batch.is_complete()) return Fail(ErrorCode::kResourceExhausted, "there was no memory for all of the batch");
    if (batch.requests().empty()) return Fail(ErrorCode::kInvalidArgument, "the batch has no sequences");
    for (size_t i = 0; i < batch.requests().size(); ++i) {
      if (auto valid = CheckRequest(batch, i); !valid) {
        return Annotate("sequence " + std::to_string(i) + " of the batch", valid);
      }
    }
    return {};
  }

  Result<void> CheckRequest(const Batch& batch, size_t index) const {
    const StepRequest& request = batch.requests()[index];
    if (!request.cache->is_valid()) return Fail(ErrorCode::kFailedPrecondition, "its cache was moved from");
    const BlockPool& pool = *request.cache->pool();
    const RuntimeConfig& first = batch.requests()[0].cache->pool()->runtime();
    if (pool.fingerprint() != fingerprint_) {
      return Fail(ErrorCode::kInvalidArgument, "its cache has another layout than the model " + name_ +
                                                   " needs; make it with CreateKVCache for that model");
    }
    if (pool.runtime().kv_type != first.kv_type || pool.runtime().block_tokens != first.block_tokens) {
      return Fail(ErrorCode::kInvalidArgument,
                  "its cache has another kv_type or block_tokens than that of sequence 0; a batch needs them equal");
    }
    if (batch.wants(index).size() != request.tokens.size()) {
      return Fail(ErrorCode::kInvalidArgument, "the batch says what it wants of " +
                                                   std::to_string(batch.wants(index).size()) + " tokens but has " +
                                                   std::to_string(request.tokens.size()));
    }
    const int vocab_size = spec().vocab_size;
    for (size_t i = 0; i < request.tokens.size(); ++i) {
      if (request.tokens[i] >= 0 && request.tokens[i] < vocab_size) continue;
      return Fail(ErrorCode::kInvalidArgument, "token " + std::to_string(i) + " has the id " +
                                                   std::to_string(request.tokens[i]) + ", expected 0 to " +
                                                   std::to_string(vocab_size - 1));
    }
    return {};
  }

  // Says where in `buffers`, which have room for them, each output will be.
  Outputs OutputsIn(const OutputBuffers& buffers, std::span<const Want> wants) const {
    const auto vocab_size = static_cast<size_t>(spec().vocab_size), model_dim = static_cast<size_t>(spec().model_dim);
    Outputs outputs;
    outputs.Reserve(wants.size() - static_cast<size_t>(std::count(wants.begin(), wants.end(), Want::kNothing)));
    const float* logits = buffers.logits.data();
    const float* hidden = buffers.hidden.data();
    for (const Want want : wants) {
      if (want == Want::kLogits) outputs.Append({std::exchange(logits, logits + vocab_size), vocab_size});
      if (want == Want::kHidden) outputs.Append({std::exchange(hidden, hidden + model_dim), model_dim});
    }
    return outputs;
  }

  std::string name_;
  ModelWeights weights_;
  ModelTables tables_;
  uint64_t fingerprint_;  // of the caches that fit
};

}  // namespace skald

#endif  // SKALD_MODEL_ANY_MODEL_H_
