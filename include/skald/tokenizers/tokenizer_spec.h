// SPDX-License-Identifier: Apache-2.0
//
// The steps of a tokenizer as one plain value: the content of Hugging Face's tokenizer.json, read from any file.
// Readers make it (tokenizer_json.h, GGUF metadata), the pipeline engine is built from it and checks it: a spec itself
// may be anything. Names and meanings are those of github.com/huggingface/tokenizers.
//
// A text goes through: added tokens that are not normalized are cut out; normalizers, one after the other; the other
// added tokens are cut out; pre-tokenizers, each on all pieces of the one before; the model, on each piece alone; the
// post-processor's tokens around the ids. Sequences are written flat.

#ifndef SKALD_TOKENIZERS_TOKENIZER_SPEC_H_
#define SKALD_TOKENIZERS_TOKENIZER_SPEC_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "skald/tokenizers/normalization_form.h"
#include "skald/tokenizers/tokenizer_engine.h"

namespace skald {

/// Many short texts in one block of memory.
class TextList {
 public:
  size_t size() const { return ends_.size(); }
  std::string_view operator[](size_t i) const;
  /// Throws std::bad_alloc.
  void Add(std::string_view text);
  /// Makes room for as many texts, and bytes of all texts together.
  void Reserve(size_t texts, size_t bytes);

 private:
  std::string bytes_;
  std::vector<size_t> ends_;
};

/// The text to look for: a regular expression of Oniguruma's, or these very letters.
struct TextPattern {
  std::string text;       ///< UTF-8
  bool is_regex = false;  ///< else `text` is looked for letter by letter
};

/// Whether a word symbol goes before a text: before each piece, before the first only, or nowhere.
enum class PrependScheme { kAlways, kFirst, kNever };

namespace normalizer {

/// One of Unicode's normalization forms.
struct Unicode {
  NormalizationForm form = NormalizationForm::kNfc;  ///< which one
};
struct Lowercase {};
/// Writes a text before each text that is not empty.
struct Prepend {
  std::string text;  ///< what is written
};
/// Replaces all matches.
struct Replace {
  TextPattern pattern;  ///< what is looked for
  std::string content;  ///< what is written in its place, as it is
};
/// Removes white space at the ends.
struct Strip {
  /// Which ends.
  bool left = true, right = true;
};
struct StripAccents {};  ///< drops all marks (M)
struct Nmt {};
/// The cleaning of BERT.
struct Bert {
  /// Removes control characters; puts spaces around Chinese characters; makes letters small.
  bool clean_text = true, handle_chinese_chars = true, lowercase = true;
  std::optional<bool> strip_accents = {};  ///< as `lowercase` if unset
};
/// SentencePiece's compiled table of replacements.
struct Precompiled {
  std::string charsmap;  ///< the bytes, no longer in base64
};
struct ByteLevel {};

}  // namespace normalizer

using Normalizer = std::variant<normalizer::Unicode, normalizer::Lowercase, normalizer::Prepend, normalizer::Replace,
                                normalizer::Strip, normalizer::StripAccents, normalizer::Nmt, normalizer::Bert,
                                normalizer::Precompiled, normalizer::ByteLevel>;

namespace pre_tokenizer {

/// The treatment of the matches of a pattern.
enum class Behavior { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };

/// Splits as GPT-2 does, and writes bytes as letters.
struct ByteLevel {
  /// Writes a space before the text; splits by GPT-2's pattern.
  bool add_prefix_space = true, use_regex = true;
};
/// Splits at the matches of a pattern.
struct Split {
  TextPattern pattern;                      ///< what is looked for
  Behavior behavior = Behavior::kIsolated;  ///< what becomes of the matches
  bool invert = false;  ///< the matches are the pieces, and what is between them is treated as matches
};
/// Splits digits off.
struct Digits {
  bool individual_digits = false;  ///< each alone, rather than runs of them
};
/// Writes spaces as a symbol, as SentencePiece does.
struct Metaspace {
  std::string replacement = "\xE2\x96\x81";               ///< the symbol, one character
  PrependScheme prepend_scheme = PrependScheme::kAlways;  ///< where one goes before
  bool split = true;                                      ///< whether a piece begins at each symbol
};
struct Whitespace {};  ///< words, and runs of other letters
struct WhitespaceSplit {};
/// Splits at punctuation.
struct Punctuation {
  Behavior behavior = Behavior::kIsolated;  ///< what becomes of the punctuation
};
struct Bert {};
/// Splits at one character, which is removed.
struct CharDelimiterSplit {
  std::string delimiter;  ///< that character
};
struct UnicodeScripts {};
/// Splits after every so many characters.
struct FixedLength {
  size_t length = 5;  ///< characters
};

}  // namespace pre_tokenizer

using PreTokenizer = std::variant<pre_tokenizer::ByteLevel, pre_tokenizer::Split, pre_tokenizer::Digits,
                                  pre_tokenizer::Metaspace, pre_tokenizer::Whitespace, pre_tokenizer::WhitespaceSplit,
                                  pre_tokenizer::Punctuation, pre_tokenizer::Bert, pre_tokenizer::CharDelimiterSplit,
                                  pre_tokenizer::UnicodeScripts, pre_tokenizer::FixedLength>;

/// The pieces that the model knows. Ids may leave gaps, in any order, but no id and no text comes twice.
struct Vocabulary {
  TextList texts;            ///< UTF-8, or bytes written as letters
  std::vector<int32_t> ids;  ///< one for each text

