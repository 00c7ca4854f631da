// SPDX-License-Identifier: Apache-2.0
//
// The family of Mistral Small 4 (https://huggingface.co/mistralai/Mistral-Small-4-119B-2603): the latent attention of
// DeepSeek-V3 with queries that grow with their position, and experts weighed by a softmax, with one that all rows
// share.

#ifndef SKALD_FAMILIES_MISTRAL4_MISTRAL4_H_
#define SKALD_FAMILIES_MISTRAL4_MISTRAL4_H_

#include <string_view>

#include "skald/families/deepseek_v3/deepseek_v3.h"

namespace skald {

struct Mistral4Family {
  static constexpr std::string_view kModelType = "mistral4";
  using Layers = DeepSeekV3Family::Layers;
};

}  // namespace skald

#endif  // SKALD_FAMILIES_MISTRAL4_MISTRAL4_H_
