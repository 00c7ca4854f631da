// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/base/json/json_tree.h.

#ifndef SKALD_BASE_JSON_DETAIL_JSON_TREE_H_
#define SKALD_BASE_JSON_DETAIL_JSON_TREE_H_

#include "skald/base/json/json_tree.h"

#include "skald/base/inline.h"

namespace skald {

namespace internal {

SKALD_INLINE void Dismantle(nlohmann::json& value) noexcept {
  if (!value.is_structured()) return;
  for (nlohmann::json& part : value) Dismantle(part);
  value.clear();
}

}  // namespace internal
}  // namespace skald

#endif  // SKALD_BASE_JSON_DETAIL_JSON_TREE_H_
