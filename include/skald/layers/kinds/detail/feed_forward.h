// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/layers/kinds/feed_forward.h.

#ifndef SKALD_LAYERS_KINDS_DETAIL_FEED_FORWARD_H_
#define SKALD_LAYERS_KINDS_DETAIL_FEED_FORWARD_H_

#include "skald/layers/kinds/feed_forward.h"

#include "skald/base/inline.h"
#include "skald/layers/run/layer_run.h"

namespace skald::internal {

SKALD_INLINE void ListFeedForward(FeedForwardWeights& weights, const Axis& columns, bool bias, size_t model_dim,
                                  ParameterList& list) {
  list.AddMatrix(weights.up, model_dim, {{"mlp.up_proj.weight", columns}});
  list.AddMatrix(weights.down, columns, {{"mlp.down_proj.weight", model_dim}});
  if (!bias) return;
  list.AddVector(weights.up_bias, {{"mlp.up_proj.bias", columns}});
  list.AddVector(weights.down_bias, {{"mlp.down_proj.bias", model_dim}});
}

SKALD_INLINE void RunFeedForward(const FeedForwardWeights& weights, size_t width, const ActivationRef& activation,
                                 const LayerRun& run) {
  const size_t rows = run.rows.size();
  const Rows between = {run.scratch.As<FeedForward::Pieces>().between, width};
  run.ops.MatMul(weights.up, run.input, rows, weights.up_bias, between);
  run.Watch("up", between);
  run.ops.Activate(activation, between.data, rows * width);
  run.Watch("activations", between);
  run.ops.MatMul(weights.down, between, rows, weights.down_bias, run.output);
}

}  // namespace skald::internal

#endif  // SKALD_LAYERS_KINDS_DETAIL_FEED_FORWARD_H_
