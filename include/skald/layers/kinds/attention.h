// SPDX-License-Identifier: Apache-2.0
//
// Attention (Vaswani et al. 2017, arXiv:1706.03762) with grouped key and value heads (arXiv:2305.13245), rotary
// position embedding or none (Kazemnejad et al. 2023, arXiv:2305.19466), over all earlier positions or a window of
// them. A sink is a learned score for each query head that takes part in its softmax and reads nothing (Xiao et al.
// 2023, arXiv:2309.17453; as gpt-oss has it).

#ifndef SKALD_LAYERS_KINDS_ATTENTION_H_
#define SKALD_LAYERS_KINDS_ATTENTION_H_

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "skald/base/numbers/rope.h"
#include "skald/base/visit_unless.h"
#include "skald/cache/form/layout.h"
#include "skald/kernels/args.h"
#include "skald/layers/run/layer_run.h"
#include "skald/layers/spec/norm.h"
#include "skald/weights/parameters.h"

namespace skald {

struct Attention {
  static constexpr std::string_view kName = "attention";

  int heads = 0;     // of queries
  int kv_heads = 0;  // each serves heads / kv_heads query heads
  int head_dim = 0;
  int rotary_dim = 0;  // elements of each head that RoPE turns, the first ones; the others carry no position
  int window = 0;      // positions that a token sees, its own included; 0: all before it
  RopeSpec rope = {};
  double query_pre_scale = 0.0;  // scores are q . k / sqrt(this)
  float softcap = 0.0f;          // scores s become softcap * tanh(s / softcap); 0: they stay as they are
  bool qkv_bias = false, output_bias = false;
  std::optional<NormSpec> head_norm = {};        // of each query and key head before RoPE; or
  std::optional<NormSpec> projection_norm = {};  // of all query heads of a row as one, and of all its key heads
  bool sinks = false;                            // one for each query head

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
    for (const auto* factors : {&rope.factors, &rope.short_factors}) {
      if (factors->empty() || factors->size() == static_cast<size_t>(rotary_dim) / 2) continue;
      return "A RoPE's factors must be half as many as the elements that it rotates: one for each pair.";
    }
    if (head_dim > static_cast<int>(kMaxHeadDim)) return "kHeadDim is larger than the buffers of the attention kernel.";
    if (window < 0) return "kWindow must not be negative.";
    if (!(softcap >= 0.0f)) return "Softcaps must not be negative.";
    if (!(query_pre_scale > 0.0)) return "kQueryPreScale must be positive: scores are divided by its square root.";
    if (head_norm && projection_norm) return "kQKNorm and kQKProjectionNorm exclude each other.";
    for (const auto* norm : {&head_norm, &projection_norm}) {
      if (!*norm) continue;
      if (const char* why = (*norm)->WhyImpossible()) return why;
    }
    return skald::WhyImpossible(rope);
  }

  constexpr CacheGroup State() const {
    return {.kv_heads = static_cast<uint32_t>(kv_heads),
            .head_dim = static_cast<uint32_t>(head_dim),
            .window = static_cast<uint32_t>(window),
            .rope = rope,
            .rotary_dim = static_cast<uint32_t>(rotary_dim)};
  }

  // With q = heads * head_dim and kv = kv_heads * head_dim:
  struct Weights {
    Matrix qkv;                        // [q + 2 * kv, model_dim]: query rows, then key rows, then value rows
    std::vector<float> qkv_bias;       // [q + 2 * kv] in the same order; empty when there is none
    NormWeights query_norm, key_norm;  // [head_dim], or [q] and [kv] of whole projections; empty when there are none
    Matrix output;                     // [model_dim, q]
    std::vector<float> output_bias;    // [model_dim]; empty when there is none
    std::vector<float> sinks;          // [heads]; empty when there are none
  };

  void ListParameters(Weights& weights, size_t model_dim, ParameterList& list) const {
    const size_t q = query_dim(), kv = kv_dim(), head = static_cast<size_t>(head_dim);
    list.AddMatrix(
        weights.qkv, model_dim,
        {{"self_attn.q_proj.weight", q, head}, {"self_attn.k_proj.weight", kv, head}, {"self_attn.v_proj.weight", kv}});
    if (qkv_bias) {
      list.AddVector(weights.qkv_bias,
                     {{"self_attn.q_proj.bias", q}, {"self_attn.k_proj.bias", kv}, {"self_attn.v_proj.bias", kv}});
    }
    if (const auto& norm = head_norm ? head_norm : projection_norm) {
      norm->ListParameters(weights.query_norm, "self_attn.q_norm", head_norm ? head : q, list);
      norm->ListParameters(weights.key_norm, "self_attn.k_norm", head_norm ? head : kv, list);
    }
    list.AddMatrix(weights.output, q, {{"self_attn.o_proj.weight", model_dim}});
    if (output_bias) list.AddVector(weights.output_bias, {{"self_attn.o_proj.bias", model_dim}});
    if (sinks) list.AddVector(weights.sinks, {{"self_attn.sinks", static_cast<size_t>(heads)}}, {.spread = 1.0f});
  }

