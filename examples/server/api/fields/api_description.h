// SPDX-License-Identifier: Apache-2.0
//
// The table of fields: openapi.json says of each field of each API whether it is done, ignored, or refused, and why
// ("x-skald": "ignored" or "refused", and the description). Clients read the same file at /openapi.json.

#ifndef SKALD_EXAMPLES_SERVER_API_FIELDS_API_DESCRIPTION_H_
#define SKALD_EXAMPLES_SERVER_API_FIELDS_API_DESCRIPTION_H_

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace skald::serve {

using Json = nlohmann::ordered_json;

// The rule of the table for a field that an endpoint did not read.
struct FieldRule {
  enum class Treatment {
    kIgnored,  // it cannot change what is promised
    kRefused,  // without it the answer would not be what the client relies on
    kUnknown,  // it is not in the table, or means nothing where it stands
  };
  Treatment treatment = Treatment::kUnknown;
  const Json* property = nullptr;  // of all but kUnknown

  std::string why() const { return property->value("description", "there is nothing like it here"); }
  // Of kRefused: whether this value asks for nothing.
  bool Allows(const Json& value) const;
};

// The entry of a kind of objects, or null. Entries live as long as the program.
const Json* FindSchema(std::string_view name);

// The entry of the objects that a field holds, or null. `schema` may be null.
const Json* FindObjectSchema(const Json* schema, std::string_view field);

// `schema` may be null.
FieldRule FindFieldRule(const Json* schema, std::string_view field);

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_API_FIELDS_API_DESCRIPTION_H_
