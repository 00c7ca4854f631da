// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/layers/kinds/recurrent/mamba2.h.

#ifndef SKALD_LAYERS_KINDS_RECURRENT_DETAIL_MAMBA2_H_
#define SKALD_LAYERS_KINDS_RECURRENT_DETAIL_MAMBA2_H_

#include "skald/layers/kinds/recurrent/mamba2.h"

#include <utility>

#include "skald/base/inline.h"
#include "skald/kernels/args.h"
#include "skald/layers/run/layer_run.h"
#include "skald/weights/packing/recurrent_transforms.h"

namespace skald {

SKALD_INLINE void Mamba2::ListParameters(Weights& weights, size_t model_dim, ParameterList& list) const {
  std::vector<Axis> projected = {Channels()};
  for (const Axis& axis : AxesOfState().inputs) projected.push_back(axis);
  list.AddMatrix(weights.input, model_dim, {{"mixer.in_proj.weight", projected_dim()}}, std::move(projected));
  conv().ListParameters(weights.conv, "mixer.conv1d", list, ConvAxes());
  list.AddMatrix(weights.output, Channels(), {{"mixer.out_proj.weight", model_dim}});
  // As Mamba's.
  list.AddDecay(weights.decay, "mixer.A_log", Heads(1), {-8.5f, 7.5f});
  list.AddVector(weights.time_step_bias, {{"mixer.dt_bias", Heads(1)}}, {-3.43f, 1.15f});
  list.AddVector(weights.skip, {{"mixer.D", Heads(1)}}, {.center = 1.0f});
  if (has_norm) norm.ListParameters(weights.norm, "mixer.norm", {width(), static_cast<size_t>(groups)}, list);
  if (!input_multipliers.empty() || output_multiplier != 1.0f) list.Assume(Assumption::kNotMultiplied);
}

SKALD_INLINE auto Mamba2::ScratchFloats(size_t rows, size_t /*model_dim*/) const -> Pieces<size_t> {
  return {.projected = rows * projected_dim(), .convolved = rows * conv().channels, .mixed = rows * width()};
}

SKALD_INLINE std::vector<LayerPlace> Mamba2::Places() const {
  return {{"mixed", static_cast<size_t>(head_dim), static_cast<size_t>(heads)}};
}

SKALD_INLINE void Mamba2::Run(const Weights& weights, const LayerRun& run) const {
  const size_t rows = run.state.rows(), w = width();
  const Pieces<float*> scratch = run.scratch.As<Pieces>();
  const Rows projected = {scratch.projected, projected_dim()};
  float* const mixed = scratch.mixed;
  run.ops.MatMul(weights.input, run.input, rows, {}, projected);
  if (!input_multipliers.empty()) MultiplySections(run, projected);
  KeepInputs(run.state, InputsIn(projected), input_floats());
  Recur(weights, run, projected, mixed);
  run.Watch("mixed", {mixed, w});
  const auto parts = static_cast<size_t>(std::max(groups, groups_of_ranks));
  if (groups_of_ranks > 0) {
    run.ops.NormMatMul(weights.output, weights.norm, parts, norm.epsilon, {mixed, w}, rows, {}, run.output);
  } else {
    if (has_norm) run.ops.NormParts({mixed, w}, rows, w, parts, weights.norm, norm.epsilon);
    run.ops.MatMul(weights.output, {mixed, w}, rows, {}, run.output);
  }
  if (output_multiplier != 1.0f) run.ops.Scale(run.output, rows, run.model_dim, output_multiplier);
}

SKALD_INLINE void Mamba2::Replay(const Weights& weights, const LayerRun& run) const {
  const Pieces<float*> scratch = run.scratch.As<Pieces>();
  const Rows projected = {scratch.projected, projected_dim()};
  TakeInputs(run.state, InputsIn(projected), input_floats());
  Recur(weights, run, projected, scratch.mixed);
}

SKALD_INLINE void Mamba2::MultiplySections(const LayerRun& run, Rows projected) const {
  const size_t of_group = static_cast<size_t>(groups) * static_cast<size_t>(state_dim);
  const size_t sizes[kSections] = {width(), width(), of_group, of_group, static_cast<size_t>(heads)};
  for (size_t i = 0; i < kSections; ++i) {
    run.ops.Scale(projected, run.state.rows(), sizes[i], input_multipliers[i]);
    projected.data += sizes[i];
  }
}

SKALD_INLINE void Mamba2::Recur(const Weights& weights, const LayerRun& run, Rows projected, float* mixed) const {
  float* const convolved = run.scratch.As<Pieces>().convolved;
  conv().Run(weights.conv, run, InputsIn(projected), run.state.offset + scan_floats() * sizeof(float), convolved);
  Scan(weights, run, projected.data, convolved, mixed);
}

SKALD_INLINE void Mamba2::Scan(const Weights& weights, const LayerRun& run, const float* projected,
                               const float* convolved, float* mixed) const {
  const size_t rows = run.state.rows(), runs = run.state.runs.size(), h = static_cast<size_t>(heads);
  run.ops.StateSpace({.input = convolved,
                      .time_step = projected + projected_dim() - h,
                      .time_step_stride = projected_dim(),
                      .time_step_bias = weights.time_step_bias.data(),
                      .time_step_min = time_step_min,
                      .time_step_max = time_step_max,
                      .gate = projected,
                      .gate_stride = projected_dim(),
                      .decay = weights.decay.data(),
                      .skip = weights.skip.data(),
                      .output = mixed,
                      .heads = h,
                      .head_dim = static_cast<size_t>(head_dim),
                      .groups = static_cast<size_t>(groups),
                      .state_dim = static_cast<size_t>(state_dim),
                      .runs = run.state.runs.data(),
                      .state_offset = run.state.offset,
                      .unit_begin = 0,
                      .unit_end = 0},
                     runs * h, static_cast<size_t>(head_dim) * static_cast<size_t>(state_dim) * rows / runs);
}

}  // namespace skald

#endif  // SKALD_LAYERS_KINDS_RECURRENT_DETAIL_MAMBA2_H_
