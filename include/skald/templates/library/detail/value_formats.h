// SPDX-License-Identifier: Apache-2.0
//
// Texts with places for values: "%05.2f" and "{:>8}" of Python.

#ifndef SKALD_TEMPLATES_LIBRARY_DETAIL_VALUE_FORMATS_H_
#define SKALD_TEMPLATES_LIBRARY_DETAIL_VALUE_FORMATS_H_

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/base/text/message.h"
#include "skald/templates/operations/detail/attributes.h"
#include "skald/templates/operations/detail/comparisons.h"
#include "skald/templates/operations/detail/printing.h"
#include "skald/templates/values/detail/numbers.h"
#include "skald/templates/values/detail/texts.h"
#include "skald/templates/values/machine.h"

namespace skald::internal::jinja {

// How one value is written.
struct ValueFormat {
  std::string fill = " ";
  char align = 0;  // < > ^ =, or 0 for what the type of the value wants
  char sign = '-';
  bool alternate = false, groups = false;
  Integer width = 0;
  int precision = -1;
  char type = 0;
};

inline Integer TakeNumber(std::string_view& text) {
  Integer number = 0;
  for (; !text.empty() && text[0] >= '0' && text[0] <= '9'; text.remove_prefix(1)) {
    number = std::min<Integer>(number * 10 + (text[0] - '0'), Integer{1} << 62);
  }
  return number;
}

inline MarkedText Padded(Machine& machine, const MarkedText& text, const ValueFormat& format, char align) {
  const Integer missing = format.width - static_cast<Integer>(CountCharacters(text.text()));
  if (missing <= 0) return text;
  const MarkedText fill(format.fill, Author::kTemplate);
  const Integer before = align == '<' ? 0 : align == '^' ? missing / 2 : missing;
  const bool has_sign = align == '=' && (text.text().starts_with('-') || text.text().starts_with('+'));
  GrowingText padded(machine);
  padded.Append(text, 0, has_sign);
  padded.Append(Repeat(machine, fill, before));
  padded.Append(text, has_sign, text.size());
  padded.Append(Repeat(machine, fill, missing - before));
  return std::move(padded).Take();
}

// The digits of a number in the format's type, with the sign.
inline std::string FormattedNumber(Machine& machine, const Value& value, const ValueFormat& format) {
  const bool is_float_type = format.type != 0 && std::string_view("fFeEgG%").find(format.type) != std::string::npos;
  std::string text;
  if (value.IsWhole() && !is_float_type) {
    const unsigned base = format.type == 'x' || format.type == 'X' ? 16
                          : format.type == 'o'                     ? 8
                          : format.type == 'b'                     ? 2
                                                                   : 10;
    text = IntegerText(value.integer(), base);
    if (format.alternate && base != 10) text.insert(text.starts_with('-'), std::string("0") + format.type);
  } else if (format.type == 0 && format.precision < 0) {
    text = FloatText(value.number());
  } else if (!std::isfinite(value.number())) {
    text = NotFiniteText(value.number());
  } else {
    const double number = format.type == '%' ? value.number() * 100 : value.number();
    const int precision = std::min(format.precision < 0 ? 6 : format.precision, 150);
    const char low = static_cast<char>(format.type | 0x20);
    char buffer[512];
    const auto style = low == 'e'                       ? std::chars_format::scientific
                       : low == 'g' || format.type == 0 ? std::chars_format::general
                                                        : std::chars_format::fixed;
    text.assign(buffer, std::to_chars(buffer, buffer + sizeof(buffer), number, style, precision).ptr);
    if (format.type == '%') text += '%';
  }
  if (format.type == 'X' || format.type == 'E' || format.type == 'G' || format.type == 'F') {
    for (char& c : text) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 0x20) : c;
  }
  if (format.groups) {
    const size_t begin = text.starts_with('-');
    size_t end = begin;
    while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
    while (end > begin + 3) text.insert(end -= 3, ",");
  }
  if (format.sign != '-' && !text.starts_with('-')) text.insert(0, 1, format.sign);
  machine.Step();
  return text;
}

