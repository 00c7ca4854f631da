// SPDX-License-Identifier: Apache-2.0
//
// Gemma 3n (Google 2025), the text part: alternating updates of four streams, learned augmented residual layers, inputs
// of each layer from the embeddings, layers that share keys and values, and gates of which most are cut. The numbers of
// each size are those of the config.json on the page named above it.

#ifndef SKALD_FAMILIES_GEMMA3N_GEMMA3N_H_
#define SKALD_FAMILIES_GEMMA3N_GEMMA3N_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/families/config/usual_layer.h"
#include "skald/families/gemma4/gemma4.h"
#include "skald/layers/kinds/altup/streams.h"
#include "skald/layers/kinds/attention.h"
#include "skald/layers/kinds/gated_feed_forward.h"
#include "skald/layers/model_spec.h"
#include "skald/layers/norms/rms_norm.h"
#include "skald/layers/standard_layers.h"

namespace skald {

/// So many standard deviations above their mean are 95 of 100 gates cut, if they are normal.
inline constexpr float kGemma3nCut = 1.64485359f;

/// The sizes that models of the family differ in.
struct Gemma3nSizes {
  int model_dim = 2048, vocab_size = 262400;
  LayerFlags slides = {};        ///< of each layer
  std::vector<int> widths = {};  ///< of each layer's feed-forward layer
  std::vector<float> cuts = {};  ///< GatedFeedForward::gate_deviations of each layer
  int heads = 8, kv_heads = 2, head_dim = 256;
  int window = 512;
  int shared_layers = 0;  ///< the last ones, which share the keys and values of the last of their kind before them
  int per_layer_dim = 256, per_layer_vocab = 262144;  ///< as those of ModelSpec
  int streams = 4, laurel_rank = 64;                  ///< AltUpEntry::streams, LaurelResidual::rank
  bool scaled_correction = true;                      ///< AltUpCorrection::scaled
  float norm_epsilon = 1e-6f, final_softcap = 30.0f;
  bool tied_embeddings = true;
  RopeSpec rope = {.base = 1e6};
  RopeSpec sliding_rope = {.base = 1e4};
};

namespace internal {

constexpr Attention Gemma3nAttention(const Gemma3nSizes& sizes, int layer) {
  const bool slides = sizes.slides[static_cast<size_t>(layer)];
  const int first_shared = static_cast<int>(sizes.slides.size()) - sizes.shared_layers;
  const RmsNorm norm = {.epsilon = sizes.norm_epsilon};
  Attention attention = {.heads = sizes.heads,
                         .kv_heads = sizes.kv_heads,
                         .head_dim = sizes.head_dim,
                         .rotary_dim = sizes.head_dim,
                         .window = slides ? sizes.window : 0,
                         .query_pre_scale = 1.0,
                         .head_norm = norm};
  attention.rope = slides ? sizes.sliding_rope : sizes.rope;
  if (layer >= first_shared)
    attention.shared_layer = Gemma4SharedLayer(sizes.slides, first_shared, layer);
  else
    attention.value_norm = RmsNorm{.epsilon = sizes.norm_epsilon, .weight = false};
  return attention;
}

/// A block of one layer that works on all streams, and reads the residual one as it is.
constexpr void AddGemma3nBlock(ModelSpec& spec, uint32_t number, LayerSpec layer) {
  Block block = {.number = number, .norm = {}};
  block.layers.push_back(std::move(layer));
  spec.blocks.push_back(std::move(block));
}

}  // namespace internal

constexpr ModelSpec Gemma3nSpec(const Gemma3nSizes& sizes) {
  const RmsNorm norm = {.epsilon = sizes.norm_epsilon};
  const int streams = sizes.streams, width = sizes.model_dim, layers = static_cast<int>(sizes.slides.size());
  ModelSpec spec = {.model_dim = sizes.model_dim,
                    .vocab_size = sizes.vocab_size,
                    .tied_embeddings = sizes.tied_embeddings,
                    .embedding_scale = EmbeddingScale::kSqrt,
                    .final_norm = norm,
                    .final_softcap = sizes.final_softcap,
                    .per_layer_dim = sizes.per_layer_dim,
                    .per_layer_vocab = sizes.per_layer_vocab == sizes.vocab_size ? 0 : sizes.per_layer_vocab};
  internal::AddGemma3nBlock(spec, 0, AltUpEntry{.streams = streams, .width = width});
  for (int layer = 0; layer < layers; ++layer) {
    const auto number = static_cast<uint32_t>(layer);
    const auto at = static_cast<size_t>(layer);
    internal::AddGemma3nBlock(spec, number, AltUpPrediction{.streams = streams, .width = width, .norm = norm});
    Block mixer = {.number = number, .norm = norm, .post_norm = norm};
    mixer.layers.push_back(internal::Gemma3nAttention(sizes, layer));
    spec.blocks.push_back(mixer);
    internal::AddGemma3nBlock(
        spec, number, LaurelResidual{.streams = streams, .width = width, .rank = sizes.laurel_rank, .norm = norm});
    Block feed_forward = {.number = number,
                          .norm = norm,
                          .norm_name = "pre_feedforward_layernorm",
                          .post_norm = norm,
                          .post_norm_name = "post_feedforward_layernorm"};
    feed_forward.layers.push_back(GatedFeedForward{
        .width = sizes.widths[at], .activation = Activation::kGeluTanh, .gate_deviations = sizes.cuts[at]});
    spec.blocks.push_back(feed_forward);
    internal::AddGemma3nBlock(spec, number,
                              AltUpCorrection{.streams = streams,
                                              .width = width,
                                              .per_layer_dim = sizes.per_layer_dim,
                                              .scaled = sizes.scaled_correction,
                                              .norm = norm});
  }
  internal::AddGemma3nBlock(spec, static_cast<uint32_t>(layers > 0 ? layers - 1 : 0),
                            AltUpExit{.streams = streams, .width = width});
  return spec;
}

/// The family of Gemma 3n.
struct Gemma3nFamily {
  static constexpr std::string_view kModelType = "gemma3n_text";
  using Layers =
      LayerTypes<Attention, GatedFeedForward, AltUpEntry, AltUpPrediction, LaurelResidual, AltUpCorrection, AltUpExit>;
};

namespace internal {

/// The two published sizes: all but each fifth layer slide, and the first ten cut their gates.
constexpr ModelSpec PublishedGemma3n(int layers, int width, int shared_layers) {
  Gemma3nSizes sizes;
  sizes.shared_layers = shared_layers;
  for (int layer = 0; layer < layers; ++layer) {
    sizes.slides.push_back((layer + 1) % 5 != 0);
    sizes.widths.push_back(width);
    sizes.cuts.push_back(layer < 10 ? kGemma3nCut : 0.0f);
  }
  return Gemma3nSpec(sizes);
}

}  // namespace internal

/// https://huggingface.co/google/gemma-3n-E2B-it
struct Gemma3n_E2B : Gemma3nFamily {
  static constexpr std::string_view kName = "gemma-3n-e2b";
  static constexpr ModelSpec Spec() { return internal::PublishedGemma3n(30, 8192, 10); }
};

/// https://huggingface.co/google/gemma-3n-E4B-it
struct Gemma3n_E4B : Gemma3nFamily {
  static constexpr std::string_view kName = "gemma-3n-e4b";
  static constexpr ModelSpec Spec() { return internal::PublishedGemma3n(35, 16384, 15); }
};

}  // namespace skald

#endif  // SKALD_FAMILIES_GEMMA3N_GEMMA3N_H_
