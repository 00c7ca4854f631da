// SPDX-License-Identifier: Apache-2.0
//
// The tokenizer of Gemma 4's GGUF files: merges of characters over whole texts, spaces as a symbol, and byte pieces.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "doctest/doctest.h"
#include "skald/tokenizers/tokenizer.h"
#include "skald/weights/files/gguf.h"
#include "tests/support/gguf_writer.h"

namespace skald {
namespace gguf_gemma4_test {

using Ids = std::vector<int32_t>;

// Ids 0 to 3 are markers, 4 and 5 the bytes of "\u00e9", then letters and what they merge to.
Tokenizer SmallTokenizer() {
  nlohmann::json metadata = {{"tokenizer.ggml.model", "gemma4"},
                             {"tokenizer.ggml.tokens",
                              {"<pad>", "<eos>", "<bos>", "<unk>", "<0xC3>", "<0xA9>", "a", "b", "\n", "\u2581", "ab",
                               "b\u2581", "\n\n", "\u2581ab", "<turn|>", "<|tool_call>"}},
                             {"tokenizer.ggml.token_type", {3, 3, 3, 3, 6, 6, 1, 1, 1, 1, 1, 1, 1, 1, 3, 4}},
                             {"tokenizer.ggml.merges", {"\n \n", "b \u2581", "a b", "\u2581 ab"}},
                             {"tokenizer.ggml.bos_token_id", 2},
                             {"tokenizer.ggml.eos_token_id", 1},
                             {"tokenizer.ggml.unknown_token_id", 3},
                             {"tokenizer.ggml.add_bos_token", false}};
  const std::string image = testing::GgufImage(testing::GgufValuesOf(metadata), {});
  const auto contents = ParseGguf("file", std::as_bytes(std::span(image)));
  REQUIRE(contents);
  auto tokenizer = Tokenizer::Load(contents->metadata);
  REQUIRE_MESSAGE(tokenizer.has_value(), tokenizer.error().message);
  return *std::move(tokenizer);
}

Ids Encoded(std::string_view text, ParseSpecial parse_special = ParseSpecial::kNo) {
  const auto ids = SmallTokenizer().Encode(text, parse_special, AddSpecial::kYes);
  REQUIRE(ids);
  return *ids;
}

TEST_CASE("merges go over the spaces of a text, which begins with BOS whatever the file says") {
  CHECK(Encoded("ab") == Ids{2, 10});
  CHECK(Encoded("ab ab") == Ids{2, 6, 11, 10});  // "b" and the space merge first
  CHECK(Encoded("a ab") == Ids{2, 6, 13});
  CHECK(Encoded("a\n\nb\n") == Ids{2, 6, 12, 7, 8});
}

TEST_CASE("letters without a piece become byte pieces, and come back from them") {
  const std::string text = "a \u00e9b\n\n ab";
  const Ids ids = Encoded(text);
  CHECK(ids == Ids{2, 6, 9, 4, 5, 7, 12, 13});
  const auto decoded = SmallTokenizer().Decode(ids);
  REQUIRE(decoded);
  CHECK(*decoded == text);
}

TEST_CASE("user-defined pieces are always parsed, those that steer only where asked for") {
  CHECK(Encoded("a<|tool_call>b") == Ids{2, 6, 15, 7});
  CHECK(Encoded("a<turn|>", ParseSpecial::kYes) == Ids{2, 6, 14});
}

}  // namespace gguf_gemma4_test
}  // namespace skald
