// SPDX-License-Identifier: Apache-2.0
//
// The edge of the API: no exception leaves a public function. What allocates, or calls a library that throws, runs
// inside NoThrow, which makes an error of the exception.

#ifndef SKALD_BASE_NO_THROW_H_
#define SKALD_BASE_NO_THROW_H_

#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>

#include "skald/base/result.h"

namespace skald {

/// The error for memory that the system does not have. Needs none itself: so short a text lies inside of std::string.
inline Failure OutOfMemory() noexcept { return Fail(ErrorCode::kResourceExhausted, "out of memory"); }

namespace internal {

/// An error about `what`; of a sentence that finds no memory only OutOfMemory() is left.
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

/// Returns function(), a Result. An exception in it becomes an error about `what`: kResourceExhausted where an
/// allocation failed, kFailedPrecondition with the exception's own text for all else that derives from std::exception.
/// The function must leave things as they were when it is left that way. Anything else that is thrown, as by the
/// system to cancel a thread, passes through.
template <class Function>
auto NoThrow([[maybe_unused]] std::string_view what, Function&& function) -> decltype(function()) {
#if defined(__cpp_exceptions)
  try {
    return function();
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {  // a vector's way of saying the same
  } catch (const std::exception& exception) {
    return internal::FailAbout(ErrorCode::kFailedPrecondition, what, exception.what());
  }
  return internal::FailAbout(ErrorCode::kResourceExhausted, what, "the system has not enough memory");
#else
  return function();
#endif
}

}  // namespace skald

#endif  // SKALD_BASE_NO_THROW_H_
