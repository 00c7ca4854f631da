// SPDX-License-Identifier: Apache-2.0
//
// Values as text: as a template prints them, as Python would write them in a program, and as JSON. What values are made
// of is the template's, what texts in them say is their authors'.

#ifndef SKALD_TEXT_TEMPLATES_PRINTING_H_
#define SKALD_TEXT_TEMPLATES_PRINTING_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/base/message.h"
#include "skald/text/templates/machine.h"
#include "skald/text/templates/numbers.h"
#include "skald/text/templates/syntax.h"

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

class Printer {
 public:
  explicit Printer(Machine& machine) : machine_(machine) {}

  MarkedText Take() && { return std::move(out_); }

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
    const Machine::Level level(machine_);
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
  void Add(std::string_view text) {
    if (HasRoom(text.size())) out_.Append(text, Author::kTemplate);
  }
  void Add(const MarkedText& text) {
    if (HasRoom(text.size())) out_.Append(text);
  }
  bool HasRoom(size_t bytes) { return machine_.StepOver(bytes) && machine_.HasRoom(2 * (out_.size() + bytes)); }

  void ShowItems(std::string_view begin, const std::vector<Value>& items, std::string_view end) {
    Add(begin);
    for (size_t i = 0; i < items.size() && machine_.ok(); ++i) {
      if (i > 0) Add(", ");
      Show(items[i]);
    }
    Add(end);
  }

  void ShowEntries(const Dict& dict, std::string_view begin, std::string_view end) {
    Add(begin);
    for (size_t i = 0; i < dict.entries.size() && machine_.ok(); ++i) {
      if (i > 0) Add(", ");
      Show(dict.entries[i].first);
      Add(": ");
      Show(dict.entries[i].second);
    }
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
    if (!HasRoom(4 * whole.size())) return;
    const bool is_single = whole.find('\'') == whole.npos || whole.find('"') != whole.npos;
    const char quote = is_single ? '\'' : '"';
    const std::string_view quotes(&quote, 1);
    out_.Append(quotes, Author::kTemplate);
    for (size_t at = 0; at < whole.size();) {
      const size_t size = is_bytes ? 1 : CharacterSize(whole.substr(at));
      const std::string_view character = whole.substr(at, size);
      const int32_t code = CodePoint(character);
      if (character[0] == quote || character[0] == '\\') {
        out_.Append(std::string("\\").append(character), text.AuthorAt(at));
      } else if (code >= 0 && IsPrintable(code)) {
        out_.Append(character, text.AuthorAt(at));
      } else {
        out_.Append(Escape(code < 0 ? static_cast<unsigned char>(character[0]) : code), text.AuthorAt(at));
      }
      at += size;
    }
    out_.Append(quotes, Author::kTemplate);
  }

  static std::string Escape(int32_t code) {
    if (code == '\n') return "\\n";
    if (code == '\r') return "\\r";
    if (code == '\t') return "\\t";
    const std::string digits = IntegerText(code, 16);
    const size_t width = code < 0x100 ? 2 : code < 0x10000 ? 4 : 8;
    return Concat({width == 2 ? "\\x" : width == 4 ? "\\u" : "\\U", std::string(width - digits.size(), '0'), digits});
  }

  Machine& machine_;
  MarkedText out_;
};

inline MarkedText Printed(Machine& machine, const Value& value) {
  Printer printer(machine);
  printer.Print(value);
  return std::move(printer).Take();
}

// The value as a text: itself if it is one.
inline Value ToText(Machine& machine, const Value& value) {
  return value.Is(Type::kText) ? value : machine.NewText(Printed(machine, value));
}

// How JSON is laid out.
struct JsonStyle {
  MarkedText indent;  // of each level
  bool has_lines = false;
  bool ascii_only = false, sort_keys = false;
  MarkedText item_separator{", ", Author::kTemplate}, key_separator{": ", Author::kTemplate};
};

class JsonPrinter {
 public:
  JsonPrinter(Machine& machine, const JsonStyle& style) : machine_(machine), style_(style) {}

  MarkedText Take() && { return std::move(out_); }

