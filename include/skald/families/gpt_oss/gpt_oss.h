// SPDX-License-Identifier: Apache-2.0
//
// The gpt-oss family (OpenAI 2025, arXiv:2508.10925): attention with sinks, sliding and full by turns, and mixtures of
// experts in every layer, all with biases. The numbers of each size are those of the config.json on the page named
// above it.

#ifndef SKALD_FAMILIES_GPT_OSS_GPT_OSS_H_
#define SKALD_FAMILIES_GPT_OSS_GPT_OSS_H_

#include <cstdint>
#include <string_view>

#include "skald/families/config/usual_layer.h"
#include "skald/layers/kinds/attention.h"
#include "skald/layers/kinds/mixture_of_experts.h"
#include "skald/layers/model_spec.h"
#include "skald/layers/norms/rms_norm.h"
#include "skald/layers/standard_layers.h"

namespace skald {

/// The sizes that models of the family differ in.
struct GptOssSizes {
  int model_dim = 2880, vocab_size = 201088;
  int heads = 64, kv_heads = 8, head_dim = 64, window = 128;
  LayerFlags slides = {};  ///< of each layer
  /// Experts of a layer; how many compute a row; the width of each.
  int experts = 0, chosen_experts = 4, expert_width = 2880;
  float norm_epsilon = 1e-5f;
  bool tied_embeddings = false;
  RopeSpec rope = {.base = 150000.0,
                   .scaling = RopeScaling::kYarn,
                   .factor = 32.0,
                   .low_frequency_factor = 1.0,
                   .high_frequency_factor = 32.0,
                   .original_context = 4096.0,
                   .attention_factor = 1.34657359f};  // 1 + ln(32) / 10
};

/// Returns that each second layer slides, the first one too.
constexpr LayerFlags GptOssSlides(int layers) {
  LayerFlags slides;
  for (int layer = 0; layer < layers; ++layer) slides.push_back(layer % 2 == 0);
  return slides;
}

constexpr ModelSpec GptOssSpec(const GptOssSizes& sizes) {
  const RmsNorm norm = {.epsilon = sizes.norm_epsilon};
  Attention attention = {.heads = sizes.heads,
                         .kv_heads = sizes.kv_heads,
                         .head_dim = sizes.head_dim,
                         .rotary_dim = sizes.head_dim,
                         .query_pre_scale = static_cast<double>(sizes.head_dim),
                         .qkv_bias = true,
                         .output_bias = true,
                         .sinks = true};
  attention.rope = sizes.rope;
  const MixtureOfExperts experts = {.experts = sizes.experts,
                                    .chosen = sizes.chosen_experts,
                                    .width = sizes.expert_width,
                                    .activation = Activation::kClampedSwiglu,
                                    .bias = true};
  ModelSpec spec = {.model_dim = sizes.model_dim,
                    .vocab_size = sizes.vocab_size,
                    .tied_embeddings = sizes.tied_embeddings,
                    .final_norm = norm};
  for (uint32_t layer = 0; layer < sizes.slides.size(); ++layer) {
    attention.window = sizes.slides[layer] ? sizes.window : 0;
    AddUsualLayer(spec, layer, norm, attention, experts);
  }
  return spec;
}

/// The family of gpt-oss.
struct GptOssFamily {
  static constexpr std::string_view kModelType = "gpt_oss";
  using Layers = LayerTypes<Attention, MixtureOfExperts>;
};

/// https://huggingface.co/openai/gpt-oss-20b
struct GptOss_20B : GptOssFamily {
  static constexpr std::string_view kName = "gpt-oss-20b";
  static constexpr ModelSpec Spec() { return GptOssSpec({.slides = GptOssSlides(24), .experts = 32}); }
};

/// https://huggingface.co/openai/gpt-oss-120b
struct GptOss_120B : GptOssFamily {
  static constexpr std::string_view kName = "gpt-oss-120b";
  static constexpr ModelSpec Spec() { return GptOssSpec({.slides = GptOssSlides(36), .experts = 128}); }
};

}  // namespace skald

#endif  // SKALD_FAMILIES_GPT_OSS_GPT_OSS_H_
