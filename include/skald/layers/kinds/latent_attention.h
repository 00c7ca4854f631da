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

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "skald/base/numbers/kernel_limits.h"
#include "skald/base/numbers/rope.h"
#include "skald/base/ranks/rank_share.h"
#include "skald/base/visit_unless.h"
#include "skald/cache/layout/layout.h"
#include "skald/layers/kinds/query_growth.h"
#include "skald/layers/norms/rms_norm.h"
#include "skald/layers/run/rows.h"
#include "skald/layers/spec/layer_spec.h"
#include "skald/weights/parameters.h"
#include "skald/weights/types/matrix.h"

namespace skald {

struct LayerRun;  // layers/run/layer_run.h

struct LatentAttention {
  static constexpr std::string_view kName = "latent attention";

  int heads = 0;        ///< of queries; keys and values have as many
  int query_rank = 0;   ///< of the vector that the queries of all heads are made of; 0: they are made of the row itself
  int latent_dim = 0;   ///< elements of the vector that keys and values are made of
  int rope_dim = 0;     ///< elements of each query and of the key of all heads that RoPE turns
  int nope_dim = 0;     ///< elements of each query and key head that carry no position
  int value_dim = 0;    ///< of each head
  RopeSpec rope = {};   ///< of rope_dim elements
  float mscale = 1.0f;  ///< scores are q . k / sqrt(rope_dim + nope_dim), times its square: YaRN's for long contexts
  RmsNorm norm = {};    ///< of what queries are made of, and of latents
  float query_growth = 0.0f;     ///< as Attention::query_growth
  int query_growth_context = 0;  ///< likewise
  bool rotates = true;           ///< false: RoPE turns nothing, and rope is unused

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
    VisitUnless(0.0f, "query_growth", self.query_growth, visit);
    VisitUnless(0, "query_growth_context", self.query_growth_context, visit);
    VisitUnless(true, "rotates", self.rotates, visit);
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
    if (!internal::IsGrowth(query_growth, query_growth_context)) {
      return "Queries that grow with their position need a positive factor and a positive number of positions.";
    }
    if (!rotates && rope != RopeSpec()) return "A RoPE that rotates no element would be ignored.";
    if (const char* why = norm.WhyImpossible()) return why;
    return skald::WhyImpossible(rope);
  }

  constexpr CacheGroup State() const {
    return {.kv_heads = 1,
            .head_dim = static_cast<uint32_t>(rope_dim + latent_dim),
            .rope = rope,
            .rotary_dim = rotates ? static_cast<uint32_t>(rope_dim) : 0,
            .latent_dim = static_cast<uint32_t>(latent_dim)};
  }

  /// With q the query_rank or, where that is 0, model_dim:
  struct Weights {
    Matrix query_in;                ///< [query_rank, model_dim], or empty
    RmsNorm::Weights query_norm;    ///< [query_rank], or empty
    Matrix query_nope, query_rope;  ///< [heads * nope_dim, q], [heads * rope_dim, q]
    Matrix key;                     ///< [rope_dim + latent_dim, model_dim]
    RmsNorm::Weights latent_norm;   ///< [latent_dim]
    std::vector<Matrix>
        key_heads;  ///< [heads] of [latent_dim, nope_dim]: from a query to what latents are compared with
    std::vector<Matrix> value_heads;  ///< [heads] of [value_dim, latent_dim]
    Matrix output;                    ///< [model_dim, heads * value_dim]
  };

  void ListParameters(Weights& weights, size_t model_dim, ParameterList& list) const;

  /// The latents, which all heads read, are every rank's.
  constexpr void VisitAxes(auto visit) const { visit(&LatentAttention::heads, Heads(1)); }

  template <class T>
  struct Pieces {
    T query_in;    ///< what queries are made of, [rows, query_rank]
    T query_nope;  ///< the parts of queries without positions, [rows, heads * nope_dim]
    T query_rope;  ///< those with positions, [rows, heads * rope_dim]
    T queries;     ///< as keys and latents are compared with them, [rows, heads * (rope_dim + latent_dim)]
    T keys;        ///< [rows, rope_dim + latent_dim]
    T latents;     ///< what attention makes of them, [rows, heads * latent_dim]
    T values;      ///< [rows, heads * value_dim]
  };
  Pieces<size_t> ScratchFloats(size_t rows, size_t /*model_dim*/) const;

  /// See HasPlaces.
  std::vector<LayerPlace> Places() const;

  void Run(const Weights& weights, const LayerRun& run) const;

 private:
  constexpr size_t head_count() const { return static_cast<size_t>(heads); }
  size_t key_dim() const { return static_cast<size_t>(rope_dim + latent_dim); }
  size_t values_dim() const { return Heads(static_cast<size_t>(value_dim)); }

  /// So many elements of each head.
  constexpr Axis Heads(size_t of_head) const { return {head_count() * of_head, head_count()}; }

  /// The rows of all heads that begin at `begin` in their head. In files, rows that RoPE rotates come after the others.
  std::vector<Part> QueryParts(size_t begin, size_t count, size_t turned) const;

  /// Writes the queries of all heads, as keys are: first what is to be turned, then what latents are compared with.
  void MakeQueries(const Weights& weights, const LayerRun& run, Rows queries) const;

  void Rotate(const LayerRun& run, Rows rows, size_t count) const;

  void Store(const LayerRun& run, Rows keys) const;

  void Attend(const LayerRun& run, Rows queries, Rows mixed) const;
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/layers/kinds/detail/latent_attention.h"
#endif

#endif  // SKALD_LAYERS_KINDS_LATENT_ATTENTION_H_
