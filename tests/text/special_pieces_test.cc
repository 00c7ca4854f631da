// SPDX-License-Identifier: Apache-2.0

#include "skald/text/special_pieces.h"

#include "doctest/doctest.h"

namespace skald {
namespace {

SpecialPieces Example() {
  SpecialPieces pieces;
  pieces.Add({"<s>", 1, {}});
  pieces.Add({"<start>", 2, {7, 8}});
  pieces.Add({"[INST]", 3, {}});
  pieces.Add({"<st", 4, {9}});
  return pieces;
}

TEST_CASE("the longest special piece at the start of a text is found") {
  const SpecialPieces pieces = Example();
  CHECK(pieces.AtStartOf("<start>x")->id == 2);
  CHECK(pieces.AtStartOf("<start")->id == 4);
  CHECK(pieces.AtStartOf("<s>")->id == 1);
  CHECK(pieces.AtStartOf("[INST][INST]")->id == 3);
}

TEST_CASE("no special piece is found inside of a text, in a part of a name or in nothing") {
  const SpecialPieces pieces = Example();
  CHECK(pieces.AtStartOf("x<s>") == nullptr);
  CHECK(pieces.AtStartOf("<s") == nullptr);
  CHECK(pieces.AtStartOf("") == nullptr);
  CHECK(SpecialPieces().AtStartOf("<s>") == nullptr);
}

TEST_CASE("names are looked up as a whole") {
  const SpecialPieces pieces = Example();
  CHECK(pieces.Named("<st")->id == 4);
  CHECK(pieces.Named("<sta") == nullptr);
  CHECK(pieces.Named("") == nullptr);
}

TEST_CASE("only pieces that texts can contain have to be spelled out") {
  const SpecialPieces pieces = Example();
  CHECK(pieces.ToSpellOut(2)->spelled_out == std::vector<int32_t>{7, 8});
  CHECK(pieces.ToSpellOut(1) == nullptr);
  CHECK(pieces.ToSpellOut(7) == nullptr);
}

}  // namespace
}  // namespace skald
