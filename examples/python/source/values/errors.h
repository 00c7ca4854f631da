// SPDX-License-Identifier: Apache-2.0
//
// Errors of the library as exceptions of Python, and exceptions of Python through the library.

#ifndef SKALD_EXAMPLES_PYTHON_SOURCE_VALUES_ERRORS_H_
#define SKALD_EXAMPLES_PYTHON_SOURCE_VALUES_ERRORS_H_

#include <nanobind/nanobind.h>

#include <atomic>
#include <exception>
#include <mutex>
#include <string>
#include <type_traits>
#include <utility>

#include "skald/base/result.h"

namespace skald::python {

namespace nb = nanobind;

/// An Error on its way to Python, where it becomes a skald.Error.
class Raised : public std::exception {
 public:
  explicit Raised(Error error) : error_(std::move(error)) {}

  const char* what() const noexcept override { return error_.message.c_str(); }
  const Error& error() const { return error_; }

 private:
  Error error_;
};

/// Throws skald.Error.
[[noreturn]] void Raise(ErrorCode code, std::string message);

/// Returns the exception of Python that an Error becomes. The caller has the GIL.
nb::object ExceptionOf(const Error& error);

/// Returns the value of a result, or throws its error.
template <class T>
T Take(Result<T> result) {
  if (!result) throw Raised(std::move(result).error());
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

/// Runs functions of Python that the library calls back. An exception in one passes through the library as an error of
/// its own, which leaves everything as it was, and is raised again at the end.
class Callbacks {
 public:
  /// Calls `function` with the GIL, from any thread.
  template <class Function>
  auto Run(Function function) -> decltype(function()) {
    nb::gil_scoped_acquire gil;
    try {
      return function();
    } catch (...) {
      const std::scoped_lock lock(mutex_);
      if (!raised_) raised_ = std::current_exception();
    }
    throw std::runtime_error("a function of Python raised an exception");
  }

  /// Returns the value of a result, or throws what a function raised, or else its error. The caller has the GIL.
  template <class T>
  T Take(Result<T> result) {
    if (raised_) std::rethrow_exception(std::exchange(raised_, nullptr));
    return python::Take(std::move(result));
  }

 private:
  std::mutex mutex_;
  std::exception_ptr raised_;  ///< the first; guarded by mutex_ until all calls have ended
};

/// While one lives, no other call of Python uses the same object. Otherwise two threads might, while one of them
/// computes without the GIL.
class OneUser {
 public:
  /// `what` begins the sentence of the error for an object that is in use.
  OneUser(std::atomic<bool>& in_use, const char* what);
  ~OneUser() { in_use_.store(false, std::memory_order_release); }
  OneUser(const OneUser&) = delete;
  OneUser& operator=(const OneUser&) = delete;

 private:
  std::atomic<bool>& in_use_;
};

}  // namespace skald::python

#endif  // SKALD_EXAMPLES_PYTHON_SOURCE_VALUES_ERRORS_H_
