// SPDX-License-Identifier: Apache-2.0

#include "skald/base/json/json_tree.h"

#include <string>
#include <string_view>

#include "doctest/doctest.h"

namespace skald {
namespace json_tree_test {

using internal::JsonLimits;
using internal::ParseJson;
using internal::RepeatedNames;
using nlohmann::json;
using nlohmann::ordered_json;

template <class Tree>
std::string ComplaintOf(std::string_view text, const JsonLimits& limits = {},
                        RepeatedNames same_names = RepeatedNames::kLastCounts) {
  Tree tree;
  return ParseJson(text, tree, limits, same_names);
}

TEST_CASE_TEMPLATE("a text becomes the value that nlohmann's own parser makes of it", Tree, json, ordered_json) {
  for (const std::string_view text :
       {"null", "true", "-7", "18446744073709551615", "1.5e3", "\"a\\u00e9\\n\"", "[]", "{}",
        R"({"b": [1, {"c": null}, [[], "x"]], "a": {"d": {"e": false}}, "": 0})", R"({"a": 1, "b": 2, "a": [3]})"}) {
    CAPTURE(text);
    Tree tree = "something else";
    CHECK(ParseJson(text, tree) == "");
    CHECK(tree.dump() == Tree::parse(text).dump());
  }
  for (const std::string_view text : {"", "{", "[1,]", "{} {}", "{'a': 1}", "\"\xff\"", "nul", "1e999", "[1 2]"}) {
    CAPTURE(text);
    CHECK(ComplaintOf<Tree>(text).starts_with("is not valid JSON from byte "));
  }
}

TEST_CASE_TEMPLATE("depth, size and count are limited, whatever comes behind", Tree, json, ordered_json) {
  const std::string deep(1'000'000, '['), end(1'000'000, ']');
  for (const std::string& text : {deep, deep + end, "{\"a\": [" + deep + end + "]}"}) {
    CHECK(ComplaintOf<Tree>(text) == "is nested deeper than 100 levels");
  }
  CHECK(ComplaintOf<Tree>(deep.substr(0, 100) + end.substr(0, 100)) == "");
  CHECK(ComplaintOf<Tree>("[[1]]", {.depth = 2}) == "");
  CHECK(ComplaintOf<Tree>("[[[1]]]", {.depth = 2}) == "is nested deeper than 2 levels");
  CHECK(ComplaintOf<Tree>("[1, 2, 3]", {.bytes = 8}) == "is larger than 8 bytes");
  CHECK(ComplaintOf<Tree>("[1, 2, 3]", {.values = 4}) == "");
  CHECK(ComplaintOf<Tree>("[1, 2, 3, 4]", {.values = 4}) == "has more than 4 values");
  CHECK(ComplaintOf<Tree>(R"([{"a": 1, "b": 2}, {"c": 3}])", {.names = 2}) == "");
  CHECK(ComplaintOf<Tree>(R"([{"a": 1, "b": 2}, {"c": 3}])", {.names = 1}) == "has an object of more than 1 names");
}

TEST_CASE_TEMPLATE("of two values of a name the last one counts, or the name is refused", Tree, json, ordered_json) {
  Tree tree;
  CHECK(ParseJson(R"({"a": [1, 2], "b": 3, "a": {"c": 4}})", tree) == "");
  CHECK(tree.dump() == R"({"a":{"c":4},"b":3})");
  CHECK(ComplaintOf<Tree>(R"({"a": 1, "b": {"a": 2}})", {}, RepeatedNames::kRefused) == "");
  CHECK(ComplaintOf<Tree>(R"({"b": {"a": 1, "a": 2}})", {}, RepeatedNames::kRefused) == "gives the name 'a' twice");
}

// A search through the names so far for each new one would take a quarter of an hour.
TEST_CASE("an object of 500,000 names is read in time that is linear in their number") {
  std::string text = "{";
  for (int i = 0; i < 500'000; ++i)
    text += (i == 0 ? "\"name" : ",\"name") + std::to_string(i) + "\":" + std::to_string(i);
  ordered_json tree;
  CHECK(ParseJson(text + "}", tree) == "");
  CHECK(tree.size() == 500'000);
  CHECK(tree.back() == 499'999);
}

}  // namespace json_tree_test
}  // namespace skald
