// SPDX-License-Identifier: Apache-2.0
//
// Reads the fields of a request's JSON. Every field is read, ignored by name, or refused. A field that the endpoint did
// not ask for is an error, so that no wish of a client is passed over in silence. Errors are thrown as ApiError.

#ifndef SKALD_EXAMPLES_SERVER_API_REQUEST_JSON_READER_H_
#define SKALD_EXAMPLES_SERVER_API_REQUEST_JSON_READER_H_

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "server/api/request/api_error.h"
#include "skald/base/json/read_json.h"

namespace skald::serve {

using Json = nlohmann::ordered_json;

// The limits of a request's JSON, which hold whatever the limit of its bytes is: a value takes up to 100 bytes of
// memory.
inline constexpr internal::JsonLimits kRequestJson = {.depth = 64, .values = size_t{1} << 22, .names = size_t{1} << 18};

// Parses a request's body. Errors: no JSON, or more than kRequestJson allows.
Json ParseJson(std::string_view text);

// Parses a text inside of a request or of an answer, such as the arguments of a call. Returns nothing if it is no JSON,
// or more than kRequestJson allows.
std::optional<Json> TryParseJson(std::string_view text);

// Parses JSON of an answer, as the model's own text: as deep as calls may nest.
std::optional<Json> TryParseAnswerJson(std::string_view text);

// JSON as text; bytes that are not valid UTF-8 become U+FFFD.
std::string Dump(const Json& json);

// One object of a request. `json` must outlive it.
class JsonReader {
 public:
  // `path` names the object in errors; empty for the request itself. Error: it is no object.
  explicit JsonReader(const Json& json, std::string path = "");

  // Each returns nothing for a field that is absent or null. Errors: another type, or out of range.
  std::optional<bool> Bool(std::string_view name);
  std::optional<int64_t> Integer(std::string_view name, int64_t least, int64_t most);
  std::optional<double> Number(std::string_view name, double least, double most);
  std::optional<std::string> String(std::string_view name);
  std::optional<std::string> OneOf(std::string_view name, std::initializer_list<std::string_view> choices);
  std::optional<JsonReader> Object(std::string_view name);
  // One string or an array of them.
  std::vector<std::string> Strings(std::string_view name);
  const Json* Array(std::string_view name);
  // A field of any type; null if it is absent or null.
  const Json* Any(std::string_view name);

  // The same for a field that must be there.
  std::string NeedString(std::string_view name);
  const Json& NeedArray(std::string_view name);

  // Fields that change nothing of an answer.
  void Ignore(std::initializer_list<std::string_view> names);
  // A field that asks for what is not there, unless it has one of the values that ask for nothing.
  void Refuse(std::string_view name, std::string_view why, std::initializer_list<Json> harmless = {});
  // Refuses all fields that were not asked for.
  void Finish() const;

  const Json& json() const { return *json_; }
  std::string PathOf(std::string_view name) const;
  [[noreturn]] void Fail(std::string_view name, const std::string& expected) const;

 private:
  const Json* json_;
  std::string path_;
  std::set<std::string, std::less<>> known_;
};

// The type of a JSON value as errors name it.
std::string DescribeJson(const Json& value);

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_API_REQUEST_JSON_READER_H_
