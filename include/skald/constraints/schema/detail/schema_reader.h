// SPDX-License-Identifier: Apache-2.0
//
// Turns a JSON Schema into a grammar: the part of json_schema.h that walks through the schema.

#ifndef SKALD_CONSTRAINTS_SCHEMA_DETAIL_SCHEMA_READER_H_
#define SKALD_CONSTRAINTS_SCHEMA_DETAIL_SCHEMA_READER_H_

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_set>
#include <utility>
#include <vector>

#include "skald/base/result.h"
#include "skald/base/text/message.h"
#include "skald/base/text/printable.h"
#include "skald/constraints/grammar/grammar.h"
#include "skald/constraints/grammar/limits.h"
#include "skald/constraints/schema/detail/decimal_ranges.h"
#include "skald/constraints/schema/detail/formats.h"
#include "skald/constraints/schema/detail/json_texts.h"
#include "skald/constraints/schema/detail/number_keywords.h"
#include "skald/constraints/schema/detail/object_members.h"
#include "skald/constraints/schema/detail/other_names.h"
#include "skald/constraints/schema/detail/pattern.h"
#include "skald/constraints/schema/detail/schema_names.h"
#include "skald/constraints/schema/detail/schema_value.h"

namespace skald::internal {

class SchemaReader {
 public:
  using Expression = Grammar::Expression;

  // `root` must outlive this.
  SchemaReader(const SchemaValue& root, ValueNotation notation)
      : root_(root),
        grammar_("#"),
        json_(grammar_, notation),
        has_texts_as_is_(notation == ValueNotation::kPythonCallAsIs),
        is_call_(notation == ValueNotation::kPythonCall || has_texts_as_is_) {
    if (!is_call_) rules_.emplace("", Grammar::kRoot);  // of a call, the root elsewhere is an object like any other
    open_.push_back({Grammar::kRoot, &root, ""});
  }

  Result<Grammar> Read() {
    CheckCall();
    for (size_t i = 0; i < open_.size() && !failure_; ++i) {
      const OpenRule rule = open_[i];
      grammar_.Define(rule.rule, ReadSchema(*rule.schema, rule.place));
      if (grammar_.expressions() > kMaxGrammarExpressions || grammar_.rules().size() > kMaxGrammarRules) {
        Complain(rule.place, "the schema is too large");
      }
    }
    if (failure_) return Failure(*failure_);
    return std::move(grammar_);
  }

 private:
  using Kind = SchemaValue::Kind;
  using Place = std::string;  // a JSON pointer into the schema

  // A rule that is called, and still to be defined: kept in a list, not on the stack, however long chains of $ref are.
  struct OpenRule {
    Grammar::Rule rule;
    const SchemaValue* schema;
    Place place;
  };

  // Remembers the first thing that is wrong.
  Expression Complain(const Place& place, std::string_view what, ErrorCode code = ErrorCode::kInvalidArgument) {
    if (!failure_) failure_ = Error{code, Concat({"JSON Schema at '#", Printable(place), "': ", what})};
    return Grammar::kEmpty;
  }
  Expression Refuse(const Place& place, std::string_view what) {
    return Complain(place, what, ErrorCode::kUnsupported);
  }

  // The rule of the schema at `place`.
  Expression CallAt(const Place& place, const SchemaValue& schema) {
    const auto [entry, is_new] = rules_.try_emplace(place, 0);
    if (is_new) {
      entry->second = grammar_.AddRule("#" + place);
      open_.push_back({entry->second, &schema, place});
    }
    return json_.Call(entry->second);
  }

