// SPDX-License-Identifier: Apache-2.0
//
// FixedText: a short text as a plain value, at compile time too, where std::string is not always usable.

#ifndef SKALD_BASE_TEXT_FIXED_TEXT_H_
#define SKALD_BASE_TEXT_FIXED_TEXT_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace skald {

class FixedText {
 public:
  static constexpr size_t kMaxSize = 63;  ///< bytes

  constexpr FixedText() = default;
  /// Cuts off everything beyond kMaxSize.
  constexpr FixedText(const char* text) : FixedText(std::string_view(text)) {}  // NOLINT: a text is a FixedText
  /// Cuts off everything beyond kMaxSize.
  constexpr FixedText(std::string_view text) : size_(std::min(text.size(), kMaxSize)) {  // NOLINT: likewise
    std::copy_n(text.begin(), size_, text_.begin());
  }

  constexpr operator std::string_view() const { return {text_.data(), size_}; }  // NOLINT: and the other way

  friend constexpr bool operator==(const FixedText&, const FixedText&) = default;

  constexpr FixedText operator+(std::string_view more) const {
    FixedText sum = *this;
    const size_t count = std::min(more.size(), kMaxSize - size_);
    std::copy_n(more.begin(), count, sum.text_.begin() + size_);
    sum.size_ += count;
    return sum;
  }

 private:
  std::array<char, kMaxSize> text_{};
  size_t size_ = 0;
};

}  // namespace skald

#endif  // SKALD_BASE_TEXT_FIXED_TEXT_H_
