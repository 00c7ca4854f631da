// SPDX-License-Identifier: Apache-2.0

#include "skald/tokenizers/detail/sentencepiece/special_pieces.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "doctest/doctest.h"

namespace skald {
namespace special_pieces_test {

SpecialPieces Example() {
  return SpecialPieces({{"<s>", 1, {}}, {"<start>", 2, {7, 8}}, {"[INST]", 3, {}}, {"<st", 4, {9}}});
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

TEST_CASE("the longest of names inside each other is found, whatever comes between them in order") {
  const SpecialPieces pieces({{"a", 1, {}}, {"aa", 2, {}}, {"aab", 3, {}}, {"aaba", 4, {}}, {"b", 5, {}}, {"", 6, {}}});
  const auto found = [&pieces](std::string_view text) {
    const SpecialPiece* const piece = pieces.AtStartOf(text);
    return piece == nullptr ? 0 : piece->id;
  };
  CHECK(found("aabb") == 3);
  CHECK(found("aabab") == 4);
  CHECK(found("aaa") == 2);
  CHECK(found("ab") == 1);
  CHECK(found("ba") == 5);
  CHECK(found("c") == 0);
  CHECK(found("A") == 0);
}

// With a search through all of them for each this would not come to an end.
TEST_CASE("300,000 pieces are as quick as a few") {
  std::vector<SpecialPiece> many;
  for (int32_t id = 0; id < 300'000; ++id) many.push_back({"<" + std::to_string(id) + ">", id, {id}});
  const SpecialPieces pieces(std::move(many));
  bool all = true;
  for (int32_t id = 0; id < 300'000; ++id) {
    const std::string name = "<" + std::to_string(id) + ">";
    all = all && pieces.Named(name)->id == id && pieces.AtStartOf(name + "x")->id == id &&
          pieces.ToSpellOut(id)->id == id;
  }
  CHECK(all);
}

TEST_CASE("what stands in brackets is a marker, unless it formats text") {
  for (const char* name : {"<unused7>", "<|x|>", "[multimodal]", "<2mass>", "<mask>", "<>", "[]", "</x>", "<//b>"}) {
    CHECK_MESSAGE(IsMarkerName(name), name);
  }
  for (const char* name : {"<h1>", "</table>", "<b>", "\n\n", "\xE2\x96\x81", "<", "[", "a<b>", "<b> "}) {
    CHECK_MESSAGE(!IsMarkerName(name), name);
  }
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

}  // namespace special_pieces_test
}  // namespace skald
