// SPDX-License-Identifier: Apache-2.0

#include "bench/report/forms.h"

#include <functional>
#include <string_view>

namespace skald::program {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kTable = "skald_bench";

std::string JsonText(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

// The text within `mark`s, those in it doubled.
std::string Quoted(std::string_view text, char mark) {
  std::string quoted(1, mark);
  for (const char c : text) quoted.append(c == mark ? 2 : 1, c);
  return quoted + mark;
}

std::string Joined(const Json& record, const std::function<std::string(const std::string&, const Json&)>& text) {
  std::string joined;
  for (const auto& [name, value] : record.items()) joined += (joined.empty() ? "" : ",") + text(name, value);
  return joined;
}

std::string CsvValue(const Json& value) {
  if (value.is_string()) return Quoted(value.get_ref<const std::string&>(), '"');
  if (value.is_null()) return {};
  return value.is_array() ? Quoted(JsonText(value), '"') : JsonText(value);
}

std::string SqlValue(const Json& value) {
  if (value.is_string()) return Quoted(value.get_ref<const std::string&>(), '\'');
  if (value.is_boolean()) return value.get<bool>() ? "1" : "0";
  return value.is_array() ? Quoted(JsonText(value), '\'') : JsonText(value);
}

const char* SqlType(const Json& value) {
  return value.is_number_float() ? "REAL" : value.is_number() || value.is_boolean() ? "INTEGER" : "TEXT";
}

}  // namespace

std::string CsvHead(const Json& columns) {
  return Joined(columns, [](const std::string& name, const Json&) { return name; }) + "\n";
}

std::string CsvRow(const Json& columns, const Json& record) {
  const auto value = [&record](const std::string& name, const Json&) {
    return record.contains(name) ? CsvValue(record[name]) : std::string();
  };
  return Joined(columns, value) + "\n";
}

std::string JsonLine(const Json& record) { return JsonText(record) + "\n"; }

std::string SqlHead(const Json& whole) {
  const auto column = [](const std::string& name, const Json& value) { return "\n  " + name + " " + SqlType(value); };
  return std::string("CREATE TABLE IF NOT EXISTS ") + kTable + " (" + Joined(whole, column) + "\n);\n";
}

std::string SqlRow(const Json& record) {
  return std::string("INSERT INTO ") + kTable + " (" +
         Joined(record, [](const std::string& name, const Json&) { return name; }) + ") VALUES (" +
         Joined(record, [](const std::string&, const Json& value) { return SqlValue(value); }) + ");\n";
}

}  // namespace skald::program
