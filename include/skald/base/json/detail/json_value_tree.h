// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/base/json/json_value_tree.h.

#ifndef SKALD_BASE_JSON_DETAIL_JSON_VALUE_TREE_H_
#define SKALD_BASE_JSON_DETAIL_JSON_VALUE_TREE_H_

#include "skald/base/json/json_value_tree.h"

#include <utility>

#include "skald/base/inline.h"
#include "skald/base/json/detail/json_value.h"

namespace skald {

SKALD_INLINE nlohmann::ordered_json& TreeOf(JsonValue& value) { return internal::JsonTreeAccess::Of(value); }

SKALD_INLINE const nlohmann::ordered_json& TreeOf(const JsonValue& value) {
  return internal::JsonTreeAccess::Of(value);
}

SKALD_INLINE JsonValue JsonValueOf(nlohmann::ordered_json tree) {
  JsonValue value;
  TreeOf(value) = std::move(tree);
  return value;
}

}  // namespace skald

#endif  // SKALD_BASE_JSON_DETAIL_JSON_VALUE_TREE_H_
