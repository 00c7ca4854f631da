// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/families/family_facts.h.

#ifndef SKALD_FAMILIES_DETAIL_FAMILY_FACTS_H_
#define SKALD_FAMILIES_DETAIL_FAMILY_FACTS_H_

#include "skald/families/family_facts.h"

#include <algorithm>

#include "skald/base/inline.h"
#include "skald/families/readers/detail/config_gguf.h"
#include "skald/families/readers/detail/config_json_transformer.h"
#include "skald/families/readers/detail/family_readers.h"

namespace skald {

SKALD_INLINE bool ReadsGguf(std::string_view model_type) {
  const auto is_it = [&](std::string_view type) { return type == model_type; };
  return std::ranges::any_of(internal::TransformerFamilies(), is_it,
                             [](const auto& family) { return family.implied.model_type; }) ||
         std::ranges::any_of(internal::kFamilyReaders, [&](const internal::FamilyReader& family) {
           return family.read_gguf != nullptr && is_it(family.model_type);
         });
}

}  // namespace skald

#endif  // SKALD_FAMILIES_DETAIL_FAMILY_FACTS_H_
