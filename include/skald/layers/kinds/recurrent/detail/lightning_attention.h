// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/layers/kinds/recurrent/lightning_attention.h. The kernel of the sums is that of RWKV-6, which
// reads a state before it adds to it: with queries times their decay and a bonus of its reciprocal, it reads what a
// state is after the row.

#ifndef SKALD_LAYERS_KINDS_RECURRENT_DETAIL_LIGHTNING_ATTENTION_H_
#define SKALD_LAYERS_KINDS_RECURRENT_DETAIL_LIGHTNING_ATTENTION_H_

#include "skald/layers/kinds/recurrent/lightning_attention.h"

#include <algorithm>
#include <string>

#include "skald/base/inline.h"
#include "skald/base/mathematics/portable_exp.h"
#include "skald/base/mathematics/portable_log.h"
#include "skald/base/mathematics/portable_pow.h"
#include "skald/kernels/args.h"
#include "skald/layers/run/layer_run.h"

namespace skald {

SKALD_INLINE void LightningAttention::ListParameters(Weights& weights, size_t model_dim, ParameterList& list) const {
  const Axis c = Heads(dim());
  list.AddMatrix(weights.input, model_dim,
                 {{"lightning.q_proj.weight", c}, {"lightning.k_proj.weight", c}, {"lightning.v_proj.weight", c}});
  list.AddMatrix(weights.gate, model_dim, {{"lightning.gate_proj.weight", c}});
  norm.ListParameters(weights.norm, "lightning.norm", channels(), list);
  list.AddMatrix(weights.output, c, {{"lightning.o_proj.weight", model_dim}});
  // Some checkpoints have the decays, in the forms in which their program multiplies by them.
  for (const char* const name : {"slope_rate", "query_decay", "key_decay", "diagonal_decay"}) {
    list.AllowUnused(std::string("lightning.") + name);
  }
}

SKALD_INLINE auto LightningAttention::ScratchFloats(size_t rows, size_t /*model_dim*/) const -> Pieces<size_t> {
  const size_t c = rows * channels();
  return {.projected = 3 * c, .gates = c, .inputs = 4 * c, .constants = 3 * channels(), .mixed = c};
}

SKALD_INLINE std::vector<LayerPlace> LightningAttention::Places() const {
  return {{"mixed", dim(), static_cast<size_t>(heads)}};
}

SKALD_INLINE void LightningAttention::Run(const Weights& weights, const LayerRun& run) const {
  const size_t rows = run.state.rows(), c = channels();
  const Pieces<float*> scratch = run.scratch.As<Pieces>();
  const Rows projected = {scratch.projected, 3 * c}, gates = {scratch.gates, c}, mixed = {scratch.mixed, c};
  run.ops.MatMul(weights.input, run.input, rows, {}, projected);
  run.ops.MatMul(weights.gate, run.input, rows, {}, gates);
  run.ops.Apply(FactorFunction::kSilu, projected.data, rows * projected.stride);
  KeepInputs(run.state, {projected.data + c, projected.stride}, 2 * c);
  Sum(run, scratch);
  run.ops.ChangeWhole(weights.output, 1, mixed, rows,
                      [&](Rows all) { run.ops.Norm(all, rows, weights.norm.size(), weights.norm, norm.epsilon, all); });
  run.ops.Multiply(mixed, gates, rows, c, FactorFunction::kSigmoid);
  run.Watch("mixed", mixed);
  run.ops.MatMul(weights.output, mixed, rows, {}, run.output);
}

SKALD_INLINE void LightningAttention::Replay(const Weights& /*weights*/, const LayerRun& run) const {
  const size_t rows = run.state.rows(), c = channels();
  const Pieces<float*> scratch = run.scratch.As<Pieces>();
  const Rows queries = {scratch.projected, 3 * c}, keys = {scratch.projected + c, 3 * c};
  TakeInputs(run.state, keys, 2 * c);
  run.ops.Copy(keys, rows, c, queries);
  Sum(run, scratch);
}

SKALD_INLINE void LightningAttention::Sum(const LayerRun& run, const Pieces<float*>& scratch) const {
  const size_t rows = run.state.rows(), runs = run.state.runs.size(), c = channels(), h = static_cast<size_t>(heads);
  float* const decays = scratch.constants;
  float *const exponents = decays + c, *const reciprocals = exponents + c;
  FillConstants(scratch.constants);
  const auto input = [&](size_t part) { return Rows{scratch.inputs + part * c, 4 * c}; };
  run.ops.Copy({scratch.projected, 3 * c}, rows, c, input(0));
  run.ops.Multiply(input(0), {decays, 0}, rows, c);
  run.ops.Copy({exponents, 0}, rows, c, input(1));
  run.ops.Copy({scratch.projected + c, 3 * c}, rows, 2 * c, input(2));
  run.ops.DecayedSum({.input = scratch.inputs,
                      .bonus = reciprocals,
                      .output = scratch.mixed,
                      .heads = h,
                      .head_dim = dim(),
                      .runs = run.state.runs.data(),
                      .state_offset = run.state.offset,
                      .unit_begin = 0,
                      .unit_end = 0},
                     runs * h, dim() * dim() * rows / runs);
}

SKALD_INLINE void LightningAttention::FillConstants(float* constants) const {
  const double all = all_heads > 0 ? all_heads : heads;
  for (size_t head = 0; head < static_cast<size_t>(heads); ++head) {
    const double number = static_cast<double>(first_head) + static_cast<double>(head) + 1.0;
    const double slope = double{slope_factor} * PortablePow(2.0, -8.0 * number / all);
    const double values[] = {PortableExp(-slope), PortableLog(slope), PortableExp(slope)};
    for (size_t i = 0; i < 3; ++i) {
      std::fill_n(constants + i * channels() + head * dim(), dim(), static_cast<float>(values[i]));
    }
  }
}

}  // namespace skald

#endif  // SKALD_LAYERS_KINDS_RECURRENT_DETAIL_LIGHTNING_ATTENTION_H_
