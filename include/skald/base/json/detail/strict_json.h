// SPDX-License-Identifier: Apache-2.0
//
// JSON from an untrusted file: no name twice in one object, and no more levels than such files need.

#ifndef SKALD_BASE_JSON_DETAIL_STRICT_JSON_H_
#define SKALD_BASE_JSON_DETAIL_STRICT_JSON_H_

#include <cstddef>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "skald/base/json/json_tree.h"

namespace skald::internal {

/// Deeper than any file that is read here.
inline constexpr size_t kMaxStrictJsonDepth = 8;

/// Parses `text` into `root`, which its caller guards. Returns "" or a sentence fragment about the text.
inline std::string ParseStrictJson(std::string_view text, nlohmann::json& root) {
  return ParseJson(text, root, {.depth = kMaxStrictJsonDepth}, RepeatedNames::kRefused);
}

}  // namespace skald::internal

#endif  // SKALD_BASE_JSON_DETAIL_STRICT_JSON_H_
