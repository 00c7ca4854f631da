// SPDX-License-Identifier: Apache-2.0
//
// ForwardPass: computes a planned step, pass by pass, from the tokens to the outputs. Reads the weights, writes the
// step's blocks and the workspace; publishing the step is the caller's business. All memory that it needs is there once
// it is made, before the step takes its blocks: nothing but an executor that throws can stop it then.

#ifndef SKALD_MODEL_FORWARD_H_
#define SKALD_MODEL_FORWARD_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "skald/base/aligned_buffer.h"
#include "skald/base/result.h"
#include "skald/cache/blocks/block_pool.h"
#include "skald/cache/layout/layout.h"
#include "skald/cache/steps/step_plan.h"
#include "skald/layers/model_spec.h"
#include "skald/layers/model_weights.h"
#include "skald/layers/run/adapted_rows.h"
#include "skald/layers/run/layer_run.h"
#include "skald/layers/run/operations.h"
#include "skald/layers/run/rows.h"
#include "skald/layers/run/scratch.h"
#include "skald/layers/run/weight_kernels.h"
#include "skald/layers/spec/layer_spec.h"
#include "skald/model/forward_options.h"
#include "skald/model/output_head.h"
#include "skald/model/per_layer_inputs.h"
#include "skald/model/rotation.h"
#include "skald/model/step_blocks.h"
#include "skald/model/step_replays.h"
#include "skald/model/step_states.h"
#include "skald/model/wanted_rows.h"
#include "skald/model/workspace.h"
#include "skald/weights/adapters/adapter.h"
#include "skald/weights/types/matrix.h"

namespace skald {

// How caches of one layout rotate: their token limit may decide on it.
struct CacheRotations {
  uint64_t fingerprint;             // of the layout
  std::vector<Rotation> of_groups;  // [groups]
};

// What Forward needs to know of a model besides its weights. Immutable.
struct ModelTables {
  CacheLayout layout;
  std::vector<CacheRotations> rotations;   // for every layout that caches of the model may have
  std::span<const WeightKernels> kernels;  // for every type of weights
  // Of every layer of every block, in order; layers are those that this rank computes.
  std::vector<LayerSpec> layers;
  std::vector<LayerFunction> functions;
  std::vector<std::optional<LayerSlot>> slots;  // of every layer, in the same order: where it has or reads its state
  // The matrices of all layers, by which activations are multiplied.
  std::vector<const Matrix*> matrices;
  MatrixNumbers numbers;  // of these
  // Block-diagonal ones, and the columns of the activations.
  std::vector<std::pair<const std::vector<Matrix>*, size_t>> block_matrices;

  // Returns the rotations of the caches of a pool, or null for one of another model. One that keeps states where the
  // model can replay will do.
  const CacheRotations* RotationsOf(const BlockPool& pool) const;
};

class ForwardPass {
 public:
  // `tokens[s]` are those of the plan's sequence s, and `pools`, which are of one layout of the model, what its numbers
  // of pools stand for; blocks need not be there yet. `adapters[s]` is that of sequence s or null; none at all where no
  // sequence has one. All that is referred to must outlive this object.
  ForwardPass(const ModelWeights& weights, const ModelTables& tables, const StepPlan& plan,
              std::vector<std::span<const int32_t>> tokens, std::span<BlockPool* const> pools, Workspace& workspace,
              const ForwardOptions& options, std::span<const Adapter* const> adapters);

  // Computes every pass. Logits and hidden states go to the workspace's output buffers, each in the order of rows.
  // Fails only where ranks do not answer.
  Result<void> Run();

 private:
  // [sequences]
  static std::vector<BlockPool*> PoolsOf(const StepPlan& plan, std::span<BlockPool* const> pools);

  static std::unique_ptr<AdaptedRows> MakeAdaptedRows(const ModelTables& tables,
                                                      std::span<const Adapter* const> adapters, const StepPlan& plan,
                                                      AdapterScratch& scratch);

  size_t CountWanted(Want want) const;

  // Grows the workspace's buffers to what passes of `rows` rows need.
  void ReserveActivations(size_t rows);

  void ReserveOutputs();

  size_t model_dim() const { return head_.model_dim(); }
  Rows Stream(AlignedBuffer<float>& buffer) const { return {buffer.data(), model_dim()}; }

  void RunBlocks(const PassRows& rows);

  // Brings the states of one layer up to date, just before it reads them; as `run` but for its state.
  void Replay(size_t layer, const LayerWeights& weights, LayerRun run);

  void Observe(size_t block, const PassRows& rows);

  LayerRun RunOf(const std::optional<LayerSlot>& slot, const PassRows& rows, Rows input, Rows output);

  void ComputeAngles(const PassRows& rows);

  const ModelWeights& weights_;
  const ModelSpec& spec_;
  const ModelTables& tables_;
  const StepPlan& plan_;
  const std::vector<std::span<const int32_t>> tokens_;  // [sequences]
  const std::vector<BlockPool*> pools_;                 // [sequences]
  const std::span<const Rotation> rotations_;           // [groups]
  const Observer& observer_;
  Activations& act_;
  OutputBuffers& outputs_;
  const std::unique_ptr<AdaptedRows> adapted_;  // null where no sequence has an adapter
  Operations ops_;
  OutputHead head_;
  PerLayerInputs per_layer_;
  const size_t carried_dim_;
  WantedRows wanted_;
  StepBlocks blocks_;
  StepStates states_;
  StepReplays replays_;
  bool is_replayed_ = false;  // whether what is to be replayed has been
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/model/detail/forward.h"
#endif

#endif  // SKALD_MODEL_FORWARD_H_
