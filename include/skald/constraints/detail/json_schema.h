// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/constraints/json_schema.h.

#ifndef SKALD_CONSTRAINTS_DETAIL_JSON_SCHEMA_H_
#define SKALD_CONSTRAINTS_DETAIL_JSON_SCHEMA_H_

#include "skald/constraints/json_schema.h"

#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/constraints/schema/detail/json_texts.h"
#include "skald/constraints/schema/detail/schema_reader.h"
#include "skald/constraints/schema/detail/schema_value.h"

namespace skald {

SKALD_INLINE Result<Grammar> ParseJsonSchema(std::string_view schema, ValueNotation notation) {
  return NoThrow("a JSON Schema", [&]() -> Result<Grammar> {
    SKALD_ASSIGN(const auto value, internal::ParseSchemaValue(schema));
    return internal::SchemaReader(value, notation).Read();
  });
}

SKALD_INLINE Result<Grammar> AnyJsonObject() {
  return NoThrow("a grammar", []() -> Result<Grammar> {
    Grammar grammar;
    internal::JsonTexts json(grammar, ValueNotation::kJson);
    grammar.Define(Grammar::kRoot, json.AnyObject());
    return grammar;
  });
}

}  // namespace skald

#endif  // SKALD_CONSTRAINTS_DETAIL_JSON_SCHEMA_H_
