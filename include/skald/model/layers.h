// SPDX-License-Identifier: Apache-2.0
//
// The layers of a decoder as thin templates over a Config: each is a fixed order of Operations, and features that a
// Config does not have are not there. Shapes: rows = tokens of the pass; see Activations.

#ifndef SKALD_MODEL_LAYERS_H_
#define SKALD_MODEL_LAYERS_H_

#include <cstddef>
#include <vector>

#include "skald/base/numeric.h"
#include "skald/cache/layout.h"
#include "skald/configs/model_config.h"
#include "skald/configs/recurrence.h"
#include "skald/kernels/args.h"
#include "skald/model/operations.h"
#include "skald/model/pass_rows.h"
#include "skald/model/recurrent_layers.h"
#include "skald/model/workspace.h"
#include "skald/weights/model_weights.h"

namespace skald {

// What the attention of one layer needs of the cache.
struct LayerCache {
  DType kv_type;
  KVGeometry geometry;
  const KVBlocks* tables;  // [sequences]
  const float* cos;        // [rows, rotary_dim / 2]
  const float* sin;
};

// RMSNorm of each query and key head before RoPE (Qwen 3, Gemma 3).
template <ModelConfig C>
void NormalizeHeads(const AttentionWeights& weights, size_t rows, Operations& ops, Rows qkv) {
  for (size_t head = 0; head < size_t{HeadsOf<C>()} + KVHeadsOf<C>(); ++head) {
    const Rows one_head{qkv.data + head * HeadDimOf<C>(), qkv.stride};
    ops.Norm(one_head, rows, head < HeadsOf<C>() ? weights.query_norm : weights.key_norm, C::kNormEpsilon, one_head);
  }
}

// block_output = output projection of attention over the cache, which gains this pass's keys and values first.
template <ModelConfig C>
void AttentionLayer(LayerKind kind, const AttentionWeights& weights, const LayerCache& cache, const PassRows& rows,
                    Operations& ops, Activations& act) {
  constexpr size_t kQueryDim = size_t{HeadsOf<C>()} * HeadDimOf<C>();
  constexpr size_t kKVDim = size_t{KVHeadsOf<C>()} * HeadDimOf<C>();
  constexpr size_t kStride = kQueryDim + 2 * kKVDim;
  float* const qkv = act.projected.data();

  ops.MatMul(weights.qkv, {act.normed.data(), C::kModelDim}, rows.size(), weights.qkv_bias, {qkv, kStride});
  if constexpr (HasQKNorm<C>()) NormalizeHeads<C>(weights, rows.size(), ops, {qkv, kStride});
  ops.Rope({.rows = qkv,
            .row_stride = kStride,
            .cos = cache.cos,
            .sin = cache.sin,
            .heads = size_t{HeadsOf<C>()} + KVHeadsOf<C>(),  // queries and keys lie side by side
            .head_dim = HeadDimOf<C>(),
            .rotary_dim = RotaryDimOf<C>(),
            .row_begin = 0,
            .row_end = 0},
           rows.size());
  ops.StoreKV(cache.kv_type,
              {.keys = qkv + kQueryDim,
               .values = qkv + kQueryDim + kKVDim,
               .stride = kStride,
               .positions = rows.positions.data(),
               .sequences = rows.sequences.data(),
               .tables = cache.tables,
               .geometry = cache.geometry,
               .row_begin = 0,
               .row_end = 0},
              rows.size());
  ops.template Attention<(AttentionSoftcapOf<C>() > 0.0f)>(
      cache.kv_type,
      {.queries = qkv,
       .query_stride = kStride,
       .output = act.mixed.data(),
       .output_stride = kQueryDim,
       .positions = rows.positions.data(),
       .sequences = rows.sequences.data(),
       .tables = cache.tables,
       .geometry = cache.geometry,
       .rows = rows.size(),
       .heads = HeadsOf<C>(),
       .window = kind == LayerKind::kSlidingAttention ? size_t{WindowOf<C>()} : 0,
       .scale = QueryScaleOf<C>(),
       .softcap = AttentionSoftcapOf<C>(),
       .unit_begin = 0,
       .unit_end = 0},
      rows.visible_tokens);
  ops.MatMul(weights.output, {act.mixed.data(), kQueryDim}, rows.size(), weights.output_bias,
             {act.block_output.data(), C::kModelDim});
}

constexpr GateFunction GateOf(Activation activation) {
  switch (activation) {
    case Activation::kSilu: return GateFunction::kSilu;
    case Activation::kGeluTanh: return GateFunction::kGeluTanh;
    case Activation::kGeluErf: break;
  }
  return GateFunction::kGeluErf;
}

// block_output = down(activation(gate(normed)) * up(normed)).
template <ModelConfig C>
void FeedForwardLayer(const FeedForwardWeights& weights, size_t rows, Operations& ops, Activations& act) {
  ops.FeedForward(GateOf(C::kActivation), weights.gate_up, weights.gate_up_bias, weights.down, weights.down_bias,
                  {act.normed.data(), C::kModelDim}, rows, act.gate_up.data(), act.gated.data(),
                  {act.block_output.data(), C::kModelDim});
}

// hidden += post_norm(block_output), or block_output itself where the Config has no post-norms.
template <ModelConfig C>
void AddToResidual(const std::vector<float>& post_norm, size_t rows, Operations& ops, Activations& act) {
  const Rows block_output{act.block_output.data(), C::kModelDim};
  if constexpr (HasPostNorms<C>()) ops.Norm(block_output, rows, post_norm, C::kNormEpsilon, block_output);
  ops.Add(act.hidden.data(), act.block_output.data(), rows * C::kModelDim);
}

// hidden += the feed-forward block's output, where the Config has such blocks.
template <ModelConfig C>
void AddFeedForward(const LayerWeights& weights, const PassRows& rows, Operations& ops, Activations& act) {
  if constexpr (FeedForwardDimOf<C>() > 0) {
    ops.Norm({act.hidden.data(), C::kModelDim}, rows.size(), weights.feed_forward_norm, C::kNormEpsilon,
             {act.normed.data(), C::kModelDim});
    FeedForwardLayer<C>(weights.feed_forward, rows.size(), ops, act);
    AddToResidual<C>(weights.post_feed_forward_norm, rows.size(), ops, act);
  }
}

// One layer of the decoder: mixer, then feed-forward, each read from and added to the residual stream. `mix` computes
// block_output from normed.
template <ModelConfig C, class Mixer>
void DecoderLayer(const LayerWeights& weights, const PassRows& rows, Operations& ops, Activations& act, Mixer mix) {
  ops.Norm({act.hidden.data(), C::kModelDim}, rows.size(), weights.input_norm, C::kNormEpsilon,
           {act.normed.data(), C::kModelDim});
  mix();
  AddToResidual<C>(weights.post_attention_norm, rows.size(), ops, act);
  AddFeedForward<C>(weights, rows, ops, act);
}

}  // namespace skald

#endif  // SKALD_MODEL_LAYERS_H_
