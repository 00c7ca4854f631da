// SPDX-License-Identifier: Apache-2.0
//
// Model<Config>: the weights plus Forward. Const, safe for concurrent calls, and without any conversation state: one
// model serves any number of caches and callers.

#ifndef SKALD_MODEL_MODEL_H_
#define SKALD_MODEL_MODEL_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "skald/base/float_environment.h"
#include "skald/base/no_throw.h"
#include "skald/base/result.h"
#include "skald/cache/layout.h"
#include "skald/cache/step.h"
#include "skald/configs/model_config.h"
#include "skald/configs/recurrence.h"
#include "skald/kernels/args.h"
#include "skald/model/batch.h"
#include "skald/model/forward.h"
#include "skald/model/rotation.h"
#include "skald/model/workspace.h"
#include "skald/weights/load.h"
#include "skald/weights/model_weights.h"

namespace skald {

template <ModelConfig C>
class Model {
 public:
  using Config = C;

  // Takes weights that LoadWeights<C> made. See LoadModel for the usual way.
  explicit Model(ModelWeights weights) noexcept : weights_(std::move(weights)) {
    for (size_t g = 0; g < rotations_.size(); ++g) {
      rotations_[g] = Rotation(kLayout.groups()[g].rope, kLayout.groups()[g].rotary_dim);
    }
  }

  const ModelWeights& weights() const { return weights_; }

  // Appends the batch's tokens to their caches and returns the outputs that its rows want, in the order of the
  // batch; they live in `workspace` until its next Forward. A failure names the sequence and leaves every cache as
  // it was, resume points included; only what an executor throws comes too late for those that gave way to the batch's
  // tokens. Errors: kInvalidArgument (empty batch or sequence, token id out of range, cache of another layout, caches
  // that store differently, wishes that do not match their sequence's tokens), kOutOfRange (a cache's token limit),
  // kResourceExhausted (a pool's byte limit, or no memory for the activations), kFailedPrecondition (a model, cache or
  // workspace that was moved from, a workspace that another thread is using, an executor that threw).
  Result<Outputs> Forward(const Batch& batch, Workspace& workspace) const {
    return NoThrow("Forward", [&]() -> Result<Outputs> {
      const WorkspaceUse use(workspace);
      if (!use.is_ours()) {
        return Fail(ErrorCode::kFailedPrecondition,
                    "another thread is computing with this workspace; each thread needs one of its own");
      }
      if (auto valid = Check(batch, workspace); !valid) return Failure(valid.error());
      const FloatEnvironment contract;
      return RunStep(batch, workspace);
    });
  }

  // One conversation: appends `tokens` to `cache` and returns the logits [vocab_size] for the token that follows.
  Result<std::span<const float>> Forward(KVCache& cache, std::span<const int32_t> tokens, Workspace& workspace) const {
    auto outputs = Forward(Batch().Add(cache, tokens), workspace);
    if (!outputs) return Failure(std::move(outputs.error()));
    return (*outputs)[0];
  }

 private:
  static constexpr CacheLayout kLayout = LayoutOf<C>();
  static constexpr uint64_t kFingerprint = kLayout.Fingerprint();
  static_assert(HeadDimOf<C>() <= static_cast<int>(kMaxHeadDim),
                "kHeadDim is larger than the attention kernel's buffers.");
  static_assert(RecurrenceOf<C>(LayerKind::kMamba).state_dim <= static_cast<int>(kMaxStateDim),
                "kStateDim is larger than the selective scan's buffers.");

  // Forward once the batch is known to make sense.
  Result<Outputs> RunStep(const Batch& batch, Workspace& workspace) const {
    auto step = Step::Plan(batch.requests(), workspace.pass_tokens());
    if (!step) return Failure(step.error());
    std::vector<BlockPool*> pools;
    for (const StepRequest& request : batch.requests()) pools.push_back(request.cache->pool().get());

    ForwardPass<C> pass(weights_, rotations_, step->plan(), pools, batch, workspace);
    Outputs outputs = OutputsIn(workspace.outputs, batch.wants());
    if (auto reserved = step->Reserve(); !reserved) return Failure(reserved.error());
    pass.Run();
    step->Commit();
    return outputs;
  }

