// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/model/any_model.h.

#ifndef SKALD_MODEL_DETAIL_ANY_MODEL_H_
#define SKALD_MODEL_DETAIL_ANY_MODEL_H_

#include "skald/model/any_model.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>
#include <variant>

#include "skald/base/aligned_buffer.h"
#include "skald/base/highway.h"
#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/base/numbers/digest.h"
#include "skald/base/numbers/group_layout.h"
#include "skald/base/numbers/rope.h"
#include "skald/base/ranks/agreement.h"
#include "skald/base/text/message.h"
#include "skald/base/threads/float_environment.h"
#include "skald/cache/layout/runtime_config.h"
#include "skald/cache/steps/plan_check.h"
#include "skald/cache/steps/step.h"
#include "skald/layers/run/adapted_rows.h"
#include "skald/layers/run/multiplications.h"
#include "skald/layers/run/operations.h"
#include "skald/layers/run/scratch.h"
#include "skald/layers/spec/component.h"
#include "skald/model/detail/any_model_checks.h"
#include "skald/model/detail/forward.h"
#include "skald/model/detail/model_places.h"
#include "skald/model/detail/other_caches.h"
#include "skald/model/detail/output_head.h"
#include "skald/model/detail/watched_places.h"
#include "skald/model/rotation.h"
#include "skald/weights/parameters.h"

