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
#include "skald/tokenizers/tokenizer_spec.h"

namespace skald::internal {

class UnigramModel final : public PieceModel {
 public:
  // `scores` by id, not more than ids; those of `options` are not read. It, `vocabulary` and `markers` must outlive
  // this; `unk` may be kNoToken.
  UnigramModel(const ModelVocabulary& vocabulary, std::span<const double> scores, int32_t unk,
               const token_model::Unigram& options, const Markers& markers)
      : vocabulary_(vocabulary),
        scores_(scores),
        unk_(unk),
        byte_fallback_(options.byte_fallback),
        longest_first_(options.longest_first),
        markers_(markers) {
    constexpr double kUnknownPenalty = 10;
    double lowest = 0;
    std::vector<std::pair<std::string_view, int32_t>> texts;
    for (size_t i = 0; i < scores_.size(); ++i) {
      lowest = i == 0 ? scores_[i] : std::min(lowest, scores_[i]);
      const auto id = static_cast<int32_t>(i);
      texts.emplace_back(vocabulary.texts[id], id);
    }
    unknown_score_ = options.unknown_cost ? -static_cast<double>(*options.unknown_cost) : lowest - kUnknownPenalty;
    trie_ = PrefixTrie(std::move(texts));
    if (byte_fallback_) byte_pieces_ = BytePieces(vocabulary);
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
  // The best way from the start of a piece to a place in it, and where its last part begins; or where the longest first
  // part counts, the best way from a place to the end of the piece, and where its first part ends.
  struct Best {
    double score = 0;
    size_t other = kNowhere;
    bool is_unknown = false;
  };
  static constexpr size_t kNowhere = ~size_t{0};
  struct Room {
    std::vector<Best> best;
    std::vector<ByteRange> parts;  // the last one first
    std::vector<size_t> letters;   // where they begin
  };

  bool MayBe(int32_t id, Author author) const { return author == Author::kTemplate || !IsMarker(markers_, id); }

  Result<void> EncodePiece(std::string_view piece, Author author, Room& room, std::vector<int32_t>& ids) const {
    if (longest_first_) {
      FindPathsFromEnd(piece, author, room);
      CollectPartsFromStart(piece.size(), room);
    } else {
      FindBestPaths(piece, author, room.best);
      CollectPartsFromEnd(piece.size(), room);
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

  static void CollectPartsFromEnd(size_t size, Room& room) {
    room.parts.clear();
    bool after_is_unknown = false;
    for (size_t end = size; end > 0;) {
      const Best& best = room.best[end];
      if (best.is_unknown && after_is_unknown) {
        room.parts.back().begin = best.other;  // unknown characters side by side count as one
      } else {
        room.parts.push_back({best.other, end});
      }
      after_is_unknown = best.is_unknown;
      end = best.other;
    }
  }

  static void CollectPartsFromStart(size_t size, Room& room) {
    room.parts.clear();
    for (size_t begin = 0; begin < size; begin = room.best[begin].other) {
      room.parts.push_back({begin, room.best[begin].other});
    }
    std::reverse(room.parts.begin(), room.parts.end());
  }

  void FindPathsFromEnd(std::string_view piece, Author author, Room& room) const {
    room.best.assign(piece.size() + 1, Best());
    room.letters.clear();
    for (size_t at = 0; at < piece.size(); at += FirstCodePoint(piece.substr(at)).length) room.letters.push_back(at);
    for (size_t i = room.letters.size(); i-- > 0;) {
      const size_t begin = room.letters[i];
      const size_t after = i + 1 < room.letters.size() ? room.letters[i + 1] : piece.size();
      Best& here = room.best[begin];
      here = {room.best[after].score + unknown_score_, after, true};
      // Longer ones come later, and win where sums are equal.
      trie_.ForEachPrefix(piece.substr(begin), [&](size_t length, int32_t id) {
        if (!MayBe(id, author)) return;
        const double score = room.best[begin + length].score + scores_[static_cast<size_t>(id)];
        if (score >= here.score) here = {score, begin + length, id == unk_};
      });
    }
  }

  void FindBestPaths(std::string_view piece, Author author, std::vector<Best>& best) const {
    best.assign(piece.size() + 1, Best());
    for (size_t begin = 0; begin < piece.size();) {
      const size_t letter = FirstCodePoint(piece.substr(begin)).length;
      const double score = best[begin].score;
      bool is_known = false;
      const auto offer = [&](size_t length, double with, bool is_unknown) {
        Best& there = best[begin + length];
        if (there.other == kNowhere || with > there.score) there = {with, begin, is_unknown};
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
  bool byte_fallback_, longest_first_;
  const Markers& markers_;
  double unknown_score_ = 0;
  PrefixTrie trie_;
  BytePieces byte_pieces_;
};

}  // namespace skald::internal

#endif  // SKALD_TOKENIZERS_DETAIL_PIPELINE_MODELS_UNIGRAM_MODEL_H_
