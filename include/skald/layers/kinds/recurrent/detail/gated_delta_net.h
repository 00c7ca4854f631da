// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/layers/kinds/recurrent/gated_delta_net.h.

#ifndef SKALD_LAYERS_KINDS_RECURRENT_DETAIL_GATED_DELTA_NET_H_
#define SKALD_LAYERS_KINDS_RECURRENT_DETAIL_GATED_DELTA_NET_H_

#include "skald/layers/kinds/recurrent/gated_delta_net.h"

#include <utility>

#include "skald/base/inline.h"
#include "skald/kernels/args.h"
#include "skald/layers/kinds/recurrent/unit_keys.h"
#include "skald/layers/run/layer_run.h"

namespace skald {

SKALD_INLINE void GatedDeltaNet::ListParameters(Weights& weights, size_t model_dim, ParameterList& list) const {
  const Axis heads = ValueHeads(1), values = ValueHeads(static_cast<size_t>(value_dim));
  std::vector<Axis> inputs = ConvAxes();
  inputs.push_back(values);
  list.AddMatrix(weights.input, model_dim, InputParts(), std::move(inputs));
  list.AddMatrix(weights.rates, model_dim, RateParts(), {heads.Times(2)});
  conv().ListParameters(weights.conv, "linear_attn.conv1d", list, ConvAxes());
  // As Mamba's.
  list.AddDecay(weights.decay, "linear_attn.A_log", heads, {-8.5f, 7.5f});
  list.AddVector(weights.time_step_bias, {{"linear_attn.dt_bias", heads}}, {-3.43f, 1.15f});
  norm.ListParameters(weights.norm, "linear_attn.norm", static_cast<size_t>(value_dim), list);
  list.AddMatrix(weights.output, values, {{"linear_attn.out_proj.weight", model_dim}});
  if (!tiled && key_heads != value_heads) list.Assume(Assumption::kHeadsInGroups);
}

SKALD_INLINE auto GatedDeltaNet::ScratchFloats(size_t rows, size_t /*model_dim*/) const -> Pieces<size_t> {
  return {.projected = rows * projected_dim(),
          .rates = rows * rate_count(),
          .convolved = rows * conv().channels,
          .mixed = rows * values_dim(),
          .key_factors = 2 * static_cast<size_t>(key_dim)};
}

SKALD_INLINE std::vector<LayerPlace> GatedDeltaNet::Places() const {
  return {{"mixed", static_cast<size_t>(value_dim), static_cast<size_t>(value_heads)}};
}

SKALD_INLINE void GatedDeltaNet::Run(const Weights& weights, const LayerRun& run) const {
  const size_t rows = run.state.rows(), v = values_dim();
  const Pieces<float*> scratch = run.scratch.As<Pieces>();
  const Rows projected = {scratch.projected, projected_dim()}, mixed = {scratch.mixed, v};
  const Rows rates = {scratch.rates, rate_count()};
  run.ops.MatMul(weights.input, run.input, rows, {}, projected);
  run.ops.MatMul(weights.rates, run.input, rows, {}, rates);
  KeepInputs(run.state, projected, conv().channels);
  KeepInputs(run.state, rates, rate_count(), conv().channels);
  Recur(weights, run, projected, rates, mixed);
  for (size_t head = 0; head < static_cast<size_t>(value_heads); ++head) {
    const Rows columns = {mixed.data + head * static_cast<size_t>(value_dim), v};
    run.ops.Norm(columns, rows, static_cast<size_t>(value_dim), weights.norm, norm.epsilon, columns);
  }
  run.ops.Multiply(mixed, {projected.data + conv().channels, projected.stride}, rows, v, FactorFunction::kSilu);
  run.Watch("mixed", mixed);
  run.ops.MatMul(weights.output, mixed, rows, {}, run.output);
}

SKALD_INLINE void GatedDeltaNet::Replay(const Weights& weights, const LayerRun& run) const {
  const Pieces<float*> scratch = run.scratch.As<Pieces>();
  const Rows projected = {scratch.projected, projected_dim()}, mixed = {scratch.mixed, values_dim()};
  const Rows rates = {scratch.rates, rate_count()};
  TakeInputs(run.state, projected, conv().channels);
  TakeInputs(run.state, rates, rate_count(), conv().channels);
  Recur(weights, run, projected, rates, mixed);
}

SKALD_INLINE std::vector<Part> GatedDeltaNet::InputParts() const {
  const auto heads = static_cast<size_t>(key_heads), keys = static_cast<size_t>(key_dim);
  const size_t values = values_dim() / heads, all = projected_dim(), of_head = all / heads;
  std::vector<Part> parts;
  const auto add = [&](const char* name, size_t rows, size_t begin) {
    for (size_t head = 0; head < heads; ++head) parts.push_back({name, rows, 0, {}, {head * of_head + begin, all}});
  };
  add("linear_attn.in_proj_qkv.weight", keys, 0);
  add("linear_attn.in_proj_qkv.weight", keys, keys);
  add("linear_attn.in_proj_qkv.weight", values, 2 * keys);
  add("linear_attn.in_proj_z.weight", values, 2 * keys + values);
  return parts;
}

SKALD_INLINE std::vector<Part> GatedDeltaNet::RateParts() const {
  const auto heads = static_cast<size_t>(key_heads), all = 2 * static_cast<size_t>(value_heads);
  const size_t of_head = all / heads / 2;
  std::vector<Part> parts;
  for (size_t head = 0; head < heads; ++head) {
    parts.push_back({"linear_attn.in_proj_b.weight", of_head, 0, {}, {2 * head * of_head, all}});
  }
  for (size_t head = 0; head < heads; ++head) {
    parts.push_back({"linear_attn.in_proj_a.weight", of_head, 0, {}, {(2 * head + 1) * of_head, all}});
  }
  return parts;
}

SKALD_INLINE void GatedDeltaNet::Recur(const Weights& weights, const LayerRun& run, Rows projected, Rows rates,
                                       Rows mixed) const {
  float* const convolved = run.scratch.As<Pieces>().convolved;
  conv().Run(weights.conv, run, projected, run.state.offset + memory_floats() * sizeof(float), convolved);
  internal::MakeUnitKeys(run, {convolved, conv().channels}, static_cast<size_t>(key_heads),
                         static_cast<size_t>(key_dim), run.scratch.As<Pieces>().key_factors);
  Remember(weights, run, convolved, rates.data, mixed.data);
}

SKALD_INLINE void GatedDeltaNet::Remember(const Weights& weights, const LayerRun& run, const float* convolved,
                                          const float* rates, float* mixed) const {
  const size_t rows = run.state.rows(), runs = run.state.runs.size(), heads = static_cast<size_t>(value_heads);
  run.ops.DeltaNet({.input = convolved,
                    .rates = rates,
                    .time_step_bias = weights.time_step_bias.data(),
                    .decay = weights.decay.data(),
                    .output = mixed,
                    .key_heads = static_cast<size_t>(key_heads),
                    .value_heads = heads,
                    .key_dim = static_cast<size_t>(key_dim),
                    .value_dim = static_cast<size_t>(value_dim),
                    .tiled = tiled,
                    .runs = run.state.runs.data(),
                    .state_offset = run.state.offset,
                    .unit_begin = 0,
                    .unit_end = 0},
                   runs * heads, 2 * static_cast<size_t>(key_dim) * static_cast<size_t>(value_dim) * rows / runs);
}

}  // namespace skald

#endif  // SKALD_LAYERS_KINDS_RECURRENT_DETAIL_GATED_DELTA_NET_H_
