// SPDX-License-Identifier: Apache-2.0
//
// Vocabularies as filters need them: what each token writes, and a tree of all.

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "doctest/doctest.h"
#include "skald/constraints/gbnf.h"
#include "skald/constraints/grammar_filter.h"
#include "skald/constraints/json_schema.h"
#include "skald/constraints/token_vocabulary.h"
#include "skald/tokenizers/detail/utf8_repair.h"
#include "tests/text/filters/small_vocabulary.h"
#include "tests/text/test_tokenizers.h"

namespace skald {
namespace token_vocabulary_test {

using namespace filter_tests;  // NOLINT: of this file only

TEST_CASE("What each piece writes, joined, is what decoding writes") {
  std::vector<Tokenizer> tokenizers;
  for (const char* const name : kTestTokenizers) tokenizers.push_back(TestTokenizer(name));
  tokenizers.push_back(LoadTokenizer(RepositoryPath("tests/text/data/byte_level")));
  for (const Tokenizer& tokenizer : tokenizers) {
    const SharedVocabulary vocabulary = TokenVocabulary::Make(tokenizer).value();
    CHECK(vocabulary->size() == tokenizer.vocab_size());
    REQUIRE(tokenizer.eos_id());
    CHECK(vocabulary->IsEnd(*tokenizer.eos_id()));
    std::mt19937 random(1);
    for (int round = 0; round < 200; ++round) {
      // After a word, so that no leading space is dropped.
      std::vector<int32_t> ids = MustEncode(tokenizer, "word");
      std::string text = MustDecode(tokenizer, ids), bytes = text;
      for (int i = 0; i < 20; ++i) {
        const auto id = static_cast<int32_t>(random() % tokenizer.vocab_size());
        const std::string_view written = vocabulary->BytesOf(id);
        if (written.empty() || internal::ValidUtf8Prefix(written) != written.size()) continue;
        ids.push_back(id);
        bytes += written;
      }
      CHECK(MustDecode(tokenizer, ids) == bytes);
    }
    for (const char* const special : {"<s>", "</s>", "<unk>", "<start_of_turn>"}) {
      if (const std::optional<int32_t> id = tokenizer.SpecialId(special)) CHECK(vocabulary->BytesOf(*id).empty());
    }
  }
}

TEST_CASE("A real vocabulary writes JSON that decodes to the filter's text") {
  const Tokenizer tokenizer = LoadTokenizer(RepositoryPath("tests/text/data/byte_level"));
  GrammarFilter filter = Compiled(
      ParseJsonSchema(R"({"type":"object","properties":{"the":{"type":"string","maxLength":30},)"
                      R"("n":{"type":"integer","maximum":99}},"required":["the","n"],"additionalProperties":false})"),
      TokenVocabulary::Make(tokenizer).value());
  std::mt19937 random(2);
  std::vector<int32_t> ids;
  while (!filter.has_ended()) {
    const std::span<const uint64_t> allowed = Allowed(filter);
    const auto id = static_cast<int32_t>(random() % tokenizer.vocab_size());
    if (!IsAllowed(allowed, id)) continue;
    REQUIRE(filter.Accept(id));
    ids.push_back(id);
  }
  const std::string text = MustDecode(tokenizer, ids);
  CAPTURE(text);
  const nlohmann::json value = nlohmann::json::parse(text, nullptr, false);
  REQUIRE(value.is_object());
  CHECK(value["the"].is_string());
  CHECK(value["n"] <= 99);
}

TEST_CASE("Vocabularies: a tree of their tokens, and errors") {
  CHECK(Has(TokenVocabulary::From({"a"}, std::array{1}).error().message,
            "end token 1 is outside of the vocabulary of 1"));
  const SharedVocabulary vocabulary = TokenVocabulary::From({"ab", "", "a", "ab", "b", "end"}, std::array{5}).value();
  const uint32_t root = vocabulary->root(TokenVocabulary::Kind::kWord);
  REQUIRE(root == 0);  // all are words
  REQUIRE(vocabulary->nodes() == 6);
  CHECK(vocabulary->node(root).end == 4);
  CHECK(std::ranges::equal(vocabulary->TokensOf(root + 1), std::array{2}));
  CHECK(std::ranges::equal(vocabulary->TokensOf(root + 2), std::array{0, 3}));
  CHECK(vocabulary->node(root + 1).end == root + 3);
  CHECK(vocabulary->node(root + 3).byte == 'b');
  CHECK(std::ranges::equal(vocabulary->TokensBehind(root + 1), std::array{0, 3}));
  CHECK(vocabulary->UpTo(TokenVocabulary::Kind::kWord, 1)[0] == 0b010100);
  CHECK(vocabulary->UpTo(TokenVocabulary::Kind::kWord, 2)[0] == 0b011101);
  CHECK(vocabulary->longest() == 2);
  GrammarFilter filter = Compiled(ParseGbnf("root ::= \"ab\"*"), vocabulary);
  CHECK(Allowed(filter)[0] == 0b101101);
  REQUIRE(filter.Accept(2));
  CHECK(Allowed(filter)[0] == 0b010000);
  // A vocabulary that cannot go on: no bit.
  GrammarFilter stuck = Compiled(ParseGbnf("root ::= \"ac\""), vocabulary);
  REQUIRE(stuck.Accept(2));
  CHECK(Allowed(stuck)[0] == 0);
}

}  // namespace token_vocabulary_test
}  // namespace skald
