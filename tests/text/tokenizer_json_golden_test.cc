// SPDX-License-Identifier: Apache-2.0
//
// Tokenizers of published models and of single components against reference values that cannot be part of the
// repository. SKALD_TEXT_GOLDENS names their folder: tokenizers/<name>/ has tokenizer.json.xz, vectors.json and perhaps
// unicode.json; components.json has small tokenizers inline. Needs the program xz.

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "doctest/doctest.h"
#include "skald/tokenizers/detail/json/base64.h"
#include "skald/tokenizers/detail/pipeline/steps/patterns.h"
#include "skald/tokenizers/detail/unicode.h"
#include "skald/tokenizers/stream_decoder.h"
#include "skald/tokenizers/tokenizer.h"
#include "tests/support/temporary_folder.h"
#include "tests/text/test_tokenizers.h"

namespace skald {
namespace tokenizer_json_golden_test {

using nlohmann::json;
using Ids = std::vector<int32_t>;

// The folder, or nothing and a line that says so.
std::optional<std::filesystem::path> GoldenTokenizers() {
  const std::filesystem::path folder = SKALD_TEXT_GOLDENS;
  if (!folder.empty() && std::filesystem::exists(folder / "tokenizers")) return folder;
  MESSAGE("skipped: SKALD_TEXT_GOLDENS names no folder of reference values");
  return std::nullopt;
}

json ParseFile(const std::filesystem::path& path) { return json::parse(ReadBytes(path)); }

Tokenizer LoadUnpacked(const std::filesystem::path& packed) {
  const testing::TemporaryFolder folder;
  const std::string command =
      "xz -dc '" + packed.string() + "' > '" + (folder.path() / "tokenizer.json").string() + "'";
  REQUIRE(std::system(command.c_str()) == 0);
  const std::filesystem::path config = packed.parent_path() / "tokenizer_config.json";
  if (std::filesystem::exists(config)) std::filesystem::copy_file(config, folder.path() / "tokenizer_config.json");
  return LoadTokenizer(folder.path());
}

// The same through the form that opens quickly.
Tokenizer Reopened(const Tokenizer& tokenizer) {
  const Result<std::string> bytes = tokenizer.ToBytes();
  REQUIRE(bytes);
  Result<Tokenizer> reopened = Tokenizer::Parse(*bytes);
  REQUIRE_MESSAGE(reopened.has_value(), reopened.error().message);
  return *std::move(reopened);
}

void CheckCase(const Tokenizer& tokenizer, const json& item) {
  const std::string text =
      item.contains("text") ? item["text"].get<std::string>() : *internal::FromBase64(item["bytes"].get<std::string>());
  CAPTURE(text);
  const Ids ids = item["ids"], with_special = item["ids_special"];
  CHECK(tokenizer.Encode(text, ParseSpecial::kYes) == ids);
  CHECK(tokenizer.Encode(text, ParseSpecial::kYes, AddSpecial::kYes) == with_special);
  if (item.contains("ids_plain")) CHECK(tokenizer.Encode(text) == item["ids_plain"].get<Ids>());
  CHECK(tokenizer.Decode(ids, SkipSpecial::kNo) == item["decoded"].get<std::string>());
  CHECK(tokenizer.Decode(with_special) == item["decoded_skip"].get<std::string>());
}

// The reference shows names of special tokens and the space before a text, which a StreamDecoder leaves out.
void CheckStream(const Tokenizer& tokenizer, const json& stream) {
  const Ids ids = stream["ids"];
  CHECK(tokenizer.Decode(ids, SkipSpecial::kNo) == stream["decoded"].get<std::string>());
  for (const int32_t id : ids) {
    if (tokenizer.KindOf(id) == PieceKind::kControl || tokenizer.KindOf(id) == PieceKind::kUnknown) return;
  }
  std::vector<std::string> expected = stream["emit"], emitted;
  const bool drops = tokenizer.leading_space() != LeadingSpace::kKeep;
  for (size_t i = 0; drops && i < expected.size(); ++i) {
    if (expected[i].empty()) continue;
    if (expected[i][0] == ' ') expected[i].erase(0, 1);
    break;
  }
  StreamDecoder decoder(tokenizer);
  for (const int32_t id : ids) emitted.push_back(decoder.Push(id).value());
  CHECK(emitted == expected);
  CHECK(decoder.Flush() == stream["flush"].get<std::string>());
}

// Every character in a probe text, the ids of 256 characters hashed together. The last field of a block says whether
// Unicode 14 and 16 agree on it: only then do versions of libraries not matter.
void CheckEveryCharacter(const Tokenizer& tokenizer, const json& expected) {
  const std::string probe = expected["probe"];
  size_t wrong = 0;
  for (const json& block : expected["blocks"]) {
    if (block[3] != 1) continue;
    uint64_t hash = 0xCBF29CE484222325u;
    const auto add = [&hash](uint32_t word) { hash = (hash ^ word) * 0x100000001B3u; };
    const auto first = static_cast<char32_t>(std::stoul(block[0].get<std::string>(), nullptr, 16));
    for (char32_t c = first; c < first + 256; ++c) {
      if (c >= 0xD800 && c <= 0xDFFF) continue;
      std::string letter;
      internal::AppendUtf8(c, letter);
      for (const int32_t id : MustEncode(tokenizer, internal::ReplaceLetters(probe, "{c}", letter))) {
        add(static_cast<uint32_t>(id));
      }
      add(0xFFFFFFFF);
    }
    wrong += hash != std::stoull(block[2].get<std::string>(), nullptr, 16);
  }
  CHECK(wrong == 0);
}

TEST_CASE("Tokenizers of published models give the reference's ids and texts") {
  const auto folder = GoldenTokenizers();
  if (!folder) return;
  size_t cases = 0, streams = 0;
  for (const auto& entry : std::filesystem::directory_iterator(*folder / "tokenizers")) {
    CAPTURE(entry.path().string());
    const Tokenizer tokenizer = Reopened(LoadUnpacked(entry.path() / "tokenizer.json.xz"));
    const json vectors = ParseFile(entry.path() / "vectors.json");
    for (const json& item : vectors["cases"]) CheckCase(tokenizer, item);
    cases += vectors["cases"].size();
    if (vectors.contains("streams")) {
      for (const json& stream : vectors["streams"]) CheckStream(tokenizer, stream);
      streams += vectors["streams"].size();
    }
    const std::filesystem::path unicode = entry.path() / "unicode.json";
    if (std::filesystem::exists(unicode)) CheckEveryCharacter(tokenizer, ParseFile(unicode));
  }
  MESSAGE(cases << " texts, " << streams << " streams");
  CHECK(cases > 0);
}

TEST_CASE("Each component of tokenizer.json does what the reference does") {
  const auto folder = GoldenTokenizers();
  if (!folder) return;
  size_t cases = 0;
  const json components = ParseFile(*folder / "components.json");
  for (const json& item : components["tokenizers"]) {
    const std::string name = item["name"];
    if (name == "truncation") continue;  // which Skald leaves to its caller
    CAPTURE(name);
    const Result<Tokenizer> tokenizer = Tokenizer::Parse(item["tokenizer"].dump());
    REQUIRE_MESSAGE(tokenizer.has_value(), tokenizer.error().message);
    const Tokenizer reopened = Reopened(*tokenizer);
    for (const json& one : item["cases"]) {
      CheckCase(*tokenizer, one);
      CheckCase(reopened, one);
    }
    cases += item["cases"].size();
  }
  MESSAGE(cases << " texts");
  CHECK(cases > 0);
}

}  // namespace tokenizer_json_golden_test
}  // namespace skald
