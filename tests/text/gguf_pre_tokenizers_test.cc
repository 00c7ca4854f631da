// SPDX-License-Identifier: Apache-2.0

#include "skald/tokenizers/detail/gguf/gguf_pre_tokenizers.h"

#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "doctest/doctest.h"
#include "skald/tokenizers/detail/byte_range.h"
#include "skald/tokenizers/detail/split_pattern.h"

namespace skald::internal {
namespace gguf_pre_tokenizers_test {

using Strings = std::vector<std::string>;

// The pieces of a text under a name.
Strings Split(std::string_view name, const std::string& text) {
  const GgufPreTokenizer* const pre_tokenizer = FindGgufPreTokenizer(name);
  REQUIRE(pre_tokenizer != nullptr);
  Strings pieces = {text};
  for (const std::string_view split : pre_tokenizer->splits) {
    if (split.empty()) break;
    const SplitPattern pattern = SplitPattern::Compile(split).value();
    Strings parts;
    for (const std::string& piece : pieces) {
      std::vector<ByteRange> matches;
      REQUIRE(pattern.FindAll(piece, matches));
      size_t end = 0;
      const auto add = [&](size_t from, size_t to) {
        if (to > from) parts.push_back(piece.substr(from, to - from));
      };
      for (const ByteRange& match : matches) {
        add(end, match.begin);
        add(match.begin, match.end);
        end = match.end;
      }
      add(end, piece.size());
    }
    pieces = parts;
  }
  return pieces;
}

TEST_CASE("all split patterns compile, and no name is there twice") {
  std::set<std::string> names;
  for (const GgufPreTokenizer& pre_tokenizer : kGgufPreTokenizers) {
    std::istringstream words{std::string(pre_tokenizer.names)};
    for (std::string name; words >> name;) {
      CAPTURE(name);
      CHECK(names.insert(name).second);
      CHECK(FindGgufPreTokenizer(name) == &pre_tokenizer);
    }
    for (const std::string_view split : pre_tokenizer.splits) CHECK(SplitPattern::Compile(split));
  }
  CHECK(names.size() == 81);
  CHECK(FindGgufPreTokenizer("llama") == nullptr);
  CHECK(FindGgufPreTokenizer("") == nullptr);
  CHECK(FindGgufPreTokenizer("gpt-2 mpt") == nullptr);
}

TEST_CASE("texts are split as the name says") {
  CHECK(Split("gpt-2", "I'll pay $1234 now  .") == Strings{"I", "'ll", " pay", " $", "1234", " now", " ", " ."});
  CHECK(Split("llama-bpe", "X1234'S\n\n y") == Strings{"X", "123", "4", "'S", "\n\n", " y"});
  CHECK(Split("qwen2", "(abc) 12") == Strings{"(abc", ")", " ", "1", "2"});
  CHECK(Split("tekken", "HelloWorld's") == Strings{"Hello", "World", "'s"});
  CHECK(Split("gpt-4o", "HelloWorld's") == Strings{"Hello", "World's"});
  CHECK(Split("starcoder", "a 12") == Strings{"a", " ", "1", "2"});
  CHECK(Split("falcon", "12345!?x") == Strings{"123", "45", "!?", "x"});
  CHECK(Split("default", "12345 x+y") == Strings{"123", "45", " x", "+", "y"});
  CHECK(Split("deepseek-v3", "x1234~y\xE4\xB8\xAD\xE6\x96\x87") ==
        Strings{"x", "123", "4", "~y", "\xE4\xB8\xAD\xE6\x96\x87"});
  CHECK(Split("deepseek-llm", "a  b1234  ") == Strings{"a", " ", " b", "1234", "  "});
  CHECK(Split("deepseek-coder", "a\n b!1") == Strings{"a", "\n", " b", "!", "1"});
  CHECK(Split("kimi-k2",
              "a\xE4\xB8\xAD\xE6\x96\x87"
              "b") == Strings{"a", "\xE4\xB8\xAD\xE6\x96\x87", "b"});
  for (const char* const name : {"afmoe", "superbpe", "tiny_aya"}) {
    CHECK(Split(name, "1234567") == Strings{"1", "234", "567"});
  }
}

TEST_CASE("a long end of white space is split off at once") {
  CHECK(Split("deepseek-llm", std::string(200'000, ' ') + "a").size() == 2);
}

}  // namespace gguf_pre_tokenizers_test
}  // namespace skald::internal
