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

namespace skald {

/// Many short texts in one block of memory.
class TextList {
 public:
  size_t size() const { return ends_.size(); }
  std::string_view operator[](size_t i) const;
  void Add(std::string_view text);
  void Reserve(size_t texts, size_t bytes);

 private:
  std::string bytes_;
  std::vector<size_t> ends_;
};

/// The text to look for: a regular expression of Oniguruma's, or these very letters.
struct TextPattern {
  std::string text;
  bool is_regex = false;
};

/// Whether a word symbol goes before a text: before each piece, before the first only, or nowhere.
enum class PrependScheme { kAlways, kFirst, kNever };

namespace normalizer {

struct Unicode {
  NormalizationForm form = NormalizationForm::kNfc;
};
struct Lowercase {};
struct Prepend {
  std::string text;
};
struct Replace {
  TextPattern pattern;
  std::string content;
};
struct Strip {
  bool left = true, right = true;
};
struct StripAccents {};  ///< drops all marks (M)
struct Nmt {};
struct Bert {
  bool clean_text = true, handle_chinese_chars = true, lowercase = true;
  std::optional<bool> strip_accents = {};  ///< as `lowercase` if unset
};
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

struct ByteLevel {
  bool add_prefix_space = true, use_regex = true;
};
struct Split {
  TextPattern pattern;
  Behavior behavior = Behavior::kIsolated;
  bool invert = false;
};
struct Digits {
  bool individual_digits = false;
};
struct Metaspace {
  std::string replacement = "\xE2\x96\x81";
  PrependScheme prepend_scheme = PrependScheme::kAlways;
  bool split = true;
};
struct Whitespace {};  ///< words, and runs of other letters
struct WhitespaceSplit {};
struct Punctuation {
  Behavior behavior = Behavior::kIsolated;
};
struct Bert {};
struct CharDelimiterSplit {
  std::string delimiter;
};
struct UnicodeScripts {};
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
  TextList texts;
  std::vector<int32_t> ids;  ///< one for each text

  void Add(std::string_view text, int32_t id);
};

namespace token_model {

struct Bpe {
  /// Left and right of each merge, one after the other; the first merge is the most urgent. The merged text must be in
  /// the vocabulary.
  TextList merges;
  std::optional<std::string> unk_token = {};
  std::string continuing_subword_prefix, end_of_word_suffix;
  bool fuse_unk = false, byte_fallback = false, ignore_merges = false;
};
struct Unigram {
  std::vector<double> scores;  ///< one for each text of the vocabulary
  std::optional<int32_t> unk_id = {};
  bool byte_fallback = false;
};
struct WordLevel {
  std::optional<std::string> unk_token = {};
};
struct WordPiece {
  std::string unk_token = "[UNK]";
  std::string continuing_subword_prefix = "##";
  size_t max_input_chars_per_word = 100;
};

}  // namespace token_model

using TokenModel = std::variant<token_model::Bpe, token_model::Unigram, token_model::WordLevel, token_model::WordPiece>;

struct AddedToken {
  std::string content;
  int32_t id = 0;                       ///< of the vocabulary's piece of that text, or beyond all of them
  bool single_word = false;             ///< no letter or digit beside it
  bool lstrip = false, rstrip = false;  ///< swallows white space beside it
  bool normalized = false;              ///< looked for in the normalized text; normalized itself
  bool special = false;                 ///< parsed only where asked for, and no text when decoded
};

namespace token_decoder {

struct ByteLevel {
  /// Whether added tokens represent their own letters. The library that defines tokenizer.json takes their letters for
  /// bytes too, if all are in the alphabet of bytes; llama.cpp does not.
  bool added_tokens_verbatim = false;
};
struct ByteFallback {};
struct Metaspace {
  std::string replacement = "\xE2\x96\x81";
  PrependScheme prepend_scheme = PrependScheme::kAlways;
};
struct Replace {
  TextPattern pattern;
  std::string content;
};
struct Fuse {};
struct Strip {
  std::string content = " ";   ///< one character
  size_t start = 0, stop = 0;  ///< at most so many of them
};
struct WordPiece {
  std::string prefix = "##";
  bool cleanup = true;
};
struct BpeDecoder {
  std::string suffix = "</w>";
};
struct Ctc {
  std::string pad_token = "<pad>", word_delimiter_token = "|";
  bool cleanup = true;
};

}  // namespace token_decoder

using TokenDecoder = std::variant<token_decoder::ByteLevel, token_decoder::ByteFallback, token_decoder::Metaspace,
                                  token_decoder::Replace, token_decoder::Fuse, token_decoder::Strip,
                                  token_decoder::WordPiece, token_decoder::BpeDecoder, token_decoder::Ctc>;

struct TokenizerSpec {
  std::vector<AddedToken> added_tokens;
  std::vector<Normalizer> normalizers;
  std::vector<PreTokenizer> pre_tokenizers;
  Vocabulary vocabulary;
  TokenModel model;
  /// The ids that the post-processor puts around a text, if the caller asks for it.
  std::vector<int32_t> prefix, suffix;
  /// None at all: the pieces with spaces between them.
  std::vector<TokenDecoder> decoders;
  std::optional<int32_t> bos_id = {}, eos_id = {}, unk_id = {}, pad_id = {};
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/tokenizers/detail/tokenizer_spec.h"
#endif

#endif  // SKALD_TOKENIZERS_TOKENIZER_SPEC_H_
