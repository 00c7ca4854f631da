// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/layers/kinds/recurrent/mamba.h.

#ifndef SKALD_LAYERS_KINDS_RECURRENT_DETAIL_MAMBA_H_
#define SKALD_LAYERS_KINDS_RECURRENT_DETAIL_MAMBA_H_

#include "skald/layers/kinds/recurrent/mamba.h"

#include "skald/base/inline.h"
#include "skald/base/numbers/packed_layout.h"
#include "skald/kernels/args.h"
#include "skald/layers/run/layer_run.h"

namespace skald {

SKALD_INLINE void Mamba::ListParameters(Weights& weights, size_t model_dim, ParameterList& list) const {
  const size_t states = static_cast<size_t>(state_dim), rank = static_cast<size_t>(time_step_rank);
  const Axis w = Columns(inner_dim);
  list.AddMatrix(weights.input, model_dim, {{"mixer.in_proj.weight", w.Times(2)}});
  conv().ListParameters(weights.conv, "mixer.conv1d", list, {w});
  list.AddMatrix(weights.output, w, {{"mixer.out_proj.weight", model_dim}});
  // The state is multiplied by exp(decay * softplus(time step)) at each token; the softplus of these random biases
  // lies between 0.01 and 0.1.
  list.AddDecays(weights.decay, "mixer.A_log", w, states, {-8.5f, 7.5f});
  list.AddVector(weights.time_step_bias, {{"mixer.dt_proj.bias", w}}, {-3.43f, 1.15f});
  list.AddVector(weights.skip, {{"mixer.D", w}}, {.center = 1.0f});
  list.AddMatrix(weights.selection, w, {{"mixer.x_proj.weight", rank + 2 * states}});
  list.AddMatrix(weights.time_step, rank, {{"mixer.dt_proj.weight", w}});
  if (!selection_norm) return;
  selection_norm->ListParameters(weights.time_step_norm, "mixer.dt_layernorm", rank, list);
  selection_norm->ListParameters(weights.b_norm, "mixer.b_layernorm", states, list);
  selection_norm->ListParameters(weights.c_norm, "mixer.c_layernorm", states, list);
}

SKALD_INLINE auto Mamba::ScratchFloats(size_t rows, size_t /*model_dim*/) const -> Pieces<size_t> {
  const size_t w = channels(), selected = static_cast<size_t>(time_step_rank + 2 * state_dim);
  return {.projected = rows * 2 * w,
          .convolved = rows * w,
          .selection = rows * selected,
          .time_steps = rows * w,
          .mixed = rows * w};
}

SKALD_INLINE std::vector<LayerPlace> Mamba::Places() const { return {{"mixed", channels()}}; }

SKALD_INLINE void Mamba::Run(const Weights& weights, const LayerRun& run) const {
  const size_t w = channels(), states = static_cast<size_t>(state_dim), rank = static_cast<size_t>(time_step_rank);
  const size_t rows = run.state.rows(), selected = rank + 2 * states, lane_groups = RoundUp(w, kLanes) / kLanes;
  const auto [projected, convolved, selection, time_steps, mixed] = run.scratch.As<Pieces>();
  run.ops.MatMul(weights.input, run.input, rows, {}, {projected, 2 * w});
  conv().Run(weights.conv, run, {projected, 2 * w}, run.state.offset + scan_floats() * sizeof(float), convolved);
  run.ops.MatMul(weights.selection, {convolved, w}, rows, {}, {selection, selected});
  if (selection_norm) NormalizeSelection(weights, run, {selection, selected});
  run.ops.MatMul(weights.time_step, {selection, selected}, rows, weights.time_step_bias, {time_steps, w});
  run.ops.SelectiveScan({.input = convolved,
                         .time_step = time_steps,
                         .b = selection + rank,
                         .c = selection + rank + states,
                         .bc_stride = selected,
                         .gate = projected + w,
                         .gate_stride = 2 * w,
                         .decay = weights.decay.data(),
                         .skip = weights.skip.data(),
                         .output = mixed,
                         .width = w,
                         .state_dim = states,
                         .runs = run.state.runs.data(),
                         .state_offset = run.state.offset,
                         .unit_begin = 0,
                         .unit_end = 0},
                        run.state.runs.size() * lane_groups, kLanes * states * rows / run.state.runs.size());
  run.Watch("mixed", {mixed, w});
  run.ops.MatMul(weights.output, {mixed, w}, rows, {}, run.output);
}

SKALD_INLINE void Mamba::NormalizeSelection(const Weights& weights, const LayerRun& run, Rows selection) const {
  for (const NormWeights* const part : {&weights.time_step_norm, &weights.b_norm, &weights.c_norm}) {
    selection_norm->Run(*part, run.ops, selection, run.state.rows(), selection);
    selection.data += part->size;
  }
}

}  // namespace skald

#endif  // SKALD_LAYERS_KINDS_RECURRENT_DETAIL_MAMBA_H_
