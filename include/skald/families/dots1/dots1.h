// SPDX-License-Identifier: Apache-2.0
//
// The family of dots.llm1 (arXiv:2506.05767): queries and keys normalised per head, the experts of DeepSeek-V3.

#ifndef SKALD_FAMILIES_DOTS1_DOTS1_H_
#define SKALD_FAMILIES_DOTS1_DOTS1_H_

#include <string_view>

#include "skald/families/config/layer.h"

namespace skald {

struct Dots1Family {
  static constexpr std::string_view kModelType = "dots1";
  static constexpr Activation kActivation = Activation::kSilu;
  static constexpr float kNormEpsilon = 1e-6f;
  static constexpr bool kQKNorm = true;
  static constexpr bool kTiedEmbeddings = false;
};

}  // namespace skald

#endif  // SKALD_FAMILIES_DOTS1_DOTS1_H_
