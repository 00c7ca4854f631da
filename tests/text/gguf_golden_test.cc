// SPDX-License-Identifier: Apache-2.0
//
// Tokenizers of GGUF files against reference values that cannot be part of the repository. SKALD_TEXT_GOLDENS names
// their folder: gguf/<name>/ has a vocabulary, compressed by xz, and vectors.json; tokenizers/<name>/gguf.json says how
// tools/make_gguf.py makes one of tokenizer.json. Needs the programs xz and python3.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "doctest/doctest.h"
#include "skald/tokenizers/tokenizer.h"
#include "skald/weights/files/gguf.h"
#include "tests/support/temporary_folder.h"
#include "tests/text/test_tokenizers.h"

namespace skald {
namespace gguf_golden_test {

using nlohmann::json;
using Ids = std::vector<int32_t>;

// The folder, or nothing and a line that says so.
std::optional<std::filesystem::path> GoldenFolder() {
  const std::filesystem::path folder = SKALD_TEXT_GOLDENS;
  if (!folder.empty() && std::filesystem::exists(folder / "gguf")) return folder;
  MESSAGE("skipped: SKALD_TEXT_GOLDENS names no folder of reference values");
  return std::nullopt;
}

json ReadJsonFile(const std::filesystem::path& path) { return json::parse(ReadBytes(path)); }

std::string Quoted(const std::filesystem::path& path) { return "'" + path.string() + "'"; }

void MustRun(const std::string& command) {
  CAPTURE(command);
  REQUIRE(std::system(command.c_str()) == 0);
}

Tokenizer OpenGguf(const std::filesystem::path& path) {
  const std::string bytes = ReadBytes(path);
  const auto contents = ParseGguf(path.string(), std::as_bytes(std::span(bytes)));
  REQUIRE(contents);
  auto tokenizer = Tokenizer::Load(contents->metadata);
  REQUIRE_MESSAGE(tokenizer.has_value(), tokenizer.error().message);
  return *std::move(tokenizer);
}

std::string FromBase64(std::string_view text) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    if (c == '=') break;
    bits = bits << 6 | static_cast<uint32_t>(kDigits.find(c));
    if ((count += 6) >= 8) bytes += static_cast<char>(bits >> (count -= 8));
  }
  return bytes;
}

std::string TextOf(const json& c) {
  return c.contains("bytes") ? FromBase64(c["bytes"].get<std::string>()) : c["text"].get<std::string>();
}

Ids Encode(const Tokenizer& tokenizer, const json& c, ParseSpecial parse, AddSpecial add = AddSpecial::kNo) {
  return tokenizer.Encode(TextOf(c), parse, add).value();
}

// llama.cpp's ids of valid texts, and of others with replacement characters. SentencePiece's own library, which Skald
// uses for its models, replaces byte by byte, so only valid texts are encoded there.
void CheckVectors(const Tokenizer& tokenizer, const json& vectors) {
  const bool is_sentencepiece = vectors["model"] == "llama";
  for (const json& c : vectors["cases"]) {
    CAPTURE(c["name"].get<std::string>());
    if (c.contains("bytes")) {
      if (is_sentencepiece) continue;
      CHECK(Encode(tokenizer, c, ParseSpecial::kYes) == c["ids_replaced"].get<Ids>());
      continue;
    }
    const Ids ids = c["ids"].get<Ids>();
    CHECK(Encode(tokenizer, c, ParseSpecial::kYes) == ids);
    CHECK(Encode(tokenizer, c, ParseSpecial::kYes, AddSpecial::kYes) == c["ids_special"].get<Ids>());
    CHECK(Encode(tokenizer, c, ParseSpecial::kNo) == c["ids_plain"].get<Ids>());
    if (c.contains("decoded")) {
      CHECK(tokenizer.Decode(ids, SkipSpecial::kNo).value() == c["decoded"].get<std::string>());
    }
  }
}

TEST_CASE("vocabularies of GGUF files give the reference ids") {
  const auto goldens = GoldenFolder();
  if (!goldens) return;
  const testing::TemporaryFolder folder;
  for (const auto& entry : std::filesystem::directory_iterator(*goldens / "gguf")) {
    const json vectors = ReadJsonFile(entry.path() / "vectors.json");
    const std::filesystem::path packed = entry.path() / vectors["file"].get<std::string>();
    if (!std::filesystem::exists(packed)) continue;
    CAPTURE(packed);
    const std::filesystem::path file = folder.path() / "vocabulary.gguf";
    MustRun("xz -dc " + Quoted(packed) + " > " + Quoted(file));
    CheckVectors(OpenGguf(file), vectors);
  }
}

// The original tokenizer is right wherever llama.cpp differs from it, but for pieces that llama.cpp calls control
// pieces by their spelling: those are in `differs` with other plain ids alone.
TEST_CASE("vocabularies of tokenizer.json, written as GGUF, give the ids of the original") {
  const auto goldens = GoldenFolder();
  if (!goldens) return;
  const testing::TemporaryFolder folder;
  for (const auto& entry : std::filesystem::directory_iterator(*goldens / "tokenizers")) {
    if (!std::filesystem::exists(entry.path() / "gguf.json")) continue;
    CAPTURE(entry.path());
    const json made = ReadJsonFile(entry.path() / "gguf.json");
    const std::filesystem::path source = folder.path() / "tokenizer.json", file = folder.path() / "vocabulary.gguf";
    std::string arguments;
    for (const json& argument : made["args"]) arguments += " " + Quoted(argument.get<std::string>());
    MustRun("xz -dc " + Quoted(entry.path() / "tokenizer.json.xz") + " > " + Quoted(source));
    MustRun("python3 " + Quoted(*goldens / "tools/make_gguf.py") + " " + Quoted(source) + " " + Quoted(file) +
            arguments + " > /dev/null");
    const Tokenizer tokenizer = OpenGguf(file);
    json plain_ids = json::object();
    for (const json& d : made["differs"]) {
      if (d.contains("ids_plain") && !d.contains("ids")) plain_ids[d["name"].get<std::string>()] = d["ids_plain"];
    }
    const json vectors = ReadJsonFile(entry.path() / "vectors.json");
    for (const json& c : vectors["cases"]) {
      const std::string name = c["name"];
      CAPTURE(name);
      Ids ids = c["ids"].get<Ids>();
      CHECK(Encode(tokenizer, c, ParseSpecial::kYes) == ids);
      CHECK(Encode(tokenizer, c, ParseSpecial::kNo) == plain_ids.value(name, c["ids_plain"]).get<Ids>());
      if (made["add_bos"]) ids.insert(ids.begin(), made["bos"].get<int32_t>());
      CHECK(Encode(tokenizer, c, ParseSpecial::kYes, AddSpecial::kYes) == ids);
    }
  }
}

}  // namespace gguf_golden_test
}  // namespace skald
