// SPDX-License-Identifier: Apache-2.0
//
// SpecOf: the ModelSpec of a Config, or of what a checkpoint's metadata say. Both list the facts of a whole model; here
// they become residual blocks.

#ifndef SKALD_CONFIGS_SPEC_OF_H_
#define SKALD_CONFIGS_SPEC_OF_H_

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "skald/cache/layout.h"
#include "skald/configs/architecture.h"
#include "skald/configs/layer.h"
#include "skald/configs/model_config.h"
#include "skald/layers/attention.h"
#include "skald/layers/gated_feed_forward.h"
#include "skald/layers/layer_spec.h"
#include "skald/layers/mamba.h"
#include "skald/layers/mamba2.h"
#include "skald/layers/model_spec.h"
#include "skald/layers/rg_lru.h"

namespace skald {
namespace internal {

inline Norm NormOf(const Architecture& a) { return {.epsilon = a.norm_epsilon, .unit_offset = a.unit_offset_norms}; }

inline LayerSpec MixerOf(const Architecture& a, LayerKind kind) {
  const Recurrences& of = a.recurrences;
  switch (kind) {
    case LayerKind::kRgLru:
      return RgLru{.width = of.rg_lru.width, .blocks = of.rg_lru.heads, .conv_width = of.rg_lru.conv_width};
    case LayerKind::kMamba:
      return Mamba{.inner_dim = of.mamba.width,
                   .state_dim = of.mamba.state_dim,
                   .time_step_rank = of.mamba.time_step_rank,
                   .conv_width = of.mamba.conv_width};
    case LayerKind::kMamba2:
      return Mamba2{.heads = of.mamba2.heads,
                    .head_dim = of.mamba2.width / of.mamba2.heads,
                    .state_dim = of.mamba2.state_dim,
                    .groups = of.mamba2.groups,
                    .conv_width = of.mamba2.conv_width,
                    .time_step_min = of.mamba2.time_step_min,
                    .time_step_max = of.mamba2.time_step_max,
                    .norm = NormOf(a)};
    case LayerKind::kFullAttention:
    case LayerKind::kSlidingAttention: break;
  }
  const bool slides = kind == LayerKind::kSlidingAttention;
  return Attention{.heads = a.heads,
                   .kv_heads = a.kv_heads,
                   .head_dim = a.head_dim,
                   .rotary_dim = a.rotary_dim,
                   .window = slides ? a.window : 0,
                   .rope = slides ? a.sliding_rope.value_or(a.rope) : a.rope,
                   .query_pre_scale = a.query_pre_scale,
                   .softcap = a.attention_softcap,
                   .qkv_bias = a.qkv_bias,
                   .output_bias = a.attention_output_bias,
                   .head_norm = a.qk_norm ? std::optional(NormOf(a)) : std::nullopt};
}

}  // namespace internal

// Returns the blocks that `a` stands for: of each layer its mixer, then its feed-forward layer if it has one.
inline ModelSpec SpecOf(const Architecture& a) {
  const Norm norm = internal::NormOf(a);
  const std::optional<Norm> post_norm = a.post_norms ? std::optional(norm) : std::nullopt;
  ModelSpec spec = {.model_dim = a.model_dim,
                    .vocab_size = a.vocab_size,
                    .tied_embeddings = a.tied_embeddings,
                    .embedding_scale = !a.scaled_embeddings          ? EmbeddingScale::kNone
                                       : a.rounded_embedding_scale ? EmbeddingScale::kRoundedSqrt
                                                                   : EmbeddingScale::kSqrt,
                    .final_norm = norm,
                    .final_softcap = a.final_softcap};
  for (size_t i = 0; i < a.layers.size(); ++i) {
    spec.blocks.push_back(
        {.number = i, .norm = norm, .layers = {internal::MixerOf(a, a.layers[i])}, .post_norm = post_norm});
    if (a.feed_forward_dim == 0) continue;
    spec.blocks.push_back(
        {.number = i,
         .norm = norm,
         .norm_name = a.post_norms ? "pre_feedforward_layernorm" : "feed_forward_norm",
         .layers = {GatedFeedForward{.width = a.feed_forward_dim, .activation = a.activation, .bias = a.feed_forward_bias}},
         .post_norm = post_norm,
         .post_norm_name = "post_feedforward_layernorm"});
  }
  return spec;
}

template <ModelConfig C>
ModelSpec SpecOf() {
  return SpecOf(DescribeConfig<C>());
}

// Returns how C's layers are computed: of the types that it has, and no others, so that no more is compiled.
template <ModelConfig C>
std::vector<LayerFunction> LayerFunctionsOf() {
  std::vector<LayerFunction> functions;
  if constexpr (HasAttention<C>()) functions.push_back(LayerFunctionOf<Attention>());
  if constexpr (HasLayerKind<C>(LayerKind::kRgLru)) functions.push_back(LayerFunctionOf<RgLru>());
  if constexpr (HasLayerKind<C>(LayerKind::kMamba)) functions.push_back(LayerFunctionOf<Mamba>());
  if constexpr (HasLayerKind<C>(LayerKind::kMamba2)) functions.push_back(LayerFunctionOf<Mamba2>());
  if constexpr (FeedForwardDimOf<C>() > 0) functions.push_back(LayerFunctionOf<GatedFeedForward>());
  return functions;
}

// Returns the layout of a model's cache.
template <ModelConfig C>
CacheLayout LayoutOf() {
  return LayoutOf(SpecOf<C>());
}

}  // namespace skald

#endif  // SKALD_CONFIGS_SPEC_OF_H_
