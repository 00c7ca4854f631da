// SPDX-License-Identifier: Apache-2.0
//
// The encoder of T5 (arXiv:1910.10683): RMSNorm before layers, feed-forward layers with gates or without, no scale of
// scores, and a learned bias of distances in place of positions.

#ifndef SKALD_FAMILIES_T5_ENCODER_T5_ENCODER_H_
#define SKALD_FAMILIES_T5_ENCODER_T5_ENCODER_H_

#include <cstdint>
#include <string_view>

#include "skald/base/numbers/activation.h"
#include "skald/families/config/usual_layer.h"
#include "skald/layers/kinds/attention.h"
#include "skald/layers/kinds/feed_forward.h"
#include "skald/layers/kinds/gated_feed_forward.h"
#include "skald/layers/model_spec.h"
#include "skald/layers/norms/rms_norm.h"

namespace skald {

struct T5EncoderFamily {
  static constexpr std::string_view kModelType = "t5";
};

/// The sizes that models of the family differ in. `layers` is their number.
struct T5EncoderSizes {
  int model_dim = 0, vocab_size = 0, layers = 0, heads = 0, head_dim = 0, feed_forward_dim = 0;
  int buckets = 32, max_distance = 128;  ///< of DistanceBias
  Activation activation = Activation::kGeluTanh;
  bool gated = true;  ///< else feed-forward layers have no gates
  float norm_epsilon = 1e-6f;
};

constexpr ModelSpec T5EncoderSpec(const T5EncoderSizes& sizes) {
  const RmsNorm norm = {.epsilon = sizes.norm_epsilon};
  ModelSpec spec = {
      .model_dim = sizes.model_dim,
      .vocab_size = sizes.vocab_size,
      .tied_embeddings = true,
      .final_norm = norm,
      .distance_bias = {.heads = sizes.heads, .buckets = sizes.buckets, .max_distance = sizes.max_distance}};
  LayerSpec feed_forward = GatedFeedForward{.width = sizes.feed_forward_dim, .activation = sizes.activation};
  if (!sizes.gated) feed_forward = FeedForward{.width = sizes.feed_forward_dim, .activation = sizes.activation};
  for (int i = 0; i < sizes.layers; ++i) {
    AddUsualLayer(spec, static_cast<uint32_t>(i), norm,
                  Attention{.heads = sizes.heads,
                            .kv_heads = sizes.heads,
                            .head_dim = sizes.head_dim,
                            .query_pre_scale = 1.0,
                            .both_ways = true},
                  feed_forward);
  }
  return spec;
}

}  // namespace skald

#endif  // SKALD_FAMILIES_T5_ENCODER_T5_ENCODER_H_
