// SPDX-License-Identifier: Apache-2.0
//
// TokenVocabulary: the bytes that each token of a vocabulary writes, as a tree in which tokens that begin alike share
// their way. Made once for a tokenizer and shared by all filters; immutable, safe for concurrent calls.

#ifndef SKALD_CONSTRAINTS_TOKEN_VOCABULARY_H_
#define SKALD_CONSTRAINTS_TOKEN_VOCABULARY_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/base/result.h"
#include "skald/constraints/grammar/characters.h"
#include "skald/tokenizers/tokenizer_value.h"

namespace skald {

class TokenVocabulary {
 public:
  /// Of a tokenizer's pieces, as they are written in the middle of a text: the space that some decoders drop before the
  /// first word of a text is there. Control pieces, markers and unknown text are never part of a text here. `end_ids`
  /// end one: without any, EOS if there is one. Errors: an end id beyond the vocabulary; a tokenizer that cannot say
  /// what its pieces write.
  static Result<std::shared_ptr<const TokenVocabulary>> Make(const Tokenizer& tokenizer,
                                                             std::span<const int32_t> end_ids = {});

  /// The same of the bytes of each token, by id. Tokens without bytes are never part of a text.
  static Result<std::shared_ptr<const TokenVocabulary>> From(const std::vector<std::string>& tokens,
                                                             std::span<const int32_t> end_ids);

  size_t size() const { return begins_.size() - 1; }
  /// Words of a mask with one bit for each token.
  size_t mask_words() const { return (size() + 63) / 64; }

  /// A token's text; nothing for one that is no part of texts. `id` must be in the vocabulary.
  std::string_view BytesOf(int32_t id) const;
  /// The ids that end a text.
  std::span<const int32_t> end_ids() const { return end_ids_; }
  /// Whether an id is among end_ids().
  bool IsEnd(int32_t id) const;

  /// Most tokens write whole characters of one kind, at most kMostCharacters: letters and digits of ASCII (words), or
  /// besides all that strings of JSON hold as it is (plain). Most often all of a kind may come, or none, so each kind
  /// has a tree of its own. Words are not among the plain ones.
  enum class Kind : size_t { kWord, kPlain, kOther };
  static constexpr Kind kKinds[] = {Kind::kWord, Kind::kPlain, Kind::kOther};  ///< all of them
  static constexpr size_t kMostCharacters = 24;                                ///< of the tokens that belong to a kind
  /// The characters of a kind but for kOther; those of plain tokens include those of words.
  static CharacterRanges CharactersOf(Kind kind);
  /// One bit for each id, as in masks: the tokens of a kind, not kOther, of at most `characters` characters, which may
  /// be kMostCharacters.
  std::span<const uint64_t> UpTo(Kind kind, size_t characters) const;

  /// A node is the beginning of a token. Nodes are in the order of their bytes, each before all that continue it; the
  /// root of each kind is the empty text.
  struct Node {
    uint32_t end;          ///< of the nodes that go on from this one, which follow it
    uint32_t first_token;  ///< in tokens(); those of this node reach to the next one's
    uint32_t depth;        ///< bytes
    uint8_t byte;          ///< the last one
  };
  /// The node of the empty text.
  uint32_t root(Kind kind) const { return roots_[static_cast<size_t>(kind)]; }
  /// The number of nodes of all kinds.
  uint32_t nodes() const { return static_cast<uint32_t>(nodes_.size() - 1); }
  /// `index` is less than nodes().
  const Node& node(uint32_t index) const { return nodes_[index]; }
  /// The tokens that write just what a node is.
  std::span<const int32_t> TokensOf(uint32_t node) const;
  /// Those that go on from it.
  std::span<const int32_t> TokensBehind(uint32_t node) const;
  /// Bytes of the longest token.
  size_t longest() const { return longest_; }

 private:
  TokenVocabulary() = default;
  Result<void> Fill(const std::vector<std::string>& tokens, std::span<const int32_t> end_ids);
  static std::pair<Kind, size_t> KindOf(std::string_view token);
  void Grow(std::vector<int32_t> ids);

  std::string bytes_;
  std::vector<uint32_t> begins_ = {0};  ///< in bytes_, by id
  std::vector<int32_t> end_ids_;
  std::vector<Node> nodes_;  ///< and one more, whose first token ends the last node's
  std::vector<int32_t> tokens_;
  std::array<uint32_t, 3> roots_ = {};                            ///< by kind
  std::array<std::vector<std::vector<uint64_t>>, 2> up_to_ = {};  ///< by kind and number of characters
  size_t longest_ = 0;
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/constraints/detail/token_vocabulary.h"
#endif

#endif  // SKALD_CONSTRAINTS_TOKEN_VOCABULARY_H_
