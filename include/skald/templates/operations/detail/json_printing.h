// SPDX-License-Identifier: Apache-2.0
//
// Values as JSON, as Python's json.dumps writes it. The template is the author of the structure, texts in it keep their
// authors.

#ifndef SKALD_TEMPLATES_OPERATIONS_DETAIL_JSON_PRINTING_H_
#define SKALD_TEMPLATES_OPERATIONS_DETAIL_JSON_PRINTING_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/base/text/message.h"
#include "skald/templates/operations/detail/printing.h"
#include "skald/templates/operations/detail/text_writer.h"
#include "skald/templates/values/detail/numbers.h"
#include "skald/templates/values/machine.h"

namespace skald::internal::jinja {

// How JSON is laid out.
struct JsonStyle {
  MarkedText indent;  // of each level
  bool has_lines = false;
  bool ascii_only = false, sort_keys = false;
  MarkedText item_separator{", ", Author::kTemplate}, key_separator{": ", Author::kTemplate};
};

class JsonPrinter : public TextWriter {
 public:
  JsonPrinter(Machine& machine, const JsonStyle& style) : TextWriter(machine), style_(style) {}

  void Print(const Value& value, size_t level = 0) {
    const Machine::Level nesting(machine());
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
        machine().Fail(Concat({"a value of type ", TypeName(value), " cannot be written as JSON"}));
    }
  }

 private:
  static std::string NumberText(double number) {
    if (std::isfinite(number)) return FloatText(number);
    return std::isnan(number) ? "NaN" : number > 0 ? "Infinity" : "-Infinity";
  }

  void BreakLine(size_t level) {
    if (!style_.has_lines) return;
    Add("\n");
    for (size_t i = 0; i < level && machine().ok(); ++i) Add(style_.indent);
  }

  void PrintItems(const std::vector<Value>& items, size_t level) {
    if (items.empty()) return Add("[]");
    Add("[");
    AddSeries(
        items.size(), [this] { Add(style_.item_separator); },
        [&](size_t i) {
          BreakLine(level + 1);
          Print(items[i], level + 1);
        });
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
    AddSeries(
        entries.size(), [this] { Add(style_.item_separator); },
        [&](size_t i) {
          BreakLine(level + 1);
          PrintKey(entries[i]->first);
          Add(style_.key_separator);
          Print(entries[i]->second, level + 1);
        });
    BreakLine(level);
    Add("}");
  }

  void PrintKey(const Value& key) {
    if (key.Is(Type::kText)) return PrintText(key.text());
    if (!key.IsNumber() && !key.Is(Type::kNone)) {
      machine().Fail(Concat({"a key of type ", TypeName(key), " cannot be written as JSON"}));
      return;
    }
    Add("\"");
    Print(key);
    Add("\"");
  }

  void PrintText(const MarkedText& text) {
    AddQuoted(text, '"', /*is_bytes=*/false, [this](std::string_view character) { return Escape(character); });
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

  const JsonStyle& style_;
};

}  // namespace skald::internal::jinja

#endif  // SKALD_TEMPLATES_OPERATIONS_DETAIL_JSON_PRINTING_H_
