// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/layers/kinds/attention.h.

#ifndef SKALD_LAYERS_KINDS_DETAIL_ATTENTION_H_
#define SKALD_LAYERS_KINDS_DETAIL_ATTENTION_H_

#include "skald/layers/kinds/attention.h"

#include <cmath>
#include <utility>

#include "skald/base/inline.h"
#include "skald/layers/kinds/detail/attention_probabilities.h"
#include "skald/layers/run/layer_run.h"

namespace skald {

SKALD_INLINE void Attention::ListParameters(Weights& weights, size_t model_dim, ParameterList& list) const {
  const auto head = static_cast<size_t>(head_dim);
  const Axis q = QueryHeads(head), kv = KVHeads(head);
  const size_t paired = interleaved_rope ? static_cast<size_t>(rotary_dim) : 0;
  std::vector<Part> projections;
  if (output_gate)
    AddGatedParts(0, head, projections);
  else
    projections.push_back({.name = "self_attn.q_proj.weight", .rows = q, .head_dim = head, .paired = paired});
  if (!shares())
    projections.push_back({.name = "self_attn.k_proj.weight", .rows = kv, .head_dim = head, .paired = paired});
  if (!shares() && !keys_as_values) projections.push_back({"self_attn.v_proj.weight", kv});
  if (output_gate) AddGatedParts(head, 0, projections);
  std::vector<Axis> rows = {q};
  if (!shares()) rows.push_back(kv);
  if (!shares() && !keys_as_values) rows.push_back(kv);
  if (output_gate) rows.push_back(q);
  list.AddMatrix(weights.qkv, model_dim, std::move(projections), std::move(rows));
  if (qkv_bias) {
    list.AddVector(weights.qkv_bias, {{.name = "self_attn.q_proj.bias", .rows = q, .head_dim = head, .paired = paired},
                                      {.name = "self_attn.k_proj.bias", .rows = kv, .head_dim = head, .paired = paired},
                                      {.name = "self_attn.v_proj.bias", .rows = kv}});
  }
  if (const auto& norm = head_norm ? head_norm : projection_norm) {
    norm->ListParameters(weights.query_norm, "self_attn.q_norm", head_norm ? head : query_dim(), list);
    if (!shares()) norm->ListParameters(weights.key_norm, "self_attn.k_norm", head_norm ? head : kv_dim(), list);
  }
  if (head_factors) {
    ListFactors(weights.query_factors, "self_attn.q_norm.weight", heads, q, list);
    ListFactors(weights.key_factors, "self_attn.k_norm.weight", kv_heads, kv, list);
  }
  for (const char* const name : {"self_attn.k_proj.weight", "self_attn.v_proj.weight", "self_attn.k_norm.weight"}) {
    if (shares()) list.AllowUnused(name);  // some checkpoints have them all the same
  }
  if (value_norm) value_norm->ListParameters(weights.value_norm, "self_attn.v_norm", head, list);
  if (output_norm) output_norm->ListParameters(weights.output_norm, "self_attn.output_norm", query_dim(), list);
  list.AddMatrix(weights.output, q, {{"self_attn.o_proj.weight", model_dim}});
  if (output_multiplier != 1.0f) list.Assume(Assumption::kNotMultiplied);
  if (output_bias) list.AddVector(weights.output_bias, {{"self_attn.o_proj.bias", model_dim}});
  if (!sinks) return;
  list.AddVector(weights.sinks, {{"self_attn.sinks", QueryHeads(1)}}, {.spread = 1.0f});
}

SKALD_INLINE auto Attention::ScratchFloats(size_t rows, size_t /*model_dim*/) const -> Pieces<size_t> {
  return {.projected = rows * stride(), .mixed = rows * query_dim()};
}

SKALD_INLINE std::vector<LayerPlace> Attention::Places() const {
  const auto head = static_cast<size_t>(head_dim), q = static_cast<size_t>(heads), kv = static_cast<size_t>(kv_heads);
  std::vector<LayerPlace> places = {{"queries_before_rope", head, q}};
  if (!shares()) places.push_back({"keys_before_rope", head, kv});
  places.push_back({"queries", head, q});
  if (!shares()) places.push_back({"keys", head, kv});
  if (!shares()) places.push_back({"values", head, kv});
  places.push_back({internal::kProbabilities, 0, q});
  places.push_back({"mixed", head, q});
  return places;
}

SKALD_INLINE void Attention::Run(const Weights& weights, const LayerRun& run) const {
  const size_t rows = run.rows.size(), q = query_dim(), kv = kv_dim();
  const auto [projected, mixed] = run.scratch.As<Pieces>();
  const Rows qkv = {projected, stride()}, keys = {qkv.data + q, stride()}, values = {keys.data + kv, stride()};
  run.ops.MatMul(weights.qkv, run.input, rows, weights.qkv_bias, qkv);
  if (keys_as_values) run.ops.Copy(keys, rows, kv, values);
  if (value_norm) NormalizeHeads(*value_norm, weights.value_norm, kv_heads, run, values);
  if (!norm_after_rope) NormalizeQueriesAndKeys(weights, run, qkv, keys);
  WatchQueriesAndKeys(run, qkv, keys, /*turned=*/false);
  if (rotary_dim > 0) Rotate(run, qkv);
  if (norm_after_rope) NormalizeQueriesAndKeys(weights, run, qkv, keys);
  if (query_growth > 0.0f) {
    internal::GrowQueries(run, qkv, q, query_growth, query_growth_context, query_growth_first);
  }
  WatchQueriesAndKeys(run, qkv, keys, /*turned=*/true);
  if (!shares()) run.Watch("values", values);
  if (!shares()) Store(run, keys, values);
  Attend(weights, run, qkv, mixed);
  if (output_gate) run.ops.Multiply({mixed, q}, {values.data + kv, stride()}, rows, q, FactorFunction::kSigmoid);
  run.Watch("mixed", {mixed, q});
  if (output_norm) {
    run.ops.ChangeWhole(weights.output, 1, {mixed, q}, rows,
                        [&](Rows all) { output_norm->Run(weights.output_norm, run.ops, all, rows, all); });
  }
  run.ops.MatMul(weights.output, {mixed, q}, rows, weights.output_bias, run.output);
  if (output_multiplier != 1.0f) run.ops.Scale(run.output, rows, run.model_dim, output_multiplier);
}

SKALD_INLINE void Attention::AddGatedParts(size_t begin, size_t turned, std::vector<Part>& parts) const {
  const auto head = static_cast<size_t>(head_dim);
  for (size_t i = 0; i < static_cast<size_t>(heads); ++i) {
    parts.push_back({"self_attn.gated_q_proj.weight", head, turned, {}, {2 * i * head + begin, 2 * query_dim()}});
  }
}

SKALD_INLINE void Attention::NormalizeQueriesAndKeys(const Weights& weights, const LayerRun& run, Rows queries,
                                                     Rows keys) const {
  if (head_norm) {
    NormalizeHeads(*head_norm, weights.query_norm, heads, run, queries);
    if (!shares()) NormalizeHeads(*head_norm, weights.key_norm, kv_heads, run, keys);
  }
  if (head_factors) MultiplyHeads(weights, run, queries, keys);
  if (projection_norm) NormalizeProjections(weights, run, queries, keys);
}

SKALD_INLINE void Attention::NormalizeHeads(const NormSpec& norm, const NormWeights& weights, int count,
                                            const LayerRun& run, Rows rows) const {
  for (int head = 0; head < count; ++head) {
    const Rows one{rows.data + static_cast<size_t>(head) * static_cast<size_t>(head_dim), rows.stride};
    norm.Run(weights, run.ops, one, run.rows.size(), one);
  }
}

SKALD_INLINE void Attention::MultiplyHeads(const Weights& weights, const LayerRun& run, Rows queries, Rows keys) const {
  const auto multiply = [&](const std::vector<float>& factors, Rows rows) {
    // All rows have the same factors, which Multiply only reads.
    const Rows same = {const_cast<float*>(factors.data()), 0};
    run.ops.Multiply(rows, same, run.rows.size(), factors.size());
  };
  multiply(weights.query_factors, queries);
  multiply(weights.key_factors, keys);
}

SKALD_INLINE void Attention::ListFactors(std::vector<float>& factors, const char* name, int count, Axis axis,
                                         ParameterList& list) const {
  const auto head = static_cast<size_t>(head_dim), number = static_cast<size_t>(count);
  std::vector<Part> parts;
  for (size_t i = 0; i < number; ++i) {
    parts.push_back({.name = name,
                     .rows = head,
                     .head_dim = head,
                     .expert = ExpertIndex{i, number},
                     .paired = interleaved_rope ? static_cast<size_t>(rotary_dim) : 0});
  }
  list.AddVector(factors, parts, {.center = 1.0f}, {axis});
}

SKALD_INLINE void Attention::NormalizeProjections(const Weights& weights, const LayerRun& run, Rows queries,
                                                  Rows keys) const {
  const auto normalize = [&](const NormWeights& norm_weights, size_t queries_of_each, Rows here) {
    run.ops.ChangeWhole(weights.output, queries_of_each, here, run.rows.size(),
                        [&](Rows all) { projection_norm->Run(norm_weights, run.ops, all, run.rows.size(), all); });
  };
  normalize(weights.query_norm, 1, queries);
  normalize(weights.key_norm, static_cast<size_t>(heads / kv_heads), keys);
}

SKALD_INLINE void Attention::Rotate(const LayerRun& run, Rows qkv) const {
  run.ops.Rope({.rows = qkv.data,
                .row_stride = qkv.stride,
                .cos = run.cache.cos,
                .sin = run.cache.sin,
                .heads = static_cast<size_t>(shares() ? heads : heads + kv_heads),  // keys come after queries
                .head_dim = static_cast<size_t>(head_dim),
                .rotary_dim = static_cast<size_t>(rotary_dim),
                .row_begin = 0,
                .row_end = 0},
               run.rows.size());
}

SKALD_INLINE void Attention::Store(const LayerRun& run, Rows keys, Rows values) const {
  run.ops.StoreKV(run.cache.kv_type,
                  {.keys = keys.data,
                   .values = values.data,
                   .stride = keys.stride,
                   .positions = run.rows.positions.data(),
                   .sequences = run.rows.sequences.data(),
                   .tables = run.cache.tables,
                   .geometry = run.cache.geometry,
                   .row_begin = 0,
                   .row_end = 0},
                  run.rows.size());
}

SKALD_INLINE void Attention::WatchQueriesAndKeys(const LayerRun& run, Rows queries, Rows keys, bool turned) const {
  run.Watch(turned ? "queries" : "queries_before_rope", queries);
  if (!shares()) run.Watch(turned ? "keys" : "keys_before_rope", keys);
}

SKALD_INLINE void Attention::Attend(const Weights& weights, const LayerRun& run, Rows queries, float* mixed) const {
  const AttentionArgs args = {.queries = queries.data,
                              .query_stride = queries.stride,
                              .output = mixed,
                              .output_stride = query_dim(),
                              .positions = run.rows.positions.data(),
                              .sequences = run.rows.sequences.data(),
                              .tables = run.cache.tables,
                              .geometry = run.cache.geometry,
                              .rows = run.rows.size(),
                              .heads = static_cast<size_t>(heads),
                              .window = static_cast<size_t>(window),
                              .chunked = chunked,
                              .scale = static_cast<float>(1.0 / std::sqrt(query_pre_scale)),
                              .softcap = softcap,
                              .sinks = sinks ? weights.sinks.data() : nullptr,
                              .lengths = run.cache.lengths,
                              .bias = run.cache.bias,
                              .bias_reach = run.cache.bias_reach,
                              .unit_begin = 0,
                              .unit_end = 0};
  run.ops.Attention(run.cache.kv_type, args, run.rows.visible_tokens);
  internal::ShowProbabilities(run, args);
}

}  // namespace skald

#endif  // SKALD_LAYERS_KINDS_DETAIL_ATTENTION_H_
