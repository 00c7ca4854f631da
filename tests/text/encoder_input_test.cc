// SPDX-License-Identifier: Apache-2.0
//
// Inputs of encoders: tokenizers of BERT, RoBERTa, XLM-RoBERTa and T5 give the ids and type ids of Hugging Face's
// libraries, from each kind of file that they come in. tests/text/data/encoders/train.py makes files and values.

#include "skald/tokenizers/encoder_input.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/tokenizers/detail/json/base64.h"
#include "skald/tokenizers/tokenizer.h"
#include "skald/weights/files/gguf.h"
#include "tests/support/check_error.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_data.h"
#include "tests/text/test_tokenizers.h"

namespace skald {
namespace encoder_input_test {

using nlohmann::json;
using testing::CheckError;
using Ids = std::vector<int32_t>;

std::filesystem::path DataPath(const std::string& name) { return RepositoryPath("tests/text/data/encoders/" + name); }

InputLimit LimitOf(const json& item) {
  InputLimit limit;
  if (!item.contains("most")) return limit;
  static const std::map<std::string, Truncation> kNames = {{"longest_first", Truncation::kLongestFirst},
                                                           {"only_first", Truncation::kOnlyFirst},
                                                           {"only_second", Truncation::kOnlySecond}};
  limit.most_ids = item["most"];
  limit.truncation = kNames.at(item["truncation"]);
  if (item["left"]) limit.truncated_end = TruncatedEnd::kLeft;
  return limit;
}

Result<EncoderInput> InputOf(const Tokenizer& tokenizer, const json& item) {
  const auto texts = item["texts"].get<std::vector<std::string>>();
  const InputLimit limit = LimitOf(item);
  return texts.size() == 1 ? EncodeInput(tokenizer, texts[0], limit) : EncodePair(tokenizer, texts[0], texts[1], limit);
}

// Checks a tokenizer, and itself after it was written and read again.
void CheckCases(const Tokenizer& tokenizer, const std::string& name) {
  const Result<std::string> bytes = tokenizer.ToBytes();
  REQUIRE(bytes);
  const Result<Tokenizer> reopened = Tokenizer::Parse(*bytes);
  REQUIRE_MESSAGE(reopened.has_value(), reopened.error().message);
  const json all = json::parse(ReadBytes(DataPath("cases.json")));
  for (const json& item : all[name]) {
    CAPTURE(item.dump());
    for (const Tokenizer& one : {tokenizer, *reopened}) {
      const auto input = InputOf(one, item);
      CHECK(input.has_value() != item.contains("error"));
      if (!input || item.contains("error")) continue;
      CHECK(input->ids == item["ids"].get<Ids>());
      CHECK(input->types == item["types"].get<Ids>());
      size_t texts = 0;
      for (const json& text : item["texts"])
        texts += MustEncode(one, text.get<std::string>(), ParseSpecial::kYes).size();
      const size_t around = item["texts"].size() == 1 ? TokensAroundText(one) : TokensAroundPair(one).value();
      CHECK(input->ids.size() + input->cut_first + input->cut_second == texts + around);
    }
  }
}

TEST_CASE("Encoders read the ids and type ids of Hugging Face's libraries, from each kind of file") {
  for (const std::string name : {"bert_uncased", "bert_cased", "mpnet", "xlm_roberta", "t5", "roberta"}) {
    CAPTURE(name);
    CheckCases(LoadTokenizer(DataPath(name)), name);  // a list of pieces alone, but for the last
  }
  for (const std::string name : {"bert_uncased", "xlm_roberta", "t5"}) {
    CAPTURE(name);
    CheckCases(LoadTokenizer(DataPath(name + "_json")), name);
  }
}

// --- GGUF --------------------------------------------------------------------------------------------------------

Result<Tokenizer> FromGguf(const json& metadata) {
  const std::string image = testing::GgufImage(testing::GgufValuesOf(metadata), {});
  const auto contents = ParseGguf("file", std::as_bytes(std::span(image)));
  REQUIRE(contents);
  return Tokenizer::Load(contents->metadata);
}

// As llama.cpp's converter writes the word pieces of a vocab.txt.
json BertMetadata(const std::string& name) {
  json tokens = json::array(), types = json::array();
  std::string text = ReadBytes(DataPath(name) / "vocab.txt");
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    const std::string piece = text.substr(at, end - at);
    at = end + 1;
    const bool is_special = tokens.size() < 5;
    const std::string written = is_special                ? piece
                                : piece.starts_with("##") ? piece.substr(2)
                                                          : std::string(kSpaceSymbol) + piece;
    tokens.push_back(written);
    types.push_back(is_special ? 3 : 1);
  }
  return {{"tokenizer.ggml.model", "bert"},       {"tokenizer.ggml.tokens", tokens},
          {"tokenizer.ggml.token_type", types},   {"tokenizer.ggml.token_type_count", 2},
          {"tokenizer.ggml.padding_token_id", 0}, {"tokenizer.ggml.unknown_token_id", 1},
          {"tokenizer.ggml.cls_token_id", 2},     {"tokenizer.ggml.seperator_token_id", 3},
          {"tokenizer.ggml.mask_token_id", 4}};
}

// As it writes a tokenizer of likeliest pieces, with three pieces that only fill the vocabulary. `charsmap` are bytes.
json LikelyMetadata(const std::string& name, int unk) {
  const json file = json::parse(ReadBytes(DataPath(name) / "tokenizer.json"));
  json tokens = json::array(), scores = json::array(), types = json::array();
  for (const json& pair : file["model"]["vocab"]) {
    tokens.push_back(pair[0]);
    scores.push_back(pair[1].get<float>());
    types.push_back(1);
  }
  for (const json& token : file["added_tokens"]) types[token["id"].get<size_t>()] = token["id"] == unk ? 2 : 3;
  for (const char* const filler : {"[PAD1]", "[PAD2]", "[PAD3]"}) {
    tokens.push_back(filler);
    scores.push_back(-10000.0f);
    types.push_back(5);
  }
  json charsmap = json::array();
  const auto bytes = internal::FromBase64(file["normalizer"]["precompiled_charsmap"].get<std::string>());
  for (const char byte : bytes.value()) charsmap.push_back(static_cast<unsigned char>(byte));
  return {{"tokenizer.ggml.model", "t5"},
          {"tokenizer.ggml.tokens", tokens},
          {"tokenizer.ggml.scores", scores},
          {"tokenizer.ggml.token_type", types},
          {"tokenizer.ggml.precompiled_charsmap", charsmap},
          {"tokenizer.ggml.unknown_token_id", unk},
          {"tokenizer.ggml.add_space_prefix", true},
          {"tokenizer.ggml.remove_extra_whitespaces", true}};
}

TEST_CASE("GGUF files of encoders give the same inputs") {
  for (const std::string name : {"bert_uncased", "bert_cased"}) {
    CAPTURE(name);
    const auto tokenizer = FromGguf(BertMetadata(name));
    REQUIRE_MESSAGE(tokenizer.has_value(), tokenizer.error().message);
    CheckCases(*tokenizer, name);
  }
  json xlm_roberta = LikelyMetadata("xlm_roberta_json", 3);
  xlm_roberta.update({{"tokenizer.ggml.bos_token_id", 0},
                      {"tokenizer.ggml.eos_token_id", 2},
                      {"tokenizer.ggml.mask_token_id", xlm_roberta["tokenizer.ggml.tokens"].size() - 4},
                      {"tokenizer.ggml.add_bos_token", true},
                      {"tokenizer.ggml.add_eos_token", true}});
  const auto fairseq = FromGguf(xlm_roberta);
  REQUIRE_MESSAGE(fairseq.has_value(), fairseq.error().message);
  CheckCases(*fairseq, "xlm_roberta");
  const auto t5 = FromGguf(LikelyMetadata("t5_json", 2));
  REQUIRE_MESSAGE(t5.has_value(), t5.error().message);
  CheckCases(*t5, "t5");
}

TEST_CASE("Metadata of encoders that cannot be are named") {
  json metadata = BertMetadata("bert_cased");
  metadata["tokenizer.ggml.cls_token_id"] = 100000;
  CheckError(FromGguf(metadata), ErrorCode::kDataLoss, "cls_token_id");
  metadata = LikelyMetadata("t5_json", 2);
  metadata["tokenizer.ggml.add_space_prefix"] = false;
  CheckError(FromGguf(metadata), ErrorCode::kUnsupported, "add_space_prefix");
  metadata = LikelyMetadata("t5_json", 2);
  metadata["tokenizer.ggml.scores"].erase(0);
  CheckError(FromGguf(metadata), ErrorCode::kDataLoss, "scores");
}

// --- Limits ------------------------------------------------------------------------------------------------------

TEST_CASE("Too long an input is an error unless the caller chooses what to cut") {
  const Tokenizer tokenizer = LoadTokenizer(DataPath("bert_uncased"));
  const Ids text(10, 7), longer(20, 8);
  CheckError(MakeEncoderInput(tokenizer, text, {.most_ids = 11}), ErrorCode::kOutOfRange,
             "a text of 10 tokens and 2 special tokens is longer than the limit of 11 tokens");
  CHECK(MakeEncoderInput(tokenizer, text, {.most_ids = 12})->ids.size() == 12);
  CheckError(MakePairInput(tokenizer, text, longer, {.most_ids = 32}), ErrorCode::kOutOfRange, "a pair of texts of 30");
  const InputLimit cuts = {.most_ids = 16, .truncation = Truncation::kLongestFirst};
  const auto input = MakePairInput(tokenizer, text, longer, cuts);
  REQUIRE(input);
  CHECK(input->ids.size() == 16);
  CHECK(input->cut_first == 4);
  CHECK(input->cut_second == 13);
  CheckError(MakeEncoderInput(tokenizer, text, {.most_ids = 1}), ErrorCode::kInvalidArgument, "leaves no room");
  CheckError(MakeEncoderInput(tokenizer, text, {.most_ids = 8, .truncation = Truncation::kOnlySecond}),
             ErrorCode::kInvalidArgument, "there is one text");
  CheckError(MakeEncoderInput(tokenizer, Ids{5000}), ErrorCode::kInvalidArgument, "outside of the vocabulary");
}

TEST_CASE("Special tokens in a text are parsed unless the caller says otherwise") {
  const Tokenizer tokenizer = LoadTokenizer(DataPath("bert_uncased"));
  const Ids parsed = EncodeInput(tokenizer, "[SEP]")->ids;
  CHECK(parsed.size() == 3);
  CHECK(EncodeInput(tokenizer, "[SEP]", {}, ParseSpecial::kNo)->ids.size() > 3);
}

TEST_CASE("A tokenizer whose file does not say how texts are joined has no pairs") {
  CheckError(EncodePair(TestTokenizer("mistral_style"), "a", "b"), ErrorCode::kUnsupported, "how two texts are joined");
}

// --- Files -------------------------------------------------------------------------------------------------------

void WriteText(const std::filesystem::path& path, std::string_view text) {
  std::ofstream(path, std::ios::binary) << text;
}

TEST_CASE("Files of encoders that cannot be are named") {
  const testing::TemporaryFolder folder;
  const std::filesystem::path vocabulary = folder.path() / "vocab.txt",
                              config = folder.path() / "tokenizer_config.json";
  WriteText(vocabulary, "a\nb\n");
  CheckError(Tokenizer::Load(vocabulary), ErrorCode::kDataLoss, "vocab.txt: has no line with the piece [UNK]");
  WriteText(vocabulary, "a\xFF\n");
  CheckError(Tokenizer::Load(vocabulary), ErrorCode::kDataLoss, "line 1 is no UTF-8");
  WriteText(vocabulary, "[PAD]\r\n[UNK]\r\n[CLS]\r\n[SEP]\r\n[MASK]\r\na\r\na\r\n");  // of two lines the last counts
  CHECK(EncodeInput(LoadTokenizer(folder.path()), "A a")->ids == Ids{2, 6, 6, 3});
  WriteText(config, R"({"tokenizer_class": "RoFormerTokenizer"})");
  CheckError(Tokenizer::Load(vocabulary), ErrorCode::kUnsupported, "RoFormerTokenizer");
  WriteText(config, R"({"do_lower_case": 1})");
  CheckError(Tokenizer::Load(vocabulary), ErrorCode::kDataLoss, "do_lower_case");
  std::filesystem::remove(config);
  WriteText(folder.path() / "added_tokens.json", "{}");
  CheckError(Tokenizer::Load(vocabulary), ErrorCode::kUnsupported, "added_tokens.json");
  std::filesystem::remove(folder.path() / "added_tokens.json");
  const std::string pieces = ReadBytes(DataPath("t5") / "spiece.model");
  WriteText(folder.path() / "spiece.model", pieces.substr(0, pieces.size() / 2));
  CheckError(Tokenizer::Load(folder.path() / "spiece.model"), ErrorCode::kDataLoss, "spiece.model");
  WriteText(folder.path() / "sentencepiece.bpe.model", pieces);
  CheckError(Tokenizer::Load(folder.path() / "sentencepiece.bpe.model"), ErrorCode::kDataLoss, "<pad>");
  WriteText(folder.path() / "config.json", R"({"model_type": "camembert"})");
  CheckError(Tokenizer::Load(folder.path() / "sentencepiece.bpe.model"), ErrorCode::kUnsupported, "CamembertTokenizer");
  std::filesystem::remove(folder.path() / "config.json");
  WriteText(folder.path() / "spiece.model", ReadBytes(TokenizerPath("mistral_style")));
  CheckError(Tokenizer::Load(folder.path() / "spiece.model"), ErrorCode::kUnsupported, "merges");
}

}  // namespace encoder_input_test
}  // namespace skald
