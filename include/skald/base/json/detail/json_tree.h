// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/base/json/json_tree.h.

#ifndef SKALD_BASE_JSON_DETAIL_JSON_TREE_H_
#define SKALD_BASE_JSON_DETAIL_JSON_TREE_H_

#include "skald/base/json/json_tree.h"

#include "skald/base/inline.h"

namespace skald {

namespace internal {

template <class Tree>
void DismantleTree(Tree& value) noexcept {
  if (!value.is_structured()) return;
  for (Tree& part : value) DismantleTree(part);
  value.clear();
}

SKALD_INLINE void Dismantle(nlohmann::json& value) noexcept { DismantleTree(value); }
SKALD_INLINE void Dismantle(nlohmann::ordered_json& value) noexcept { DismantleTree(value); }

}  // namespace internal
}  // namespace skald

#endif  // SKALD_BASE_JSON_DETAIL_JSON_TREE_H_
