// SPDX-License-Identifier: Apache-2.0
//
// Text of a growing sequence of token ids, piece by piece, as a user watches it appear. What all
// calls return, joined, is Tokenizer::Decode of all ids; each part holds whole UTF-8 characters
// only. A token costs the same however long the text is. A StreamDecoder is plain state of one
// conversation: copy it to fork.
// Left out: denormalisation, with which SentencePiece can rewrite whole texts on decoding. The
// models of the supported families do not use it.

#ifndef SKALD_TEXT_STREAM_DECODER_H_
#define SKALD_TEXT_STREAM_DECODER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "skald/base/no_throw.h"
#include "skald/base/result.h"
#include "skald/base/utf8.h"
#include "skald/text/tokenizer.h"

namespace skald {

// One thread at a time. To continue a text, so that the first new word keeps its space, push the
// ids of the text first and ignore what comes back.
class StreamDecoder {
 public:
  // `tokenizer` must outlive this.
  explicit StreamDecoder(const Tokenizer& tokenizer) : tokenizer_(&tokenizer) {}

  // Returns the text that `id` completes. It is empty while a character made of byte pieces is
  // incomplete, and for control pieces. An id beyond the vocabulary is an error, and changes
  // nothing.
  Result<std::string> Push(int32_t id) {
    const Result<std::string_view> piece = tokenizer_->IdToPiece(id);
    if (!piece) return Failure(piece.error());
    return NoThrow("decoding an id", [&]() -> Result<std::string> {
      StreamDecoder next = *this;
      std::string text = next.Append(id, *piece);
      *this = std::move(next);
      return text;
    });
  }

  // Returns what is left at the end of the text: a character of which bytes are missing, as U+FFFD for each byte. So
  // short a text needs no memory.
  std::string Flush() noexcept { return Emit(TakeCharacters(AtIncomplete::kReplace)); }

 private:
  std::string Append(int32_t id, std::string_view piece) {
    const PieceKind kind = tokenizer_->KindOf(id);
    if (kind == PieceKind::kByte) {
      bytes_ += static_cast<char>(tokenizer_->ByteOf(id));
      return Emit(TakeCharacters(AtIncomplete::kWait));
    }
    std::string text = Flush();
    if (kind == PieceKind::kUnknown) text += Emit(tokenizer_->unknown_text());
    if (kind == PieceKind::kText) text += Emit(Spell(piece));
    return text;
  }

  std::string Emit(std::string text) {
    if (!text.empty()) at_start_ = false;
    return text;
  }

  enum class AtIncomplete { kWait, kReplace };

  // Takes characters off the front of the pending bytes, and U+FFFD for bytes that belong to none.
  std::string TakeCharacters(AtIncomplete at_incomplete) {
    std::string text;
    std::string_view rest = bytes_;
    while (!rest.empty()) {
      const Utf8Character character = FirstUtf8Character(rest);
      if (character.status == Utf8Status::kIncomplete && at_incomplete == AtIncomplete::kWait) {
        break;
      }
      const bool complete = character.status == Utf8Status::kComplete;
      text += complete ? rest.substr(0, character.length) : kReplacementCharacter;
      rest.remove_prefix(complete ? character.length : 1);
    }
    bytes_ = std::string(rest);
    return text;
  }

  // Returns the text of an ordinary piece: its letters, with spaces for their symbol.
  std::string Spell(std::string_view piece) {
    const LeadingSpace rule = tokenizer_->leading_space();
    if (at_start_ && rule != LeadingSpace::kKeep && piece.starts_with(kSpaceSymbol)) {
      piece.remove_prefix(kSpaceSymbol.size());
      at_start_ = rule == LeadingSpace::kDropAll;
    }
    std::string text;
    while (!piece.empty()) {
      const bool space = piece.starts_with(kSpaceSymbol);
      text += space ? ' ' : piece[0];
      piece.remove_prefix(space ? kSpaceSymbol.size() : 1);
    }
    return text;
  }

  const Tokenizer* tokenizer_;
  std::string bytes_;     // the beginning of a character, at most three bytes between calls
  bool at_start_ = true;  // a leading space would be dropped
};

}  // namespace skald

#endif  // SKALD_TEXT_STREAM_DECODER_H_
