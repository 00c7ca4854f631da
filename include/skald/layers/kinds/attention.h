// SPDX-License-Identifier: Apache-2.0
//
// Attention (Vaswani et al. 2017, arXiv:1706.03762) with grouped key and value heads (arXiv:2305.13245), rotary
// position embedding or none (Kazemnejad et al. 2023, arXiv:2305.19466), over all earlier positions or a window of
// them, or, in encoders, over later ones too. Layers may share the keys and values of an earlier one (Brandon et al.
// 2024, arXiv:2405.12981). A sink is a learned score for each query head that takes part in its softmax and reads
// nothing (Xiao et al. 2023, arXiv:2309.17453; as gpt-oss has it).

#ifndef SKALD_LAYERS_KINDS_ATTENTION_H_
#define SKALD_LAYERS_KINDS_ATTENTION_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "skald/base/numbers/kernel_limits.h"
#include "skald/base/numbers/rope.h"
#include "skald/base/ranks/rank_share.h"
#include "skald/base/visit_unless.h"
#include "skald/cache/layout/layout.h"
#include "skald/layers/kinds/query_growth.h"
#include "skald/layers/norms/layer_norm.h"
#include "skald/layers/norms/rms_norm.h"
#include "skald/layers/run/rows.h"
#include "skald/layers/spec/component.h"
#include "skald/layers/spec/layer_spec.h"
#include "skald/layers/spec/norm.h"
#include "skald/weights/parameters.h"
#include "skald/weights/types/matrix.h"

namespace skald {

struct LayerRun;  // layers/run/layer_run.h

namespace internal {

/// Whether a norm is one of ours and has no parameters, so that the order of elements is nothing to it.
constexpr bool HasNoWeight(const NormSpec& norm) {
  const auto* const rms = norm.As<RmsNorm>();
  const auto* const layer = norm.As<LayerNorm>();
  return (rms != nullptr && !rms->weight) || (layer != nullptr && !layer->weight);
}

}  // namespace internal

struct Attention {
  static constexpr std::string_view kName = "attention";

  int heads = 0;       ///< of queries
  int kv_heads = 0;    ///< each serves heads / kv_heads query heads
  int head_dim = 0;    ///< elements of a head; even
  int rotary_dim = 0;  ///< elements of each head that RoPE turns, the first ones; the others carry no position
  int window = 0;      ///< positions that a token sees, its own included, on each side if both_ways; 0: all
  RopeSpec rope = {};  ///< unused where rotary_dim is 0
  double query_pre_scale = 0.0;  ///< scores are q . k / sqrt(this)
  float softcap = 0.0f;          ///< scores s become softcap * tanh(s / softcap); 0: they stay as they are
  /// Of the projections to queries, keys and values; of the last one.
  bool qkv_bias = false, output_bias = false;
  std::optional<NormSpec> head_norm = {};        ///< of each query and key head before RoPE; or
  std::optional<NormSpec> projection_norm = {};  ///< of all query heads of a row as one, and of all its key heads
  bool sinks = false;                            ///< one for each query head
  std::optional<NormSpec> value_norm = {};       ///< of each value head
  bool keys_as_values = false;                   ///< values are keys as they are before their norm and RoPE
  float output_multiplier = 1.0f;                ///< of all that it gives
  bool output_gate = false;  ///< what each head gives is multiplied by a sigmoid of a further projection
  int shared_layer = -1;     ///< whose keys and values this one reads, which has none itself; -1: its own
  /// Queries at position p are multiplied by 1 + query_growth * ln(1 + floor(p / query_growth_context))
  /// (query_growth.h). Both 0: they are not.
  float query_growth = 0.0f;
  int query_growth_context = 0;  ///< see query_growth
  int query_growth_first = 0;    ///< added to p there
  /// RoPE turns neighbours in each head, not elements half of rotary_dim apart. Loading moves neighbours apart, so it
  /// computes the same, and what hooks see of queries and keys is in that order.
  bool interleaved_rope = false;
  bool norm_after_rope = false;  ///< head_norm is after RoPE, not before it
  bool both_ways = false;  ///< a token sees later positions too; keys and values last for one pass of whole sequences
  bool head_factors = false;  ///< what head_norm gives is multiplied by a factor of each element of each head
  std::optional<NormSpec> output_norm = {};  ///< of what all heads give, as one row, before the last projection
  bool chunked = false;  ///< a token sees those from the last multiple of `window` on, instead of `window` tokens

  friend constexpr bool operator==(const Attention&, const Attention&) = default;

