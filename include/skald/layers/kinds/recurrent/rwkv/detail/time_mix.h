// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/layers/kinds/recurrent/rwkv/time_mix.h.

#ifndef SKALD_LAYERS_KINDS_RECURRENT_RWKV_DETAIL_TIME_MIX_H_
#define SKALD_LAYERS_KINDS_RECURRENT_RWKV_DETAIL_TIME_MIX_H_

#include "skald/layers/kinds/recurrent/rwkv/time_mix.h"

#include <algorithm>

#include "skald/base/inline.h"
#include "skald/base/text/message.h"
#include "skald/layers/run/layer_run.h"

namespace skald {

SKALD_INLINE void RwkvTimeMix::ListParameters(Weights& weights, size_t model_dim, ParameterList& list) const {
  const Axis c = Heads(static_cast<size_t>(head_dim));
  std::vector<ArrayPart> mixes;
  for (const char* name : {"attn.x_r", "attn.x_w", "attn.x_k", "attn.x_v", "attn.x_a", "attn.x_g"}) {
    mixes.push_back({name, {1, 1, model_dim}});
  }
  list.AddArray(weights.mix, mixes, TokenShift::kRandom);
  list.AddMatrix(weights.receptance, model_dim, {{"attn.r_proj.weight", c}});
  list.AddMatrix(weights.key, model_dim, {{"attn.k_proj.weight", c}});
  list.AddMatrix(weights.value, model_dim, {{"attn.v_proj.weight", c}});
  ListLowRank(weights.decay, "attn.w_lora", decay_rank, model_dim, list);
  ListLowRank(weights.rate, "attn.a_lora", rate_rank, model_dim, list);
  ListLowRank(weights.gate, "attn.g_lora", gate_rank, model_dim, list, /*has_bias=*/false);
  if (!gives_values()) {
    ListLowRank(weights.blend, "attn.v_lora", value_rank, model_dim, list);
  } else {  // some files have them all the same
    for (const char* name : {"attn.v_lora.lora.0.weight", "attn.v_lora.lora.2.weight", "attn.v_lora.lora.2.bias"}) {
      list.AllowUnused(name);
    }
  }
  list.AddVector(weights.key_scale, {{"attn.k_k", c}}, {.center = 1.0f});
  list.AddVector(weights.rate_scale, {{"attn.k_a", c}}, {.center = 1.0f});
  list.AddArray(weights.bonus, {{"attn.r_k", {static_cast<size_t>(heads), static_cast<size_t>(head_dim)}}}, {}, {},
                {c});
  list.AddVector(weights.norm, {{"attn.g_norm.weight", c}}, {.center = 1.0f});
  list.AddVector(weights.norm_bias, {{"attn.g_norm.bias", c}});
  list.AddMatrix(weights.output, c, {{"attn.o_proj.weight", model_dim}});
}

SKALD_INLINE auto RwkvTimeMix::ScratchFloats(size_t rows, size_t model_dim) const -> Pieces<size_t> {
  const auto widest = static_cast<size_t>(std::max({decay_rank, rate_rank, gate_rank, value_rank}));
  return {.shifted = rows * kMixes * model_dim,
          .projected = rows * kMixes * channels(),
          .low = rows * widest,
          .blend = rows * channels(),
          .mixed = rows * channels()};
}

SKALD_INLINE std::vector<LayerPlace> RwkvTimeMix::Places() const {
  return {{"mixed", static_cast<size_t>(head_dim), static_cast<size_t>(heads)}};
}

SKALD_INLINE void RwkvTimeMix::Run(const Weights& weights, const LayerRun& run) const {
  const size_t rows = run.state.rows(), c = channels();
  const Pieces<float*> scratch = run.scratch.As<Pieces>();
  const auto shifted = [&](size_t mix) { return Rows{scratch.shifted + mix * run.model_dim, kMixes * run.model_dim}; };
  const auto projected = [&](size_t mix) { return Rows{scratch.projected + mix * c, kMixes * c}; };
  shift().Run(weights.mix, run, run.state.offset + memory_floats() * sizeof(float), scratch.shifted);
  run.ops.MatMul(weights.receptance, shifted(kReceptance), rows, {}, projected(kReceptance));
  run.ops.MatMul(weights.key, shifted(kKey), rows, {}, projected(kKey));
  run.ops.MatMul(weights.value, shifted(kValue), rows, {}, projected(kValue));
  Project(weights.decay, FactorFunction::kTanh, run, shifted(kDecay), projected(kDecay));
  Project(weights.rate, FactorFunction::kNone, run, shifted(kRate), projected(kRate));
  Project(weights.gate, FactorFunction::kSigmoid, run, shifted(kGate), projected(kGate));
  if (gives_values()) {
    run.ops.Copy(projected(kValue), rows, c, run.carried);
  } else {
    Project(weights.blend, FactorFunction::kNone, run, shifted(kValue), {scratch.blend, c});
  }
  Mix(weights, run, scratch.blend, scratch.mixed);
  run.Watch("mixed", {scratch.mixed, c});
  run.ops.MatMul(weights.output, {scratch.mixed, c}, rows, {}, run.output);
}

SKALD_INLINE void RwkvTimeMix::ListLowRank(LowRank& weights, std::string_view name, int rank, size_t model_dim,
                                           ParameterList& list, bool has_bias) const {
  const auto between = static_cast<size_t>(rank);
  const Axis c = Heads(static_cast<size_t>(head_dim));
  list.AddMatrix(weights.down, model_dim, {{Concat({name, ".lora.0.weight"}), between}});
  list.AddMatrix(weights.up, between, {{Concat({name, ".lora.2.weight"}), c}});
  if (has_bias) list.AddVector(weights.bias, {{Concat({name, ".lora.2.bias"}), c}});
}

SKALD_INLINE void RwkvTimeMix::Project(const LowRank& weights, FactorFunction function, const LayerRun& run, Rows input,
                                       Rows output) const {
  const size_t rows = run.state.rows(), rank = weights.down.outputs();
  float* const between = run.scratch.As<Pieces>().low;
  run.ops.MatMul(weights.down, input, rows, {}, {between, rank});
  if (function != FactorFunction::kNone) run.ops.Apply(function, between, rows * rank);
  run.ops.MatMul(weights.up, {between, rank}, rows, weights.bias, output);
}

SKALD_INLINE void RwkvTimeMix::Mix(const Weights& weights, const LayerRun& run, const float* blend,
                                   float* mixed) const {
  const size_t rows = run.state.rows(), runs = run.state.runs.size(), dim = static_cast<size_t>(head_dim);
  run.ops.TimeMix({.input = run.scratch.As<Pieces>().projected,
                   .first_values = gives_values() ? nullptr : run.carried.data,
                   .first_stride = run.carried.stride,
                   .blend = gives_values() ? nullptr : blend,
                   .key_scale = weights.key_scale.data(),
                   .rate_scale = weights.rate_scale.data(),
                   .bonus = weights.bonus.data(),
                   .norm_weight = weights.norm.data(),
                   .norm_bias = weights.norm_bias.data(),
                   .norm_epsilon = norm_epsilon,
                   .output = mixed,
                   .heads = static_cast<size_t>(heads),
                   .head_dim = dim,
                   .runs = run.state.runs.data(),
                   .state_offset = run.state.offset,
                   .unit_begin = 0,
                   .unit_end = 0},
                  runs * static_cast<size_t>(heads), 2 * dim * dim * rows / runs);
}

}  // namespace skald

#endif  // SKALD_LAYERS_KINDS_RECURRENT_RWKV_DETAIL_TIME_MIX_H_
