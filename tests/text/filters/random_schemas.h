// SPDX-License-Identifier: Apache-2.0
//
// Random JSON Schemas of the supported subset, and a random model that writes what a filter allows.

#ifndef SKALD_TESTS_TEXT_FILTERS_RANDOM_SCHEMAS_H_
#define SKALD_TESTS_TEXT_FILTERS_RANDOM_SCHEMAS_H_

#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "doctest/doctest.h"
#include "skald/constraints/grammar_filter.h"
#include "tests/text/filters/small_vocabulary.h"

namespace skald {
namespace filter_tests {

class RandomSchemas {
 public:
  explicit RandomSchemas(uint32_t seed) : random_(seed) {}

  nlohmann::ordered_json Make() {
    nlohmann::ordered_json schema = Schema(0);
    if (schema.contains("$ref")) schema = Object(0);
    schema["$defs"]["leaf"] = Leaf();
    schema["$defs"]["tree"] = {{"type", "object"},
                               {"properties",
                                {{"value", {{"$ref", "#/$defs/leaf"}}},
                                 {"next", {{"anyOf", {{{"$ref", "#/$defs/tree"}}, {{"type", "null"}}}}}},
                                 {"all", {{"type", "array"}, {"items", {{"$ref", "#/$defs/tree"}}}, {"maxItems", 2}}}}},
                               {"required", {"next"}},
                               {"additionalProperties", false}};
    return schema;
  }

 private:
  using Json = nlohmann::ordered_json;

  int Below(int bound) { return static_cast<int>(random_() % static_cast<uint32_t>(bound)); }
  bool Coin() { return Below(2) == 0; }

  Json Schema(int depth) {
    switch (Below(depth > 3 ? 5 : 11)) {
      case 5:
        return {{"anyOf", Json::array({Schema(depth + 1), Schema(depth + 1)})}};
      case 6:
      case 7:
        return Array(depth);
      case 8:
        return {{"$ref", Coin() ? "#/$defs/leaf" : "#/$defs/tree"}};
      case 9:
      case 10:
        return Object(depth);
      default:
        return Leaf();
    }
  }

  Json Leaf() {
    static const char* const kTypes[] = {"string", "integer", "number", "boolean", "null"};
    switch (Below(8)) {
      case 0:
        return {{"enum", Json::array({"a", 1, 2.5, nullptr, true, "q\"\\\n", Json::array({1, "x"})})}};
      case 1:
        return {{"const", Coin() ? Json("only\t") : Json(-7)}};
      case 2:
        return {{"type", Json::array({"null", kTypes[Below(4)]})}};
      case 3:
        return Number();
      case 4:
        return String();
      case 5:
        return Coin() ? Json::object() : Json{{"type", "object"}};
      default:
        return {{"type", kTypes[Below(5)]}};
    }
  }

  Json Number() {
    Json schema = {{"type", Coin() ? "integer" : "number"}};
    const double low = Below(2000) - 1000, high = low + 1 + Below(500);
    const double shift = schema["type"] == "number" && Coin() ? 0.125 : 0;
    if (Coin()) schema[Coin() ? "minimum" : "exclusiveMinimum"] = low + shift;
    if (Coin()) schema[Coin() ? "maximum" : "exclusiveMaximum"] = high + 8 + shift;
    static const double kMultiples[] = {1, 2, 3, 7, 0.5, 0.25, 2.5};
    if (Below(3) == 0) schema["multipleOf"] = kMultiples[Below(7)];
    return schema;
  }

  Json String() {
    static const char* const kPatterns[] = {"^[a-z]{2,5}$", "x+y?",         "^(foo|bar)-\\d{1,3}$",
                                            "[^\"a-f]$",    "^\\w+\\.\\w+", "a|^b$",
                                            "^$",           "\\\\[nt]",     "^[\\u00e0-\\u00ff]{1,3}$"};
    static const char* const kFormats[] = {"date",     "time", "date-time", "duration", "email",
                                           "hostname", "ipv4", "ipv6",      "uuid"};
    Json schema = {{"type", "string"}};
    switch (Below(3)) {
      case 0:
        schema["pattern"] = kPatterns[Below(9)];
        break;
      case 1:
        schema["format"] = kFormats[Below(9)];
        break;
      default:
        if (Coin()) schema["minLength"] = Below(4);
        if (Coin()) schema["maxLength"] = 4 + Below(6);
    }
    return schema;
  }

  Json Array(int depth) {
    Json schema = {{"type", "array"}};
    if (Below(4) != 0) schema["items"] = Schema(depth + 1);
    if (Coin()) schema["minItems"] = Below(3);
    if (Coin()) schema["maxItems"] = 2 + Below(3);
    return schema;
  }

  Json Object(int depth) {
    static const char* const kNames[] = {"name", "age", "a", "ab", "\xC3\xA9", "with \"quotes\"", "", "x\ny"};
    Json schema = {{"type", "object"}};
    Json properties = Json::object(), required = Json::array();
    for (const char* const name : kNames) {
      if (!Coin()) continue;
      properties[name] = Schema(depth + 1);
      if (Coin()) required.push_back(name);
    }
    schema["properties"] = std::move(properties);
    if (!required.empty() || Coin()) schema["required"] = std::move(required);
    if (Below(4) != 0)
      schema["additionalProperties"] = Below(3) == 0 ? Coin() ? Json(true) : Schema(depth + 1) : Json(false);
    return schema;
  }

  std::mt19937 random_;
};

// A model that knows nothing, and after `patience` tokens wants to come to an end.
class RandomModel {
 public:
  explicit RandomModel(uint32_t seed) : random_(seed) {}

  int32_t Choose(std::span<const uint64_t> allowed, bool hurries) {
    if (hurries && random_() % 4 == 0) {
      static const char* const kUseful[] = {"x", "a", "b", "n", ".", "-", "f", "@", "\\\\"};  // what patterns wait for
      const auto piece = std::find(Pieces().begin(), Pieces().end(), kUseful[random_() % std::size(kUseful)]);
      const auto id = static_cast<int32_t>(piece - Pieces().begin());
      if (IsAllowed(allowed, id)) return id;
    }
    if (hurries || random_() % 3 == 0) {
      constexpr std::string_view kEnds = "\"}]:0123456789n,";
      if (IsAllowed(allowed, End())) return End();
      for (const char c : kEnds) {
        if (IsAllowed(allowed, c) && (hurries || random_() % 2 == 0)) return c;
      }
    }
    std::vector<int32_t> ids;
    for (int32_t id = 0; id <= End(); ++id) {
      if (IsAllowed(allowed, id)) ids.push_back(id);
    }
    REQUIRE_FALSE(ids.empty());
    return ids[random_() % ids.size()];
  }

  std::string Write(GrammarFilter filter) {
    constexpr size_t kPatience = 150;
    std::string text;
    for (size_t tokens = 0; !filter.has_ended(); ++tokens) {
      REQUIRE_MESSAGE(tokens < 20'000, text.substr(0, 2000));
      const int32_t id = Choose(Allowed(filter), tokens > kPatience);
      REQUIRE(filter.Accept(id));
      if (id != End()) text += Pieces()[static_cast<size_t>(id)];
    }
    CHECK(filter.IsComplete());
    for (const uint64_t word : Allowed(filter)) CHECK(word == 0);
    return text;
  }

 private:
  std::mt19937 random_;
};

}  // namespace filter_tests
}  // namespace skald

#endif  // SKALD_TESTS_TEXT_FILTERS_RANDOM_SCHEMAS_H_
