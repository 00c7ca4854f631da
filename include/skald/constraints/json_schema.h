// SPDX-License-Identifier: Apache-2.0
//
// JSON Schemas as grammars: the subset that OpenAI documents for structured outputs. Every text of the grammar is valid
// by the schema; a keyword that is not listed here is an error that names it and its place, never passed over.
//
//   any type    type (one or a list), enum, const, anyOf, $ref into the same schema ("#", "#/$defs/..."), recursion
//   too;
//               true and false as schemas; title, description, default, examples and the like change nothing
//   objects     properties, required, additionalProperties
//   arrays      items, minItems, maxItems
//   strings     minLength and maxLength, or a pattern (schema/pattern.h), or a format: date, time, date-time, duration,
//               email, hostname, ipv4, ipv6, uuid
//   numbers     minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf, compared digit by digit
//
// Of the texts that a schema allows, the grammar has those that a model should write: properties in the schema's order;
// other ones after them, only if additionalProperties allows them or there are no properties at all; if "type" is
// missing, the types that the keywords apply to; numbers that a double holds as they are written; white space of one
// kind (schema/json_texts.h); strings under a pattern without needless escapes.

#ifndef SKALD_CONSTRAINTS_JSON_SCHEMA_H_
#define SKALD_CONSTRAINTS_JSON_SCHEMA_H_

#include <string_view>

#include "skald/base/result.h"
#include "skald/constraints/grammar/grammar.h"
#include "skald/constraints/schema/value_notation.h"

namespace skald {

/// The values of a schema, in JSON or another notation. Errors: no JSON; kUnsupported with the keyword and its place as
/// a JSON pointer, such as '#/properties/age/not'; of calls, that the schema is no single object with names that
/// arguments can have; limits (grammar/limits.h).
Result<Grammar> ParseJsonSchema(std::string_view schema, ValueNotation notation = ValueNotation::kJson);

/// Any JSON object.
Result<Grammar> AnyJsonObject();

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/constraints/detail/json_schema.h"
#endif

#endif  // SKALD_CONSTRAINTS_JSON_SCHEMA_H_
