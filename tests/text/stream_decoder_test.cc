// SPDX-License-Identifier: Apache-2.0

#include "skald/tokenizers/stream_decoder.h"
#include "skald/tokenizers/detail/text_of_id.h"

#include <array>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "tests/support/test_data.h"
#include "tests/text/test_tokenizers.h"

namespace skald {
namespace stream_decoder_test {

// A small generator with the same numbers everywhere (Marsaglia, "Xorshift RNGs", 2003).
class Random {
 public:
  explicit Random(uint32_t seed) : state_(seed * 2654435769u + 1) {}
  size_t Below(size_t bound) {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 17;
    state_ ^= state_ << 5;
    return state_ % bound;
  }

 private:
  uint32_t state_;
};

bool HasWholeCharactersOnly(std::string_view text) {
  while (!text.empty()) {
    const Utf8Character character = FirstUtf8Character(text);
    if (character.status != Utf8Status::kComplete) return false;
    text.remove_prefix(character.length);
  }
  return true;
}

// The result of each call, Flush last.
std::vector<std::string> Stream(const Tokenizer& tokenizer, const std::vector<int32_t>& ids) {
  StreamDecoder decoder(tokenizer);
  std::vector<std::string> parts;
  for (const int32_t id : ids) {
    const Result<std::string> part = decoder.Push(id);
    REQUIRE(part.has_value());
    parts.push_back(*part);
  }
  parts.push_back(decoder.Flush());
  return parts;
}

std::string Join(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += part;
  return text;
}

// Random ids in which the interesting ones are common: bytes (whole characters, parts of them and
// any), pieces with leading spaces, control pieces, unknown.
std::vector<int32_t> RandomIds(const Tokenizer& tokenizer, Random& random) {
  const std::optional<int32_t> byte_zero = tokenizer.PieceToId("<0x00>");
  std::vector<int32_t> spaced;
  for (int32_t id = 0; id < static_cast<int32_t>(tokenizer.vocab_size()); ++id) {
    if (tokenizer.IdToPiece(id)->starts_with(kSpaceSymbol)) spaced.push_back(id);
  }
  constexpr std::array<std::string_view, 8> kByteRuns = {"\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80",
                                                         "\xE2\x82", "\xF0\x9F",     "\xED\xA0\x80",
                                                         "\xC0\xAF", "\xEF\xBF\xBD"};
  std::vector<int32_t> ids;
  for (size_t left = random.Below(30); left > 0; --left) {
    const size_t kind = random.Below(8);
    if (kind < 2 && byte_zero) {
      for (const char byte : kByteRuns[random.Below(kByteRuns.size())]) {
        ids.push_back(*byte_zero + static_cast<unsigned char>(byte));
      }
    } else if (kind == 2 && byte_zero) {
      ids.push_back(*byte_zero + static_cast<int32_t>(random.Below(256)));
    } else if (kind == 3) {
      ids.push_back(static_cast<int32_t>(random.Below(5)));  // control and unknown pieces stand first
    } else if (kind < 6) {
      ids.push_back(spaced[random.Below(spaced.size())]);
    } else {
      ids.push_back(static_cast<int32_t>(random.Below(tokenizer.vocab_size())));
    }
  }
  return ids;
}

void CheckLaw(const Tokenizer& tokenizer) {
  Random random(1);
  for (int round = 0; round < 3000; ++round) {
    const std::vector<int32_t> ids = RandomIds(tokenizer, random);
    const std::vector<std::string> parts = Stream(tokenizer, ids);
    CHECK_MESSAGE(Join(parts) == MustDecode(tokenizer, ids), round);
    for (const std::string& part : parts) CHECK(HasWholeCharactersOnly(part));
  }
}

TEST_CASE("streamed parts hold whole characters and join to the decoded text, for random ids") {
  for (const char* name : kTestTokenizers) {
    CAPTURE(name);
    CheckLaw(TestTokenizer(name));
  }
}

TEST_CASE("the same law holds for the tokenizers of published models") {
  for (const char* name : {"tokenizers/bpe.model", "tokenizers/unigram.model", "stories260K/tokenizer.model"}) {
    CAPTURE(name);
    CheckLaw(LoadTokenizer(GoldenPath(name)));
  }
}

TEST_CASE("the same law holds for the tokenizer of Llama 2") {
  if (const auto path = TestDataPath("models/tokenizers/llama2.model")) CheckLaw(LoadTokenizer(*path));
}

std::vector<int32_t> ByteIds(const Tokenizer& tokenizer, std::string_view bytes) {
  std::vector<int32_t> ids;
  for (const char byte : bytes) {
    ids.push_back(*tokenizer.PieceToId("<0x00>") + static_cast<unsigned char>(byte));
  }
  return ids;
}

TEST_CASE("a character of several bytes appears with its last byte") {
  const Tokenizer tokenizer = TestTokenizer("gemma_style");
  CHECK(Stream(tokenizer, ByteIds(tokenizer, "\xF0\x9F\x98\x80")) ==
        std::vector<std::string>{"", "", "", "\xF0\x9F\x98\x80", ""});
}

TEST_CASE("a byte that cannot belong to a character appears as U+FFFD as soon as that is certain") {
  const Tokenizer tokenizer = TestTokenizer("gemma_style");
  const std::string fffd(kReplacementCharacter);
  CHECK(Stream(tokenizer, ByteIds(tokenizer, "\xFF")) == std::vector<std::string>{fffd, ""});
  CHECK(Stream(tokenizer, ByteIds(tokenizer, "\xE2(")) == std::vector<std::string>{"", fffd + "(", ""});
  CHECK(Stream(tokenizer, ByteIds(tokenizer, "\xE2\x82\xE2\x82\xAC")) ==
        std::vector<std::string>{"", "", fffd + fffd, "", "\xE2\x82\xAC", ""});
}

TEST_CASE("an incomplete character ends with the text or with the next ordinary piece") {
  const Tokenizer tokenizer = TestTokenizer("gemma_style");
  const std::string fffd(kReplacementCharacter);
  std::vector<int32_t> ids = ByteIds(tokenizer, "\xE2\x82");
  CHECK(Stream(tokenizer, ids) == std::vector<std::string>{"", "", fffd + fffd});
  ids.push_back(*tokenizer.PieceToId("t"));
  CHECK(Stream(tokenizer, ids) == std::vector<std::string>{"", "", fffd + fffd + "t", ""});
  ids.back() = *tokenizer.eos_id();
  CHECK(Stream(tokenizer, ids) == std::vector<std::string>{"", "", fffd + fffd, ""});
}

TEST_CASE("the leading space of a text is dropped once, and kept when the text goes on from a prompt") {
  const Tokenizer tokenizer = TestTokenizer("mistral_style");
  const std::vector<int32_t> light = {*tokenizer.PieceToId("\xE2\x96\x81l"), *tokenizer.PieceToId("ight")};
  CHECK(Join(Stream(tokenizer, light)) == "light");
  CHECK(Join(Stream(tokenizer, Concat({{1}, light, light}))) == "light light");

  StreamDecoder decoder(tokenizer);
  for (const int32_t id : MustEncode(tokenizer, "Let there be")) {
    REQUIRE(decoder.Push(id).has_value());
  }
  CHECK(*decoder.Push(light[0]) == " l");
}

TEST_CASE("a copied decoder continues on its own") {
  const Tokenizer tokenizer = TestTokenizer("mistral_style");
  const std::vector<int32_t> euro = ByteIds(tokenizer, "\xE2\x82\xAC");
  StreamDecoder first(tokenizer);
  REQUIRE(first.Push(euro[0])->empty());
  REQUIRE(first.Push(euro[1])->empty());
  StreamDecoder second = first;
  CHECK(*first.Push(euro[2]) == "\xE2\x82\xAC");
  CHECK(second.Flush() == std::string(kReplacementCharacter) + std::string(kReplacementCharacter));
  CHECK(first.Flush().empty());
}

TEST_CASE("an id outside of the vocabulary is an error and changes nothing") {
  const Tokenizer tokenizer = TestTokenizer("mistral_style");
  const std::vector<int32_t> euro = ByteIds(tokenizer, "\xE2\x82\xAC");
  StreamDecoder decoder(tokenizer);
  REQUIRE(decoder.Push(euro[0])->empty());
  REQUIRE(decoder.Push(euro[1])->empty());
  for (const int32_t id : {-1, 340}) {
    const Result<std::string> part = decoder.Push(id);
    REQUIRE_FALSE(part.has_value());
    CHECK(part.error().message.find("token id " + std::to_string(id)) != std::string::npos);
  }
  CHECK(*decoder.Push(euro[2]) == "\xE2\x82\xAC");
}

}  // namespace stream_decoder_test
}  // namespace skald
