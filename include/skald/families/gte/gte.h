// SPDX-License-Identifier: Apache-2.0
//
// The family of GTE v1.5 and GTE multilingual (arXiv:2407.19669): an encoder as BERT with RoPE and gated feed-forward
// layers.

#ifndef SKALD_FAMILIES_GTE_GTE_H_
#define SKALD_FAMILIES_GTE_GTE_H_

#include <cstdint>
#include <string_view>

#include "skald/base/numbers/activation.h"
#include "skald/base/numbers/rope.h"
#include "skald/families/bert/bert.h"
#include "skald/layers/kinds/attention.h"
#include "skald/layers/kinds/gated_feed_forward.h"
#include "skald/layers/model_spec.h"
#include "skald/layers/norms/layer_norm.h"

namespace skald {

struct GteFamily {
  static constexpr std::string_view kModelType = "gte";
};

/// The sizes that models of the family differ in. `layers` is their number.
struct GteSizes {
  int model_dim = 0, vocab_size = 0, layers = 0, heads = 0, feed_forward_dim = 0;
  int token_types = 0;  ///< rows of the embedding of types
  Activation activation = Activation::kGeluErf;
  RopeSpec rope = {.base = 160000.0};
  LayerNorm norm = {.epsilon = 1e-12f};
};

constexpr ModelSpec GteSpec(const GteSizes& sizes) {
  ModelSpec spec = {.model_dim = sizes.model_dim,
                    .vocab_size = sizes.vocab_size,
                    .tied_embeddings = true,
                    .final_norm = sizes.norm,
                    .embedding_norm = sizes.norm,
                    .token_types = sizes.token_types};
  const int head_dim = sizes.model_dim / sizes.heads;
  for (int i = 0; i < sizes.layers; ++i) {
    AddPostNormLayer(
        spec, static_cast<uint32_t>(i), sizes.norm,
        Attention{.heads = sizes.heads,
                  .kv_heads = sizes.heads,
                  .head_dim = head_dim,
                  .rotary_dim = head_dim,
                  .rope = sizes.rope,
                  .query_pre_scale = static_cast<double>(head_dim),
                  .qkv_bias = true,
                  .output_bias = true,
                  .both_ways = true},
        GatedFeedForward{.width = sizes.feed_forward_dim, .activation = sizes.activation, .down_bias = true});
  }
  spec.blocks.back().stream_norm.reset();  // the final norm
  return spec;
}

}  // namespace skald

#endif  // SKALD_FAMILIES_GTE_GTE_H_
