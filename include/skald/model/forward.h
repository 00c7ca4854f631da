// SPDX-License-Identifier: Apache-2.0
//
// ForwardPass: computes a planned step, pass by pass, from the tokens to the outputs. Reads the weights, writes the
// step's blocks and the workspace; publishing the step is the caller's business. All memory that it needs is there once
// it is made, before the step takes its blocks: nothing but an executor that throws can stop it then.

#ifndef SKALD_MODEL_FORWARD_H_
#define SKALD_MODEL_FORWARD_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

#include "skald/base/numeric.h"
#include "skald/cache/layout.h"
#include "skald/cache/step.h"
#include "skald/configs/model_config.h"
#include "skald/configs/recurrence.h"
#include "skald/model/batch.h"
#include "skald/model/layers.h"
#include "skald/model/operations.h"
#include "skald/model/pass_rows.h"
#include "skald/model/recurrent_layers.h"
#include "skald/model/rotation.h"
#include "skald/model/step_blocks.h"
#include "skald/model/step_states.h"
#include "skald/model/workspace.h"
#include "skald/weights/model_weights.h"

namespace skald {

template <ModelConfig C>
class ForwardPass {
 public:
  // `rotations[g]` belongs to group g of the layout, and `plan` to `batch`; its blocks need not be there yet.
  // Everything must outlive this object.
  ForwardPass(const ModelWeights& weights, std::span<const Rotation> rotations, const StepPlan& plan,
              const std::vector<BlockPool*>& pools, const Batch& batch, Workspace& workspace)
      : weights_(weights),
        rotations_(rotations),
        plan_(plan),
        batch_(batch),
        pool_(*pools.front()),
        act_(workspace.activations),
        outputs_(workspace.outputs),
        ops_(workspace.executor(), workspace.activations.matmul),
        rows_(std::min<size_t>(batch.wants().size(), workspace.pass_tokens())),
        blocks_(plan, pools),
        states_(plan, pools) {
    ReserveActivations(rows_.most());
    ReserveOutputs();
  }

  // Computes every pass. Logits and hidden states go to the workspace's output buffers, each in the order of rows.
  void Run() {
    blocks_.Prepare(rotations_, ops_.executor());
    states_.Prepare();
    size_t num_logits = 0, num_hidden = 0;
    for (const Pass& pass : plan_.passes) {
      rows_.BeginPass(pass, plan_, batch_);
      blocks_.BeginPass(pass);
      states_.BeginPass(pass);
      RunLayers(rows_);
      ComputeLogits(rows_.logit_rows, outputs_.logits.data() + num_logits * C::kVocabSize);
      NormalizeWanted(rows_.hidden_rows, outputs_.hidden.data() + num_hidden * C::kModelDim);
      num_logits += rows_.logit_rows.size();
      num_hidden += rows_.hidden_rows.size();
    }
  }

 private:
  static constexpr CacheLayout kLayout = LayoutOf<C>();

  size_t CountWanted(Want want) const {
    return static_cast<size_t>(std::count(batch_.wants().begin(), batch_.wants().end(), want));
  }

  // Grows the workspace's buffers to what passes of `rows` rows need.
  void ReserveActivations(size_t rows) {
    Activations& act = act_;
    constexpr size_t kQueryDim = size_t{HeadsOf<C>()} * HeadDimOf<C>();
    constexpr size_t kKVDim = size_t{KVHeadsOf<C>()} * HeadDimOf<C>();
    Reserve(act.hidden, rows * C::kModelDim);
    Reserve(act.normed, rows * C::kModelDim);
    Reserve(act.projected, rows * (kQueryDim + 2 * kKVDim));
    Reserve(act.mixed, rows * kQueryDim);
    Reserve(act.gate_up, rows * 2 * FeedForwardDimOf<C>());
    Reserve(act.gated, RoundUp(rows, kRowBlock) * FeedForwardDimOf<C>());
    Reserve(act.block_output, rows * C::kModelDim);
    for (size_t g = 0; g < kLayout.groups().size(); ++g) {
      const CacheGroup& group = kLayout.groups()[g];
      if (group.is_recurrent()) ReserveRecurrence(RecurrenceOf<C>(group.kind), rows, act);
      Reserve(act.cos[g], rows * group.rotary_dim / 2);
      Reserve(act.sin[g], rows * group.rotary_dim / 2);
    }
    for (const LayerWeights& layer : weights_.layers) ReserveLayer(layer, rows, act.matmul);
  }

  static void ReserveLayer(const LayerWeights& layer, size_t rows, MatMulScratch& scratch) {
    const AttentionWeights& attention = layer.attention;
    const RecurrentWeights& recurrent = layer.recurrent;
    for (const Matrix* matrix :
         {&attention.qkv, &attention.output, &recurrent.input, &recurrent.selection, &recurrent.time_step,
          &recurrent.output, &layer.feed_forward.gate_up, &layer.feed_forward.down}) {
      if (matrix->rows > 0) ReserveMatMul(*matrix, rows, scratch);
    }
    if (!recurrent.gates.empty()) ReserveBlockMatMul(recurrent.gates, recurrent.output.cols, rows, scratch);
  }

