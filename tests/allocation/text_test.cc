// SPDX-License-Identifier: Apache-2.0
//
// Tokenizers, chat templates and samplers when memory runs out.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/base/files/small_file.h"
#include "skald/open/chat.h"
#include "skald/sampling/sampler.h"
#include "skald/templates/built_in.h"
#include "skald/tokenizers/detail/sentencepiece/sentencepiece_writer.h"
#include "skald/tokenizers/gguf_tokenizer.h"
#include "skald/tokenizers/stream_decoder.h"
#include "skald/tokenizers/tokenizer.h"
#include "tests/allocation/fail_each.h"
#include "tests/support/temporary_folder.h"
#include "tests/text/test_tokenizers.h"

namespace skald::testing {
namespace text_test {

using internal::NewPiece;
using internal::PieceType;

constexpr const char* kText = "Once upon a time\n\xE2\x82\xAC and then";

// A tokenizer of few pieces with the marks of a chat.
internal::NewSentencePieceModel FewPieces() {
  internal::NewSentencePieceModel model;
  model.pieces = {{"<unk>", 0, PieceType::kUnknown},
                  {"<s>", 0, PieceType::kControl},
                  {"</s>", 0, PieceType::kControl},
                  {"<start_of_turn>", 0, PieceType::kControl},
                  {"<end_of_turn>", 0, PieceType::kControl}};
  for (int byte = 0; byte < 256; ++byte) {
    char name[8];
    std::snprintf(name, sizeof(name), "<0x%02X>", static_cast<unsigned>(byte));
    model.pieces.push_back({name, 0, PieceType::kByte});
  }
  for (const char* text : {"\xE2\x96\x81", "o", "n", "e", "on", "\xE2\x96\x81on", "\xE2\x96\x81one"}) {
    model.pieces.push_back({text, -1.0f * static_cast<float>(model.pieces.size()), PieceType::kNormal});
  }
  return model;
}

struct Nothing {};

struct WithTokenizer {
  Tokenizer tokenizer = TestTokenizer("gemma_style");
  std::vector<int32_t> ids = MustEncode(tokenizer, kText);
  StreamDecoder decoder{tokenizer};
  std::vector<Message> texts = {{Role::kSystem, "Be brief, whatever is asked of you."},
                                {Role::kUser, "Who was it that went to the mountain?"},
                                {Role::kAssistant, "It was a man of many names and few words."},
                                {Role::kUser, "And then?"}};
  Chat chat{texts};
  ChatTemplate chat_template = *BuiltInTemplate("gemma");
};

template <class Call, class Look>
void FailEachWithTokenizer(const std::string& name, Call call, Look look) {
  // One for all: no call changes it.
  static const auto scene = std::make_shared<WithTokenizer>();
  FailEachAllocation(
      name, [] { return scene; }, call, look);
}

constexpr auto kIds = [](const auto&, const auto& ids) { return BytesIn(*ids); };

TEST_CASE("a tokenizer is loaded, or there is an error, whichever allocation fails") {
  const auto nothing = [] { return std::make_unique<Nothing>(); };
  const auto size = [](Nothing&, const Result<Tokenizer>& tokenizer) {
    return std::to_string(tokenizer->vocab_size());
  };
  const std::string bytes = internal::WriteSentencePieceModel(FewPieces());
  FailEachAllocation(
      "Tokenizer::Parse", nothing, [&](Nothing&) { return Tokenizer::Parse(bytes); }, size);
  const TemporaryFolder folder;
  const auto path = folder.path() / "tokenizer.model";
  WriteFile(path, bytes);
  FailEachAllocation(
      "Tokenizer::Load", nothing, [&](Nothing&) { return Tokenizer::Load(path); }, size);
}

TEST_CASE("a tokenizer.json is read, kept and used, or there is an error, whichever allocation fails") {
  const std::filesystem::path folder = std::filesystem::path(SKALD_REPOSITORY) / "tests/text/data/byte_level";
  const std::string json = *ReadSmallFile(folder / "tokenizer.json", kMaxTokenizerFile);
  const Tokenizer tokenizer = *Tokenizer::Parse(json);
  const std::string quick = *tokenizer.ToBytes();
  const auto ids = *tokenizer.Encode(kText);
  const auto nothing = [] { return std::make_unique<Nothing>(); };
  const auto size = [](Nothing&, const Result<Tokenizer>& parsed) { return std::to_string(parsed->vocab_size()); };
  FailEachAllocation(
      "Tokenizer::Parse of tokenizer.json", nothing, [&](Nothing&) { return Tokenizer::Parse(json); }, size);
  FailEachAllocation(
      "Tokenizer::Load of a folder", nothing, [&](Nothing&) { return Tokenizer::Load(folder); }, size);
  FailEachAllocation(
      "Tokenizer::Parse of the quick form", nothing, [&](Nothing&) { return Tokenizer::Parse(quick); }, size);
  const auto text = [](Nothing&, const Result<std::string>& bytes) { return *bytes; };
  FailEachAllocation(
      "Tokenizer::ToBytes", nothing, [&](Nothing&) { return tokenizer.ToBytes(); }, text);
  FailEachAllocation(
      "Encode by merges", nothing,
      [&](Nothing&) { return tokenizer.Encode(kText, ParseSpecial::kYes, AddSpecial::kYes); }, kIds);
  FailEachAllocation(
      "Decode of bytes", nothing, [&](Nothing&) { return tokenizer.Decode(ids, SkipSpecial::kNo); }, text);
  FailEachAllocation(
      "ParseGenerationConfig", nothing,
      [](Nothing&) { return ParseGenerationConfig(R"({"eos_token_id": [1, 2, 3], "temperature": 0.5})"); },
      [](Nothing&, const Result<GenerationConfig>& config) { return BytesIn(config->eos_ids); });
}

TEST_CASE("text is encoded and decoded, or there is an error, whichever allocation fails") {
  FailEachWithTokenizer(
      "Encode", [](WithTokenizer& scene) { return scene.tokenizer.Encode(kText); }, kIds);
  FailEachWithTokenizer(
      "Encode with marks",
      [](WithTokenizer& scene) { return scene.tokenizer.Encode("<start_of_turn>user one", ParseSpecial::kYes); }, kIds);
  FailEachWithTokenizer(
      "Decode", [](WithTokenizer& scene) { return scene.tokenizer.Decode(scene.ids); },
      [](WithTokenizer&, const Result<std::string>& text) { return *text; });
  FailEachWithTokenizer(
      "EncodeChat", [](WithTokenizer& scene) { return EncodeChat(scene.tokenizer, scene.chat_template, scene.chat); },
      kIds);
  FailEachWithTokenizer(
      "EncodeNextTurn",
      [](WithTokenizer& scene) { return EncodeNextTurn(scene.tokenizer, scene.chat_template, scene.chat, scene.ids); },
      [](const auto&, const auto& next) { return BytesIn(next->ids); });
}

// A stream of text, at any of its pieces.
struct Stream {
  explicit Stream(const WithTokenizer& text, size_t pieces) : decoder(text.tokenizer), next(text.ids[pieces]) {
    for (size_t i = 0; i < pieces; ++i) REQUIRE(decoder.Push(text.ids[i]));
  }
  std::string State() const {
    StreamDecoder copy = decoder;
    return copy.Flush();
  }
  StreamDecoder decoder;
  int32_t next;
};

TEST_CASE("a stream decoder that finds no memory goes on where it was") {
  const WithTokenizer text;
  for (size_t pieces = 0; pieces < text.ids.size(); ++pieces) {
    FailEachAllocation(
        "StreamDecoder::Push of piece " + std::to_string(pieces),
        [&] { return std::make_unique<Stream>(text, pieces); },
        [](Stream& stream) { return stream.decoder.Push(stream.next); },
        [](Stream& stream, const Result<std::string>& pushed) { return *pushed + "|" + stream.State(); });
  }
}

TEST_CASE("a token is drawn, or there is an error, whichever allocation fails") {
  std::vector<float> logits(400);
  for (size_t i = 0; i < logits.size(); ++i) logits[i] = static_cast<float>(i * 37 % 101) * 0.1f;
  SamplerSettings settings = {.temperature = 0.7f, .repetition_penalty = 1.3f, .num_logprobs = 5};
  settings.logit_bias = {{3, -1.0f}};
  const SamplerState state = {{1, 2, 3, 3, 50}};
  const auto drawn = [](Nothing&, const Result<SampledToken>& token) {
    return std::to_string(token->id) + BytesIn(token->top_logprobs);
  };
  const auto nothing = [] { return std::make_unique<Nothing>(); };
  for (const size_t top_k : {size_t{0}, size_t{20}}) {
    for (const float top_p : {1.0f, 0.9f}) {
      settings.top_k = top_k, settings.top_p = top_p;
      FailEachAllocation(
          "Sample", nothing, [&](Nothing&) { return Sample(logits, settings, state, 7); }, drawn);
    }
  }
  settings.temperature = 0;
  FailEachAllocation(
      "Sample greedily", nothing, [&](Nothing&) { return Sample(logits, settings, state, 7); }, drawn);
  settings.temperature = -1;
  CHECK_FALSE(Sample(logits, settings, state, 7));
}

}  // namespace text_test
}  // namespace skald::testing
