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
#include <vector>

#include "skald/base/no_throw.h"
#include "skald/base/result.h"
#include "skald/cache/layout.h"
#include "skald/cache/step.h"
#include "skald/layers/layer_spec.h"
#include "skald/layers/model_spec.h"
#include "skald/layers/model_weights.h"
#include "skald/model/batch.h"
#include "skald/model/forward.h"
#include "skald/model/rotation.h"
#include "skald/model/workspace.h"

namespace skald {

class AnyModel {
 public:
  // `name` stands in errors. `functions` must have one for the type of every layer; extra ones are not looked at.
  AnyModel(std::string name, ModelWeights weights, const std::vector<LayerFunction>& functions)
      : name_(std::move(name)), weights_(std::move(weights)), tables_{LayoutOf(weights_.spec), {}, {}} {
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
    fingerprint_ = tables_.layout.Fingerprint();
  }

  const std::string& name() const { return name_; }
  const ModelSpec& spec() const { return weights_.spec; }
  const ModelWeights& weights() const { return weights_; }

  // Appends the batch's tokens to their caches and returns the outputs that its rows want, in the order of the
  // batch; they live in `workspace` until its next Forward. A failure names the sequence and leaves every cache as
  // it was. Errors: kInvalidArgument (empty batch or sequence, token id out of range, cache of another layout, caches
  // that store differently), kOutOfRange (a cache's token limit), kResourceExhausted (a pool's byte limit, or no memory
  // for the activations).
  Result<Outputs> Forward(const Batch& batch, Workspace& workspace) const {
    if (auto valid = Check(batch); !valid) return Failure(valid.error());
    return NoThrow("Forward", [&] { return RunStep(batch, workspace); });
  }

  // One conversation: appends `tokens` to `cache` and returns the logits [vocab_size] for the token that follows.
  Result<std::span<const float>> Forward(KVCache& cache, std::span<const int32_t> tokens, Workspace& workspace) const {
    auto outputs = Forward(Batch().Add(cache, tokens), workspace);
    if (!outputs) return Failure(outputs.error());
    return (*outputs)[0];
  }

 private:
  // Forward once the batch is known to make sense.
  Result<Outputs> RunStep(const Batch& batch, Workspace& workspace) const {
    auto step = Step::Begin(batch.requests(), workspace.pass_tokens());
    if (!step) return Failure(step.error());
    std::vector<BlockPool*> pools;
    for (const StepRequest& request : batch.requests()) pools.push_back(&request.cache->pool());

    Outputs outputs = ReserveMemory(batch, workspace);
    ForwardPass(weights_, tables_, step->plan(), pools, workspace).Run(batch.requests(), batch.wants());
    step->Commit();
    return outputs;
  }

  Result<void> Check(const Batch& batch) const {
    if (batch.requests().empty()) return Fail(ErrorCode::kInvalidArgument, "the batch has no sequences");
    size_t num_tokens = 0;
    for (size_t i = 0; i < batch.requests().size(); ++i) {
      if (auto valid = CheckRequest(batch.requests()[i], batch.requests()[0].cache->pool().runtime()); !valid) {
        return Annotate("sequence " + std::to_string(i) + " of the batch", valid);
      }
      num_tokens += batch.requests()[i].tokens.size();
    }
    if (batch.wants().size() == num_tokens) return {};
    return Fail(ErrorCode::kInvalidArgument, "the batch says what it wants of " + std::to_string(batch.wants().size()) +
                                                 " tokens but has " + std::to_string(num_tokens));
  }

  Result<void> CheckRequest(const StepRequest& request, const RuntimeConfig& first) const {
    const BlockPool& pool = request.cache->pool();
    if (pool.fingerprint() != fingerprint_) {
      return Fail(ErrorCode::kInvalidArgument, "its cache has another layout than the model " + name_ + " needs; make it with CreateKVCache for that model");
    }
    if (pool.runtime().kv_type != first.kv_type || pool.runtime().block_tokens != first.block_tokens) {
      return Fail(ErrorCode::kInvalidArgument,
                  "its cache has another kv_type or block_tokens than that of sequence 0; a batch needs them equal");
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

  // Makes room for everything Forward writes, and says where each output will be.
  Outputs ReserveMemory(const Batch& batch, Workspace& workspace) const {
    const auto vocab_size = static_cast<size_t>(spec().vocab_size), model_dim = static_cast<size_t>(spec().model_dim);
    const std::span<const Want> wants = batch.wants();
    const auto count = [wants](Want want) { return static_cast<size_t>(std::count(wants.begin(), wants.end(), want)); };
    ForwardPass::ReserveActivations(spec(), tables_.layout, std::min<size_t>(wants.size(), workspace.pass_tokens()),
                                    workspace.activations);
    Reserve(workspace.outputs.logits, count(Want::kLogits) * vocab_size);
    Reserve(workspace.outputs.hidden, count(Want::kHidden) * model_dim);

    Outputs outputs;
    const float* logits = workspace.outputs.logits.data();
    const float* hidden = workspace.outputs.hidden.data();
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
