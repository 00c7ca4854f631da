// SPDX-License-Identifier: Apache-2.0
//
// Byte-pair encoding of pieces. Most pieces of ordinary text are tokens as a whole, and need one look into a table: for
// each token it is known from the start whether merging its own letters gives it. Immutable; safe for concurrent calls.
// Source: tokenizers/src/models/bpe of github.com/huggingface/tokenizers.

#ifndef SKALD_TOKENIZERS_DETAIL_PIPELINE_MODELS_BPE_MODEL_H_
#define SKALD_TOKENIZERS_DETAIL_PIPELINE_MODELS_BPE_MODEL_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/base/result.h"
#include "skald/tokenizers/detail/byte_range.h"
#include "skald/tokenizers/detail/pipeline/models/merge_table.h"
#include "skald/tokenizers/detail/pipeline/models/piece_model.h"
#include "skald/tokenizers/detail/unicode.h"

namespace skald::internal {

struct BpeOptions {
  bool of_bytes = false;  // the letters of a piece are its bytes, not its characters
  int32_t unk = kNoToken;
  std::string prefix, suffix;  // of letters that do not begin a word, and that end it
  bool fuse_unk = false, byte_fallback = false, ignore_merges = false;
};

class BpeModel final : public PieceModel {
 public:
  // `is_whole` says of each id whether a word of that very text is that token; if it is empty it is filled. All four
  // must outlive this.
  BpeModel(const ModelVocabulary& vocabulary, const MergeTable& merges, BpeOptions options,
           std::vector<uint8_t>& is_whole, const Markers& markers)
      : vocabulary_(vocabulary), options_(std::move(options)), merges_(merges), is_whole_(is_whole), markers_(markers) {
    if (options_.byte_fallback) byte_pieces_ = BytePieces(vocabulary);
    for (size_t byte = 0; byte < 256; ++byte) {
      const char letter = static_cast<char>(byte);
      byte_ids_[byte] = options_.of_bytes || byte < 0x80 ? vocabulary.Find({&letter, 1}) : kNoToken;
    }
    cuts_words_ = !options_.of_bytes && !options_.ignore_merges && !HasAffixes() && NoMergeCrossesSpaces();
    if (is_whole.empty()) is_whole = FindWholeTokens();
    FindReachableMarkers();
  }

  Result<void> Encode(std::string_view text, std::span<const ByteRange> pieces, Author author,
                      std::vector<int32_t>& ids) const override {
    const bool shuns_markers = reaches_markers_ && author == Author::kMessage;
    Room room;
    for (const ByteRange& piece : pieces) {
      std::string_view rest = piece.Of(text);
      if (rest.size() >= kMostBytes) return Fail(ErrorCode::kOutOfRange, "a word of 2 GB cannot be encoded");
      while (cuts_words_ && !rest.empty()) {
        const std::string_view word = rest.substr(0, FindSpaceAfterWord(rest));
        EncodeWord(word, shuns_markers, room, ids);
        rest.remove_prefix(word.size());
      }
      if (!rest.empty()) EncodeWord(rest, shuns_markers, room, ids);
    }
    return {};
  }

 private:
  static constexpr size_t kMostBytes = size_t{1} << 31;
  static constexpr std::string_view kSpace = "\xE2\x96\x81";

  struct Room {
    std::vector<int32_t> symbols;
    std::string letter;
    MergeTable::Room merging;
  };

  bool HasAffixes() const { return !options_.prefix.empty() || !options_.suffix.empty(); }

  // If words are not split before, as in SentencePiece's models, a text may still be split before a space symbol after
  // another letter if no merge ever joins the two. It costs less, and most words are whole tokens.
  bool NoMergeCrossesSpaces() const {
    // Unknown letters must not vanish: their neighbours would meet.
    if (vocabulary_.Find(kSpace) == kNoToken || options_.unk == kNoToken) return false;
    for (const MergeTable::Entry& merge : merges_.entries()) {
      const std::string_view left = vocabulary_.texts[merge.left()], right = vocabulary_.texts[merge.right()];
      if (right.starts_with(kSpace) && !left.ends_with(kSpace)) return false;
    }
    return true;
  }

  static size_t FindSpaceAfterWord(std::string_view text) {
    size_t at = 0;
    while (text.substr(at).starts_with(kSpace)) at += kSpace.size();
    return std::min(text.find(kSpace, at), text.size());
  }

