// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/families/readers/python_json.h.

#ifndef SKALD_FAMILIES_READERS_DETAIL_PYTHON_JSON_H_
#define SKALD_FAMILIES_READERS_DETAIL_PYTHON_JSON_H_

#include "skald/families/readers/python_json.h"

#include <array>
#include <cstddef>

#include "skald/base/inline.h"
#include "skald/base/json/json_tree.h"

namespace skald {

namespace internal {

SKALD_INLINE std::string QuoteBareNumbers(std::string_view text) {
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

SKALD_INLINE std::string ParsePythonJson(std::string_view text, nlohmann::json& root) {
  return ParseJson(QuoteBareNumbers(text), root);
}

}  // namespace internal
}  // namespace skald

#endif  // SKALD_FAMILIES_READERS_DETAIL_PYTHON_JSON_H_
