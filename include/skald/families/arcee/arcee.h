// SPDX-License-Identifier: Apache-2.0
//
// The family of Arcee's foundation models (https://huggingface.co/arcee-ai/AFM-4.5B): the layers of Llama, whose
// feed-forward layers have no gate and square what is positive.

#ifndef SKALD_FAMILIES_ARCEE_ARCEE_H_
#define SKALD_FAMILIES_ARCEE_ARCEE_H_

#include <string_view>

#include "skald/families/config/layer.h"

namespace skald {

struct ArceeFamily {
  static constexpr std::string_view kModelType = "arcee";
  static constexpr Activation kActivation = Activation::kReluSquared;
  static constexpr float kNormEpsilon = 1e-5f;
  static constexpr bool kTiedEmbeddings = false;
};

}  // namespace skald

#endif  // SKALD_FAMILIES_ARCEE_ARCEE_H_
