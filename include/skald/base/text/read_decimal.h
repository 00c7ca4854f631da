// SPDX-License-Identifier: Apache-2.0
//
// Decimal numbers in texts, read the same by every C++ library: LLVM's before version 20 has no std::from_chars for
// them. Pure functions; safe for concurrent calls.

#ifndef SKALD_BASE_TEXT_READ_DECIMAL_H_
#define SKALD_BASE_TEXT_READ_DECIMAL_H_

#include <charconv>
#include <cstddef>
#include <string_view>
#include <system_error>

#if defined(_LIBCPP_VERSION) && _LIBCPP_VERSION < 200000
#define SKALD_READS_DECIMALS_BY_STREAMS 1
#include <limits>
#include <locale>
#include <sstream>
#include <string>
#else
#define SKALD_READS_DECIMALS_BY_STREAMS 0
#endif

namespace skald::internal {

#if SKALD_READS_DECIMALS_BY_STREAMS

inline size_t DigitsFrom(std::string_view text, size_t begin) {
  const size_t end = text.find_first_not_of("0123456789", begin);
  return (end == text.npos ? text.size() : end) - begin;
}

// The length of the number that the text begins with; 0 if there is none.
inline size_t DecimalLength(std::string_view text) {
  size_t at = text.starts_with('-') ? 1 : 0;
  const size_t whole = DigitsFrom(text, at);
  at += whole;
  size_t fraction = 0;
  if (at < text.size() && text[at] == '.') {
    fraction = DigitsFrom(text, at + 1);
    if (whole + fraction > 0) at += 1 + fraction;
  }
  if (whole + fraction == 0) return 0;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    const bool has_sign = at + 1 < text.size() && (text[at + 1] == '-' || text[at + 1] == '+');
    const size_t digits = at + 1 + (has_sign ? 1 : 0);
    if (const size_t exponent = DigitsFrom(text, digits); exponent > 0) at = digits + exponent;
  }
  return at;
}

// The length of the infinity or NaN that the text begins with, in any case; 0 if there is none.
inline size_t ReadSpecial(std::string_view text, double& number) {
  const size_t sign = text.starts_with('-') ? 1 : 0;
  std::string word(text.substr(sign, 8));
  for (char& c : word) c = static_cast<char>(c | 0x20);
  using Limits = std::numeric_limits<double>;
  const bool is_nan = word.starts_with("nan");
  if (!is_nan && !word.starts_with("inf")) return 0;
  number = is_nan ? Limits::quiet_NaN() : Limits::infinity();
  if (sign == 1) number = -number;
  return sign + (word == "infinity" ? 8 : 3);
}

#endif

/// Reads the decimal number that the text begins with, as std::from_chars does. One that does not fit, or none, leaves
/// `number` as it was. May throw std::bad_alloc.
inline std::from_chars_result ReadDecimal(std::string_view text, double& number) {
#if SKALD_READS_DECIMALS_BY_STREAMS
  if (const size_t special = ReadSpecial(text, number); special > 0) return {text.data() + special, std::errc()};
  const size_t length = DecimalLength(text);
  if (length == 0) return {text.data(), std::errc::invalid_argument};
  std::istringstream stream{std::string(text.substr(0, length))};
  stream.imbue(std::locale::classic());
  double read = 0;
  const bool is_in_range = static_cast<bool>(stream >> read);
  if (is_in_range) number = read;
  return {text.data() + length, is_in_range ? std::errc() : std::errc::result_out_of_range};
#else
  double read = 0;  // LLVM's library changes the number where it does not fit, too
  const auto result = std::from_chars(text.data(), text.data() + text.size(), read);
  if (result.ec == std::errc()) number = read;
  return result;
#endif
}

}  // namespace skald::internal

#endif  // SKALD_BASE_TEXT_READ_DECIMAL_H_
