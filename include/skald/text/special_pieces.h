// SPDX-License-Identifier: Apache-2.0
//
// The pieces of a vocabulary that steer a model instead of standing for text: control pieces (<s>,
// </s>) and the markers of chat turns. A list built once by the tokenizer; immutable afterwards,
// safe for concurrent calls.

#ifndef SKALD_TEXT_SPECIAL_PIECES_H_
#define SKALD_TEXT_SPECIAL_PIECES_H_

#include <algorithm>
#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace skald {

// Markers that published models define in one of two ways: as control pieces, which SentencePiece
// never finds in a text (Mistral v0.3), or as user-defined pieces, which it finds in any text
// (Gemma).
inline constexpr std::array<std::string_view, 12> kTurnMarkers = {
    "<start_of_turn>", "<end_of_turn>", "<start_of_image>", "<end_of_image>",
    "<|im_start|>",    "<|im_end|>",    "<|system|>",       "<|user|>",
    "<|assistant|>",   "<|end|>",       "[INST]",           "[/INST]"};

struct SpecialPiece {
  std::string name;
  int32_t id;
  // If SentencePiece finds the name in texts: the ids of other pieces that spell it, for text from
  // users.
  std::vector<int32_t> spelled_out;
};

class SpecialPieces {
 public:
  void Add(SpecialPiece piece) {
    starts_piece_.set(static_cast<unsigned char>(piece.name[0]));
    any_to_spell_out_ |= !piece.spelled_out.empty();
    const auto shorter = [&](const SpecialPiece& other) {
      return other.name.size() < piece.name.size();
    };
    pieces_.insert(std::find_if(pieces_.begin(), pieces_.end(), shorter), std::move(piece));
  }

  // Returns the longest piece whose name `text` starts with, or null.
  const SpecialPiece* AtStartOf(std::string_view text) const {
    if (text.empty() || !starts_piece_.test(static_cast<unsigned char>(text[0]))) return nullptr;
    return FirstWith([text](const SpecialPiece& piece) { return text.starts_with(piece.name); });
  }

  // Returns the piece of that name, or null.
  const SpecialPiece* Named(std::string_view name) const {
    return FirstWith([name](const SpecialPiece& piece) { return piece.name == name; });
  }

  // Returns the piece of that id if it has to be spelled out in text from users, or null.
  const SpecialPiece* ToSpellOut(int32_t id) const {
    // Spares models with hundreds of control pieces a search for each id.
    if (!any_to_spell_out_) return nullptr;
    return FirstWith(
        [id](const SpecialPiece& piece) { return piece.id == id && !piece.spelled_out.empty(); });
  }

 private:
  template <class Predicate>
  const SpecialPiece* FirstWith(Predicate predicate) const {
    const auto found = std::find_if(pieces_.begin(), pieces_.end(), predicate);
    return found == pieces_.end() ? nullptr : &*found;
  }

  std::vector<SpecialPiece> pieces_;  // longest name first
  std::bitset<256> starts_piece_;     // by the first byte of a name
  bool any_to_spell_out_ = false;
};

}  // namespace skald

#endif  // SKALD_TEXT_SPECIAL_PIECES_H_