  std::vector<uint8_t> FindWholeTokens() const {
    const size_t count = vocabulary_.texts.size();
    std::vector<uint8_t> is_whole(count, options_.ignore_merges ? 1 : 0);
    if (options_.ignore_merges || HasAffixes()) return is_whole;
    Room room;
    for (size_t i = 0; i < count; ++i) {
      const auto id = static_cast<int32_t>(i);
      const std::string_view text = vocabulary_.texts[id];
      constexpr size_t kLongest = 256;  // longer words take the long way
      if (text.empty() || text.size() > kLongest) continue;
      room.symbols.clear();
      AppendSymbols(text, room);
      merges_.Apply(room.symbols, room.merging);
      is_whole[i] = room.symbols.size() == 1 && room.symbols[0] == id;
    }
    return is_whole;
  }

  // Few models can make a marker of a text's letters; those have merges without markers for what messages write.
  void FindReachableMarkers() {
    for (size_t id = 0; id < markers_.size() && id < is_whole_.size(); ++id) {
      reaches_markers_ |= markers_[id] && is_whole_[id] && !vocabulary_.texts[static_cast<int32_t>(id)].empty();
    }
    const auto makes_marker = [this](const MergeTable::Entry& merge) { return IsMarker(markers_, merge.result); };
    const auto merges = merges_.entries();
    reaches_markers_ |= std::any_of(merges.begin(), merges.end(), makes_marker);
    if (!reaches_markers_) return;
    std::vector<MergeTable::Entry> kept;
    std::remove_copy_if(merges.begin(), merges.end(), std::back_inserter(kept), makes_marker);
    merges_to_text_ = MergeTable::From(std::move(kept)).value_or(MergeTable());
  }

  void EncodeWord(std::string_view word, bool shuns_markers, Room& room, std::vector<int32_t>& ids) const {
    const int32_t whole = vocabulary_.Find(word);
    // If merges that make a marker are left out, it is unknown which tokens are whole.
    const bool may_be_whole = !shuns_markers || (options_.ignore_merges && !IsMarker(markers_, whole));
    if (whole != kNoToken && may_be_whole && is_whole_[static_cast<size_t>(whole)]) return ids.push_back(whole);
    room.symbols.clear();
    AppendSymbols(word, room);
    (shuns_markers ? merges_to_text_ : merges_).Apply(room.symbols, room.merging);
    ids.insert(ids.end(), room.symbols.begin(), room.symbols.end());
  }

  // Appends the tokens of a word's letters.
  void AppendSymbols(std::string_view word, Room& room) const {
    bool has_unknown = false;  // unknown letters wait for a known one: several may become one
    for (size_t at = 0; at < word.size();) {
      const size_t length = options_.of_bytes ? 1 : FirstCodePoint(word.substr(at)).length;
      const std::string_view letter = word.substr(at, length);
      const std::string_view spelled = Spell(letter, at == 0, at + length == word.size(), room.letter);
      at += length;
      const int32_t id =
          spelled.size() == 1 ? byte_ids_[static_cast<unsigned char>(spelled[0])] : vocabulary_.Find(spelled);
      if (id != kNoToken) {
        if (std::exchange(has_unknown, false)) room.symbols.push_back(options_.unk);
        room.symbols.push_back(id);
        continue;
      }
      if (options_.byte_fallback && byte_pieces_.Append(spelled, room.symbols)) continue;
      if (options_.unk == kNoToken) continue;
      if (has_unknown && !options_.fuse_unk) room.symbols.push_back(options_.unk);
      has_unknown = true;
    }
    if (has_unknown) room.symbols.push_back(options_.unk);
  }

  std::string_view Spell(std::string_view letter, bool is_first, bool is_last, std::string& room) const {
    if (!HasAffixes()) return letter;
    room.clear();
    if (!is_first) room += options_.prefix;
    room += letter;
    if (is_last) room += options_.suffix;
    return room;
  }

  const ModelVocabulary& vocabulary_;
  BpeOptions options_;
  const MergeTable& merges_;
  BytePieces byte_pieces_;
  std::array<int32_t, 256> byte_ids_;  // of letters of one byte
  bool cuts_words_ = false;
  const std::vector<uint8_t>& is_whole_;
  const Markers& markers_;
  bool reaches_markers_ = false;
  MergeTable merges_to_text_;  // of what messages write, where that differs
};

}  // namespace skald::internal

#endif  // SKALD_TOKENIZERS_DETAIL_PIPELINE_MODELS_BPE_MODEL_H_
