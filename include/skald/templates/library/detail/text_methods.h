// SPDX-License-Identifier: Apache-2.0
//
// The methods of texts: text.split(",") and the like, as Python has them. A table.

#ifndef SKALD_TEMPLATES_LIBRARY_DETAIL_TEXT_METHODS_H_
#define SKALD_TEMPLATES_LIBRARY_DETAIL_TEXT_METHODS_H_

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/templates/library/detail/arguments.h"
#include "skald/templates/library/detail/value_formats.h"
#include "skald/templates/operations/detail/slices.h"
#include "skald/templates/values/detail/texts.h"
#include "skald/templates/values/machine.h"

namespace skald::internal::jinja {

inline Value StripText(Machine& machine, const Value& subject, const Inputs& inputs, Side side) {
  const bool is_given = inputs[0] != nullptr && !inputs[0]->Is(Type::kNone);
  const MarkedText characters = is_given ? TextInput(machine, inputs[0]) : MarkedText();
  return machine.NewText(Strip(machine, subject.text(), side, is_given ? &characters.text() : nullptr),
                         subject.is_markup());
}

template <bool kFromRight>
Value SplitText(Machine& machine, const Value& subject, const Inputs& inputs) {
  const Integer most = IntegerInput(machine, inputs[1], -1);
  std::vector<MarkedText> parts;
  if (inputs[0] == nullptr || inputs[0]->Is(Type::kNone)) {
    if (!machine.StepOver(subject.text().size())) return {};
    parts = (kFromRight ? SplitAtSpacesFromRight : SplitAtSpaces)(machine, subject.text(), most);
  } else {
    const MarkedText separator = TextInput(machine, inputs[0]);
    if (separator.empty()) return machine.Fail("the separator to split at is empty");
    parts = (kFromRight ? SplitFromRight : Split)(machine, subject.text(), separator.text(), most);
  }
  return NewListOfTexts(machine, std::move(parts), subject.is_markup());
}

template <bool kFromRight>
Value PartitionText(Machine& machine, const Value& subject, const Inputs& inputs) {
  const MarkedText separator = TextInput(machine, inputs[0]);
  if (separator.empty()) return machine.Fail("the separator to split at is empty");
  const MarkedText& text = subject.text();
  std::vector<MarkedText> parts = (kFromRight ? SplitFromRight : Split)(machine, text, separator.text(), 1);
  if (parts.size() == 2) {
    parts.insert(parts.begin() + 1, text.Substr(parts[0].size(), separator.size()));
  } else if (parts.size() == 1) {
    parts.insert(kFromRight ? parts.begin() : parts.end(), 2, MarkedText());
  }
  Value list = NewListOfTexts(machine, std::move(parts), subject.is_markup());
  return machine.ok() ? machine.NewTuple(list.sequence().items) : Value();
}

// Whether a text begins or ends so; with any of a tuple.
template <bool kAtEnd>
Value MatchText(Machine& machine, const Value& subject, const Inputs& inputs) {
  const std::string_view whole = subject.view();
  const Integer length = static_cast<Integer>(CountCharacters(whole));
  const Value bounds[3] = {inputs[1] == nullptr ? Value::None() : *inputs[1],
                           inputs[2] == nullptr ? Value::None() : *inputs[2], Value::None()};
  const auto slice = ResolveSlice(machine, bounds, length);
  if (!slice || !machine.StepOver(whole.size())) return {};
  const MarkedText part = SliceText(machine, subject.text(), slice->begin, 1, slice->count);
  const auto matches = [&](const Value& value) {
    const MarkedText wanted = TextInput(machine, &value);
    return kAtEnd ? part.text().ends_with(wanted.text()) : part.text().starts_with(wanted.text());
  };
  if (!inputs[0]->Is(Type::kTuple)) return Value::Bool(matches(*inputs[0]));
  const std::vector<Value>& several = inputs[0]->sequence().items;
  return Value::Bool(std::any_of(several.begin(), several.end(), matches));
}

// The first or last place of a text, counted in characters; -1 or an error if there is none.
template <bool kFromRight, bool kMustBeThere>
Value FindText(Machine& machine, const Value& subject, const Inputs& inputs) {
  const MarkedText wanted = TextInput(machine, inputs[0]);
  const std::string_view whole = subject.view();
  if (!machine.StepOver(whole.size() * (kFromRight ? 1 + wanted.size() : 1))) return {};
  const Integer length = static_cast<Integer>(CountCharacters(whole));
  const Value bounds[3] = {inputs[1] == nullptr ? Value::None() : *inputs[1],
                           inputs[2] == nullptr ? Value::None() : *inputs[2], Value::None()};
  const auto slice = ResolveSlice(machine, bounds, length);
  if (!slice) return {};
  const size_t begin = OffsetOfCharacter(whole, static_cast<size_t>(slice->begin));
  const size_t size = OffsetOfCharacter(whole.substr(begin), static_cast<size_t>(slice->count));
  const std::string_view part = whole.substr(begin, size);
  const size_t found = kFromRight ? part.rfind(wanted.text()) : Finder(wanted.text()).In(part);
  if (found != part.npos)
    return Value::Int(slice->begin + static_cast<Integer>(CountCharacters(part.substr(0, found))));
  return kMustBeThere ? machine.Fail("the text does not contain the other one") : Value::Int(-1);
}

inline Value CountText(Machine& machine, const Value& subject, const Inputs& inputs) {
  const MarkedText wanted = TextInput(machine, inputs[0]);
  if (wanted.empty()) return Value::Int(static_cast<Integer>(CountCharacters(subject.view())) + 1);
  const Finder finder(wanted.text());
  Integer count = 0;
  if (!machine.StepOver(subject.text().size() + wanted.size())) return {};
  for (size_t at = finder.In(subject.view()); at != std::string::npos;
       at = finder.In(subject.view(), at + wanted.size())) {
    ++count;
  }
  return Value::Int(count);
}

inline Value ReplaceText(Machine& machine, const Value& subject, const Inputs& inputs) {
  return machine.NewText(Replace(machine, subject.text(), TextInput(machine, inputs[0]), TextInput(machine, inputs[1]),
                                 IntegerInput(machine, inputs[2], -1)),
                         subject.is_markup());
}

// Texts with a separator between them.
inline Value JoinTexts(Machine& machine, const MarkedText& separator, const std::vector<Value>& items,
                       bool is_markup = false) {
  GrowingText joined(machine);
  for (size_t i = 0; i < items.size() && machine.ok(); ++i) {
    const MarkedText& text = items[i].text();
    if (!machine.StepOver(text.size() + separator.size())) break;
    if (i > 0) joined.Append(separator);
    joined.Append(text);
  }
  return machine.NewText(std::move(joined).Take(), is_markup);
}

inline Value JoinMethod(Machine& machine, const Value& subject, const Inputs& inputs) {
  const std::vector<Value> items = Elements(machine, *inputs[0]);
  for (const Value& item : items) {
    if (!item.Is(Type::kText)) return machine.Fail(Concat({"join takes texts, not a value of type ", TypeName(item)}));
  }
  return JoinTexts(machine, subject.text(), items, subject.is_markup());
}

template <Case kCase>
Value CaseOfText(Machine& machine, const Value& subject, const Inputs&) {
  return machine.NewText(ToCase(machine, subject.text(), kCase), subject.is_markup());
}

inline Value CapitalizeText(Machine& machine, const Value& subject, const Inputs&) {
  return machine.NewText(Capitalize(machine, subject.text()), subject.is_markup());
}

inline Value TitleText(Machine& machine, const Value& subject, const Inputs&) {
  return machine.NewText(ToTitle(machine, subject.text(), [](int32_t code) { return !IsCased(code); }),
                         subject.is_markup());
}

inline Value SwapCase(Machine& machine, const Value& subject, const Inputs&) {
  return machine.NewText(ChangeCharacters(machine, subject.text(),
                                          [](int32_t code, size_t, std::string& becomes) {
                                            AppendInCase(code, IsUpper(code) ? Case::kLower : Case::kUpper, becomes);
                                          }),
                         subject.is_markup());
}

// Whether all characters are of a class, and there are any.
template <bool (*kIs)(int32_t)>
Value AllCharacters(Machine& machine, const Value& subject, const Inputs&) {
  std::string_view rest = subject.view();
  if (!machine.StepOver(8 * rest.size())) return {};
  bool all = !rest.empty();
  while (all && !rest.empty()) {
    const size_t size = CharacterSize(rest);
    all = kIs(CodePoint(rest.substr(0, size)));
    rest.remove_prefix(size);
  }
  return Value::Bool(all);
}

inline bool IsLetterOrDigit(int32_t code) { return IsLetter(code) || IsNumeric(code); }
inline bool IsAscii(int32_t code) { return code >= 0 && code < 0x80; }

// Whether all letters that have a case have this one, and there are any.
template <bool (*kIs)(int32_t)>
Value AllCased(Machine& machine, const Value& subject, const Inputs&) {
  std::string_view rest = subject.view();
  if (!machine.StepOver(8 * rest.size())) return {};
  bool any = false, all = true;
  for (; all && !rest.empty(); rest.remove_prefix(CharacterSize(rest))) {
    const int32_t code = CodePoint(rest.substr(0, CharacterSize(rest)));
    any |= IsCased(code);
    all = !IsCased(code) || kIs(code);
  }
  return Value::Bool(any && all);
}

inline Value PadText(Machine& machine, const Value& subject, const Inputs& inputs, char align) {
  ValueFormat format;
  format.width = IntegerInput(machine, inputs[0], 0);
  if (inputs[1] != nullptr) format.fill = TextInput(machine, inputs[1]).text();
  if (CountCharacters(format.fill) != 1) return machine.Fail("a text is filled up with one character");
  if (align != '^') return machine.NewText(Padded(machine, subject.text(), format, align), subject.is_markup());
  // An odd space goes to the left of a text of an even width, as Python has it.
  const Integer length = static_cast<Integer>(CountCharacters(subject.view()));
  const Integer missing = std::max<Integer>(format.width - length, 0);
  const Integer left = missing / 2 + (missing & format.width & 1);
  const MarkedText fill(format.fill, Author::kTemplate);
  GrowingText padded(machine);
  padded.Append(Repeat(machine, fill, left));
  padded.Append(subject.text());
  padded.Append(Repeat(machine, fill, missing - left));
  return machine.NewText(std::move(padded).Take(), subject.is_markup());
}

inline Value FillWithZeros(Machine& machine, const Value& subject, const Inputs& inputs) {
  ValueFormat format;
  format.fill = "0";
  format.width = IntegerInput(machine, inputs[0], 0);
  return machine.NewText(Padded(machine, subject.text(), format, '='), subject.is_markup());
}

inline Value LinesOfText(Machine& machine, const Value& subject, const Inputs& inputs) {
  if (!machine.StepOver(subject.text().size())) return {};
  const bool keep_ends = inputs[0] != nullptr && IsTrue(*inputs[0]);
  return NewListOfTexts(machine, SplitLines(machine, subject.text(), keep_ends), subject.is_markup());
}

inline Value RemovePrefix(Machine& machine, const Value& subject, const Inputs& inputs) {
  const MarkedText prefix = TextInput(machine, inputs[0]);
  const bool is_there = subject.view().starts_with(prefix.text());
  return is_there ? machine.NewText(subject.text().Substr(prefix.size()), subject.is_markup()) : subject;
}
inline Value RemoveSuffix(Machine& machine, const Value& subject, const Inputs& inputs) {
  const MarkedText suffix = TextInput(machine, inputs[0]);
  const bool is_there = subject.view().ends_with(suffix.text());
  const size_t left = subject.text().size() - (is_there ? suffix.size() : 0);
  return is_there ? machine.NewText(subject.text().Substr(0, left), subject.is_markup()) : subject;
}

inline Value FormatMethod(Machine& machine, const Value& subject, const Inputs& inputs) {
  return machine.NewText(BraceFormatter(machine, inputs).Run(subject.text()), subject.is_markup());
}

inline Value EncodeText(Machine& machine, const Value& subject, const Inputs&) {
  return machine.NewText(subject.text(), false, Type::kBytes);
}

inline constexpr Builtin kTextMethods[] = {
    {"strip", "[chars]", [](Machine& m, const Value& s, const Inputs& i) { return StripText(m, s, i, Side::kBoth); }},
    {"lstrip", "[chars]", [](Machine& m, const Value& s, const Inputs& i) { return StripText(m, s, i, Side::kLeft); }},
    {"rstrip", "[chars]", [](Machine& m, const Value& s, const Inputs& i) { return StripText(m, s, i, Side::kRight); }},
    {"split", "[sep] [maxsplit]", SplitText<false>},
    {"rsplit", "[sep] [maxsplit]", SplitText<true>},
    {"splitlines", "[keepends]", LinesOfText},
    {"partition", "sep", PartitionText<false>},
    {"rpartition", "sep", PartitionText<true>},
    {"startswith", "prefix [start] [end]", MatchText<false>},
    {"endswith", "suffix [start] [end]", MatchText<true>},
    {"find", "sub [start] [end]", FindText<false, false>},
    {"rfind", "sub [start] [end]", FindText<true, false>},
    {"index", "sub [start] [end]", FindText<false, true>},
    {"rindex", "sub [start] [end]", FindText<true, true>},
    {"count", "sub", CountText},
    {"replace", "old new [count]", ReplaceText},
    {"join", "iterable", JoinMethod},
    {"upper", "", CaseOfText<Case::kUpper>},
    {"lower", "", CaseOfText<Case::kLower>},
    {"casefold", "", CaseOfText<Case::kLower>},
    {"capitalize", "", CapitalizeText},
    {"title", "", TitleText},
    {"swapcase", "", SwapCase},
    {"isdigit", "", AllCharacters<IsDecimal>},
    {"isdecimal", "", AllCharacters<IsDecimal>},
    {"isnumeric", "", AllCharacters<IsNumeric>},
    {"isalpha", "", AllCharacters<IsLetter>},
    {"isalnum", "", AllCharacters<IsLetterOrDigit>},
    {"isspace", "", AllCharacters<IsSpace>},
    {"isascii", "", AllCharacters<IsAscii>},
    {"isupper", "", AllCased<IsUpper>},
    {"islower", "", AllCased<IsLower>},
    {"ljust", "width [fillchar]", [](Machine& m, const Value& s, const Inputs& i) { return PadText(m, s, i, '<'); }},
    {"rjust", "width [fillchar]", [](Machine& m, const Value& s, const Inputs& i) { return PadText(m, s, i, '>'); }},
    {"center", "width [fillchar]", [](Machine& m, const Value& s, const Inputs& i) { return PadText(m, s, i, '^'); }},
    {"zfill", "width", FillWithZeros},
    {"removeprefix", "prefix", RemovePrefix},
    {"removesuffix", "suffix", RemoveSuffix},
    {"format", "* **", FormatMethod},
    {"encode", "[encoding] [errors]", EncodeText},
};

}  // namespace skald::internal::jinja

#endif  // SKALD_TEMPLATES_LIBRARY_DETAIL_TEXT_METHODS_H_
