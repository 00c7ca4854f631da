// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/layers/kinds/recurrent/kimi_delta.h.

#ifndef SKALD_LAYERS_KINDS_RECURRENT_DETAIL_KIMI_DELTA_H_
#define SKALD_LAYERS_KINDS_RECURRENT_DETAIL_KIMI_DELTA_H_

#include "skald/layers/kinds/recurrent/kimi_delta.h"

#include <utility>

#include "skald/base/inline.h"
#include "skald/kernels/args.h"
#include "skald/layers/kinds/recurrent/unit_keys.h"
#include "skald/layers/run/layer_run.h"

namespace skald {

SKALD_INLINE void KimiDelta::ListParameters(Weights& weights, size_t model_dim, ParameterList& list) const {
  constexpr std::string_view kConvs[] = {"self_attn.q_conv1d", "self_attn.k_conv1d", "self_attn.v_conv1d"};
  const Axis c = Heads(dim());
  list.AddMatrix(weights.input, model_dim,
                 {{"self_attn.q_proj.weight", c}, {"self_attn.k_proj.weight", c}, {"self_attn.v_proj.weight", c}});
  list.AddMatrix(weights.low, model_dim, {{"self_attn.f_a_proj.weight", dim()}, {"self_attn.g_a_proj.weight", dim()}});
  list.AddMatrix(weights.decay_up, dim(), {{"self_attn.f_b_proj.weight", c}});
  list.AddMatrix(weights.gate_up, dim(), {{"self_attn.g_b_proj.weight", c}});
  list.AddMatrix(weights.rates, model_dim, {{"self_attn.b_proj.weight", Heads(1)}});
  conv().ListParameters(weights.conv, kConvs, list, ConvAxes());
  // As Mamba's.
  list.AddDecay(weights.decay, "self_attn.A_log", Heads(1), {-8.5f, 7.5f}, {1, 1, Heads(1), 1});
  list.AddVector(weights.time_step_bias, {{"self_attn.dt_bias", c}}, {-3.43f, 1.15f});
  norm.ListParameters(weights.norm, "self_attn.o_norm", dim(), list);
  list.AddMatrix(weights.output, c, {{"self_attn.o_proj.weight", model_dim}});
}

SKALD_INLINE auto KimiDelta::ScratchFloats(size_t rows, size_t /*model_dim*/) const -> Pieces<size_t> {
  const size_t c = rows * channels();
  return {.projected = 3 * c,
          .low = rows * 2 * dim(),
          .decays = c,
          .gates = c,
          .rates = rows * static_cast<size_t>(heads),
          .convolved = 3 * c,
          .mixed = c,
          .key_factors = 2 * dim()};
}

SKALD_INLINE std::vector<LayerPlace> KimiDelta::Places() const {
  return {{"mixed", dim(), static_cast<size_t>(heads)}};
}

SKALD_INLINE void KimiDelta::Run(const Weights& weights, const LayerRun& run) const {
  const size_t rows = run.state.rows(), c = channels(), h = static_cast<size_t>(heads);
  const Pieces<float*> scratch = run.scratch.As<Pieces>();
  const Rows projected = {scratch.projected, 3 * c}, low = {scratch.low, 2 * dim()}, decays = {scratch.decays, c};
  const Rows gates = {scratch.gates, c}, rates = {scratch.rates, h}, mixed = {scratch.mixed, c};
  run.ops.MatMul(weights.input, run.input, rows, {}, projected);
  run.ops.MatMul(weights.low, run.input, rows, {}, low);
  run.ops.MatMul(weights.decay_up, low, rows, {}, decays);
  run.ops.MatMul(weights.gate_up, {low.data + dim(), low.stride}, rows, {}, gates);
  run.ops.MatMul(weights.rates, run.input, rows, {}, rates);
  KeepInputs(run.state, projected, 3 * c);
  KeepInputs(run.state, decays, c, 3 * c);
  KeepInputs(run.state, rates, h, 4 * c);
  Recur(weights, run, scratch);
  for (size_t head = 0; head < h; ++head) {
    const Rows columns = {mixed.data + head * dim(), c};
    run.ops.Norm(columns, rows, dim(), weights.norm, norm.epsilon, columns);
  }
  run.ops.Multiply(mixed, gates, rows, c, FactorFunction::kSigmoid);
  run.Watch("mixed", mixed);
  run.ops.MatMul(weights.output, mixed, rows, {}, run.output);
}

SKALD_INLINE void KimiDelta::Replay(const Weights& weights, const LayerRun& run) const {
  const size_t c = channels(), h = static_cast<size_t>(heads);
  const Pieces<float*> scratch = run.scratch.As<Pieces>();
  TakeInputs(run.state, {scratch.projected, 3 * c}, 3 * c);
  TakeInputs(run.state, {scratch.decays, c}, c, 3 * c);
  TakeInputs(run.state, {scratch.rates, h}, h, 4 * c);
  Recur(weights, run, scratch);
}

SKALD_INLINE void KimiDelta::Recur(const Weights& weights, const LayerRun& run, const Pieces<float*>& scratch) const {
  const size_t rows = run.state.rows(), runs = run.state.runs.size(), c = channels(), h = static_cast<size_t>(heads);
  conv().Run(weights.conv, run, {scratch.projected, 3 * c}, run.state.offset + memory_floats() * sizeof(float),
             scratch.convolved);
  internal::MakeUnitKeys(run, {scratch.convolved, 3 * c}, h, dim(), scratch.key_factors);
  run.ops.KimiDelta({.input = scratch.convolved,
                     .decay_input = scratch.decays,
                     .rates = scratch.rates,
                     .time_step_bias = weights.time_step_bias.data(),
                     .decay = weights.decay.data(),
                     .output = scratch.mixed,
                     .heads = h,
                     .head_dim = dim(),
                     .runs = run.state.runs.data(),
                     .state_offset = run.state.offset,
                     .unit_begin = 0,
                     .unit_end = 0},
                    runs * h, 2 * dim() * dim() * rows / runs);
}

}  // namespace skald

#endif  // SKALD_LAYERS_KINDS_RECURRENT_DETAIL_KIMI_DELTA_H_
