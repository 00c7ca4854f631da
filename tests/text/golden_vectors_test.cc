// SPDX-License-Identifier: Apache-2.0
//
// Ids and texts recorded with other programs: SentencePiece's own tools and Python binding, and
// llama.cpp.

#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "skald/tokenizers/stream_decoder.h"
#include "skald/tokenizers/tokenizer.h"
#include "tests/support/test_data.h"
#include "tests/text/test_tokenizers.h"

namespace skald {
namespace golden_vectors_test {

std::string FromHex(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

std::string StreamedText(const Tokenizer& tokenizer, const std::vector<int32_t>& ids) {
  StreamDecoder decoder(tokenizer);
  std::string text;
  for (const int32_t id : ids) text += *decoder.Push(id);
  return text + decoder.Flush();
}

TEST_CASE("recorded vectors of a byte-pair and a unigram model are reproduced") {
  for (const std::string name : {"bpe", "unigram"}) {
    CAPTURE(name);
    const Tokenizer tokenizer = LoadTokenizer(GoldenPath("tokenizers/" + name + ".model"));
    const auto vectors = nlohmann::json::parse(ReadBytes(GoldenPath("tokenizers/" + name + ".vectors.json")));
    CHECK(tokenizer.vocab_size() == vectors["vocab_size"].get<size_t>());
    CHECK(tokenizer.bos_id().value_or(-1) == vectors["bos_id"].get<int32_t>());
    CHECK(tokenizer.eos_id().value_or(-1) == vectors["eos_id"].get<int32_t>());
    CHECK(tokenizer.unk_id().value_or(-1) == vectors["unk_id"].get<int32_t>());
    CHECK(tokenizer.pad_id().value_or(-1) == vectors["pad_id"].get<int32_t>());
    REQUIRE(vectors["encode"].size() > 40);
    for (const auto& vector : vectors["encode"]) {
      const std::string hex = vector["hex"];
      CAPTURE(hex);
      CHECK(MustEncode(tokenizer, FromHex(hex)) == vector["ids"].get<std::vector<int32_t>>());
    }
    REQUIRE(vectors["decode"].size() > 40);
    for (const auto& vector : vectors["decode"]) {
      const auto ids = vector["ids"].get<std::vector<int32_t>>();
      CAPTURE(ids);
      CHECK(MustDecode(tokenizer, ids) == FromHex(vector["hex"]));
      CHECK(StreamedText(tokenizer, ids) == FromHex(vector["hex"]));
    }
  }
}

TEST_CASE("the vectors of llama.cpp for the tokenizer of Llama 2 are reproduced") {
  const auto folder = TestDataPath("models/tokenizers");
  if (!folder) return;
  const Tokenizer tokenizer = LoadTokenizer(*folder / "llama2.model");
  CHECK(tokenizer.vocab_size() == 32000);

  const std::string separator = "\n__ggml_vocab_test__\n";
  std::string texts = ReadBytes(*folder / "llama2.inp");
  std::istringstream lines(ReadBytes(*folder / "llama2.out"));
  size_t cases = 0;
  for (std::string line; std::getline(lines, line); ++cases) {
    CAPTURE(cases);
    const size_t end = texts.find(separator);
    REQUIRE(end != std::string::npos);
    const std::string text = texts.substr(0, end);
    texts.erase(0, end + separator.size());
    std::istringstream numbers(line);
    std::vector<int32_t> expected;
    for (int32_t id; numbers >> id;) expected.push_back(id);
    CHECK(MustEncode(tokenizer, text) == expected);
    CHECK(MustDecode(tokenizer, expected) == text);
    CHECK(StreamedText(tokenizer, expected) == text);
  }
  CHECK(cases >= 46);
  CHECK(texts.empty());
}

TEST_CASE(
    "the tokenizer of stories260K has the vocabulary of its model and BOS, EOS where Llama has "
    "them") {
  const Tokenizer tokenizer = LoadTokenizer(GoldenPath("stories260K/tokenizer.model"));
  CHECK(CheckVocabulary(tokenizer, 512).has_value());
  CHECK(tokenizer.vocab_size() == 512);
  CHECK(tokenizer.bos_id() == 1);
  CHECK(tokenizer.eos_id() == 2);
  const std::string text = "Once upon a time, there was a little girl named Lily. \xF0\x9F\x98\x80\n";
  const std::vector<int32_t> ids = MustEncode(tokenizer, text);
  CHECK(MustDecode(tokenizer, ids) == text);
  CHECK(StreamedText(tokenizer, ids) == text);
}

}  // namespace golden_vectors_test
}  // namespace skald