  template <class Self, class Visitor>
  static constexpr void VisitFields(Self& self, Visitor&& visit) {
    visit("heads", self.heads);
    visit("kv_heads", self.kv_heads);
    visit("head_dim", self.head_dim);
    visit("rotary_dim", self.rotary_dim);
    visit("window", self.window);
    visit("rope", self.rope);
    visit("query_pre_scale", self.query_pre_scale);
    visit("softcap", self.softcap);
    visit("qkv_bias", self.qkv_bias);
    visit("output_bias", self.output_bias);
    visit("head_norm", self.head_norm);
    VisitUnless(std::nullopt, "projection_norm", self.projection_norm, visit);
    VisitUnless(false, "sinks", self.sinks, visit);
    VisitUnless(std::nullopt, "value_norm", self.value_norm, visit);
    VisitUnless(false, "keys_as_values", self.keys_as_values, visit);
    VisitUnless(1.0f, "output_multiplier", self.output_multiplier, visit);
    VisitUnless(false, "output_gate", self.output_gate, visit);
    VisitUnless(-1, "shared_layer", self.shared_layer, visit);
    VisitUnless(0.0f, "query_growth", self.query_growth, visit);
    VisitUnless(0, "query_growth_context", self.query_growth_context, visit);
    VisitUnless(0, "query_growth_first", self.query_growth_first, visit);
    VisitUnless(false, "interleaved_rope", self.interleaved_rope, visit);
    VisitUnless(false, "norm_after_rope", self.norm_after_rope, visit);
    VisitUnless(false, "both_ways", self.both_ways, visit);
    VisitUnless(false, "head_factors", self.head_factors, visit);
    VisitUnless(std::nullopt, "output_norm", self.output_norm, visit);
    VisitUnless(false, "chunked", self.chunked, visit);
  }

  constexpr const char* WhyImpossible() const {
    if (heads <= 0 || kv_heads <= 0 || head_dim <= 0) return "kHeads, kKVHeads and kHeadDim must be positive.";
    if (heads % kv_heads != 0) {
      return "kHeads must be a multiple of kKVHeads: each key/value head serves the same number of query heads.";
    }
    if (head_dim % 2 != 0) return "kHeadDim must be even: RoPE rotates pairs of elements.";
    if (rotary_dim % 2 != 0 || rotary_dim < 0 || rotary_dim > head_dim) {
      return "kRotaryDim must be even, not negative and at most kHeadDim: RoPE rotates pairs of elements of a head.";
    }
    if (rotary_dim == 0 && rope != RopeSpec()) return "A RoPE that rotates no element would be ignored.";
    if (rope.turning_pairs > rotary_dim / 2) return "turning_pairs must be at most half of kRotaryDim.";
    for (const auto* factors : {&rope.factors, &rope.short_factors}) {
      if (factors->empty() || factors->size() == static_cast<size_t>(rotary_dim) / 2) continue;
      return "A RoPE's factors must be half as many as the elements that it rotates: one for each pair.";
    }
    if (head_dim > static_cast<int>(kMaxHeadDim)) return "kHeadDim is larger than the buffers of the attention kernel.";
    if (window < 0) return "kWindow must not be negative.";
    if (chunked && window == 0) return "Chunks of positions need a size: kWindow.";
    if (!(softcap >= 0.0f)) return "Softcaps must not be negative.";
    if (!(query_pre_scale > 0.0)) return "kQueryPreScale must be positive: scores are divided by its square root.";
    if (shares() && (qkv_bias || projection_norm || value_norm || keys_as_values)) {
      return "Attention that reads the keys and values of another layer has no parameters for its own.";
    }
    if (!(output_multiplier > 0.0f)) return "The multiplier of what attention gives must be positive.";
    if (output_gate && (shares() || qkv_bias || keys_as_values)) {
      return "Attention with an output gate has queries, keys and values of its own, without biases.";
    }
    if (!internal::IsGrowth(query_growth, query_growth_context)) {
      return "Queries that grow with their position need a positive factor and a positive number of positions.";
    }
    if (query_growth_first < 0) return "Positions by which queries grow must not be negative.";
    if (keys_as_values && qkv_bias) return "Keys that are values too must have no bias.";
    if (head_norm && projection_norm) return "kQKNorm and kQKProjectionNorm exclude each other.";
    if (both_ways && (shares() || sinks || query_growth > 0.0f || chunked)) {
      return "Attention that sees both ways has keys and values of its own, no sinks and no chunks.";
    }
    if (norm_after_rope && !head_norm) return "Without norms of heads there is none after RoPE.";
    const bool is_weighted = head_norm && !internal::HasNoWeight(*head_norm);
    if (interleaved_rope && (rotary_dim == 0 || output_gate || is_weighted || projection_norm)) {
      return "RoPE of neighbours needs elements that it turns, and queries and keys without weights of norms or gates.";
    }
    if (head_factors && (!head_norm || is_weighted || norm_after_rope || shares())) {
      return "Factors of heads need norms without weights before RoPE, and keys of the layer's own.";
    }
    for (const auto* norm : {&head_norm, &projection_norm, &value_norm, &output_norm}) {
      if (!*norm) continue;
      if (const char* why = (*norm)->WhyImpossible()) return why;
    }
    return skald::WhyImpossible(rope);
  }

