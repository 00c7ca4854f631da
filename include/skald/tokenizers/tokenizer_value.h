// SPDX-License-Identifier: Apache-2.0
//
// Tokenizer: text to token ids and back. It is whatever engine does the work: that of a file (tokenizer.h reads all
// kinds, sentencepiece.h only the one that it is named for), or one of your own. A Tokenizer is an immutable value,
// cheap to copy: it holds no conversation state, and all its functions are safe for concurrent calls. Any text is at
// worst an Error.

#ifndef SKALD_TOKENIZERS_TOKENIZER_VALUE_H_
#define SKALD_TOKENIZERS_TOKENIZER_VALUE_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/base/result.h"
#include "skald/base/text/marked_text.h"
#include "skald/tokenizers/tokenizer_engine.h"

namespace skald {

/// Whether Encode turns the names of special pieces that it meets in a text into these pieces. Never
/// ask for it with text from a user: a "</s>" or "<start_of_turn>" in it would end the user's turn.
enum class ParseSpecial { kNo, kYes };

/// Whether Encode puts around the ids of a text what the model's publisher says: most often BOS before it. The text
/// that a chat template gives has all of that already.
enum class AddSpecial { kNo, kYes };

/// Most bytes of a file with a tokenizer. The largest published, of 262,144 pieces, has 33 MB.
inline constexpr uint64_t kMaxTokenizerFile = uint64_t{256} << 20;

struct GgufMetadata;   ///< weights/files/gguf_metadata.h
class OpenedModel;     ///< weights/opened/opened_model.h
struct TokenizerSpec;  ///< tokenizer_spec.h

class Tokenizer {
 public:
  // Load, Parse and From of a spec are defined in tokenizer.h, which includes every engine.

  /// Opens the tokenizer at `path`: a SentencePiece model, a tokenizer.json, RWKV's or PLaMo's list of pieces or a file
  /// that encoders have alone (vocab.txt, sentencepiece.bpe.model, spiece.model: told by the name), of at most
  /// kMaxTokenizerFile bytes; of a folder the one of them that tokenizer_file.h tells; or the tokenizer within a GGUF
  /// or packed file. A tokenizer_config.json beside a tokenizer's own file says which pieces begin and end a text.
  /// Errors name the file.
  static Result<Tokenizer> Load(const std::filesystem::path& path);

  /// Opens the tokenizer that goes with a model: the one within its GGUF or packed file, else the one in its folder.
  static Result<Tokenizer> Load(const OpenedModel& model);

  /// Makes the tokenizer that metadata of a GGUF file describe with names like "tokenizer.ggml.tokens", so that texts
  /// have the ids that they have with the original. Names and defaults are those of llama.cpp
  /// (https://github.com/ggml-org/llama.cpp, llama-vocab.cpp and convert_hf_to_gguf.py). Errors: kNotFound if there is
  /// none; kUnsupported for one of another kind than "llama", "gpt2", "gemma4", "rwkv", "bert", "t5" and "plamo2", or
  /// with a pre-tokenizer of an unknown name; kDataLoss and those of Parse for values that cannot be right.
  static Result<Tokenizer> Load(const GgufMetadata& metadata);

  /// Makes a tokenizer of the bytes of such a file, which are copied, or of what ToBytes returned.
  static Result<Tokenizer> Parse(std::string_view bytes);

  /// Makes a tokenizer that does what `spec` says. The error names what in it cannot be.
  static Result<Tokenizer> From(TokenizerSpec spec);

  /// Makes a tokenizer of an engine of your own, which must not be null.
  static Tokenizer From(std::shared_ptr<const TokenizerEngine> engine) { return Tokenizer(std::move(engine)); }

  /// Returns the ids of `text` as the library that defines the tokenizer does: without any control piece or special
  /// token unless asked for. Added tokens that a tokenizer.json does not call special are parsed in any case, though
  /// many of them steer a model ("<think>"): untrusted text is encoded as a MarkedText, below. Any bytes are allowed:
  /// those that are not part of valid UTF-8 count as U+FFFD. With ParseSpecial::kYes each stretch of text between
  /// special pieces is encoded on its own, and so starts with the space that some models put before every text.
  Result<std::vector<int32_t>> Encode(std::string_view text, ParseSpecial parse_special = ParseSpecial::kNo,
                                      AddSpecial add_special = AddSpecial::kNo) const;

