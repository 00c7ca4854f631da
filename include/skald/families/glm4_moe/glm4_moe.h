// SPDX-License-Identifier: Apache-2.0
//
// The family of GLM-4.5, 4.6 and 4.7 (arXiv:2508.06471): attention with biases and, in the larger models, queries and
// keys normalised per head, RoPE of a part of each head; the experts of DeepSeek-V3.

#ifndef SKALD_FAMILIES_GLM4_MOE_GLM4_MOE_H_
#define SKALD_FAMILIES_GLM4_MOE_GLM4_MOE_H_

#include <string_view>

#include "skald/families/config/layer.h"

namespace skald {

struct Glm4MoeFamily {
  static constexpr std::string_view kModelType = "glm4_moe";
  static constexpr Activation kActivation = Activation::kSilu;
  static constexpr float kNormEpsilon = 1e-5f;
  static constexpr bool kQKVBias = true;
  static constexpr bool kTiedEmbeddings = false;
};

}  // namespace skald

#endif  // SKALD_FAMILIES_GLM4_MOE_GLM4_MOE_H_
