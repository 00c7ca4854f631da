// SPDX-License-Identifier: Apache-2.0
//
// The family of SmallThinker (arXiv:2507.20984): the experts of a layer are chosen before its attention, from the
// residual stream; their gates are of ReLU. Some layers have a window, others no RoPE.

#ifndef SKALD_FAMILIES_SMALLTHINKER_SMALLTHINKER_H_
#define SKALD_FAMILIES_SMALLTHINKER_SMALLTHINKER_H_

#include <string_view>

#include "skald/families/config/layer.h"

namespace skald {

struct SmallThinkerFamily {
  static constexpr std::string_view kModelType = "smallthinker";
  static constexpr float kNormEpsilon = 1e-6f;
  static constexpr RopeSpec kRope = {.base = 1000000.0};
  static constexpr bool kTiedEmbeddings = true;
};

}  // namespace skald

#endif  // SKALD_FAMILIES_SMALLTHINKER_SMALLTHINKER_H_