inline MarkedText FormatValue(Machine& machine, const Value& value, const ValueFormat& format) {
  const bool wants_number = format.type != 0 && format.type != 's';
  if (!value.IsNumber() || (value.Is(Type::kBool) && !wants_number)) {
    if (wants_number) {
      machine.Fail(Concat({"a value of type ", TypeName(value), " is not a number that the format '",
                           std::string_view(&format.type, 1), "' takes"}));
    }
    MarkedText text = Printed(machine, value);
    if (format.precision >= 0)
      text = text.Substr(0, OffsetOfCharacter(text.text(), static_cast<size_t>(format.precision)));
    return Padded(machine, text, format, format.align == 0 ? '<' : format.align);
  }
  if (format.type == 's')
    return Padded(machine, Printed(machine, value), format, format.align == 0 ? '<' : format.align);
  const MarkedText text(FormattedNumber(machine, value, format), Author::kTemplate);
  return Padded(machine, text, format, format.align == 0 ? '>' : format.align);
}

// "%s: %d" % values. A dictionary may give values to names.
inline MarkedText FormatPercent(Machine& machine, const MarkedText& pattern, const std::vector<Value>& values,
                                const Value* dict) {
  GrowingText out(machine);
  const std::string_view whole = pattern.text();
  size_t used = 0;
  bool used_name = false;
  for (size_t at = 0; at < whole.size() && machine.Step();) {
    const size_t percent = std::min(whole.find('%', at), whole.size());
    out.Append(pattern, at, percent - at);
    std::string_view rest = whole.substr(percent);
    if (rest.empty()) break;
    rest.remove_prefix(1);
    Value value;
    bool has_value = false;
    if (rest.starts_with('(') && dict != nullptr) {
      const size_t end = std::min(rest.find(')'), rest.size() - 1);
      const Value* const found = FindKey(machine, dict->dict(), rest.substr(1, end - 1));
      if (found == nullptr)
        machine.Fail(Concat({"the format names ", QuotedName(rest.substr(1, end - 1)), ", which is not there"}));
      if (found != nullptr) value = *found;
      has_value = used_name = true;
      rest.remove_prefix(end + 1);
    }
    ValueFormat format;
    for (; !rest.empty() && std::string_view("-+ #0").find(rest[0]) != std::string::npos; rest.remove_prefix(1)) {
      if (rest[0] == '-') format.align = '<';
      if (rest[0] == '+' || rest[0] == ' ') format.sign = rest[0];
      if (rest[0] == '#') format.alternate = true;
      if (rest[0] == '0' && format.align == 0) format.fill = "0", format.align = '=';
    }
    format.width = TakeNumber(rest);
    if (rest.starts_with('.')) {
      rest.remove_prefix(1);
      format.precision = static_cast<int>(std::min<Integer>(TakeNumber(rest), 1 << 20));
    }
    if (rest.empty()) {
      machine.Fail("the format ends behind a '%'");
      break;
    }
    const char type = rest[0];
    rest.remove_prefix(1);
    at = whole.size() - rest.size();
    if (type == '%') {
      out.Append("%", Author::kTemplate);
      continue;
    }
    if (!has_value && used >= values.size()) {
      machine.Fail("the format has more places than there are values");
      break;
    }
    if (!has_value) value = values[used++];
    format.type = type == 'i' || type == 'u' ? 'd' : type;
    if (type == 'r') value = machine.NewText(Shown(machine, value));
    if (type == 's' || type == 'r') {
      format.type = 's';
      if (format.align == 0) format.align = '>';
      if (format.fill == "0") format.fill = " ", format.align = '>';
    } else if (std::string_view("dxXofFeEgG").find(type) == std::string::npos) {
      machine.Fail(Concat({"the format has no meaning of '", std::string_view(&type, 1), "'"}));
      break;
    } else if (value.Is(Type::kFloat) && std::string_view("dxXo").find(type) != std::string::npos) {
      value = Value::Int(Truncated(value.number()).value_or(0));
    }
    out.Append(FormatValue(machine, value, format));
  }
  if (used < values.size() && !used_name && dict == nullptr)
    machine.Fail("the format has fewer places than there are values");
  return std::move(out).Take();
}

