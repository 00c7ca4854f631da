// SPDX-License-Identifier: Apache-2.0
//
// The family of GTE v1.5 and GTE multilingual (arXiv:2407.19669): an encoder as Nomic Embed, with biases.

#ifndef SKALD_FAMILIES_GTE_GTE_H_
#define SKALD_FAMILIES_GTE_GTE_H_

#include <string_view>

#include "skald/families/nomic_bert/nomic_bert.h"

namespace skald {

/// Its sizes are NomicBertSizes, its spec is NomicBertSpec.
struct GteFamily {
  static constexpr std::string_view kModelType = "gte";
};

}  // namespace skald

#endif  // SKALD_FAMILIES_GTE_GTE_H_
