// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/tokenizers/encoder_input.h.

#ifndef SKALD_TOKENIZERS_DETAIL_ENCODER_INPUT_H_
#define SKALD_TOKENIZERS_DETAIL_ENCODER_INPUT_H_

#include "skald/tokenizers/encoder_input.h"

#include <algorithm>
#include <string>
#include <utility>

#include "skald/base/inline.h"
#include "skald/base/no_throw.h"

namespace skald {

namespace internal {

// The lengths to which two texts are cut.
struct TextLengths {
  size_t first = 0, second = 0;
};

// The longer text goes down to the length of the shorter one; where that is not enough, both have half of `most`, and
// what is odd goes to the longer one.
inline TextLengths CutLongestFirst(TextLengths all, size_t most) {
  const bool swaps = all.first > all.second;
  size_t shorter = std::min(all.first, all.second);
  size_t longer = shorter > most ? shorter : std::max(shorter, most - shorter);
  if (shorter + longer > most) {
    shorter = most / 2;
    longer = shorter + most % 2;
  }
  return swaps ? TextLengths{longer, shorter} : TextLengths{shorter, longer};
}

inline Failure FailOnLength(std::string_view what, size_t ids, size_t around, const InputLimit& limit) {
  return Fail(ErrorCode::kOutOfRange, std::string(what) + " of " + std::to_string(ids) + " tokens and " +
                                          std::to_string(around) + " special tokens is longer than the limit of " +
                                          std::to_string(limit.most_ids) + " tokens");
}

// The lengths that the texts of an input may have. `all` are those that they have.
inline Result<TextLengths> FitTexts(TextLengths all, bool is_pair, size_t around, const InputLimit& limit) {
  if (around > limit.most_ids) {
    return Fail(ErrorCode::kInvalidArgument, "a limit of " + std::to_string(limit.most_ids) +
                                                 " tokens leaves no room for the " + std::to_string(around) +
                                                 " special tokens of an input");
  }
  const size_t most = limit.most_ids - around, total = all.first + all.second;
  if (total <= most) return all;
  const std::string_view what = is_pair ? "a pair of texts" : "a text";
  if (limit.truncation == Truncation::kRefuse) return FailOnLength(what, total, around, limit);
  if (limit.truncation == Truncation::kOnlySecond && !is_pair) {
    return Fail(ErrorCode::kInvalidArgument, "only the second text may be cut, but there is one text");
  }
  if (limit.truncation == Truncation::kLongestFirst) {
    return is_pair ? CutLongestFirst(all, most) : TextLengths{most, 0};
  }
  size_t& cut = limit.truncation == Truncation::kOnlyFirst ? all.first : all.second;
  const size_t excess = total - most;
  // The library refuses to leave nothing of the text too.
  if (cut <= excess) return FailOnLength("the text that may not be cut, with the other,", total, around, limit);
  cut -= excess;
  return all;
}

inline void AppendText(std::span<const int32_t> text, size_t length, TruncatedEnd end, int32_t type,
                       EncoderInput& input) {
  const auto kept = end == TruncatedEnd::kRight ? text.first(length) : text.last(length);
  input.ids.insert(input.ids.end(), kept.begin(), kept.end());
  input.types.insert(input.types.end(), length, type);
}

inline void AppendToken(int32_t id, int32_t type, EncoderInput& input) {
  input.ids.push_back(id);
  input.types.push_back(type);
}

inline Result<void> CheckTextIds(const Tokenizer& tokenizer, std::span<const int32_t> text) {
  for (const int32_t id : text) {
    if (const auto kind = tokenizer.KindOf(id); !kind) return Failure(kind.error());
  }
  return {};
}

inline size_t CountTokens(std::span<const InputPart> parts) {
  const auto is_token = [](const InputPart& part) { return part.content == InputPart::Content::kToken; };
  return static_cast<size_t>(std::count_if(parts.begin(), parts.end(), is_token));
}

}  // namespace internal

SKALD_INLINE size_t TokensAroundText(const Tokenizer& tokenizer) {
  return tokenizer.engine().prefix().size() + tokenizer.engine().suffix().size();
}

SKALD_INLINE Result<size_t> TokensAroundPair(const Tokenizer& tokenizer) {
  const std::span<const InputPart> parts = tokenizer.engine().pair();
  if (!parts.empty()) return internal::CountTokens(parts);
  return NoThrow("a pair of texts", [&]() -> Result<size_t> {
    return Fail(ErrorCode::kUnsupported, "the tokenizer's file does not say how two texts are joined to one input");
  });
}

SKALD_INLINE Result<EncoderInput> MakeEncoderInput(const Tokenizer& tokenizer, std::span<const int32_t> text,
                                                   const InputLimit& limit) {
  return NoThrow("an encoder's input", [&]() -> Result<EncoderInput> {
    SKALD_TRY(internal::CheckTextIds(tokenizer, text));
    SKALD_ASSIGN(const auto lengths, internal::FitTexts({text.size(), 0}, false, TokensAroundText(tokenizer), limit));
    const std::span<const int32_t> types = tokenizer.engine().types();
    const auto type = [&types](size_t at) { return types.empty() ? 0 : types[at]; };
    EncoderInput input;
    size_t at = 0;
    for (const int32_t id : tokenizer.engine().prefix()) internal::AppendToken(id, type(at++), input);
    internal::AppendText(text, lengths.first, limit.truncated_end, type(at++), input);
    for (const int32_t id : tokenizer.engine().suffix()) internal::AppendToken(id, type(at++), input);
    input.cut_first = text.size() - lengths.first;
    return input;
  });
}

SKALD_INLINE Result<EncoderInput> MakePairInput(const Tokenizer& tokenizer, std::span<const int32_t> first,
                                                std::span<const int32_t> second, const InputLimit& limit) {
  return NoThrow("an encoder's input", [&]() -> Result<EncoderInput> {
    SKALD_TRY(internal::CheckTextIds(tokenizer, first));
    SKALD_TRY(internal::CheckTextIds(tokenizer, second));
    SKALD_ASSIGN(const auto around, TokensAroundPair(tokenizer));
    SKALD_ASSIGN(const auto lengths, internal::FitTexts({first.size(), second.size()}, true, around, limit));
    EncoderInput input;
    for (const InputPart& part : tokenizer.engine().pair()) {
      if (part.content == InputPart::Content::kToken) {
        internal::AppendToken(part.id, part.type, input);
      } else if (part.content == InputPart::Content::kFirst) {
        internal::AppendText(first, lengths.first, limit.truncated_end, part.type, input);
      } else {
        internal::AppendText(second, lengths.second, limit.truncated_end, part.type, input);
      }
    }
    input.cut_first = first.size() - lengths.first;
    input.cut_second = second.size() - lengths.second;
    return input;
  });
}

SKALD_INLINE Result<EncoderInput> EncodeInput(const Tokenizer& tokenizer, std::string_view text,
                                              const InputLimit& limit, ParseSpecial parse_special) {
  SKALD_ASSIGN(const auto ids, tokenizer.Encode(text, parse_special));
  return MakeEncoderInput(tokenizer, ids, limit);
}

SKALD_INLINE Result<EncoderInput> EncodePair(const Tokenizer& tokenizer, std::string_view first,
                                             std::string_view second, const InputLimit& limit,
                                             ParseSpecial parse_special) {
  SKALD_ASSIGN(const auto first_ids, tokenizer.Encode(first, parse_special));
  SKALD_ASSIGN(const auto second_ids, tokenizer.Encode(second, parse_special));
  return MakePairInput(tokenizer, first_ids, second_ids, limit);
}

}  // namespace skald

#endif  // SKALD_TOKENIZERS_DETAIL_ENCODER_INPUT_H_
