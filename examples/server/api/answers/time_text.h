// SPDX-License-Identifier: Apache-2.0
//
// Times as APIs tell them.

#ifndef SKALD_EXAMPLES_SERVER_API_ANSWERS_TIME_TEXT_H_
#define SKALD_EXAMPLES_SERVER_API_ANSWERS_TIME_TEXT_H_

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>

namespace skald::serve {

// As RFC 3339 writes it, in UTC.
inline std::string TimeText(std::chrono::system_clock::time_point time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(std::chrono::floor<std::chrono::microseconds>(time - day));
  char text[48];
  std::snprintf(text, sizeof(text), "%04d-%02u-%02uT%02d:%02d:%02d.%06dZ", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
                static_cast<int>(clock.seconds().count()), static_cast<int>(clock.subseconds().count()));
  return text;
}
inline std::string TimeText(int64_t unix_seconds) {
  return TimeText(std::chrono::system_clock::time_point(std::chrono::seconds(unix_seconds)));
}

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_API_ANSWERS_TIME_TEXT_H_