  constexpr std::optional<CacheGroup> State() const {
    if (shares() || both_ways) return std::nullopt;
    return KeysAndValues();
  }
  /// Keys and values that are needed as long as a pass alone: of attention that looks both ways.
  constexpr std::optional<CacheGroup> StateOfPass() const {
    if (!both_ways) return std::nullopt;
    return KeysAndValues();
  }
  constexpr std::optional<SharedState> StateOfOther() const {
    if (!shares()) return std::nullopt;
    return SharedState{static_cast<uint32_t>(shared_layer), KeysAndValues()};
  }

  /// With q = heads * head_dim and kv = kv_heads * head_dim:
  struct Weights {
    Matrix qkv;  ///< [q + 2 * kv, model_dim]: query rows, then those of keys and values, if it has projections for
                 /// them; after them [q] rows of gates, if it has these
    std::vector<float> qkv_bias;       ///< [q + 2 * kv] in the same order; empty when there is none
    NormWeights query_norm, key_norm;  ///< [head_dim], or [q] and [kv] of whole projections; empty when there are none
    NormWeights value_norm;            ///< [head_dim]; empty when there is none
    std::vector<float> query_factors, key_factors;  ///< [q] and [kv]; empty when there are none
    NormWeights output_norm;                        ///< [q]; empty when there is none
    Matrix output;                                  ///< [model_dim, q]
    std::vector<float> output_bias;                 ///< [model_dim]; empty when there is none
    std::vector<float> sinks;                       ///< [heads]; empty when there are none
  };

  void ListParameters(Weights& weights, size_t model_dim, ParameterList& list) const;

  constexpr void VisitAxes(auto visit) const {
    visit(&Attention::heads, QueryHeads(1));
    visit(&Attention::kv_heads, KVHeads(1));
  }

  template <class T>
  struct Pieces {
    T projected;  ///< queries, keys, values and gates, [rows, stride()]
    T mixed;      ///< what attention makes of them, [rows, heads * head_dim]
  };
  Pieces<size_t> ScratchFloats(size_t rows, size_t /*model_dim*/) const;

  /// See HasPlaces.
  std::vector<LayerPlace> Places() const;

  void Run(const Weights& weights, const LayerRun& run) const;

  /// The query heads that a rank has.
  constexpr PartitionedRange HeadsOf(const RankShare& share) const { return Partition(QueryHeads(1), share); }

 private:
  constexpr bool shares() const { return shared_layer >= 0; }

  /// So many elements of each query head, and of each kv head: a rank has kv heads, each with the query heads that it
  /// serves. Ranks that share a kv head have some of its query heads each, but where a norm is over all keys, which
  /// should be there once.
  constexpr size_t sharers() const { return projection_norm ? 1 : static_cast<size_t>(heads / kv_heads); }
  constexpr Axis QueryHeads(size_t of_head) const {
    return {static_cast<size_t>(heads) * of_head, static_cast<size_t>(kv_heads), sharers()};
  }
  constexpr Axis KVHeads(size_t of_head) const {
    return {static_cast<size_t>(kv_heads) * of_head, static_cast<size_t>(kv_heads), sharers(), /*copied=*/true};
  }

  constexpr CacheGroup KeysAndValues() const {
    return {.kv_heads = static_cast<uint32_t>(kv_heads),
            .head_dim = static_cast<uint32_t>(head_dim),
            .window = static_cast<uint32_t>(window),
            .rope = rope,
            .rotary_dim = static_cast<uint32_t>(rotary_dim)};
  }

  /// Of rows of queries and, but where another layer has them, keys and values; and of gates.
  size_t stride() const { return query_dim() * (output_gate ? 2 : 1) + (shares() ? 0 : 2 * kv_dim()); }
  size_t query_dim() const { return static_cast<size_t>(heads) * static_cast<size_t>(head_dim); }
  size_t kv_dim() const { return static_cast<size_t>(kv_heads) * static_cast<size_t>(head_dim); }

  /// In files a head's gates come after its queries.
  void AddGatedParts(size_t begin, size_t turned, std::vector<Part>& parts) const;

  void NormalizeQueriesAndKeys(const Weights& weights, const LayerRun& run, Rows queries, Rows keys) const;

  void NormalizeHeads(const NormSpec& norm, const NormWeights& weights, int count, const LayerRun& run,
                      Rows rows) const;

  void MultiplyHeads(const Weights& weights, const LayerRun& run, Rows queries, Rows keys) const;

  /// Adds the factors of all heads, which files have as one tensor or as one for each head.
  void ListFactors(std::vector<float>& factors, const char* name, int count, Axis axis, ParameterList& list) const;

  /// The norm is over all heads, of which ranks have some each.
  void NormalizeProjections(const Weights& weights, const LayerRun& run, Rows queries, Rows keys) const;

  void Rotate(const LayerRun& run, Rows qkv) const;

  void Store(const LayerRun& run, Rows keys, Rows values) const;

  /// Shows queries and keys, turned or not.
  void WatchQueriesAndKeys(const LayerRun& run, Rows queries, Rows keys, bool turned) const;

  void Attend(const Weights& weights, const LayerRun& run, Rows queries, float* mixed) const;
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/layers/kinds/detail/attention.h"
#endif

#endif  // SKALD_LAYERS_KINDS_ATTENTION_H_