  // Queries, keys and values; what attention makes of them.
  std::array<size_t, 2> ScratchFloats(size_t rows, size_t /*model_dim*/) const {
    return {rows * (query_dim() + 2 * kv_dim()), rows * query_dim()};
  }

  void Run(const Weights& weights, const LayerRun& run) const {
    const size_t rows = run.rows.size(), q = query_dim(), kv = kv_dim(), stride = q + 2 * kv;
    float* const qkv = run.scratch[0];
    float* const mixed = run.scratch[1];
    run.ops.MatMul(weights.qkv, run.input, rows, weights.qkv_bias, {qkv, stride});
    if (head_norm) NormalizeHeads(weights, run, {qkv, stride});
    if (projection_norm) {
      projection_norm->Run(weights.query_norm, run.ops, {qkv, stride}, rows, {qkv, stride});
      projection_norm->Run(weights.key_norm, run.ops, {qkv + q, stride}, rows, {qkv + q, stride});
    }
    if (rotary_dim > 0) Rotate(run, qkv, stride);
    run.ops.StoreKV(run.cache.kv_type,
                    {.keys = qkv + q,
                     .values = qkv + q + kv,
                     .stride = stride,
                     .positions = run.rows.positions.data(),
                     .sequences = run.rows.sequences.data(),
                     .tables = run.cache.tables,
                     .geometry = run.cache.geometry,
                     .row_begin = 0,
                     .row_end = 0},
                    rows);
    Attend(weights, run, qkv, stride, mixed);
    run.ops.MatMul(weights.output, {mixed, q}, rows, weights.output_bias, run.output);
  }

 private:
  size_t query_dim() const { return static_cast<size_t>(heads) * static_cast<size_t>(head_dim); }
  size_t kv_dim() const { return static_cast<size_t>(kv_heads) * static_cast<size_t>(head_dim); }

  void NormalizeHeads(const Weights& weights, const LayerRun& run, Rows qkv) const {
    for (int head = 0; head < heads + kv_heads; ++head) {
      const Rows one{qkv.data + static_cast<size_t>(head) * static_cast<size_t>(head_dim), qkv.stride};
      head_norm->Run(head < heads ? weights.query_norm : weights.key_norm, run.ops, one, run.rows.size(), one);
    }
  }

  void Rotate(const LayerRun& run, float* qkv, size_t stride) const {
    run.ops.Rope({.rows = qkv,
                  .row_stride = stride,
                  .cos = run.cache.cos,
                  .sin = run.cache.sin,
                  .heads = static_cast<size_t>(heads + kv_heads),  // queries and keys lie side by side
                  .head_dim = static_cast<size_t>(head_dim),
                  .rotary_dim = static_cast<size_t>(rotary_dim),
                  .row_begin = 0,
                  .row_end = 0},
                 run.rows.size());
  }

  void Attend(const Weights& weights, const LayerRun& run, const float* queries, size_t stride, float* mixed) const {
    run.ops.Attention(run.cache.kv_type,
                      {.queries = queries,
                       .query_stride = stride,
                       .output = mixed,
                       .output_stride = query_dim(),
                       .positions = run.rows.positions.data(),
                       .sequences = run.rows.sequences.data(),
                       .tables = run.cache.tables,
                       .geometry = run.cache.geometry,
                       .rows = run.rows.size(),
                       .heads = static_cast<size_t>(heads),
                       .window = static_cast<size_t>(window),
                       .scale = static_cast<float>(1.0 / std::sqrt(query_pre_scale)),
                       .softcap = softcap,
                       .sinks = sinks ? weights.sinks.data() : nullptr,
                       .unit_begin = 0,
                       .unit_end = 0},
                      run.rows.visible_tokens);
  }
};

}  // namespace skald

#endif  // SKALD_LAYERS_KINDS_ATTENTION_H_
