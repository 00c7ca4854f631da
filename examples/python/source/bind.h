// SPDX-License-Identifier: Apache-2.0
//
// The parts of the module. Each function binds one concept of the library; the order of the calls in module.cc is that
// in which signatures need each other's types.

#ifndef SKALD_EXAMPLES_PYTHON_SOURCE_BIND_H_
#define SKALD_EXAMPLES_PYTHON_SOURCE_BIND_H_

#include <nanobind/nanobind.h>

#include <string_view>

namespace skald::python {

namespace nb = nanobind;
using namespace nb::literals;  // NOLINT: "name"_a

/// Returns the comment of a public header about a name, such as "KVCache::Fork". The build fails for one without.
const char* Doc(std::string_view name);

void BindErrors(nb::module_& m);
void BindTokenizer(nb::module_& m);
void BindSampling(nb::module_& m);
void BindCache(nb::module_& m);
void BindModel(nb::module_& m);
void BindForward(nb::module_& m);
void BindRanks(nb::module_& m);
void BindChat(nb::module_& m);
void BindStore(nb::module_& m);
void BindState(nb::module_& m);
void BindAnswers(nb::module_& m);
void BindFilters(nb::module_& m);
void BindRequest(nb::module_& m);
void BindEngineParts(nb::module_& m);
void BindEngine(nb::module_& m);
void BindStepEngine(nb::module_& m);
void BindEncoder(nb::module_& m);

}  // namespace skald::python

#endif  // SKALD_EXAMPLES_PYTHON_SOURCE_BIND_H_
