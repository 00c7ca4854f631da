// SPDX-License-Identifier: Apache-2.0
//
// The family of Nomic Embed (arXiv:2402.01613): an encoder as BERT with RoPE, gated feed-forward layers and no
// biases; its second version has biases, no gates, and experts in every second layer (arXiv:2502.07972).

#ifndef SKALD_FAMILIES_NOMIC_BERT_NOMIC_BERT_H_
#define SKALD_FAMILIES_NOMIC_BERT_NOMIC_BERT_H_

#include <cstdint>
#include <string_view>

#include "skald/base/numbers/activation.h"
#include "skald/base/numbers/rope.h"
#include "skald/families/bert/bert.h"
#include "skald/layers/kinds/attention.h"
#include "skald/layers/kinds/feed_forward.h"
#include "skald/layers/kinds/gated_feed_forward.h"
#include "skald/layers/kinds/mixture_of_experts.h"
#include "skald/layers/model_spec.h"
#include "skald/layers/norms/layer_norm.h"

namespace skald {

struct NomicBertFamily {
  static constexpr std::string_view kModelType = "nomic_bert";
};

/// The sizes that models of the family differ in. `layers` is their number.
struct NomicBertSizes {
  int model_dim = 0, vocab_size = 0, layers = 0, heads = 0, feed_forward_dim = 0;
  int token_types = 0;  ///< rows of the embedding of types
  Activation activation = Activation::kSilu;
  RopeSpec rope = {.base = 1000.0};
  LayerNorm norm = {.epsilon = 1e-12f};
  bool biases = false;          ///< of projections, but for those before the gates; GTE has them
  bool gated = true;            ///< else feed-forward layers have no gates, and biases as `biases` says
  int experts_every = 0;        ///< every so many layers one has experts, from the second on; 0: none has
  int experts = 0, chosen = 0;  ///< of these layers, each as wide as a feed-forward layer, without biases
  bool experts_bias = false;    ///< one bias is added to what they give together
};

constexpr LayerSpec NomicBertFeedForward(const NomicBertSizes& sizes, int layer) {
  if (sizes.experts_every > 0 && layer % sizes.experts_every == 1) {
    return MixtureOfExperts{.experts = sizes.experts,
                            .chosen = sizes.chosen,
                            .width = sizes.feed_forward_dim,
                            .activation = sizes.activation,
                            .normalized = false,
                            .gated = false,
                            .sum_bias = sizes.experts_bias};
  }
  if (!sizes.gated) {
    return FeedForward{.width = sizes.feed_forward_dim, .activation = sizes.activation, .bias = sizes.biases};
  }
  return GatedFeedForward{.width = sizes.feed_forward_dim, .activation = sizes.activation, .down_bias = sizes.biases};
}

constexpr ModelSpec NomicBertSpec(const NomicBertSizes& sizes) {
  ModelSpec spec = {.model_dim = sizes.model_dim,
                    .vocab_size = sizes.vocab_size,
                    .tied_embeddings = true,
                    .final_norm = sizes.norm,
                    .embedding_norm = sizes.norm,
                    .token_types = sizes.token_types};
  const int head_dim = sizes.model_dim / sizes.heads;
  for (int i = 0; i < sizes.layers; ++i) {
    AddPostNormLayer(spec, static_cast<uint32_t>(i), sizes.norm,
                     Attention{.heads = sizes.heads,
                               .kv_heads = sizes.heads,
                               .head_dim = head_dim,
                               .rotary_dim = head_dim,
                               .rope = sizes.rope,
                               .query_pre_scale = static_cast<double>(head_dim),
                               .qkv_bias = sizes.biases,
                               .output_bias = sizes.biases,
                               .both_ways = true},
                     NomicBertFeedForward(sizes, i));
  }
  spec.blocks.back().stream_norm.reset();  // the final norm
  return spec;
}

}  // namespace skald

#endif  // SKALD_FAMILIES_NOMIC_BERT_NOMIC_BERT_H_
