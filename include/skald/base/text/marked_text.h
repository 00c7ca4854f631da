// SPDX-License-Identifier: Apache-2.0
//
// A text that records for every byte whether the chat template or a message wrote it. Only text of a template may
// become a special token, so that a user's "<|im_end|>" ends nothing. A plain value.

#ifndef SKALD_BASE_TEXT_MARKED_TEXT_H_
#define SKALD_BASE_TEXT_MARKED_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace skald {

enum class Author : char { kTemplate = 't', kMessage = 'm' };

/// A text with the author of each byte.
class MarkedText {
 public:
  MarkedText() = default;
  /// A text of one author. Throws std::bad_alloc, as the calls that append do.
  MarkedText(std::string_view text, Author author) : text_(text), authors_(text.size(), static_cast<char>(author)) {}

  /// Without the authors. Valid until the text changes.
  const std::string& text() const { return text_; }
  size_t size() const { return text_.size(); }
  bool empty() const { return text_.empty(); }

  /// The author of the byte at `position`, which must be less than size().
  Author AuthorAt(size_t position) const { return static_cast<Author>(authors_[position]); }

  /// Whether templates wrote all of the `count` bytes from `begin`, or all bytes to the end if there are fewer.
  bool IsTemplates(size_t begin, size_t count) const;

  /// Appends a text of one author.
  void Append(std::string_view text, Author author);

  /// Appends a text with its authors.
  void Append(const MarkedText& other);

  /// Appends `count` bytes of `other` from `begin`, which is at most its size, or all bytes to the end if there are
  /// fewer.
  void Append(const MarkedText& other, size_t begin, size_t count);

  /// Reserves room for so many bytes in all.
  void Reserve(size_t bytes);
  /// Bytes that the text can have before it is moved to other memory.
  size_t capacity() const { return text_.capacity(); }

  /// The `count` bytes from `begin`, which is at most size(), or all bytes to the end if there are fewer.
  MarkedText Substr(size_t begin, size_t count = std::string::npos) const;

  friend bool operator==(const MarkedText&, const MarkedText&) = default;

 private:
  std::string text_, authors_;  ///< of equal size
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/base/text/detail/marked_text.h"
#endif

#endif  // SKALD_BASE_TEXT_MARKED_TEXT_H_
