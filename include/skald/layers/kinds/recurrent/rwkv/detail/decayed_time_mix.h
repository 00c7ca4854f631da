// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/layers/kinds/recurrent/rwkv/decayed_time_mix.h.

#ifndef SKALD_LAYERS_KINDS_RECURRENT_RWKV_DETAIL_DECAYED_TIME_MIX_H_
#define SKALD_LAYERS_KINDS_RECURRENT_RWKV_DETAIL_DECAYED_TIME_MIX_H_

#include "skald/layers/kinds/recurrent/rwkv/decayed_time_mix.h"

#include <algorithm>
#include <utility>

#include "skald/base/inline.h"
#include "skald/kernels/args.h"
#include "skald/layers/run/layer_run.h"

namespace skald {

SKALD_INLINE void RwkvDecayedTimeMix::ListParameters(Weights& weights, size_t model_dim, ParameterList& list) const {
  const Axis c = Heads(static_cast<size_t>(head_dim));
  const auto rank = static_cast<size_t>(mix_rank), of_decays = static_cast<size_t>(decay_rank);
  list.AddArray(weights.first_mix, {{"attn.x_x", {1, 1, model_dim}}}, TokenShift::kRandom);
  std::vector<ArrayPart> mixes;
  for (const char* name : {"attn.x_w", "attn.x_k", "attn.x_v", "attn.x_r", "attn.x_g"}) {
    mixes.push_back({name, {1, 1, model_dim}});
  }
  list.AddArray(weights.mix, std::move(mixes), TokenShift::kRandom);
  list.AddMatrix(weights.mix_down, model_dim, {{"attn.mix_down.weight", kMixes * rank}});
  weights.mix_up.resize(kMixes);
  for (size_t i = 0; i < kMixes; ++i) {
    list.AddMatrix(weights.mix_up[i], rank, {{"attn.mix_up.weight", model_dim, 0, ExpertIndex{i, kMixes}}});
  }
  list.AddMatrix(weights.receptance, model_dim, {{"attn.r_proj.weight", c}});
  list.AddMatrix(weights.key, model_dim, {{"attn.k_proj.weight", c}});
  list.AddMatrix(weights.value, model_dim, {{"attn.v_proj.weight", c}});
  list.AddMatrix(weights.gate, model_dim, {{"attn.gate.weight", c}});
  list.AddMatrix(weights.decay_down, model_dim, {{"attn.decay_down.weight", of_decays}});
  list.AddMatrix(weights.decay_up, of_decays, {{"attn.decay_up.weight", c}});
  // Decays are exp(-exp(x)), and so between 0.35 and 0.98 for these.
  list.AddArray(weights.decay_bias, {{"attn.decay_bias", {1, 1, c}}}, {.center = -2.0f, .spread = 2.0f}, {}, {c});
  list.AddArray(weights.bonus, {{"attn.bonus", {static_cast<size_t>(heads), static_cast<size_t>(head_dim)}}},
                {.spread = 0.5f}, {}, {c});
  list.AddVector(weights.norm, {{"attn.g_norm.weight", c}}, {.center = 1.0f});
  list.AddVector(weights.norm_bias, {{"attn.g_norm.bias", c}});
  list.AddMatrix(weights.output, c, {{"attn.o_proj.weight", model_dim}});
}

SKALD_INLINE auto RwkvDecayedTimeMix::ScratchFloats(size_t rows, size_t model_dim) const -> Pieces<size_t> {
  const auto widest = static_cast<size_t>(std::max(static_cast<int>(kMixes) * mix_rank, decay_rank));
  return {.first = rows * model_dim,
          .low = rows * widest,
          .row_mixes = rows * kMixes * model_dim,
          .shifted = rows * kMixes * model_dim,
          .projected = rows * 4 * channels(),
          .gates = rows * channels(),
          .mixed = rows * channels()};
}

SKALD_INLINE std::vector<LayerPlace> RwkvDecayedTimeMix::Places() const {
  return {{"mixed", static_cast<size_t>(head_dim), static_cast<size_t>(heads)}};
}

SKALD_INLINE void RwkvDecayedTimeMix::Run(const Weights& weights, const LayerRun& run) const {
  const size_t rows = run.state.rows(), c = channels(), rank = static_cast<size_t>(decay_rank);
  const Pieces<float*> scratch = run.scratch.As<Pieces>();
  const auto shifted = [&](size_t mix) { return Rows{scratch.shifted + mix * run.model_dim, kMixes * run.model_dim}; };
  const auto projected = [&](size_t part) { return Rows{scratch.projected + part * c, 4 * c}; };
  const Rows low = {scratch.low, rank}, gates = {scratch.gates, c}, mixed = {scratch.mixed, c};
  Shift(weights, run);
  run.ops.MatMul(weights.receptance, shifted(kReceptance), rows, {}, projected(0));
  run.ops.MatMul(weights.decay_down, shifted(kDecay), rows, {}, low);
  run.ops.Apply(FactorFunction::kTanh, low.data, rows * rank);
  run.ops.MatMul(weights.decay_up, low, rows, weights.decay_bias, projected(1));
  run.ops.MatMul(weights.key, shifted(kKey), rows, {}, projected(2));
  run.ops.MatMul(weights.value, shifted(kValue), rows, {}, projected(3));
  run.ops.MatMul(weights.gate, shifted(kGate), rows, {}, gates);
  Sum(weights, run);
  run.ops.LayerNormParts(mixed, rows, c, static_cast<size_t>(heads), weights.norm, weights.norm_bias, norm_epsilon);
  run.ops.Multiply(mixed, gates, rows, c, FactorFunction::kSilu);
  run.Watch("mixed", mixed);
  run.ops.MatMul(weights.output, mixed, rows, {}, run.output);
}

SKALD_INLINE void RwkvDecayedTimeMix::Shift(const Weights& weights, const LayerRun& run) const {
  const size_t rows = run.state.rows(), rank = static_cast<size_t>(mix_rank), d = run.model_dim;
  const Pieces<float*> scratch = run.scratch.As<Pieces>();
  const size_t offset = run.state.offset + memory_floats() * sizeof(float);
  const Rows low = {scratch.low, kMixes * rank};
  shift(1).Mix(weights.first_mix, nullptr, run, offset, scratch.first);
  run.ops.MatMul(weights.mix_down, {scratch.first, d}, rows, {}, low);
  run.ops.Apply(FactorFunction::kTanh, low.data, rows * low.stride);
  for (size_t i = 0; i < kMixes; ++i) {
    run.ops.MatMul(weights.mix_up[i], {low.data + i * rank, low.stride}, rows, {},
                   {scratch.row_mixes + i * d, kMixes * d});
  }
  shift(kMixes).Mix(weights.mix, scratch.row_mixes, run, offset, scratch.shifted);
  shift(kMixes).Keep(run, offset);
}

SKALD_INLINE void RwkvDecayedTimeMix::Sum(const Weights& weights, const LayerRun& run) const {
  const size_t rows = run.state.rows(), runs = run.state.runs.size(), dim = static_cast<size_t>(head_dim);
  const Pieces<float*> scratch = run.scratch.As<Pieces>();
  run.ops.DecayedSum({.input = scratch.projected,
                      .bonus = weights.bonus.data(),
                      .output = scratch.mixed,
                      .heads = static_cast<size_t>(heads),
                      .head_dim = dim,
                      .runs = run.state.runs.data(),
                      .state_offset = run.state.offset,
                      .unit_begin = 0,
                      .unit_end = 0},
                     runs * static_cast<size_t>(heads), dim * dim * rows / runs);
}

}  // namespace skald

#endif  // SKALD_LAYERS_KINDS_RECURRENT_RWKV_DETAIL_DECAYED_TIME_MIX_H_
