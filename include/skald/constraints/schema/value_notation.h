// SPDX-License-Identifier: Apache-2.0
//
// The notations that values under a JSON Schema can be written in.

#ifndef SKALD_CONSTRAINTS_SCHEMA_VALUE_NOTATION_H_
#define SKALD_CONSTRAINTS_SCHEMA_VALUE_NOTATION_H_

namespace skald {

/// How the values that a schema allows are written.
enum class ValueNotation {
  kJson,
  kGemma,       ///< Gemma 4: {key:<|"|>text<|"|>,other:[1,true]}, without white space
  kPython,      ///< literals of Python, with null, true and false too: {"key": 'text', "other": [1, True]}
  kPythonCall,  ///< the same, and the whole value is an object, written as arguments: (key='text', other=[1, True])
};

}  // namespace skald

#endif  // SKALD_CONSTRAINTS_SCHEMA_VALUE_NOTATION_H_
