// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/layers/kinds/wide_attention.h.

#ifndef SKALD_LAYERS_KINDS_DETAIL_WIDE_ATTENTION_H_
#define SKALD_LAYERS_KINDS_DETAIL_WIDE_ATTENTION_H_

#include "skald/layers/kinds/wide_attention.h"

#include <algorithm>

#include "skald/base/inline.h"
#include "skald/layers/run/layer_run.h"

namespace skald {

SKALD_INLINE void CarriedInput::Run(const Weights& /*weights*/, const LayerRun& run) const {
  run.ops.Copy(run.input, run.rows.size(), static_cast<size_t>(width), run.carried);
  for (size_t row = 0; row < run.rows.size(); ++row) {
    std::fill_n(run.output.data + row * run.output.stride, run.model_dim, 0.0f);
  }
}

SKALD_INLINE void WideAttention::ListParameters(Weights& weights, size_t model_dim, ParameterList& list) const {
  const auto head = static_cast<size_t>(attention.head_dim);
  const size_t q = static_cast<size_t>(attention.heads) * head, kv = static_cast<size_t>(attention.kv_heads) * head;
  list.AddMatrix(
      weights.qkv, static_cast<size_t>(width) + model_dim,
      {{"self_attn.q_proj.weight", q, head}, {"self_attn.k_proj.weight", kv, head}, {"self_attn.v_proj.weight", kv}});
  list.AddMatrix(weights.output, q, {{"self_attn.o_proj.weight", model_dim}});
}

SKALD_INLINE auto WideAttention::ScratchFloats(size_t rows, size_t model_dim) const -> Pieces<size_t> {
  return {attention.ScratchFloats(rows, model_dim), rows * (static_cast<size_t>(width) + model_dim)};
}

SKALD_INLINE std::vector<LayerPlace> WideAttention::Places() const { return attention.Places(); }

SKALD_INLINE void WideAttention::Run(const Weights& weights, const LayerRun& run) const {
  const auto given = static_cast<size_t>(width);
  const Rows both = {run.scratch.As<Pieces>().both, given + run.model_dim};
  run.ops.Copy(run.carried, run.rows.size(), given, both);
  run.ops.Copy(run.input, run.rows.size(), run.model_dim, {both.data + given, both.stride});
  LayerRun wide = run;
  wide.input = both;
  attention.Run(weights, wide);
}

}  // namespace skald

#endif  // SKALD_LAYERS_KINDS_DETAIL_WIDE_ATTENTION_H_
