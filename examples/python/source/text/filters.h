// SPDX-License-Identifier: Apache-2.0
//
// Token filters: the library's, and those that a program writes in Python.

#ifndef SKALD_EXAMPLES_PYTHON_SOURCE_TEXT_FILTERS_H_
#define SKALD_EXAMPLES_PYTHON_SOURCE_TEXT_FILTERS_H_

#include <nanobind/nanobind.h>

#include <memory>

#include "skald/constraints/token_filter.h"

namespace skald::python {

namespace nb = nanobind;

/// A TokenFilter in Python: one text.
struct Filter {
  std::shared_ptr<TokenFilter> value;
};

/// Returns a copy of the filter of a skald.TokenFilter; else one that asks `object`, which has the methods of
/// skald.TokenFilter. Throws TypeError for an object that lacks one.
std::shared_ptr<TokenFilter> FilterOf(nb::handle object);

}  // namespace skald::python

#endif  // SKALD_EXAMPLES_PYTHON_SOURCE_TEXT_FILTERS_H_
