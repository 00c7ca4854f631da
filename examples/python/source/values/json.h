// SPDX-License-Identifier: Apache-2.0
//
// Values of Python as the library's JSON.

#ifndef SKALD_EXAMPLES_PYTHON_SOURCE_VALUES_JSON_H_
#define SKALD_EXAMPLES_PYTHON_SOURCE_VALUES_JSON_H_

#include <nanobind/nanobind.h>

#include <string>

#include "skald/base/json/json_value.h"
#include "values/errors.h"

namespace skald::python {

/// Returns a value as a text in JSON, by Python's own module: a str as it is.
inline std::string JsonText(nb::handle value) {
  if (nb::isinstance<nb::str>(value)) return nb::cast<std::string>(value);
  return nb::cast<std::string>(nb::module_::import_("json").attr("dumps")(value));
}

/// Returns a value of dicts, lists, texts and numbers.
inline JsonValue JsonOf(nb::handle value) {
  return Take(JsonValue::Parse(nb::cast<std::string>(nb::module_::import_("json").attr("dumps")(value))));
}

}  // namespace skald::python

#endif  // SKALD_EXAMPLES_PYTHON_SOURCE_VALUES_JSON_H_
