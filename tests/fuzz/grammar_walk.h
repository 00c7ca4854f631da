// SPDX-License-Identifier: Apache-2.0
//
// Checks of a grammar that a parser accepted: filters of it are compiled or refused with a sentence, they take what
// they allow, a refused token changes nothing, and a copy behaves the same.

#ifndef SKALD_TESTS_FUZZ_GRAMMAR_WALK_H_
#define SKALD_TESTS_FUZZ_GRAMMAR_WALK_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "skald/base/result.h"
#include "skald/constraints/grammar_filter.h"
#include "skald/constraints/token_vocabulary.h"

namespace skald {

inline void Require(bool holds) {
  if (!holds) std::abort();
}

// Every byte, some pieces of several, and what ends a text.
inline const std::shared_ptr<const TokenVocabulary>& WalkVocabulary() {
  static const std::shared_ptr<const TokenVocabulary> vocabulary = [] {
    std::vector<std::string> pieces;
    for (int byte = 0; byte < 256; ++byte) pieces.emplace_back(1, static_cast<char>(byte));
    for (const char* const piece : {"\":", "\", \"", "{\"", "}]", "true", "null", "12", "ab", "\xC3\xA9", "\\u00"}) {
      pieces.emplace_back(piece);
    }
    pieces.emplace_back();
    const auto end = static_cast<int32_t>(pieces.size() - 1);
    return TokenVocabulary::From(pieces, std::array{end}).value();
  }();
  return vocabulary;
}

// Walks as the bytes say, some tokens far.
inline void Walk(const Result<Grammar>& grammar, std::string_view bytes) {
  if (!grammar) return Require(!grammar.error().message.empty());
  const Result<GrammarFilter> compiled = GrammarFilter::Compile(*grammar, WalkVocabulary());
  if (!compiled) return Require(!compiled.error().message.empty());
  GrammarFilter filter = *compiled;
  constexpr size_t kMostTokens = 40;
  for (size_t i = 0; i < std::min(bytes.size(), kMostTokens) && !filter.has_ended(); ++i) {
    const Result<std::span<const uint64_t>> allowed = filter.Allowed();
    if (!allowed) return Require(!allowed.error().message.empty());
    std::vector<int32_t> ids;
    for (int32_t id = 0; static_cast<size_t>(id) < WalkVocabulary()->size(); ++id) {
      if (IsAllowed(*allowed, id)) ids.push_back(id);
    }
    if (ids.empty()) return;  // no token of this vocabulary goes on
    const auto chosen = static_cast<unsigned char>(bytes[bytes.size() - 1 - i]);
    const Result<std::unique_ptr<TokenFilter>> copy = filter.Clone();
    Require(copy.has_value());
    if (!IsAllowed(*allowed, chosen)) Require(!filter.Accept(chosen));
    const int32_t next = ids[chosen % ids.size()];
    const Result<void> accepted = filter.Accept(next), again = (*copy)->Accept(next);
    Require(accepted.has_value() && again.has_value() && (*copy)->IsComplete() == filter.IsComplete());
  }
}

}  // namespace skald

#endif  // SKALD_TESTS_FUZZ_GRAMMAR_WALK_H_
