// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/tokenizers/tokenizer_spec.h.

#ifndef SKALD_TOKENIZERS_DETAIL_TOKENIZER_SPEC_H_
#define SKALD_TOKENIZERS_DETAIL_TOKENIZER_SPEC_H_

#include "skald/tokenizers/tokenizer_spec.h"

#include "skald/base/inline.h"

namespace skald {

SKALD_INLINE std::string_view TextList::operator[](size_t i) const {
  const size_t begin = i == 0 ? 0 : ends_[i - 1];
  return std::string_view(bytes_).substr(begin, ends_[i] - begin);
}

SKALD_INLINE void TextList::Add(std::string_view text) {
  bytes_ += text;
  ends_.push_back(bytes_.size());
}

SKALD_INLINE void TextList::Reserve(size_t texts, size_t bytes) {
  ends_.reserve(texts);
  bytes_.reserve(bytes);
}

SKALD_INLINE void Vocabulary::Add(std::string_view text, int32_t id) {
  texts.Add(text);
  ids.push_back(id);
}

}  // namespace skald

#endif  // SKALD_TOKENIZERS_DETAIL_TOKENIZER_SPEC_H_