  void CheckCall();
  Expression ReadSchema(const SchemaValue& schema, const Place& place);
  bool CheckKeywords(const SchemaValue& schema, const Place& place);
  std::vector<SchemaType> ReadTypes(const SchemaValue& schema, const Place& place);
  Expression ReadWhole(const SchemaValue& schema, std::string_view keyword, const Place& place);
  Expression ReadEnum(const SchemaValue& schema, const std::vector<SchemaValue>& values, const Place& place);
  Expression ReadRef(const SchemaValue& ref, const Place& place);
  Expression ReadOfType(const SchemaValue& schema, SchemaType type, const Place& place);
  Expression ReadObject(const SchemaValue& schema, const Place& place);
  Expression ReadMembers(const SchemaValue& properties, const std::vector<bool>& is_required,
                         std::optional<Expression> other, bool is_call, const Place& place);
  Expression MemberOf(const std::string& name, const SchemaValue& schema, bool is_call, const Place& place);
  std::vector<bool> ReadRequired(const SchemaValue& schema, const Place& place);
  std::optional<Expression> ReadOtherMembers(const SchemaValue& schema, bool is_call, const Place& place);
  Expression ReadArray(const SchemaValue& schema, const Place& place);
  Expression ReadString(const SchemaValue& schema, const Place& place);
  Expression ReadNumber(const SchemaValue& schema, bool integers_only, const Place& place);
  std::optional<size_t> ReadCount(const SchemaValue& schema, std::string_view keyword, const Place& place);
  const SchemaValue* FindOfKind(const SchemaValue& schema, std::string_view keyword, Kind kind, std::string_view what,
                                const Place& place);

