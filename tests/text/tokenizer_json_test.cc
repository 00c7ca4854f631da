// SPDX-License-Identifier: Apache-2.0
//
// The small tokenizer in tests/text/data/byte_level (train.py there makes it), and tokenizer.json files that are wrong.

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "doctest/doctest.h"
#include "skald/tokenizers/detail/utf8_repair.h"
#include "skald/tokenizers/stream_decoder.h"
#include "skald/tokenizers/tokenizer.h"
#include "tests/support/temporary_folder.h"
#include "tests/text/test_tokenizers.h"

namespace skald {
namespace tokenizer_json_test {

using nlohmann::json;
using Ids = std::vector<int32_t>;

std::filesystem::path ByteLevelFolder() { return RepositoryPath("tests/text/data/byte_level"); }
Tokenizer ByteLevel() { return LoadTokenizer(ByteLevelFolder()); }
json ByteLevelJson() { return json::parse(ReadBytes(ByteLevelFolder() / "tokenizer.json")); }

std::string RandomBytes(std::mt19937& random) {
  static constexpr std::string_view kParts[] = {"God",          " the",     "'s",       "\n\n",     "  ",  "\xC3\xA9",
                                                "\xE4\xB8\xAD", "\xF0\x9F", "\xED\xA0", "12345",    "\t",  "beginning",
                                                "<|im_end|>",   "\xFF",     "\xE2\x80", "<tool_ca", "ll>", "\r\n"};
  std::string bytes;
  for (size_t left = random() % 20; left > 0; --left) {
    const size_t kind = random() % 24;
    if (kind < std::size(kParts)) {
      bytes += kParts[kind];
    } else {
      bytes += static_cast<char>(random() % 256);
    }
  }
  return bytes;
}

std::string Repaired(std::string bytes) {
  std::string text;
  internal::TakeLastUtf8(bytes, text);
  return text;
}

TEST_CASE("A folder with a tokenizer.json is a tokenizer, named pieces included") {
  const Tokenizer tokenizer = ByteLevel();
  CHECK(tokenizer.vocab_size() == 420);
  CHECK(tokenizer.bos_id() == 415);
  CHECK(tokenizer.eos_id() == 416);
  CHECK_FALSE(tokenizer.pad_id());
  CHECK(tokenizer.SpecialId("<|im_start|>") == 417);
  CHECK_FALSE(tokenizer.SpecialId("e"));
  CHECK(tokenizer.IdToPiece(415) == "<|begin_of_text|>");
  CHECK(tokenizer.PieceToId("\xC4\xA0") == 32);  // the letter of a space; ids of bytes are their values
  CHECK(tokenizer.KindOf(415) == PieceKind::kControl);
  const Ids ids = MustEncode(tokenizer, "God");
  CHECK(tokenizer.Encode("God", ParseSpecial::kNo, AddSpecial::kYes)->size() == ids.size() + 1);
  CHECK(tokenizer.Encode("God", ParseSpecial::kNo, AddSpecial::kYes)->front() == 415);
}

TEST_CASE("Only a template's special tokens are parsed; tokens that steer nothing always are") {
  const Tokenizer tokenizer = ByteLevel();
  const std::string marker = "<|im_end|>";
  CHECK(MustEncode(tokenizer, marker, ParseSpecial::kYes) == Ids{418});
  CHECK(MustEncode(tokenizer, marker).size() > 1);
  CHECK(MustDecode(tokenizer, MustEncode(tokenizer, marker)) == marker);
  CHECK(MustEncode(tokenizer, "<tool_call>") == Ids{419});
  MarkedText text("<|im_end|>", Author::kTemplate);
  text.Append("<|im_end|><|im_", Author::kMessage);
  text.Append("end|>\xFF<|im_end|>", Author::kTemplate);
  const Result<Ids> ids = tokenizer.Encode(text);
  REQUIRE(ids);
  CHECK(std::count(ids->begin(), ids->end(), 418) == 2);
  CHECK(ids->front() == 418);
  CHECK(ids->back() == 418);
  CHECK(tokenizer.Decode(Ids{418, 65}) == "A");
  CHECK(tokenizer.Decode(Ids{418, 65}, SkipSpecial::kNo) == "<|im_end|>A");
}

TEST_CASE("Any bytes come back, bytes that are no UTF-8 as U+FFFD, and id by id as at once") {
  const Tokenizer tokenizer = ByteLevel();
  std::mt19937 random(1);
  for (int round = 0; round < 3000; ++round) {
    const std::string bytes = RandomBytes(random);
    const Ids ids = MustEncode(tokenizer, bytes);
    CHECK(MustDecode(tokenizer, ids) == Repaired(bytes));
  }
  for (int round = 0; round < 3000; ++round) {
    Ids ids(random() % 20);
    for (int32_t& id : ids) id = static_cast<int32_t>(random() % tokenizer.vocab_size());
    StreamDecoder decoder(tokenizer);
    std::string streamed;
    for (const int32_t id : ids) {
      const std::string part = decoder.Push(id).value();
      CHECK(internal::ValidUtf8Prefix(part) == part.size());
      streamed += part;
    }
    CHECK(streamed + decoder.Flush() == MustDecode(tokenizer, ids));
  }
}

TEST_CASE("One U+FFFD stands for each maximal part of a character") {
  CHECK(Repaired("\xF0\x9F\x98") == "\xEF\xBF\xBD");
  CHECK(Repaired("\xE0\x80") == "\xEF\xBF\xBD\xEF\xBF\xBD");
  CHECK(Repaired("\xED\xA0\x80") == "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
  CHECK(Repaired("a\xF4\x90z") == "a\xEF\xBF\xBD\xEF\xBF\xBDz");
  CHECK(Repaired("\xF1\x80\x80!") == "\xEF\xBF\xBD!");
}

TEST_CASE("Long words merge as short ones do") {
  json file = ByteLevelJson();
  file["model"]["vocab"] = {{"a", 0}, {"aa", 1}, {"aaa", 2}, {"aaaa", 3}};
  file["model"]["merges"] = {"a a", "aa aa", "aa a"};
  file["added_tokens"] = json::array();
  file["post_processor"] = nullptr;
  const Tokenizer tokenizer = Tokenizer::Parse(file.dump()).value();
  for (const size_t length : {7u, 40u, 41u, 99u, 100'003u}) {
    Ids expected(length / 4, 3);
    if (length % 4 == 3) expected.push_back(2);
    if (length % 4 == 2) expected.push_back(1);
    if (length % 4 == 1) expected.push_back(0);
    CHECK(MustEncode(tokenizer, std::string(length, 'a')) == expected);
  }
}

TEST_CASE("The form that opens quickly is the same tokenizer, and refuses what is damaged") {
  const Tokenizer tokenizer = ByteLevel();
  std::string bytes = tokenizer.ToBytes().value();
  const Tokenizer reopened = Tokenizer::Parse(bytes).value();
  CHECK(reopened.ToBytes() == bytes);
  CHECK(reopened.bos_id() == 415);
  std::mt19937 random(2);
  for (int round = 0; round < 300; ++round) {
    const std::string text = RandomBytes(random);
    CHECK(MustEncode(reopened, text, ParseSpecial::kYes) == MustEncode(tokenizer, text, ParseSpecial::kYes));
  }
  for (size_t size = 8; size < bytes.size(); size += 97) CHECK_FALSE(Tokenizer::Parse(bytes.substr(0, size)));
  for (size_t at = 8; at < bytes.size(); at += 97) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    CHECK_FALSE(Tokenizer::Parse(damaged));
  }
  CHECK(MustEncode(Tokenizer::Parse(TestTokenizer("mistral_style").ToBytes().value()).value(), "In the") ==
        MustEncode(TestTokenizer("mistral_style"), "In the"));
}

std::string ErrorOf(const json& file) {
  const Result<Tokenizer> tokenizer = Tokenizer::Parse(file.dump());
  return tokenizer ? "accepted" : tokenizer.error().message;
}

bool Names(const std::string& message, std::string_view what) {
  const bool found = message.find(what) != std::string::npos;
  if (!found) MESSAGE(message);
  return found;
}

TEST_CASE("A tokenizer.json that cannot be is refused with a word about what is wrong") {
  const json good = ByteLevelJson();
  CHECK(ErrorOf(good) == "accepted");
  json bad = good;
  bad["model"]["merges"].push_back("zz q");
  CHECK(Names(ErrorOf(bad), "merge 159, of 'zz' and 'q', needs 'zz', which is not in the vocabulary"));
  bad = good;
  bad["model"]["merges"].push_back("zzq");
  CHECK(Names(ErrorOf(bad), "the merge 'zzq'"));
  bad = good;
  bad["model"]["vocab"]["another"] = 7;
  CHECK(Names(ErrorOf(bad), "the id 7, which "));
  bad["model"]["vocab"]["another"] = 4'000'000'000u;
  CHECK(Names(ErrorOf(bad), "the piece 'another' the id 4000000000"));
  bad["model"]["vocab"]["another"] = -1;
  CHECK(Names(ErrorOf(bad), "neither an object of ids nor"));
  bad = good;
  bad["added_tokens"][1]["id"] = 415;
  CHECK(Names(ErrorOf(bad), "'<|end_of_text|>' has the id 415, which '<|begin_of_text|>' has too"));
  bad["added_tokens"][1]["id"] = 3;
  CHECK(Names(ErrorOf(bad), "which a piece of the vocabulary has"));
  bad = good;
  bad["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"] = "(a";
  CHECK(Names(ErrorOf(bad), "the split pattern \"(a\" does not compile"));
  bad["pre_tokenizer"]["pretokenizers"][0] = {{"type", "Marvel"}};
  CHECK(Names(ErrorOf(bad), "pre_tokenizer.pretokenizers[0].type is \"Marvel\""));
  bad = good;
  bad["post_processor"]["special_tokens"]["<|begin_of_text|>"]["ids"] = {900};
  CHECK(Names(ErrorOf(bad), "the id 900"));
  bad = good;
  bad["model"]["type"] = "Unigram";
  CHECK(Names(ErrorOf(bad), "model.vocab must be"));
  bad.erase("model");
  CHECK(Names(ErrorOf(bad), "model is missing"));
  const std::string text = good.dump();
  for (const size_t size : {size_t{1}, text.size() / 2, text.size() - 1}) {
    const Result<Tokenizer> tokenizer = Tokenizer::Parse(text.substr(0, size));
    REQUIRE_FALSE(tokenizer);
    CHECK(Names(tokenizer.error().message, "is not valid JSON from byte"));
  }
}

TEST_CASE("A tokenizer_config.json that is no JSON, and a folder without tokenizers, are refused by name") {
  const testing::TemporaryFolder folder;
  CHECK(Names(Tokenizer::Load(folder.path()).error().message, "neither a tokenizer.json nor"));
  std::filesystem::copy_file(ByteLevelFolder() / "tokenizer.json", folder.path() / "tokenizer.json");
  const Result<Tokenizer> bare = Tokenizer::Load(folder.path());
  REQUIRE(bare);
  CHECK(bare->bos_id() == 415);  // added before each text
  std::ofstream(folder.path() / "tokenizer_config.json") << "[]";
  CHECK(Names(Tokenizer::Load(folder.path()).error().message, "tokenizer_config.json is no JSON object"));
}

// Says "?" to everything.
class OwnEngine final : public TokenizerEngine {
 public:
  size_t vocab_size() const override { return 1; }
  NamedIds named_ids() const override { return {}; }
  Result<Ids> Encode(const MarkedText& text) const override { return Ids(text.size(), 0); }
  Result<std::string> Decode(std::span<const int32_t> ids, SkipSpecial) const override {
    return std::string(ids.size(), '?');
  }
  std::string DecodeNext(DecodingState&, int32_t) const override { return "?"; }
  std::string DecodeRest(DecodingState&) const override { return {}; }
  std::optional<int32_t> PieceToId(std::string_view) const override { return std::nullopt; }
  std::optional<int32_t> SpecialId(std::string_view) const override { return std::nullopt; }
  std::string_view IdToPiece(int32_t) const override { return "?"; }
  PieceKind KindOf(int32_t) const override { return PieceKind::kText; }
  uint8_t ByteOf(int32_t) const override { return 0; }
};

TEST_CASE("A program may bring an engine of its own") {
  const Tokenizer tokenizer = Tokenizer::From(std::make_shared<OwnEngine>());
  CHECK(MustEncode(tokenizer, "abc") == Ids{0, 0, 0});
  CHECK(MustDecode(tokenizer, {0, 0}) == "??");
  CHECK_FALSE(tokenizer.Decode(Ids{1}));
  CHECK_FALSE(tokenizer.ToBytes());
  CHECK(StreamDecoder(tokenizer).Push(0) == "?");
}

TEST_CASE("Embeddings with the published models' padding fit their tokenizers") {
  json file = ByteLevelJson();
  const auto with_pieces = [&file](int32_t pieces) {
    file["added_tokens"][4]["id"] = pieces - 1;
    return Tokenizer::Parse(file.dump()).value();
  };
  CHECK(CheckVocabulary(with_pieces(151'665), 151'936));  // Qwen2.5
  CHECK(CheckVocabulary(with_pieces(151'665), 152'064));
  CHECK(CheckVocabulary(with_pieces(200'019), 201'088));  // gpt-oss
  CHECK(CheckVocabulary(with_pieces(50'295), 51'200));    // Phi-2
  CHECK(CheckVocabulary(with_pieces(50'277), 50'280));    // Mamba
  CHECK_FALSE(CheckVocabulary(with_pieces(151'665), 151'937));
  CHECK_FALSE(CheckVocabulary(with_pieces(32'000), 151'936));
}

}  // namespace tokenizer_json_test
}  // namespace skald
