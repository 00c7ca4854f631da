// SPDX-License-Identifier: Apache-2.0
//
// The methods of Python's strings, for texts that keep their authors: a part of a text keeps the authors of its bytes,
// and text that an operation adds is the template's. Every function counts its work; when a limit is reached, it
// returns something harmless.

#ifndef SKALD_TEMPLATES_VALUES_DETAIL_TEXTS_H_
#define SKALD_TEMPLATES_VALUES_DETAIL_TEXTS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/base/text/marked_text.h"
#include "skald/templates/values/detail/characters.h"
#include "skald/templates/values/detail/growing_text.h"
#include "skald/templates/values/machine.h"

namespace skald::internal::jinja {

// Finds texts in other texts in time that grows with the sum of their lengths: with the method of Knuth, Morris and
// Pratt where the library's own could take the product.
class Finder {
 public:
  explicit Finder(std::string_view wanted) : wanted_(wanted) {
    if (wanted.size() <= kShort) return;
    border_.resize(wanted.size());
    for (size_t i = 1, length = 0; i < wanted.size(); ++i) {
      while (length > 0 && wanted[i] != wanted[length]) length = border_[length - 1];
      length += wanted[i] == wanted[length];
      border_[i] = length;
    }
  }

  // The first place from `begin` on, or npos.
  size_t In(std::string_view text, size_t begin = 0) const {
    if (border_.empty()) return text.find(wanted_, begin);
    for (size_t i = begin, length = 0; i < text.size(); ++i) {
      while (length > 0 && text[i] != wanted_[length]) length = border_[length - 1];
      length += text[i] == wanted_[length];
      if (length == wanted_.size()) return i + 1 - length;
    }
    return text.npos;
  }

 private:
  static constexpr size_t kShort = 32;

