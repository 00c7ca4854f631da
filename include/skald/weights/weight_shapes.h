// SPDX-License-Identifier: Apache-2.0
//
// What a Config says about the parameters of its models, as a plain value: the only template of this folder that
// reads a Config.

#ifndef SKALD_WEIGHTS_WEIGHT_SHAPES_H_
#define SKALD_WEIGHTS_WEIGHT_SHAPES_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "skald/base/byte_codec.h"
#include "skald/base/xxh64.h"
#include "skald/configs/layer.h"
#include "skald/configs/model_config.h"
#include "skald/configs/recurrence.h"

namespace skald {

// Sizes are 0 where no layer has the part. Refers to the Config's kLayers, which live as long as the program.
struct WeightShapes {
  size_t model_dim, feed_forward_dim, vocab_size, query_dim, kv_dim, head_dim;
  std::span<const LayerKind> layers;
  Recurrences recurrences;
  bool tied_embeddings, qkv_bias, attention_output_bias, feed_forward_bias, qk_norm, post_norms, unit_offset_norms;
};

// Returns a number that weights for other shapes do not have, the same on every machine.
inline uint64_t Fingerprint(const WeightShapes& shapes) {
  ByteWriter bytes;
  for (const size_t size : {shapes.model_dim, shapes.feed_forward_dim, shapes.vocab_size, shapes.query_dim,
                            shapes.kv_dim, shapes.head_dim}) {
    bytes.Put(uint64_t{size});
  }
  for (const bool has : {shapes.tied_embeddings, shapes.qkv_bias, shapes.attention_output_bias,
                         shapes.feed_forward_bias, shapes.qk_norm, shapes.post_norms, shapes.unit_offset_norms}) {
    bytes.Put(uint8_t{has});
  }
  for (const RecurrenceSpec& spec : {shapes.recurrences.rg_lru, shapes.recurrences.mamba, shapes.recurrences.mamba2}) {
    for (const int size : {spec.width, spec.conv_width, spec.heads, spec.state_dim, spec.groups, spec.time_step_rank}) {
      bytes.Put(int32_t{size});
    }
  }
  for (const LayerKind kind : shapes.layers) bytes.Put(static_cast<uint8_t>(kind));
  return Xxh64(bytes.bytes());
}

template <ModelConfig C>
constexpr WeightShapes WeightShapesOf() {
  static_assert(CheckConfig<C>());
  return {
      .model_dim = C::kModelDim,
      .feed_forward_dim = FeedForwardDimOf<C>(),
      .vocab_size = C::kVocabSize,
      .query_dim = size_t{HeadsOf<C>()} * HeadDimOf<C>(),
      .kv_dim = size_t{KVHeadsOf<C>()} * HeadDimOf<C>(),
      .head_dim = HeadDimOf<C>(),
      .layers = C::kLayers,
      .recurrences = RecurrencesOf<C>(),
      .tied_embeddings = C::kTiedEmbeddings,
      .qkv_bias = HasQKVBias<C>(),
      .attention_output_bias = HasAttentionOutputBias<C>(),
      .feed_forward_bias = HasFeedForwardBias<C>(),
      .qk_norm = HasQKNorm<C>(),
      .post_norms = HasPostNorms<C>(),
      .unit_offset_norms = HasUnitOffsetNorms<C>(),
  };
}

}  // namespace skald

#endif  // SKALD_WEIGHTS_WEIGHT_SHAPES_H_
