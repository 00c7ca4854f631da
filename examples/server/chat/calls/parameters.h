// SPDX-License-Identifier: Apache-2.0
//
// Parameters between tags, as Qwen3-Coder writes them: <parameter=KEY>value</parameter>. What a value means depends on
// the tool's schema: texts stand there as they are, other values as JSON. The filter that such calls are held to and
// the parser that reads them must agree on this, so it is said here alone.

#ifndef SKALD_EXAMPLES_SERVER_CHAT_CALLS_PARAMETERS_H_
#define SKALD_EXAMPLES_SERVER_CHAT_CALLS_PARAMETERS_H_

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace skald::serve {

inline constexpr std::string_view kParameterEnd = "</parameter>";

// The types that a value may have, by the names of JSON Schema; of an integer only "integer". Empty where the schema
// does not say. `root` is the schema of all parameters, in which references are looked up.
std::vector<std::string> TypesOf(const nlohmann::ordered_json& schema, const nlohmann::ordered_json& root);

enum class ParameterKind {
  kText,    // a string, or nothing that the schema tells
  kJson,    // anything but strings
  kEither,  // a text, and where it reads as JSON of one of the other types, that
};
ParameterKind KindOf(const std::vector<std::string>& types);

// Whether a value of JSON, as text, is of one of the types. Any value is where there are none.
bool IsOfTypes(std::string_view json, const std::vector<std::string>& types);

// Whether a property can be written in this form: its name must not end the tag, which is looked for no further than so
// many bytes.
inline constexpr size_t kMostParameterName = 1024;
inline bool IsParameterName(std::string_view name) {
  return name.size() <= kMostParameterName && name.find('>') == name.npos;
}

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_CHAT_CALLS_PARAMETERS_H_
