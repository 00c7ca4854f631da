// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/layers/kinds/recurrent/selective_mamba2.h.

#ifndef SKALD_LAYERS_KINDS_RECURRENT_DETAIL_SELECTIVE_MAMBA2_H_
#define SKALD_LAYERS_KINDS_RECURRENT_DETAIL_SELECTIVE_MAMBA2_H_

#include "skald/layers/kinds/recurrent/selective_mamba2.h"

#include <limits>

#include "skald/base/inline.h"
#include "skald/kernels/args.h"
#include "skald/layers/run/layer_run.h"

namespace skald {

SKALD_INLINE void SelectiveMamba2::ListParameters(Weights& weights, size_t model_dim, ParameterList& list) const {
  const Axis c = Heads(dim());
  const auto states = static_cast<size_t>(state_dim), rank = static_cast<size_t>(time_step_rank);
  list.AddMatrix(weights.input, model_dim, {{"mixer.z_proj.weight", c}, {"mixer.x_in_proj.weight", c}});
  conv().ListParameters(weights.conv, "mixer.conv1d", list, {c});
  list.AddMatrix(weights.selection, c, {{"mixer.bcdt_proj.weight", selected()}});
  list.AddMatrix(weights.time_step, rank, {{"mixer.dt_proj.weight", Heads(1)}});
  norm.ListParameters(weights.b_norm, "mixer.b_layernorm", states, list);
  norm.ListParameters(weights.c_norm, "mixer.c_layernorm", states, list);
  norm.ListParameters(weights.time_step_norm, "mixer.dt_layernorm", rank, list);
  // As Mamba's.
  list.AddDecay(weights.decay, "mixer.A_log", Heads(1), {-8.5f, 7.5f});
  list.AddVector(weights.time_step_bias, {{"mixer.dt_bias", Heads(1)}}, {-3.43f, 1.15f});
  list.AddVector(weights.skip, {{"mixer.D", Heads(1)}}, {.center = 1.0f});
  list.AddMatrix(weights.output, c, {{"mixer.out_proj.weight", model_dim}});
}

SKALD_INLINE auto SelectiveMamba2::ScratchFloats(size_t rows, size_t /*model_dim*/) const -> Pieces<size_t> {
  const size_t c = rows * channels();
  return {.projected = 2 * c,
          .convolved = c,
          .selection = rows * selected(),
          .time_steps = rows * static_cast<size_t>(heads),
          .inputs = c + rows * 2 * static_cast<size_t>(state_dim),
          .mixed = c};
}

SKALD_INLINE std::vector<LayerPlace> SelectiveMamba2::Places() const {
  return {{"mixed", dim(), static_cast<size_t>(heads)}};
}

SKALD_INLINE void SelectiveMamba2::Run(const Weights& weights, const LayerRun& run) const {
  const size_t rows = run.state.rows(), c = channels(), h = static_cast<size_t>(heads);
  const Pieces<float*> scratch = run.scratch.As<Pieces>();
  const Rows projected = {scratch.projected, 2 * c}, mixed = {scratch.mixed, c};
  run.ops.MatMul(weights.input, run.input, rows, {}, projected);
  Convolve(weights, run, scratch);
  Select(weights, run, scratch);
  KeepInputs(run.state, {projected.data + c, projected.stride}, c);
  KeepInputs(run.state, {scratch.time_steps, h}, h, c);
  KeepInputs(run.state, {scratch.selection, selected()}, 2 * static_cast<size_t>(state_dim), c + h);
  Scan(weights, run, scratch);
  run.Watch("mixed", mixed);
  run.ops.MatMul(weights.output, mixed, rows, {}, run.output);
}

SKALD_INLINE void SelectiveMamba2::Replay(const Weights& weights, const LayerRun& run) const {
  const size_t rows = run.state.rows(), c = channels(), h = static_cast<size_t>(heads);
  const Pieces<float*> scratch = run.scratch.As<Pieces>();
  const Rows gates = {scratch.projected, 2 * c}, recurrence = {scratch.projected + c, 2 * c};
  TakeInputs(run.state, recurrence, c);
  TakeInputs(run.state, {scratch.time_steps, h}, h, c);
  TakeInputs(run.state, {scratch.selection, selected()}, 2 * static_cast<size_t>(state_dim), c + h);
  run.ops.Copy(recurrence, rows, c, gates);
  Convolve(weights, run, scratch);
  Scan(weights, run, scratch);
}

SKALD_INLINE void SelectiveMamba2::Convolve(const Weights& weights, const LayerRun& run,
                                            const Pieces<float*>& scratch) const {
  conv().Run(weights.conv, run, {scratch.projected + channels(), 2 * channels()},
             run.state.offset + scan_floats() * sizeof(float), scratch.convolved);
}

SKALD_INLINE void SelectiveMamba2::Select(const Weights& weights, const LayerRun& run,
                                          const Pieces<float*>& scratch) const {
  const size_t rows = run.state.rows();
  Rows part = {scratch.selection, selected()};
  run.ops.MatMul(weights.selection, {scratch.convolved, channels()}, rows, {}, part);
  for (const RmsNorm::Weights* const of_part : {&weights.b_norm, &weights.c_norm, &weights.time_step_norm}) {
    run.ops.Norm(part, rows, of_part->size(), *of_part, norm.epsilon, part);
    part.data += of_part->size();
  }
  const Rows bottleneck = {scratch.selection + 2 * static_cast<size_t>(state_dim), selected()};
  run.ops.MatMul(weights.time_step, bottleneck, rows, {}, {scratch.time_steps, static_cast<size_t>(heads)});
}

SKALD_INLINE void SelectiveMamba2::Scan(const Weights& weights, const LayerRun& run,
                                        const Pieces<float*>& scratch) const {
  const size_t rows = run.state.rows(), runs = run.state.runs.size(), c = channels(), h = static_cast<size_t>(heads);
  const size_t states = static_cast<size_t>(state_dim), width = c + 2 * states;
  run.ops.Copy({scratch.convolved, c}, rows, c, {scratch.inputs, width});
  run.ops.Copy({scratch.selection, selected()}, rows, 2 * states, {scratch.inputs + c, width});
  run.ops.StateSpace({.input = scratch.inputs,
                      .time_step = scratch.time_steps,
                      .time_step_stride = h,
                      .time_step_bias = weights.time_step_bias.data(),
                      .time_step_min = 0.0f,
                      .time_step_max = std::numeric_limits<float>::infinity(),
                      .gate = scratch.projected,
                      .gate_stride = 2 * c,
                      .decay = weights.decay.data(),
                      .skip = weights.skip.data(),
                      .output = scratch.mixed,
                      .heads = h,
                      .head_dim = dim(),
                      .groups = 1,
                      .state_dim = states,
                      .runs = run.state.runs.data(),
                      .state_offset = run.state.offset,
                      .unit_begin = 0,
                      .unit_end = 0},
                     runs * h, dim() * states * rows / runs);
}

}  // namespace skald

#endif  // SKALD_LAYERS_KINDS_RECURRENT_DETAIL_SELECTIVE_MAMBA2_H_
