// SPDX-License-Identifier: Apache-2.0

#include "server/api/request/json_reader.h"

#include <algorithm>
#include <sstream>

#include "skald/base/json/json_tree.h"
#include "skald/open/tools/output_part.h"

namespace skald::serve {

Json ParseJson(std::string_view text) {
  Json json;
  const std::string complaint = internal::ParseJson(text, json, kRequestJson);
  if (!complaint.empty()) throw ApiError{400, "the request's body " + complaint};
  return json;
}

std::optional<Json> TryParseJson(std::string_view text) {
  Json json;
  if (!internal::ParseJson(text, json, kRequestJson).empty()) return std::nullopt;
  return json;
}

std::optional<Json> TryParseAnswerJson(std::string_view text) {
  Json json;
  if (!internal::ParseJson(text, json, {.depth = kMostAnswerNesting}).empty()) return std::nullopt;
  return json;
}

std::string Dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

std::string DescribeJson(const Json& value) {
  if (value.is_string()) return "a string";
  if (value.is_number_integer()) return "the number " + value.dump();
  if (value.is_number()) return "a number";
  if (value.is_boolean()) return value.dump();
  if (value.is_array()) return "an array";
  return value.is_object() ? "an object" : "null";
}

JsonReader::JsonReader(const Json& json, std::string path, std::string_view schema, RequestNotes* notes)
    : JsonReader(json, std::move(path), schema.empty() ? nullptr : FindSchema(schema), notes) {}

JsonReader::JsonReader(const Json& json, std::string path, const Json* schema, RequestNotes* notes)
    : json_(&json), path_(std::move(path)), schema_(schema), notes_(notes) {
  if (json.is_object()) return;
  const std::string what = path_.empty() ? "the request's body" : "'" + path_ + "'";
  throw ApiError{400, what + " is " + DescribeJson(json) + ", expected an object",
                 path_.empty() ? std::nullopt : std::optional(path_)};
}

std::string JsonReader::PathOf(std::string_view name) const {
  return path_.empty() ? std::string(name) : path_ + "." + std::string(name);
}

void JsonReader::Fail(std::string_view name, const std::string& expected) const {
  const auto found = json_->find(name);
  const std::string is = found == json_->end() ? "missing" : DescribeJson(*found);
  throw ApiError{400, "'" + PathOf(name) + "' is " + is + ", expected " + expected, PathOf(name)};
}

const Json* JsonReader::Any(std::string_view name) {
  known_.insert(std::string(name));
  const auto found = json_->find(name);
  return found == json_->end() || found->is_null() ? nullptr : &*found;
}

std::optional<bool> JsonReader::Bool(std::string_view name) {
  const Json* const value = Any(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_boolean()) Fail(name, "true or false");
  return value->get<bool>();
}

std::optional<int64_t> JsonReader::Integer(std::string_view name, int64_t least, int64_t most) {
  const Json* const value = Any(name);
  if (value == nullptr) return std::nullopt;
  const std::string expected = "a whole number from " + std::to_string(least) + " to " + std::to_string(most);
  // Some clients write whole numbers with a point.
  const double number = value->is_number() ? value->get<double>() : 0.5;
  const bool is_whole = value->is_number() && number >= -9.2e18 && number <= 9.2e18 && number == std::int64_t(number);
  if (!is_whole) Fail(name, expected);
  const int64_t whole = value->is_number_float() ? int64_t(number) : value->get<int64_t>();
  if (whole < least || whole > most) Fail(name, expected);
  return whole;
}

std::optional<double> JsonReader::Number(std::string_view name, double least, double most) {
  const Json* const value = Any(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_number() && value->get<double>() >= least && value->get<double>() <= most) return value->get<double>();
  std::ostringstream expected;
  expected << "a number from " << least << " to " << most;
  Fail(name, expected.str());
}

std::optional<std::string> JsonReader::String(std::string_view name) {
  const Json* const value = Any(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_string()) Fail(name, "a string");
  return value->get<std::string>();
}

std::optional<std::string> JsonReader::OneOf(std::string_view name, std::initializer_list<std::string_view> choices) {
  auto text = String(name);
  if (!text || std::ranges::find(choices, *text) != choices.end()) return text;
  std::string expected;
  for (const std::string_view choice : choices)
    expected += (expected.empty() ? "'" : ", '") + std::string(choice) + "'";
  throw ApiError{400, "'" + PathOf(name) + "' is '" + text->substr(0, 64) + "', expected one of " + expected,
                 PathOf(name)};
}

std::optional<JsonReader> JsonReader::Object(std::string_view name) {
  const Json* const value = Any(name);
  if (value == nullptr) return std::nullopt;
  return JsonReader(*value, PathOf(name), FindObjectSchema(schema_, name), notes_);
}

std::vector<std::string> JsonReader::Strings(std::string_view name) {
  const Json* const value = Any(name);
  if (value == nullptr) return {};
  if (value->is_string()) return {value->get<std::string>()};
  if (!value->is_array()) Fail(name, "a string or an array of strings");
  std::vector<std::string> texts;
  for (const Json& one : *value) {
    if (!one.is_string()) Fail(name, "a string or an array of strings");
    texts.push_back(one.get<std::string>());
  }
  return texts;
}

const Json* JsonReader::Array(std::string_view name) {
  const Json* const value = Any(name);
  if (value != nullptr && !value->is_array()) Fail(name, "an array");
  return value;
}

std::string JsonReader::NeedString(std::string_view name) {
  auto text = String(name);
  if (!text) Fail(name, "a string");
  return *std::move(text);
}

const Json& JsonReader::NeedArray(std::string_view name) {
  const Json* const value = Array(name);
  if (value == nullptr) Fail(name, "an array");
  return *value;
}

void JsonReader::Finish() const {
  for (auto field = json_->begin(); field != json_->end(); ++field) {
    if (known_.contains(field.key())) continue;
    const std::string path = PathOf(field.key());
    const FieldRule rule = FindFieldRule(schema_, field.key());
    switch (rule.treatment) {
      case FieldRule::Treatment::kIgnored:
        break;
      case FieldRule::Treatment::kRefused:
        if (field->is_null() || rule.Allows(*field)) break;
        throw ApiError{400, "'" + path + "' is not supported: " + rule.why(), path, "unsupported_parameter"};
      case FieldRule::Treatment::kUnknown:
        if (notes_ == nullptr || notes_->is_strict()) {
          throw ApiError{400, "there is no field '" + path.substr(0, 200) + "' here", path, "unknown_parameter"};
        }
        if (!field->is_null()) notes_->AddIgnored(path);
    }
  }
}

}  // namespace skald::serve
