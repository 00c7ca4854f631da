// SPDX-License-Identifier: Apache-2.0
//
// Filters of texts and numbers, and those that make a text of any value. A table; names and defaults are Jinja's, but
// for `tojson`, which is that of the transformers library, and `from_json`.

#ifndef SKALD_TEMPLATES_LIBRARY_DETAIL_TEXT_FILTERS_H_
#define SKALD_TEMPLATES_LIBRARY_DETAIL_TEXT_FILTERS_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "skald/base/json/json_tree.h"
#include "skald/base/mathematics/portable_pow.h"
#include "skald/templates/library/detail/methods.h"
#include "skald/templates/operations/detail/arithmetic.h"
#include "skald/templates/operations/detail/json_printing.h"
#include "skald/templates/operations/detail/json_reading.h"
#include "skald/templates/operations/detail/printing.h"

namespace skald::internal::jinja {

inline bool FlagInput(const Value* input, bool fallback = false) {
  return input == nullptr ? fallback : IsTrue(*input);
}

inline Value TrimFilter(Machine& machine, const Value& subject, const Inputs& inputs) {
  return StripText(machine, ToText(machine, subject), inputs, Side::kBoth);
}

template <Case kCase>
Value CaseFilter(Machine& machine, const Value& subject, const Inputs& inputs) {
  return CaseOfText<kCase>(machine, ToText(machine, subject), inputs);
}

inline Value CapitalizeFilter(Machine& machine, const Value& subject, const Inputs& inputs) {
  return CapitalizeText(machine, ToText(machine, subject), inputs);
}

// Unlike the method, begins a word only behind a space, a bracket or a dash.
inline Value TitleFilter(Machine& machine, const Value& subject, const Inputs&) {
  const auto begins = [](int32_t code) {
    return IsSpace(code) || (code > 0 && code < 0x80 &&
                             std::string_view("-({[<").find(static_cast<char>(code)) != std::string_view::npos);
  };
  const Value text = ToText(machine, subject);
  return machine.NewText(ToTitle(machine, text.text(), begins), text.is_markup());
}

inline Value ReplaceFilter(Machine& machine, const Value& subject, const Inputs& inputs) {
  const Value text = ToText(machine, subject), old = ToText(machine, *inputs[0]), by = ToText(machine, *inputs[1]);
  if (!machine.ok()) return {};
  return machine.NewText(Replace(machine, text.text(), old.text(), by.text(), IntegerInput(machine, inputs[2], -1)));
}

inline Value StringFilter(Machine& machine, const Value& subject, const Inputs&) { return ToText(machine, subject); }

inline Value SafeFilter(Machine& machine, const Value& subject, const Inputs&) {
  return ToText(machine, subject).WithMarkup(machine.ok());
}

inline Value EscapeFilter(Machine& machine, const Value& subject, const Inputs&) {
  if (subject.is_markup()) return subject;
  return machine.NewText(EscapeHtml(machine, Printed(machine, subject)), true);
}

inline Value ForceEscapeFilter(Machine& machine, const Value& subject, const Inputs&) {
  return machine.NewText(EscapeHtml(machine, Printed(machine, subject)), true);
}

inline Value CenterFilter(Machine& machine, const Value& subject, const Inputs& inputs) {
  const Value width = Value::Int(IntegerInput(machine, inputs[0], 80));
  const Inputs padding{{&width, nullptr}, {}, nullptr};
  return PadText(machine, ToText(machine, subject), padding, '^');
}

inline Value IndentFilter(Machine& machine, const Value& text, const Inputs& inputs) {
  if (!text.Is(Type::kText)) return machine.Fail("indent needs a text");
  const bool is_text = inputs[0] != nullptr && inputs[0]->Is(Type::kText);
  const MarkedText indent = is_text ? inputs[0]->text() : Spaces(machine, IntegerInput(machine, inputs[0], 4));
  const bool first = FlagInput(inputs[1]), blank = FlagInput(inputs[2]);
  MarkedText whole = text.text();
  whole.Append("\n", Author::kTemplate);  // splitting into lines would lose an empty last one
  GrowingText indented(machine);
  if (first) indented.Append(indent);
  if (!machine.StepOver(whole.size())) return {};
  const std::vector<MarkedText> lines = SplitLines(machine, whole, false);
  for (size_t i = 0; i < lines.size() && machine.StepOver(lines[i].size() + indent.size()); ++i) {
    if (i > 0) {
      indented.Append("\n", Author::kTemplate);
      if (blank || !lines[i].empty()) indented.Append(indent);
    }
    indented.Append(lines[i]);
  }
  return machine.NewText(std::move(indented).Take(), text.is_markup());
}

inline Value TruncateFilter(Machine& machine, const Value& text, const Inputs& inputs) {
  const Integer length = IntegerInput(machine, inputs[0], 255), leeway = IntegerInput(machine, inputs[3], 5);
  const bool cuts_words = FlagInput(inputs[1]);
  const MarkedText end = PrintedInput(machine, inputs[2], "...");
  const auto size_of_end = static_cast<Integer>(CountCharacters(end.text()));
  if (length < size_of_end || leeway < 0) return machine.Fail("truncate needs room for what it puts at the end");
  const Integer whole = Length(machine, text);
  if (whole >= 0 && (whole <= length + leeway || !machine.ok())) return text;  // whatever it is
  if (!text.Is(Type::kText)) return machine.Fail("truncate needs a text");
  MarkedText begin = text.text().Substr(0, OffsetOfCharacter(text.view(), static_cast<size_t>(length - size_of_end)));
  if (!cuts_words) begin = begin.Substr(0, begin.text().rfind(' '));
  begin.Append(end);
  return machine.NewText(std::move(begin), text.is_markup());
}

inline Value WordCountFilter(Machine& machine, const Value& subject, const Inputs&) {
  const MarkedText text = Printed(machine, subject);
  Integer words = 0;
  bool inside = false;
  for (std::string_view rest = text.text(); !rest.empty(); rest.remove_prefix(CharacterSize(rest))) {
    const int32_t code = CodePoint(rest.substr(0, CharacterSize(rest)));
    const bool is_word = code == '_' || IsLetterOrDigit(code);
    words += is_word && !inside;
    inside = is_word;
  }
  return Value::Int(words);
}

inline Value FormatFilter(Machine& machine, const Value& subject, const Inputs& inputs) {
  if (inputs.named->empty())
    return machine.NewText(FormatPercent(machine, Printed(machine, subject), inputs.rest, nullptr));
  Value dict = machine.NewDict();
  for (const auto& [name, value] : *inputs.named) machine.Append(dict.dict(), machine.NewText(name), value);
  return machine.NewText(FormatPercent(machine, Printed(machine, subject), {}, &dict));
}

inline void AppendQuoted(const MarkedText& text, std::string_view kept, bool plus_for_space, GrowingText& quoted) {
  for (size_t i = 0; i < text.size() && quoted.Reserve(3); ++i) {
    const char c = text.text()[i];
    const bool is_plain =
        (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || kept.find(c) != kept.npos;
    const auto byte = static_cast<unsigned char>(c);
    const char hex[] = {'%', "0123456789ABCDEF"[byte >> 4], "0123456789ABCDEF"[byte & 15], 0};
    if (c == ' ' && plus_for_space) {
      quoted.Append("+", text.AuthorAt(i));
    } else {
      quoted.Append(is_plain ? std::string_view(&c, 1) : std::string_view(hex), text.AuthorAt(i));
    }
  }
}

inline Value UrlEncodeFilter(Machine& machine, const Value& subject, const Inputs&) {
  GrowingText quoted(machine);
  if (subject.Is(Type::kText) || !IsIterable(subject)) {
    const MarkedText text = Printed(machine, subject);
    if (machine.Step(text.size())) AppendQuoted(text, "_.-~/", false, quoted);
    return machine.NewText(std::move(quoted).Take());
  }
  const std::vector<Value> pairs =
      subject.Is(Type::kDict) ? EntriesOf(machine, subject.dict()) : Elements(machine, subject);
  for (const Value& pair : pairs) {
    const std::vector<Value> parts = Elements(machine, pair);
    if (parts.size() != 2) return machine.Fail("urlencode takes a text, a dictionary or pairs");
    const MarkedText key = Printed(machine, parts[0]), value = Printed(machine, parts[1]);
    if (!machine.Step(key.size() + value.size())) return {};
    if (!quoted.empty()) quoted.Append("&", Author::kTemplate);
    AppendQuoted(key, "_.-~", true, quoted);
    quoted.Append("=", Author::kTemplate);
    AppendQuoted(value, "_.-~", true, quoted);
  }
  return machine.NewText(std::move(quoted).Take());
}

// Without tags and comments, and with single spaces.
inline Value StripTagsFilter(Machine& machine, const Value& subject, const Inputs&) {
  const MarkedText text = Printed(machine, subject);
  MarkedText plain;
  const std::string_view whole = text.text();
  if (!machine.StepOver(whole.size())) return {};
  for (size_t at = 0; at < whole.size();) {
    const size_t tag = std::min(whole.find('<', at), whole.size());
    plain.Append(text.Substr(at, tag - at));
    const bool is_comment = whole.substr(tag).starts_with("<!--");
    const size_t end = whole.find(is_comment ? "-->" : ">", tag);
    if (end == whole.npos) {
      plain.Append(text.Substr(tag));
      break;
    }
    at = end + (is_comment ? 3 : 1);
  }
  std::vector<Value> words;
  for (MarkedText& word : SplitAtSpaces(machine, plain, -1)) words.push_back(machine.NewText(std::move(word)));
  return machine.ok() ? JoinTexts(machine, MarkedText(" ", Author::kTemplate), words) : Value();
}

inline Value FileSizeFilter(Machine& machine, const Value& subject, const Inputs& inputs) {
  const auto read = subject.Is(Type::kText) ? ReadFloat(subject.view()) : std::nullopt;
  if (!subject.IsNumber() && !read) return machine.Fail("filesizeformat needs a number");
  const double bytes = read ? *read : subject.number(), base = FlagInput(inputs[0]) ? 1024 : 1000;
  if (bytes == 1) return machine.NewText("1 Byte");
  if (bytes < base) return machine.NewText(IntegerText(Truncated(bytes).value_or(0)) + " Bytes");
  double unit = base;
  std::string_view letters = "kMGTPEZY";
  for (; letters.size() > 1 && bytes >= unit * base; letters.remove_prefix(1)) unit *= base;
  const bool is_binary = base == 1024;
  const char letter = is_binary && letters[0] == 'k' ? 'K' : letters[0];
  return machine.NewText(
      Concat({FixedText(bytes / unit, 1), " ", std::string_view(&letter, 1), is_binary ? "iB" : "B"}));
}

// Numbers.

inline Value IntFilter(Machine& machine, const Value& subject, const Inputs& inputs) {
  const Value fallback = inputs[0] == nullptr ? Value::Int(0) : *inputs[0];
  if (subject.Is(Type::kUndefined)) return machine.Fail(subject.WhyUndefined());
  if (subject.IsWhole()) return Value::Int(subject.integer());
  if (subject.Is(Type::kFloat)) {
    const auto whole = Truncated(subject.number());
    return whole ? Value::Int(*whole) : fallback;
  }
  if (!subject.Is(Type::kText)) return fallback;
  const auto base = static_cast<int>(std::clamp<Integer>(IntegerInput(machine, inputs[1], 10), 0, 36));
  if (const auto whole = ReadInteger(subject.view(), base)) return Value::Int(*whole);
  const auto number = ReadFloat(subject.view());
  const auto whole = number ? Truncated(*number) : std::nullopt;
  return whole ? Value::Int(*whole) : fallback;
}

inline Value FloatFilter(Machine& machine, const Value& subject, const Inputs& inputs) {
  if (subject.Is(Type::kUndefined)) return machine.Fail(subject.WhyUndefined());
  if (subject.IsNumber()) return Value::Float(subject.number());
  const auto number = subject.Is(Type::kText) ? ReadFloat(subject.view()) : std::nullopt;
  if (number) return Value::Float(*number);
  return inputs[0] == nullptr ? Value::Float(0) : *inputs[0];
}

inline Value AbsFilter(Machine& machine, const Value& subject, const Inputs&) {
  if (subject.IsWhole()) {
    return subject.integer() < 0 ? WithIntegers(machine, Operator::kSubtract, 0, subject.integer())
                                 : Value::Int(subject.integer());
  }
  if (subject.Is(Type::kFloat)) return Value::Float(std::fabs(subject.number()));
  return machine.Fail(subject.Is(Type::kUndefined) ? subject.WhyUndefined() : "abs needs a number");
}

inline Value RoundFilter(Machine& machine, const Value& subject, const Inputs& inputs) {
  const Integer precision = std::clamp<Integer>(IntegerInput(machine, inputs[0], 0), -400, 400);
  const MarkedText method = PrintedInput(machine, inputs[1], "common");
  if (!subject.IsNumber())
    return machine.Fail(subject.Is(Type::kUndefined) ? subject.WhyUndefined() : "round needs a number");
  const double number = subject.number(), unit = PortablePow(10.0, static_cast<double>(precision));
  if (method.text() == "common") {
    // A whole number stays one.
    if (subject.IsWhole() && precision >= 0) return subject.Is(Type::kBool) ? Value::Int(subject.integer()) : subject;
    const double rounded = Rounded(number, static_cast<int>(precision));
    return subject.IsWhole() ? Value::Int(Truncated(rounded).value_or(0)) : Value::Float(rounded);
  }
  if (method.text() == "ceil") return Value::Float(std::ceil(number * unit) / unit);
  if (method.text() == "floor") return Value::Float(std::floor(number * unit) / unit);
  return machine.Fail("the method of round is common, ceil or floor");
}

// JSON.

inline Value ToJsonFilter(Machine& machine, const Value& subject, const Inputs& inputs) {
  JsonStyle style;
  style.ascii_only = FlagInput(inputs[0]);
  if (inputs[1] != nullptr && !inputs[1]->Is(Type::kNone)) {
    style.has_lines = true;
    style.item_separator = MarkedText(",", Author::kTemplate);
    style.indent =
        inputs[1]->Is(Type::kText) ? inputs[1]->text() : Spaces(machine, IntegerInput(machine, inputs[1], 0));
  }
  if (inputs[2] != nullptr && !inputs[2]->Is(Type::kNone)) {
    const std::vector<Value> separators = Elements(machine, *inputs[2]);
    if (separators.size() != 2) return machine.Fail("the separators of tojson are two texts");
    style.item_separator = TextInput(machine, &separators[0]);
    style.key_separator = TextInput(machine, &separators[1]);
  }
  style.sort_keys = FlagInput(inputs[3]);
  JsonPrinter printer(machine, style);
  printer.Print(subject);
  return machine.NewText(std::move(printer).Take());
}

// Of llama.cpp's templates, where arguments may be a text. What comes of it is nobody's but the message's.
inline Value FromJsonFilter(Machine& machine, const Value& subject, const Inputs&) {
  const MarkedText text = ToText(machine, subject).text();
  nlohmann::ordered_json json;
  if (const std::string complaint = ParseJson(text.text(), json); !complaint.empty()) {
    return machine.Fail("from_json needs JSON: " + complaint);
  }
  return ValueOfJson(machine, json);
}

inline Value PPrintFilter(Machine& machine, const Value& subject, const Inputs&) {
  return machine.NewText(Shown(machine, subject));
}

inline constexpr Builtin kTextFilters[] = {
    {"trim", "[chars]", TrimFilter},
    {"upper", "", CaseFilter<Case::kUpper>},
    {"lower", "", CaseFilter<Case::kLower>},
    {"capitalize", "", CapitalizeFilter},
    {"title", "", TitleFilter},
    {"replace", "old new [count]", ReplaceFilter},
    {"string", "", StringFilter},
    {"safe", "", SafeFilter},
    {"e", "", EscapeFilter},
    {"escape", "", EscapeFilter},
    {"forceescape", "", ForceEscapeFilter},
    {"center", "[width]", CenterFilter},
    {"indent", "[width] [first] [blank]", IndentFilter},
    {"truncate", "[length] [killwords] [end] [leeway]", TruncateFilter},
    {"wordcount", "", WordCountFilter},
    {"format", "* **", FormatFilter},
    {"urlencode", "", UrlEncodeFilter},
    {"striptags", "", StripTagsFilter},
    {"filesizeformat", "[binary]", FileSizeFilter},
    {"int", "[default] [base]", IntFilter},
    {"float", "[default]", FloatFilter},
    {"abs", "", AbsFilter},
    {"round", "[precision] [method]", RoundFilter},
    {"tojson", "[ensure_ascii] [indent] [separators] [sort_keys]", ToJsonFilter},
    {"from_json", "", FromJsonFilter},
    {"pprint", "", PPrintFilter},
};

}  // namespace skald::internal::jinja

#endif  // SKALD_TEMPLATES_LIBRARY_DETAIL_TEXT_FILTERS_H_