namespace skald {

SKALD_INLINE AnyModel::AnyModel(std::string name, ModelWeights weights, const std::vector<LayerFunction>& functions,
                                std::span<const WeightKernels> kernels)
    : name_(std::move(name)), weights_(std::move(weights)), tables_(std::make_unique<ModelTables>()) {
  tables_->kernels = kernels;
  tables_->layout = LayoutOf(weights_.spec, weights_.share);
  tables_->slots = SlotsOf(weights_.spec, tables_->layout);
  tables_->pass_groups = PassGroups(weights_.spec, weights_.share);
  ListRotations();
  for (const Block& block : weights_.spec.blocks) {
    for (const LayerSpec& layer : block.layers) {
      const auto function = std::ranges::find(functions, layer.type(), &LayerFunction::type);
      HWY_DASSERT(function != functions.end());
      tables_->functions.push_back(*function);
      tables_->layers.push_back(layer.OfRank(weights_.share));
    }
  }
  ListMatrices();
  tables_->places = ModelPlaces(weights_.spec, weights_.share.ranks);
}

SKALD_INLINE AnyModel::AnyModel(AnyModel&&) noexcept = default;
SKALD_INLINE AnyModel& AnyModel::operator=(AnyModel&&) noexcept = default;
SKALD_INLINE AnyModel::~AnyModel() = default;

SKALD_INLINE const CacheLayout& AnyModel::layout() const {
  static const CacheLayout kNone;
  return tables_ == nullptr ? kNone : tables_->layout;  // a model that was moved from has none
}

SKALD_INLINE std::span<const Place> AnyModel::Places() const {
  if (tables_ == nullptr) return {};
  return tables_->places.all();
}

SKALD_INLINE Result<Outputs> AnyModel::Forward(const Batch& batch, Workspace& workspace,
                                               const ForwardOptions& options) const {
  return Compute("Forward", workspace, options.ranks, [&]() -> Result<Outputs> {
    std::optional<Step> step;
    Outputs outputs;
    const auto pass = NoThrow("Forward", [&]() -> Result<std::unique_ptr<ForwardPass>> {
      SKALD_ASSIGN(auto planned, Step::Plan(batch, options.pass_tokens));
      step.emplace(std::move(planned));
      SKALD_TRY(Check(batch));
      std::vector<std::span<const int32_t>> tokens;
      for (const StepRequest& request : batch.requests()) tokens.push_back(request.tokens);
      SKALD_ASSIGN(auto made, MakePass(step->plan(), std::move(tokens), step->pools(), workspace, options));
      outputs = OutputsIn(workspace.outputs, step->plan());
      SKALD_TRY(step->Reserve());
      return made;
    });
    SKALD_TRY(Run(pass, options.ranks));
    if ((*pass)->stopped()) return Outputs::Stopped();
    step->Commit();
    return outputs;
  });
}

SKALD_INLINE Result<Outputs> AnyModel::Encode(std::span<const WholeText> texts, Workspace& workspace,
                                              const ForwardOptions& options) const {
  return Compute("Encode", workspace, options.ranks, [&]() -> Result<Outputs> {
    if (!SeesBothWays(spec())) {
      return Fail(ErrorCode::kUnsupported, Concat({name_, " looks back; Forward computes it"}));
    }
    StepPlan plan = {
        .model = tables_->layout.model(), .block_tokens = kTile, .sequences = {}, .passes = std::vector<Pass>(1)};
    std::vector<std::span<const int32_t>> types;
    std::vector<const KVCache*> beside;
    BlockPool none(tables_->layout, RuntimeConfig{.max_tokens = kMaxTokens});  // nothing is kept
    BlockPool* const pools[] = {&none};
    Outputs outputs;
    const auto pass = NoThrow("Encode", [&]() -> Result<std::unique_ptr<ForwardPass>> {
      if (texts.empty()) return Fail(ErrorCode::kInvalidArgument, "there are no texts");
      std::vector<std::span<const int32_t>> tokens;
      for (size_t i = 0; i < texts.size(); ++i) {
        const WholeText& text = texts[i];
        if (auto valid = CheckText(text); !valid) return OfSequence(i, valid);
        const auto count = static_cast<uint32_t>(text.tokens.size());
        if (text.beside != nullptr) beside.push_back(text.beside);
        plan.sequences.push_back({.first_position = text.beside != nullptr ? text.beside->size() : 0,
                                  .num_tokens = count,
                                  .adapter = text.adapter,
                                  .wants = {text.wants.begin(), text.wants.end()}});
        plan.passes[0].push_back({static_cast<uint32_t>(i), 0, count});
        tokens.push_back(text.tokens);
        types.push_back(text.types);
      }
      if (weights_.share.ranks > 1 && !beside.empty()) {
        return Fail(ErrorCode::kUnsupported, "ranks do not compute models that read another's cache");
      }
      SKALD_TRY(OtherCaches::Check(tables_->pass_groups, beside));
      auto made = MakePass(plan, std::move(tokens), pools, workspace, options, types, beside);
      if (made) outputs = OutputsIn(workspace.outputs, plan);
      return made;
    });
    SKALD_TRY(Run(pass, options.ranks));
    return (*pass)->stopped() ? Outputs::Stopped() : outputs;
  });
}

SKALD_INLINE Result<std::span<const float>> AnyModel::Forward(KVCache& cache, std::span<const int32_t> tokens,
                                                              Workspace& workspace,
                                                              const ForwardOptions& options) const {
  SKALD_ASSIGN(auto outputs, Forward(Batch().Add(cache, tokens), workspace, options));
  if (outputs.stopped()) return std::span<const float>();
  return outputs[0];
}

SKALD_INLINE Result<Outputs> AnyModel::Execute(const StepPlan& plan, std::span<const int32_t> tokens, BlockPool& pool,
                                               Workspace& workspace, const ForwardOptions& options) const {
  return Compute("Execute", workspace, options.ranks, [&]() -> Result<Outputs> {
    Outputs outputs;
    const auto pass = NoThrow("Execute", [&]() -> Result<std::unique_ptr<ForwardPass>> {
      SKALD_TRY(CheckLooksBack());
      SKALD_TRY(CheckPool(pool));
      SKALD_TRY(CheckStepPlan(plan, pool));
      SKALD_TRY(CheckPasses(plan, options.pass_tokens));
      SKALD_ASSIGN(auto runs, SplitTokens(plan, tokens));
      BlockPool* const pools[] = {&pool};
      auto made = MakePass(plan, std::move(runs), pools, workspace, options);
      if (made) outputs = OutputsIn(workspace.outputs, plan);
      return made;
    });
    SKALD_TRY(Run(pass, options.ranks));
    if ((*pass)->stopped()) return Outputs::Stopped();
    return outputs;
  });
}

SKALD_INLINE Result<Outputs> AnyModel::Logits(std::span<const float> residual, Workspace& workspace,
                                              const CommunicatorRef* ranks) const {
  return Compute("Logits", workspace, ranks, [&]() -> Result<Outputs> {
    Operations ops(workspace.executor(), workspace.activations.matmul, tables_->kernels, nullptr, ranks);
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

SKALD_INLINE void AnyModel::ListRotations() {
  std::vector<uint64_t> limits = {kMaxTokens};
  for (const CacheGroup& group : tables_->layout.groups()) {
    if (group.rope.short_factors.empty()) continue;
    limits.push_back(static_cast<uint64_t>(std::min(group.rope.original_context, double{kMaxTokens})));
  }
  for (const uint64_t limit : limits) {
    const CacheLayout layout = tables_->layout.ForTokens(limit);
    CacheRotations& rotations = tables_->rotations.emplace_back(CacheRotations{layout.Fingerprint(), {}});
    for (const CacheGroup& group : layout.groups()) rotations.of_groups.emplace_back(group.rope, group.rotary_dim);
  }
}

SKALD_INLINE void AnyModel::ListMatrices() {
  const ParameterList list = ParametersOf(weights_);
  unknown_ = FindTypeOutside(tables_->kernels, list);
  for (const Parameter& parameter : list.parameters()) {
    if (!parameter.layer) continue;
    if (const auto* one = std::get_if<MatrixParameter>(&parameter.value)) tables_->matrices.push_back(one->target);
    if (const auto* blocks = std::get_if<BlocksParameter>(&parameter.value)) {
      tables_->block_matrices.emplace_back(blocks->targets, blocks->here.size() * blocks->cols);
    }
  }
  tables_->numbers = MatrixNumbers(tables_->matrices);
}

template <class Function>
Result<Outputs> AnyModel::Compute(std::string_view call, Workspace& workspace, const CommunicatorRef* ranks,
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
    SKALD_TRY(CheckRanks(ranks));
    if (!workspace.is_valid()) return Fail(ErrorCode::kFailedPrecondition, "the workspace was moved from");
    const FloatEnvironment contract;
    return function();
  });
}

SKALD_INLINE Result<std::unique_ptr<ForwardPass>> AnyModel::MakePass(const StepPlan& plan,
                                                                     std::vector<std::span<const int32_t>> tokens,
                                                                     std::span<BlockPool* const> pools,
                                                                     Workspace& workspace,
                                                                     const ForwardOptions& options, TypesOfTokens types,
                                                                     std::span<const KVCache* const> beside) const {
  SKALD_ASSIGN(const auto adapters, AdaptersOf(plan, options.adapters));
  SKALD_ASSIGN(auto watched,
               WatchedPlaces::Find(tables_->places, options.hooks, weights_.share.ranks > 1 ? options.ranks : nullptr));
  return std::make_unique<ForwardPass>(weights_, *tables_, plan, std::move(tokens), pools, workspace, options, adapters,
                                       std::move(watched), types, beside);
}

SKALD_INLINE Result<void> AnyModel::Run(const Result<std::unique_ptr<ForwardPass>>& pass,
                                        const CommunicatorRef* ranks) const {
  if (weights_.share.ranks > 1) {
    SKALD_TRY(Agree(*ranks, pass));
  }
  if (!pass) return Failure(pass.error());
  return (*pass)->Run();
}

SKALD_INLINE Result<std::vector<const Adapter*>> AnyModel::AdaptersOf(const StepPlan& plan,
                                                                      std::span<const Adapter* const> adapters) const {
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

SKALD_INLINE Result<std::vector<std::span<const int32_t>>> AnyModel::SplitTokens(
    const StepPlan& plan, std::span<const int32_t> tokens) const {
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

SKALD_INLINE Outputs AnyModel::OutputsIn(const OutputBuffers& buffers, const StepPlan& plan) const {
  std::vector<Want> wants;
  for (const SequencePlan& sequence : plan.sequences) {
    wants.insert(wants.end(), sequence.wants.begin(), sequence.wants.end());
  }
  return RowsOf(buffers, wants);
}

SKALD_INLINE Outputs AnyModel::RowsOf(const OutputBuffers& buffers, std::span<const Want> wants) const {
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

}  // namespace skald

#endif  // SKALD_MODEL_DETAIL_ANY_MODEL_H_