  /// Adds a piece. Nothing is checked. Throws std::bad_alloc.
  void Add(std::string_view text, int32_t id);
};

namespace token_model {

/// Byte pair encoding (Sennrich et al., arXiv:1508.07909).
struct Bpe {
  /// Left and right of each merge, one after the other; the first merge is the most urgent. The merged text must be in
  /// the vocabulary.
  TextList merges;
  std::optional<std::string> unk_token = {};  ///< of the vocabulary; unset: unknown text is left out
  /// Written before each piece of a word but the first; after the last.
  std::string continuing_subword_prefix, end_of_word_suffix;
  /// Unknown texts side by side are one; unknown characters become byte pieces; a text that is a piece is not split.
  bool fuse_unk = false, byte_fallback = false, ignore_merges = false;
};
/// The likeliest pieces (Kudo, arXiv:1804.10959).
struct Unigram {
  std::vector<double> scores;          ///< one for each text of the vocabulary
  std::optional<int32_t> unk_id = {};  ///< of the vocabulary; unset: unknown text is an error
  bool byte_fallback = false;          ///< unknown characters become byte pieces
  /// Minus the score of an unknown character; unset: that is ten less than the lowest score.
  std::optional<uint32_t> unknown_cost = {};
  /// Of ways with equal sums the one whose first piece is the longest, then the second; else whose last one is.
  bool longest_first = false;
};
/// Each text is a piece, or unknown.
struct WordLevel {
  std::optional<std::string> unk_token = {};  ///< of the vocabulary; unset: unknown text is an error
};
/// The longest piece first, from left to right, as BERT does.
struct WordPiece {
  std::string unk_token = "[UNK]";               ///< of the vocabulary
  std::string continuing_subword_prefix = "##";  ///< written before each piece of a word but the first
  size_t max_input_chars_per_word = 100;         ///< longer words are unknown
};

}  // namespace token_model

using TokenModel = std::variant<token_model::Bpe, token_model::Unigram, token_model::WordLevel, token_model::WordPiece>;

/// A token that is found in the text itself, before the model sees it.
struct AddedToken {
  std::string content;                  ///< its letters
  int32_t id = 0;                       ///< of the vocabulary's piece of that text, or beyond all of them
  bool single_word = false;             ///< no letter or digit beside it
  bool lstrip = false, rstrip = false;  ///< swallows white space beside it
  bool normalized = false;              ///< looked for in the normalized text; normalized itself
  bool special = false;                 ///< parsed only where asked for, and no text when decoded
};

namespace token_decoder {

/// Letters are bytes, as GPT-2 writes them.
struct ByteLevel {
  /// Whether added tokens represent their own letters. The library that defines tokenizer.json takes their letters for
  /// bytes too, if all are in the alphabet of bytes; llama.cpp does not.
  bool added_tokens_verbatim = false;
};
struct ByteFallback {};
/// Symbols are spaces.
struct Metaspace {
  std::string replacement = "\xE2\x96\x81";               ///< the symbol, one character
  PrependScheme prepend_scheme = PrependScheme::kAlways;  ///< whether the first one was not in the text
};
/// Replaces all matches in each piece.
struct Replace {
  TextPattern pattern;  ///< what is looked for
  std::string content;  ///< what is written in its place
};
struct Fuse {};
/// Removes a character at the ends of each piece.
struct Strip {
  std::string content = " ";   ///< one character
  size_t start = 0, stop = 0;  ///< at most so many of them
};
/// Joins the pieces of words, and writes spaces between words.
struct WordPiece {
  std::string prefix = "##";  ///< of pieces that go on with a word
  bool cleanup = true;        ///< whether spaces before punctuation are removed
};
/// Words end where a piece has the suffix.
struct BpeDecoder {
  std::string suffix = "</w>";  ///< written as a space, but at the end of the text
};
/// Repeated pieces are one, as speech models (CTC) write them.
struct Ctc {
  /// Separates repetitions and is removed; is written as a space.
  std::string pad_token = "<pad>", word_delimiter_token = "|";
  bool cleanup = true;  ///< whether spaces before punctuation are removed
};

}  // namespace token_decoder

using TokenDecoder = std::variant<token_decoder::ByteLevel, token_decoder::ByteFallback, token_decoder::Metaspace,
                                  token_decoder::Replace, token_decoder::Fuse, token_decoder::Strip,
                                  token_decoder::WordPiece, token_decoder::BpeDecoder, token_decoder::Ctc>;

/// All steps of a tokenizer, in the order in which a text goes through them.
struct TokenizerSpec {
  std::vector<AddedToken> added_tokens;      ///< in any order
  std::vector<Normalizer> normalizers;       ///< one after the other
  std::vector<PreTokenizer> pre_tokenizers;  ///< one after the other
  Vocabulary vocabulary;                     ///< of the model
  TokenModel model;                          ///< makes ids of pieces
  /// The ids that the post-processor puts around a text, if the caller asks for it.
  std::vector<int32_t> prefix, suffix;
  std::vector<int32_t> types = {};   ///< of the prefix's tokens, the text and the suffix's tokens; empty: all 0
  std::vector<InputPart> pair = {};  ///< the two texts, once each, and tokens around them; empty: nothing says how
  /// None at all: the pieces with spaces between them.
  std::vector<TokenDecoder> decoders;
  /// As NamedIds.
  std::optional<int32_t> bos_id = {}, eos_id = {}, unk_id = {}, pad_id = {};
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/tokenizers/detail/tokenizer_spec.h"
#endif

#endif  // SKALD_TOKENIZERS_TOKENIZER_SPEC_H_
