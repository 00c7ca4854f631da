// SPDX-License-Identifier: Apache-2.0
//
// The family of Ling and Ring. 2.0 (https://github.com/inclusionAI/Ling-V2): queries and keys normalised per head, RoPE
// of half of each head, the experts of DeepSeek-V3. The first models (https://github.com/inclusionAI/Ling) have the
// attention of Llama and experts weighed by a softmax.

#ifndef SKALD_FAMILIES_BAILING_MOE_BAILING_MOE_H_
#define SKALD_FAMILIES_BAILING_MOE_BAILING_MOE_H_

#include <string_view>

#include "skald/families/config/layer.h"

namespace skald {

struct BailingMoeFamily {
  static constexpr std::string_view kModelType = "bailing_moe";
  static constexpr Activation kActivation = Activation::kSilu;
  static constexpr float kNormEpsilon = 1e-6f;
  static constexpr bool kQKNorm = true;
  static constexpr bool kTiedEmbeddings = false;
};

/// The first Ling and Ring, under the same name.
struct FirstBailingMoeFamily : BailingMoeFamily {
  static constexpr bool kQKNorm = false;
};

}  // namespace skald

#endif  // SKALD_FAMILIES_BAILING_MOE_BAILING_MOE_H_
