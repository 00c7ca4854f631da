// SPDX-License-Identifier: Apache-2.0
//
// The tree of nlohmann-json inside a JsonValue, for programs that use that library too.

#ifndef SKALD_BASE_JSON_JSON_VALUE_TREE_H_
#define SKALD_BASE_JSON_JSON_VALUE_TREE_H_

#include <nlohmann/json.hpp>

#include "skald/base/json/json_value.h"

namespace skald {

/// Returns the tree of a value, which lives as long as the value and may be changed in place. Throws std::bad_alloc.
nlohmann::ordered_json& TreeOf(JsonValue& value);

/// Returns the tree of a value, which lives as long as the value.
const nlohmann::ordered_json& TreeOf(const JsonValue& value);

/// Returns the value that a tree is. Throws std::bad_alloc.
JsonValue JsonValueOf(nlohmann::ordered_json tree);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/base/json/detail/json_value_tree.h"
#endif

#endif  // SKALD_BASE_JSON_JSON_VALUE_TREE_H_
