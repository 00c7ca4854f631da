// SPDX-License-Identifier: Apache-2.0
//
// Models that know words: WordLevel, for which a piece is a word, and WordPiece, which takes the longest beginning that
// it knows, over and over. Immutable; safe for concurrent calls.
// Source: Wu et al., "Google's Neural Machine Translation System", 2016; tokenizers/src/models/wordlevel and wordpiece
// of github.com/huggingface/tokenizers.

#ifndef SKALD_TOKENIZERS_DETAIL_PIPELINE_MODELS_WORD_MODELS_H_
#define SKALD_TOKENIZERS_DETAIL_PIPELINE_MODELS_WORD_MODELS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/base/result.h"
#include "skald/tokenizers/detail/byte_range.h"
#include "skald/tokenizers/detail/pipeline/models/piece_model.h"
#include "skald/tokenizers/detail/pipeline/models/prefix_trie.h"
#include "skald/tokenizers/detail/unicode.h"

namespace skald::internal {

inline Failure FailOnUnknownWord() {
  return Fail(ErrorCode::kInvalidArgument,
              "the text has a word that the tokenizer does not know, and it has no piece for unknown ones");
}

class WordLevelModel final : public PieceModel {
 public:
  // `vocabulary` and `markers` must outlive this; `unk` may be kNoToken.
  WordLevelModel(const ModelVocabulary& vocabulary, int32_t unk, const Markers& markers)
      : vocabulary_(vocabulary), unk_(unk), markers_(markers) {}

  Result<void> Encode(std::string_view text, std::span<const ByteRange> pieces, Author author,
                      std::vector<int32_t>& ids) const override {
    for (const ByteRange& piece : pieces) {
      const int32_t known = vocabulary_.Find(piece.Of(text));
      const bool is_barred = author == Author::kMessage && IsMarker(markers_, known);
      const int32_t id = known == kNoToken || is_barred ? unk_ : known;
      if (id == kNoToken) return FailOnUnknownWord();
      ids.push_back(id);
    }
    return {};
  }

 private:
  const ModelVocabulary& vocabulary_;
  int32_t unk_;
  const Markers& markers_;
};

class WordPieceModel final : public PieceModel {
 public:
  // `markers` must outlive this; `unk` may be kNoToken.
  WordPieceModel(const ModelVocabulary& vocabulary, int32_t unk, std::string_view prefix, size_t most_characters,
                 const Markers& markers)
      : unk_(unk), most_characters_(most_characters), markers_(markers) {
    std::vector<std::pair<std::string_view, int32_t>> first, later;
    for (size_t i = 0; i < vocabulary.texts.size(); ++i) {
      const auto id = static_cast<int32_t>(i);
      const std::string_view text = vocabulary.texts[id];
      first.emplace_back(text, id);
      if (text.starts_with(prefix)) later.emplace_back(text.substr(prefix.size()), id);
    }
    first_ = PrefixTrie(std::move(first));
    later_ = PrefixTrie(std::move(later));
  }

  Result<void> Encode(std::string_view text, std::span<const ByteRange> pieces, Author author,
                      std::vector<int32_t>& ids) const override {
    for (const ByteRange& piece : pieces) {
      if (EncodeWord(piece.Of(text), author, ids)) continue;
      if (unk_ == kNoToken) return FailOnUnknownWord();
      ids.push_back(unk_);
    }
    return {};
  }

 private:
  bool EncodeWord(std::string_view word, Author author, std::vector<int32_t>& ids) const {
    const auto begins_character = [](char byte) { return !ContinuesUtf8(byte); };
    const auto characters = static_cast<size_t>(std::count_if(word.begin(), word.end(), begins_character));
    if (characters > most_characters_) return false;
    const size_t before = ids.size();
    const PrefixTrie* trie = &first_;
    while (!word.empty()) {
      size_t longest = 0;
      int32_t id = kNoToken;
      trie->ForEachPrefix(word, [&](size_t length, int32_t value) {
        if (author == Author::kMessage && IsMarker(markers_, value)) return;
        longest = length;
        id = value;
      });
      if (id == kNoToken) {
        ids.resize(before);
        return false;
      }
      ids.push_back(id);
      word.remove_prefix(longest);
      trie = &later_;
    }
    return true;
  }

  int32_t unk_;
  size_t most_characters_;
  const Markers& markers_;
  PrefixTrie first_, later_;  // pieces that begin a word, and that go on with it, without their prefix
};

}  // namespace skald::internal

#endif  // SKALD_TOKENIZERS_DETAIL_PIPELINE_MODELS_WORD_MODELS_H_
