// SPDX-License-Identifier: Apache-2.0
//
// A JSON Schema as a value that keeps what grammars need and other readers drop: the order of an object's members, and
// numbers as they are written.

#ifndef SKALD_CONSTRAINTS_SCHEMA_DETAIL_SCHEMA_VALUE_H_
#define SKALD_CONSTRAINTS_SCHEMA_DETAIL_SCHEMA_VALUE_H_

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "skald/base/json/json_tree.h"
#include "skald/base/result.h"
#include "skald/base/text/message.h"
#include "skald/constraints/grammar/limits.h"

namespace skald::internal {

struct SchemaValue {
  enum class Kind { kNull, kBoolean, kInteger, kNumber, kString, kArray, kObject };

  Kind kind = Kind::kNull;
  bool boolean = false;
  std::string text;                // of a string; of a number as it is written
  std::vector<std::string> names;  // of an object's members, in order
  std::vector<SchemaValue> items;  // of an array, or the values of an object's members

  const SchemaValue* Find(std::string_view name) const {
    const auto found = std::find(names.begin(), names.end(), name);
    return found == names.end() ? nullptr : &items[static_cast<size_t>(found - names.begin())];
  }
  bool IsNumber() const { return kind == Kind::kInteger || kind == Kind::kNumber; }
};

// Builds a SchemaValue from the parts of a text.
class SchemaBuilder final : public JsonEvents {
 public:
  using Json = nlohmann::json;
  using Kind = SchemaValue::Kind;

  explicit SchemaBuilder(SchemaValue& root) : root_(root) {}

  const std::string& complaint() const { return complaint_; }

  bool start_object(size_t /*elements*/) override { return Open(Kind::kObject); }
  bool start_array(size_t /*elements*/) override { return Open(Kind::kArray); }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }
  bool key(std::string& name) override {
    if (!open_.back().names.insert(name).second) {
      complaint_ = Concat({"gives the name ", QuotedName(name), " twice in one object"});
      return false;
    }
    open_.back().value->names.push_back(std::move(name));
    return true;
  }
  bool null() override { return Add(Kind::kNull) != nullptr; }
  bool boolean(bool value) override { return Add(Kind::kBoolean)->boolean = value, true; }
  bool number_integer(Json::number_integer_t value) override { return AddText(Kind::kInteger, std::to_string(value)); }
  bool number_unsigned(Json::number_unsigned_t value) override {
    return AddText(Kind::kInteger, std::to_string(value));
  }
  bool number_float(Json::number_float_t, const std::string& text) override { return AddText(Kind::kNumber, text); }
  bool string(std::string& value) override { return AddText(Kind::kString, std::move(value)); }
  bool binary(Json::binary_t&) override { return false; }
  bool parse_error(size_t, const std::string&, const Json::exception&) override { return false; }

 private:
  struct Level {
    SchemaValue* value;
    std::unordered_set<std::string> names;
  };

  SchemaValue* Add(Kind kind) {
    SchemaValue& value = open_.empty() ? root_ : open_.back().value->items.emplace_back();
    value.kind = kind;
    return &value;
  }
  bool AddText(Kind kind, std::string text) {
    Add(kind)->text = std::move(text);
    return true;
  }
  bool Open(Kind kind) {
    open_.push_back({Add(kind), {}});  // the value stays where it is until it is closed
    return true;
  }
  bool Close() {
    open_.pop_back();
    return true;
  }

  SchemaValue& root_;
  std::vector<Level> open_;
  std::string complaint_;
};

// Errors: no JSON, too deep or too long, a name twice in one object.
inline Result<SchemaValue> ParseSchemaValue(std::string_view text) {
  if (text.size() > kMaxGrammarText) {
    return Fail(ErrorCode::kUnsupported, Concat({"the schema has ", std::to_string(text.size()), " bytes; at most ",
                                                 std::to_string(kMaxGrammarText), " are supported"}));
  }
  SchemaValue root;
  SchemaBuilder builder(root);
  std::string complaint;
  if (ReadJson(text, builder, complaint, {.depth = kMaxGrammarNesting})) return root;
  return Fail(ErrorCode::kInvalidArgument, "the schema " + (complaint.empty() ? builder.complaint() : complaint));
}

}  // namespace skald::internal

#endif  // SKALD_CONSTRAINTS_SCHEMA_DETAIL_SCHEMA_VALUE_H_
