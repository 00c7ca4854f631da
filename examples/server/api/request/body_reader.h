// SPDX-License-Identifier: Apache-2.0
//
// BodyReader: the JSON of a request's body, the reader of its fields, and the notes on what of it is not done.

#ifndef SKALD_EXAMPLES_SERVER_API_REQUEST_BODY_READER_H_
#define SKALD_EXAMPLES_SERVER_API_REQUEST_BODY_READER_H_

#include <string_view>

#include "server/api/call.h"
#include "server/api/request/json_reader.h"

namespace skald::serve {

// The parts that the reader refers to, which are there before it.
struct ParsedBody {
  Json body;
  RequestNotes body_notes;
};

class BodyReader final : private ParsedBody, public JsonReader {
 public:
  enum class IfEmpty { kRefuse, kTakeAsObject };

  // `schema` is the name of the body's kind in the table of fields. Thrown: it is no object of JSON, or more than
  // kRequestJson allows.
  BodyReader(const Call& call, std::string_view schema, IfEmpty if_empty = IfEmpty::kRefuse)
      : ParsedBody{if_empty == IfEmpty::kTakeAsObject && call.http.body.empty() ? Json::object()
                                                                                : ParseJson(call.http.body),
                   RequestNotes(call.fields)},
        JsonReader(body, "", schema, &body_notes) {}
  BodyReader(const BodyReader&) = delete;
  BodyReader& operator=(const BodyReader&) = delete;
};

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_API_REQUEST_BODY_READER_H_
