// SPDX-License-Identifier: Apache-2.0
//
// JSON as Python's json module writes it: infinity and NaN are bare words in it, which JSON does not have.

#ifndef SKALD_BASE_JSON_DETAIL_PYTHON_JSON_H_
#define SKALD_BASE_JSON_DETAIL_PYTHON_JSON_H_

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "skald/base/json/json_tree.h"

namespace skald::internal {

/// Returns `text` with the words Infinity, -Infinity and NaN that stand outside of strings made strings.
inline std::string QuoteBareNumbers(std::string_view text) {
  constexpr std::array<std::string_view, 3> kWords = {"-Infinity", "Infinity", "NaN"};
  std::string quoted;
  bool in_string = false;
  for (size_t i = 0; i < text.size();) {
    size_t length = 1;  // to be copied as it is
    if (in_string && text[i] == '\\' && i + 1 < text.size()) {
      length = 2;
    } else if (text[i] == '"') {
      in_string = !in_string;
    } else if (!in_string) {
      for (const std::string_view word : kWords) {
        if (!text.substr(i).starts_with(word)) continue;
        quoted.append(1, '"').append(word).append(1, '"');
        i += word.size();
        length = 0;
        break;
      }
    }
    quoted.append(text, i, length);
    i += length;
  }
  return quoted;
}

/// Parses the text into `root`, which its caller guards, with the words above as strings of the same letters, which
/// readers of numbers refuse. Returns as ParseJson does.
inline std::string ParsePythonJson(std::string_view text, nlohmann::json& root) {
  return ParseJson(QuoteBareNumbers(text), root);
}

}  // namespace skald::internal

#endif  // SKALD_BASE_JSON_DETAIL_PYTHON_JSON_H_
