// SPDX-License-Identifier: Apache-2.0
//
// Multi-head latent attention (DeepSeek-V2, arXiv:2405.04434, section 2.1): the keys and values of all heads are made
// of one latent vector for each token and of a short key with its position, and these two are all that the cache keeps.
//
// No key or value is ever made: a query is multiplied by its head's key matrix instead, so that it is compared with
// latents, and the mean of latents that it attends to by its head's value matrix. Attention itself is that of many
// query heads over one head of keys, [the key with its position, the latent], whose values are the latents.

#ifndef SKALD_LAYERS_KINDS_LATENT_ATTENTION_H_
#define SKALD_LAYERS_KINDS_LATENT_ATTENTION_H_

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/base/numbers/rope.h"
#include "skald/base/ranks/rank_share.h"
#include "skald/cache/form/layout.h"
#include "skald/kernels/args.h"
#include "skald/layers/norms/rms_norm.h"
#include "skald/layers/run/layer_run.h"
#include "skald/weights/parameters.h"

namespace skald {

struct LatentAttention {
  static constexpr std::string_view kName = "latent attention";

  int heads = 0;
  int query_rank = 0;  // of the vector that the queries of all heads are made of; 0: they are made of the row itself
  int latent_dim = 0;
  int rope_dim = 0;   // elements of each query and of the key of all heads that RoPE turns
  int nope_dim = 0;   // elements of each query and key head that carry no position
  int value_dim = 0;  // of each head
  RopeSpec rope = {};
  float mscale = 1.0f;  // scores are q . k / sqrt(rope_dim + nope_dim), times its square: YaRN's for long contexts
  RmsNorm norm = {};    // of what queries are made of, and of latents

  friend constexpr bool operator==(const LatentAttention&, const LatentAttention&) = default;

  template <class Self, class Visitor>
  static constexpr void VisitFields(Self& self, Visitor&& visit) {
    visit("heads", self.heads);
    visit("query_rank", self.query_rank);
    visit("latent_dim", self.latent_dim);
    visit("rope_dim", self.rope_dim);
    visit("nope_dim", self.nope_dim);
    visit("value_dim", self.value_dim);
    visit("rope", self.rope);
    visit("mscale", self.mscale);
    visit("norm", self.norm);
  }

  constexpr const char* WhyImpossible() const {
    if (heads <= 0 || latent_dim <= 0 || rope_dim <= 0 || nope_dim <= 0 || value_dim <= 0) {
      return "Latent attention must have heads, a latent and parts of heads of positive sizes.";
    }
    if (query_rank < 0) return "The rank of the queries of latent attention must not be negative.";
    if (rope_dim % 2 != 0) return "The rope_dim of latent attention must be even: RoPE rotates pairs of elements.";
    if (latent_dim > static_cast<int>(kMaxHeadDim) - rope_dim) {
      return "The latent and the rope_dim of latent attention are larger than the buffers of the attention kernel.";
    }
    if (rope.turning_pairs > rope_dim / 2) return "turning_pairs must be at most half of the rope_dim.";
    for (const auto* factors : {&rope.factors, &rope.short_factors}) {
      if (factors->empty() || factors->size() == static_cast<size_t>(rope_dim) / 2) continue;
      return "A RoPE's factors must be half as many as the elements that it rotates: one for each pair.";
    }
    if (!(mscale > 0.0f && mscale <= 1e15f)) return "The mscale of latent attention must be positive.";
    if (const char* why = norm.WhyImpossible()) return why;
    return skald::WhyImpossible(rope);
  }

  constexpr CacheGroup State() const {
    return {.kv_heads = 1,
            .head_dim = static_cast<uint32_t>(rope_dim + latent_dim),
            .rope = rope,
            .rotary_dim = static_cast<uint32_t>(rope_dim),
            .latent_dim = static_cast<uint32_t>(latent_dim)};
  }

  // With q the query_rank or, where that is 0, model_dim:
  struct Weights {
    Matrix query_in;                // [query_rank, model_dim], or empty
    RmsNorm::Weights query_norm;    // [query_rank], or empty
    Matrix query_nope, query_rope;  // [heads * nope_dim, q], [heads * rope_dim, q]
    Matrix key;                     // [rope_dim + latent_dim, model_dim]
    RmsNorm::Weights latent_norm;   // [latent_dim]
    std::vector<Matrix> key_heads;  // [heads] of [latent_dim, nope_dim]: from a query to what latents are compared with
    std::vector<Matrix> value_heads;  // [heads] of [value_dim, latent_dim]
    Matrix output;                    // [model_dim, heads * value_dim]
  };

