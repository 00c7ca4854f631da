// SPDX-License-Identifier: Apache-2.0
//
// AnyModel: a model of any spec, chosen at run time: the weights plus Forward. Const, safe for concurrent calls, and
// without any conversation state: one model serves any number of caches and callers.

#ifndef SKALD_MODEL_ANY_MODEL_H_
#define SKALD_MODEL_ANY_MODEL_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "skald/base/message.h"
#include "skald/base/no_throw.h"
#include "skald/base/numbers/digest.h"
#include "skald/base/numbers/group_layout.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/ranks/agreement.h"
#include "skald/base/ranks/communicator.h"
#include "skald/base/ranks/rank_share.h"
#include "skald/base/result.h"
#include "skald/base/threads/float_environment.h"
#include "skald/cache/form/layout.h"
#include "skald/cache/form/runtime_config.h"
#include "skald/cache/steps/batch.h"
#include "skald/cache/steps/plan_check.h"
#include "skald/cache/steps/step.h"
#include "skald/cache/steps/step_plan.h"
#include "skald/layers/model_spec.h"
#include "skald/layers/model_weights.h"
#include "skald/layers/run/operations.h"
#include "skald/layers/run/weight_kernels.h"
#include "skald/layers/spec/layer_spec.h"
#include "skald/model/forward.h"
#include "skald/model/forward_options.h"
#include "skald/model/output_head.h"
#include "skald/model/outputs.h"
#include "skald/model/rotation.h"
#include "skald/model/workspace.h"
#include "skald/weights/adapters/adapter.h"
#include "skald/weights/parameters.h"

namespace skald {

class AnyModel {
 public:
  // `name` stands in errors. `functions` must have one for the type of every layer, and `kernels`, which must outlive
  // the model, a set for the type of every matrix; extra ones are not looked at. Throws std::bad_alloc; LoadModel and
  // LoadAnyModel make an error of it.
  AnyModel(std::string name, ModelWeights weights, const std::vector<LayerFunction>& functions,
           std::span<const WeightKernels> kernels = WeightKernelsOf<AllWeights>())
      : name_(std::move(name)), weights_(std::move(weights)) {
    tables_.kernels = kernels;
    tables_.layout = LayoutOf(weights_.spec, weights_.share);
    tables_.slots = SlotsOf(weights_.spec, tables_.layout);
    ListRotations();
    for (const Block& block : weights_.spec.blocks) {
      for (const LayerSpec& layer : block.layers) {
        const auto function = std::ranges::find(functions, layer.type(), &LayerFunction::type);
        HWY_DASSERT(function != functions.end());
        tables_.functions.push_back(*function);
        tables_.layers.push_back(layer.OfRank(weights_.share));
      }
    }
    ListMatrices();
  }

  const std::string& name() const { return name_; }
  const ModelSpec& spec() const { return weights_.spec; }
  const ModelWeights& weights() const { return weights_; }
  // Of caches for this model: of one rank's part of them where the weights are that.
  const CacheLayout& layout() const { return tables_.layout; }

  // Appends the batch's tokens to their caches and returns the outputs that its rows want, in the order of the
  // batch; they live in `workspace` until its next use. It plans a step, executes it and commits it. A failure names
  // the sequence and leaves every cache as it was, resume points included; only what an executor or an observer throws
  // comes too late for those that gave way to the batch's tokens. Errors: those of Step::Plan and Step::Reserve;
  // kInvalidArgument (token id out of range, cache of another layout, or for an adapter that
  // ForwardOptions::adapters lacks or that is for another model), kResourceExhausted (no memory for the
  // activations), kFailedPrecondition (a model or workspace that was moved from, a workspace that another call is
  // using, a pool without bytes, an executor or observer that threw).
  Result<Outputs> Forward(const Batch& batch, Workspace& workspace, const ForwardOptions& options = {}) const {
    return Compute("Forward", workspace, options.ranks, [&]() -> Result<Outputs> {
      std::optional<Step> step;
      Outputs outputs;
      const auto pass = NoThrow("Forward", [&]() -> Result<std::unique_ptr<ForwardPass>> {
        auto planned = Step::Plan(batch, options.pass_tokens);
        if (!planned) return Failure(planned.error());
        step.emplace(std::move(*planned));
        if (auto valid = Check(batch); !valid) return Failure(valid.error());
        std::vector<std::span<const int32_t>> tokens;
        for (const StepRequest& request : batch.requests()) tokens.push_back(request.tokens);
        auto made = MakePass(step->plan(), std::move(tokens), step->pools(), workspace, options);
        if (!made) return made;
        outputs = OutputsIn(workspace.outputs, step->plan());
        if (auto reserved = step->Reserve(); !reserved) return Failure(reserved.error());
        return made;
      });
      if (auto computed = Run(pass, options.ranks); !computed) return Failure(computed.error());
      step->Commit();
      return outputs;
    });
  }

