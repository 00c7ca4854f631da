// SPDX-License-Identifier: Apache-2.0
//
// Unigram: of all ways to put a piece together from the vocabulary, the one of the highest sum of scores, found by
// dynamic programming over its characters. Immutable; safe for concurrent calls.
// Source: Kudo, "Subword Regularization", ACL 2018; tokenizers/src/models/unigram of github.com/huggingface/tokenizers.

#ifndef SKALD_TOKENIZERS_DETAIL_PIPELINE_MODELS_UNIGRAM_MODEL_H_
#define SKALD_TOKENIZERS_DETAIL_PIPELINE_MODELS_UNIGRAM_MODEL_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/base/result.h"
#include "skald/tokenizers/detail/byte_range.h"
#include "skald/tokenizers/detail/pipeline/models/piece_model.h"
#include "skald/tokenizers/detail/pipeline/models/prefix_trie.h"
#include "skald/tokenizers/detail/unicode.h"

namespace skald::internal {

class UnigramModel final : public PieceModel {
 public:
  // `scores` by id, not more than ids. It, `vocabulary` and `markers` must outlive this; `unk` may be kNoToken.
  UnigramModel(const ModelVocabulary& vocabulary, std::span<const double> scores, int32_t unk, bool byte_fallback,
               const Markers& markers)
      : vocabulary_(vocabulary), scores_(scores), unk_(unk), byte_fallback_(byte_fallback), markers_(markers) {
    constexpr double kUnknownPenalty = 10;
    double lowest = 0;
    std::vector<std::pair<std::string_view, int32_t>> texts;
    for (size_t i = 0; i < scores_.size(); ++i) {
      lowest = i == 0 ? scores_[i] : std::min(lowest, scores_[i]);
      const auto id = static_cast<int32_t>(i);
      texts.emplace_back(vocabulary.texts[id], id);
    }
    unknown_score_ = lowest - kUnknownPenalty;
    trie_ = PrefixTrie(std::move(texts));
    if (byte_fallback) byte_pieces_ = BytePieces(vocabulary);
  }

  Result<void> Encode(std::string_view text, std::span<const ByteRange> pieces, Author author,
                      std::vector<int32_t>& ids) const override {
    Room room;
    for (const ByteRange& piece : pieces) {
      if (Result<void> done = EncodePiece(piece.Of(text), author, room, ids); !done) return done;
    }
    return {};
  }

 private:
  // The best way from the start of a piece to a place in it, and its last part.
  struct Best {
    double score = 0;
    size_t begin = kNowhere;
    bool is_unknown = false;
  };
  static constexpr size_t kNowhere = ~size_t{0};
  struct Room {
    std::vector<Best> best;
    std::vector<ByteRange> parts;
  };

  bool MayBe(int32_t id, Author author) const { return author == Author::kTemplate || !IsMarker(markers_, id); }

  Result<void> EncodePiece(std::string_view piece, Author author, Room& room, std::vector<int32_t>& ids) const {
    FindBestPaths(piece, author, room.best);
    room.parts.clear();
    bool after_is_unknown = false;
    for (size_t end = piece.size(); end > 0;) {
      const Best& best = room.best[end];
      if (best.is_unknown && after_is_unknown) {
        room.parts.back().begin = best.begin;  // unknown characters side by side count as one
      } else {
        room.parts.push_back({best.begin, end});
      }
      after_is_unknown = best.is_unknown;
      end = best.begin;
    }
    for (size_t i = room.parts.size(); i-- > 0;) {
      const std::string_view part = room.parts[i].Of(piece);
      const int32_t id = vocabulary_.Find(part);
      if (id != kNoToken && MayBe(id, author)) {
        ids.push_back(id);
      } else if (!byte_fallback_ || !byte_pieces_.Append(part, ids)) {
        if (unk_ == kNoToken) {
          return Fail(ErrorCode::kInvalidArgument,
                      "the text has a character that the tokenizer has no piece for, and it has none for unknown ones");
        }
        ids.push_back(unk_);
      }
    }
    return {};
  }

  void FindBestPaths(std::string_view piece, Author author, std::vector<Best>& best) const {
    best.assign(piece.size() + 1, Best());
    for (size_t begin = 0; begin < piece.size();) {
      const size_t letter = FirstCodePoint(piece.substr(begin)).length;
      const double score = best[begin].score;
      bool is_known = false;
      const auto offer = [&](size_t length, double with, bool is_unknown) {
        Best& there = best[begin + length];
        if (there.begin == kNowhere || with > there.score) there = {with, begin, is_unknown};
      };
      trie_.ForEachPrefix(piece.substr(begin), [&](size_t length, int32_t id) {
        if (!MayBe(id, author)) return;
        offer(length, score + scores_[static_cast<size_t>(id)], id == unk_);
        is_known |= length == letter;
      });
      if (!is_known) offer(letter, score + unknown_score_, true);
      begin += letter;
    }
  }

  const ModelVocabulary& vocabulary_;
  std::span<const double> scores_;
  int32_t unk_;
  bool byte_fallback_;
  const Markers& markers_;
  double unknown_score_ = 0;
  PrefixTrie trie_;
  BytePieces byte_pieces_;
};

}  // namespace skald::internal

#endif  // SKALD_TOKENIZERS_DETAIL_PIPELINE_MODELS_UNIGRAM_MODEL_H_
