// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/layers/kinds/recurrent/rg_lru.h.

#ifndef SKALD_LAYERS_KINDS_RECURRENT_DETAIL_RG_LRU_H_
#define SKALD_LAYERS_KINDS_RECURRENT_DETAIL_RG_LRU_H_

#include "skald/layers/kinds/recurrent/rg_lru.h"

#include "skald/base/inline.h"
#include "skald/base/numbers/packed_layout.h"
#include "skald/kernels/args.h"
#include "skald/layers/run/layer_run.h"
#include "skald/weights/packing/recurrent_transforms.h"

namespace skald {

SKALD_INLINE void RgLru::ListParameters(Weights& weights, size_t model_dim, ParameterList& list) const {
  const Axis w = Channels(), count = Blocks();
  const size_t block = w.size / count.size;
  list.AddMatrix(weights.input, model_dim,
                 {{"temporal_block.linear_y.weight", w}, {"temporal_block.linear_x.weight", w}});
  conv().ListParameters(weights.conv, "temporal_block.conv_1d", list, {w});
  list.AddMatrix(weights.output, w, {{"temporal_block.linear_out.weight", model_dim}});
  list.AddVector(weights.input_bias, {{"temporal_block.linear_y.bias", w}, {"temporal_block.linear_x.bias", w}});
  list.AddVector(weights.output_bias, {{"temporal_block.linear_out.bias", model_dim}});
  // The state is multiplied by exp(decay * gate) at each token, with a gate around 1 / 2.
  list.AddArray(weights.decay, {{"temporal_block.rg_lru.recurrent_param", {w}}}, {-0.5f, 0.49f},
                internal::DecayFromRgLruParameter, {w});
  list.AddBlocks(weights.gates, count, block,
                 {{.name = "temporal_block.rg_lru.input_gate_weight", .rows = block, .transposed = true},
                  {.name = "temporal_block.rg_lru.recurrent_gate_weight", .rows = block, .transposed = true}});
  list.AddArray(weights.gate_bias,
                {{"temporal_block.rg_lru.input_gate_bias", {count, block}},
                 {"temporal_block.rg_lru.recurrent_gate_bias", {count, block}}},
                {}, {}, {w.Times(2)});
}

SKALD_INLINE auto RgLru::ScratchFloats(size_t rows, size_t /*model_dim*/) const -> Pieces<size_t> {
  const size_t w = channels();
  return {.projected = rows * 2 * w, .convolved = rows * w, .gates = rows * 2 * w, .mixed = rows * w};
}

SKALD_INLINE std::vector<LayerPlace> RgLru::Places() const { return {{"mixed", channels()}}; }

SKALD_INLINE void RgLru::Run(const Weights& weights, const LayerRun& run) const {
  const size_t w = channels(), rows = run.state.rows(), lane_groups = RoundUp(w, kLanes) / kLanes;
  const auto [projected, convolved, gates, mixed] = run.scratch.As<Pieces>();
  run.ops.MatMul(weights.input, run.input, rows, weights.input_bias, {projected, 2 * w});
  conv().Run(weights.conv, run, {projected + w, 2 * w}, run.state.offset + w * sizeof(float), convolved);
  run.ops.BlockMatMul(weights.gates, {convolved, w}, w, rows, weights.gate_bias, {gates, 2 * w},
                      w / static_cast<size_t>(blocks));
  run.ops.RgLru({.input = convolved,
                 .gates = gates,
                 .gate = projected,
                 .gate_stride = 2 * w,
                 .decay = weights.decay.data(),
                 .output = mixed,
                 .width = w,
                 .runs = run.state.runs.data(),
                 .state_offset = run.state.offset,
                 .unit_begin = 0,
                 .unit_end = 0},
                run.state.runs.size() * lane_groups, kLanes * rows / run.state.runs.size());
  run.Watch("mixed", {mixed, w});
  run.ops.MatMul(weights.output, {mixed, w}, rows, weights.output_bias, run.output);
}

}  // namespace skald

#endif  // SKALD_LAYERS_KINDS_RECURRENT_DETAIL_RG_LRU_H_
