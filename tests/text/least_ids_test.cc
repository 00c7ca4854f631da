// SPDX-License-Identifier: Apache-2.0
//
// The number of ids that a text has at least, known before it is encoded: never more than it has, whatever the
// tokenizer and the text.

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/tokenizers/detail/pipeline/steps/byte_alphabet.h"
#include "skald/tokenizers/detail/rwkv_vocabulary.h"
#include "skald/tokenizers/detail/sentencepiece/sentencepiece_writer.h"
#include "skald/tokenizers/normalization_form.h"
#include "skald/tokenizers/tokenizer.h"
#include "skald/tokenizers/tokenizer_spec.h"
#include "tests/text/test_tokenizers.h"

namespace skald {
namespace least_ids_test {

using nlohmann::json;

json ByteLevelJson() { return json::parse(ReadBytes(RepositoryPath("tests/text/data/byte_level") / "tokenizer.json")); }

Tokenizer Made(const std::string& file) {
  Result<Tokenizer> tokenizer = Tokenizer::Parse(file);
  REQUIRE_MESSAGE(tokenizer, (tokenizer ? "" : tokenizer.error().message));
  return *std::move(tokenizer);
}

// Texts that normal forms shorten most, white space of all sorts, letters that most vocabularies lack, bytes that are
// no text, and the longest text of an id.
std::vector<std::string> PartsFor(const Tokenizer& tokenizer) {
  std::vector<std::string> parts = {"\xE1\xBE\xBE\xCC\x88\xCC\x81",      // U+1FBE U+0308 U+0301, in NFC U+0390
                                    "\xF0\x9D\x9B\x8A\xCC\x88\xCC\x81",  // U+1D6CA U+0308 U+0301, in NFKC U+0390
                                    "\xE1\x84\x92\xE1\x85\xA1\xE1\x86\xAB",
                                    "\xE2\x84\xAA",
                                    "\xF0\x9D\x90\x80",
                                    "\xC2\xA8",
                                    "\xC4\xB0",
                                    " ",
                                    "\t\n",
                                    "\xC2\xA0",
                                    "\xE3\x80\x80",
                                    "\xE2\x96\x81",
                                    "\xE4\xB8\xAD",
                                    "\xF0\x9F\x98\x80",
                                    "\xFF",
                                    "\xF0\x9F",
                                    std::string(1, '\0'),
                                    "7",
                                    ".",
                                    "abc"};
  for (size_t id = 0; id < tokenizer.vocab_size(); ++id) {
    parts.push_back(tokenizer.BytesOf(static_cast<int32_t>(id)).value_or("x"));
    parts.emplace_back(tokenizer.IdToPiece(static_cast<int32_t>(id)).value_or("x"));
  }
  return parts;
}

void CheckNeverTooMany(const Tokenizer& tokenizer) {
  const auto check = [&](const std::string& text) {
    CAPTURE(text);
    for (const ParseSpecial parse : {ParseSpecial::kNo, ParseSpecial::kYes}) {
      const Result<std::vector<int32_t>> ids = tokenizer.Encode(text, parse);
      if (ids) CHECK(ids->size() >= tokenizer.LeastIds(text));
    }
    const Result<std::vector<int32_t>> ids = tokenizer.Encode(MarkedText(text, Author::kMessage));
    if (ids) CHECK(ids->size() >= tokenizer.LeastIds(text));
  };
  check("");
  const std::vector<std::string> parts = PartsFor(tokenizer);
  for (const std::string& part : parts) {
    std::string text;
    for (int i = 0; i < 30; ++i) text += part;
    check(text);
  }
  std::mt19937 random(7);
  for (int i = 0; i < 300; ++i) {
    std::string text;
    for (size_t left = random() % 30; left > 0; --left) text += parts[random() % parts.size()];
    check(text);
  }
}

// Of a million letters; 0 where they may all vanish.
size_t OfLetters(const Tokenizer& tokenizer) { return tokenizer.LeastIds(std::string(1'000'000, 'a')); }
size_t OfSpaces(const Tokenizer& tokenizer) { return tokenizer.LeastIds(std::string(1'000'000, ' ')); }

TEST_CASE("A text has no fewer ids than was said: SentencePiece models") {
  for (const char* const name : kTestTokenizers) CheckNeverTooMany(TestTokenizer(name));
  CHECK(OfLetters(TestTokenizer("gemma_style")) == 66667);  // of pieces of at most 15 bytes
  CHECK(OfSpaces(TestTokenizer("mistral_style")) == 111112);
  CHECK(OfLetters(TestTokenizer("normalising")) == 0);  // unknown letters run together, and a table may drop some

  internal::NewSentencePieceModel model;
  for (int byte = 0; byte < 256; ++byte) {
    constexpr std::string_view kDigits = "0123456789ABCDEF";
    const std::string name = {
        '<', '0', 'x', kDigits[static_cast<size_t>(byte / 16)], kDigits[static_cast<size_t>(byte % 16)], '>'};
    model.pieces.push_back({name, 0, internal::PieceType::kByte});
  }
  model.unk = model.pieces.size();
  model.pieces.push_back({"<unk>", 0, internal::PieceType::kUnknown});
  model.pieces.push_back({"a", 0, internal::PieceType::kNormal});
  model.remove_extra_whitespaces = true;
  const Tokenizer trims = Made(internal::WriteSentencePieceModel(model));
  CheckNeverTooMany(trims);
  CHECK(OfLetters(trims) > 100'000);
  CHECK(OfSpaces(trims) == 0);
}

TEST_CASE("A text has no fewer ids than was said: bytes in pairs, after each normalizer and step") {
  CheckNeverTooMany(Made(ByteLevelJson().dump()));
  CHECK(OfSpaces(Made(ByteLevelJson().dump())) > 1000);
  const json normalizers[] = {
      {{"type", "NFC"}},
      {{"type", "NFD"}},
      {{"type", "NFKC"}},
      {{"type", "NFKD"}},
      {{"type", "Lowercase"}},
      {{"type", "Prepend"}, {"prepend", "abc"}},
      {{"type", "Replace"}, {"pattern", {{"String", "abc"}}}, {"content", "e"}},
      {{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", "\xE2\x96\x81the"}},
      {{"type", "Strip"}, {"strip_left", true}, {"strip_right", true}},
      {{"type", "Sequence"},
       {"normalizers",
        {{{"type", "NFKC"}},
         {{"type", "Lowercase"}},
         {{"type", "NFC"}},
         {{"type", "Strip"}, {"strip_left", true}, {"strip_right", true}}}}},
  };
  for (const json& normalizer : normalizers) {
    CAPTURE(normalizer.dump());
    json file = ByteLevelJson();
    file["normalizer"] = normalizer;
    CheckNeverTooMany(Made(file.dump()));
    CHECK(OfLetters(Made(file.dump())) > 100);
  }
  for (const char* const side : {"lstrip", "rstrip"}) {
    json strips = ByteLevelJson();
    for (json& token : strips["added_tokens"]) token[side] = true;
    CheckNeverTooMany(Made(strips.dump()));
    CHECK(OfLetters(Made(strips.dump())) > 1000);
    CHECK(OfSpaces(Made(strips.dump())) == 0);
  }
}

TEST_CASE("Nothing is said of tokenizers that may drop any text") {
  json file = ByteLevelJson();
  file["pre_tokenizer"]["pretokenizers"][0]["behavior"] = "Removed";
  CHECK(OfLetters(Made(file.dump())) == 0);
  for (const json& normalizer : {json{{"type", "StripAccents"}}, json{{"type", "Nmt"}},
                                 json{{"type", "Replace"}, {"pattern", {{"Regex", "a+"}}}, {"content", "b"}},
                                 json{{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", ""}}}) {
    file = ByteLevelJson();
    file["normalizer"] = normalizer;
    CHECK(OfLetters(Made(file.dump())) == 0);
  }
  // Letters that become white space, which is dropped.
  file["normalizer"] = {{"type", "Sequence"},
                        {"normalizers",
                         {{{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", " "}},
                          {{"type", "Strip"}, {"strip_left", true}, {"strip_right", true}}}}};
  CHECK(OfLetters(Made(file.dump())) == 0);
}

Tokenizer From(TokenizerSpec spec) {
  Result<Tokenizer> tokenizer = Tokenizer::From(std::move(spec));
  REQUIRE_MESSAGE(tokenizer, (tokenizer ? "" : tokenizer.error().message));
  return *std::move(tokenizer);
}

// Pieces of our own SentencePiece models: "<unk>", some words, and bytes.
TokenizerSpec WithBytePieces() {
  TokenizerSpec spec;
  int32_t id = 0;
  for (const char* const piece : {"<unk>", "a", "b", "\xE2\x96\x81", "\xE2\x96\x81\xE2\x96\x81", "c"}) {
    spec.vocabulary.Add(piece, id++);
  }
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  for (size_t byte = 0; byte < 256; ++byte) {
    const char piece[] = {'<', '0', 'x', kDigits[byte / 16], kDigits[byte % 16], '>'};
    spec.vocabulary.Add({piece, sizeof piece}, id++);
  }
  spec.normalizers.emplace_back(normalizer::Replace{{" ", false}, "\xE2\x96\x81"});
  return spec;
}

TEST_CASE("A text has no fewer ids than was said: letters in pairs, best paths, longest beginnings") {
  TokenizerSpec spec = WithBytePieces();
  token_model::Bpe bpe;
  bpe.unk_token = "<unk>";
  bpe.fuse_unk = bpe.byte_fallback = true;
  spec.model = bpe;
  CheckNeverTooMany(From(spec));
  CHECK(OfLetters(From(spec)) > 100'000);
  bpe.byte_fallback = false;  // all unknown letters are one id
  spec.model = bpe;
  CHECK(OfLetters(From(spec)) == 0);
  bpe.fuse_unk = false;  // or each has its own
  spec.model = bpe;
  CheckNeverTooMany(From(spec));
  CHECK(OfLetters(From(spec)) > 100'000);

  token_model::Unigram unigram;
  unigram.scores.assign(spec.vocabulary.ids.size(), -1);
  unigram.unk_id = 0;
  unigram.byte_fallback = true;
  spec.model = unigram;
  spec.pre_tokenizers.emplace_back(pre_tokenizer::Metaspace());
  CheckNeverTooMany(From(spec));
  CHECK(OfLetters(From(spec)) > 100'000);
  unigram.byte_fallback = false;
  spec.model = unigram;
  CHECK(OfLetters(From(spec)) == 0);

  internal::RwkvVocabulary rwkv;
  for (int byte = 0; byte < 256; ++byte) rwkv.Add(std::string(1, static_cast<char>(byte)), byte + 1);
  rwkv.Add("abc", 257);
  rwkv.Add("\xE4\xB8", 258);
  const Tokenizer greedy = From(*std::move(rwkv).Finish());
  CheckNeverTooMany(greedy);
  CHECK(OfLetters(greedy) > 10'000);

  spec = TokenizerSpec();
  spec.vocabulary.Add("<unk>", 0);
  spec.vocabulary.Add("a", 1);
  spec.model = token_model::WordPiece{.unk_token = "<unk>"};  // a long word is unknown as a whole
  spec.pre_tokenizers.emplace_back(pre_tokenizer::Bert());
  CHECK(OfLetters(From(spec)) == 0);
}

// No piece has two bytes, so that only what normalizing shortens is between what is said and what is so.
TEST_CASE("A text has no fewer ids than was said: single bytes") {
  TokenizerSpec bytes;
  for (int32_t byte = 0; byte < 256; ++byte) {
    std::string letter;
    internal::AppendByteLetters(std::string(1, static_cast<char>(byte)), letter);
    bytes.vocabulary.Add(letter, byte);
  }
  bytes.model = token_model::Bpe();
  bytes.pre_tokenizers.emplace_back(pre_tokenizer::ByteLevel{.add_prefix_space = false, .use_regex = false});
  CHECK(OfLetters(From(bytes)) == 1'000'000);
  const std::pair<Normalizer, size_t> normalizers[] = {
      {normalizer::Unicode{NormalizationForm::kNfc}, 6},
      {normalizer::Unicode{NormalizationForm::kNfd}, 6},
      {normalizer::Unicode{NormalizationForm::kNfkc}, 6},
      {normalizer::Unicode{NormalizationForm::kNfkd}, 6},
      {normalizer::Lowercase(), 4},
      {normalizer::Prepend{"abc"}, 1},
      {normalizer::Replace{{"abc", false}, "e"}, 3},
      {normalizer::Replace{{"a", false}, "the"}, 1},
      {normalizer::Strip(), 1},
  };
  for (const auto& [normalizer, factor] : normalizers) {
    CAPTURE(normalizer.index());
    TokenizerSpec spec = bytes;
    spec.normalizers = {normalizer};
    CheckNeverTooMany(From(spec));
    CHECK(OfLetters(From(spec)) == (1'000'000 + factor - 1) / factor);
    spec.normalizers.emplace_back(normalizer::Unicode{NormalizationForm::kNfc});
    CheckNeverTooMany(From(spec));
  }
  using namespace pre_tokenizer;
  for (const PreTokenizer& step : {PreTokenizer(WhitespaceSplit()), PreTokenizer(pre_tokenizer::Bert()),
                                   PreTokenizer(Digits{true}), PreTokenizer(Punctuation{Behavior::kMergedWithNext}),
                                   PreTokenizer(FixedLength{3}), PreTokenizer(Metaspace())}) {
    CAPTURE(step.index());
    TokenizerSpec spec = bytes;
    spec.pre_tokenizers.insert(spec.pre_tokenizers.begin(), step);
    CheckNeverTooMany(From(spec));
    CHECK(OfLetters(From(spec)) == 1'000'000);
  }
  bytes.pre_tokenizers.insert(bytes.pre_tokenizers.begin(), Punctuation{Behavior::kRemoved});
  CHECK(OfLetters(From(bytes)) == 0);
}

}  // namespace least_ids_test
}  // namespace skald
