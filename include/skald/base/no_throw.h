// SPDX-License-Identifier: Apache-2.0
//
// The edge of the API: no exception leaves a public function. Code that allocates, or calls a library that throws, runs
// inside NoThrow, which turns the exception into an error.

#ifndef SKALD_BASE_NO_THROW_H_
#define SKALD_BASE_NO_THROW_H_

#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>

#include "skald/base/result.h"

namespace skald {

/// The error if memory runs out. Allocates nothing itself: a text this short is stored inside std::string.
inline Failure OutOfMemory() noexcept { return Fail(ErrorCode::kResourceExhausted, "out of memory"); }

namespace internal {

/// An error about `what`; if there is no memory for the sentence, OutOfMemory().
inline Failure FailAbout(ErrorCode code, std::string_view what, std::string_view reason) noexcept {
#if defined(__cpp_exceptions)
  try {
    return Fail(code, std::string(what).append(": ").append(reason));
  } catch (...) {
    return OutOfMemory();
  }
#else
  return Fail(code, std::string(what).append(": ").append(reason));
#endif
}

}  // namespace internal

/// Returns function(), a Result. An exception in it becomes an error about `what`: kResourceExhausted if an allocation
/// failed, kFailedPrecondition with the exception's text for everything else that derives from std::exception. An
/// exception must leave the function's objects unchanged. Other exceptions, such as the system's to cancel a thread,
/// pass through.
template <class Function>
auto NoThrow([[maybe_unused]] std::string_view what, Function&& function) -> decltype(function()) {
#if defined(__cpp_exceptions)
  try {
    return function();
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {  // a vector's report of the same
  } catch (const std::exception& exception) {
    return internal::FailAbout(ErrorCode::kFailedPrecondition, what, exception.what());
  }
  return internal::FailAbout(ErrorCode::kResourceExhausted, what, "the system does not have enough memory");
#else
  return function();
#endif
}

}  // namespace skald

#endif  // SKALD_BASE_NO_THROW_H_