  /// The same for a text of several authors. Control pieces, special tokens and markers are recognised only if a
  /// template wrote all of them; text of a message is encoded as if the tokenizer did not have them. Markers are the
  /// added tokens, whatever their file calls them, except those that are ordinary text: a single character, white
  /// space, words of letters and digits, tags of formatted text.
  Result<std::vector<int32_t>> Encode(const MarkedText& text, AddSpecial add_special = AddSpecial::kNo) const;

  /// Returns a lower bound of the number of ids of `text`, for any authors, without encoding it: its bytes, divided by
  /// those of the longest piece and by the factor of normalizing; 0 if a text may lose any number of bytes: unknown
  /// letters that run together, normalizers that drop letters, a table of SentencePiece's.
  size_t LeastIds(std::string_view text) const { return engine_->LeastIds(text); }

  /// Returns the text of `ids`. Control pieces leave no trace unless asked for, bytes that form no character become
  /// U+FFFD, and the leading space that encoding adds is dropped. An id beyond the vocabulary is an error.
  Result<std::string> Decode(std::span<const int32_t> ids, SkipSpecial skip_special = SkipSpecial::kYes) const;

  /// The number of pieces; their ids are 0 to vocab_size() - 1.
  size_t vocab_size() const { return engine_->vocab_size(); }

  /// Begin and end of a text, unknown text, padding; a model may lack any.
  std::optional<int32_t> bos_id() const { return engine_->named_ids().bos; }
  /// See bos_id().
  std::optional<int32_t> eos_id() const { return engine_->named_ids().eos; }
  /// See bos_id().
  std::optional<int32_t> unk_id() const { return engine_->named_ids().unk; }
  /// See bos_id().
  std::optional<int32_t> pad_id() const { return engine_->named_ids().pad; }

  /// Returns the id of the piece spelled exactly so, as its file spells it, if there is one.
  std::optional<int32_t> PieceToId(std::string_view piece) const { return engine_->PieceToId(piece); }

  /// Returns the id of the control piece, turn marker or special token spelled so, if there is one.
  std::optional<int32_t> SpecialId(std::string_view name) const { return engine_->SpecialId(name); }

  /// Returns the spelling of a piece, which lives as long as any copy of the tokenizer. An id beyond the vocabulary is
  /// an error.
  Result<std::string_view> IdToPiece(int32_t id) const;

  /// Returns the text of a piece. An id beyond the vocabulary is an error.
  Result<PieceKind> KindOf(int32_t id) const;

  /// Returns the byte of a piece of kind kByte. A piece of another kind is an error too.
  Result<uint8_t> ByteOf(int32_t id) const;

  /// Returns what decoding writes for a piece in the middle of a text: bytes that may be parts of characters, and the
  /// name of a control piece. An id beyond the vocabulary is an error, and so is a tokenizer that cannot say it of one
  /// piece alone.
  Result<std::string> BytesOf(int32_t id) const;

  /// How decoding treats the space before a text, and what it writes for text that has no pieces.
  LeadingSpace leading_space() const { return engine_->leading_space(); }
  /// See leading_space().
  std::string_view unknown_text() const { return engine_->unknown_text(); }

  /// Returns the tokenizer as bytes that Parse reads, of a form that opens quickly.
  Result<std::string> ToBytes() const;

  /// The engine, shared by all copies; lives as long as one of them.
  const TokenizerEngine& engine() const { return *engine_; }

 private:
  explicit Tokenizer(std::shared_ptr<const TokenizerEngine> engine) : engine_(std::move(engine)) {}

  Result<void> CheckId(int32_t id) const;
  Result<std::vector<int32_t>> Surround(Result<std::vector<int32_t>> ids, AddSpecial add_special) const;

  std::shared_ptr<const TokenizerEngine> engine_;
};

/// Checks that `tokenizer` fits a model whose embedding has `model_vocab_size` rows: as many as
/// there are pieces, or some more if the number of rows is a multiple of 64. Some models add a
/// few tokens that no text encodes to and then pad the embedding for speed (Gemma 3: 262144 pieces,
/// 262208 rows); rounding up to a multiple of 128, the usual choice in training, adds at most 127.
/// Others leave room for more: Qwen2.5 has 151,665 pieces and 151,936 or 152,064 rows, gpt-oss 200,019 and 201,088,
/// Phi-2 50,295 and 51,200, which is the most among the published ones: not quite two in a hundred. Mamba's are a
/// multiple of
/// 8. More pieces than rows can never work.
Result<void> CheckVocabulary(const Tokenizer& tokenizer, size_t model_vocab_size);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/tokenizers/detail/tokenizer_value.h"
#endif

#endif  // SKALD_TOKENIZERS_TOKENIZER_VALUE_H_
