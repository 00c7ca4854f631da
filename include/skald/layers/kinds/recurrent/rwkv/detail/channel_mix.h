// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/layers/kinds/recurrent/rwkv/channel_mix.h.

#ifndef SKALD_LAYERS_KINDS_RECURRENT_RWKV_DETAIL_CHANNEL_MIX_H_
#define SKALD_LAYERS_KINDS_RECURRENT_RWKV_DETAIL_CHANNEL_MIX_H_

#include "skald/layers/kinds/recurrent/rwkv/channel_mix.h"

#include "skald/base/inline.h"
#include "skald/base/numbers/activation.h"
#include "skald/kernels/args.h"
#include "skald/layers/run/layer_run.h"

namespace skald {

SKALD_INLINE void RwkvChannelMix::ListParameters(Weights& weights, size_t model_dim, ParameterList& list) const {
  const Axis hidden = Columns(width);
  if (has_receptance) {
    list.AddArray(weights.mix, {{"ffn.x_k", {1, 1, model_dim}}, {"ffn.x_r", {1, 1, model_dim}}}, TokenShift::kRandom);
    list.AddMatrix(weights.receptance, model_dim, {{"ffn.receptance.weight", model_dim}});
  } else {
    list.AddVector(weights.mix, {{"ffn.x_k", model_dim}}, TokenShift::kRandom);
  }
  list.AddMatrix(weights.key, model_dim, {{"ffn.key.weight", hidden}});
  list.AddMatrix(weights.value, hidden, {{"ffn.value.weight", model_dim}});
}

SKALD_INLINE auto RwkvChannelMix::ScratchFloats(size_t rows, size_t model_dim) const -> Pieces<size_t> {
  return {.mixed = rows * shift().mixes * model_dim,
          .between = rows * static_cast<size_t>(width),
          .receptance = has_receptance ? rows * model_dim : 0};
}

SKALD_INLINE std::vector<LayerPlace> RwkvChannelMix::Places() const {
  return {{"up", static_cast<size_t>(width)}, {"activations", static_cast<size_t>(width)}};
}

SKALD_INLINE void RwkvChannelMix::Run(const Weights& weights, const LayerRun& run) const {
  const size_t rows = run.state.rows(), hidden = static_cast<size_t>(width), d = run.model_dim;
  const auto [mixed, between, receptance] = run.scratch.As<Pieces>();
  const size_t stride = shift().mixes * d;
  shift().Run(weights.mix, run, run.state.offset, mixed);
  run.ops.MatMul(weights.key, {mixed, stride}, rows, {}, {between, hidden});
  run.Watch("up", {between, hidden});
  run.ops.Activate(Activation::kReluSquared, between, rows * hidden);
  run.Watch("activations", {between, hidden});
  run.ops.MatMul(weights.value, {between, hidden}, rows, {}, run.output);
  if (!has_receptance) return;
  run.ops.MatMul(weights.receptance, {mixed + d, stride}, rows, {}, {receptance, d});
  run.ops.Multiply(run.output, {receptance, d}, rows, d, FactorFunction::kSigmoid);
}

}  // namespace skald

#endif  // SKALD_LAYERS_KINDS_RECURRENT_RWKV_DETAIL_CHANNEL_MIX_H_