  void ListParameters(Weights& weights, size_t model_dim, ParameterList& list) const {
    const size_t inputs = query_rank > 0 ? query_rank : model_dim, nope = nope_dim, rotated = rope_dim;
    const size_t latent = latent_dim, of_head = nope + static_cast<size_t>(value_dim);
    if (query_rank > 0) {
      list.AddMatrix(weights.query_in, model_dim, {{"self_attn.q_a_proj.weight", inputs}});
      norm.ListParameters(weights.query_norm, "self_attn.q_a_layernorm", inputs, list);
    }
    list.AddMatrix(weights.query_nope, inputs, QueryParts(0, nope, 0), ByHeads(nope));
    list.AddMatrix(weights.query_rope, inputs, QueryParts(nope, rotated, rotated), ByHeads(rotated));
    constexpr const char* kKey = "self_attn.kv_a_proj.weight";
    list.AddMatrix(weights.key, model_dim,
                   {{.name = kKey, .rows = rotated, .head_dim = rotated, .interleaved = {latent, latent + rotated}},
                    {.name = kKey, .rows = latent, .interleaved = {0, latent + rotated}}});
    norm.ListParameters(weights.latent_norm, "self_attn.kv_a_layernorm", latent, list);
    list.AddBlocks(weights.key_heads, head_count(), nope,
                   {{.name = "self_attn.k_b_proj.weight", .rows = latent, .interleaved = {0, of_head}}}, head_count());
    list.AddBlocks(weights.value_heads, head_count(), latent,
                   {{.name = "self_attn.v_b_proj.weight", .rows = of_head - nope, .interleaved = {nope, of_head}}},
                   head_count());
    list.AddMatrix(weights.output, values_dim(), {{"self_attn.o_proj.weight", model_dim}},
                   {.input_units = head_count()});
  }

  // Heads. The latents, which all of them read, are every rank's.
  constexpr LatentAttention OfRank(const RankShare& share) const {
    LatentAttention part = *this;
    if (AreDealt(head_count(), share.ranks)) part.heads = static_cast<int>(Deal(head_count(), share).size());
    return part;
  }

  // What queries are made of; their parts without and with positions; queries as latents are compared with them; keys;
  // the latents and the values of all heads.
  std::array<size_t, 7> ScratchFloats(size_t rows, size_t /*model_dim*/) const {
    const size_t h = head_count(), nope = nope_dim, rotated = rope_dim, latent = latent_dim, rank = query_rank;
    return {rows * rank,      rows * h * nope,   rows * h * rotated, rows * h * key_dim(),
            rows * key_dim(), rows * h * latent, rows * values_dim()};
  }

  void Run(const Weights& weights, const LayerRun& run) const {
    const size_t rows = run.rows.size(), h = head_count();
    const Rows queries = {run.scratch[3], h * key_dim()}, keys = {run.scratch[4], key_dim()};
    const Rows mixed = {run.scratch[5], h * static_cast<size_t>(latent_dim)}, values = {run.scratch[6], values_dim()};
    MakeQueries(weights, run, queries);
    run.ops.MatMul(weights.key, run.input, rows, {}, keys);
    const Rows latents = {keys.data + rope_dim, keys.stride};
    norm.Run(weights.latent_norm, {run.ops, rows, static_cast<size_t>(latent_dim), latents, latents});
    Rotate(run, queries, h);
    Rotate(run, keys, 1);
    Store(run, keys);
    Attend(run, queries, mixed);
    run.ops.BlockMatMul(weights.value_heads, mixed, mixed.stride, rows, {}, values, static_cast<size_t>(value_dim));
    run.ops.MatMul(weights.output, values, rows, {}, run.output);
  }

 private:
  constexpr size_t head_count() const { return static_cast<size_t>(heads); }
  size_t key_dim() const { return static_cast<size_t>(rope_dim + latent_dim); }
  size_t values_dim() const { return head_count() * static_cast<size_t>(value_dim); }

  // How matrices that have so many rows for each head are dealt.
  Dealing ByHeads(size_t of_head) const { return {.sections = {{head_count() * of_head, head_count()}}}; }

  // The rows of all heads that begin at `begin` in their head. Files have those that RoPE turns behind the others.
  std::vector<Part> QueryParts(size_t begin, size_t count, size_t turned) const {
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

  // Writes the queries of all heads, as keys are: first what is to be turned, then what latents are compared with.
  void MakeQueries(const Weights& weights, const LayerRun& run, Rows queries) const {
    const size_t rows = run.rows.size(), h = head_count(), rank = query_rank, rotated = rope_dim;
    const Rows nope = {run.scratch[1], h * static_cast<size_t>(nope_dim)}, rope_part = {run.scratch[2], h * rotated};
    Rows from = run.input;
    if (query_rank > 0) {
      from = {run.scratch[0], rank};
      run.ops.MatMul(weights.query_in, run.input, rows, {}, from);
      norm.Run(weights.query_norm, {run.ops, rows, rank, from, from});
    }
    run.ops.MatMul(weights.query_nope, from, rows, {}, nope);
    run.ops.MatMul(weights.query_rope, from, rows, {}, rope_part);
    run.ops.Copy({rope_part.data, rotated}, rows * h, rotated, {queries.data, key_dim()});
    run.ops.BlockMatMul(weights.key_heads, nope, nope.stride, rows, {}, {queries.data + rotated, queries.stride},
                        key_dim());
  }

  void Rotate(const LayerRun& run, Rows rows, size_t count) const {
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

  void Store(const LayerRun& run, Rows keys) const {
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

  void Attend(const LayerRun& run, Rows queries, Rows mixed) const {
    const double scale = double{mscale} * double{mscale} / std::sqrt(static_cast<double>(rope_dim + nope_dim));
    run.ops.Attention(run.cache.kv_type,
                      {.queries = queries.data,
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
                       .unit_end = 0},
                      run.rows.visible_tokens);
  }
};

}  // namespace skald

#endif  // SKALD_LAYERS_KINDS_LATENT_ATTENTION_H_
