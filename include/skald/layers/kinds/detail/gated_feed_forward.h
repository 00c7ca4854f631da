// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/layers/kinds/gated_feed_forward.h.

#ifndef SKALD_LAYERS_KINDS_DETAIL_GATED_FEED_FORWARD_H_
#define SKALD_LAYERS_KINDS_DETAIL_GATED_FEED_FORWARD_H_

#include "skald/layers/kinds/gated_feed_forward.h"

#include <algorithm>
#include <cmath>

#include "skald/base/inline.h"
#include "skald/base/numbers/sum_of_lanes.h"
#include "skald/base/threads/executor.h"
#include "skald/layers/run/layer_run.h"

namespace skald::internal {

SKALD_INLINE void ListGatedFeedForward(GatedFeedForwardWeights& weights, const Axis& columns, bool gate_up_bias,
                                       bool down_bias, size_t model_dim, ParameterList& list) {
  const size_t width =
      columns.size;  // where files have both in one tensor in an order of their own, up rows come first
  list.AddMatrix(weights.gate_up, model_dim,
                 {{"mlp.gate_proj.weight", columns, 0, {}, {width, 2 * width}},
                  {"mlp.up_proj.weight", columns, 0, {}, {0, 2 * width}}});
  list.AddMatrix(weights.down, columns, {{"mlp.down_proj.weight", model_dim}});
  if (gate_up_bias) {
    list.AddVector(weights.gate_up_bias, {{"mlp.gate_proj.bias", columns}, {"mlp.up_proj.bias", columns}});
  }
  if (down_bias) list.AddVector(weights.down_bias, {{"mlp.down_proj.bias", model_dim}});
}

// Replaces the gates of rows by what they are beyond `deviations` standard deviations above their mean, at least 0.
inline void CutGates(const LayerRun& run, Rows gates, size_t width, float deviations) {
  ParallelFor(run.ops.executor(), run.rows.size(), 3 * width, [&](size_t begin, size_t end) {
    for (size_t row = begin; row < end; ++row) {
      float* const values = gates.data + row * gates.stride;
      const auto count = static_cast<float>(width);
      const float mean = SumOfLanes(width, [values](size_t i) { return values[i]; }) / count;
      const float squares = SumOfLanes(width, [values, mean](size_t i) {
        const float distance = values[i] - mean;
        return distance * distance;
      });
      const float cut = mean + std::sqrt(squares / count) * deviations;
      for (size_t i = 0; i < width; ++i) values[i] = std::max(values[i] - cut, 0.0f);
    }
  });
}

SKALD_INLINE void RunGatedFeedForward(const GatedFeedForwardWeights& weights, size_t width,
                                      const ActivationRef& activation, float gate_multiplier, float gate_deviations,
                                      const std::optional<NormSpec>& inner_norm, const LayerRun& run) {
  const size_t rows = run.rows.size();
  const auto [gate_up, gated] = run.scratch.As<GatedFeedForward::Pieces>();
  const bool is_plain = gate_multiplier == 1.0f && gate_deviations == 0.0f && !inner_norm;
  if (is_plain && run.watcher == nullptr) {  // values may stay in registers
    return run.ops.FeedForward(activation, weights.gate_up, weights.gate_up_bias, weights.down, weights.down_bias,
                               run.input, rows, gate_up, gated, run.output);
  }
  run.ops.MatMul(weights.gate_up, run.input, rows, weights.gate_up_bias, {gate_up, 2 * width});
  if (gate_multiplier != 1.0f) run.ops.Scale({gate_up, 2 * width}, rows, width, gate_multiplier);
  if (gate_deviations > 0.0f) {
    run.ops.ChangeWhole(weights.down, 1, {gate_up, 2 * width}, rows,
                        [&](Rows all) { CutGates(run, all, weights.down.cols, gate_deviations); });
  }
  run.Watch("gates", {gate_up, 2 * width});
  run.Watch("up", {gate_up + width, 2 * width});
  run.ops.Gate(activation, gate_up, rows, width, gated);
  run.Watch("activations", {gated, width});
  if (inner_norm) {
    run.ops.ChangeWhole(weights.down, 1, {gated, width}, rows,
                        [&](Rows all) { inner_norm->Run(weights.inner_norm, run.ops, all, rows, all); });
  }
  run.ops.MatMul(weights.down, {gated, width}, rows, weights.down_bias, run.output);
}

}  // namespace skald::internal

#endif  // SKALD_LAYERS_KINDS_DETAIL_GATED_FEED_FORWARD_H_
