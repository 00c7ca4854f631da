// SPDX-License-Identifier: Apache-2.0
//
// ShortForm: a model told by the sizes that its layers share and by which kind each layer is. Configs and the metadata
// of checkpoints say so; Expand makes the ModelSpec of it that all other code works with, and leaves out what no layer
// uses.

#ifndef SKALD_FAMILIES_CONFIG_SHORT_FORM_H_
#define SKALD_FAMILIES_CONFIG_SHORT_FORM_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "skald/base/numbers/activation.h"
#include "skald/base/numbers/rope.h"
#include "skald/families/config/described_model.h"
#include "skald/families/config/layer.h"
#include "skald/layers/kinds/attention.h"
#include "skald/layers/kinds/gated_feed_forward.h"
#include "skald/layers/kinds/recurrent/mamba.h"
#include "skald/layers/kinds/recurrent/mamba2.h"
#include "skald/layers/kinds/recurrent/rg_lru.h"
#include "skald/layers/model_spec.h"
#include "skald/layers/norms/rms_norm.h"
#include "skald/layers/spec/layer_spec.h"
#include "skald/layers/spec/norm.h"

namespace skald {

/// Members mean what the members of a Config of the same name do (kModelDim is model_dim; model_config.h says which a
/// Config gives). So do members of that name in the sizes of a family. A plain value.
struct ShortForm {
  std::string_view model_type = {};  ///< the family's name in config.json, a constant; no fact about the numbers
  int model_dim = 0;                 ///< width of the residual stream
  int feed_forward_dim = 0;          ///< 0: layers are mixers alone, as in Mamba
  std::optional<LayerSpec> feed_forward = {};  ///< the feed-forward layers, of another type than GatedFeedForward
  std::vector<uint32_t> dense_layers = {};     ///< that are GatedFeedForward all the same
  bool shared_feed_forward = false;            ///< GatedFeedForward beside the others, in every layer
  int vocab_size = 0;                          ///< rows of the embedding
  int heads = 0;                               ///< of queries
  int kv_heads = 0;                            ///< of keys and of values; each serves heads / kv_heads query heads
  int head_dim = 0;                            ///< elements of a head
  int rotary_dim = 0;                          ///< elements of a head that RoPE turns
  std::vector<LayerKind> layers = {};          ///< the mixer of each layer
  RgLru rg_lru = {};                           ///< of the layers of that kind
  Mamba mamba = {};                            ///< likewise
  Mamba2 mamba2 = {};                          ///< likewise
  int window = 0;                              ///< positions that sliding layers see, their own included
  RopeSpec rope = {};                          ///< of all attention layers,
  std::optional<RopeSpec> sliding_rope = {};   ///< unless the sliding ones have their own
  float norm_epsilon = 0.0f;                   ///< of every RMSNorm
  std::optional<NormSpec> norm = {};           ///< what all norms are instead
  Activation activation = Activation::kSilu;   ///< of the gates of feed-forward layers
  double query_pre_scale = 0.0;                ///< scores are q . k / sqrt(this)
  float attention_softcap = 0.0f;              ///< 0: none
  float final_softcap = 0.0f;                  ///< 0: none
  float embedding_multiplier = 1.0f;           ///< of embeddings
  float residual_multiplier = 1.0f;            ///< of what a layer adds to the residual stream
  float logits_scaling = 1.0f;                 ///< logits are divided by it
  bool tied_embeddings = false;                ///< the output head is the embedding
  bool qkv_bias = false;                       ///< of the projections to queries, keys and values
  bool attention_output_bias = false;          ///< of attention's last projection
  bool feed_forward_bias = false;              ///< of all projections of feed-forward layers
  bool qk_norm = false;                        ///< a norm of each query and key head, before RoPE
  bool qk_projection_norm = false;             ///< a norm of all query heads as one, and of all key heads
  bool norm_after_rope = false;                ///< qk_norm is after RoPE
  bool both_ways = false;                      ///< attention sees later positions too, as in encoders
  bool interleaved_rope = false;               ///< RoPE turns neighbours in each head
  bool head_bias = false;                      ///< of the output head
  bool normed_head = false;                    ///< columns of the output head are divided by their norms
  bool parallel_layers = false;                ///< a mixer and its feed-forward layer side by side, after one norm
  bool pre_norms = true;                       ///< a norm before each mixer and each feed-forward layer
  bool post_norms = false;                     ///< a norm after each, before its output is added
  bool unit_offset_norms = false;              ///< norms multiply by one plus their parameter
  bool scaled_embeddings = false;              ///< embeddings are multiplied by sqrt(model_dim)
  bool rounded_embedding_scale = false;        ///< which is rounded to bfloat16 first
};

namespace internal {

constexpr RmsNorm RmsNormOf(const ShortForm& a) {
  return {.epsilon = a.norm_epsilon, .unit_offset = a.unit_offset_norms};
}
/// No ?: between specs here and below: g++ 12 mistakes their lifetimes while compiling.
constexpr NormSpec NormOf(const ShortForm& a) {
  if (a.norm) return *a.norm;
  return RmsNormOf(a);
}

constexpr GatedFeedForward GatedFeedForwardOf(const ShortForm& a) {
  return {.width = a.feed_forward_dim, .activation = a.activation, .bias = a.feed_forward_bias};
}

constexpr std::optional<LayerSpec> FeedForwardLayerOf(const ShortForm& a, uint32_t layer) {
  const bool is_dense = std::ranges::find(a.dense_layers, layer) != a.dense_layers.end();
  if ((a.feed_forward && !is_dense) || a.feed_forward_dim == 0) return a.feed_forward;
  return GatedFeedForwardOf(a);
}

/// Values that a RoPE without scaling, or with another one, ignores are treated as absent.
constexpr RopeSpec WithoutUnusedFields(RopeSpec rope) {
  const RopeSpec standard;
  if (rope.scaling == RopeScaling::kLlama3 || rope.scaling == RopeScaling::kYarn) return rope;
  rope.low_frequency_factor = standard.low_frequency_factor;
  rope.high_frequency_factor = standard.high_frequency_factor;
  if (rope.short_factors.empty()) rope.original_context = standard.original_context;
  return rope;
}

constexpr Attention AttentionOf(const ShortForm& a, LayerKind kind) {
  const bool slides = kind == LayerKind::kSlidingAttention;
  Attention attention = {.heads = a.heads,
                         .kv_heads = a.kv_heads,
                         .head_dim = a.head_dim,
                         .rotary_dim = a.rotary_dim,
                         .window = slides ? a.window : 0,
                         .query_pre_scale = a.query_pre_scale,
                         .softcap = a.attention_softcap,
                         .qkv_bias = a.qkv_bias,
                         .output_bias = a.attention_output_bias,
                         .interleaved_rope = a.interleaved_rope && kind != LayerKind::kNopeAttention,
                         .norm_after_rope = a.norm_after_rope,
                         .both_ways = a.both_ways};
  if (kind == LayerKind::kNopeAttention) {
    attention.rotary_dim = 0;
  } else if (slides && a.sliding_rope) {
    attention.rope = WithoutUnusedFields(*a.sliding_rope);
  } else {
    attention.rope = WithoutUnusedFields(a.rope);
  }
  if (a.qk_norm) attention.head_norm = NormOf(a);
  if (a.qk_projection_norm) attention.projection_norm = NormOf(a);
  return attention;
}

constexpr LayerSpec MixerOf(const ShortForm& a, LayerKind kind) {
  Mamba2 mamba2 = a.mamba2;
  mamba2.norm = RmsNormOf(a);
  switch (kind) {
    case LayerKind::kRgLru:
      return a.rg_lru;
    case LayerKind::kMamba:
      return a.mamba;
    case LayerKind::kMamba2:
      return mamba2;
    case LayerKind::kFullAttention:
    case LayerKind::kSlidingAttention:
    case LayerKind::kNopeAttention:
      break;
  }
  return AttentionOf(a, kind);
}

}  // namespace internal

/// Returns the model of `a`: for each layer a block of its mixer, then one of its feed-forward layer if it has one, or
/// one block of both.
constexpr ModelSpec Expand(const ShortForm& a) {
  const NormSpec norm = internal::NormOf(a);
  std::optional<NormSpec> pre_norm, post_norm;
  if (a.pre_norms) pre_norm = norm;
  if (a.post_norms) post_norm = norm;
  const EmbeddingScale root = a.rounded_embedding_scale ? EmbeddingScale::kRoundedSqrt : EmbeddingScale::kSqrt;
  ModelSpec spec = {.model_dim = a.model_dim,
                    .vocab_size = a.vocab_size,
                    .tied_embeddings = a.tied_embeddings,
                    .embedding_scale = a.scaled_embeddings ? root : EmbeddingScale::kNone,
                    .final_norm = norm,
                    .final_softcap = a.final_softcap,
                    .embedding_multiplier = a.embedding_multiplier,
                    .logits_scaling = a.logits_scaling,
                    .head_bias = a.head_bias,
                    .normed_head = a.normed_head};
  for (uint32_t i = 0; i < a.layers.size(); ++i) {
    Block mixer = {.number = i, .norm = pre_norm, .post_norm = post_norm, .residual_multiplier = a.residual_multiplier};
    mixer.layers.push_back(internal::MixerOf(a, a.layers[i]));
    const std::optional<LayerSpec> feed_forward_layer = internal::FeedForwardLayerOf(a, i);
    if (feed_forward_layer && a.parallel_layers) mixer.layers.push_back(*feed_forward_layer);
    spec.blocks.push_back(mixer);
    if (!feed_forward_layer || a.parallel_layers) continue;
    Block feed_forward = {.number = i,
                          .norm = pre_norm,
                          .norm_name = a.post_norms ? "pre_feedforward_layernorm" : "feed_forward_norm",
                          .post_norm = post_norm,
                          .post_norm_name = "post_feedforward_layernorm",
                          .residual_multiplier = a.residual_multiplier};
    feed_forward.layers.push_back(*feed_forward_layer);
    if (a.shared_feed_forward) feed_forward.layers.push_back(internal::GatedFeedForwardOf(a));
    spec.blocks.push_back(feed_forward);
  }
  return spec;
}

}  // namespace skald

#endif  // SKALD_FAMILIES_CONFIG_SHORT_FORM_H_
