// SPDX-License-Identifier: Apache-2.0
//
// JSON as Python's json module writes it: infinity and NaN are bare words in it, which JSON does not have.

#ifndef SKALD_FAMILIES_READERS_PYTHON_JSON_H_
#define SKALD_FAMILIES_READERS_PYTHON_JSON_H_

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace skald::internal {

/// Returns `text` with the words Infinity, -Infinity and NaN that stand outside of strings made strings.
std::string QuoteBareNumbers(std::string_view text);

/// Parses the text into `root`, which its caller guards, with the words above as strings of the same letters, which
/// readers of numbers refuse. Returns as ParseJson does.
std::string ParsePythonJson(std::string_view text, nlohmann::json& root);

}  // namespace skald::internal

#ifndef SKALD_COMPILED
#include "skald/families/readers/detail/python_json.h"
#endif

#endif  // SKALD_FAMILIES_READERS_PYTHON_JSON_H_
