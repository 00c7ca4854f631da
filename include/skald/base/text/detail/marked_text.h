// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/base/text/marked_text.h.

#ifndef SKALD_BASE_TEXT_DETAIL_MARKED_TEXT_H_
#define SKALD_BASE_TEXT_DETAIL_MARKED_TEXT_H_

#include "skald/base/text/marked_text.h"

#include "skald/base/inline.h"

namespace skald {

SKALD_INLINE bool MarkedText::IsTemplates(size_t begin, size_t count) const {
  const std::string_view part = std::string_view(authors_).substr(begin, count);
  return part.find(static_cast<char>(Author::kMessage)) == std::string_view::npos;
}

SKALD_INLINE void MarkedText::Append(std::string_view text, Author author) {
  text_ += text;
  authors_.append(text.size(), static_cast<char>(author));
}

SKALD_INLINE void MarkedText::Append(const MarkedText& other) {
  text_ += other.text_;
  authors_ += other.authors_;
}

SKALD_INLINE void MarkedText::Append(const MarkedText& other, size_t begin, size_t count) {
  text_.append(other.text_, begin, count);
  authors_.append(other.authors_, begin, count);
}

SKALD_INLINE void MarkedText::Reserve(size_t bytes) {
  text_.reserve(bytes);
  authors_.reserve(bytes);
}

SKALD_INLINE MarkedText MarkedText::Substr(size_t begin, size_t count) const {
  MarkedText part;
  part.text_ = text_.substr(begin, count);
  part.authors_ = authors_.substr(begin, count);
  return part;
}

}  // namespace skald

#endif  // SKALD_BASE_TEXT_DETAIL_MARKED_TEXT_H_
