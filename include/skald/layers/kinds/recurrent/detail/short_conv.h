// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/layers/kinds/recurrent/short_conv.h.

#ifndef SKALD_LAYERS_KINDS_RECURRENT_DETAIL_SHORT_CONV_H_
#define SKALD_LAYERS_KINDS_RECURRENT_DETAIL_SHORT_CONV_H_

#include "skald/layers/kinds/recurrent/short_conv.h"

#include "skald/base/inline.h"
#include "skald/layers/run/layer_run.h"

namespace skald {

SKALD_INLINE void ShortConv::ListParameters(Weights& weights, size_t model_dim, ParameterList& list) const {
  const Axis w = Columns(width);
  list.AddMatrix(weights.input, model_dim, {{"conv.in_proj.weight", w.Times(3)}});
  if (bias) list.AddVector(weights.input_bias, {{"conv.in_proj.bias", w.Times(3)}});
  conv().ListParameters(weights.conv, "conv.conv", list, {w});
  list.AddMatrix(weights.output, w, {{"conv.out_proj.weight", model_dim}});
  if (bias) list.AddVector(weights.output_bias, {{"conv.out_proj.bias", model_dim}});
}

SKALD_INLINE auto ShortConv::ScratchFloats(size_t rows, size_t /*model_dim*/) const -> Pieces<size_t> {
  return {.projected = rows * 3 * channels(), .mixed = rows * channels()};
}

SKALD_INLINE std::vector<LayerPlace> ShortConv::Places() const { return {{"mixed", channels()}}; }

SKALD_INLINE void ShortConv::Run(const Weights& weights, const LayerRun& run) const {
  const size_t w = channels(), rows = run.state.rows();
  const Pieces<float*> scratch = run.scratch.As<Pieces>();
  const Rows before = {scratch.projected, 3 * w}, behind = {before.data + w, 3 * w}, values = {behind.data + w, 3 * w};
  const Rows mixed = {scratch.mixed, w};
  run.ops.MatMul(weights.input, run.input, rows, weights.input_bias, before);
  run.ops.Multiply(values, before, rows, w);
  conv().Run(weights.conv, run, values, run.state.offset, mixed.data);
  run.ops.Multiply(mixed, behind, rows, w);
  run.Watch("mixed", mixed);
  run.ops.MatMul(weights.output, mixed, rows, weights.output_bias, run.output);
}

}  // namespace skald

#endif  // SKALD_LAYERS_KINDS_RECURRENT_DETAIL_SHORT_CONV_H_
