// SPDX-License-Identifier: Apache-2.0
//
// Reads the fields of a request's JSON. Every field is read, or the table of fields (api_description.h) says that it is
// ignored or refused. A field that is neither is noted, so that no wish of a client is passed over in silence, or
// refused. Errors are thrown as ApiError.

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

#include "server/api/fields/api_description.h"
#include "server/api/fields/request_notes.h"
#include "server/api/request/api_error.h"
#include "skald/base/json/read_json.h"

namespace skald::serve {

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
  // `path` names the object in errors; empty for the request itself. `schema` is the name of its kind in the table of
  // fields; empty: none is ignored or refused. `notes` takes unknown fields; null: they are refused. Error: it is no
  // object.
  explicit JsonReader(const Json& json, std::string path = "", std::string_view schema = {},
                      RequestNotes* notes = nullptr);

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

  // Does with the fields that were not asked for what the table says: ignores them, or refuses those that ask for what
  // is not there. Fields that are not in the table are noted, or refused.
  void Finish() const;

  const Json& json() const { return *json_; }
  RequestNotes* notes() const { return notes_; }
  std::string PathOf(std::string_view name) const;
  [[noreturn]] void Fail(std::string_view name, const std::string& expected) const;

 private:
  JsonReader(const Json& json, std::string path, const Json* schema, RequestNotes* notes);

  const Json* json_;
  std::string path_;
  const Json* schema_;  // of the table of fields; null: none
  RequestNotes* notes_;
  std::set<std::string, std::less<>> known_;
};

// The type of a JSON value as errors name it.
std::string DescribeJson(const Json& value);

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_API_REQUEST_JSON_READER_H_
