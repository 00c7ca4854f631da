// SPDX-License-Identifier: Apache-2.0
//
// Times as texts: "%d %B %Y", in English. Pure functions.

#ifndef SKALD_TEMPLATES_LIBRARY_DETAIL_TIME_FORMATS_H_
#define SKALD_TEMPLATES_LIBRARY_DETAIL_TIME_FORMATS_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "skald/base/text/message.h"
#include "skald/templates/values/machine.h"

namespace skald::internal::jinja {

inline int DaysBefore(int year, int month) {
  constexpr std::array<int, 12> kDays = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
  const bool is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  return kDays[static_cast<size_t>(std::clamp(month, 1, 12) - 1)] + (is_leap && month > 2 ? 1 : 0);
}

// 0 for Sunday.
inline int Weekday(const WallTime& time) {
  const int year = time.year - 1;
  const int days = year * 365 + year / 4 - year / 100 + year / 400 + DaysBefore(time.year, time.month) + time.day;
  return ((days % 7) + 7) % 7;  // the first of January of year 1 was a Monday
}

inline std::string TwoDigits(int number, bool is_short, char fill = '0') {
  const std::string text = std::to_string(number);
  return is_short || text.size() > 1 ? text : fill + text;
}

// As strftime in the C locale; nothing for a letter that it does not know.
inline std::string FormatTimePart(const WallTime& time, char letter, bool is_short) {
  constexpr std::string_view kDays[] = {"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"};
  constexpr std::string_view kMonths[] = {"January", "February", "March",     "April",   "May",      "June",
                                          "July",    "August",   "September", "October", "November", "December"};
  const std::string_view day = kDays[Weekday(time)];
  const std::string_view month = kMonths[std::clamp(time.month, 1, 12) - 1];
  const auto part = [&](char other) { return FormatTimePart(time, other, false); };
  const int day_of_year = DaysBefore(time.year, time.month) + time.day;
  switch (letter) {
    case 'a':
      return std::string(day.substr(0, 3));
    case 'A':
      return std::string(day);
    case 'b':
    case 'h':
      return std::string(month.substr(0, 3));
    case 'B':
      return std::string(month);
    case 'd':
      return TwoDigits(time.day, is_short);
    case 'e':
      return TwoDigits(time.day, is_short, ' ');
    case 'm':
      return TwoDigits(time.month, is_short);
    case 'Y':
      return std::to_string(time.year);
    case 'y':
      return TwoDigits(time.year % 100, is_short);
    case 'H':
      return TwoDigits(time.hour, is_short);
    case 'I':
      return TwoDigits((time.hour + 11) % 12 + 1, is_short);
    case 'M':
      return TwoDigits(time.minute, is_short);
    case 'S':
      return TwoDigits(time.second, is_short);
    case 'f':
      return "000000";
    case 'p':
      return time.hour < 12 ? "AM" : "PM";
    case 'j':
      return std::string(is_short            ? 0
                         : day_of_year < 10  ? 2
                         : day_of_year < 100 ? 1
                                             : 0,
                         '0') +
             std::to_string(day_of_year);
    case 'w':
      return std::to_string(Weekday(time));
    case 'u':
      return std::to_string((Weekday(time) + 6) % 7 + 1);
    case 'F':
      return Concat({part('Y'), "-", part('m'), "-", part('d')});
    case 'T':
    case 'X':
      return Concat({part('H'), ":", part('M'), ":", part('S')});
    case 'R':
      return Concat({part('H'), ":", part('M')});
    case 'D':
    case 'x':
      return Concat({part('m'), "/", part('d'), "/", part('y')});
    case 'c':
      return Concat({part('a'), " ", part('b'), " ", part('e'), " ", part('T'), " ", part('Y')});
    case 'n':
      return "\n";
    case 't':
      return "\t";
    case '%':
      return "%";
    default:
      return "";
  }
}

inline std::string FormatTime(const WallTime& time, std::string_view format) {
  std::string text;
  while (!format.empty()) {
    const size_t plain = std::min(format.find('%'), format.size());
    text += format.substr(0, plain);
    format.remove_prefix(plain);
    const bool is_short = format.starts_with("%-");
    const size_t letter = is_short ? 2 : 1;
    if (letter < format.size()) text += FormatTimePart(time, format[letter], is_short);
    format.remove_prefix(std::min(format.size(), letter + 1));
  }
  return text;
}

}  // namespace skald::internal::jinja

#endif  // SKALD_TEMPLATES_LIBRARY_DETAIL_TIME_FORMATS_H_
