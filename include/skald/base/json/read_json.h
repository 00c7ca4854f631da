// SPDX-License-Identifier: Apache-2.0
//
// The one place where JSON is parsed, from any file, request or model: RFC 8259, without recursion, and within limits
// of depth, size and count that are checked before memory is allocated.

#ifndef SKALD_BASE_JSON_READ_JSON_H_
#define SKALD_BASE_JSON_READ_JSON_H_

#include <cstddef>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace skald::internal {

/// Limits of a text. Values are copied, printed and destroyed by recursive functions, so the depth must fit on every
/// stack.
struct JsonLimits {
  size_t bytes = size_t{1} << 30;
  size_t depth = 100;               ///< nested arrays and objects
  size_t values = size_t{1} << 24;  ///< values of all types, and names
  size_t names = size_t{1} << 24;   ///< of one object
};

/// Receives each part of a text while it is read. A function that returns false ends the reading.
using JsonEvents = nlohmann::json_sax<nlohmann::json>;

/// Reads `text` to its end, or until `events` returns false or an error or limit is reached. Returns whether it was
/// read to
/// the end. If not, `complaint` is a sentence fragment about the text; it is empty if `events` ended the reading.
/// It is json::sax_parse without the readers of five binary formats, which are 90 KB of code in every program. It needs
/// two names of nlohmann's that are not public.
bool ReadJson(std::string_view text, JsonEvents& events, std::string& complaint, const JsonLimits& limits = {});

}  // namespace skald::internal

#ifndef SKALD_COMPILED
#include "skald/base/json/detail/read_json.h"
#endif

#endif  // SKALD_BASE_JSON_READ_JSON_H_