  // One conversation: appends `tokens` to `cache` and returns the logits [vocab_size] for the token that follows.
  Result<std::span<const float>> Forward(KVCache& cache, std::span<const int32_t> tokens, Workspace& workspace,
                                         const ForwardOptions& options = {}) const {
    auto outputs = Forward(Batch().Add(cache, tokens), workspace, options);
    if (!outputs) return Failure(std::move(outputs.error()));
    return (*outputs)[0];
  }

  // Carries out a step that was planned elsewhere (Step::Begin, on a pool of the same layout and block size, with or
  // without bytes), and returns its outputs as Forward does: bit for bit the same, whoever planned. `tokens` are those
  // of all its sequences, one after the other. `pool` gets its content from plans alone, each executed once and in the
  // order in which they were committed; it has the planner's limits, and no caches but those that were planned, since
  // blocks of others would bear the same numbers. Nothing in the plan is trusted; its passes have at most
  // options.pass_tokens tokens.
  // After a failure the blocks that it writes are unspecified; the planner should not commit the step. Errors: those of
  // CheckStepPlan; kInvalidArgument (a pool of another layout, passes that are too large, tokens that the plan does not
  // fit, token id out of range, adapters as in Forward), kResourceExhausted and kFailedPrecondition as Forward.
  Result<Outputs> Execute(const StepPlan& plan, std::span<const int32_t> tokens, BlockPool& pool, Workspace& workspace,
                          const ForwardOptions& options = {}) const {
    return Compute("Execute", workspace, options.ranks, [&]() -> Result<Outputs> {
      Outputs outputs;
      const auto pass = NoThrow("Execute", [&]() -> Result<std::unique_ptr<ForwardPass>> {
        if (auto valid = CheckPool(pool, "the pool"); !valid) return Failure(valid.error());
        if (auto valid = CheckStepPlan(plan, pool); !valid) return Failure(valid.error());
        if (auto valid = CheckPasses(plan, options.pass_tokens); !valid) return Failure(valid.error());
        auto runs = SplitTokens(plan, tokens);
        if (!runs) return Failure(runs.error());
        BlockPool* const pools[] = {&pool};
        auto made = MakePass(plan, std::move(*runs), pools, workspace, options);
        if (made) outputs = OutputsIn(workspace.outputs, plan);
        return made;
      });
      if (auto computed = Run(pass, options.ranks); !computed) return Failure(computed.error());
      return outputs;
    });
  }

  // Returns the logits that the head makes of rows of the residual stream, [rows, model_dim] as an observer sees them:
  // an output for each row. Of what stands before the head they are those of Forward, bit for bit; of what stands
  // before an earlier block they show what the model would say if it ended there (logit lens). Inside an observer it
  // takes another workspace. `ranks` as in ForwardOptions. Errors: kInvalidArgument where the floats are not whole
  // rows, else as Forward.
  Result<Outputs> Logits(std::span<const float> residual, Workspace& workspace,
                         const CommunicatorRef* ranks = nullptr) const {
    return Compute("Logits", workspace, ranks, [&]() -> Result<Outputs> {
      Operations ops(workspace.executor(), workspace.activations.matmul, tables_.kernels, nullptr, ranks);
      OutputHead head(weights_, ops);
      const size_t rows = residual.size() / head.model_dim();
      if (residual.size() % head.model_dim() != 0) {
        return Fail(ErrorCode::kInvalidArgument,
                    std::to_string(residual.size()) + " floats are no rows of " + std::to_string(head.model_dim()));
      }
      head.Reserve(rows, workspace.activations);
      Reserve(workspace.activations.hidden, residual.size());
      Reserve(workspace.outputs.logits, rows * head.vocab_size());
      std::vector<uint32_t> all(rows);
      std::iota(all.begin(), all.end(), 0u);
      float* const stream = workspace.activations.hidden.data();
      std::copy(residual.begin(), residual.end(), stream);
      head.Logits(stream, all, workspace.activations.normed.data(), workspace.outputs.logits.data());
      if (!ops.status()) return Failure(ops.status().error());
      return RowsOf(workspace.outputs, std::vector<Want>(rows, Want::kLogits));
    });
  }

 private:
  // For caches of any token limit.
  void ListRotations() {
    std::vector<uint64_t> limits = {kMaxTokens};
    for (const CacheGroup& group : tables_.layout.groups()) {
      if (group.rope.short_factors.empty()) continue;
      limits.push_back(static_cast<uint64_t>(std::min(group.rope.original_context, double{kMaxTokens})));
    }
    for (const uint64_t limit : limits) {
      const CacheLayout layout = tables_.layout.ForTokens(limit);
      CacheRotations& rotations = tables_.rotations.emplace_back(CacheRotations{layout.Fingerprint(), {}});
      for (const CacheGroup& group : layout.groups()) rotations.of_groups.emplace_back(group.rope, group.rotary_dim);
    }
  }

