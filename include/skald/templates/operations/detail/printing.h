// SPDX-License-Identifier: Apache-2.0
//
// Values as text: as a template prints them, and as Python would write them in a program. The template is the author of
// the structure, texts in it keep their authors.

#ifndef SKALD_TEMPLATES_OPERATIONS_DETAIL_PRINTING_H_
#define SKALD_TEMPLATES_OPERATIONS_DETAIL_PRINTING_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/base/text/message.h"
#include "skald/templates/operations/detail/text_writer.h"
#include "skald/templates/syntax/syntax.h"
#include "skald/templates/values/detail/numbers.h"
#include "skald/templates/values/machine.h"

namespace skald::internal::jinja {

// The name of a value's class in Python, for errors.
inline std::string_view TypeName(const Value& value) {
  switch (value.type()) {
    case Type::kUndefined:
      return "Undefined";
    case Type::kNone:
      return "NoneType";
    case Type::kBool:
      return "bool";
    case Type::kInteger:
      return "int";
    case Type::kFloat:
      return "float";
    case Type::kText:
      return "str";
    case Type::kBytes:
      return "bytes";
    case Type::kList:
      return "list";
    case Type::kTuple:
      return "tuple";
    case Type::kRange:
      return "range";
    case Type::kView:
      return value.sequence().shown;
    case Type::kGenerator:
      return "generator";
    case Type::kDict:
      return "dict";
    case Type::kNamespace:
      return "Namespace";
    case Type::kLoop:
      return "LoopContext";
    case Type::kFunction:
      return "function";
    case Type::kJoiner:
      return "Joiner";
    case Type::kCycler:
      return "Cycler";
  }
  return "";
}

class Printer : public TextWriter {
 public:
  explicit Printer(Machine& machine) : TextWriter(machine) {}

  // As a template prints it.
  void Print(const Value& value) {
    if (value.Is(Type::kText)) {
      Add(value.text());
    } else if (!value.Is(Type::kUndefined)) {
      Show(value);
    }
  }

  // As Python shows it inside of lists.
  void Show(const Value& value) {
    const Machine::Level level(machine());
    if (!level) return;
    switch (value.type()) {
      case Type::kUndefined:
        return Add("Undefined");
      case Type::kNone:
        return Add("None");
      case Type::kBool:
        return Add(value.flag() ? "True" : "False");
      case Type::kInteger:
        return Add(IntegerText(value.integer()));
      case Type::kFloat:
        return Add(FloatText(value.number()));
      case Type::kText:
        if (value.is_markup()) Add("Markup(");
        ShowText(value.text(), /*is_bytes=*/false);
        return value.is_markup() ? Add(")") : void();
      case Type::kBytes:
        Add("b");
        return ShowText(value.text(), /*is_bytes=*/true);
      case Type::kList:
        return ShowItems("[", value.sequence().items, "]");
      case Type::kTuple:
        return ShowItems("(", value.sequence().items, value.sequence().items.size() == 1 ? ",)" : ")");
      case Type::kView:
        Add(value.sequence().shown);
        return ShowItems("([", value.sequence().items, "])");
      case Type::kRange:
        return Add(value.sequence().shown);
      case Type::kGenerator:
        return Add(Concat({"<", value.sequence().shown, ">"}));
      case Type::kDict:
        return ShowEntries(value.dict(), "{", "}");
      case Type::kNamespace:
        return ShowEntries(value.dict(), "<Namespace {", "}>");
      default:
        return ShowObject(value);
    }
  }

 private:
  void ShowItems(std::string_view begin, const std::vector<Value>& items, std::string_view end) {
    Add(begin);
    AddSeries(
        items.size(), [this] { Add(", "); }, [&](size_t i) { Show(items[i]); });
    Add(end);
  }

  void ShowEntries(const Dict& dict, std::string_view begin, std::string_view end) {
    Add(begin);
    AddSeries(
        dict.entries.size(), [this] { Add(", "); },
        [&](size_t i) {
          Show(dict.entries[i].first);
          Add(": ");
          Show(dict.entries[i].second);
        });
    Add(end);
  }

  void ShowObject(const Value& value) {
    if (!value.Is(Type::kFunction)) return Add(Concat({"<", TypeName(value), " object>"}));
    const auto& function = static_cast<const Function&>(*value.object());
    if (function.macro != nullptr) return Add(Concat({"<Macro '", function.macro->name, "'>"}));
    Add(Concat({"<function ", function.builtin->name, ">"}));
  }

  static bool IsPrintable(int32_t code) {
    if (code < 0x80) return code >= 0x20 && code != 0x7F;
    const utf8proc_category_t category = utf8proc_category(code);
    return category != UTF8PROC_CATEGORY_CN && category < UTF8PROC_CATEGORY_ZS;
  }

  // In quotes: double ones only if there are single and no double ones inside.
  void ShowText(const MarkedText& text, bool is_bytes) {
    const std::string_view whole = text.text();
    const bool is_single = whole.find('\'') == whole.npos || whole.find('"') != whole.npos;
    const char quote = is_single ? '\'' : '"';
    AddQuoted(text, quote, is_bytes, [quote](std::string_view character) {
      const int32_t code = CodePoint(character);
      if (character[0] == quote || character[0] == '\\') return std::string("\\").append(character);
      if (code >= 0 && IsPrintable(code)) return std::string(character);
      return Escape(code < 0 ? static_cast<unsigned char>(character[0]) : code);
    });
  }

  static std::string Escape(int32_t code) {
    if (code == '\n') return "\\n";
    if (code == '\r') return "\\r";
    if (code == '\t') return "\\t";
    const std::string digits = IntegerText(code, 16);
    const size_t width = code < 0x100 ? 2 : code < 0x10000 ? 4 : 8;
    return Concat({width == 2 ? "\\x" : width == 4 ? "\\u" : "\\U", std::string(width - digits.size(), '0'), digits});
  }
};

inline MarkedText Printed(Machine& machine, const Value& value) {
  Printer printer(machine);
  printer.Print(value);
  return std::move(printer).Take();
}

// As Python shows it inside of lists.
inline MarkedText Shown(Machine& machine, const Value& value) {
  Printer printer(machine);
  printer.Show(value);
  return std::move(printer).Take();
}

// The value as a text: itself if it is one.
inline Value ToText(Machine& machine, const Value& value) {
  return value.Is(Type::kText) ? value : machine.NewText(Printed(machine, value));
}

}  // namespace skald::internal::jinja

#endif  // SKALD_TEMPLATES_OPERATIONS_DETAIL_PRINTING_H_
