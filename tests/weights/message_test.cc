// SPDX-License-Identifier: Apache-2.0

#include "skald/base/text/message.h"

#include <cstdint>
#include <string>
#include <vector>

#include "doctest/doctest.h"

namespace skald {
namespace message_test {

TEST_CASE("Shapes are written as lists") {
  CHECK(ShapeText({}) == "[]");
  CHECK(ShapeText(std::vector<uint64_t>{7}) == "[7]");
  CHECK(ShapeText(std::vector<uint64_t>{256, 0, 2048}) == "[256, 0, 2048]");
}

TEST_CASE("Names from files are quoted, cut, and stripped of control characters") {
  CHECK(QuotedName("model.norm.weight") == "'model.norm.weight'");
  CHECK(QuotedName("a\x1b[2J\nb\x7f") == "'a?[2J?b?'");
  CHECK(QuotedName(std::string(160, 'n')) == "'" + std::string(160, 'n') + "'");
  CHECK(QuotedName(std::string(100'000, 'n')) == "'" + std::string(160, 'n') + "...'");
}

TEST_CASE("Concat joins its parts in order") {
  CHECK(Concat({}).empty());
  CHECK(Concat({"a", std::string("b"), "", "c"}) == "abc");
}

}  // namespace message_test
}  // namespace skald
