// SPDX-License-Identifier: Apache-2.0
//
// The small tokenizers in tests/text/data (train.sh there says what each one is like), and
// shorthands for tests.

#ifndef SKALD_TESTS_TEXT_TEST_TOKENIZERS_H_
#define SKALD_TESTS_TEXT_TEST_TOKENIZERS_H_

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/tokenizers/tokenizer.h"
#include "tests/support/test_data.h"

namespace skald {

inline constexpr const char* kTestTokenizers[] = {"gemma_style", "mistral_style", "normalising"};

inline std::string ReadBytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  REQUIRE_MESSAGE(file.is_open(), path.string());
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

inline std::filesystem::path TokenizerPath(const std::string& name) {
  return RepositoryPath("tests/text/data/" + name + ".model");
}

inline Tokenizer LoadTokenizer(const std::filesystem::path& path) {
  Result<Tokenizer> tokenizer = Tokenizer::Load(path);
  REQUIRE_MESSAGE(tokenizer.has_value(), (tokenizer ? "" : tokenizer.error().message));
  return *std::move(tokenizer);
}

inline Tokenizer TestTokenizer(const std::string& name) { return LoadTokenizer(TokenizerPath(name)); }

inline std::vector<int32_t> MustEncode(const Tokenizer& tokenizer, std::string_view text,
                                       ParseSpecial parse_special = ParseSpecial::kNo) {
  Result<std::vector<int32_t>> ids = tokenizer.Encode(text, parse_special);
  REQUIRE(ids.has_value());
  return *std::move(ids);
}

inline std::string MustDecode(const Tokenizer& tokenizer, const std::vector<int32_t>& ids) {
  Result<std::string> text = tokenizer.Decode(ids);
  REQUIRE(text.has_value());
  return *std::move(text);
}

// Joins lists of ids.
inline std::vector<int32_t> Concat(const std::vector<std::vector<int32_t>>& lists) {
  std::vector<int32_t> ids;
  for (const std::vector<int32_t>& list : lists) ids.insert(ids.end(), list.begin(), list.end());
  return ids;
}

}  // namespace skald

#endif  // SKALD_TESTS_TEXT_TEST_TOKENIZERS_H_