  void ReserveOutputs() {
    const size_t num_logits = CountWanted(Want::kLogits);
    Reserve(outputs_.logits, num_logits * C::kVocabSize);
    Reserve(outputs_.hidden, CountWanted(Want::kHidden) * C::kModelDim);
    if (num_logits > 0) ReserveMatMul(Head(), std::min(num_logits, rows_.most()), act_.matmul);
  }

  const Matrix& Head() const { return weights_.head ? *weights_.head : weights_.embedding; }

  void RunLayers(const PassRows& rows) {
    ComputeAngles(rows);
    ops_.Embed(weights_.embedding, rows.tokens, EmbeddingScale(), {act_.hidden.data(), C::kModelDim});
    for (size_t layer = 0; layer < NumLayersOf<C>(); ++layer) {
      DecoderLayer<C>(weights_.layers[layer], rows, ops_, act_, [&] { Mix(layer, rows); });
    }
  }

  static float EmbeddingScale() {
    if constexpr (!HasScaledEmbeddings<C>()) return 1.0f;
    const float scale = std::sqrt(static_cast<float>(C::kModelDim));
    return HasRoundedEmbeddingScale<C>() ? ToFloat(FromFloat<bf16>(scale)) : scale;
  }

  // block_output = attention or recurrence of layer `layer` over normed.
  void Mix(size_t layer, const PassRows& rows) {
    const LayerKind kind = C::kLayers[layer];
    const LayerSlot slot = kLayout.layers()[layer];
    const BlockGeometry& geometry = pool_.geometry(slot.group);
    if constexpr (HasRecurrence<C>()) {
      if (IsRecurrent(kind)) {
        const LayerState state = {.runs = states_.runs(slot.group),
                                  .state_offset = geometry.StateOffset(slot.index),
                                  .conv_offset = geometry.ConvOffset(slot.index)};
        const RecurrentWeights& weights = weights_.layers[layer].recurrent;
        RecurrentLayer(RecurrenceOf<C>(kind), weights, state, C::kNormEpsilon, ops_, act_);
      }
    }
    if constexpr (HasAttention<C>()) {
      if (IsAttention(kind)) {
        const LayerCache cache = {.kv_type = pool_.runtime().kv_type,
                                  .geometry = LayerGeometry(geometry, slot.index),
                                  .tables = blocks_.tables(slot.group),
                                  .cos = act_.cos[slot.group].data(),
                                  .sin = act_.sin[slot.group].data()};
        AttentionLayer<C>(kind, weights_.layers[layer].attention, cache, rows, ops_, act_);
      }
    }
  }

  void ComputeAngles(const PassRows& rows) {
    for (size_t g = 0; g < rotations_.size(); ++g) {
      const size_t pairs = rotations_[g].pairs();
      ParallelFor(ops_.executor(), rows.size(), pairs * 16, [&](size_t begin, size_t end) {
        for (size_t row = begin; row < end; ++row) {
          rotations_[g].Angles(rows.positions[row], act_.cos[g].data() + row * pairs, act_.sin[g].data() + row * pairs);
        }
      });
    }
  }

  // output[i, :] = final norm of hidden row wanted[i].
  void NormalizeWanted(const std::vector<uint32_t>& wanted, float* output) {
    for (size_t i = 0; i < wanted.size(); ++i) {
      ops_.Norm({act_.hidden.data() + wanted[i] * size_t{C::kModelDim}, C::kModelDim}, 1, weights_.final_norm,
                C::kNormEpsilon, {output + i * C::kModelDim, C::kModelDim});
    }
  }

  // logits[i, :] of hidden row wanted[i].
  void ComputeLogits(const std::vector<uint32_t>& wanted, float* logits) {
    if (wanted.empty()) return;
    NormalizeWanted(wanted, act_.normed.data());
    ops_.MatMul(Head(), {act_.normed.data(), C::kModelDim}, wanted.size(), {}, {logits, C::kVocabSize});
    if constexpr (FinalSoftcapOf<C>() > 0.0f) ops_.Softcap(logits, wanted.size() * C::kVocabSize, FinalSoftcapOf<C>());
  }

  const ModelWeights& weights_;
  const std::span<const Rotation> rotations_;  // [groups]
  const StepPlan& plan_;
  const Batch& batch_;
  const BlockPool& pool_;  // all pools of a step store the same way
  Activations& act_;
  OutputBuffers& outputs_;
  Operations ops_;
  PassRows rows_;
  StepBlocks blocks_;
  StepStates states_;
};

}  // namespace skald

#endif  // SKALD_MODEL_FORWARD_H_
