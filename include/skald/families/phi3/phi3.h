// SPDX-License-Identifier: Apache-2.0
//
// The Phi-3 family (arXiv:2404.14219), which Phi-4-mini (arXiv:2503.01743) belongs to: the layers of Llama with a
// window. From 128k tokens of context on RoPE has factors of its own for each frequency (LongRoPE): short ones for
// caches of at most the 4096 tokens of the first training, long ones for others. The numbers of each size are those of
// the config.json on the page named above it.

#ifndef SKALD_FAMILIES_PHI3_PHI3_H_
#define SKALD_FAMILIES_PHI3_PHI3_H_

#include <array>
#include <string_view>

#include "skald/families/config/layer.h"

namespace skald {

struct Phi3Family {
  static constexpr std::string_view kModelType = "phi3";
  static constexpr Activation kActivation = Activation::kSilu;
  static constexpr float kNormEpsilon = 1e-5f;
  static constexpr RopeSpec kRope = {.base = 10000.0};
  static constexpr bool kTiedEmbeddings = false;
};

/// https://huggingface.co/microsoft/Phi-3-mini-4k-instruct
struct Phi3_Mini_4K : Phi3Family {
  static constexpr std::string_view kName = "phi3-mini-4k";
  static constexpr int kModelDim = 3072, kFeedForwardDim = 8192, kVocabSize = 32064;
  static constexpr int kHeads = 32, kKVHeads = 32, kHeadDim = 96;
  static constexpr auto kLayers = RepeatLayers<32>({LayerKind::kSlidingAttention});
  static constexpr int kWindow = 2047;
};

/// https://huggingface.co/microsoft/Phi-4-mini-instruct
struct Phi4_Mini : Phi3Family {
  static constexpr std::string_view kName = "phi4-mini";
  static constexpr int kModelDim = 3072, kFeedForwardDim = 8192, kVocabSize = 200064;
  static constexpr int kHeads = 24, kKVHeads = 8, kHeadDim = 128, kRotaryDim = 96;
  static constexpr auto kLayers = RepeatLayers<32>({LayerKind::kSlidingAttention});
  static constexpr int kWindow = 262144;
  static constexpr bool kTiedEmbeddings = true;
  static constexpr RopeSpec kRope = {.base = 10000.0,
                                     .scaling = RopeScaling::kLongRope,
                                     .original_context = 4096.0,
                                     .attention_factor = 1.19023807f};  // sqrt(1 + ln(131072 / 4096) / ln(4096))
  static constexpr std::array<float, 48> kRopeFactors = {
      1.0f,         1.118320672f, 1.250641126f, 1.398617824f, 1.564103225f, 1.74916897f,  1.956131817f, 2.187582649f,
      2.446418898f, 2.735880826f, 3.059592084f, 3.421605075f, 3.826451687f, 4.279200023f, 4.785517845f, 5.351743533f,
      5.984965424f, 6.693110555f, 7.485043894f, 8.370679318f, 9.36110372f,  10.4687158f,  11.70738129f, 13.09260651f,
      14.64173252f, 16.37415215f, 18.31155283f, 20.47818807f, 22.90118105f, 25.61086418f, 28.64115884f, 32.03f,
      32.1f,        32.13f,       32.23f,       32.6f,        32.61f,       32.64f,       32.66f,       32.7f,
      32.71f,       32.93f,       32.97f,       33.28f,       33.49f,       33.5f,        44.16f,       47.77f};
  static constexpr std::array<float, 48> kShortRopeFactors = [] {
    std::array<float, 48> ones;
    ones.fill(1.0f);
    return ones;
  }();
};

}  // namespace skald

#endif  // SKALD_FAMILIES_PHI3_PHI3_H_
