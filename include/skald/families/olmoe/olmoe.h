// SPDX-License-Identifier: Apache-2.0
//
// The OLMoE family (arXiv:2409.02060): the layers of Llama with experts, and with queries and keys normalised as whole
// projections.

#ifndef SKALD_FAMILIES_OLMOE_OLMOE_H_
#define SKALD_FAMILIES_OLMOE_OLMOE_H_

#include <string_view>

#include "skald/families/config/layer.h"

namespace skald {

struct OlmoeFamily {
  static constexpr std::string_view kModelType = "olmoe";
  static constexpr Activation kActivation = Activation::kSilu;
  static constexpr float kNormEpsilon = 1e-5f;
  static constexpr bool kQKProjectionNorm = true;
  static constexpr bool kTiedEmbeddings = false;
};

}  // namespace skald

#endif  // SKALD_FAMILIES_OLMOE_OLMOE_H_
