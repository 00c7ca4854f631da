// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/families/config/shorten.h.

#ifndef SKALD_FAMILIES_CONFIG_DETAIL_SHORTEN_H_
#define SKALD_FAMILIES_CONFIG_DETAIL_SHORTEN_H_

#include "skald/families/config/shorten.h"

#include <algorithm>

#include "skald/base/inline.h"
#include "skald/base/numbers/rope.h"
#include "skald/families/config/layer.h"
#include "skald/layers/kinds/attention.h"
#include "skald/layers/kinds/gated_feed_forward.h"
#include "skald/layers/kinds/recurrent/mamba.h"
#include "skald/layers/kinds/recurrent/mamba2.h"
#include "skald/layers/kinds/recurrent/rg_lru.h"
#include "skald/layers/norms/rms_norm.h"
#include "skald/layers/spec/component.h"
#include "skald/layers/spec/layer_spec.h"

namespace skald {

namespace internal {

inline void TakeAttention(const Attention& layer, ShortForm& a) {
  const bool slides = layer.window > 0, rotates = layer.rotary_dim > 0;
  a.layers.push_back(slides    ? LayerKind::kSlidingAttention
                     : rotates ? LayerKind::kFullAttention
                               : LayerKind::kNopeAttention);
  a.heads = layer.heads;
  a.kv_heads = layer.kv_heads;
  a.head_dim = layer.head_dim;
  if (rotates || a.rotary_dim == 0) a.rotary_dim = rotates ? layer.rotary_dim : layer.head_dim;
  if (slides) {
    a.window = layer.window;
    a.sliding_rope = layer.rope;
  } else if (rotates) {
    a.rope = layer.rope;
  }
  a.query_pre_scale = layer.query_pre_scale;
  a.attention_softcap = layer.softcap;
  a.qkv_bias = layer.qkv_bias;
  a.attention_output_bias = layer.output_bias;
  a.qk_norm = layer.head_norm.has_value();
  a.qk_projection_norm = layer.projection_norm.has_value();
  a.norm_after_rope = layer.norm_after_rope;
  a.both_ways = layer.both_ways;
  a.interleaved_rope |= layer.interleaved_rope;
}

inline void TakeLayer(const LayerSpec& layer, ShortForm& a) {
  if (const auto* attention = layer.As<Attention>()) {
    TakeAttention(*attention, a);
  } else if (const auto* gated = layer.As<GatedFeedForward>()) {
    a.feed_forward_dim = gated->width;
    a.activation = gated->activation;
    a.feed_forward_bias = gated->bias;
  } else if (const auto* rg_lru = layer.As<RgLru>()) {
    a.rg_lru = *rg_lru;
    a.layers.push_back(LayerKind::kRgLru);
  } else if (const auto* mamba = layer.As<Mamba>()) {
    a.mamba = *mamba;
    a.layers.push_back(LayerKind::kMamba);
  } else if (const auto* mamba2 = layer.As<Mamba2>()) {
    a.mamba2 = *mamba2;
    a.layers.push_back(LayerKind::kMamba2);
  } else {
    a.feed_forward = layer;  // else there is no short form
  }
}

// Equal also in what changes no number: where checkpoints keep the parameters.
inline bool SameNames(const Block& a, const Block& b) {
  return a.number == b.number && a.norm_name == b.norm_name && a.post_norm_name == b.post_norm_name &&
         a.stream_norm_name == b.stream_norm_name;
}

}  // namespace internal

SKALD_INLINE std::optional<ShortForm> Shorten(const ModelSpec& spec) {
  ShortForm a = {.model_dim = spec.model_dim,
                 .vocab_size = spec.vocab_size,
                 .final_softcap = spec.final_softcap,
                 .embedding_multiplier = spec.embedding_multiplier,
                 .logits_scaling = spec.logits_scaling,
                 .tied_embeddings = spec.tied_embeddings,
                 .head_bias = spec.head_bias,
                 .normed_head = spec.normed_head,
                 .scaled_embeddings = spec.embedding_scale != EmbeddingScale::kNone,
                 .rounded_embedding_scale = spec.embedding_scale == EmbeddingScale::kRoundedSqrt};
  if (const auto* norm = spec.final_norm.As<RmsNorm>()) {
    a.norm_epsilon = norm->epsilon;
    a.unit_offset_norms = norm->unit_offset;
  } else {
    a.norm = spec.final_norm;
  }
  for (const Block& block : spec.blocks) {
    a.pre_norms = block.norm.has_value();
    a.post_norms = block.post_norm.has_value();
    a.residual_multiplier = block.residual_multiplier;
    const bool has_mixer = !block.layers.empty() && block.layers.front().As<Attention>() != nullptr;
    a.parallel_layers |= block.layers.size() > 1 && has_mixer;
    a.shared_feed_forward |= block.layers.size() > 1 && !has_mixer;
    for (const LayerSpec& layer : block.layers) internal::TakeLayer(layer, a);
  }
  // One RoPE for all is not a sliding one.
  if (std::ranges::count(a.layers, LayerKind::kFullAttention) == 0) a.rope = a.sliding_rope.value_or(a.rope);
  if (a.sliding_rope == a.rope) a.sliding_rope.reset();
  const ModelSpec expanded = Expand(a);
  const bool same = expanded == spec && std::ranges::equal(expanded.blocks, spec.blocks, internal::SameNames);
  return same ? std::optional(a) : std::nullopt;
}

}  // namespace skald

#endif  // SKALD_FAMILIES_CONFIG_DETAIL_SHORTEN_H_