  Result<void> Check(const Batch& batch, const Workspace& workspace) const {
    if (weights_.layers.size() != NumLayersOf<C>()) {
      return Fail(ErrorCode::kFailedPrecondition, "the model has no weights: it was moved from");
    }
    if (workspace.pass_tokens() == 0) return Fail(ErrorCode::kFailedPrecondition, "the workspace was moved from");
    if (!batch.is_complete()) return Fail(ErrorCode::kResourceExhausted, "there was no memory for all of the batch");
    if (batch.requests().empty()) return Fail(ErrorCode::kInvalidArgument, "the batch has no sequences");
    for (size_t i = 0; i < batch.requests().size(); ++i) {
      if (auto valid = CheckRequest(batch, i); !valid) {
        return Annotate("sequence " + std::to_string(i) + " of the batch", valid);
      }
    }
    return {};
  }

  static Result<void> CheckRequest(const Batch& batch, size_t index) {
    const StepRequest& request = batch.requests()[index];
    if (!request.cache->is_valid()) return Fail(ErrorCode::kFailedPrecondition, "its cache was moved from");
    const BlockPool& pool = *request.cache->pool();
    const RuntimeConfig& first = batch.requests()[0].cache->pool()->runtime();
    if (pool.fingerprint() != kFingerprint) {
      return Fail(ErrorCode::kInvalidArgument, "its cache has another layout than the model " + std::string(C::kName) +
                                                   " needs; make it with CreateKVCache for that Config");
    }
    if (pool.runtime().kv_type != first.kv_type || pool.runtime().block_tokens != first.block_tokens) {
      return Fail(ErrorCode::kInvalidArgument,
                  "its cache has another kv_type or block_tokens than that of sequence 0; a batch needs them equal");
    }
    if (batch.wants(index).size() != request.tokens.size()) {
      return Fail(ErrorCode::kInvalidArgument,
                  "the batch says what it wants of " + std::to_string(batch.wants(index).size()) + " tokens but has " +
                      std::to_string(request.tokens.size()));
    }
    for (size_t i = 0; i < request.tokens.size(); ++i) {
      if (request.tokens[i] >= 0 && request.tokens[i] < C::kVocabSize) continue;
      return Fail(ErrorCode::kInvalidArgument, "token " + std::to_string(i) + " has the id " +
                                                   std::to_string(request.tokens[i]) + ", expected 0 to " +
                                                   std::to_string(C::kVocabSize - 1));
    }
    return {};
  }

  // Says where in `buffers`, which have room for them, each output will be.
  static Outputs OutputsIn(const OutputBuffers& buffers, std::span<const Want> wants) {
    Outputs outputs;
    outputs.Reserve(wants.size() - static_cast<size_t>(std::count(wants.begin(), wants.end(), Want::kNothing)));
    const float* logits = buffers.logits.data();
    const float* hidden = buffers.hidden.data();
    for (const Want want : wants) {
      if (want == Want::kLogits) outputs.Append({std::exchange(logits, logits + C::kVocabSize), size_t{C::kVocabSize}});
      if (want == Want::kHidden) outputs.Append({std::exchange(hidden, hidden + C::kModelDim), size_t{C::kModelDim}});
    }
    return outputs;
  }

  ModelWeights weights_;
  std::array<Rotation, kLayout.groups().size()> rotations_;
};

// Loads a checkpoint (a folder or a .safetensors file) whose tensors must fit C. Errors: see LoadWeights.
template <ModelConfig C>
Result<Model<C>> LoadModel(const std::filesystem::path& path, const LoadOptions& options = {}) {
  return NoThrow("LoadModel", [&]() -> Result<Model<C>> {
    auto weights = LoadWeights<C>(path, options);
    if (!weights) return Failure(weights.error());
    return Model<C>(std::move(*weights));
  });
}

}  // namespace skald

#endif  // SKALD_MODEL_MODEL_H_
