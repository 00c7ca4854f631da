// SPDX-License-Identifier: Apache-2.0
//
// The tokenizer of PLaMo 2: sums of rounded scores, the longest first piece where they are equal, and byte pieces, from
// its own file and from GGUF. Expected ids are those of its authors' tokenization_plamo.py.

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/base/threads/thread_pool.h"
#include "skald/tokenizers/gguf_entries.h"
#include "skald/tokenizers/tokenizer.h"
#include "skald/weights/files/gguf.h"
#include "skald/weights/writing/gguf_draft.h"
#include "skald/weights/writing/gguf_writer.h"
#include "tests/support/check_error.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/temporary_folder.h"

namespace skald {
namespace plamo_tokenizer_test {

using Ids = std::vector<int32_t>;
using nlohmann::json;

// Four control pieces, those of the bytes, and from id 260 on pieces of texts.
json Pieces() {
  json pieces = json::array();
  pieces.push_back({"<|plamo:unk|>", 0.0, "UNKNOWN"});
  for (const char* const name : {"<|plamo:bos|>", "<|plamo:eos|>", "<|plamo:pad|>"}) {
    pieces.push_back({name, 0.0, "CONTROL"});
  }
  constexpr char kDigits[] = "0123456789ABCDEF";
  for (size_t byte = 0; byte < 256; ++byte) {
    pieces.push_back({std::string("<0x") + kDigits[byte / 16] + kDigits[byte % 16] + ">", 0.0, "BYTE"});
  }
  const std::pair<const char*, double> texts[] = {{"a", -3.0},
                                                  {"b", -4.0},
                                                  {"aa", -5.0},
                                                  {"ab", -6.5},
                                                  {"aba", -8.00004},
                                                  {" ", -2.0},
                                                  {"  ", -3.5},
                                                  {"\u6771", -9.0},
                                                  {"\u6771\u4eac", -9.5},
                                                  {"\u4eac\u90fd", -9.25},
                                                  {"\u90fd", -7.0},
                                                  {"bb", -12.0},
                                                  {"<", -5.0},
                                                  {"0", -5.0}};
  for (const auto& [text, score] : texts) pieces.push_back({text, score, "NORMAL", 1, 2});
  return pieces;
}

std::string VocabularyFile(const json& pieces) {
  std::string lines;
  for (const json& piece : pieces) lines += piece.dump() + "\n";
  return lines;
}

Result<Tokenizer> FromGguf(const json& pieces) {
  json metadata = {{"tokenizer.ggml.model", "plamo2"},
                   {"tokenizer.ggml.pre", "default"},
                   {"tokenizer.ggml.add_space_prefix", false},
                   {"tokenizer.ggml.bos_token_id", 1}};
  for (const json& piece : pieces) {
    metadata["tokenizer.ggml.tokens"].push_back(piece[0]);
    metadata["tokenizer.ggml.scores"].push_back(piece[1]);
    const int type = piece[2] == "UNKNOWN" ? 2 : piece[2] == "CONTROL" ? 3 : piece[2] == "BYTE" ? 6 : 1;
    metadata["tokenizer.ggml.token_type"].push_back(type);
  }
  const std::string image = testing::GgufImage(testing::GgufValuesOf(metadata), {});
  const auto contents = ParseGguf("file", std::as_bytes(std::span(image)));
  REQUIRE(contents);
  return Tokenizer::Load(contents->metadata);
}

void CheckIds(const Tokenizer& tokenizer) {
  const std::pair<const char*, Ids> expected[] = {{"aaa", {262, 260}},
                                                  {"abab", {264, 261}},
                                                  {"aaaaa", {262, 262, 260}},
                                                  {"   ", {266, 265}},
                                                  {"\u6771\u4eac\u90fd", {268, 270}},
                                                  {"a\u6771b", {260, 267, 261}},
                                                  {"\u00e9", {199, 173}},
                                                  {"<0x41>", {272, 273, 124, 56, 53, 66}},
                                                  {"bbb", {261, 261, 261}},
                                                  {"ab aba", {263, 265, 264}}};
  for (const auto& [text, ids] : expected) {
    CAPTURE(text);
    const auto encoded = tokenizer.Encode(text);
    REQUIRE(encoded);
    CHECK(*encoded == ids);
    CHECK(tokenizer.Decode(ids).value() == text);
  }
  // The end of a text is never what a user spells.
  CHECK(tokenizer.Encode("<|plamo:eos|>a", ParseSpecial::kYes).value() == Ids{2, 260});
  CHECK(tokenizer.Encode("<|plamo:eos|>", ParseSpecial::kNo).value().front() == 272);
}

TEST_CASE("PLaMo's tokenizer finds the highest sum, whatever file it is read from") {
  const testing::TemporaryFolder folder;
  testing::WriteFile(folder.path() / "tokenizer.jsonl", VocabularyFile(Pieces()));
  testing::WriteFile(folder.path() / "tokenizer_config.json",
                     R"({"bos_token": "<|plamo:bos|>", "eos_token": "<|plamo:eos|>", "add_bos_token": true})");
  const auto alone = Tokenizer::Load(folder.path());
  REQUIRE_MESSAGE(alone.has_value(), alone.error().message);
  CheckIds(*alone);
  CHECK(alone->eos_id() == 2);
  CHECK(alone->Encode("a", ParseSpecial::kNo, AddSpecial::kYes).value() == Ids{1, 260});
  const auto again = Tokenizer::Parse(alone->ToBytes().value());
  REQUIRE(again);
  CheckIds(*again);
  const auto within = FromGguf(Pieces());
  REQUIRE_MESSAGE(within.has_value(), within.error().message);
  CheckIds(*within);
  CHECK(within->bos_id() == 1);
  CHECK(within->eos_id() == 2);
  const auto entries = GgufTokenizerEntries(folder.path(), Pieces().size() + 2);
  REQUIRE_MESSAGE(entries.has_value(), entries.error().message);
  GgufDraft draft{*entries, {}};
  ThreadPool pool(1);
  REQUIRE(WriteGguf(folder.path() / "written.gguf", draft, ExecutorRef(pool)));
  const auto written = Tokenizer::Load(folder.path() / "written.gguf");
  REQUIRE_MESSAGE(written.has_value(), written.error().message);
  CheckIds(*written);
  CHECK(written->Encode("a", ParseSpecial::kNo, AddSpecial::kYes).value() == Ids{1, 260});
}

TEST_CASE("files of PLaMo's tokenizer that cannot be right are refused") {
  json pieces = Pieces();
  pieces.erase(10);
  testing::CheckError(Tokenizer::Parse(VocabularyFile(pieces)), ErrorCode::kDataLoss, "one for each byte");
  testing::CheckError(FromGguf(pieces), ErrorCode::kDataLoss, "one for each byte");
  for (const char* const line : {"[\"c\"]\n", "[\"c\", \"d\"]\n", "[\"c\", 1.0, 2]\n", "[\"c\", 1.0\n"}) {
    testing::CheckError(Tokenizer::Parse(VocabularyFile(Pieces()) + line), ErrorCode::kDataLoss,
                        "piece 274 of PLaMo's vocabulary");
  }
}

}  // namespace plamo_tokenizer_test
}  // namespace skald
