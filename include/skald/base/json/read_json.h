// SPDX-License-Identifier: Apache-2.0
//
// The one place where JSON is parsed, whatever file, request or model it comes from: RFC 8259, without recursion, and
// within limits of depth, size and count that hold before memory is asked for.

#ifndef SKALD_BASE_JSON_READ_JSON_H_
#define SKALD_BASE_JSON_READ_JSON_H_

#include <cstddef>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace skald::internal {

/// What a text may be at most. Values are copied, printed and destroyed by functions that call themselves for each
/// level, so a depth must be one that every stack has room for.
struct JsonLimits {
  size_t bytes = size_t{1} << 30;
  size_t depth = 100;               ///< arrays and objects inside each other
  size_t values = size_t{1} << 24;  ///< values of all types, and names
  size_t names = size_t{1} << 24;   ///< of one object
};

/// Told of each part of a text while it is read. A function that returns false ends the reading.
using JsonEvents = nlohmann::json_sax<nlohmann::json>;

/// Reads `text` to its end, or until `events` returns false, or as far as it is JSON and keeps the limits. Returns
/// whether it was read to the end; if not, `complaint` continues a sentence about the text, and is empty where `events`
/// ended it.
/// It is json::sax_parse without the readers of five binary formats that come along there, 90 KB of code in every
/// program, and needs two names of nlohmann's that are not public.
bool ReadJson(std::string_view text, JsonEvents& events, std::string& complaint, const JsonLimits& limits = {});

}  // namespace skald::internal

#ifndef SKALD_COMPILED
#include "skald/base/json/detail/read_json.h"
#endif

#endif  // SKALD_BASE_JSON_READ_JSON_H_