  // The matrices of layers, which stay where they are when the model moves.
  void ListMatrices() {
    const ParameterList list = ParametersOf(weights_);
    unknown_ = FindTypeOutside(tables_.kernels, list);
    for (const Parameter& parameter : list.parameters()) {
      if (!parameter.layer) continue;
      if (const auto* one = std::get_if<MatrixParameter>(&parameter.value)) tables_.matrices.push_back(one->target);
      if (const auto* blocks = std::get_if<BlocksParameter>(&parameter.value)) {
        tables_.block_matrices.emplace_back(blocks->targets, blocks->here.size() * blocks->cols);
      }
    }
    tables_.numbers = MatrixNumbers(tables_.matrices);
  }

  // Runs a call that computes, where model and workspace can.
  template <class Function>
  Result<Outputs> Compute(std::string_view call, Workspace& workspace, const CommunicatorRef* ranks,
                          Function function) const {
    return NoThrow(call, [&]() -> Result<Outputs> {
      const WorkspaceUse use(workspace);
      if (!use.is_ours()) {
        return Fail(ErrorCode::kFailedPrecondition,
                    "another thread is computing with this workspace; each thread needs one of its own");
      }
      if (weights_.blocks.empty()) {
        return Fail(ErrorCode::kFailedPrecondition, "the model has no weights: it was moved from");
      }
      if (unknown_) {
        return Fail(ErrorCode::kFailedPrecondition, Concat({"the model has weights of the type ", NameOf(*unknown_),
                                                            ", which is not among the WeightTypes of its Config"}));
      }
      if (auto valid = CheckRanks(ranks); !valid) return Failure(valid.error());
      if (!workspace.is_valid()) return Fail(ErrorCode::kFailedPrecondition, "the workspace was moved from");
      const FloatEnvironment contract;
      return function();
    });
  }

  // Everything that computing the plan needs.
  Result<std::unique_ptr<ForwardPass>> MakePass(const StepPlan& plan, std::vector<std::span<const int32_t>> tokens,
                                                std::span<BlockPool* const> pools, Workspace& workspace,
                                                const ForwardOptions& options) const {
    const auto adapters = AdaptersOf(plan, options.adapters);
    if (!adapters) return Failure(adapters.error());
    return std::make_unique<ForwardPass>(weights_, tables_, plan, std::move(tokens), pools, workspace, options,
                                         *adapters);
  }

  // Computes where nothing is in the way: here, and with all ranks of a model that is divided.
  Result<void> Run(const Result<std::unique_ptr<ForwardPass>>& pass, const CommunicatorRef* ranks) const {
    if (weights_.share.ranks > 1) {
      if (auto agreed = Agree(*ranks, pass); !agreed) return agreed;
    }
    if (!pass) return Failure(pass.error());
    return (*pass)->Run();
  }

  static Result<void> CheckPasses(const StepPlan& plan, uint32_t pass_tokens) {
    if (LargestPass(plan) <= pass_tokens) return {};
    return Fail(ErrorCode::kInvalidArgument, "the step plan has passes of up to " + std::to_string(LargestPass(plan)) +
                                                 " tokens, expected at most " + std::to_string(pass_tokens) +
                                                 " (ForwardOptions::pass_tokens)");
  }

  // Refuses to compute a part of a model without the ranks that have the others.
  Result<void> CheckRanks(const CommunicatorRef* ranks) const {
    const RankShare& share = weights_.share;
    if (share.ranks == 1 || (ranks != nullptr && ranks->share() == share)) return {};
    const std::string part = std::to_string(share.rank) + " of " + std::to_string(share.ranks);
    if (ranks == nullptr) {
      return Fail(ErrorCode::kFailedPrecondition,
                  "the model has the weights of rank " + part + " alone; ForwardOptions::ranks must have the others");
    }
    return Fail(ErrorCode::kInvalidArgument,
                "the model has the weights of rank " + part + ", but ForwardOptions::ranks is rank " +
                    std::to_string(ranks->share().rank) + " of " + std::to_string(ranks->share().ranks));
  }

  // What Step::Plan cannot know: whether caches and tokens are this model's.
  Result<void> Check(const Batch& batch) const {
    for (size_t i = 0; i < batch.requests().size(); ++i) {
      const StepRequest& request = batch.requests()[i];
      if (auto valid = CheckPool(*request.cache->pool(), "its cache"); !valid) return OfSequence(i, valid);
      if (auto valid = CheckTokens(request.tokens); !valid) return OfSequence(i, valid);
    }
    return {};
  }

