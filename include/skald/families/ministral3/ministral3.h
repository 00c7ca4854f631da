// SPDX-License-Identifier: Apache-2.0
//
// The Ministral 3 family (https://huggingface.co/mistralai/Ministral-3-3B-Base-2512): the layers of Mistral with YaRN,
// and queries that grow with their position beyond the context of the first training.

#ifndef SKALD_FAMILIES_MINISTRAL3_MINISTRAL3_H_
#define SKALD_FAMILIES_MINISTRAL3_MINISTRAL3_H_

#include <string_view>

#include "skald/families/mistral/mistral.h"

namespace skald {

struct Ministral3Family : MistralFamily {
  static constexpr std::string_view kModelType = "ministral3";
};

}  // namespace skald

#endif  // SKALD_FAMILIES_MINISTRAL3_MINISTRAL3_H_
