// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/layers/kinds/latent_attention.h.

#ifndef SKALD_LAYERS_KINDS_DETAIL_LATENT_ATTENTION_H_
#define SKALD_LAYERS_KINDS_DETAIL_LATENT_ATTENTION_H_

#include "skald/layers/kinds/latent_attention.h"

#include <cmath>

#include "skald/base/inline.h"
#include "skald/layers/kinds/detail/attention_probabilities.h"
#include "skald/layers/run/layer_run.h"

namespace skald {

SKALD_INLINE void LatentAttention::ListParameters(Weights& weights, size_t model_dim, ParameterList& list) const {
  const size_t inputs = query_rank > 0 ? static_cast<size_t>(query_rank) : model_dim;
  const size_t nope = static_cast<size_t>(nope_dim), rotated = static_cast<size_t>(rope_dim);
  const size_t latent = static_cast<size_t>(latent_dim), of_head = nope + static_cast<size_t>(value_dim);
  const size_t turned = rotates ? rotated : 0;
  if (query_rank > 0) {
    list.AddMatrix(weights.query_in, model_dim, {{"self_attn.q_a_proj.weight", inputs}});
    norm.ListParameters(weights.query_norm, "self_attn.q_a_layernorm", inputs, list);
  }
  list.AddMatrix(weights.query_nope, inputs, QueryParts(0, nope, 0), {Heads(nope)});
  list.AddMatrix(weights.query_rope, inputs, QueryParts(nope, rotated, turned), {Heads(rotated)});
  constexpr const char* kKey = "self_attn.kv_a_proj.weight";
  list.AddMatrix(weights.key, model_dim,
                 {{.name = kKey, .rows = rotated, .head_dim = turned, .interleaved = {latent, latent + rotated}},
                  {.name = kKey, .rows = latent, .interleaved = {0, latent + rotated}}});
  norm.ListParameters(weights.latent_norm, "self_attn.kv_a_layernorm", latent, list);
  list.AddBlocks(weights.key_heads, Heads(1), nope,
                 {{.name = "self_attn.k_b_proj.weight", .rows = latent, .interleaved = {0, of_head}}});
  list.AddBlocks(weights.value_heads, Heads(1), latent,
                 {{.name = "self_attn.v_b_proj.weight", .rows = of_head - nope, .interleaved = {nope, of_head}}});
  list.AddMatrix(weights.output, Heads(static_cast<size_t>(value_dim)), {{"self_attn.o_proj.weight", model_dim}});
}

SKALD_INLINE auto LatentAttention::ScratchFloats(size_t rows, size_t /*model_dim*/) const -> Pieces<size_t> {
  const size_t of_heads = rows * head_count(), nope = static_cast<size_t>(nope_dim);
  const size_t rotated = static_cast<size_t>(rope_dim), latent = static_cast<size_t>(latent_dim);
  return {.query_in = rows * static_cast<size_t>(query_rank),
          .query_nope = of_heads * nope,
          .query_rope = of_heads * rotated,
          .queries = of_heads * key_dim(),
          .keys = rows * key_dim(),
          .latents = of_heads * latent,
          .values = rows * values_dim()};
}

SKALD_INLINE std::vector<LayerPlace> LatentAttention::Places() const {
  return {{"queries", key_dim(), head_count()},
          {"keys", key_dim()},
          {internal::kProbabilities, 0, head_count()},
          {"mixed", static_cast<size_t>(value_dim), head_count()}};
}

SKALD_INLINE void LatentAttention::Run(const Weights& weights, const LayerRun& run) const {
  const size_t rows = run.rows.size(), h = head_count();
  const Pieces<float*> scratch = run.scratch.As<Pieces>();
  const Rows queries = {scratch.queries, h * key_dim()}, keys = {scratch.keys, key_dim()};
  const Rows mixed = {scratch.latents, h * static_cast<size_t>(latent_dim)}, values = {scratch.values, values_dim()};
  MakeQueries(weights, run, queries);
  run.ops.MatMul(weights.key, run.input, rows, {}, keys);
  const Rows latents = {keys.data + rope_dim, keys.stride};
  norm.Run(weights.latent_norm, {run.ops, rows, static_cast<size_t>(latent_dim), latents, latents});
  Rotate(run, queries, h);
  if (query_growth > 0.0f) internal::GrowQueries(run, queries, h * key_dim(), query_growth, query_growth_context);
  Rotate(run, keys, 1);
  run.Watch("queries", queries);
  run.Watch("keys", keys);
  Store(run, keys);
  Attend(run, queries, mixed);
  run.ops.BlockMatMul(weights.value_heads, mixed, mixed.stride, rows, {}, values, static_cast<size_t>(value_dim));
  run.Watch("mixed", values);
  run.ops.MatMul(weights.output, values, rows, {}, run.output);
}

SKALD_INLINE std::vector<Part> LatentAttention::QueryParts(size_t begin, size_t count, size_t turned) const {
  std::vector<Part> parts;
  const auto of_head = static_cast<size_t>(nope_dim + rope_dim);
  for (size_t i = 0; i < head_count(); ++i) {
    parts.push_back({.name = "self_attn.q_b_proj.weight",
                     .rows = count,
                     .head_dim = turned,
                     .interleaved = {i * of_head + begin, head_count() * of_head}});
  }
  return parts;
}

SKALD_INLINE void LatentAttention::MakeQueries(const Weights& weights, const LayerRun& run, Rows queries) const {
  const size_t rows = run.rows.size(), h = head_count();
  const size_t rank = static_cast<size_t>(query_rank), rotated = static_cast<size_t>(rope_dim);
  const Pieces<float*> scratch = run.scratch.As<Pieces>();
  const Rows nope = {scratch.query_nope, h * static_cast<size_t>(nope_dim)},
             rope_part = {scratch.query_rope, h * rotated};
  Rows from = run.input;
  if (query_rank > 0) {
    from = {scratch.query_in, rank};
    run.ops.MatMul(weights.query_in, run.input, rows, {}, from);
    norm.Run(weights.query_norm, {run.ops, rows, rank, from, from});
  }
  run.ops.MatMul(weights.query_nope, from, rows, {}, nope);
  run.ops.MatMul(weights.query_rope, from, rows, {}, rope_part);
  run.ops.Copy({rope_part.data, rotated}, rows * h, rotated, {queries.data, key_dim()});
  run.ops.BlockMatMul(weights.key_heads, nope, nope.stride, rows, {}, {queries.data + rotated, queries.stride},
                      key_dim());
}

SKALD_INLINE void LatentAttention::Rotate(const LayerRun& run, Rows rows, size_t count) const {
  if (!rotates) return;
  run.ops.Rope({.rows = rows.data,
                .row_stride = rows.stride,
                .cos = run.cache.cos,
                .sin = run.cache.sin,
                .heads = count,
                .head_dim = key_dim(),
                .rotary_dim = static_cast<size_t>(rope_dim),
                .row_begin = 0,
                .row_end = 0},
               run.rows.size());
}

SKALD_INLINE void LatentAttention::Store(const LayerRun& run, Rows keys) const {
  run.ops.StoreKV(run.cache.kv_type,
                  {.keys = keys.data,
                   .values = nullptr,
                   .stride = keys.stride,
                   .positions = run.rows.positions.data(),
                   .sequences = run.rows.sequences.data(),
                   .tables = run.cache.tables,
                   .geometry = run.cache.geometry,
                   .row_begin = 0,
                   .row_end = 0},
                  run.rows.size());
}

SKALD_INLINE void LatentAttention::Attend(const LayerRun& run, Rows queries, Rows mixed) const {
  const double scale = double{mscale} * double{mscale} / std::sqrt(static_cast<double>(rope_dim + nope_dim));
  const AttentionArgs args = {.queries = queries.data,
                              .query_stride = queries.stride,
                              .output = mixed.data,
                              .output_stride = mixed.stride,
                              .positions = run.rows.positions.data(),
                              .sequences = run.rows.sequences.data(),
                              .tables = run.cache.tables,
                              .geometry = run.cache.geometry,
                              .rows = run.rows.size(),
                              .heads = head_count(),
                              .window = 0,
                              .scale = static_cast<float>(scale),
                              .softcap = 0.0f,
                              .unit_begin = 0,
                              .unit_end = 0};
  run.ops.Attention(run.cache.kv_type, args, run.rows.visible_tokens);
  internal::ShowProbabilities(run, args);
}

}  // namespace skald

#endif  // SKALD_LAYERS_KINDS_DETAIL_LATENT_ATTENTION_H_
