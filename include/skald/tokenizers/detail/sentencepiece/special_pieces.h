// SPDX-License-Identifier: Apache-2.0
//
// The pieces of a vocabulary that steer a model instead of standing for text: control pieces (<s>, </s>) and markers,
// of chat turns above all. A list built once by the tokenizer; immutable afterwards, safe for concurrent calls.

#ifndef SKALD_TOKENIZERS_DETAIL_SENTENCEPIECE_SPECIAL_PIECES_H_
#define SKALD_TOKENIZERS_DETAIL_SENTENCEPIECE_SPECIAL_PIECES_H_

#include <algorithm>
#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "skald/tokenizers/detail/marker_names.h"

namespace skald {

// Markers that published models define in one of three ways: as control pieces, which SentencePiece never finds in a
// text (Mistral v0.3); as user-defined pieces, which it finds in any text (Gemma); or as pieces like any others.
inline constexpr std::array<std::string_view, 12> kTurnMarkers = {
    "<start_of_turn>", "<end_of_turn>", "<start_of_image>", "<end_of_image>", "<|im_start|>", "<|im_end|>",
    "<|system|>",      "<|user|>",      "<|assistant|>",    "<|end|>",        "[INST]",       "[/INST]"};

struct SpecialPiece {
  std::string name;
  int32_t id;
  // If SentencePiece finds the name in texts: the ids of other pieces that spell it, for text from
  // users.
  std::vector<int32_t> spelled_out;
};

class SpecialPieces {
 public:
  SpecialPieces() = default;

  // Pieces without a name are left out. Takes time in proportion to the names' letters, but for sorting.
  explicit SpecialPieces(std::vector<SpecialPiece> pieces) : pieces_(std::move(pieces)) {
    std::erase_if(pieces_, [](const SpecialPiece& piece) { return piece.name.empty(); });
    std::sort(pieces_.begin(), pieces_.end(),
              [](const SpecialPiece& a, const SpecialPiece& b) { return a.name < b.name; });
    for (size_t i = 0; i < pieces_.size(); ++i) {
      const SpecialPiece& piece = pieces_[i];
      starts_piece_.set(static_cast<unsigned char>(piece.name[0]));
      if (!piece.spelled_out.empty()) to_spell_out_.emplace(piece.id, i);
      size_t shorter = i == 0 ? kNone : i - 1;
      while (shorter != kNone && !piece.name.starts_with(pieces_[shorter].name)) shorter = shorter_[shorter];
      shorter_.push_back(shorter);
    }
  }

  // Returns the longest piece whose name `text` starts with, or null.
  const SpecialPiece* AtStartOf(std::string_view text) const {
    if (text.empty() || !starts_piece_.test(static_cast<unsigned char>(text[0]))) return nullptr;
    // All names that `text` starts with are also what the last name up to `text` starts with.
    size_t found = FirstAfter(text);
    if (found == 0) return nullptr;
    --found;
    const std::string& last = pieces_[found].name;
    const auto [end, ignored] = std::mismatch(last.begin(), last.end(), text.begin(), text.end());
    const auto same = static_cast<size_t>(end - last.begin());
    while (found != kNone && pieces_[found].name.size() > same) found = shorter_[found];
    return found == kNone ? nullptr : &pieces_[found];
  }

  // Returns the piece of that name, or null.
  const SpecialPiece* Named(std::string_view name) const {
    const size_t after = FirstAfter(name);
    return after == 0 || pieces_[after - 1].name != name ? nullptr : &pieces_[after - 1];
  }

  // Returns the piece of that id if it has to be spelled out in text from users, or null.
  const SpecialPiece* ToSpellOut(int32_t id) const {
    const auto found = to_spell_out_.find(id);
    return found == to_spell_out_.end() ? nullptr : &pieces_[found->second];
  }

 private:
  static constexpr size_t kNone = ~size_t{0};

  // The index of the first piece whose name comes after `text`.
  size_t FirstAfter(std::string_view text) const {
    const auto after = std::upper_bound(pieces_.begin(), pieces_.end(), text,
                                        [](std::string_view t, const SpecialPiece& piece) { return t < piece.name; });
    return static_cast<size_t>(after - pieces_.begin());
  }

  std::vector<SpecialPiece> pieces_;  // sorted by name
  std::vector<size_t> shorter_;       // for each, the longest one that its name starts with, or kNone
  std::bitset<256> starts_piece_;     // by the first byte of a name
  std::unordered_map<int32_t, size_t> to_spell_out_;
};

}  // namespace skald

#endif  // SKALD_TOKENIZERS_DETAIL_SENTENCEPIECE_SPECIAL_PIECES_H_