  const SchemaValue& root_;
  Grammar grammar_;
  JsonTexts json_;
  std::map<Place, Grammar::Rule> rules_;
  std::vector<OpenRule> open_;
  const bool has_texts_as_is_;  // between single quotes, in arguments of a call
  bool is_call_;                // the object that is read next is the arguments of a call
  bool is_text_as_is_ = false;  // the string that is read next is
  std::optional<Error> failure_;
};

// Implementation.

// Arguments of a call can be one object alone.
inline void SchemaReader::CheckCall() {
  if (!is_call_) return;
  const SchemaValue* const type = root_.Find("type");
  const bool is_object = type != nullptr ? type->text == "object" : root_.Find("properties") != nullptr;
  if (!is_object) Refuse("", "arguments of a call are one object");
}

inline SchemaReader::Expression SchemaReader::ReadSchema(const SchemaValue& schema, const Place& place) {
  if (failure_) return Grammar::kEmpty;
  if (schema.kind == Kind::kBoolean) return schema.boolean ? json_.AnyValue() : json_.Choice({});
  if (schema.kind != Kind::kObject) return Complain(place, "expected a schema: an object, true or false");
  if (!CheckKeywords(schema, place)) return Grammar::kEmpty;
  for (const std::string& name : schema.names) {
    if (KindOfKeyword(name) == KeywordKind::kWhole) return ReadWhole(schema, name, place);
  }
  std::vector<Expression> ways;
  for (const SchemaType type : ReadTypes(schema, place)) ways.push_back(ReadOfType(schema, type, place));
  if (ways.empty()) return json_.AnyValue();
  return ways.size() == 1 ? ways[0] : json_.Choice(std::move(ways));
}

inline bool SchemaReader::CheckKeywords(const SchemaValue& schema, const Place& place) {
  std::string_view whole, other;
  for (const std::string& name : schema.names) {
    const std::optional<KeywordKind> kind = KindOfKeyword(name);
    if (!kind) {
      Refuse(PlaceIn(place, name), Concat({"keyword ", QuotedName(name), " is not supported"}));
      return false;
    }
    if (*kind == KeywordKind::kNote || *kind == KeywordKind::kType) continue;
    std::string_view& same = *kind == KeywordKind::kWhole && whole.empty() ? whole : other;
    same = name;
  }
  if (whole.empty() || other.empty()) return true;
  Refuse(PlaceIn(place, other),
         Concat({"keyword ", QuotedName(other), " beside ", QuotedName(whole), " is not supported"}));
  return false;
}

// The types that the schema names; without any, those that its keywords are about.
inline std::vector<SchemaType> SchemaReader::ReadTypes(const SchemaValue& schema, const Place& place) {
  std::vector<SchemaType> types;
  if (const SchemaValue* const value = schema.Find("type")) {
    const bool is_list = value->kind == Kind::kArray && !value->items.empty();
    const SchemaValue* const first = is_list ? value->items.data() : value;
    for (size_t i = 0; i < (is_list ? value->items.size() : 1); ++i) {
      const std::optional<SchemaType> type = first[i].kind == Kind::kString ? TypeNamed(first[i].text) : std::nullopt;
      if (type) {
        types.push_back(*type);
      } else {
        Complain(PlaceIn(place, "type"),
                 "expected null, boolean, object, array, number, integer or string, or a list of these");
      }
    }
    return types;
  }
  const std::pair<KeywordKind, SchemaType> about[] = {{KeywordKind::kObject, SchemaType::kObject},
                                                      {KeywordKind::kArray, SchemaType::kArray},
                                                      {KeywordKind::kString, SchemaType::kString},
                                                      {KeywordKind::kNumber, SchemaType::kNumber}};
  for (const auto& [kind, type] : about) {
    const auto is_of_kind = [kind = kind](const std::string& name) { return KindOfKeyword(name) == kind; };
    if (std::any_of(schema.names.begin(), schema.names.end(), is_of_kind)) types.push_back(type);
  }
  return types;
}

inline SchemaReader::Expression SchemaReader::ReadWhole(const SchemaValue& schema, std::string_view keyword,
                                                        const Place& place) {
  const SchemaValue& value = *schema.Find(keyword);
  const Place inside = PlaceIn(place, keyword);
  if (keyword == "const") return ReadEnum(schema, {value}, inside);
  if (keyword == "enum") {
    if (value.kind != Kind::kArray) return Complain(inside, "expected a list of values");
    return ReadEnum(schema, value.items, inside);
  }
  if (schema.Find("type") != nullptr) {
    return Refuse(PlaceIn(place, "type"), Concat({"keyword 'type' beside ", QuotedName(keyword), " is not supported"}));
  }
  if (keyword == "$ref") return ReadRef(value, inside);
  if (value.kind != Kind::kArray || value.items.empty()) return Complain(inside, "expected a list of schemas");
  std::vector<Expression> ways;
  for (size_t i = 0; i < value.items.size(); ++i) {
    ways.push_back(ReadSchema(value.items[i], PlaceIn(inside, std::to_string(i))));
  }
  return json_.Choice(std::move(ways));
}

inline SchemaReader::Expression SchemaReader::ReadEnum(const SchemaValue& schema,
                                                       const std::vector<SchemaValue>& values, const Place& place) {
  const std::vector<SchemaType> types = ReadTypes(schema, place);
  std::vector<Expression> ways;
  for (const SchemaValue& value : values) {
    const bool fits = std::any_of(types.begin(), types.end(), [&](SchemaType type) { return IsOfType(value, type); });
    if (types.empty() || fits) ways.push_back(json_.Value(value));
  }
  if (ways.empty()) return Complain(place, "there is no value of the schema's type");
  return json_.Choice(std::move(ways));
}

inline SchemaReader::Expression SchemaReader::ReadRef(const SchemaValue& ref, const Place& place) {
  if (ref.kind != Kind::kString || !ref.text.starts_with('#') || ref.text.find('%') != std::string::npos) {
    return Refuse(place, "expected '#' and a JSON pointer into this schema, without escapes by %");
  }
  const Place target = ref.text.substr(1);
  const SchemaValue* const schema = ValueAt(root_, target);
  if (schema == nullptr) return Complain(place, Concat({"there is nothing at ", QuotedName(ref.text)}));
  return CallAt(target, *schema);
}

inline SchemaReader::Expression SchemaReader::ReadOfType(const SchemaValue& schema, SchemaType type,
                                                         const Place& place) {
  switch (type) {
    case SchemaType::kNull:
      return json_.Null();
    case SchemaType::kBoolean:
      return json_.Choice({json_.True(), json_.False()});
    case SchemaType::kObject:
      return ReadObject(schema, place);
    case SchemaType::kArray:
      return ReadArray(schema, place);
    case SchemaType::kNumber:
      return ReadNumber(schema, false, place);
    case SchemaType::kInteger:
      return ReadNumber(schema, true, place);
    case SchemaType::kString:
      break;
  }
  return ReadString(schema, place);
}

// The value of a keyword, or null where it is missing or not of the kind that is expected.
inline const SchemaValue* SchemaReader::FindOfKind(const SchemaValue& schema, std::string_view keyword, Kind kind,
                                                   std::string_view what, const Place& place) {
  const SchemaValue* const value = schema.Find(keyword);
  if (value == nullptr || value->kind == kind) return value;
  Complain(PlaceIn(place, keyword), Concat({"expected ", what}));
  return nullptr;
}

inline SchemaReader::Expression SchemaReader::ReadObject(const SchemaValue& schema, const Place& place) {
  const SchemaValue none;
  const bool is_call = std::exchange(is_call_, false);
  const SchemaValue* properties = FindOfKind(schema, "properties", Kind::kObject, "an object of schemas", place);
  const std::vector<bool> is_required = ReadRequired(schema, place);
  const std::optional<Expression> other = ReadOtherMembers(schema, is_call, place);
  if (properties == nullptr) properties = &none;
  if (properties->names.size() > kMaxSchemaProperties) {
    return Refuse(place, Concat({"an object has more than ", std::to_string(kMaxSchemaProperties), " properties"}));
  }
  return ReadMembers(*properties, is_required, other, is_call, PlaceIn(place, "properties"));
}

// For each property, whether it must be there.
inline std::vector<bool> SchemaReader::ReadRequired(const SchemaValue& schema, const Place& place) {
  const SchemaValue* const required = FindOfKind(schema, "required", Kind::kArray, "a list of names", place);
  const SchemaValue* const properties = schema.Find("properties");
  std::map<std::string_view, size_t> index;
  for (size_t i = 0; properties != nullptr && i < properties->names.size(); ++i) index[properties->names[i]] = i;
  std::vector<bool> is_required(index.size());
  for (size_t i = 0; required != nullptr && i < required->items.size(); ++i) {
    const SchemaValue& name = required->items[i];
    const auto found = index.find(name.text);
    if (name.kind == Kind::kString && found != index.end()) {
      is_required[found->second] = true;
    } else {
      Refuse(PlaceIn(PlaceIn(place, "required"), std::to_string(i)), "expected the name of one of the properties");
    }
  }
  return is_required;
}

// A member that is none of the properties, if there may be any: where the schema says so, or says nothing of
// properties either.
inline std::optional<SchemaReader::Expression> SchemaReader::ReadOtherMembers(const SchemaValue& schema, bool is_call,
                                                                              const Place& place) {
  const SchemaValue* const properties = schema.Find("properties");
  const SchemaValue* const additional = schema.Find("additionalProperties");
  if (additional == nullptr ? properties != nullptr : additional->kind == Kind::kBoolean && !additional->boolean) {
    return std::nullopt;
  }
  const Expression value =
      additional == nullptr ? json_.AnyValue() : ReadSchema(*additional, PlaceIn(place, "additionalProperties"));
  const bool is_bare = is_call || json_.is_gemma();
  const bool is_any = properties == nullptr || properties->names.empty();
  const Expression key = !is_any   ? NamesOtherThan(properties->names, is_bare, grammar_, json_)
                         : is_call ? json_.BareKey()
                                   : json_.AnyKey();
  return is_call ? json_.Sequence({key, grammar_.Literal("="), value}) : json_.Member(key, value);
}

inline SchemaReader::Expression SchemaReader::ReadMembers(const SchemaValue& properties,
                                                          const std::vector<bool>& is_required,
                                                          std::optional<Expression> other, bool is_call,
                                                          const Place& place) {
  const std::string_view begin = is_call ? "(" : "{", end = is_call ? ")" : "}";
  const bool is_dense = is_call && has_texts_as_is_;  // what ends a text as it is has no other white space
  const Expression space = is_dense ? Grammar::kEmpty : json_.Space();
  const MemberMarks marks = {
      .begin = json_.Sequence({grammar_.Literal(begin), json_.Space()}),
      .close = json_.Sequence({space, grammar_.Literal(end)}),
      .comma =
          is_dense ? json_.Sequence({grammar_.Literal(","), grammar_.Maybe(grammar_.Literal(" "))}) : json_.Comma(),
      .end = end};
  std::vector<size_t> order(properties.names.size());
  std::iota(order.begin(), order.end(), size_t{0});
  if (json_.is_gemma()) order = SortedOrder(properties.names);
  std::vector<ObjectMember> members;
  for (const size_t at : order) {
    if (failure_) break;
    const std::string& name = properties.names[at];
    members.push_back({MemberOf(name, properties.items[at], is_call, PlaceIn(place, name)), is_required[at]});
  }
  return AddMembers(members, other, marks, grammar_);
}

inline SchemaReader::Expression SchemaReader::MemberOf(const std::string& name, const SchemaValue& schema, bool is_call,
                                                       const Place& place) {
  const SchemaValue* const type = schema.Find("type");
  is_text_as_is_ = is_call && has_texts_as_is_ && type != nullptr && type->text == "string";
  const Expression value = ReadSchema(schema, place);
  is_text_as_is_ = false;
  if (!is_call) return json_.Member(json_.Key(name), value);
  if (!CanBeBare(name) || (has_texts_as_is_ && !BeginsName(name[0])))
    return Refuse(place, "no argument of a call can have this name");
  return json_.Sequence({grammar_.Literal(name), grammar_.Literal("="), value});
}

inline SchemaReader::Expression SchemaReader::ReadArray(const SchemaValue& schema, const Place& place) {
  const std::optional<size_t> min = ReadCount(schema, "minItems", place), max = ReadCount(schema, "maxItems", place);
  if (max && *max < min.value_or(0)) return Complain(place, "maxItems is less than minItems");
  const SchemaValue* const items = schema.Find("items");
  const Expression item = items == nullptr ? json_.AnyValue() : CallAt(PlaceIn(place, "items"), *items);
  return json_.List("[", item, min.value_or(0), max, "]");
}

inline SchemaReader::Expression SchemaReader::ReadString(const SchemaValue& schema, const Place& place) {
  const SchemaValue* const pattern = FindOfKind(schema, "pattern", Kind::kString, "a regular expression", place);
  const SchemaValue* const format = FindOfKind(schema, "format", Kind::kString, "the name of a format", place);
  const std::optional<size_t> min = ReadCount(schema, "minLength", place), max = ReadCount(schema, "maxLength", place);
  if (pattern == nullptr && format == nullptr) {
    if (max && *max < min.value_or(0)) return Complain(place, "maxLength is less than minLength");
    if (is_text_as_is_) return json_.StringAsIs(min.value_or(0), max);
    return min || max ? json_.String(min.value_or(0), max) : json_.AnyString();
  }
  const std::string_view keyword = pattern != nullptr ? "pattern" : "format";
  if (min || max || (pattern != nullptr && format != nullptr)) {
    const std::string_view other = min ? "minLength" : max ? "maxLength" : "format";
    return Refuse(PlaceIn(place, other),
                  Concat({"keyword ", QuotedName(other), " beside ", QuotedName(keyword), " is not supported"}));
  }
  const std::optional<std::string> expression = pattern != nullptr ? pattern->text : PatternOfFormat(format->text);
  if (!expression) {
    return Refuse(PlaceIn(place, keyword), Concat({"format ", QuotedName(format->text), " is not supported"}));
  }
  const Result<Expression> inside = PatternParser(*expression, grammar_, json_).Parse();
  if (!inside) {
    return Refuse(PlaceIn(place, keyword),
                  Concat({"regular expression ", QuotedName(*expression), ": ", inside.error().message}));
  }
  return json_.Quoted(*inside);
}

inline SchemaReader::Expression SchemaReader::ReadNumber(const SchemaValue& schema, bool integers_only,
                                                         const Place& place) {
  DecimalRange range;
  range.integers_only = integers_only;
  auto wrong = ReadBounds(schema, range);
  if (!wrong) wrong = ReadMultiple(schema, range);
  if (wrong) {
    const ErrorCode code = wrong->is_unsupported ? ErrorCode::kUnsupported : ErrorCode::kInvalidArgument;
    return Complain(PlaceIn(place, wrong->keyword), wrong->expected, code);
  }
  if (range.bounds.empty() && !range.multiple_of) return integers_only ? json_.AnyInteger() : json_.AnyNumber();
  const std::optional<Expression> graph = DecimalGraph(range, grammar_).Make();
  return graph ? *graph : Refuse(place, "the number's bounds and multipleOf make the grammar too large");
}

inline std::optional<size_t> SchemaReader::ReadCount(const SchemaValue& schema, std::string_view keyword,
                                                     const Place& place) {
  const SchemaValue* const value = schema.Find(keyword);
  if (value == nullptr) return std::nullopt;
  size_t count = 0;
  const std::string& text = value->text;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (value->kind == Kind::kInteger && error == std::errc() && end == text.data() + text.size()) return count;
  Complain(PlaceIn(place, keyword), "expected a number of at least 0, without a fraction");
  return std::nullopt;
}

}  // namespace skald::internal

#endif  // SKALD_CONSTRAINTS_SCHEMA_DETAIL_SCHEMA_READER_H_
