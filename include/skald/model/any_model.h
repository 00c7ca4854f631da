// SPDX-License-Identifier: Apache-2.0
//
// AnyModel: a model of any spec, chosen at run time: the weights plus Forward. Const, safe for concurrent calls, and
// without any conversation state: one model serves any number of caches and callers.

#ifndef SKALD_MODEL_ANY_MODEL_H_
#define SKALD_MODEL_ANY_MODEL_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "skald/base/numbers/digest.h"
#include "skald/base/numbers/group_types.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/ranks/communicator.h"
#include "skald/base/result.h"
#include "skald/cache/blocks/block_pool.h"
#include "skald/cache/kv_cache.h"
#include "skald/cache/layout/layout.h"
#include "skald/cache/steps/batch.h"
#include "skald/cache/steps/step_plan.h"
#include "skald/layers/model_spec.h"
#include "skald/layers/model_weights.h"
#include "skald/layers/run/weight_kernels.h"
#include "skald/layers/spec/layer_spec.h"
#include "skald/model/forward_options.h"
#include "skald/model/hooks.h"
#include "skald/model/outputs.h"
#include "skald/model/workspace.h"
#include "skald/weights/adapters/adapter.h"

namespace skald {

class ForwardPass;
struct ModelTables;

/// A whole text for AnyModel::Encode, or tokens beside one that another model computed. Nothing of it is owned.
struct WholeText {
  std::span<const int32_t> tokens;      ///< at least one
  std::span<const Want> wants;          ///< [tokens], none of them kLogits
  std::span<const int32_t> types = {};  ///< [tokens], of models whose tokens have types; empty: all are 0
  /// Of models with CrossAttention, whose layers read it: the other model's, with the text before these tokens. It
  /// stays as it is, and its positions go on in `tokens`. Null for all other models.
  const KVCache* beside = nullptr;
  Sha256Digest adapter = {};  ///< of the one of ForwardOptions::adapters that it is computed by; zeros: of none
};

class AnyModel {
 public:
  /// Errors contain `name`. `functions` must have one for the type of every layer, and `kernels`, which must outlive
  /// the model, a set for the type of every matrix; extra ones are not looked at. Throws std::bad_alloc; LoadModel and
  /// LoadAnyModel make an error of it.
  AnyModel(std::string name, ModelWeights weights, const std::vector<LayerFunction>& functions,
           std::span<const WeightKernels> kernels = WeightKernelsOf<AllWeights>());

  AnyModel(AnyModel&&) noexcept;
  AnyModel& operator=(AnyModel&&) noexcept;
  ~AnyModel();

  /// As given; errors of the model begin with it.
  const std::string& name() const { return name_; }
  /// The description that the weights were made for.
  const ModelSpec& spec() const { return weights_.spec; }
  /// The parameters, immutable.
  const ModelWeights& weights() const { return weights_; }
  /// Of caches for this model: of one rank's part of them where the weights are that.
  const CacheLayout& layout() const;

  /// The places where hooks can be (ForwardOptions::hooks), in the order in which a pass comes by them. Live as long as
  /// the model.
  std::span<const Place> Places() const;

  /// Whether caches of the pool are for this model. Errors: kInvalidArgument for one of another layout;
  /// kFailedPrecondition for one without bytes.
  Result<void> CheckPool(const BlockPool& pool) const { return CheckPoolOf(pool, "the pool"); }

  /// Appends the batch's tokens to their caches and returns the outputs that its rows want, in the order of the
  /// batch; they live in `workspace` until its next use. It plans a step, executes it and commits it. A failure names
  /// the sequence and leaves every cache as it was, resume points included; only what an executor or a hook throws or
  /// says comes too late for those that gave way to the batch's tokens. A hook may end the step: then the outputs are
  /// stopped(), and caches are left likewise. Errors: those of Step::Plan and Step::Reserve; kInvalidArgument (token id
  /// out of range, cache of another layout, or for an adapter that ForwardOptions::adapters lacks or that is for
  /// another model, a hook at a place that the model has not), kResourceExhausted (no memory for the activations),
  /// kFailedPrecondition (a model or workspace that was moved from, a workspace that another call is using, a pool
  /// without bytes, an executor or hook that threw or failed).
  Result<Outputs> Forward(const Batch& batch, Workspace& workspace, const ForwardOptions& options = {}) const;

  /// Computes whole texts by a model that sees both ways (SeesBothWays), which keeps nothing of them, and returns the
  /// outputs that their rows want, in order; they live in `workspace` until its next use. All texts are computed in one
  /// pass, options.pass_tokens or not: a text cannot be cut, and the caller decides which are together. The outputs
  /// of a text do not depend on the others. Errors name the text by its number: kInvalidArgument (no texts, no tokens,
  /// an id or a type out of range, wants or types that do not match the tokens, or want logits, a cache beside it where
  /// none is read or none where one is, of another pool than the first text's, or without layers as they are read),
  /// kOutOfRange (more tokens than the model has positions), kUnsupported (a model that does not see both ways, or a
  /// part of one that reads a cache beside it); those of adapters and ranks, kResourceExhausted and kFailedPrecondition
  /// as Forward.
  Result<Outputs> Encode(std::span<const WholeText> texts, Workspace& workspace,
                         const ForwardOptions& options = {}) const;