  Result<void> CheckPool(const BlockPool& pool, const char* whose) const {
    if (tables_.RotationsOf(pool) == nullptr) {
      return Fail(ErrorCode::kInvalidArgument, std::string(whose) + " has another layout than the model " + name_ +
                                                   " needs; make it for that model");
    }
    if (!pool.has_bytes()) return BlockPool::FailNoBytes();
    return {};
  }

  Result<void> CheckTokens(std::span<const int32_t> tokens) const {
    const int vocab_size = spec().vocab_size;
    for (size_t i = 0; i < tokens.size(); ++i) {
      if (tokens[i] >= 0 && tokens[i] < vocab_size) continue;
      return Fail(ErrorCode::kInvalidArgument, "token " + std::to_string(i) + " has the id " +
                                                   std::to_string(tokens[i]) + ", expected 0 to " +
                                                   std::to_string(vocab_size - 1));
    }
    return {};
  }

  // Returns the adapter of each sequence, null where it has none; nothing at all where no sequence has one.
  Result<std::vector<const Adapter*>> AdaptersOf(const StepPlan& plan, std::span<const Adapter* const> adapters) const {
    const auto has_one = [](const SequencePlan& sequence) { return sequence.adapter != Sha256Digest{}; };
    if (std::ranges::none_of(plan.sequences, has_one)) return std::vector<const Adapter*>();
    std::vector<const Adapter*> found(plan.sequences.size());
    for (size_t i = 0; i < found.size(); ++i) {
      if (!has_one(plan.sequences[i])) continue;
      const auto adapter = std::ranges::find_if(
          adapters, [&](const Adapter* one) { return one != nullptr && one->digest == plan.sequences[i].adapter; });
      if (adapter == adapters.end()) {
        return OfSequence(
            i, Fail(ErrorCode::kInvalidArgument, Concat({"it is for the adapter ", ShortHex(plan.sequences[i].adapter),
                                                         ", which is not among ForwardOptions::adapters"})));
      }
      if (auto fits = CheckAdapter(**adapter); !fits) return OfSequence(i, fits);
      found[i] = *adapter;
    }
    return found;
  }

  Result<void> CheckAdapter(const Adapter& adapter) const {
    if (adapter.model != tables_.layout.model()) {
      return Fail(ErrorCode::kInvalidArgument, Concat({"the adapter ", ShortHex(adapter.digest),
                                                       " is for another model than ", name_, "; load it for that"}));
    }
    if (adapter.share != weights_.share) {
      const auto part = [](const RankShare& share) {
        return std::to_string(share.rank) + " of " + std::to_string(share.ranks);
      };
      return Fail(ErrorCode::kInvalidArgument,
                  Concat({"the adapter ", ShortHex(adapter.digest), " was loaded for rank ", part(adapter.share),
                          ", the model for rank ", part(weights_.share)}));
    }
    if (FindType(tables_.kernels, kAdapterType) != nullptr) return {};
    return Fail(ErrorCode::kFailedPrecondition, Concat({"adapters are multiplied as ", NameOf(kAdapterType),
                                                        ", which is not among the WeightTypes of the model's Config"}));
  }

  // Those of each sequence of a plan that was checked.
  Result<std::vector<std::span<const int32_t>>> SplitTokens(const StepPlan& plan,
                                                            std::span<const int32_t> tokens) const {
    uint64_t expected = 0;
    for (const SequencePlan& sequence : plan.sequences) expected += sequence.num_tokens;
    if (tokens.size() != expected) {
      return Fail(ErrorCode::kInvalidArgument, "the step plan is for " + std::to_string(expected) +
                                                   " tokens, but there are " + std::to_string(tokens.size()));
    }
    std::vector<std::span<const int32_t>> runs;
    for (size_t i = 0; i < plan.sequences.size(); ++i) {
      runs.push_back(tokens.first(plan.sequences[i].num_tokens));
      if (auto valid = CheckTokens(runs.back()); !valid) return OfSequence(i, valid);
      tokens = tokens.subspan(runs.back().size());
    }
    return runs;
  }

  // Says where in `buffers`, which have room for them, each output will be.
  Outputs OutputsIn(const OutputBuffers& buffers, const StepPlan& plan) const {
    std::vector<Want> wants;
    for (const SequencePlan& sequence : plan.sequences) {
      wants.insert(wants.end(), sequence.wants.begin(), sequence.wants.end());
    }
    return RowsOf(buffers, wants);
  }

  Outputs RowsOf(const OutputBuffers& buffers, std::span<const Want> wants) const {
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
  std::optional<DType> unknown_;  // a type of weights that no kernels are for
};

}  // namespace skald

#endif  // SKALD_MODEL_ANY_MODEL_H_
