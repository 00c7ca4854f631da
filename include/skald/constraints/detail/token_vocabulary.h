// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/constraints/token_vocabulary.h.

#ifndef SKALD_CONSTRAINTS_DETAIL_TOKEN_VOCABULARY_H_
#define SKALD_CONSTRAINTS_DETAIL_TOKEN_VOCABULARY_H_

#include "skald/constraints/token_vocabulary.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/base/text/message.h"
#include "skald/base/text/utf8.h"
#include "skald/constraints/grammar/explorer.h"
#include "skald/tokenizers/tokenizer_engine.h"

namespace skald {

SKALD_INLINE std::string_view TokenVocabulary::BytesOf(int32_t id) const {
  const auto i = static_cast<size_t>(id);
  return std::string_view(bytes_).substr(begins_[i], begins_[i + 1] - begins_[i]);
}

SKALD_INLINE bool TokenVocabulary::IsEnd(int32_t id) const {
  return std::find(end_ids_.begin(), end_ids_.end(), id) != end_ids_.end();
}

SKALD_INLINE CharacterRanges TokenVocabulary::CharactersOf(Kind kind) {
  if (kind == Kind::kWord) return {{'0', '9'}, {'A', 'Z'}, {'a', 'z'}};
  return Complement({{0, 0x1F}, {'"', '"'}, {'\\', '\\'}});
}

SKALD_INLINE std::span<const uint64_t> TokenVocabulary::UpTo(Kind kind, size_t characters) const {
  return up_to_[static_cast<size_t>(kind)][characters];
}

SKALD_INLINE std::span<const int32_t> TokenVocabulary::TokensOf(uint32_t node) const {
  const size_t first = nodes_[node].first_token;
  return std::span(tokens_).subspan(first, nodes_[node + 1].first_token - first);
}

SKALD_INLINE std::span<const int32_t> TokenVocabulary::TokensBehind(uint32_t node) const {
  const size_t first = nodes_[node + 1].first_token;
  return std::span(tokens_).subspan(first, nodes_[nodes_[node].end].first_token - first);
}

SKALD_INLINE Result<std::shared_ptr<const TokenVocabulary>> TokenVocabulary::TokenVocabulary::Make(
    const Tokenizer& tokenizer, std::span<const int32_t> end_ids) {
  using Made = Result<std::shared_ptr<const TokenVocabulary>>;
  return NoThrow("the vocabulary of a filter", [&]() -> Made {
    std::vector<std::string> tokens(tokenizer.vocab_size());
    for (int32_t id = 0; static_cast<size_t>(id) < tokens.size(); ++id) {
      const PieceKind kind = tokenizer.engine().KindOf(id);
      if (kind == PieceKind::kControl || kind == PieceKind::kUnknown) continue;
      SKALD_ASSIGN(const auto piece, tokenizer.IdToPiece(id));
      if (tokenizer.SpecialId(piece) == id) continue;
      SKALD_ASSIGN(auto bytes, tokenizer.BytesOf(id));
      tokens[static_cast<size_t>(id)] = std::move(bytes);
    }
    const std::optional<int32_t> eos = tokenizer.eos_id();
    if (end_ids.empty() && eos) return From(tokens, {&*eos, 1});
    return From(tokens, end_ids);
  });
}

SKALD_INLINE Result<std::shared_ptr<const TokenVocabulary>> TokenVocabulary::TokenVocabulary::From(
    const std::vector<std::string>& tokens, std::span<const int32_t> end_ids) {
  using Made = Result<std::shared_ptr<const TokenVocabulary>>;
  return NoThrow("the vocabulary of a filter", [&]() -> Made {
    const std::shared_ptr<TokenVocabulary> vocabulary(new TokenVocabulary());
    if (Result<void> filled = vocabulary->Fill(tokens, end_ids); !filled) return Failure(filled.error());
    return vocabulary;
  });
}

SKALD_INLINE Result<void> TokenVocabulary::TokenVocabulary::Fill(const std::vector<std::string>& tokens,
                                                                 std::span<const int32_t> end_ids) {
  for (const int32_t id : end_ids) {
    if (id >= 0 && static_cast<size_t>(id) < tokens.size()) continue;
    return Fail(ErrorCode::kInvalidArgument,
                Concat({"end token ", std::to_string(id), " is outside of the vocabulary of ",
                        std::to_string(tokens.size()), " tokens"}));
  }
  end_ids_.assign(end_ids.begin(), end_ids.end());
  for (int32_t id = 0; static_cast<size_t>(id) < tokens.size(); ++id) {
    if (!IsEnd(id)) bytes_ += tokens[static_cast<size_t>(id)];
    if (bytes_.size() > std::numeric_limits<int32_t>::max()) {
      return Fail(ErrorCode::kUnsupported, "the tokens of the vocabulary have more than 2 GiB of text");
    }
    begins_.push_back(static_cast<uint32_t>(bytes_.size()));
    longest_ = std::max(longest_, BytesOf(id).size());
  }
  std::array<std::vector<int32_t>, 3> ids;
  up_to_.fill(std::vector(kMostCharacters + 1, std::vector<uint64_t>(mask_words())));
  for (int32_t id = 0; static_cast<size_t>(id) < size(); ++id) {
    if (BytesOf(id).empty()) continue;
    const auto [kind, characters] = KindOf(BytesOf(id));
    ids[static_cast<size_t>(kind)].push_back(id);
    for (size_t i = characters; i <= kMostCharacters && kind != Kind::kOther; ++i) {
      up_to_[static_cast<size_t>(kind)][i][static_cast<size_t>(id) / 64] |= uint64_t{1} << id % 64;
    }
  }
  for (const Kind kind : kKinds) {
    roots_[static_cast<size_t>(kind)] = static_cast<uint32_t>(nodes_.size());
    Grow(std::move(ids[static_cast<size_t>(kind)]));
  }
  nodes_.push_back({0, static_cast<uint32_t>(tokens_.size()), 0, 0});
  return {};
}

SKALD_INLINE std::pair<TokenVocabulary::Kind, size_t> TokenVocabulary::TokenVocabulary::KindOf(std::string_view token) {
  static const CharacterRanges words = CharactersOf(Kind::kWord), plain = CharactersOf(Kind::kPlain);
  Kind kind = Kind::kWord;
  size_t characters = 0;
  for (; !token.empty(); ++characters) {
    const Utf8Character character = FirstUtf8Character(token);
    if (characters == kMostCharacters || character.status != Utf8Status::kComplete) return {Kind::kOther, 0};
    const char32_t c = internal::CharacterIn(token.substr(0, character.length));
    if (!Contains(plain, c)) return {Kind::kOther, 0};
    if (!Contains(words, c)) kind = Kind::kPlain;
    token.remove_prefix(character.length);
  }
  return {kind, characters};
}

SKALD_INLINE void TokenVocabulary::TokenVocabulary::Grow(std::vector<int32_t> ids) {
  std::stable_sort(ids.begin(), ids.end(), [this](int32_t a, int32_t b) { return BytesOf(a) < BytesOf(b); });
  std::vector<uint32_t> path = {static_cast<uint32_t>(nodes_.size())};  // the nodes that the last token went through
  nodes_.push_back({0, static_cast<uint32_t>(tokens_.size()), 0, 0});
  std::string_view last;
  for (const int32_t id : ids) {
    const std::string_view token = BytesOf(id);
    const auto same =
        static_cast<size_t>(std::mismatch(token.begin(), token.end(), last.begin(), last.end()).first - token.begin());
    for (; path.size() > same + 1; path.pop_back()) nodes_[path.back()].end = static_cast<uint32_t>(nodes_.size());
    for (size_t depth = same; depth < token.size(); ++depth) {
      path.push_back(static_cast<uint32_t>(nodes_.size()));
      const auto first_token = static_cast<uint32_t>(tokens_.size());
      nodes_.push_back({0, first_token, static_cast<uint32_t>(depth + 1), static_cast<uint8_t>(token[depth])});
    }
    tokens_.push_back(id);
    last = token;
  }
  for (const uint32_t node : path) nodes_[node].end = static_cast<uint32_t>(nodes_.size());
}

}  // namespace skald

#endif  // SKALD_CONSTRAINTS_DETAIL_TOKEN_VOCABULARY_H_
