// SPDX-License-Identifier: Apache-2.0
//
// The steps before a text is split: Unicode's normal forms, lower case, replacements. Immutable; safe for concurrent
// calls. Source: tokenizers/src/normalizers of github.com/huggingface/tokenizers.

#ifndef SKALD_TOKENIZERS_DETAIL_PIPELINE_STEPS_NORMALIZERS_H_
#define SKALD_TOKENIZERS_DETAIL_PIPELINE_STEPS_NORMALIZERS_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "skald/base/result.h"
#include "skald/base/text/message.h"
#include "skald/tokenizers/detail/pipeline/steps/bert_characters.h"
#include "skald/tokenizers/detail/pipeline/steps/byte_alphabet.h"
#include "skald/tokenizers/detail/pipeline/steps/patterns.h"
#include "skald/tokenizers/detail/pipeline/steps/precompiled_charsmap.h"
#include "skald/tokenizers/detail/split_pattern.h"
#include "skald/tokenizers/detail/unicode.h"
#include "skald/tokenizers/tokenizer_spec.h"

namespace skald::internal {

// Without the characters for which drop(character) is true.
template <class Drop>
std::string Without(std::string_view text, Drop drop) {
  std::string kept;
  kept.reserve(text.size());
  ForEachCharacter(text, [&](char32_t c, std::string_view bytes) {
    if (!drop(c)) kept += bytes;
  });
  return kept;
}

inline std::string StripWhiteSpace(std::string_view text, const normalizer::Strip& strip) {
  size_t begin = text.size(), end = 0, at = 0;
  ForEachCharacter(text, [&](char32_t c, std::string_view bytes) {
    if (!IsWhiteSpace(c)) {
      if (end == 0) begin = at;
      end = at + bytes.size();
    }
    at += bytes.size();
  });
  if (!strip.left) begin = 0;
  if (!strip.right) end = text.size();
  return std::string(begin < end ? text.substr(begin, end - begin) : "");
}

// As the training of Google's neural translation prepared its text.
inline std::string ApplyNmt(std::string_view text) {
  std::string normal;
  normal.reserve(text.size());
  ForEachCharacter(text, [&](char32_t c, std::string_view bytes) {
    const bool drop =
        (c >= 0x01 && c <= 0x08) || c == 0x0B || (c >= 0x0E && c <= 0x1F) || c == 0x7F || c == 0x8F || c == 0x9F;
    const bool space = c == 0x09 || c == 0x0A || c == 0x0C || c == 0x0D || c == 0x1680 ||
                       (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 || c == 0x2581 || c == 0xFEFF ||
                       c == 0xFFFD;
    if (!drop) normal += space ? std::string_view(" ") : bytes;
  });
  return normal;
}

inline bool IsChinese(char32_t c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) || (c >= 0x20000 && c <= 0x2A6DF) ||
         (c >= 0x2A700 && c <= 0x2B73F) || (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

inline Result<std::string> ApplyBert(const normalizer::Bert& bert, std::string text) {
  if (bert.clean_text) {
    std::string clean;
    ForEachCharacter(text, [&](char32_t c, std::string_view bytes) {
      if (!IsBertControl(c)) clean += IsWhiteSpace(c) ? std::string_view(" ") : bytes;
    });
    text = std::move(clean);
  }
  if (bert.handle_chinese_chars) {
    std::string spaced;
    ForEachCharacter(text, [&](char32_t c, std::string_view bytes) {
      if (IsChinese(c)) {
        spaced.append(" ").append(bytes).append(" ");
      } else {
        spaced += bytes;
      }
    });
    text = std::move(spaced);
  }
  if (bert.strip_accents.value_or(bert.lowercase)) {
    SKALD_ASSIGN(const auto apart, Normalize(NormalizationForm::kNfd, text));
    text = Without(apart, IsBertAccent);
  }
  return bert.lowercase ? LowerCase(text) : text;
}

// A tokenizer's file may say that each letter becomes ten, over and over. No published one makes of a text more than
// some twenty times its length: one character of Unicode's is written out as eighteen.
inline constexpr size_t kMostGrowth = 128, kMostGrowthOfShortText = 4096;

// How tokenizer.json calls a normalizer.
inline std::string_view NameOf(const Normalizer& normalizer) {
  constexpr std::string_view kForms[] = {"NFC", "NFD", "NFKC", "NFKD"};
  constexpr std::string_view kNames[] = {"",    "Lowercase",      "Prepend",     "Replace",  "Strip", "StripAccents",
                                         "Nmt", "BertNormalizer", "Precompiled", "ByteLevel"};
  const auto* const unicode = std::get_if<normalizer::Unicode>(&normalizer);
  return unicode != nullptr ? kForms[static_cast<size_t>(unicode->form)] : kNames[normalizer.index()];
}

// A normalizer with its pattern or table made ready.
class ReadyNormalizer {
 public:
  static Result<ReadyNormalizer> Make(const Normalizer& normalizer) {
    ReadyNormalizer ready;
    ready.name_ = NameOf(normalizer);
    if (const auto* const precompiled = std::get_if<normalizer::Precompiled>(&normalizer)) {
      if (precompiled->charsmap.empty()) return ready;  // changes nothing
      SKALD_ASSIGN(auto map, PrecompiledCharsmap::Parse(precompiled->charsmap));
      ready.step_ = std::move(map);
    } else if (const auto* const replace = std::get_if<normalizer::Replace>(&normalizer)) {
      SKALD_ASSIGN(auto pattern, CompilePattern(replace->pattern));
      ready.step_ = ReadyReplace{std::move(pattern), replace->content};
    } else {
      ready.step_ = normalizer;
    }
    return ready;
  }

  std::string_view name() const { return name_; }

  // Error: kResourceExhausted where the result has more than `most` bytes; those that can be much longer than the text
  // are not made.
  Result<std::string> Apply(std::string text, size_t most) const {
    const size_t size = text.size();
    Result<std::string> normal = Run(std::move(text), most);
    if (!normal || normal->size() <= most) return normal;
    return FailOnGrowth(size, most);
  }

 private:
  struct ReadyReplace {
    SplitPattern pattern;
    std::string content;
  };

  static Failure FailOnGrowth(size_t size, size_t most) {
    return Fail(ErrorCode::kResourceExhausted,
                "makes more than " + std::to_string(most) + " bytes of a text of " + std::to_string(size));
  }

  Result<std::string> Run(std::string text, size_t most) const {
    if (const auto* const map = std::get_if<PrecompiledCharsmap>(&step_)) return map->Apply(text, most);
    if (const auto* const replace = std::get_if<ReadyReplace>(&step_)) {
      std::vector<ByteRange> matches;
      return ReplaceMatches(replace->pattern, text, replace->content, matches, most);
    }
    const auto* const simple = std::get_if<Normalizer>(&step_);
    if (simple == nullptr) return text;
    const auto* const prepend = std::get_if<normalizer::Prepend>(simple);
    if (prepend != nullptr && prepend->text.size() > most) return FailOnGrowth(text.size(), most);
    return ApplySimple(*simple, std::move(text));
  }

  static Result<std::string> ApplySimple(const Normalizer& step, std::string text) {
    if (const auto* const unicode = std::get_if<normalizer::Unicode>(&step)) return Normalize(unicode->form, text);
    if (std::holds_alternative<normalizer::Lowercase>(step)) return LowerCase(text);
    if (const auto* const prepend = std::get_if<normalizer::Prepend>(&step)) {
      return text.empty() ? text : prepend->text + text;
    }
    if (const auto* const strip = std::get_if<normalizer::Strip>(&step)) return StripWhiteSpace(text, *strip);
    if (std::holds_alternative<normalizer::StripAccents>(step)) return Without(text, IsMark);
    if (std::holds_alternative<normalizer::Nmt>(step)) return ApplyNmt(text);
    if (const auto* const bert = std::get_if<normalizer::Bert>(&step)) return ApplyBert(*bert, std::move(text));
    if (!std::holds_alternative<normalizer::ByteLevel>(step)) return text;
    std::string letters;
    AppendByteLetters(text, letters);
    return letters;
  }

  std::string_view name_;
  std::variant<std::monostate, Normalizer, ReadyReplace, PrecompiledCharsmap> step_;
};

class NormalizerChain {
 public:
  static Result<NormalizerChain> Make(const std::vector<Normalizer>& normalizers) {
    NormalizerChain chain;
    for (const Normalizer& normalizer : normalizers) {
      SKALD_ASSIGN(auto ready, ReadyNormalizer::Make(normalizer));
      chain.steps_.push_back(std::move(ready));
    }
    return chain;
  }

  bool empty() const { return steps_.empty(); }

  // Error: those of patterns; kResourceExhausted for a text that grows too much, with the normalizer that does it.
  Result<std::string> Apply(std::string_view text) const {
    const size_t most = kMostGrowth * text.size() + kMostGrowthOfShortText;
    Result<std::string> normal = std::string(text);
    for (size_t i = 0; i < steps_.size(); ++i) {
      normal = steps_[i].Apply(*std::move(normal), most);
      if (normal) continue;
      return Annotate(Concat({"the tokenizer's normalizer ", std::to_string(i + 1), ", ", steps_[i].name()}), normal);
    }
    return normal;
  }

 private:
  std::vector<ReadyNormalizer> steps_;
};

}  // namespace skald::internal

#endif  // SKALD_TOKENIZERS_DETAIL_PIPELINE_STEPS_NORMALIZERS_H_
