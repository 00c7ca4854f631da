// SPDX-License-Identifier: Apache-2.0
//
// Which tensors make up one layer, by name and shape, and where in LayerWeights each goes. One function for each kind
// of block.

#ifndef SKALD_WEIGHTS_PLAN_LAYER_H_
#define SKALD_WEIGHTS_PLAN_LAYER_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "skald/base/message.h"
#include "skald/configs/layer.h"
#include "skald/configs/recurrence.h"
#include "skald/weights/load_plan.h"
#include "skald/weights/model_weights.h"
#include "skald/weights/recurrent_transforms.h"
#include "skald/weights/tensor_names.h"
#include "skald/weights/weight_shapes.h"

namespace skald::internal {

// What is added to the parameters of norms that the file holds.
inline float NormOffset(const WeightShapes& shapes, const TensorNames& names) {
  return shapes.unit_offset_norms && !names.norms_with_offset ? 1.0f : 0.0f;
}

// What the functions below plan with, for one layer.
struct LayerPlanner {
  const WeightShapes& shapes;
  const TensorNames& names;
  size_t index;  // of the layer
  LoadPlan& plan;

  // The tensor `part` of the block whose names begin with `prefix`, of so many rows.
  Part In(std::string_view prefix, std::string_view part, size_t rows) const {
    return {names.Layer(index, Concat({prefix, part})), rows};
  }

  void AddNorm(std::vector<float>& norm, std::string_view part, size_t size) const {
    plan.AddVector(norm, {In("", part, size)}, NormOffset(shapes, names));
  }
};

inline void PlanAttention(const LayerPlanner& planner, AttentionWeights& attention) {
  const WeightShapes& shapes = planner.shapes;
  const TensorNames& names = planner.names;
  LoadPlan& plan = planner.plan;
  const auto part = [&](std::string_view projection, std::string_view what, size_t rows) {
    return planner.In(names.attention, Concat({projection, what}), rows);
  };
  const auto rotated = [&](std::string_view projection, size_t rows) {
    Part heads = part(projection, "weight", rows);
    heads.head_dim = shapes.head_dim;
    return heads;
  };
  const size_t model = shapes.model_dim, query = shapes.query_dim, kv = shapes.kv_dim;
  plan.AddMatrix(attention.qkv, model,
                 {rotated(names.query, query), rotated(names.key, kv), part(names.value, "weight", kv)});
  if (shapes.qkv_bias) {
    plan.AddVector(attention.qkv_bias,
                   {part(names.query, "bias", query), part(names.key, "bias", kv), part(names.value, "bias", kv)});
  }
  if (shapes.qk_norm) {
    const auto norm = [&](std::string_view name) { return Concat({names.attention, name, "weight"}); };
    planner.AddNorm(attention.query_norm, norm(names.query_norm), shapes.head_dim);
    planner.AddNorm(attention.key_norm, norm(names.key_norm), shapes.head_dim);
  }
  plan.AddMatrix(attention.output, query, {part(names.attention_output, "weight", model)});
  if (shapes.attention_output_bias) {
    plan.AddVector(attention.output_bias, {part(names.attention_output, "bias", model)});
  }
}

inline void PlanFeedForward(const LayerPlanner& planner, FeedForwardWeights& feed_forward) {
  const TensorNames& names = planner.names;
  LoadPlan& plan = planner.plan;
  const auto part = [&](std::string_view projection, std::string_view what, size_t rows) {
    return planner.In(names.feed_forward, Concat({projection, what}), rows);
  };
  const size_t model = planner.shapes.model_dim, hidden = planner.shapes.feed_forward_dim;
  plan.AddMatrix(feed_forward.gate_up, model,
                 {part(names.gate, "weight", hidden), part(names.up, "weight", hidden)});
  plan.AddMatrix(feed_forward.down, hidden, {part(names.down, "weight", model)});
  if (!planner.shapes.feed_forward_bias) return;
  plan.AddVector(feed_forward.gate_up_bias, {part(names.gate, "bias", hidden), part(names.up, "bias", hidden)});
  plan.AddVector(feed_forward.down_bias, {part(names.down, "bias", model)});
}

// The parts of one recurrent layer.
struct RecurrentPlanner {
  const LayerPlanner& layer;
  const RecurrenceSpec& spec;
  RecurrentWeights& weights;

  size_t Width() const { return static_cast<size_t>(spec.width); }
  size_t Heads() const { return static_cast<size_t>(spec.heads); }
  size_t StateDim() const { return static_cast<size_t>(spec.state_dim); }

  Part In(std::string_view name, size_t rows) const { return layer.In(RecurrentPrefix(spec.kind), name, rows); }

