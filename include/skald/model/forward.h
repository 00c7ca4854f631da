// SPDX-License-Identifier: Apache-2.0
//
// ForwardPass: computes a planned step, pass by pass, from the tokens to the outputs. Reads the weights, writes the
// step's blocks and the workspace; publishing the step is the caller's business.

#ifndef SKALD_MODEL_FORWARD_H_
#define SKALD_MODEL_FORWARD_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "skald/base/numeric.h"
#include "skald/base/parallel.h"
#include "skald/cache/layout.h"
#include "skald/cache/step.h"
#include "skald/layers/layer_run.h"
#include "skald/layers/layer_spec.h"
#include "skald/layers/model_spec.h"
#include "skald/layers/model_weights.h"
#include "skald/layers/norm.h"
#include "skald/layers/operations.h"
#include "skald/model/batch.h"
#include "skald/model/rotation.h"
#include "skald/model/step_blocks.h"
#include "skald/model/step_states.h"
#include "skald/model/wanted_rows.h"
#include "skald/model/workspace.h"

namespace skald {

// What Forward needs to know of a model besides its weights. Immutable.
struct ModelTables {
  CacheLayout layout;
  std::vector<Rotation> rotations;  // [groups of the layout]
  // Of every layer of every block, in order.
  std::vector<void (*)(const LayerSpec&, const LayerWeights&, const LayerRun&)> functions;
};

class ForwardPass {
 public:
  // Everything must outlive this object.
  ForwardPass(const ModelWeights& weights, const ModelTables& tables, const StepPlan& plan,
              const std::vector<BlockPool*>& pools, Workspace& workspace)
      : weights_(weights),
        spec_(weights.spec),
        tables_(tables),
        plan_(plan),
        pool_(*pools.front()),
        act_(workspace.activations),
        outputs_(workspace.outputs),
        ops_(workspace.executor(), workspace.activations.matmul),
        blocks_(plan, pools),
        states_(plan, pools) {}

  // Computes every pass. Logits and hidden states go to the workspace's output buffers, each in the order of rows.
  void Run(std::span<const StepRequest> requests, std::span<const Want> wants) {
    blocks_.Prepare(tables_.rotations, ops_.executor());
    std::vector<size_t> first_want;
    for (size_t total = 0; const StepRequest& request : requests) {
      first_want.push_back(total);
      total += request.tokens.size();
    }
    float* logits = outputs_.logits.data();
    float* hidden = outputs_.hidden.data();
    for (const Pass& pass : plan_.passes) {
      const WantedRows wanted(pass, plan_, requests, wants, first_want);
      blocks_.BeginPass(pass);
      states_.BeginPass(pass);
      RunBlocks(wanted.rows);
      ComputeLogits(wanted.logit_rows, logits);
      NormalizeWanted(wanted.hidden_rows, hidden);
      logits += wanted.logit_rows.size() * vocab_size();
      hidden += wanted.hidden_rows.size() * model_dim();
    }
  }

  // Grows the workspace's buffers to what passes of `rows` rows need.
  static void ReserveActivations(const ModelSpec& spec, const CacheLayout& layout, size_t rows, Activations& act) {
    const auto model_dim = static_cast<size_t>(spec.model_dim);
    Reserve(act.hidden, rows * model_dim);
    Reserve(act.normed, rows * model_dim);
    Reserve(act.block_output, rows * model_dim);
    const size_t groups = layout.groups().size();
    if (act.cos.size() < groups) act.cos.resize(groups);
    if (act.sin.size() < groups) act.sin.resize(groups);
    for (size_t g = 0; g < groups; ++g) {
      Reserve(act.cos[g], rows * layout.groups()[g].rotary_dim / 2);
      Reserve(act.sin[g], rows * layout.groups()[g].rotary_dim / 2);
    }
  }

 private:
  size_t model_dim() const { return static_cast<size_t>(spec_.model_dim); }
  size_t vocab_size() const { return static_cast<size_t>(spec_.vocab_size); }
  Rows Stream(AlignedBuffer<float>& buffer) const { return {buffer.data(), model_dim()}; }

