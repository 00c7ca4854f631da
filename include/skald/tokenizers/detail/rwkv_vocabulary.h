// SPDX-License-Identifier: Apache-2.0
//
// The tokenizer of RWKV's World models: greedily the longest piece that the rest of a text begins with, over bytes. Its
// file, rwkv_vocab_v20230424.txt, has a piece in each line: id, text as Python writes it, number of bytes. Id 0, which
// it leaves out, ends a text. Pure; safe for concurrent calls. Source: rwkv_tokenizer.py of
// github.com/BlinkDL/ChatRWKV.

#ifndef SKALD_TOKENIZERS_DETAIL_RWKV_VOCABULARY_H_
#define SKALD_TOKENIZERS_DETAIL_RWKV_VOCABULARY_H_

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "skald/base/result.h"
#include "skald/base/text/message.h"
#include "skald/base/text/utf8.h"
#include "skald/tokenizers/detail/pipeline/steps/byte_alphabet.h"
#include "skald/tokenizers/detail/unicode.h"
#include "skald/tokenizers/tokenizer_spec.h"

namespace skald::internal {

inline constexpr std::string_view kRwkvEndOfText = "<|rwkv_tokenizer_end_of_text|>";

// The meaning of escapes in Python's texts: bytes in those with a b before the quote, characters in others.
enum class PythonEscapes { kBytes, kCharacters };

// Returns the bytes between the quotes of one of Python's texts; nothing if they cannot be there.
inline std::optional<std::string> UnescapePython(std::string_view text, PythonEscapes escapes) {
  std::string bytes;
  const auto take_hex = [&text](size_t digits) -> std::optional<uint32_t> {
    uint32_t value = 0;
    if (text.size() < digits) return std::nullopt;
    const auto [end, error] = std::from_chars(text.data(), text.data() + digits, value, 16);
    if (error != std::errc() || end != text.data() + digits) return std::nullopt;
    text.remove_prefix(digits);
    return value;
  };
  while (!text.empty()) {
    const char first = text.front();
    text.remove_prefix(1);
    if (first != '\\') {
      bytes += first;
      continue;
    }
    if (text.empty()) return std::nullopt;
    const char kind = text.front();
    text.remove_prefix(1);
    constexpr std::string_view kSimple = "\\'\"ntr", kMeaning = "\\'\"\n\t\r";
    if (const size_t simple = kSimple.find(kind); simple != kSimple.npos) {
      bytes += kMeaning[simple];
      continue;
    }
    const bool is_character = escapes == PythonEscapes::kCharacters;
    const size_t digits = kind == 'x' ? 2 : kind == 'u' && is_character ? 4 : kind == 'U' && is_character ? 8 : 0;
    const std::optional<uint32_t> value = digits == 0 ? std::nullopt : take_hex(digits);
    if (!value || *value > 0x10FFFF || (*value >= 0xD800 && *value < 0xE000)) return std::nullopt;
    if (is_character) {
      AppendUtf8(static_cast<char32_t>(*value), bytes);
    } else {
      bytes += static_cast<char>(*value);
    }
  }
  return bytes;
}

// Puts pieces together to the steps of such a tokenizer.
class RwkvVocabulary {
 public:
  RwkvVocabulary() {
    spec_.added_tokens.push_back({.content = std::string(kRwkvEndOfText), .id = 0, .special = true});
    spec_.bos_id = spec_.eos_id = spec_.pad_id = 0;
    spec_.pre_tokenizers.emplace_back(pre_tokenizer::ByteLevel{.add_prefix_space = false, .use_regex = false});
    spec_.decoders.emplace_back(token_decoder::ByteLevel{.added_tokens_verbatim = true});
    // A text is one word, whose longest known beginning is taken over and over.
    spec_.model = token_model::WordPiece{
        .unk_token = "", .continuing_subword_prefix = "", .max_input_chars_per_word = std::numeric_limits<int>::max()};
  }

  void Add(std::string_view bytes, int32_t id) {
    std::string letters;
    AppendByteLetters(bytes, letters);
    spec_.vocabulary.Add(letters, id);
    if (bytes.size() == 1) has_byte_[static_cast<unsigned char>(bytes.front())] = true;
  }

  // Error: kDataLoss where some byte has no piece, so that not every text could be encoded.
  Result<TokenizerSpec> Finish() && {
    for (size_t byte = 0; byte < has_byte_.size(); ++byte) {
      if (has_byte_[byte]) continue;
      return Fail(ErrorCode::kDataLoss,
                  "the RWKV vocabulary has no piece for the byte " + std::to_string(byte) + ", expected one for each");
    }
    return std::move(spec_);
  }

 private:
  TokenizerSpec spec_;
  std::array<bool, 256> has_byte_ = {};
};

// The parts of a line.
struct RwkvLine {
  int32_t id;
  std::string bytes;
};

// Returns nothing for a line that is none.
inline std::optional<RwkvLine> ReadRwkvLine(std::string_view line) {
  const auto number = [](std::string_view digits) -> std::optional<int32_t> {
    int32_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size() || value <= 0) return std::nullopt;
    return value;
  };
  const size_t first = line.find(' '), last = line.rfind(' ');
  if (first == line.npos || last == first) return std::nullopt;
  const std::optional<int32_t> id = number(line.substr(0, first)), length = number(line.substr(last + 1));
  std::string_view text = line.substr(first + 1, last - first - 1);
  const bool is_bytes = text.starts_with('b');
  if (is_bytes) text.remove_prefix(1);
  const bool is_quoted = text.size() >= 2 && text.front() == text.back() && (text[0] == '\'' || text[0] == '"');
  if (!id || !length || !is_quoted) return std::nullopt;
  std::optional<std::string> bytes =
      UnescapePython(text.substr(1, text.size() - 2), is_bytes ? PythonEscapes::kBytes : PythonEscapes::kCharacters);
  if (!bytes || bytes->size() != static_cast<size_t>(*length)) return std::nullopt;
  return RwkvLine{*id, *std::move(bytes)};
}

// No other file with a tokenizer begins with a digit.
inline bool IsRwkvVocabulary(std::string_view bytes) {
  return !bytes.empty() && bytes.front() >= '0' && bytes.front() <= '9';
}

// Returns the steps of the tokenizer whose file has the content `text`. Error: kDataLoss, naming the line.
inline Result<TokenizerSpec> ReadRwkvVocabulary(std::string_view text) {
  RwkvVocabulary vocabulary;
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() && text.empty()) break;
    const std::optional<RwkvLine> piece = ReadRwkvLine(line);
    if (!piece) {
      return Fail(ErrorCode::kDataLoss,
                  Concat({"line ", std::to_string(number), " of the RWKV vocabulary is ", QuotedName(line),
                          ", expected an id from 1 on, a text in quotes and "
                          "the number of its bytes"}));
    }
    vocabulary.Add(piece->bytes, piece->id);
  }
  return std::move(vocabulary).Finish();
}

}  // namespace skald::internal

#endif  // SKALD_TOKENIZERS_DETAIL_RWKV_VOCABULARY_H_
