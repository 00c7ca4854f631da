// SPDX-License-Identifier: Apache-2.0
//
// The family of EuroBERT (arXiv:2503.05500): Llama whose attention sees both ways.

#ifndef SKALD_FAMILIES_EUROBERT_EUROBERT_H_
#define SKALD_FAMILIES_EUROBERT_EUROBERT_H_

#include <string_view>

#include "skald/families/config/layer.h"

namespace skald {

struct EuroBertFamily {
  static constexpr std::string_view kModelType = "eurobert";
  static constexpr Activation kActivation = Activation::kSilu;
  static constexpr float kNormEpsilon = 1e-5f;
  static constexpr RopeSpec kRope = {.base = 250000.0};
  static constexpr bool kTiedEmbeddings = true;
  static constexpr bool kBothWays = true;
};

}  // namespace skald

#endif  // SKALD_FAMILIES_EUROBERT_EUROBERT_H_
