// SPDX-License-Identifier: Apache-2.0
//
// The metadata of a GGUF file with a byte-level tokenizer, as a TokenizerSpec.

#include "skald/tokenizers/detail/gguf/gguf_byte_pairs.h"

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "doctest/doctest.h"
#include "skald/tokenizers/gguf_tokenizer.h"
#include "skald/weights/files/gguf.h"
#include "tests/support/check_error.h"
#include "tests/support/gguf_writer.h"

namespace skald {
namespace gguf_byte_pairs_test {

using nlohmann::json;
using testing::CheckError;

json SmallMetadata() {
  return {{"tokenizer.ggml.model", "gpt2"},
          {"tokenizer.ggml.pre", "llama-bpe"},
          {"tokenizer.ggml.tokens", {"a", "b", "ab", "<s>", "<tool>", "", "<|im_end|>", "<unk>", "[PAD8]"}},
          {"tokenizer.ggml.token_type", {1, 1, 1, 3, 4, 5, 4, 2, 5}},
          {"tokenizer.ggml.merges", {"a b"}},
          {"tokenizer.ggml.bos_token_id", 3},
          {"tokenizer.ggml.eos_token_id", 6}};
}

// Writes metadata into a file, and calls read(metadata) with what comes back from there.
template <class Read>
auto Through(const json& metadata, Read read) {
  const std::string image = testing::GgufImage(testing::GgufValuesOf(metadata), {});
  const auto contents = ParseGguf("file", std::as_bytes(std::span(image)));
  REQUIRE(contents);
  return read(contents->metadata);
}

Result<Tokenizer> LoadTokenizer(const GgufMetadata& metadata) { return Tokenizer::Load(metadata); }

Result<TokenizerSpec> SpecOf(const json& metadata) { return Through(metadata, TokenizerSpecFromGguf); }

TokenizerSpec With(const char* name, const json& value) {
  json metadata = SmallMetadata();
  metadata[std::string("tokenizer.ggml.") + name] = value;
  auto spec = SpecOf(metadata);
  REQUIRE_MESSAGE(spec.has_value(), spec.error().message);
  return *std::move(spec);
}

TEST_CASE("pieces, merges and named ids are those of the metadata") {
  const TokenizerSpec spec = SpecOf(SmallMetadata()).value();
  REQUIRE(spec.vocabulary.texts.size() == 9);
  CHECK(spec.vocabulary.texts[2] == "ab");
  CHECK(spec.vocabulary.texts[5] == "[EMPTY_5]");
  CHECK(spec.vocabulary.ids == std::vector<int32_t>{0, 1, 2, 3, 4, 5, 6, 7, 8});
  const auto& model = std::get<token_model::Bpe>(spec.model);
  REQUIRE(model.merges.size() == 2);
  CHECK(model.merges[0] == "a");
  CHECK(model.merges[1] == "b");
  CHECK(spec.bos_id == 3);
  CHECK(spec.eos_id == 6);
  CHECK_FALSE(spec.unk_id);
  CHECK_FALSE(spec.pad_id);
}

TEST_CASE("types of pieces, and some names, tell what is parsed") {
  const TokenizerSpec spec = SpecOf(SmallMetadata()).value();
  std::vector<std::string> special, always;
  for (const AddedToken& token : spec.added_tokens) (token.special ? special : always).push_back(token.content);
  CHECK(special == std::vector<std::string>{"<s>", "<|im_end|>", "<unk>"});
  CHECK(always == std::vector<std::string>{"<tool>"});
}

TEST_CASE("the name of the pre-tokenizer tells the splits and what else belongs to them") {
  TokenizerSpec spec = With("pre", "llama-bpe");
  CHECK(spec.pre_tokenizers.size() == 2);
  CHECK(std::get<token_model::Bpe>(spec.model).ignore_merges);
  CHECK(spec.prefix == std::vector<int32_t>{3});
  CHECK(spec.normalizers.empty());
  spec = With("pre", "qwen2");
  CHECK_FALSE(std::get<token_model::Bpe>(spec.model).ignore_merges);
  CHECK(spec.prefix.empty());
  CHECK(spec.normalizers.size() == 1);
  json metadata = SmallMetadata();
  metadata.erase("tokenizer.ggml.pre");
  CHECK(SpecOf(metadata)->pre_tokenizers.size() == With("pre", "default").pre_tokenizers.size());
}

TEST_CASE("what goes around a text can be said by name") {
  CHECK(With("add_bos_token", false).prefix.empty());
  CHECK(With("add_eos_token", true).suffix == std::vector<int32_t>{6});
}

TEST_CASE("a merge of a piece that begins with a space is read") {
  const TokenizerSpec spec = With("merges", {" a b"});
  CHECK(std::get<token_model::Bpe>(spec.model).merges[0] == " a");
}

TEST_CASE("a tokenizer of the metadata encodes, parses and decodes") {
  const Tokenizer tokenizer = Through(SmallMetadata(), LoadTokenizer).value();
  using Ids = std::vector<int32_t>;
  CHECK(tokenizer.vocab_size() == 9);
  CHECK(tokenizer.Encode("abba").value() == Ids{2, 1, 0});
  CHECK(tokenizer.Encode("a<tool><s>b").value() == Ids{0, 4, 1});  // letters that have no piece leave no trace
  CHECK(tokenizer.Encode("a<tool><s>b", ParseSpecial::kYes).value() == Ids{0, 4, 3, 1});
  CHECK(tokenizer.Encode("ab", ParseSpecial::kNo, AddSpecial::kYes).value() == Ids{3, 2});
  CHECK(tokenizer.Decode(Ids{3, 2, 4, 6}).value() == "ab<tool>");
  CHECK(tokenizer.SpecialId("<|im_end|>") == 6);
  json metadata = SmallMetadata();
  metadata["tokenizer.ggml.merges"] = {"a c"};
  CheckError(Through(metadata, LoadTokenizer), ErrorCode::kDataLoss, "the tokenizer in the metadata: ");
}

TEST_CASE("Metadata that make no byte-level tokenizer are refused by name") {
  const auto refuses = [](const char* name, const json& value, ErrorCode code, const char* words) {
    json metadata = SmallMetadata();
    if (value.is_null()) {
      metadata.erase(std::string("tokenizer.ggml.") + name);
    } else {
      metadata[std::string("tokenizer.ggml.") + name] = value;
    }
    CheckError(SpecOf(metadata), code, words);
  };
  refuses("pre", "llama-9", ErrorCode::kUnsupported, R"(tokenizer.ggml.pre is "llama-9"; Skald supports only one of)");
  refuses("pre", "", ErrorCode::kUnsupported, "tokenizer.ggml.pre");
  refuses("pre", 3, ErrorCode::kDataLoss, "tokenizer.ggml.pre must be a string");
  refuses("model", "syllables", ErrorCode::kUnsupported, R"(tokenizer.ggml.model is "syllables")");
  refuses("tokens", nullptr, ErrorCode::kNotFound, "tokenizer.ggml.tokens");
  refuses("merges", nullptr, ErrorCode::kNotFound, "tokenizer.ggml.merges");
  refuses("merges", {"ab"}, ErrorCode::kDataLoss, "strings of two pieces with a space between them");
  refuses("merges", {""}, ErrorCode::kDataLoss, "merges must be");
  refuses("token_type", {1, 1}, ErrorCode::kDataLoss, "tokenizer.ggml.token_type must be an array of 9");
  refuses("bos_token_id", 9, ErrorCode::kDataLoss, "bos_token_id must be a whole number from 0 to 8");
}

}  // namespace gguf_byte_pairs_test
}  // namespace skald