// The part of "{...}" behind the colon.
inline ValueFormat ReadFormat(Machine& machine, std::string_view text) {
  ValueFormat format;
  constexpr std::string_view kAligns = "<>^=";
  if (!text.empty()) {
    const size_t fill = CharacterSize(text);
    if (fill < text.size() && kAligns.find(text[fill]) != kAligns.npos) {
      format.fill = text.substr(0, fill);
      format.align = text[fill];
      text.remove_prefix(fill + 1);
    } else if (kAligns.find(text[0]) != kAligns.npos) {
      format.align = text[0];
      text.remove_prefix(1);
    }
  }
  if (!text.empty() && (text[0] == '+' || text[0] == ' ' || text[0] == '-')) {
    format.sign = text[0];
    text.remove_prefix(1);
  }
  if (text.starts_with('#')) {
    format.alternate = true;
    text.remove_prefix(1);
  }
  if (text.starts_with('0') && format.align == 0) format.fill = "0", format.align = '=';
  format.width = TakeNumber(text);
  if (text.starts_with(',')) {
    format.groups = true;
    text.remove_prefix(1);
  }
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    format.precision = static_cast<int>(std::min<Integer>(TakeNumber(text), 1 << 20));
  }
  if (!text.empty()) format.type = text[0];
  if (text.size() > 1 ||
      (format.type != 0 && std::string_view("sdxXobfFeEgG%").find(format.type) == std::string::npos)) {
    machine.Fail(Concat({"the format ", QuotedName(text), " has no meaning"}));
  }
  return format;
}

// "{} {0} {name.attribute[0]!r:>8}".format(...)
class BraceFormatter {
 public:
  BraceFormatter(Machine& machine, const Inputs& inputs) : machine_(machine), inputs_(inputs), out_(machine) {}

  MarkedText Run(const MarkedText& pattern) {
    const std::string_view whole = pattern.text();
    for (size_t at = 0; at < whole.size() && machine_.Step();) {
      const size_t brace = std::min(whole.find_first_of("{}", at), whole.size());
      out_.Append(pattern, at, brace - at);
      if (brace == whole.size()) break;
      if (whole.substr(brace + 1).starts_with(whole[brace])) {  // doubled
        out_.Append(pattern, brace, 1);
        at = brace + 2;
        continue;
      }
      const size_t end = whole.find('}', brace);
      if (whole[brace] == '}' || end == whole.npos) {
        machine_.Fail("the format has a brace without its other half");
        break;
      }
      Field(whole.substr(brace + 1, end - brace - 1));
      at = end + 1;
    }
    return std::move(out_).Take();
  }

 private:
  void Field(std::string_view field) {
    const size_t colon = std::min(field.find(':'), field.size());
    const ValueFormat format = ReadFormat(machine_, colon < field.size() ? field.substr(colon + 1) : "");
    std::string_view name = field.substr(0, colon);
    const bool as_shown = name.ends_with("!r");
    if (as_shown || name.ends_with("!s")) name.remove_suffix(2);
    Value value = Find(name);
    if (as_shown) value = machine_.NewText(Shown(machine_, value));
    out_.Append(FormatValue(machine_, value, format));
  }

  Value Find(std::string_view name) {
    std::string_view first = name.substr(0, name.find_first_of(".["));
    std::string_view path = name.substr(first.size());
    Value value = FindFirst(first);
    while (!path.empty() && machine_.ok()) {
      const bool is_item = path[0] == '[';
      path.remove_prefix(1);
      const std::string_view part = path.substr(0, path.find_first_of(is_item ? "]" : ".["));
      path.remove_prefix(std::min(path.size(), part.size() + is_item));
      const auto index = ReadInteger(part, 10);
      value = !is_item ? GetAttribute(machine_, value, part)
              : index  ? GetItem(machine_, value, Value::Int(*index))
                       : GetItem(machine_, value, machine_.NewText(part));
    }
    return value;
  }

  Value FindFirst(std::string_view name) {
    const bool is_next = name.empty();
    const auto index = is_next ? Integer{next_++} : ReadInteger(name, 10);
    if (index) {
      if (*index >= 0 && *index < static_cast<Integer>(inputs_.rest.size()))
        return inputs_.rest[static_cast<size_t>(*index)];
      return machine_.Fail("the format has more places than there are values");
    }
    for (const auto& [known, value] : *inputs_.named) {
      if (known == name) return value;
    }
    return machine_.Fail(Concat({"the format names ", QuotedName(name), ", which is not there"}));
  }

  Machine& machine_;
  const Inputs& inputs_;
  GrowingText out_;
  int next_ = 0;
};

}  // namespace skald::internal::jinja

#endif  // SKALD_TEMPLATES_LIBRARY_DETAIL_VALUE_FORMATS_H_