  // Checkpoints store the convolution as [channels, 1, taps].
  void AddConvolution(std::string_view weight, std::string_view bias) const {
    const auto channels = static_cast<size_t>(spec.conv_channels()), taps = static_cast<size_t>(spec.conv_width);
    layer.plan.AddArray(weights.conv, {{In(weight, channels).name, {channels, 1, taps}}},
                        [=](std::vector<float>& values) { Transpose(values, channels, taps); });
    layer.plan.AddVector(weights.conv_bias, {In(bias, channels)});
  }
};

inline void PlanRgLru(const RecurrentPlanner& planner) {
  RecurrentWeights& weights = planner.weights;
  LoadPlan& plan = planner.layer.plan;
  const size_t model = planner.layer.shapes.model_dim, width = planner.Width(), heads = planner.Heads();
  const size_t block = width / heads;
  plan.AddMatrix(weights.input, model, {planner.In("linear_y.weight", width), planner.In("linear_x.weight", width)});
  plan.AddVector(weights.input_bias, {planner.In("linear_y.bias", width), planner.In("linear_x.bias", width)});
  planner.AddConvolution("conv_1d.weight", "conv_1d.bias");
  plan.AddTransposed(
      weights.gates, heads, block,
      {planner.In("rg_lru.input_gate_weight", block), planner.In("rg_lru.recurrent_gate_weight", block)});
  plan.AddArray(weights.gate_bias, {{planner.In("rg_lru.input_gate_bias", heads).name, {heads, block}},
                                    {planner.In("rg_lru.recurrent_gate_bias", heads).name, {heads, block}}});
  plan.AddArray(weights.decay, {{planner.In("rg_lru.recurrent_param", width).name, {width}}}, DecayFromRgLruParameter);
  plan.AddMatrix(weights.output, width, {planner.In("linear_out.weight", model)});
  plan.AddVector(weights.output_bias, {planner.In("linear_out.bias", model)});
}

// What both Mamba kinds have.
inline void PlanStateSpace(const RecurrentPlanner& planner, size_t decays) {
  RecurrentWeights& weights = planner.weights;
  LoadPlan& plan = planner.layer.plan;
  const size_t model = planner.layer.shapes.model_dim, width = planner.Width();
  const auto projected = static_cast<size_t>(planner.spec.projected_dim());
  plan.AddMatrix(weights.input, model, {planner.In("in_proj.weight", projected)});
  planner.AddConvolution("conv1d.weight", "conv1d.bias");
  plan.AddVector(weights.skip, {planner.In("D", decays)});
  plan.AddMatrix(weights.output, width, {planner.In("out_proj.weight", model)});
}

inline void PlanMamba(const RecurrentPlanner& planner) {
  RecurrentWeights& weights = planner.weights;
  LoadPlan& plan = planner.layer.plan;
  const size_t width = planner.Width(), state_dim = planner.StateDim();
  const auto rank = static_cast<size_t>(planner.spec.time_step_rank);
  PlanStateSpace(planner, width);
  plan.AddMatrix(weights.selection, width, {planner.In("x_proj.weight", rank + 2 * state_dim)});
  plan.AddMatrix(weights.time_step, rank, {planner.In("dt_proj.weight", width)});
  plan.AddVector(weights.time_step_bias, {planner.In("dt_proj.bias", width)});
  plan.AddArray(weights.decay, {{planner.In("A_log", width).name, {width, state_dim}}},
                [=](std::vector<float>& values) {
                  DecayFromLogarithm(values);
                  Transpose(values, width, state_dim);
                });
}

inline void PlanMamba2(const RecurrentPlanner& planner) {
  RecurrentWeights& weights = planner.weights;
  LoadPlan& plan = planner.layer.plan;
  const size_t heads = planner.Heads();
  PlanStateSpace(planner, heads);
  plan.AddVector(weights.time_step_bias, {planner.In("dt_bias", heads)});
  plan.AddArray(weights.decay, {{planner.In("A_log", heads).name, {heads}}}, DecayFromLogarithm);
  planner.layer.AddNorm(weights.norm, Concat({RecurrentPrefix(planner.spec.kind), "norm.weight"}), planner.Width());
}

inline void PlanRecurrence(const LayerPlanner& layer, LayerKind kind, RecurrentWeights& weights) {
  const RecurrentPlanner planner{layer, layer.shapes.recurrences.Of(kind), weights};
  if (kind == LayerKind::kRgLru) {
    PlanRgLru(planner);
  } else if (kind == LayerKind::kMamba) {
    PlanMamba(planner);
  } else {
    PlanMamba2(planner);
  }
}

// Plans all tensors of layer `index`.
inline void PlanLayer(const WeightShapes& shapes, const TensorNames& names, size_t index, LoadPlan& plan,
                      LayerWeights& layer) {
  const LayerPlanner planner{shapes, names, index, plan};
  const LayerKind kind = shapes.layers[index];
  const bool has_feed_forward = shapes.feed_forward_dim != 0;
  const auto add_norm = [&](std::vector<float>& norm, std::string_view part) {
    planner.AddNorm(norm, part, shapes.model_dim);
  };
  add_norm(layer.input_norm, names.input_norm);
  if (IsAttention(kind)) {
    PlanAttention(planner, layer.attention);
  } else {
    PlanRecurrence(planner, kind, layer.recurrent);
  }
  if (shapes.post_norms) add_norm(layer.post_attention_norm, names.post_attention_norm);
  if (!has_feed_forward) return;
  add_norm(layer.feed_forward_norm, shapes.post_norms ? names.pre_feed_forward_norm : names.feed_forward_norm);
  PlanFeedForward(planner, layer.feed_forward);
  if (shapes.post_norms) add_norm(layer.post_feed_forward_norm, names.post_feed_forward_norm);
}

}  // namespace skald::internal

#endif  // SKALD_WEIGHTS_PLAN_LAYER_H_
