// SPDX-License-Identifier: Apache-2.0
//
// The notations that values under a JSON Schema can be written in.

#ifndef SKALD_CONSTRAINTS_SCHEMA_VALUE_NOTATION_H_
#define SKALD_CONSTRAINTS_SCHEMA_VALUE_NOTATION_H_

#include <string_view>

namespace skald {

/// How the values that a schema allows are written.
enum class ValueNotation {
  kJson,
  kGemma,          ///< Gemma 4: {key:<|"|>text<|"|>,other:[1,true]}, without white space
  kFunctionGemma,  ///< the same with the mark `<escape>` around texts
  kPython,         ///< literals of Python, with null, true and false too: {"key": 'text', "other": [1, True]}
  kPythonCall,     ///< the same, and the whole value is an object, written as arguments: (key='text', other=[1, True])
  /// The same, and in arguments that are strings, between single quotes, nothing is escaped: (key='it's "text"').
  /// A quote ends them only before what goes on with the call, `, NAME` or `)]<` or `), NAME`.
  kPythonCallAsIs,
};

/// Returns the mark before and after texts, in which nothing is escaped; empty where texts are in quotes.
constexpr std::string_view TextMarkOf(ValueNotation notation) {
  if (notation == ValueNotation::kGemma) return "<|\"|>";
  return notation == ValueNotation::kFunctionGemma ? "<escape>" : "";
}

namespace internal {

/// Whether a byte begins the name of an argument of kPythonCallAsIs: after a quote and a comma it tells that the text
/// before it has ended. The grammar and the parser of such texts must agree on it.
constexpr bool BeginsName(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_'; }

}  // namespace internal

}  // namespace skald

#endif  // SKALD_CONSTRAINTS_SCHEMA_VALUE_NOTATION_H_
