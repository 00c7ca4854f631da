// SPDX-License-Identifier: Apache-2.0
//
// The family of BERT (Devlin et al. 2018, arXiv:1810.04805), RoBERTa (arXiv:1907.11692) and XLM-RoBERTa
// (arXiv:1911.02116): encoders whose tokens see both ways, with learned positions and a norm of the stream after each
// layer. MiniLM, BGE, E5 and GTE are models of it, and JinaBERT with other positions.

#ifndef SKALD_FAMILIES_BERT_BERT_H_
#define SKALD_FAMILIES_BERT_BERT_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "skald/base/numbers/activation.h"
#include "skald/base/numbers/rope.h"
#include "skald/layers/kinds/attention.h"
#include "skald/layers/kinds/feed_forward.h"
#include "skald/layers/kinds/gated_feed_forward.h"
#include "skald/layers/model_spec.h"
#include "skald/layers/norms/layer_norm.h"

namespace skald {

struct BertFamily {
  static constexpr std::string_view kModelType = "bert";
};

/// The sizes that models of the family differ in. `layers` is their number; positions as in ModelSpec.
struct BertSizes {
  int model_dim = 0, vocab_size = 0, layers = 0, heads = 0, feed_forward_dim = 0;
  int positions = 0;       ///< rows of the embedding of positions
  int first_position = 0;  ///< the row of a text's first token
  int token_types = 0;     ///< rows of the embedding of types
  Activation activation = Activation::kGeluErf;
  LayerNorm norm = {.epsilon = 1e-12f};
  bool alibi = false;  ///< a bias of distances in place of learned positions, and gates (JinaBERT v2, arXiv:2310.19923)
  std::optional<RopeSpec> rope = {};  ///< in place of learned positions (JinaBERT v3, arXiv:2409.10173)
  bool query_norms = false;           ///< whether whole queries and keys are normalised (of JinaBERT v2 for code)
};

/// Appends a layer with a norm of the stream after its attention and after its feed-forward layer.
constexpr void AddPostNormLayer(ModelSpec& spec, uint32_t number, const NormSpec& norm, LayerSpec attention,
                                LayerSpec feed_forward) {
  Block first = {.number = number, .norm = {}, .stream_norm = norm, .stream_norm_name = "post_attention_layernorm"};
  Block second = {.number = number, .norm = {}, .stream_norm = norm, .stream_norm_name = "post_feedforward_layernorm"};
  first.layers.push_back(std::move(attention));
  second.layers.push_back(std::move(feed_forward));
  spec.blocks.push_back(std::move(first));
  spec.blocks.push_back(std::move(second));
}

/// Makes of a layer's attention one whose sum with the stream is normalised, added to the stream, and normalised again.
constexpr void NormTwice(Block& block, const NormSpec& norm) {
  block.post_norm = norm, block.norms_sum = true;
  block.stream_norm_name = "second_attention_layernorm";
}

constexpr ModelSpec BertSpec(const BertSizes& sizes) {
  ModelSpec spec = {.model_dim = sizes.model_dim,
                    .vocab_size = sizes.vocab_size,
                    .tied_embeddings = true,
                    .final_norm = sizes.norm,
                    .embedding_norm = sizes.norm,
                    .positions = sizes.alibi || sizes.rope ? 0 : sizes.positions,
                    .first_position = sizes.first_position,
                    .token_types = sizes.token_types};
  if (sizes.alibi) spec.distance_bias.heads = sizes.heads;
  const FeedForward plain = {.width = sizes.feed_forward_dim, .activation = sizes.activation, .bias = true};
  const GatedFeedForward gated = {.width = sizes.feed_forward_dim, .activation = sizes.activation, .down_bias = true};
  LayerSpec feed_forward = plain;
  if (sizes.alibi) feed_forward = gated;
  const int head_dim = sizes.model_dim / sizes.heads;
  Attention attention = {.heads = sizes.heads,
                         .kv_heads = sizes.heads,
                         .head_dim = head_dim,
                         .query_pre_scale = static_cast<double>(head_dim),
                         .qkv_bias = true,
                         .output_bias = true,
                         .both_ways = true};
  if (sizes.rope) attention.rope = *sizes.rope, attention.rotary_dim = head_dim;
  if (sizes.query_norms) attention.projection_norm = sizes.norm;
  for (int i = 0; i < sizes.layers; ++i) {
    AddPostNormLayer(spec, static_cast<uint32_t>(i), sizes.norm, attention, feed_forward);
    if (sizes.query_norms) NormTwice(spec.blocks[spec.blocks.size() - 2], sizes.norm);
  }
  spec.blocks.back().stream_norm.reset();  // the final norm
  return spec;
}

}  // namespace skald

#endif  // SKALD_FAMILIES_BERT_BERT_H_
