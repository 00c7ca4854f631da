// SPDX-License-Identifier: Apache-2.0
//
// The family of Llama 4, its text (https://ai.meta.com/blog/llama-4-multimodal-intelligence): most layers see the
// tokens of their own chunk alone, the others have no RoPE and queries that grow with their position; experts compute
// rows that are weighed before them, beside a shared one.

#ifndef SKALD_FAMILIES_LLAMA4_LLAMA4_H_
#define SKALD_FAMILIES_LLAMA4_LLAMA4_H_

#include <string_view>

#include "skald/families/config/layer.h"

namespace skald {

struct Llama4Family {
  static constexpr std::string_view kModelType = "llama4_text";
  static constexpr Activation kActivation = Activation::kSilu;
  static constexpr float kNormEpsilon = 1e-5f;
  static constexpr bool kInterleavedRope = true;
  static constexpr RopeSpec kRope = {.base = 500000.0};
  static constexpr bool kTiedEmbeddings = false;
};

}  // namespace skald

#endif  // SKALD_FAMILIES_LLAMA4_LLAMA4_H_
