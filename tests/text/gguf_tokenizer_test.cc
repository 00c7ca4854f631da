// SPDX-License-Identifier: Apache-2.0
//
// Tokenizers rebuilt from the metadata of GGUF files: the same ids as those of the original model.

#include "skald/tokenizers/tokenizer.h"

#include <cstring>
#include <iterator>
#include <nlohmann/json.hpp>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "doctest/doctest.h"
#include "skald/tokenizers/detail/sentencepiece/sentencepiece_file.h"
#include "skald/tokenizers/stream_decoder.h"
#include "skald/weights/files/gguf.h"
#include "tests/support/check_error.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/test_data.h"
#include "tests/text/test_tokenizers.h"

namespace skald {
namespace gguf_tokenizer_test {

using nlohmann::json;
using testing::CheckError;

// Returns the content of a field of a protocol buffer message, whose number is `field`, and removes all up to its end.
std::string_view TakeContent(std::string_view& message, uint64_t field) {
  while (!message.empty()) {
    const std::string_view before = message;
    const auto found = internal::TakeField(message);
    REQUIRE(found.has_value());
    if (*found != field) continue;
    std::string_view content = before.substr(0, before.size() - message.size());
    internal::TakeVarint(content);                            // the tag
    if ((before[0] & 7) == 2) internal::TakeVarint(content);  // the length
    return content;
  }
  return {};
}

// Returns what a converter writes of a SentencePiece model (convert_hf_to_gguf.py of llama.cpp).
json MetadataOf(const std::string& model, bool add_space_prefix) {
  json tokens = json::array(), scores = json::array(), types = json::array();
  std::string_view rest = model;
  for (std::string_view piece = TakeContent(rest, 1); !piece.empty(); piece = TakeContent(rest, 1)) {
    std::string_view in_piece = piece;
    tokens.push_back(std::string(TakeContent(in_piece, 1)));
    float score = 0;
    const std::string_view bytes = TakeContent(in_piece, 2);
    if (bytes.size() == sizeof(score)) std::memcpy(&score, bytes.data(), sizeof(score));
    scores.push_back(score);
    in_piece = piece;
    std::string_view type = TakeContent(in_piece, 3);
    types.push_back(type.empty() ? 1 : static_cast<int>(type[0]));
  }
  return {{"tokenizer.ggml.model", "llama"},
          {"tokenizer.ggml.tokens", tokens},
          {"tokenizer.ggml.scores", scores},
          {"tokenizer.ggml.token_type", types},
          {"tokenizer.ggml.add_space_prefix", add_space_prefix}};
}

json Llama2Metadata(const std::string& model) {
  json metadata = MetadataOf(model, true);
  metadata["tokenizer.ggml.bos_token_id"] = 1u;
  metadata["tokenizer.ggml.eos_token_id"] = 2u;
  metadata["tokenizer.ggml.unknown_token_id"] = 0u;
  return metadata;
}

// Writes metadata into a file and reads them from there.
struct FileOf {
  explicit FileOf(const json& values)
      : image(testing::GgufImage(testing::GgufValuesOf(values), {})),
        contents(*ParseGguf("file", std::as_bytes(std::span(image)))) {}

