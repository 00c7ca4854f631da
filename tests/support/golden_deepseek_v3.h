// SPDX-License-Identifier: Apache-2.0
//
// The small reference models of DeepSeek-V3 and GLM-4.7-Flash (tests/golden/data/deepseek_v3 and glm4_moe_lite).

#ifndef SKALD_TESTS_SUPPORT_GOLDEN_DEEPSEEK_V3_H_
#define SKALD_TESTS_SUPPORT_GOLDEN_DEEPSEEK_V3_H_

#include "skald/families/deepseek_v3/deepseek_v3.h"

namespace skald::testing {

constexpr DeepSeekV3Sizes GoldenDeepSeekV3Sizes() {
  DeepSeekV3Sizes sizes = {.model_dim = 60, .vocab_size = 264, .feed_forward_dim = 72};
  sizes.dense = FirstLayersDense(3, 1);
  LatentAttention& attention = sizes.attention;
  attention.heads = 4, attention.query_rank = 28, attention.latent_dim = 24;
  attention.rope_dim = 12, attention.nope_dim = 16, attention.value_dim = 18;
  attention.rope = {.base = 10000.0,
                    .scaling = RopeScaling::kYarn,
                    .factor = 40.0,
                    .low_frequency_factor = 1.0,
                    .high_frequency_factor = 32.0,
                    .original_context = 64.0,
                    .whole_ramp = true};
  attention.mscale = 1.36888795f;  // 1 + ln(40) / 10
  sizes.experts.experts = 12, sizes.experts.chosen = 3, sizes.experts.width = 20, sizes.experts.shared_width = 20;
  sizes.experts.groups = 4, sizes.experts.chosen_groups = 2, sizes.experts.weight_scale = 2.5f;
  return sizes;
}

constexpr DeepSeekV3Sizes GoldenGlm4MoeLiteSizes() {
  DeepSeekV3Sizes sizes = {.model_dim = 60, .vocab_size = 264, .feed_forward_dim = 72};
  sizes.dense = FirstLayersDense(3, 1);
  LatentAttention& attention = sizes.attention;
  attention.heads = 5, attention.query_rank = 28, attention.latent_dim = 24;
  attention.rope_dim = 8, attention.nope_dim = 14, attention.value_dim = 22;
  attention.rope.base = 1000000.0;
  sizes.experts.experts = 8, sizes.experts.chosen = 3, sizes.experts.width = 20, sizes.experts.shared_width = 20;
  sizes.experts.weight_scale = 1.8f;
  sizes.norm_epsilon = 1e-5f;
  return sizes;
}

struct GoldenDeepSeekV3 : DeepSeekV3Family {
  static constexpr std::string_view kName = "golden-deepseek-v3";
  static constexpr ModelSpec Spec() { return DeepSeekV3Spec(GoldenDeepSeekV3Sizes()); }
};

}  // namespace skald::testing

#endif  // SKALD_TESTS_SUPPORT_GOLDEN_DEEPSEEK_V3_H_
