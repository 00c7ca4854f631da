// SPDX-License-Identifier: Apache-2.0
//
// DeepSeek-V3 (DeepSeek-AI 2024, arXiv:2412.19437) and GLM-4.7-Flash, which follows it: latent attention, dense layers
// first and then mixtures of many small experts with one that all rows share. The numbers of each size are those of the
// config.json on the page named above it.

#ifndef SKALD_FAMILIES_DEEPSEEK_V3_DEEPSEEK_V3_H_
#define SKALD_FAMILIES_DEEPSEEK_V3_DEEPSEEK_V3_H_

#include <cstdint>
#include <string_view>
#include <utility>

#include "skald/base/numbers/rope.h"
#include "skald/families/config/usual_layer.h"
#include "skald/layers/kinds/gated_feed_forward.h"
#include "skald/layers/kinds/latent_attention.h"
#include "skald/layers/kinds/mixture_of_experts.h"
#include "skald/layers/model_spec.h"
#include "skald/layers/norms/rms_norm.h"
#include "skald/layers/standard_layers.h"

namespace skald {

/// Common to the experts of all sizes.
constexpr MixtureOfExperts DeepSeekV3Experts() {
  return {.sigmoid = true, .selection_bias = true, .sum_epsilon = 1e-20f};
}

/// The sizes that models of the family differ in.
struct DeepSeekV3Sizes {
  int model_dim = 0, vocab_size = 0, feed_forward_dim = 0;
  LayerFlags dense = {};  ///< of each layer, whether it has no experts
  LatentAttention attention = {.norm = {.epsilon = 1e-6f}};
  MixtureOfExperts experts = DeepSeekV3Experts();  ///< of the layers that are not dense
  float norm_epsilon = 1e-6f;                      ///< of all norms but those within attention
  bool tied_embeddings = false;
};

/// Returns that the first `dense` of `layers` layers have no experts.
constexpr LayerFlags FirstLayersDense(int layers, int dense) {
  LayerFlags is_dense;
  for (int layer = 0; layer < layers; ++layer) is_dense.push_back(layer < dense);
  return is_dense;
}

constexpr ModelSpec DeepSeekV3Spec(const DeepSeekV3Sizes& sizes) {
  const RmsNorm norm = {.epsilon = sizes.norm_epsilon};
  const GatedFeedForward dense = {.width = sizes.feed_forward_dim};
  ModelSpec spec = {.model_dim = sizes.model_dim,
                    .vocab_size = sizes.vocab_size,
                    .tied_embeddings = sizes.tied_embeddings,
                    .final_norm = norm};
  for (uint32_t layer = 0; layer < sizes.dense.size(); ++layer) {
    LayerSpec feed_forward = dense;
    if (!sizes.dense[layer]) feed_forward = sizes.experts;
    AddUsualLayer(spec, layer, norm, sizes.attention, std::move(feed_forward));
  }
  return spec;
}

/// The family of DeepSeek-V3.
struct DeepSeekV3Family {
  static constexpr std::string_view kModelType = "deepseek_v3";
  using Layers = LayerTypes<LatentAttention, GatedFeedForward, MixtureOfExperts>;
};

/// GLM-4.7-Flash, with the layers of DeepSeek-V3.
struct Glm4MoeLiteFamily {
  static constexpr std::string_view kModelType = "glm4_moe_lite";
  using Layers = DeepSeekV3Family::Layers;
};

/// https://huggingface.co/deepseek-ai/DeepSeek-V3
struct DeepSeekV3_671B : DeepSeekV3Family {
  static constexpr std::string_view kName = "deepseek-v3-671b";
  static constexpr ModelSpec Spec() {
    DeepSeekV3Sizes sizes = {.model_dim = 7168, .vocab_size = 129280, .feed_forward_dim = 18432};
    sizes.dense = FirstLayersDense(61, 3);
    LatentAttention& attention = sizes.attention;
    attention.heads = 128, attention.query_rank = 1536, attention.latent_dim = 512;
    attention.rope_dim = 64, attention.nope_dim = 128, attention.value_dim = 128;
    attention.rope = {.base = 10000.0,
                      .scaling = RopeScaling::kYarn,
                      .factor = 40.0,
                      .low_frequency_factor = 1.0,
                      .high_frequency_factor = 32.0,
                      .original_context = 4096.0,
                      .whole_ramp = true};
    attention.mscale = 1.36888795f;  // 1 + ln(40) / 10
    sizes.experts.experts = 256, sizes.experts.chosen = 8, sizes.experts.width = 2048;
    sizes.experts.groups = 8, sizes.experts.chosen_groups = 4;
    sizes.experts.weight_scale = 2.5f, sizes.experts.shared_width = 2048;
    return DeepSeekV3Spec(sizes);
  }
};

/// https://huggingface.co/zai-org/GLM-4.7-Flash
struct Glm4_7_Flash : Glm4MoeLiteFamily {
  static constexpr std::string_view kName = "glm-4.7-flash";
  static constexpr ModelSpec Spec() {
    DeepSeekV3Sizes sizes = {.model_dim = 2048, .vocab_size = 154880, .feed_forward_dim = 10240};
    sizes.dense = FirstLayersDense(47, 1);
    LatentAttention& attention = sizes.attention;
    attention.heads = 20, attention.query_rank = 768, attention.latent_dim = 512;
    attention.rope_dim = 64, attention.nope_dim = 192, attention.value_dim = 256;
    attention.rope.base = 1000000.0;
    sizes.experts.experts = 64, sizes.experts.chosen = 4, sizes.experts.width = 1536;
    sizes.experts.weight_scale = 1.8f, sizes.experts.shared_width = 1536;
    sizes.norm_epsilon = 1e-5f;
    return DeepSeekV3Spec(sizes);
  }
};

}  // namespace skald

#endif  // SKALD_FAMILIES_DEEPSEEK_V3_DEEPSEEK_V3_H_
