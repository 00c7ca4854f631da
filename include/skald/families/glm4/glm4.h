// SPDX-License-Identifier: Apache-2.0
//
// The family of GLM-4-0414 (https://huggingface.co/zai-org/GLM-4-9B-0414): norms before and after layers, RoPE of
// neighbours in half of each head.

#ifndef SKALD_FAMILIES_GLM4_GLM4_H_
#define SKALD_FAMILIES_GLM4_GLM4_H_

#include <string_view>

#include "skald/families/config/layer.h"

namespace skald {

struct Glm4Family {
  static constexpr std::string_view kModelType = "glm4";
  static constexpr Activation kActivation = Activation::kSilu;
  static constexpr float kNormEpsilon = 1.5625e-7f;
  static constexpr bool kPostNorms = true, kInterleavedRope = true;
  static constexpr bool kQKVBias = true;
  static constexpr bool kTiedEmbeddings = false;
};

}  // namespace skald

#endif  // SKALD_FAMILIES_GLM4_GLM4_H_
