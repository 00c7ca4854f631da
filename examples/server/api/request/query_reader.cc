// SPDX-License-Identifier: Apache-2.0

#include "server/api/request/query_reader.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>
#include <system_error>
#include <utility>

namespace skald::serve {
namespace {

// The text that is written with percent and plus signs in an address.
std::string DecodedText(std::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned byte = 0;
    const char* const digits = text.data() + i + 1;
    if (text[i] == '%' && i + 2 < text.size() && std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2) {
      decoded += static_cast<char>(byte);
      i += 2;
    } else {
      decoded += text[i] == '+' ? ' ' : text[i];
    }
  }
  return decoded;
}

Json ValueOf(std::string text) {
  if (text == "true" || text == "false") return text == "true";
  int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, number);
  if (error == std::errc() && last == end) return number;
  return text;
}

void AddValue(Json value, bool is_list, Json& place) {
  if (place.is_null()) {
    place = is_list ? Json::array({std::move(value)}) : std::move(value);
    return;
  }
  if (!place.is_array()) place = Json::array({std::move(place)});
  place.push_back(std::move(value));
}

}  // namespace

Json QueryJson(std::string_view query) {
  Json json = Json::object();
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(pair.size() + 1, query.size()));
    const size_t equals = std::min(pair.find('='), pair.size());
    std::string name = DecodedText(pair.substr(0, equals));
    if (name.empty()) continue;
    const bool is_list = name.ends_with("[]");
    if (is_list) name.resize(name.size() - 2);
    AddValue(ValueOf(DecodedText(pair.substr(std::min(equals + 1, pair.size())))), is_list, json[name]);
  }
  return json;
}

}  // namespace skald::serve
