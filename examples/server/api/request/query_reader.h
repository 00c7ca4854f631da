// SPDX-License-Identifier: Apache-2.0
//
// QueryReader: reads the query of a request's address, NAME=VALUE&..., as JsonReader reads a body.

#ifndef SKALD_EXAMPLES_SERVER_API_REQUEST_QUERY_READER_H_
#define SKALD_EXAMPLES_SERVER_API_REQUEST_QUERY_READER_H_

#include <string_view>

#include "server/api/request/body_reader.h"

namespace skald::serve {

// A query as an object. Values that are whole numbers, true or false become those of JSON, all others texts. A name
// that comes more than once, or ends with [], has a list of values.
Json QueryJson(std::string_view query);

class QueryReader final : private ParsedBody, public JsonReader {
 public:
  // `schema` is the name of the query's kind in the table of fields.
  QueryReader(const Call& call, std::string_view schema)
      : ParsedBody{QueryJson(call.http.query), RequestNotes(call.fields)}, JsonReader(body, "", schema, &body_notes) {}
  QueryReader(const QueryReader&) = delete;
  QueryReader& operator=(const QueryReader&) = delete;
};

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_API_REQUEST_QUERY_READER_H_
