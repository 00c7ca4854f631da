// SPDX-License-Identifier: Apache-2.0
//
// Checks of the values of options.

#ifndef SKALD_EXAMPLES_SKALD_COMMAND_LINE_SHARED_OPTION_CHECKS_H_
#define SKALD_EXAMPLES_SKALD_COMMAND_LINE_SHARED_OPTION_CHECKS_H_

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace skald::program {

// Reads all of `text` as a number.
template <class T>
std::optional<T> ParseNumber(std::string_view text) {
  T value = {};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Takes NAME=VALUE apart, as `form` calls it. Thrown: if there is no '=' after a name.
inline std::pair<std::string, std::string> ParsePair(const char* option, const char* form, const std::string& text) {
  const size_t equals = text.find('=');
  if (equals != 0 && equals != text.npos) return {text.substr(0, equals), text.substr(equals + 1)};
  throw CLI::ValidationError(option, std::string("expected ") + form + ", got " + text);
}

// Accepts whole numbers from `least` to `most`.
inline CLI::Validator Within(uint64_t least, uint64_t most) {
  const auto check = [least, most](const std::string& text) {
    const auto value = ParseNumber<uint64_t>(text);
    if (value && *value >= least && *value <= most) return std::string();
    return "expected " + std::to_string(least) + " to " + std::to_string(most) + ", got " + text;
  };
  return CLI::Validator(check, "");
}

// For options whose values CLI11 reads itself: of an empty text it makes a zero.
inline CLI::Validator Given() {
  return CLI::Validator([](const std::string& text) { return std::string(text.empty() ? "expected a value" : ""); },
                        "");
}

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_COMMAND_LINE_SHARED_OPTION_CHECKS_H_
