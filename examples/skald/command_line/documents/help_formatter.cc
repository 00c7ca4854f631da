// SPDX-License-Identifier: Apache-2.0

#include "command_line/documents/help_formatter.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

namespace skald::program {
namespace {

// Where a text has a list of values, as CLI11 writes it, that is long.
struct LongList {
  size_t begin = 0, end = 0;  // with the colon before it, and its brackets
};
std::optional<LongList> FindLongList(std::string_view text) {
  constexpr size_t kMostBytes = 100;
  const size_t begin = text.find(":{"), end = text.find('}', std::min(begin, text.size()));
  if (end == text.npos || end - begin < kMostBytes) return std::nullopt;
  return LongList{begin, end + 1};
}

// Values in lines of a help text, after a line break.
std::string InLines(const std::vector<std::string>& values) {
  constexpr size_t kWidth = 56;
  std::string lines = "\n";
  size_t used = 0;
  for (const std::string& value : values) {
    if (used > 0 && used + 2 + value.size() > kWidth) {
      lines += ",\n";
      used = 0;
    }
    if (used > 0) lines += ", ";
    used += (used > 0 ? 2 : 0) + value.size();
    lines += value;
  }
  return lines;
}

}  // namespace

std::string HelpFormatter::make_option_opts(const CLI::Option* option) const {
  std::string text = CLI::Formatter::make_option_opts(option);
  if (const auto list = FindLongList(text)) text.erase(list->begin, list->end - list->begin);
  return text;
}

std::string HelpFormatter::make_option_desc(const CLI::Option* option) const {
  const std::string text = CLI::Formatter::make_option_desc(option), kind = option->get_type_name();
  const auto list = FindLongList(kind);
  if (!list) return text;
  const std::string values = kind.substr(list->begin + 2, list->end - list->begin - 3);
  return text + ":" + InLines(CLI::detail::split(values, ','));
}

}  // namespace skald::program