  void Print(const Value& value, size_t level = 0) {
    const Machine::Level nesting(machine_);
    if (!nesting) return;
    switch (value.type()) {
      case Type::kNone:
        return Add("null");
      case Type::kBool:
        return Add(value.flag() ? "true" : "false");
      case Type::kInteger:
        return Add(IntegerText(value.integer()));
      case Type::kFloat:
        return Add(NumberText(value.number()));
      case Type::kText:
        return PrintText(value.text());
      case Type::kList:
      case Type::kTuple:
        return PrintItems(value.sequence().items, level);
      case Type::kDict:
        return PrintEntries(value.dict(), level);
      default:
        machine_.Fail(Concat({"a value of type ", TypeName(value), " cannot be written as JSON"}));
    }
  }

 private:
  void Add(std::string_view text) {
    if (HasRoom(text.size())) out_.Append(text, Author::kTemplate);
  }
  void Add(const MarkedText& text) {
    if (HasRoom(text.size())) out_.Append(text);
  }
  bool HasRoom(size_t bytes) { return machine_.StepOver(bytes) && machine_.HasRoom(2 * (out_.size() + bytes)); }

  static std::string NumberText(double number) {
    if (std::isfinite(number)) return FloatText(number);
    return std::isnan(number) ? "NaN" : number > 0 ? "Infinity" : "-Infinity";
  }

  void BreakLine(size_t level) {
    if (!style_.has_lines) return;
    Add("\n");
    for (size_t i = 0; i < level && machine_.ok(); ++i) Add(style_.indent);
  }

  void PrintItems(const std::vector<Value>& items, size_t level) {
    if (items.empty()) return Add("[]");
    Add("[");
    for (size_t i = 0; i < items.size() && machine_.ok(); ++i) {
      if (i > 0) Add(style_.item_separator);
      BreakLine(level + 1);
      Print(items[i], level + 1);
    }
    BreakLine(level);
    Add("]");
  }

  void PrintEntries(const Dict& dict, size_t level) {
    if (dict.entries.empty()) return Add("{}");
    std::vector<const std::pair<Value, Value>*> entries;
    for (const auto& entry : dict.entries) entries.push_back(&entry);
    if (style_.sort_keys) {
      std::stable_sort(entries.begin(), entries.end(), [](const auto* a, const auto* b) {
        return a->first.Is(Type::kText) && b->first.Is(Type::kText) && a->first.view() < b->first.view();
      });
    }
    Add("{");
    for (size_t i = 0; i < entries.size() && machine_.ok(); ++i) {
      if (i > 0) Add(style_.item_separator);
      BreakLine(level + 1);
      PrintKey(entries[i]->first);
      Add(style_.key_separator);
      Print(entries[i]->second, level + 1);
    }
    BreakLine(level);
    Add("}");
  }

  void PrintKey(const Value& key) {
    if (key.Is(Type::kText)) return PrintText(key.text());
    if (!key.IsNumber() && !key.Is(Type::kNone)) {
      machine_.Fail(Concat({"a key of type ", TypeName(key), " cannot be written as JSON"}));
      return;
    }
    Add("\"");
    Print(key);
    Add("\"");
  }

  void PrintText(const MarkedText& text) {
    const std::string_view whole = text.text();
    if (!HasRoom(6 * whole.size())) return;
    out_.Append("\"", Author::kTemplate);
    for (size_t at = 0; at < whole.size();) {
      const size_t size = CharacterSize(whole.substr(at));
      const std::string_view character = whole.substr(at, size);
      out_.Append(Escape(character), text.AuthorAt(at));
      at += size;
    }
    out_.Append("\"", Author::kTemplate);
  }

  std::string Escape(std::string_view character) const {
    constexpr std::string_view kCharacters = "\"\\\n\r\t\f\b", kLetters = "\"\\nrtfb";
    if (const size_t known = kCharacters.find(character); known != kCharacters.npos) {
      return {'\\', kLetters[known]};
    }
    const int32_t code = CodePoint(character);
    if (code < 0 || (code >= 0x20 && (code < 0x7F || !style_.ascii_only))) return std::string(character);
    if (code < 0x10000) return Unit(code);
    return Unit(0xD800 + ((code - 0x10000) >> 10)) + Unit(0xDC00 + ((code - 0x10000) & 0x3FF));
  }

  static std::string Unit(int32_t unit) {
    const std::string digits = IntegerText(unit, 16);
    return Concat({"\\u", std::string(4 - digits.size(), '0'), digits});
  }

  Machine& machine_;
  const JsonStyle& style_;
  MarkedText out_;
};

}  // namespace skald::internal::jinja

#endif  // SKALD_TEXT_TEMPLATES_PRINTING_H_