  std::string image;
  GgufContents contents;
};

Result<Tokenizer> Rebuild(const json& metadata) { return Tokenizer::Load(FileOf(metadata).contents.metadata); }

Tokenizer MustRebuild(const json& metadata) {
  Result<Tokenizer> tokenizer = Rebuild(metadata);
  REQUIRE_MESSAGE(tokenizer.has_value(), tokenizer.error().message);
  return std::move(*tokenizer);
}

// As Phi-3's published file has them.
TEST_CASE("Fillers of the unknown type are control pieces beside the unknown piece, whatever type that has") {
  const std::string model = ReadBytes(TokenizerPath("mistral_style"));
  const Tokenizer original = TestTokenizer("mistral_style");
  json metadata = MetadataOf(model, true);
  const auto count = metadata["tokenizer.ggml.tokens"].size();
  const auto unk = static_cast<size_t>(*original.unk_id());
  for (size_t i = 0; i < 53; ++i) {
    metadata["tokenizer.ggml.tokens"].push_back("[PAD" + std::to_string(count + i) + "]");
    metadata["tokenizer.ggml.scores"].push_back(-1000.0f);
    metadata["tokenizer.ggml.token_type"].push_back(2);
  }
  for (const int type : {2, 3}) {
    metadata["tokenizer.ggml.token_type"][unk] = type;
    metadata["tokenizer.ggml.unknown_token_id"] = unk;
    const Tokenizer rebuilt = MustRebuild(metadata);
    CHECK(rebuilt.vocab_size() == count + 53);
    CHECK(rebuilt.unk_id() == original.unk_id());
    CHECK(rebuilt.KindOf(*original.unk_id()) == PieceKind::kUnknown);
    const auto filler = static_cast<int32_t>(count + 7);
    CHECK(rebuilt.KindOf(filler) == PieceKind::kControl);
    CHECK(MustDecode(rebuilt, {filler}).empty());
    const std::string name(*rebuilt.IdToPiece(filler));
    CHECK(MustEncode(rebuilt, name) == MustEncode(original, name));
    CHECK(MustEncode(rebuilt, name, ParseSpecial::kYes) == std::vector<int32_t>{filler});
    for (const char* text : {"And God said, Let there be light", "  \n\xF0\x9F\x8C\x8A", "<unk>"}) {
      CHECK(MustEncode(rebuilt, text) == MustEncode(original, text));
    }
  }
  // Without a name the first of them is the unknown piece.
  metadata.erase("tokenizer.ggml.unknown_token_id");
  metadata["tokenizer.ggml.token_type"][unk] = 2;
  CHECK(MustRebuild(metadata).KindOf(*original.unk_id()) == PieceKind::kUnknown);
}

TEST_CASE("The tokenizer of Llama 2, rebuilt, gives the ids of llama.cpp's vectors") {
  const auto folder = TestDataPath("models/tokenizers");
  if (!folder) return;
  const std::string model = ReadBytes(*folder / "llama2.model");
  const Tokenizer original = LoadTokenizer(*folder / "llama2.model");
  const Tokenizer rebuilt = MustRebuild(Llama2Metadata(model));
  CHECK(rebuilt.vocab_size() == original.vocab_size());
  CHECK(rebuilt.bos_id() == original.bos_id());
  CHECK(rebuilt.eos_id() == original.eos_id());
  CHECK(rebuilt.unk_id() == original.unk_id());
  CHECK(rebuilt.pad_id() == original.pad_id());
  CHECK(rebuilt.leading_space() == original.leading_space());
  const std::string separator = "\n__ggml_vocab_test__\n";
  std::string texts = ReadBytes(*folder / "llama2.inp");
  std::istringstream lines(ReadBytes(*folder / "llama2.out"));
  size_t cases = 0;
  for (std::string line; std::getline(lines, line); ++cases) {
    const size_t end = texts.find(separator);
    const std::string text = texts.substr(0, end);
    texts.erase(0, end + separator.size());
    std::istringstream numbers(line);
    const std::vector<int32_t> expected{std::istream_iterator<int32_t>(numbers), {}};
    CHECK(MustEncode(rebuilt, text) == expected);
    CHECK(MustDecode(rebuilt, expected) == text);
  }
  CHECK(cases >= 46);
}

TEST_CASE("Tokenizers in the styles of Gemma and Mistral, rebuilt, give the original's ids") {
  const std::vector<std::string> texts = {"",
                                          " ",
                                          "  ",
                                          "   x",
                                          "In the beginning God created",
                                          "a\nb",
                                          "<h1>x  y",
                                          "<start_of_turn>user\nHi<end_of_turn>",
                                          "[INST] x [/INST]",
                                          "\xF0\x9F\x98\x80\xFF",
                                          "\xE2\x96\x81spelled\xE2\x96\x81\xE2\x96\x81out"};
  for (const std::string name : {"gemma_style", "mistral_style"}) {
    CAPTURE(name);
    const Tokenizer original = TestTokenizer(name);
    json metadata = MetadataOf(ReadBytes(TokenizerPath(name)), name == "mistral_style");
    metadata["tokenizer.ggml.bos_token_id"] = *original.bos_id();
    metadata["tokenizer.ggml.eos_token_id"] = *original.eos_id();
    for (auto& token : metadata["tokenizer.ggml.tokens"]) {  // as the converter writes them
      if (token == "\xE2\x96\x81\xE2\x96\x81") token = "  ";
    }
    const Tokenizer rebuilt = MustRebuild(metadata);
    CHECK(rebuilt.bos_id() == original.bos_id());
    CHECK(rebuilt.eos_id() == original.eos_id());
    CHECK_FALSE(rebuilt.pad_id());  // none was named
    CHECK(rebuilt.leading_space() == original.leading_space());
    for (const std::string& text : texts) {
      CAPTURE(text);
      CHECK(MustEncode(rebuilt, text) == MustEncode(original, text));
      CHECK(MustEncode(rebuilt, text, ParseSpecial::kYes) == MustEncode(original, text, ParseSpecial::kYes));
      CHECK(MustDecode(rebuilt, MustEncode(original, text)) == MustDecode(original, MustEncode(original, text)));
    }
  }
}

// Few pieces, but of all kinds.
json SmallMetadata() {
  return {{"tokenizer.ggml.model", "llama"},
          {"tokenizer.ggml.tokens", {"<unk>", "<s>", "</s>", "a", "b", "ab"}},
          {"tokenizer.ggml.scores", {0, 0, 0, -1.0, -2.0, -0.5}},
          {"tokenizer.ggml.token_type", {2, 3, 3, 1, 1, 1}},
          {"tokenizer.ggml.bos_token_id", 1},
          {"tokenizer.ggml.add_space_prefix", false}};
}

TEST_CASE("Options of the metadata are kept") {
  json metadata = SmallMetadata();
  CHECK(MustEncode(MustRebuild(metadata), "abba") == std::vector<int32_t>{5, 4, 3});
  CHECK(MustRebuild(metadata).bos_id() == 1);
  CHECK(MustRebuild(metadata).Encode("a", ParseSpecial::kNo, AddSpecial::kYes).value() == std::vector<int32_t>{1, 3});
  metadata["tokenizer.ggml.add_bos_token"] = false;  // then prompts begin without it
  CHECK_FALSE(MustRebuild(metadata).bos_id());
  CHECK_FALSE(MustRebuild(metadata).eos_id());
  metadata["tokenizer.ggml.eos_token_id"] = 2;
  metadata["tokenizer.ggml.add_eos_token"] = true;
  CHECK(MustRebuild(metadata).Encode("a", ParseSpecial::kNo, AddSpecial::kYes).value() == std::vector<int32_t>{3, 2});
}

TEST_CASE("Metadata without a usable tokenizer are refused by name") {
  const auto error_of = [](const char* name, const json& value) {
    json metadata = SmallMetadata();
    if (value.is_null()) {
      metadata.erase(std::string("tokenizer.ggml.") + name);
    } else {
      metadata[std::string("tokenizer.ggml.") + name] = value;
    }
    const Result<Tokenizer> tokenizer = Rebuild(metadata);
    return tokenizer ? "accepted" : tokenizer.error().message;
  };
  CHECK(error_of("pre", "default") == "accepted");
  CHECK(error_of("model", nullptr) == "metadata: tokenizer.ggml.model is missing or null");
  CHECK(error_of("model", "syllables").find("tokenizer.ggml.model is \"syllables\"; Skald supports only \"llama\"") !=
        std::string::npos);
  CHECK(error_of("tokens", nullptr) == "metadata: tokenizer.ggml.tokens is missing or null");
  CHECK(error_of("tokens", {2, 1}).find("tokens must be an array of 2 strings, but is an array of 2") !=
        std::string::npos);
  CHECK(error_of("tokens", 7) == "metadata: tokenizer.ggml.tokens must be an array of 0 strings, but is 7");
  CHECK(error_of("scores", {1.0}).find("scores must be an array of 6 numbers") != std::string::npos);
  CHECK(error_of("token_type", {1, 1, 1, 1, 1, 7}).find("token_type must be an array of 6") != std::string::npos);
  CHECK(error_of("bos_token_id", 6).find("bos_token_id must be a whole number from 0 to 5") != std::string::npos);
  CHECK(error_of("add_space_prefix", 1).find("add_space_prefix must be true or false") != std::string::npos);
  for (const json& tokens : {json{"<unk>", "<s>", "</s>", "a", "b", "a"}, json{"<unk>", "<s>", "</s>", "a", "b", ""}}) {
    CHECK(error_of("tokens", tokens).find("the tokenizer in the metadata: ") == 0);
  }
  CHECK(error_of("token_type", {1, 3, 3, 1, 1, 1}).find("the tokenizer in the metadata: ") == 0);
  CheckError(Rebuild(json::object()), ErrorCode::kNotFound, "tokenizer.ggml.model");
}

TEST_CASE("What is unknown reads the same all at once and in a stream, whether or not it is named") {
  json spaced = SmallMetadata();
  spaced["tokenizer.ggml.tokens"] = {"\xE2\x96\x81",
                                     "<s>",
                                     "</s>",
                                     "a",
                                     "\xE2\x96\x81"
                                     "b",
                                     "ab"};
  spaced["tokenizer.ggml.add_space_prefix"] = true;
  json named = SmallMetadata();
  named["tokenizer.ggml.unknown_token_id"] = 0;
  for (const json& metadata : {SmallMetadata(), named, spaced}) {
    const Tokenizer tokenizer = MustRebuild(metadata);
    for (const std::vector<int32_t>& ids : {std::vector<int32_t>{3, 0, 5}, {0, 0}, {4, 4, 0}, {0, 4}, {1, 4, 3}}) {
      StreamDecoder decoder(tokenizer);
      std::string streamed;
      for (const int32_t id : ids) streamed += decoder.Push(id).value();
      CHECK(streamed + decoder.Flush() == MustDecode(tokenizer, ids));
    }
  }
}

// Pieces that are markers of unknown models, one inside the other.
json MarkerMetadata() {
  return {{"tokenizer.ggml.model", "llama"},
          {"tokenizer.ggml.tokens",
           {"<unk>", "<s>", "</s>", "<call>", "[x]", "<[x]>", "<b>", "<", ">", "[", "]", "x", "c", "a", "l", "b",
            "<call><"}},
          {"tokenizer.ggml.scores",
           {0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -1.0, -1.0, -1.0, -1.0, -1.0, -1.0, -1.0, -1.0, -1.0, 0.0}},
          {"tokenizer.ggml.token_type", {2, 3, 3, 4, 4, 4, 4, 1, 1, 1, 1, 1, 1, 1, 1, 1, 4}},
          {"tokenizer.ggml.unknown_token_id", 0},
          {"tokenizer.ggml.add_space_prefix", false}};
}

TEST_CASE("Text from users contains no marker, known or not, and stays the text that it is") {
  const Tokenizer tokenizer = MustRebuild(MarkerMetadata());
  const auto encode = [&](const char* text) { return MustEncode(tokenizer, text); };
  CHECK(encode("<call>") == std::vector<int32_t>{7, 12, 13, 14, 14, 8});
  CHECK(encode("[x]") == std::vector<int32_t>{9, 11, 10});
  CHECK(encode("<[x]>") == std::vector<int32_t>{7, 9, 11, 10, 8});
  CHECK(encode("a<b>") == std::vector<int32_t>{13, 6});  // a tag of formatted text
  for (const char* text : {"<call><call>", "<call>[x]", "<[x]><b>", "<<[x]>>", "<s>[x]</s>"}) {
    CAPTURE(text);
    for (const int32_t id : encode(text)) CHECK((id < 1 || id > 5));
    if (std::string_view(text).find('/') == std::string_view::npos) {
      const std::string decoded = MustDecode(tokenizer, encode(text));
      CHECK(decoded.find("\xE2\x81\x87") == std::string::npos);  // nothing was unknown
    }
  }
  CHECK(MustEncode(tokenizer, "<call>x[x]<[x]>", ParseSpecial::kYes) == std::vector<int32_t>{3, 11, 4, 5});
  CHECK(tokenizer.SpecialId("<call>") == 3);
  CHECK_FALSE(tokenizer.SpecialId("<b>"));
}

TEST_CASE("A vocabulary of 200,000 control pieces and markers is read at once") {
  json metadata = MarkerMetadata();
  for (int i = 0; i < 200'000; ++i) {
    metadata["tokenizer.ggml.tokens"].push_back("<c" + std::to_string(i) + ">");
    metadata["tokenizer.ggml.scores"].push_back(0.0);
    metadata["tokenizer.ggml.token_type"].push_back(i % 10 == 0 ? 4 : 3);
  }
  const Tokenizer tokenizer = MustRebuild(metadata);
  CHECK(tokenizer.vocab_size() == 200'017);
  CHECK(tokenizer.SpecialId("<c77>") == 17 + 77);
  CHECK(MustEncode(tokenizer, "<c10>", ParseSpecial::kYes) == std::vector<int32_t>{17 + 10});
  for (const int32_t id : MustEncode(tokenizer, "<c10><c11>")) CHECK(id < 17);
}

}  // namespace gguf_tokenizer_test
}  // namespace skald
