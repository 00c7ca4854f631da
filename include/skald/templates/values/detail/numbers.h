// SPDX-License-Identifier: Apache-2.0
//
// Numbers as Python writes and reads them. Pure functions.

#ifndef SKALD_TEMPLATES_VALUES_DETAIL_NUMBERS_H_
#define SKALD_TEMPLATES_VALUES_DETAIL_NUMBERS_H_

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "skald/base/mathematics/portable_pow.h"
#include "skald/base/text/read_decimal.h"
#include "skald/templates/values/detail/characters.h"
#include "skald/templates/values/value.h"

namespace skald::internal::jinja {

inline std::string IntegerText(Integer number, unsigned base = 10) {
  __extension__ typedef unsigned __int128 Magnitude;
  auto rest = number < 0 ? -static_cast<Magnitude>(number) : static_cast<Magnitude>(number);
  std::string text;
  do {
    text += "0123456789abcdef"[static_cast<size_t>(rest % base)];
    rest /= base;
  } while (rest != 0);
  if (number < 0) text += '-';
  std::reverse(text.begin(), text.end());
  return text;
}

// With so many digits after the point.
inline std::string FixedText(double number, int digits) {
  char buffer[512];  // 309 digits before the point
  const auto end =
      std::to_chars(buffer, buffer + sizeof(buffer), number, std::chars_format::fixed, std::min(digits, 150));
  return {buffer, end.ptr};
}

inline std::string NotFiniteText(double number) { return std::isnan(number) ? "nan" : number > 0 ? "inf" : "-inf"; }

// The fewest digits that give the number back; with an exponent below 1e-4 and from 1e16 on.
inline std::string FloatText(double number) {
  if (!std::isfinite(number)) return NotFiniteText(number);
  char buffer[40];
  const auto end = std::to_chars(buffer, buffer + sizeof(buffer), number, std::chars_format::scientific);
  const std::string_view scientific(buffer, static_cast<size_t>(end.ptr - buffer));
  const size_t e = scientific.find('e');
  int exponent = 0;
  std::from_chars(buffer + e + (scientific[e + 1] == '+' ? 2 : 1), end.ptr, exponent);
  if (exponent < -4 || exponent >= 16) return std::string(scientific);
  const auto fixed = std::to_chars(buffer, buffer + sizeof(buffer), number, std::chars_format::fixed);
  std::string text(buffer, fixed.ptr);
  return text.find('.') == text.npos ? text + ".0" : text;
}

// A text that is nothing but a whole number, with white space around it and single underscores inside.
inline std::optional<Integer> ReadInteger(std::string_view text, int base) {
  text.remove_prefix(LeadingSpaces(text));
  text.remove_suffix(TrailingSpaces(text));
  const bool is_negative = text.starts_with('-');
  if (is_negative || text.starts_with('+')) text.remove_prefix(1);
  if (text.size() > 2 && text[0] == '0') {
    const char kind = static_cast<char>(text[1] | 0x20);
    const int prefixed = kind == 'x' ? 16 : kind == 'o' ? 8 : kind == 'b' ? 2 : 0;
    if (prefixed != 0 && (base == prefixed || base == 0)) {
      text.remove_prefix(2);
      base = prefixed;
    }
  }
  if (base == 0) base = 10;
  if (text.empty() || text.back() == '_') return std::nullopt;
  Integer number = 0;
  bool was_digit = false;
  for (const char c : text) {
    if (c == '_' && was_digit) {
      was_digit = false;
      continue;
    }
    const char low = static_cast<char>(c | 0x20);
    const int digit = c >= '0' && c <= '9' ? c - '0' : low >= 'a' && low <= 'z' ? low - 'a' + 10 : base;
    if (digit >= base || __builtin_mul_overflow(number, base, &number) ||
        __builtin_add_overflow(number, digit, &number)) {
      return std::nullopt;
    }
    was_digit = true;
  }
  return is_negative ? -number : number;
}

inline std::optional<double> ReadFloat(std::string_view text) {
  text.remove_prefix(LeadingSpaces(text));
  text.remove_suffix(TrailingSpaces(text));
  if (text.starts_with('+') && !text.substr(1).starts_with('-')) text.remove_prefix(1);
  double number = 0;
  const auto read = ReadDecimal(text, number);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size()) return std::nullopt;
  return number;
}

// A float without its digits after the point, if 128 bits hold it.
inline std::optional<Integer> Truncated(double number) {
  if (!(std::fabs(number) < 1e38)) return std::nullopt;
  return static_cast<Integer>(number);
}

// Rounded to so many digits after the point, of two equally near numbers to the even one.
inline double Rounded(double number, int digits) {
  if (!std::isfinite(number) || digits > 300) return number;
  if (digits >= 0) {
    const std::string text = FixedText(number, digits);
    double rounded = number;
    (void)ReadDecimal(text, rounded);
    return rounded;
  }
  const double unit = PortablePow(10.0, -digits);
  return std::isfinite(unit) ? std::nearbyint(number / unit) * unit : 0.0;
}

}  // namespace skald::internal::jinja

#endif  // SKALD_TEMPLATES_VALUES_DETAIL_NUMBERS_H_