  void RunBlocks(const PassRows& rows) {
    ComputeAngles(rows);
    ops_.Embed(weights_.embedding, rows.tokens, EmbeddingFactor(spec_), Stream(act_.hidden));
    size_t layer = 0, slot = 0;
    for (size_t b = 0; b < spec_.blocks.size(); ++b) {
      const Block& block = spec_.blocks[b];
      const BlockWeights& weights = weights_.blocks[b];
      RunNorm(block.norm, weights.norm, ops_, Stream(act_.hidden), rows.size(), Stream(act_.normed));
      for (size_t i = 0; i < block.layers.size(); ++i, ++layer) {
        AlignedBuffer<float>& output = i == 0 ? act_.block_output : act_.second;
        Reserve(output, rows.size() * model_dim());
        const LayerRun run = RunOf(block.layers[i], rows, Stream(output), slot);
        tables_.functions[layer](block.layers[i], *weights.layers[i], run);
        if (i > 0) ops_.Add(act_.block_output.data(), output.data(), rows.size() * model_dim());
      }
      if (block.post_norm) {
        RunNorm(*block.post_norm, weights.post_norm, ops_, Stream(act_.block_output), rows.size(),
                Stream(act_.block_output));
      }
      ops_.Add(act_.hidden.data(), act_.block_output.data(), rows.size() * model_dim());
    }
  }

  // `slot` counts the layers that keep state.
  LayerRun RunOf(const LayerSpec& layer, const PassRows& rows, Rows output, size_t& slot) {
    LayerRun run = {.ops = ops_,
                    .scratch = act_.scratch,
                    .rows = rows,
                    .model_dim = model_dim(),
                    .input = Stream(act_.normed),
                    .output = output,
                    .cache = {},
                    .state = {}};
    if (!layer.State()) return run;
    const LayerSlot at = tables_.layout.layers()[slot++];
    const BlockGeometry& geometry = pool_.geometry(at.group);
    if (tables_.layout.groups()[at.group].is_recurrent()) {
      run.state = {.runs = states_.runs(at.group), .offset = geometry.StateOffset(at.index)};
    } else {
      run.cache = {.kv_type = pool_.runtime().kv_type,
                   .geometry = LayerGeometry(geometry, at.index),
                   .tables = blocks_.tables(at.group),
                   .cos = act_.cos[at.group].data(),
                   .sin = act_.sin[at.group].data()};
    }
    return run;
  }

  void ComputeAngles(const PassRows& rows) {
    for (size_t g = 0; g < tables_.rotations.size(); ++g) {
      const Rotation& rotation = tables_.rotations[g];
      const size_t pairs = rotation.pairs();
      ParallelFor(ops_.executor(), rows.size(), pairs * 16, [&](size_t begin, size_t end) {
        for (size_t row = begin; row < end; ++row) {
          rotation.Angles(rows.positions[row], act_.cos[g].data() + row * pairs, act_.sin[g].data() + row * pairs);
        }
      });
    }
  }

  // output[i, :] = final norm of hidden row wanted[i].
  void NormalizeWanted(const std::vector<uint32_t>& wanted, float* output) {
    for (size_t i = 0; i < wanted.size(); ++i) {
      RunNorm(spec_.final_norm, weights_.final_norm, ops_, {act_.hidden.data() + wanted[i] * model_dim(), model_dim()},
              1, {output + i * model_dim(), model_dim()});
    }
  }

  // logits[i, :] of hidden row wanted[i].
  void ComputeLogits(const std::vector<uint32_t>& wanted, float* logits) {
    if (wanted.empty()) return;
    NormalizeWanted(wanted, act_.normed.data());
    const Matrix& head = weights_.head ? *weights_.head : weights_.embedding;
    ops_.MatMul(head, Stream(act_.normed), wanted.size(), {}, {logits, vocab_size()});
    if (spec_.final_softcap > 0.0f) ops_.Softcap(logits, wanted.size() * vocab_size(), spec_.final_softcap);
  }

  const ModelWeights& weights_;
  const ModelSpec& spec_;
  const ModelTables& tables_;
  const StepPlan& plan_;
  const BlockPool& pool_;  // all pools of a step store the same way
  Activations& act_;
  OutputBuffers& outputs_;
  Operations ops_;
  StepBlocks blocks_;
  StepStates states_;
};

}  // namespace skald

#endif  // SKALD_MODEL_FORWARD_H_
