// SPDX-License-Identifier: Apache-2.0
//
// The tokens that encoders read around a text and between two, in the forms of published models. Pure functions.

#ifndef SKALD_TOKENIZERS_DETAIL_ENCODERS_INPUT_FRAMES_H_
#define SKALD_TOKENIZERS_DETAIL_ENCODERS_INPUT_FRAMES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "skald/tokenizers/tokenizer_engine.h"
#include "skald/tokenizers/tokenizer_spec.h"

namespace skald::internal {

inline InputPart TokenPart(int32_t id, int32_t type = 0) { return {InputPart::Content::kToken, id, type}; }
inline InputPart FirstText(int32_t type = 0) { return {InputPart::Content::kFirst, 0, type}; }
inline InputPart SecondText(int32_t type = 0) { return {InputPart::Content::kSecond, 0, type}; }

// Texts side by side, as Hugging Face's library joins them where no post-processor does.
inline std::vector<InputPart> PlainPair() { return {FirstText(), SecondText(1)}; }

// Puts the tokens of `single`, which has one text, around those that `spec` has already.
inline void SetSingle(const std::vector<InputPart>& single, TokenizerSpec& spec) {
  if (spec.types.empty()) spec.types.assign(spec.prefix.size() + 1 + spec.suffix.size(), 0);
  std::ptrdiff_t before = 0;
  bool is_before = true;
  for (const InputPart& part : single) {
    if (part.content != InputPart::Content::kToken) {
      spec.types[spec.prefix.size()] = part.type;
      is_before = false;
    } else if (is_before) {
      spec.types.insert(spec.types.begin() + before, part.type);
      spec.prefix.insert(spec.prefix.begin() + before++, part.id);
    } else {
      spec.types.push_back(part.type);
      spec.suffix.push_back(part.id);
    }
  }
  const auto is_zero = [](int32_t type) { return type == 0; };
  if (std::all_of(spec.types.begin(), spec.types.end(), is_zero)) spec.types.clear();
}

enum class FrameForm {
  kBert,     // [CLS] a [SEP] b [SEP], the second text and what follows of type 1
  kRoberta,  // <s> a </s> </s> b </s>, without types
};

inline std::vector<InputPart> ClassifiedPair(int32_t cls, int32_t sep, FrameForm form) {
  if (form == FrameForm::kBert) {
    return {TokenPart(cls), FirstText(), TokenPart(sep), SecondText(1), TokenPart(sep, 1)};
  }
  return {TokenPart(cls), FirstText(), TokenPart(sep), TokenPart(sep), SecondText(), TokenPart(sep)};
}

inline std::vector<InputPart> ClassifiedText(int32_t cls, int32_t sep) {
  return {TokenPart(cls), FirstText(), TokenPart(sep)};
}

// T5: each text ends with a token.
inline void SetEndedTexts(int32_t end, TokenizerSpec& spec) {
  SetSingle({FirstText(), TokenPart(end)}, spec);
  spec.pair = {FirstText(), TokenPart(end), SecondText(), TokenPart(end)};
}

inline void SetClassified(int32_t cls, int32_t sep, FrameForm form, TokenizerSpec& spec) {
  SetSingle(ClassifiedText(cls, sep), spec);
  spec.pair = ClassifiedPair(cls, sep, form);
}

}  // namespace skald::internal

#endif  // SKALD_TOKENIZERS_DETAIL_ENCODERS_INPUT_FRAMES_H_