  /// One conversation: appends `tokens` to `cache` and returns the logits [vocab_size] for the token that follows;
  /// none where a hook ended the step.
  Result<std::span<const float>> Forward(KVCache& cache, std::span<const int32_t> tokens, Workspace& workspace,
                                         const ForwardOptions& options = {}) const;

  /// Carries out a step that was planned elsewhere (Step::Begin, on a pool of the same layout and block size, with or
  /// without bytes), and returns its outputs as Forward does: bit for bit the same, wherever it was planned. `tokens`
  /// are those
  /// of all its sequences, one after the other. `pool` gets its content from plans alone, each executed once and in the
  /// order in which they were committed; it has the planner's limits, and no caches but those that were planned, since
  /// blocks of others would bear the same numbers. Nothing in the plan is trusted; its passes have at most
  /// options.pass_tokens tokens.
  /// After a failure the blocks that it writes are unspecified; the planner should not commit the step. Errors: those
  /// of CheckStepPlan; kInvalidArgument (a pool of another layout, passes that are too large, tokens that the plan does
  /// not fit, token id out of range, adapters as in Forward), kResourceExhausted and kFailedPrecondition as Forward.
  Result<Outputs> Execute(const StepPlan& plan, std::span<const int32_t> tokens, BlockPool& pool, Workspace& workspace,
                          const ForwardOptions& options = {}) const;

  /// Returns the logits that the head makes of rows of the residual stream, [rows, model_dim] as hooks see them: an
  /// output for each row. For rows before the head they are those of Forward, bit for bit; for rows before an
  /// earlier block they are those of a model that ends there (logit lens). Inside a hook it takes another
  /// workspace. `ranks` as in ForwardOptions. Errors: kInvalidArgument where the floats are not whole rows, else as
  /// Forward.
  Result<Outputs> Logits(std::span<const float> residual, Workspace& workspace,
                         const CommunicatorRef* ranks = nullptr) const;

 private:
  /// Those of each sequence, or none.
  using TypesOfTokens = std::span<const std::span<const int32_t>>;

  // For caches of any token limit.
  void ListRotations();

  /// The matrices of layers, which stay where they are when the model moves.
  void ListMatrices();

  /// Runs a call that computes, where model and workspace can.
  template <class Function>
  Result<Outputs> Compute(std::string_view call, Workspace& workspace, const CommunicatorRef* ranks,
                          Function function) const;

  /// Everything that computing the plan needs.
  Result<std::unique_ptr<ForwardPass>> MakePass(const StepPlan& plan, std::vector<std::span<const int32_t>> tokens,
                                                std::span<BlockPool* const> pools, Workspace& workspace,
                                                const ForwardOptions& options, TypesOfTokens types = {},
                                                std::span<const KVCache* const> beside = {}) const;

  /// Computes where nothing is in the way: here, and with all ranks of a model that is divided.
  Result<void> Run(const Result<std::unique_ptr<ForwardPass>>& pass, const CommunicatorRef* ranks) const;

  static Result<void> CheckPasses(const StepPlan& plan, uint32_t pass_tokens);

  /// Refuses to compute a part of a model without the ranks that have the others.
  Result<void> CheckRanks(const CommunicatorRef* ranks) const;

  /// Checks that caches and tokens are this model's, which Step::Plan cannot know.
  Result<void> Check(const Batch& batch) const;

  /// Checks a text for Encode.
  Result<void> CheckText(const WholeText& text) const;
  Result<void> CheckBeside(const WholeText& text) const;

  /// Refuses to continue texts that must be computed whole.
  Result<void> CheckLooksBack() const;

  Result<void> CheckPoolOf(const BlockPool& pool, const char* whose) const;

  Result<void> CheckTokens(std::span<const int32_t> tokens) const;

  /// Returns the adapter of each sequence, null where it has none; nothing at all where no sequence has one.
  Result<std::vector<const Adapter*>> AdaptersOf(const StepPlan& plan, std::span<const Adapter* const> adapters) const;

  Result<void> CheckAdapter(const Adapter& adapter) const;

  /// Those of each sequence of a plan that was checked.
  Result<std::vector<std::span<const int32_t>>> SplitTokens(const StepPlan& plan,
                                                            std::span<const int32_t> tokens) const;

  /// Says where in `buffers`, which have room for them, each output will be.
  Outputs OutputsIn(const OutputBuffers& buffers, const StepPlan& plan) const;

  Outputs RowsOf(const OutputBuffers& buffers, std::span<const Want> wants) const;

  std::string name_;
  ModelWeights weights_;
  std::unique_ptr<ModelTables> tables_;  ///< what follows from the weights
  std::optional<DType> unknown_;         ///< a type of weights that no kernels are for
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/model/detail/any_model.h"
#endif

#endif  // SKALD_MODEL_ANY_MODEL_H_
