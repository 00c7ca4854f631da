// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/families/published.h.

#ifndef SKALD_FAMILIES_DETAIL_PUBLISHED_H_
#define SKALD_FAMILIES_DETAIL_PUBLISHED_H_

#include "skald/families/published.h"

#include "skald/base/inline.h"
#include "skald/families/config/model_config.h"
#include "skald/families/detail/family_rows.h"
#include "skald/families/readers/detail/family_row.h"

namespace skald {

namespace internal {

// Each Config is checked by itself: all of a family's together take more steps than clang allows one evaluation.
template <ModelConfig Config>
void AddSpec(std::vector<NamedSpec>& models) {
  static_assert(CheckConfig<Config>());
  models.push_back(NamedSpecOf<Config>());
}

template <ModelConfig... Configs>
void AddSpecs(ConfigTypes<Configs...>, std::vector<NamedSpec>& models) {
  (AddSpec<Configs>(models), ...);
}

template <class... Rows>
void AddSpecs(RowTypes<Rows...>, std::vector<NamedSpec>& models) {
  (AddSpecs(typename Rows::Published(), models), ...);
}

}  // namespace internal

SKALD_INLINE std::vector<NamedSpec> PublishedModels() {
  std::vector<NamedSpec> models;
  internal::AddSpecs(internal::FamilyRows(), models);
  return models;
}

}  // namespace skald

#endif  // SKALD_FAMILIES_DETAIL_PUBLISHED_H_
