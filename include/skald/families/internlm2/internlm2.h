// SPDX-License-Identifier: Apache-2.0
//
// The family of InternLM 2 and 2.5 (arXiv:2403.17297): the layers of Llama, with rows of queries, keys and values in
// one tensor, group by group.

#ifndef SKALD_FAMILIES_INTERNLM2_INTERNLM2_H_
#define SKALD_FAMILIES_INTERNLM2_INTERNLM2_H_

#include <string_view>

#include "skald/families/config/layer.h"

namespace skald {

struct InternLm2Family {
  static constexpr std::string_view kModelType = "internlm2";
  static constexpr Activation kActivation = Activation::kSilu;
  static constexpr float kNormEpsilon = 1e-5f;
  static constexpr RopeSpec kRope = {.base = 10000.0};
  static constexpr bool kTiedEmbeddings = false;
};

}  // namespace skald

#endif  // SKALD_FAMILIES_INTERNLM2_INTERNLM2_H_
