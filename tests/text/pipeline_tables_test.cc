// SPDX-License-Identifier: Apache-2.0
//
// The tables of the pipeline engine, compared with the simplest implementation; and its file, with overwritten parts
// and a matching checksum.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/base/numbers/xxh64.h"
#include "skald/tokenizers/detail/pipeline/models/merge_table.h"
#include "skald/tokenizers/detail/pipeline/models/token_table.h"
#include "skald/tokenizers/detail/pipeline/steps/byte_alphabet.h"
#include "skald/tokenizers/detail/utf8_repair.h"
#include "tests/text/test_tokenizers.h"

namespace skald::internal {
namespace pipeline_tables_test {

using Ids = std::vector<int32_t>;

std::string RandomText(std::mt19937& random, size_t most, unsigned letters) {
  std::string text(random() % (most + 1), ' ');
  for (char& c : text) c = static_cast<char>('a' + random() % letters);
  return text;
}

TEST_CASE("Texts are found whatever their length, and of equal ones the first") {
  std::mt19937 random(1);
  for (const size_t count : {0u, 1u, 2u, 100u, 5000u}) {
    TokenTexts texts;
    std::map<std::string, int32_t, std::less<>> first;
    for (int32_t id = 0; static_cast<size_t>(id) < count; ++id) {
      const std::string text = RandomText(random, 20, 3);
      texts.Add(text);
      if (id % 7 != 0) first.emplace(text, id);
    }
    const TextIndex index(texts, [](int32_t id) { return id % 7 != 0; });
    for (size_t i = 0; i < count + 100; ++i) {
      const std::string text = i < count ? std::string(texts[static_cast<int32_t>(i)]) : RandomText(random, 20, 3);
      const auto found = first.find(text);
      CHECK(index.Find(text, texts) == (found == first.end() ? kNoToken : found->second));
    }
  }
  CHECK(TextIndex().Find("a", TokenTexts()) == kNoToken);
}

// Merges as their definition says: again and again the most urgent, of equals the leftmost.
Ids MergePlainly(Ids ids, const std::map<std::pair<int32_t, int32_t>, std::pair<size_t, int32_t>>& merges) {
  for (;;) {
    auto best = merges.end();
    size_t where = 0;
    for (size_t i = 0; i + 1 < ids.size(); ++i) {
      const auto found = merges.find({ids[i], ids[i + 1]});
      if (found == merges.end() || (best != merges.end() && found->second.first >= best->second.first)) continue;
      best = found;
      where = i;
    }
    if (best == merges.end()) return ids;
    ids[where] = best->second.second;
    ids.erase(ids.begin() + static_cast<ptrdiff_t>(where) + 1);
  }
}

TEST_CASE("Merges are found, the last of the same pair, and from their entries again") {
  std::mt19937 random(2);
  for (const size_t count : {0u, 1u, 3u, 1000u}) {
    std::vector<Merge> merges;
    std::map<std::pair<int32_t, int32_t>, std::pair<size_t, int32_t>> plain;
    const auto id = [&random] { return static_cast<int32_t>(random() % 40); };
    for (size_t i = 0; i < count; ++i) {
      merges.push_back({id(), id(), id()});
      plain[{merges[i].left, merges[i].right}] = {i, merges[i].result};
    }
    const MergeTable table(merges);
    REQUIRE(table.entries().size() == plain.size());
    const auto again = MergeTable::From({table.entries().begin(), table.entries().end()});
    REQUIRE(again);
    MergeTable::Room room;
    for (const size_t length : {2u, 10u, 39u, 41u, 90u}) {
      Ids ids(length);
      std::generate(ids.begin(), ids.end(), id);
      const Ids expected = MergePlainly(ids, plain);
      Ids copy = ids;
      table.Apply(ids, room);
      CHECK(ids == expected);
      again->Apply(copy, room);
      CHECK(copy == expected);
    }
    if (count < 2) continue;
    std::vector<MergeTable::Entry> entries(table.entries().begin(), table.entries().end());
    std::swap(entries.front(), entries.back());
    CHECK_FALSE(MergeTable::From(entries));
    entries.assign(table.entries().begin(), table.entries().end());
    entries.push_back(entries.back());
    CHECK_FALSE(MergeTable::From(entries));
  }
}

// Character by character.
size_t ValidPlainly(std::string_view bytes) {
  size_t valid = 0;
  while (valid < bytes.size()) {
    const Utf8Part part = FirstUtf8Part(bytes.substr(valid));
    if (part.status != Utf8Status::kComplete) break;
    valid += part.length;
  }
  return valid;
}

TEST_CASE("Valid UTF-8 is as long eight bytes at a time as character by character") {
  std::mt19937 random(3);
  constexpr std::string_view kParts[] = {
      "a",        "bcdefghi", "\xC2\x80", "\xC4\xA0", "\xDF\xBF", "\xE4\xB8\xAD", "\xF0\x9F\x98\x80",
      "\xC0\x80", "\xC1\xBF", "\x80",     "\xC4",     "\xFF",     "\xE0\x80\x80"};
  for (int round = 0; round < 20'000; ++round) {
    std::string text;
    const size_t kinds = round % 2 == 0 ? std::size(kParts) : 5;  // the first are the short ones
    for (size_t parts = random() % 12; parts > 0; --parts) text += kParts[random() % kinds];
    if (random() % 4 == 0 && !text.empty()) text[random() % text.size()] = static_cast<char>(random());
    CHECK(ValidUtf8Prefix(text) == ValidPlainly(text));
  }
}

TEST_CASE("The letters of bytes stand for these bytes, and other characters for none") {
  for (int byte = 0; byte < 256; ++byte) {
    const std::string one(1, static_cast<char>(byte));
    std::string letters, bytes = "x";
    AppendByteLetters(one, letters);
    CHECK(AppendLettersBytes(letters, bytes));
    CHECK(bytes == "x" + one);
  }
  for (const char* const other : {" ", "\xC2\xA0", "\xC5\x84", "\xE4\xB8\xAD", "a\xF0\x9F\x98\x80"}) {
    std::string bytes = "x";
    CHECK_FALSE(AppendLettersBytes(other, bytes));
    CHECK(bytes == "x");
  }
}

// A file with a checksum that fits.
std::string Forge(std::string bytes) {
  const auto content = std::as_bytes(std::span(bytes)).first(bytes.size() - sizeof(uint64_t));
  const uint64_t checksum = Xxh64(content);
  std::memcpy(bytes.data() + content.size(), &checksum, sizeof checksum);
  return bytes;
}

TEST_CASE("A forged file is refused by name or is a tokenizer like any other") {
  const Tokenizer tokenizer = LoadTokenizer(RepositoryPath("tests/text/data/byte_level"));
  const std::string bytes = tokenizer.ToBytes().value();
  REQUIRE(Forge(bytes) == bytes);
  std::mt19937 random(4);
  for (size_t at = 8; at + sizeof(uint64_t) < bytes.size(); at += 1 + random() % 3) {
    std::string forged = bytes;
    forged[at] = static_cast<char>(forged[at] ^ (random() % 2 == 0 ? 0x01 : 0xFF));
    const Result<Tokenizer> read = Tokenizer::Parse(Forge(forged));
    if (!read) {
      CHECK_FALSE(read.error().message.empty());
      continue;
    }
    const auto ids = read->Encode("the <|end_of_text|> caf\xC3\xA9 123\n", ParseSpecial::kYes);
    if (ids) CHECK(read->Decode(*ids).has_value());
    for (int32_t id = 0; static_cast<size_t>(id) < read->vocab_size(); ++id) {
      const std::string_view piece = read->IdToPiece(id).value();
      CHECK(ValidPlainly(piece) == piece.size());
    }
  }
}

TEST_CASE("A file whose merges are not in their order is refused") {
  std::string bytes = LoadTokenizer(RepositoryPath("tests/text/data/byte_level")).ToBytes().value();
  const auto sized = [](uint64_t count) { return std::string(reinterpret_cast<const char*>(&count), sizeof count); };
  // The merges are the last list but an empty one and the checksum.
  size_t begin = bytes.size();
  for (uint64_t count = 1; begin == bytes.size() && count < 10'000; ++count) {
    const size_t size = 16 * static_cast<size_t>(count) + 24;
    if (size > bytes.size()) break;
    if (bytes.compare(bytes.size() - size, 8, sized(count)) == 0) begin = bytes.size() - size + 8;
  }
  REQUIRE(begin < bytes.size());
  const std::string good = bytes;
  std::swap_ranges(bytes.begin() + static_cast<ptrdiff_t>(begin), bytes.begin() + static_cast<ptrdiff_t>(begin) + 16,
                   bytes.begin() + static_cast<ptrdiff_t>(begin) + 16);
  const Result<Tokenizer> swapped = Tokenizer::Parse(Forge(bytes));
  REQUIRE_FALSE(swapped);
  CHECK(swapped.error().message == "the tokenizer's file has its merges in another order than it should");
  bytes = good;
  bytes.replace(begin + 16, 16, good, begin, 16);  // the same merge twice
  CHECK_FALSE(Tokenizer::Parse(Forge(bytes)));
  bytes = good;
  bytes.replace(begin + 4, 4, "\xFF\xFF\xFF\xFF");  // a left piece that cannot be
  CHECK_FALSE(Tokenizer::Parse(Forge(bytes)));
}

}  // namespace pipeline_tables_test
}  // namespace skald::internal