  std::string_view wanted_;
  std::vector<size_t> border_;  // of each beginning, the longest end that is a beginning too
};

inline bool Contains(Machine& machine, std::string_view text, std::string_view part) {
  return machine.StepOver(text.size() + part.size()) && Finder(part).In(text) != text.npos;
}

inline MarkedText Repeat(Machine& machine, const MarkedText& text, Integer times) {
  GrowingText repeated(machine);
  if (times <= 0 || text.empty()) return {};
  const auto most = static_cast<Integer>(machine.limits().memory_bytes / (2 * text.size())) + 1;
  if (!repeated.Reserve(text.size() * static_cast<size_t>(std::min(times, most)))) return {};
  for (Integer i = 0; i < times && machine.Step(); ++i) repeated.Append(text);
  return std::move(repeated).Take();
}

inline MarkedText Spaces(Machine& machine, Integer count, char c = ' ') {
  return Repeat(machine, MarkedText(std::string_view(&c, 1), Author::kTemplate), count);
}

enum class Side { kLeft, kRight, kBoth };

// The part of `text` that is left without white space, or without any of `characters` unless that is null.
inline MarkedText Strip(Machine& machine, const MarkedText& text, Side side, const std::string* characters) {
  if (!machine.StepOver(text.size() * (characters == nullptr ? 1 : characters->size()))) return {};
  std::string_view rest = text.text();
  const auto goes = [&](std::string_view character) {
    return characters == nullptr ? IsSpace(CodePoint(character)) : characters->find(character) != std::string::npos;
  };
  size_t begin = 0;
  while (side != Side::kRight && !rest.empty()) {
    const size_t size = CharacterSize(rest);
    if (!goes(rest.substr(0, size))) break;
    begin += size;
    rest.remove_prefix(size);
  }
  while (side != Side::kLeft && !rest.empty()) {
    const size_t size = LastCharacterSize(rest);
    if (!goes(rest.substr(rest.size() - size))) break;
    rest.remove_suffix(size);
  }
  return text.Substr(begin, rest.size());
}

// With up to `most` of what `old` finds replaced; any number for a negative one.
inline MarkedText Replace(Machine& machine, const MarkedText& text, const MarkedText& old, const MarkedText& by,
                          Integer most) {
  GrowingText replaced(machine);
  const std::string_view whole = text.text();
  const Finder finder(old.text());
  size_t begin = 0;
  if (!machine.StepOver(whole.size() + old.size())) return {};
  for (size_t from = 0; most != 0 && machine.StepOver(by.size()); --most) {
    const size_t found = finder.In(whole, from);
    if (found == whole.npos || !replaced.Append(text, begin, found - begin) || !replaced.Append(by)) break;
    begin = found + old.size();
    from = begin;
    if (!old.empty()) continue;
    if (begin == whole.size()) break;  // an empty text is found before every character and at the end
    from = begin + CharacterSize(whole.substr(begin));
  }
  replaced.Append(text, begin, whole.size());
  return std::move(replaced).Take();
}

// Counts one more of the parts that a text is cut into, which together are as long as the text.
inline bool HasRoomForPart(Machine& machine, const std::vector<MarkedText>& parts) {
  constexpr size_t kOfEach = 3 * sizeof(MarkedText);  // in the list, while that grows, and as a value
  return machine.Step() && machine.HasRoom((parts.size() + 1) * kOfEach);
}

// The parts between white space; after the `most`th cut the rest stays whole.
inline std::vector<MarkedText> SplitAtSpaces(Machine& machine, const MarkedText& text, Integer most) {
  std::vector<MarkedText> parts;
  const std::string_view whole = text.text();
  size_t at = LeadingSpaces(whole);
  while (at < whole.size() && HasRoomForPart(machine, parts)) {
    size_t end = at;
    if (most-- == 0) {
      end = whole.size() - TrailingSpaces(whole.substr(at));
      parts.push_back(text.Substr(at, end - at));
      break;
    }
    while (end < whole.size() && LeadingSpaces(whole.substr(end, 4)) == 0) end += CharacterSize(whole.substr(end));
    parts.push_back(text.Substr(at, end - at));
    at = end + LeadingSpaces(whole.substr(end));
  }
  return parts;
}

inline std::vector<MarkedText> SplitAtSpacesFromRight(Machine& machine, const MarkedText& text, Integer most) {
  std::vector<MarkedText> parts;
  const std::string_view whole = text.text();
  size_t end = whole.size() - TrailingSpaces(whole);
  while (end > 0 && HasRoomForPart(machine, parts)) {
    size_t begin = end;
    if (most-- == 0) {
      begin = LeadingSpaces(whole);
      parts.push_back(text.Substr(begin, end - begin));
      break;
    }
    while (begin > 0) {
      const size_t size = LastCharacterSize(whole.substr(0, begin));
      if (IsSpace(CodePoint(whole.substr(begin - size, size)))) break;
      begin -= size;
    }
    parts.push_back(text.Substr(begin, end - begin));
    end = begin - TrailingSpaces(whole.substr(0, begin));
  }
  std::reverse(parts.begin(), parts.end());
  return parts;
}

// The parts between separators, which must not be empty.
inline std::vector<MarkedText> Split(Machine& machine, const MarkedText& text, std::string_view separator,
                                     Integer most) {
  std::vector<MarkedText> parts;
  const Finder finder(separator);
  size_t begin = 0;
  if (!machine.StepOver(text.size() + separator.size())) return parts;
  for (; most != 0 && HasRoomForPart(machine, parts); --most) {
    const size_t found = finder.In(text.text(), begin);
    if (found == std::string::npos) break;
    parts.push_back(text.Substr(begin, found - begin));
    begin = found + separator.size();
  }
  parts.push_back(text.Substr(begin));
  return parts;
}

inline std::vector<MarkedText> SplitFromRight(Machine& machine, const MarkedText& text, std::string_view separator,
                                              Integer most) {
  std::vector<MarkedText> parts;
  std::string_view rest = text.text();
  for (; most != 0 && machine.StepOver(rest.size() * separator.size()) && HasRoomForPart(machine, parts); --most) {
    const size_t found = rest.rfind(separator);
    if (found == rest.npos) break;
    parts.push_back(text.Substr(found + separator.size(), rest.size() - found - separator.size()));
    rest = rest.substr(0, found);
  }
  parts.push_back(text.Substr(0, rest.size()));
  std::reverse(parts.begin(), parts.end());
  return parts;
}

// Lines as str.splitlines() sees them, with their ends if `keep_ends`.
inline std::vector<MarkedText> SplitLines(Machine& machine, const MarkedText& text, bool keep_ends) {
  std::vector<MarkedText> lines;
  const std::string_view whole = text.text();
  for (size_t begin = 0; begin < whole.size() && HasRoomForPart(machine, lines);) {
    size_t end = begin, after = begin;
    while (end < whole.size()) {
      const size_t size = CharacterSize(whole.substr(end));
      const int32_t code = CodePoint(whole.substr(end, size));
      after = end + size;
      if ((code >= 10 && code <= 13) || (code >= 0x1C && code <= 0x1E) || code == 0x85 || code == 0x2028 ||
          code == 0x2029) {
        if (code == 13 && whole.substr(after).starts_with('\n')) ++after;
        break;
      }
      end = after;
    }
    lines.push_back(text.Substr(begin, (keep_ends ? after : end) - begin));
    begin = after;
  }
  return lines;
}

// The characters `begin`, `begin + step`, ... of a text that has `count` of them.
inline MarkedText SliceText(Machine& machine, const MarkedText& text, Integer begin, Integer step, Integer count) {
  if (!machine.StepOver(text.size())) return {};
  if (step == 1) {
    const size_t from = OffsetOfCharacter(text.text(), static_cast<size_t>(begin));
    const std::string_view rest = std::string_view(text.text()).substr(from);
    return text.Substr(from, OffsetOfCharacter(rest, static_cast<size_t>(count)));
  }
  std::vector<uint32_t> offsets;
  const std::string_view whole = text.text();
  if (!machine.HasRoom(4 * whole.size())) return {};
  for (size_t at = 0; at < whole.size(); at += CharacterSize(whole.substr(at))) {
    offsets.push_back(static_cast<uint32_t>(at));
  }
  GrowingText slice(machine);
  for (; count > 0 && machine.Step(); --count, begin += step) {
    const size_t at = offsets[static_cast<size_t>(begin)];
    slice.Append(text, at, CharacterSize(whole.substr(at)));
  }
  return std::move(slice).Take();
}

// Calls change(code point, text) for each character, which appends what it becomes.
template <class Change>
MarkedText ChangeCharacters(Machine& machine, const MarkedText& text, Change change) {
  GrowingText changed(machine);
  const std::string_view whole = text.text();
  if (!machine.Step(1 + whole.size() / 8) || !changed.Reserve(whole.size())) return {};
  for (size_t at = 0; at < whole.size() && machine.ok();) {
    const size_t size = CharacterSize(whole.substr(at));
    const int32_t code = CodePoint(whole.substr(at, size));
    std::string becomes;
    if (code < 0) {
      becomes = whole.substr(at, size);
    } else {
      change(code, at, becomes);
    }
    changed.Append(becomes, text.AuthorAt(at));
    at += size;
  }
  return std::move(changed).Take();
}

// Whether a sigma at `at` ends a word, where its small form is another one.
inline bool IsFinalSigma(std::string_view text, size_t at) {
  const auto is_passed_by = [](int32_t code) {
    return code == '\'' || code == '.' || code == ':' || code == 0xAD || code == 0x2019 ||
           (code >= 0 && utf8proc_category(code) == UTF8PROC_CATEGORY_MN);
  };
  int32_t before = -1, after = -1;
  for (size_t end = at; end > 0;) {
    const size_t size = LastCharacterSize(text.substr(0, end));
    before = CodePoint(text.substr(end - size, size));
    if (!is_passed_by(before)) break;
    end -= size;
  }
  for (size_t next = at + 2; next < text.size();) {
    const size_t size = CharacterSize(text.substr(next));
    after = CodePoint(text.substr(next, size));
    if (!is_passed_by(after)) break;
    next += size;
  }
  return IsCased(before) && !IsCased(after);
}

inline MarkedText ToCase(Machine& machine, const MarkedText& text, Case to) {
  return ChangeCharacters(machine, text, [&](int32_t code, size_t at, std::string& becomes) {
    if (to == Case::kLower && code == 0x3A3 && IsFinalSigma(text.text(), at)) {
      becomes = "\xCF\x82";
    } else {
      AppendInCase(code, to, becomes);
    }
  });
}

// The first character as a capital, all others small.
inline MarkedText Capitalize(Machine& machine, const MarkedText& text) {
  return ChangeCharacters(machine, text, [&](int32_t code, size_t at, std::string& becomes) {
    AppendInCase(code, at == 0 ? Case::kTitle : Case::kLower, becomes);
  });
}

// Capitals where `begins` says of the character before that a word begins, if its first letter is there.
template <class Begins>
MarkedText ToTitle(Machine& machine, const MarkedText& text, Begins begins) {
  bool at_beginning = true;
  return ChangeCharacters(machine, text, [&](int32_t code, size_t, std::string& becomes) {
    AppendInCase(code, at_beginning ? Case::kTitle : Case::kLower, becomes);
    at_beginning = begins(code);
  });
}

// With what would be a tag or entity in HTML written out.
inline MarkedText EscapeHtml(Machine& machine, const MarkedText& text) {
  GrowingText escaped(machine);
  const std::string_view whole = text.text();
  if (!machine.StepOver(whole.size()) || !escaped.Reserve(whole.size())) return {};
  constexpr std::string_view kCharacters = "&<>'\"";
  constexpr std::string_view kEntities[] = {"&amp;", "&lt;", "&gt;", "&#39;", "&#34;"};
  size_t begin = 0;
  for (size_t at = 0; (at = whole.find_first_of(kCharacters, at)) != whole.npos; ++at) {
    escaped.Append(text, begin, at - begin);
    escaped.Append(kEntities[kCharacters.find(whole[at])], text.AuthorAt(at));
    begin = at + 1;
  }
  escaped.Append(text, begin, whole.size());
  return std::move(escaped).Take();
}

}  // namespace skald::internal::jinja

#endif  // SKALD_TEMPLATES_VALUES_DETAIL_TEXTS_H_
