// SPDX-License-Identifier: Apache-2.0
//
// Objects of Python that the library holds, in any thread.

#ifndef SKALD_EXAMPLES_PYTHON_SOURCE_VALUES_HELD_H_
#define SKALD_EXAMPLES_PYTHON_SOURCE_VALUES_HELD_H_

#include <nanobind/nanobind.h>

#include <memory>
#include <string>
#include <utility>

#include "skald/base/result.h"

namespace skald::python {

namespace nb = nanobind;

/// A reference that may be copied and dropped without the GIL.
using Held = std::shared_ptr<nb::object>;

inline Held Hold(nb::object object) {
  return Held(new nb::object(std::move(object)), [](nb::object* held) {
    nb::gil_scoped_acquire gil;
    delete held;
  });
}

/// Returns function(), called with the GIL, whose exceptions become errors about `what`.
template <class T, class Function>
Result<T> CallPython(const char* what, Function function) {
  nb::gil_scoped_acquire gil;
  try {
    return function();
  } catch (const nb::python_error& raised) {
    return Fail(ErrorCode::kFailedPrecondition, std::string(what) + " raised " +
                                                    nb::cast<std::string>(nb::str(raised.type().attr("__name__"))) +
                                                    ": " + nb::cast<std::string>(nb::str(raised.value())));
  } catch (const std::exception& thrown) {
    return Fail(ErrorCode::kFailedPrecondition, std::string(what) + ": " + thrown.what());
  }
}

}  // namespace skald::python

#endif  // SKALD_EXAMPLES_PYTHON_SOURCE_VALUES_HELD_H_
