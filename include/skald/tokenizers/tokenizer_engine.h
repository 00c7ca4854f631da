// SPDX-License-Identifier: Apache-2.0
//
// The interface of a Tokenizer (tokenizer.h) to the code that turns texts into ids: one class for SentencePiece models,
// one for the pipelines of tokenizer.json, and any that a program adds. Engines are immutable: all their functions are
// const and safe for concurrent calls.

#ifndef SKALD_TOKENIZERS_TOKENIZER_ENGINE_H_
#define SKALD_TOKENIZERS_TOKENIZER_ENGINE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "skald/base/result.h"
#include "skald/base/text/marked_text.h"

namespace skald {

enum class PieceKind {
  kText,     ///< its own letters
  kByte,     ///< one byte of a character that has no piece
  kControl,  ///< `<s>`, `</s>`, `<pad>`: no text
  kUnknown,  ///< any text that cannot be encoded
};

/// The treatment of the space at the start of pieces while there is no text yet: encoding put it there.
enum class LeadingSpace { kKeep, kDropOne, kDropAll };

/// Whether decoding leaves control pieces and special tokens out, or writes their names.
enum class SkipSpecial { kNo, kYes };

/// How SentencePiece's pieces spell a space: U+2581.
inline constexpr std::string_view kSpaceSymbol = "\xE2\x96\x81";

/// Begin and end of a text, unknown text, padding; a model may lack any.
struct NamedIds {
  /// Token ids; unset: the model has no such piece.
  std::optional<int32_t> bos = {}, eos = {}, unk = {}, pad = {};
};

/// A part of what an encoder reads: a token, or one of the texts.
struct InputPart {
  /// The kinds of parts.
  enum class Content { kToken, kFirst, kSecond };
  Content content = Content::kToken;  ///< a token, the first text or the second one
  int32_t id = 0;                     ///< of a token
  int32_t type = 0;                   ///< the type id of the token, or of all ids of the text

  bool operator==(const InputPart&) const = default;
};

/// The state of decoding one text from id to id: plain data whose meaning only the engine knows. Empty at the start.
struct DecodingState {
  /// The state of one decoder of a sequence of them.
  struct Step {
    std::string held;      ///< text that later ids can still change
    size_t count = 0;      ///< how much it has seen, in what the decoder counts
    bool started = false;  ///< whether the decoder has had an id
  };
  std::vector<Step> steps;  ///< in the order of the decoders
};

/// The interface of a kind of tokenizer. Const calls are safe at the same time. Functions that return no Result do not
/// fail on valid ids; Tokenizer checks ids.
class TokenizerEngine {
 public:
  virtual ~TokenizerEngine() = default;

  /// Ids are 0 to vocab_size() - 1; the functions below are called with no others.
  virtual size_t vocab_size() const = 0;
  /// Constant as long as the engine.
  virtual NamedIds named_ids() const = 0;

  /// The ids of a text. Any bytes may come. Special tokens and markers are that only where a template wrote all of
  /// them.
  virtual Result<std::vector<int32_t>> Encode(const MarkedText& text) const = 0;

  /// The same for a text without marks. `author` says only whether special tokens in it are parsed.
  virtual Result<std::vector<int32_t>> Encode(std::string_view text, Author author) const;

  /// A number of ids that a text has at least, found without encoding it; 0 where nothing is known.
  virtual size_t LeastIds(std::string_view /*text*/) const { return 0; }

  /// The ids around a text if the caller asks for special tokens.
  virtual std::span<const int32_t> prefix() const { return {}; }
  /// See prefix().
  virtual std::span<const int32_t> suffix() const { return {}; }
  /// The type ids of prefix(), of the text and of suffix(), for encoders; empty: all are 0.
  virtual std::span<const int32_t> types() const { return {}; }
  /// How two texts become one input of an encoder; each is there once. Empty: nothing says how.
  virtual std::span<const InputPart> pair() const { return {}; }

  /// The text of ids, as Tokenizer::Decode gives it.
  virtual Result<std::string> Decode(std::span<const int32_t> ids, SkipSpecial skip_special) const = 0;

  /// The text that one more id completes, without special tokens: whole characters only.
  virtual std::string DecodeNext(DecodingState& state, int32_t id) const = 0;
  /// The rest at the end of the text.
  virtual std::string DecodeRest(DecodingState& state) const = 0;

  /// The id of the piece spelled exactly so.
  virtual std::optional<int32_t> PieceToId(std::string_view piece) const = 0;
  /// The id of the control piece, marker or special token of that name.
  virtual std::optional<int32_t> SpecialId(std::string_view name) const = 0;
  /// Lives as long as the engine.
  virtual std::string_view IdToPiece(int32_t id) const = 0;

  /// Of any id of the vocabulary.
  virtual PieceKind KindOf(int32_t id) const = 0;
  virtual uint8_t ByteOf(int32_t id) const = 0;  ///< of a kByte piece
  /// What decoding writes for a piece in the middle of a text, which may be parts of characters; nothing where that
  /// cannot be said of one piece alone.
  virtual std::optional<std::string> BytesOf(int32_t /*id*/) const { return std::nullopt; }
  /// How Decode treats the space before a text.
  virtual LeadingSpace leading_space() const { return LeadingSpace::kKeep; }
  /// The output of decoding for unknown text.
  virtual std::string_view unknown_text() const { return {}; }

  /// The engine as a file that Tokenizer::Parse reads.
  virtual Result<std::string> ToBytes() const;
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/tokenizers/detail/tokenizer_engine.h"
#endif

#endif  // SKALD_TOKENIZERS_TOKENIZER_ENGINE_H_
