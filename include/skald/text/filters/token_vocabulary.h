// SPDX-License-Identifier: Apache-2.0
//
// TokenVocabulary: the bytes that each token of a vocabulary writes, as a tree in which tokens that begin alike share
// their way. Made once for a tokenizer and shared by all filters; immutable, safe for concurrent calls.

#ifndef SKALD_TEXT_FILTERS_TOKEN_VOCABULARY_H_
#define SKALD_TEXT_FILTERS_TOKEN_VOCABULARY_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/base/message.h"
#include "skald/base/no_throw.h"
#include "skald/base/result.h"
#include "skald/base/utf8.h"
#include "skald/text/filters/grammar/characters.h"
#include "skald/text/tokenizer_value.h"

namespace skald {

class TokenVocabulary {
 public:
  // Of a tokenizer's pieces, as they are written in the middle of a text: the space that some decoders drop before the
  // first word of a text is there. Control pieces, markers and unknown text are never part of a text here. `end_ids`
  // end one: without any, EOS if there is one. Errors: an end id beyond the vocabulary; a tokenizer that cannot say
  // what its pieces write.
  static Result<std::shared_ptr<const TokenVocabulary>> Make(const Tokenizer& tokenizer,
                                                             std::span<const int32_t> end_ids = {});

  // The same of the bytes of each token, by id. Tokens without bytes are never part of a text.
  static Result<std::shared_ptr<const TokenVocabulary>> From(const std::vector<std::string>& tokens,
                                                             std::span<const int32_t> end_ids);

  size_t size() const { return begins_.size() - 1; }
  size_t mask_words() const { return (size() + 63) / 64; }

  // What a token writes; nothing for one that is no part of texts. `id` must be in the vocabulary.
  std::string_view BytesOf(int32_t id) const {
    const auto i = static_cast<size_t>(id);
    return std::string_view(bytes_).substr(begins_[i], begins_[i + 1] - begins_[i]);
  }
  std::span<const int32_t> end_ids() const { return end_ids_; }
  bool IsEnd(int32_t id) const { return std::find(end_ids_.begin(), end_ids_.end(), id) != end_ids_.end(); }

  // Most tokens write whole characters of one kind, at most kMostCharacters: letters and digits of ASCII (words), or
  // besides all that strings of JSON hold as it is (plain). Most often all of a kind may come, or none, so each kind
  // has a tree of its own. Words are not among the plain ones.
  enum class Kind : size_t { kWord, kPlain, kOther };
  static constexpr Kind kKinds[] = {Kind::kWord, Kind::kPlain, Kind::kOther};
  static constexpr size_t kMostCharacters = 24;
  // The characters of a kind but for kOther; those of plain tokens include those of words.
  static CharacterRanges CharactersOf(Kind kind) {
    if (kind == Kind::kWord) return {{'0', '9'}, {'A', 'Z'}, {'a', 'z'}};
    return Complement({{0, 0x1F}, {'"', '"'}, {'\\', '\\'}});
  }
  // One bit for each id, as in masks: the tokens of a kind, not kOther, of at most `characters` characters, which may
  // be kMostCharacters.
  std::span<const uint64_t> UpTo(Kind kind, size_t characters) const {
    return up_to_[static_cast<size_t>(kind)][characters];
  }

  // A node is the beginning of a token. They stand in the order of their bytes, each before all that go on from it;
  // the root of each kind is the empty text.
  struct Node {
    uint32_t end;          // of the nodes that go on from this one, which follow it
    uint32_t first_token;  // in tokens(); those of this node reach to the next one's
    uint32_t depth;        // bytes
    uint8_t byte;          // the last one
  };
  uint32_t root(Kind kind) const { return roots_[static_cast<size_t>(kind)]; }
  uint32_t nodes() const { return static_cast<uint32_t>(nodes_.size() - 1); }
  const Node& node(uint32_t index) const { return nodes_[index]; }
  // The tokens that write just what a node is.
  std::span<const int32_t> TokensOf(uint32_t node) const {
    const size_t first = nodes_[node].first_token;
    return std::span(tokens_).subspan(first, nodes_[node + 1].first_token - first);
  }
  // Those that go on from it.
  std::span<const int32_t> TokensBehind(uint32_t node) const {
    const size_t first = nodes_[node + 1].first_token;
    return std::span(tokens_).subspan(first, nodes_[nodes_[node].end].first_token - first);
  }
  size_t longest() const { return longest_; }  // bytes

 private:
  TokenVocabulary() = default;
  Result<void> Fill(const std::vector<std::string>& tokens, std::span<const int32_t> end_ids);
  static std::pair<Kind, size_t> KindOf(std::string_view token);
  void Grow(std::vector<int32_t> ids);

  std::string bytes_;
  std::vector<uint32_t> begins_ = {0};  // in bytes_, by id
  std::vector<int32_t> end_ids_;
  std::vector<Node> nodes_;  // and one more, whose first token ends the last node's
  std::vector<int32_t> tokens_;
  std::array<uint32_t, 3> roots_ = {};                            // by kind
  std::array<std::vector<std::vector<uint64_t>>, 2> up_to_ = {};  // by kind and number of characters
  size_t longest_ = 0;
};

// Implementation.

inline Result<std::shared_ptr<const TokenVocabulary>> TokenVocabulary::Make(const Tokenizer& tokenizer,
                                                                            std::span<const int32_t> end_ids) {
  using Vocabulary = Result<std::shared_ptr<const TokenVocabulary>>;
  return NoThrow("the vocabulary of a filter", [&]() -> Vocabulary {
    std::vector<std::string> tokens(tokenizer.vocab_size());
    for (int32_t id = 0; static_cast<size_t>(id) < tokens.size(); ++id) {
      const PieceKind kind = tokenizer.engine().KindOf(id);
      if (kind == PieceKind::kControl || kind == PieceKind::kUnknown) continue;
      const Result<std::string_view> piece = tokenizer.IdToPiece(id);
      if (!piece) return Failure(piece.error());
      if (tokenizer.SpecialId(*piece) == id) continue;
      Result<std::string> bytes = tokenizer.BytesOf(id);
      if (!bytes) return Failure(bytes.error());
      tokens[static_cast<size_t>(id)] = *std::move(bytes);
    }
    const std::optional<int32_t> eos = tokenizer.eos_id();
    if (end_ids.empty() && eos) return From(tokens, {&*eos, 1});
    return From(tokens, end_ids);
  });
}

inline Result<std::shared_ptr<const TokenVocabulary>> TokenVocabulary::From(const std::vector<std::string>& tokens,
                                                                            std::span<const int32_t> end_ids) {
  using Vocabulary = Result<std::shared_ptr<const TokenVocabulary>>;
  return NoThrow("the vocabulary of a filter", [&]() -> Vocabulary {
    const std::shared_ptr<TokenVocabulary> vocabulary(new TokenVocabulary());
    if (Result<void> filled = vocabulary->Fill(tokens, end_ids); !filled) return Failure(filled.error());
    return vocabulary;
  });
}

inline Result<void> TokenVocabulary::Fill(const std::vector<std::string>& tokens, std::span<const int32_t> end_ids) {
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

// The kind of a token, and its characters where they are of one.
inline std::pair<TokenVocabulary::Kind, size_t> TokenVocabulary::KindOf(std::string_view token) {
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

// Adds a tree of these tokens.
inline void TokenVocabulary::Grow(std::vector<int32_t> ids) {
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

#endif  // SKALD_TEXT_FILTERS_TOKEN_VOCABULARY_H_
