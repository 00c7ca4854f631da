// SPDX-License-Identifier: Apache-2.0
//
// A vocabulary that every byte is a token of, and what tests ask of filters over it.

#ifndef SKALD_TESTS_TEXT_FILTERS_SMALL_VOCABULARY_H_
#define SKALD_TESTS_TEXT_FILTERS_SMALL_VOCABULARY_H_

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/constraints/gbnf.h"
#include "skald/constraints/grammar_filter.h"
#include "skald/constraints/json_schema.h"
#include "skald/constraints/token_vocabulary.h"

namespace skald {
namespace filter_tests {

using SharedVocabulary = std::shared_ptr<const TokenVocabulary>;

// All bytes by their own ids, then pieces as vocabularies have them, then what ends a text.
inline const std::vector<std::string>& Pieces() {
  static const std::vector<std::string> pieces = [] {
    std::vector<std::string> all;
    for (int byte = 0; byte < 256; ++byte) all.emplace_back(1, static_cast<char>(byte));
    for (const char* piece : {"\":",      "\": ",     "\",",    "\", \"",
                              "{\"",      "[\"",      "\"}",    "\"]",
                              "},",       "},{",      "}]",     "]]",
                              "[[[",      "[]",       "{}",     "true",
                              "false",    "null",     "tru",    "ll",
                              "  ",       "    ",     "\n  ",   "\n",
                              ",\n",      " \"",      "12",     "123",
                              "999",      "0.",       ".5",     "-1",
                              "e+",       "name",     "age",    "abc",
                              "bc",       "\\n",      "\\\"",   "\\u",
                              "\\\\",     "00",       "u00",    "d83",
                              "\xC3\xA9", "\xE2\x82", "\xAC",   "\xF0\x9F\x98",
                              "\x98\x80", "\xA9\"",   "word\"", "x\", \"y\": ",
                              "2024",     "-0",       "T1",     ":0",
                              "Z\"",      "::",       "@",      ".com",
                              "1.1",      "a\": 1",   "P1",     "\xE4\xBD\xA0\xE5\xA5\xBD",
                              " a",       " b",       "\t",     "]",
                              "]]]]]]]]"}) {
      all.emplace_back(piece);
    }
    for (char a = 'a'; a <= 'z'; ++a) {
      for (char b = 'a'; b <= 'e'; ++b) all.push_back({a, b});
    }
    all.emplace_back("</s>");
    return all;
  }();
  return pieces;
}
inline int32_t End() { return static_cast<int32_t>(Pieces().size() - 1); }

inline const SharedVocabulary& SmallVocabulary() {
  static const SharedVocabulary vocabulary = TokenVocabulary::From(Pieces(), std::array{End()}).value();
  return vocabulary;
}

inline GrammarFilter Compiled(const Result<Grammar>& grammar, const SharedVocabulary& vocabulary = SmallVocabulary()) {
  REQUIRE_MESSAGE(grammar.has_value(), (grammar ? "" : grammar.error().message));
  Result<GrammarFilter> filter = GrammarFilter::Compile(*grammar, vocabulary);
  REQUIRE_MESSAGE(filter.has_value(), (filter ? "" : filter.error().message));
  return *std::move(filter);
}
inline GrammarFilter OfGbnf(std::string_view text) { return Compiled(ParseGbnf(text)); }
inline GrammarFilter OfSchema(std::string_view text) { return Compiled(ParseJsonSchema(text)); }

inline std::span<const uint64_t> Allowed(TokenFilter& filter) {
  const Result<std::span<const uint64_t>> allowed = filter.Allowed();
  REQUIRE_MESSAGE(allowed.has_value(), (allowed ? "" : allowed.error().message));
  return *allowed;
}

enum class Fit { kNo, kBegins, kWhole };

// How far a text is one of the grammar, byte by byte; what Allowed says is held against Accept on the way.
inline Fit Try(const GrammarFilter& start, std::string_view text) {
  GrammarFilter filter = start;
  for (const char c : text) {
    const auto id = static_cast<int32_t>(static_cast<unsigned char>(c));
    const bool allowed = IsAllowed(Allowed(filter), id);
    CHECK(filter.Accept(id).has_value() == allowed);
    if (!allowed) return Fit::kNo;
  }
  CHECK(IsAllowed(Allowed(filter), End()) == filter.IsComplete());
  return filter.IsComplete() ? Fit::kWhole : Fit::kBegins;
}
inline bool Takes(const GrammarFilter& filter, std::string_view text) { return Try(filter, text) == Fit::kWhole; }

inline std::string ErrorOf(const Result<Grammar>& grammar) {
  if (!grammar) return grammar.error().message;
  const Result<GrammarFilter> filter = GrammarFilter::Compile(*grammar, SmallVocabulary());
  REQUIRE_FALSE(filter);
  return filter.error().message;
}
inline bool Has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// Every id that Allowed has is one that a copy accepts, and no other.
inline void CheckMask(GrammarFilter& filter) {
  const std::span<const uint64_t> allowed = Allowed(filter);
  for (int32_t id = 0; static_cast<size_t>(id) < Pieces().size(); ++id) {
    const Result<std::unique_ptr<TokenFilter>> copy = filter.Clone();
    REQUIRE(copy);
    CAPTURE(Pieces()[static_cast<size_t>(id)]);
    CHECK((*copy)->Accept(id).has_value() == IsAllowed(allowed, id));
  }
}

}  // namespace filter_tests
}  // namespace skald

#endif  // SKALD_TESTS_TEXT_FILTERS_SMALL_VOCABULARY_H_
