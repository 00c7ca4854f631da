// SPDX-License-Identifier: Apache-2.0
//
// Which names of pieces are those of markers: of turns, thoughts, calls, gaps to fill. Pure functions.

#ifndef SKALD_TOKENIZERS_DETAIL_MARKER_NAMES_H_
#define SKALD_TOKENIZERS_DETAIL_MARKER_NAMES_H_

#include <algorithm>
#include <iterator>
#include <string_view>

namespace skald {

// The tags of HTML that Gemma has for formatted text. They are text, though they look like markers.
constexpr bool IsFormattingTag(std::string_view name) {
  constexpr std::string_view kTags[] = {"table", "caption", "thead", "tbody", "tfoot", "tr",  "th",   "td",
                                        "h1",    "h2",      "h3",    "h4",    "h5",    "h6",  "code", "blockquote",
                                        "b",     "i",       "u",     "s",     "sub",   "sup", "em",   "strong"};
  if (name.size() < 2 || name.front() != '<' || name.back() != '>') return false;
  std::string_view tag = name.substr(1, name.size() - 2);
  if (tag.starts_with('/')) tag.remove_prefix(1);
  return std::find(std::begin(kTags), std::end(kTags), tag) != std::end(kTags);
}

// Returns whether a user-defined piece of this name is a marker. All bracketed names count as one, known or not, except
// those tags.
constexpr bool IsMarkerName(std::string_view name) {
  if (name.size() < 2) return false;
  const bool is_square = name.front() == '[' && name.back() == ']';
  const bool is_angled = name.front() == '<' && name.back() == '>';
  return is_square || (is_angled && !IsFormattingTag(name));
}

}  // namespace skald

#endif  // SKALD_TOKENIZERS_DETAIL_MARKER_NAMES_H_
