// SPDX-License-Identifier: Apache-2.0
//
// The text part of the Gemma 4 family: sliding and full layers with heads of different sizes, later layers that share
// the keys and values of earlier ones, and in the small models inputs of each layer from the embeddings. The numbers of
// each size are those of the config.json on the page named above it.

#ifndef SKALD_FAMILIES_GEMMA4_GEMMA4_H_
#define SKALD_FAMILIES_GEMMA4_GEMMA4_H_

#include <cstdint>
#include <string_view>

#include "skald/families/config/usual_layer.h"
#include "skald/layers/kinds/attention.h"
#include "skald/layers/kinds/gated_feed_forward.h"
#include "skald/layers/kinds/normed_feed_forward.h"
#include "skald/layers/kinds/per_layer_input.h"
#include "skald/layers/model_spec.h"
#include "skald/layers/norms/rms_norm.h"
#include "skald/layers/standard_layers.h"

namespace skald {

/// The sizes that models of the family differ in.
struct Gemma4Sizes {
  int model_dim = 0, vocab_size = 262144, feed_forward_dim = 0;
  LayerFlags slides = {};                       ///< of each layer
  int heads = 0, kv_heads = 0, head_dim = 256;  ///< of sliding layers
  int full_kv_heads = 0, full_head_dim = 512;   ///< of the others
  int window = 512;
  bool keys_as_values = false;  ///< in full layers
  int shared_layers = 0;     ///< the last ones, which share the keys and values of the last of their kind before them
  bool wide_shared = false;  ///< whether the feed-forward layers of those are twice as wide
  int per_layer_dim = 0;     ///< ModelSpec::per_layer_dim; 0 in the large models
  int experts = 0, chosen_experts = 0, expert_width = 0;  ///< beside the dense layer of every layer; 0: there are none
  float norm_epsilon = 1e-6f, final_softcap = 30.0f;
  bool tied_embeddings = true;
  RopeSpec rope = {.base = 1e6, .scaling = RopeScaling::kProportional, .turning_pairs = 64};
  RopeSpec sliding_rope = {.base = 1e4};
};

/// Returns that all layers slide but each nth and the last one.
constexpr LayerFlags Gemma4Slides(int layers, int nth) {
  LayerFlags slides;
  for (int layer = 1; layer <= layers; ++layer) slides.push_back(layer % nth != 0 && layer != layers);
  return slides;
}

namespace internal {

/// Returns the layer whose keys and values a layer reads: the last one before `first_shared` of its kind, or itself if
/// there is none, which no model can have.
constexpr int Gemma4SharedLayer(const LayerFlags& slides, int first_shared, int layer) {
  for (int earlier = first_shared - 1; earlier >= 0; --earlier) {
    if (slides[static_cast<size_t>(earlier)] == slides[static_cast<size_t>(layer)]) return earlier;
  }
  return layer;
}

constexpr Attention Gemma4Attention(const Gemma4Sizes& sizes, int layer) {
  const bool slides = sizes.slides[static_cast<size_t>(layer)];
  const int head_dim = slides ? sizes.head_dim : sizes.full_head_dim;
  const int first_shared = static_cast<int>(sizes.slides.size()) - sizes.shared_layers;
  const RmsNorm norm = {.epsilon = sizes.norm_epsilon};
  Attention attention = {.heads = sizes.heads,
                         .kv_heads = slides ? sizes.kv_heads : sizes.full_kv_heads,
                         .head_dim = head_dim,
                         .rotary_dim = head_dim,
                         .window = slides ? sizes.window : 0,
                         .query_pre_scale = 1.0,
                         .head_norm = norm};
  attention.rope = slides ? sizes.sliding_rope : sizes.rope;
  if (layer >= first_shared) {
    attention.shared_layer = Gemma4SharedLayer(sizes.slides, first_shared, layer);
  } else {
    attention.value_norm = RmsNorm{.epsilon = sizes.norm_epsilon, .weight = false};
    attention.keys_as_values = sizes.keys_as_values && !slides;
  }
  return attention;
}

}  // namespace internal

constexpr ModelSpec Gemma4Spec(const Gemma4Sizes& sizes) {
  const RmsNorm norm = {.epsilon = sizes.norm_epsilon};
  const int layers = static_cast<int>(sizes.slides.size());
  ModelSpec spec = {.model_dim = sizes.model_dim,
                    .vocab_size = sizes.vocab_size,
                    .tied_embeddings = sizes.tied_embeddings,
                    .embedding_scale = EmbeddingScale::kSqrt,
                    .final_norm = norm,
                    .final_softcap = sizes.final_softcap,
                    .per_layer_dim = sizes.per_layer_dim};
  for (int layer = 0; layer < layers; ++layer) {
    const auto number = static_cast<uint32_t>(layer);
    const bool is_wide = sizes.wide_shared && layer >= layers - sizes.shared_layers;
    Block mixer = {.number = number, .norm = norm, .post_norm = norm};
    mixer.layers.push_back(internal::Gemma4Attention(sizes, layer));
    spec.blocks.push_back(mixer);
    Block feed_forward = {.number = number,
                          .norm = {},
                          .norm_name = "pre_feedforward_layernorm",
                          .post_norm = norm,
                          .post_norm_name = "post_feedforward_layernorm"};
    const GatedFeedForward dense = {.width = (is_wide ? 2 : 1) * sizes.feed_forward_dim,
                                    .activation = Activation::kGeluTanh};
    if (sizes.experts > 0) {
      feed_forward.layers.push_back(NormedFeedForward{.dense = dense,
                                                      .experts = {.experts = sizes.experts,
                                                                  .chosen = sizes.chosen_experts,
                                                                  .width = sizes.expert_width,
                                                                  .activation = Activation::kGeluTanh},
                                                      .epsilon = sizes.norm_epsilon});
    } else {
      feed_forward.norm = norm;
      feed_forward.layers.push_back(dense);
    }
    spec.blocks.push_back(feed_forward);
    if (sizes.per_layer_dim > 0) {
      Block input = {.number = number, .norm = {}, .post_norm = norm, .post_norm_name = "post_per_layer_input_norm"};
      input.layers.push_back(PerLayerInput{.width = sizes.per_layer_dim});
      spec.blocks.push_back(input);
    }
    spec.blocks.back().learned_scale = true;
  }
  return spec;
}

/// The family of Gemma 4.
struct Gemma4Family {
  static constexpr std::string_view kModelType = "gemma4_text";
  using Layers = LayerTypes<Attention, GatedFeedForward, PerLayerInput, NormedFeedForward>;
};

/// https://huggingface.co/google/gemma-4-E2B
struct Gemma4_E2B : Gemma4Family {
  static constexpr std::string_view kName = "gemma-4-e2b";
  static constexpr ModelSpec Spec() {
    return Gemma4Spec({.model_dim = 1536,
                       .feed_forward_dim = 6144,
                       .slides = Gemma4Slides(35, 5),
                       .heads = 8,
                       .kv_heads = 1,
                       .full_kv_heads = 1,
                       .shared_layers = 20,
                       .wide_shared = true,
                       .per_layer_dim = 256});
  }
};

/// https://huggingface.co/google/gemma-4-E4B
struct Gemma4_E4B : Gemma4Family {
  static constexpr std::string_view kName = "gemma-4-e4b";
  static constexpr ModelSpec Spec() {
    return Gemma4Spec({.model_dim = 2560,
                       .feed_forward_dim = 10240,
                       .slides = Gemma4Slides(42, 6),
                       .heads = 8,
                       .kv_heads = 2,
                       .full_kv_heads = 2,
                       .shared_layers = 18,
                       .per_layer_dim = 256});
  }
};

/// https://huggingface.co/google/gemma-4-26B-A4B
struct Gemma4_26B_A4B : Gemma4Family {
  static constexpr std::string_view kName = "gemma-4-26b-a4b";
  static constexpr ModelSpec Spec() {
    return Gemma4Spec({.model_dim = 2816,
                       .feed_forward_dim = 2112,
                       .slides = Gemma4Slides(30, 6),
                       .heads = 16,
                       .kv_heads = 8,
                       .full_kv_heads = 2,
                       .window = 1024,
                       .keys_as_values = true,
                       .experts = 128,
                       .chosen_experts = 8,
                       .expert_width = 704});
  }
};

/// https://huggingface.co/google/gemma-4-31B
struct Gemma4_31B : Gemma4Family {
  static constexpr std::string_view kName = "gemma-4-31b";
  static constexpr ModelSpec Spec() {
    return Gemma4Spec({.model_dim = 5376,
                       .feed_forward_dim = 21504,
                       .slides = Gemma4Slides(60, 6),
                       .heads = 32,
                       .kv_heads = 16,
                       .full_kv_heads = 4,
                       .window = 1024,
                       .keys_as_values = true});
  }
};

}  // namespace skald

#endif  // SKALD_FAMILIES_GEMMA4_GEMMA4_H_
