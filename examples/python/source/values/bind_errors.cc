// SPDX-License-Identifier: Apache-2.0

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <string>
#include <utility>

#include "bind.h"
#include "values/errors.h"

namespace skald::python {

namespace {

// The class skald.Error; lives as long as the module, which lives as long as the interpreter.
PyObject* error_class = nullptr;

}  // namespace

void Raise(ErrorCode code, std::string message) { throw Raised(Error{code, std::move(message), {}}); }

nb::object ExceptionOf(const Error& error) {
  nb::object value = nb::handle(error_class)(error.message);
  value.attr("code") = nb::cast(error.code);
  value.attr("facts") = nb::cast(error.facts);
  return value;
}

OneUser::OneUser(std::atomic<bool>& in_use, const char* what) : in_use_(in_use) {
  if (in_use.exchange(true, std::memory_order_acquire)) {
    Raise(ErrorCode::kFailedPrecondition,
          std::string(what) + " is in use by another thread; each needs one of its own");
  }
}

void BindErrors(nb::module_& m) {
  nb::enum_<ErrorCode>(m, "ErrorCode", "Kinds of failures.")
      .value("INVALID_ARGUMENT", ErrorCode::kInvalidArgument, Doc("ErrorCode::kInvalidArgument"))
      .value("NOT_FOUND", ErrorCode::kNotFound, Doc("ErrorCode::kNotFound"))
      .value("DATA_LOSS", ErrorCode::kDataLoss, Doc("ErrorCode::kDataLoss"))
      .value("OUT_OF_RANGE", ErrorCode::kOutOfRange, Doc("ErrorCode::kOutOfRange"))
      .value("RESOURCE_EXHAUSTED", ErrorCode::kResourceExhausted, Doc("ErrorCode::kResourceExhausted"))
      .value("UNSUPPORTED", ErrorCode::kUnsupported, Doc("ErrorCode::kUnsupported"))
      .value("FAILED_PRECONDITION", ErrorCode::kFailedPrecondition, Doc("ErrorCode::kFailedPrecondition"));
  nb::class_<ErrorFacts>(m, "ErrorFacts", Doc("ErrorFacts"))
      .def_ro("sequence", &ErrorFacts::sequence, Doc("ErrorFacts::sequence"))
      .def_ro("needed_tokens", &ErrorFacts::needed_tokens, Doc("ErrorFacts::needed_tokens"))
      .def_ro("available_tokens", &ErrorFacts::available_tokens, Doc("ErrorFacts::available_tokens"))
      .def_ro("needed_bytes", &ErrorFacts::needed_bytes, Doc("ErrorFacts::needed_bytes"))
      .def_ro("available_bytes", &ErrorFacts::available_bytes, Doc("ErrorFacts::available_bytes"))
      .def_ro("resume_point", &ErrorFacts::resume_point, Doc("ErrorFacts::resume_point"));
  error_class = PyErr_NewExceptionWithDoc(
      "skald.Error", "A failure of the library: its sentence, `code` (ErrorCode) and `facts` (ErrorFacts).",
      PyExc_Exception, nullptr);
  m.attr("Error") = nb::borrow(error_class);
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Raised& raised) {
      PyErr_SetObject(error_class, ExceptionOf(raised.error()).ptr());
    }
  });
}

}  // namespace skald::python
